/* Adam with L2 decay in the gradient, towards 0 or towards the start of a parameter, and a rate
 * and decay for each group of parameters (paper, appendix: LR_oc, LR_GCN, WD_oc, WD_GCN). */
#include "train/train.h"

#include <math.h>

enum { CHUNK = 16384 };

typedef struct adam_job {
    pgcn_i_params *params;
    const pgcn_i_kernels *kernels;
    const pgcn_i_param *param;
    pgcn_i_adam_step step;
} adam_job;

static void adam_task(void *context, int64_t task, int worker) {
    (void)worker;
    const adam_job *job = context;
    pgcn_i_params *p = job->params;
    int64_t first = job->param->first, begin = task * CHUNK;
    int64_t end = begin + CHUNK < job->param->count ? begin + CHUNK : job->param->count;
    job->kernels->adam(p->value + first, p->m + first, p->v + first, p->grad + first,
                       job->param->decay_to_start ? p->start + first : NULL, &job->step, begin,
                       end);
}

void pgcn_i_adam_all(pgcn_i_params *params, pgcn_i_pool *pool, const pgcn_config *config,
                     int64_t t) {
    const double rate[] = {[PGCN_I_GROUP_ENDS] = config->lr_ends,
                           [PGCN_I_GROUP_MIX] = config->lr_mix,
                           [PGCN_I_GROUP_KERNEL] = config->lr_kernel,
                           [PGCN_I_GROUP_BUFFER] = 0};
    const double decay[] = {[PGCN_I_GROUP_ENDS] = config->wd_ends,
                            [PGCN_I_GROUP_MIX] = config->wd_mix,
                            [PGCN_I_GROUP_KERNEL] = config->wd_kernel,
                            [PGCN_I_GROUP_BUFFER] = 0};
    const double beta1 = 0.9, beta2 = 0.999;
    adam_job job = {.params = params, .kernels = pgcn_i_kernels_get()};
    for (int i = 0; i < params->count; i++) {
        job.param = &params->param[i];
        if (rate[job.param->group] <= 0) continue; /* frozen */
        job.step = (pgcn_i_adam_step){.lr = (float)rate[job.param->group],
                                      .decay = (float)decay[job.param->group],
                                      .beta1 = (float)beta1,
                                      .beta2 = (float)beta2,
                                      .epsilon = 1e-8f,
                                      .correct1 = (float)(1 / (1 - pow(beta1, (double)t))),
                                      .correct2 = (float)(1 / (1 - pow(beta2, (double)t)))};
        pgcn_i_parallel(pool, (job.param->count + CHUNK - 1) / CHUNK, adam_task, &job);
    }
}
