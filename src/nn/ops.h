/* What the files that define operations share: one job handed to the pool, and the dropout rule. */
#ifndef PGCN_OPS_H
#define PGCN_OPS_H

#include "nn/nn.h"

typedef struct pgcn_i_job {
    pgcn_i_tape *tape;
    pgcn_i_op *op;
    pgcn_i_blocks blocks; /* of the rows (of one sample, where an operation says so) */
    int step;             /* which pass of an operation of several passes */
} pgcn_i_job;

static inline void pgcn_i_run(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_blocks blocks, int64_t tasks,
                              int step, pgcn_i_task task) {
    pgcn_i_job job = {tape, op, blocks, step};
    pgcn_i_parallel(tape->pool, tasks, task, &job);
}

/* The same for a task that only goes through its rows of the result once. */
static inline void pgcn_i_run_light(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_blocks blocks,
                                    int step, pgcn_i_task task) {
    pgcn_i_job job = {tape, op, blocks, step};
    pgcn_i_parallel_light(tape->pool, blocks.rows * op->out->cols, blocks.count, task, &job);
}

/* 16 random bits decide an element, so the rate is rounded to a multiple of 1/65536 and the scale
 * of what is kept is exactly the inverse of the share that is kept. */
static inline uint32_t pgcn_i_drop_threshold(double rate) {
    return (uint32_t)(rate * 65536 + 0.5);
}
static inline float pgcn_i_drop_scale(double rate) {
    return 65536.0f / (float)(65536 - pgcn_i_drop_threshold(rate));
}

/* ---- shared by ops_path.c and ops_path_full.c ------------------------------------------------ */

enum { PATH_KERNEL = 0, PATH_KERNEL_GRAD = 1 }; /* op->buffer: [k, c], or [k, c, c] */
/* Fills buffer[PATH_KERNEL] from the parameter: times (1 - alpha), spread over the channels. */
void pgcn_i_path_kernel(pgcn_i_tape *tape, pgcn_i_op *op);
/* The gradient of the parameter from buffer[PATH_KERNEL_GRAD]. */
void pgcn_i_path_kernel_gradient(pgcn_i_tape *tape, pgcn_i_op *op);
/* y += alpha r and dr (= or +=) alpha g for the rows begin .. end-1, while they are in the cache. */
void pgcn_i_path_residual(const pgcn_i_tape *tape, const pgcn_i_op *op, int64_t begin, int64_t end);
void pgcn_i_path_residual_gradient(const pgcn_i_tape *tape, const pgcn_i_op *op, int64_t begin,
                                   int64_t end);
/* Where the exact way back has the power q_i = (T^T)^i g. */
static inline float *pgcn_i_path_power(const pgcn_i_tape *tape, const pgcn_i_op *op, int i) {
    return i % 2 ? tape->power : op->out->grad;
}
/* The part of pgcn_i_op_pathconv for c x c weights per hop. */
void pgcn_i_op_pathconv_full(pgcn_i_tape *tape, pgcn_i_op *op);

#endif
