/* Which directory a training writes to, and what it refuses to overwrite. A directory that holds a
 * run is changed only by --resume, which continues it, or --overwrite, which replaces it when the
 * new run is finished. How files are replaced is in run_directory.c. */
#include "cli/train.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- refusals --------------------------------------------------------------------------------- */

static const char *name_of(cli_holds holds) {
    switch (holds) {
    case CLI_HOLDS_SEEDS: return "runs of several seeds";
    case CLI_HOLDS_MODEL: return "a model without the checkpoint of its run";
    case CLI_HOLDS_MIXTURE: return "files of several runs";
    default: return "a run of one seed";
    }
}

static bool is_one_run(cli_holds holds) {
    return holds == CLI_HOLDS_INTERRUPTED || holds == CLI_HOLDS_FINISHED;
}

static pgcn_status refuse_kind(const train_request *r, const char *directory, cli_holds holds) {
    return cli_fail(
        &cli_train, PGCN_ERR_MISMATCH,
        "'%s' holds %s, which %s would replace; add --overwrite to do that when the new "
        "training is finished, or choose another --out",
        directory, name_of(holds), r->seeds > 1 ? "--seeds" : "a run of one seed");
}

static pgcn_status refuse_interrupted(const char *directory) {
    return cli_fail(&cli_train, PGCN_ERR_MISMATCH,
                    "'%s' holds an interrupted run; add --resume to go on with it, --overwrite to "
                    "start again, or choose another --out",
                    directory);
}

/* `why` is a sentence of the library, "what differs; what to do": its first half is used. */
pgcn_status cli_train_refuse_other(const train_files *files, const char *why) {
    int length = (int)strcspn(why, ";");
    return cli_fail(&cli_train, PGCN_ERR_MISMATCH,
                    "'%s' holds a finished run, and this is another one: %.*s; add --overwrite to "
                    "replace it when the new one is finished, or choose another --out",
                    files->home, length, why);
}

/* An error at the end of a long run is found before its first epoch. */
static pgcn_status check_writable(const char *path) {
    struct stat about;
    if (stat(path, &about) != 0 || S_ISREG(about.st_mode)) return PGCN_OK;
    return cli_fail(&cli_train, PGCN_ERR_IO,
                    "cannot write '%s': it exists and is not a file; remove it or choose another "
                    "--out",
                    path);
}

/* A folder here comes before a data set of that name, and data.json would name it as the place of the data, a built-in
 * set's too: eval would read the run as data. A folder that was there before is the data itself, or has been refused. */
static pgcn_status refuse_name(const train_request *r) {
    const char *out = strncmp(r->out, "./", 2) == 0 ? r->out + 2 : r->out;
    size_t length = strlen(out);
    struct stat about;
    while (length > 0 && out[length - 1] == '/') length--;
    if (!r->dataset || length != strcspn(r->dataset, ":") || stat(r->out, &about) == 0 ||
        strncmp(out, r->dataset, length) != 0)
        return PGCN_OK;
    return cli_fail(&cli_train, PGCN_ERR_ARGUMENT,
                    "--out '%s' would hide the data set '%.*s' from later commands in this "
                    "directory; choose another --out, such as runs/%.*s",
                    r->out, (int)length, out, (int)length, out);
}

/* ---- --out ------------------------------------------------------------------------------------ */

pgcn_status cli_train_seed_directory(const char *directory, uint64_t seed,
                                     char out[CLI_PATH_BYTES]) {
    char name[40];
    snprintf(name, sizeof name, "seed-%llu", (unsigned long long)seed);
    return cli_train_join(out, directory, name);
}

/* The seeds in a directory: how many of those asked for are finished, and one that was not asked
 * for. */
typedef struct seed_count {
    long long finished, started; /* the latter: neither finished nor empty */
    bool other;
    uint64_t other_seed;
} seed_count;

static seed_count count_seeds(const char *directory, uint64_t first, long long seeds) {
    seed_count count = {0};
    DIR *stream = opendir(directory);
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        char path[CLI_PATH_BYTES], *end;
        if (strncmp(entry->d_name, "seed-", 5) != 0) continue;
        unsigned long long seed = strtoull(entry->d_name + 5, &end, 10);
        if (*end || end == entry->d_name + 5 ||
            cli_train_seed_directory(directory, seed, path) != PGCN_OK)
            continue;
        cli_holds holds = cli_run_holds(path);
        bool asked = seed >= first && seed - first < (unsigned long long)seeds;
        if (holds == CLI_HOLDS_NOTHING) continue;
        count.finished += asked && holds == CLI_HOLDS_FINISHED;
        count.started += asked && holds != CLI_HOLDS_FINISHED;
        if (!asked) count.other_seed = seed;
        count.other = count.other || !asked;
    }
    if (stream) closedir(stream);
    return count;
}

/* The model of a directory is the best of all seeds in it, so all of them must be asked for. */
static pgcn_status check_seeds(const train_request *r, const char *directory, uint64_t first) {
    seed_count count = count_seeds(directory, first, r->seeds);
    if (count.other)
        return cli_fail(
            &cli_train, PGCN_ERR_MISMATCH,
            "'%s' holds a run of seed %llu, which is not one of the %lld seeds from %llu "
            "on; give --seed and --seeds that include it, --overwrite to replace all of "
            "them, or choose another --out",
            directory, (unsigned long long)count.other_seed, r->seeds, (unsigned long long)first);
    if (r->resume || count.finished == r->seeds) return PGCN_OK;
    if (count.started > 0) return refuse_interrupted(directory);
    return cli_fail(
        &cli_train, PGCN_ERR_MISMATCH,
        "'%s' holds finished runs of %lld of these %lld seeds; add --resume to train the "
        "others, --overwrite to start again, or choose another --out",
        directory, count.finished, r->seeds);
}

static pgcn_status open_seeds(const train_request *r, uint64_t first, cli_holds holds,
                              train_root *root) {
    char unfinished[CLI_PATH_BYTES];
    CLI_TRY(cli_train_join(unfinished, r->out, CLI_UNFINISHED));
    cli_holds staged = cli_run_holds(unfinished);
    bool elsewhere = r->overwrite ? holds != CLI_HOLDS_NOTHING : staged == CLI_HOLDS_SEEDS;
    if (r->overwrite) cli_run_clear(unfinished);
    if (r->overwrite || (r->resume && elsewhere)) {
        if (elsewhere) snprintf(root->work, sizeof root->work, "%s", unfinished);
        return r->overwrite ? PGCN_OK : check_seeds(r, root->work, first);
    }
    if (staged != CLI_HOLDS_NOTHING && (r->resume || holds == CLI_HOLDS_NOTHING))
        return r->resume ? refuse_kind(r, unfinished, staged) : refuse_interrupted(r->out);
    if (holds == CLI_HOLDS_NOTHING) return PGCN_OK;
    return holds == CLI_HOLDS_SEEDS ? check_seeds(r, r->out, first) : refuse_kind(r, r->out, holds);
}

pgcn_status cli_train_open(const train_request *r, uint64_t first_seed, train_root *root) {
    char path[CLI_PATH_BYTES];
    if (root->open) return PGCN_OK;
    CLI_TRY(refuse_name(r));
    CLI_TRY(cli_make_directory(&cli_train, r->out));
    CLI_TRY(cli_run_lock(&cli_train, r->out, "training", &root->lock));
    CLI_TRY(cli_train_join(path, r->out, "model.safetensors"));
    CLI_TRY(check_writable(path));
    CLI_TRY(cli_run_settle(&cli_train, r->out));
    root->open = true;
    snprintf(root->work, sizeof root->work, "%s", r->out);
    if (r->seeds == 1) return PGCN_OK; /* cli_train_open_run looks at what is there */
    return open_seeds(r, first_seed, cli_run_holds(r->out), root);
}

/* ---- one run ---------------------------------------------------------------------------------- */

static pgcn_status set_work(train_files *files, const char *directory) {
    if (directory != files->work) snprintf(files->work, sizeof files->work, "%s", directory);
    const struct {
        char *path;
        const char *name;
    } parts[] = {{files->checkpoint, "checkpoint.safetensors"},
                 {files->model, "model.safetensors"},
                 {files->history, "history.jsonl"},
                 {files->result, "result.json"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        CLI_TRY(cli_train_join(parts[i].path, files->work, parts[i].name));
        CLI_TRY(check_writable(parts[i].path));
    }
    return PGCN_OK;
}

bool cli_train_is_staged(const train_files *files) {
    return strcmp(files->home, files->work) != 0;
}

pgcn_status cli_train_stage(train_files *files) {
    char unfinished[CLI_PATH_BYTES];
    CLI_TRY(cli_train_join(unfinished, files->home, CLI_UNFINISHED));
    cli_run_clear(unfinished);
    CLI_TRY(cli_make_directory(&cli_train, unfinished));
    files->started = files->finished = false;
    return set_work(files, unfinished);
}

/* Decides by what the directory holds. Leftovers are removed under the lock only: nobody else can
 * be writing. */
pgcn_status cli_train_open_run(const train_request *r, const train_root *root, const char *home,
                               train_files *files) {
    char unfinished[CLI_PATH_BYTES];
    *files = (train_files){.lock = -1};
    snprintf(files->home, sizeof files->home, "%s", home);
    CLI_TRY(cli_train_join(unfinished, home, CLI_UNFINISHED));
    CLI_TRY(set_work(files, home));
    if (r->seeds > 1) {
        CLI_TRY(cli_make_directory(&cli_train, home));
        CLI_TRY(cli_run_lock(&cli_train, home, "training", &files->lock));
        CLI_TRY(cli_run_settle(&cli_train, home));
    }
    if (root->lock >= 0) {
        cli_run_remove_leftovers(home);
        cli_run_remove_leftovers(unfinished);
    }
    cli_holds holds = cli_run_holds(home), staged = cli_run_holds(unfinished);
    if (r->overwrite && holds != CLI_HOLDS_NOTHING) return cli_train_stage(files);
    if (r->overwrite) cli_run_clear(unfinished);
    bool go_on = r->resume && staged != CLI_HOLDS_NOTHING;
    if (go_on) holds = staged;
    if (holds != CLI_HOLDS_NOTHING && !is_one_run(holds))
        return refuse_kind(r, go_on ? unfinished : home, holds);
    if (go_on) CLI_TRY(set_work(files, unfinished));
    files->finished = holds == CLI_HOLDS_FINISHED;
    files->started = is_one_run(holds);
    bool waits = files->started ? !files->finished : staged != CLI_HOLDS_NOTHING;
    return waits && !r->resume && !r->overwrite ? refuse_interrupted(home) : PGCN_OK;
}

pgcn_status cli_train_commit(const train_files *files) {
    if (!cli_train_is_staged(files)) return PGCN_OK;
    return cli_run_replace(&cli_train, files->home, files->work);
}

void cli_train_close_run(train_files *files) {
    if (files->lock >= 0) close(files->lock);
    files->lock = -1;
    if (*files->work && cli_train_is_staged(files) && access(files->checkpoint, F_OK) != 0)
        cli_run_clear(files->work); /* nothing to go on from */
}
