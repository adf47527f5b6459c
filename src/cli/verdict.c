/* The verdict on a part of the items, for people, as JSON and as CSV: class by class, the confusion matrix, and
 * how far the probabilities can be trusted. Called by eval. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_LINES = 30,   /* classes that are all listed; of more the worst ones */
    WORST_LINES = 10,  /* of these */
    NAME_BYTES = 64,   /* of a class name, with what it is shortened to */
    LONGEST_NAME = 20, /* shown in tables */
    MIX_UPS = 5        /* pairs of classes, where the matrix does not fit */
};

/* A name that fits a column, control characters escaped; a number without a name. UTF-8 is cut between
 * letters. */
static void class_label(const pgcn_model *model, int c, char out[NAME_BYTES]) {
    const char *name = pgcn_model_class_name(model, c);
    if (!name) {
        snprintf(out, NAME_BYTES, "%d", c);
        return;
    }
    char text[256];
    size_t bytes = 0;
    pgcn_text_printable(name, text, sizeof text);
    for (int letters = 0; text[bytes] && letters < LONGEST_NAME; letters++) {
        do bytes++;
        while (((unsigned char)text[bytes] & 0xc0) == 0x80 && bytes < NAME_BYTES - 8);
        if (bytes >= NAME_BYTES - 8) break;
    }
    snprintf(out, NAME_BYTES, "%.*s%s", (int)bytes, text, text[bytes] ? "." : "");
}

static int widest_label(const pgcn_model *model, int classes) {
    int widest = 0;
    for (int c = 0; c < classes; c++) {
        char label[NAME_BYTES];
        class_label(model, c, label);
        int width = cli_columns_of(label);
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* ---- class by class --------------------------------------------------------------------------------- */

static void print_share(double percent) {
    if (isnan(percent))
        printf(" %10s", "-");
    else
        printf(" %10.2f", percent);
}

static void print_class(const pgcn_model *model, const pgcn_judgement *j, int c, int width) {
    char label[NAME_BYTES];
    const pgcn_class_score *s = &j->of_class[c];
    class_label(model, c, label);
    cli_put_padded(stdout, label, width, false);
    print_share(s->precision);
    print_share(s->recall);
    print_share(s->f1);
    printf(" %10lld %10lld\n", (long long)s->support, (long long)s->predicted);
}

/* The numbers of the classes, those with the lowest F1 first; the caller frees it. */
static int *by_f1(const pgcn_judgement *j) {
    int *order = malloc((size_t)j->classes * sizeof *order);
    for (int c = 0; order && c < j->classes; c++) {
        int at = c;
        double f1 = isnan(j->of_class[c].f1) ? INFINITY : j->of_class[c].f1;
        for (; at > 0; at--) {
            double before = j->of_class[order[at - 1]].f1;
            if ((isnan(before) ? INFINITY : before) <= f1) break;
            order[at] = order[at - 1];
        }
        order[at] = c;
    }
    return order;
}

static void print_classes(const pgcn_model *model, const pgcn_judgement *j) {
    int width = widest_label(model, j->classes);
    width = width < 8 ? 8 : width;
    bool several = pgcn_model_task(model) == PGCN_TASK_MULTILABEL;
    cli_put_padded(stdout, several ? "label" : "class", width, false);
    printf(" %10s %10s %10s %10s %10s\n", "precision", "recall", "F1", "support", "predicted");
    if (j->classes <= MOST_LINES) {
        for (int c = 0; c < j->classes; c++) print_class(model, j, c, width);
        return;
    }
    int *order = by_f1(j);
    for (int i = 0; order && i < WORST_LINES; i++) print_class(model, j, order[i], width);
    free(order);
    printf("These are the %d of %d with the lowest F1; --csv FILE and --json have all.\n",
           WORST_LINES, j->classes);
}

/* ---- who is taken for whom -------------------------------------------------------------------------- */

/* The largest entry beside the diagonal below the one before it, in the order of the matrix; -1: none. */
static int64_t next_mix_up(const pgcn_judgement *j, int64_t before) {
    int64_t cells = (int64_t)j->classes * j->classes, best = -1;
    for (int64_t at = 0; at < cells; at++) {
        if (at / j->classes == at % j->classes || j->confusion[at] == 0) continue;
        bool after = before < 0 || j->confusion[at] < j->confusion[before] ||
                     (j->confusion[at] == j->confusion[before] && at > before);
        if (after && (best < 0 || j->confusion[at] > j->confusion[best])) best = at;
    }
    return best;
}

static void print_mix_ups(const pgcn_model *model, const pgcn_judgement *j) {
    int64_t at = -1;
    printf("\nMost often mixed up (--csv FILE has the whole matrix):\n");
    for (int i = 0; i < MIX_UPS && (at = next_mix_up(j, at)) >= 0; i++) {
        char is[NAME_BYTES], taken[NAME_BYTES];
        class_label(model, (int)(at / j->classes), is);
        class_label(model, (int)(at % j->classes), taken);
        printf("  %lld of class %s are taken for %s\n", (long long)j->confusion[at], is, taken);
    }
}

static void print_confusion(const pgcn_model *model, const pgcn_judgement *j) {
    if (!j->confusion) return;
    int name = widest_label(model, j->classes), cell = name;
    cell = cell < 6 ? 6 : cell;
    name = name < 8 ? 8 : name;
    if (name + (int64_t)j->classes * (cell + 1) > cli_terminal_columns()) {
        if (next_mix_up(j, -1) >= 0) print_mix_ups(model, j);
        return;
    }
    printf("\n");
    cli_put_padded(stdout, "true", name, false);
    printf(" predicted\n");
    cli_put_padded(stdout, "", name, false);
    for (int c = 0; c < j->classes; c++) {
        char label[NAME_BYTES];
        class_label(model, c, label);
        putchar(' ');
        cli_put_padded(stdout, label, cell, true);
    }
    for (int r = 0; r < j->classes; r++) {
        char label[NAME_BYTES];
        class_label(model, r, label);
        putchar('\n');
        cli_put_padded(stdout, label, name, false);
        for (int c = 0; c < j->classes; c++)
            printf(" %*lld", cell, (long long)j->confusion[(int64_t)r * j->classes + c]);
    }
    printf("\n");
}

/* ---- the whole -------------------------------------------------------------------------------------- */

/* One class for everything: an accuracy that was not earned. */
static void print_trap(const pgcn_model *model, const pgcn_judgement *j, const char *items) {
    int predicted = 0, only = 0;
    int64_t classes_there = 0;
    for (int c = 0; c < j->classes; c++) {
        classes_there += j->of_class[c].support > 0;
        if (j->of_class[c].predicted == 0) continue;
        predicted++;
        only = c;
    }
    if (!j->confusion || predicted != 1 || classes_there < 2) return;
    char label[NAME_BYTES];
    class_label(model, only, label);
    printf(
        "\nThe model says class %s of all %lld %s: it has learnt nothing that tells them apart, and its "
        "accuracy is the share of that class. Train with --class-weights balanced --select macro-f1.\n",
        label, (long long)j->items, items);
}

void cli_verdict_print(const pgcn_model *model, const pgcn_judgement *j, pgcn_part part) {
    static const char *const of[] = {"Training", "Validation", "Test", "All labelled"};
    const char *items = cli_items(pgcn_model_task(model));
    if (j->items == 0) return;
    printf("\n%s %s, %lld, class by class, in percent\n\n", of[part], items, (long long)j->items);
    print_classes(model, j);
    print_confusion(model, j);
    printf("\nlog loss %.4f, Brier score %.4f, calibration error %.2f %%", j->log_loss, j->brier,
           j->calibration_error);
    if (!isnan(j->graph_f1) && j->graphs > 1)
        printf("\nmicro-F1 %.2f of all nodes together, %.2f as the mean of %lld graphs",
               j->micro_f1, j->graph_f1, (long long)j->graphs);
    printf("\n");
    print_trap(model, j, items);
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

static json_t *class_to_json(const pgcn_model *model, const pgcn_judgement *j, int c) {
    const pgcn_class_score *s = &j->of_class[c];
    const char *name = pgcn_model_class_name(model, c);
    return json_pack("{s:o, s:o, s:o, s:o, s:I, s:I, s:I}", "class",
                     name ? cli_json_text(name) : json_integer(c), "precision",
                     cli_json_real(s->precision), "recall", cli_json_real(s->recall), "f1",
                     cli_json_real(s->f1), "support", (json_int_t)s->support, "predicted",
                     (json_int_t)s->predicted, "hits", (json_int_t)s->hits);
}

static json_t *confusion_to_json(const pgcn_judgement *j) {
    if (!j->confusion) return json_null();
    json_t *rows = json_array();
    for (int r = 0; r < j->classes; r++) {
        json_t *row = json_array();
        for (int c = 0; c < j->classes; c++)
            json_array_append_new(
                row, json_integer((json_int_t)j->confusion[(int64_t)r * j->classes + c]));
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *bins_to_json(const pgcn_judgement *j) {
    json_t *bins = json_array();
    for (int b = 0; b < PGCN_CALIBRATION_BINS; b++)
        json_array_append_new(bins, json_pack("{s:f, s:I, s:o, s:o}", "from",
                                              100.0 * b / PGCN_CALIBRATION_BINS, "predictions",
                                              (json_int_t)j->bin[b].items, "confidence",
                                              cli_json_real(j->bin[b].confidence), "accuracy",
                                              cli_json_real(j->bin[b].accuracy)));
    return bins;
}

json_t *cli_verdict_to_json(const pgcn_model *model, const pgcn_judgement *j) {
    if (j->items == 0) return json_null();
    json_t *classes = json_array();
    for (int c = 0; c < j->classes; c++) json_array_append_new(classes, class_to_json(model, j, c));
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o}", "items",
                     (json_int_t)j->items, "log_loss", cli_json_real(j->log_loss), "brier",
                     cli_json_real(j->brier), "calibration_error",
                     cli_json_real(j->calibration_error), "micro_f1", cli_json_real(j->micro_f1),
                     "graph_f1", cli_json_real(j->graph_f1), "graphs", (json_int_t)j->graphs,
                     "classes", classes, "confusion", confusion_to_json(j), "calibration",
                     bins_to_json(j));
}

/* ---- CSV -------------------------------------------------------------------------------------------- */

static void put_class(FILE *out, const pgcn_model *model, int c) {
    const char *name = pgcn_model_class_name(model, c);
    if (name)
        cli_put_cell(out, name);
    else
        fprintf(out, "%d", c);
}

/* An empty cell where it is not defined. */
static void put_share(FILE *out, double percent) {
    if (isnan(percent))
        fputc(',', out);
    else
        fprintf(out, ",%.10g", percent);
}

static void write_csv(FILE *out, const pgcn_model *model, const pgcn_verdict *verdict) {
    int classes = pgcn_model_classes(model);
    bool several = pgcn_model_task(model) == PGCN_TASK_MULTILABEL;
    fprintf(out, "part,class,precision,recall,f1,support,predicted,hits");
    for (int c = 0; !several && c < classes; c++) {
        fprintf(out, ",taken for ");
        put_class(out, model, c);
    }
    fputc('\n', out);
    for (int part = 0; part < PGCN_PARTS; part++) {
        pgcn_judgement j = pgcn_verdict_part(verdict, (pgcn_part)part);
        for (int c = 0; j.items > 0 && c < classes; c++) {
            const pgcn_class_score *s = &j.of_class[c];
            fprintf(out, "%s,", pgcn_part_name((pgcn_part)part));
            put_class(out, model, c);
            put_share(out, s->precision);
            put_share(out, s->recall);
            put_share(out, s->f1);
            fprintf(out, ",%lld,%lld,%lld", (long long)s->support, (long long)s->predicted,
                    (long long)s->hits);
            for (int k = 0; j.confusion && k < classes; k++)
                fprintf(out, ",%lld", (long long)j.confusion[(int64_t)c * classes + k]);
            fputc('\n', out);
        }
    }
}

pgcn_status cli_verdict_write(const cli_command *command, const char *path, const pgcn_model *model,
                              const pgcn_verdict *verdict) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out) write_csv(out, model, verdict);
    pgcn_status status = out && fclose(out) == 0
                             ? cli_report(command, pgcn_file_write(path, text, bytes))
                             : cli_fail(command, PGCN_ERR_MEMORY, "out of memory for '%s'", path);
    free(text);
    return status;
}
