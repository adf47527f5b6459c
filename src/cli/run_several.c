/* Runs side by side: a table with intervals and tests, curves over each other, and the settings in which
 * they differ. */
#include "cli/run_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---------------------------------------------------------------------------------------- */

static const char *last_name(const char *path) {
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    while (length > 0 && path[length - 1] != '/') length--;
    return path + length;
}

/* Short names where they tell the runs apart. */
static const char *name_of(const cli_run *runs, int count, int i) {
    for (int a = 0; a < count; a++)
        for (int b = 0; b < a; b++)
            if (strcmp(last_name(runs[a].given), last_name(runs[b].given)) == 0)
                return runs[i].given;
    return last_name(runs[i].given);
}

/* ---- results -------------------------------------------------------------------------------------- */

static bool all_have_results(const cli_run *runs, int count) {
    for (int i = 0; i < count; i++)
        if (runs[i].results.count == 0 || runs[i].part != runs[0].part ||
            runs[i].measure != runs[0].measure)
            return false;
    return true;
}

/* Runs of one task whose classes are not the same: a page may show them side by side, without a test. */
static bool have_other_classes(const cli_run *runs, int count) {
    bool other = false;
    for (int i = 1; i < count; i++) {
        if (runs[i].task != runs[0].task) return false;
        if (!cli_results_alike(&runs[0].results, &runs[i].results)) other = true;
    }
    return other;
}

static void put_results(report_page *page, const cli_run *runs, int count) {
    report_table_open(page,
                      "run|network|data|>layers|>parameters|>trainings|>mean %|>deviation|95 % "
                      "interval of the mean");
    for (int i = 0; i < count; i++) {
        const cli_results *r = &runs[i].results;
        char parameters[32];
        double low, high;
        cli_format_count(pgcn_model_parameters(runs[i].model), parameters);
        report_cell(page, "%s", name_of(runs, count, i));
        report_cell(page, "%s", pgcn_network_name(runs[i].config->model));
        report_cell(page, "%s", pgcn_model_dataset(runs[i].model));
        report_cell(page, "%d", runs[i].config->layers);
        report_cell(page, "%s", parameters);
        report_cell(page, "%d", r->count);
        if (r->count > 0)
            report_cell(page, "%.2f", r->mean);
        else
            report_cell(page, "-");
        if (cli_interval_of_mean(r->mean, r->deviation, r->count, &low, &high)) {
            report_cell(page, "%.2f", r->deviation);
            report_cell(page, "%.2f to %.2f", low, high);
        } else {
            report_cell(page, "-");
            report_cell(page, r->count == 1 ? "one training tells no deviation" : "-");
        }
    }
    report_table_close(page);
}

static void draw_means(report_page *page, const cli_run *runs, int count, const char *title) {
    double value[4 * CLI_MAX_WORDS];
    const char *name[CLI_MAX_WORDS];
    for (int i = 0; i < count; i++) {
        const cli_results *r = &runs[i].results;
        value[i] = i;
        value[count + i] = r->count > 0 ? r->mean : (double)NAN;
        if (!cli_interval_of_mean(r->mean, r->deviation, r->count, &value[2 * count + i],
                                  &value[3 * count + i]))
            value[2 * count + i] = value[3 * count + i] = NAN;
        name[i] = name_of(runs, count, i);
    }
    report_series series = {.count = count,
                            .x = value,
                            .y = value + count,
                            .low = value + 2 * count,
                            .high = value + 3 * count,
                            .draw = REPORT_DRAW_POINTS | REPORT_DRAW_WHISKERS};
    report_chart chart = {.x = {.scale = REPORT_NAMES, .name = name, .names = count},
                          .y = {.title = title},
                          .series = &series,
                          .count = 1};
    report_figure(page, "means", "Means with 95 % intervals, where there are several trainings.",
                  &chart);
}

/* The tests of `compare`, with the names that the tables have. */
static pgcn_status put_differences(const cli_command *command, report_page *page,
                                   const cli_run *runs, int count) {
    cli_difference d[CLI_MAX_WORDS];
    cli_results results[CLI_MAX_WORDS];
    for (int i = 0; i < count; i++) {
        results[i] = runs[i].results;
        results[i].directory = name_of(runs, count, i);
    }
    pgcn_status status = cli_results_compare(command, results, count, d);
    for (int i = 1; status == PGCN_OK && i < count; i++) {
        char *text = NULL;
        size_t bytes = 0;
        FILE *out = open_memstream(&text, &bytes);
        if (out) cli_difference_print(out, &results[0], &results[i], &d[i - 1], count > 2);
        if (out && fclose(out) == 0) {
            if (bytes > 0 && text[bytes - 1] == '\n') text[bytes - 1] = '\0';
            for (char *at = text; (at = strchr(at, '\n'));) *at = ' ';
            report_paragraph(page, "%s", text);
        }
        free(text);
    }
    return status;
}

static pgcn_status put_result_section(const cli_command *command, report_page *page,
                                      const cli_run *runs, int count) {
    char title[96];
    pgcn_status status = PGCN_OK;
    snprintf(title, sizeof title, "%s %s (%%)", cli_part_word(runs[0].part),
             cli_measure_title(runs[0].measure, runs[0].task));
    report_section_open(page, "results", "Results");
    for (int i = 1; i < count; i++)
        if (strcmp(pgcn_model_fingerprint(runs[i].model), pgcn_model_fingerprint(runs[0].model)) !=
            0) {
            report_remark(page, "The runs are not of the same data: %s is of other data than %s.",
                          name_of(runs, count, i), name_of(runs, count, 0));
            break;
        }
    put_results(page, runs, count);
    if (all_have_results(runs, count)) {
        report_figures_open(page);
        draw_means(page, runs, count, title);
        report_figures_close(page);
        if (have_other_classes(runs, count))
            report_remark(page,
                          "The runs predict other classes, so their differences are not tested.");
        else
            status = put_differences(command, page, runs, count);
    } else {
        report_remark(page,
                      "Not all of these runs have a result.json with the same figure, so their "
                      "differences are not tested.");
    }
    report_section_close(page);
    return status;
}

/* ---- curves --------------------------------------------------------------------------------------- */

static void draw_curves(report_page *page, const cli_run *runs, int count, const char *key,
                        const char *title, const char *file, const char *caption) {
    cli_curve curve[CLI_MAX_WORDS];
    report_series series[CLI_MAX_WORDS];
    int shown = 0;
    for (int i = 0; i < count; i++) {
        curve[i] = cli_run_curve(runs[i].history, key);
        if (curve[i].count > 0)
            series[shown++] = (report_series){.name = name_of(runs, count, i),
                                              .count = curve[i].count,
                                              .x = curve[i].epoch,
                                              .y = curve[i].value,
                                              .draw = REPORT_DRAW_LINE | REPORT_DRAW_POINTS,
                                              .style = i + 1};
    }
    report_chart chart = {.x = {.title = "epoch"},
                          .y = {.title = title},
                          .series = series,
                          .count = shown,
                          .height = REPORT_CHART_HEIGHT + 16 * (count > 4 ? count / 2 : 0)};
    if (shown > 0) report_figure(page, file, caption, &chart);
    for (int i = 0; i < count; i++) cli_curve_free(&curve[i]);
}

static void put_curves(report_page *page, const cli_run *runs, int count) {
    char title[64];
    snprintf(title, sizeof title, "validation %s (%%)", cli_metric(runs[0].task));
    report_section_open(page, "curves", "Training");
    report_figures_open(page);
    draw_curves(page, runs, count, "val_accuracy", title, "accuracy",
                "Validation items, over the epochs.");
    draw_curves(page, runs, count, "val_loss", "validation loss", "val-loss",
                "Validation loss over the epochs.");
    draw_curves(page, runs, count, "train_loss", "training loss", "train-loss",
                "Training loss over the epochs.");
    report_figures_close(page);
    report_section_close(page);
}

/* ---- settings ------------------------------------------------------------------------------------- */

/* Whether a setting has more than one value among the runs that use it. */
static bool is_varied(const cli_run *runs, int count, const char *key) {
    char first[PGCN_SETTING_BYTES], other[PGCN_SETTING_BYTES];
    bool used = false;
    pgcn_config_get(runs[0].config, key, first, sizeof first);
    for (int i = 0; i < count; i++) {
        pgcn_config_get(runs[i].config, key, other, sizeof other);
        used |= pgcn_config_uses(runs[i].config, key);
        if (used && strcmp(first, other) != 0) return true;
    }
    return false;
}

/* A seed is no setting: another one is the same training once more, by chance a little better or worse. */
static void put_seeds(report_page *page, const cli_run *runs, int count) {
    report_text text = {0};
    if (!is_varied(runs, count, "seed")) return;
    report_put(&text, "Their seeds differ, which says nothing about settings:");
    for (int i = 0; i < count; i++)
        report_putf(&text, "%s %s %llu", i ? "," : "", name_of(runs, count, i),
                    (unsigned long long)runs[i].config->seed);
    report_put(&text, runs[0].results.count > 1 ? " (the training that is shown of each)." : ".");
    page->text.failed |= text.failed;
    report_paragraph(page, "%s", text.bytes ? text.bytes : "");
    report_text_free(&text);
}

static void put_varied(report_page *page, const cli_run *runs, int count) {
    report_text heads = {0};
    pgcn_field field;
    int varied = 0;
    report_section_open(page, "settings", "What differs in the settings");
    report_put(&heads, "setting");
    for (int i = 0; i < count; i++) {
        report_put(&heads, "|>");
        for (const char *at = name_of(runs, count, i); *at; at++)
            report_put_bytes(&heads, *at == '|' ? "/" : at, 1);
    }
    if (heads.failed) page->text.failed = true;
    if (!heads.failed) report_table_open(page, heads.bytes);
    for (int k = 0; !heads.failed && pgcn_config_field(k, &field); k++) {
        if (strcmp(field.key, "seed") == 0 || cli_is_run_setting(&field) ||
            !is_varied(runs, count, field.key))
            continue;
        varied++;
        report_cell(page, "%s", field.key);
        for (int i = 0; i < count; i++) {
            char value[PGCN_SETTING_BYTES];
            pgcn_config_get(runs[i].config, field.key, value, sizeof value);
            report_cell(page, "%s", pgcn_config_uses(runs[i].config, field.key) ? value : "-");
        }
    }
    if (!heads.failed) report_table_close(page);
    if (varied == 0) report_paragraph(page, "Nothing: all settings are equal.");
    put_seeds(page, runs, count);
    report_text_free(&heads);
    report_section_close(page);
}

static void put_each(report_page *page, const cli_run *runs, int count) {
    report_section_open(page, "runs", "The runs");
    for (int i = 0; i < count; i++) {
        report_text verdict = {0}, command = {0};
        cli_report_verdict(&verdict, &runs[i]);
        cli_report_command(&command, &runs[i]);
        report_details_open(page, name_of(runs, count, i));
        report_paragraph(page, "%s", verdict.bytes ? verdict.bytes : "");
        if (!runs[i].data) report_remark(page, "The data set is not here: %s.", runs[i].missing);
        report_code(page, command.bytes ? command.bytes : "");
        report_details_close(page);
        page->text.failed |= verdict.failed || command.failed;
        report_text_free(&verdict);
        report_text_free(&command);
    }
    report_section_close(page);
}

/* Who has the highest mean, and that it may be chance. */
static void put_head(report_page *page, const cli_run *runs, int count) {
    int best = 0, least = runs[0].results.count;
    if (!all_have_results(runs, count)) return;
    for (int i = 1; i < count; i++) {
        if (runs[i].results.mean > runs[best].results.mean) best = i;
        if (runs[i].results.count < least) least = runs[i].results.count;
    }
    report_lead(page, "Of these %d runs %s has the highest mean %s %s: %.2f %%. %s", count,
                name_of(runs, count, best), cli_part_word(runs[0].part),
                cli_measure_title(runs[0].measure, runs[0].task), runs[best].results.mean,
                least < 2
                    ? "Some have a single training, which cannot tell luck from quality: train "
                      "with --seeds 5 or more."
                    : "Whether that is more than chance is tested below.");
}

pgcn_status cli_report_several(const cli_command *command, report_page *page, const cli_run *runs,
                               int count) {
    static const char *const contents[] = {"results",  "Results",  "curves",
                                           "Training", "settings", "Settings",
                                           "runs",     "The runs", NULL};
    put_head(page, runs, count);
    report_contents(page, contents);
    CLI_TRY(put_result_section(command, page, runs, count));
    put_curves(page, runs, count);
    put_varied(page, runs, count);
    put_each(page, runs, count);
    return PGCN_OK;
}
