/* OUT/report.html of tune: which candidates did best, which settings made them, and where in the space
 * they lie. */
#include "experiments/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 20, MOST_CHARTS = 24 };

pgcn_status exp_page_end(const cli_command *command, report_page *page, const char *path) {
    pgcn_status status = report_page_close(page, path);
    report_page_free(page);
    if (status == PGCN_ERR_MEMORY)
        return cli_fail(command, status, "out of memory for the report '%s'", path);
    return cli_report(command, status);
}

static const char *measure_title(const exp_search *s) {
    return cli_measure_title(s->measure, pgcn_dataset_describe(s->data->data).task);
}

/* ---- the verdict ------------------------------------------------------------------------------ */

static void put_head(report_page *page, const exp_search *s) {
    const exp_candidate *best = &s->candidate[s->order[0]], *present = &s->candidate[0];
    const char *title = measure_title(s);
    double gain, error;
    exp_search_gain(s, s->order[0], 0, &gain, &error);
    if (s->order[0] == 0)
        report_lead(page,
                    "None of the %d candidates beats the settings that the search began with: "
                    "validation %s %.2f %% over %d runs.",
                    s->candidates, title, present->score.accuracy, present->score.runs);
    else
        report_lead(page,
                    "Candidate %d of %d has a validation %s of %.2f %% over %d runs; the settings "
                    "that the search began with have %.2f %%. Run by run it gains %.2f points%s.",
                    s->order[0], s->candidates, title, best->score.accuracy, best->score.runs,
                    present->score.accuracy, gain,
                    !isnan(error) && fabs(gain) <= 2 * error
                        ? ", not more than two standard errors, which may be chance"
                        : "");
    report_remark(page,
                  "Chosen on validation data only. The figure of the best of many is too high by "
                  "its choice: judge it on runs that the search has not seen.");
    report_tiles_open(page);
    report_tile(page, "validation, best candidate", "%.2f %%", best->score.accuracy);
    report_tile(page, "validation, at the start", "%.2f %%", present->score.accuracy);
    report_tile(page, "candidates", "%d", s->candidates);
    report_tile(page, "rungs", "%d", s->rungs);
    char time[32];
    cli_format_duration(s->seconds, time);
    report_tile(page, "time of the search", "%s", time);
    report_tiles_close(page);
}

/* ---- candidates ------------------------------------------------------------------------------- */

/* Validation of every candidate by its rank, a series per rung. */
static void draw_ranks(report_page *page, const exp_search *s) {
    size_t n = (size_t)s->candidates;
    double *x = calloc(4 * n, sizeof *x), *y = x + n, *low = y + n, *high = low + n;
    report_series series[PGCN_MOST_RUNGS];
    char name[PGCN_MOST_RUNGS][48], title[64];
    size_t used = 0;
    page->text.failed |= !x;
    for (int rung = s->rungs - 1; x && rung >= 0; rung--) {
        size_t first = used;
        for (int i = 0; i < s->candidates; i++) {
            const exp_candidate *c = &s->candidate[s->order[i]];
            if (c->rung != rung || c->score.failed || c->score.runs == 0) continue;
            x[used] = i + 1;
            y[used] = c->score.accuracy;
            low[used] = c->score.accuracy - c->score.deviation;
            high[used++] = fmin(c->score.accuracy + c->score.deviation, 100);
        }
        int at = s->rungs - 1 - rung;
        snprintf(name[at], sizeof *name, "left after rung %d, %d run%s", rung + 1,
                 s->rung[rung].runs, s->rung[rung].runs == 1 ? "" : "s");
        if (rung == s->rungs - 1)
            snprintf(name[at], sizeof *name, "last rung, %d runs", s->rung[rung].runs);
        series[at] = (report_series){.name = name[at],
                                     .count = (int64_t)(used - first),
                                     .x = x + first,
                                     .y = y + first,
                                     .low = low + first,
                                     .high = high + first,
                                     .draw = REPORT_DRAW_POINTS | REPORT_DRAW_WHISKERS};
    }
    snprintf(title, sizeof title, "validation %s (%%)", measure_title(s));
    report_chart chart = {.x = {.title = "rank"},
                          .y = {.title = title},
                          .series = series,
                          .count = s->rungs,
                          .height = REPORT_CHART_HEIGHT + 12 * s->rungs};
    if (x)
        report_figure(
            page, "candidates",
            "Every candidate by its rank, mean and deviation over its runs. Those with more "
            "runs come first.",
            &chart);
    free(x);
}

static void put_candidates(report_page *page, const exp_search *s) {
    int shown = s->candidates < SHOWN ? s->candidates : SHOWN;
    report_table_open(page,
                      ">rank|>candidate|>runs|>validation %|>deviation|>loss|>gain|what differs "
                      "from the start");
    for (int i = 0; i < shown; i++) {
        const exp_candidate *c = &s->candidate[s->order[i]];
        double gain, error;
        char difference[32];
        exp_search_gain(s, s->order[i], 0, &gain, &error);
        report_cell(page, "%d", i + 1);
        report_cell(page, s->order[i] == 0 ? "%d (start)" : "%d", s->order[i]);
        report_cell(page, "%d", c->score.runs);
        report_cell(page, c->score.failed ? "failed" : "%.2f", c->score.accuracy);
        report_cell(page, c->score.failed ? "-" : "%.2f", c->score.deviation);
        report_cell(page, c->score.failed ? "-" : "%.4f", c->score.loss);
        report_cell(page, "%s",
                    s->order[i] == 0 || isnan(gain) ? "-" : cli_format_signed(gain, difference));
        json_t *changes = exp_tune_changes(s, s->order[i]), *value;
        report_text list = {0};
        const char *key;
        json_object_foreach(changes, key, value)
            report_putf(&list, "%s%s %s", list.length ? ", " : "", key, json_string_value(value));
        report_cell(page, "%s", list.bytes ? list.bytes : "");
        page->text.failed |= list.failed;
        report_text_free(&list);
        json_decref(changes);
    }
    report_table_close(page);
}

/* ---- the space -------------------------------------------------------------------------------- */

/* Validation over the values of one setting: a series of all candidates, and the best one. */
static void draw_setting(report_page *page, const exp_search *s, const exp_parameter *p) {
    size_t n = (size_t)s->candidates;
    double *x = calloc(2 * n, sizeof *x), *y = x + n;
    int64_t count = 0;
    bool numbers = true;
    double low = INFINITY, high = -INFINITY;
    page->text.failed |= !x;
    for (int i = s->candidates - 1; x && i >= 0; i--) { /* the best one is the last */
        const exp_candidate *c = &s->candidate[s->order[i]];
        char value[PGCN_SETTING_BYTES];
        pgcn_config_get(&c->config, p->key, value, sizeof value);
        if (c->score.failed || c->score.runs == 0) continue;
        numbers &= pgcn_number_parse(value, &x[count]);
        if (!numbers) break;
        y[count] = c->score.accuracy;
        low = fmin(low, x[count]);
        high = fmax(high, x[count++]);
    }
    char title[64], name[64], caption[128];
    snprintf(title, sizeof title, "validation %s (%%)", measure_title(s));
    snprintf(name, sizeof name, "setting-%s", p->key);
    snprintf(caption, sizeof caption, "%s: every candidate, and the best one.", p->key);
    report_series series[] = {
        {.name = "candidates", .count = count - 1, .x = x, .y = y, .draw = REPORT_DRAW_POINTS},
        {.name = "the best",
         .count = 1,
         .x = x ? x + count - 1 : NULL,
         .y = x ? y + count - 1 : NULL,
         .draw = REPORT_DRAW_POINTS}};
    report_chart chart = {
        .x = {.title = p->key, .scale = p->is_log && low > 0 ? REPORT_LOG10 : REPORT_LINEAR},
        .y = {.title = title},
        .series = series,
        .count = 2};
    if (x && numbers && count > 2 && low < high) report_figure(page, name, caption, &chart);
    free(x);
}

static void put_space(report_page *page, const exp_search *s) {
    report_section_open(page, "space", "Where in the space");
    report_figures_open(page);
    for (int i = 0; i < s->space->parameters && i < MOST_CHARTS; i++)
        draw_setting(page, s, &s->space->parameter[i]);
    report_figures_close(page);
    report_details_open(page, "The space that was searched");
    report_code(page, s->space->text);
    report_details_close(page);
    report_section_close(page);
}

pgcn_status exp_tune_page(const exp_search *s, const char *recipe_path) {
    report_page page = {0};
    char path[EXP_PATH_BYTES], title[256];
    static const char *const contents[] = {
        "candidates", "Candidates", "space", "Where in the space", "use", "Use it", NULL};
    snprintf(path, sizeof path, "%.4000s/report.html", s->out);
    snprintf(title, sizeof title, "%.200s: a search for settings", s->data->name);
    report_page_open(&page, title);
    put_head(&page, s);
    report_contents(&page, contents);
    report_section_open(&page, "candidates", "Candidates");
    report_figures_open(&page);
    draw_ranks(&page, s);
    report_figures_close(&page);
    put_candidates(&page, s);
    report_section_close(&page);
    put_space(&page, s);
    report_section_open(&page, "use", "Use it");
    report_text command = {0};
    report_putf(&command, "pathgcn train %s --recipe %s --seeds 10",
                s->own_files ? "--edges ..." : s->data->name, recipe_path);
    report_code(&page, command.bytes ? command.bytes : "");
    report_text_free(&command);
    report_paragraph(&page,
                     "Data %s, fingerprint %s. All candidates with their settings: tune.json.",
                     s->data->name, pgcn_dataset_describe(s->data->data).fingerprint);
    report_section_close(&page);
    return exp_page_end(s->command, &page, path);
}

/* ---- nested ----------------------------------------------------------------------------------- */

static void draw_splits(report_page *page, const exp_nested *n) {
    size_t count = (size_t)n->splits;
    double *x = calloc(3 * count, sizeof *x), *val = x + count, *test = val + count;
    char title[64];
    page->text.failed |= !x;
    for (int i = 0; x && i < n->splits; i++) {
        x[i] = i;
        val[i] = n->split[i].val.mean;
        test[i] = n->split[i].test.mean;
    }
    report_series series[] = {{.name = "validation", .count = n->splits, .x = x, .y = val},
                              {.name = "test", .count = n->splits, .x = x, .y = test}};
    for (int i = 0; i < 2; i++) series[i].draw = REPORT_DRAW_LINE | REPORT_DRAW_POINTS;
    snprintf(title, sizeof title, "%s (%%)",
             cli_measure_title(n->search->measure, pgcn_dataset_describe(n->data.data).task));
    report_chart chart = {
        .x = {.title = "split"}, .y = {.title = title}, .series = series, .count = 2};
    if (x)
        report_figure(page, "splits", "Validation and test of every split's own winner.", &chart);
    free(x);
}

pgcn_status exp_nested_page(const exp_nested *n, exp_spread val, exp_spread test) {
    report_page page = {0};
    char path[EXP_PATH_BYTES], title[256];
    double low, high;
    snprintf(path, sizeof path, "%.4000s/report.html", n->search->out);
    snprintf(title, sizeof title, "%.200s: a search in every split by itself", n->data.name);
    report_page_open(&page, title);
    report_text lead = {0};
    report_putf(&lead,
                "Over %d splits, each searched without the labels of its test set, the test "
                "figure is %.2f %%",
                n->splits, test.mean);
    if (cli_interval_of_mean(test.mean, test.deviation, n->splits, &low, &high))
        report_putf(&lead, " (deviation %.2f, 95 %% interval of the mean %.2f to %.2f)",
                    test.deviation, low, high);
    report_putf(&lead, "; validation says %.2f %%.", val.mean);
    report_lead(&page, "%s", lead.bytes ? lead.bytes : "");
    report_text_free(&lead);
    report_figures_open(&page);
    draw_splits(&page, n);
    report_figures_close(&page);
    report_table_open(&page,
                      "split|>candidate|>validation %|>deviation|>test %|>deviation|what differs "
                      "from the start");
    for (int i = 0; i < n->splits; i++) {
        const exp_nested_split *split = &n->split[i];
        report_text list = {0};
        const char *key;
        json_t *value;
        json_object_foreach(split->changes, key, value)
            report_putf(&list, "%s%s %s", list.length ? ", " : "", key, json_string_value(value));
        report_cell(&page, "%s", split->name);
        report_cell(&page, "%d", split->candidate);
        report_cell(&page, "%.2f", split->val.mean);
        report_cell(&page, "%.2f", split->val.deviation);
        report_cell(&page, "%.2f", split->test.mean);
        report_cell(&page, "%.2f", split->test.deviation);
        report_cell(&page, "%s", list.bytes ? list.bytes : "");
        report_text_free(&list);
    }
    report_table_close(&page);
    return exp_page_end(n->search->command, &page, path);
}
