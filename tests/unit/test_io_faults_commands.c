/* The other commands on a disk that fails: convert, predict, tune, reproduce, fetch. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "zip_help.h"

#include "faults_help.h"

#include "data/registry.h"

static int run_train(int argc, char **argv) {
    return cli_exit_code(cli_train.run(argc, argv));
}

static int run_convert(int argc, char **argv) {
    return cli_exit_code(cli_data_convert.run(argc, argv));
}
static int run_predict(int argc, char **argv) {
    return cli_exit_code(cli_predict.run(argc, argv));
}
static int run_tune(int argc, char **argv) {
    return cli_exit_code(cli_tune.run(argc, argv));
}
static int run_reproduce(int argc, char **argv) {
    return cli_exit_code(cli_reproduce.run(argc, argv));
}

static void test_faults_while_converting(void **state) {
    (void)state;
    do_first(run_convert, "karate:self-loops --out @/new.pgcn");
    do_first(run_convert, "karate:self-loops --out @/new.npz");
    fail_every_call(
        &(scenario){"data convert to .npz", run_convert, "@/data.pgcn --out @/new.npz", NULL, 14});
    fail_every_call(
        &(scenario){"data convert to .pgcn", run_convert, "@/new.npz --out @/new.pgcn", NULL, 14});
}

static void write_split(const char *file, int first) {
    uint8_t part[3][4] = {{0}};
    for (int i = 0; i < 4; i++) part[i < 3 ? (i + first) % 3 : first][i] = 1;
    static const char *const names[3] = {"train_mask", "val_mask", "test_mask"};
    pgcn_i_tensor masks[3];
    for (int k = 0; k < 3; k++)
        masks[k] = (pgcn_i_tensor){
            .name = names[k],
            .array = {.dtype = PGCN_I_U8, .rank = 1, .shape = {4}, .data = part[k]}};
    assert_int_equal(pgcn_i_npz_write(scratch_path(file), masks, 3), PGCN_OK);
}

/* Splits are files of a folder: those that cannot be listed are not simply fewer. */
static void test_faults_while_a_folder_is_read(void **state) {
    (void)state;
    static const char nodes[] =
        "node_id\tfeature\tlabel\n0\t1,0\t0\n1\t0,1\t1\n2\t1,0\t0\n3\t0,1\t1\n";
    static const char edges[] = "node_id\tnode_id\n0\t1\n1\t2\n2\t3\n";
    assert_int_equal(mkdir(scratch_path("disk/toy"), 0777), 0);
    assert_int_equal(mkdir(scratch_path("disk/toy/splits"), 0777), 0);
    scratch_write("disk/toy/out1_node_feature_label.txt", nodes, sizeof nodes - 1);
    scratch_write("disk/toy/out1_graph_edges.txt", edges, sizeof edges - 1);
    write_split("disk/toy/splits/toy_split_0.6_0.2_0.npz", 0);
    write_split("disk/toy/splits/toy_split_0.6_0.2_1.npz", 1);
    fail_every_call(
        &(scenario){"data convert of a folder", run_convert, "@/toy --out @/toy.pgcn", NULL, 60});
}

static void test_faults_while_predicting(void **state) {
    (void)state;
    do_first(run_train,
             "@/data.pgcn --out @/run --epochs 1 --layers 1 --channels 4 --threads 1 --quiet");
    fail_every_call(&(scenario){"predict", run_predict,
                                "@/run/model.safetensors --out @/predictions.csv", NULL, 14});
}

static void test_faults_while_tuning(void **state) {
    (void)state;
    scratch_write("disk/a.space", "dropout = 0.2 | 0.5\n", 20);
    fail_every_call(&(scenario){
        "tune", run_tune,
        "@/data.pgcn --space @/a.space --candidates 2 --runs 1 --epochs 1 --patience 0 --layers 1 --channels 4 "
        "--jobs 1 --quiet --out @/tune",
        NULL, 60});
}

static void test_faults_while_reproducing(void **state) {
    (void)state;
    fail_every_call(
        &(scenario){"reproduce", run_reproduce,
                    "semi --datasets karate --layers 1 --seeds 2 --epochs 1 --patience 0 "
                    "--jobs 1 --quiet --out @/semi",
                    NULL, 40});
}

/* Files one by one and an archive, as published sets have them. They come from a folder that is not
 * watched: libcurl reads it, and takes an error for the end of the file. */
static int run_fetch(int argc, char **argv) {
    (void)argc;
    static char home[DISK_PATH + 20], archive[DISK_PATH + 30];
    static const pgcn_i_remote_file files[] = {
        {"ten.txt", 10, "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882"},
        {"more/one.txt", 4, "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806"}};
    static const pgcn_i_remote_file members[] = {
        {"a.txt", 4, "27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a"}};
    snprintf(home, sizeof home, "file://%s/home/", scratch);
    snprintf(archive, sizeof archive, "%stoy.zip", home);
    const pgcn_i_remote_set set = {.about = {.name = "toy"},
                                   .parts = 2,
                                   .part = {{.url = home, .folder = "", .file = files, .files = 2},
                                            {.url = archive,
                                             .folder = "",
                                             .archive = {"toy.zip", 0, ""},
                                             .file = members,
                                             .files = 1}}};
    pgcn_fetch_opts opts = pgcn_fetch_opts_default();
    opts.directory = argv[0];
    opts.mirror = "";
    opts.retries = 0;
    if (pgcn_i_fetch(&set, &opts, NULL) == PGCN_OK) return EXIT_DONE;
    fprintf(stderr, "%s\n", pgcn_last_error());
    return EXIT_FAILED;
}

static void test_faults_while_fetching(void **state) {
    (void)state;
    const zip_member packed[] = {{.name = "TOY/a.txt", .content = "two\n"}};
    assert_int_equal(mkdir(scratch_path("home"), 0777), 0);
    assert_int_equal(mkdir(scratch_path("home/more"), 0777), 0);
    scratch_write("home/ten.txt", "0123456789", 10);
    scratch_write("home/more/one.txt", "one\n", 4);
    make_zip("home/toy.zip", packed, 1);
    fail_every_call(&(scenario){"data fetch", run_fetch, "@/sets", NULL, 60});
}

static int all_tests(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_DISK(test_faults_while_a_folder_is_read),
        TEST_ON_DISK(test_faults_while_converting),
        TEST_ON_DISK(test_faults_while_predicting),
        TEST_ON_DISK(test_faults_while_tuning),
        TEST_ON_DISK(test_faults_while_reproducing),
        TEST_ON_DISK(test_faults_while_fetching),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
    return run_on_disk(all_tests);
}
