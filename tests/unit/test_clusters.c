/* Batches of clusters: what training sees has no edge between parts and is normalised again; a run holds who cut
 * them; every network trains on them, with the same bits for any number of threads; and T with its diagonal enhanced is
 * what the setting says. */
#include "graphs_help.h"
#include "nn_help.h"

#define DATA "sbm:nodes=400,features=8,classes=4,degree=8,homophily=0.95:per-class=20/20/20"
#define QUICK                                                                                      \
    "channels=8 epochs=100 patience=0 eval-every=100 samples=1 consistency=0 batch-by=cluster "

static void test_clusters_say_who_cut_them(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_trainer *by_default = trainer_of(data, QUICK "parts=4");
    pgcn_trainer *builtin = trainer_of(data, QUICK "parts=4 parts-by=builtin");
    assert_int_equal(by_default->config.parts_by,
                     pgcn_i_has_metis() ? PGCN_PARTS_METIS : PGCN_PARTS_BUILTIN);
    assert_int_equal(builtin->config.parts_by, PGCN_PARTS_BUILTIN);
    int32_t part[34];
    must(pgcn_i_graph_partition(data->graph, NULL, (pgcn_i_parts){.count = 4}, PGCN_I_PARTS_BUILTIN,
                                part));
    assert_memory_equal(builtin->clusters->part, part, sizeof part);
    pgcn_trainer_free(by_default);
    pgcn_trainer_free(builtin);
    pgcn_dataset_free(data);
}

static int64_t edges_cut(const pgcn_graph *graph, const int32_t *part) {
    int64_t count = 0;
    for (int64_t r = 0; r < graph->n; r++)
        for (int64_t e = graph->offset[r]; e < graph->offset[r + 1]; e++)
            count += part[r] != part[graph->neighbour[e]];
    return count;
}

/* ---- training ------------------------------------------------------------------------------------------ */

static void test_clusters_hold_the_edges_inside_parts(void **state) {
    (void)state;
    pgcn_dataset *data = dataset(DATA);
    pgcn_trainer *t = trainer_of(data, QUICK "model=gcn scaling=walk parts=5 parts-per-step=2");
    const pgcn_i_clusters *c = t->clusters;
    assert_int_equal(c->graph.entries, data->graph->entries - edges_cut(data->graph, c->part));
    assert_int_equal(edges_cut(&c->graph, c->part), 0);
    for (int64_t r = 0; r < c->graph.n; r++) {
        double sum = 0;
        for (int64_t e = c->spatial.exact.offset[r]; e < c->spatial.exact.offset[r + 1]; e++)
            sum += (double)c->spatial.exact.value[e];
        assert_true(fabs(sum - 1) < 1e-5);
    }
    assert_int_equal(t->steps, 3); /* of 2, 2 and 1 parts */
    pgcn_trainer_free(t);
    pgcn_dataset_free(data);
}

static void test_clusters_every_network_trains_with_the_same_bits(void **state) {
    (void)state;
    pgcn_dataset *data = dataset(DATA);
    for (int i = 0; pgcn_network_name(i); i++) {
        pgcn_trainer *first = NULL;
        for (int t = 0; t < THREAD_CASES; t++) {
            char text[256];
            snprintf(text, sizeof text, QUICK "parts=7 parts-per-step=3 model=%s threads=%d",
                     pgcn_network_name(i), THREADS[t]);
            pgcn_trainer *trainer = trainer_of(data, text);
            run_epochs(trainer, 1);
            int64_t before = pgcn_i_alloc_count();
            run_epochs(trainer, 2);
            assert_int_equal(pgcn_i_alloc_count(), before);
            if (first) assert_same_weights(&first->params, &trainer->params, text);
            if (first) pgcn_trainer_free(trainer);
            if (!first) first = trainer;
        }
        pgcn_trainer_free(first);
    }
    pgcn_dataset_free(data);
}

static void test_clusters_diagonal_is_enhanced_in_both_matrices(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_trainer *plain = trainer_of(data, "model=gcn samples=1 consistency=0");
    pgcn_trainer *more = trainer_of(data, "model=gcn samples=1 consistency=0 diagonal=1.5");
    const pgcn_i_csr *a[] = {&plain->spatial.exact, &plain->spatial.exact_t};
    const pgcn_i_csr *b[] = {&more->spatial.exact, &more->spatial.exact_t};
    for (int m = 0; m < 2; m++)
        for (int64_t r = 0; r < a[m]->rows; r++)
            for (int64_t e = a[m]->offset[r]; e < a[m]->offset[r + 1]; e++) {
                float share = a[m]->column[e] == r ? 2.5f : 1.0f;
                assert_true(b[m]->value[e] == share * a[m]->value[e]);
            }
    pgcn_trainer_free(plain);
    pgcn_trainer_free(more);
    pgcn_dataset_free(data);
}

static void test_clusters_that_cannot_be_are_refused(void **state) {
    (void)state;
    static const refused_settings cases[] = {
        {QUICK "parts=35", "karate has 34 nodes"},
        {QUICK "parts=4 parts-per-step=5", "parts-per-step is 5 and parts is 4"},
        {QUICK "parts=4 model=gcn edge-keep=0.5", "edge-keep is 0.5"},
        {QUICK "parts=4 batch-norm=yes norm-over=graph", "norm-over is graph"},
    };
    assert_settings_refused(cases, sizeof cases / sizeof *cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clusters_say_who_cut_them),
        cmocka_unit_test(test_clusters_hold_the_edges_inside_parts),
        cmocka_unit_test(test_clusters_every_network_trains_with_the_same_bits),
        cmocka_unit_test(test_clusters_diagonal_is_enhanced_in_both_matrices),
        cmocka_unit_test(test_clusters_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
