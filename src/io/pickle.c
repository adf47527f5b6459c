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
#include "io/pickle.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

typedef enum symbol {
    RECONSTRUCT,
    NDARRAY,
    DTYPE,
    CSR_MATRIX,
    DEFAULTDICT,
    LIST,
    OBJECT,
    BYTES,
    RECONSTRUCTOR,
    ENCODE
} symbol;

/* Several spellings: Python 2 and 3, and the places where NumPy and SciPy moved their classes. */
static const struct {
    const char *module, *name;
    symbol symbol;
} known_names[] = {
    {"numpy.core.multiarray", "_reconstruct", RECONSTRUCT},
    {"numpy._core.multiarray", "_reconstruct", RECONSTRUCT},
    {"numpy", "ndarray", NDARRAY},
    {"numpy", "dtype", DTYPE},
    {"scipy.sparse.csr", "csr_matrix", CSR_MATRIX},
    {"scipy.sparse._csr", "csr_matrix", CSR_MATRIX},
    {"collections", "defaultdict", DEFAULTDICT},
    {"__builtin__", "list", LIST},
    {"builtins", "list", LIST},
    {"__builtin__", "object", OBJECT},
    {"builtins", "object", OBJECT},
    {"__builtin__", "bytes", BYTES},
    {"builtins", "bytes", BYTES},
    {"copy_reg", "_reconstructor", RECONSTRUCTOR},
    {"copyreg", "_reconstructor", RECONSTRUCTOR},
    {"_codecs", "encode", ENCODE},
};
enum { KNOWN_NAMES = sizeof known_names / sizeof known_names[0] };

typedef pgcn_i_pickle value;
typedef pgcn_i_pickle_item item;

typedef struct machine {
    const char *path;
    char *start, *at, *end; /* the file; a NUL stands at `end` */
    int64_t operation;      /* the byte of the operation that runs */
    pgcn_i_arena *arena;
    pgcn_i_buffer stack; /* of value * */
    pgcn_i_buffer marks; /* of int64_t: heights of the stack */
    pgcn_i_buffer memo;  /* of value *, NULL: not set */
    value *values;       /* room for values and items that were not made yet */
    item *items;
    int64_t values_left, items_left, decoded_bytes;
} machine;

static void __attribute__((format(printf, 2, 3)))
complain(const machine *m, const char *format, ...) {
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    pgcn_i_fail(PGCN_ERR_FORMAT, "reading '%s': byte %lld %s", m->path, (long long)m->operation,
                sentence);
}
/* A macro, so that compilers see a constant and know that nobody goes on after it. */
#define bad(...) (complain(__VA_ARGS__), PGCN_ERR_FORMAT)

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
        return bad(m,
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
static pgcn_status take_line(machine *m, char **line, int64_t *length) {
    char *end = memchr(m->at, '\n', (size_t)(m->end - m->at));
    if (!end) return bad(m, "begins a line that has no end; the file is cut short: get it again");
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

/* Values are made in blocks, whose size follows what the file can still ask for. */
static int64_t block_size(const machine *m, int64_t more) {
    enum { LARGEST = 4096 };
    int64_t left = m->end - m->at + 1 + more;
    return left < LARGEST ? left : LARGEST;
}

static value *make(machine *m, pgcn_i_pickle_kind kind) {
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

static pgcn_status push(machine *m, value *v) {
    if (!v) return PGCN_ERR_MEMORY;
    value **slot = pgcn_i_buffer_add(&m->stack, sizeof v);
    if (!slot) return PGCN_ERR_MEMORY;
    *slot = v;
    return PGCN_OK;
}

static value **top(const machine *m) {
    return (value **)(void *)m->stack.data + height(m);
}

static pgcn_status need(const machine *m, int64_t count) {
    if (height(m) - floor_of(m) < count)
        return bad(m,
                   "takes %lld values from a stack that has %lld; the file is damaged or no "
                   "pickle: get it again",
                   (long long)count, (long long)(height(m) - floor_of(m)));
    return PGCN_OK;
}

static pgcn_status pop(machine *m, value **out) {
    PGCN_TRY(need(m, 1));
    *out = top(m)[-1];
    m->stack.bytes -= (int64_t)sizeof(value *);
    return PGCN_OK;
}

static pgcn_status pop_mark(machine *m, int64_t *from) {
    if (m->marks.bytes == 0)
        return bad(m, "needs a mark on the stack and there is none; the file is damaged or no "
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

static pgcn_status push_integer(machine *m, pgcn_i_pickle_kind kind, int64_t integer) {
    value *v = make(m, kind);
    if (v) v->integer = integer;
    return push(m, v);
}

static pgcn_status run_none(machine *m, int unused) {
    (void)unused;
    return push(m, make(m, PGCN_I_PICKLE_NONE));
}

static pgcn_status run_bool(machine *m, int truth) {
    return push_integer(m, PGCN_I_PICKLE_BOOL, truth);
}

static pgcn_status run_unsigned(machine *m, int bytes) {
    uint64_t number;
    PGCN_TRY(take_unsigned(m, bytes, &number));
    return push_integer(m, PGCN_I_PICKLE_INTEGER, (int64_t)number);
}

/* A signed number of 0 to 8 bytes, whose own number of bytes stands before it in `prefix` bytes. */
static pgcn_status run_long(machine *m, int prefix) {
    uint64_t bytes = 4, number;
    if (prefix > 0) PGCN_TRY(take_unsigned(m, prefix, &bytes));
    if (bytes > 8)
        return bad(m,
                   "holds a whole number of %llu bytes, expected at most 8; the file is damaged "
                   "or no graph",
                   (unsigned long long)bytes);
    PGCN_TRY(take_unsigned(m, (int)bytes, &number));
    unsigned unused_bits = 64 - 8 * (unsigned)bytes;
    int64_t extended = bytes ? (int64_t)(number << unused_bits) >> unused_bits : 0;
    return push_integer(m, PGCN_I_PICKLE_INTEGER, extended);
}

static pgcn_status run_float(machine *m, int unused) {
    (void)unused;
    uint64_t bits;
    PGCN_TRY(take_unsigned(m, 8, &bits));
    bits = __builtin_bswap64(bits); /* the one big-endian number of the format */
    value *v = make(m, PGCN_I_PICKLE_FLOAT);
    if (v) memcpy(&v->real, &bits, 8);
    return push(m, v);
}

/* I 12\n, L 12L\n; I 00\n and I 01\n are False and True. */
static pgcn_status run_integer_line(machine *m, int suffix) {
    char *line;
    int64_t length, number;
    PGCN_TRY(take_line(m, &line, &length));
    if (suffix == 0 && length == 2 && line[0] == '0' && (line[1] == '0' || line[1] == '1'))
        return push_integer(m, PGCN_I_PICKLE_BOOL, line[1] - '0');
    const char *at = line;
    bool fine = pgcn_i_parse_i64(&at, &number);
    if (fine && suffix && *at == suffix) at++;
    if (!fine || at != line + length)
        return bad(m, "holds a line that is no whole number of 64 bits; the file is damaged or no "
                      "pickle: get it again");
    return push_integer(m, PGCN_I_PICKLE_INTEGER, number);
}

static pgcn_status run_float_line(machine *m, int unused) {
    (void)unused;
    char *line;
    int64_t length;
    double number;
    PGCN_TRY(take_line(m, &line, &length));
    const char *at = line;
    if (!pgcn_i_parse_f64(&at, &number) || at != line + length)
        return bad(m, "holds a line that is no number; the file is damaged or no pickle: get it "
                      "again");
    value *v = make(m, PGCN_I_PICKLE_FLOAT);
    if (v) v->real = number;
    return push(m, v);
}

/* ---- operations: texts ----------------------------------------------------------------------- */

static pgcn_status push_text(machine *m, const char *data, int64_t bytes,
                             pgcn_i_pickle_encoding encoding) {
    value *v = make(m, PGCN_I_PICKLE_TEXT);
    if (v) {
        v->text.data = data;
        v->text.bytes = bytes;
        v->encoding = encoding;
    }
    return push(m, v);
}

/* Room for a text that cannot stay as it is in the file. */
static pgcn_status decoded_room(machine *m, int64_t bytes, char **out) {
    m->decoded_bytes += bytes; /* each is at most the length of the file: no overflow */
    if (m->decoded_bytes > m->end - m->start)
        return bad(m, "decodes the same text again and again; the file is made to fill the memory");
    *out = pgcn_i_arena_alloc(m->arena, bytes, 1);
    return *out ? PGCN_OK : PGCN_ERR_MEMORY;
}

/* A text with its length before it, in `prefix` bytes. */
static pgcn_status take_text(machine *m, int prefix, pgcn_i_pickle_encoding encoding) {
    uint64_t bytes;
    char *data;
    PGCN_TRY(take_unsigned(m, prefix, &bytes));
    PGCN_TRY(take(m, bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes, &data));
    return push_text(m, data, (int64_t)bytes, encoding);
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
    if (!memchr(line, '\\', (size_t)length)) return push_text(m, line, length, encoding);
    char *text;
    int64_t bytes = 0;
    PGCN_TRY(decoded_room(m, length, &text));
    for (const char *at = line; at < line + length;) {
        int c = (unsigned char)*at++;
        if (c == '\\') c = unicode ? unicode_escape(&at) : string_escape(&at);
        if (c < 0 || at > line + length)
            return bad(m, "begins a text with an escape that is none of Python's; the file is "
                          "damaged or no pickle: get it again");
        text[bytes++] = (char)c;
    }
    return push_text(m, text, bytes, encoding);
}

static pgcn_status run_string_line(machine *m, int unused) {
    (void)unused;
    char *line;
    int64_t length;
    PGCN_TRY(take_line(m, &line, &length));
    if (length < 2 || (line[0] != '\'' && line[0] != '"') || line[length - 1] != line[0])
        return bad(m, "begins a text without its quotes; the file is damaged or no pickle: get it "
                      "again");
    return push_line(m, line + 1, length - 2, false);
}

static pgcn_status run_unicode_line(machine *m, int unused) {
    (void)unused;
    char *line;
    int64_t length;
    PGCN_TRY(take_line(m, &line, &length));
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

static pgcn_status run_empty(machine *m, int kind) {
    return push(m, make(m, (pgcn_i_pickle_kind)kind));
}

static pgcn_status must_be_pairs(const machine *m, int64_t from) {
    if ((height(m) - from) % 2 == 0) return PGCN_OK;
    return bad(m,
               "makes a dict of %lld keys and values, which is odd; the file is damaged: get it "
               "again",
               (long long)(height(m) - from));
}

/* A tuple, list or dict of all values above the mark. */
static pgcn_status run_from_mark(machine *m, int kind) {
    int64_t from;
    PGCN_TRY(pop_mark(m, &from));
    value *v = make(m, (pgcn_i_pickle_kind)kind);
    if (!v) return PGCN_ERR_MEMORY;
    if (kind == PGCN_I_PICKLE_DICT) PGCN_TRY(must_be_pairs(m, from));
    PGCN_TRY(move_items(m, from, v));
    return push(m, v);
}

static pgcn_status run_short_tuple(machine *m, int count) {
    PGCN_TRY(need(m, count));
    value *v = make(m, PGCN_I_PICKLE_TUPLE);
    if (!v) return PGCN_ERR_MEMORY;
    PGCN_TRY(move_items(m, height(m) - count, v));
    return push(m, v);
}

/* Puts all values from height `from` up into the container that lies below them. */
static pgcn_status extend(machine *m, int64_t from, pgcn_i_pickle_kind kind) {
    if (from - floor_of(m) < 1) return need(m, height(m) - floor_of(m) + 1);
    value *container = ((value **)(void *)m->stack.data)[from - 1];
    if (container->kind != kind)
        return bad(m, "puts items into %s, expected %s; the file is damaged: get it again",
                   pgcn_i_pickle_kind_name(container),
                   kind == PGCN_I_PICKLE_LIST ? "a list" : "a dict");
    if (kind == PGCN_I_PICKLE_DICT) PGCN_TRY(must_be_pairs(m, from));
    return move_items(m, from, container);
}

/* One item of a list, or one key and value of a dict. */
static pgcn_status run_add_one(machine *m, int kind) {
    int64_t count = kind == PGCN_I_PICKLE_LIST ? 1 : 2;
    PGCN_TRY(need(m, count + 1));
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
    return pop(m, &v);
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
    PGCN_TRY(need(m, 1));
    return push(m, top(m)[-1]);
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
    PGCN_TRY(take_line(m, &line, &length));
    const char *at = line;
    if (!pgcn_i_parse_i64(&at, out) || at != line + length || *out < 0)
        return bad(m, "names a stored value by something that is no number; the file is damaged or "
                      "no pickle: get it again");
    return PGCN_OK;
}

static pgcn_status store(machine *m, int64_t key) {
    PGCN_TRY(need(m, 1));
    if (key > m->end - m->start)
        return bad(m,
                   "stores a value as number %lld, more than a file of %lld bytes can have; the "
                   "file is damaged: get it again",
                   (long long)key, (long long)(m->end - m->start));
    if (key >= memo_size(m)) {
        int64_t more = (key + 1 - memo_size(m)) * (int64_t)sizeof(value *);
        void *slots = pgcn_i_buffer_add(&m->memo, more);
        if (!slots) return PGCN_ERR_MEMORY;
        memset(slots, 0, (size_t)more);
    }
    ((value **)(void *)m->memo.data)[key] = top(m)[-1];
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
        return bad(m,
                   "asks for stored value number %lld, and none was stored under it; the file is "
                   "damaged: get it again",
                   (long long)key);
    return push(m, v);
}

/* ---- operations: names ----------------------------------------------------------------------- */

static bool text_is(const char *text, int64_t bytes, const char *wanted) {
    return bytes == (int64_t)strlen(wanted) && memcmp(text, wanted, (size_t)bytes) == 0;
}

static pgcn_status refuse_name(const machine *m, const char *module, int64_t module_bytes,
                               const char *name, int64_t name_bytes) {
    char where[PGCN_I_EXCERPT], what[PGCN_I_EXCERPT];
    pgcn_i_text_excerpt(module, module_bytes, where);
    pgcn_i_text_excerpt(name, name_bytes, what);
    return bad(m,
               "asks for %s.%s, which is not data; such a file can run programs when Python "
               "opens it, here nothing was run: get the data from a source you trust, as plain "
               "NumPy arrays",
               where, what);
}

static pgcn_status push_symbol(machine *m, const char *module, int64_t module_bytes,
                               const char *name, int64_t name_bytes) {
    for (int i = 0; i < KNOWN_NAMES; i++)
        if (text_is(module, module_bytes, known_names[i].module) &&
            text_is(name, name_bytes, known_names[i].name))
            return push_integer(m, PGCN_I_PICKLE_SYMBOL, known_names[i].symbol);
    return refuse_name(m, module, module_bytes, name, name_bytes);
}

static pgcn_status run_global(machine *m, int old_instance) {
    char *module, *name;
    int64_t module_bytes, name_bytes;
    PGCN_TRY(take_line(m, &module, &module_bytes));
    PGCN_TRY(take_line(m, &name, &name_bytes));
    if (old_instance) return refuse_name(m, module, module_bytes, name, name_bytes);
    return push_symbol(m, module, module_bytes, name, name_bytes);
}

static pgcn_status run_stack_global(machine *m, int unused) {
    (void)unused;
    value *module, *name;
    PGCN_TRY(pop(m, &name));
    PGCN_TRY(pop(m, &module));
    if (module->kind != PGCN_I_PICKLE_TEXT || name->kind != PGCN_I_PICKLE_TEXT)
        return bad(m,
                   "asks for a class by %s and %s, expected two texts; the file is damaged: get "
                   "it again",
                   pgcn_i_pickle_kind_name(module), pgcn_i_pickle_kind_name(name));
    return push_symbol(m, module->text.data, module->text.bytes, name->text.data, name->text.bytes);
}

/* Operations that reach outside the file by their nature. */
static pgcn_status run_refused(machine *m, int unused) {
    (void)unused;
    return bad(m, "asks for an object that is not in the file; such a file can run programs when "
                  "Python opens it, here nothing was run: get the data as plain NumPy arrays");
}

/* ---- operations: making arrays and matrices -------------------------------------------------- */

/* Item i of a tuple, NULL beyond its end. Tuples that are asked for are short. */
static const value *item_of(const value *tuple, int64_t i) {
    const item *at = tuple->kind == PGCN_I_PICKLE_TUPLE ? tuple->items.first : NULL;
    for (; at && i > 0; i--) at = at->next;
    return at ? at->value : NULL;
}

static bool is_text(const value *v, const char *wanted) {
    return v && v->kind == PGCN_I_PICKLE_TEXT && text_is(v->text.data, v->text.bytes, wanted);
}
static bool is_symbol(const value *v, symbol wanted) {
    return v && v->kind == PGCN_I_PICKLE_SYMBOL && v->integer == wanted;
}

static pgcn_status make_dtype(machine *m, const value *arguments) {
    static const struct {
        const char *code;
        pgcn_i_dtype dtype;
    } types[] = {{"f4", PGCN_I_F32}, {"f8", PGCN_I_F64}, {"i4", PGCN_I_I32},
                 {"i8", PGCN_I_I64}, {"u1", PGCN_I_U8},  {"b1", PGCN_I_U8}};
    const value *code = item_of(arguments, 0);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (is_text(code, types[i].code))
            return push_integer(m, PGCN_I_PICKLE_DTYPE, types[i].dtype);
    char shown[PGCN_I_EXCERPT] = "?";
    if (code && code->kind == PGCN_I_PICKLE_TEXT)
        pgcn_i_text_excerpt(code->text.data, code->text.bytes, shown);
    return bad(m,
               "makes an array of type '%s', expected one of 'f4', 'f8', 'i4', 'i8', 'u1', 'b1'; "
               "convert it with a.astype('<f4') for numbers, '<i4' for ids",
               shown);
}

/* An array as np.ndarray((0,), 'b') is: empty until its state comes. */
static pgcn_status make_array(machine *m, const value *arguments) {
    if (!is_symbol(item_of(arguments, 0), NDARRAY))
        return bad(m, "reconstructs %s, expected numpy.ndarray; save plain arrays",
                   pgcn_i_pickle_kind_name(item_of(arguments, 0)));
    value *v = make(m, PGCN_I_PICKLE_ARRAY);
    if (!v || !(v->array = PGCN_I_ARRAY(m->arena, pgcn_i_array, 1))) return PGCN_ERR_MEMORY;
    v->array->rank = 1;
    v->array->data = m->start;
    return push(m, v);
}

/* The two lowest pieces of UTF-8 give latin1; false for any other character. */
static bool utf8_to_latin1(const char *text, int64_t bytes, char *out, int64_t *out_bytes) {
    *out_bytes = 0;
    for (int64_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x80) {
            if ((c != 0xc2 && c != 0xc3) || i + 1 == bytes || (text[i + 1] & 0xc0) != 0x80)
                return false;
            c = (unsigned char)((c & 3) << 6 | (text[++i] & 0x3f));
        }
        out[(*out_bytes)++] = (char)c;
    }
    return true;
}

/* _codecs.encode(text, 'latin1'): how Python 3 writes bytes with protocols 0 to 2. */
static pgcn_status make_encoded(machine *m, const value *arguments) {
    const value *text = item_of(arguments, 0), *codec = item_of(arguments, 1);
    if (!text || text->kind != PGCN_I_PICKLE_TEXT || !is_text(codec, "latin1"))
        return bad(m, "encodes %s by a codec other than latin1; save plain arrays with protocol=2",
                   pgcn_i_pickle_kind_name(text));
    if (text->encoding != PGCN_I_PICKLE_UTF8)
        return push_text(m, text->text.data, text->text.bytes, PGCN_I_PICKLE_BYTES);
    char *out;
    int64_t bytes;
    PGCN_TRY(decoded_room(m, text->text.bytes, &out));
    if (!utf8_to_latin1(text->text.data, text->text.bytes, out, &bytes))
        return bad(m, "encodes as latin1 a text with other characters; the file is damaged: get it "
                      "again");
    return push_text(m, out, bytes, PGCN_I_PICKLE_BYTES);
}

/* `callable` with `arguments`: what Python would call is looked at, and its result built. */
static pgcn_status make_called(machine *m, const value *callable, const value *arguments) {
    if (callable->kind != PGCN_I_PICKLE_SYMBOL || arguments->kind != PGCN_I_PICKLE_TUPLE)
        return bad(m,
                   "calls %s with %s, expected a function and a tuple; the file is damaged: get "
                   "it again",
                   pgcn_i_pickle_kind_name(callable), pgcn_i_pickle_kind_name(arguments));
    switch ((symbol)callable->integer) {
    case RECONSTRUCT: return make_array(m, arguments);
    case DTYPE: return make_dtype(m, arguments);
    case ENCODE: return make_encoded(m, arguments);
    case RECONSTRUCTOR:
        if (is_symbol(item_of(arguments, 0), CSR_MATRIX)) return run_empty(m, PGCN_I_PICKLE_CSR);
        break;
    case CSR_MATRIX:
        if (arguments->items.count == 0) return run_empty(m, PGCN_I_PICKLE_CSR);
        break;
    case DEFAULTDICT:
        if (arguments->items.count == 0 || is_symbol(item_of(arguments, 0), LIST))
            return run_empty(m, PGCN_I_PICKLE_DICT);
        break;
    case LIST:
        if (arguments->items.count == 0) return run_empty(m, PGCN_I_PICKLE_LIST);
        break;
    case BYTES:
        if (arguments->items.count == 0) return push_text(m, m->start, 0, PGCN_I_PICKLE_BYTES);
        break;
    case NDARRAY:
    case OBJECT: break;
    }
    return bad(m, "builds an object in a way that no array, CSR matrix or defaultdict(list) is "
                  "built; save the data as plain NumPy arrays");
}

static pgcn_status run_call(machine *m, int unused) {
    (void)unused;
    value *callable, *arguments;
    PGCN_TRY(pop(m, &arguments));
    PGCN_TRY(pop(m, &callable));
    return make_called(m, callable, arguments);
}

/* (version, byte order, subarray, names, fields, ...) */
static pgcn_status set_dtype(const machine *m, const value *state) {
    const value *order = item_of(state, 1);
    if (is_text(order, ">"))
        return bad(m, "makes a big-endian array, expected little-endian; convert it with "
                      "a.astype('<f4') for numbers, '<i4' for ids");
    bool plain = is_text(order, "<") || is_text(order, "|") || is_text(order, "=");
    for (int i = 2; i < 5; i++) {
        const value *part = item_of(state, i);
        plain = plain && part && part->kind == PGCN_I_PICKLE_NONE;
    }
    if (!plain)
        return bad(m, "makes an array with fields or of an unknown byte order, expected one plain "
                      "type; save each field by itself");
    return PGCN_OK;
}

static pgcn_status read_shape(const machine *m, const value *shape, pgcn_i_array *array) {
    enum { MAX_RANK = sizeof array->shape / sizeof array->shape[0] };
    if (!shape || shape->kind != PGCN_I_PICKLE_TUPLE || shape->items.count > MAX_RANK)
        return bad(m,
                   "makes an array of a shape that is %s, expected a tuple of at most %d whole "
                   "numbers",
                   shape && shape->kind == PGCN_I_PICKLE_TUPLE ? "too long"
                                                               : pgcn_i_pickle_kind_name(shape),
                   MAX_RANK);
    array->rank = 0;
    for (const item *at = shape->items.first; at; at = at->next) {
        if (at->value->kind != PGCN_I_PICKLE_INTEGER || at->value->integer < 0)
            return bad(m,
                       "makes an array of a shape with something else than whole numbers from 0; "
                       "the file is damaged: get it again");
        array->shape[array->rank++] = at->value->integer;
    }
    return PGCN_OK;
}

/* (version, shape, dtype, whether in Fortran order, bytes) */
static pgcn_status set_array(machine *m, const value *v, const value *state) {
    const value *dtype = item_of(state, 2), *fortran = item_of(state, 3), *data = item_of(state, 4);
    pgcn_i_array array = {0};
    int64_t bytes;
    if (!data || state->items.count != 5 || dtype->kind != PGCN_I_PICKLE_DTYPE ||
        (fortran->kind != PGCN_I_PICKLE_BOOL && fortran->kind != PGCN_I_PICKLE_INTEGER))
        return bad(m, "fills an array from something else than (version, shape, dtype, order, "
                      "bytes); save it again with protocol=2");
    if (data->kind != PGCN_I_PICKLE_TEXT || data->encoding != PGCN_I_PICKLE_BYTES)
        return bad(m, "fills an array from %s, expected bytes; save plain arrays of numbers",
                   data->kind == PGCN_I_PICKLE_TEXT ? "a unicode text"
                                                    : pgcn_i_pickle_kind_name(data));
    array.dtype = (pgcn_i_dtype)dtype->integer;
    PGCN_TRY(read_shape(m, item_of(state, 1), &array));
    if (fortran->integer && array.rank > 1)
        return bad(m, "makes an array stored column by column (Fortran order), expected C order; "
                      "save np.ascontiguousarray(a)");
    char shape[PGCN_I_SHAPE_TEXT];
    pgcn_i_shape_text(array.dtype, array.rank, array.shape, shape);
    if (!pgcn_i_array_size(array.shape, array.rank, array.dtype, &array.count, &bytes) ||
        bytes != data->text.bytes)
        return bad(m,
                   "makes an array %s of %lld bytes, which do not fit; the file is damaged: get "
                   "it again",
                   shape, (long long)data->text.bytes);
    array.data = (void *)(uintptr_t)data->text.data;
    *v->array = array;
    return PGCN_OK;
}

/* Gives the object on the stack its state. */
static pgcn_status run_build(machine *m, int unused) {
    (void)unused;
    value *state;
    PGCN_TRY(pop(m, &state));
    PGCN_TRY(need(m, 1));
    value *v = top(m)[-1];
    if (v->kind == PGCN_I_PICKLE_DTYPE) return set_dtype(m, state);
    if (v->kind == PGCN_I_PICKLE_ARRAY) return set_array(m, v, state);
    if (v->kind != PGCN_I_PICKLE_CSR || state->kind != PGCN_I_PICKLE_DICT)
        return bad(m,
                   "gives %s as its state to %s, which is not built so; save the data as plain "
                   "NumPy arrays",
                   pgcn_i_pickle_kind_name(state), pgcn_i_pickle_kind_name(v));
    v->state = state;
    return PGCN_OK;
}

/* ---- the machine ----------------------------------------------------------------------------- */

static pgcn_status run_protocol(machine *m, int unused) {
    enum { NEWEST = 4 };
    (void)unused;
    uint64_t version;
    PGCN_TRY(take_unsigned(m, 1, &version));
    if (version > NEWEST)
        return bad(m, "says protocol %llu, expected 0 to %d; save it again with protocol=2",
                   (unsigned long long)version, NEWEST);
    return PGCN_OK;
}

/* Protocol 4 tells how many bytes belong together, which only matters to a reader of streams. */
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
    [')'] = {run_empty, PGCN_I_PICKLE_TUPLE},     ['t'] = {run_from_mark, PGCN_I_PICKLE_TUPLE},
    [']'] = {run_empty, PGCN_I_PICKLE_LIST},      ['l'] = {run_from_mark, PGCN_I_PICKLE_LIST},
    ['}'] = {run_empty, PGCN_I_PICKLE_DICT},      ['d'] = {run_from_mark, PGCN_I_PICKLE_DICT},
    ['a'] = {run_add_one, PGCN_I_PICKLE_LIST},    ['e'] = {run_add_marked, PGCN_I_PICKLE_LIST},
    ['s'] = {run_add_one, PGCN_I_PICKLE_DICT},    ['u'] = {run_add_marked, PGCN_I_PICKLE_DICT},
    [0x85] = {run_short_tuple, 1}, [0x86] = {run_short_tuple, 2}, [0x87] = {run_short_tuple, 3},
    /* memo: by line, 1 byte, 4 bytes */
    ['p'] = {run_put, 0},          ['q'] = {run_put, 1},          ['r'] = {run_put, 4},
    ['g'] = {run_get, 0},          ['h'] = {run_get, 1},          ['j'] = {run_get, 4},
    [0x94] = {run_memoize, 0},
    /* names and objects */
    ['c'] = {run_global, 0},       [0x93] = {run_stack_global, 0},
    ['R'] = {run_call, 0},         [0x81] = {run_call, 0},        ['b'] = {run_build, 0},
    ['i'] = {run_global, 1},       ['o'] = {run_refused, 0},      [0x92] = {run_refused, 0},
    ['P'] = {run_refused, 0},      ['Q'] = {run_refused, 0},      [0x82] = {run_refused, 0},
    [0x83] = {run_refused, 0},     [0x84] = {run_refused, 0},
};
/* clang-format on */

static pgcn_status run(machine *m, const value **out) {
    while (m->at < m->end) {
        m->operation = m->at - m->start;
        unsigned char code = (unsigned char)*m->at++;
        if (code == '.') {
            value *result;
            PGCN_TRY(pop(m, &result));
            *out = result;
            return PGCN_OK;
        }
        if (!operations[code].run)
            return bad(m,
                       "holds 0x%02x, which is no operation of a pickle of plain data; is it the "
                       "right file?",
                       code);
        PGCN_TRY(operations[code].run(m, operations[code].argument));
    }
    m->operation = m->end - m->start;
    return bad(m, "is the end of the file, but the pickle goes on; it is cut short: get it again");
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
        if (is_text(at->value, key)) found = at->next->value; /* the last one counts */
    return found;
}
