/* The command line. It uses the public header and nothing else of the library, so whatever a
 * command does a program can do too. One file per command (train has several, see train.h).
 * options.c parses options and writes help; output.c prints messages and formats numbers.
 *
 * Errors. As in the library, a function that can fail returns pgcn_status: PGCN_OK means go on,
 * anything else means stop. The function that finds the error prints one line on standard error
 * (cli_fail, cli_report). Its callers print nothing more and pass the status up to main(), which
 * turns it into the exit code (cli_exit_code). A bool is never an error that was printed.
 *
 * Standard output is checked once, by main(), when a command is done: commands print without
 * looking. */
#ifndef PGCN_CLI_H
#define PGCN_CLI_H

#include "pathgcn/pathgcn.h"

#include <jansson.h>
#include <stdio.h>

enum { CLI_PATH_BYTES = 4096 };
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_SIGNAL = 128 };

/* Returns from the calling function if the call failed. Only where nothing has to be freed. */
#define CLI_TRY(call)                                                                              \
    do {                                                                                           \
        pgcn_status cli_try_status = (call);                                                       \
        if (cli_try_status != PGCN_OK) return cli_try_status;                                      \
    } while (0)

/* ---- options.c ------------------------------------------------------------------------------ */

typedef struct cli_option {
    const char *name;   /* without the dashes */
    const char *value;  /* placeholder of its value in the help; NULL: a flag */
    const char *preset; /* shown as the default; may be NULL */
    const char *help;
    const char **text; /* receives the value */
    bool *flag;        /* or is set to true */
} cli_option;

/* clang-format off */
#define CLI_JSON_OPTION(flag) {"json", NULL, NULL, "print one JSON line", NULL, &(flag)}
#define CLI_OPTIONS_END       {NULL, NULL, NULL, NULL, NULL, NULL}
/* clang-format on */

/* An option or a setting in the short help. What is NULL is as in the full one. */
typedef struct cli_brief {
    const char *name, *value, *help;
} cli_brief;

/* Groups of pgcn_config_field(), as flags. */
typedef enum cli_groups {
    CLI_GROUP_MODEL = 1,
    CLI_GROUP_TRAINING = 2,
    CLI_GROUP_RUN = 4
} cli_groups;

typedef struct cli_command {
    const char *name, *summary;
    const char *arguments;       /* "NAME|DIR", "MODEL [NAME|DIR]" */
    const char *text;            /* paragraphs of explanation */
    const char *examples;        /* lines; the first three are in the short help too */
    const char *brief;           /* the text of the short help, lines; may be NULL */
    const cli_brief *most_used;  /* in the short help, NULL name at the end; NULL: there is none */
    unsigned config_groups;      /* cli_groups of settings that are options too; 0: none */
    int least_words, most_words; /* how many arguments that are not options it takes */
    bool computes;               /* and so needs a processor with the kernels asked for */
    bool races;                  /* it accepts --model auto */
    pgcn_status (*run)(int argc, char **argv);
    /* what ranks other than 0 do under mpirun, where they take jobs of rank 0; NULL: they do not */
    pgcn_status (*serve)(void);
    bool shares_rows; /* under mpirun ranks divide the rows; without both rank 0 does all */
    const struct cli_command *const *parts; /* "data info", ...: NULL at the end; or NULL */
} cli_command;

extern const cli_command cli_train, cli_eval, cli_predict, cli_paths, cli_data, cli_info,
    cli_kernels, cli_compare, cli_run_report, cli_explain;
extern const cli_command cli_reproduce, cli_tune; /* in src/experiments */
extern const cli_command cli_recipes, cli_recipes_list, cli_recipes_show;
extern const cli_command cli_data_list, cli_data_info, cli_data_check, cli_data_convert, cli_fetch,
    cli_data_partition;

enum { CLI_MAX_SETTINGS = 256, CLI_MAX_WORDS = 128 };
typedef struct cli_arguments {
    bool help_shown;   /* after --help: the command has nothing more to do */
    bool all_networks; /* --model auto, which is no setting */
    int words;
    const char *word[CLI_MAX_WORDS];
    int settings; /* --key value of pgcn_config fields, each once */
    const char *key[CLI_MAX_SETTINGS], *value[CLI_MAX_SETTINGS];
    int options; /* the same of the command's own options */
    const char *option[CLI_MAX_SETTINGS], *option_value[CLI_MAX_SETTINGS];
} cli_arguments;

/* Parses everything after the command's name. After --help it returns PGCN_OK with out->help_shown,
 * and the command ends there. `options` ends with a NULL name. */
pgcn_status cli_parse(const cli_command *command, const cli_option *options, int argc, char **argv,
                      cli_arguments *out);
/* The first argument that is not an option; NULL if there is none. */
const char *cli_first_word(const cli_arguments *arguments);
/* Applies the collected settings. */
pgcn_status cli_apply(const cli_command *command, const cli_arguments *arguments,
                      pgcn_config *config);
/* Runs the part of a command that argv[0] names. */
pgcn_status cli_run_part(const cli_command *command, int argc, char **argv);
/* Settings of the group "run" (threads, ...) do not change results. */
bool cli_is_run_setting(const pgcn_field *field);
bool cli_is_given(const cli_arguments *arguments, const char *key);
const char *cli_setting_given(const cli_arguments *arguments,
                              const char *key); /* NULL: it is not */
/* Applies them over valid settings: a setting that a given one rules out is reset, unless it is
 * given too. */
pgcn_status cli_overlay(const cli_command *command, const cli_arguments *arguments,
                        pgcn_config *config);
/* The same, and checks the result; for a data set, or for any (NULL). */
pgcn_status cli_configure(const cli_command *command, const cli_arguments *arguments,
                          const pgcn_dataset *data, pgcn_config *config);
/* A whole number within bounds. */
pgcn_status cli_number(const cli_command *command, const char *option, const char *text,
                       long long low, long long high, long long *out);
/* The value of --memory, "512M" or "4G", in bytes; NULL leaves it as it is. */
pgcn_status cli_memory(const cli_command *command, const char *text, int64_t *out);
/* Checks that `first` .. `first + count - 1` are all valid seeds. */
pgcn_status cli_check_seeds(const cli_command *command, uint64_t first, long long count);
void cli_write_help(FILE *out, const cli_command *command, const cli_option *options,
                    const pgcn_config *model); /* NULL: of all networks */
/* One screen: usage, most used options, some examples. */
void cli_write_short_help(FILE *out, const cli_command *command, const cli_option *options);
/* False for a setting that only other networks have. */
bool cli_has_setting(const pgcn_config *config, const pgcn_field *field);
/* A suggestion for a misspelt `name`: the nearest of the candidates that are offered. */
typedef struct cli_guess {
    const char *name, *best;
    size_t distance;
} cli_guess;
cli_guess cli_guess_start(const char *name);
void cli_guess_offer(cli_guess *guess, const char *candidate);
/* " (did you mean PREFIXbest?)", or "" if nothing is near. */
enum { CLI_HINT_BYTES = 96 };
void cli_guess_hint(const cli_guess *guess, const char *prefix, char out[CLI_HINT_BYTES]);
/* Where --help goes: standard output unless the manual collects it. */
extern FILE *cli_help_stream;

/* ---- ranks.c --------------------------------------------------------------------------------- */

/* Before the command (NULL: one that is only text): joins the others if a launcher has started any and the command shares
 * its work; `done`: there is nothing more to do for this rank. */
pgcn_status cli_ranks_begin(const cli_command *command, bool *done);
/* A rank other than 0, which serves that one and prints nothing: a sentence is kept for rank 0. */
bool cli_ranks_serves(void);
void cli_ranks_keep(const char *sentence);
pgcn_status cli_ranks_serve(const pgcn_dataset *data);
/* On rank 0, "note: ..." if there are more ranks than groups of nodes to give them. */
void cli_ranks_note(const pgcn_dataset *data);
/* At the end of the program, with its exit code; returns that to end with. */
int cli_ranks_end(int code);

/* ---- output.c ------------------------------------------------------------------------------- */

/* "pathgcn COMMAND: message" on standard error, in one line whatever the message quotes. For
 * warnings, and for errors after which the command goes on. */
void cli_complain(const cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for an error that the program found; returns `status`. */
pgcn_status cli_fail(const cli_command *command, pgcn_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for the result of a library call: prints pgcn_last_error() unless it is PGCN_OK. Returns
 * `status`. */
pgcn_status cli_report(const cli_command *command, pgcn_status status);
/* PGCN_ERR_ARGUMENT is wrong usage, any other error a failure; after Ctrl-C it is 130, as shells expect. */
int cli_exit_code(pgcn_status status);
/* One JSON line on standard output; takes ownership of `object`. */
pgcn_status cli_print_json(const cli_command *command, json_t *object);
/* A JSON file, complete or not at all; `flags` are those of json_dumps(). */
pgcn_status cli_write_json(const cli_command *command, const char *path, const json_t *object,
                           size_t flags);
/* A dumped document with DEL and C1 escaped too, which a terminal would obey. */
void cli_put_json(FILE *out, const char *document);
json_t *cli_json_real(double value); /* null for NaN and infinities */
/* A string. Text that is not UTF-8, which JSON cannot hold, gets \xe9 for every byte beyond
 * ASCII. */
json_t *cli_json_text(const char *text);
/* Every setting as a string, with or without those of the group "run". */
json_t *cli_config_to_json(const pgcn_config *config, bool run_settings);
/* A word as a shell reads it back: quoted where it must be. */
void cli_print_quoted(FILE *out, const char *word);
double cli_now(void);             /* seconds */
double cli_core_seconds(void);    /* of processor time, of all threads of this process so far */
int64_t cli_peak_rss_bytes(void); /* of this process so far */
pgcn_status cli_make_directory(const cli_command *command, const char *path);
void cli_format_duration(double seconds, char out[32]);
/* A difference with two digits: "+0.61", "-0.10"; "0.00" has no sign, which would look like a difference.
 * Returns out. */
const char *cli_format_signed(double difference, char out[32]);
enum { CLI_BAR_BYTES = 24 };
void cli_format_bar(double share, char out[CLI_BAR_BYTES]); /* "[#####...............] " for 0.25 */
void cli_format_count(int64_t count, char out[32]);         /* 1,234,567 */

int64_t cli_mask_size(const uint8_t *mask, int64_t items); /* how many are in it */

/* What is classified, "nodes" or "graphs"; and the metric: "accuracy" where each has one class,
 * "micro-F1" where nodes have several labels. */
const char *cli_items(pgcn_task task);
const char *cli_metric(pgcn_task task);

bool cli_ends_in(const char *text, const char *ending); /* and is longer than it */

/* Text of a file for people: control characters escaped (pgcn_text_printable). */
void cli_put_text(FILE *out, const char *text);
/* A cell as RFC 4180 wants it: quoted where it holds a comma, a quote or a line end. Control characters
 * are escaped but for tabs and line feeds. */
void cli_put_cell(FILE *out, const char *text);
/* The id that the data has for a node, as a cell; without ids its number. */
void cli_put_id(FILE *out, const pgcn_dataset *data, int64_t node);
/* Convert between rows of the data set and node numbers of the source. They differ after the step
 * `order`. */
int64_t cli_node_number(const pgcn_dataset *data, int64_t row);
int64_t cli_node_row(const pgcn_dataset *data, int64_t number);
/* nodes.c: the rows of "a,b,c", ids as they stand in the data, or of a file with an id in every line. The caller frees
 * *out. */
pgcn_status cli_nodes(const cli_command *command, const char *option, const char *text,
                      const pgcn_dataset *data, pgcn_node **out, int64_t *count);

/* ---- measures.c ----------------------------------------------------------------------------- */

/* "balanced accuracy", "AUC"; accuracy as cli_metric(). */
const char *cli_measure_title(pgcn_measure measure, pgcn_task task);
void cli_measure_key(pgcn_measure measure, char out[32]); /* as in JSON: "balanced_accuracy" */
/* The measure that results are reported in: that of the recipe (NULL: none), else that of the data
 * set. */
pgcn_measure cli_measure_of(const pgcn_dataset_info *info, const pgcn_recipe_info *recipe);
/* Adds "PART_auc" and all other measures but the accuracy, "PART_majority" and
 * "PART_classes_missed"; and where nodes of several graphs have labels, "PART_graph_accuracy", "PART_graphs" and
 * "PART_graph_nodes". */
void cli_put_scores(json_t *object, const char *part, const pgcn_score *score);
/* There also a line: how many nodes of which graphs were scored in each part; part: "training". */
void cli_print_scored(const pgcn_score *const score[], const char *const part[], int parts);
/* ---- verdict.c: class by class ---- */
void cli_verdict_print(const pgcn_model *model, const pgcn_judgement *judgement, pgcn_part part);
json_t *cli_verdict_to_json(const pgcn_model *model, const pgcn_judgement *judgement);
/* All parts as CSV: a line for each class. */
pgcn_status cli_verdict_write(const cli_command *command, const char *path, const pgcn_model *model,
                              const pgcn_verdict *verdict);
/* Prints a note that suggests a measure if the training classes are imbalanced and the data set
 * names no measure. */
void cli_note_unequal(FILE *out, const pgcn_dataset *data);
/* Prints a note if the split of that name has so few labelled validation items that they decide little. */
void cli_note_few(FILE *out, const pgcn_dataset *data, const char *split);
/* How a run was trained, as far as advice depends on it. */
typedef struct cli_training {
    pgcn_task task;
    bool weighted;   /* with class weights */
    bool by_measure; /* epochs were chosen by another measure than accuracy or loss */
    const pgcn_config *config;
} cli_training;
/* Whether the majority baseline is beaten, or accuracy is not what the training was about. */
bool cli_is_beaten(const pgcn_score *val, const cli_training *training);
/* Prints one sentence of advice if a class is never predicted or the majority baseline is not beaten.
 * class_name: of val->first_missed, or NULL. */
void cli_advise(FILE *out, const pgcn_score *val, const char *class_name,
                const cli_training *training);

/* ---- history.c ------------------------------------------------------------------------------ */

/* Writes an epoch as a line of JSON, as history.jsonl has it; false if that failed. */
bool cli_write_history_line(FILE *file, const pgcn_epoch *epoch, const pgcn_config *config,
                            const pgcn_row_reads *reads);
/* Adds what was read of features that are on disk; NULL: they are in memory. */
void cli_put_reads(json_t *object, const pgcn_row_reads *reads);

/* ---- interval.c ----------------------------------------------------------------------------- */

/* P(|T| >= |t|) of Student's T: what is left for chance. */
double cli_student_p(double t, long long freedom);
/* The standard error of the mean of `pairs` differences, one per split, from their deviation. Splits of one graph share
 * nodes: share = test items / training items raises the error for that (Nadeau and Bengio); 0: they share none. */
double cli_error_over_splits(double deviation, long long pairs, double share);
/* The p-value of a mean difference; NaN if the error is. */
double cli_difference_p(double mean, double error, long long freedom);
/* Half the width of the 95 % interval of the mean of `count` independent runs, from their deviation
 * (with N - 1), by Student's t. NaN for fewer than two runs. */
double cli_interval_95(double deviation, long long count);
/* The interval of a mean of percentages, clipped to 0 .. 100; false for fewer than two runs. */
bool cli_interval_of_mean(double mean, double deviation, long long count, double *low,
                          double *high);
json_t *cli_json_interval(double mean, double deviation,
                          long long count); /* [low, high], or null */

/* ---- cmd_kernels.c -------------------------------------------------------------------------- */

/* What the kernels of one layer, [path_length, channels], do: f(1), f(0) and f(-1) as means over the
 * channels, and how many channels smooth, take differences, have a negative weight. */
typedef struct cli_kernel_effect {
    double at[3];
    int smooth, difference, negative;
} cli_kernel_effect;
cli_kernel_effect cli_kernel_measure(const float *weight, int path_length, int channels);

/* ---- cmd_report.c --------------------------------------------------------------------------- */

/* Writes directory/report.html, whose path is `out`, about the run in a directory. */
pgcn_status cli_report_write(const cli_command *command, const char *directory,
                             char out[CLI_PATH_BYTES]);

/* ---- machine.c ------------------------------------------------------------------------------ */

/* Where a program runs: version, instruction set, processor, cores, system. */
json_t *cli_machine_to_json(void);

/* ---- columns.c ------------------------------------------------------------------------------ */

/* A table of what became of the columns of the features; nothing where they were numbers. */
void cli_print_columns(const pgcn_dataset *data);
json_t *cli_columns_to_json(const pgcn_dataset *data); /* a list, or null */

/* ---- source.c ------------------------------------------------------------------------------- */

/* Where a data set comes from, besides its name. */
typedef struct cli_source {
    const char *data_dir, *steps, *edges, *features, *labels, *splits, *name;
    const char *header, *unknown_ids;
    const char *id, *from, *to, *weight, *label, *use, *ignore, *decimal, *encode, *encode_from;
    const char *encoder; /* no option: the rules of a model, by which its data is read; or NULL */
    int64_t memory; /* the features of a container stay on disk, within so much memory; 0: not */
} cli_source;
/* clang-format off */
#define CLI_SOURCE_OPTIONS(s)                                                                      \
    {"data", "DIR", "PATHGCN_DATA", "folder that holds named data sets", &(s).data_dir, NULL},     \
    {"prepare", "STEPS", NULL,                                                                     \
     "steps, like those after the colon of a name: directed, self-loops, largest-component, "      \
     "features=own+labels+degrees+identity+adjacency, stratified=60/20/20, random=60/20/20, "      \
     "per-class=20/500/1000, kfold=10, crossval=10, fair=FILE, splits=10, split-seed=0, only-split=public, "   \
     "without-test, order=community, groups=32",                                                   \
     &(s).steps, NULL},                                                                            \
    {"edges", "FILE", NULL,                                                                        \
     "your own graph: from,to[,weight] (text or gzip); a.csv,b.csv are one graph", &(s).edges,     \
     NULL},                                                                                        \
    {"features", "FILE", NULL,                                                                     \
     "its features: id, then numbers, categories, dates, yes or no; or .npy", &(s).features, NULL}, \
    {"labels", "FILE", NULL, "its classes: id,class; empty: to be predicted", &(s).labels, NULL},  \
    {"splits", "FILE", NULL, "its split: id and train | val | test", &(s).splits, NULL},           \
    {"name", "NAME", NULL, "what to call it; by default like the edge file", &(s).name, NULL},     \
    {"header", "auto | yes | no", "auto",                                                          \
     "whether the first line of these files, or of an edge list, is a header; auto: by known "     \
     "words, by text above numbers, and by whether its ids occur again; a note reports it; of "    \
     "single files: features=yes,labels=no",                                                       \
     &(s).header, NULL},                                                                           \
    {"unknown-ids", "refuse | keep", "refuse",                                                     \
     "ids of labels or edges that the features (or edges) lack, if more than a tenth: refuse, or " \
     "keep as nodes without features (or edges)",                                                  \
     &(s).unknown_ids, NULL},                                                                      \
    {"id", "COLUMN", NULL,                                                                         \
     "the column of the ids in features, labels and splits, by name or number from 1; without "    \
     "it, and in files that have none of that name, the first", &(s).id, NULL},                    \
    {"from", "COLUMN", NULL, "where edges begin; by default the first column", &(s).from, NULL},   \
    {"to", "COLUMN", NULL, "where edges end; by default the second column", &(s).to, NULL},        \
    {"weight", "COLUMN", NULL, "the weight of edges; without --from and --to the third column",    \
     &(s).weight, NULL},                                                                           \
    {"label", "COLUMN", NULL, "the class, in a file of labels with more columns", &(s).label, NULL}, \
    {"use", "COLUMNS", NULL, "the only columns of the features to read: age,city", &(s).use, NULL}, \
    {"ignore", "COLUMNS", NULL, "columns of the features not to read", &(s).ignore, NULL},         \
    {"decimal", "auto | point | comma", "auto",                                                    \
     "how decimals are written; auto: with a comma where semicolons separate cells and it fits",   \
     &(s).decimal, NULL},                                                                          \
    {"encode", "yes | no", "yes",                                                                  \
     "whether categories, dates and gaps of the features become numbers; no: they are refused",    \
     &(s).encode, NULL},                                                                           \
    {"encode-from", "all | train", "all",                                                          \
     "whether means and categories are learnt from all nodes, or from training nodes only, which " \
     "needs a single split (--prepare only-split=0)", &(s).encode_from, NULL}
/* The same in the short help. */
#define CLI_BRIEF_SOURCE                                                                           \
    {.name = "data"}, {.name = "edges", .help = "your own graph: from,to[,weight]"},               \
    {.name = "features"}, {.name = "labels", .help = "its classes: id,class"},                     \
    {.name = "prepare", .help = "steps: largest-component, random=60/20/20, ..."}
/* clang-format on */

/* Loads it. An error message ends with `advice`. `name` is NULL where --edges is given. */
pgcn_status cli_load_dataset(const cli_command *command, const char *name, const cli_source *source,
                             const char *advice, pgcn_dataset **out);
/* Without --memory: a container that is longer than memory is refused at once, with what --memory does (`advice`). */
pgcn_status cli_check_fits(const cli_command *command, const char *what, const char *name,
                           const cli_source *source, const char *advice);
/* What loading it will take, before anything is read; 0: not known. */
pgcn_status cli_estimate(const cli_command *command, const char *name, const cli_source *source,
                         int64_t *bytes);
/* Checks that these options go together, before any work. */
pgcn_status cli_source_check(const cli_command *command, const char *name,
                             const cli_source *source);
/* The same without a word: the reason of an error is in pgcn_last_error(). */
pgcn_status cli_source_load(const char *name, const cli_source *source, pgcn_dataset **out);
/* Tables become numbers by the rules of the model; without any it was trained on plain numbers. */
void cli_source_follow(const pgcn_model *model, cli_source *source);
/* " NAME --data DIR ...": the options that say where the data is, as a shell reads them. */
void cli_source_print(FILE *out, const char *dataset, const cli_source *source);
void cli_print_notes(FILE *out, const pgcn_dataset *data); /* "note: ...", a line each */
/* --recipe auto: a race finds the recipe. */
bool cli_is_auto(const char *recipe);
bool cli_is_usual(const char *recipe);
/* Whether a recipe is for any data set, or there is none. */
bool cli_is_general(const pgcn_recipe_info *recipe);
/* Whether --model names a network that has recipes of its own: any but the first. */
bool cli_names_network(const cli_arguments *arguments);
/* Refuses --recipe where it and --model ask for different things. */
pgcn_status cli_check_race(const cli_command *command, const cli_arguments *arguments,
                           const char *recipe);
/* The recipe that --recipe and --model mean, for the depth of --layers and the split of --split;
 * recipe: NULL or usual: what suits the data. */
pgcn_status cli_find_recipe(const cli_command *command, const cli_arguments *arguments,
                            const char *recipe, const pgcn_dataset *data, pgcn_config *out,
                            pgcn_recipe_info *info);
/* A race of the families, or with --model auto of all networks, under `given`. */
pgcn_status cli_new_race(const cli_command *command, const cli_arguments *arguments,
                         const pgcn_dataset *data, const pgcn_config *given, pgcn_race **out);
/* Writes directory/data.json: how the data was loaded, with absolute paths. cli_source_recall() reads
 * the one beside the model file `model`; NULL if there is none, else the object that owns the
 * strings. */
pgcn_status cli_source_write(const cli_command *command, const char *directory, const char *dataset,
                             const cli_source *source);
json_t *cli_source_recall(const char *model, const char **dataset, cli_source *source);

/* --class-weights FILE. The setting itself is a list of numbers in the order of the classes, which are
 * known after the data is loaded. Before that, cli_weights_defer() replaces the file by a value that
 * any check accepts. Afterwards cli_weights_read() replaces that by the list in the file. */
typedef struct cli_weights {
    const char *file; /* NULL: none */
    char text[PGCN_SETTING_BYTES];
} cli_weights;
void cli_weights_defer(cli_arguments *arguments, cli_weights *weights);
pgcn_status cli_weights_read(const cli_command *command, const cli_source *source,
                             const pgcn_dataset *data, cli_arguments *arguments,
                             cli_weights *weights);

/* ---- request.c ------------------------------------------------------------------------------ */

/* A model, by its file or its run, and the data set `name` or that of the source; NULL and no files: that of its
 * training, which must be the same still. Both are the caller's to free; NULL after an error. */
pgcn_status cli_load_model_data(const cli_command *command, const char *path, const char *name,
                                const cli_source *source, pgcn_model **model, pgcn_dataset **data);

/* ---- steps.c -------------------------------------------------------------------------------- */

/* Steps that prepare a data set, as flags. */
typedef enum cli_step {
    CLI_STEP_OTHER = 0, /* no command asks about it */
    CLI_STEP_DIRECTED = 1 << 0,
    CLI_STEP_SYMMETRISE = 1 << 1,
    CLI_STEP_SELF_LOOPS = 1 << 2,
    CLI_STEP_LARGEST_COMPONENT = 1 << 3,
    CLI_STEP_FEATURES = 1 << 4,
    CLI_STEP_STRATIFIED = 1 << 5,
    CLI_STEP_RANDOM = 1 << 6,
    CLI_STEP_PER_CLASS = 1 << 7,
    CLI_STEP_KFOLD = 1 << 8,
    CLI_STEP_CROSSVAL = 1 << 9,
    CLI_STEP_ONLY_SPLIT = 1 << 10,
    CLI_STEP_WITHOUT_TEST = 1 << 11,
    CLI_STEP_FAIR = 1 << 12
} cli_step;

/* A step in a list. Starts as {.rest = list}; cli_step_next() fills in the next one, false at the
 * end. */
typedef struct cli_step_word {
    const char *rest; /* the list; NULL is empty */
    const char *text; /* "crossval=10", `length` characters */
    size_t length;
    cli_step step;
} cli_step_word;
bool cli_step_next(cli_step_word *word);
/* Whether one of the steps `wanted` is in the list. */
bool cli_steps_include(const char *steps, unsigned wanted);
/* "first,more"; `first` may be NULL. False if it does not fit. */
bool cli_steps_join(char *out, size_t bytes, const char *first, const char *more);

/* ---- run_directory.c ------------------------------------------------------------------------ */

/* Where a run writes while the directory holds another one, which it replaces when it is
 * finished. */
#define CLI_UNFINISHED "unfinished"

typedef enum cli_holds {
    CLI_HOLDS_NOTHING,     /* no work that could be lost */
    CLI_HOLDS_INTERRUPTED, /* a checkpoint to resume from */
    CLI_HOLDS_FINISHED,
    CLI_HOLDS_SEEDS,  /* runs in folders seed-S */
    CLI_HOLDS_MODEL,  /* a model or result without its checkpoint */
    CLI_HOLDS_MIXTURE /* seeds, and a run beside them: pathgcn 0.1 could leave that */
} cli_holds;
cli_holds cli_run_holds(const char *directory);
/* Locks the directory against a second program until the descriptor *lock is closed; -1: the file
 * system cannot lock. `doing`: what the error message says that the other program does, "training". */
pgcn_status cli_run_lock(const cli_command *command, const char *directory, const char *doing,
                         int *lock);
/* Removes temporary files of programs that were killed; nobody else may be writing. */
void cli_run_remove_leftovers(const char *directory);
/* Removes all files of runs, those of seeds too, and the directory if nothing else is in it. */
void cli_run_clear(const char *directory);
/* Replaces the run in `directory` by the complete run in `staged`, a folder in it. If the program
 * is killed at any moment, files of two runs are never mixed. */
pgcn_status cli_run_replace(const cli_command *command, const char *directory, const char *staged);
/* Completes a replacement that was killed. */
pgcn_status cli_run_settle(const cli_command *command, const char *directory);
/* Where the file `path` of a run is, also after a replacement was killed. */
void cli_run_file(const char *path, char out[CLI_PATH_BYTES]);
/* The model in the directory of a run; any other path is that of a model itself. */
const char *cli_model_path(const char *path, char out[CLI_PATH_BYTES]);
pgcn_status cli_load_model(const char *path,
                           pgcn_model **out); /* from where cli_run_file finds it */

/* ---- terminal.c ----------------------------------------------------------------------------- */

/* From now on the first Ctrl-C, SIGTERM or SIGHUP only makes cli_interrupted() true; it is the number of the
 * signal. */
void cli_catch_signals(void);
int cli_interrupted(void);
/* For callbacks that ask whether to go on. */
bool cli_not_interrupted(void *context);
int cli_terminal_columns(void);
/* Columns that a text of UTF-8 takes in a terminal; and the text in `width` of them, filled up with blanks (`right`: before
 * it) and cut between characters. */
int cli_columns_of(const char *text);
void cli_put_padded(FILE *out, const char *text, int width, bool right);
/* A sentence and a line end, of which `used` columns are written already. In a terminal no word is cut. */
void cli_put_wrapped(FILE *out, const char *text, int used);

/* ---- progress.c ----------------------------------------------------------------------------- */

typedef struct cli_progress {
    bool terminal, piped; /* neither with --quiet */
    FILE *log;            /* --log; or NULL */
    double shown, logged; /* when a line was written last */
    bool dirty;           /* a line is in the terminal */
} cli_progress;
pgcn_status cli_progress_open(cli_progress *progress, const cli_command *command, bool quiet,
                              const char *log_path);
void cli_progress_close(cli_progress *progress);
/* Whether it is time for a line, so that nobody writes one in vain. */
bool cli_progress_is_due(const cli_progress *progress);
/* piece: what the line says, the most important first, NULL at the end. share: of the work that is done. */
void cli_progress_show(cli_progress *progress, double share, const char *const *piece);
/* The last line of a log. */
void cli_progress_end(cli_progress *progress, const char *const *piece);
void cli_progress_clear(cli_progress *progress);
/* "rows 84% cached, 1.2 GB read"; "": nothing was read. */
void cli_format_reads(const pgcn_row_reads *reads, char out[80]);
void cli_format_speed(double per_second, const char *what, char out[48]);

/* ---- manual.c: `pathgcn manual` prints the man page, made of the help texts ------------------- */

pgcn_status cli_manual(void);

/* ---- main.c --------------------------------------------------------------------------------- */

extern const cli_command *const cli_commands[]; /* NULL at the end */
extern const char *cli_program;                 /* as it was called, for commands to repeat */

#endif
