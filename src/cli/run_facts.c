/* What a run was made of: data, splits, settings, and how to repeat it. */
#include "cli/run_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- data ----------------------------------------------------------------------------------------- */

static void put_fact(report_page *page, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void put_fact(report_page *page, const char *name, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    report_cell(page, "%s", name);
    report_cell(page, "%s", text);
}

static void put_count(report_page *page, const char *name, int64_t count) {
    char text[32];
    cli_format_count(count, text);
    put_fact(page, name, "%s", text);
}

static void put_data_facts(report_page *page, const cli_run *run) {
    const pgcn_dataset_info *info = &run->info;
    if (info->graphs > 1) put_count(page, "graphs", info->graphs);
    put_count(page, "nodes", info->nodes);
    put_count(page, info->directed ? "edges (directed)" : "edges", info->edges);
    if (info->isolated > 0) put_count(page, "nodes without an edge", info->isolated);
    put_fact(page, "degree", "mean %.2f, largest %lld",
             (info->directed ? 1.0 : 2.0) * (double)info->edges / (double)info->nodes,
             (long long)info->max_degree);
    put_count(page, "features", info->features);
    put_fact(page, info->task == PGCN_TASK_MULTILABEL ? "labels" : "classes", "%d", info->classes);
    if (info->unlabelled > 0) put_count(page, "without a label", info->unlabelled);
    if (!isnan(info->edge_homophily) && info->task == PGCN_TASK_NODE)
        put_fact(page, "homophily", "%.3f of the edges join equal classes", info->edge_homophily);
    put_fact(page, "read from", "%s%s%s", info->format ? info->format : "memory",
             *info->steps ? ", then " : "", info->steps);
    if (info->split_origin) put_fact(page, "splits", "%d: %s", info->splits, info->split_origin);
}

/* How many of each class train, validate and test. */
static void put_split_table(report_page *page, const cli_run *run) {
    const uint8_t *mask[3];
    const int32_t *label = pgcn_dataset_labels(run->data);
    int split = run->scores.split, classes = run->info.classes;
    if (!label || split < 0 || !pgcn_dataset_split(run->data, split, &mask[0], &mask[1], &mask[2]))
        return;
    int64_t *count = calloc((size_t)classes * 4, sizeof *count);
    for (int64_t i = 0; count && i < run->info.items; i++) {
        int part = 0;
        while (part < 3 && !mask[part][i]) part++;
        if (label[i] >= 0) count[4 * label[i] + part]++;
    }
    report_table_open(page, "class|>training|>validation|>test|>in no part");
    for (int c = 0; count && c < classes; c++) {
        const char *name = pgcn_dataset_class_name(run->data, c);
        if (name)
            report_cell(page, "%s", name);
        else
            report_cell(page, "%d", c);
        for (int part = 0; part < 4; part++)
            report_cell(page, "%lld", (long long)count[4 * c + part]);
    }
    report_table_close(page);
    page->text.failed |= !count;
    free(count);
}

void cli_report_data(report_page *page, const cli_run *run) {
    report_section_open(page, "data", "Data and split");
    report_table_open(page, "data set|");
    put_fact(page, "name", "%s", pgcn_model_dataset(run->model));
    if (run->data) put_data_facts(page, run);
    put_fact(page, "fingerprint", "%s", pgcn_model_fingerprint(run->model));
    put_fact(page, "split of the training", "%s", pgcn_model_split(run->model));
    if (*pgcn_model_split_hash(run->model))
        put_fact(page, "SHA-256 of its masks", "%s", pgcn_model_split_hash(run->model));
    report_table_close(page);
    if (run->data) {
        const char *note;
        put_split_table(page, run);
        for (int i = 0; (note = pgcn_dataset_note(run->data, i)); i++)
            report_remark(page, "Note: %s.", note);
    }
    report_section_close(page);
}

/* ---- settings ------------------------------------------------------------------------------------- */

/* What `pathgcn train --recipe none --model M` starts from. */
static pgcn_config base_of(const cli_run *run) {
    pgcn_config base = pgcn_config_default(), given = pgcn_config_default();
    if (run->config->model == 0) return base;
    pgcn_config_set(&given, "model", pgcn_network_name(run->config->model));
    pgcn_config_overlay(&base, &given);
    return base;
}

/* Whether a setting takes part in the run: the network has it, and it does something. */
static bool counts(const cli_run *run, const pgcn_field *field) {
    return pgcn_config_uses(run->config, field->key) &&
           !pgcn_config_unused(run->config, run->data, field->key);
}

static bool differs(const cli_run *run, const pgcn_config *base, const char *key,
                    char ours[PGCN_SETTING_BYTES], char theirs[PGCN_SETTING_BYTES]) {
    pgcn_config_get(run->config, key, ours, PGCN_SETTING_BYTES);
    pgcn_config_get(base, key, theirs, PGCN_SETTING_BYTES);
    return strcmp(ours, theirs) != 0;
}

/* The settings that differ from the defaults, or those that do not. */
static void put_settings(report_page *page, const cli_run *run, bool changed) {
    pgcn_config base = base_of(run);
    pgcn_field field;
    char ours[PGCN_SETTING_BYTES], theirs[PGCN_SETTING_BYTES];
    report_table_open(page,
                      changed ? "setting|>value|>default|what it is" : "setting|>value|what it is");
    for (int i = 0; pgcn_config_field(i, &field); i++) {
        if (!counts(run, &field) || cli_is_run_setting(&field)) continue;
        if (differs(run, &base, field.key, ours, theirs) != changed) continue;
        report_cell(page, "%s", field.key);
        report_cell(page, "%s", ours);
        if (changed) report_cell(page, "%s", theirs);
        report_cell(page, "%s", field.help);
    }
    report_table_close(page);
}

/* How the recipe was found by a race. */
static void put_race(report_page *page, const cli_run *run) {
    json_t *entry;
    size_t i;
    if (!run->race) return;
    report_paragraph(page,
                     "No recipe was known for these data: the recipes below raced on validation "
                     "items, short runs first, and the best went on.");
    report_table_open(page, "recipe|>epochs|>rounds|>validation %|>validation loss|");
    json_array_foreach(json_object_get(run->race, "entries"), i, entry) {
        const char *name = json_string_value(json_object_get(entry, "recipe"));
        const char *winner = json_string_value(json_object_get(run->race, "winner"));
        const json_t *score = json_object_get(entry, "val_score");
        const json_t *loss = json_object_get(entry, "val_loss");
        report_cell(page, "%s", name ? name : "-");
        report_cell(page, "%lld", (long long)json_integer_value(json_object_get(entry, "epochs")));
        report_cell(page, "%lld",
                    (long long)json_integer_value(json_object_get(entry, "rung")) + 1);
        report_cell(page, json_is_number(score) ? "%.2f" : "-", json_number_value(score));
        report_cell(page, json_is_number(loss) ? "%.4f" : "-", json_number_value(loss));
        report_cell(page, "%s", name && winner && strcmp(name, winner) == 0 ? "won" : "");
    }
    report_table_close(page);
}

void cli_report_settings(report_page *page, const cli_run *run) {
    report_section_open(page, "settings", "Settings");
    report_paragraph(page, "Network %s: %s. Recipe: %s.", pgcn_network_name(run->config->model),
                     pgcn_network_about(run->config->model),
                     *run->config->recipe ? run->config->recipe : "none");
    put_race(page, run);
    put_settings(page, run, true);
    report_details_open(page, "Settings that have their default");
    put_settings(page, run, false);
    report_details_close(page);
    report_section_close(page);
}

/* ---- repeat --------------------------------------------------------------------------------------- */

void cli_report_command(report_text *out, const cli_run *run) {
    pgcn_config base = base_of(run);
    pgcn_field field;
    char ours[PGCN_SETTING_BYTES], theirs[PGCN_SETTING_BYTES], *text = NULL;
    size_t bytes = 0;
    FILE *line = open_memstream(&text, &bytes);
    if (!line) {
        out->failed = true;
        return;
    }
    cli_source source = run->source;
    fprintf(line, "pathgcn train");
    cli_source_print(line, run->dataset, &source);
    fprintf(line, " --recipe none");
    if (run->config->model > 0) fprintf(line, " --model %s", pgcn_network_name(run->config->model));
    for (int i = 0; pgcn_config_field(i, &field); i++) {
        bool seed = strcmp(field.key, "seed") == 0;
        if (cli_is_run_setting(&field) || strcmp(field.key, "model") == 0) continue;
        if (!seed && !counts(run, &field)) continue;
        if (!differs(run, &base, field.key, ours, theirs) && !seed) continue;
        fprintf(line, " --%s ", field.key);
        cli_print_quoted(line, ours);
    }
    fprintf(line, " --out runs/again");
    if (fclose(line) == 0 && text)
        report_put(out, text);
    else
        out->failed = true;
    free(text);
}

static void put_machine(report_page *page, const json_t *machine) {
    const char *key;
    json_t *value;
    report_table_open(page, "trained on|");
    json_object_foreach((json_t *)(uintptr_t)machine, key, value) {
        report_cell(page, "%s", key);
        if (json_is_integer(value))
            report_cell(page, "%lld", (long long)json_integer_value(value));
        else
            report_cell(page, "%s", json_string_value(value) ? json_string_value(value) : "");
    }
    report_table_close(page);
}

void cli_report_repeat(report_page *page, const cli_run *run) {
    report_text command = {0};
    const json_t *machine = json_object_get(run->result, "machine");
    report_section_open(page, "repeat", "Repeat it");
    report_paragraph(page,
                     "With the same data, this version and the same instruction set this command "
                     "gives the same weights to the last bit:");
    cli_report_command(&command, run);
    report_code(page, command.bytes ? command.bytes : "");
    page->text.failed |= command.failed;
    report_text_free(&command);
    if (machine)
        put_machine(page, machine);
    else
        report_paragraph(page, "The run does not say on which machine it was trained.");
    report_paragraph(page,
                     "The history of all epochs, scores, settings and kernels are in this file as "
                     "JSON, in the element with the id \"pathgcn-report\".");
    report_section_close(page);
}

/* ---- for programs --------------------------------------------------------------------------------- */

/* {"epoch": [1, 2, ...], "val_loss": [...]}: columns are a third of the bytes of objects. */
static json_t *history_to_json(const json_t *history) {
    json_t *columns = json_object(), *line, *value;
    const char *key;
    size_t i;
    json_object_foreach(json_array_get(history, 0), key, value) if (strcmp(key, "seed") != 0)
        json_object_set_new(columns, key, json_array());
    json_array_foreach(history, i, line) json_object_foreach(columns, key, value) {
        json_t *cell = json_object_get(line, key);
        json_array_append(value, cell ? cell : json_null());
    }
    return columns;
}

static json_t *kernels_to_json(const cli_run *run) {
    const pgcn_config *config = run->config;
    float *weight = calloc((size_t)config->path_length * (size_t)config->channels, sizeof *weight);
    json_t *layers = json_array();
    for (int l = 0; weight && l < config->layers; l++) {
        if (pgcn_model_kernel(run->model, l, weight) != PGCN_OK) break;
        cli_kernel_effect e = cli_kernel_measure(weight, config->path_length, config->channels);
        json_t *mean = json_array();
        for (int i = 0; i < config->path_length; i++) {
            double sum = 0;
            for (int c = 0; c < config->channels; c++)
                sum += (double)weight[(int64_t)i * config->channels + c];
            json_array_append_new(mean, cli_json_real(sum / config->channels));
        }
        json_array_append_new(
            layers, json_pack("{s:o, s:o, s:o, s:o}", "mean", mean, "f_1", cli_json_real(e.at[0]),
                              "f_0", cli_json_real(e.at[1]), "f_minus_1", cli_json_real(e.at[2])));
    }
    free(weight);
    return layers;
}

json_t *cli_report_to_json(const cli_run *run) {
    report_text command = {0};
    cli_report_command(&command, run);
    json_t *object = json_pack(
        "{s:o, s:o, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:b, s:o, s:o, s:o, s:O?, s:o}", "run",
        cli_json_text(run->given), "dataset", cli_json_text(pgcn_model_dataset(run->model)), "task",
        pgcn_task_name(run->task), "network", pgcn_network_name(run->config->model), "fingerprint",
        pgcn_model_fingerprint(run->model), "split", pgcn_model_split(run->model), "split_sha256",
        pgcn_model_split_hash(run->model), "parameters",
        (json_int_t)pgcn_model_parameters(run->model), "epoch",
        (json_int_t)pgcn_model_epoch(run->model), "data_found", run->data != NULL, "command",
        cli_json_text(command.bytes ? command.bytes : ""), "settings",
        cli_config_to_json(run->config, false), "kernels", kernels_to_json(run), "result",
        run->result, "history", history_to_json(run->history));
    json_t *verdicts = json_object();
    for (int part = 0; run->verdict && part < PGCN_PARTS; part++) {
        pgcn_judgement j = pgcn_verdict_part(run->verdict, (pgcn_part)part);
        if (j.items > 0)
            json_object_set_new(verdicts, pgcn_part_name((pgcn_part)part),
                                cli_verdict_to_json(run->model, &j));
    }
    json_object_set_new(object, "verdict", verdicts);
    report_text_free(&command);
    return object;
}
