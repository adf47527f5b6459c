/* A model or several, and the data that a command runs them on: what eval, predict and explain have in common. */
#include "cli/request.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const cli_request cli_empty_request = {
    .inference_text = "deterministic", .seed_text = "0", .threads_text = "0"};

void cli_request_free(cli_request *r) {
    for (int i = 1; i < r->models; i++) pgcn_model_free(r->member[i]);
    pgcn_model_free(r->model);
    pgcn_dataset_free(r->data);
}

/* A setting of a built-in data set, "sbm:features=6", and not a step, whose features are words. */
static bool is_number_of_features(const cli_step_word *word) {
    const char *value = word->text + strlen("features=");
    return word->step == CLI_STEP_FEATURES && *value >= '0' && *value <= '9';
}

/* The steps of the training that say what graph and features are, out of the name of its data set:
 * "MUTAG:features=degrees,crossval=10"; of a built-in one they stand behind its settings, "sbm:nodes=80:directed".
 * Splits are of no concern to other data. */
static void steps_of_training(const pgcn_model *model, char *out, size_t bytes) {
    const unsigned kept =
        CLI_STEP_DIRECTED | CLI_STEP_SYMMETRISE | CLI_STEP_SELF_LOOPS | (unsigned)CLI_STEP_FEATURES;
    const char *colon = strrchr(pgcn_model_dataset(model), ':');
    cli_step_word word = {.rest = colon ? colon + 1 : NULL};
    *out = '\0';
    while (cli_step_next(&word)) {
        size_t used = strlen(out);
        if (kept & (unsigned)word.step && !is_number_of_features(&word))
            snprintf(out + used, bytes - used, "%s%.*s", used ? "," : "", (int)word.length,
                     word.text);
    }
}

static pgcn_status read_inference(const cli_command *command, const cli_arguments *arguments,
                                  cli_request *r) {
    long long seed, threads;
    CLI_TRY(cli_number(command, "seed", r->seed_text, 0, PGCN_MAX_SEED, &seed));
    CLI_TRY(cli_number(command, "threads", r->threads_text, 0, 1024, &threads));
    r->inference = pgcn_inference_default();
    r->inference.seed = (uint64_t)seed;
    r->inference.threads = (int)threads;
    CLI_TRY(cli_report(command, pgcn_inference_parse(r->inference_text, &r->inference)));
    if (r->inference.draws > 0 || !cli_is_given(arguments, "seed")) return PGCN_OK;
    return cli_fail(
        command, PGCN_ERR_ARGUMENT,
        "--seed %s does nothing: deterministic inference draws nothing; leave it out or "
        "add --inference stochastic:10",
        r->seed_text);
}

/* Without a data set on the command line the data must be that of the training. `part`: the option,
 * if any, that replaced one of the files of the training. */
static pgcn_status check_training_data(const cli_command *command, const char *model_path,
                                       const char *part, const cli_request *r) {
    const char *found = pgcn_dataset_describe(r->data).fingerprint;
    const char *expected = pgcn_model_fingerprint(r->model);
    if (strcmp(found, expected) == 0) return PGCN_OK;
    if (part)
        return cli_fail(
            command, PGCN_ERR_MISMATCH,
            "--%s was given without --edges, and with the other files of the training of %s it "
            "makes other data; to use the model on other data give --edges too",
            part, model_path);
    return cli_fail(
        command, PGCN_ERR_MISMATCH,
        "%s was trained on another version of %s: its fingerprint is %.12s..., that of "
        "the data found is %.12s...; name the data set after the model to use it anyway",
        model_path, pgcn_model_dataset(r->model), expected, found);
}

/* Columns of plain numbers whose names are not known are taken by their place: that is told. Tables with
 * rules tell it when they are read. */
static void note_order_of_columns(const cli_request *r) {
    const char *first = pgcn_model_feature_name(r->model, 0);
    const char *second = first ? pgcn_model_feature_name(r->model, 1) : NULL;
    const pgcn_dataset_info info = pgcn_dataset_describe(r->data);
    bool fits = info.features == pgcn_model_features(r->model) &&
                (info.classes == 0 || info.classes == pgcn_model_classes(r->model));
    if (!first || pgcn_dataset_feature_name(r->data, 0) || !fits) return;
    fprintf(
        stderr,
        "note: the features of data set %s have no names: their columns are taken in the order of the "
        "training, '",
        info.name);
    cli_put_text(stderr, first);
    fputs("' first", stderr);
    if (second) {
        fputs(", then '", stderr);
        cli_put_text(stderr, second);
        fputs("'", stderr);
    }
    fputc('\n', stderr);
}

static pgcn_status load_both(const cli_command *command, const char *model_path, const char *name,
                             cli_request *r) {
    char steps[256], model[CLI_PATH_BYTES];
    const char *path = cli_model_path(model_path, model);
    CLI_TRY(cli_report(command, cli_load_model(path, &r->model)));
    bool own_data = !name && !r->source.edges;
    const char *part = r->source.features ? "features" : r->source.labels ? "labels" : NULL;
    json_t *record = own_data ? cli_source_recall(path, &name, &r->source) : NULL;
    if (own_data && !record) name = pgcn_model_dataset(r->model);
    if (!own_data && !r->source.steps && !(name && strchr(name, ':'))) {
        steps_of_training(r->model, steps, sizeof steps);
        if (*steps) r->source.steps = steps;
    }
    cli_source_follow(r->model, &r->source);
    CLI_TRY(cli_check_fits(command, "running a model on", name, &r->source,
                           "leaves its features on disk"));
    const char *advice =
        !own_data ? (r->models > 0 ? "; a further model is a file of tensors, or the directory "
                                     "of a run with its model.safetensors"
                                   : "")
        : record
            ? "; or name the data set after the model, if it is elsewhere"
            : "; there is no data.json beside the model to say where its data is: name the data "
              "set after the model, or give its files with --edges and --features";
    pgcn_status status = cli_load_dataset(command, name, &r->source, advice, &r->data);
    json_decref(record);
    r->source =
        (cli_source){.memory = r->source.memory}; /* its strings may have been the record's */
    if (status == PGCN_OK && !own_data && !cli_ranks_serves()) note_order_of_columns(r);
    if (status != PGCN_OK || !own_data) return status;
    return check_training_data(command, path, part, r);
}

/* ---- several models -------------------------------------------------------------------------------- */

/* A file of tensors, or the directory of a run: no data set is either. */
static bool is_model(const char *word) {
    char model[CLI_PATH_BYTES], place[CLI_PATH_BYTES];
    cli_run_file(cli_model_path(word, model), place);
    return cli_ends_in(place, ".safetensors") && access(place, F_OK) == 0;
}

/* The words that are models; behind them at most one, the data set. */
static pgcn_status count_models(const cli_command *command, const cli_arguments *arguments,
                                cli_request *r) {
    const char *last = arguments->word[arguments->words - 1];
    r->models = 1;
    if (arguments->words > 1 && !is_model(arguments->word[0]) && is_model(last))
        return cli_fail(command, PGCN_ERR_ARGUMENT,
                        "'%s' is neither a model.safetensors nor the directory of a run; models "
                        "come first, and then the data set",
                        arguments->word[0]);
    while (r->models < arguments->words && is_model(arguments->word[r->models])) r->models++;
    if (arguments->words <= r->models + 1) return PGCN_OK;
    return cli_fail(command, PGCN_ERR_ARGUMENT,
                    "'%s' is neither a model.safetensors nor the directory of a run, and only the "
                    "last argument may be a data set",
                    arguments->word[r->models]);
}

/* The data is read by the rules of the first model, so that the others have to be of the same. */
static pgcn_status load_others(const cli_command *command, const cli_arguments *arguments,
                               cli_request *r) {
    char model[CLI_PATH_BYTES];
    r->member[0] = r->model;
    for (int i = 1; i < r->models; i++) {
        const char *path = cli_model_path(arguments->word[i], model);
        CLI_TRY(cli_report(command, cli_load_model(path, &r->member[i])));
        if (strcmp(pgcn_model_fingerprint(r->model), pgcn_model_fingerprint(r->member[i])) == 0)
            continue;
        return cli_fail(command, PGCN_ERR_MISMATCH,
                        "'%s' was trained on %s and '%s' on %s, which is other data (its edges, "
                        "features or labels differ: fingerprints %.12s and %.12s); models that "
                        "predict together are trained on the same",
                        arguments->word[0], pgcn_model_dataset(r->model), arguments->word[i],
                        pgcn_model_dataset(r->member[i]), pgcn_model_fingerprint(r->model),
                        pgcn_model_fingerprint(r->member[i]));
    }
    return PGCN_OK;
}

pgcn_status cli_request_check_output(const cli_command *command, const cli_arguments *arguments,
                                     const cli_request *r, const char *option, const char *path) {
    struct stat written, read;
    char model[CLI_PATH_BYTES], place[CLI_PATH_BYTES];
    if (!path || stat(path, &written) != 0) return PGCN_OK;
    for (int i = 0; i < r->models; i++) {
        cli_run_file(cli_model_path(arguments->word[i], model), place);
        if (stat(place, &read) == 0 && read.st_ino == written.st_ino &&
            read.st_dev == written.st_dev)
            return cli_fail(command, PGCN_ERR_ARGUMENT,
                            "--%s '%s' is the model itself, which would be lost; name another file",
                            option, path);
    }
    return PGCN_OK;
}

/* ---- */

pgcn_status cli_load_model_data(const cli_command *command, const char *path, const char *name,
                                const cli_source *source, pgcn_model **model, pgcn_dataset **data) {
    cli_request r = {.source = *source};
    pgcn_status status = load_both(command, path, name, &r);
    *model = status == PGCN_OK ? r.model : NULL;
    *data = status == PGCN_OK ? r.data : NULL;
    if (status != PGCN_OK) cli_request_free(&r);
    return status;
}

pgcn_status cli_request_load(const cli_command *command, const cli_arguments *arguments,
                             cli_request *r) {
    CLI_TRY(read_inference(command, arguments, r));
    CLI_TRY(cli_memory(command, r->memory_text, &r->source.memory));
    CLI_TRY(count_models(command, arguments, r));
    const char *name = arguments->words > r->models ? arguments->word[r->models] : NULL;
    CLI_TRY(load_both(command, arguments->word[0], name, r));
    return load_others(command, arguments, r);
}

/* ---- progress on features that stay on disk ------------------------------------------------------- */

static bool show(const char *what, double share, void *context) {
    cli_request *r = context;
    char percent[16], rows[80] = "";
    pgcn_row_reads reads;
    if (cli_interrupted()) return false;
    if (!cli_progress_is_due(&r->progress)) return true;
    if (pgcn_dataset_row_reads(r->data, &reads)) cli_format_reads(&reads, rows);
    double done = r->whole > 0 ? (r->done + share * r->part) / r->whole : share;
    snprintf(percent, sizeof percent, "%.0f%%", 100 * done);
    const char *const piece[] = {what, percent, *rows ? rows : NULL, NULL};
    cli_progress_show(&r->progress, done, piece);
    return true;
}

pgcn_status cli_request_watch(const cli_command *command, cli_request *r) {
    if (!pgcn_dataset_row_reads(r->data, NULL)) return PGCN_OK;
    CLI_TRY(cli_progress_open(&r->progress, command, false, NULL));
    cli_catch_signals();
    pgcn_on_work(show, r);
    return PGCN_OK;
}

void cli_request_unwatch(cli_request *r) {
    pgcn_row_reads reads;
    char rows[80], memory[32], bound[32];
    if (!pgcn_dataset_row_reads(r->data, &reads)) return;
    pgcn_on_work(NULL, NULL);
    cli_progress_close(&r->progress);
    cli_format_reads(&reads, rows);
    pgcn_format_bytes(cli_peak_rss_bytes(), memory);
    if (*rows) fprintf(stderr, "features on disk: %s; at most %s in memory\n", rows, memory);
    if (cli_peak_rss_bytes() <= r->source.memory) return;
    pgcn_format_bytes(r->source.memory, bound);
    fprintf(
        stderr,
        "note: that is more than the %s of --memory, which are too little for this model and graph\n",
        bound);
}
