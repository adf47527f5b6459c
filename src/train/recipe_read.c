/* The text of a recipe: head, settings, sections for depths. */
#include "train/recipe.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- the head ----------------------------------------------------------------------------------- */

#define TEXT(key, field, required)                                                                 \
    { key, offsetof(pgcn_recipe_info, field), sizeof((pgcn_recipe_info *)0)->field, required }
const pgcn_i_head_line pgcn_i_head_lines[PGCN_I_HEAD_LINES] = {
    TEXT("recipe", name, true), {"version", offsetof(pgcn_recipe_info, version), 0, true},
    TEXT("task", task, true),   TEXT("dataset", dataset, true),
    TEXT("about", about, true), TEXT("searched", searched, false),
};

bool pgcn_i_is_utf8(const char *text) {
    json_t *string = json_string(text);
    json_decref(string);
    return string != NULL;
}

static pgcn_status check_text(const pgcn_i_head_line *line, const char *text, const char *where) {
    if (!memchr(text, 0, line->bytes))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s: %s does not end within %zu bytes", where,
                           line->key, line->bytes);
    if (line->required && !*text)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s: %s is empty", where, line->key);
    bool fine = pgcn_i_is_utf8(text) && !strstr(text, " #") && *text != '#';
    for (const char *c = text; *c; c++) fine = fine && !iscntrl((unsigned char)*c);
    return fine ? PGCN_OK
                : pgcn_i_fail(PGCN_ERR_ARGUMENT,
                              "%s: %s is not one line of UTF-8 text without the sign of a comment",
                              where, line->key);
}

pgcn_status pgcn_i_recipe_check_head(const pgcn_recipe_info *info, const char *where) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-_.";
    for (int i = 0; i < PGCN_I_HEAD_LINES; i++)
        if (pgcn_i_head_lines[i].bytes > 0)
            PGCN_TRY(check_text(&pgcn_i_head_lines[i],
                                (const char *)info + pgcn_i_head_lines[i].place, where));
    if (info->name[strspn(info->name, letters)] != '\0' || strchr("-_.", info->name[0]) ||
        strcmp(info->name, "none") == 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "%s: the name of the recipe is '%s', expected letters, digits, - _ . "
                           "and not none",
                           where, info->name);
    if (info->version < 1 || info->version > 1000000)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s: version is %d, expected 1..1000000", where,
                           info->version);
    if (strcmp(info->task, "node") != 0 && strcmp(info->task, "graph") != 0 &&
        strcmp(info->task, "inductive") != 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s: task is '%s', expected node | graph | inductive",
                           where, info->task);
    return PGCN_OK;
}
