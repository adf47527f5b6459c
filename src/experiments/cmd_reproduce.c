/* pathgcn reproduce: the command line; plan, run and report are in the other files of this room. */
#include "experiments/reproduce.h"

#include <string.h>

static pgcn_status run(int argc, char **argv);

const cli_command cli_reproduce = {
    .name = "reproduce",
    .summary = "the tables and curves of the paper, ours beside its numbers",
    .arguments =
        "semi | full | inference | variants | paths | lengths | frozen | graphs | ppi | all",
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
        "\n"
        "Every training is a job with one thread, as many at a time as there are cores. The result of\n"
        "a finished job is kept in DIR/jobs: after Ctrl-C, a crash or a failed job the same command\n"
        "continues where it stopped. A table over fewer runs than asked for says so, and the exit code\n"
        "is then 1. Settings come from the recipes; options override them, as for train. The epoch is\n"
        "chosen on validation nodes. DIR gets NAME.json, NAME.csv and NAME.md; the JSON holds the\n"
        "command 'pathgcn train ...' that repeats each run to the last digit.",
    .examples = "  pathgcn reproduce semi --data data --quick        a smoke test, in minutes\n"
                "  pathgcn reproduce semi --data data --datasets cora,citeseer\n"
                "  pathgcn reproduce full --data data --recipe paper --out runs/paper\n"
                "  pathgcn reproduce semi --datasets karate,sbm --layers 2,4 --seeds 2\n"
                "  pathgcn reproduce variants --data data --layers 2,8 --select accuracy\n",
    .config_groups = CLI_GROUP_MODEL | CLI_GROUP_TRAINING,
    .computes = true,
    .least_words = 1,
    .most_words = 1,
    .run = run,
};

static pgcn_status find_experiment(const char *name, const exp_experiment **out) {
    cli_guess guess = cli_guess_start(name);
    char hint[CLI_HINT_BYTES];
    *out = NULL;
    for (const exp_experiment *e = exp_experiments; e->name; e++) {
        cli_guess_offer(&guess, e->name);
        if (strcmp(e->name, name) == 0) *out = e;
    }
    if (*out || strcmp(name, "all") == 0) return PGCN_OK;
    cli_guess_hint(&guess, "", hint);
    return cli_fail(&cli_reproduce, PGCN_ERR_ARGUMENT,
                    "there is no experiment '%s'%s; there are %s", name, hint,
                    cli_reproduce.arguments);
}

/* Tables were made, but maybe of fewer runs than asked for. */
static pgcn_status check_all_done(const exp_jobs *jobs) {
    size_t done = exp_jobs_in(jobs, EXP_DONE);
    if (done == jobs->count) return PGCN_OK;
    return cli_fail(jobs->command, PGCN_ERR_SYSTEM,
                    "%zu of %zu jobs are done, %zu failed; the same command tries the others again",
                    done, jobs->count, exp_jobs_in(jobs, EXP_FAILED));
}

/* Plans `only`, or all experiments if it is NULL; runs; reports. */
static pgcn_status reproduce(const exp_request *r, const exp_experiment *only, const exp_pace *pace,
                             bool report) {
    exp_plan plan = {0};
    exp_jobs jobs;
    pgcn_status status = exp_jobs_open(&jobs, r->command, r->out);
    for (const exp_experiment *e = exp_experiments; e->name && status == PGCN_OK; e++)
        if (!only || e == only) status = exp_plan_add(&plan, &jobs, r, e);
    if (status == PGCN_OK) status = exp_plan_check_options(&plan, r);
    if (status == PGCN_OK) {
        cli_catch_signals();
        if (!report) status = exp_jobs_run(&jobs, pace);
    }
    for (const exp_experiment *e = exp_experiments; e->name && status == PGCN_OK; e++)
        if (!only || e == only) status = exp_report(&plan, &jobs, r, e);
    if (status == PGCN_OK) status = check_all_done(&jobs);
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
    const exp_experiment *only;
    long long count;
    if (!r.out) r.out = r.quick ? "runs/reproduce-quick" : "runs/reproduce";
    CLI_TRY(find_experiment(arguments.word[0], &only));
    r.all = !only;
    CLI_TRY(cli_number(&cli_reproduce, "seeds", seeds, 0, 10000, &r.seeds));
    CLI_TRY(cli_number(&cli_reproduce, "jobs", processes, 0, 1024, &count));
    exp_pace pace = {.processes = count > 0 ? (int)count : pgcn_info_get().cores,
                     .quiet = r.quiet,
                     .most_timings = 32,
                     .what = ""};
    return reproduce(&r, only, &pace, report);
}
