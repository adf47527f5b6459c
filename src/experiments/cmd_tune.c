/* pathgcn tune: the command line, the space to search, and a search of all splits together. */
#include "experiments/tune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static pgcn_status run(int argc, char **argv);

static const cli_brief tune_most_used[] = {
    {.name = "out", .help = "directory for the jobs and the recipe [runs/tune-NAME]"},
    {.name = "data"},
    {.name = "recipe", .help = "settings to start from"},
    {.name = "space",
     .value = "SPACE",
     .help = "what is searched: --list-spaces prints them; or a file"},
    {.name = "list-spaces"},
    {.name = "candidates"},
    {.name = "budget", .help = "instead: as many candidates as fit into it"},
    {.name = "nested", .help = "search every split by itself"},
    {.name = "score", .value = "MEASURE", .help = "accuracy, macro-f1, auc, loss, ..."},
    {.name = "layers", .value = "L", .help = "layers"},
    {.name = "jobs"},
    {.name = "json"},
    {.name = "quiet"},
    {.name = NULL}};

const cli_command cli_tune = {
    .name = "tune",
    .summary = "search for better settings, on validation data only",
    .arguments = "[NAME|PATH]",
    .text =
        "Successive halving: draws candidates from a space of settings, trains each with a few seeds (or\n"
        "splits), trains the better third with more of them, and so on. Candidate 0 is the present\n"
        "recipe with the options given; it stays to the end. Run r of every candidate has the same seed\n"
        "and split. Candidates are ranked by mean validation accuracy (micro-F1 where nodes have several\n"
        "labels; or what --score, the recipe or the data set name), equal ones by loss. With folds made\n"
        "by crossval=K the accuracy is that at the one epoch that is best for all folds together, which\n"
        "is GIN's protocol.\n"
        "\n"
        "The test set is removed from every split before anything is computed, with all labels that no\n"
        "split trains or validates with. But with several splits a test node of one is a training or\n"
        "validation node of another, where its label is used. --nested keeps the splits apart: each is\n"
        "searched by itself, without the labels of its test nodes, on its own validation nodes. When all\n"
        "choices are made the winners are trained again and tested, once per split. Each split starts\n"
        "from the winner of a race of its own, because a recipe of the data set has seen all splits.\n"
        "\n"
        "A space is a text with a setting per line:\n"
        "  lr-mix = 1e-4 .. 1e-1 log\n"
        "  path-length = 3 .. 7\n"
        "  dropout = 0.3 | 0.5 | 0.7\n"
        "--space names such a file, or a built-in one: semi, full, heterophilous, graph or\n"
        "multilabel; by default the one that fits the data. 'pathgcn tune --list-spaces' prints them.\n"
        "\n"
        "Jobs run and are kept as by reproduce: the same command continues after Ctrl-C. DIR gets\n"
        "NAME.recipe with the best settings and the space that was searched, tune.json with all candidates,\n"
        "and report.html, a page about them; with --nested nested.json and the page, and the first two\n"
        "for each split in DIR/split-S.",
    .most_used = tune_most_used,
    .examples = "  pathgcn tune karate --candidates 12 --runs 4\n"
                "  pathgcn tune cora --data data --layers 8 --budget 60\n"
                "  pathgcn tune MUTAG:crossval=10 --data data --candidates 20\n"
                "  pathgcn tune cora --data data --recipe full --space my.space --candidates 100\n"
                "  pathgcn tune texas --data data --nested --allow-missing-class yes\n"
                "  pathgcn tune MUTAG:kfold=10 --data data --nested --candidates 20\n",
    .config_groups = CLI_GROUP_MODEL | CLI_GROUP_TRAINING,
    .computes = true,
    .races = true,
    .most_words = 1,
    .run = run,
    .serve = exp_ranks_serve,
};

/* ---- the space -------------------------------------------------------------------------------- */

/* The built-in space that fits: by the task, the homophily and the share of training nodes. */
static const char *fitting_space(const pgcn_dataset *data) {
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    const uint8_t *train, *val, *test;
    if (info.task == PGCN_TASK_GRAPH || info.task == PGCN_TASK_MULTILABEL)
        return pgcn_task_name(info.task); /* a space of that name */
    if (info.edge_homophily < 0.5) return "heterophilous";
    int64_t training =
        pgcn_dataset_split(data, 0, &train, &val, &test) ? cli_mask_size(train, info.items) : 0;
    return (double)training < 0.2 * (double)info.items ? "semi" : "full";
}

static pgcn_status read_space_file(const char *path, exp_space *out) {
    enum { MOST = 65537 };
    char *text = malloc(MOST);
    FILE *file = fopen(path, "rb");
    size_t bytes = file && text ? fread(text, 1, MOST, file) : 0;
    bool fine = file && text && !ferror(file);
    pgcn_status status = PGCN_OK;
    if (!fine)
        status = cli_fail(&cli_tune, PGCN_ERR_ARGUMENT,
                          "cannot read the space '%.200s': %s; the built-in ones are semi, full, "
                          "heterophilous, graph and multilabel",
                          path, pgcn_system_error(errno ? errno : EISDIR));
    else if (exp_space_parse(path, text, bytes, out) != PGCN_OK)
        status = cli_fail(&cli_tune, PGCN_ERR_ARGUMENT, "%s", out->error);
    if (file) fclose(file);
    free(text);
    return status;
}

static pgcn_status read_space(const char *name, exp_space *out) {
    const char *text, *about, *known;
    for (int i = 0; (known = exp_space_builtin(i, &text, &about)); i++) {
        if (strcmp(known, name) != 0) continue;
        pgcn_status status = exp_space_parse(known, text, strlen(text), out);
        return status == PGCN_OK ? PGCN_OK : cli_fail(&cli_tune, status, "%s", out->error);
    }
    return read_space_file(name, out);
}

pgcn_status exp_tune_space(const exp_tune_request *r, const pgcn_dataset *data, exp_space *out) {
    return read_space(r->space ? r->space : fitting_space(data), out);
}

static pgcn_status list_spaces(void) {
    const char *name, *text, *about;
    for (int i = 0; (name = exp_space_builtin(i, &text, &about)); i++)
        printf("%s# %s: %s\n%s", i ? "\n" : "", name, about, text);
    return PGCN_OK;
}

/* ---- the command ------------------------------------------------------------------------------ */

#define SCORES                                                                                     \
    "accuracy | balanced-accuracy | macro-f1 | auc | average-precision | loss | common-epoch"
static pgcn_status find_rule(const char *name, exp_search *s) {
    bool loss = strcmp(name, "loss") == 0, common = strcmp(name, "common-epoch") == 0;
    s->rule = loss ? EXP_BY_LOSS : common ? EXP_BY_COMMON_EPOCH : EXP_BY_MEASURE;
    if (loss || common || pgcn_measure_parse(name, &s->measure)) return PGCN_OK;
    return cli_fail(&cli_tune, PGCN_ERR_ARGUMENT, "--score is '%s', expected " SCORES, name);
}

/* Which options go together. */
static pgcn_status check_request(const exp_tune_request *r, const exp_search *s) {
    if (r->nested && s->rule == EXP_BY_COMMON_EPOCH)
        return cli_fail(&cli_tune, PGCN_ERR_ARGUMENT,
                        "--score common-epoch is the rule of folds that share one epoch and have "
                        "no test; with --nested every run is tested at the epoch it chose "
                        "itself: use accuracy or loss");
    CLI_TRY(cli_check_race(&cli_tune, r->arguments, r->recipe));
    return cli_source_check(&cli_tune, r->dataset, &r->source);
}

static pgcn_status read_numbers(const exp_tune_request *r, exp_search *s) {
    long long candidates, runs, keep, processes, threads, minutes = 0, seed;
    const char *candidates_text = r->candidates ? r->candidates : "60";
    const char *runs_text = r->runs ? r->runs : r->nested ? "3" : "10";
    CLI_TRY(cli_number(&cli_tune, "candidates", candidates_text, 2, 100000, &candidates));
    CLI_TRY(cli_number(&cli_tune, "runs", runs_text, 1, 1000, &runs));
    CLI_TRY(cli_number(&cli_tune, "keep", r->keep, 2, 100, &keep));
    CLI_TRY(cli_number(&cli_tune, "jobs", r->processes, 0, 1024, &processes));
    CLI_TRY(cli_number(&cli_tune, "threads", r->threads, 1, 1024, &threads));
    CLI_TRY(cli_number(&cli_tune, "search-seed", r->search_seed, 0, PGCN_MAX_SEED, &seed));
    if (r->budget) CLI_TRY(cli_number(&cli_tune, "budget", r->budget, 1, 100000, &minutes));
    if (r->budget && r->candidates)
        return cli_fail(
            &cli_tune, PGCN_ERR_ARGUMENT,
            "--budget and --candidates both say how much is searched; give one of them");
    s->candidates = r->budget ? 0 : (int)candidates;
    s->budget_minutes = (double)minutes;
    s->runs = (int)runs;
    s->keep = (int)keep;
    s->seed = (uint64_t)seed;
    s->fresh = r->fresh;
    s->pace = (exp_pace){.processes = exp_jobs_at_once(processes, threads),
                         .threads = (int)threads,
                         .quiet = r->quiet,
                         .most_timings = 6,
                         .what = ""};
    return r->score ? find_rule(r->score, s) : PGCN_OK;
}

static void default_out(const char *name, char out[256]) {
    snprintf(out, 256, "runs/tune-%.200s", name);
    out[strcspn(out, ":")] = '\0';
    for (char *c = out + 5; *c; c++)
        if (strchr(",=/ ", *c)) *c = '-';
}

/* One search over all splits that the settings use. */
static pgcn_status tune(const exp_tune_request *r, exp_search *s) {
    exp_data data = {0};
    exp_space space = {0};
    exp_jobs jobs = {.lock = -1};
    pgcn_status status = exp_tune_load(r, s, s->present.split, true, &data);
    if (status == PGCN_OK && !r->quiet) cli_print_notes(stderr, data.data);
    if (status == PGCN_OK) status = exp_tune_space(r, data.data, &space);
    if (status == PGCN_OK && !r->score &&
        cli_steps_include(pgcn_dataset_describe(data.data).steps, CLI_STEP_CROSSVAL)) {
        s->rule = EXP_BY_COMMON_EPOCH; /* the rule of that protocol, which is about accuracy */
        s->measure = PGCN_MEASURE_ACCURACY;
    }
    if (status == PGCN_OK) {
        s->data = &data;
        s->space = &space;
        s->jobs = &jobs;
        status = exp_jobs_open(&jobs, &cli_tune, s->out);
    }
    if (status == PGCN_OK) {
        cli_catch_signals();
        status = exp_search_run(s);
    }
    if (status == PGCN_OK) status = exp_tune_report(s, r->json);
    exp_search_free(s);
    exp_jobs_close(&jobs);
    exp_space_free(&space);
    pgcn_dataset_free(data.data);
    return status;
}

static pgcn_status prepare_and_tune(const exp_tune_request *r, cli_arguments *arguments,
                                    exp_search *s) {
    char name[128], out[256];
    CLI_TRY(exp_tune_present(r, arguments, s, name));
    default_out(name, out);
    s->out = r->out ? r->out : out;
    CLI_TRY(r->nested ? exp_nested_tune(r, s) : tune(r, s));
    if (s->failed == 0) return PGCN_OK;
    return cli_fail(&cli_tune, PGCN_ERR_SYSTEM,
                    "%zu training%s failed, and not because of %s numbers; the result is that of "
                    "the others, and the logs are in %s",
                    s->failed, s->failed == 1 ? "" : "s", s->failed == 1 ? "its" : "their", s->out);
}

static pgcn_status run(int argc, char **argv) {
    exp_tune_request r = {.keep = "3", .search_seed = "0", .processes = "0", .threads = "1"};
    const cli_option options[] = {
        {"out", "DIR", "runs/tune-NAME", "directory for the jobs, the recipe and tune.json", &r.out,
         NULL},
        CLI_SOURCE_OPTIONS(r.source),
        {"recipe", "RECIPE", "the data set's own, or auto; with --nested auto",
         "settings to start from, candidate 0: a recipe, usual (the data set's own, or its task's), or "
         "auto, the family that wins a race on validation (of each split with --nested)",
         &r.recipe, NULL},
        {"space", "semi | full | heterophilous | graph | multilabel | FILE", "what fits the data",
         "what is searched", &r.space, NULL},
        {"list-spaces", NULL, NULL, "print the built-in spaces", NULL, &r.list},
        {"candidates", "N", "60", "settings to try, the present ones among them", &r.candidates,
         NULL},
        {"budget", "MINUTES", NULL,
         "instead of --candidates: as many candidates as fit into about this time", &r.budget,
         NULL},
        {"nested", NULL, NULL,
         "search every split by itself without the labels of its test nodes, then test once per split",
         NULL, &r.nested},
        {"runs", "N", "10, or 3 with --nested",
         "seeds or splits of the last rung; with --nested seeds of each split", &r.runs, NULL},
        {"keep", "N", "3", "one of N candidates reaches the next rung", &r.keep, NULL},
        {"score", SCORES, "accuracy, or what data or recipe name; the last with crossval",
         "which validation figure ranks candidates; the last: accuracy at one epoch for all runs",
         &r.score, NULL},
        {"search-seed", "S", "0", "seed of the candidates", &r.search_seed, NULL},
        {"jobs", "N", "one per core, or per rank but the first", "trainings at the same time",
         &r.processes, NULL},
        {"threads", "N", "1", "threads of each training", &r.threads, NULL},
        {"fresh", NULL, NULL, "run all jobs again", NULL, &r.fresh},
        {"json", NULL, NULL, "print one JSON line instead of the table", NULL, &r.json},
        {"quiet", NULL, NULL, "no estimate, no progress, no notes", NULL, &r.quiet},
        CLI_OPTIONS_END};
    cli_arguments arguments;
    exp_search search = {.command = &cli_tune};
    pgcn_status status = cli_parse(&cli_tune, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    if (r.list) return list_spaces();
    CLI_TRY(read_numbers(&r, &search));
    r.arguments = &arguments;
    r.dataset = cli_first_word(&arguments);
    CLI_TRY(check_request(&r, &search));
    return prepare_and_tune(&r, &arguments, &search);
}
