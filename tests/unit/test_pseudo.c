/* Pseudo-labels: which nodes are chosen, by what, and that training learns from them and from no label that it may not
 * know. */
#include "graphs_help.h"
#include "nn_help.h"

#define SBM   "sbm:nodes=200,features=12,classes=3"
#define QUICK "channels=9 epochs=1000 patience=0 "

/* Probabilities in thirty-seconds, so that many are equal. */
static float *some_probabilities(int64_t nodes, int classes) {
    float *p = ref_random_floats(5, nodes * classes);
    for (int64_t i = 0; i < nodes * classes; i++) p[i] = floorf(fabsf(p[i]) * 32) / 32;
    return p;
}

static int best_of(const float *row, int classes) {
    int best = 0;
    for (int c = 1; c < classes; c++)
        if (row[c] > row[best]) best = c;
    return best;
}

/* How many nodes of class c that may be chosen come before node i. */
static int before(const pgcn_i_split *split, const float *p, int64_t nodes, int64_t i, int c) {
    int count = 0;
    for (int64_t j = 0; j < nodes; j++) {
        float its = p[3 * j + c], own = p[3 * i + c];
        bool may = !split->train[j] && !split->val[j] && best_of(p + 3 * j, 3) == c;
        count += may && (its > own || (its == own && j < i));
    }
    return count;
}

static void check_chosen(const pgcn_dataset *data, const pgcn_i_split *split, int each) {
    const int64_t n = data->info.items;
    pgcn_i_arena arena = {0};
    pgcn_i_pseudo *pseudo;
    float *p = some_probabilities(n, 3);
    int64_t items = 0;
    must(pgcn_i_pseudo_new(&arena, n, &pseudo));
    assert_false(pgcn_i_pseudo_is_of(pseudo, 7));
    pgcn_i_pseudo_choose(pseudo, data, split, p, each, 7);
    assert_true(pgcn_i_pseudo_is_of(pseudo, 7));
    pgcn_i_target target = pgcn_i_pseudo_target(pseudo);
    for (int64_t i = 0; i < n; i++) {
        int best = best_of(p + 3 * i, 3);
        bool chosen = !split->train[i] && !split->val[i] && before(split, p, n, i, best) < each;
        assert_int_equal(target.mask[i], split->train[i] || chosen);
        if (split->train[i]) assert_int_equal(target.label[i], data->label[i]);
        if (chosen) assert_int_equal(target.label[i], best);
        items += target.mask[i];
    }
    assert_int_equal(target.masked, items);
    free(p);
    pgcn_i_arena_free(&arena);
}

static void test_pseudo_labels_are_the_most_probable_nodes_of_every_class(void **state) {
    (void)state;
    pgcn_dataset *data = dataset(SBM);
    pgcn_trainer *trainer = trainer_of(data, QUICK);
    check_chosen(data, trainer->split, 1);
    check_chosen(data, trainer->split, 9);
    check_chosen(data, trainer->split, 1000); /* all of them */
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

static void test_pseudo_labels_train_from_their_epoch_on(void **state) {
    (void)state;
    pgcn_dataset *data = dataset(SBM);
    pgcn_trainer *plain = trainer_of(data, QUICK);
    pgcn_trainer *with = trainer_of(data, QUICK "pseudo-labels=5 pseudo-from=4");
    run_epochs(plain, 4), run_epochs(with, 4);
    assert_same_weights(&plain->params, &with->params, "before");
    run_epochs(plain, 1), run_epochs(with, 1);
    assert_memory_not_equal(plain->params.value, with->params.value,
                            (size_t)plain->params.total * sizeof(float));
    pgcn_trainer_free(plain), pgcn_trainer_free(with);
    pgcn_dataset_free(data);
}

/* Labels that are not of the training nodes change nothing but what is measured. */
static void test_pseudo_labels_do_not_know_the_labels_of_test_nodes(void **state) {
    (void)state;
    const char *text = QUICK "pseudo-labels=5 pseudo-from=2";
    pgcn_dataset *data = dataset(SBM), *other = dataset(SBM);
    pgcn_trainer *a = trainer_of(data, text), *b = trainer_of(other, text);
    for (int64_t i = 0; i < other->info.items; i++)
        if (b->split->test[i]) ((int32_t *)other->label)[i] = (other->label[i] + 1) % 3;
    run_epochs(a, 12), run_epochs(b, 12);
    assert_same_weights(&a->params, &b->params, "labels of test nodes");
    assert_true(a->progress.history[11].test_accuracy != b->progress.history[11].test_accuracy);
    pgcn_trainer_free(a), pgcn_trainer_free(b);
    pgcn_dataset_free(data), pgcn_dataset_free(other);
}

/* An evaluation that is not due is made up for: the same steps follow. */
static void test_pseudo_labels_do_not_depend_on_when_evaluations_are(void **state) {
    (void)state;
#define SELF QUICK "pseudo-labels=5 pseudo-from=2 "
    pgcn_dataset *data = dataset(SBM);
    pgcn_trainer *often = trainer_of(data, SELF), *rarely = trainer_of(data, SELF "eval-every=5");
    run_epochs(often, 12), run_epochs(rarely, 12);
    assert_memory_equal(often->params.value, rarely->params.value,
                        (size_t)often->params.total * sizeof(float));
    pgcn_trainer_free(often), pgcn_trainer_free(rarely);
    pgcn_dataset_free(data);
}

static void test_pseudo_labels_are_not_for_several_labels(void **state) {
    (void)state;
    pgcn_dataset *data = set_of(set_new(PGCN_TASK_MULTILABEL, false, 12), "random=50/25/25");
    pgcn_config config = settings(QUICK "samples=1 consistency=0 pseudo-labels=5");
    pgcn_trainer *trainer;
    must_fail(pgcn_trainer_new(data, &config, &trainer), PGCN_ERR_ARGUMENT, "pseudo-labels is 5");
    pgcn_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pseudo_labels_are_the_most_probable_nodes_of_every_class),
        cmocka_unit_test(test_pseudo_labels_train_from_their_epoch_on),
        cmocka_unit_test(test_pseudo_labels_do_not_know_the_labels_of_test_nodes),
        cmocka_unit_test(test_pseudo_labels_do_not_depend_on_when_evaluations_are),
        cmocka_unit_test(test_pseudo_labels_are_not_for_several_labels),
    };
    return cmocka_run_group_tests_name("pseudo", tests, NULL, NULL);
}
