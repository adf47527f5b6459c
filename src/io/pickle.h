/* A safe reader of Python pickles: values come out, nothing is executed. The readers of Planetoid
 * and of whatever else was published as a pickle use it. */
#ifndef PGCN_PICKLE_H
#define PGCN_PICKLE_H

#include "io/io.h"

#include <string.h>

typedef enum pgcn_i_pickle_kind {
    PGCN_I_PICKLE_NONE,
    PGCN_I_PICKLE_BOOL,    /* .integer */
    PGCN_I_PICKLE_INTEGER, /* .integer */
    PGCN_I_PICKLE_FLOAT,   /* .real */
    PGCN_I_PICKLE_TEXT,    /* .text: a str of either Python, or bytes */
    PGCN_I_PICKLE_TUPLE,   /* .items */
    PGCN_I_PICKLE_LIST,    /* .items */
    PGCN_I_PICKLE_DICT,    /* .items: key, value, key, value, ... (2 * entries); defaultdict too */
    PGCN_I_PICKLE_ARRAY,   /* .array: numpy.ndarray */
    PGCN_I_PICKLE_CSR,     /* .state: scipy.sparse.csr_matrix, its dict of fields (or NULL) */
    PGCN_I_PICKLE_DTYPE,   /* .integer: a pgcn_i_dtype */
    PGCN_I_PICKLE_SYMBOL   /* .integer: a name such as numpy.ndarray; of no use outside */
} pgcn_i_pickle_kind;

typedef enum pgcn_i_pickle_encoding {
    PGCN_I_PICKLE_BYTES, /* bytes, or the str of Python 2 */
    PGCN_I_PICKLE_UTF8,
    PGCN_I_PICKLE_LATIN1
} pgcn_i_pickle_encoding;

typedef struct pgcn_i_pickle pgcn_i_pickle;
typedef struct pgcn_i_pickle_item {
    const pgcn_i_pickle *value;
    struct pgcn_i_pickle_item *next;
} pgcn_i_pickle_item;

/* A value. One value may be part of many others (pickles share equal values), even of itself: walk
 * to a known depth only, and do not trust a total that was not counted. */
struct pgcn_i_pickle {
    pgcn_i_pickle_kind kind;
    pgcn_i_pickle_encoding encoding; /* of a text */
    int64_t at;                      /* the byte of the file that made it, for errors */
    union {
        int64_t integer;
        double real;
        struct {
            const char *data; /* no NUL at its end */
            int64_t bytes;
        } text;
        struct {
            pgcn_i_pickle_item *first, *last;
            int64_t count;
        } items;
        /* .data points into the bytes of the file and is NOT aligned: pgcn_i_pickle_int/float */
        pgcn_i_array *array;
        const pgcn_i_pickle *state;
    };
};

/* Reads the file and its values into the arena. Memory is at most a constant times the length of
 * the file, whatever it contains. Protocols 0 to 4. *bytes is that length: an upper bound for what
 * a caller counts in an honest file. PGCN_ERR_FORMAT names the byte. */
pgcn_status pgcn_i_pickle_read(const char *path, pgcn_i_arena *arena, const pgcn_i_pickle **out,
                               int64_t *bytes);

/* The value of a text key, NULL if the dict has none (or is none). O(entries). */
const pgcn_i_pickle *pgcn_i_pickle_find(const pgcn_i_pickle *dict, const char *key);

/* "a list", "a NumPy array": for errors. */
const char *pgcn_i_pickle_kind_name(const pgcn_i_pickle *value);

/* Element i of an array of whole numbers or of any type. */
static inline int64_t pgcn_i_pickle_int(const pgcn_i_array *array, int64_t i) {
    const char *data = array->data;
    int32_t narrow;
    int64_t wide;
    if (array->dtype == PGCN_I_U8) return ((const uint8_t *)data)[i];
    if (array->dtype == PGCN_I_I32) {
        memcpy(&narrow, data + i * 4, 4);
        return narrow;
    }
    memcpy(&wide, data + i * 8, 8);
    return wide;
}
static inline double pgcn_i_pickle_float(const pgcn_i_array *array, int64_t i) {
    const char *data = array->data;
    float narrow;
    double wide;
    if (array->dtype == PGCN_I_F32) {
        memcpy(&narrow, data + i * 4, 4);
        return narrow;
    }
    if (array->dtype != PGCN_I_F64) return (double)pgcn_i_pickle_int(array, i);
    memcpy(&wide, data + i * 8, 8);
    return wide;
}

#endif
