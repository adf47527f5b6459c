/* Python pickles, protocols 0 to 4, read as data. A pickle is a program for a stack machine: each
 * byte is an operation (PROTO 0x80, then K 1, ] empty list, a append, ...), `.` ends it and the top
 * of the stack is the value. Python lets such a program call any function; this machine knows
 * numbers, texts, containers, and these names, which build values of our own and are never called:
 *
 *   numpy.core.multiarray._reconstruct(ndarray, (0,), 'b') + state (1, shape, dtype, False, bytes)
 *   numpy.dtype('f4', 0, 1)                                + state (3, '<', None, None, None, ...)
 *   scipy.sparse.csr.csr_matrix, by NEWOBJ or copy_reg._reconstructor  + state, a dict of fields
 *   collections.defaultdict(list), __builtin__.list/object/bytes, _codecs.encode(text, 'latin1')
 *
 * Any other name ends the reading. There is no recursion, so nesting costs stack entries on the
 * heap and nothing else. An operation makes at most one value and moves each item of the stack at
 * most once, a memo key is below the length of the file, and decoded texts together are not longer
 * than the file: memory is linear in the length of the file. Values that are used many times are
 * shared, never copied. Called by the data room. Thread-safe. */
#include "io/pickle_machine.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

typedef pgcn_i_pickle value;
typedef pgcn_i_pickle_item item;
typedef pgcn_i_pickle_machine machine;

void pgcn_i_pickle_complain(const machine *m, const char *format, ...) {
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    pgcn_i_fail(PGCN_ERR_FORMAT, "reading '%s': byte %lld %s", m->path, (long long)m->operation,
                sentence);
}
const char *pgcn_i_pickle_kind_name(const pgcn_i_pickle *v) {
    static const char *const names[] = {
        "None",          "a bool",       "a whole number", "a number",
        "a text",        "a tuple",      "a list",         "a dict",
        "a NumPy array", "a CSR matrix", "a NumPy dtype",  "a class or function",
    };
    return v ? names[v->kind] : "nothing";
}

/* ---- bytes of the file ----------------------------------------------------------------------- */

static pgcn_status take(machine *m, int64_t bytes, char **out) {
    if (bytes < 0 || bytes > m->end - m->at)
        return PGCN_I_PICKLE_BAD(
            m,
            "asks for %lld more bytes, but the file has %lld; it is cut short or no "
            "pickle: get it again",
            (long long)bytes, (long long)(m->end - m->at));
    *out = m->at;
    m->at += bytes;
    return PGCN_OK;
}

static pgcn_status take_unsigned(machine *m, int bytes, uint64_t *out) {
    char *from;
    PGCN_TRY(take(m, bytes, &from));
    *out = 0;
    memcpy(out, from, (size_t)bytes); /* little-endian, as this machine is */
    return PGCN_OK;
}

/* The rest of the line; its '\n' becomes a NUL. */
pgcn_status pgcn_i_pickle_take_line(machine *m, char **line, int64_t *length) {
    char *end = memchr(m->at, '\n', (size_t)(m->end - m->at));
    if (!end)
        return PGCN_I_PICKLE_BAD(
            m, "begins a line that has no end; the file is cut short: get it again");
    *line = m->at;
    *length = end - m->at;
    *end = '\0';
    m->at = end + 1;
    return PGCN_OK;
}

/* ---- values and the stack -------------------------------------------------------------------- */

static int64_t height(const machine *m) {
    return m->stack.bytes / (int64_t)sizeof(value *);
}

/* Values are allocated in blocks. A block is no larger than the number of values that the rest of
 * the file can make. */
static int64_t block_size(const machine *m, int64_t more) {
    enum { LARGEST = 4096 };
    int64_t left = m->end - m->at + 1 + more;
    return left < LARGEST ? left : LARGEST;
}

value *pgcn_i_pickle_make(machine *m, pgcn_i_pickle_kind kind) {
    if (m->values_left == 0) {
        int64_t count = block_size(m, 0);
        if (!(m->values = PGCN_I_ARRAY(m->arena, value, count))) return NULL;
        m->values_left = count;
    }
    m->values_left--;
    m->values->kind = kind;
    m->values->at = m->operation;
    return m->values++;
}

static pgcn_status add_item(machine *m, value *container, const value *v) {
    if (m->items_left == 0) {
        int64_t count = block_size(m, height(m)); /* all of the stack may be packed at once */
        if (!(m->items = PGCN_I_ARRAY(m->arena, item, count))) return PGCN_ERR_MEMORY;
        m->items_left = count;
    }
    m->items_left--;
    m->items->value = v;
    if (container->items.last)
        container->items.last->next = m->items;
    else
        container->items.first = m->items;
    container->items.last = m->items++;
    container->items.count++;
    return PGCN_OK;
}

/* Nothing below the last mark may be taken. */
static int64_t floor_of(const machine *m) {
    if (m->marks.bytes == 0) return 0;
    return ((int64_t *)(void *)m->marks.data)[m->marks.bytes / (int64_t)sizeof(int64_t) - 1];
}

pgcn_status pgcn_i_pickle_push(machine *m, value *v) {
    if (!v) return PGCN_ERR_MEMORY;
    value **slot = pgcn_i_buffer_add(&m->stack, sizeof v);
    if (!slot) return PGCN_ERR_MEMORY;
    *slot = v;
    return PGCN_OK;
}

pgcn_status pgcn_i_pickle_need(const machine *m, int64_t count) {
    if (height(m) - floor_of(m) < count)
        return PGCN_I_PICKLE_BAD(
            m,
            "takes %lld values from a stack that has %lld; the file is damaged or no "
            "pickle: get it again",
            (long long)count, (long long)(height(m) - floor_of(m)));
    return PGCN_OK;
}

pgcn_status pgcn_i_pickle_pop(machine *m, value **out) {
    PGCN_TRY(pgcn_i_pickle_need(m, 1));
    *out = pgcn_i_pickle_top(m)[-1];
    m->stack.bytes -= (int64_t)sizeof(value *);
    return PGCN_OK;
}

static pgcn_status pop_mark(machine *m, int64_t *from) {
    if (m->marks.bytes == 0)
        return PGCN_I_PICKLE_BAD(
            m, "needs a mark on the stack and there is none; the file is damaged or no "
               "pickle: get it again");
    *from = floor_of(m);
    m->marks.bytes -= (int64_t)sizeof(int64_t);
    return PGCN_OK;
}

/* Moves all values from height `from` up into the container. */
static pgcn_status move_items(machine *m, int64_t from, value *container) {
    value **stack = (value **)(void *)m->stack.data;
    for (int64_t i = from; i < height(m); i++) PGCN_TRY(add_item(m, container, stack[i]));
    m->stack.bytes = from * (int64_t)sizeof(value *);
    return PGCN_OK;
}

/* ---- operations: numbers --------------------------------------------------------------------- */

pgcn_status pgcn_i_pickle_push_integer(machine *m, pgcn_i_pickle_kind kind, int64_t integer) {
    value *v = pgcn_i_pickle_make(m, kind);
    if (v) v->integer = integer;
    return pgcn_i_pickle_push(m, v);
}

static pgcn_status run_none(machine *m, int unused) {
    (void)unused;
    return pgcn_i_pickle_push(m, pgcn_i_pickle_make(m, PGCN_I_PICKLE_NONE));
}

static pgcn_status run_bool(machine *m, int truth) {
    return pgcn_i_pickle_push_integer(m, PGCN_I_PICKLE_BOOL, truth);
}

static pgcn_status run_unsigned(machine *m, int bytes) {
    uint64_t number;
    PGCN_TRY(take_unsigned(m, bytes, &number));
    return pgcn_i_pickle_push_integer(m, PGCN_I_PICKLE_INTEGER, (int64_t)number);
}

/* A signed number of 0 to 8 bytes. Its length comes before it, in `prefix` bytes. */
static pgcn_status run_long(machine *m, int prefix) {
    uint64_t bytes = 4, number;
    if (prefix > 0) PGCN_TRY(take_unsigned(m, prefix, &bytes));
    if (bytes > 8)
        return PGCN_I_PICKLE_BAD(
            m,
            "holds a whole number of %llu bytes, expected at most 8; the file is damaged "
            "or no graph",
            (unsigned long long)bytes);
    PGCN_TRY(take_unsigned(m, (int)bytes, &number));
    unsigned unused_bits = 64 - 8 * (unsigned)bytes;
    int64_t extended = bytes ? (int64_t)(number << unused_bits) >> unused_bits : 0;
    return pgcn_i_pickle_push_integer(m, PGCN_I_PICKLE_INTEGER, extended);
}

static pgcn_status run_float(machine *m, int unused) {
    (void)unused;
    uint64_t bits;
    PGCN_TRY(take_unsigned(m, 8, &bits));
    bits = __builtin_bswap64(bits); /* the one big-endian number of the format */
    value *v = pgcn_i_pickle_make(m, PGCN_I_PICKLE_FLOAT);
    if (v) memcpy(&v->real, &bits, 8);
    return pgcn_i_pickle_push(m, v);
}

/* I 12\n, L 12L\n; I 00\n and I 01\n are False and True. */
static pgcn_status run_integer_line(machine *m, int suffix) {
    char *line;
    int64_t length, number;
    PGCN_TRY(pgcn_i_pickle_take_line(m, &line, &length));
    if (suffix == 0 && length == 2 && line[0] == '0' && (line[1] == '0' || line[1] == '1'))
        return pgcn_i_pickle_push_integer(m, PGCN_I_PICKLE_BOOL, line[1] - '0');
    const char *at = line;
    bool fine = pgcn_i_parse_i64(&at, &number);
    if (fine && suffix && *at == suffix) at++;
    if (!fine || at != line + length)
        return PGCN_I_PICKLE_BAD(
            m, "holds a line that is no whole number of 64 bits; the file is damaged or no "
               "pickle: get it again");
    return pgcn_i_pickle_push_integer(m, PGCN_I_PICKLE_INTEGER, number);
}

static pgcn_status run_float_line(machine *m, int unused) {
    (void)unused;
    char *line;
    int64_t length;
    double number;
    PGCN_TRY(pgcn_i_pickle_take_line(m, &line, &length));
    const char *at = line;
    if (!pgcn_i_parse_f64(&at, &number) || at != line + length)
        return PGCN_I_PICKLE_BAD(
            m, "holds a line that is no number; the file is damaged or no pickle: get it "
               "again");
    value *v = pgcn_i_pickle_make(m, PGCN_I_PICKLE_FLOAT);
    if (v) v->real = number;
    return pgcn_i_pickle_push(m, v);
}

/* ---- operations: texts ----------------------------------------------------------------------- */

pgcn_status pgcn_i_pickle_push_text(machine *m, const char *data, int64_t bytes,
                                    pgcn_i_pickle_encoding encoding) {
    value *v = pgcn_i_pickle_make(m, PGCN_I_PICKLE_TEXT);
    if (v) {
        v->text.data = data;
        v->text.bytes = bytes;
        v->encoding = encoding;
    }
    return pgcn_i_pickle_push(m, v);
}

/* Memory for a text that must be decoded. */
pgcn_status pgcn_i_pickle_decoded_room(machine *m, int64_t bytes, char **out) {
    m->decoded_bytes += bytes; /* each is at most the length of the file: no overflow */
    if (m->decoded_bytes > m->end - m->start)
        return PGCN_I_PICKLE_BAD(
            m, "decodes the same text again and again; the file is made to fill the memory");
    *out = pgcn_i_arena_alloc(m->arena, bytes, 1);
    return *out ? PGCN_OK : PGCN_ERR_MEMORY;
}

/* A text. Its length comes before it, in `prefix` bytes. */
static pgcn_status take_text(machine *m, int prefix, pgcn_i_pickle_encoding encoding) {
    uint64_t bytes;
    char *data;
    PGCN_TRY(take_unsigned(m, prefix, &bytes));
    PGCN_TRY(take(m, bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes, &data));
    return pgcn_i_pickle_push_text(m, data, (int64_t)bytes, encoding);
}
static pgcn_status run_bytes(machine *m, int prefix) {
    return take_text(m, prefix, PGCN_I_PICKLE_BYTES);
}
static pgcn_status run_unicode(machine *m, int prefix) {
    return take_text(m, prefix, PGCN_I_PICKLE_UTF8);
}

/* `digits` hex digits at *at, -1 if there are others. */
static int hex_number(const char **at, int digits) {
    int number = 0;
    for (int i = 0; i < digits; i++) {
        char c = (*at)[i];
        if (!isxdigit((unsigned char)c)) return -1;
        number = number * 16 + (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    *at += digits;
    return number;
}

/* The character after a backslash, as Python 2's repr() of a str writes it; -1: another one. */
static int string_escape(const char **at) {
    static const char written[] = "\\'\"nrt", meant[] = "\\'\"\n\r\t";
    char kind = *(*at)++;
    const char *found = kind ? strchr(written, kind) : NULL;
    if (found) return meant[found - written];
    return kind == 'x' ? hex_number(at, 2) : -1;
}

/* The same for protocol 0's unicode, where only \uXXXX is an escape and a character above 255 is
 * nothing that an array or a key could hold. */
static int unicode_escape(const char **at) {
    char kind = *(*at)++;
    if (kind != 'u') {
        --*at;
        return '\\';
    }
    int number = hex_number(at, 4);
    return number > 255 ? -1 : number;
}

/* Texts of protocol 0, one to a line: the line ends with a NUL, so no escape reads beyond it. */
static pgcn_status push_line(machine *m, const char *line, int64_t length, bool unicode) {
    pgcn_i_pickle_encoding encoding = unicode ? PGCN_I_PICKLE_LATIN1 : PGCN_I_PICKLE_BYTES;
    if (!memchr(line, '\\', (size_t)length))
        return pgcn_i_pickle_push_text(m, line, length, encoding);
    char *text;
    int64_t bytes = 0;
    PGCN_TRY(pgcn_i_pickle_decoded_room(m, length, &text));
    for (const char *at = line; at < line + length;) {
        int c = (unsigned char)*at++;
        if (c == '\\') c = unicode ? unicode_escape(&at) : string_escape(&at);
        if (c < 0 || at > line + length)
            return PGCN_I_PICKLE_BAD(
                m, "begins a text with an escape that is none of Python's; the file is "
                   "damaged or no pickle: get it again");
        text[bytes++] = (char)c;
    }
    return pgcn_i_pickle_push_text(m, text, bytes, encoding);
}

static pgcn_status run_string_line(machine *m, int unused) {
    (void)unused;
    char *line;
    int64_t length;
    PGCN_TRY(pgcn_i_pickle_take_line(m, &line, &length));
    if (length < 2 || (line[0] != '\'' && line[0] != '"') || line[length - 1] != line[0])
        return PGCN_I_PICKLE_BAD(
            m, "begins a text without its quotes; the file is damaged or no pickle: get it "
               "again");
    return push_line(m, line + 1, length - 2, false);
}

static pgcn_status run_unicode_line(machine *m, int unused) {
    (void)unused;
    char *line;
    int64_t length;
    PGCN_TRY(pgcn_i_pickle_take_line(m, &line, &length));
    return push_line(m, line, length, true);
}

/* ---- operations: containers ------------------------------------------------------------------ */

static pgcn_status run_mark(machine *m, int unused) {
    (void)unused;
    int64_t *mark = pgcn_i_buffer_add(&m->marks, sizeof *mark);
    if (!mark) return PGCN_ERR_MEMORY;
    *mark = height(m);
    return PGCN_OK;
}

pgcn_status pgcn_i_pickle_push_empty(machine *m, int kind) {
    return pgcn_i_pickle_push(m, pgcn_i_pickle_make(m, (pgcn_i_pickle_kind)kind));
}

static pgcn_status must_be_pairs(const machine *m, int64_t from) {
    if ((height(m) - from) % 2 == 0) return PGCN_OK;
    return PGCN_I_PICKLE_BAD(
        m,
        "makes a dict of %lld keys and values, which is odd; the file is damaged: get it "
        "again",
        (long long)(height(m) - from));
}

/* A tuple, list or dict of all values above the mark. */
static pgcn_status run_from_mark(machine *m, int kind) {
    int64_t from;
    PGCN_TRY(pop_mark(m, &from));
    value *v = pgcn_i_pickle_make(m, (pgcn_i_pickle_kind)kind);
    if (!v) return PGCN_ERR_MEMORY;
    if (kind == PGCN_I_PICKLE_DICT) PGCN_TRY(must_be_pairs(m, from));
    PGCN_TRY(move_items(m, from, v));
    return pgcn_i_pickle_push(m, v);
}

static pgcn_status run_short_tuple(machine *m, int count) {
    PGCN_TRY(pgcn_i_pickle_need(m, count));
    value *v = pgcn_i_pickle_make(m, PGCN_I_PICKLE_TUPLE);
    if (!v) return PGCN_ERR_MEMORY;
    PGCN_TRY(move_items(m, height(m) - count, v));
    return pgcn_i_pickle_push(m, v);
}

/* Puts all values from height `from` up into the container that lies below them. */
static pgcn_status extend(machine *m, int64_t from, pgcn_i_pickle_kind kind) {
    if (from - floor_of(m) < 1) return pgcn_i_pickle_need(m, height(m) - floor_of(m) + 1);
    value *container = ((value **)(void *)m->stack.data)[from - 1];
    if (container->kind != kind)
        return PGCN_I_PICKLE_BAD(
            m, "puts items into %s, expected %s; the file is damaged: get it again",
            pgcn_i_pickle_kind_name(container), kind == PGCN_I_PICKLE_LIST ? "a list" : "a dict");
    if (kind == PGCN_I_PICKLE_DICT) PGCN_TRY(must_be_pairs(m, from));
    return move_items(m, from, container);
}

/* One item of a list, or one key and value of a dict. */
static pgcn_status run_add_one(machine *m, int kind) {
    int64_t count = kind == PGCN_I_PICKLE_LIST ? 1 : 2;
    PGCN_TRY(pgcn_i_pickle_need(m, count + 1));
    return extend(m, height(m) - count, (pgcn_i_pickle_kind)kind);
}

static pgcn_status run_add_marked(machine *m, int kind) {
    int64_t from;
    PGCN_TRY(pop_mark(m, &from));
    return extend(m, from, (pgcn_i_pickle_kind)kind);
}

static pgcn_status run_pop(machine *m, int unused) {
    (void)unused;
    value *v;
    int64_t from;
    /* Python takes the mark itself when nothing lies above it. */
    if (m->marks.bytes > 0 && height(m) == floor_of(m)) return pop_mark(m, &from);
    return pgcn_i_pickle_pop(m, &v);
}

static pgcn_status run_pop_mark(machine *m, int unused) {
    (void)unused;
    int64_t from;
    PGCN_TRY(pop_mark(m, &from));
    m->stack.bytes = from * (int64_t)sizeof(value *);
    return PGCN_OK;
}

static pgcn_status run_duplicate(machine *m, int unused) {
    (void)unused;
    PGCN_TRY(pgcn_i_pickle_need(m, 1));
    return pgcn_i_pickle_push(m, pgcn_i_pickle_top(m)[-1]);
}

/* ---- operations: the memo -------------------------------------------------------------------- */

static int64_t memo_size(const machine *m) {
    return m->memo.bytes / (int64_t)sizeof(value *);
}

/* The key: a line, or a number of `bytes` bytes. */
static pgcn_status take_key(machine *m, int bytes, int64_t *out) {
    uint64_t number;
    char *line;
    int64_t length;
    if (bytes > 0) {
        PGCN_TRY(take_unsigned(m, bytes, &number));
        *out = (int64_t)number; /* at most 4 bytes */
        return PGCN_OK;
    }
    PGCN_TRY(pgcn_i_pickle_take_line(m, &line, &length));
    const char *at = line;
    if (!pgcn_i_parse_i64(&at, out) || at != line + length || *out < 0)
        return PGCN_I_PICKLE_BAD(
            m, "names a stored value by something that is no number; the file is damaged or "
               "no pickle: get it again");
    return PGCN_OK;
}

static pgcn_status store(machine *m, int64_t key) {
    PGCN_TRY(pgcn_i_pickle_need(m, 1));
    if (key > m->end - m->start)
        return PGCN_I_PICKLE_BAD(
            m,
            "stores a value as number %lld, more than a file of %lld bytes can have; the "
            "file is damaged: get it again",
            (long long)key, (long long)(m->end - m->start));
    if (key >= memo_size(m)) {
        int64_t more = (key + 1 - memo_size(m)) * (int64_t)sizeof(value *);
        void *slots = pgcn_i_buffer_add(&m->memo, more);
        if (!slots) return PGCN_ERR_MEMORY;
        memset(slots, 0, (size_t)more);
    }
    ((value **)(void *)m->memo.data)[key] = pgcn_i_pickle_top(m)[-1];
    return PGCN_OK;
}

static pgcn_status run_put(machine *m, int bytes) {
    int64_t key;
    PGCN_TRY(take_key(m, bytes, &key));
    return store(m, key);
}

static pgcn_status run_memoize(machine *m, int unused) {
    (void)unused;
    return store(m, memo_size(m));
}

static pgcn_status run_get(machine *m, int bytes) {
    int64_t key;
    PGCN_TRY(take_key(m, bytes, &key));
    value *v = key < memo_size(m) ? ((value **)(void *)m->memo.data)[key] : NULL;
    if (!v)
        return PGCN_I_PICKLE_BAD(
            m,
            "asks for stored value number %lld, and none was stored under it; the file is "
            "damaged: get it again",
            (long long)key);
    return pgcn_i_pickle_push(m, v);
}

/* ---- the machine ----------------------------------------------------------------------------- */

static pgcn_status run_protocol(machine *m, int unused) {
    enum { NEWEST = 4 };
    (void)unused;
    uint64_t version;
    PGCN_TRY(take_unsigned(m, 1, &version));
    if (version > NEWEST)
        return PGCN_I_PICKLE_BAD(
            m, "says protocol %llu, expected 0 to %d; save it again with protocol=2",
            (unsigned long long)version, NEWEST);
    return PGCN_OK;
}

/* Protocol 4 marks frames of bytes, which only matter to a reader of streams. */
static pgcn_status run_frame(machine *m, int unused) {
    (void)unused;
    char *length;
    return take(m, 8, &length);
}

typedef struct operation {
    pgcn_status (*run)(machine *, int);
    int argument;
} operation;

/* clang-format off */
static const operation operations[256] = {
    [0x80] = {run_protocol, 0},    [0x95] = {run_frame, 0},
    /* numbers */
    ['N'] = {run_none, 0},         [0x88] = {run_bool, 1},        [0x89] = {run_bool, 0},
    ['K'] = {run_unsigned, 1},     ['M'] = {run_unsigned, 2},     ['J'] = {run_long, 0},
    [0x8a] = {run_long, 1},        [0x8b] = {run_long, 4},        ['G'] = {run_float, 0},
    ['I'] = {run_integer_line, 0}, ['L'] = {run_integer_line, 'L'}, ['F'] = {run_float_line, 0},
    /* texts: str of Python 2, bytes, unicode */
    ['U'] = {run_bytes, 1},        ['T'] = {run_bytes, 4},        ['S'] = {run_string_line, 0},
    ['C'] = {run_bytes, 1},        ['B'] = {run_bytes, 4},        [0x8e] = {run_bytes, 8},
    [0x8c] = {run_unicode, 1},     ['X'] = {run_unicode, 4},      [0x8d] = {run_unicode, 8},
    ['V'] = {run_unicode_line, 0},
    /* containers */
    ['('] = {run_mark, 0},         ['0'] = {run_pop, 0},          ['1'] = {run_pop_mark, 0},
    ['2'] = {run_duplicate, 0},
    [')'] = {pgcn_i_pickle_push_empty, PGCN_I_PICKLE_TUPLE},
    [']'] = {pgcn_i_pickle_push_empty, PGCN_I_PICKLE_LIST},
    ['}'] = {pgcn_i_pickle_push_empty, PGCN_I_PICKLE_DICT},
    ['t'] = {run_from_mark, PGCN_I_PICKLE_TUPLE}, ['l'] = {run_from_mark, PGCN_I_PICKLE_LIST},
    ['d'] = {run_from_mark, PGCN_I_PICKLE_DICT},
    ['a'] = {run_add_one, PGCN_I_PICKLE_LIST},    ['e'] = {run_add_marked, PGCN_I_PICKLE_LIST},
    ['s'] = {run_add_one, PGCN_I_PICKLE_DICT},    ['u'] = {run_add_marked, PGCN_I_PICKLE_DICT},
    [0x85] = {run_short_tuple, 1}, [0x86] = {run_short_tuple, 2}, [0x87] = {run_short_tuple, 3},
    /* memo: by line, 1 byte, 4 bytes */
    ['p'] = {run_put, 0},          ['q'] = {run_put, 1},          ['r'] = {run_put, 4},
    ['g'] = {run_get, 0},          ['h'] = {run_get, 1},          ['j'] = {run_get, 4},
    [0x94] = {run_memoize, 0},
    /* names and objects */
    ['c'] = {pgcn_i_pickle_run_global, 0},  [0x93] = {pgcn_i_pickle_run_stack_global, 0},
    ['R'] = {pgcn_i_pickle_run_call, 0},    [0x81] = {pgcn_i_pickle_run_call, 0},
    ['b'] = {pgcn_i_pickle_run_build, 0},   ['i'] = {pgcn_i_pickle_run_global, 1},
    ['o'] = {pgcn_i_pickle_run_refused, 0}, [0x92] = {pgcn_i_pickle_run_refused, 0},
    ['P'] = {pgcn_i_pickle_run_refused, 0}, ['Q'] = {pgcn_i_pickle_run_refused, 0},
    [0x82] = {pgcn_i_pickle_run_refused, 0}, [0x83] = {pgcn_i_pickle_run_refused, 0},
    [0x84] = {pgcn_i_pickle_run_refused, 0},
};
/* clang-format on */

static pgcn_status run(machine *m, const value **out) {
    while (m->at < m->end) {
        m->operation = m->at - m->start;
        unsigned char code = (unsigned char)*m->at++;
        if (code == '.') {
            value *result;
            PGCN_TRY(pgcn_i_pickle_pop(m, &result));
            *out = result;
            return PGCN_OK;
        }
        if (!operations[code].run)
            return PGCN_I_PICKLE_BAD(
                m,
                "holds 0x%02x, which is no operation of a pickle of plain data; is it the "
                "right file?",
                code);
        PGCN_TRY(operations[code].run(m, operations[code].argument));
    }
    m->operation = m->end - m->start;
    return PGCN_I_PICKLE_BAD(
        m, "is the end of the file, but the pickle goes on; it is cut short: get it again");
}

pgcn_status pgcn_i_pickle_read(const char *path, pgcn_i_arena *arena, const pgcn_i_pickle **out,
                               int64_t *bytes) {
    machine m = {.path = path, .arena = arena};
    PGCN_TRY(pgcn_i_file_read(path, INT64_MAX - 1, arena, &m.start, bytes));
    m.at = m.start;
    m.end = m.start + *bytes;
    pgcn_status status = run(&m, out);
    pgcn_i_buffer_free(&m.stack);
    pgcn_i_buffer_free(&m.marks);
    pgcn_i_buffer_free(&m.memo);
    return status;
}

const pgcn_i_pickle *pgcn_i_pickle_find(const pgcn_i_pickle *dict, const char *key) {
    const value *found = NULL;
    const item *at = dict && dict->kind == PGCN_I_PICKLE_DICT ? dict->items.first : NULL;
    for (; at && at->next; at = at->next->next)
        if (pgcn_i_pickle_is_text(at->value, key))
            found = at->next->value; /* a later value replaces an earlier one */
    return found;
}
