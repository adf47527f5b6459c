/* What a power cut leaves. Every change that a command makes to its files is recorded and then
 * replayed, cut after each one. Of the data of a file only what was fsynced is there afterwards. Of
 * the names either all changes are there, or those before the last fsync of a folder: a file system
 * with a journal keeps their order. The third state is that of a kill, with everything. In each
 * of them what is found is the old file or the new one, and the run goes on to the same end. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "faults_help.h"

/* ---- the disk in memory ------------------------------------------------------------------------- */

enum { MOST_NODES = 512, MOST_NAMES = 128 };
typedef struct content {
    char *data;
    int64_t bytes;
} content;
typedef struct inode {
    bool folder;
    content now, safe; /* what was written; what a power cut leaves of it */
} inode;
typedef struct name_list {
    int count;
    struct {
        char path[DISK_PATH];
        int inode;
    } name[MOST_NAMES];
} name_list;

static inode node[MOST_NODES];
static int nodes, opened[MOST_NODES]; /* inode of a handle */
static name_list names, safe_names;

static int find_name(const name_list *list, const char *path) {
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->name[i].path, path) == 0) return i;
    return -1;
}

static void set_name(const char *path, int which) {
    int at = find_name(&names, path);
    if (at < 0) at = names.count++;
    assert_true(at < MOST_NAMES);
    snprintf(names.name[at].path, DISK_PATH, "%s", path);
    names.name[at].inode = which;
}

static void drop_name(const char *path) {
    int at = find_name(&names, path);
    if (at >= 0) names.name[at] = names.name[--names.count];
}

static int new_inode(bool folder) {
    assert_true(nodes < MOST_NODES);
    node[nodes] = (inode){.folder = folder};
    return nodes++;
}

static void put(content *to, int64_t offset, const char *data, int64_t bytes) {
    if (offset + bytes > to->bytes) {
        to->data = realloc(to->data, (size_t)(offset + bytes));
        assert_non_null(to->data);
        if (offset > to->bytes) memset(to->data + to->bytes, 0, (size_t)(offset - to->bytes));
        to->bytes = offset + bytes;
    }
    if (bytes > 0) memcpy(to->data + offset, data, (size_t)bytes);
}

static void cut_to(content *to, int64_t bytes) {
    if (bytes < to->bytes) to->bytes = bytes;
}

static void sync_inode(inode *file) {
    file->safe.bytes = 0;
    put(&file->safe, 0, file->now.data, file->now.bytes);
}

/* A folder of before is safe. */
static void add_old(const char *top, const char *file, void *context) {
    char path[DISK_PATH], *data;
    int64_t bytes;
    pgcn_i_arena arena = {0};
    (void)context;
    snprintf(path, sizeof path, "%s/%s", top, file);
    assert_int_equal(pgcn_i_file_read(path, 1 << 28, &arena, &data, &bytes), PGCN_OK);
    int which = new_inode(false);
    put(&node[which].now, 0, data, bytes);
    sync_inode(&node[which]);
    assert_true(snprintf(path, sizeof path, "%s/%s", root, file) < DISK_PATH);
    set_name(path, which);
    pgcn_i_arena_free(&arena);
}

static void begin_replay(void) {
    for (int i = 0; i < nodes; i++) free(node[i].now.data), free(node[i].safe.data);
    nodes = names.count = 0;
    visit_tree(before, "", add_old, NULL);
    safe_names = names;
}

static void replay_rename(const disk_entry *entry) {
    size_t length = strlen(entry->path);
    int at = find_name(&names, entry->path);
    if (at >= 0) {
        set_name(entry->to, names.name[at].inode);
        drop_name(entry->path);
    }
    for (int i = 0; i < names.count; i++) { /* a folder, with what is in it */
        char rest[DISK_PATH];
        if (strncmp(names.name[i].path, entry->path, length) != 0 ||
            names.name[i].path[length] != '/')
            continue;
        snprintf(rest, sizeof rest, "%s", names.name[i].path + length);
        assert_true(snprintf(names.name[i].path, DISK_PATH, "%s%s", entry->to, rest) < DISK_PATH);
    }
}

static void replay(const disk_entry *entry) {
    const char *data = (const char *)(entry + 1);
    inode *file = entry->handle < MOST_NODES ? &node[opened[entry->handle]] : NULL;
    int at = find_name(&names, entry->path);
    switch (entry->change) {
    case CHANGE_OPEN:
        if (entry->length == 1) set_name(entry->path, new_inode(false));
        at = find_name(&names, entry->path);
        assert_true(entry->handle < MOST_NODES);
        opened[entry->handle] = at >= 0 ? names.name[at].inode : new_inode(true);
        file = &node[opened[entry->handle]];
        if (entry->length == 2) cut_to(&file->now, 0), cut_to(&file->safe, 0);
        break;
    case CHANGE_WRITE: put(&file->now, entry->offset, data, entry->data_bytes); break;
    case CHANGE_TRUNCATE:
        cut_to(&file->now, entry->offset), cut_to(&file->safe, entry->offset);
        break;
    case CHANGE_SYNC:
        if (file->folder)
            safe_names = names;
        else
            sync_inode(file);
        break;
    case CHANGE_RENAME: replay_rename(entry); break;
    case CHANGE_UNLINK: drop_name(entry->path); break;
    case CHANGE_MKDIR: set_name(entry->path, new_inode(true)); break;
    }
}

/* Makes the folder what the disk holds after the cut. */
static void come_back(const name_list *list, bool safe) {
    remove_tree(root);
    mkdir(root, 0777);
    for (int folders = 1; folders >= 0; folders--)
        for (int i = 0; i < list->count; i++) {
            const inode *file = &node[list->name[i].inode];
            char path[DISK_PATH];
            if (file->folder != (folders == 1)) continue;
            snprintf(path, sizeof path, "%s", list->name[i].path);
            for (char *slash = strchr(path + strlen(root) + 1, '/'); slash;
                 slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                mkdir(path, 0777);
                *slash = '/';
            }
            if (file->folder) {
                mkdir(path, 0777);
                continue;
            }
            const content *holds = safe ? &file->safe : &file->now;
            FILE *stream = fopen(path, "wb");
            assert_non_null(stream);
            if (holds->bytes > 0) fwrite(holds->data, 1, (size_t)holds->bytes, stream);
            fclose(stream);
        }
}

/* ---- the loop ------------------------------------------------------------------------------------- */

/* What a cut leaves of the temporary file of a write is removed when the directory is used again; a
 * history that was not fsynced is written again from the checkpoint. */
static void check_after_cut(const char *top, const char *file, void *context) {
    if (fnmatch("*.tmp", file, 0) != 0 && fnmatch("*.jsonl", file, 0) != 0)
        check_file(top, file, context);
}

static void check_cut(const scenario *s, const char *what) {
    visit_tree(root, "", check_after_cut, (void *)(uintptr_t)what);
    visit_tree(before, "", check_kept, (void *)(uintptr_t)what);
    disk_reset(root);
    if (run(s, s->again) != EXIT_DONE) fail_msg("%s: %s", what, said);
    visit_tree(after, "", check_new, (void *)(uintptr_t)what);
}

/* Cuts the power after every change of a command, and looks in three ways. */
static void cut_everywhere(const scenario *s) {
    copy_tree(root, before);
    disk_reset(root);
    disk->recording = true;
    if (run(s, NULL) != EXIT_DONE) fail_msg("%s: %s", s->name, said);
    int64_t bytes = disk->log_bytes;
    copy_tree(root, after);
    begin_replay();
    int cuts = 0;
    for (int64_t at = 0; at < bytes; cuts++) {
        disk_entry *entry = (disk_entry *)(void *)(disk->log + at);
        at += ((int64_t)sizeof *entry + entry->data_bytes + 7) / 8 * 8;
        replay(entry);
        if (entry->change == CHANGE_WRITE && at < bytes) continue; /* nothing of it is safe */
        static const char *const state[3] = {"names are safe", "names are not", "killed"};
        for (int way = 0; way < 3; way++) {
            char what[600];
            snprintf(what, sizeof what, "%s: cut after change %d (%d of %.80s), %s", s->name, cuts,
                     (int)entry->change, entry->path, state[way]);
            come_back(way == 1 ? &safe_names : &names, way < 2);
            check_cut(s, what);
        }
    }
    /* What the command has reported as done is done. */
    come_back(&safe_names, true);
    visit_tree(after, "", check_new, (void *)(uintptr_t) "after the end");
    printf("%s: power cut after %d changes\n", s->name, cuts);
    assert_true(cuts >= s->least);
}

/* ---- commands ---------------------------------------------------------------------------------------- */

static int write_file(int argc, char **argv) {
    (void)argc;
    if (pgcn_file_write(argv[0], "the new content", 15) == PGCN_OK) return EXIT_DONE;
    fprintf(stderr, "%s\n", pgcn_last_error());
    return EXIT_FAILED;
}

static void test_power_cut_leaves_the_old_file_or_the_new_one(void **state) {
    (void)state;
    scratch_write("disk/a.txt", "old", 3);
    cut_everywhere(&(scenario){"a file", write_file, "@/a.txt", NULL, 6});
}

static int run_train(int argc, char **argv) {
    return cli_train.run(argc, argv);
}
static int run_convert(int argc, char **argv) {
    return cli_data_convert.run(argc, argv);
}

#define RUN                                                                                        \
    "@/data.pgcn --out @/run --patience 0 --layers 1 --channels 4 --threads 1 --quiet "            \
    "--checkpoint-every 2"

static void test_power_cut_of_a_run_can_be_resumed(void **state) {
    (void)state;
    cut_everywhere(&(scenario){"train", run_train, RUN " --epochs 4", "--resume", 30});
}

static void test_power_cut_of_a_resumed_run_can_be_resumed(void **state) {
    (void)state;
    do_first(run_train, RUN " --epochs 2");
    remove(scratch_path("disk/run/result.json"));
    cut_everywhere(&(scenario){"train --resume", run_train, RUN " --epochs 4 --resume", NULL, 30});
}

static void test_power_cut_of_a_conversion(void **state) {
    (void)state;
    do_first(run_convert, "karate:self-loops --out @/new.pgcn");
    cut_everywhere(
        &(scenario){"data convert", run_convert, "@/data.pgcn --out @/new.pgcn", NULL, 6});
}

static int all_tests(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_DISK(test_power_cut_leaves_the_old_file_or_the_new_one),
        TEST_ON_DISK(test_power_cut_of_a_run_can_be_resumed),
        TEST_ON_DISK(test_power_cut_of_a_resumed_run_can_be_resumed),
        TEST_ON_DISK(test_power_cut_of_a_conversion),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < nodes; i++) free(node[i].now.data), free(node[i].safe.data);
    return failed;
}

int main(void) {
    return run_on_disk(all_tests);
}
