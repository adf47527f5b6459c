/* Large tables of numbers in text, plain or gzip: rows of the same number of cells into one array. Several
 * files may be read at the same time.
 *
 * The text of a file goes through a few slots of about SLOT_BYTES, cut at line ends, in the order of the
 * file. All workers do the same: if no thread is decompressing a file, a worker fills its next slot, else
 * it parses a filled slot. Parsed slots are appended to the result in their order. The slots depend on
 * the file only, and the first bad line in the order of files and lines is the one reported: neither
 * numbers nor errors depend on the number of threads. The result is reserved once, from the share of the
 * file that the first slot took; its untouched end costs no memory.
 *
 * A cell may be quoted and have blanks around it. Rows end with \n or \r\n; empty lines are skipped, and
 * comments if the rule says so. All slots have room for the worst case, so parsing cannot fail for
 * memory; what is allocated later is allocated under the lock. Called by ogb.c, own_files.c and tu.c. */
#define _GNU_SOURCE /* memrchr */
#include "io/io.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
    SLOT_BYTES =
        PGCN_I_WINDOW(1 << 19), /* of text; about a millisecond of work on each side of the lock */
    MAX_SLOT_BYTES = 1 << 26,   /* a longer line is refused */
    PAD_BYTES = 16,             /* after the text: digits are searched 8 bytes at a time */
    MAX_WORKERS = 4,
    MAX_SLOTS = MAX_WORKERS + 2,
    SMALL_FILE = 1 << 18, /* not worth a second thread */
    WHAT_BYTES = 256
};

typedef struct slot {
    pgcn_i_buffer text;   /* whole lines, each with its \n, and PAD_BYTES zeros */
    pgcn_i_buffer cell;   /* the parsed rows */
    pgcn_i_buffer id;     /* of each row, with a NUL */
    pgcn_i_buffer row_at; /* int32 line of each row, from 0 in this slot */
    int64_t begin;        /* of what is parsed: lines that the rule skips are before it */
    int64_t rows, lines;
    double share; /* of the file, at the end of this slot */
    bool parsed;
    pgcn_status status; /* result of filling it, with the error; or of its first bad line: */
    int64_t bad_column; /* -1: no single column; PGCN_I_OPEN_ID */
    char bad_cell[PGCN_I_EXCERPT];
    char what[WHAT_BYTES];
    char sentence[2048];
} slot;

typedef struct reading {
    const char *path;
    const pgcn_i_table_rule *rule;
    pgcn_i_table *out;
    pgcn_i_bytes *bytes;
    int64_t columns; /* of numbers */
    int64_t slots, skip;
    slot slot[MAX_SLOTS]; /* number i of the file is in slot i % slots */

    pthread_mutex_t *lock; /* of the batch */
    /* under the lock; filled - appended <= slots */
    int64_t filled, taken, appended; /* slots: filled, given to a parser, in the result */
    bool filling, at_end, failed;
    int64_t lines; /* of the slots appended */
    /* used by the thread that fills */
    pgcn_i_buffer carry; /* the beginning of a line whose end was not read yet */
    bool first;
} reading;

/* The files that are read at the same time. */
typedef struct batch {
    reading *reading; /* by priority: a worker takes work from the first that has some */
    int count;
    pthread_mutex_t lock;
    pthread_cond_t changed;
} batch;

/* ---- filling ----------------------------------------------------------------------------------- */

/* Memory for `bytes` of text and for everything that can be parsed from it: a cell or an id takes
 * at least one separator. Pages that are not touched cost nothing. */
static pgcn_status size_slot(const reading *in, slot *s, int64_t bytes) {
    PGCN_TRY(pgcn_i_buffer_reserve(&s->text, bytes + PAD_BYTES));
    PGCN_TRY(pgcn_i_buffer_reserve(&s->cell, bytes * pgcn_i_dtype_bytes(in->rule->dtype)));
    if (!in->rule->ids) return PGCN_OK;
    PGCN_TRY(pgcn_i_buffer_reserve(&s->id, bytes + 1));
    return pgcn_i_buffer_reserve(&s->row_at, bytes * (int64_t)sizeof(int32_t));
}

static pgcn_status grow_slot(reading *in, slot *s) {
    int64_t bytes = 4 * (s->text.capacity - PAD_BYTES);
    if (bytes > MAX_SLOT_BYTES)
        return pgcn_i_fail(
            PGCN_ERR_FORMAT,
            "reading '%s': a line is longer than %d MiB; is this a table of numbers?",
            pgcn_i_bytes_path(in->bytes), MAX_SLOT_BYTES / 4 >> 20);
    pthread_mutex_lock(in->lock); /* a user's allocator is called by one thread at a time */
    pgcn_status status = size_slot(in, s, bytes);
    pthread_mutex_unlock(in->lock);
    return status;
}

static pgcn_status keep_carry(reading *in, const char *data, int64_t bytes) {
    pthread_mutex_lock(in->lock);
    pgcn_status status = pgcn_i_buffer_reserve(&in->carry, bytes);
    pthread_mutex_unlock(in->lock);
    if (status != PGCN_OK) return status;
    memcpy(in->carry.data, data, (size_t)bytes);
    in->carry.bytes = bytes;
    return PGCN_OK;
}

static void drop_utf8_mark(reading *in, slot *s) {
    if (in->first && s->text.bytes >= 3 && memcmp(s->text.data, "\xef\xbb\xbf", 3) == 0) {
        s->text.bytes -= 3;
        memmove(s->text.data, s->text.data + 3, (size_t)s->text.bytes);
    }
    in->first = false;
}

/* Reads lines into s->text, as many as fit and at least one; none at the end of the file. */
static pgcn_status fill_slot(reading *in, slot *s, bool *at_end) {
    s->text.bytes = 0;
    memcpy(s->text.data, in->carry.data, (size_t)in->carry.bytes);
    s->text.bytes = in->carry.bytes;
    in->carry.bytes = 0;
    for (;;) {
        int64_t room = s->text.capacity - PAD_BYTES - 1 - s->text.bytes, got;
        char *from = s->text.data + s->text.bytes;
        PGCN_TRY(pgcn_i_bytes_read(in->bytes, from, room, &got));
        s->text.bytes += got;
        drop_utf8_mark(in, s);
        *at_end = got < room;
        if (*at_end) break;
        /* not `got` bytes: behind a mark that was dropped the last three stand twice */
        char *last = memrchr(from, '\n', (size_t)(s->text.data + s->text.bytes - from));
        if (last) {
            int64_t used = last + 1 - s->text.data;
            PGCN_TRY(keep_carry(in, last + 1, s->text.bytes - used));
            s->text.bytes = used;
            break;
        }
        PGCN_TRY(grow_slot(in, s));
    }
    char *end = s->text.data + s->text.bytes;
    if (s->text.bytes > 0 && end[-1] != '\n') {
        *end++ = '\n';
        s->text.bytes++;
    }
    memset(end, 0, PAD_BYTES);
    return PGCN_OK;
}

/* The first lines of the file that are not read. */
static void skip_lines(reading *in, slot *s) {
    for (; in->skip > 0 && s->begin < s->text.bytes; in->skip--, s->lines++) {
        const char *from = s->text.data + s->begin;
        const char *end = memchr(from, '\n', (size_t)(s->text.bytes - s->begin));
        s->begin += end + 1 - from;
    }
}

static void fill(reading *in, slot *s, bool *at_end) {
    s->parsed = false;
    s->bad_column = -1;
    s->what[0] = '\0';
    s->begin = s->rows = s->lines = 0;
    s->cell.bytes = s->id.bytes = s->row_at.bytes = 0;
    s->status = fill_slot(in, s, at_end);
    s->share = pgcn_i_bytes_share(in->bytes);
    if (s->status == PGCN_OK) {
        skip_lines(in, s);
        return;
    }
    *at_end = true;
    s->text.bytes = 0;
    snprintf(s->sentence, sizeof s->sentence, "%s", pgcn_last_error());
}

/* ---- cells ------------------------------------------------------------------------------------- */

static const float power_of_ten[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f};
static const uint32_t whole_power_of_ten[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};

static inline unsigned hidden(unsigned value) {
    __asm__("" : "+r"(value)); /* the compiler shall not see that this is the count */
    return value;
}

/* The usual cell: a sign, digits, perhaps a point and at most 7 digits, with 24 bits in all, which
 * makes one exact quotient of floats. The digits after the point are read 8 bytes at once. False:
 * use the general parser. At least 8 bytes can be read after any character of a slot. */
static inline bool usual_f32(const char **at, unsigned *usual_count, float *out) {
    const char *p = *at;
    uint32_t negative = *p == '-';
    p += negative;
    const char *begin = p;
    uint64_t digits = 0;
    for (; (unsigned char)(*p - '0') < 10; p++) digits = digits * 10 + (uint64_t)(*p - '0');
    if (p == begin || p - begin > 7) return false;
    unsigned count = 0;
    if (*p == '.') {
        uint64_t eight, other;
        memcpy(&eight, ++p, 8);
        eight ^= UINT64_C(0x3030303030303030);
        other = ((eight + UINT64_C(0x7676767676767676)) | eight) & UINT64_C(0x8080808080808080);
        if (other == 0 || (other & 0x80)) return false; /* 8 digits or more, or none */
        /* The start of the next cell should not depend on this count: most cells of a table have
         * the same number of digits, and a branch on it is predicted. 6.3 ns per cell, 7.6 without. */
        count = (unsigned)__builtin_ctzll(other) >> 3;
        if (count == *usual_count)
            p += hidden(*usual_count);
        else
            p += *usual_count = count;
        eight <<= 64 - 8 * count; /* leading zeros, then the digits; first one in the lowest byte */
        eight = (eight * 10 + (eight >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
        eight = (eight * 100 + (eight >> 16)) & UINT64_C(0x0000ffff0000ffff);
        eight = (eight * 10000 + (eight >> 32)) & UINT64_C(0xffffffff);
        digits = digits * whole_power_of_ten[count] + eight;
    }
    if (digits >> 24) return false;
    float value = (float)(int32_t)digits / power_of_ten[count];
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits |= negative << 31; /* half of all numbers are negative: no branch */
    memcpy(out, &bits, sizeof bits);
    *at = p;
    return true;
}

/* Digits and nothing else, of at most `most` digits. */
static inline bool usual_whole(const char **at, int most, uint64_t *out) {
    const char *p = *at;
    uint64_t value = 0; /* wraps around if there are too many digits, which the next line checks */
    for (; (unsigned char)(*p - '0') < 10; p++) value = value * 10 + (uint64_t)(*p - '0');
    if (p == *at || p - *at > most) return false;
    *out = value;
    *at = p;
    return true;
}

static inline bool usual_i64(const char **at, int64_t *out) {
    uint64_t value;
    if (!usual_whole(at, 18, &value)) return false;
    *out = (int64_t)value;
    return true;
}

static inline bool usual_i32(const char **at, int32_t *out) {
    uint64_t value;
    if (!usual_whole(at, 9, &value)) return false;
    *out = (int32_t)value;
    return true;
}

typedef struct row {
    const reading *in;
    slot *s;
    const char *at; /* moves through the text */
} row;

static inline bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static inline bool at_line_end(const char *p) {
    return *p == '\n' || (*p == '\r' && p[1] == '\n');
}

/* Blanks that are no separator. */
static inline const char *skip_blanks(const row *r, const char *p) {
    char delimiter = r->in->rule->delimiter;
    while (is_blank(*p) && (*p != delimiter || delimiter == ' ')) p++;
    return p;
}

static bool bad(row *r, int64_t column, const char *what) {
    r->s->status = PGCN_ERR_FORMAT;
    r->s->bad_column = column;
    if (what != r->s->what) snprintf(r->s->what, sizeof r->s->what, "%s", what);
    return false;
}

static bool bad_cell(row *r, int64_t column, const char *begin) {
    const pgcn_i_table_rule *rule = r->in->rule;
    const char *end = begin;
    bool quoted = false; /* a delimiter in quotes is part of the cell */
    for (; !at_line_end(end) && (quoted || *end != rule->delimiter) && (end - begin) < 64; end++)
        quoted ^= *end == '"';
    char *shown = r->s->bad_cell;
    pgcn_i_text_excerpt(begin, end - begin, shown);
    snprintf(r->s->what, sizeof r->s->what, "column %lld: found %s%s%s, expected a %s",
             (long long)(column + 1 + rule->ids), end == begin ? "an empty cell" : "'", shown,
             end == begin ? "" : "'",
             rule->dtype == PGCN_I_F32   ? "finite number"
             : rule->dtype == PGCN_I_I32 ? "whole number below 2^31"
                                         : "whole number");
    return bad(r, column, r->s->what);
}

static bool take_number(const reading *in, const char **p, void *out) {
    int64_t whole;
    switch (in->rule->dtype) {
    case PGCN_I_I64: return pgcn_i_parse_i64(p, out);
    case PGCN_I_I32:
        if (!pgcn_i_parse_i64(p, &whole) || whole < INT32_MIN || whole > INT32_MAX) return false;
        *(int32_t *)out = (int32_t)whole;
        return true;
    default: return pgcn_i_parse_f32(p, out);
    }
}

/* Parses any cell at r->at, and advances r->at to the separator or the end of the line. */
static bool take_cell(row *r, int64_t column, void *out) {
    const pgcn_i_table_rule *rule = r->in->rule;
    const char *begin = skip_blanks(r, r->at), *p = begin;
    bool quoted = *p == '"';
    p += quoted;
    if (rule->missing && (quoted ? *p == '"' : *p == rule->delimiter || at_line_end(p)))
        *(float *)out = NAN;
    else if (!take_number(r->in, &p, out))
        return bad_cell(r, column, begin);
    if (quoted && *p++ != '"') return bad_cell(r, column, begin);
    /* a blank is a separator here, and skipped by next_cell */
    if (rule->delimiter != ' ') p = skip_blanks(r, p);
    if (*p != rule->delimiter && !at_line_end(p) && !(rule->delimiter == ' ' && is_blank(*p)))
        return bad_cell(r, column, begin);
    if (rule->dtype == PGCN_I_F32) {
        float value = *(float *)out;
        if (!isfinite(value) && !(rule->missing && isnan(value))) return bad_cell(r, column, begin);
    }
    r->at = p;
    return true;
}

/* Moves from the end of a cell to the next cell; false at the end of the line. */
static inline bool next_cell(row *r) {
    char delimiter = r->in->rule->delimiter;
    if (*r->at == delimiter && delimiter != ' ') {
        r->at++;
        return true;
    }
    if (delimiter == ' ') r->at = skip_blanks(r, r->at);
    return !at_line_end(r->at);
}

static bool wrong_count(row *r, int64_t found, bool more) {
    snprintf(r->s->what, sizeof r->s->what, "found %s%lld cells, expected %lld as in the first row",
             more ? "more than " : "", (long long)(found + r->in->rule->ids),
             (long long)(r->in->columns + r->in->rule->ids));
    return bad(r, -1, r->s->what);
}

/* The id in front of a row: plain or quoted, with quotes doubled inside. */
static bool take_id(row *r) {
    const char *p = skip_blanks(r, r->at);
    char delimiter = r->in->rule->delimiter, *out = r->s->id.data + r->s->id.bytes, *to = out;
    if (*p == '"') {
        bool closed = false;
        for (p++; !closed && *p != '\n'; p++)
            if (*p != '"')
                *to++ = *p;
            else if (p[1] == '"')
                *to++ = *p++;
            else
                closed = true;
        if (!closed)
            return bad(r, PGCN_I_OPEN_ID,
                       "column 1: a quote is not closed on this line; close it, or double each "
                       "quote that is text and put the cell in quotes");
    } else {
        while (*p != delimiter && !at_line_end(p) && !(delimiter == ' ' && is_blank(*p)))
            *to++ = *p++;
        while (to > out && is_blank(to[-1])) to--;
    }
    if (to == out) return bad(r, -1, "column 1: found an empty cell, expected the id of a node");
    if (memchr(out, '\0', (size_t)(to - out))) return bad(r, -1, "found a byte 0, expected text");
    *to++ = '\0';
    r->s->id.bytes += to - out;
    r->at = skip_blanks(r, p);
    return true;
}

/* ---- rows -------------------------------------------------------------------------------------- */

/* The numbers of a row; r->at is then at the end of its line. */
static inline __attribute__((always_inline)) bool take_cells(row *r, pgcn_i_dtype dtype) {
    const int64_t columns = r->in->columns, size = pgcn_i_dtype_bytes(dtype);
    const char delimiter = r->in->rule->delimiter;
    char *out = r->s->cell.data + r->s->cell.bytes;
    const char *p = r->at; /* in a register: r->at costs a store and a load per cell */
    unsigned usual_count = 0;
    int64_t column = 0;
    bool more = true;
    for (; more && column < columns; column++, out += size) {
        const char *cell = p;
        bool usual = dtype == PGCN_I_I64   ? usual_i64(&p, (int64_t *)(void *)out)
                     : dtype == PGCN_I_I32 ? usual_i32(&p, (int32_t *)(void *)out)
                                           : usual_f32(&p, &usual_count, (float *)(void *)out);
        if (usual && *p == delimiter && delimiter != ' ') {
            p++;
            continue;
        }
        r->at = usual && *p == '\n' ? p : cell;
        if (r->at == cell && !take_cell(r, column, out)) return false;
        more = next_cell(r);
        p = r->at;
    }
    if (more || column < columns) return wrong_count(r, column, more);
    r->s->cell.bytes += columns * size;
    return true;
}

/* Whether the line at r->at is not a row. */
static bool is_skipped(const row *r) {
    const char *p = skip_blanks(r, r->at);
    const pgcn_i_table_rule *rule = r->in->rule;
    if (rule->comments && (*p == '#' || *p == '%')) return true;
    return at_line_end(p) && !(rule->missing && r->in->columns == 1);
}

static bool take_row(row *r) {
    slot *s = r->s;
    if (r->in->rule->ids) {
        if (!take_id(r)) return false;
        int32_t line = (int32_t)s->lines;
        memcpy(s->row_at.data + s->row_at.bytes, &line, sizeof line);
        s->row_at.bytes += (int64_t)sizeof line;
        if (!next_cell(r)) return r->in->columns == 0 || wrong_count(r, 0, false);
    }
    s->rows++;
    switch (r->in->rule->dtype) { /* three copies of the loop, each with its type built in */
    case PGCN_I_I64: return take_cells(r, PGCN_I_I64);
    case PGCN_I_I32: return take_cells(r, PGCN_I_I32);
    default: return take_cells(r, PGCN_I_F32);
    }
}

/* Stops at the first bad line; s->lines is then the number of lines before it. */
static void parse(const reading *in, slot *s) {
    row r = {in, s, s->text.data + s->begin};
    const char *end = s->text.data + s->text.bytes;
    for (; r.at < end; s->lines++) {
        if (!is_skipped(&r) && !take_row(&r)) return;
        if (*r.at != '\n') r.at = memchr(r.at, '\n', (size_t)(end - r.at));
        r.at++;
    }
}

/* ---- the result -------------------------------------------------------------------------------- */

/* Appends to an array of the result. A full array is enlarged to the size predicted for the whole
 * file, but to at most 64 times its size: a file that starts with very short rows must not exhaust
 * memory. */
static pgcn_status append(pgcn_i_buffer *to, const pgcn_i_buffer *more, double share) {
    int64_t needed = to->bytes + more->bytes;
    if (needed > to->capacity) {
        double predicted = (double)needed / (share > 0.01 ? share : 0.01) * 1.05;
        double most = 64.0 * (double)needed;
        if (predicted > most) predicted = most;
        PGCN_TRY(pgcn_i_buffer_reserve(to, share < 1 ? (int64_t)predicted + 4096 : needed));
    }
    void *at = pgcn_i_buffer_add(to, more->bytes);
    if (!at) return PGCN_ERR_MEMORY;
    memcpy(at, more->data, (size_t)more->bytes);
    return PGCN_OK;
}

static pgcn_status append_slot(reading *in, slot *s) {
    pgcn_i_table *out = in->out;
    PGCN_TRY(append(&out->cell, &s->cell, s->share));
    out->rows += s->rows;
    if (!in->rule->ids) return PGCN_OK;
    PGCN_TRY(append(&out->id, &s->id, s->share));
    const char *line = s->row_at.data;
    for (int64_t i = 0; i < s->rows; i++, line += sizeof(int32_t)) {
        int32_t in_slot;
        memcpy(&in_slot, line, sizeof in_slot);
        int64_t *added = pgcn_i_buffer_add(&out->line, (int64_t)sizeof *added);
        if (!added) return PGCN_ERR_MEMORY;
        *added = in->lines + in_slot + 1;
    }
    return PGCN_OK;
}

/* The parsed slots that are next in the order of the file. Under the lock. */
static void append_parsed(reading *in) {
    while (!in->failed && in->appended < in->filled) {
        slot *s = &in->slot[in->appended % in->slots];
        if (!s->parsed) break;
        if (s->status == PGCN_OK) {
            s->status = append_slot(in, s);
            if (s->status != PGCN_OK)
                snprintf(s->sentence, sizeof s->sentence, "%s", pgcn_last_error());
        }
        in->failed = s->status != PGCN_OK; /* the slot keeps what happened */
        if (in->failed) break;
        in->lines += s->lines;
        in->appended++;
    }
}

/* ---- workers ----------------------------------------------------------------------------------- */

static bool is_finished(const reading *in) {
    return in->failed || (in->at_end && in->appended == in->filled);
}

/* Fills the next slot if no other thread does, else parses one. False: nothing to do now. Called
 * under the lock, which is released during the work. */
static bool take_step(reading *in) {
    if (is_finished(in)) return false;
    if (!in->filling && !in->at_end && in->filled - in->appended < in->slots) {
        slot *s = &in->slot[in->filled % in->slots];
        bool at_end = false;
        in->filling = true;
        pthread_mutex_unlock(in->lock);
        fill(in, s, &at_end);
        pthread_mutex_lock(in->lock);
        in->filling = false;
        in->at_end = at_end;
        in->filled++;
        return true;
    }
    if (in->taken == in->filled) return false;
    slot *s = &in->slot[in->taken++ % in->slots];
    pthread_mutex_unlock(in->lock);
    if (s->status == PGCN_OK) parse(in, s);
    pthread_mutex_lock(in->lock);
    s->parsed = true;
    append_parsed(in);
    return true;
}

static void work(void *context, int64_t task, int worker) {
    (void)task, (void)worker;
    batch *all = context;
    pthread_mutex_lock(&all->lock);
    for (;;) {
        int finished = 0, at = 0;
        while (at < all->count && !take_step(&all->reading[at])) at++;
        if (at < all->count) {
            pthread_cond_broadcast(&all->changed);
            continue;
        }
        for (int i = 0; i < all->count; i++) finished += is_finished(&all->reading[i]);
        if (finished == all->count) break;
        pthread_cond_wait(&all->changed, &all->lock); /* for the other workers */
    }
    pthread_mutex_unlock(&all->lock);
}

static pgcn_status run_workers(batch *all, int workers) {
    if (workers == 1) {
        work(all, 0, 0);
        return PGCN_OK;
    }
    pgcn_i_pool *pool;
    PGCN_TRY(pgcn_i_pool_new(workers, &pool));
    pgcn_i_parallel(pool, workers, work, all);
    pgcn_i_pool_free(pool);
    return PGCN_OK;
}

/* The result of the workers: repeats the error of the slot that failed on the calling thread. */
static pgcn_status outcome(const reading *in) {
    if (!in->failed) return PGCN_OK;
    const slot *s = &in->slot[in->appended % in->slots];
    if (s->what[0] == '\0') return pgcn_i_fail(s->status, "%s", s->sentence);
    in->out->bad_column = s->bad_column;
    memcpy(in->out->bad_cell, s->bad_cell, sizeof s->bad_cell);
    return pgcn_i_fail(PGCN_ERR_FORMAT, "reading '%s': line %lld: %s", pgcn_i_bytes_path(in->bytes),
                       (long long)(in->lines + s->lines + 1), s->what);
}

/* ---- files ------------------------------------------------------------------------------------- */

void pgcn_i_table_free(pgcn_i_table *table) {
    pgcn_i_buffer_free(&table->cell);
    pgcn_i_buffer_free(&table->id);
    pgcn_i_buffer_free(&table->line);
    *table = (pgcn_i_table){0};
}

static int choose_workers(const batch *all) {
    int asked = 0;
    int64_t bytes = 0;
    for (int i = 0; i < all->count; i++) {
        const reading *in = &all->reading[i];
        if (in->rule->threads > asked) asked = in->rule->threads;
        bytes += pgcn_i_bytes_length(in->bytes);
    }
    int workers = asked > 0 ? asked : bytes < SMALL_FILE ? 1 : pgcn_i_cores();
    return workers < MAX_WORKERS ? workers : MAX_WORKERS;
}

static pgcn_status make_slots(reading *in, int workers) {
    /* a small file fits into one; SLOT_BYTES of room are not touched before they are needed */
    in->slots = pgcn_i_bytes_length(in->bytes) < SMALL_FILE ? 1 : workers + 2;
    for (int64_t i = 0; i < in->slots; i++) PGCN_TRY(size_slot(in, &in->slot[i], SLOT_BYTES));
    return pgcn_i_buffer_reserve(&in->carry, SLOT_BYTES);
}

static pgcn_status read_all(batch *all) {
    for (int i = 0; i < all->count; i++)
        PGCN_TRY(pgcn_i_bytes_open(all->reading[i].path, &all->reading[i].bytes));
    int workers = choose_workers(all);
    for (int i = 0; i < all->count; i++) PGCN_TRY(make_slots(&all->reading[i], workers));
    PGCN_TRY(run_workers(all, workers));
    for (int i = 0; i < all->count; i++) PGCN_TRY(outcome(&all->reading[i]));
    return PGCN_OK;
}

static void free_reading(reading *in) {
    for (int64_t i = 0; i < MAX_SLOTS; i++) {
        pgcn_i_buffer_free(&in->slot[i].text);
        pgcn_i_buffer_free(&in->slot[i].cell);
        pgcn_i_buffer_free(&in->slot[i].id);
        pgcn_i_buffer_free(&in->slot[i].row_at);
    }
    pgcn_i_buffer_free(&in->carry);
    pgcn_i_bytes_close(in->bytes);
}

pgcn_status pgcn_i_tables_read(const pgcn_i_table_job *jobs, int count) {
    batch all = {.count = count};
    for (int i = 0; i < count; i++)
        *jobs[i].out = (pgcn_i_table){.columns = jobs[i].rule.columns, .bad_column = -1};
    if (!(all.reading = pgcn_i_alloc(count, sizeof *all.reading))) return PGCN_ERR_MEMORY;
    pthread_mutex_init(&all.lock, NULL);
    pthread_cond_init(&all.changed, NULL);
    for (int i = 0; i < count; i++) {
        reading *in = &all.reading[i];
        in->path = jobs[i].path;
        in->rule = &jobs[i].rule;
        in->out = jobs[i].out;
        in->columns = in->rule->columns;
        in->skip = in->rule->skip;
        in->first = true;
        in->lock = &all.lock;
    }
    pgcn_status status = read_all(&all);
    for (int i = 0; i < count; i++) {
        free_reading(&all.reading[i]);
        if (status == PGCN_OK) continue;
        pgcn_i_table failed = *jobs[i].out;
        pgcn_i_table_free(jobs[i].out);
        jobs[i].out->bad_column = failed.bad_column;
        memcpy(jobs[i].out->bad_cell, failed.bad_cell, sizeof failed.bad_cell);
    }
    pthread_cond_destroy(&all.changed);
    pthread_mutex_destroy(&all.lock);
    pgcn_i_free(all.reading);
    return status;
}

pgcn_status pgcn_i_table_read(const char *path, const pgcn_i_table_rule *rule, pgcn_i_table *out) {
    pgcn_i_table_job job = {path, *rule, out};
    return pgcn_i_tables_read(&job, 1);
}
