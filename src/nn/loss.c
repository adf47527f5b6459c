/* Losses. They are not on the tape: they read the logits, write their gradient and return means.
 *
 *   softmax cross-entropy over the masked nodes of every sample
 *   + lambda * mean over nodes and samples of || p_s - sharpen_T(mean_s p_s) ||^2   (consistency)
 *
 * Blocks of nodes, all samples of a node in one block; block sums are added in order. */
#include "nn/nn.h"

pgcn_status pgcn_i_loss_init(pgcn_i_loss *loss, int64_t n, int samples, int classes) {
    *loss = (pgcn_i_loss){.n = n, .samples = samples, .classes = classes};
    int64_t blocks = pgcn_i_blocks_of(n).count;
    loss->probability = PGCN_I_ARRAY(&loss->arena, float, n *samples *classes);
    loss->loss = PGCN_I_ARRAY(&loss->arena, double, blocks);
    loss->consistency = PGCN_I_ARRAY(&loss->arena, double, blocks);
    loss->hits = PGCN_I_ARRAY(&loss->arena, int64_t, blocks);
    return loss->probability && loss->loss && loss->consistency && loss->hits ? PGCN_OK
                                                                              : PGCN_ERR_MEMORY;
}

void pgcn_i_loss_free(pgcn_i_loss *loss) {
    pgcn_i_arena_free(&loss->arena);
    *loss = (pgcn_i_loss){0};
}

typedef struct loss_job {
    pgcn_i_loss *loss;
    const pgcn_i_kernels *kernels;
    const pgcn_i_value *logits;
    const int32_t *label;
    const uint8_t *target;
    const uint8_t *mask;
    float scale, consistency_scale, temperature;
    bool consistency;
    pgcn_i_blocks blocks;
} loss_job;

/* The sums of the blocks, in their order, as means. */
static pgcn_i_loss_terms add_up(const pgcn_i_loss *loss, double masked_rows, double all_rows) {
    pgcn_i_loss_terms terms = {0};
    int64_t hits = 0, blocks = pgcn_i_blocks_of(loss->n).count;
    for (int64_t block = 0; block < blocks; block++) {
        terms.cross_entropy += loss->loss[block];
        terms.consistency += loss->consistency[block];
        hits += loss->hits[block];
    }
    terms.cross_entropy /= masked_rows;
    terms.consistency /= all_rows;
    terms.accuracy = (double)hits / masked_rows;
    return terms;
}

void pgcn_i_loss_rows(const pgcn_i_loss *loss, pgcn_i_tape *tape, const int32_t *label,
                      const uint8_t *mask, double lambda) {
    if (lambda > 0) {
        pgcn_i_live_all(tape);
        return;
    }
    uint8_t *is = pgcn_i_live_first(tape);
    for (int64_t r = 0, j = 0; r < loss->n * loss->samples; r++) {
        is[r] = mask[j] && label[j] >= 0;
        if (++j == loss->n) j = 0;
    }
    pgcn_i_live_spread(tape);
}

static void cross_entropy_rows(const loss_job *job, int64_t task, int64_t begin, int64_t end) {
    pgcn_i_loss *loss = job->loss;
    job->kernels->softmax(loss->probability, job->logits->data, begin, end, loss->classes);
    job->kernels->cross_entropy(&loss->loss[task], &loss->hits[task], job->logits->grad,
                                job->logits->data, loss->probability, job->label, job->mask,
                                loss->n, job->scale, begin, end, loss->classes);
}

static void train_task(void *context, int64_t task, int worker) {
    (void)worker;
    const loss_job *job = context;
    pgcn_i_loss *loss = job->loss;
    int64_t begin = pgcn_i_block_begin(job->blocks, task);
    int64_t end = pgcn_i_block_end(job->blocks, task);
    loss->loss[task] = 0;
    loss->consistency[task] = 0;
    loss->hits[task] = 0;
    const pgcn_i_live *live = job->logits->live; /* rows that are there */
    for (int64_t sample = 0; sample < loss->samples; sample++) {
        int64_t first = sample * loss->n;
        if (!live) cross_entropy_rows(job, task, first + begin, first + end);
        for (int64_t r = first + begin; live && r < first + end; r++)
            if (live->is[r]) cross_entropy_rows(job, task, r, r + 1);
    }
    if (job->consistency)
        job->kernels->consistency(&loss->consistency[task], job->logits->grad, loss->probability,
                                  loss->n, loss->samples, job->temperature, job->consistency_scale,
                                  begin, end, loss->classes);
}

pgcn_i_loss_terms pgcn_i_loss_run(pgcn_i_loss *loss, pgcn_i_tape *tape, pgcn_i_value *logits,
                                  const int32_t *label, const uint8_t *mask, int64_t masked,
                                  double lambda, double temperature) {
    double masked_rows = (double)masked * loss->samples;
    double all_rows = (double)loss->n * loss->samples;
    loss_job job = {.loss = loss,
                    .kernels = tape->kernels,
                    .logits = logits,
                    .label = label,
                    .mask = mask,
                    .scale = (float)(1.0 / masked_rows),
                    .consistency_scale = (float)(lambda / all_rows),
                    .temperature = (float)temperature,
                    .consistency = lambda > 0,
                    .blocks = pgcn_i_blocks_of(loss->n)};
    pgcn_i_parallel(tape->pool, job.blocks.count, train_task, &job);
    return add_up(loss, masked_rows, all_rows);
}

static void softmax_task(void *context, int64_t task, int worker) {
    (void)worker;
    const loss_job *job = context;
    job->kernels->softmax(job->loss->probability, job->logits->data,
                          pgcn_i_block_begin(job->blocks, task),
                          pgcn_i_block_end(job->blocks, task), job->loss->classes);
}

void pgcn_i_softmax_run(pgcn_i_loss *loss, pgcn_i_tape *tape, const pgcn_i_value *logits) {
    loss_job job = {.loss = loss,
                    .kernels = tape->kernels,
                    .logits = logits,
                    .blocks = pgcn_i_blocks_of(logits->rows)};
    pgcn_i_parallel(tape->pool, job.blocks.count, softmax_task, &job);
}

static void score_task(void *context, int64_t task, int worker) {
    (void)worker;
    const loss_job *job = context;
    pgcn_i_loss *loss = job->loss;
    loss->loss[task] = 0;
    loss->consistency[task] = 0;
    loss->hits[task] = 0;
    job->kernels->cross_entropy(&loss->loss[task], &loss->hits[task], NULL, job->logits->data,
                                loss->probability, job->label, job->mask, loss->n, 0.0f,
                                pgcn_i_block_begin(job->blocks, task),
                                pgcn_i_block_end(job->blocks, task), loss->classes);
}

pgcn_i_loss_terms pgcn_i_score_run(pgcn_i_loss *loss, pgcn_i_tape *tape, const pgcn_i_value *logits,
                                   const int32_t *label, const uint8_t *mask, int64_t masked) {
    loss_job job = {.loss = loss,
                    .kernels = tape->kernels,
                    .logits = logits,
                    .label = label,
                    .mask = mask,
                    .blocks = pgcn_i_blocks_of(loss->n)};
    pgcn_i_parallel(tape->pool, job.blocks.count, score_task, &job);
    return add_up(loss, (double)masked, (double)loss->n);
}

static void binary_task(void *context, int64_t task, int worker) {
    (void)worker;
    const loss_job *job = context;
    pgcn_i_loss *loss = job->loss;
    loss->loss[task] = 0;
    for (int64_t sample = 0; sample < loss->samples; sample++)
        job->kernels->binary_cross_entropy(
            &loss->loss[task], job->logits->grad, job->logits->data, job->target, job->mask,
            loss->n, job->scale, sample * loss->n + pgcn_i_block_begin(job->blocks, task),
            sample * loss->n + pgcn_i_block_end(job->blocks, task), loss->classes);
}

double pgcn_i_binary_loss_run(pgcn_i_loss *loss, pgcn_i_tape *tape, pgcn_i_value *logits,
                              const uint8_t *target, const uint8_t *mask, int64_t masked) {
    double rows = (double)masked * loss->samples, sum = 0;
    loss_job job = {.loss = loss,
                    .kernels = tape->kernels,
                    .logits = logits,
                    .target = target,
                    .mask = mask,
                    .scale = (float)(1.0 / rows),
                    .blocks = pgcn_i_blocks_of(loss->n)};
    pgcn_i_parallel(tape->pool, job.blocks.count, binary_task, &job);
    for (int64_t block = 0; block < job.blocks.count; block++) sum += loss->loss[block];
    return sum / rows;
}
