/* For the tests of commands on disks that fail, as SQLite tests them: the n-th open, read, write,
 * fsync, rename or mmap of a command fails, once and from then on, for n = 1, 2, ... until the command
 * gets through. After each every file is the old one or the new one, the error names the file, no file
 * or memory is left open, and the same command without the fault ends as if nothing had been.
 *
 * Include after cmocka.h, in a file that starts with #define _GNU_SOURCE. */
#ifndef PGCN_TEST_FAULTS_HELP_H
#define PGCN_TEST_FAULTS_HELP_H

#include "scratch_help.h"

#include "disk_help.h"

#include "cli/cli.h"

#include <fnmatch.h>
#include <jansson.h>

const char *cli_program = "pathgcn"; /* of main.c */
const cli_command *const cli_commands[] = {NULL};

static char root[DISK_PATH], before[DISK_PATH], after[DISK_PATH], errors[DISK_PATH];
static char said[8192]; /* standard error of the last command */

typedef struct scenario {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *arguments; /* by blanks; @ is the watched folder */
    const char *again;     /* added when the command is repeated after a failure */
    int least;             /* faults that there must be */
} scenario;

/* ---- one command in a process of its own -------------------------------------------------------- */

static atomic_long live_blocks;
static void *counted_alloc(size_t bytes, size_t align, void *context) {
    (void)context;
    atomic_fetch_add(&live_blocks, 1);
    return aligned_alloc(align, bytes);
}
static void counted_free(void *block, void *context) {
    (void)context;
    atomic_fetch_sub(&live_blocks, 1);
    free(block);
}

static int split_arguments(char *text, char **argv) {
    int count = 0;
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) argv[count++] = word;
    argv[count] = NULL;
    return count;
}

static void expand(char *out, size_t room, const char *text, const char *more) {
    size_t used = 0;
    for (const char *part = text; part; part = part == text ? more : NULL) {
        if (part == more) out[used++] = ' ';
        for (const char *c = part; *c; c++)
            used += (size_t)snprintf(out + used, room - used, *c == '@' ? "%s" : "%.1s",
                                     *c == '@' ? root : c);
    }
    out[used] = '\0';
}

static void be_the_command(const scenario *s, const char *more) {
    static const pgcn_allocator counted = {counted_alloc, counted_free, NULL};
    char text[4096], *argv[64];
    expand(text, sizeof text, s->arguments, more);
    int argc = split_arguments(text, argv);
    if (!freopen(errors, "w", stderr) || !freopen("/dev/null", "w", stdout)) _exit(98);
    pgcn_set_allocator(&counted);
    disk->on = true;
    int code = s->run(argc, argv);
    fflush(NULL);
    disk->on = false;
    for (int i = 0; i < DISK_FILES; i++)
        if (disk_file[i].open) {
            disk->leaked_files++;
            snprintf(disk->leaked_path, DISK_PATH, "%s", disk_file[i].path);
        }
    disk->leaked_blocks = atomic_load(&live_blocks);
    exit(code); /* with the leak check of a sanitizer */
}

static int run(const scenario *s, const char *more) {
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) be_the_command(s, more);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0) assert_int_equal(errno, EINTR);
    FILE *stream = fopen(errors, "r");
    said[stream ? fread(said, 1, sizeof said - 1, stream) : 0] = '\0';
    if (stream) fclose(stream);
    if (!WIFEXITED(status)) fail_msg("%s: ended by signal %d: %s", s->name, WTERMSIG(status), said);
    return WEXITSTATUS(status);
}

/* ---- what a command leaves ------------------------------------------------------------------------ */

/* Files with the same bytes every time; others hold times. */
static bool is_fixed(const char *file) {
    static const char *const patterns[] = {"*.safetensors", "*.pgcn", "*.npz",          "*.recipe",
                                           "*.md",          "*.txt",  "predictions.csv"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (fnmatch(patterns[i], file, 0) == 0) return true;
    return false;
}

/* A run that replaces another is in a folder of its own until it is finished, and while it moves up
 * (cli/run_directory.c): the name that a file of it has in the end. */
static const char *const on_the_way[] = {"unfinished/", ".replacing/", ".placing/"};
static void name_in_the_end(char out[DISK_PATH], const char *file) {
    snprintf(out, DISK_PATH, "%s", file);
    for (size_t i = 0; i < sizeof on_the_way / sizeof *on_the_way; i++) {
        char *folder = strstr(out, on_the_way[i]);
        size_t length = strlen(on_the_way[i]);
        if (folder) memmove(folder, folder + length, strlen(folder + length) + 1);
    }
}

/* Whether the file, or the one that is to replace it, is there. */
static bool is_kept(const char *file) {
    char path[DISK_PATH];
    const char *name = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    assert_true(snprintf(path, sizeof path, "%s/%s", root, file) < DISK_PATH);
    bool kept = pgcn_i_file_exists(path);
    for (size_t i = 0; i < sizeof on_the_way / sizeof *on_the_way && !kept; i++) {
        assert_true(snprintf(path, sizeof path, "%s/%.*s%s%s", root, (int)(name - file), file,
                             on_the_way[i], name) < DISK_PATH);
        kept = pgcn_i_file_exists(path);
    }
    return kept;
}

static bool same_file(const char *top, const char *other, const char *file) {
    char path[2][DISK_PATH], end[DISK_PATH];
    name_in_the_end(end, file);
    char *data[2];
    int64_t bytes[2];
    pgcn_i_arena arena = {0};
    bool same = true;
    for (int i = 0; i < 2 && same; i++) {
        assert_true(snprintf(path[i], DISK_PATH, "%s/%s", i ? other : top, i ? end : file) <
                    DISK_PATH);
        same = pgcn_i_file_exists(path[i]) &&
               pgcn_i_file_read(path[i], 1 << 28, &arena, &data[i], &bytes[i]) == PGCN_OK;
    }
    same = same && bytes[0] == bytes[1] && memcmp(data[0], data[1], (size_t)bytes[0]) == 0;
    pgcn_i_arena_free(&arena);
    return same;
}

static void check_lines(const char *path) {
    FILE *stream = fopen(path, "r");
    char line[4096];
    while (stream && fgets(line, sizeof line, stream)) {
        json_t *value = strchr(line, '\n') ? json_loads(line, 0, NULL) : json_object();
        if (!value) fail_msg("%s holds the line %s", path, line);
        json_decref(value);
    }
    if (stream) fclose(stream);
}

/* Tables and recipes are made of the jobs that are done; they are the same when all are. What is
 * being downloaded has its name when it is complete. */
static bool is_progress(const char *file) {
    return fnmatch("*.md", file, 0) == 0 || fnmatch("*.recipe", file, 0) == 0 ||
           strncmp(file, "sets/.toy.part/", 15) == 0;
}

/* Old or new, and complete. A checkpoint may be of an epoch on the way. */
static void check_file(const char *top, const char *file, void *context) {
    const char *what = context;
    char path[DISK_PATH];
    snprintf(path, sizeof path, "%s/%s", top, file);
    if (fnmatch("*.tmp", file, 0) == 0) fail_msg("%s: %s is left", what, file);
    if (strstr(file, "checkpoint.safetensors")) {
        pgcn_i_safetensors *tensors;
        if (pgcn_i_safetensors_read(path, &tensors) != PGCN_OK)
            fail_msg("%s: %s", what, pgcn_last_error());
        pgcn_i_safetensors_free(tensors);
    } else if (is_fixed(file) && !is_progress(file)) {
        if (!same_file(top, before, file) && !same_file(top, after, file))
            fail_msg("%s: %s is neither the old file nor the new one (%s)", what, file, said);
    } else if (fnmatch("*.json", file, 0) == 0) {
        json_t *value = json_load_file(path, 0, NULL);
        if (!value) fail_msg("%s: %s is damaged", what, file);
        json_decref(value);
    } else if (fnmatch("*.jsonl", file, 0) == 0) {
        check_lines(path);
    }
}

/* A run that starts anew has no checkpoint until it has a better one: the old one would go on with
 * another run. */
static void check_kept(const char *top, const char *file, void *context) {
    (void)top;
    if (is_fixed(file) && !strstr(file, "checkpoint") && !is_kept(file))
        fail_msg("%s: the old %s is lost", (const char *)context, file);
}

static void check_new(const char *top, const char *file, void *context) {
    if (is_fixed(file) && !same_file(top, root, file))
        fail_msg("%s: %s is not as it should be in the end", (const char *)context, file);
}

/* A temporary file has a name that nobody knows: its directory is named, with the file it is for. A
 * folder on the way may have got another name meanwhile: the run's is named. */
static bool is_named(const char *victim) {
    char path[DISK_PATH], end[DISK_PATH];
    size_t length = strlen(victim);
    assert_true(snprintf(path, sizeof path, "%s%s", victim,
                         length > 0 && victim[length - 1] == '/' ? "" : "/") < DISK_PATH);
    name_in_the_end(end, path);
    if (*end) end[strlen(end) - 1] = '\0'; /* the slash */
    path[strlen(path) - 1] = '\0';
    char *slash = strrchr(path, '/');
    if (strstr(said, path) || strstr(said, end)) return true;
    if (!slash || strncmp(slash + 1, ".pathgcn-", 9) != 0) return false;
    *slash = '\0';
    return strstr(said, path) != NULL;
}

/* ---- the loop ---------------------------------------------------------------------------------------- */

static void check_fault(const scenario *s, int code, const char *what) {
    char leaked[DISK_PATH];
    snprintf(leaked, sizeof leaked, "%s", disk->leaked_path);
    if (disk->leaked_files > 0) fail_msg("%s: %s is still open (%s)", what, leaked, said);
    if (disk->leaked_blocks > 0)
        fail_msg("%s: %ld blocks of memory are left (%s)", what, disk->leaked_blocks, said);
    if (code < EXIT_DONE || code > EXIT_USAGE) fail_msg("%s: exit code %d: %s", what, code, said);
    if (code != EXIT_DONE && !is_named(disk->victim) && !is_named(disk->last_victim))
        fail_msg("%s: %s is not named: %s", what, disk->victim, said);
    visit_tree(root, "", check_file, (void *)(uintptr_t)what);
    visit_tree(before, "", check_kept, (void *)(uintptr_t)what);
    /* a search goes on without a job that failed, and says so */
    bool failed = code != EXIT_DONE || strstr(said, "a job failed");
    if (failed && disk->lasting) return; /* the same command again takes half of the time of all */
    if (failed) {
        disk_reset(root);
        if (run(s, s->again) != EXIT_DONE) fail_msg("%s: and not again: %s", what, said);
    }
    visit_tree(after, "", check_new, (void *)(uintptr_t)what);
}

/* `before` is what the folder holds now. */
__attribute__((unused)) static void fail_every_call(const scenario *s) {
    int faults[DISK_KINDS] = {0}, all = 0;
    int stride =
        getenv("PATHGCN_EMULATED") ? 23 : 1; /* an emulator takes an hour for all of them */
    copy_tree(root, before);
    disk_reset(root);
    if (run(s, NULL) != EXIT_DONE) fail_msg("%s: %s", s->name, said);
    copy_tree(root, after);
    for (int kind = 0; kind < DISK_KINDS; kind++)
        for (int number = 1, fired = 1; fired; number += stride)
            for (int lasting = 0; lasting < 2 && fired; lasting++) {
                char what[200];
                copy_tree(before, root);
                disk_reset(root);
                disk->kind = (disk_kind)kind;
                disk->number = number;
                disk->lasting = lasting == 1;
                int code = run(s, NULL);
                fired = atomic_load(&disk->fired);
                snprintf(what, sizeof what, "%s: %s number %d fails%s for %.80s", s->name,
                         disk_kind_name[kind], number, lasting ? " for good" : "", disk->victim);
                check_fault(s, code, what);
                faults[kind] += fired > 0;
            }
    printf("%s:", s->name);
    for (int kind = 0; kind < DISK_KINDS; kind++) {
        printf(" %s %d,", disk_kind_name[kind], faults[kind]);
        all += faults[kind];
    }
    printf(" in all %d faults\n", all);
    assert_true(all >= s->least / stride);
}

/* ---- a folder to work in ---------------------------------------------------------------------- */

static int begin(void **state) {
    if (scratch_make(state) != 0) return -1;
    snprintf(root, sizeof root, "%s/disk", scratch);
    snprintf(before, sizeof before, "%s/before", scratch);
    snprintf(after, sizeof after, "%s/after", scratch);
    snprintf(errors, sizeof errors, "%s/errors", scratch);
    pgcn_dataset *data;
    if (mkdir(root, 0777) != 0 || pgcn_dataset_load("karate", NULL, &data) != PGCN_OK) return -1;
    pgcn_status status = pgcn_dataset_save(data, scratch_path("disk/data.pgcn"));
    pgcn_dataset_free(data);
    return status == PGCN_OK ? 0 : -1;
}

static void do_first(int (*command)(int, char **), const char *arguments) {
    const scenario first = {"before", command, arguments, NULL, 0};
    disk_reset(root);
    if (run(&first, NULL) != EXIT_DONE) fail_msg("%s", said);
}

#define TEST_ON_DISK(name) cmocka_unit_test_setup_teardown(name, begin, scratch_remove)

static int run_on_disk(int (*tests)(void)) {
    unsetenv("PATHGCN_DATA");
    disk_make();
    return tests();
}

#endif
