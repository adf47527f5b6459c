/* The nodes or graphs of a run in two dimensions, by class and by error, and the errors that it was most
 * sure of. */
#include "cli/run_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_POINTS = 3000,
    MOST_NUMBERS = 6000000,
    MOST_ERRORS = 12,
    GROUPS = 14,
    FEW = 250,
    EXPLAINED = 2,
    TIP_BYTES = 160
};

/* All items, and some of them as points. */
typedef struct cloud {
    const cli_run *run;
    int64_t items;
    int classes;
    float *logit;  /* [items, classes] */
    int64_t every; /* item points * every is a point */
    int64_t points, channels;
    float *value;  /* [points, channels] of the last hidden layer */
    double *place; /* [points, 2] */
    double share[2];
    int layer;          /* that `value` is of */
    bool known, failed; /* known: it is the last one */
} cloud;

static int best_class(const cloud *c, int64_t item) {
    const float *row = c->logit + item * c->classes;
    int best = 0;
    for (int k = 1; k < c->classes; k++)
        if (row[k] > row[best]) best = k;
    return best;
}

static double probability(const cloud *c, int64_t item, int class) {
    const float *row = c->logit + item * c->classes;
    double sum = 0, most = (double)row[best_class(c, item)];
    for (int k = 0; k < c->classes; k++) sum += exp((double)row[k] - most);
    return exp((double)row[class] - most) / sum;
}

/* The labels of the data in the order of the model's classes; -1: none. */
static int label_of(const cloud *c, int64_t item) {
    const int32_t *label = pgcn_dataset_labels(c->run->data);
    return label ? (int)label[item] : -1;
}

/* ---- activations ---------------------------------------------------------------------------------- */

static void keep_logits(cloud *c, const pgcn_layer *layer) {
    for (int64_t r = 0; r < layer->rows && layer->channels == c->classes; r++) {
        int64_t item = layer->item ? layer->item[r] : r;
        memcpy(c->logit + item * c->classes, layer->value + r * c->classes,
               (size_t)c->classes * sizeof *c->logit);
    }
}

/* Room for the points, in the channels of this layer. */
static bool make_room(cloud *c, int64_t channels) {
    int64_t fit = MOST_NUMBERS / channels > 2 ? MOST_NUMBERS / channels : 2;
    int64_t most = fit < MOST_POINTS ? fit : MOST_POINTS;
    free(c->value);
    c->channels = channels;
    c->every = (c->items + most - 1) / most;
    c->points = (c->items + c->every - 1) / c->every;
    c->value = calloc((size_t)(c->points * c->channels), sizeof *c->value);
    return c->value != NULL;
}

/* The point that row r of a layer belongs to; NULL: it is not shown. */
static float *point_of(const cloud *c, const pgcn_layer *layer, int64_t r) {
    const int32_t *graph_of = pgcn_dataset_graph_of(c->run->data);
    int64_t item = layer->item ? layer->item[r] : r;
    if (c->run->task == PGCN_TASK_GRAPH && !layer->of_graphs) item = graph_of ? graph_of[item] : 0;
    return item % c->every == 0 ? c->value + item / c->every * c->channels : NULL;
}

/* Keeps the last layer before the logits. Which one that is, the first batch tells, in which each layer
 * takes the place of the one before. A graph is the sum of its nodes. */
static bool see(void *context, const pgcn_layer *layer) {
    cloud *c = context;
    if (layer->is_logits) {
        c->known = true;
        keep_logits(c, layer);
        return true;
    }
    if (c->known && layer->layer != c->layer) return true;
    c->layer = layer->layer;
    if (!c->value || layer->channels != c->channels) c->failed |= !make_room(c, layer->channels);
    if (c->failed) return false;
    for (int64_t r = 0; r < layer->rows; r++) {
        float *point = point_of(c, layer, r);
        if (point) memset(point, 0, (size_t)c->channels * sizeof *point);
    }
    for (int64_t r = 0; r < layer->rows; r++) {
        float *point = point_of(c, layer, r);
        for (int64_t k = 0; point && k < c->channels; k++)
            point[k] += layer->value[r * c->channels + k];
    }
    return true;
}

static bool make_cloud(const cli_run *run, cloud *c) {
    *c = (cloud){.run = run, .items = run->info.items, .classes = pgcn_model_classes(run->model)};
    c->logit = calloc((size_t)(c->items * c->classes), sizeof *c->logit);
    if (!c->logit || pgcn_model_layers(run->model, run->data, NULL, see, c) != PGCN_OK || c->failed)
        return false;
    if (!c->value) return false; /* a network without hidden layers */
    c->place = calloc(2 * (size_t)c->points + 2, sizeof *c->place);
    return c->place != NULL;
}

static void free_cloud(cloud *c) {
    free(c->logit);
    free(c->value);
    free(c->place);
}

/* ---- outliers ------------------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A few points far away would press all others into a corner: what is farther out than a fifth of the
 * range of the middle 99 % is moved to the border. Returns how many points that are. */
static int64_t hold_together(cloud *c) {
    double *sorted = calloc((size_t)c->points, sizeof *sorted);
    bool *moved = calloc((size_t)c->points, sizeof *moved);
    int64_t count = 0, cut = c->points / 200;
    for (int axis = 0; sorted && moved && axis < 2 && cut > 0; axis++) {
        for (int64_t p = 0; p < c->points; p++) sorted[p] = c->place[2 * p + axis];
        qsort(sorted, (size_t)c->points, sizeof *sorted, compare_doubles);
        double low = sorted[cut], high = sorted[c->points - 1 - cut], margin = 0.2 * (high - low);
        for (int64_t p = 0; p < c->points; p++) {
            double *at = &c->place[2 * p + axis];
            if (*at >= low - margin && *at <= high + margin) continue;
            *at = *at < low ? low - margin : high + margin;
            moved[p] = true;
        }
    }
    for (int64_t p = 0; moved && p < c->points; p++) count += moved[p];
    free(sorted);
    free(moved);
    return count;
}

/* ---- charts --------------------------------------------------------------------------------------- */

/* Points in groups, each of which is a series. */
typedef struct scatter {
    report_series series[GROUPS];
    double *x, *y;
    const char **tip;
    char *tips; /* [points, TIP_BYTES] */
    bool fine;
} scatter;

static void item_name(const cloud *c, int64_t item, char out[48]) {
    const char *id =
        c->run->task == PGCN_TASK_GRAPH ? NULL : pgcn_dataset_node_id(c->run->data, item);
    if (id)
        snprintf(out, 48, "%.44s", id);
    else
        snprintf(out, 48, "%lld",
                 (long long)(c->run->task == PGCN_TASK_GRAPH
                                 ? item
                                 : cli_node_number(c->run->data, item)));
}

static void describe(const cloud *c, int64_t item, char *out, size_t bytes) {
    char name[48];
    const char *what = c->run->task == PGCN_TASK_GRAPH ? "graph" : "node";
    item_name(c, item, name);
    int label = label_of(c, item), best = best_class(c, item);
    if (c->run->task == PGCN_TASK_MULTILABEL)
        snprintf(out, bytes, "%s %s", what, name);
    else if (label < 0)
        snprintf(out, bytes, "%s %s: no label, predicted %.36s", what, name,
                 cli_run_class(c->run, best));
    else if (label == best)
        snprintf(out, bytes, "%s %s: %.36s", what, name, cli_run_class(c->run, best));
    else
        snprintf(out, bytes, "%s %s: %.30s, predicted %.30s", what, name,
                 cli_run_class(c->run, label), cli_run_class(c->run, best));
}

/* Sorts the points into groups: of(c, item) is the number of its group. */
static scatter sort_points(const cloud *c, int groups, int (*of)(const cloud *, int64_t)) {
    size_t n = (size_t)c->points;
    scatter s = {.x = calloc(n + 1, sizeof *s.x),
                 .y = calloc(n + 1, sizeof *s.y),
                 .tip = calloc(n + 1, sizeof *s.tip),
                 .tips = calloc(n + 1, TIP_BYTES)};
    s.fine = s.x && s.y && s.tip && s.tips;
    int64_t used = 0;
    for (int g = 0; s.fine && g < groups; g++) {
        s.series[g] = (report_series){.x = s.x + used,
                                      .y = s.y + used,
                                      .tip = s.tip + used,
                                      .draw = REPORT_DRAW_POINTS |
                                              (c->points > FEW ? REPORT_DRAW_SMALL : 0u)};
        for (int64_t p = 0; p < c->points; p++) {
            int64_t item = p * c->every;
            if (of(c, item) != g) continue;
            s.x[used] = c->place[2 * p];
            s.y[used] = c->place[2 * p + 1];
            describe(c, item, s.tips + used * TIP_BYTES, TIP_BYTES);
            s.tip[used] = s.tips + used * TIP_BYTES;
            used++;
            s.series[g].count++;
        }
    }
    return s;
}

static void free_scatter(scatter *s) {
    free(s->x);
    free(s->y);
    free(s->tip);
    free(s->tips);
}

static void draw(report_page *page, const scatter *s, int groups, const char *file,
                 const char *caption) {
    report_chart chart = {.x = {.hidden = true},
                          .y = {.hidden = true},
                          .height = 360,
                          .series = s->series,
                          .count = groups};
    page->text.failed |= !s->fine;
    if (s->fine) report_figure(page, file, caption, &chart);
}

/* The last group has what has no label, and the rarer classes where there are too many. */
static int class_group(const cloud *c, int64_t item) {
    int label = label_of(c, item), shown = c->classes < GROUPS - 1 ? c->classes : GROUPS - 1;
    return label >= 0 && label < shown ? label : shown;
}

/* Which part of the split an item is in; 3: none. */
static int part_of(const cloud *c, int64_t item) {
    const uint8_t *mask[3];
    if (!pgcn_dataset_split(c->run->data, c->run->scores.split, &mask[0], &mask[1], &mask[2]))
        return 3;
    int part = 0;
    while (part < 3 && !mask[part][item]) part++;
    return part;
}

static int error_group(const cloud *c, int64_t item) {
    int label = label_of(c, item);
    if (label < 0) return 3;
    if (label == best_class(c, item)) return 0;
    return part_of(c, item) == PGCN_PART_TEST ? 2 : 1;
}

/* Of several labels: F1 of the node's own labels. */
static double node_f1(const cloud *c, int64_t item) {
    const uint8_t *label = pgcn_dataset_multilabels(c->run->data) + item * c->classes;
    const float *row = c->logit + item * c->classes;
    int both = 0, sum = 0;
    for (int k = 0; k < c->classes; k++) {
        both += label[k] && row[k] > 0;
        sum += label[k] + (row[k] > 0);
    }
    return sum > 0 ? 2.0 * both / sum : 1;
}

static int f1_group(const cloud *c, int64_t item) {
    double f1 = pgcn_dataset_multilabels(c->run->data) ? node_f1(c, item) : 0;
    return f1 >= 0.9 ? 0 : f1 >= 0.6 ? 1 : 2;
}

static int part_group(const cloud *c, int64_t item) {
    return part_of(c, item);
}

static void draw_by_class(report_page *page, const cloud *c) {
    int shown = c->classes < GROUPS - 1 ? c->classes : GROUPS - 1;
    char names[GROUPS][64];
    scatter s = sort_points(c, shown + 1, class_group);
    for (int g = 0; g < shown; g++) {
        snprintf(names[g], sizeof *names, "%.60s", cli_run_class(c->run, g));
        s.series[g].name = names[g];
    }
    if (s.series[shown].count > 0) {
        s.series[shown].name = shown < c->classes ? "other classes" : "no label";
        s.series[shown].draw |= REPORT_DRAW_FAINT;
        s.series[shown].style = 7;
    }
    draw(page, &s, shown + 1, "items-by-class", "By their true class.");
    free_scatter(&s);
}

static void draw_by_error(report_page *page, const cloud *c) {
    scatter s = sort_points(c, 4, error_group);
    static const char *const names[] = {"right", "wrong, not of the test", "wrong, of the test",
                                        "no label"};
    static const int styles[] = {1, 5, 2, 7};
    for (int g = 0; g < 4; g++) {
        s.series[g].style = styles[g];
        if (s.series[g].count > 0) s.series[g].name = names[g];
        if (g == 0 || g == 3) s.series[g].draw |= REPORT_DRAW_FAINT;
        if (g == 2) s.series[g].draw &= ~(unsigned)REPORT_DRAW_SMALL;
    }
    draw(page, &s, 4, "items-by-error", "By whether the prediction is right.");
    free_scatter(&s);
}

static void draw_labels(report_page *page, const cloud *c) {
    static const char *const quality[] = {"F1 of its labels from 90 %", "60 to 90 %", "below 60 %"};
    static const char *const parts[] = {"training", "validation", "test", "none of them"};
    scatter s = sort_points(c, 3, f1_group);
    for (int g = 0; g < 3; g++) s.series[g].name = quality[g];
    draw(page, &s, 3, "items-by-error", "By how well their labels are predicted.");
    free_scatter(&s);
    s = sort_points(c, 4, part_group);
    for (int g = 0; g < 4; g++)
        if (s.series[g].count > 0) s.series[g].name = parts[g];
    draw(page, &s, 4, "items-by-part", "By the part of the split.");
    free_scatter(&s);
}

/* ---- errors --------------------------------------------------------------------------------------- */

/* The wrong predictions of the part that figures are told of, the surest first. */
static void put_errors(report_page *page, const cloud *c) {
    struct {
        int64_t item;
        double sure;
    } worst[MOST_ERRORS + 1];
    int count = 0;
    for (int64_t item = 0; item < c->items; item++) {
        int label = label_of(c, item), best = best_class(c, item);
        if (label < 0 || label == best) continue;
        if (c->run->part != PGCN_PART_ALL && part_of(c, item) != (int)c->run->part) continue;
        double sure = probability(c, item, best);
        int at = count;
        for (; at > 0 && worst[at - 1].sure < sure; at--) worst[at] = worst[at - 1];
        worst[at].item = item;
        worst[at].sure = sure;
        if (count < MOST_ERRORS) count++;
    }
    if (count == 0) return;
    report_paragraph(page, "The wrong predictions of %s %s that the network was most sure of:",
                     cli_part_word(c->run->part), cli_items(c->run->task));
    report_table_open(page, c->run->task == PGCN_TASK_GRAPH
                                ? ">graph|true class|predicted|>probability %|>of the true class %"
                                : ">node|true class|predicted|>probability %|>of the true class %");
    for (int i = 0; i < count; i++) {
        char name[48];
        int64_t item = worst[i].item;
        item_name(c, item, name);
        report_cell(page, "%s", name);
        report_cell(page, "%s", cli_run_class(c->run, label_of(c, item)));
        report_cell(page, "%s", cli_run_class(c->run, best_class(c, item)));
        report_cell(page, "%.1f", 100 * worst[i].sure);
        report_cell(page, "%.2f", 100 * probability(c, item, label_of(c, item)));
    }
    report_table_close(page);
    for (int i = 0; i < count && i < EXPLAINED; i++)
        cli_report_explain(page, c->run, worst[i].item, label_of(c, worst[i].item), i + 1);
}

static void put_explanation(report_page *page, const cloud *c, int64_t moved) {
    char all[32], which[64] = "All", apart[64] = "";
    cli_format_count(c->items, all);
    if (c->every > 1) snprintf(which, sizeof which, "%lld of the", (long long)c->points);
    if (moved > 0)
        snprintf(apart, sizeof apart, " %lld that are far away are drawn at the border.",
                 (long long)moved);
    report_paragraph(
        page,
        "%s %s %s, placed by the two directions in which the last hidden layer (%lld "
        "channels) varies most: %.0f %% and %.0f %% of its variance. Near each other are "
        "%s that the network takes for alike.%s",
        which, all, cli_items(c->run->task), (long long)c->channels, 100 * c->share[0],
        100 * c->share[1], cli_items(c->run->task), apart);
}

void cli_report_nodes(report_page *page, const cli_run *run) {
    cloud c;
    if (!run->data) return;
    if (make_cloud(run, &c)) {
        bool seen = c.points > 1 && report_pca(c.points, c.channels, c.value, c.place, c.share);
        report_section_open(page, "items",
                            run->task == PGCN_TASK_GRAPH ? "Graphs in two dimensions"
                                                         : "Nodes in two dimensions");
        if (seen) put_explanation(page, &c, hold_together(&c));
        report_figures_open(page);
        if (seen && run->task == PGCN_TASK_MULTILABEL) {
            draw_labels(page, &c);
        } else if (seen) {
            draw_by_class(page, &c);
            draw_by_error(page, &c);
        }
        report_figures_close(page);
        if (run->task != PGCN_TASK_MULTILABEL) put_errors(page, &c);
        report_section_close(page);
    }
    free_cloud(&c);
}
