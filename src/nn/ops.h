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

/* The common case: one loop over blocks of the rows of the result. */
static inline void pgcn_i_forward_blocks(pgcn_i_tape *tape, pgcn_i_op *op) {
    pgcn_i_blocks blocks = pgcn_i_blocks_of(op->out->rows);
    pgcn_i_run(tape, op, blocks, blocks.count, 0, op->forward_task);
}
static inline void pgcn_i_backward_blocks(pgcn_i_tape *tape, pgcn_i_op *op) {
    pgcn_i_blocks blocks = pgcn_i_blocks_of(op->out->rows);
    pgcn_i_run(tape, op, blocks, blocks.count, 0, op->backward_task);
}
/* The elements of the rows of a block, for operations that do not care about rows. */
typedef struct pgcn_i_range {
    int64_t begin, end;
} pgcn_i_range;
static inline pgcn_i_range pgcn_i_elements(const pgcn_i_job *job, int64_t task) {
    int64_t cols = job->op->out->cols;
    return (pgcn_i_range){pgcn_i_block_begin(job->blocks, task) * cols,
                          pgcn_i_block_end(job->blocks, task) * cols};
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
void pgcn_i_path_kernel(const pgcn_i_tape *tape, const pgcn_i_op *op);
/* The gradient of the parameter from the partial sums of the groups. */
void pgcn_i_path_kernel_gradient(pgcn_i_tape *tape, const pgcn_i_op *op, int64_t groups);
/* y += alpha r and dr (= or +=) alpha g for the rows begin .. end-1, while they are in the cache. */
void pgcn_i_path_residual(const pgcn_i_tape *tape, const pgcn_i_op *op, int64_t begin, int64_t end);
void pgcn_i_path_residual_gradient(const pgcn_i_tape *tape, const pgcn_i_op *op, int64_t begin,
                                   int64_t end);
/* The part of pgcn_i_op_pathconv for c x c weights per hop. */
void pgcn_i_op_pathconv_full(pgcn_i_tape *tape, pgcn_i_op *op);

#endif
