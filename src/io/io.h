/* io: files and nothing but files. Knows no graph and no model.
 *
 * Comes in: paths. Goes out: checked arrays and tensors, and files that are either complete or
 * not there. Every reader treats its file as hostile: sizes are checked against the length of the
 * file before anything is allocated. Next room: graph and data. */
#ifndef PGCN_IO_H
#define PGCN_IO_H

#include "base/base.h"

#include <dirent.h>
#include <jansson.h>

/* All our formats are little-endian and arrays go to disk and into hashes as they are. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "pathgcn needs a little-endian machine");

/* How much of a file is in memory at a time. The fuzz tests make it small, so that small inputs
 * cross the edges of windows too. */
#ifdef PGCN_SMALL_WINDOWS
#define PGCN_I_WINDOW(bytes) ((bytes) < 1024 ? (bytes) : 1024)
#else
#define PGCN_I_WINDOW(bytes) (bytes)
#endif

/* ---- files (file.c) ---------------------------------------------------------------------- */

enum { PGCN_I_PATH_BYTES = 4096 };

/* out = directory/file, PGCN_I_PATH_BYTES long; an error if that is too short. */
pgcn_status pgcn_i_path_join(char *out, const char *directory, const char *file);

/* A regular file, or memory, read from front to back; `bytes` is its length, known before any
 * allocation. */
typedef struct pgcn_i_reader {
    int descriptor;
    int64_t bytes;
    const char *path;   /* borrowed; of memory: what it is, for errors */
    const char *memory; /* borrowed, what is not read yet; NULL: a file */
    int64_t left;       /* bytes of it */
} pgcn_i_reader;
pgcn_status pgcn_i_reader_open(pgcn_i_reader *reader, const char *path);
pgcn_i_reader pgcn_i_reader_of_memory(const char *what, const void *memory, int64_t bytes);
pgcn_status pgcn_i_reader_read(pgcn_i_reader *reader, void *data, int64_t bytes); /* exactly */
void pgcn_i_reader_close(pgcn_i_reader *reader);

/* Reads a whole regular file into the arena (a NUL is put after the last byte). */
pgcn_status pgcn_i_file_read(const char *path, int64_t max_bytes, pgcn_i_arena *arena, char **data,
                             int64_t *bytes);
bool pgcn_i_file_exists(const char *path);
bool pgcn_i_is_directory(const char *path);
/* A folder to list; *out = NULL if there is none. Its next entry, NULL after the last. A folder
 * that cannot be read is an error, not an empty folder. */
pgcn_status pgcn_i_directory_open(const char *path, DIR **out);
pgcn_status pgcn_i_directory_next(DIR *stream, const char *path, struct dirent **out);
/* Counts the files of a directory whose names begin with `begin` and end with `end`, with something
 * between. `middle` gets the text between of the first one in alphabetical order. 0 if the
 * directory cannot be listed. */
enum { PGCN_I_NAME_BYTES = 256 };
int pgcn_i_directory_find(const char *directory, const char *begins, const char *ends,
                          char middle[PGCN_I_NAME_BYTES]);

/* A file that appears complete or not at all: written beside its final name, fsynced, renamed.
 * After any failure the temporary file is removed and the old file, if any, is untouched. */
typedef struct pgcn_i_atomic_file {
    int descriptor;
    char path[PGCN_I_PATH_BYTES], temporary[PGCN_I_PATH_BYTES + 64];
} pgcn_i_atomic_file;
pgcn_status pgcn_i_atomic_open(pgcn_i_atomic_file *file, const char *path);
/* Before the first byte: that many will come. A disk without room for them is found at once, if it can tell. */
pgcn_status pgcn_i_atomic_reserve(pgcn_i_atomic_file *file, int64_t bytes);
pgcn_status pgcn_i_atomic_write(pgcn_i_atomic_file *file, const void *data, int64_t bytes);
pgcn_status pgcn_i_atomic_commit(pgcn_i_atomic_file *file);
void pgcn_i_atomic_abort(pgcn_i_atomic_file *file); /* also fine after commit or a failure */

/* ---- arrays (npy.c) ---------------------------------------------------------------------- */

typedef enum pgcn_i_dtype {
    PGCN_I_U8,
    PGCN_I_I32,
    PGCN_I_I64,
    PGCN_I_F32,
    PGCN_I_F64,
    PGCN_I_UCS4, /* text, in .npz only: the last dimension is the width in characters, '<U7' */
    PGCN_I_F16,  /* narrow numbers, in containers only (narrow.c) */
    PGCN_I_BF16,
    PGCN_I_I8
} pgcn_i_dtype;
int64_t pgcn_i_dtype_bytes(pgcn_i_dtype dtype);
const char *pgcn_i_dtype_name(pgcn_i_dtype dtype); /* "float32" */

typedef struct pgcn_i_array {
    pgcn_i_dtype dtype;
    int rank; /* 0..4 */
    int64_t shape[4];
    int64_t count; /* product of the shape */
    void *data;    /* aligned, C order */
} pgcn_i_array;

/* An array with a name: an entry of an .npz or of a safetensors file. */
typedef struct pgcn_i_tensor {
    const char *name;
    pgcn_i_array array;
} pgcn_i_tensor;

/* count = product of shape and bytes = its size; false on overflow or a negative dimension. */
bool pgcn_i_array_size(const int64_t *shape, int rank, pgcn_i_dtype dtype, int64_t *count,
                       int64_t *bytes);
/* "int32 [5278, 2]" for error messages. */
enum { PGCN_I_SHAPE_TEXT = 128 };
void pgcn_i_shape_text(pgcn_i_dtype dtype, int rank, const int64_t *shape,
                       char out[PGCN_I_SHAPE_TEXT]);

/* NumPy .npy 1.0/2.0/3.0, little-endian, C order, of the types above. Anything else is an error
 * that says what was found and how to convert. */
pgcn_status pgcn_i_npy_read(const char *path, pgcn_i_arena *arena, pgcn_i_array *out);
/* The same, with the rank required ("int32 [m, 2]" in the error), and the type, unless numbers can be
 * converted to it: any to float32, whole numbers to other whole numbers that hold them. */
pgcn_status pgcn_i_npy_read_as(const char *path, pgcn_i_arena *arena, pgcn_i_dtype dtype, int rank,
                               pgcn_i_array *out);
/* The same; *rounded: whole numbers were converted of which float32 does not hold all digits. */
pgcn_status pgcn_i_npy_read_to(const char *path, pgcn_i_arena *arena, pgcn_i_dtype dtype, int rank,
                               pgcn_i_array *out, bool *rounded);
pgcn_status pgcn_i_npy_write(const char *path, const pgcn_i_array *array);

/* The same for bytes that are read in order from elsewhere (a member of an archive). `name` is for
 * errors; `read` reads exactly the requested number of bytes, or fails. */
typedef struct pgcn_i_byte_source {
    const char *name;
    int64_t bytes; /* in all */
    pgcn_status (*read)(void *context, void *data, int64_t bytes);
    void *context;
} pgcn_i_byte_source;
enum {
    PGCN_I_NPY_COLUMNS = 1, /* matrices in Fortran order are transposed, not refused */
    PGCN_I_NPY_TEXT = 2     /* '<U7' is read as PGCN_I_UCS4, not refused */
};
pgcn_status pgcn_i_npy_parse(const pgcn_i_byte_source *input, unsigned accepts, pgcn_i_arena *arena,
                             pgcn_i_array *out);
/* Converts numbers of any type to float32, in the arena that holds them. */
pgcn_status pgcn_i_array_to_f32(pgcn_i_arena *arena, pgcn_i_array *array);
/* The same to any type, from whole numbers unless it is float32. A number that does not fit is an error,
 * which `name` is for; *rounded as above. */
pgcn_status pgcn_i_array_convert(const char *name, pgcn_i_arena *arena, pgcn_i_dtype dtype,
                                 pgcn_i_array *array, bool *rounded);
/* Writes everything before the data; returns its length, 0 if the shape is not valid. */
enum { PGCN_I_NPY_HEADER = 256 };
int pgcn_i_npy_header(const pgcn_i_array *array, char header[PGCN_I_NPY_HEADER],
                      int64_t *data_bytes);

/* ---- narrow numbers (narrow.c) ------------------------------------------------------------- */

/* float16, bf16, int8 with a scale per column, and float32 itself: how a container may hold features.
 * Rounded to the nearest, ties to even. Numbers that are not finite are never given. */
bool pgcn_i_is_narrow(pgcn_i_dtype dtype); /* one of the first three */
bool pgcn_i_narrow_parse(const char *name,
                         pgcn_i_dtype *out); /* "float32", "float16", "bf16", "int8" */
/* The scale of an int8 column whose largest magnitude is `largest`. */
float pgcn_i_narrow_scale(float largest);
/* `count` numbers that begin in column `first` of rows of `columns`. `scale` [columns] is of int8 only.
 * Returns the first that is too large for the type, `count` if all fit. */
int64_t pgcn_i_narrow_encode(pgcn_i_dtype dtype, const float *from, int64_t count, int64_t first,
                             int64_t columns, const float *scale, void *to);
void pgcn_i_narrow_decode(pgcn_i_dtype dtype, const void *from, int64_t count, int64_t first,
                          int64_t columns, const float *scale, float *to);

/* ---- rows of a matrix in a file (rows.c) ---------------------------------------------------- */

/* Where the rows lie: [rows, columns] of a type from byte `offset` of the file on. */
typedef struct pgcn_i_row_layout {
    pgcn_i_dtype dtype; /* PGCN_I_F32 or a narrow one */
    int64_t rows, columns, offset;
    const float *scale; /* [columns] of int8, copied; else NULL */
} pgcn_i_row_layout;

typedef enum pgcn_i_row_way {
    PGCN_I_ROWS_BEST,  /* io_uring where the build and the kernel have it, else plain reads */
    PGCN_I_ROWS_PLAIN, /* pread(), with advice to the system about what comes next */
    PGCN_I_ROWS_URING, /* an error where it is missing */
    PGCN_I_ROWS_COLD   /* as if the system had nothing in its cache: for tests; else the best */
} pgcn_i_row_way;

/* An open file of rows. One thread at a time. */
typedef struct pgcn_i_row_file pgcn_i_row_file;
pgcn_status pgcn_i_row_file_open(const char *path, const pgcn_i_row_layout *layout,
                                 pgcn_i_row_way way, pgcn_i_row_file **out);
/* The same rows once more, for another thread. PGCN_ERR_MISMATCH if the path has become another file. */
pgcn_status pgcn_i_row_file_again(const pgcn_i_row_file *file, pgcn_i_row_file **out);
void pgcn_i_row_file_close(pgcn_i_row_file *file); /* NULL is fine; waits for what is under way */
/* Rows will be read in no order: nothing beside them is read. */
void pgcn_i_row_file_at_random(pgcn_i_row_file *file);
/* What the cache of the system has not is read past it, where that is possible: for files that it has no room for. */
void pgcn_i_row_file_direct(pgcn_i_row_file *file);
const char *pgcn_i_row_file_path(const pgcn_i_row_file *file);
const pgcn_i_row_layout *pgcn_i_row_file_layout(const pgcn_i_row_file *file);
int64_t pgcn_i_row_file_row_bytes(const pgcn_i_row_file *file);
bool pgcn_i_row_file_uses_uring(const pgcn_i_row_file *file);
int64_t pgcn_i_row_file_bytes_read(const pgcn_i_row_file *file); /* so far */
/* Rows that readers of the file have found in their caches, and that they have read: what they tell of themselves, from any
 * thread, and the sum of it. */
typedef struct pgcn_i_row_counts {
    int64_t batches, hits, misses;
    int64_t bytes_read;
} pgcn_i_row_counts;
void pgcn_i_row_file_note(pgcn_i_row_file *file, pgcn_i_row_counts counts);
pgcn_i_row_counts pgcn_i_row_file_noted(const pgcn_i_row_file *file);
/* PGCN_ERR_MISMATCH if the path has become another file, or this one was changed, since it was opened. */
pgcn_status pgcn_i_row_file_check(const pgcn_i_row_file *file);
/* Rows first .. first + count - 1, or those of a list, as float32 [count, columns]. */
pgcn_status pgcn_i_row_file_range(pgcn_i_row_file *file, int64_t first, int64_t count, float *out);
pgcn_status pgcn_i_row_file_list(pgcn_i_row_file *file, const pgcn_node *row, int64_t count,
                                 float *out);
/* Stored rows become float32. */
void pgcn_i_row_file_decode(const pgcn_i_row_file *file, const void *stored, int64_t count,
                            float *out);

/* Rows that are read while the caller does something else: submit() asks for them and returns, wait()
 * returns when they are there. Rows are read as they are stored, into `to` [count, row bytes]. The list
 * ascends, each row once; neighbours in the file become one request. Both arrays are the caller's, and
 * stay until wait() has returned, which must be called, also after a failure. */
typedef struct pgcn_i_row_batch {
    const pgcn_node *row;
    int64_t count;
    char *to;
    /* for rows.c */
    uint8_t *there; /* [count] whether it was copied; while it is submitted */
    struct pgcn_i_row_request *request;
    int64_t requests, done;
    int error; /* errno of the first that failed, -1: the file ended; 0: none */
    struct pgcn_i_row_batch *next;
} pgcn_i_row_batch;
/* Batches that are submitted together are read in one sweep through the file. pool: borrowed, for copies of what the
 * system has in its cache; NULL: the calling thread makes them. */
pgcn_status pgcn_i_row_file_submit(pgcn_i_row_file *file, pgcn_i_row_batch *const *batch,
                                   int64_t batches, pgcn_i_pool *pool);
pgcn_status pgcn_i_row_file_wait(pgcn_i_row_file *file, pgcn_i_row_batch *batch);

/* ---- a bounded cache of rows that knows the future (row_cache.c) ---------------------------- */

typedef enum pgcn_i_row_policy {
    PGCN_I_ROWS_FUTURE, /* Belady: what is needed last goes first */
    PGCN_I_ROWS_LRU     /* what was used longest ago goes first: to compare with */
} pgcn_i_row_policy;

enum { PGCN_I_MOST_AHEAD = 16 };
typedef struct pgcn_i_row_cache_opts {
    int64_t bytes; /* of rows kept between batches; 0: none */
    pgcn_i_row_policy policy;
    /* Batches whose missing rows are asked for before they are needed, 1 to PGCN_I_MOST_AHEAD. When all but one of them
     * are taken, those of the next are asked for together. */
    int ahead;
    pgcn_i_pool *pool; /* borrowed, to copy and decode rows; NULL: the calling thread does */
} pgcn_i_row_cache_opts;

/* Batches are announced in the order in which they will be taken; the more of them are known, the better
 * the cache. One thread at a time. */
typedef struct pgcn_i_row_cache pgcn_i_row_cache;
pgcn_status pgcn_i_row_cache_new(pgcn_i_row_file *file, const pgcn_i_row_cache_opts *opts,
                                 pgcn_i_row_cache **out);
void pgcn_i_row_cache_free(pgcn_i_row_cache *cache); /* NULL is fine; the file stays open */
/* The rows of a later batch, each once, in the order in which they will be wanted. Copied. */
pgcn_status pgcn_i_row_cache_announce(pgcn_i_row_cache *cache, const pgcn_node *row, int64_t count);
int64_t pgcn_i_row_cache_announced(const pgcn_i_row_cache *cache); /* batches not taken yet */
/* What the caller does to a row, the i-th that was announced, when it has just been decoded: by any thread of the pool. */
typedef void (*pgcn_i_row_taker)(void *context, int64_t i, float *row);
/* The rows of the oldest announced batch as float32 [count, columns], in the order given; finish: NULL, nothing is done
 * to them. Before it returns it asks for what the next batches lack. */
pgcn_status pgcn_i_row_cache_take(pgcn_i_row_cache *cache, float *out, pgcn_i_row_taker finish,
                                  void *context);
pgcn_i_row_counts pgcn_i_row_cache_counts(const pgcn_i_row_cache *cache);

/* ---- bytes, plain or gzip (gzip.c) -------------------------------------------------------- */

/* A file that starts with the gzip magic is decompressed while reading, whatever its name.
 * Checksums, lengths and the end of the file are checked. Its decompressed size is limited by
 * pgcn_i_unpacked_most(). */
typedef struct pgcn_i_bytes pgcn_i_bytes;
pgcn_status pgcn_i_bytes_open(const char *path, pgcn_i_bytes **out);
/* Up to `capacity` bytes; fewer only at the end (or beyond 2^30 in one call). */
pgcn_status pgcn_i_bytes_read(pgcn_i_bytes *bytes, void *data, int64_t capacity, int64_t *got);
const char *pgcn_i_bytes_path(const pgcn_i_bytes *bytes);
int64_t pgcn_i_bytes_length(const pgcn_i_bytes *bytes); /* of the file as it is on disk */
double pgcn_i_bytes_share(const pgcn_i_bytes *bytes);   /* of the file read so far, 0..1 */
void pgcn_i_bytes_close(pgcn_i_bytes *bytes);           /* NULL is fine */

/* The largest decompressed size that is accepted: 1 GiB, or PGCN_I_BOMB_TIMES times the packed
 * length if that is more. A larger file is refused as a bomb. The one rule for gzip, .npz and
 * archives. */
enum { PGCN_I_BOMB_TIMES = 100 };
static inline int64_t pgcn_i_unpacked_most(int64_t packed_bytes) {
    const int64_t always = INT64_C(1) << 30;
    int64_t times;
    if (!pgcn_i_mul(packed_bytes, PGCN_I_BOMB_TIMES, &times)) return INT64_MAX;
    return times > always ? times : always;
}

/* ---- text, plain or gzip (text.c) --------------------------------------------------------- */

/* A text file read line by line, by gzip.c. Memory is a few buffers plus the longest line, which may
 * have 64 MiB. */
typedef struct pgcn_i_text pgcn_i_text;
pgcn_status pgcn_i_text_open(const char *path, pgcn_i_text **out);
/* The next line without its end (\n or \r\n), with a NUL after it; borrowed until the next call.
 * *line = NULL after the last one. A NUL inside a line is an error. */
pgcn_status pgcn_i_text_line(pgcn_i_text *text, char **line, int64_t *length);
/* Makes the last line longer by the one after it, with the line end between them, as in a cell in quotes.
 * The line must be as it was returned; it may lie elsewhere from then on, and keeps its number. *joined =
 * false, and no error, if it was the last. */
pgcn_status pgcn_i_text_join(pgcn_i_text *text, char **line, int64_t *length, bool *joined);
int64_t pgcn_i_text_line_number(const pgcn_i_text *text); /* of the last line returned, from 1 */
int64_t pgcn_i_text_last_number(const pgcn_i_text *text); /* of its last part, if it was joined */
/* Estimated share of the file that was read, 0..1: to predict the final length of an array. */
double pgcn_i_text_share(const pgcn_i_text *text);
void pgcn_i_text_close(pgcn_i_text *text); /* NULL is fine */
/* "reading 'FILE': line 17: " and the sentence: every error about a line. */
pgcn_status pgcn_i_text_fail(const pgcn_i_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Splits a line into cells, in place. `cells` (of char *) points into the line and is valid as long
 * as the line is. The delimiter is ',', ';', '\t', or ' ' for runs of blanks and tabs. Blanks
 * around a cell are dropped; a cell in quotes may hold the delimiter and doubled quotes (RFC 4180).
 * An error if a quote is not closed. */
pgcn_status pgcn_i_text_split(const pgcn_i_text *text, char *line, char delimiter,
                              pgcn_i_buffer *cells, int64_t *count);
/* The first characters of text found in a file, without control characters. */
enum { PGCN_I_EXCERPT = 40 };
void pgcn_i_text_excerpt(const char *found, int64_t length, char out[PGCN_I_EXCERPT]);

bool pgcn_i_is_utf8(const char *text, int64_t bytes); /* needs no NUL at its end */
/* Whether the `length` bytes at `text` are exactly this word. */
bool pgcn_i_is_word(const char *text, size_t length, const char *word);
bool pgcn_i_ends_with(const char *text, const char *ending); /* and is longer than the ending */
const char *pgcn_i_file_name(const char *path);              /* its last part */
/* For qsort() and bsearch() of char * and of int64_t. */
int pgcn_i_compare_texts(const void *a, const void *b);
int pgcn_i_compare_i64(const void *a, const void *b);

/* Parses a number at *at and advances *at past it. False (and *at is unchanged) if there is none or
 * it does not fit. Blanks before the number are not skipped. Locale-independent, correctly rounded,
 * accepts what C prints (1, -2.5e-3, nan, inf); the string ends with a NUL or any other character. */
bool pgcn_i_parse_i64(const char **at, int64_t *out);
bool pgcn_i_parse_f32(const char **at, float *out);
bool pgcn_i_parse_f64(const char **at, double *out);
/* The shortest text that pgcn_number_parse() reads back as the same number, in any locale. */
void pgcn_i_number_write(double value, char *out, size_t bytes);

/* ---- tables of numbers in text, plain or gzip (table.c) ----------------------------------- */

typedef struct pgcn_i_table_rule {
    pgcn_i_dtype dtype; /* of the cells: PGCN_I_F32 (finite), PGCN_I_I32 or PGCN_I_I64 */
    char delimiter;     /* as for pgcn_i_text_split */
    bool ids;           /* the first cell of a row is an id, in front of `columns` numbers */
    bool comments;      /* skip lines that start with # or % */
    bool missing;       /* F32: an empty cell is NaN, and nan is allowed; with one column an empty
                           line is such a cell */
    int64_t columns;    /* numbers in every row */
    int64_t skip;       /* lines before the first row */
    int threads;        /* 0: one per core, if the file is large */
} pgcn_i_table_rule;

/* Rows in the order of the file. `cell` is reserved once, so that memory does not peak; give it to an
 * arena with pgcn_i_arena_take. */
enum { PGCN_I_OPEN_ID = -2 }; /* the quote of an id is not closed on its line */
typedef struct pgcn_i_table {
    int64_t rows, columns;
    pgcn_i_buffer cell; /* [rows, columns] */
    pgcn_i_buffer id;   /* with rule.ids: the ids, a NUL after each */
    pgcn_i_buffer line; /* with rule.ids: int64 [rows], the line of each row */
    int64_t bad_column; /* after PGCN_ERR_FORMAT: of numbers, from 0; -1: another reason; or this */
    char bad_cell[PGCN_I_EXCERPT]; /* its text; "": it is empty */
} pgcn_i_table;
/* Empty lines are skipped. The first bad line is an error that names line and column. The result does
 * not depend on the number of threads. After a failure nothing has to be freed. */
pgcn_status pgcn_i_table_read(const char *path, const pgcn_i_table_rule *rule, pgcn_i_table *out);
void pgcn_i_table_free(pgcn_i_table *table);
/* Reads several files at the same time, so that no core waits for a decompressor. Give the largest
 * first. The error is that of the first bad file in this order; after it no table has to be freed. */
typedef struct pgcn_i_table_job {
    const char *path;
    pgcn_i_table_rule rule;
    pgcn_i_table *out;
} pgcn_i_table_job;
pgcn_status pgcn_i_tables_read(const pgcn_i_table_job *jobs, int count);

/* ---- zip archives of arrays (npz.c, by libzip) -------------------------------------------- */

/* NumPy .npz. Sizes are checked against the largest ratio of deflate and the bomb rule above,
 * before anything is allocated. */
typedef struct pgcn_i_npz pgcn_i_npz;
pgcn_status pgcn_i_npz_open(const char *path, pgcn_i_npz **out);
bool pgcn_i_npz_has(const pgcn_i_npz *npz, const char *name); /* "train_mask", without .npy */
/* Published files hold matrices in Fortran order: those are transposed. */
pgcn_status pgcn_i_npz_read(pgcn_i_npz *npz, const char *name, pgcn_i_arena *arena,
                            pgcn_i_array *out);
/* Text, which must be there: PGCN_I_UCS4 [..., width]. */
pgcn_status pgcn_i_npz_read_text(pgcn_i_npz *npz, const char *name, pgcn_i_arena *arena,
                                 pgcn_i_array *out);
void pgcn_i_npz_close(pgcn_i_npz *npz); /* NULL is fine */
/* Deflated, atomic; the same arrays give the same bytes. */
pgcn_status pgcn_i_npz_write(const char *path, const pgcn_i_tensor *arrays, int count);

/* ---- JSON of any size (json_stream.c) ------------------------------------------------------- */

/* A JSON document read from front to back, value by value; nothing of it is kept. For published
 * graphs of a hundred megabytes and more, where a tree of values needs many times their length;
 * small documents are read by json_tree.c. The caller requests the type it expects next and gets
 * the value or an error with line and byte. Strict: no NaN, no comments, at most 64 levels. */
typedef struct pgcn_i_json pgcn_i_json;
typedef enum pgcn_i_json_kind {
    PGCN_I_JSON_OBJECT,
    PGCN_I_JSON_ARRAY,
    PGCN_I_JSON_TEXT,
    PGCN_I_JSON_NUMBER,
    PGCN_I_JSON_FLAG,
    PGCN_I_JSON_NULL
} pgcn_i_json_kind;
pgcn_status pgcn_i_json_open(const char *path, pgcn_i_json **out);
/* A document that is in memory; it is copied. `path` is for the errors. */
pgcn_status pgcn_i_json_open_text(const char *path, const char *text, int64_t bytes,
                                  pgcn_i_json **out);
void pgcn_i_json_close(pgcn_i_json *json);                               /* NULL is fine */
int64_t pgcn_i_json_bytes(const pgcn_i_json *json);                      /* length of the file */
pgcn_status pgcn_i_json_peek(pgcn_i_json *json, pgcn_i_json_kind *kind); /* of the next value */
/* pgcn_i_json_object() enters an object; pgcn_i_json_key() returns its next key, or leaves the
 * object after the last one and returns NULL. The key is borrowed until the next key or text. Its
 * value must be read or skipped before the next call. */
pgcn_status pgcn_i_json_object(pgcn_i_json *json);
pgcn_status pgcn_i_json_key(pgcn_i_json *json, const char **key);
/* pgcn_i_json_array() enters an array; pgcn_i_json_more() tells whether there is another item, and
 * leaves the array if there is none. */
pgcn_status pgcn_i_json_array(pgcn_i_json *json);
pgcn_status pgcn_i_json_more(pgcn_i_json *json, bool *more);
pgcn_status pgcn_i_json_i64(pgcn_i_json *json, int64_t *out); /* a whole number */
pgcn_status pgcn_i_json_f32(pgcn_i_json *json, float *out);
/* Any number: in *integer if *is_integer, else in *real. */
pgcn_status pgcn_i_json_number(pgcn_i_json *json, bool *is_integer, int64_t *integer, double *real);
pgcn_status pgcn_i_json_flag(pgcn_i_json *json, bool *out);        /* true, false, 1 or 0 */
pgcn_status pgcn_i_json_text(pgcn_i_json *json, const char **out); /* borrowed as a key is */
pgcn_status pgcn_i_json_skip(pgcn_i_json *json);                   /* one value, whatever it is */
pgcn_status pgcn_i_json_end(pgcn_i_json *json); /* nothing follows the outermost value */
/* "reading 'FILE': line 1, byte 1234: " and the sentence. */
pgcn_status pgcn_i_json_fail(const pgcn_i_json *json, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- small JSON documents (json_tree.c) ----------------------------------------------------- */

/* A whole document as a tree of jansson's values, which the caller frees with json_decref.
 * Jansson's own parser drops characters or aborts when memory runs out. *out = NULL with PGCN_OK:
 * it is not JSON, a key occurs twice, or a string is not UTF-8; pgcn_last_error() says which. */
pgcn_status pgcn_i_json_parse(const char *path, const char *text, int64_t bytes, json_t **out);
/* A value as text, compact, keys in their order or sorted; the caller frees it with pgcn_i_free. NULL
 * without memory. Jansson's json_dumps gives incomplete text then. */
char *pgcn_i_json_dump(const json_t *value, size_t flags);

/* ---- zip archives of files (unzip.c, by libzip) ------------------------------------------- */

/* A file that an archive must hold. */
typedef struct pgcn_i_listed {
    const char *path; /* relative, in the archive (without its top folder) and in the directory */
    int64_t bytes;    /* 0: not known */
} pgcn_i_listed;

/* Unpacks the listed files of an archive, and no others, into a directory, which exists. If
 * everything in the archive is in one top folder, that folder is dropped. An archive with anything
 * but plain files inside itself (absolute paths, "..", links), without a listed file, with a listed
 * file of another length, or with a bomb is refused before anything is written. */
pgcn_status pgcn_i_unzip(const char *path, const char *directory, const pgcn_i_listed *listed,
                         int files);

/* ---- tensors (safetensors.c) ------------------------------------------------------------- */

/* Metadata is an object of strings (the format allows nothing else) or NULL. Tensors are written
 * in the order given, without gaps (the format demands it), the first at a multiple of 8 bytes:
 * equal content gives equal bytes. Atomic. */
pgcn_status pgcn_i_safetensors_write(const char *path, const pgcn_i_tensor *tensors, int count,
                                     json_t *metadata);
/* The bytes of such a file, to be freed with pgcn_i_free(). `what` stands for its path in errors. */
pgcn_status pgcn_i_safetensors_pack(const char *what, const pgcn_i_tensor *tensors, int count,
                                    json_t *metadata, void **bytes, int64_t *size);

typedef struct pgcn_i_safetensors {
    pgcn_i_arena arena;
    int count;
    pgcn_i_tensor *tensor;
    json_t *metadata; /* never NULL */
    char *path;
} pgcn_i_safetensors;
pgcn_status pgcn_i_safetensors_read(const char *path, pgcn_i_safetensors **out);
pgcn_status pgcn_i_safetensors_unpack(const char *what, const void *bytes, int64_t size,
                                      pgcn_i_safetensors **out);
void pgcn_i_safetensors_free(pgcn_i_safetensors *file);
/* A metadata string or a tensor of exactly this type and shape; the error names the file and what
 * is missing or different. */
pgcn_status pgcn_i_safetensors_text(const pgcn_i_safetensors *file, const char *key,
                                    const char **out);
pgcn_status pgcn_i_safetensors_tensor(const pgcn_i_safetensors *file, const char *name,
                                      pgcn_i_dtype dtype, int rank, const int64_t *shape,
                                      const void **data);

/* ---- SHA-256 (file.c, by libcrypto) ------------------------------------------------------ */

typedef struct pgcn_i_hash pgcn_i_hash;
pgcn_status pgcn_i_hash_new(pgcn_i_hash **out);
void pgcn_i_hash_add(pgcn_i_hash *hash, const void *data, int64_t bytes);
pgcn_status pgcn_i_hash_finish(pgcn_i_hash *hash, char hex[65]); /* frees the hash */
/* Of the next `bytes` bytes of an open file. */
pgcn_status pgcn_i_hash_reader(pgcn_i_reader *reader, int64_t bytes, char hex[65]);

#endif
