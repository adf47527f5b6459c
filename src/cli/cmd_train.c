/* pathgcn train: one run per seed (train_run.c), then the table or the JSON line. */
#include "cli/train.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pgcn_status run(int argc, char **argv);

static const cli_brief train_most_used[] = {
    {.name = "data"},
    {.name = "edges", .help = "your own graph, with --features and --labels FILE"},
    {.name = "recipe",
     .value = "RECIPE",
     .help = "settings to start from [the data set's own, or auto]"},
    {.name = "model", .value = "NAME", .help = "pathgcn, gcn, gat, gin, ...; auto: a race of them"},
    {.name = "layers", .value = "L", .help = "layers"},
    {.name = "channels", .value = "C", .help = "channels of the hidden layers"},
    {.name = "epochs", .value = "N", .help = "epochs at most"},
    {.name = "batch", .value = "N", .help = "nodes or graphs a step; --batch-by, --neighbours N,N"},
    {.name = "seed", .value = "S", .help = "seed; --seeds N trains N times: mean and interval"},
    {.name = "out"},
    {.name = "resume", .help = "go on from the checkpoint in --out"},
    {.name = "threads", .value = "T", .help = "threads; 0: one per core"},
    {.name = "json"},
    {.name = "quiet"},
    {.name = NULL}};

const cli_command cli_train = {
    .name = "train",
    .shares_rows = true,
    .summary = "train a model and leave it in a directory",
    .arguments = "[NAME|PATH]",
    .text =
        "NAME is a built-in graph (karate, sbm, grid, powerlaw), a data set in --data or\n"
        "PATHGCN_DATA, or one that 'data fetch' brought; PATH a file or folder in any format of\n"
        "'data list --formats'. Your own graph is given by --edges, --features and --labels instead.\n"
        "\n"
        "What is learnt follows from the data: a class per node, several labels per node (the figure\n"
        "is then the micro-averaged F1), or a class per graph of a set of graphs. Settings start from\n"
        "the recipe of the data set ('pathgcn recipes' lists them), in its version for the depth of\n"
        "--layers. Where there is none, the recipes for any data race: each trains for a short while,\n"
        "the better ones longer, and the one that does best on validation is trained in full. Its name\n"
        "is printed, and --recipe with that name repeats the run without the race. Options apply to all\n"
        "of them. The epoch is chosen on the validation set; the test set is only reported.\n"
        "\n"
        "--model NAME trains another network, with the recipe that it has for the data set (the settings\n"
        "of its authors, or the nearest that were published) or else its default one. --model auto lets\n"
        "the default recipes of all networks take part in the race.\n"
        "\n"
        "The directory gets model.safetensors (the best weights), history.jsonl (a line per epoch),\n"
        "checkpoint.safetensors (to resume), result.json, data.json (where the data is) and, after a\n"
        "race, race.json (what each recipe scored). With --seeds N > 1 each run has its own folder\n"
        "seed-S in it, and model.safetensors is the one that did best on validation. Ctrl-C finishes\n"
        "the step and saves; the same command with --resume continues, and ends with the same bits as\n"
        "if it had not been interrupted. A race is not saved: interrupted in one, it is run again.\n"
        "\n"
        "A run that is in the directory is never lost by accident. The same command prints its result\n"
        "once more and trains nothing; with more --epochs and --resume it continues. Other data, another\n"
        "split or other settings are refused without --overwrite. Until the new run is finished its\n"
        "files are in the folder 'unfinished', and the old ones stay as they are.\n"
        "\n"
        "With --memory SIZE the features of a container stay on disk: batches of nodes (--batch) have\n"
        "their rows read ahead of need, a cache keeps those that are wanted soonest, and the program\n"
        "stays within SIZE, the mapped pages of the graph included. What does not fit is refused at\n"
        "once. Results have the same bits as without it.\n"
        "\n"
        "An option that has no effect with the others is refused with the reason (--paths with\n"
        "--train-form exact); settings of a recipe that have no effect are ignored. A setting that\n"
        "another one rules out is reset unless it is given too: --samples 1 switches --consistency\n"
        "off, --walk node2vec switches --self-loops off, and --input-hops 0 switches --input-norm\n"
        "off.",
    .brief = "NAME: karate, sbm, grid, powerlaw or a data set; PATH: its file or folder.",
    .most_used = train_most_used,
    .examples = "  pathgcn train karate                    a built-in graph, in seconds\n"
                "  PATHGCN_DATA=data pathgcn train cora --seeds 10\n"
                "  pathgcn train --edges follows.csv --features people.csv --labels known.csv\n"
                "  pathgcn train sbm:classes=2,homophily=0.1 --seeds 5\n"
                "  pathgcn train sbm:nodes=2000 --recipe any-free --channels 64\n"
                "  pathgcn train cora --data data --recipe paper-full --layers 8 --seeds 10\n"
                "  pathgcn train cora --data data --walk node2vec --return-p 4\n"
                "  pathgcn train MUTAG --data data --model gin\n"
                "  pathgcn train karate --model auto --seeds 5\n"
                "  pathgcn train data/cora --layers 8 --out runs/deep --resume\n"
                "  pathgcn train MUTAG --data data --recipe paper --seeds 10\n"
                "  pathgcn train huge.pgcn --batch 1024 --memory 2G   features stay on disk\n"
                "  pathgcn train cora --split 0 --json | tail -n 1\n",
    .config_groups = CLI_GROUP_MODEL | CLI_GROUP_TRAINING | CLI_GROUP_RUN,
    .computes = true,
    .races = true,
    .most_words = 1,
    .run = run,
};

pgcn_status cli_train_join(char out[CLI_PATH_BYTES], const char *directory, const char *file) {
    if ((size_t)snprintf(out, CLI_PATH_BYTES, "%s/%s", directory, file) < CLI_PATH_BYTES)
        return PGCN_OK;
    return cli_fail(&cli_train, PGCN_ERR_IO,
                    "the path %.64s.../%s is too long; choose another --out", directory, file);
}

/* ---- several seeds ---------------------------------------------------------------------------- */

static pgcn_status copy_file(const char *from, const char *to) {
    errno = 0;
    FILE *file = fopen(from, "rb");
    char *text = NULL;
    long bytes = -1;
    if (file && fseek(file, 0, SEEK_END) == 0 && (bytes = ftell(file)) >= 0) {
        rewind(file);
        text = malloc((size_t)bytes + 1);
        if (text && fread(text, 1, (size_t)bytes, file) != (size_t)bytes) bytes = -1;
    }
    int error = errno ? errno : EIO; /* shorter than its length is a failure of the disk, too */
    if (file) fclose(file);
    pgcn_status status =
        text && bytes >= 0
            ? cli_report(&cli_train, pgcn_file_write(to, text, (size_t)bytes))
            : cli_fail(&cli_train, PGCN_ERR_IO, "cannot read '%s': %s; train again with --resume",
                       from, pgcn_system_error(error));
    free(text);
    return status;
}

static pgcn_status copy_chosen(const train_root *root, uint64_t seed, const char *target) {
    static const char *const files[] = {"history.jsonl", "data.json", "model.safetensors"};
    char from[CLI_PATH_BYTES], to[CLI_PATH_BYTES], directory[CLI_PATH_BYTES];
    CLI_TRY(cli_train_seed_directory(root->work, seed, directory));
    for (int i = 0; i < 3; i++) {
        CLI_TRY(cli_train_join(from, directory, files[i]));
        CLI_TRY(cli_train_join(to, target, files[i]));
        CLI_TRY(copy_file(from, to));
    }
    return PGCN_OK;
}

/* DIR/model.safetensors of several seeds is the one that did best on validation. It is put in place
 * together with the folders of the seeds if these replace others, else by itself. */
static pgcn_status choose_model(const train_request *r, const train_root *root, uint64_t seed) {
    char chosen[CLI_PATH_BYTES];
    if (strcmp(root->work, r->out) != 0) {
        CLI_TRY(copy_chosen(root, seed, root->work));
        return cli_run_replace(&cli_train, r->out, root->work);
    }
    CLI_TRY(cli_train_join(chosen, r->out, ".chosen"));
    cli_run_clear(chosen);
    CLI_TRY(cli_make_directory(&cli_train, chosen));
    CLI_TRY(copy_chosen(root, seed, chosen));
    return cli_run_replace(&cli_train, r->out, chosen);
}

/* Chooses the model of --out. If all runs were trained before, it was chosen then. */
static pgcn_status finish_seeds(const train_request *r, const train_root *root,
                                const train_outcome *runs, pgcn_measure measure) {
    char model[CLI_PATH_BYTES];
    long long best = 0, reused = 0;
    for (long long i = 0; i < r->seeds; i++) {
        reused += runs[i].reused;
        if (pgcn_score_measure(&runs[i].val, measure) >
            pgcn_score_measure(&runs[best].val, measure))
            best = i;
    }
    if (reused == r->seeds && !r->resume && !r->quiet)
        fprintf(stderr,
                "note: %s holds this training, finished, and nothing was trained; "
                "--overwrite trains it again\n",
                r->out);
    if (r->seeds == 1) return PGCN_OK;
    CLI_TRY(cli_train_join(model, r->out, "model.safetensors"));
    bool in_place = strcmp(root->work, r->out) == 0;
    if (reused == r->seeds && in_place && access(model, F_OK) == 0) return PGCN_OK;
    return choose_model(r, root, runs[best].seed);
}

static pgcn_status train_seeds(const train_request *r, const pgcn_dataset *data, pgcn_config config,
                               train_outcome *runs) {
    train_root root = {.lock = -1};
    uint64_t first_seed = config.seed;
    pgcn_status status = PGCN_OK;
    for (long long i = 0; i < r->seeds && status == PGCN_OK; i++) {
        config.seed = first_seed + (uint64_t)i;
        status = cli_train_run(r, data, &config, &root, i + 1, &runs[i]);
    }
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    if (status == PGCN_OK) status = finish_seeds(r, &root, runs, cli_measure_of(&info, &r->used));
    if (root.lock >= 0) close(root.lock);
    return status;
}

static pgcn_status train_all(const train_request *r, const pgcn_dataset *data, pgcn_config config) {
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    train_outcome *runs = calloc((size_t)r->seeds, sizeof *runs);
    if (!runs)
        return cli_fail(&cli_train, PGCN_ERR_MEMORY, "out of memory for %lld seeds", r->seeds);
    pgcn_status status = train_seeds(r, data, config, runs);
    if (status == PGCN_OK && r->json)
        status = cli_print_json(&cli_train, cli_train_summary(r, &info, runs));
    else if (status == PGCN_OK)
        cli_train_print_table(r, data, runs);
    /* A run whose settings nobody chose explains itself. */
    char page[CLI_PATH_BYTES];
    if (status == PGCN_OK && r->races) status = cli_report_write(&cli_train, r->out, page);
    if (status == PGCN_OK && r->races && !r->json) printf("Report: %s\n", page);
    free(runs);
    return status;
}

/* ---- the command ------------------------------------------------------------------------------ */

/* runs/NAME, with characters that a folder should not have replaced. "." and ".." are paths of data
 * sets but no names. */
static void default_out(const char *name, char out[CLI_PATH_BYTES]) {
    if (strspn(name, ".") == strlen(name)) name = "data";
    snprintf(out, CLI_PATH_BYTES, "runs/%s", name);
    for (char *c = out + 5; *c; c++)
        if (strchr(":,=/ ", *c)) *c = '-';
}

/* With --memory: evaluations that need no whole graph, where batches have nodes. */
static void settle_memory(train_request *r, const pgcn_dataset *data,
                          const cli_arguments *arguments, pgcn_config *config) {
    enum { EVALUATED = 10000 };
    if (r->source.memory == 0 || config->eval_nodes > 0 || cli_is_given(arguments, "eval-nodes"))
        return;
    config->eval_nodes = EVALUATED;
    if (pgcn_config_unused(config, data, "eval-nodes")) {
        config->eval_nodes = 0;
    } else if (!r->quiet) {
        fprintf(
            stderr,
            "note: features stay on disk, so that evaluations look at %d validation and %d test "
            "nodes, by drawn %s; --eval-nodes decides otherwise\n",
            EVALUATED, EVALUATED,
            pgcn_config_unused(config, data, "paths") ? "neighbours" : "paths");
    }
}

/* In: the options over the defaults. Out: the recipe for the depth that they ask for. */
static pgcn_status start_from_recipe(train_request *r, const pgcn_dataset *data,
                                     const cli_arguments *arguments, pgcn_config *config) {
    bool named = cli_names_network(arguments);
    if (r->source.memory > 0 && (cli_is_auto(r->recipe) || arguments->all_networks))
        return cli_fail(&cli_train, PGCN_ERR_ARGUMENT,
                        "a race prepares the data in several ways, and with --memory it stays on "
                        "disk as it is; give --recipe usual, or the name of one");
    bool raceless = r->source.memory > 0 && !r->recipe && !named;
    if (raceless) r->recipe = "usual";
    r->races = cli_is_auto(r->recipe) || arguments->all_networks;
    if (r->races) return PGCN_OK;
    CLI_TRY(cli_find_recipe(&cli_train, arguments, r->recipe, data, config, &r->used));
    if (raceless && cli_is_general(&r->used) && !r->quiet)
        fprintf(stderr,
                "note: features stay on disk, so that no race finds settings; these are the "
                "usual ones (--recipe usual)\n");
    r->races = !r->recipe && !named && cli_is_general(&r->used);
    if (r->races) { /* the recipe for its task takes part in the race */
        r->used = (pgcn_recipe_info){.name = "none"};
        *config = pgcn_config_default();
        return PGCN_OK;
    }
    if (r->used.other_dataset && !r->quiet)
        fprintf(stderr, "note: recipe %s was written for data set %s, not for %s\n", r->used.name,
                r->used.dataset, pgcn_dataset_describe(data).name);
    if (!r->recipe && cli_is_general(&r->used) && !r->quiet)
        fprintf(stderr, "note: %s has no recipe for this data set; its recipe for any is %s\n",
                pgcn_network_name(config->model), r->used.name);
    return PGCN_OK;
}

pgcn_status cli_train_join_steps(const train_request *r, const char *more,
                                 char out[CLI_PATH_BYTES]) {
    if (cli_steps_join(out, CLI_PATH_BYTES, r->source.steps, more)) return PGCN_OK;
    return cli_fail(&cli_train, PGCN_ERR_ARGUMENT, "--prepare is too long");
}

/* Loads the data again with the steps of the recipe. Steps of the user's replace them, unless the
 * recipe is for any data: then its steps are added after those of the user. */
static pgcn_status prepare_as_recipe(train_request *r, char steps[CLI_PATH_BYTES],
                                     pgcn_dataset **data) {
    bool own = r->source.steps || (r->dataset && strchr(r->dataset, ':'));
    if (!*r->used.prepare || (own && !cli_is_general(&r->used))) return PGCN_OK;
    CLI_TRY(cli_train_join_steps(r, r->used.prepare, steps));
    r->source.steps = steps;
    if (!r->quiet)
        fprintf(stderr, "note: recipe %s prepares the data set: %s\n", r->used.name,
                r->used.prepare);
    pgcn_dataset_free(*data);
    return cli_load_dataset(&cli_train, r->dataset, &r->source, "", data);
}

static pgcn_status load_and_train(train_request *r, cli_arguments *arguments) {
    pgcn_dataset *data;
    cli_weights weights;
    char out[CLI_PATH_BYTES], steps[CLI_PATH_BYTES];
    pgcn_config config = pgcn_config_default();
    cli_weights_defer(arguments, &weights);
    CLI_TRY(cli_apply(&cli_train, arguments, &config)); /* typing errors before a long load */
    CLI_TRY(cli_check_fits(&cli_train, "training on", r->dataset, &r->source,
                           "--batch 1024 trains on it with its features on disk"));
    CLI_TRY(cli_load_dataset(&cli_train, r->dataset, &r->source, "", &data));
    if (!r->out) {
        default_out(pgcn_dataset_describe(data).name, out);
        r->out = out;
    }
    pgcn_status status = cli_weights_read(&cli_train, &r->source, data, arguments, &weights);
    if (status == PGCN_OK) status = start_from_recipe(r, data, arguments, &config);
    if (status == PGCN_OK) status = prepare_as_recipe(r, steps, &data);
    if (status == PGCN_OK && !r->quiet) cli_print_notes(stderr, data);
    if (status == PGCN_OK && !r->quiet) cli_ranks_note(data);
    if (status == PGCN_OK && !r->quiet && !cli_is_given(arguments, "select") && !*r->used.measure)
        cli_note_unequal(stderr, data);
    /* what is on disk changes what can be advised; a race checks the options with the settings of every family */
    const pgcn_dataset *on_disk = r->source.memory > 0 ? data : NULL;
    if (status == PGCN_OK)
        status = r->races ? cli_overlay(&cli_train, arguments, &config)
                          : cli_configure(&cli_train, arguments, on_disk, &config);
    if (status == PGCN_OK) settle_memory(r, data, arguments, &config);
    if (status == PGCN_OK) status = cli_check_seeds(&cli_train, config.seed, r->seeds);
    if (status == PGCN_OK && cli_ranks_serves()) {
        status = cli_ranks_serve(data);
        pgcn_dataset_free(data);
        return status;
    }
    cli_progress progress = {0};
    r->progress = &progress;
    if (status == PGCN_OK) status = cli_progress_open(&progress, &cli_train, r->quiet, r->log);
    if (status == PGCN_OK) {
        cli_catch_signals();
        status = train_all(r, data, config);
    }
    cli_progress_close(&progress);
    pgcn_dataset_free(data);
    return status;
}

static pgcn_status check_request(train_request *r) {
    CLI_TRY(cli_number(&cli_train, "seeds", r->seeds_text, 1, 100000, &r->seeds));
    CLI_TRY(cli_memory(&cli_train, r->memory_text, &r->source.memory));
    CLI_TRY(cli_number(&cli_train, "checkpoint-every", r->every_text, 0, 1000000,
                       &r->checkpoint_every));
    if (r->resume && r->overwrite)
        return cli_fail(&cli_train, PGCN_ERR_ARGUMENT,
                        "--resume goes on with a run and --overwrite starts it again; give one of "
                        "them");
    if (r->accept_other_version && !r->resume)
        return cli_fail(&cli_train, PGCN_ERR_ARGUMENT,
                        "--accept-other-version belongs to --resume, which is missing");
    if (r->source.memory > 0 && r->source.edges)
        return cli_fail(&cli_train, PGCN_ERR_ARGUMENT,
                        "--memory trains from a container, and --edges gives text files; make one "
                        "by pathgcn data convert with the same options and --out FILE.pgcn");
    if (r->out && !*r->out)
        return cli_fail(&cli_train, PGCN_ERR_ARGUMENT,
                        "--out is empty, expected the name of a directory");
    return cli_source_check(&cli_train, r->dataset, &r->source);
}

static pgcn_status run(int argc, char **argv) {
    train_request r = {.seeds_text = "1", .every_text = "0", .argv = argv, .argc = argc};
    const cli_option options[] = {
        {"out", "DIR", "runs/NAME", "directory for the model and its files", &r.out, NULL},
        {"recipe", "RECIPE", "the data set's own, or auto",
         "settings to start from: auto (the family that does best on validation), usual (the data "
         "set's own, or its task's, without a race), a name of 'pathgcn recipes', a kind (paper, "
         "full, paper-full; of another --model authors, authors-like, full, default), a file, or none",
         &r.recipe, NULL},
        CLI_SOURCE_OPTIONS(r.source),
        {"seeds", "N", "1",
         "train N times, with seeds S, S+1, ...: mean, deviation and 95 % interval", &r.seeds_text,
         NULL},
        {"resume", NULL, NULL, "go on from the checkpoint in --out, if there is one", NULL,
         &r.resume},
        {"overwrite", NULL, NULL, "replace the run that --out holds, when the new one is finished",
         NULL, &r.overwrite},
        {"accept-other-version", NULL, NULL,
         "with --resume: go on although the checkpoint is of a pathgcn whose results have other bits",
         NULL, &r.accept_other_version},
        {"memory", "SIZE", NULL,
         "train within so much memory, 512M or 4G (MiB, GiB), on a container (FILE.pgcn) whose features "
         "stay on disk; with --batch and --eval-nodes. Same bits as in memory with the same recipe and "
         "--eval-nodes",
         &r.memory_text, NULL},
        {"checkpoint-every", "N", "0", "epochs between two checkpoints; 0: every 10 seconds",
         &r.every_text, NULL},
        {"json", NULL, NULL, "print one JSON line instead of the table", NULL, &r.json},
        {"log", "FILE", NULL, "add a line of progress every ten seconds to FILE", &r.log, NULL},
        {"quiet", NULL, NULL, "no progress, no notes", NULL, &r.quiet},
        CLI_OPTIONS_END};
    cli_arguments arguments;
    pgcn_status status = cli_parse(&cli_train, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    r.arguments = &arguments;
    r.quiet = r.quiet || cli_ranks_serves();
    r.dataset = cli_first_word(&arguments);
    CLI_TRY(check_request(&r));
    CLI_TRY(cli_check_race(&cli_train, &arguments, r.recipe));
    return load_and_train(&r, &arguments);
}
