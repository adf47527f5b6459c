/* Parameters: declared one by one, kept in one block each for weights, gradients, Adam's moments,
 * the start (towards which some decay) and the best weights, so that Adam is one loop and a
 * checkpoint is a walk over the list. Called by the model and the trainer. */
#include "nn/nn.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

pgcn_status pgcn_i_params_init(pgcn_i_params *params, int capacity) {
    *params = (pgcn_i_params){.capacity = capacity};
    params->param = PGCN_I_ARRAY(&params->arena, pgcn_i_param, capacity);
    return params->param ? PGCN_OK : PGCN_ERR_MEMORY;
}

pgcn_i_param *pgcn_i_params_add(pgcn_i_params *params, pgcn_i_param_spec spec, const char *format,
                                ...) {
    params->declared++;
    if (params->count == params->capacity) return NULL;
    pgcn_i_param *param = &params->param[params->count++];
    *param = (pgcn_i_param){.group = spec.group,
                            .start = spec.start,
                            .decay_to_start = spec.decay_to_start,
                            .inputs = spec.inputs,
                            .count = 1,
                            .first = params->total};
    for (int i = 0; i < 3 && spec.shape[i] > 0; i++) {
        param->shape[param->rank++] = spec.shape[i];
        param->count *= spec.shape[i];
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(param->name, sizeof param->name, format, arguments);
    va_end(arguments);
    params->total += (param->count + 15) / 16 * 16; /* each starts on its own cache line */
    return param;
}

pgcn_i_param *pgcn_i_param_named(const pgcn_i_params *params, const char *format, ...) {
    char name[sizeof params->param->name];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    for (int i = 0; i < params->count; i++)
        if (strcmp(params->param[i].name, name) == 0) return &params->param[i];
    return NULL;
}

pgcn_status pgcn_i_params_allocate(pgcn_i_params *params, bool training) {
    params->value = PGCN_I_ARRAY(&params->arena, float, params->total);
    if (!params->value) return PGCN_ERR_MEMORY;
    if (!training) return PGCN_OK;
    float **blocks[] = {&params->start, &params->grad, &params->m, &params->v, &params->best};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        *blocks[i] = PGCN_I_ARRAY(&params->arena, float, params->total);
        if (!*blocks[i]) return PGCN_ERR_MEMORY;
    }
    return PGCN_OK;
}

void pgcn_i_params_free(pgcn_i_params *params) {
    pgcn_i_arena_free(&params->arena);
    *params = (pgcn_i_params){0};
}
