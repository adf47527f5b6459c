/* What a cell of a user's table says. A day counts from 1970-01-01 by the Gregorian calendar, before its
 * introduction too; years have four digits. A time of day is HH:MM, with seconds and their fraction if
 * wanted, and Z or an offset such as +02:00. Called by encode.c and own_files.c. No state. */
#include "data/cells.h"

#include "io/io.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_one_of(const char *const *words, const char *cell) {
    for (; *words; words++)
        if (strcasecmp(*words, cell) == 0) return true;
    return false;
}

bool pgcn_i_cell_is_gap(const char *cell) {
    static const char *const words[] = {"", "?", "-", "na", "n/a", "nan", "null", "none", NULL};
    return is_one_of(words, cell);
}

bool pgcn_i_cell_number(const char *cell, bool comma, float *out) {
    char point[64];
    const char *at = cell;
    if (comma) {
        size_t length = strlen(cell);
        if (length >= sizeof point || strchr(cell, '.')) return false;
        memcpy(point, cell, length + 1);
        char *found = strchr(point, ',');
        if (found) *found = '.';
        at = point;
    }
    return pgcn_i_parse_f32(&at, out) && *at == '\0' && isfinite(*out);
}

/* ---- days -------------------------------------------------------------------------------------- */

const char *const pgcn_i_date_forms[PGCN_I_DATE_FORMS] = {"year-month-day", "day.month.year",
                                                          "day/month/year", "month/day/year"};

/* Exactly `digits` digits. */
static bool take_digits(const char **at, int digits, int *out) {
    int value = 0;
    for (int i = 0; i < digits; i++) {
        char c = (*at)[i];
        if (c < '0' || c > '9') return false;
        value = value * 10 + (c - '0');
    }
    *at += digits;
    *out = value;
    return true;
}

static bool take_sign(const char **at, char wanted) {
    if (**at != wanted) return false;
    ++*at;
    return true;
}

/* One or two digits: 2/9/2024 is written too. */
static bool take_short(const char **at, int *out) {
    return take_digits(at, 2, out) || take_digits(at, 1, out);
}

/* Days from 1970-01-01, by eras of 400 years that begin in March. */
static int64_t days_of(int year, int month, int day) {
    int64_t y = year - (month <= 2), era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static bool is_day(int year, int month, int day) {
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month >= 1 && month <= 12 && day >= 1 &&
           day <= lengths[month - 1] + (month == 2 && leap);
}

static bool take_day(const char **at, pgcn_i_date_form form, int *year, int *month, int *day) {
    if (form == PGCN_I_DATE_ISO) {
        if (!take_digits(at, 4, year)) return false;
        char sign = **at == '/' ? '/' : '-';
        return take_sign(at, sign) && take_digits(at, 2, month) && take_sign(at, sign) &&
               take_digits(at, 2, day);
    }
    char sign = form == PGCN_I_DATE_DOTS ? '.' : '/';
    bool month_first = form == PGCN_I_DATE_MONTH_FIRST;
    return take_short(at, month_first ? month : day) && take_sign(at, sign) &&
           take_short(at, month_first ? day : month) && take_sign(at, sign) &&
           take_digits(at, 4, year);
}

/* Z, +02:00, +0200 or +02, in minutes. */
static bool take_offset(const char **at, int *out) {
    int hours, minutes = 0, sign = **at == '-' ? -1 : 1;
    *out = 0;
    if (**at == '\0' || take_sign(at, 'Z')) return true;
    if (!take_sign(at, '+') && !take_sign(at, '-')) return false;
    if (!take_digits(at, 2, &hours)) return false;
    take_sign(at, ':');
    if (**at && !take_digits(at, 2, &minutes)) return false;
    *out = sign * (60 * hours + minutes);
    return hours < 24 && minutes < 60;
}

/* A time of day behind a blank or T, as a share of a day; nothing is 0. */
static bool take_time(const char **at, double *out) {
    int hour, minute, second = 0, offset;
    double fraction = 0, place = 0.1;
    *out = 0;
    if (**at == '\0') return true;
    if (!take_sign(at, 'T') && !take_sign(at, ' ')) return false;
    if (!take_digits(at, 2, &hour) || !take_sign(at, ':') || !take_digits(at, 2, &minute))
        return false;
    if (take_sign(at, ':') && !take_digits(at, 2, &second)) return false;
    if (take_sign(at, '.'))
        for (int digit; take_digits(at, 1, &digit); place /= 10) fraction += place * digit;
    if (hour > 23 || minute > 59 || second > 60 || !take_offset(at, &offset)) return false;
    *out = (60 * (60 * hour + minute - offset) + second + fraction) / 86400;
    return true;
}

bool pgcn_i_cell_date(const char *cell, pgcn_i_date_form form, float *out) {
    int year, month, day;
    double time;
    if (!take_day(&cell, form, &year, &month, &day) || !is_day(year, month, day)) return false;
    if (!take_time(&cell, &time) || *cell != '\0') return false;
    *out = (float)((double)days_of(year, month, day) + time);
    return true;
}

/* ---- yes and no ---------------------------------------------------------------------------------- */

const char *const pgcn_i_yes_no[PGCN_I_YES_NO_PAIRS][2] = {
    {"no", "yes"}, {"false", "true"}, {"n", "y"},    {"f", "t"},
    {"off", "on"}, {"nein", "ja"},    {"non", "oui"}};

int pgcn_i_cell_yes_no(const char *cell, int pair) {
    for (int answer = 0; answer < 2; answer++)
        if (strcasecmp(cell, pgcn_i_yes_no[pair][answer]) == 0) return answer;
    return -1;
}

/* ---- texts that differ in case only --------------------------------------------------------------- */

/* The small letter of a code point, of the alphabets that people write tables in. */
static unsigned small_letter(unsigned c) {
    if (c >= 'A' && c <= 'Z') return c + 32;
    if (c >= 0xc0 && c <= 0xde && c != 0xd7) return c + 32; /* Latin-1 */
    if (c >= 0x391 && c <= 0x3a9) return c + 32;            /* Greek */
    if (c >= 0x410 && c <= 0x42f) return c + 32;            /* Cyrillic */
    return c >= 0x400 && c <= 0x40f ? c + 80 : c;
}

/* The next character, of two bytes in UTF-8 at most; others are compared byte by byte. */
static unsigned next_letter(const unsigned char **at) {
    unsigned first = *(*at)++;
    if (first < 0x80) return small_letter(first);
    if (first < 0xc2 || first > 0xdf || (**at & 0xc0) != 0x80) return 0x10000 + first;
    return small_letter((first & 0x1f) << 6 | (*(*at)++ & 0x3f));
}

static int compare_small(const char *a, const char *b) {
    const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;
    for (;;) {
        unsigned p = next_letter(&x), q = next_letter(&y);
        if (p != q) return p < q ? -1 : 1;
        if (p == 0) return 0;
    }
}

static int by_small_letters(const void *a, const void *b) {
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    int order = compare_small(x, y);
    return order ? order : strcmp(x, y);
}

int64_t pgcn_i_case_twins(const char **text, int64_t count, char out[PGCN_I_TWINS_BYTES]) {
    enum { SHOWN = 3 };
    int64_t twins = 0;
    out[0] = '\0';
    if (count > 1) qsort(text, (size_t)count, sizeof *text, by_small_letters);
    for (int64_t i = 1; i < count; i++) {
        char a[PGCN_I_EXCERPT], b[PGCN_I_EXCERPT];
        size_t used = strlen(out);
        if (compare_small(text[i - 1], text[i]) != 0 || ++twins > SHOWN + 1) continue;
        pgcn_i_text_excerpt(text[i - 1], (int64_t)strlen(text[i - 1]), a);
        pgcn_i_text_excerpt(text[i], (int64_t)strlen(text[i]), b);
        if (twins <= SHOWN)
            snprintf(out + used, PGCN_I_TWINS_BYTES - used, "%s'%s' and '%s'", used ? ", " : "", a,
                     b);
        else
            snprintf(out + used, PGCN_I_TWINS_BYTES - used, ", ...");
    }
    return twins;
}
