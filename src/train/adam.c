/* Clipping of the gradient by its norm; Adam with L2 decay in the gradient, towards 0 or towards the start of a
 * parameter, and a rate and decay for each group of parameters (paper, appendix: LR_oc, LR_GCN, WD_oc, WD_GCN). */
#include "train/train.h"

#include <math.h>

enum { CHUNK = 8192 };

typedef struct adam_job {
    pgcn_i_params *params;
    const pgcn_i_kernels *kernels;
    pgcn_i_adam_step step[PGCN_I_GROUPS]; /* lr 0: frozen */
} adam_job;

static int64_t chunks_of(const adam_job *job, const pgcn_i_param *param) {
    return job->step[param->group].lr > 0 ? (param->count + CHUNK - 1) / CHUNK : 0;
}

static void adam_task(void *context, int64_t task, int worker) {
    (void)worker;
    const adam_job *job = context;
    const pgcn_i_params *p = job->params;
    const pgcn_i_param *param = p->param;
    for (; task >= chunks_of(job, param); param++) task -= chunks_of(job, param);
    int64_t first = param->first, begin = task * CHUNK;
    int64_t end = begin + CHUNK < param->count ? begin + CHUNK : param->count;
    const pgcn_i_adam_arrays arrays = {.w = p->value + first,
                                       .m = p->m + first,
                                       .v = p->v + first,
                                       .g = p->grad + first,
                                       .start = param->decay_to_start ? p->start + first : NULL};
    job->kernels->adam(&arrays, &job->step[param->group], begin, end);
}

static double rate_of(const pgcn_config *config, pgcn_i_group group) {
    const double rate[] = {[PGCN_I_GROUP_ENDS] = config->lr_ends,
                           [PGCN_I_GROUP_MIX] = config->lr_mix,
                           [PGCN_I_GROUP_KERNEL] = config->lr_kernel,
                           [PGCN_I_GROUP_BUFFER] = 0};
    return rate[group];
}

/* One after the other, in double: reading the gradient once is little beside the step that made it. */
static double squared_norm(const pgcn_i_params *params, const pgcn_config *config) {
    double sum = 0;
    for (int i = 0; i < params->count; i++) {
        const pgcn_i_param *param = &params->param[i];
        const float *g = params->grad + param->first;
        if (rate_of(config, param->group) <= 0) continue;
        for (int64_t e = 0; e < param->count; e++) sum += (double)g[e] * (double)g[e];
    }
    return sum;
}

void pgcn_i_clip_gradient(pgcn_i_params *params, const pgcn_config *config) {
    if (config->clip <= 0) return;
    double norm = sqrt(squared_norm(params, config));
    if (norm <= config->clip) return;
    const float scale = (float)(config->clip / norm);
    /* what is not trained is scaled too, and not looked at */
    for (int64_t e = 0; e < params->total; e++) params->grad[e] *= scale;
}

void pgcn_i_adam_all(pgcn_i_params *params, pgcn_i_pool *pool, const pgcn_config *config,
                     double share, int64_t t) {
    const double decay[] = {[PGCN_I_GROUP_ENDS] = config->wd_ends,
                            [PGCN_I_GROUP_MIX] = config->wd_mix,
                            [PGCN_I_GROUP_KERNEL] = config->wd_kernel,
                            [PGCN_I_GROUP_BUFFER] = 0};
    const double beta1 = 0.9, beta2 = 0.999;
    adam_job job = {.params = params, .kernels = pgcn_i_kernels_get()};
    for (int group = 0; group < PGCN_I_GROUPS; group++)
        job.step[group] =
            (pgcn_i_adam_step){.lr = (float)(share * rate_of(config, (pgcn_i_group)group)),
                               .decay = (float)decay[group],
                               .beta1 = (float)beta1,
                               .beta2 = (float)beta2,
                               .epsilon = 1e-8f,
                               .correct1 = (float)(1 / (1 - pow(beta1, (double)t))),
                               .correct2 = (float)(1 / (1 - pow(beta2, (double)t)))};
    int64_t tasks = 0;
    for (int i = 0; i < params->count; i++) tasks += chunks_of(&job, &params->param[i]);
    pgcn_i_parallel_light(pool, params->total, tasks, adam_task, &job);
}
