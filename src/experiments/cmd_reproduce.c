/* pathgcn reproduce: the command line; plan, run and report are in the other files of this room. */
#include "experiments/reproduce.h"

#include <string.h>

static pgcn_status run(int argc, char **argv);

const cli_command cli_reproduce = {
    .name = "reproduce",
    .summary = "the tables and curves of the paper, ours beside its numbers",
    .arguments =
        "semi | full | inference | variants | paths | lengths | frozen | graphs | ppi | all | sweep | "
        "datasets | settings",
    .text =
        "semi       Cora, Citeseer and Pubmed with 20 labels per class, by depth (Table 3)\n"
        "full       ten data sets over their published splits (Tables 4 to 6)\n"
        "inference  deterministic against ten stochastic draws (Table 9)\n"
        "variants   one kernel, one per layer, per channel, or a full one, by depth (Table 11)\n"
        "paths      accuracy by the number of paths p = 1 .. 100 (Figure 5)\n"
        "lengths    accuracy by the path length k = 1 .. 11 (Figure 5)\n"
        "frozen     learnt kernels against frozen ones, smoothing, and no walks (ours)\n"
        "graphs     MUTAG, PTC, PROTEINS and NCI1 over ten folds, by two protocols (Table 8)\n"
        "ppi        inductive learning, several labels per node (Table 7)\n"
        "all        all of these; trainings that several need are run once\n"
        "sweep      the data sets that follow, over a grid: every setting takes a list, --paths 5,10\n"
        "datasets   counts of the data sets beside the paper's, and why they differ (Table 1)\n"
        "settings   the paper's hyper-parameters beside those of the recipes 'paper' (appendix)\n"
        "\n"
        "Every training is a job with one thread, as many at a time as there are cores. The result of\n"
        "a finished job is kept in DIR/jobs: after Ctrl-C, a crash or a failed job the same command\n"
        "continues where it stopped. A table over fewer runs than asked for says so, and the exit code\n"
        "is then 1. Settings come from the recipes; options override them, as for train. The epoch is\n"
        "chosen on validation nodes. DIR gets NAME.json, NAME.csv, NAME.md and NAME.tex (LaTeX); the JSON\n"
        "holds the command 'pathgcn train ...' that repeats each run to the last digit.",
    .examples = "  pathgcn reproduce semi --data data --quick        a smoke test, in minutes\n"
                "  pathgcn reproduce semi --data data --datasets cora,citeseer\n"
                "  pathgcn reproduce full --data data --recipe paper --out runs/paper\n"
                "  pathgcn reproduce semi --datasets karate,sbm --layers 2,4 --seeds 2\n"
                "  pathgcn reproduce variants --data data --layers 2,8 --select accuracy\n"
                "  pathgcn reproduce sweep cora --data data --path-length 3,5,7 --paths 5,10\n",
    .config_groups = CLI_GROUP_MODEL | CLI_GROUP_TRAINING,
    .computes = true,
    .least_words = 1,
    .most_words = CLI_MAX_WORDS,
    .run = run,
};

/* Tables of facts, for which nothing is trained. */
static const struct {
    const char *name;
    pgcn_status (*report)(const exp_request *r);
} listings[] = {{"datasets", exp_report_counts}, {"settings", exp_report_settings}};
enum { LISTINGS = sizeof listings / sizeof *listings };

/* The experiments that are asked for, in the order of their tables. */
enum { MOST_CHOSEN = 32 };
typedef struct choice {
    int count;
    const exp_experiment *experiment[MOST_CHOSEN];
} choice;

static pgcn_status refuse_name(const char *name) {
    cli_guess guess = cli_guess_start(name);
    char hint[CLI_HINT_BYTES];
    for (const exp_experiment *e = exp_experiments; e->name; e++) cli_guess_offer(&guess, e->name);
    for (int i = 0; i < LISTINGS; i++) cli_guess_offer(&guess, listings[i].name);
    cli_guess_offer(&guess, "sweep");
    cli_guess_hint(&guess, "", hint);
    return cli_fail(&cli_reproduce, PGCN_ERR_ARGUMENT,
                    "there is no experiment '%s'%s; there are %s", name, hint,
                    cli_reproduce.arguments);
}

static pgcn_status choose(exp_request *r, cli_arguments *arguments, exp_sweep *sweep, choice *out) {
    const char *name = arguments->word[0];
    bool grid = strcmp(name, "sweep") == 0;
    r->all = strcmp(name, "all") == 0;
    r->words = arguments->words - 1;
    r->word = arguments->word + 1;
    *out = (choice){0};
    for (const exp_experiment *e = exp_experiments; e->name; e++)
        if (strcmp(e->name, name) == 0 || (r->all && !e->apart)) out->experiment[out->count++] = e;
    if (grid) out->experiment[out->count++] = &sweep->experiment;
    if (out->count == 0) return refuse_name(name);
    if (!grid && r->words > 0)
        return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                        "'%s' is one argument too many; --datasets %s chooses the data sets of %s",
                        r->word[0], r->word[0], name);
    if (grid && r->words > 0 && r->datasets)
        return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                        "data sets are given as arguments and with --datasets; leave out one of "
                        "them");
    return grid ? exp_sweep_make(r, arguments, sweep) : PGCN_OK;
}

/* Tables were made, but maybe of fewer runs than asked for. */
static pgcn_status check_all_done(const exp_jobs *jobs) {
    size_t done = exp_jobs_in(jobs, EXP_DONE);
    if (done == jobs->count) return PGCN_OK;
    return cli_fail(jobs->command, PGCN_ERR_SYSTEM,
                    "%zu of %zu jobs are done, %zu failed; the same command tries the others again",
                    done, jobs->count, exp_jobs_in(jobs, EXP_FAILED));
}

/* Options of trainings would do nothing. */
static pgcn_status check_listing(const cli_arguments *arguments) {
    static const char *const others[] = {"layers", "seeds", "recipe", "jobs"};
    bool all_sets = strcmp(arguments->word[0], "settings") == 0;
    const char *given = arguments->settings > 0 ? arguments->key[0] : NULL;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (cli_is_given(arguments, others[i])) given = others[i];
    if (all_sets && cli_is_given(arguments, "datasets")) given = "datasets";
    if (arguments->words > 1)
        return cli_fail(&cli_reproduce, PGCN_ERR_ARGUMENT, "'%s' is one argument too many",
                        arguments->word[1]);
    if (!given) return PGCN_OK;
    return cli_fail(&cli_reproduce, PGCN_ERR_ARGUMENT,
                    "--%s does nothing: %s trains nothing%s; leave it out", given,
                    arguments->word[0], all_sets ? " and shows all recipes of the paper" : "");
}

/* "grid: 3 path-length x 2 paths, 60 jobs". */
static void print_grid(const exp_request *r, const exp_sweep *sweep, const exp_jobs *jobs) {
    if (sweep->points == 0 || r->quiet) return;
    fprintf(stderr, "grid: %s%s%d line%s, %zu job%s\n", sweep->shape, *sweep->shape ? ", " : "",
            sweep->points, sweep->points == 1 ? "" : "s", jobs->count, jobs->count == 1 ? "" : "s");
}

static pgcn_status plan_all(const exp_request *r, const choice *chosen, exp_plan *plan,
                            exp_jobs *jobs) {
    for (int i = 0; i < chosen->count; i++)
        CLI_TRY(exp_plan_add(plan, jobs, r, chosen->experiment[i]));
    return exp_plan_check_options(plan, r);
}

static pgcn_status report_all(const exp_request *r, const choice *chosen, exp_plan *plan,
                              const exp_jobs *jobs) {
    for (int i = 0; i < chosen->count; i++) {
        if (chosen->experiment[i]->marks_best) exp_mark_best(plan, jobs, chosen->experiment[i]);
        CLI_TRY(exp_report(plan, jobs, r, chosen->experiment[i]));
    }
    return check_all_done(jobs);
}

/* Plans, runs and reports. */
static pgcn_status reproduce(const exp_request *r, const choice *chosen, const exp_sweep *sweep,
                             const exp_pace *pace, bool report) {
    exp_plan plan = {0};
    exp_jobs jobs;
    pgcn_status status = exp_jobs_open(&jobs, r->command, r->out);
    if (status == PGCN_OK) status = plan_all(r, chosen, &plan, &jobs);
    if (status == PGCN_OK && !report) {
        cli_catch_signals();
        print_grid(r, sweep, &jobs);
        status = exp_jobs_run(&jobs, pace);
    }
    if (status == PGCN_OK) status = report_all(r, chosen, &plan, &jobs);
    exp_jobs_close(&jobs);
    exp_plan_free(&plan);
    return status;
}

static pgcn_status run(int argc, char **argv) {
    cli_arguments arguments;
    exp_request r = {.command = &cli_reproduce, .arguments = &arguments};
    const char *seeds = "0", *processes = "0";
    bool report = false;
    const cli_option options[] = {
        {"out", "DIR", "runs/reproduce[-quick]", "directory for the jobs and the tables", &r.out,
         NULL},
        {"data", "DIR", "PATHGCN_DATA", "folder that holds named data sets", &r.data_dir, NULL},
        {"datasets", "LIST", NULL,
         "these data sets instead, separated by commas; a list with blanks is separated by blanks, for "
         "names with steps: 'cora film:directed,self-loops'",
         &r.datasets, NULL},
        {"layers", "LIST", NULL, "these depths instead, separated by commas; 0: the recipe's own",
         &r.layers, NULL},
        {"seeds", "N", "10, 3 from 32 layers on, or a run per published split",
         "runs per line of the table, with seeds S, S+1, ...", &seeds, NULL},
        {"recipe", "RECIPE", "the best known", "settings to start from, e.g. paper", &r.recipe,
         NULL},
        {"jobs", "N", "one per core", "trainings at the same time", &processes, NULL},
        {"quick", NULL, NULL, "a smoke test: few epochs, depths and seeds", NULL, &r.quick},
        {"fresh", NULL, NULL, "run all jobs again", NULL, &r.fresh},
        {"report", NULL, NULL, "train nothing, only make the tables from the jobs that are done",
         NULL, &report},
        {"json", NULL, NULL, "print one JSON line per experiment instead of the tables", NULL,
         &r.json},
        {"quiet", NULL, NULL, "no estimate and no progress", NULL, &r.quiet},
        CLI_OPTIONS_END};
    pgcn_status status = cli_parse(&cli_reproduce, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    long long count;
    if (!r.out) r.out = r.quick ? "runs/reproduce-quick" : "runs/reproduce";
    CLI_TRY(cli_number(&cli_reproduce, "seeds", seeds, 0, 10000, &r.seeds));
    CLI_TRY(cli_number(&cli_reproduce, "jobs", processes, 0, 1024, &count));
    exp_pace pace = {.processes = count > 0 ? (int)count : pgcn_info_get().cores,
                     .quiet = r.quiet,
                     .most_timings = 32,
                     .what = ""};
    for (int i = 0; i < LISTINGS; i++)
        if (strcmp(listings[i].name, arguments.word[0]) == 0) {
            CLI_TRY(check_listing(&arguments));
            return listings[i].report(&r);
        }
    exp_sweep sweep = {0};
    choice chosen;
    status = choose(&r, &arguments, &sweep, &chosen);
    if (status == PGCN_OK) status = reproduce(&r, &chosen, &sweep, &pace, report);
    exp_sweep_free(&sweep);
    return status;
}
