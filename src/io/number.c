/* Numbers in text. Independent of the locale and correctly rounded, whatever the length of the number:
 *
 *   [+-] digits [. digits] [(e|E) [+-] digits]       at least one digit before or after the point
 *   [+-] (nan | inf | infinity)                      in any case
 *
 * Nearly all numbers of a table take one of two fast paths. A float of at most 24 significant bits with
 * a small power of ten is one exact product or quotient (Clinger). For the others a double is
 * computed whose relative error is known to be below 2^-50; if both ends of that interval round to the
 * same float, that float is the answer, and only a number within 2^-49 of the middle between two
 * floats is left to strtof. Called by every reader of text. No state: any thread may call. */
#define _GNU_SOURCE
#include "io/io.h"

#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_DIGITS = 19 }; /* 10^19 - 1 < 2^64 */

/* A number in decimal: (-1)^negative * digits * 10^exponent, without the digits that did not fit. */
typedef struct decimal {
    uint64_t digits;
    int64_t exponent;
    bool negative;
    const char *end;
} decimal;

static inline bool is_digit(char c) {
    return (unsigned char)(c - '0') < 10;
}

bool pgcn_i_parse_i64(const char **at, int64_t *out) {
    const char *p = *at;
    bool negative = *p == '-';
    if (*p == '-' || *p == '+') p++;
    if (!is_digit(*p)) return false;
    uint64_t value = 0, limit = (uint64_t)INT64_MAX + negative;
    for (; is_digit(*p); p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (value > (limit - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *out = (int64_t)(negative ? 0 - value : value);
    *at = p;
    return true;
}

/* Digits beyond the 19th significant one change the exponent only. step: 1 after the decimal point. */
static inline const char *take_digits(const char *p, int64_t step, int *significant, decimal *out) {
    for (; is_digit(*p); p++) {
        if (*significant < MOST_DIGITS) {
            out->digits = out->digits * 10 + (uint64_t)(*p - '0');
            *significant += out->digits != 0;
            out->exponent -= step;
        } else {
            out->exponent += 1 - step;
        }
    }
    return p;
}

/* Parses the exponent at p, if there is one: "1e" is the number 1 and a letter. */
static const char *take_exponent(const char *p, int64_t *exponent) {
    const char *q = p + 1;
    bool negative = *q == '-';
    if (*q == '-' || *q == '+') q++;
    if (!is_digit(*q)) return p;
    int64_t value = 0;
    for (; is_digit(*q); q++)
        if (value < INT64_MAX / 100)
            value = value * 10 + (*q - '0'); /* beyond that it is 0 or inf */
    *exponent += negative ? -value : value;
    return q;
}

static inline bool take_decimal(const char *p, decimal *out) {
    *out = (decimal){.negative = *p == '-'};
    if (*p == '-' || *p == '+') p++;
    int significant = 0;
    const char *digits_begin = p;
    p = take_digits(p, 0, &significant, out);
    int64_t seen = p - digits_begin;
    if (*p == '.') {
        const char *fraction = p + 1;
        const char *end = take_digits(fraction, 1, &significant, out);
        seen += end - fraction;
        if (seen > 0) p = end;
    }
    if (seen == 0) return false;
    if (*p == 'e' || *p == 'E') p = take_exponent(p, &out->exponent);
    out->end = p;
    return true;
}

/* nan, inf and infinity, for both sizes of number. */
static bool take_word(const char **at, double *out) {
    const char *p = *at;
    bool negative = *p == '-';
    if (*p == '-' || *p == '+') p++;
    double value;
    if (strncasecmp(p, "nan", 3) == 0)
        value = (double)NAN, p += 3;
    else if (strncasecmp(p, "inf", 3) == 0)
        value = (double)INFINITY, p += strncasecmp(p, "infinity", 8) == 0 ? 8 : 3;
    else
        return false;
    *out = negative ? -value : value;
    *at = p;
    return true;
}

/* ---- to floating point ------------------------------------------------------------------------ */

static const double power_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                      1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
enum { EXACT_POWER = 22 }; /* 10^22 is the last one that a double holds */

/* The slow path, for the few numbers whose last bit is in doubt. glibc returns its constant "C"
 * locale here and allocates nothing. */
static float slow_f32(const char *text) {
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    float value = strtof_l(text, NULL, c);
    freelocale(c);
    return value;
}

static double slow_f64(const char *text) {
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double value = strtod_l(text, NULL, c);
    freelocale(c);
    return value;
}

/* digits * 10^exponent as a double with a relative error below 2^-50: digits after the 19th
 * (2^-59), the conversion and one product or quotient per factor, of which there are at most three
 * (2^-53 each). False far outside the range of floats. */
static bool near_f64(const decimal *number, double *out) {
    double value = (double)number->digits;
    int64_t power = number->exponent;
    if (power < -3 * EXACT_POWER || power > 2 * EXACT_POWER) return false;
    for (; power < -EXACT_POWER; power += EXACT_POWER) value /= power_of_ten[EXACT_POWER];
    for (; power > EXACT_POWER; power -= EXACT_POWER) value *= power_of_ten[EXACT_POWER];
    value = power < 0 ? value / power_of_ten[-power] : value * power_of_ten[power];
    *out = value;
    return true;
}

static float round_f32(const decimal *number, const char *text) {
    double value;
    if (number->digits == 0) return number->negative ? -0.0f : 0.0f;
    if (near_f64(number, &value)) {
        const double doubt = 0x1p-49;
        float low = (float)(value - value * doubt), high = (float)(value + value * doubt);
        if (low == high && low >= FLT_MIN && high <= FLT_MAX) return number->negative ? -low : low;
    }
    return slow_f32(text);
}

bool pgcn_i_parse_f32(const char **at, float *out) {
    decimal number;
    if (!take_decimal(*at, &number)) {
        double word;
        if (!take_word(at, &word)) return false;
        *out = (float)word;
        return true;
    }
    /* 10^10 is the last power that a float holds; both factors are exact, so one rounding is made. */
    if (number.digits < 1u << 24 && number.exponent <= 0 && number.exponent >= -10) {
        float value = (float)number.digits / (float)power_of_ten[-number.exponent];
        *out = number.negative ? -value : value;
    } else {
        *out = round_f32(&number, *at);
    }
    *at = number.end;
    return true;
}

bool pgcn_i_parse_f64(const char **at, double *out) {
    decimal number;
    if (!take_decimal(*at, &number)) return take_word(at, out);
    int64_t power = number.exponent;
    if (number.digits <= UINT64_C(1) << 53 && power >= -EXACT_POWER && power <= EXACT_POWER) {
        double value = (double)number.digits;
        value = power < 0 ? value / power_of_ten[-power] : value * power_of_ten[power];
        *out = number.negative ? -value : value;
    } else if (number.digits == 0) {
        *out = number.negative ? -0.0 : 0.0;
    } else {
        *out = slow_f64(*at);
    }
    *at = number.end;
    return true;
}

/* ---- settings --------------------------------------------------------------------------------- */

void pgcn_i_number_write(double value, char *out, size_t bytes) {
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = uselocale(c);
    for (int digits = 6; digits <= 17; digits++) {
        double again;
        snprintf(out, bytes, "%.*g", digits, value);
        if (pgcn_number_parse(out, &again) && again == value) break;
    }
    uselocale(before);
    freelocale(c);
}

bool pgcn_number_parse(const char *text, double *out) {
    const char *digits = text ? text + (*text == '-') : "";
    double value;
    bool begins = is_digit(*digits) || (*digits == '.' && is_digit(digits[1]));
    bool nothing_but_zeros = strchr("eE", digits[strspn(digits, "0.")]); /* or its end: a NUL */
    if (!begins || !pgcn_i_parse_f64(&text, &value) || *text != '\0' || !isfinite(value) ||
        (value == 0 && !nothing_but_zeros)) /* too small for a double */
        return false;
    if (out) *out = value;
    return true;
}

bool pgcn_integer_parse(const char *text, int64_t low, int64_t high, int64_t *out) {
    const double exact = 0x1p53; /* beyond it a double is not one whole number */
    const char *end = text;
    int64_t value;
    double number;
    if (!pgcn_number_parse(text, &number)) return false;
    if (!pgcn_i_parse_i64(&end, &value) || *end != '\0') { /* a point, an exponent, or too large */
        if (number != floor(number) || fabs(number) > exact) return false;
        value = (int64_t)number;
    }
    if (value < low || value > high) return false;
    if (out) *out = value;
    return true;
}
