/* Directories of runs: what they hold, and that a new run takes the place of an old one without
 * their files ever being mixed, whenever the program is killed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/cli.h"
#include "scratch_help.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* ---- killed at the n-th change of a directory ------------------------------------------------------ */

static int rename_error;      /* 0, or the errno of renames out of .placing */
static int changes_left = -1; /* -1: nobody is killed */

static void count_change(void) {
    if (changes_left == 0) _exit(99);
    if (changes_left > 0) changes_left--;
}
/* These stand before those of libc for everything in this program. */
int rename(const char *from, const char *to) {
    count_change();
    if (rename_error && strstr(from, "/.placing/")) {
        errno = rename_error;
        return -1;
    }
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int unlink(const char *path) {
    count_change();
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}
int rmdir(const char *path) {
    count_change();
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}

/* It changes errno, too. */
int fsync(int descriptor) {
    if (rename_error) errno = EIO;
    return rename_error ? -1 : (int)syscall(SYS_fsync, descriptor);
}

static const cli_command command = {.name = "test"};

/* ---- directories ------------------------------------------------------------------------------------- */

static const char *const all_files[] = {"checkpoint.safetensors", "model.safetensors",
                                        "history.jsonl", "result.json", "data.json"};
enum { FILES = 5 };

/* Every file of a run holds the name of the run. */
static void make_run(const char *folder, const char *run, int files) {
    char name[512];
    mkdir(scratch_path(folder), 0777);
    for (int i = 0; i < files; i++) {
        snprintf(name, sizeof name, "%s/%s", folder, all_files[i]);
        scratch_write(name, run, strlen(run));
    }
}

static void make_seeds(const char *folder, const char *run, int seeds) {
    char name[256];
    mkdir(scratch_path(folder), 0777);
    for (int seed = 0; seed < seeds; seed++) {
        snprintf(name, sizeof name, "%s/seed-%d", folder, seed);
        make_run(name, run, FILES);
    }
    for (int i = 0; i < FILES; i++) {
        if (i != 1 && i != 2 && i != 4) continue;
        snprintf(name, sizeof name, "%s/%s", folder, all_files[i]);
        scratch_write(name, run, strlen(run));
    }
}

/* The run whose name a file holds: its first letter; 0 if there is none. */
static char run_in(const char *path) {
    char letter = 0;
    FILE *stream = fopen(path, "r");
    if (stream && fread(&letter, 1, 1, stream) != 1) letter = '?';
    if (stream) fclose(stream);
    return letter;
}

/* Counts the files of run directory `folder` and its seeds, by run. */
static void count_runs(const char *folder, int *old, int *new) {
    *old = *new = 0;
    for (int seed = -1; seed < 4; seed++)
        for (int i = 0; i < FILES; i++) {
            char name[256];
            if (seed < 0)
                snprintf(name, sizeof name, "%s/%s", folder, all_files[i]);
            else
                snprintf(name, sizeof name, "%s/seed-%d/%s", folder, seed, all_files[i]);
            char run = run_in(scratch_path(name));
            *old += run == 'o';
            *new += run == 'n';
        }
}

static void test_holds_tells_what_could_be_lost(void **state) {
    (void)state;
    make_run("empty", "o", 0);
    assert_int_equal(cli_run_holds(scratch_path("absent")), CLI_HOLDS_NOTHING);
    assert_int_equal(cli_run_holds(scratch_path("empty")), CLI_HOLDS_NOTHING);
    scratch_write("empty/history.jsonl", "x", 1); /* killed before its first checkpoint */
    scratch_write("empty/data.json", "x", 1);
    assert_int_equal(cli_run_holds(scratch_path("empty")), CLI_HOLDS_NOTHING);
    make_run("begun", "o", 1);
    assert_int_equal(cli_run_holds(scratch_path("begun")), CLI_HOLDS_INTERRUPTED);
    make_run("stopped", "o", 3);
    assert_int_equal(cli_run_holds(scratch_path("stopped")), CLI_HOLDS_INTERRUPTED);
    make_run("done", "o", 4);
    assert_int_equal(cli_run_holds(scratch_path("done")), CLI_HOLDS_FINISHED);
    unlink(scratch_path("done/checkpoint.safetensors"));
    assert_int_equal(cli_run_holds(scratch_path("done")), CLI_HOLDS_MODEL);
    make_seeds("seeds", "o", 2);
    assert_int_equal(cli_run_holds(scratch_path("seeds")), CLI_HOLDS_SEEDS);
    scratch_write("seeds/checkpoint.safetensors", "x", 1);
    assert_int_equal(cli_run_holds(scratch_path("seeds")), CLI_HOLDS_MIXTURE);
    mkdir(scratch_path("empty/seed-mine"), 0777); /* somebody's folder, without a run */
    assert_int_equal(cli_run_holds(scratch_path("empty")), CLI_HOLDS_NOTHING);
}

/* ---- replacing ----------------------------------------------------------------------------------------- */

typedef struct replacement {
    int old_seeds, new_seeds; /* 0: a run of one seed */
    bool copies_only;         /* the best of seeds that stay, chosen anew */
} replacement;

static void make_both(const replacement *which) {
    if (which->old_seeds > 0)
        make_seeds("run", "old", which->old_seeds);
    else
        make_run("run", "old", FILES);
    scratch_write("run/notes.txt", "mine", 4);
    if (which->new_seeds > 0)
        make_seeds("run/staged", "new", which->new_seeds);
    else
        make_run("run/staged", "new", FILES);
    if (!which->copies_only) return;
    unlink(scratch_path("run/staged/checkpoint.safetensors"));
    unlink(scratch_path("run/staged/result.json"));
}

static void assert_never_mixed(const replacement *which, int kills) {
    char path[CLI_PATH_BYTES];
    int old, new;
    count_runs("run", &old, &new);
    int kept = which->copies_only ? FILES * which->old_seeds : 0;
    if (old > kept && new > 0)
        fail_msg("%d old files beside %d new ones after %d changes", old, new, kills);
    assert_int_equal(run_in(scratch_path("run/notes.txt")), 'm');
    /* a reader finds a model, and the data.json of the same run */
    cli_run_file(scratch_path("run/model.safetensors"), path);
    char model = run_in(path);
    cli_run_file(scratch_path("run/data.json"), path);
    assert_true(model == 'o' || model == 'n');
    assert_int_equal(run_in(path), model);
}

static void assert_replaced(const replacement *which) {
    int old, new, kept = which->copies_only ? FILES * which->old_seeds : 0;
    count_runs("run", &old, &new);
    assert_int_equal(old, kept);
    assert_int_equal(new, which->copies_only     ? 3
                          : which->new_seeds > 0 ? 3 + FILES * which->new_seeds
                                                 : FILES);
    for (int i = 0; i < 3; i++) {
        static const char *const gone[] = {"run/.replacing", "run/.placing", "run/staged"};
        assert_int_not_equal(access(scratch_path(gone[i]), F_OK), 0);
    }
}

static void test_replace_killed_anywhere_never_mixes_two_runs(void **state) {
    (void)state;
    static const replacement cases[] = {
        {0, 0, false}, {0, 2, false}, {3, 0, false}, {3, 2, false}, {2, 0, true}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int kills = 0;; kills++) {
            make_both(&cases[c]);
            pid_t child = fork();
            if (child == 0) {
                changes_left = kills;
                pgcn_status status =
                    cli_run_replace(&command, scratch_path("run"), scratch_path("run/staged"));
                _exit(status == PGCN_OK ? 0 : 1);
            }
            int status;
            assert_int_equal(waitpid(child, &status, 0), child);
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 1);
            assert_never_mixed(&cases[c], kills);
            bool committed = access(scratch_path("run/staged"), F_OK) != 0;
            assert_int_equal(committed, kills > 0);
            assert_int_equal(cli_run_settle(&command, scratch_path("run")), PGCN_OK);
            assert_never_mixed(&cases[c], kills);
            if (committed) assert_replaced(&cases[c]);
            remove_tree(scratch_path("run"));
            if (WEXITSTATUS(status) == 99) continue;
            assert_true(kills > 8); /* there were moments to be killed at */
            break;
        }
}

/* The second try is killed too. */
static void test_settle_killed_anywhere_is_taken_up_again(void **state) {
    (void)state;
    const replacement which = {2, 2, false};
    make_both(&which);
    for (int round = 0; round < 200; round++) {
        pid_t child = fork();
        if (child == 0) {
            changes_left = 2 + round; /* files that are gone are removed again */
            pgcn_status result = round == 0 ? cli_run_replace(&command, scratch_path("run"),
                                                              scratch_path("run/staged"))
                                            : cli_run_settle(&command, scratch_path("run"));
            _exit(result == PGCN_OK ? 0 : 1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_never_mixed(&which, round);
        if (WEXITSTATUS(status) == 99) continue;
        assert_int_equal(WEXITSTATUS(status), 0);
        assert_true(round > 5);
        assert_replaced(&which);
        return;
    }
    fail_msg("never finished");
}

/* What others have put into the folder of a seed stays, and the run comes beside it. */
static void test_replace_leaves_the_files_of_others(void **state) {
    (void)state;
    make_seeds("run", "old", 2);
    make_seeds("run/staged", "new", 2);
    scratch_write("run/seed-1/plot.png", "mine", 4);
    assert_int_equal(cli_run_replace(&command, scratch_path("run"), scratch_path("run/staged")),
                     PGCN_OK);
    assert_replaced(&(replacement){2, 2, false});
    assert_int_equal(run_in(scratch_path("run/seed-1/plot.png")), 'm');
}

static void test_clear_removes_runs_and_nothing_else(void **state) {
    (void)state;
    make_seeds("run", "old", 2);
    make_run("run/seed-0/unfinished", "old", FILES);
    cli_run_clear(scratch_path("run"));
    assert_int_equal(scratch_count(), 0);
    make_run("run", "old", FILES);
    scratch_write("run/notes.txt", "mine", 4);
    cli_run_clear(scratch_path("run"));
    assert_int_equal(run_in(scratch_path("run/notes.txt")), 'm');
    assert_int_equal(cli_run_holds(scratch_path("run")), CLI_HOLDS_NOTHING);
}

static void test_lock_keeps_a_second_one_out(void **state) {
    (void)state;
    int first, second;
    assert_int_equal(cli_run_lock(&command, scratch, "training", &first), PGCN_OK);
    assert_true(first >= 0);
    assert_int_equal(cli_run_lock(&command, scratch, "training", &second), PGCN_ERR_SYSTEM);
    assert_int_equal(second, -1);
    close(first);
    assert_int_equal(cli_run_lock(&command, scratch, "training", &second), PGCN_OK);
    close(second);
}

static void test_replace_that_fails_tells_why(void **state) {
    (void)state;
    make_run("run", "old", FILES);
    make_run("run/staged", "new", FILES);
    int standard_error = dup(STDERR_FILENO);
    assert_non_null(freopen(scratch_path("said"), "w", stderr));
    rename_error = EACCES;
    pgcn_status status = cli_run_replace(&command, scratch_path("run"), scratch_path("run/staged"));
    rename_error = 0;
    fflush(stderr);
    dup2(standard_error, STDERR_FILENO);
    close(standard_error);
    assert_int_equal(status, PGCN_ERR_IO);
    char said[2000] = "";
    FILE *stream = fopen(scratch_path("said"), "r");
    assert_non_null(fgets(said, sizeof said, stream));
    fclose(stream);
    if (!strstr(said, strerror(EACCES))) fail_msg("%s", said);
    assert_int_equal(cli_run_settle(&command, scratch_path("run")), PGCN_OK);
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(test_holds_tells_what_could_be_lost),
        IN_SCRATCH(test_replace_killed_anywhere_never_mixes_two_runs),
        IN_SCRATCH(test_settle_killed_anywhere_is_taken_up_again),
        IN_SCRATCH(test_replace_leaves_the_files_of_others),
        IN_SCRATCH(test_replace_that_fails_tells_why),
        IN_SCRATCH(test_clear_removes_runs_and_nothing_else),
        IN_SCRATCH(test_lock_keeps_a_second_one_out),
    };
    return cmocka_run_group_tests_name("run_directory", tests, NULL, NULL);
}
