/* How good a run is: the verdict in sentences, curves, measures, classes, calibration. */
#include "cli/run_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Wilson's 95 % interval of a share, in percent, of `items` independent ones. */
static void wilson(double percent, double items, double *low, double *high) {
    const double z = 1.959964;
    double p = percent / 100, centre = p + z * z / (2 * items), scale = 1 + z * z / items;
    double half = z * sqrt(p * (1 - p) / items + z * z / (4 * items * items));
    *low = 100 * (centre - half) / scale;
    *high = 100 * (centre + half) / scale;
}

/* ---- the verdict ---------------------------------------------------------------------------------- */

static void say_weakest(report_text *out, const cli_run *run, const pgcn_judgement *j) {
    int weakest = -1;
    for (int c = 0; c < j->classes; c++)
        if (j->of_class[c].support > 0 &&
            (weakest < 0 || j->of_class[c].recall < j->of_class[weakest].recall))
            weakest = c;
    if (weakest < 0 || j->classes < 3 || j->of_class[weakest].recall > 99.5) return;
    report_putf(out, " Class %s is found least often: %.1f %% of its %lld.",
                cli_run_class(run, weakest), j->of_class[weakest].recall,
                (long long)j->of_class[weakest].support);
}

/* With fewer items a calibration error is mostly chance. */
enum { FEW_ITEMS = 100 };

/* Whether confidence is too high, too low or about right, by the mean over all items. */
static void say_confidence(report_text *out, const pgcn_judgement *j) {
    double confidence = 0, accuracy = 0, items = 0;
    for (int b = 0; b < PGCN_CALIBRATION_BINS; b++) {
        if (j->bin[b].items == 0) continue;
        confidence += j->bin[b].confidence * (double)j->bin[b].items;
        accuracy += j->bin[b].accuracy * (double)j->bin[b].items;
        items += (double)j->bin[b].items;
    }
    if (items == 0) return;
    if (items < FEW_ITEMS) {
        report_put(out, " They are too few to tell whether its probabilities can be trusted.");
        return;
    }
    double gap = (confidence - accuracy) / items;
    report_putf(out, " Its probabilities are %s (calibration error %.1f points).",
                j->calibration_error < 3 ? "to be trusted"
                : gap > 0                ? "too high"
                                         : "too low",
                j->calibration_error);
}

static void say_seeds(report_text *out, const cli_run *run) {
    double low, high;
    const cli_results *r = &run->results;
    if (r->count < 2) return;
    cli_interval_of_mean(r->mean, r->deviation, r->count, &low, &high);
    report_putf(
        out,
        "Over %d trainings the mean is %.1f %% (deviation %.1f, 95 %% interval of the mean %.1f to "
        "%.1f). All that follows is the training of seed %llu. ",
        r->count, r->mean, r->deviation, low, high, (unsigned long long)run->config->seed);
}

/* What a guess without a network has. */
typedef struct baseline {
    int tied;     /* classes that the training items have equally often, more than any other */
    int frequent; /* the class that most of the judged items have; -1: not known */
    double share; /* of it among them, in percent */
} baseline;

static baseline find_baseline(const cli_run *run) {
    baseline b = {.tied = 1, .frequent = -1};
    if (!run->verdict || run->task == PGCN_TASK_MULTILABEL) return b;
    pgcn_judgement train = pgcn_verdict_part(run->verdict, PGCN_PART_TRAIN);
    pgcn_judgement part = pgcn_verdict_part(run->verdict, run->part);
    int64_t most = 0;
    for (int c = 0; train.items > 0 && c < train.classes; c++) {
        int64_t count = train.of_class[c].support;
        b.tied = count > most ? 1 : b.tied + (count == most);
        most = count > most ? count : most;
    }
    for (int c = 0; part.items > 0 && c < part.classes; c++)
        if (b.frequent < 0 || part.of_class[c].support > part.of_class[b.frequent].support)
            b.frequent = c;
    if (b.frequent >= 0)
        b.share = 100.0 * (double)part.of_class[b.frequent].support / (double)part.items;
    return b;
}

static void name_baseline(const cli_run *run, const baseline *b, char *out, size_t bytes) {
    const char *of = cli_items(run->task);
    if (run->task == PGCN_TASK_MULTILABEL)
        snprintf(out, bytes, "Always predicting the labels that most training nodes have");
    else if (b->tied > 1)
        snprintf(out, bytes,
                 "The training %s have %d classes equally often; always predicting the one of them "
                 "that most %s %s have",
                 of, b->tied, cli_part_word(run->part), of);
    else
        snprintf(out, bytes, "Always predicting the most frequent class of the training items");
}

/* What the accuracy is worth beside always saying the most frequent class. */
static void say_baseline(report_text *out, const cli_run *run, const pgcn_score *score) {
    double gain = score->accuracy - score->majority;
    double low = score->accuracy, high, items = (double)cli_run_items(run, run->part);
    char what[192];
    baseline b = find_baseline(run);
    name_baseline(run, &b, what, sizeof what);
    if (isnan(score->majority)) return;
    if (run->task != PGCN_TASK_MULTILABEL && items > 0) wilson(score->accuracy, items, &low, &high);
    if (gain > 0.05 && low <= score->majority && run->task != PGCN_TASK_MULTILABEL)
        report_putf(
            out,
            " %s would have %.1f %%, %.1f points less: a difference that so few can show by "
            "chance.",
            what, score->majority, gain);
    else if (gain > 0.05)
        report_putf(out, " %s would have %.1f %%, which the network beats by %.1f points.", what,
                    score->majority, gain);
    else
        report_putf(out, " %s has %.1f %% too: the network has NOT learnt more than that.", what,
                    score->majority);
    if (b.frequent >= 0 && b.share > score->majority + 0.05)
        report_putf(out, " The class that most of them are, %s, has %.1f %% of the %s %s.",
                    cli_run_class(run, b.frequent), b.share, cli_part_word(run->part),
                    cli_items(run->task));
}

void cli_report_verdict(report_text *out, const cli_run *run) {
    pgcn_score score;
    char count[32];
    const char *network = pgcn_network_name(run->config->model), *of = cli_items(run->task);
    if (!cli_run_score(run, run->part, &score)) {
        report_putf(out,
                    "This %s was trained on %s. Neither its data nor its result.json is "
                    "there, so nobody can say how good it is.",
                    network, pgcn_model_dataset(run->model));
        return;
    }
    int64_t items = cli_run_items(run, run->part);
    cli_format_count(items, count);
    say_seeds(out, run);
    if (run->task == PGCN_TASK_MULTILABEL)
        report_putf(out, "On %s %s %s this %s has a micro-averaged F1 of %.1f %%", count,
                    cli_part_word(run->part), of, network, score.accuracy);
    else {
        report_putf(out, "Of %s %s %s this %s gets %.1f %% right", count, cli_part_word(run->part),
                    of, network, score.accuracy);
        double low, high;
        wilson(score.accuracy, (double)items, &low, &high);
        if (items > 0)
            report_putf(out, " (95 %% interval for this number of %s: %.1f to %.1f)", of, low,
                        high);
    }
    report_put(out, run->part == PGCN_PART_TEST
                        ? "; they were used neither for training nor for choosing the epoch."
                    : run->part == PGCN_PART_VAL
                        ? "; they chose the epoch, so the figure is too high: there is no test set."
                        : "; training items are among them: the data has another split.");
    say_baseline(out, run, &score);
    if (!run->verdict) return;
    pgcn_judgement j = pgcn_verdict_part(run->verdict, run->part);
    if (run->task != PGCN_TASK_MULTILABEL) say_weakest(out, run, &j);
    say_confidence(out, &j);
}

static double seconds_of(const cli_run *run) {
    const json_t *value = json_object_get(run->result, "seconds");
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static void put_tiles(report_page *page, const cli_run *run) {
    pgcn_score score;
    char name[96], count[32];
    report_tiles_open(page);
    if (cli_run_score(run, run->part, &score)) {
        const char *part = cli_part_word(run->part);
        for (int m = 0; m < PGCN_MEASURES; m++) {
            double value = pgcn_score_measure(&score, (pgcn_measure)m);
            if (isnan(value) || m == PGCN_MEASURE_AVERAGE_PRECISION) continue;
            snprintf(name, sizeof name, "%s %s", part,
                     cli_measure_title((pgcn_measure)m, run->task));
            report_tile(page, name, "%.2f %%", value);
        }
        if (!isnan(score.majority))
            report_tile(page, "most frequent class alone", "%.2f %%", score.majority);
    }
    report_tile(page, "epoch chosen, of those trained", "%lld of %zu",
                (long long)pgcn_model_epoch(run->model), json_array_size(run->history));
    cli_format_count(pgcn_model_parameters(run->model), count);
    report_tile(page, "parameters", "%s", count);
    if (!isnan(seconds_of(run))) {
        cli_format_duration(seconds_of(run), count);
        report_tile(page, "training time", "%s", count);
    }
    report_tiles_close(page);
}

/* Whether the last epoch of all is the best one on validation items. */
static bool ends_best(const cli_run *run) {
    size_t epochs = json_array_size(run->history);
    const json_t *last = epochs > 0 ? json_array_get(run->history, epochs - 1) : NULL;
    return last && json_is_number(json_object_get(last, "val_loss")) &&
           json_integer_value(json_object_get(last, "epoch")) == pgcn_model_epoch(run->model);
}

void cli_report_head(report_page *page, const cli_run *run) {
    report_text verdict = {0};
    cli_report_verdict(&verdict, run);
    report_lead(page, "%s", verdict.bytes ? verdict.bytes : "");
    page->text.failed |= verdict.failed;
    report_text_free(&verdict);
    if (!run->data)
        report_remark(page,
                      "The data set is not here, so this report is made from what the run's "
                      "directory holds: classes, confusion, calibration, the picture of the %s and "
                      "facts of the data are missing. The reason: %s.",
                      cli_items(run->task), run->missing);
    if (ends_best(run))
        report_remark(
            page,
            "The epoch that was kept, %lld, is the last one: the network was still getting "
            "better. Train longer: --epochs %lld --resume.",
            (long long)pgcn_model_epoch(run->model), 2 * (long long)pgcn_model_epoch(run->model));
    put_tiles(page, run);
}

/* ---- curves --------------------------------------------------------------------------------------- */

enum { MOST_CURVES = 16 };

/* Curves of one key for the model's history, or of all its seeds. */
typedef struct curves {
    report_series series[MOST_CURVES];
    cli_curve curve[MOST_CURVES];
    int count;
} curves;

static void add_curve(curves *c, const json_t *history, const char *key, const char *name,
                      unsigned draw, int style) {
    if (c->count == MOST_CURVES) return;
    cli_curve curve = cli_run_curve(history, key);
    if (curve.count == 0) {
        cli_curve_free(&curve);
        return;
    }
    c->curve[c->count] = curve;
    c->series[c->count++] = (report_series){.name = name,
                                            .count = curve.count,
                                            .x = curve.epoch,
                                            .y = curve.value,
                                            .draw = REPORT_DRAW_LINE | draw,
                                            .style = style};
}

static void free_curves(curves *c) {
    for (int i = 0; i < c->count; i++) cli_curve_free(&c->curve[i]);
}

/* The validation measure of every epoch: the one that chose, or the accuracy. */
static void chosen_key(const cli_run *run, char out[64]) {
    char name[32] = "accuracy";
    if (run->config->select > PGCN_SELECT_ACCURACY)
        cli_measure_key((pgcn_measure)(run->config->select - 1), name);
    snprintf(out, 64, "val_%s", name);
}

static void draw_losses(report_page *page, const cli_run *run, const report_rule *chosen) {
    curves c = {.count = 0};
    for (int i = 0; i < run->seeds && run->seeds > 1; i++)
        add_curve(&c, run->seed_history[i], "val_loss", NULL, REPORT_DRAW_FAINT, 2);
    add_curve(&c, run->history, "train_loss", "training", 0, 1);
    add_curve(&c, run->history, "val_loss", "validation", REPORT_DRAW_POINTS, 2);
    report_chart chart = {.x = {.title = "epoch"},
                          .y = {.title = "loss"},
                          .series = c.series,
                          .count = c.count,
                          .rule = chosen,
                          .rules = chosen->at > 0};
    if (c.count > 0)
        report_figure(page, "loss",
                      run->seeds > 1
                          ? "Loss over the epochs; the other seeds' validation loss is faint."
                          : "Loss over the epochs.",
                      &chart);
    free_curves(&c);
}

static void draw_scores(report_page *page, const cli_run *run, const report_rule *chosen) {
    curves c = {.count = 0};
    char key[64], title[64];
    pgcn_score score;
    chosen_key(run, key);
    pgcn_measure measure = run->config->select > PGCN_SELECT_ACCURACY
                               ? (pgcn_measure)(run->config->select - 1)
                               : PGCN_MEASURE_ACCURACY;
    snprintf(title, sizeof title, "%s (%%)", cli_measure_title(measure, run->task));
    for (int i = 0; i < run->seeds && run->seeds > 1; i++)
        add_curve(&c, run->seed_history[i], key, NULL, REPORT_DRAW_FAINT, 2);
    add_curve(&c, run->history, key, "validation", REPORT_DRAW_POINTS, 2);
    memcpy(key, "test", 4); /* "val_" is as long, but for the underscore */
    snprintf(key, sizeof key, "test_%s",
             measure == PGCN_MEASURE_ACCURACY ? "accuracy" : pgcn_measure_name(measure));
    for (char *at = key; *at; at++)
        if (*at == '-') *at = '_';
    add_curve(&c, run->history, key, "test (chose nothing)", REPORT_DRAW_FAINT, 7);
    report_rule rules[2] = {*chosen};
    int count = chosen->at > 0;
    if (measure == PGCN_MEASURE_ACCURACY && cli_run_score(run, PGCN_PART_VAL, &score) &&
        !isnan(score.majority))
        rules[count++] = (report_rule){.at = score.majority, .label = "most frequent class"};
    report_chart chart = {.x = {.title = "epoch"},
                          .y = {.title = title},
                          .series = c.series,
                          .count = c.count,
                          .rule = rules,
                          .rules = count};
    if (c.count > 0)
        report_figure(
            page, "accuracy",
            "The measure that results are told in, on validation items, and on test items.",
            &chart);
    free_curves(&c);
}

/* What a step of this run does that an evaluation does not. */
static const char *how_steps_differ(const cli_run *run) {
    char form[32];
    bool drops = run->config->dropout > 0 || run->config->dropout_hidden > 0;
    bool draws = pgcn_config_uses(run->config, "paths") &&
                 pgcn_config_get(run->config, "train-form", form, sizeof form) == PGCN_OK &&
                 strcmp(form, "sampled") == 0;
    return drops && draws ? "with dropout and on sampled paths"
           : drops        ? "with dropout"
           : draws        ? "on sampled paths"
                          : "each before its update";
}

void cli_report_curves(report_page *page, const cli_run *run) {
    char label[48];
    report_section_open(page, "curves", "Training");
    if (json_array_size(run->history) == 0) {
        report_paragraph(page, "The model keeps no history of its epochs.");
        report_section_close(page);
        return;
    }
    snprintf(label, sizeof label, "epoch %lld is kept", (long long)pgcn_model_epoch(run->model));
    report_rule chosen = {
        .at = (double)pgcn_model_epoch(run->model), .vertical = true, .label = label};
    report_figures_open(page);
    draw_losses(page, run, &chosen);
    draw_scores(page, run, &chosen);
    report_figures_close(page);
    char select[32];
    pgcn_config_get(run->config, "select", select, sizeof select);
    report_paragraph(
        page,
        "The weights of epoch %lld were kept: the best validation %s. Training loss is that of the steps "
        "of an epoch, %s, and validation loss that of the network after it.",
        (long long)pgcn_model_epoch(run->model), select, how_steps_differ(run));
    report_section_close(page);
}

/* ---- measures ------------------------------------------------------------------------------------- */

static void put_percent(report_page *page, bool known, double value) {
    if (!known || isnan(value))
        report_cell(page, "-");
    else
        report_cell(page, "%.2f", value);
}

void cli_report_measures(report_page *page, const cli_run *run) {
    pgcn_score score[3];
    bool known[3];
    report_section_open(page, "measures", "Measures");
    for (int p = 0; p < 3; p++) known[p] = cli_run_score(run, (pgcn_part)p, &score[p]);
    report_table_open(page, "in percent|>training|>validation|>test");
    for (int m = 0; m < PGCN_MEASURES; m++) {
        report_cell(page, "%s", cli_measure_title((pgcn_measure)m, run->task));
        for (int p = 0; p < 3; p++)
            put_percent(page, known[p], pgcn_score_measure(&score[p], (pgcn_measure)m));
    }
    report_cell(page, "most frequent class");
    for (int p = 0; p < 3; p++) put_percent(page, known[p], score[p].majority);
    report_cell(page, run->task == PGCN_TASK_GRAPH ? "graphs" : "nodes");
    for (int p = 0; p < 3; p++)
        report_cell(page, "%lld", (long long)cli_run_items(run, (pgcn_part)p));
    report_table_close(page);
    if (run->results.count > 1) {
        report_table_open(page, ">seed|>result (%)");
        for (int i = 0; i < run->results.count; i++) {
            report_cell(page, "%lld", (long long)run->results.record[i].seed);
            report_cell(page, "%.2f", run->results.record[i].value);
        }
        report_table_close(page);
    }
    report_section_close(page);
}

/* ---- classes -------------------------------------------------------------------------------------- */

enum { MOST_MATRIX = 60 };

static void draw_confusion(report_page *page, const cli_run *run, const pgcn_judgement *j) {
    int64_t n = j->classes, cells = n * n;
    double *share = calloc((size_t)cells, sizeof *share);
    const char **name = calloc((size_t)n, sizeof *name), **tip = calloc((size_t)cells, sizeof *tip);
    const char **label = calloc((size_t)cells, sizeof *label);
    enum { NUMBER = 24, TIP = 200 };
    char *names = calloc((size_t)n, NUMBER), *tips = calloc((size_t)cells, TIP);
    char *labels = calloc((size_t)cells, NUMBER);
    if (!share || !name || !tip || !label || !names || !tips || !labels) {
        page->text.failed = true;
        n = cells = 0;
    }
    for (int64_t c = 0; c < n; c++) {
        const char *own = pgcn_model_class_name(run->model, (int)c);
        snprintf(names + c * NUMBER, NUMBER, "%d", (int)c);
        name[c] = own ? own : names + c * NUMBER;
    }
    for (int64_t i = 0; i < cells; i++) {
        int64_t of = i / n, as = i % n, items = j->confusion[i], all = j->of_class[of].support;
        share[i] = all > 0 ? 100.0 * (double)items / (double)all : (double)NAN;
        snprintf(labels + i * NUMBER, NUMBER, "%lld", (long long)items);
        snprintf(tips + i * TIP, TIP, "%.60s predicted as %.60s: %lld of %lld (%.1f %%)", name[of],
                 name[as], (long long)items, (long long)all, all > 0 ? share[i] : 0);
        label[i] = labels + i * NUMBER;
        tip[i] = tips + i * TIP;
    }
    report_heat heat = {.rows = n,
                        .columns = n,
                        .value = share,
                        .fixed = true,
                        .low = 0,
                        .high = 100,
                        .label = n <= 12 ? label : NULL,
                        .tip = n <= 30 ? tip : NULL,
                        .row_name = name,
                        .column_name = name,
                        .row_title = "true class",
                        .column_title = "predicted class",
                        .value_title = "percent of the true class"};
    report_chart chart = {.about = "Confusion matrix: true classes against predicted ones.",
                          .heat = &heat};
    if (n > 0)
        report_figure(page, "confusion",
                      n <= 12 ? "Confusion matrix: how many of each class (rows) were predicted as "
                                "which (columns)."
                              : "Confusion matrix: true classes (rows) against predicted ones.",
                      &chart);
    free(share), free(name), free(tip), free(label), free(names), free(tips), free(labels);
}

/* Precision and recall of every class as bars; of very many classes F1 over how frequent they are. */
static void draw_classes(report_page *page, const cli_run *run, const pgcn_judgement *j) {
    size_t n = (size_t)j->classes;
    double *value = calloc(4 * n, sizeof *value);
    const char **name = calloc(n, sizeof *name);
    enum { NUMBER = 24 };
    char *names = calloc(n, NUMBER);
    bool few = n <= 12, fine = value && name && names;
    page->text.failed |= !fine;
    for (size_t c = 0; fine && c < n; c++) {
        const char *own = pgcn_model_class_name(run->model, (int)c);
        snprintf(names + c * NUMBER, NUMBER, "%d", (int)c);
        name[c] = own ? own : names + c * NUMBER;
        value[c] = (double)c;
        value[n + c] = few ? j->of_class[c].precision : j->of_class[c].f1;
        value[2 * n + c] = j->of_class[c].recall;
        value[3 * n + c] = (double)j->of_class[c].support;
    }
    report_series bars[] = {{.name = "precision",
                             .count = (int64_t)n,
                             .x = value + n,
                             .y = value,
                             .draw = REPORT_DRAW_BARS,
                             .style = 1},
                            {.name = "recall",
                             .count = (int64_t)n,
                             .x = value + 2 * n,
                             .y = value,
                             .draw = REPORT_DRAW_BARS,
                             .style = 5}};
    report_series dots = {.count = (int64_t)n,
                          .x = value + 3 * n,
                          .y = value + n,
                          .tip = name,
                          .draw = REPORT_DRAW_POINTS};
    report_chart chart = {.series = few ? bars : &dots, .count = few ? 2 : 1};
    if (few) {
        chart.height = 60 + 30 * (double)n;
        chart.x = (report_axis){.title = "percent", .fixed = true, .low = 0, .high = 100};
        chart.y = (report_axis){.scale = REPORT_NAMES, .name = name, .names = (int)n};
    } else {
        chart.x = (report_axis){.title = "items of the class", .scale = REPORT_LOG10};
        chart.y = (report_axis){.title = "F1 (%)", .fixed = true, .low = 0, .high = 100};
    }
    if (fine)
        report_figure(page, "classes",
                      few ? "Precision and recall of every class."
                          : "F1 of every class over how many items have it.",
                      &chart);
    free(value), free(name), free(names);
}

static void put_class_table(report_page *page, const cli_run *run, const pgcn_judgement *j) {
    report_table_open(page, "class|>items|>predicted|>right|>precision %|>recall %|>F1 %");
    for (int c = 0; c < j->classes; c++) {
        const pgcn_class_score *s = &j->of_class[c];
        report_cell(page, "%s", cli_run_class(run, c));
        report_cell(page, "%lld", (long long)s->support);
        report_cell(page, "%lld", (long long)s->predicted);
        report_cell(page, "%lld", (long long)s->hits);
        put_percent(page, true, s->precision);
        put_percent(page, true, s->recall);
        put_percent(page, true, s->f1);
    }
    report_table_close(page);
}

void cli_report_classes(report_page *page, const cli_run *run) {
    if (!run->verdict) return;
    pgcn_judgement j = pgcn_verdict_part(run->verdict, run->part);
    if (j.items == 0) return;
    report_section_open(page, "classes",
                        run->task == PGCN_TASK_MULTILABEL ? "Labels" : "Classes and confusion");
    report_paragraph(page, "Of the %lld %s %s.", (long long)j.items, cli_part_word(run->part),
                     cli_items(run->task));
    report_figures_open(page);
    if (j.confusion && j.classes <= MOST_MATRIX) draw_confusion(page, run, &j);
    draw_classes(page, run, &j);
    report_figures_close(page);
    report_details_open(page, "All classes as a table");
    put_class_table(page, run, &j);
    report_details_close(page);
    report_section_close(page);
}

/* ---- calibration ---------------------------------------------------------------------------------- */

void cli_report_calibration(report_page *page, const cli_run *run) {
    if (!run->verdict) return;
    pgcn_judgement j = pgcn_verdict_part(run->verdict, run->part);
    double x[PGCN_CALIBRATION_BINS], y[PGCN_CALIBRATION_BINS], low[PGCN_CALIBRATION_BINS],
        high[PGCN_CALIBRATION_BINS], place[PGCN_CALIBRATION_BINS], items[PGCN_CALIBRATION_BINS];
    int count = 0;
    for (int b = 0; b < PGCN_CALIBRATION_BINS; b++) {
        place[b] = 100 * (b + 0.5) / PGCN_CALIBRATION_BINS;
        items[b] = (double)j.bin[b].items;
        if (j.bin[b].items == 0) continue;
        x[count] = j.bin[b].confidence;
        y[count] = j.bin[b].accuracy;
        wilson(y[count], items[b], &low[count], &high[count]);
        count++;
    }
    report_series line = {.name = "predictions of this confidence",
                          .count = count,
                          .x = x,
                          .y = y,
                          .low = low,
                          .high = high,
                          .draw = REPORT_DRAW_LINE | REPORT_DRAW_POINTS | REPORT_DRAW_WHISKERS};
    report_rule diagonal = {.diagonal = true, .label = "confidence = accuracy"};
    report_axis percent = {.title = "confidence (%)", .fixed = true, .low = 0, .high = 100};
    report_chart chart = {.x = percent,
                          .y = percent,
                          .series = &line,
                          .count = 1,
                          .rule = &diagonal,
                          .rules = 1,
                          .height = 300,
                          .legend = REPORT_LEGEND_NONE};
    chart.y.title = "how often right (%)";
    report_series bars = {
        .count = PGCN_CALIBRATION_BINS, .x = place, .y = items, .draw = REPORT_DRAW_BARS};
    report_chart histogram = {
        .x = percent,
        .y = {.title = run->task == PGCN_TASK_MULTILABEL ? "labels" : cli_items(run->task)},
        .series = &bars,
        .count = 1,
        .height = 300};
    report_section_open(page, "calibration", "Calibration");
    report_figures_open(page);
    report_figure(page, "calibration",
                  "How often predictions of a confidence are right, with 95 % intervals. On the "
                  "dashed line probabilities are what they say; below it they are too high.",
                  &chart);
    report_figure(page, "confidence", "How many predictions have that confidence.", &histogram);
    report_figures_close(page);
    report_paragraph(
        page, "Calibration error %.2f points, log loss %.4f, Brier score %.4f (%s %s).",
        j.calibration_error, j.log_loss, j.brier, cli_part_word(run->part), cli_items(run->task));
    report_section_close(page);
}
