/* pathgcn predict: a model file, the data set it names (or another), and a prediction for every node or graph. */
#include "cli/request.h"

#include <stdlib.h>
#include <string.h>

static pgcn_status run_predict(int argc, char **argv);

static const cli_brief predict_most_used[] = {
    {.name = "out"},
    CLI_BRIEF_SOURCE,
    {.name = "inference", .value = "HOW", .help = "deterministic, or stochastic:N draws of paths"},
    {.name = "nodes", .help = "only these, from the rows that they need"},
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
        "nodes or graphs that have a label. --nodes computes only the rows that these nodes need, with the\n"
        "same bits. A file name that ends in .json gets JSON.",
    .brief = "MODEL: the model.safetensors of a run, which knows its data.",
    .most_used = predict_most_used,
    .examples = "  pathgcn predict runs/karate/model.safetensors --out predictions.csv\n"
                "  pathgcn predict runs/MUTAG/model.safetensors new-molecules --unlabelled\n"
                "  pathgcn predict runs/cora/model.safetensors --inference stochastic:20 --all\n"
                "  pathgcn predict runs/cora/model.safetensors --nodes 3,14,15\n",
    .computes = true,
    .least_words = 1,
    .most_words = 2,
    .run = run_predict,
};

typedef struct predict_request {
    cli_request asked;
    const char *out, *nodes_text;
    bool all, unlabelled;
    pgcn_node *node; /* that are predicted; NULL: all of them */
    int64_t nodes;
} predict_request;

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
    const predict_request *r;
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
    int64_t row = p->task == PGCN_TASK_GRAPH ? number : cli_node_row(p->r->asked.data, number);
    p->best = best_class(p->probability + row * p->classes, p->classes);
    return row;
}

/* --unlabelled. Data may have classes of graphs where the model predicts nodes: those do not
 * count. */
static bool is_wanted(const predictions *p, int64_t row) {
    bool graphs = pgcn_dataset_describe(p->r->asked.data).task == PGCN_TASK_GRAPH;
    bool same_items = graphs == (p->task == PGCN_TASK_GRAPH);
    if (p->wanted && !p->wanted[row]) return false;
    return !p->r->unlabelled || !same_items || !pgcn_dataset_is_labelled(p->r->asked.data, row);
}

static void put_item(const predictions *p, int64_t number, int64_t row) {
    bool graph = p->task == PGCN_TASK_GRAPH;
    put_name(p->out, graph ? NULL : pgcn_dataset_node_id(p->r->asked.data, row), number, p->json);
}

/* Whether class c is predicted: the most likely one or, where nodes have several labels, each that
 * is more likely than not. F1 counts labels the same way. */
static bool is_predicted(const predictions *p, int64_t row, int c) {
    if (p->task == PGCN_TASK_MULTILABEL) return p->probability[row * p->classes + c] > 0.5f;
    return c == p->best;
}

static void put_class(FILE *out, const predictions *p, int c) {
    put_name(out, pgcn_model_class_name(p->r->asked.model, c), c, p->json);
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
        const char *name = pgcn_model_class_name(p->r->asked.model, c);
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
    bool drawn = p->r->asked.inference.draws > 0;
    fprintf(out, "%s,%s,probability%s", p->task == PGCN_TASK_GRAPH ? "graph" : "node",
            p->task == PGCN_TASK_MULTILABEL ? "labels" : "label", drawn ? ",deviation" : "");
    for (int c = 0; c < p->classes && p->r->all; c++) {
        const char *name = pgcn_model_class_name(p->r->asked.model, c);
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
    const predict_request *r = p->r;
    bool first = true;
    fprintf(out, "{\"dataset\":");
    put_json_text(out, pgcn_dataset_describe(r->asked.data).name);
    fprintf(out, ",\"task\":\"%s\",\"inference\":\"%s\",\"classes\":%d", pgcn_task_name(p->task),
            r->asked.inference_text, p->classes);
    for (int c = 0; c < p->classes && pgcn_model_class_name(r->asked.model, c); c++) {
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
        if (r->asked.inference.draws > 0) put_predicted(p, "deviation", row, p->deviation);
        for (int c = 0; c < p->classes && r->all; c++)
            fprintf(out, "%s%.9g%s", c ? "," : ",\"probabilities\":[",
                    (double)p->probability[row * p->classes + c], c + 1 == p->classes ? "]" : "");
        fputc('}', out);
    }
    fprintf(out, "\n]}\n");
}

/* ---- where it goes ---- */

static int64_t items_of(const predict_request *r) {
    pgcn_dataset_info info = pgcn_dataset_describe(r->asked.data);
    return pgcn_model_task(r->asked.model) == PGCN_TASK_GRAPH ? info.graphs : info.nodes;
}

static pgcn_status write_predictions(const predict_request *r, const float *probability,
                                     const float *deviation, const uint8_t *wanted) {
    predictions p = {.r = r,
                     .task = pgcn_model_task(r->asked.model),
                     .items = items_of(r),
                     .classes = pgcn_model_classes(r->asked.model),
                     .probability = probability,
                     .deviation = deviation,
                     .wanted = wanted};
    p.json = r->asked.json || (r->out && cli_ends_in(r->out, ".json"));
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
static pgcn_status predict_nodes(const predict_request *r, float *probability, float *deviation,
                                 uint8_t *wanted) {
    size_t classes = (size_t)pgcn_model_classes(r->asked.model), count = (size_t)r->nodes * classes;
    float *some = calloc(2 * count + 1, sizeof *some);
    if (!some) return cli_fail(&cli_predict, PGCN_ERR_MEMORY, "out of memory");
    pgcn_status status = cli_report(
        &cli_predict, pgcn_model_predict_nodes(r->asked.model, r->asked.data, r->node, r->nodes,
                                               &r->asked.inference, some, some + count));
    for (int64_t i = 0; status == PGCN_OK && i < r->nodes; i++) {
        size_t from = (size_t)i * classes, to = (size_t)r->node[i] * classes;
        memcpy(probability + to, some + from, classes * sizeof *some);
        memcpy(deviation + to, some + count + from, classes * sizeof *some);
        wanted[r->node[i]] = 1;
    }
    free(some);
    return status;
}

static pgcn_status predict_and_write(const predict_request *r) {
    size_t count = (size_t)items_of(r) * (size_t)pgcn_model_classes(r->asked.model);
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
        status = cli_report(&cli_predict,
                            pgcn_model_predict(r->asked.model, r->asked.data, &r->asked.inference,
                                               probability, deviation));
    if (status == PGCN_OK) {
        cli_print_notes(stderr, r->asked.data);
        status = write_predictions(r, probability, deviation, r->node ? wanted : NULL);
    }
    free(probability);
    free(deviation);
    free(wanted);
    return status;
}

static pgcn_status find_nodes(predict_request *r) {
    if (!r->nodes_text) return PGCN_OK;
    if (pgcn_model_task(r->asked.model) == PGCN_TASK_GRAPH)
        return cli_fail(&cli_predict, PGCN_ERR_ARGUMENT,
                        "--nodes does nothing: the model classifies graphs; leave it out");
    return cli_nodes(&cli_predict, "nodes", r->nodes_text, r->asked.data, &r->node, &r->nodes);
}

static pgcn_status run_predict(int argc, char **argv) {
    predict_request r = {.asked = cli_empty_request};
    const cli_option options[] = {
        {"out", "FILE", "standard output", "where to write; .json for JSON", &r.out, NULL},
        CLI_REQUEST_OPTIONS(r.asked),
        {"nodes", "a,b,c | FILE", NULL,
         "only these nodes, and only the rows that they need: ids, or a file with one in every line",
         &r.nodes_text, NULL},
        {"all", NULL, NULL, "also the probabilities of all classes", NULL, &r.all},
        {"unlabelled", NULL, NULL, "only those whose class was not given", NULL, &r.unlabelled},
        {"json", NULL, NULL, "JSON whatever the name of the file", NULL, &r.asked.json},
        CLI_OPTIONS_END};
    cli_arguments arguments;
    pgcn_status status = cli_parse(&cli_predict, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    status = cli_request_load(&cli_predict, &arguments, &r.asked);
    if (status == PGCN_OK) status = find_nodes(&r);
    if (status == PGCN_OK) status = predict_and_write(&r);
    free(r.node);
    cli_request_free(&r.asked);
    return status;
}
