/* pathgcn train: one run per seed, each in its directory, resumable; then the table or the JSON line.
 * Follow train_seed: resume or start, epochs with progress and checkpoints, then the files. */
#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int run(int argc, char **argv);

const cli_command cli_train = {
    .name = "train",
    .summary = "train a model and leave it in a directory",
    .arguments = "NAME|DIR",
    .text =
        "NAME is a built-in graph (karate, sbm, grid), a data set in --data or PATHGCN_DATA, or "
        "the\n"
        "path of a folder. Settings start from what is known to suit that data set; options\n"
        "override them. The epoch is chosen on validation nodes, the test nodes are only "
        "reported.\n"
        "\n"
        "The directory gets model.safetensors (the best weights), history.jsonl (a line per "
        "epoch),\n"
        "checkpoint.safetensors (to resume) and result.json. With --seeds N > 1 each run has its "
        "own\n"
        "folder seed-S in there, and model.safetensors is the one that did best on validation.\n"
        "Ctrl-C finishes the epoch and saves; the same command with --resume goes on, and ends "
        "with\n"
        "the same bits as if it had not been interrupted.",
    .examples = "  pathgcn train karate\n"
                "  pathgcn train sbm:nodes=2000,homophily=0.1 --self-loops no --scaling walk \\\n"
                "      --kernel-start identity --wd-mix 0.01 --wd-kernel 0.01\n"
                "  PATHGCN_DATA=data pathgcn train cora --seeds 10\n"
                "  pathgcn train data/cora --layers 8 --out runs/deep --resume\n"
                "  pathgcn train cora --split 0 --json | tail -n 1\n",
    .config_groups = "model training run",
    .run = run,
};

/* ---- Ctrl-C ----------------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void on_signal(int number) {
    interrupted = 1;
    signal(number, SIG_DFL); /* a second one ends the program at once */
}

static void catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* ---- what a run needs --------------------------------------------------------------------------- */

typedef struct request {
    const char *dataset, *out, *data_dir, *seeds_text, *every_text;
    bool resume, overwrite, json, quiet;
    long long seeds, checkpoint_every;
    char **argv; /* for the sentence that says how to resume */
    int argc;
} request;

typedef struct outcome {
    uint64_t seed;
    char split[16];
    int64_t epochs, best_epoch;
    double val_accuracy, test_accuracy, best_test_accuracy;
    double seconds, step_ms; /* step_ms: median */
    int64_t parameters;
} outcome;

enum { PATH_BYTES = 4096 };
enum { CHECKPOINT_SECONDS = 10 };

static bool join(char out[PATH_BYTES], const char *directory, const char *file) {
    if ((size_t)snprintf(out, PATH_BYTES, "%s/%s", directory, file) < PATH_BYTES) return true;
    cli_complain(&cli_train, "the path %.64s.../%s is too long", directory, file);
    return false;
}

/* ---- progress ------------------------------------------------------------------------------------- */

typedef struct meter {
    bool on;
    double begin, last;
    int64_t first_epoch;
    long long run, runs;
} meter;

static void meter_show(meter *m, const pgcn_epoch *epoch, const pgcn_epoch *best,
                       const pgcn_config *config) {
    double now = cli_now();
    if (!m->on || now - m->last < 0.1) return;
    m->last = now;
    double speed = (double)(epoch->epoch - m->first_epoch) / (now - m->begin);
    char left[32], seed[64] = "";
    cli_format_duration((double)(config->epochs - epoch->epoch) / speed, left);
    if (m->runs > 1) snprintf(seed, sizeof seed, "run %lld/%lld  ", m->run, m->runs);
    int bar = (int)(20 * epoch->epoch / config->epochs);
    fprintf(stderr,
            "\r%s[%.*s%.*s] epoch %lld/%d  loss %.4f  val %.1f%% (best %.1f%%)  %.0f epochs/s  at "
            "most %s left\033[K",
            seed, bar, "####################", 20 - bar, "....................",
            (long long)epoch->epoch, config->epochs, epoch->train_loss, epoch->val_accuracy,
            best ? best->val_accuracy : NAN, speed, left);
    fflush(stderr);
}

static void meter_clear(const meter *m) {
    if (m->on) fprintf(stderr, "\r\033[K");
}

/* ---- files of a run --------------------------------------------------------------------------------- */

static json_t *number_or_null(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static bool write_history_line(FILE *file, const pgcn_epoch *epoch, uint64_t seed) {
    json_t *line = json_pack(
        "{s:I, s:I, s:o, s:o, s:o, s:o, s:b}", "seed", (json_int_t)seed, "epoch",
        (json_int_t)epoch->epoch, "train_loss", number_or_null(epoch->train_loss), "val_loss",
        number_or_null(epoch->val_loss), "val_accuracy", number_or_null(epoch->val_accuracy),
        "test_accuracy", number_or_null(epoch->test_accuracy), "best", (int)epoch->best);
    bool fine = line && json_dumpf(line, file, JSON_COMPACT) == 0 && fputc('\n', file) != EOF;
    json_decref(line);
    return fine;
}

/* Opens history.jsonl and writes the epochs that a resumed run already has. */
static FILE *open_history(const char *directory, const pgcn_trainer *trainer, uint64_t seed) {
    char path[PATH_BYTES];
    if (!join(path, directory, "history.jsonl")) return NULL;
    FILE *file = fopen(path, "w");
    int64_t count;
    const pgcn_epoch *history = pgcn_trainer_history(trainer, &count);
    bool fine = file != NULL;
    for (int64_t i = 0; fine && i < count; i++) fine = write_history_line(file, &history[i], seed);
    if (fine) return file;
    cli_complain(&cli_train, "cannot write %s: %s", path, strerror(errno));
    if (file) fclose(file);
    return NULL;
}

static pgcn_status save_checkpoint(const char *directory, const pgcn_trainer *trainer) {
    char path[PATH_BYTES];
    if (!join(path, directory, "checkpoint.safetensors")) return PGCN_ERR_IO;
    return pgcn_trainer_save(trainer, path);
}

static pgcn_status save_model(const char *directory, const pgcn_trainer *trainer,
                              int64_t *parameters) {
    char path[PATH_BYTES];
    pgcn_model *model;
    if (!join(path, directory, "model.safetensors")) return PGCN_ERR_IO;
    pgcn_status status = pgcn_trainer_model(trainer, &model);
    if (status != PGCN_OK) return status;
    *parameters = pgcn_model_parameters(model);
    status = pgcn_model_save(model, path);
    pgcn_model_free(model);
    return status;
}

static int save_text(const char *directory, const char *name, json_t *object) {
    char path[PATH_BYTES];
    char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
    bool fine = text && join(path, directory, name);
    pgcn_status status = fine ? pgcn_file_write(path, text, strlen(text)) : PGCN_ERR_IO;
    free(text);
    return status == PGCN_OK ? -1 : cli_failed(&cli_train, status);
}

/* ---- one run ------------------------------------------------------------------------------------------ */

/* An interrupted run is somebody's work: it is continued or, with --overwrite, started again. */
static int prepare_directory(const request *r, const char *directory, bool *resume) {
    char checkpoint[PATH_BYTES], result[PATH_BYTES];
    if (!cli_make_directory(&cli_train, directory)) return EXIT_FAILED;
    if (!join(checkpoint, directory, "checkpoint.safetensors") ||
        !join(result, directory, "result.json"))
        return EXIT_FAILED;
    bool started = access(checkpoint, F_OK) == 0, finished = access(result, F_OK) == 0;
    *resume = r->resume && started;
    if (r->resume) return -1;
    if (started && !finished && !r->overwrite) {
        cli_complain(&cli_train,
                     "%s holds an interrupted run; add --resume to go on with it, --overwrite to "
                     "start again, or choose another --out",
                     directory);
        return EXIT_FAILED;
    }
    unlink(checkpoint);
    unlink(result);
    return -1;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int64_t count) {
    if (count == 0) return 0;
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

/* The epoch that validation chose, the best test epoch beside it, and the median step. */
static void summarise(const pgcn_trainer *trainer, outcome *out) {
    int64_t count, timed = 0;
    const pgcn_epoch *history = pgcn_trainer_history(trainer, &count);
    double *times = malloc((size_t)(count + 1) * sizeof *times);
    out->epochs = count;
    out->val_accuracy = out->test_accuracy = NAN;
    for (int64_t i = 0; i < count; i++) {
        const pgcn_epoch *epoch = &history[i];
        if (epoch->best) {
            out->best_epoch = epoch->epoch;
            out->val_accuracy = epoch->val_accuracy;
            out->test_accuracy = epoch->test_accuracy;
        }
        if (epoch->test_accuracy > out->best_test_accuracy)
            out->best_test_accuracy = epoch->test_accuracy;
        if (times && epoch->step_ms > 0) times[timed++] = epoch->step_ms;
    }
    out->step_ms = times ? median(times, timed) : 0;
    snprintf(out->split, sizeof out->split, "%s", pgcn_trainer_split(trainer));
    free(times);
}

static void say_how_to_resume(const request *r, const char *directory, int64_t epoch) {
    fprintf(stderr, "Interrupted after epoch %lld and saved in %s. To go on:\n  pathgcn train",
            (long long)epoch, directory);
    for (int i = 0; i < r->argc; i++)
        if (strcmp(r->argv[i], "--resume") != 0 && strcmp(r->argv[i], "--overwrite") != 0)
            fprintf(stderr, " %s", r->argv[i]);
    fprintf(stderr, " --resume\n");
}

/* The epochs of a run. PGCN_OK when finished or interrupted; other errors have been printed. */
static pgcn_status run_epochs(const request *r, pgcn_trainer *trainer, const pgcn_config *config,
                              const char *directory, FILE *history, meter *m) {
    double saved = cli_now();
    int64_t count;
    const pgcn_epoch *best = NULL;
    pgcn_status status = PGCN_OK;
    while (status == PGCN_OK && !pgcn_trainer_finished(trainer) && !interrupted) {
        pgcn_epoch epoch;
        if ((status = pgcn_trainer_epoch(trainer, &epoch)) != PGCN_OK) break;
        const pgcn_epoch *epochs = pgcn_trainer_history(trainer, &count);
        if (epoch.best) best = &epochs[count - 1];
        meter_show(m, &epoch, best, config);
        if (!write_history_line(history, &epoch, config->seed)) {
            meter_clear(m);
            cli_complain(&cli_train, "cannot write history.jsonl in %s: %s", directory,
                         strerror(errno));
            return PGCN_ERR_IO;
        }
        bool due = r->checkpoint_every > 0 ? epoch.epoch % r->checkpoint_every == 0
                                           : cli_now() - saved > CHECKPOINT_SECONDS;
        if (due) {
            status = save_checkpoint(directory, trainer);
            saved = cli_now();
        }
    }
    meter_clear(m);
    if (status != PGCN_OK) cli_failed(&cli_train, status);
    return status;
}

static json_t *outcome_to_json(const outcome *o) {
    return json_pack("{s:I, s:s, s:I, s:I, s:o, s:o, s:o, s:f, s:f}", "seed", (json_int_t)o->seed,
                     "split", o->split, "epochs", (json_int_t)o->epochs, "best_epoch",
                     (json_int_t)o->best_epoch, "val_accuracy", number_or_null(o->val_accuracy),
                     "test_accuracy", number_or_null(o->test_accuracy), "best_epoch_test_accuracy",
                     number_or_null(o->best_test_accuracy), "step_ms_median", o->step_ms, "seconds",
                     o->seconds);
}

/* A trainer at its first epoch, or at the last one of its checkpoint; NULL: printed. */
static pgcn_trainer *start_run(const pgcn_dataset *data, const pgcn_config *config,
                               const char *directory, bool resume, int *code) {
    char path[PATH_BYTES];
    pgcn_trainer *trainer = NULL;
    pgcn_status status = pgcn_trainer_new(data, config, &trainer);
    if (status == PGCN_OK && resume) {
        if (!join(path, directory, "checkpoint.safetensors"))
            status = PGCN_ERR_IO;
        else
            status = pgcn_trainer_resume(trainer, path);
    }
    if (status == PGCN_OK) return trainer;
    *code = cli_failed(&cli_train, status);
    pgcn_trainer_free(trainer);
    return NULL;
}

/* The files a run leaves. After a loss that is not finite (`status`) the last checkpoint stays as
 * it is, but the best weights are still good and are written. Returns -1 or the exit code. */
static int finish_run(const request *r, pgcn_trainer *trainer, const char *directory,
                      pgcn_status status, outcome *out) {
    pgcn_status saved = status == PGCN_OK ? save_checkpoint(directory, trainer) : PGCN_OK;
    if (saved == PGCN_OK && out->best_epoch > 0 &&
        (status == PGCN_OK || status == PGCN_ERR_NUMERIC))
        saved = save_model(directory, trainer, &out->parameters);
    if (saved != PGCN_OK) return cli_failed(&cli_train, saved);
    if (status != PGCN_OK) return EXIT_FAILED;
    if (!pgcn_trainer_finished(trainer)) {
        say_how_to_resume(r, directory, out->epochs);
        return EXIT_FAILED;
    }
    json_t *result = outcome_to_json(out);
    int code = save_text(directory, "result.json", result);
    json_decref(result);
    return code;
}

static int train_seed(const request *r, const pgcn_dataset *data, const pgcn_config *config,
                      const char *directory, meter *m, outcome *out) {
    bool resume;
    int code = prepare_directory(r, directory, &resume);
    if (code >= 0) return code;
    pgcn_trainer *trainer = start_run(data, config, directory, resume, &code);
    if (!trainer) return code;
    FILE *history = open_history(directory, trainer, config->seed);
    if (!history) {
        pgcn_trainer_free(trainer);
        return EXIT_FAILED;
    }
    pgcn_trainer_history(trainer, &m->first_epoch);
    m->begin = cli_now();
    pgcn_status status = run_epochs(r, trainer, config, directory, history, m);
    if (fclose(history) != 0 && status == PGCN_OK) {
        cli_complain(&cli_train, "cannot write history.jsonl in %s: %s", directory,
                     strerror(errno));
        status = PGCN_ERR_IO;
    }
    *out = (outcome){.seed = config->seed, .seconds = cli_now() - m->begin};
    summarise(trainer, out);
    code = finish_run(r, trainer, directory, status, out);
    pgcn_trainer_free(trainer);
    return code;
}

/* ---- the summary over the seeds ------------------------------------------------------------------------- */

typedef struct spread {
    double mean, deviation;
} spread;

static spread spread_of(const outcome *runs, long long count, size_t place) {
    spread s = {0, 0};
    for (long long i = 0; i < count; i++)
        s.mean += *(const double *)((const char *)&runs[i] + place) / (double)count;
    for (long long i = 0; i < count && count > 1; i++) {
        double d = *(const double *)((const char *)&runs[i] + place) - s.mean;
        s.deviation += d * d / (double)(count - 1);
    }
    s.deviation = sqrt(s.deviation);
    return s;
}
#define SPREAD(field) spread_of(runs, count, offsetof(outcome, field))

static void print_table(const request *r, const pgcn_dataset_info *info, const outcome *runs,
                        long long count) {
    printf("%-6s %-7s %7s %10s %9s %9s %11s\n", "seed", "split", "epochs", "best epoch", "val %",
           "test %", "ms per step");
    for (long long i = 0; i < count; i++)
        printf("%-6llu %-7s %7lld %10lld %9.2f %9.2f %11.3f\n", (unsigned long long)runs[i].seed,
               runs[i].split, (long long)runs[i].epochs, (long long)runs[i].best_epoch,
               runs[i].val_accuracy, runs[i].test_accuracy, runs[i].step_ms);
    if (count > 1) {
        spread val = SPREAD(val_accuracy), test = SPREAD(test_accuracy);
        printf("%-32s %9.2f %9.2f %11.3f\n", "mean", val.mean, test.mean, SPREAD(step_ms).mean);
        printf("%-32s %9.2f %9.2f\n", "deviation", val.deviation, test.deviation);
    }
    printf("\n%s: test accuracy %.2f%% at the epoch chosen on validation. Model: "
           "%s/model.safetensors\n",
           info->name, SPREAD(test_accuracy).mean, r->out);
}

static json_t *summary(const request *r, const pgcn_dataset_info *info, const pgcn_config *config,
                       const outcome *runs, long long count) {
    double total_epochs = 0;
    json_t *list = json_array(), *settings = json_object();
    pgcn_field field;
    for (long long i = 0; i < count; i++) {
        total_epochs += (double)runs[i].epochs;
        json_array_append_new(list, outcome_to_json(&runs[i]));
    }
    for (int i = 0; pgcn_config_field(i, &field); i++) {
        char text[64];
        pgcn_config_get(config, field.key, text, sizeof text);
        json_object_set_new(settings, field.key, json_string(text));
    }
    spread test = SPREAD(test_accuracy), val = SPREAD(val_accuracy);
    return json_pack(
        "{s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:f, s:f, s:I, s:I, s:s, s:s, s:o, s:o}",
        "dataset", info->name, "accuracy_unit", "percent", "test_accuracy_mean", test.mean,
        "test_accuracy_std", test.deviation, "val_accuracy_mean", val.mean, "val_accuracy_std",
        val.deviation, "best_epoch_test_accuracy_mean", SPREAD(best_test_accuracy).mean,
        "best_epoch_test_accuracy_std", SPREAD(best_test_accuracy).deviation, "seeds",
        (json_int_t)count, "epochs", total_epochs / (double)count, "step_ms_median",
        SPREAD(step_ms).mean, "peak_rss_bytes", (json_int_t)cli_peak_rss_bytes(), "parameters",
        (json_int_t)runs[0].parameters, "fingerprint", info->fingerprint, "out", r->out, "config",
        settings, "runs", list);
}

/* ---- the command ------------------------------------------------------------------------------------------ */

/* DIR/model.safetensors of several seeds: the one that did best on validation. */
static int choose_model(const request *r, const outcome *runs, long long count) {
    char from[PATH_BYTES], to[PATH_BYTES], directory[PATH_BYTES];
    long long best = 0;
    for (long long i = 1; i < count; i++)
        if (runs[i].val_accuracy > runs[best].val_accuracy) best = i;
    snprintf(directory, sizeof directory, "%.4000s/seed-%llu", r->out,
             (unsigned long long)runs[best].seed);
    const char *files[] = {"model.safetensors", "history.jsonl"};
    for (int i = 0; i < 2; i++) {
        if (!join(from, directory, files[i]) || !join(to, r->out, files[i])) return EXIT_FAILED;
        FILE *file = fopen(from, "rb");
        char *text = NULL;
        long bytes = -1;
        if (file && fseek(file, 0, SEEK_END) == 0 && (bytes = ftell(file)) >= 0) {
            rewind(file);
            text = malloc((size_t)bytes + 1);
            if (text && fread(text, 1, (size_t)bytes, file) != (size_t)bytes) bytes = -1;
        }
        if (file) fclose(file);
        pgcn_status status =
            text && bytes >= 0 ? pgcn_file_write(to, text, (size_t)bytes) : PGCN_ERR_IO;
        if (!text || bytes < 0)
            cli_complain(&cli_train, "cannot read %s", from);
        else if (status != PGCN_OK)
            cli_failed(&cli_train, status);
        free(text);
        if (status != PGCN_OK) return EXIT_FAILED;
    }
    return -1;
}

static int train_all(const request *r, const pgcn_dataset *data, pgcn_config config) {
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    outcome *runs = calloc((size_t)r->seeds, sizeof *runs);
    if (!runs) {
        cli_complain(&cli_train, "out of memory for %lld seeds", r->seeds);
        return EXIT_FAILED;
    }
    meter m = {.on = !r->quiet && isatty(STDERR_FILENO), .runs = r->seeds};
    uint64_t first_seed = config.seed;
    int code = -1;
    for (long long i = 0; i < r->seeds && code < 0; i++) {
        char directory[PATH_BYTES];
        config.seed = first_seed + (uint64_t)i;
        m.run = i + 1;
        if (r->seeds == 1)
            snprintf(directory, sizeof directory, "%.4000s", r->out);
        else
            snprintf(directory, sizeof directory, "%.4000s/seed-%llu", r->out,
                     (unsigned long long)config.seed);
        code = train_seed(r, data, &config, directory, &m, &runs[i]);
    }
    config.seed = first_seed;
    if (code < 0 && r->seeds > 1) code = choose_model(r, runs, r->seeds);
    if (code < 0) {
        if (r->json) {
            code = cli_print_json(&cli_train, summary(r, &info, &config, runs, r->seeds));
        } else {
            print_table(r, &info, runs, r->seeds);
            code = EXIT_DONE;
        }
    }
    free(runs);
    return code;
}

/* runs/NAME, with what a name may hold and a folder should not replaced. */
static void default_out(const char *name, char out[PATH_BYTES]) {
    size_t length = strlen(name);
    while (length > 1 && name[length - 1] == '/') length--;
    const char *begin = name + length;
    while (begin > name && begin[-1] != '/') begin--;
    snprintf(out, PATH_BYTES, "runs/%.*s", (int)(name + length - begin), begin);
    for (char *c = out + 5; *c; c++)
        if (strchr(":,= ", *c)) *c = '-';
}

static int run(int argc, char **argv) {
    request r = {.seeds_text = "1", .every_text = "0", .argv = argv, .argc = argc};
    const cli_option options[] = {
        {"out", "DIR", "runs/NAME", "directory for the model and its files", &r.out, NULL},
        {"data", "DIR", "PATHGCN_DATA", "folder that holds named data sets", &r.data_dir, NULL},
        {"seeds", "N", "1", "train N times, with seeds S, S+1, ...: mean and deviation",
         &r.seeds_text, NULL},
        {"resume", NULL, NULL, "go on from the checkpoint in --out, if there is one", NULL,
         &r.resume},
        {"overwrite", NULL, NULL, "start again although --out holds an interrupted run", NULL,
         &r.overwrite},
        {"checkpoint-every", "N", "0", "epochs between two checkpoints; 0: every 10 seconds",
         &r.every_text, NULL},
        {"json", NULL, NULL, "print one JSON line instead of the table", NULL, &r.json},
        {"quiet", NULL, NULL, "no progress", NULL, &r.quiet},
        {NULL, NULL, NULL, NULL, NULL, NULL}};
    cli_arguments arguments;
    char out[PATH_BYTES];
    int code = cli_parse(&cli_train, options, 1, 1, argc, argv, &arguments);
    if (code >= 0) return code;
    if (!cli_number(&cli_train, "seeds", r.seeds_text, 1, 100000, &r.seeds) ||
        !cli_number(&cli_train, "checkpoint-every", r.every_text, 0, 1000000, &r.checkpoint_every))
        return EXIT_USAGE;
    r.dataset = arguments.word[0];
    if (!r.out) {
        default_out(r.dataset, out);
        r.out = out;
    }
    pgcn_dataset *data;
    code = cli_load_dataset(&cli_train, r.dataset, r.data_dir, &data);
    if (code >= 0) return code;
    pgcn_config config = pgcn_config_for(pgcn_dataset_describe(data).name);
    code = cli_apply(&cli_train, &arguments, &config);
    pgcn_status status = code < 0 ? pgcn_config_check(&config) : PGCN_OK;
    if (status != PGCN_OK) code = cli_failed(&cli_train, status);
    if (code < 0) {
        catch_signals();
        code = train_all(&r, data, config);
    }
    pgcn_dataset_free(data);
    return code;
}
