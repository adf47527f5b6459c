/* The result of a search: the best candidates as a table, all of them as JSON, and the recipe. */
#include "experiments/tune.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 10, EXPLAINED = 3 };

void exp_measure_key(const exp_search *s, const char *part, char out[64]) {
    char name[32];
    cli_measure_key(s->measure, name);
    snprintf(out, 64, "%s_%s", part, name);
}

void exp_chosen_by(const exp_search *s, char out[64]) {
    exp_measure_key(s, "val", out);
    if (s->rule == EXP_BY_LOSS) snprintf(out, 64, "val_loss");
    if (s->rule == EXP_BY_COMMON_EPOCH) snprintf(out, 64, "val_accuracy_at_common_epoch");
}

void exp_print_rungs(const exp_search *s) {
    for (int r = 0; r < s->rungs; r++)
        printf("%s %d x %d runs", r ? "," : "", s->rung[r].candidates, s->rung[r].runs);
    printf("\n\n");
}

json_t *exp_rungs_to_json(const exp_search *s) {
    json_t *rungs = json_array();
    for (int r = 0; r < s->rungs; r++)
        json_array_append_new(rungs, json_pack("{s:i, s:i}", "candidates", s->rung[r].candidates,
                                               "runs", s->rung[r].runs));
    return rungs;
}

/* ---- what differs ----------------------------------------------------------------------------- */

typedef void with_setting(void *context, const char *key, const char *value, const char *present);

/* Every setting in which a candidate differs from the present ones. */
static void each_change(const exp_search *s, const exp_candidate *c, with_setting *call,
                        void *context) {
    pgcn_field field;
    for (int i = 0; pgcn_config_field(i, &field); i++) {
        char ours[PGCN_SETTING_BYTES], theirs[PGCN_SETTING_BYTES];
        pgcn_config_get(&c->config, field.key, ours, sizeof ours);
        pgcn_config_get(&s->present, field.key, theirs, sizeof theirs);
        if (strcmp(ours, theirs) != 0) call(context, field.key, ours, theirs);
    }
}

static void print_change(void *context, const char *key, const char *value, const char *present) {
    fprintf(context, "  %s = %s (%s)\n", key, value, present);
}

static void add_change(void *context, const char *key, const char *value, const char *present) {
    (void)present;
    json_object_set_new(context, key, json_string(value));
}

json_t *exp_tune_changes(const exp_search *s, int number) {
    json_t *changes = json_object();
    each_change(s, &s->candidate[number], add_change, changes);
    return changes;
}

/* ---- for people ------------------------------------------------------------------------------- */

static void add_row(const exp_search *s, exp_table *table, int rank, int number) {
    const exp_candidate *c = &s->candidate[number];
    exp_table_add(table, "%d", rank + 1);
    exp_table_add(table, number == 0 ? "%d, the present recipe" : "%d", number);
    if (c->score.failed) {
        exp_table_add(table, "failed");
        for (int i = 0; i < 3; i++) exp_table_add(table, "-");
        return;
    }
    double gain, error;
    char difference[32];
    exp_search_gain(s, number, 0, &gain, &error);
    exp_table_add(table, "%d", c->score.runs);
    exp_table_add(table, "%.2f ± %.2f", c->score.accuracy, c->score.deviation);
    exp_table_add(table, "%.4f", c->score.loss);
    if (number == 0 || isnan(gain))
        exp_table_add(table, "-");
    else if (isnan(error))
        exp_table_add(table, "%s", cli_format_signed(gain, difference));
    else
        exp_table_add(table, "%s ± %.2f", cli_format_signed(gain, difference), error);
}

static int count_failed(const exp_search *s) {
    int failed = 0;
    for (int i = 0; i < s->candidates; i++) failed += s->candidate[i].score.failed;
    return failed;
}

static void print_what_chose(const exp_search *s, pgcn_task task) {
    const char *items = cli_items(task);
    int splits = pgcn_dataset_describe(s->data->data).splits;
    printf("\nChosen by validation %s%s; no split had test %s, and labels that only they have were "
           "removed.\n",
           s->rule == EXP_BY_LOSS ? "loss" : cli_measure_title(s->measure, task),
           s->rule == EXP_BY_COMMON_EPOCH ? " at one epoch for all runs" : "", items);
    if (splits > 1 && s->rule != EXP_BY_COMMON_EPOCH)
        printf(
            "Of the %d splits, test %s of one train or validate in others, so the search has used "
            "their labels:\n--nested searches every split by itself without those.\n",
            splits, items);
    printf("The %s of the best of many is too high by its choice: judge it on runs that the search "
           "has not seen.\n",
           cli_measure_title(s->measure, task));
}

static void print_table(const exp_search *s) {
    pgcn_task task = pgcn_dataset_describe(s->data->data).task;
    char heads[160];
    const char *title = cli_measure_title(s->measure, task);
    bool by_loss = s->rule == EXP_BY_LOSS; /* then rank and gain are of different figures */
    snprintf(heads, sizeof heads,
             ">rank|candidate|>runs|>validation %s|>validation loss|>gain%s%s ± standard error",
             title, by_loss ? " in " : "", by_loss ? title : "");
    exp_table *table = exp_table_new(heads);
    int shown = s->candidates < SHOWN ? s->candidates : SHOWN;
    bool present = false;
    for (int i = 0; i < shown; i++) {
        present |= s->order[i] == 0;
        add_row(s, table, i, s->order[i]);
    }
    for (int i = shown; i < s->candidates && !present; i++)
        if (s->order[i] == 0) add_row(s, table, i, 0);
    printf("%s, %d candidates of space %s, rungs:", s->data->name, s->candidates, s->space->name);
    exp_print_rungs(s);
    exp_table_print(stdout, table, EXP_TEXT);
    exp_table_free(table);
    if (count_failed(s) > 0)
        printf("\n%d candidate%s dropped because a run failed.\n", count_failed(s),
               count_failed(s) == 1 ? " was" : "s were");
    for (int i = 0; i < shown && i < EXPLAINED; i++) {
        if (s->order[i] == 0 || s->candidate[s->order[i]].score.failed) continue;
        printf("\nCandidate %d differs from the present recipe in (present value):\n", s->order[i]);
        each_change(s, &s->candidate[s->order[i]], print_change, stdout);
    }
    print_what_chose(s, task);
}

/* ---- JSON ------------------------------------------------------------------------------------- */

static json_t *candidate_to_json(const exp_search *s, int number) {
    const exp_candidate *c = &s->candidate[number];
    json_t *object = json_pack("{s:i, s:i, s:i, s:b, s:o}", "candidate", number, "rung",
                               c->rung + 1, "runs", c->score.runs, "failed", (int)c->score.failed,
                               "changes", exp_tune_changes(s, number));
    if (c->score.runs == 0) return object;
    double gain, error;
    char key[64];
    exp_search_gain(s, number, 0, &gain, &error);
    exp_measure_key(s, "val", key);
    json_object_set_new(object, key,
                        json_pack("{s:o, s:o}", "mean", cli_json_real(c->score.accuracy), "std",
                                  cli_json_real(c->score.deviation)));
    json_object_set_new(object, "val_loss", cli_json_real(c->score.loss));
    if (c->score.epoch > 0)
        json_object_set_new(object, "common_epoch", json_integer(c->score.epoch));
    json_object_set_new(object, "gain",
                        json_pack("{s:o, s:o}", "mean", cli_json_real(gain), "standard_error",
                                  cli_json_real(error)));
    return object;
}

static json_t *border_to_json(const exp_search *s);

static json_t *make_json(const exp_search *s, const char *recipe_path) {
    const pgcn_config *best = &s->candidate[s->order[0]].config;
    json_t *candidates = json_array();
    for (int i = 0; i < s->candidates; i++)
        json_array_append_new(candidates, candidate_to_json(s, s->order[i]));
    pgcn_task task = pgcn_dataset_describe(s->data->data).task;
    char chosen_by[64];
    exp_chosen_by(s, chosen_by);
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:i, s:i, s:s, s:o, s:i, s:o, s:o, s:o, s:f}",
        "dataset", s->data->name, "task", pgcn_task_name(task), "metric", cli_metric(task),
        "fingerprint", pgcn_dataset_describe(s->data->data).fingerprint, "present_recipe",
        s->recipe.name, "recipe", recipe_path, "space", s->space->name, "space_text",
        s->space->text, "seed", (json_int_t)s->seed, "keep", s->keep, "runs", s->runs, "chosen_by",
        chosen_by, "rungs", exp_rungs_to_json(s), "best", s->order[0], "settings",
        cli_config_to_json(best, false), "on_border", border_to_json(s), "candidates", candidates,
        "seconds", s->seconds);
}

/* ---- the border of the space ------------------------------------------------------------------- */

/* The settings in which the best candidate sits on it. The recipe that the search began with need not
 * be in the space, so that what it has not changed does not count. */
static json_t *border_to_json(const exp_search *s) {
    json_t *list = json_array();
    const pgcn_config *best = &s->candidate[s->order[0]].config;
    json_t *changes = exp_tune_changes(s, s->order[0]);
    for (int i = 0; i < s->space->parameters; i++) {
        const exp_parameter *p = &s->space->parameter[i];
        if (json_object_get(changes, p->key) && exp_space_at_border(p, best))
            json_array_append_new(list, json_string(p->key));
    }
    json_decref(changes);
    return list;
}

static void print_border(const exp_search *s) {
    json_t *list = border_to_json(s), *key;
    size_t i;
    json_array_foreach(list, i, key) {
        char value[EXP_VALUE];
        pgcn_config_get(&s->candidate[s->order[0]].config, json_string_value(key), value,
                        sizeof value);
        printf("%s%s %s", i == 0 ? "On the border of the space: " : ", ", json_string_value(key),
               value);
    }
    if (json_array_size(list) > 0)
        printf(". A wider space (--space FILE) may hold something better.\n");
    json_decref(list);
}

/* ---- the recipe ------------------------------------------------------------------------------- */

/* The head in one line, for `pathgcn recipes`; the space itself goes into a comment. */
static void fill_head(const exp_search *s, pgcn_recipe_info *info) {
    const exp_candidate *best = &s->candidate[s->order[0]], *present = &s->candidate[0];
    const char *name = pgcn_dataset_describe(s->data->data).name;
    char dataset[128];
    snprintf(dataset, sizeof dataset, "%.*s", (int)strcspn(name, ":"), name);
    *info = s->recipe;
    pgcn_task task = pgcn_dataset_describe(s->data->data).task;
    bool none = info->version == 0, own = !none && strcmp(info->dataset, "any") != 0;
    if (!own) snprintf(info->name, sizeof info->name, "%.63s", dataset); /* not any-graph */
    for (char *c = info->name; *c; c++)
        if (strchr(" :,=/", *c)) *c = '-';
    info->version = own ? s->recipe.version + 1 : 1;
    snprintf(info->task, sizeof info->task, "%s", pgcn_task_name(task));
    snprintf(info->dataset, sizeof info->dataset, "%s", dataset);
    snprintf(info->about, sizeof info->about,
             "%.100s, %d layers: chosen by pathgcn tune on validation %s", dataset,
             best->config.layers, cli_items(task));
    if (s->measure != PGCN_MEASURE_ACCURACY)
        snprintf(info->measure, sizeof info->measure, "%s", pgcn_measure_name(s->measure));
    char before[96] = "the defaults", title[48];
    snprintf(title, sizeof title, "%s ", cli_measure_title(s->measure, task));
    if (!none) snprintf(before, sizeof before, "%s version %d", s->recipe.name, s->recipe.version);
    snprintf(
        info->searched, sizeof info->searched,
        "%d candidates of space %.100s (search seed %llu), %d rungs up to %d runs; validation %s"
        "%.2f %% against %.2f %% of %s",
        s->candidates, s->space->name, (unsigned long long)s->seed, s->rungs, s->runs,
        s->measure != PGCN_MEASURE_ACCURACY ? title
        : task == PGCN_TASK_MULTILABEL      ? "micro-F1 "
        : s->rule == EXP_BY_COMMON_EPOCH    ? "at one epoch for all folds "
                                            : "",
        best->score.accuracy, present->score.accuracy, before);
}

static pgcn_status cannot_read(const exp_search *s, const char *path, int error) {
    return cli_fail(s->command, PGCN_ERR_IO,
                    "cannot read '%s', which was written just now: %s; the same command "
                    "writes it again",
                    path, pgcn_system_error(error ? error : ENOMEM));
}

/* The file as the library writes it, with what was searched in front as a comment. */
static pgcn_status write_recipe(const exp_search *s, const char *path) {
    pgcn_recipe_info info;
    fill_head(s, &info);
    pgcn_config config = s->candidate[s->order[0]].config;
    CLI_TRY(cli_report(s->command, pgcn_recipe_write(path, &info, &config)));
    char *text = NULL, line[1024];
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes), *in = fopen(path, "r");
    int error = in ? 0 : errno;
    if (out && in) {
        fprintf(out, "# Written by pathgcn tune. The space that was searched:\n");
        for (const char *at = s->space->text; *at;) {
            size_t length = strcspn(at, "\n");
            fprintf(out, "#   %.*s\n", (int)length, at);
            at += length + (at[length] == '\n');
        }
        fputc('\n', out);
        while (fgets(line, sizeof line, in)) fputs(line, out);
        if (ferror(in)) error = errno ? errno : EIO;
    }
    bool fine = out && fclose(out) == 0 && in && error == 0;
    if (in) fclose(in);
    pgcn_status status = fine ? cli_report(s->command, pgcn_file_write(path, text, bytes))
                              : cannot_read(s, path, error);
    free(text);
    return status;
}

pgcn_status exp_tune_write(const exp_search *s, char recipe_path[EXP_PATH_BYTES], json_t **object) {
    char path[EXP_PATH_BYTES];
    pgcn_recipe_info info;
    fill_head(s, &info);
    snprintf(recipe_path, EXP_PATH_BYTES, "%.3900s/%s.recipe", s->out, info.name);
    snprintf(path, sizeof path, "%.3900s/tune.json", s->out);
    CLI_TRY(write_recipe(s, recipe_path));
    json_t *made = make_json(s, recipe_path);
    pgcn_status status = cli_write_json(s->command, path, made, JSON_INDENT(1));
    if (object)
        *object = made;
    else
        json_decref(made);
    return status;
}

pgcn_status exp_tune_report(const exp_search *s, bool json) {
    char recipe_path[EXP_PATH_BYTES];
    json_t *object = NULL;
    pgcn_status status = exp_tune_write(s, recipe_path, &object);
    if (status == PGCN_OK) status = exp_tune_page(s, recipe_path);
    if (status == PGCN_OK && json) {
        status = cli_print_json(s->command, json_incref(object));
    } else if (status == PGCN_OK) {
        print_table(s);
        print_border(s);
        printf(
            "\nRecipe: %s (pathgcn train %s --recipe %s). All candidates: %s/tune.json, as a page: "
            "%s/report.html.\n",
            recipe_path, s->own_files ? "with the same files and" : s->data->name, recipe_path,
            s->out, s->out);
    }
    json_decref(object);
    return status;
}
