/* The stack machine that reads a pickle, shared by pickle.c (numbers, texts, containers) and
 * pickle_objects.c (classes, arrays and matrices). */
#ifndef PGCN_PICKLE_MACHINE_H
#define PGCN_PICKLE_MACHINE_H

#include "io/pickle.h"

typedef struct pgcn_i_pickle_machine {
    const char *path;
    char *start, *at, *end; /* the file; *end is a NUL */
    int64_t operation;      /* the byte of the operation that runs */
    pgcn_i_arena *arena;
    pgcn_i_buffer stack;   /* of pgcn_i_pickle * */
    pgcn_i_buffer marks;   /* of int64_t: heights of the stack */
    pgcn_i_buffer memo;    /* of pgcn_i_pickle *, NULL: not set */
    pgcn_i_pickle *values; /* next unused ones of the current blocks */
    pgcn_i_pickle_item *items;
    int64_t values_left, items_left, decoded_bytes;
} pgcn_i_pickle_machine;

/* "reading 'FILE': byte 12 " and the sentence. */
void pgcn_i_pickle_complain(const pgcn_i_pickle_machine *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A macro, so that compilers see the constant and know that the caller returns. */
#define PGCN_I_PICKLE_BAD(...) (pgcn_i_pickle_complain(__VA_ARGS__), PGCN_ERR_FORMAT)

/* pickle.c: the file and the stack. */
/* The rest of the line; its '\n' becomes a NUL. */
pgcn_status pgcn_i_pickle_take_line(pgcn_i_pickle_machine *m, char **line, int64_t *length);
/* A new value, made by the operation that runs; NULL without memory. */
pgcn_i_pickle *pgcn_i_pickle_make(pgcn_i_pickle_machine *m, pgcn_i_pickle_kind kind);
pgcn_status pgcn_i_pickle_push(pgcn_i_pickle_machine *m,
                               pgcn_i_pickle *value); /* NULL: no memory */
pgcn_status pgcn_i_pickle_push_empty(pgcn_i_pickle_machine *m, int kind);
pgcn_status pgcn_i_pickle_push_integer(pgcn_i_pickle_machine *m, pgcn_i_pickle_kind kind,
                                       int64_t integer);
pgcn_status pgcn_i_pickle_push_text(pgcn_i_pickle_machine *m, const char *data, int64_t bytes,
                                    pgcn_i_pickle_encoding encoding);
/* Memory for a text that must be decoded. */
pgcn_status pgcn_i_pickle_decoded_room(pgcn_i_pickle_machine *m, int64_t bytes, char **out);
/* Fails unless the stack has `count` values above the last mark. */
pgcn_status pgcn_i_pickle_need(const pgcn_i_pickle_machine *m, int64_t count);
pgcn_status pgcn_i_pickle_pop(pgcn_i_pickle_machine *m, pgcn_i_pickle **out);
/* One past the last value of the stack. */
static inline pgcn_i_pickle **pgcn_i_pickle_top(const pgcn_i_pickle_machine *m) {
    return (pgcn_i_pickle **)(void *)(m->stack.data + m->stack.bytes);
}

/* pickle_objects.c: the operations. The int is the argument of the table of operations. */
pgcn_status pgcn_i_pickle_run_global(pgcn_i_pickle_machine *m, int old_instance);
pgcn_status pgcn_i_pickle_run_stack_global(pgcn_i_pickle_machine *m, int unused);
pgcn_status pgcn_i_pickle_run_call(pgcn_i_pickle_machine *m, int unused);
pgcn_status pgcn_i_pickle_run_build(pgcn_i_pickle_machine *m, int unused);
pgcn_status pgcn_i_pickle_run_refused(pgcn_i_pickle_machine *m, int unused);

static inline bool pgcn_i_pickle_is_text(const pgcn_i_pickle *v, const char *wanted) {
    return v && v->kind == PGCN_I_PICKLE_TEXT &&
           pgcn_i_is_word(v->text.data, (size_t)v->text.bytes, wanted);
}

#endif
