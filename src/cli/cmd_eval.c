/* pathgcn eval and pathgcn predict: a model file, the data set it names (or another), and either the
 * accuracies on its split or a prediction for every node or graph. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static pgcn_status run_eval(int argc, char **argv);
static pgcn_status run_predict(int argc, char **argv);

static const cli_brief eval_most_used[] = {
    CLI_BRIEF_SOURCE,
    {.name = "inference", .value = "HOW", .help = "deterministic, or stochastic:N draws of paths"},
    {.name = "part",
     .value = "PART",
     .help = "train, val, test or all: whose classes are shown [test]"},
    {.name = "csv", .help = "every class as CSV"},
    {.name = "threads"},
    {.name = "json"},
    {.name = NULL}};

const cli_command cli_eval = {
    .name = "eval",
    .summary = "accuracy of a model",
    .arguments = "MODEL [NAME|PATH]",
    .text =
        "Loads MODEL (model.safetensors) and the data set it was trained on (or the one given) and\n"
        "reports accuracy on the split of its training, or the micro-averaged F1 where nodes have\n"
        "several labels. On other data all labelled nodes or graphs are scored too; classes are\n"
        "matched by their names.\n"
        "\n"
        "The split is identified by its nodes and not by its name: where the data has another one\n"
        "(another split-seed, another file of splits), its test nodes may have been trained on. Then the\n"
        "accuracy of all labelled nodes or graphs is printed instead of a test accuracy, with a note.\n"
        "\n"
        "Below the measures stand precision, recall and F1 of every class, the confusion matrix, log loss,\n"
        "Brier score and calibration error of the test nodes or graphs, or of those of --part. --csv and\n"
        "--json have all parts.\n"
        "\n"
        "Deterministic inference uses powers of the transition matrix; stochastic:N draws N samples\n"
        "of paths, predicts their mean, and also reports the accuracy of a single draw: mean and\n"
        "deviation.",
    .brief = "MODEL: the model.safetensors of a run, which knows its data.",
    .most_used = eval_most_used,
    .examples =
        "  pathgcn eval runs/karate/model.safetensors\n"
        "  pathgcn eval runs/karate/model.safetensors --part val --csv classes.csv\n"
        "  pathgcn eval runs/cora/model.safetensors --data data --inference stochastic:10\n",
    .computes = true,
    .least_words = 1,
    .most_words = 2,
    .run = run_eval,
};

static const cli_brief predict_most_used[] = {
    {.name = "out"},
    CLI_BRIEF_SOURCE,
    {.name = "inference", .value = "HOW", .help = "deterministic, or stochastic:N draws of paths"},
    {.name = "all"},
    {.name = "unlabelled"},
    {.name = "threads"},
    {.name = "json"},
    {.name = NULL}};

const cli_command cli_predict = {
    .name = "predict",
    .summary = "the most likely class of every node or graph",
    .arguments = "MODEL [NAME|PATH]",
    .text =
        "Writes one line per node: node,label,probability; with stochastic:N also the deviation\n"
        "of the probability over the draws. A model of graphs writes one line per graph, from 0:\n"
        "graph,label,probability. A model of several labels writes node,labels,probability: those\n"
        "that are more likely than not, with ; between them. Nodes and classes have the names of the\n"
        "data.\n"
        "\n"
        "Without a data set, that of the training is read again (data.json beside the model records\n"
        "where it is). Another one, labelled or not, is prepared as in training (features=...,\n"
        "directed, self-loops) unless it is given with steps of its own. Its feature columns are matched\n"
        "by their names, node labels and degrees among them; without names there must be as many as in\n"
        "training. Categories, dates and gaps become numbers by the rules of the training, which the\n"
        "model keeps: a value that is new counts as a rare one, with a note. --unlabelled leaves out\n"
        "nodes or graphs that have a label. A file name that ends in .json gets JSON.",
    .brief = "MODEL: the model.safetensors of a run, which knows its data.",
    .most_used = predict_most_used,
    .examples = "  pathgcn predict runs/karate/model.safetensors --out predictions.csv\n"
                "  pathgcn predict runs/MUTAG/model.safetensors new-molecules --unlabelled\n"
                "  pathgcn predict runs/cora/model.safetensors --inference stochastic:20 --all\n",
    .computes = true,
    .least_words = 1,
    .most_words = 2,
    .run = run_predict,
};

/* What both read from the command line, and what both load. */
typedef struct request {
    cli_source source;
    const char *inference_text, *seed_text, *threads_text, *out, *part, *csv, *nodes_text;
    bool json, all, unlabelled;
    pgcn_inference inference;
    pgcn_model *model;
    pgcn_dataset *data;
    pgcn_node *node; /* that are predicted; NULL: all of them */
    int64_t nodes;
} request;

/* clang-format off */
#define COMMON_OPTIONS(r)                                                                          \
    CLI_SOURCE_OPTIONS((r).source),                                                                \
    {"inference", "deterministic | stochastic:N", "deterministic",                                 \
     "the exact operator, or the mean of N draws", &(r).inference_text, NULL},                     \
    {"seed", "S", "0", "seed of the stochastic draws", &(r).seed_text, NULL},                      \
    {"threads", "T", "0", "threads; 0: one per core", &(r).threads_text, NULL}
/* clang-format on */

static const request empty_request = {
    .inference_text = "deterministic", .seed_text = "0", .threads_text = "0"};

static void release(request *r) {
    free(r->node);
    pgcn_model_free(r->model);
    pgcn_dataset_free(r->data);
}

/* The steps of the training that say what graph and features are, out of the name of its data set:
 * "MUTAG:features=degrees,crossval=10". Splits are of no concern to other data. */
static void steps_of_training(const pgcn_model *model, char *out, size_t bytes) {
    const unsigned kept =
        CLI_STEP_DIRECTED | CLI_STEP_SYMMETRISE | CLI_STEP_SELF_LOOPS | (unsigned)CLI_STEP_FEATURES;
    const char *colon = strchr(pgcn_model_dataset(model), ':');
    cli_step_word word = {.rest = colon ? colon + 1 : NULL};
    *out = '\0';
    while (cli_step_next(&word)) {
        size_t used = strlen(out);
        if (kept & (unsigned)word.step)
            snprintf(out + used, bytes - used, "%s%.*s", used ? "," : "", (int)word.length,
                     word.text);
    }
}

static pgcn_status read_inference(const cli_command *command, const cli_arguments *arguments,
                                  request *r) {
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
                                       const char *part, const request *r) {
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
static void note_order_of_columns(const request *r) {
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
                             request *r) {
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
    const char *advice =
        !own_data ? ""
        : record
            ? "; or name the data set after the model, if it is elsewhere"
            : "; there is no data.json beside the model to say where its data is: name the data "
              "set after the model, or give its files with --edges and --features";
    pgcn_status status = cli_load_dataset(command, name, &r->source, advice, &r->data);
    json_decref(record);
    r->source = (cli_source){0}; /* its strings may have been the record's */
    if (status == PGCN_OK && !own_data) note_order_of_columns(r);
    if (status != PGCN_OK || !own_data) return status;
    return check_training_data(command, path, part, r);
}

pgcn_status cli_load_model_data(const cli_command *command, const char *path, const char *name,
                                const cli_source *source, pgcn_model **model, pgcn_dataset **data) {
    request r = {.source = *source};
    pgcn_status status = load_both(command, path, name, &r);
    *model = status == PGCN_OK ? r.model : NULL;
    *data = status == PGCN_OK ? r.data : NULL;
    if (status != PGCN_OK) release(&r);
    return status;
}

static pgcn_status load(const cli_command *command, const cli_arguments *arguments, request *r) {
    CLI_TRY(read_inference(command, arguments, r));
    return load_both(command, arguments->word[0], arguments->words > 1 ? arguments->word[1] : NULL,
                     r);
}

/* ---- eval ---------------------------------------------------------------------------------------- */

/* The split of the training, as the data calls it; NULL if the data does not have it. */
static const char *split_scored(const request *r, const pgcn_scores *scores) {
    return pgcn_dataset_split(r->data, scores->split, NULL, NULL, NULL);
}

static bool is_training_data(const request *r) {
    return strcmp(pgcn_dataset_describe(r->data).fingerprint, pgcn_model_fingerprint(r->model)) ==
           0;
}

/* As JSON calls it, in the order of pgcn_split_match. */
static const char *const split_matches[] = {"same", "other", "none", "by name"};

/* A warning about the split, without which the figures would mislead; "": none. */
static void split_remark(const request *r, const pgcn_scores *scores, char *out, size_t bytes) {
    const char *items = cli_items(pgcn_model_task(r->model)), *split = pgcn_model_split(r->model);
    const char *included = is_training_data(r) ? ", those of the training included" : "";
    *out = '\0';
    if (scores->split_match == PGCN_SPLIT_BY_NAME)
        snprintf(out, bytes,
                 "the model was written by pathgcn 0.1, which did not keep which %s its split has; "
                 "split %s was found by its name, and its test %s are held out only if it is the "
                 "same split",
                 items, split, items);
    if (scores->split_match == PGCN_SPLIT_OTHER)
        snprintf(out, bytes,
                 "split %s of this data is not the split %s that the model was trained on: it has "
                 "other training or validation %s, so that its test %s may have been trained on; "
                 "all %s with a label are scored together%s",
                 split, split, items, items, items, included);
    if (scores->split_match == PGCN_SPLIT_NONE && *included)
        snprintf(
            out, bytes,
            "this data does not have the split %s that the model was trained on; all %s with a "
            "label are scored together%s",
            split, items, included);
}

static pgcn_status print_eval_json(const request *r, const pgcn_scores *scores,
                                   const pgcn_verdict *verdict) {
    const struct {
        const char *name;
        const pgcn_score *score;
    } parts[] = {{"train", &scores->train},
                 {"val", &scores->val},
                 {"test", &scores->test},
                 {"all", &scores->all}};
    pgcn_task task = pgcn_model_task(r->model);
    char remark[600];
    split_remark(r, scores, remark, sizeof remark);
    pgcn_dataset_info info = pgcn_dataset_describe(r->data);
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s, s:s?, s:s, s:s, s:s?, s:s, s:i, s:I, s:s}", "measure",
        pgcn_measure_name(cli_measure_of(&info, NULL)), "dataset",
        pgcn_dataset_describe(r->data).name, "task", pgcn_task_name(task), "metric",
        cli_metric(task), "split", split_scored(r, scores), "split_of_training",
        pgcn_model_split(r->model), "split_match", split_matches[scores->split_match], "split_note",
        *remark ? remark : NULL, "inference", r->inference_text, "draws", r->inference.draws,
        "epoch", (json_int_t)pgcn_model_epoch(r->model), "accuracy_unit", "percent");
    for (int i = 0; i < 4; i++) {
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
        cli_put_scores(object, parts[i].name, score);
    }
    json_t *verdicts = json_object();
    for (int part = 0; part < PGCN_PARTS; part++) {
        pgcn_judgement j = pgcn_verdict_part(verdict, (pgcn_part)part);
        json_object_set_new(verdicts, pgcn_part_name((pgcn_part)part),
                            cli_verdict_to_json(r->model, &j));
    }
    json_object_set_new(object, "verdict", verdicts);
    return cli_print_json(&cli_eval, object);
}

static void print_figure(double percent) {
    if (isnan(percent))
        printf(" %10s", "-");
    else
        printf(" %10.2f", percent);
}

/* All measures, a column for each part of the split; the one that the data set names comes
 * first. */
static void print_measures(const request *r, const pgcn_score *const *part, int parts) {
    static const char *const heads[] = {"training", "validation", "test", "all"};
    pgcn_task task = pgcn_model_task(r->model);
    pgcn_dataset_info info = pgcn_dataset_describe(r->data);
    pgcn_measure named = cli_measure_of(&info, NULL);
    printf("\n%-19s", "in percent");
    for (int i = 0; i < parts; i++) printf(" %10s", heads[i]);
    for (int m = 0; m < PGCN_MEASURES; m++) {
        pgcn_measure measure = m == 0 ? named : (pgcn_measure)(m <= (int)named ? m - 1 : m);
        printf("\n%-19s", cli_measure_title(measure, task));
        for (int i = 0; i < parts; i++) print_figure(pgcn_score_measure(part[i], measure));
    }
    printf("\n%-19s", "most frequent class");
    for (int i = 0; i < parts; i++) print_figure(part[i]->majority);
    printf("\n");
}

/* The part that is shown class by class: the one of --part, else the one that was held out. */
static pgcn_part part_shown(const request *r, const pgcn_verdict *verdict) {
    pgcn_part part = PGCN_PART_TEST;
    if (r->part && pgcn_part_parse(r->part, &part)) return part;
    if (pgcn_verdict_part(verdict, PGCN_PART_TEST).items > 0) return PGCN_PART_TEST;
    return pgcn_verdict_part(verdict, PGCN_PART_VAL).items > 0 ? PGCN_PART_VAL : PGCN_PART_ALL;
}

static void print_eval_table(const request *r, const pgcn_scores *scores,
                             const pgcn_verdict *verdict) {
    pgcn_task task = pgcn_model_task(r->model);
    pgcn_dataset_info info = pgcn_dataset_describe(r->data);
    const char *split = split_scored(r, scores);
    bool with_all = !is_training_data(r) || !split; /* else it would mix training and test */
    char remark[600];
    split_remark(r, scores, remark, sizeof remark);
    printf("%s, split %s, %s inference, weights of epoch %lld\n\n", info.name,
           split ? split : "none", r->inference_text, (long long)pgcn_model_epoch(r->model));
    const struct {
        const char *name;
        const pgcn_score *score;
    } parts[] = {{"training", &scores->train},
                 {"validation", &scores->val},
                 {"test", &scores->test},
                 {"all", &scores->all}};
    const pgcn_score *const parts_shown[] = {&scores->train, &scores->val, &scores->test,
                                             &scores->all};
    bool drawn = r->inference.draws > 0;
    printf("%-12s %8s %% %10s", cli_items(task), cli_metric(task), "loss");
    printf(drawn ? "   %s\n" : "\n", "a single draw: mean, deviation");
    for (int i = 0; i < (with_all ? 4 : 3); i++) {
        const pgcn_score *score = parts[i].score;
        if (isnan(score->accuracy)) { /* the split has no such part: crossval, without-test */
            printf("%-12s %10s %10s\n", parts[i].name, "-", "-");
            continue;
        }
        printf("%-12s %10.2f %10.4f", parts[i].name, score->accuracy, score->loss);
        if (drawn) printf("   %.2f, %.2f", score->draw_accuracy, score->draw_deviation);
        putchar('\n');
    }
    print_measures(r, parts_shown, with_all ? 4 : 3);
    if (drawn)
        printf("\nThe %s is that of the mean of the %d draws.\n", cli_metric(task),
               r->inference.draws);
    pgcn_part part = part_shown(r, verdict);
    pgcn_judgement j = pgcn_verdict_part(verdict, part);
    cli_verdict_print(r->model, &j, part);
    if (*remark) printf("\nNote: %s.\n", remark);
}

static pgcn_status judge_and_print(const request *r) {
    pgcn_scores scores;
    pgcn_verdict *verdict;
    CLI_TRY(cli_report(&cli_eval,
                       pgcn_model_judge(r->model, r->data, &r->inference, &scores, &verdict)));
    cli_print_notes(stderr, r->data);
    pgcn_status status = PGCN_OK;
    if (r->csv) status = cli_verdict_write(&cli_eval, r->csv, r->model, verdict);
    if (status == PGCN_OK && r->json)
        status = print_eval_json(r, &scores, verdict);
    else if (status == PGCN_OK)
        print_eval_table(r, &scores, verdict);
    pgcn_verdict_free(verdict);
    return status;
}

static pgcn_status run_eval(int argc, char **argv) {
    request r = empty_request;
    const cli_option options[] = {
        COMMON_OPTIONS(r),
        {"part", "train | val | test | all", "test", "whose classes are shown one by one", &r.part,
         NULL},
        {"csv", "FILE", NULL, "write precision, recall, F1 and confusion of every class", &r.csv,
         NULL},
        {"json", NULL, NULL, "print one JSON line instead of the table", NULL, &r.json},
        CLI_OPTIONS_END};
    cli_arguments arguments;
    pgcn_part part;
    pgcn_status status = cli_parse(&cli_eval, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    if (r.part && !pgcn_part_parse(r.part, &part))
        return cli_fail(&cli_eval, PGCN_ERR_ARGUMENT,
                        "--part is '%s', expected train, val, test or all", r.part);
    status = load(&cli_eval, &arguments, &r);
    if (status == PGCN_OK) status = judge_and_print(&r);
    release(&r);
    return status;
}

/* ---- predict --------------------------------------------------------------------------------------- */

static int best_class(const float *probability, int classes) {
    int best = 0;
    for (int c = 1; c < classes; c++)
        if (probability[c] > probability[best]) best = c;
    return best;
}

static void put_json_text(FILE *out, const char *text) {
    json_t *value = cli_json_text(text);
    char *document = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    cli_put_json(out, document ? document : "\"\"");
    free(document);
    json_decref(value);
}

/* Its name in the source, or else its number. */
static void put_name(FILE *out, const char *name, int64_t number, bool json) {
    if (!name)
        fprintf(out, "%lld", (long long)number);
    else if (json)
        put_json_text(out, name);
    else
        cli_put_cell(out, name);
}

/* The predictions: a row of probabilities for each node or graph. */
typedef struct predictions {
    const request *r;
    pgcn_task task; /* of the model */
    int64_t items;
    int classes;
    const float *probability, *deviation; /* [items, classes] */
    const uint8_t *wanted;                /* [items] nodes that were asked for; NULL: all */
    int best;                             /* most likely class of the row at hand */
    FILE *out;
    bool json;
} predictions;

/* Finds the row of an item by its number in the source, and its most likely class. */
static int64_t select_item(predictions *p, int64_t number) {
    int64_t row = p->task == PGCN_TASK_GRAPH ? number : cli_node_row(p->r->data, number);
    p->best = best_class(p->probability + row * p->classes, p->classes);
    return row;
}

/* --unlabelled. Data may have classes of graphs where the model predicts nodes: those do not
 * count. */
static bool is_wanted(const predictions *p, int64_t row) {
    bool graphs = pgcn_dataset_describe(p->r->data).task == PGCN_TASK_GRAPH;
    bool same_items = graphs == (p->task == PGCN_TASK_GRAPH);
    if (p->wanted && !p->wanted[row]) return false;
    return !p->r->unlabelled || !same_items || !pgcn_dataset_is_labelled(p->r->data, row);
}

static void put_item(const predictions *p, int64_t number, int64_t row) {
    bool graph = p->task == PGCN_TASK_GRAPH;
    put_name(p->out, graph ? NULL : pgcn_dataset_node_id(p->r->data, row), number, p->json);
}

/* Whether class c is predicted: the most likely one or, where nodes have several labels, each that
 * is more likely than not. F1 counts labels the same way. */
static bool is_predicted(const predictions *p, int64_t row, int c) {
    if (p->task == PGCN_TASK_MULTILABEL) return p->probability[row * p->classes + c] > 0.5f;
    return c == p->best;
}

static void put_class(FILE *out, const predictions *p, int c) {
    put_name(out, pgcn_model_class_name(p->r->model, c), c, p->json);
}

/* ---- CSV ---- */

/* The names of the labels in one cell, which a comma in one of them makes a quoted one. */
static void put_labels_cell(const predictions *p, int64_t row) {
    if (p->task != PGCN_TASK_MULTILABEL) {
        put_class(p->out, p, p->best);
        return;
    }
    char *text = NULL;
    size_t bytes = 0;
    FILE *cell = open_memstream(&text, &bytes);
    const char *between = "";
    for (int c = 0; cell && c < p->classes; c++) {
        if (!is_predicted(p, row, c)) continue;
        const char *name = pgcn_model_class_name(p->r->model, c);
        if (name)
            fprintf(cell, "%s%s", between, name);
        else
            fprintf(cell, "%s%d", between, c);
        between = ";";
    }
    if (cell && fclose(cell) == 0) cli_put_cell(p->out, text);
    free(text);
}

static void put_numbers_cell(const predictions *p, int64_t row, const float *number) {
    char between = ',';
    for (int c = 0; c < p->classes; c++) {
        if (!is_predicted(p, row, c)) continue;
        fprintf(p->out, "%c%.9g", between, (double)number[row * p->classes + c]);
        between = ';';
    }
    if (between == ',') fputc(',', p->out); /* no label: an empty cell */
}

static void write_csv(predictions *p) {
    FILE *out = p->out;
    bool drawn = p->r->inference.draws > 0;
    fprintf(out, "%s,%s,probability%s", p->task == PGCN_TASK_GRAPH ? "graph" : "node",
            p->task == PGCN_TASK_MULTILABEL ? "labels" : "label", drawn ? ",deviation" : "");
    for (int c = 0; c < p->classes && p->r->all; c++) {
        const char *name = pgcn_model_class_name(p->r->model, c);
        fputs(name ? "," : ",p", out);
        put_class(out, p, c);
    }
    fputc('\n', out);
    for (int64_t number = 0; number < p->items; number++) {
        int64_t row = select_item(p, number);
        if (!is_wanted(p, row)) continue;
        put_item(p, number, row);
        fputc(',', out);
        put_labels_cell(p, row);
        put_numbers_cell(p, row, p->probability);
        if (drawn) put_numbers_cell(p, row, p->deviation);
        for (int c = 0; c < p->classes && p->r->all; c++)
            fprintf(out, ",%.9g", (double)p->probability[row * p->classes + c]);
        fputc('\n', out);
    }
}

/* ---- JSON ---- */

/* "key":value of the class, or "key":[value,...] of all labels. `number` NULL: their names. */
static void put_predicted(const predictions *p, const char *key, int64_t row, const float *number) {
    bool several = p->task == PGCN_TASK_MULTILABEL;
    const char *between = "";
    fprintf(p->out, ",\"%s\":%s", key, several ? "[" : "");
    for (int c = 0; c < p->classes; c++) {
        if (!is_predicted(p, row, c)) continue;
        fputs(between, p->out);
        if (number)
            fprintf(p->out, "%.9g", (double)number[row * p->classes + c]);
        else
            put_class(p->out, p, c);
        between = ",";
    }
    if (several) fputc(']', p->out);
}

static void write_json(predictions *p) {
    FILE *out = p->out;
    const request *r = p->r;
    bool first = true;
    fprintf(out, "{\"dataset\":");
    put_json_text(out, pgcn_dataset_describe(r->data).name);
    fprintf(out, ",\"task\":\"%s\",\"inference\":\"%s\",\"classes\":%d", pgcn_task_name(p->task),
            r->inference_text, p->classes);
    for (int c = 0; c < p->classes && pgcn_model_class_name(r->model, c); c++) {
        fputs(c ? "," : ",\"class_names\":[", out);
        put_class(out, p, c);
        if (c + 1 == p->classes) fputc(']', out);
    }
    fprintf(out, ",\"predictions\":[");
    for (int64_t number = 0; number < p->items; number++) {
        int64_t row = select_item(p, number);
        if (!is_wanted(p, row)) continue;
        fprintf(out, "%s\n{\"%s\":", first ? "" : ",",
                p->task == PGCN_TASK_GRAPH ? "graph" : "node");
        first = false;
        put_item(p, number, row);
        put_predicted(p, p->task == PGCN_TASK_MULTILABEL ? "labels" : "label", row, NULL);
        put_predicted(p, "probability", row, p->probability);
        if (r->inference.draws > 0) put_predicted(p, "deviation", row, p->deviation);
        for (int c = 0; c < p->classes && r->all; c++)
            fprintf(out, "%s%.9g%s", c ? "," : ",\"probabilities\":[",
                    (double)p->probability[row * p->classes + c], c + 1 == p->classes ? "]" : "");
        fputc('}', out);
    }
    fprintf(out, "\n]}\n");
}

/* ---- where it goes ---- */

static int64_t items_of(const request *r) {
    pgcn_dataset_info info = pgcn_dataset_describe(r->data);
    return pgcn_model_task(r->model) == PGCN_TASK_GRAPH ? info.graphs : info.nodes;
}

static pgcn_status write_predictions(const request *r, const float *probability,
                                     const float *deviation, const uint8_t *wanted) {
    predictions p = {.r = r,
                     .task = pgcn_model_task(r->model),
                     .items = items_of(r),
                     .classes = pgcn_model_classes(r->model),
                     .probability = probability,
                     .deviation = deviation,
                     .wanted = wanted};
    p.json = r->json || (r->out && cli_ends_in(r->out, ".json"));
    char *text = NULL;
    size_t bytes = 0;
    p.out = open_memstream(&text, &bytes);
    if (!p.out) return cli_fail(&cli_predict, PGCN_ERR_MEMORY, "out of memory");
    (p.json ? write_json : write_csv)(&p);
    pgcn_status status = PGCN_OK;
    if (fclose(p.out) != 0)
        status =
            cli_fail(&cli_predict, PGCN_ERR_MEMORY, "out of memory for the predictions of %lld %s",
                     (long long)p.items, cli_items(p.task));
    else if (r->out)
        status = cli_report(&cli_predict, pgcn_file_write(r->out, text, bytes));
    else
        fwrite(text, 1, bytes, stdout);
    free(text);
    return status;
}

/* The nodes that were asked for, in their rows of the arrays of all. */
static pgcn_status predict_nodes(const request *r, float *probability, float *deviation,
                                 uint8_t *wanted) {
    size_t classes = (size_t)pgcn_model_classes(r->model), count = (size_t)r->nodes * classes;
    float *some = calloc(2 * count + 1, sizeof *some);
    if (!some) return cli_fail(&cli_predict, PGCN_ERR_MEMORY, "out of memory");
    pgcn_status status =
        cli_report(&cli_predict, pgcn_model_predict_nodes(r->model, r->data, r->node, r->nodes,
                                                          &r->inference, some, some + count));
    for (int64_t i = 0; status == PGCN_OK && i < r->nodes; i++) {
        size_t from = (size_t)i * classes, to = (size_t)r->node[i] * classes;
        memcpy(probability + to, some + from, classes * sizeof *some);
        memcpy(deviation + to, some + count + from, classes * sizeof *some);
        wanted[r->node[i]] = 1;
    }
    free(some);
    return status;
}

static pgcn_status predict_and_write(const request *r) {
    size_t count = (size_t)items_of(r) * (size_t)pgcn_model_classes(r->model);
    float *probability = calloc(count, sizeof *probability);
    float *deviation = calloc(count, sizeof *deviation);
    uint8_t *wanted = calloc((size_t)items_of(r), 1);
    pgcn_status status = PGCN_OK;
    if (!probability || !deviation || !wanted)
        status =
            cli_fail(&cli_predict, PGCN_ERR_MEMORY, "out of memory for %zu probabilities", count);
    else if (r->node)
        status = predict_nodes(r, probability, deviation, wanted);
    else
        status = cli_report(&cli_predict, pgcn_model_predict(r->model, r->data, &r->inference,
                                                             probability, deviation));
    if (status == PGCN_OK) {
        cli_print_notes(stderr, r->data);
        status = write_predictions(r, probability, deviation, r->node ? wanted : NULL);
    }
    free(probability);
    free(deviation);
    free(wanted);
    return status;
}

static pgcn_status find_nodes(request *r) {
    if (!r->nodes_text) return PGCN_OK;
    if (pgcn_model_task(r->model) == PGCN_TASK_GRAPH)
        return cli_fail(&cli_predict, PGCN_ERR_ARGUMENT,
                        "--nodes does nothing: the model classifies graphs; leave it out");
    return cli_nodes(&cli_predict, "nodes", r->nodes_text, r->data, &r->node, &r->nodes);
}

static pgcn_status run_predict(int argc, char **argv) {
    request r = empty_request;
    const cli_option options[] = {
        {"out", "FILE", "standard output", "where to write; .json for JSON", &r.out, NULL},
        COMMON_OPTIONS(r),
        {"nodes", "a,b,c | FILE", NULL,
         "only these nodes, and only the rows that they need: ids, or a file with one in every line",
         &r.nodes_text, NULL},
        {"all", NULL, NULL, "also the probabilities of all classes", NULL, &r.all},
        {"unlabelled", NULL, NULL, "only those whose class was not given", NULL, &r.unlabelled},
        {"json", NULL, NULL, "JSON whatever the name of the file", NULL, &r.json},
        CLI_OPTIONS_END};
    cli_arguments arguments;
    pgcn_status status = cli_parse(&cli_predict, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    status = load(&cli_predict, &arguments, &r);
    if (status == PGCN_OK) status = find_nodes(&r);
    if (status == PGCN_OK) status = predict_and_write(&r);
    release(&r);
    return status;
}
