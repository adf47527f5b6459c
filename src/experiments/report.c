/* The table of an experiment: for people on standard output and in NAME.md and NAME.tex; for
 * programs in NAME.csv and NAME.json. */
#include "experiments/reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ------------------------------------------------------------------------------------- */

/* The curve as bars, one per value, scaled from its lowest point to its highest. */
static void print_curves(FILE *out, const exp_plan *plan, const exp_jobs *jobs,
                         const exp_experiment *experiment) {
    enum { WIDTH = 50 };
    const char *last = "";
    double low = INFINITY, high = -INFINITY;
    if (!experiment->axis) return;
    for (size_t i = 0; i < plan->cells; i++) {
        const exp_cell *cell = &plan->cell[i];
        if (cell->experiment != experiment || *cell->absent) continue;
        if (strcmp(cell->dataset, last) != 0) { /* the scale of this data set */
            low = INFINITY, high = -INFINITY;
            for (size_t j = i; j < plan->cells; j++) {
                if (plan->cell[j].experiment != experiment ||
                    strcmp(plan->cell[j].dataset, cell->dataset) != 0)
                    continue;
                double mean = exp_summarise(jobs, &plan->cell[j]).test.mean;
                low = fmin(low, mean);
                high = fmax(high, mean);
            }
            fprintf(out, "\n%s, test accuracy by %s:\n", cell->dataset, experiment->axis);
        }
        last = cell->dataset;
        double mean = exp_summarise(jobs, cell).test.mean;
        if (isnan(mean)) continue;
        int bar = high > low ? 1 + (int)((WIDTH - 1) * (mean - low) / (high - low)) : WIDTH;
        fprintf(out, "%6d  %6.2f  %.*s\n", cell->value, mean, bar,
                "##################################################");
    }
}

/* Data sets that are not here, or are others than their names say. */
static void print_sets(FILE *out, const exp_plan *plan, const exp_experiment *experiment) {
    const char *last = "";
    for (size_t i = 0; i < plan->cells; i++) {
        const exp_cell *cell = &plan->cell[i];
        if (cell->experiment != experiment || cell->quoted || strcmp(cell->dataset, last) == 0)
            continue;
        last = cell->dataset;
        if (*cell->absent) fprintf(out, "%s: data not here; %s\n", cell->dataset, cell->absent);
        if (exp_is_shadowed(cell->dataset))
            fprintf(out, "%s: ./%.*s of the working directory was read.\n", cell->dataset,
                    (int)strcspn(cell->dataset, ":"), cell->dataset);
    }
}

/* Warnings about missing runs and other builds. */
static void print_notes(FILE *out, const exp_plan *plan, const exp_jobs *jobs,
                        const exp_experiment *experiment) {
    int missing = 0, failed = 0, other = 0;
    for (size_t i = 0; i < plan->cells; i++) {
        const exp_cell *cell = &plan->cell[i];
        if (cell->experiment != experiment) continue;
        exp_summary s = exp_summarise(jobs, cell);
        missing += cell->runs - s.done;
        failed += s.failed;
        other += s.other_builds;
    }
    if (missing > 0)
        fprintf(out,
                "%d run%s missing, %d of them failed: the means above are over fewer runs than "
                "asked for.\n",
                missing, missing == 1 ? " is" : "s are", failed);
    if (other > 0)
        fprintf(out, "%d run%s made by another build of the program; --fresh makes all again.\n",
                other, other == 1 ? " was" : "s were");
}

void exp_print_marks(FILE *out, const exp_plan *plan, const exp_experiment *experiment) {
    bool matrix = experiment->layout != EXP_LINES, like = false, quoted = false, one_seed = false;
    for (size_t i = 0; i < plan->cells; i++) {
        const exp_cell *cell = &plan->cell[i];
        if (cell->experiment != experiment) continue;
        like = like || cell->unpublished;
        quoted = quoted || (cell->quoted && cell->paper);
        one_seed = one_seed || cell->one_seed;
    }
    if (like && (matrix || experiment->variants))
        fprintf(out, "~: settings that nobody published for this network, data set and depth.\n");
    if (quoted && matrix)
        fprintf(out, "'quoted': the paper's number, of a network that is not built here.\n");
    if (one_seed) fprintf(out, "'one seed': a run takes more than 30 minutes.\n");
    if (matrix && experiment->networks && exp_matrix_has_gaps(plan, experiment))
        fprintf(out, "Cells that the paper leaves empty stay empty.\n");
}

exp_table *exp_make_table(const exp_plan *plan, const exp_jobs *jobs,
                          const exp_experiment *experiment) {
    return experiment->layout == EXP_LINES ? exp_cells_table(plan, jobs, experiment)
                                           : exp_matrix_table(plan, jobs, experiment);
}

static bool has_column(const exp_experiment *experiment, const char *head) {
    const exp_column *column = experiment->columns ? experiment->columns : exp_usual_columns;
    if (experiment->layout != EXP_LINES) return false;
    while (column->head && strcmp(column->head, head) != 0) column++;
    return column->head != NULL;
}

void exp_print_remarks(FILE *out, const exp_plan *plan, const exp_jobs *jobs,
                       const exp_experiment *experiment) {
    fprintf(out, "Accuracy in percent, mean ± deviation over the runs, of the weights that "
                 "validation chose.\n");
    exp_print_marks(out, plan, experiment);
    if (experiment->note) fprintf(out, "%s\n", experiment->note);
    if (has_column(experiment, ">best test epoch"))
        fprintf(out, "'Best test epoch' is what looking at the test items would give; it is no "
                     "result.\n");
    print_sets(out, plan, experiment);
    print_notes(out, plan, jobs, experiment);
}

static void print_for_people(FILE *out, const exp_plan *plan, const exp_jobs *jobs,
                             const exp_experiment *experiment, bool markdown) {
    exp_table *table = exp_make_table(plan, jobs, experiment);
    fprintf(out, "%s%s\n\n", markdown ? "## " : "", experiment->title);
    exp_table_print(out, table, markdown ? EXP_MARKDOWN : EXP_TEXT);
    exp_table_free(table);
    fprintf(out, "\n");
    exp_print_remarks(out, plan, jobs, experiment);
    if (!markdown) print_curves(out, plan, jobs, experiment);
}

static void print_latex(FILE *out, const exp_plan *plan, const exp_jobs *jobs,
                        const exp_experiment *experiment) {
    exp_table *table = exp_make_table(plan, jobs, experiment);
    fprintf(out, "%% %s\n", experiment->title);
    exp_table_print(out, table, EXP_LATEX);
    exp_table_free(table);
}

/* ---- files ------------------------------------------------------------------------------------ */

pgcn_status exp_write_file(const exp_request *r, const char *name, const char *ending,
                           const char *text) {
    char path[EXP_PATH_BYTES];
    if ((size_t)snprintf(path, sizeof path, "%s/%s.%s", r->out, name, ending) >= sizeof path ||
        !text)
        return cli_fail(r->command, PGCN_ERR_MEMORY, "out of memory for the %s of %s", ending,
                        name);
    return cli_report(r->command, pgcn_file_write(path, text, strlen(text)));
}

/* A file of text, NAME.ENDING, that is made in memory first. */
typedef struct text_file {
    const char *ending;
    char *text;
    size_t bytes;
    FILE *stream;
} text_file;

static FILE *begin_text(text_file *file) {
    file->stream = open_memstream(&file->text, &file->bytes);
    return file->stream;
}

static pgcn_status end_text(const exp_request *r, const char *name, text_file *file) {
    if (file->stream) fclose(file->stream);
    pgcn_status status = exp_write_file(r, name, file->ending, file->text);
    free(file->text);
    return status;
}

static pgcn_status write_texts(const exp_plan *plan, const exp_jobs *jobs, const exp_request *r,
                               const exp_experiment *experiment) {
    text_file csv = {.ending = "csv"}, markdown = {.ending = "md"}, latex = {.ending = "tex"};
    if (begin_text(&csv)) exp_print_csv(csv.stream, plan, jobs, experiment);
    CLI_TRY(end_text(r, experiment->name, &csv));
    if (begin_text(&markdown)) print_for_people(markdown.stream, plan, jobs, experiment, true);
    CLI_TRY(end_text(r, experiment->name, &markdown));
    if (begin_text(&latex)) print_latex(latex.stream, plan, jobs, experiment);
    return end_text(r, experiment->name, &latex);
}

pgcn_status exp_report(const exp_plan *plan, const exp_jobs *jobs, const exp_request *r,
                       const exp_experiment *experiment) {
    json_t *object = exp_make_json(plan, jobs, r, experiment);
    char *json = object ? json_dumps(object, JSON_INDENT(1)) : NULL;
    pgcn_status status = write_texts(plan, jobs, r, experiment);
    if (status == PGCN_OK) status = exp_write_file(r, experiment->name, "json", json);
    if (status == PGCN_OK && r->json) {
        status = cli_print_json(r->command, json_incref(object));
    } else if (status == PGCN_OK) {
        print_for_people(stdout, plan, jobs, experiment, false);
        printf("\nThe same in %s/%s.json, .csv, .md and .tex.\n\n", r->out, experiment->name);
    }
    json_decref(object);
    free(json);
    return status;
}

static void print_listing(FILE *out, const exp_listing *listing, const exp_table *table,
                          bool markdown) {
    fprintf(out, "%s%s\n\n", markdown ? "## " : "", listing->title);
    exp_table_print(out, table, markdown ? EXP_MARKDOWN : EXP_TEXT);
    fprintf(out, "\n%s\n", listing->note);
}

static pgcn_status write_listing(const exp_request *r, const exp_listing *listing,
                                 const exp_table *table) {
    text_file csv = {.ending = "csv"}, markdown = {.ending = "md"}, latex = {.ending = "tex"};
    CLI_TRY(cli_make_directory(r->command, r->out));
    if (begin_text(&csv)) exp_table_print(csv.stream, table, EXP_CSV);
    CLI_TRY(end_text(r, listing->name, &csv));
    if (begin_text(&markdown)) print_listing(markdown.stream, listing, table, true);
    CLI_TRY(end_text(r, listing->name, &markdown));
    if (begin_text(&latex)) {
        fprintf(latex.stream, "%% %s\n", listing->title);
        exp_table_print(latex.stream, table, EXP_LATEX);
    }
    return end_text(r, listing->name, &latex);
}

pgcn_status exp_report_listing(const exp_request *r, const exp_listing *listing, exp_table *table) {
    json_t *object = json_pack("{s:s, s:s, s:s, s:s, s:o}", "experiment", listing->name, "title",
                               listing->title, "note", listing->note, "version", PGCN_VERSION,
                               "lines", exp_table_to_json(table));
    if (object && listing->numbers) json_object_set(object, "cells", listing->numbers);
    char *json = object ? json_dumps(object, JSON_INDENT(1)) : NULL;
    pgcn_status status = write_listing(r, listing, table);
    if (status == PGCN_OK) status = exp_write_file(r, listing->name, "json", json);
    if (status == PGCN_OK && r->json) {
        status = cli_print_json(r->command, json_incref(object));
    } else if (status == PGCN_OK) {
        print_listing(stdout, listing, table, false);
        printf("\nThe same in %s/%s.json, .csv, .md and .tex.\n", r->out, listing->name);
    }
    json_decref(object);
    free(json);
    exp_table_free(table);
    return status;
}
