/* pathgcn train on a disk that fails: a new run, one that is replaced, one that is resumed. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "faults_help.h"

#define RUN                                                                                        \
    "@/data.pgcn --out @/run --patience 0 --layers 1 --channels 4 --threads 1 --quiet "            \
    "--checkpoint-every 2"

static int run_train(int argc, char **argv) {
    return cli_exit_code(cli_train.run(argc, argv));
}

static void test_faults_while_training(void **state) {
    (void)state;
    fail_every_call(&(scenario){"train", run_train, RUN " --epochs 2", "--resume", 60});
}

static void test_faults_while_a_run_is_replaced(void **state) {
    (void)state;
    do_first(run_train, RUN " --epochs 2 --seed 1 --recipe none"); /* a race is in the other two */
    fail_every_call(&(scenario){"train --overwrite", run_train,
                                RUN " --epochs 2 --overwrite --recipe none", NULL, 60});
}

static void test_faults_while_a_run_is_resumed(void **state) {
    (void)state;
    do_first(run_train, RUN " --epochs 2");
    remove(scratch_path("disk/run/result.json"));
    fail_every_call(&(scenario){"train --resume", run_train, RUN " --epochs 3 --resume", NULL, 60});
}

static int all_tests(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_DISK(test_faults_while_training),
        TEST_ON_DISK(test_faults_while_a_run_is_replaced),
        TEST_ON_DISK(test_faults_while_a_run_is_resumed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
    return run_on_disk(all_tests);
}
