/* What runs with failing allocations in the tests of training: a trainer, made and freed. */
#ifndef TRAINER_HELP_H
#define TRAINER_HELP_H

#include "nn_help.h"

static const pgcn_dataset *memory_data;
static const char *memory_text;
static pgcn_model *memory_model;

static inline pgcn_status make_trainer(void) {
    pgcn_config config = settings(memory_text);
    pgcn_trainer *trainer;
    PGCN_TRY(pgcn_trainer_new(memory_data, &config, &trainer));
    pgcn_trainer_free(trainer);
    return PGCN_OK;
}

#endif
