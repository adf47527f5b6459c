/* pathgcn reproduce sweep: settings that are given as a list become a grid, a line of the table for
 * every point of it. */
#include "experiments/reproduce.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 100000 };

/* A setting with its list. */
typedef struct sweep_axis {
    const char *key;
    exp_words values;
} sweep_axis;

/* The help of a setting whose value is itself a list has a comma without a blank: "W,W,...". */
static bool takes_commas(const char *key) {
    pgcn_field field;
    for (int i = 0; pgcn_config_field(i, &field); i++) {
        const char *comma = strcmp(field.key, key) == 0 ? strchr(field.accepts, ',') : NULL;
        if (comma && comma[1] != ' ') return true;
    }
    return false;
}

static pgcn_status check_axis(const exp_request *r, const sweep_axis *axis) {
    for (int i = 0; i < axis->values.count; i++) {
        pgcn_config config = pgcn_config_default();
        if (pgcn_config_set(&config, axis->key, axis->values.word[i]) != PGCN_OK)
            return cli_fail(r->command, PGCN_ERR_ARGUMENT, "in the list of --%s: %s", axis->key,
                            pgcn_last_error());
        for (int j = 0; j < i; j++)
            if (strcmp(axis->values.word[i], axis->values.word[j]) == 0)
                return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                                "%s stands twice in the list of --%s; leave out one of them",
                                axis->values.word[i], axis->key);
    }
    return PGCN_OK;
}

/* Moves the settings that have a list from the arguments to `axis`. */
static pgcn_status take_lists(const exp_request *r, cli_arguments *arguments, sweep_axis *axis,
                              int *axes) {
    int kept = 0;
    *axes = 0;
    for (int i = 0; i < arguments->settings; i++) {
        const char *key = arguments->key[i], *value = arguments->value[i];
        if (!strchr(value, ',') || takes_commas(key)) {
            arguments->key[kept] = key;
            arguments->value[kept++] = value;
            continue;
        }
        if (*axes == EXP_MOST_CHANGES - 1)
            return cli_fail(r->command, PGCN_ERR_ARGUMENT, "more than %d settings have a list",
                            EXP_MOST_CHANGES - 1);
        sweep_axis *next = &axis[(*axes)++];
        next->key = key;
        CLI_TRY(exp_split_words(r, key, value, ',', &next->values));
        CLI_TRY(check_axis(r, next));
    }
    arguments->settings = kept;
    return PGCN_OK;
}

/* The depths of --layers are no points, because recipes have sections for them, but lines. */
static pgcn_status count_points(const exp_request *r, const sweep_axis *axis, int axes,
                                exp_sweep *out) {
    exp_words depths = {0};
    size_t at = 0;
    out->points = 1;
    if (r->layers) CLI_TRY(exp_split_words(r, "layers", r->layers, ',', &depths));
    if (depths.count > 1)
        at = (size_t)snprintf(out->shape, sizeof out->shape, "%d layers", depths.count);
    for (int a = 0; a < axes; a++) {
        out->points *= axis[a].values.count;
        if (out->points > MOST_POINTS)
            return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                            "the grid has more than %d points; give shorter lists", MOST_POINTS);
        if (at < sizeof out->shape)
            at += (size_t)snprintf(out->shape + at, sizeof out->shape - at, "%s%d %s",
                                   at > 0 ? " x " : "", axis[a].values.count, axis[a].key);
    }
    return PGCN_OK;
}

/* Copies a text into sweep->texts and returns the copy. */
static const char *keep(char **free_text, const char *text) {
    char *copy = *free_text;
    size_t bytes = strlen(text) + 1;
    memcpy(copy, text, bytes);
    *free_text += bytes;
    return copy;
}

/* Point number i: the last list changes fastest. */
static void fill_point(exp_variant *variant, int i, const sweep_axis *axis, int axes,
                       char **free_text) {
    char name[EXP_MOST_CHANGES * 192] = "";
    int values[EXP_MOST_CHANGES], changes = 0;
    for (int a = axes - 1; a >= 0; a--) {
        values[a] = i % axis[a].values.count;
        i /= axis[a].values.count;
    }
    size_t at = 0;
    for (int a = 0; a < axes; a++) {
        const char *value = axis[a].values.word[values[a]];
        at += (size_t)snprintf(name + at, sizeof name - at, "%s%s=%s", a > 0 ? " " : "",
                               axis[a].key, value);
        if (strcmp(axis[a].key, "model") == 0) /* which has recipes of its own */
            variant->network = keep(free_text, value);
        else
            variant->change[changes++] =
                (exp_setting){.key = axis[a].key, .value = keep(free_text, value)};
    }
    variant->name = keep(free_text, name);
}

pgcn_status exp_sweep_make(const exp_request *r, cli_arguments *arguments, exp_sweep *out) {
    sweep_axis axis[EXP_MOST_CHANGES];
    int axes;
    *out = (exp_sweep){.points = 0};
    if (r->words == 0 && !r->datasets)
        return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                        "sweep needs a data set: pathgcn reproduce sweep DATA... --SETTING A,B,C");
    CLI_TRY(take_lists(r, arguments, axis, &axes));
    CLI_TRY(count_points(r, axis, axes, out));
    size_t bytes_of_point = 1;
    for (int a = 0; a < axes; a++)
        bytes_of_point += strlen(axis[a].key) + 2 + 2 * sizeof axis[a].values.word[0];
    out->variant = calloc((size_t)out->points + 1, sizeof *out->variant);
    out->texts = malloc((size_t)out->points * bytes_of_point);
    if (!out->variant || !out->texts)
        return cli_fail(r->command, PGCN_ERR_MEMORY, "out of memory for a grid of %d points",
                        out->points);
    char *free_text = out->texts;
    for (int i = 0; i < out->points; i++) fill_point(&out->variant[i], i, axis, axes, &free_text);
    out->experiment = (exp_experiment){.name = "sweep",
                                       .title = "A grid of settings",
                                       .layers = {1, {0}},
                                       .variants = axes > 0 ? out->variant : NULL,
                                       .variants_head = "settings",
                                       .columns = exp_sweep_columns,
                                       .marks_best = true,
                                       .apart = true};
    return PGCN_OK;
}

pgcn_status exp_sweep_check(const exp_sweep *sweep, const exp_request *r, const exp_plan *plan) {
    for (size_t i = 0; i < plan->cells; i++) {
        const exp_cell *cell = &plan->cell[i];
        if (cell->experiment != &sweep->experiment || !cell->variant || !cell->data) continue;
        for (const exp_setting *change = cell->variant->change; change->key; change++) {
            const char *why = pgcn_config_unused(&cell->config, cell->data->data, change->key);
            if (!why) continue;
            return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                            "--%s does nothing in the line '%s' of %s: %s; leave it out, or sweep "
                            "the lines that use it by themselves",
                            change->key, cell->variant->name, cell->dataset, why);
        }
    }
    return PGCN_OK;
}

void exp_sweep_free(exp_sweep *sweep) {
    free(sweep->variant);
    free(sweep->texts);
}
