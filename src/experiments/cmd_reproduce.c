/* pathgcn reproduce: the command line; plan, run and report are in the other files of this room. */
#include "experiments/figures.h"

#include <string.h>

static pgcn_status run(int argc, char **argv);

static const cli_brief reproduce_most_used[] = {
    {.name = "out", .help = "directory for the jobs and the tables"},
    {.name = "data"},
    {.name = "datasets", .help = "these data sets, separated by commas"},
    {.name = "layers", .help = "these depths, separated by commas"},
    {.name = "seeds", .help = "runs per line of the table"},
    {.name = "recipe"},
    {.name = "jobs"},
    {.name = "models", .help = "these networks, separated by commas"},
    {.name = "quick"},
    {.name = "report", .help = "only make the tables from the jobs that are done"},
    {.name = "json", .help = "print one JSON line per experiment"},
    {.name = "quiet"},
    {.name = NULL}};

const cli_command cli_reproduce = {
    .name = "reproduce",
    .summary = "the tables and curves of the paper, ours beside its numbers",
    .arguments =
        "semi | full | inference | variants | paths | lengths | frozen | graphs | ppi | all | sweep | "
        "datasets | settings | forms | cheb | networks | times | figures | "
        "arena",
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
        "forms      trained on samples of 1 to 100 paths against the exact form (section 3.4)\n"
        "cheb       ChebNet against pathGCN by depth (Figure 3)\n"
        "networks   all networks of Tables 2 to 8 that are built, the others quoted; hours, see --tables\n"
        "           and --models. A cell whose runs take more than 30 minutes each gets one seed\n"
        "times      training step, inference and sampling in milliseconds, operations (Table 10)\n"
        "figures    Figures 1 to 5, and what layers smooth; figures.html, a folder of SVG and LaTeX, numbers\n"
        "arena      networks against each other: a nested search of 16 candidates each for every split,\n"
        "           compared split by split; many hours, see --models and --datasets\n"
        "\n"
        "Every training is a job with one thread, as many at a time as there are cores; under mpirun\n"
        "every rank but the first takes jobs. The result of\n"
        "a finished job is kept in DIR/jobs: after Ctrl-C, a crash or a failed job the same command\n"
        "continues where it stopped. A table over fewer runs than asked for says so, and the exit code\n"
        "is then 1. Settings come from the recipes; options override them, as for train. The epoch is\n"
        "chosen on validation nodes. DIR gets NAME.json, NAME.csv, NAME.md and NAME.tex (LaTeX); the JSON\n"
        "holds the command 'pathgcn train ...' that repeats each run to the last digit. All tables and their\n"
        "curves are in DIR/report.html too.",
    .most_used = reproduce_most_used,
    .examples = "  pathgcn reproduce semi --data data --quick        a smoke test, in minutes\n"
                "  pathgcn reproduce semi --data data --datasets cora,citeseer\n"
                "  pathgcn reproduce full --data data --recipe paper --out runs/paper\n"
                "  pathgcn reproduce semi --datasets karate,sbm --layers 2,4 --seeds 2\n"
                "  pathgcn reproduce variants --data data --layers 2,8 --select accuracy\n"
                "  pathgcn reproduce networks --data data --tables 2,3 --models gcn,gcnii,pathgcn\n"
                "  pathgcn reproduce figures --data data --only 1,2,4 --out runs/figures\n"
                "  pathgcn reproduce sweep cora --data data --path-length 3,5,7 --paths 5,10\n",
    .config_groups = CLI_GROUP_MODEL | CLI_GROUP_TRAINING,
    .computes = true,
    .least_words = 1,
    .most_words = CLI_MAX_WORDS,
    .run = run,
    .serve = exp_ranks_serve,
};

/* Tables were made, but maybe of fewer runs than asked for. */
static pgcn_status check_all_done(const exp_jobs *jobs) {
    size_t done = exp_jobs_in(jobs, EXP_DONE), wanted = exp_jobs_wanted(jobs);
    if (done == wanted) return PGCN_OK;
    return cli_fail(jobs->command, PGCN_ERR_SYSTEM,
                    "%zu of %zu jobs are done, %zu failed; the same command tries the others again",
                    done, wanted, exp_jobs_in(jobs, EXP_FAILED));
}

/* "grid: 2 data sets x 3 path-length x 2 paths, 12 lines, 120 jobs". */
static void print_grid(const exp_request *r, const exp_sweep *sweep, const exp_plan *plan,
                       const exp_jobs *jobs) {
    char sets[32] = "";
    if (sweep->points == 0 || r->quiet) return;
    if (plan->sets > 1)
        snprintf(sets, sizeof sets, "%d data sets%s", plan->sets, *sweep->shape ? " x " : "");
    fprintf(stderr, "grid: %s%s%s%zu line%s, %zu job%s\n", sets, sweep->shape,
            *sets || *sweep->shape ? ", " : "", plan->cells, plan->cells == 1 ? "" : "s",
            jobs->count, jobs->count == 1 ? "" : "s");
}

static pgcn_status plan_all(const exp_request *r, const exp_choice *chosen, const exp_sweep *sweep,
                            exp_plan *plan, exp_jobs *jobs) {
    for (int i = 0; i < chosen->count; i++)
        CLI_TRY(exp_plan_add(plan, jobs, r, chosen->experiment[i]));
    CLI_TRY(exp_sweep_check(sweep, r, plan));
    return exp_plan_check_options(plan, r);
}

/* Cells whose runs take longer than this get one seed. */
static const double long_run_seconds = 30 * 60;

/* Tables of networks: their jobs are timed first, because that decides how many there are. */
static pgcn_status shorten(const exp_choice *chosen, exp_plan *plan, exp_jobs *jobs,
                           const exp_pace *pace, bool report) {
    exp_pace all_kinds = *pace;
    all_kinds.most_timings = (int)jobs->kinds;
    if (chosen->count == 0 || !chosen->experiment[0]->networks) return PGCN_OK;
    if (!report) CLI_TRY(exp_jobs_time(jobs, &all_kinds));
    exp_plan_shorten(plan, jobs, long_run_seconds);
    return PGCN_OK;
}

static pgcn_status run_all(const exp_request *r, const exp_choice *chosen, exp_plan *plan,
                           exp_jobs *jobs, const exp_pace *pace) {
    CLI_TRY(exp_jobs_run(jobs, pace));
    for (int i = 0; i < chosen->count; i++)
        if (chosen->experiment[i]->timed)
            CLI_TRY(exp_measure_times(plan, r, chosen->experiment[i]));
    return PGCN_OK;
}

static pgcn_status report_all(const exp_request *r, const exp_choice *chosen, exp_plan *plan,
                              const exp_jobs *jobs) {
    if (r->figures) {
        CLI_TRY(exp_draw_figures(plan, jobs, r));
        return check_all_done(jobs);
    }
    for (int i = 0; i < chosen->count; i++) {
        if (chosen->experiment[i]->marks_best) exp_mark_best(plan, jobs, chosen->experiment[i]);
        CLI_TRY(exp_report(plan, jobs, r, chosen->experiment[i]));
    }
    CLI_TRY(exp_reproduce_page(plan, jobs, r, chosen->experiment, chosen->count));
    return check_all_done(jobs);
}

/* Plans, runs and reports. */
static pgcn_status reproduce(const exp_request *r, const exp_choice *chosen, const exp_sweep *sweep,
                             const exp_pace *pace, bool report) {
    exp_plan plan = {0};
    exp_jobs jobs;
    pgcn_status status = exp_jobs_open(&jobs, r->command, r->out);
    if (status == PGCN_OK) status = plan_all(r, chosen, sweep, &plan, &jobs);
    if (status == PGCN_OK && !report) {
        cli_catch_signals();
        print_grid(r, sweep, &plan, &jobs);
    }
    if (status == PGCN_OK) status = shorten(chosen, &plan, &jobs, pace, report);
    if (status == PGCN_OK && !report) status = run_all(r, chosen, &plan, &jobs, pace);
    if (status == PGCN_OK) status = report_all(r, chosen, &plan, &jobs);
    exp_jobs_close(&jobs);
    exp_plan_free(&plan);
    return status;
}

static pgcn_status run(int argc, char **argv) {
    cli_arguments arguments;
    exp_request r = {.command = &cli_reproduce, .arguments = &arguments};
    const char *seeds = "0", *processes = "0", *threads_text = "1";
    bool report = false;
    const cli_option options[] = {
        {"out", "DIR", "runs/reproduce[-quick]", "directory for the jobs and the tables", &r.out,
         NULL},
        {"data", "DIR", "PATHGCN_DATA", "folder that holds named data sets", &r.data_dir, NULL},
        {"datasets", "LIST", NULL,
         "these data sets instead, separated by commas; a list with blanks is separated by blanks, for "
         "names whose steps have commas: 'cora film:directed,self-loops'. A part key=value belongs to the "
         "name before it: sbm:classes=2,homophily=0.9",
         &r.datasets, NULL},
        {"layers", "LIST", NULL, "these depths instead, separated by commas; 0: the recipe's own",
         &r.layers, NULL},
        {"seeds", "N", "10, 3 from 32 layers on, or a run per published split",
         "runs per line of the table, with seeds S, S+1, ...", &seeds, NULL},
        {"recipe", "RECIPE", "the best known", "settings to start from, e.g. paper", &r.recipe,
         NULL},
        {"jobs", "N", "one per core, or per rank but the first", "trainings at the same time",
         &processes, NULL},
        {"threads", "N", "1", "threads of each training", &threads_text, NULL},
        {"tables", "LIST", "all", "networks: these tables of the paper, of 2 to 8", &r.tables,
         NULL},
        {"models", "LIST", "all",
         "arena, networks, cheb, times, graphs: these networks, as gcn,gcnii,pathgcn", &r.models,
         NULL},
        {"only", "LIST", "all",
         "figures: these of 1, 2, 3, 4, 5 and smoothing, separated by commas", &r.only, NULL},
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
    long long count, threads;
    if (!r.out) r.out = r.quick ? "runs/reproduce-quick" : "runs/reproduce";
    CLI_TRY(cli_number(&cli_reproduce, "seeds", seeds, cli_is_given(&arguments, "seeds") ? 1 : 0,
                       10000, &r.seeds));
    CLI_TRY(cli_number(&cli_reproduce, "jobs", processes, 0, 1024, &count));
    CLI_TRY(cli_number(&cli_reproduce, "threads", threads_text, 1, 1024, &threads));
    exp_pace pace = {.processes = exp_jobs_at_once(count, threads),
                     .threads = (int)threads,
                     .quiet = r.quiet,
                     .most_timings = 32,
                     .what = ""};
    if (strcmp(arguments.word[0], "arena") == 0) return exp_arena(&r, &pace, report);
    bool done;
    status = exp_list_facts(&r, &arguments, &done);
    if (done) return status;
    exp_sweep sweep = {0};
    exp_choice chosen;
    status = exp_choose(&r, &arguments, &sweep, &chosen);
    if (status == PGCN_OK) status = reproduce(&r, &chosen, &sweep, &pace, report);
    exp_sweep_free(&sweep);
    return status;
}
