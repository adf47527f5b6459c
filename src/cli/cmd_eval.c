/* pathgcn eval: a model file, the data set it names (or another), and how right the model is on its split. */
#include "cli/request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static pgcn_status run_eval(int argc, char **argv);

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
    .shares_rows = true,
    .summary = "accuracy of a model",
    .arguments = "MODEL... [NAME|PATH]",
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
        "deviation.\n"
        "\n"
        "Several models, such as those of several seeds on one split, are evaluated together: the mean of\n"
        "their probabilities is, with mean and deviation of the accuracy of a single one beside it. They\n"
        "may be different networks; the directory of a run stands for its model.\n"
        "\n"
        "With --memory SIZE the features of a container stay on disk. Draws read the rows of blocks of\n"
        "nodes ahead of need; deterministic inference goes through temporary files without names, beside\n"
        "the container. The figures are the same.",
    .brief = "MODEL: model.safetensors of a run, which knows its data; several: their mean.",
    .most_used = eval_most_used,
    .examples = "  pathgcn eval runs/karate/model.safetensors\n"
                "  pathgcn eval runs/karate/model.safetensors --part val --csv classes.csv\n"
                "  pathgcn eval runs/cora/model.safetensors --data data --inference stochastic:10\n"
                "  pathgcn eval runs/cora/seed-0 runs/cora/seed-1 runs/cora/seed-2\n",
    .computes = true,
    .least_words = 1,
    .most_words = CLI_MAX_WORDS,
    .run = run_eval,
};

typedef struct eval_request {
    cli_request asked;
    const char *part, *csv;
} eval_request;

/* The split of the training, as the data calls it; NULL if the data does not have it. */
static const char *split_scored(const eval_request *r, const pgcn_scores *scores) {
    return pgcn_dataset_split(r->asked.data, scores->split, NULL, NULL, NULL);
}

static bool is_training_data(const eval_request *r) {
    return strcmp(pgcn_dataset_describe(r->asked.data).fingerprint,
                  pgcn_model_fingerprint(r->asked.model)) == 0;
}

/* As JSON calls it, in the order of pgcn_split_match. */
static const char *const split_matches[] = {"same", "other", "none", "by name"};

/* A warning about the split, without which the figures would mislead; "": none. */
static void split_remark(const eval_request *r, const pgcn_scores *scores, char *out,
                         size_t bytes) {
    const char *items = cli_items(pgcn_model_task(r->asked.model)),
               *split = pgcn_model_split(r->asked.model);
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

static pgcn_status print_eval_json(const eval_request *r, const pgcn_scores *scores,
                                   const pgcn_verdict *verdict) {
    const struct {
        const char *name;
        const pgcn_score *score;
    } parts[] = {{"train", &scores->train},
                 {"val", &scores->val},
                 {"test", &scores->test},
                 {"all", &scores->all}};
    pgcn_task task = pgcn_model_task(r->asked.model);
    char remark[600];
    split_remark(r, scores, remark, sizeof remark);
    pgcn_dataset_info info = pgcn_dataset_describe(r->asked.data);
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s, s:s?, s:s, s:s, s:s?, s:s, s:i, s:s}", "measure",
        pgcn_measure_name(cli_measure_of(&info, NULL)), "dataset",
        pgcn_dataset_describe(r->asked.data).name, "task", pgcn_task_name(task), "metric",
        cli_metric(task), "split", split_scored(r, scores), "split_of_training",
        pgcn_model_split(r->asked.model), "split_match", split_matches[scores->split_match],
        "split_note", *remark ? remark : NULL, "inference", r->asked.inference_text, "draws",
        r->asked.inference.draws, "accuracy_unit", "percent");
    bool several = r->asked.models > 1;
    json_object_set_new(object, "models", json_integer(r->asked.models));
    json_object_set_new(object, "epoch",
                        several ? json_null() : json_integer(pgcn_model_epoch(r->asked.model)));
    for (int i = 0; i < 4; i++) {
        const pgcn_score *score = parts[i].score;
        const struct {
            const char *suffix;
            double value;
        } entries[] = {
            {"accuracy", score->accuracy},
            {several ? "accuracy_of_single_models_mean" : "accuracy_of_single_draws_mean",
             score->draw_accuracy},
            {several ? "accuracy_of_single_models_std" : "accuracy_of_single_draws_std",
             score->draw_deviation},
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
                            cli_verdict_to_json(r->asked.model, &j));
    }
    json_object_set_new(object, "verdict", verdicts);
    pgcn_row_reads reads;
    if (pgcn_dataset_row_reads(r->asked.data, &reads)) {
        cli_put_reads(object, &reads);
        json_object_set_new(object, "peak_rss_bytes", json_integer(cli_peak_rss_bytes()));
    }
    return cli_print_json(&cli_eval, object);
}

static void print_figure(double percent) {
    if (isnan(percent))
        printf(" %10s", "-");
    else
        printf(" %10.2f", percent);
}

/* A row below that of the accuracy: its mean over the graphs, where there are several. */
static void print_graphs(const pgcn_score *const *part, int parts) {
    int64_t graphs = 0;
    for (int i = 0; i < parts; i++) graphs += part[i]->graphs;
    if (graphs == 0) return;
    printf("\n%-19s", "  mean of graphs");
    for (int i = 0; i < parts; i++) print_figure(part[i]->graph_accuracy);
}

/* All measures, a column for each part of the split; the one that the data set names comes
 * first. */
static void print_measures(const eval_request *r, const pgcn_score *const *part, int parts) {
    static const char *const heads[] = {"training", "validation", "test", "all"};
    pgcn_task task = pgcn_model_task(r->asked.model);
    pgcn_dataset_info info = pgcn_dataset_describe(r->asked.data);
    pgcn_measure named = cli_measure_of(&info, NULL);
    printf("\n%-19s", "in percent");
    for (int i = 0; i < parts; i++) printf(" %10s", heads[i]);
    for (int m = 0; m < PGCN_MEASURES; m++) {
        pgcn_measure measure = m == 0 ? named : (pgcn_measure)(m <= (int)named ? m - 1 : m);
        printf("\n%-19s", cli_measure_title(measure, task));
        for (int i = 0; i < parts; i++) print_figure(pgcn_score_measure(part[i], measure));
        if (measure == PGCN_MEASURE_ACCURACY) print_graphs(part, parts);
    }
    printf("\n%-19s", "most frequent class");
    for (int i = 0; i < parts; i++) print_figure(part[i]->majority);
    printf("\n");
    cli_print_scored(part, heads, parts);
}

/* The part that is shown class by class: the one of --part, else the one that was held out. */
static pgcn_part part_shown(const eval_request *r, const pgcn_verdict *verdict) {
    pgcn_part part = PGCN_PART_TEST;
    if (r->part && pgcn_part_parse(r->part, &part)) return part;
    if (pgcn_verdict_part(verdict, PGCN_PART_TEST).items > 0) return PGCN_PART_TEST;
    return pgcn_verdict_part(verdict, PGCN_PART_VAL).items > 0 ? PGCN_PART_VAL : PGCN_PART_ALL;
}

static void print_eval_table(const eval_request *r, const pgcn_scores *scores,
                             const pgcn_verdict *verdict) {
    pgcn_task task = pgcn_model_task(r->asked.model);
    pgcn_dataset_info info = pgcn_dataset_describe(r->asked.data);
    const char *split = split_scored(r, scores);
    bool with_all = !is_training_data(r) || !split; /* else it would mix training and test */
    char remark[600];
    split_remark(r, scores, remark, sizeof remark);
    bool several = r->asked.models > 1;
    printf("%s, split %s, %s inference, ", info.name, split ? split : "none",
           r->asked.inference_text);
    if (several)
        printf("mean of %d models\n\n", r->asked.models);
    else
        printf("weights of epoch %lld\n\n", (long long)pgcn_model_epoch(r->asked.model));
    const struct {
        const char *name;
        const pgcn_score *score;
    } parts[] = {{"training", &scores->train},
                 {"validation", &scores->val},
                 {"test", &scores->test},
                 {"all", &scores->all}};
    const pgcn_score *const parts_shown[] = {&scores->train, &scores->val, &scores->test,
                                             &scores->all};
    bool drawn = several || r->asked.inference.draws > 0;
    printf("%-12s %8s %% %10s", cli_items(task), cli_metric(task), "loss");
    if (drawn) printf("   a single %s: mean, deviation", several ? "model" : "draw");
    printf("\n");
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
    if (drawn && !several)
        printf("\nThe %s is that of the mean of the %d draws.\n", cli_metric(task),
               r->asked.inference.draws);
    pgcn_part part = part_shown(r, verdict);
    pgcn_judgement j = pgcn_verdict_part(verdict, part);
    cli_verdict_print(r->asked.model, &j, part);
    if (*remark) printf("\nNote: %s.\n", remark);
}

static pgcn_status judge_and_print(eval_request *r) {
    pgcn_scores scores;
    pgcn_verdict *verdict;
    CLI_TRY(cli_request_watch(&cli_eval, &r->asked));
    pgcn_status judged =
        pgcn_models_judge((const pgcn_model *const *)r->asked.member, r->asked.models,
                          r->asked.data, &r->asked.inference, &scores, &verdict);
    cli_request_unwatch(&r->asked);
    CLI_TRY(cli_report(&cli_eval, judged));
    cli_print_notes(stderr, r->asked.data);
    pgcn_status status = PGCN_OK;
    if (r->csv) status = cli_verdict_write(&cli_eval, r->csv, r->asked.model, verdict);
    if (status == PGCN_OK && r->asked.json)
        status = print_eval_json(r, &scores, verdict);
    else if (status == PGCN_OK)
        print_eval_table(r, &scores, verdict);
    pgcn_verdict_free(verdict);
    return status;
}

static pgcn_status run_eval(int argc, char **argv) {
    eval_request r = {.asked = cli_empty_request};
    const cli_option options[] = {
        CLI_REQUEST_OPTIONS(r.asked),
        CLI_REQUEST_MEMORY(r.asked),
        {"part", "train | val | test | all", "test", "whose classes are shown one by one", &r.part,
         NULL},
        {"csv", "FILE", NULL, "write precision, recall, F1 and confusion of every class", &r.csv,
         NULL},
        {"json", NULL, NULL, "print one JSON line instead of the table", NULL, &r.asked.json},
        CLI_OPTIONS_END};
    cli_arguments arguments;
    pgcn_part part;
    pgcn_status status = cli_parse(&cli_eval, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    if (r.part && !pgcn_part_parse(r.part, &part))
        return cli_fail(&cli_eval, PGCN_ERR_ARGUMENT,
                        "--part is '%s', expected train, val, test or all", r.part);
    status = cli_request_load(&cli_eval, &arguments, &r.asked);
    if (status == PGCN_OK)
        status = cli_request_check_output(&cli_eval, &arguments, &r.asked, "csv", r.csv);
    if (status == PGCN_OK)
        status = cli_ranks_serves() ? cli_ranks_serve(r.asked.data) : judge_and_print(&r);
    cli_request_free(&r.asked);
    return status;
}
