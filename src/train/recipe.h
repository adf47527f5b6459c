/* Recipes: settings for a data set and a task, in text files. recipe_read.c turns the text of one into
 * a configuration, recipe_write.c the other way, recipe.c knows which recipes there are. Part of the
 * room train; config.c knows what a setting means. */
#ifndef PGCN_RECIPE_H
#define PGCN_RECIPE_H

#include "train/train.h"

/* The lines of a head in their order: what they are called, and where they go. */
typedef struct pgcn_i_head_line {
    const char *key;
    size_t place, bytes; /* in pgcn_recipe_info; the version is a number and has no bytes */
    bool required;
} pgcn_i_head_line;
enum { PGCN_I_HEAD_LINES = 6 };
extern const pgcn_i_head_line pgcn_i_head_lines[PGCN_I_HEAD_LINES];

bool pgcn_i_is_utf8(const char *text);

/* What every head must keep, whether it was read or is to be written; `where` begins the sentence. */
pgcn_status pgcn_i_recipe_check_head(const pgcn_recipe_info *info, const char *where);

#endif
