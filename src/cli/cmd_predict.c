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
    .shares_rows = true,
    .summary = "the most likely class of every node or graph",
    .arguments = "MODEL... [NAME|PATH]",
    .text =
        "Writes one line per node: node,label,probability; with stochastic:N also the deviation\n"
        "of the probability over the draws. A model of graphs writes one line per graph, from 0:\n"
        "graph,label,probability. A model of several labels writes node,labels,probability: those\n"
        "that are more likely than not, with ; between them. Nodes and classes have the names of the\n"
        "data.\n"
        "\n"
        "Of several models, such as those of several seeds, it is the mean of their probabilities, with\n"
        "the deviation between them, also where each of them draws paths. They are trained on the same\n"
        "data, on any split, and may be different networks.\n"
        "\n"
        "Without a data set, that of the training is read again (data.json beside the model records\n"
        "where it is). Another one, labelled or not, is prepared as in training (features=...,\n"
        "directed, self-loops) unless it is given with steps of its own. Its feature columns are matched\n"
        "by their names, node labels and degrees among them; without names there must be as many as in\n"
        "training. Categories, dates and gaps become numbers by the rules of the training, which the\n"
        "model keeps: a value that is new counts as a rare one, with a note. --unlabelled leaves out\n"
        "nodes or graphs that have a label. --nodes computes only the rows that these nodes need, with the\n"
        "same bits. A file name that ends in .json gets JSON.\n"
        "\n"
        "With --memory SIZE the features of a container stay on disk. Draws (--inference stochastic:N)\n"
        "read the rows of blocks of nodes ahead of need. Deterministic inference goes through temporary\n"
        "files without names, beside the container, unless --nodes need few rows. The bits are the same.\n"
        "A size below what is needed in any case is refused; one that was exceeded is told afterwards.",
    .brief = "MODEL: model.safetensors of a run, which knows its data; several: their mean.",
    .most_used = predict_most_used,
    .examples =
        "  pathgcn predict runs/karate/model.safetensors --out predictions.csv\n"
        "  pathgcn predict runs/MUTAG/model.safetensors new-molecules --unlabelled\n"
        "  pathgcn predict runs/cora/model.safetensors --inference stochastic:20 --all\n"
        "  pathgcn predict runs/cora/model.safetensors --nodes 3,14,15\n"
        "  pathgcn predict runs/cora/seed-0 runs/cora/seed-1 runs/cora/seed-2\n"
        "  pathgcn predict runs/huge/model.safetensors --inference stochastic:5 --memory 2G\n",
    .computes = true,
    .least_words = 1,
    .most_words = CLI_MAX_WORDS,
    .run = run_predict,
};

typedef struct predict_request {
    cli_request asked;
    const char *out, *nodes_text;
    bool all, unlabelled;
    pgcn_node *node; /* that are predicted; NULL: all of them */
    int64_t nodes;
} predict_request;

/* Whether probabilities are means of several: of draws, or of models. */
static bool deviates(const predict_request *r) {
    return r->asked.inference.draws > 0 || r->asked.models > 1;
}

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

/* Predictions on their way out: those of some items at a time. */
typedef struct predictions {
    predict_request *r;
    pgcn_task task; /* of the model */
    int classes;
    float *probability, *deviation; /* [rows, classes] */
    int best;                       /* most likely class of the row at hand */
    int64_t written;                /* items */
    FILE *out;                      /* text of the items at hand, */
    pgcn_file *file;                /* which goes there; NULL: to standard output */
    bool json;
} predictions;

static int64_t node_or_graph(const predict_request *r, int64_t number) {
    bool graphs = pgcn_model_task(r->asked.model) == PGCN_TASK_GRAPH;
    return graphs ? number : cli_node_row(r->asked.data, number);
}

/* --unlabelled. Data may have classes of graphs where the model predicts nodes: those do not
 * count. */
static bool is_wanted(const predict_request *r, int64_t item) {
    bool graphs = pgcn_dataset_describe(r->asked.data).task == PGCN_TASK_GRAPH;
    bool same_items = graphs == (pgcn_model_task(r->asked.model) == PGCN_TASK_GRAPH);
    return !r->unlabelled || !same_items || !pgcn_dataset_is_labelled(r->asked.data, item);
}

static void put_item(const predictions *p, int64_t number, int64_t item) {
    bool graph = p->task == PGCN_TASK_GRAPH;
    put_name(p->out, graph ? NULL : pgcn_dataset_node_id(p->r->asked.data, item), number, p->json);
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

static void begin_csv(const predictions *p) {
    FILE *out = p->out;
    fprintf(out, "%s,%s,probability%s", p->task == PGCN_TASK_GRAPH ? "graph" : "node",
            p->task == PGCN_TASK_MULTILABEL ? "labels" : "label",
            deviates(p->r) ? ",deviation" : "");
    for (int c = 0; c < p->classes && p->r->all; c++) {
        const char *name = pgcn_model_class_name(p->r->asked.model, c);
        fputs(name ? "," : ",p", out);
        put_class(out, p, c);
    }
    fputc('\n', out);
}

static void put_csv(const predictions *p, int64_t number, int64_t item, int64_t row) {
    FILE *out = p->out;
    put_item(p, number, item);
    fputc(',', out);
    put_labels_cell(p, row);
    put_numbers_cell(p, row, p->probability);
    if (deviates(p->r)) put_numbers_cell(p, row, p->deviation);
    for (int c = 0; c < p->classes && p->r->all; c++)
        fprintf(out, ",%.9g", (double)p->probability[row * p->classes + c]);
    fputc('\n', out);
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

static void begin_json(const predictions *p) {
    FILE *out = p->out;
    const predict_request *r = p->r;
    fprintf(out, "{\"dataset\":");
    put_json_text(out, pgcn_dataset_describe(r->asked.data).name);
    fprintf(out, ",\"task\":\"%s\",\"inference\":\"%s\",\"models\":%d,\"classes\":%d",
            pgcn_task_name(p->task), r->asked.inference_text, r->asked.models, p->classes);
    for (int c = 0; c < p->classes && pgcn_model_class_name(r->asked.model, c); c++) {
        fputs(c ? "," : ",\"class_names\":[", out);
        put_class(out, p, c);
        if (c + 1 == p->classes) fputc(']', out);
    }
    fprintf(out, ",\"predictions\":[");
}

static void put_json(const predictions *p, int64_t number, int64_t item, int64_t row) {
    FILE *out = p->out;
    fprintf(out, "%s\n{\"%s\":", p->written > 0 ? "," : "",
            p->task == PGCN_TASK_GRAPH ? "graph" : "node");
    put_item(p, number, item);
    put_predicted(p, p->task == PGCN_TASK_MULTILABEL ? "labels" : "label", row, NULL);
    put_predicted(p, "probability", row, p->probability);
    if (deviates(p->r)) put_predicted(p, "deviation", row, p->deviation);
    for (int c = 0; c < p->classes && p->r->all; c++)
        fprintf(out, "%s%.9g%s", c ? "," : ",\"probabilities\":[",
                (double)p->probability[row * p->classes + c], c + 1 == p->classes ? "]" : "");
    fputc('}', out);
}

/* ---- where it goes ---- */

static void put_row(predictions *p, int64_t number, int64_t item, int64_t row) {
    p->best = best_class(p->probability + row * p->classes, p->classes);
    (p->json ? put_json : put_csv)(p, number, item, row);
    p->written++;
}

/* Text that `put` writes goes to the file or standard output, in one piece. */
static pgcn_status put_text(predictions *p, void (*put)(predictions *p, const void *what),
                            const void *what) {
    char *text = NULL;
    size_t bytes = 0;
    p->out = open_memstream(&text, &bytes);
    if (!p->out) return cli_fail(&cli_predict, PGCN_ERR_MEMORY, "out of memory");
    put(p, what);
    pgcn_status status = PGCN_OK;
    if (fclose(p->out) != 0)
        status = cli_fail(&cli_predict, PGCN_ERR_MEMORY, "out of memory for predictions");
    else if (p->file)
        status = cli_report(&cli_predict, pgcn_file_put(p->file, text, bytes));
    else
        fwrite(text, 1, bytes, stdout);
    free(text);
    return status;
}

static void put_begin(predictions *p, const void *unused) {
    (void)unused;
    (p->json ? begin_json : begin_csv)(p);
}

static void put_end(predictions *p, const void *unused) {
    (void)unused;
    if (p->json) fputs("\n]}\n", p->out);
}

static int64_t items_of(const predict_request *r) {
    pgcn_dataset_info info = pgcn_dataset_describe(r->asked.data);
    return pgcn_model_task(r->asked.model) == PGCN_TASK_GRAPH ? info.graphs : info.nodes;
}

/* ---- some nodes at a time ---- */

enum { AT_A_TIME = 1 << 16 };

/* Nodes by their numbers in the source, ascending. */
typedef struct some_nodes {
    const pgcn_node *number;
    pgcn_node *node;
    int64_t count;
} some_nodes;

static void put_some(predictions *p, const void *what) {
    const some_nodes *some = what;
    for (int64_t i = 0; i < some->count; i++) put_row(p, some->number[i], some->node[i], i);
}

static int by_number(const void *a, const void *b) {
    pgcn_node x = *(const pgcn_node *)a, y = *(const pgcn_node *)b;
    return (x > y) - (x < y);
}

/* Who reads rows one by one beside his own list has to know that they are others. */
static void sort_and_tell(pgcn_node *number, int64_t count) {
    bool sorted = true;
    int64_t again = 0;
    for (int64_t i = 1; i < count; i++) sorted = sorted && number[i - 1] <= number[i];
    if (!sorted) qsort(number, (size_t)count, sizeof *number, by_number);
    for (int64_t i = 1; i < count; i++) again += number[i - 1] == number[i];
    if (!sorted || again > 0)
        fprintf(stderr,
                "note: the nodes of --nodes are written in the order of the data, each once");
    if (again > 0) fprintf(stderr, ": %lld given again left out", (long long)again);
    if (!sorted || again > 0) fprintf(stderr, "\n");
}

/* The numbers of the nodes that were asked for, each once, or of all; without those that --unlabelled leaves out. */
static int64_t list_numbers(const predict_request *r, pgcn_node *number) {
    int64_t count = r->node ? r->nodes : items_of(r), kept = 0;
    for (int64_t i = 0; i < count; i++)
        number[i] = (pgcn_node)(r->node ? cli_node_number(r->asked.data, r->node[i]) : i);
    if (r->node) sort_and_tell(number, count);
    for (int64_t i = 0; i < count; i++)
        if ((kept == 0 || number[i] != number[kept - 1]) &&
            is_wanted(r, node_or_graph(r, number[i])))
            number[kept++] = number[i];
    return kept;
}

static pgcn_status predict_parts(predictions *p, pgcn_predictor *predictor, const pgcn_node *number,
                                 int64_t count, some_nodes room) {
    predict_request *r = p->r;
    r->asked.whole = (double)count;
    for (int64_t at = 0; at < count; at += AT_A_TIME) {
        some_nodes some = {number + at, room.node, count - at < AT_A_TIME ? count - at : AT_A_TIME};
        for (int64_t i = 0; i < some.count; i++)
            some.node[i] = (pgcn_node)node_or_graph(r, some.number[i]);
        r->asked.done = (double)at;
        r->asked.part = (double)some.count;
        CLI_TRY(cli_report(&cli_predict, pgcn_predictor_nodes(predictor, some.node, some.count,
                                                              p->probability, p->deviation)));
        if (at == 0) cli_print_notes(stderr, r->asked.data);
        if (at == 0) CLI_TRY(put_text(p, put_begin, NULL));
        CLI_TRY(put_text(p, put_some, &some));
    }
    return count > 0 ? PGCN_OK : put_text(p, put_begin, NULL);
}

/* --nodes, and features that stay on disk: results are written as they come. */
static pgcn_status predict_some(predictions *p) {
    predict_request *r = p->r;
    size_t most = (size_t)(r->node ? r->nodes : items_of(r));
    size_t room = most < AT_A_TIME ? most : AT_A_TIME, floats = room * (size_t)p->classes;
    pgcn_node *number = malloc((most + 1) * sizeof *number);
    pgcn_node *node = malloc((room + 1) * sizeof *node);
    pgcn_predictor *predictor = NULL;
    pgcn_status status = PGCN_OK;
    p->probability = calloc(floats + 1, sizeof *p->probability);
    p->deviation = calloc(floats + 1, sizeof *p->deviation);
    if (!number || !node || !p->probability || !p->deviation)
        status = cli_fail(&cli_predict, PGCN_ERR_MEMORY, "out of memory");
    if (status == PGCN_OK)
        status = cli_report(&cli_predict, pgcn_predictor_new(r->asked.model, r->asked.data,
                                                             &r->asked.inference, &predictor));
    if (status == PGCN_OK)
        status = predict_parts(p, predictor, number, list_numbers(r, number),
                               (some_nodes){.node = node});
    pgcn_predictor_free(predictor);
    free(number);
    free(node);
    free(p->probability);
    free(p->deviation);
    return status;
}

/* ---- all of them ---- */

/* Out of the rows of all items, which are in the order of the data. */
static void put_wanted(predictions *p, const void *what) {
    const some_nodes *some = what;
    for (int64_t i = 0; i < some->count; i++) {
        int64_t item = node_or_graph(p->r, some->number[i]);
        put_row(p, some->number[i], item, item);
    }
}

static pgcn_status predict_all(predictions *p) {
    predict_request *r = p->r;
    int64_t items = items_of(r);
    size_t count = (size_t)items * (size_t)p->classes;
    size_t most = (size_t)(r->node && r->nodes > items ? r->nodes : items);
    pgcn_status status = PGCN_OK;
    pgcn_node *number = malloc((most + 1) * sizeof *number);
    p->probability = calloc(count, sizeof *p->probability);
    p->deviation = calloc(count, sizeof *p->deviation);
    if (!number || !p->probability || !p->deviation)
        status =
            cli_fail(&cli_predict, PGCN_ERR_MEMORY, "out of memory for %zu probabilities", count);
    else
        status = cli_report(&cli_predict,
                            pgcn_models_predict((const pgcn_model *const *)r->asked.member,
                                                r->asked.models, r->asked.data, &r->asked.inference,
                                                p->probability, p->deviation));
    if (status == PGCN_OK) cli_print_notes(stderr, r->asked.data);
    if (status == PGCN_OK) status = put_text(p, put_begin, NULL);
    if (status == PGCN_OK) {
        some_nodes wanted = {.number = number, .count = list_numbers(r, number)};
        status = put_text(p, put_wanted, &wanted);
    }
    free(number);
    free(p->probability);
    free(p->deviation);
    return status;
}

/* Draws on features that stay on disk need few rows at a time; their exact form is computed once, for all nodes. Several
 * models predict all nodes one after the other. */
static bool some_at_a_time(const predict_request *r) {
    bool on_disk = pgcn_dataset_row_reads(r->asked.data, NULL);
    if (r->asked.models > 1) return false;
    return r->node || (on_disk && r->asked.inference.draws > 0);
}

static pgcn_status predict_and_write(predict_request *r) {
    predictions p = {.r = r,
                     .task = pgcn_model_task(r->asked.model),
                     .classes = pgcn_model_classes(r->asked.model),
                     .json = r->asked.json || (r->out && cli_ends_in(r->out, ".json"))};
    if (r->out) CLI_TRY(cli_report(&cli_predict, pgcn_file_begin(r->out, &p.file)));
    pgcn_status status = cli_request_watch(&cli_predict, &r->asked);
    if (status == PGCN_OK) status = some_at_a_time(r) ? predict_some(&p) : predict_all(&p);
    if (status == PGCN_OK) status = put_text(&p, put_end, NULL);
    cli_request_unwatch(&r->asked);
    pgcn_status ended = pgcn_file_end(p.file, status == PGCN_OK);
    return status == PGCN_OK ? cli_report(&cli_predict, ended) : status;
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
        CLI_REQUEST_MEMORY(r.asked),
        {"nodes", "a,b,c | FILE", NULL,
         "only these nodes, and only the rows that they need: ids, or a file with one in every line; "
         "they are written in the order of the data, each once",
         &r.nodes_text, NULL},
        {"all", NULL, NULL, "also the probabilities of all classes", NULL, &r.all},
        {"unlabelled", NULL, NULL, "only those whose class was not given", NULL, &r.unlabelled},
        {"json", NULL, NULL, "JSON whatever the name of the file", NULL, &r.asked.json},
        CLI_OPTIONS_END};
    cli_arguments arguments;
    pgcn_status status = cli_parse(&cli_predict, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    status = cli_request_load(&cli_predict, &arguments, &r.asked);
    if (status == PGCN_OK)
        status = cli_request_check_output(&cli_predict, &arguments, &r.asked, "out", r.out);
    if (status == PGCN_OK) status = find_nodes(&r);
    if (status == PGCN_OK)
        status = cli_ranks_serves() ? cli_ranks_serve(r.asked.data) : predict_and_write(&r);
    free(r.node);
    cli_request_free(&r.asked);
    return status;
}
