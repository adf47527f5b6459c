/* experiments: many independent trainings, and the tables made of them. `reproduce` and `tune` are
 * here. Like src/cli this is a part of the program, not of the library: it uses the public header
 * and the helpers of cli/cli.h.
 *
 * Input: data sets and settings. A job (key.c, jobs.c) is one training. runner.c distributes jobs
 * over as many processes as there are cores (processes.c), or over the ranks that mpirun has started (ranks.c).
 * worker.c is what each of them does: the learning curve OUT/jobs/KEY.history.jsonl and one JSON record
 * OUT/jobs/KEY.json. The key is a hash of everything that the record depends on. So a job whose record exists is never
 * run again, whichever table asks for it. Output: records, and means over those that belong together (spread.c).
 *
 * reproduce: see reproduce.h for its files, cmd_reproduce.c is the command. tune: space.c,
 * halving.c, search.c, tune_data.c, tune_report.c, nested.c, nested_report.c and cmd_tune.c. Shared
 * names begin with exp_. */
#ifndef PGCN_EXPERIMENTS_H
#define PGCN_EXPERIMENTS_H

#include "cli/cli.h"
#include "report/report.h"

enum { EXP_KEY_BYTES = 33, EXP_HASH_BYTES = 65, EXP_PATH_BYTES = 4096, EXP_DRAWS = 10 };

/* ---- key.c ---------------------------------------------------------------------------------- */

/* A data set and the hash that identifies it. */
typedef struct exp_data {
    char name[320]; /* as it was asked for */
    pgcn_dataset *data;
    char hash[EXP_HASH_BYTES]; /* of its fingerprint and all its splits */
} exp_data;

/* SHA-256 of a text as 64 hexadecimal digits; false without memory. */
bool exp_hash(const void *bytes, size_t count, char out[EXP_HASH_BYTES]);
bool exp_data_hash(exp_data *data);
/* The hash of what a record depends on: data with splits, every setting but those of the group
 * "run", what is measured. `kind` is the same without seed and split: jobs of one kind take equally
 * long. */
bool exp_job_key(const exp_data *data, const pgcn_config *config, char key[EXP_KEY_BYTES],
                 char kind[EXP_KEY_BYTES]);
/* Hash of the program itself, to recognise records of another build; "" if it cannot be read. */
const char *exp_program_hash(void);

/* ---- jobs.c --------------------------------------------------------------------------------- */

typedef enum exp_state {
    EXP_WAITING,
    EXP_RUNNING,
    EXP_DONE,
    EXP_FAILED,
    EXP_DROPPED /* it was planned, but no table needs it any more */
} exp_state;

typedef struct exp_job {
    const exp_data *data; /* borrowed */
    pgcn_config config;   /* complete, with seed and split */
    char key[EXP_KEY_BYTES];
    int kind; /* index into the kinds of the list */
    exp_state state;
    json_t *record;    /* when done */
    char failure[400]; /* when failed: one sentence */
    bool diverged;     /* when failed: the loss was not finite, which is a result too */
    double begin;      /* cli_now() of its start */
    bool keeps_model;  /* KEY.safetensors is written beside the record */
} exp_job;

/* How long jobs take that differ in seed and split only. */
typedef struct exp_kind {
    char key[EXP_KEY_BYTES];
    double setup_seconds, epoch_seconds; /* measured on a few epochs; 0: not measured */
    int done;
    double seconds, epochs; /* sums over those done */
} exp_kind;

typedef struct exp_jobs {
    const cli_command *command;
    char directory[EXP_PATH_BYTES]; /* OUT/jobs */
    int lock;                       /* locks out a second program; -1: none */
    int64_t number;                 /* tells lists of one program apart */
    size_t count, room;
    exp_job *job;
    size_t kinds;
    exp_kind *kind;
} exp_jobs;

/* Makes and locks OUT/jobs. */
pgcn_status exp_jobs_open(exp_jobs *jobs, const cli_command *command, const char *out);
void exp_jobs_close(exp_jobs *jobs);
/* Adds a training, or finds it: equal keys are one job. Reads its record if there is one;
 * `fresh` removes it instead. *out is the index into jobs->job. The configuration must be
 * checked before. */
pgcn_status exp_jobs_add(exp_jobs *jobs, const exp_data *data, const pgcn_config *config,
                         bool fresh, size_t *out);
bool exp_job_path(const exp_jobs *jobs, const exp_job *job, const char *suffix,
                  char out[EXP_PATH_BYTES]);
/* Asks a job for its model too; one that is done but has none is run again. */
void exp_job_keep_model(exp_jobs *jobs, exp_job *job);
#define EXP_MODEL_SUFFIX ".safetensors"
/* Reads the record that a worker wrote; false if there is no valid one. */
bool exp_job_recall(exp_jobs *jobs, exp_job *job);
/* "cora, 64 layers, seed 3": how messages name a job. */
void exp_job_label(const exp_job *job, char out[160]);
/* A number of a record by the path of its keys, "selected.test_accuracy"; NaN where it is null. */
double exp_record_number(const json_t *record, const char *path);

/* ---- spread.c ------------------------------------------------------------------------------- */

typedef struct exp_spread {
    double mean, deviation; /* of a sample; 0 for one run; mean NaN for none */
} exp_spread;
/* Mean and squares, updated one figure at a time; starts as {0}. */
typedef struct exp_tally {
    int count;
    double mean, squares;
} exp_tally;
void exp_tally_add(exp_tally *tally, double figure);
exp_spread exp_tally_spread(const exp_tally *tally);
/* Over those of `count` jobs that are done; `path` as for exp_record_number. */
exp_spread exp_spread_of(const exp_jobs *jobs, const size_t *job, int count, const char *path);
json_t *exp_spread_to_json(exp_spread spread); /* {"mean", "std"} */
/* Validation accuracy of a run after an epoch, from 1 on; NaN if it was not evaluated. */
double exp_accuracy_after(const exp_job *job, int64_t epoch);
/* GIN's protocol: one epoch for all folds, the first with the best mean, and the spread at that
 * epoch. 0 if the jobs that are done evaluated no epoch in common. */
int64_t exp_common_epoch(const exp_jobs *jobs, const size_t *job, int count, exp_spread *out);

/* ---- worker.c ------------------------------------------------------------------------------- */

/* Seconds before the first epoch has ended, and of an epoch; 0: not known. */
typedef struct exp_timing {
    double setup_seconds, epoch_seconds;
} exp_timing;

/* What came of a job. */
typedef struct exp_outcome {
    pgcn_status status; /* PGCN_ERR_NUMERIC: its numbers were not finite, which is a result too */
    char failure[400];  /* one sentence */
    exp_timing timing;
    char *record, *history; /* text of its files; NULL after a failure */
    size_t record_bytes, history_bytes;
    void *model; /* NULL: nobody asked for it */
    size_t model_bytes;
} exp_outcome;

/* Asked before every step; false ends the job with PGCN_ERR_STOPPED. */
typedef struct exp_watch {
    bool (*go_on)(void *context);
    void *context;
} exp_watch;

/* Trains; or trains a few epochs, to measure how long they take. `watch` may be NULL. */
void exp_work(const exp_job *job, bool timing, const exp_watch *watch, exp_outcome *out);
/* Writes the files of a job that is done; outcome->status tells if that failed. */
void exp_outcome_keep(const exp_jobs *jobs, const exp_job *job, exp_outcome *outcome);
void exp_outcome_free(exp_outcome *outcome);

/* ---- who runs jobs: processes.c, ranks.c ------------------------------------------------------- */

typedef enum exp_end {
    EXP_END_DONE,
    EXP_END_FAILED,   /* KEY.log has a sentence */
    EXP_END_DIVERGED, /* likewise: its numbers were not finite */
    EXP_END_KILLED
} exp_end;
typedef struct exp_ending {
    size_t job;
    exp_end how;
    int code; /* the signal or the exit code of its process */
    exp_timing timing;
} exp_ending;

/* A crew runs jobs at the same time, as many as the runner starts. */
typedef struct exp_crew {
    void *(*open)(exp_jobs *jobs); /* NULL: no memory */
    /* Begins a job; false: errno says why it cannot be begun now. */
    bool (*start)(void *crew, size_t job, bool timing);
    /* The next job that has ended; false: none has. */
    bool (*ended)(void *crew, exp_ending *out);
    /* PGCN_OK: it can go on. Anything else has been said. */
    pgcn_status (*status)(const void *crew);
    /* Ends all jobs. Files of those that were done meanwhile are kept. */
    void (*stop)(void *crew);
    void (*close)(void *crew);
} exp_crew;
extern const exp_crew exp_processes, exp_ranks;

/* Jobs that run at the same time: as many as asked for, or 0, which is one for each core or each rank but the first. */
int exp_jobs_at_once(long long asked, long long threads);

/* ---- ranks_serve.c ----------------------------------------------------------------------------- */

/* What a rank other than 0 does: runs the jobs that rank 0 hands it, until that leaves. */
pgcn_status exp_ranks_serve(void);

/* ---- runner.c ------------------------------------------------------------------------------- */

typedef struct exp_pace {
    int processes;    /* or ranks, at the same time */
    int threads;      /* of each */
    bool quiet;       /* no estimate, no progress */
    int most_timings; /* kinds that are timed for the estimate, at most */
    const char *what; /* prefix of the progress line, "rung 1 of 3: "; "" */
} exp_pace;

/* Trains a few epochs of each kind of waiting jobs, for exp_expected_seconds(). */
pgcn_status exp_jobs_time(exp_jobs *jobs, const exp_pace *pace);
/* Runs all jobs that are waiting, longest first; afterwards each is done or failed. That a job
 * failed is no error of this function, an interruption is (PGCN_ERR_SYSTEM). */
pgcn_status exp_jobs_run(exp_jobs *jobs, const exp_pace *pace);
size_t exp_jobs_in(const exp_jobs *jobs, exp_state state); /* how many are in that state */
size_t exp_jobs_wanted(const exp_jobs *jobs);              /* all but those that were dropped */

/* ---- estimate.c ----------------------------------------------------------------------------- */

/* Estimated seconds of a job: from jobs of its kind that are done, else from a few timed epochs,
 * else from other kinds. `most`: if it does not stop early. */
double exp_expected_seconds(const exp_jobs *jobs, const exp_job *job, double *most);

/* ---- table.c -------------------------------------------------------------------------------- */

/* A table of text, printed for people, as Markdown or as LaTeX (a plain tabular). */
typedef struct exp_table exp_table;
typedef enum exp_format { EXP_TEXT, EXP_MARKDOWN, EXP_LATEX, EXP_CSV } exp_format;
/* `heads` are separated by '|'; one that begins with '>' is aligned to the right. */
exp_table *exp_table_new(const char *heads);
void exp_table_add(exp_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void exp_table_print(FILE *out, const exp_table *table, exp_format format);
void exp_table_to_page(report_page *page, const exp_table *table);
/* A line is an object, with the heads as its keys and text as its values. */
json_t *exp_table_to_json(const exp_table *table);
/* Text with the characters escaped that LaTeX would obey. */
void exp_put_latex(FILE *out, const char *text);
void exp_table_free(exp_table *table);

/* ---- pages ---------------------------------------------------------------------------------- */

/* Ends and writes a page, frees it, and tells the error if there is one. In tune_page.c. */
pgcn_status exp_page_end(const cli_command *command, report_page *page, const char *path);

#endif
