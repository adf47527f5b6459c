/* pathgcn train: one run per seed (train_run.c), then the table or the JSON line. */
#include "cli/train.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int run(int argc, char **argv);

const cli_command cli_train = {
    .name = "train",
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
        "the better ones longer, and the one that does best on validation is trained in full; it is\n"
        "told, and --recipe with its name repeats the run without the race. Options hold in all of\n"
        "them. The epoch is chosen on the validation nodes or graphs, those of the test are only\n"
        "reported.\n"
        "\n"
        "The directory gets model.safetensors (the best weights), history.jsonl (a line per epoch),\n"
        "checkpoint.safetensors (to resume), result.json, data.json (where the data is) and, after a\n"
        "race, race.json (what each recipe scored). With --seeds N > 1 each run has its own folder\n"
        "seed-S in there, and model.safetensors is the one that did best on validation. Ctrl-C finishes\n"
        "the epoch and saves; the same command with --resume goes on, and ends with the same bits as if\n"
        "it had not been interrupted.\n"
        "\n"
        "A run that is in the directory is never lost by accident. The same command again tells its\n"
        "result and trains nothing; with more --epochs and --resume it goes on. Other data, another\n"
        "split or other settings are refused without --overwrite. Until the new run is finished its\n"
        "files are in the folder 'unfinished' there, and the old ones stay as they are.\n"
        "\n"
        "An option that does nothing beside the others is refused with the reason (--paths with\n"
        "--train-form exact); settings of a recipe that do nothing are left alone. A setting that\n"
        "another one rules out gives way unless it is given too: --samples 1 switches\n"
        "--consistency off, --walk node2vec switches --self-loops off, and --input-hops 0 switches\n"
        "--input-norm off.",
    .examples = "  pathgcn train karate                    a built-in graph, in seconds\n"
                "  pathgcn train sbm:classes=2,homophily=0.1 --seeds 5\n"
                "  pathgcn train sbm:nodes=2000 --recipe any-unlike --channels 32\n"
                "  PATHGCN_DATA=data pathgcn train cora --seeds 10\n"
                "  pathgcn train cora --data data --recipe paper-full --layers 8 --seeds 10\n"
                "  pathgcn train cora --data data --walk node2vec --return-p 4\n"
                "  pathgcn train data/cora --layers 8 --out runs/deep --resume\n"
                "  pathgcn train MUTAG --data data --recipe paper --seeds 10\n"
                "  pathgcn train --edges follows.csv --features people.csv --labels known.csv\n"
                "  pathgcn train cora --split 0 --json | tail -n 1\n",
    .config_groups = "model training run",
    .computes = true,
    .run = run,
};

bool cli_train_join(char out[CLI_PATH_BYTES], const char *directory, const char *file) {
    if ((size_t)snprintf(out, CLI_PATH_BYTES, "%s/%s", directory, file) < CLI_PATH_BYTES)
        return true;
    cli_complain(&cli_train, "the path %.64s.../%s is too long; choose another --out", directory,
                 file);
    return false;
}

/* ---- several seeds ---------------------------------------------------------------------------- */

static bool copy_file(const char *from, const char *to) {
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
    bool fine = text && bytes >= 0;
    if (!fine) {
        cli_complain(&cli_train, "cannot read '%s': %s; train again with --resume", from,
                     pgcn_system_error(error));
    } else if (pgcn_file_write(to, text, (size_t)bytes) != PGCN_OK) {
        fine = false;
        cli_complain(&cli_train, "%s", pgcn_last_error());
    }
    free(text);
    return fine;
}

static bool copy_chosen(const train_root *root, uint64_t seed, const char *target) {
    static const char *const files[] = {"history.jsonl", "data.json", "model.safetensors"};
    char from[CLI_PATH_BYTES], to[CLI_PATH_BYTES], directory[CLI_PATH_BYTES];
    if (!cli_train_seed_directory(root->work, seed, directory)) return false;
    for (int i = 0; i < 3; i++)
        if (!cli_train_join(from, directory, files[i]) || !cli_train_join(to, target, files[i]) ||
            !copy_file(from, to))
            return false;
    return true;
}

/* DIR/model.safetensors of several seeds: the one that did best on validation. It comes with the
 * folders of the seeds if these replace others, else by itself. */
static bool choose_model(const train_request *r, const train_root *root, uint64_t seed) {
    char chosen[CLI_PATH_BYTES];
    if (strcmp(root->work, r->out) != 0)
        return copy_chosen(root, seed, root->work) &&
               cli_run_replace(&cli_train, r->out, root->work);
    if (!cli_train_join(chosen, r->out, ".chosen")) return false;
    cli_run_clear(chosen);
    return cli_make_directory(&cli_train, chosen) && copy_chosen(root, seed, chosen) &&
           cli_run_replace(&cli_train, r->out, chosen);
}

/* What the runs came to: -1 if they were all trained before, and the model of --out was chosen then. */
static int finish_seeds(const train_request *r, const train_root *root, const train_outcome *runs,
                        pgcn_measure measure) {
    char model[CLI_PATH_BYTES];
    long long best = 0, retold = 0;
    for (long long i = 0; i < r->seeds; i++) {
        retold += runs[i].retold;
        if (pgcn_score_measure(&runs[i].val, measure) >
            pgcn_score_measure(&runs[best].val, measure))
            best = i;
    }
    if (retold == r->seeds && !r->resume && !r->quiet)
        fprintf(stderr,
                "note: %s holds this training, finished, and nothing was trained; "
                "--overwrite trains it again\n",
                r->out);
    if (r->seeds == 1) return -1;
    bool there = cli_train_join(model, r->out, "model.safetensors") && access(model, F_OK) == 0;
    if (retold == r->seeds && there && strcmp(root->work, r->out) == 0) return -1;
    return choose_model(r, root, runs[best].seed) ? -1 : EXIT_FAILED;
}

static int train_seeds(const train_request *r, const pgcn_dataset *data, pgcn_config config,
                       train_outcome *runs) {
    train_root root = {.lock = -1};
    uint64_t first_seed = config.seed;
    int code = -1;
    for (long long i = 0; i < r->seeds && code < 0; i++) {
        config.seed = first_seed + (uint64_t)i;
        code = cli_train_run(r, data, &config, &root, i + 1, &runs[i]);
    }
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    if (code < 0) code = finish_seeds(r, &root, runs, cli_measure_of(&info, &r->used));
    if (root.lock >= 0) close(root.lock);
    return code;
}

static int train_all(const train_request *r, const pgcn_dataset *data, pgcn_config config) {
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    train_outcome *runs = calloc((size_t)r->seeds, sizeof *runs);
    if (!runs) {
        cli_complain(&cli_train, "out of memory for %lld seeds", r->seeds);
        return EXIT_FAILED;
    }
    int code = train_seeds(r, data, config, runs);
    if (code < 0 && r->json) {
        code = cli_print_json(&cli_train, cli_train_summary(r, &info, runs));
    } else if (code < 0) {
        cli_train_print_table(r, data, runs);
        code = EXIT_DONE;
    }
    free(runs);
    return code;
}

/* ---- the command ------------------------------------------------------------------------------ */

/* runs/NAME, with what a name may hold and a folder should not replaced; "." and ".." are the path
 * of a data set but no name. */
static void default_out(const char *name, char out[CLI_PATH_BYTES]) {
    if (strspn(name, ".") == strlen(name)) name = "data";
    snprintf(out, CLI_PATH_BYTES, "runs/%s", name);
    for (char *c = out + 5; *c; c++)
        if (strchr(":,=/ ", *c)) *c = '-';
}

/* In: the options over the defaults. Out: the recipe for the depth that they ask for. */
static int start_from_recipe(train_request *r, const pgcn_dataset *data,
                             const cli_arguments *arguments, pgcn_config *config) {
    int layers = cli_is_given(arguments, "layers") ? config->layers : 0;
    bool usual = r->recipe && strcmp(r->recipe, "usual") == 0;
    r->races = r->recipe && strcmp(r->recipe, "auto") == 0;
    if (r->races) return -1;
    const char *named = usual ? NULL : r->recipe;
    pgcn_status status = pgcn_recipe_for(named, data, layers, config, &r->used);
    if (status != PGCN_OK) return cli_failed(&cli_train, status);
    r->races = !r->recipe && (r->used.version == 0 || strcmp(r->used.dataset, "any") == 0);
    if (r->races) { /* what suits its task is one of the families */
        r->used = (pgcn_recipe_info){.name = "none"};
        *config = pgcn_config_default();
        return -1;
    }
    if (r->used.other_dataset && !r->quiet)
        fprintf(stderr, "note: recipe %s was written for data set %s, not for %s\n", r->used.name,
                r->used.dataset, pgcn_dataset_describe(data).name);
    return -1;
}

bool cli_train_join_steps(const train_request *r, const char *more, char out[CLI_PATH_BYTES]) {
    const char *own = r->source.steps ? r->source.steps : "";
    if ((size_t)snprintf(out, CLI_PATH_BYTES, "%s%s%s", own, *own ? "," : "", more) <
        CLI_PATH_BYTES)
        return true;
    cli_complain(&cli_train, "--prepare is too long");
    return false;
}

/* The steps that the recipe names: instead of none, or, if the recipe is for any data, behind those that
 * the user has named. */
static int prepare_as_recipe(train_request *r, char steps[CLI_PATH_BYTES], pgcn_dataset **data) {
    bool own = r->source.steps || (r->dataset && strchr(r->dataset, ':'));
    if (!*r->used.prepare || (own && strcmp(r->used.dataset, "any") != 0)) return -1;
    if (!cli_train_join_steps(r, r->used.prepare, steps)) return EXIT_USAGE;
    r->source.steps = steps;
    if (!r->quiet)
        fprintf(stderr, "note: recipe %s prepares the data set: %s\n", r->used.name,
                r->used.prepare);
    pgcn_dataset_free(*data);
    *data = NULL;
    return cli_load_dataset(&cli_train, r->dataset, &r->source, "", data);
}

static int load_and_train(train_request *r, cli_arguments *arguments) {
    pgcn_dataset *data;
    cli_weights weights;
    char out[CLI_PATH_BYTES], steps[CLI_PATH_BYTES];
    pgcn_config config = pgcn_config_default();
    cli_weights_defer(arguments, &weights);
    int code = cli_apply(&cli_train, arguments, &config); /* typing errors before a long load */
    if (code >= 0) return code;
    code = cli_load_dataset(&cli_train, r->dataset, &r->source, "", &data);
    if (code >= 0) return code;
    if (!r->out) {
        default_out(pgcn_dataset_describe(data).name, out);
        r->out = out;
    }
    code = cli_weights_read(&cli_train, &r->source, data, arguments, &weights);
    if (code < 0) code = start_from_recipe(r, data, arguments, &config);
    if (code < 0) code = prepare_as_recipe(r, steps, &data);
    if (code < 0 && !r->quiet) cli_print_notes(stderr, data);
    if (code < 0 && !r->quiet && !cli_is_given(arguments, "select") && !*r->used.measure)
        cli_note_unequal(stderr, data);
    if (code < 0) /* a race checks what the options come to in every family */
        code = r->races ? cli_overlay(&cli_train, arguments, &config)
                        : cli_configure(&cli_train, arguments, &config);
    if (code < 0) code = cli_check_seeds(&cli_train, config.seed, r->seeds);
    if (code < 0) {
        cli_catch_signals();
        code = train_all(r, data, config);
    }
    pgcn_dataset_free(data);
    return code;
}

static int run(int argc, char **argv) {
    train_request r = {.seeds_text = "1", .every_text = "0", .argv = argv, .argc = argc};
    const cli_option options[] = {
        {"out", "DIR", "runs/NAME", "directory for the model and its files", &r.out, NULL},
        {"recipe", "RECIPE", "the data set's own, or auto",
         "settings to start from: auto (the family that does best on validation), usual (the data "
         "set's own, or its task's, without a race), a name of 'pathgcn recipes', a kind (paper, "
         "full, paper-full), a file, or none",
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
        {"checkpoint-every", "N", "0", "epochs between two checkpoints; 0: every 10 seconds",
         &r.every_text, NULL},
        {"json", NULL, NULL, "print one JSON line instead of the table", NULL, &r.json},
        {"quiet", NULL, NULL, "no progress, no notes", NULL, &r.quiet},
        {NULL, NULL, NULL, NULL, NULL, NULL}};
    cli_arguments arguments;
    int code = cli_parse(&cli_train, options, 0, 1, argc, argv, &arguments);
    if (code >= 0) return code;
    if (!cli_number(&cli_train, "seeds", r.seeds_text, 1, 100000, &r.seeds) ||
        !cli_number(&cli_train, "checkpoint-every", r.every_text, 0, 1000000, &r.checkpoint_every))
        return EXIT_USAGE;
    if (r.resume && r.overwrite) {
        cli_complain(&cli_train, "--resume goes on with a run and --overwrite starts it again; "
                                 "give one of them");
        return EXIT_USAGE;
    }
    if (r.accept_other_version && !r.resume) {
        cli_complain(&cli_train, "--accept-other-version belongs to --resume, which is missing");
        return EXIT_USAGE;
    }
    if (r.out && !*r.out) {
        cli_complain(&cli_train, "--out is empty, expected the name of a directory");
        return EXIT_USAGE;
    }
    r.arguments = &arguments;
    r.dataset = arguments.words > 0 ? arguments.word[0] : NULL;
    if (!cli_source_check(&cli_train, r.dataset, &r.source)) return EXIT_USAGE;
    return load_and_train(&r, &arguments);
}
