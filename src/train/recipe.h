/* Recipes: settings for a data set and a task, in text files. recipe_read.c turns the text of one into
 * configurations, recipe_write.c the other way, recipe.c knows which recipes there are. Part of the
 * room train; config.c knows what a setting means. */
#ifndef PGCN_RECIPE_H
#define PGCN_RECIPE_H

#include "train/train.h"

/* ---- the head (recipe_read.c) ----------------------------------------------------------------- */

/* The lines of a head in their order: what they are called, and where they go. */
typedef struct pgcn_i_head_line {
    const char *key;
    size_t place, bytes; /* in pgcn_recipe_info; the version is a number and has no bytes */
    bool required;
} pgcn_i_head_line;
enum { PGCN_I_HEAD_LINES = 8 };
extern const pgcn_i_head_line pgcn_i_head_lines[PGCN_I_HEAD_LINES];

/* What every head must keep, whether it was read or is to be written. */
pgcn_status pgcn_i_recipe_check_head(const pgcn_recipe_info *info);

/* ---- the text (recipe_read.c) ----------------------------------------------------------------- */

enum { PGCN_I_RECIPE_BYTES = 1 << 16, PGCN_I_RECIPE_SECTIONS = 32 };

/* A section [layers = first..last]: all settings of a network of such a depth. */
typedef struct pgcn_i_recipe_section {
    int first, last, line;
    pgcn_config config;
} pgcn_i_recipe_section;

typedef struct pgcn_i_recipe {
    pgcn_recipe_info info;
    pgcn_config config; /* of depths that have no section */
    int sections;
    pgcn_i_recipe_section section[PGCN_I_RECIPE_SECTIONS]; /* none overlaps another */
} pgcn_i_recipe;

/* Checks all of the text, whatever is used of it later. `origin` is the file in errors. */
pgcn_status pgcn_i_recipe_parse(const char *origin, const char *text, int64_t bytes,
                                pgcn_i_recipe *out);
/* The settings for a depth (0: the recipe's own), with the mark of the recipe. */
void pgcn_i_recipe_settings(const pgcn_i_recipe *recipe, int layers, pgcn_config *out);

/* A recipe for any data that selects by accuracy means the measure of the data. */
void pgcn_i_recipe_measure(const pgcn_recipe_info *info, const pgcn_dataset *data,
                           pgcn_config *config);
/* Every recipe that races for that task (pgcn_recipe_races), by alphabet: *count of them in `arena`. One
 * that cannot be read is an error: it would be missed silently. */
pgcn_status pgcn_i_recipe_families(pgcn_task task, bool all_networks, pgcn_i_arena *arena,
                                   pgcn_i_recipe **out, int *count);

/* The task that the head names; a node's if it names none. */
pgcn_task pgcn_i_recipe_task(const pgcn_recipe_info *info);

/* ---- those that the library was built with (made by cmake/PathgcnRecipes.cmake) ----------------- */

typedef struct pgcn_i_built_in_recipe {
    const char *name;
    const unsigned char *text;
    int64_t bytes;
} pgcn_i_built_in_recipe;
extern const pgcn_i_built_in_recipe pgcn_i_built_in_recipes[]; /* NULL at the end */

#endif
