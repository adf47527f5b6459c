/* pathgcn eval and pathgcn predict: a model file, the data set it names (or another), and either the
 * accuracies on its split or a prediction for every node. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

static int run_eval(int argc, char **argv);
static int run_predict(int argc, char **argv);

const cli_command cli_eval = {
    .name = "eval",
    .summary = "accuracy of a model",
    .arguments = "MODEL [NAME|PATH]",
    .text =
        "Loads MODEL (model.safetensors) and the data set it was trained on (or the one given) and\n"
        "reports accuracy on the split of its training. Deterministic inference uses powers of the\n"
        "transition matrix; stochastic:N draws N samples of paths, predicts their mean, and reports\n"
        "beside it how a single draw does: mean and deviation.",
    .examples =
        "  pathgcn eval runs/karate/model.safetensors\n"
        "  pathgcn eval runs/cora/model.safetensors --data data --inference stochastic:10\n",
    .run = run_eval,
};

const cli_command cli_predict = {
    .name = "predict",
    .summary = "the most likely class of every node",
    .arguments = "MODEL [NAME|PATH]",
    .text =
        "Writes one line per node: node,label,probability; with stochastic:N also the deviation\n"
        "of the probability over the draws. Nodes and classes have the names of the data. Without\n"
        "a data set, that of the training is read again (data.json beside the model tells where it\n"
        "is). --unlabelled leaves out the nodes whose class was given. A file name that ends in\n"
        ".json gets JSON.",
    .examples = "  pathgcn predict runs/karate/model.safetensors --out predictions.csv\n"
                "  pathgcn predict runs/cora/model.safetensors --inference stochastic:20 --all\n",
    .run = run_predict,
};

/* What both read from the command line, and what both load. */
typedef struct request {
    cli_source source;
    const char *inference_text, *seed_text, *threads_text, *out;
    bool json, all, unlabelled;
    pgcn_inference inference;
    pgcn_model *model;
    pgcn_dataset *data;
} request;

/* clang-format off */
#define COMMON_OPTIONS(r)                                                                          \
    CLI_SOURCE_OPTIONS((r).source),                                                                \
    {"inference", "deterministic | stochastic:N", "deterministic",                                 \
     "the exact operator, or the mean of N draws", &(r).inference_text, NULL},                     \
    {"seed", "S", "0", "seed of the stochastic draws", &(r).seed_text, NULL},                      \
    {"threads", "T", "0", "threads; 0: one per core", &(r).threads_text, NULL}
/* clang-format on */
#define NO_MORE_OPTIONS                                                                            \
    { NULL, NULL, NULL, NULL, NULL, NULL }

static const request empty_request = {
    .inference_text = "deterministic", .seed_text = "0", .threads_text = "0"};

static void release(request *r) {
    pgcn_model_free(r->model);
    pgcn_dataset_free(r->data);
}

static int load(const cli_command *command, const cli_arguments *arguments, request *r) {
    long long seed, threads;
    if (!cli_number(command, "seed", r->seed_text, 0, INT64_MAX, &seed) ||
        !cli_number(command, "threads", r->threads_text, 0, 1024, &threads))
        return EXIT_USAGE;
    r->inference = pgcn_inference_default();
    r->inference.seed = (uint64_t)seed;
    r->inference.threads = (int)threads;
    pgcn_status status = pgcn_inference_parse(r->inference_text, &r->inference);
    if (status == PGCN_OK) status = pgcn_model_load(arguments->word[0], &r->model);
    if (status != PGCN_OK) return cli_failed(command, status);
    bool own_data = arguments->words == 1 && !r->source.edges;
    const char *name = arguments->words > 1 ? arguments->word[1] : NULL;
    json_t *record = own_data ? cli_source_recall(arguments->word[0], &name, &r->source) : NULL;
    if (own_data && !record) name = pgcn_model_dataset(r->model);
    int code = cli_load_dataset(
        command, name, &r->source,
        own_data ? "; or name the data set after the model, if it is elsewhere" : "", &r->data);
    json_decref(record);
    r->source = (cli_source){0}; /* its words may have been the record's */
    if (code >= 0) return code;
    const char *found = pgcn_dataset_describe(r->data).fingerprint;
    if (own_data && strcmp(found, pgcn_model_fingerprint(r->model)) != 0) {
        cli_complain(
            command,
            "%s was trained on another version of %s: its fingerprint is %.12s..., that of "
            "the data found is %.12s...; name the data set after the model to use it anyway",
            arguments->word[0], pgcn_model_dataset(r->model), pgcn_model_fingerprint(r->model),
            found);
        return EXIT_FAILED;
    }
    return -1;
}

/* ---- eval ---------------------------------------------------------------------------------------- */

static int print_eval_json(const request *r, const pgcn_scores *scores) {
    const struct {
        const char *name;
        const pgcn_score *score;
    } parts[] = {{"train", &scores->train}, {"val", &scores->val}, {"test", &scores->test}};
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:i, s:I, s:s}", "dataset", pgcn_dataset_describe(r->data).name, "split",
        pgcn_model_split(r->model), "inference", r->inference_text, "draws", r->inference.draws,
        "epoch", (json_int_t)pgcn_model_epoch(r->model), "accuracy_unit", "percent");
    for (int i = 0; i < 3; i++) {
        const pgcn_score *score = parts[i].score;
        const struct {
            const char *suffix;
            double value;
        } entries[] = {{"accuracy", score->accuracy},
                       {"accuracy_of_single_draws_mean", score->draw_accuracy},
                       {"accuracy_of_single_draws_std", score->draw_deviation},
                       {"loss", score->loss}};
        for (int j = 0; j < 4; j++) {
            char key[64];
            snprintf(key, sizeof key, "%s_%s", parts[i].name, entries[j].suffix);
            json_object_set_new(object, key, cli_json_real(entries[j].value));
        }
    }
    return cli_print_json(&cli_eval, object);
}

static int print_eval_table(const request *r, const pgcn_scores *scores) {
    printf("%s, split %s, %s inference, weights of epoch %lld\n\n",
           pgcn_dataset_describe(r->data).name, pgcn_model_split(r->model), r->inference_text,
           (long long)pgcn_model_epoch(r->model));
    const struct {
        const char *name;
        const pgcn_score *score;
    } parts[] = {
        {"training", &scores->train}, {"validation", &scores->val}, {"test", &scores->test}};
    bool drawn = r->inference.draws > 0;
    printf("%-12s %10s %10s", "nodes", "accuracy %", "loss");
    printf(drawn ? "   %s\n" : "\n", "a single draw: mean, deviation");
    for (int i = 0; i < 3; i++) {
        const pgcn_score *score = parts[i].score;
        printf("%-12s %10.2f %10.4f", parts[i].name, score->accuracy, score->loss);
        if (drawn) printf("   %.2f, %.2f", score->draw_accuracy, score->draw_deviation);
        putchar('\n');
    }
    if (drawn) printf("\nAccuracy is that of the mean of the %d draws.\n", r->inference.draws);
    return EXIT_DONE;
}

static int run_eval(int argc, char **argv) {
    request r = empty_request;
    const cli_option options[] = {
        COMMON_OPTIONS(r),
        {"json", NULL, NULL, "print one JSON line instead of the table", NULL, &r.json},
        NO_MORE_OPTIONS};
    cli_arguments arguments;
    pgcn_scores scores;
    int code = cli_parse(&cli_eval, options, 1, 2, argc, argv, &arguments);
    if (code >= 0) return code;
    code = load(&cli_eval, &arguments, &r);
    pgcn_status status =
        code < 0 ? pgcn_model_evaluate(r.model, r.data, &r.inference, &scores) : PGCN_OK;
    if (status != PGCN_OK) code = cli_failed(&cli_eval, status);
    if (code < 0) code = r.json ? print_eval_json(&r, &scores) : print_eval_table(&r, &scores);
    release(&r);
    return code;
}

/* ---- predict --------------------------------------------------------------------------------------- */

static int best_class(const float *probability, int classes) {
    int best = 0;
    for (int c = 1; c < classes; c++)
        if (probability[c] > probability[best]) best = c;
    return best;
}

static void put_json_text(FILE *out, const char *text) {
    json_t *value = json_string(text);
    if (!value) value = json_stringn_nocheck("", 0); /* not UTF-8: JSON cannot hold it */
    json_dumpf(value, out, JSON_ENCODE_ANY);
    json_decref(value);
}

/* The name that the source has for it, or else its number. */
static void put_name(FILE *out, const char *name, int64_t number, bool json) {
    if (!name)
        fprintf(out, "%lld", (long long)number);
    else if (json)
        put_json_text(out, name);
    else
        cli_put_cell(out, name);
}

static bool is_wanted(const request *r, const int32_t *label, int64_t node) {
    return !r->unlabelled || !label || label[node] < 0;
}

static void write_csv(FILE *out, const request *r, int64_t n, int classes, const float *probability,
                      const float *deviation) {
    bool drawn = r->inference.draws > 0;
    const int32_t *known = pgcn_dataset_labels(r->data);
    fprintf(out, "node,label,probability%s", drawn ? ",deviation" : "");
    for (int c = 0; c < classes && r->all; c++) {
        fputc(',', out);
        const char *name = pgcn_model_class_name(r->model, c);
        if (name)
            cli_put_cell(out, name);
        else
            fprintf(out, "p%d", c);
    }
    fputc('\n', out);
    for (int64_t number = 0; number < n; number++) {
        int64_t j = cli_node_row(r->data, number);
        const float *p = probability + j * classes;
        int label = best_class(p, classes);
        if (!is_wanted(r, known, j)) continue;
        cli_put_id(out, r->data, j);
        fputc(',', out);
        put_name(out, pgcn_model_class_name(r->model, label), label, false);
        fprintf(out, ",%.9g", (double)p[label]);
        if (drawn) fprintf(out, ",%.9g", (double)deviation[j * classes + label]);
        for (int c = 0; c < classes && r->all; c++) fprintf(out, ",%.9g", (double)p[c]);
        fputc('\n', out);
    }
}

static void write_json(FILE *out, const request *r, int64_t n, int classes,
                       const float *probability, const float *deviation) {
    bool drawn = r->inference.draws > 0, first = true;
    const int32_t *known = pgcn_dataset_labels(r->data);
    fprintf(out, "{\"dataset\":");
    put_json_text(out, pgcn_dataset_describe(r->data).name);
    fprintf(out, ",\"inference\":\"%s\",\"classes\":%d", r->inference_text, classes);
    for (int c = 0; c < classes && pgcn_model_class_name(r->model, c); c++) {
        fputs(c ? "," : ",\"class_names\":[", out);
        put_json_text(out, pgcn_model_class_name(r->model, c));
        if (c + 1 == classes) fputc(']', out);
    }
    fprintf(out, ",\"predictions\":[");
    for (int64_t number = 0; number < n; number++) {
        int64_t j = cli_node_row(r->data, number);
        const float *p = probability + j * classes;
        int label = best_class(p, classes);
        if (!is_wanted(r, known, j)) continue;
        fprintf(out, "%s\n{\"node\":", first ? "" : ",");
        first = false;
        put_name(out, pgcn_dataset_node_id(r->data, j), number, true);
        fputs(",\"label\":", out);
        put_name(out, pgcn_model_class_name(r->model, label), label, true);
        fprintf(out, ",\"probability\":%.9g", (double)p[label]);
        if (drawn) fprintf(out, ",\"deviation\":%.9g", (double)deviation[j * classes + label]);
        for (int c = 0; c < classes && r->all; c++)
            fprintf(out, "%s%.9g%s", c ? "," : ",\"probabilities\":[", (double)p[c],
                    c + 1 == classes ? "]" : "");
        fputc('}', out);
    }
    fprintf(out, "\n]}\n");
}

static int write_predictions(const request *r, const float *probability, const float *deviation) {
    int64_t n = pgcn_dataset_describe(r->data).nodes;
    int classes = pgcn_model_classes(r->model);
    size_t suffix = r->out ? strlen(r->out) : 0, bytes = 0;
    bool json = r->json || (suffix > 5 && strcmp(r->out + suffix - 5, ".json") == 0);
    char *text = NULL;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) {
        cli_complain(&cli_predict, "out of memory");
        return EXIT_FAILED;
    }
    (json ? write_json : write_csv)(out, r, n, classes, probability, deviation);
    bool fine = fclose(out) == 0;
    int code = EXIT_DONE;
    if (!fine) {
        cli_complain(&cli_predict, "out of memory for the predictions of %lld nodes", (long long)n);
        code = EXIT_FAILED;
    } else if (!r->out) {
        fwrite(text, 1, bytes, stdout);
    } else {
        pgcn_status status = pgcn_file_write(r->out, text, bytes);
        if (status != PGCN_OK) code = cli_failed(&cli_predict, status);
    }
    free(text);
    return code;
}

static int run_predict(int argc, char **argv) {
    request r = empty_request;
    const cli_option options[] = {
        {"out", "FILE", "standard output", "where to write; .json for JSON", &r.out, NULL},
        COMMON_OPTIONS(r),
        {"all", NULL, NULL, "also the probabilities of all classes", NULL, &r.all},
        {"unlabelled", NULL, NULL, "only nodes whose class was not given", NULL, &r.unlabelled},
        {"json", NULL, NULL, "JSON whatever the name of the file", NULL, &r.json},
        NO_MORE_OPTIONS};
    cli_arguments arguments;
    int code = cli_parse(&cli_predict, options, 1, 2, argc, argv, &arguments);
    if (code >= 0) return code;
    code = load(&cli_predict, &arguments, &r);
    if (code < 0) {
        size_t count =
            (size_t)pgcn_dataset_describe(r.data).nodes * (size_t)pgcn_model_classes(r.model);
        float *probability = calloc(count, sizeof *probability);
        float *deviation = calloc(count, sizeof *deviation);
        pgcn_status status = PGCN_ERR_MEMORY;
        if (!probability || !deviation) {
            cli_complain(&cli_predict, "out of memory for %zu probabilities", count);
            code = EXIT_FAILED;
        } else if ((status = pgcn_model_predict(r.model, r.data, &r.inference, probability,
                                                deviation)) != PGCN_OK) {
            code = cli_failed(&cli_predict, status);
        } else {
            code = write_predictions(&r, probability, deviation);
        }
        free(probability);
        free(deviation);
    }
    release(&r);
    return code;
}
