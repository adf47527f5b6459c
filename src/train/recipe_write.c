/* A configuration as a recipe file: the head, then what differs from the defaults and does something. */
#include "train/recipe.h"

#include <stdio.h>
#include <string.h>

/* A seed and the number of threads belong to a run, not to what suits a data set. */
static bool is_of_a_recipe(const pgcn_field *field) {
    return strcmp(field->group, "run") != 0 && strcmp(field->key, "seed") != 0;
}

static pgcn_status add_line(pgcn_i_buffer *text, const char *key, const char *value) {
    size_t bytes = strlen(key) + strlen(" = \n") + strlen(value);
    char *line = pgcn_i_buffer_add(text, (int64_t)bytes + 1);
    if (!line) return PGCN_ERR_MEMORY;
    snprintf(line, bytes + 1, "%s = %s\n", key, value);
    text->bytes--; /* without its NUL */
    return PGCN_OK;
}

static pgcn_status add_head(pgcn_i_buffer *text, const pgcn_recipe_info *info) {
    for (int i = 0; i < PGCN_I_HEAD_LINES; i++) {
        const pgcn_i_head_line *line = &pgcn_i_head_lines[i];
        const char *value = (const char *)info + line->place;
        char version[16];
        snprintf(version, sizeof version, "%d", info->version);
        if (line->bytes == 0) value = version;
        if (*value) PGCN_TRY(add_line(text, line->key, value));
    }
    return PGCN_OK;
}

static pgcn_status add_settings(pgcn_i_buffer *text, const pgcn_recipe_info *info,
                                const pgcn_config *config) {
    const pgcn_i_usage usage = {config, pgcn_i_recipe_task(info), NULL};
    const pgcn_config plain = pgcn_config_default();
    pgcn_field field;
    for (int i = 0; pgcn_config_field(i, &field); i++) {
        char value[PGCN_SETTING_BYTES], preset[PGCN_SETTING_BYTES];
        PGCN_TRY(pgcn_config_get(config, field.key, value, sizeof value));
        PGCN_TRY(pgcn_config_get(&plain, field.key, preset, sizeof preset));
        if (!is_of_a_recipe(&field) || pgcn_i_config_unused(&usage, field.key)) continue;
        if (strcmp(value, preset) != 0 || strcmp(field.key, "layers") == 0)
            PGCN_TRY(add_line(text, field.key, value));
    }
    return PGCN_OK;
}

pgcn_status pgcn_recipe_write(const char *path, const pgcn_recipe_info *info,
                              const pgcn_config *given) {
    PGCN_I_NEED(path);
    PGCN_I_NEED(info);
    pgcn_i_buffer text = {0};
    pgcn_config config;
    PGCN_TRY(pgcn_i_config_copy(given, &config));
    PGCN_TRY(pgcn_config_check(&config));
    pgcn_status status = pgcn_i_recipe_check_head(info);
    if (status != PGCN_OK) return pgcn_i_fail_in(status, "writing '%s'", path);
    status = add_head(&text, info);
    if (status == PGCN_OK) status = add_settings(&text, info, &config);
    if (status == PGCN_OK) status = pgcn_file_write(path, text.data, (size_t)text.bytes);
    pgcn_i_buffer_free(&text);
    return status;
}
