/* pathgcn reproduce, from the command line to the files. cmd_reproduce.c reads the command line,
 * plan.c lists the trainings that a table of the paper needs, the runner runs them, results.c
 * averages their records and compares them with the numbers of paper.c, report.c prints and
 * writes. */
#ifndef PGCN_REPRODUCE_H
#define PGCN_REPRODUCE_H

#include "experiments/experiments.h"

/* ---- paper.c -------------------------------------------------------------------------------- */

/* A number that the paper gives for pathGCN, in percent. */
typedef struct exp_paper {
    const char *experiment, *dataset;
    const char *variant; /* kernel: global, layer, depthwise; NULL: not given */
    int layers;          /* depth that it is for, 0: not given */
    int value;           /* paths or path length of the curves, else 0 */
    double accuracy;
    double stochastic, deviation; /* of ten draws; NaN but for `inference` */
    const char *source;           /* the table or figure of the paper */
} exp_paper;
/* Number i, or NULL after the last. */
const exp_paper *exp_paper_get(int i);
/* The paper's number for a cell; NULL if it gives none. Where it gives one depth only (`full`,
 * `inference`), any depth of ours is compared with it. "film:directed" is still the paper's Actor,
 * "cora:largest-component" is not its Cora. */
const exp_paper *exp_paper_find(const char *experiment, const char *dataset, const char *variant,
                                int layers, int value);

/* ---- plan.c --------------------------------------------------------------------------------- */

enum { EXP_MOST_SETS = 32, EXP_MOST_VALUES = 16 };

typedef struct exp_set_name {
    const char *name;
    bool optional; /* no error if it is not on this machine */
} exp_set_name;

typedef struct exp_numbers {
    int count;
    int value[EXP_MOST_VALUES];
} exp_numbers;

typedef struct exp_setting {
    const char *key, *value;
} exp_setting;

/* A line of a table that differs in some settings, or in its recipe. */
typedef struct exp_variant {
    const char *name;
    const char *recipe;    /* NULL: that of the data set */
    exp_setting change[3]; /* ends with a NULL key */
} exp_variant;

/* A way to split a data set. */
typedef struct exp_protocol {
    const char *name, *steps;
} exp_protocol;

/* Lists end with a NULL name; NULL is an empty list. */
typedef struct exp_experiment {
    const char *name, *title;
    const exp_set_name *datasets;
    exp_numbers layers, quick_layers; /* depths; 0: that of the recipe */
    const exp_variant *variants;
    const char *axis; /* setting that `values` belong to, or NULL */
    exp_numbers values, quick_values;
    exp_setting fixed;             /* a setting that the paper fixes; NULL key: none */
    bool splits;                   /* a run per published split, not per seed */
    bool stochastic;               /* compares deterministic with stochastic inference */
    const exp_protocol *protocols; /* the first one is the paper's */
    int runs;                      /* runs per line, where they are not ten */
    pgcn_task task;                /* the task it is about; PGCN_TASK_NONE: that of the data set */
} exp_experiment;
extern const exp_experiment exp_experiments[]; /* ends with a NULL name */

/* The command line. */
typedef struct exp_request {
    const cli_command *command;
    const cli_arguments *arguments; /* settings that override */
    const char *out, *data_dir, *recipe, *datasets, *layers;
    long long seeds; /* 0: as the experiment has them */
    bool quick, fresh, quiet, json;
    bool all; /* all experiments: those that do not fit a given data set are left out */
} exp_request;

/* One line of a table: the same training over seeds or splits. */
typedef struct exp_cell {
    const exp_experiment *experiment;
    char dataset[128];
    char absent[400];             /* why the data set is not available; "": it is */
    char recipe[512];             /* the value of --recipe that repeats it; "": none */
    const exp_variant *variant;   /* NULL: none */
    const exp_protocol *protocol; /* NULL: the splits of the data set */
    int value;                    /* of the axis, else 0 */
    pgcn_config config;           /* of the first run */
    int runs;
    size_t *job; /* [runs] indices into the list of jobs */
    const exp_paper *paper;
} exp_cell;

const char *exp_cell_variant(const exp_cell *cell);  /* its name, or "" */
const char *exp_cell_protocol(const exp_cell *cell); /* its name, or "" */

typedef struct exp_plan {
    int sets;
    exp_data set[EXP_MOST_SETS];
    size_t cells, room;
    exp_cell *cell;
    /* for each setting of the command line: whether a cell uses it, else why the last one does
     * not */
    bool used[CLI_MAX_SETTINGS];
    const char *why_unused[CLI_MAX_SETTINGS];
} exp_plan;

/* Adds the cells and jobs of an experiment; data sets are loaded as they are needed. */
pgcn_status exp_plan_add(exp_plan *plan, exp_jobs *jobs, const exp_request *request,
                         const exp_experiment *experiment);
/* An error if a given setting does nothing in any cell. */
pgcn_status exp_plan_check_options(const exp_plan *plan, const exp_request *request);
void exp_plan_free(exp_plan *plan);
/* Writes the command that repeats one job: pathgcn train ... --seed S. */
void exp_write_command(FILE *out, const exp_job *job, const char *recipe, const char *data_dir);

/* ---- results.c ------------------------------------------------------------------------------ */

typedef struct exp_summary {
    int done, failed;
    int other_builds; /* records made by another build of the program */
    /* test: without test items (crossval) it is the accuracy on the held-out fold at common_epoch,
     * the epoch with the best mean over the folds (GIN's protocol); 0: not used */
    exp_spread test, val, by_loss, by_accuracy, best_test;
    int64_t common_epoch;
    exp_spread draw, draw_deviation, draws; /* one draw, its deviation, the mean of ten */
    double seconds, epochs, peak_bytes;     /* sum, mean, largest */
    double difference;                      /* from the paper; NaN without a number */
} exp_summary;
exp_summary exp_summarise(const exp_jobs *jobs, const exp_cell *cell);

/* ---- report.c ------------------------------------------------------------------------------- */

/* Prints the table of an experiment and writes OUT/NAME.json, .csv and .md. */
pgcn_status exp_report(const exp_plan *plan, const exp_jobs *jobs, const exp_request *request,
                       const exp_experiment *experiment);

#endif
