/* Losses. They are not on the tape: they read the logits, write their gradient and return means.
 *
 *   softmax cross-entropy over the masked nodes of every sample, or binary of several labels
 *   + lambda * mean over nodes and samples of || p_s - sharpen_T(mean_s p_s) ||^2   (consistency)
 *
 * Groups of nodes, all samples of a node in one group; the sums of groups are added in order. */
#include "nn/ranks.h"

#include <math.h>

pgcn_status pgcn_i_loss_init(pgcn_i_loss *loss, int64_t n, int samples, int classes, int groups) {
    *loss = (pgcn_i_loss){.n = n, .samples = samples, .classes = classes, .groups = groups};
    loss->probability = PGCN_I_ARRAY(&loss->arena, float, n *samples *classes);
    loss->loss = PGCN_I_ARRAY(&loss->arena, double, groups);
    loss->consistency = PGCN_I_ARRAY(&loss->arena, double, groups);
    loss->hits = PGCN_I_ARRAY(&loss->arena, int64_t, groups);
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
    const float *class_weight;
    float scale, consistency_scale, temperature;
    bool consistency;
    pgcn_i_blocks blocks; /* of rows, or groups of nodes */
    int64_t first;        /* group */
    pgcn_i_runs runs;     /* where tasks are blocks of the rows that are here */
} loss_job;

/* What a sum of weighted losses is divided by: the weights of all masked rows. */
static double weight_of_rows(const pgcn_i_loss *loss, const pgcn_i_target *target) {
    double sum = 0;
    if (!loss->class_weight) return (double)target->masked * loss->samples;
    for (int64_t i = 0; i < loss->n; i++)
        if (target->mask[i] && target->label[i] >= 0)
            sum += (double)loss->class_weight[target->label[i]];
    return sum * loss->samples;
}

/* The sums of the groups, in their order, as means. */
static pgcn_i_loss_terms add_up(const pgcn_i_loss *loss, double weight, double masked_rows,
                                double all_rows) {
    pgcn_i_loss_terms terms = {0};
    int64_t hits = 0, groups = pgcn_i_groups_of(loss->n, loss->groups).count;
    for (int64_t group = 0; group < groups; group++) {
        terms.cross_entropy += loss->loss[group];
        terms.consistency += loss->consistency[group];
        hits += loss->hits[group];
    }
    terms.cross_entropy /= weight;
    terms.consistency /= all_rows;
    terms.accuracy = (double)hits / masked_rows;
    return terms;
}

void pgcn_i_loss_rows(const pgcn_i_loss *loss, pgcn_i_tape *tape, const pgcn_i_target *target,
                      double lambda) {
    if (lambda > 0) {
        pgcn_i_live_all(tape);
        return;
    }
    uint8_t *flag = pgcn_i_live_first(tape);
    for (int64_t r = 0, j = 0; r < loss->n * loss->samples; r++) {
        flag[r] = target->mask[j] && (!target->label || target->label[j] >= 0);
        if (++j == loss->n) j = 0;
    }
    pgcn_i_live_spread(tape);
}

static pgcn_i_loss_args kernel_args(const loss_job *job) {
    const pgcn_i_loss *loss = job->loss;
    return (pgcn_i_loss_args){.logits = job->logits->data,
                              .probability = loss->probability,
                              .dlogits = job->logits->grad,
                              .scale = job->scale,
                              .n = loss->n,
                              .c = loss->classes,
                              .mask = job->mask,
                              .label = job->label,
                              .weight = job->class_weight,
                              .target = job->target,
                              .samples = loss->samples,
                              .temperature = job->temperature};
}

static void cross_entropy_rows(const loss_job *job, const pgcn_i_loss_args *args, int64_t task,
                               int64_t begin, int64_t end) {
    pgcn_i_loss *loss = job->loss;
    job->kernels->softmax(loss->probability, args->logits, begin, end, args->c);
    job->kernels->cross_entropy(&loss->loss[task], &loss->hits[task], args, begin, end);
}

static void train_task(void *context, int64_t number, int worker) {
    (void)worker;
    const loss_job *job = context;
    pgcn_i_loss *loss = job->loss;
    int64_t task = job->first + number;
    int64_t begin = pgcn_i_block_begin(job->blocks, task);
    int64_t end = pgcn_i_block_end(job->blocks, task);
    loss->loss[task] = 0;
    loss->consistency[task] = 0;
    loss->hits[task] = 0;
    pgcn_i_loss_args args = kernel_args(job);
    const pgcn_i_live *live = job->logits->live; /* rows that are there */
    for (int64_t sample = 0; sample < loss->samples; sample++) {
        int64_t first = sample * loss->n;
        if (!live) cross_entropy_rows(job, &args, task, first + begin, first + end);
        for (int64_t r = first + begin; live && r < first + end; r++)
            if (live->flag[r]) cross_entropy_rows(job, &args, task, r, r + 1);
    }
    args.scale = job->consistency_scale;
    if (job->consistency) job->kernels->consistency(&loss->consistency[task], &args, begin, end);
}

/* All rows: sets of many labels have most of their nodes in the mask. */
static void binary_task(void *context, int64_t number, int worker) {
    (void)worker;
    const loss_job *job = context;
    pgcn_i_loss *loss = job->loss;
    int64_t task = job->first + number;
    loss->loss[task] = 0;
    loss->consistency[task] = 0;
    loss->hits[task] = 0;
    const pgcn_i_loss_args args = kernel_args(job);
    for (int64_t sample = 0; sample < loss->samples; sample++)
        job->kernels->binary_cross_entropy(&loss->loss[task], &args,
                                           sample * loss->n + pgcn_i_block_begin(job->blocks, task),
                                           sample * loss->n + pgcn_i_block_end(job->blocks, task));
}

/* Where row 0 would be of an array that begins with another row: kernels find row r at its place r. */
static float *before_row(const float *x, int64_t row, int64_t c) {
    return (float *)((uintptr_t)x - (uintptr_t)(row * c) * sizeof *x);
}

/* Some rows of a group, of a tape that closes. Their probabilities are where their gradients will be. */
static void closing_rows(void *context, int64_t group, pgcn_i_rows rows, const float *logits,
                         float *g) {
    const loss_job *job = context;
    pgcn_i_loss *loss = job->loss;
    const int64_t c = loss->classes, together = rows.row ? 1 : rows.count;
    if (!job->target) job->kernels->softmax(g, logits, 0, rows.count, c);
    for (int64_t i = 0; i < rows.count; i += together) {
        const int64_t r = pgcn_i_row(rows, i);
        pgcn_i_loss_args args = kernel_args(job);
        args.logits = before_row(logits + i * c, r, c);
        args.probability = args.dlogits = before_row(g + i * c, r, c);
        if (job->target)
            job->kernels->binary_cross_entropy(&loss->loss[group], &args, r, r + together);
        else
            job->kernels->cross_entropy(&loss->loss[group], &loss->hits[group], &args, r,
                                        r + together);
    }
}

static void close_groups(loss_job *job, pgcn_i_tape *tape) {
    for (int64_t group = 0; group < job->blocks.count; group++) {
        job->loss->loss[group] = job->loss->consistency[group] = 0;
        job->loss->hits[group] = 0;
    }
    pgcn_i_tape_close(tape, (pgcn_i_closer){closing_rows, job});
}

/* The groups of this process. Of several ranks: in a part of a graph samples are not stacked and groups of nodes are no
 * ranges of rows, so that every rank has all rows. */
static pgcn_i_own own_groups(const loss_job *job, pgcn_i_tape *tape, pgcn_i_value *logits) {
    if (tape->share && !tape->part) {
        logits->held_grad = logits->rows;
        return pgcn_i_own_of(tape, logits->rows);
    }
    pgcn_i_share_whole(tape, logits);
    logits->held_grad = 0;
    return (pgcn_i_own){.groups = job->blocks, .end = job->blocks.count};
}

/* The sums of the groups of all ranks. */
static void collect(pgcn_i_loss *loss, pgcn_i_tape *tape, const pgcn_i_value *logits,
                    pgcn_i_own own) {
    enum { EACH = 3 };
    double *number = NULL;
    if (tape->share && !tape->part)
        number = (double *)(void *)pgcn_i_share_scratch(tape, 2 * EACH * own.groups.count);
    if (!number) return;
    for (int64_t g = own.first; g < own.end; g++) {
        number[EACH * g] = loss->loss[g];
        number[EACH * g + 1] = loss->consistency[g];
        number[EACH * g + 2] = (double)loss->hits[g];
    }
    pgcn_i_share_numbers(tape, logits->rows, number, EACH);
    for (int64_t g = 0; g < own.groups.count; g++) {
        loss->loss[g] = number[EACH * g];
        loss->consistency[g] = number[EACH * g + 1];
        loss->hits[g] = (int64_t)number[EACH * g + 2];
    }
}

pgcn_i_loss_terms pgcn_i_loss_run(pgcn_i_loss *loss, pgcn_i_tape *tape, pgcn_i_value *logits,
                                  const pgcn_i_target *target, double lambda, double temperature) {
    double masked_rows = (double)target->masked * loss->samples;
    double all_rows = (double)loss->n * loss->samples;
    double weight = weight_of_rows(loss, target);
    loss_job job = {.loss = loss,
                    .kernels = tape->kernels,
                    .logits = logits,
                    .label = target->label,
                    .target = target->labels,
                    .mask = target->mask,
                    .class_weight = loss->class_weight,
                    .scale = (float)(1.0 / weight),
                    .consistency_scale = (float)(lambda / all_rows),
                    .temperature = (float)temperature,
                    .consistency = lambda > 0,
                    .blocks = pgcn_i_groups_of(loss->n, loss->groups)};
    if (tape->closes) {
        close_groups(&job, tape);
        return add_up(loss, weight, masked_rows, all_rows);
    }
    pgcn_i_own own = own_groups(&job, tape, logits);
    job.first = own.first;
    pgcn_i_parallel(tape->pool, own.end - own.first, target->labels ? binary_task : train_task,
                    &job);
    collect(loss, tape, logits, own);
    return add_up(loss, weight, masked_rows, all_rows);
}

/* The rows of the logits that are here: all, or of several ranks those of this one. */
static pgcn_i_runs rows_here(const pgcn_i_tape *tape, const pgcn_i_value *logits) {
    if (logits->held_data > 0) return pgcn_i_runs_of(tape, logits->rows, NULL);
    return (pgcn_i_runs){.count = 1, .blocks = pgcn_i_blocks_of(logits->rows)};
}

static void softmax_task(void *context, int64_t task, int worker) {
    (void)worker;
    const loss_job *job = context;
    const pgcn_i_range rows = pgcn_i_runs_range(&job->runs, task);
    job->kernels->softmax(job->loss->probability, job->logits->data, rows.begin, rows.end,
                          job->loss->classes);
}

void pgcn_i_softmax_run(pgcn_i_loss *loss, pgcn_i_tape *tape, const pgcn_i_value *logits) {
    loss_job job = {
        .loss = loss, .kernels = tape->kernels, .logits = logits, .runs = rows_here(tape, logits)};
    pgcn_i_parallel(tape->pool, pgcn_i_runs_tasks(&job.runs), softmax_task, &job);
}

static void sigmoid_task(void *context, int64_t task, int worker) {
    (void)worker;
    const loss_job *job = context;
    const pgcn_i_range rows = pgcn_i_runs_range(&job->runs, task);
    int64_t c = job->loss->classes;
    for (int64_t i = rows.begin * c; i < rows.end * c; i++)
        job->loss->probability[i] = 1.0f / (1.0f + expf(-job->logits->data[i]));
}

void pgcn_i_sigmoid_run(pgcn_i_loss *loss, pgcn_i_tape *tape, const pgcn_i_value *logits) {
    loss_job job = {.loss = loss, .logits = logits, .runs = rows_here(tape, logits)};
    pgcn_i_parallel(tape->pool, pgcn_i_runs_tasks(&job.runs), sigmoid_task, &job);
}

/* ---- evaluation: the same sums without a gradient ---------------------------------------------------- */

static void score_task(void *context, int64_t number, int worker) {
    (void)worker;
    const loss_job *job = context;
    pgcn_i_loss *loss = job->loss;
    int64_t task = job->first + number;
    int64_t begin = pgcn_i_block_begin(job->blocks, task);
    int64_t end = pgcn_i_block_end(job->blocks, task);
    loss->loss[task] = 0;
    loss->hits[task] = 0;
    pgcn_i_loss_args args = kernel_args(job);
    args.dlogits = NULL;
    if (job->target)
        job->kernels->binary_cross_entropy(&loss->loss[task], &args, begin, end);
    else
        job->kernels->cross_entropy(&loss->loss[task], &loss->hits[task], &args, begin, end);
}

void pgcn_i_loss_sums(pgcn_i_loss *loss, pgcn_i_tape *tape, const pgcn_i_value *logits,
                      const pgcn_i_target *target, double *sum, int64_t *hits) {
    loss_job job = {.loss = loss,
                    .kernels = tape->kernels,
                    .logits = logits,
                    .label = target->label,
                    .target = target->labels,
                    .mask = target->mask,
                    .blocks = pgcn_i_groups_of(loss->n, loss->groups)};
    pgcn_i_own own = {.groups = job.blocks, .end = job.blocks.count};
    if (logits->held_data > 0) own = pgcn_i_own_of(tape, logits->rows);
    job.first = own.first;
    pgcn_i_parallel(tape->pool, own.end - own.first, score_task, &job);
    if (logits->held_data > 0) collect(loss, tape, logits, own);
    for (int64_t group = 0; group < job.blocks.count; group++) {
        *sum += loss->loss[group];
        *hits += loss->hits[group];
    }
}
