/* pathgcn explain: which nodes, over how many links, and which of their features make a prediction. */
#include "cli/explain.h"

#include <stdlib.h>
#include <string.h>

static pgcn_status run(int argc, char **argv);

static const cli_brief most_used[] = {{.name = "class"},    {.name = "against"}, {.name = "top"},
                                      {.name = "removals"}, {.name = "mask"},    {.name = "svg"},
                                      CLI_BRIEF_SOURCE,     {.name = "json"},    {.name = NULL}};

const cli_command cli_explain = {
    .name = "explain",
    .summary = "which nodes and features make a prediction",
    .arguments = "MODEL NODE [NAME|PATH]",
    .text =
        "Takes the logit of the predicted class of NODE apart: into what the features of each node\n"
        "contribute, by the number of hops they came, and what biases and norms do. With the ReLUs as\n"
        "open as they are, and the coefficients of attention as they are, a network is affine, so that all\n"
        "contributions add up to the logit. NODE is an id of the data, or a number from 0 where the\n"
        "data has no ids; of a model of graphs it is the number of a graph. --class explains another\n"
        "class or label, --against the difference of two logits: what speaks for one class over the\n"
        "other. Beside the predicted class the table shows contributions over the second most probable.\n"
        "\n"
        "Hops of all layers are added up: hop i of a path counts i, a step along a link 1. What has come\n"
        "further than --hops is in its last column. \"residual\" is what goes straight from the start\n"
        "of the network to a later layer.\n"
        "\n"
        "Then the strongest nodes are cut off, one by one, and all of them: their links are removed, degrees\n"
        "counted again, and the class predicted again. --mask sets their links to 0 instead and\n"
        "leaves all others as they are. Models of node2vec walks have no exact form: there, and with\n"
        "--sampled, one draw of paths is explained, that of --seed.\n"
        "\n"
        "docs/EXPLAIN.md has the equations, and says what is held fixed of ELU, tanh and layer norms.",
    .brief =
        "MODEL: the model.safetensors of a run, which knows its data. NODE: an id, or a number.",
    .most_used = most_used,
    .examples =
        "  pathgcn explain runs/karate/model.safetensors 5\n"
        "  pathgcn explain runs/karate/model.safetensors 5 --svg node-5.svg\n"
        "  pathgcn explain runs/cora/model.safetensors 1708 --data data --against 3 --json\n",
    .computes = true,
    .least_words = 2,
    .most_words = 3,
    .run = run,
};

typedef struct request {
    cli_source source;
    const char *class, *against, *hops, *top, *removals, *seed, *threads, *svg;
    bool mask, sampled, json;
    pgcn_explain_opts opts;
    pgcn_model *model;
    pgcn_dataset *data;
    int64_t item, top_listed;
} request;

/* ---- what is asked for ------------------------------------------------------------------------------- */

static pgcn_status read_numbers(request *r) {
    long long hops, top, removals, seed, threads;
    CLI_TRY(cli_number(&cli_explain, "hops", r->hops, 0, 1000, &hops));
    CLI_TRY(cli_number(&cli_explain, "top", r->top, 0, 1000000, &top));
    CLI_TRY(cli_number(&cli_explain, "removals", r->removals, 0, 1000, &removals));
    CLI_TRY(cli_number(&cli_explain, "seed", r->seed, 0, PGCN_MAX_SEED, &seed));
    CLI_TRY(cli_number(&cli_explain, "threads", r->threads, 0, 1024, &threads));
    if (r->mask && removals == 0)
        return cli_fail(&cli_explain, PGCN_ERR_ARGUMENT,
                        "--mask does nothing with --removals 0; leave out one of them");
    r->opts = pgcn_explain_opts_default();
    r->opts.hops = (int)hops;
    r->opts.pairs = top == 0 ? INT64_MAX : top;
    r->opts.removals = (int)removals;
    r->opts.mask = r->mask;
    r->opts.sampled = r->sampled;
    r->opts.seed = (uint64_t)seed;
    r->opts.threads = (int)threads;
    r->top_listed = top;
    return PGCN_OK;
}

/* A class by its name, or by its number where classes have none or the name is none of theirs. */
static pgcn_status find_class(const request *r, const char *option, const char *text, int *out) {
    int classes = pgcn_model_classes(r->model);
    int64_t number;
    if (!text) return PGCN_OK;
    cli_guess guess = cli_guess_start(text);
    for (int c = 0; c < classes; c++) {
        const char *name = pgcn_model_class_name(r->model, c);
        if (!name) break;
        if (strcmp(name, text) == 0) {
            *out = c;
            return PGCN_OK;
        }
        cli_guess_offer(&guess, name);
    }
    if (pgcn_integer_parse(text, 0, classes - 1, &number)) {
        *out = (int)number;
        return PGCN_OK;
    }
    char hint[CLI_HINT_BYTES];
    cli_guess_hint(&guess, "", hint);
    return cli_fail(&cli_explain, PGCN_ERR_ARGUMENT,
                    "--%s is '%s', expected the name of a class or its number from 0 to %d%s",
                    option, text, classes - 1, hint);
}

static pgcn_status find_graph(request *r, const char *text) {
    int64_t graphs = pgcn_dataset_describe(r->data).graphs;
    if (pgcn_integer_parse(text, 0, graphs - 1, &r->item)) return PGCN_OK;
    return cli_fail(&cli_explain, PGCN_ERR_ARGUMENT,
                    "'%s' is no graph of %s: expected a number from 0 to %lld", text,
                    pgcn_dataset_describe(r->data).name, (long long)graphs - 1);
}

static pgcn_status find_node(request *r, const char *text) {
    pgcn_dataset_info info = pgcn_dataset_describe(r->data);
    bool named = pgcn_dataset_node_id(r->data, 0) != NULL;
    cli_guess guess = cli_guess_start(text);
    for (int64_t u = 0; named && u < info.nodes; u++) {
        const char *id = pgcn_dataset_node_id(r->data, u);
        if (strcmp(id, text) == 0) {
            r->item = u;
            return PGCN_OK;
        }
        cli_guess_offer(&guess, id);
    }
    char hint[CLI_HINT_BYTES];
    cli_guess_hint(&guess, "", hint);
    if (named)
        return cli_fail(&cli_explain, PGCN_ERR_ARGUMENT, "no node of %s has the id '%s'%s",
                        info.name, text, hint);
    if (!pgcn_integer_parse(text, 0, info.nodes - 1, &r->item))
        return cli_fail(&cli_explain, PGCN_ERR_ARGUMENT,
                        "'%s' is no node of %s: expected a number from 0 to %lld", text, info.name,
                        (long long)info.nodes - 1);
    r->item = cli_node_row(r->data, r->item);
    return PGCN_OK;
}

/* ---- what comes out ------------------------------------------------------------------------------------ */

static pgcn_status write_svg(const cli_explained *x, const char *path) {
    cli_explain_picture picture;
    report_text text = {0};
    char why[256];
    pgcn_status status = cli_explain_picture_open(&picture, x, why, sizeof why);
    if (status != PGCN_OK) return cli_fail(&cli_explain, status, "--svg %s: %s", path, why);
    report_canvas canvas = report_canvas_open(&text, REPORT_SVG, picture.picture.width,
                                              picture.picture.height, picture.picture.about, true);
    picture.picture.draw(&canvas, &picture);
    report_canvas_close(&canvas);
    status = cli_report(&cli_explain, report_text_write(&text, path));
    report_text_free(&text);
    cli_explain_picture_close(&picture);
    return status;
}

static pgcn_status write_all(const request *r, const cli_explained *x) {
    if (r->svg) CLI_TRY(write_svg(x, r->svg));
    if (r->json) return cli_print_json(&cli_explain, cli_explain_to_json(x));
    cli_explain_print(x);
    if (r->svg) printf("\n%s shows the strongest nodes.\n", r->svg);
    return PGCN_OK;
}

/* The most probable class but the explained one. */
static int runner_up(const pgcn_explanation *e) {
    int best = -1;
    for (int c = 0; c < e->classes; c++)
        if (c != e->target && (best < 0 || e->probability[c] > e->probability[best])) best = c;
    return best;
}

static pgcn_status explain(request *r) {
    pgcn_explanation *e = NULL, *contrast = NULL;
    CLI_TRY(cli_report(&cli_explain, pgcn_model_explain(r->model, r->data, r->item, &r->opts, &e)));
    pgcn_status status = PGCN_OK;
    if (e->against < 0 && e->classes > 1 && pgcn_model_task(r->model) != PGCN_TASK_MULTILABEL) {
        pgcn_explain_opts opts = r->opts;
        opts.target = e->target;
        opts.against = runner_up(e);
        opts.removals = 0;
        opts.mask = false;
        status = cli_report(&cli_explain,
                            pgcn_model_explain(r->model, r->data, r->item, &opts, &contrast));
    }
    if (status == PGCN_OK)
        status = write_all(r, &(cli_explained){r->model, r->data, e, contrast, r->top_listed});
    pgcn_explanation_free(e);
    pgcn_explanation_free(contrast);
    return status;
}

static pgcn_status prepare(request *r, const char *item) {
    CLI_TRY(pgcn_model_task(r->model) == PGCN_TASK_GRAPH ? find_graph(r, item)
                                                         : find_node(r, item));
    CLI_TRY(find_class(r, "class", r->class, &r->opts.target));
    return find_class(r, "against", r->against, &r->opts.against);
}

static pgcn_status run(int argc, char **argv) {
    request r = {.hops = "16", .top = "10", .removals = "5", .seed = "0", .threads = "0"};
    const cli_option options[] = {
        {"class", "CLASS", "predicted", "the class, or one of several labels, by name or number",
         &r.class, NULL},
        {"against", "CLASS", NULL, "explain the logit minus that of this class", &r.against, NULL},
        {"top", "N", "10", "nodes and features that are listed and drawn; 0: all", &r.top, NULL},
        {"hops", "N", "16", "contributions from this many hops and more are told together", &r.hops,
         NULL},
        {"removals", "N", "5", "of the strongest nodes: predict without their links; 0: do not",
         &r.removals, NULL},
        {"mask", NULL, NULL, "removed links count 0, and degrees stay", NULL, &r.mask},
        {"sampled", NULL, NULL, "explain one draw of paths instead of the exact form", NULL,
         &r.sampled},
        {"seed", "S", "0", "of that draw", &r.seed, NULL},
        {"svg", "FILE", NULL, "draw the strongest nodes, links as wide as what they carry", &r.svg,
         NULL},
        CLI_SOURCE_OPTIONS(r.source),
        {"threads", "T", "0", "threads; 0: one per core", &r.threads, NULL},
        CLI_JSON_OPTION(r.json),
        CLI_OPTIONS_END};
    cli_arguments arguments;
    pgcn_status status = cli_parse(&cli_explain, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    CLI_TRY(read_numbers(&r));
    status = cli_load_model_data(&cli_explain, arguments.word[0],
                                 arguments.words > 2 ? arguments.word[2] : NULL, &r.source,
                                 &r.model, &r.data);
    if (status == PGCN_OK) status = prepare(&r, arguments.word[1]);
    if (status == PGCN_OK && cli_is_given(&arguments, "seed") && !r.sampled &&
        pgcn_model_config(r.model)->walk != PGCN_WALK_NODE2VEC)
        status =
            cli_fail(&cli_explain, PGCN_ERR_ARGUMENT,
                     "--seed %s does nothing: the exact form draws nothing; leave it out or add "
                     "--sampled",
                     r.seed);
    if (status == PGCN_OK) status = explain(&r);
    pgcn_model_free(r.model);
    pgcn_dataset_free(r.data);
    return status;
}
