/* What rank 0 (ranks.c) and those that work for it (ranks_serve.c) tell each other. Rank 0 sends a task, and the data
 * set the first time. The other one sends a sign of life now and then, which rank 0 answers with "go on" or "stop", and
 * at the end the result. So neither ever sends what the other one does not wait for. */
#ifndef PGCN_EXPERIMENTS_RANKS_H
#define PGCN_EXPERIMENTS_RANKS_H

#include "experiments/experiments.h"

typedef enum exp_say { EXP_SAY_WORK = 1, EXP_SAY_TIME, EXP_SAY_GO_ON, EXP_SAY_STOP } exp_say;

enum { EXP_MOST_SENT = 64 /* data sets of one list */ };
typedef struct exp_task {
    int64_t say;
    char version[16];
    int64_t list;       /* of jobs; data sets of the one before are forgotten */
    int64_t set;        /* which data set of the list */
    int64_t data_bytes; /* > 0: it follows, as a container */
    char name[320], hash[EXP_HASH_BYTES], key[EXP_KEY_BYTES];
    bool keeps_model;
    pgcn_config config;
} exp_task;

typedef enum exp_tell {
    EXP_TELL_ALIVE = 1,
    EXP_TELL_RESULT,
    EXP_TELL_UNABLE /* this rank cannot run jobs: no memory or disk for the data, another program */
} exp_tell;
typedef struct exp_answer {
    int64_t tell;
    int64_t status;
    char failure[400];
    exp_timing timing;
    int64_t record_bytes, history_bytes, model_bytes; /* each follows if it is not 0 */
} exp_answer;

#endif
