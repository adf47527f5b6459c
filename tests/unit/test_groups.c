/* Sums by groups of nodes: a group is a range of nodes with all their samples, their number belongs to the
 * data and to the identity of a run. */
#include "network_help.h"
#include "scratch_help.h"

#include <string.h>

#define QUICK "epochs=12 layers=2 channels=12 "

/* The lists of live rows go by group, then sample, then node, and say where each group begins. */
static void test_groups_hold_all_samples_of_their_nodes(void **state) {
    (void)state;
    problem p = problem_new(300);
    network net;
    memset(p.mask, 0, 300);
    p.masked = 0;
    for (int i = 3; i < 300; i += 29) p.mask[i] = 1, p.label[i] = i % NET_CLASSES, p.masked++;
    network_open(&net, &p,
                 "layers=2 channels=6 path-length=2 paths=2 samples=3 consistency=0 seed=5", 2);
    const pgcn_i_target target = {p.label, NULL, p.mask, p.masked};
    pgcn_i_loss_rows(&net.loss, &net.tape, &target, 0);
    const pgcn_i_blocks groups = pgcn_i_groups_of(300, net.tape.groups);
    assert_int_equal(groups.count, 5);
    int lists = 0;
    for (int o = 0; o < net.tape.count; o++) {
        const pgcn_i_live *live = net.tape.op[o].live_out;
        if (!live) continue;
        lists++;
        assert_int_equal(live->first[0], 0);
        assert_int_equal(live->first[groups.count], live->count);
        for (int64_t g = 0; g < groups.count; g++)
            for (int64_t i = live->first[g]; i < live->first[g + 1]; i++) {
                int64_t node = live->row[i] % 300;
                assert_in_range(node, pgcn_i_block_begin(groups, g),
                                pgcn_i_block_end(groups, g) - 1);
                assert_true(live->flag[live->row[i]]);
                if (i > live->first[g]) assert_true(live->row[i] > live->row[i - 1]);
            }
    }
    assert_true(lists >= 2);
    network_close(&net);
    problem_free(&p);
}

static pgcn_trainer *trained(const char *name, const char *text) {
    pgcn_dataset *data = dataset(name);
    pgcn_trainer *trainer = trainer_of(data, text);
    run_epochs(trainer, 12);
    return trainer;
}

static void done(pgcn_trainer *trainer) {
    const pgcn_dataset *data = trainer->data;
    pgcn_trainer_free(trainer);
    pgcn_dataset_free((pgcn_dataset *)data);
}

static double largest_difference(const pgcn_trainer *a, const pgcn_trainer *b) {
    double largest = 0;
    for (int64_t e = 0; e < a->params.total; e++)
        largest = fmax(largest, fabs((double)a->params.value[e] - (double)b->params.value[e]));
    return largest;
}

/* Every kind of sum: sampled, exact, full kernels, batch norm, sparse and dense inputs. */
static const char *const kinds[] = {
    "samples=1 consistency=0",           "samples=2",
    "train-form=exact samples=2",        "kernel=full samples=2",
    "kernel=full train-form=exact",      "batch-norm=yes samples=2",
    "samples=1 consistency=0 model=gin",
};

static void test_groups_change_bits_by_rounding_only_and_threads_change_none(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char text[256];
        snprintf(text, sizeof text, QUICK "%s", kinds[i]);
        pgcn_trainer *one = trained("sbm:nodes=500:groups=1", text);
        pgcn_trainer *many = trained("sbm:nodes=500:groups=7", text);
        assert_true(largest_difference(one, many) < 1e-2); /* after 12 steps of Adam */
        assert_true(largest_difference(one, many) > 0);
        snprintf(text, sizeof text, QUICK "%s threads=5", kinds[i]);
        pgcn_trainer *threads = trained("sbm:nodes=500:groups=7", text);
        assert_same_weights(&many->params, &threads->params, text);
        done(one), done(many), done(threads);
    }
}

static void test_groups_of_sparse_features_count_too(void **state) {
    (void)state;
    pgcn_trainer *one =
        trained("sbm:nodes=500:features=identity+adjacency,groups=1", QUICK "samples=2");
    pgcn_trainer *many =
        trained("sbm:nodes=500:features=identity+adjacency,groups=7", QUICK "samples=2");
    double difference = largest_difference(one, many);
    assert_true(difference > 0 && difference < 2e-3);
    done(one), done(many);
}

static void test_groups_are_kept_by_containers_and_named_by_models(void **state) {
    (void)state;
    const char *path = scratch_path("set.pgcn");
    pgcn_dataset *data = dataset("sbm:nodes=500:groups=7"), *read;
    assert_int_equal(pgcn_i_source_groups(&data->from), 7);
    must(pgcn_dataset_save(data, path));
    must(pgcn_dataset_load(path, NULL, &read));
    assert_int_equal(pgcn_i_source_groups(&read->from), 7);
    pgcn_model *model;
    pgcn_config config = settings(QUICK);
    must(pgcn_train(read, &config, &model));
    assert_int_equal(model->groups, 7);
    pgcn_model_free(model);
    pgcn_dataset_free(data), pgcn_dataset_free(read);
    data = dataset("karate");
    assert_int_equal(pgcn_i_source_groups(&data->from), PGCN_GROUPS);
    pgcn_dataset_free(data);
}

static void test_groups_of_another_number_are_another_run(void **state) {
    (void)state;
    const char *path = scratch_path("checkpoint.safetensors");
    pgcn_trainer *seven = trained("sbm:nodes=500:groups=7", QUICK);
    must(pgcn_trainer_save(seven, path));
    pgcn_dataset *data = dataset("sbm:nodes=500");
    pgcn_trainer *other = trainer_of(data, QUICK);
    must_fail(pgcn_trainer_resume(other, path), PGCN_ERR_MISMATCH, "groups=7");
    done(other), done(seven);
}

static void test_groups_out_of_range_are_refused(void **state) {
    (void)state;
    pgcn_dataset *data;
    must_fail(pgcn_dataset_load("karate:groups=0", NULL, &data), PGCN_ERR_ARGUMENT, "groups");
    must_fail(pgcn_dataset_load("karate:groups=4097", NULL, &data), PGCN_ERR_ARGUMENT, "4096");
    must_fail(pgcn_dataset_load("karate:groups=many", NULL, &data), PGCN_ERR_ARGUMENT, "groups");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_hold_all_samples_of_their_nodes),
        cmocka_unit_test(test_groups_change_bits_by_rounding_only_and_threads_change_none),
        cmocka_unit_test(test_groups_of_sparse_features_count_too),
        cmocka_unit_test(test_groups_are_kept_by_containers_and_named_by_models),
        cmocka_unit_test(test_groups_of_another_number_are_another_run),
        cmocka_unit_test(test_groups_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
