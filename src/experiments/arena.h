/* The arena between its two files: arena.c searches the cells, arena_report.c compares them. */
#ifndef PGCN_EXPERIMENTS_ARENA_H
#define PGCN_EXPERIMENTS_ARENA_H

#include "experiments/reproduce.h"

/* The network that the others are compared with. */
#define ARENA_OURS "pathgcn"

/* A network on a data set. */
typedef struct arena_cell {
    const char *dataset, *network;
    char directory[EXP_PATH_BYTES];
    char *request;  /* the arguments of its search, one line; owned */
    json_t *result; /* nested.json of that search; NULL: it is not done */
    bool other;     /* what is done in its directory has other arguments */
} arena_cell;

typedef struct arena {
    const exp_request *request;
    const exp_pace *pace;
    exp_words networks, sets;
    bool absent[EXP_MOST_WORDS]; /* the data set is not here, and has cells that are not done */
    arena_cell *cell;            /* [sets.count * networks.count], data set by data set */
} arena;

/* The table of what is done, and its files. */
pgcn_status exp_arena_report(const arena *a);

#endif
