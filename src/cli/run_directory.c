/* The directory of a run: what it holds, its lock, and how a new run takes the place of an old one.
 * Policy (what is refused, what is resumed) is in train_place.c.
 *
 * A run in a directory that holds another one writes into DIR/unfinished. When it is finished it takes
 * the place of the old one in two phases, each begun by one rename:
 *
 *   DIR/unfinished -> DIR/.replacing   the new run is complete and is the run of DIR from now on; the
 *                                      files of the old one are removed
 *   DIR/.replacing -> DIR/.placing     nothing of the old one is left; the files are moved to DIR
 *
 * So DIR itself never shows files of two runs, whenever the program is killed. The next command that
 * trains in DIR completes what was begun (cli_run_settle); a command that only reads finds the files
 * where they are (cli_run_file). */
#include "cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const run_files[] = {"result.json",       "checkpoint.safetensors",
                                        "model.safetensors", "history.jsonl",
                                        "data.json",         "race.json",
                                        "report.html"};
enum { RUN_FILES = sizeof run_files / sizeof *run_files };
static const char replacing[] = ".replacing", placing[] = ".placing";

/* ---- paths ------------------------------------------------------------------------------------ */

/* "" if the path is too long: then nothing of that name exists. */
static const char *join(char out[CLI_PATH_BYTES], const char *directory, const char *file) {
    if ((size_t)snprintf(out, CLI_PATH_BYTES, "%s/%s", directory, file) >= CLI_PATH_BYTES)
        *out = '\0';
    return out;
}

static bool has(const char *directory, const char *file) {
    char path[CLI_PATH_BYTES];
    return access(join(path, directory, file), F_OK) == 0;
}

static bool is_directory(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Calls `visit` for every entry whose name matches; stops and returns false when it does. */
typedef bool visit_function(const char *directory, const char *name, void *context);
static bool each_entry(const char *directory, const char *pattern, visit_function *visit,
                       void *context) {
    DIR *stream = opendir(directory);
    bool fine = true;
    for (struct dirent *entry; stream && fine && (entry = readdir(stream));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            fnmatch(pattern, entry->d_name, 0) == 0)
            fine = visit(directory, entry->d_name, context);
    if (stream) closedir(stream);
    return fine;
}

/* Makes renames in the directory survive a power cut; a file system that cannot do that is no
 * error. errno is kept, because an earlier error may still have to be reported. */
static void sync_directory(const char *directory) {
    int before = errno, descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        fsync(descriptor);
        close(descriptor);
    }
    errno = before;
}

/* ---- what it holds ---------------------------------------------------------------------------- */

static bool holds_no_run(const char *directory, const char *name, void *context) {
    char seed[CLI_PATH_BYTES];
    (void)context;
    join(seed, directory, name);
    return !has(seed, "checkpoint.safetensors") && !has(seed, "model.safetensors") &&
           !has(seed, "result.json");
}

cli_holds cli_run_holds(const char *directory) {
    bool checkpoint = has(directory, "checkpoint.safetensors");
    bool model = has(directory, "model.safetensors"), result = has(directory, "result.json");
    bool seeds = !each_entry(directory, "seed-*", holds_no_run, NULL);
    if (seeds) return checkpoint || result ? CLI_HOLDS_MIXTURE : CLI_HOLDS_SEEDS;
    if (!checkpoint) return model || result ? CLI_HOLDS_MODEL : CLI_HOLDS_NOTHING;
    return model && result && has(directory, "history.jsonl") ? CLI_HOLDS_FINISHED
                                                              : CLI_HOLDS_INTERRUPTED;
}

void cli_run_file(const char *path, char out[CLI_PATH_BYTES]) {
    static const char *const folders[] = {placing, replacing};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    int before = slash ? (int)(slash - path) + 1 : 0;
    for (int i = 0; i < 2; i++)
        if ((size_t)snprintf(out, CLI_PATH_BYTES, "%.*s%s/%s", before, path, folders[i], name) <
                CLI_PATH_BYTES &&
            access(out, F_OK) == 0)
            return;
    snprintf(out, CLI_PATH_BYTES, "%s", path); /* one that is cut short is not found */
}

const char *cli_model_path(const char *path, char out[CLI_PATH_BYTES]) {
    if (!is_directory(path)) return path;
    return *join(out, path, "model.safetensors") ? out : path;
}

pgcn_status cli_load_model(const char *path, pgcn_model **out) {
    char found[CLI_PATH_BYTES];
    cli_run_file(path, found);
    return pgcn_model_load(found, out);
}

/* ---- lock and leftovers ----------------------------------------------------------------------- */

pgcn_status cli_run_lock(const cli_command *command, const char *directory, const char *doing,
                         int *lock) {
    *lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock < 0 || flock(*lock, LOCK_EX | LOCK_NB) == 0) return PGCN_OK;
    bool busy = errno == EWOULDBLOCK; /* some file systems cannot lock: then nobody is kept out */
    close(*lock);
    *lock = -1;
    if (!busy) return PGCN_OK;
    return cli_fail(
        command, PGCN_ERR_SYSTEM,
        "another pathgcn is %s in '%s' at this moment; wait for it or choose another --out", doing,
        directory);
}

static bool remove_entry(const char *directory, const char *name, void *context) {
    char path[CLI_PATH_BYTES];
    (void)context;
    unlink(join(path, directory, name));
    return true;
}

void cli_run_remove_leftovers(const char *directory) {
    each_entry(directory, ".pathgcn-*.tmp", remove_entry, NULL);
}

static void remove_files(const char *directory) {
    for (int i = 0; i < RUN_FILES; i++) remove_entry(directory, run_files[i], NULL);
    cli_run_remove_leftovers(directory);
}

static bool clear_seed(const char *directory, const char *name, void *context) {
    char seed[CLI_PATH_BYTES], inside[CLI_PATH_BYTES];
    (void)context;
    join(seed, directory, name);
    remove_files(join(inside, seed, CLI_UNFINISHED));
    rmdir(inside);
    remove_files(seed);
    rmdir(seed); /* stays if it holds other files */
    return true;
}

void cli_run_clear(const char *directory) {
    remove_files(directory);
    each_entry(directory, "seed-*", clear_seed, NULL);
    rmdir(directory);
}

/* ---- replacing -------------------------------------------------------------------------------- */

static bool stop_at_first(const char *directory, const char *name, void *context) {
    (void)directory, (void)name, (void)context;
    return false;
}

/* Removes the run that is replaced. Copies of the best seed's files replace files only; complete
 * runs replace complete runs, with their seeds. */
static void remove_old(const char *directory, const char *staged) {
    bool runs =
        has(staged, "checkpoint.safetensors") || !each_entry(staged, "seed-*", stop_at_first, NULL);
    remove_files(directory);
    if (runs) each_entry(directory, "seed-*", clear_seed, NULL);
    sync_directory(directory);
}

/* Where an entry is moved to, and the first path that could not be moved ("": none). */
typedef struct move {
    const char *to;
    char *failed; /* [CLI_PATH_BYTES] */
} move;

/* Moves an entry of `directory` to another one. A folder that exists there already is merged. */
static bool move_entry(const char *directory, const char *name, void *context) {
    char from[CLI_PATH_BYTES], to[CLI_PATH_BYTES];
    join(from, directory, name);
    const move *m = context;
    join(to, m->to, name);
    bool fine = is_directory(from) && is_directory(to)
                    ? each_entry(from, "*", move_entry, &(move){to, m->failed}) && rmdir(from) == 0
                    : rename(from, to) == 0;
    if (!fine && !*m->failed) snprintf(m->failed, CLI_PATH_BYTES, "%s", to);
    return fine;
}

/* Checked before anything is removed: a folder that cannot be listed would look empty. */
static bool can_list(const char *directory) {
    DIR *stream = opendir(directory);
    if (stream) closedir(stream);
    return stream != NULL;
}

static bool settle(const char *directory, char failed[CLI_PATH_BYTES]) {
    char old[CLI_PATH_BYTES], staged[CLI_PATH_BYTES];
    snprintf(failed, CLI_PATH_BYTES, "%s", "");
    join(staged, directory, replacing);
    join(old, directory, placing);
    if (is_directory(staged)) {
        if (!can_list(staged) || !can_list(directory)) return false;
        remove_old(directory, staged);
        if (rename(staged, old) != 0) return false;
        sync_directory(directory);
    }
    if (!is_directory(old)) return true;
    if (!can_list(old)) return false;
    bool fine = each_entry(old, "*", move_entry, &(move){directory, failed});
    sync_directory(directory);
    return fine && rmdir(old) == 0;
}

static pgcn_status fail_to_replace(const cli_command *command, const char *directory,
                                   const char *failed) {
    char folder[CLI_PATH_BYTES];
    int error = errno; /* looking at folders changes it */
    if (!is_directory(join(folder, directory, replacing))) join(folder, directory, placing);
    return cli_fail(
        command, PGCN_ERR_IO,
        "cannot put the new run in its place, '%s': %s; it is complete, in '%s', and the "
        "next pathgcn train in '%s' will try again",
        *failed ? failed : directory, pgcn_system_error(error), folder, directory);
}

pgcn_status cli_run_settle(const cli_command *command, const char *directory) {
    char failed[CLI_PATH_BYTES];
    return settle(directory, failed) ? PGCN_OK : fail_to_replace(command, directory, failed);
}

pgcn_status cli_run_replace(const cli_command *command, const char *directory, const char *staged) {
    char target[CLI_PATH_BYTES];
    sync_directory(staged);
    if (rename(staged, join(target, directory, replacing)) != 0)
        return cli_fail(
            command, PGCN_ERR_IO,
            "cannot rename '%s': %s; the new run stays there, and the one in '%s' is as it was",
            staged, pgcn_system_error(errno), directory);
    sync_directory(directory);
    return cli_run_settle(command, directory);
}
