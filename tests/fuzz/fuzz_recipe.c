/* A recipe: src/train/recipe_read.c. What is accepted has valid settings at every depth, and is the
 * same when recipe_write.c has written it. */
#include "fuzz.h"

#include "train/recipe.h"

#include <stdlib.h>

const fuzz_target fuzz_target_is = {.file = "fuzz.recipe", .bytes_per_byte = FUZZ_ORDINARY};

static pgcn_status read_recipe(const char *path, pgcn_i_recipe *out) {
    pgcn_i_arena arena = {0};
    char *text;
    int64_t bytes;
    pgcn_status status = pgcn_i_file_read(path, PGCN_I_RECIPE_BYTES, &arena, &text, &bytes);
    if (status == PGCN_OK) status = pgcn_i_recipe_parse(path, text, bytes, out);
    pgcn_i_arena_free(&arena);
    return status;
}

pgcn_status fuzz_read(const char *path) {
    static const int depths[] = {0, 1, 2, 3, 8, 64, 4096};
    pgcn_i_recipe recipe, again;
    PGCN_TRY(read_recipe(path, &recipe));
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        pgcn_config config;
        pgcn_i_recipe_settings(&recipe, depths[i], &config);
        if (pgcn_config_check(&config) != PGCN_OK) abort();
        if (i > 2) continue; /* files are slow */
        config.seed = 0;     /* not of a recipe */
        if (pgcn_recipe_write(path, &recipe.info, &config) != PGCN_OK ||
            read_recipe(path, &again) != PGCN_OK ||
            pgcn_i_config_difference(&config, &again.config))
            abort();
    }
    return PGCN_OK;
}
