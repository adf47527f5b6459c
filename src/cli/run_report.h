/* pathgcn report, in these files. cmd_report.c reads the command line; run_load.c loads runs and judges
 * them; run_verdict.c tells how good one is (verdict, curves, measures, classes, calibration),
 * run_kernels.c what it learnt, run_nodes.c shows its items in two dimensions,
 * run_explain.c explains the worst errors, run_facts.c is about
 * data, settings and how to repeat it, run_several.c sets runs side by side. Pages and charts are those
 * of src/report. */
#ifndef PGCN_CLI_RUN_REPORT_H
#define PGCN_CLI_RUN_REPORT_H

#include "cli/comparison.h"
#include "report/report.h"

/* A run, and what could be found out about it. */
typedef struct cli_run {
    const char *given; /* as it was named */
    char model_path[CLI_PATH_BYTES];
    char directory[CLI_PATH_BYTES]; /* of the model, with folders of seeds in it, or not */
    pgcn_model *model;
    const pgcn_config *config; /* of the model */
    pgcn_task task;
    json_t *record; /* of data.json, owns what `source` points to; NULL: none */
    const char *dataset;
    cli_source source;
    pgcn_dataset *data; /* NULL: not there any more */
    char missing[2048]; /* why */
    pgcn_dataset_info info;
    pgcn_scores scores;    /* where there is data */
    pgcn_verdict *verdict; /* likewise; or NULL */
    pgcn_part part;        /* that figures are told of: test, or what there is */
    pgcn_measure measure;  /* that results are reported in */
    json_t *history;       /* of the model: an array of objects */
    json_t *result;        /* result.json of its training; NULL: none */
    json_t *race;          /* race.json; NULL: none */
    cli_results results;   /* of all seeds of the run; count 0: no result.json */
    int seeds;
    json_t **seed_history; /* [seeds], where there are several */
} cli_run;

/* Loads a run: its directory, or a model file. Missing data is no error; free it in any case. */
pgcn_status cli_run_load(const cli_command *command, const char *path, const char *data_dir,
                         cli_run *run);
void cli_run_free(cli_run *run);
/* A score of validation or test items: of the data, or what result.json holds. False: not known. */
bool cli_run_score(const cli_run *run, pgcn_part part, pgcn_score *out);
/* How many items a part has; 0: not known. */
int64_t cli_run_items(const cli_run *run, pgcn_part part);
/* "test", "validation", "training", "labelled". */
const char *cli_part_word(pgcn_part part);
/* The values of a key of a history over its epochs, without those that are null. */
typedef struct cli_curve {
    int64_t count;
    double *epoch, *value;
} cli_curve;
cli_curve cli_run_curve(const json_t *history, const char *key);
void cli_curve_free(cli_curve *curve);
/* The name of class c, or its number; valid until the fourth call after it. */
const char *cli_run_class(const cli_run *run, int c);

/* Sections of the report of one run. */
void cli_report_head(report_page *page, const cli_run *run);
void cli_report_curves(report_page *page, const cli_run *run);
void cli_report_measures(report_page *page, const cli_run *run);
void cli_report_classes(report_page *page, const cli_run *run);
void cli_report_calibration(report_page *page, const cli_run *run);
void cli_report_kernels(report_page *page, const cli_run *run);
void cli_report_nodes(report_page *page, const cli_run *run);
void cli_report_data(report_page *page, const cli_run *run);
void cli_report_settings(report_page *page, const cli_run *run);
void cli_report_repeat(report_page *page, const cli_run *run);
/* Why an item was predicted as it was and not as its true class, a part of the section of nodes. rank:
 * the number of the error, from 1. In run_explain.c. */
void cli_report_explain(report_page *page, const cli_run *run, int64_t item, int truth, int rank);
bool cli_report_has_kernels(const cli_run *run);
/* The command that trains it again, to the last bit on the same instruction set. */
void cli_report_command(report_text *out, const cli_run *run);
/* All of it for programs. */
json_t *cli_report_to_json(const cli_run *run);
/* The verdict on a run in a few sentences. */
void cli_report_verdict(report_text *out, const cli_run *run);

/* Runs side by side. */
pgcn_status cli_report_several(const cli_command *command, report_page *page, const cli_run *runs,
                               int count);

#endif
