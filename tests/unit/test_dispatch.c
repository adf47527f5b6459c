/* The choice of the instruction set: the best one, or the one that PATHGCN_ISA names; what it names and
 * there is not is an error of every public call that computes. */
#include "nn_help.h"

#include <sys/wait.h>
#include <unistd.h>

static const char *const names[] = {"baseline", "avx2", "avx512"};

/* What a fresh process does where PATHGCN_ISA is `value` (NULL: unset): the choice is made once, and this
 * process must not have made it yet. */
typedef struct outcome {
    char isa[16]; /* in use */
    pgcn_status ready;
    char sentence[256]; /* of the error */
} outcome;

static outcome outcome_with(const char *value) {
    outcome found = {{0}, PGCN_OK, {0}};
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (value) {
            setenv("PATHGCN_ISA", value, 1);
        } else {
            unsetenv("PATHGCN_ISA");
        }
        snprintf(found.isa, sizeof found.isa, "%s", pgcn_i_kernels_get()->isa);
        found.ready = pgcn_ready();
        if (found.ready != PGCN_OK)
            snprintf(found.sentence, sizeof found.sentence, "%s", pgcn_last_error());
        _exit(write(ends[1], &found, sizeof found) == (ssize_t)sizeof found ? 0 : 1);
    }
    int status = 1;
    assert_int_equal(read(ends[0], &found, sizeof found), sizeof found);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(ends[0]), close(ends[1]);
    return found;
}

static void test_dispatch_environment_chooses_among_those_there_are(void **state) {
    (void)state;
    outcome best = outcome_with(NULL);
    const char *last = NULL;
    for (int i = 0; i < 3; i++) {
        bool there = pgcn_i_kernels_named(names[i]) != NULL;
        outcome found = outcome_with(names[i]);
        assert_int_equal(found.ready, there ? PGCN_OK : PGCN_ERR_SYSTEM);
        if (there) last = names[i];
        if (there) assert_string_equal(found.isa, names[i]);
        if (!there) assert_non_null(strstr(found.sentence, "PATHGCN_ISA is"));
        if (!there && strstr(pgcn_i_kernels_built(), names[i]))
            assert_non_null(strstr(found.sentence, "which this processor lacks"));
    }
    assert_string_equal(best.isa, last);
    assert_int_equal(best.ready, PGCN_OK);
    assert_int_equal(outcome_with("").ready, PGCN_OK); /* as if it was not set */
    assert_string_equal(outcome_with("").isa, best.isa);
    assert_non_null(strstr(pgcn_i_kernels_built(), best.isa));
}

static void test_dispatch_unknown_name_is_refused_with_those_there_are(void **state) {
    (void)state;
    static const char *const unknown[] = {"sse9", "avx", "avx5122", "AVX2", " ", "baseline avx2"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        outcome found = outcome_with(unknown[i]);
        assert_int_equal(found.ready, PGCN_ERR_SYSTEM);
        assert_non_null(strstr(found.sentence, unknown[i]));
        assert_non_null(strstr(found.sentence, "which this build does not know"));
        assert_non_null(strstr(found.sentence, "baseline"));
    }
    assert_null(pgcn_i_kernels_named("sse9"));
}

/* In a process of its own: the others of this program have chosen already. */
static void test_dispatch_every_call_that_computes_refuses(void **state) {
    (void)state;
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        pgcn_dataset *data = NULL;
        pgcn_trainer *trainer = NULL;
        static pgcn_node walks[34 * 25];
        setenv("PATHGCN_ISA", "sse9", 1);
        bool fine = pgcn_dataset_load("karate", NULL, &data) == PGCN_OK;
        fine = fine && pgcn_trainer_new(data, NULL, &trainer) == PGCN_ERR_SYSTEM;
        fine = fine && strstr(pgcn_last_error(), "'sse9'");
        fine = fine &&
               pgcn_paths_sample(pgcn_dataset_graph(data), NULL, NULL, 0, walks) == PGCN_ERR_SYSTEM;
        static pgcn_model model;
        float probability;
        fine =
            fine && pgcn_model_predict(&model, data, NULL, &probability, NULL) == PGCN_ERR_SYSTEM;
        _exit(fine ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dispatch_environment_chooses_among_those_there_are),
        cmocka_unit_test(test_dispatch_unknown_name_is_refused_with_those_there_are),
        cmocka_unit_test(test_dispatch_every_call_that_computes_refuses),
    };
    return cmocka_run_group_tests_name("dispatch", tests, NULL, NULL);
}
