/* builtin.c: the sets that need no file have their published numbers or the properties asked for,
 * and the same name always gives the same data. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "dataset_help.h"

#include <math.h>

static void test_karate_has_the_published_numbers(void **state) {
    (void)state;
    static const int degree[34] = {16, 9, 10, 6, 3, 4, 4, 4, 5, 2, 3, 1, 2, 5, 2, 2,  2,
                                   2,  2, 3,  2, 2, 2, 5, 3, 3, 2, 4, 3, 4, 4, 6, 12, 17};
    pgcn_dataset *data = load("karate", NULL);
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    assert_int_equal(info.nodes, 34);
    assert_int_equal(info.edges, 78);
    assert_int_equal(info.max_degree, 17);
    assert_int_equal(info.isolated, 0);
    assert_int_equal(info.self_loops, 0);
    assert_int_equal(info.classes, 2);
    assert_true(info.sparse_features);
    assert_int_equal(info.features, 34);
    assert_string_equal(info.name, "karate");
    int64_t joined_officer = 0, corners = 0;
    const pgcn_graph *graph = pgcn_dataset_graph(data);
    for (int u = 0; u < 34; u++) {
        joined_officer += pgcn_dataset_labels(data)[u];
        assert_int_equal(graph->offset[u + 1] - graph->offset[u], degree[u]);
        for (int64_t a = graph->offset[u]; a < graph->offset[u + 1]; a++)
            for (int64_t b = graph->offset[u]; b < graph->offset[u + 1]; b++) {
                pgcn_node v = graph->neighbour[a], w = graph->neighbour[b];
                for (int64_t c = graph->offset[v]; c < graph->offset[v + 1]; c++)
                    corners += graph->neighbour[c] == w;
            }
    }
    assert_int_equal(joined_officer, 17);
    assert_int_equal(corners / 6, 45); /* triangles */
    pgcn_dataset_free(data);
}

static void test_karate_splits_are_balanced_and_differ(void **state) {
    (void)state;
    pgcn_dataset *data = load("karate", NULL);
    const uint8_t *train, *val, *test, *first;
    assert_int_equal(pgcn_dataset_describe(data).splits, 10);
    assert_string_equal(pgcn_dataset_split(data, 0, &first, NULL, NULL), "0");
    for (int s = 0; s < 10; s++) {
        assert_non_null(pgcn_dataset_split(data, s, &train, &val, &test));
        int per_class[2] = {0};
        for (int i = 0; i < 34; i++) per_class[data->label[i]] += train[i];
        assert_int_equal(per_class[0], 4);
        assert_int_equal(per_class[1], 4);
        assert_int_equal(sum(val, 34), 8);
        assert_int_equal(sum(test, 34), 18);
        if (s > 0) assert_memory_not_equal(train, first, 34);
    }
    assert_null(pgcn_dataset_split(data, 10, NULL, NULL, NULL));
    assert_null(pgcn_dataset_split(data, -1, NULL, NULL, NULL));
    pgcn_dataset_free(data);
}

/* Share of test nodes whose class has the nearest mean of the training features, over the splits;
 * `hops` times each row is first averaged with those of its neighbours. */
static double nearest_mean_accuracy(const pgcn_dataset *data, int hops) {
    int64_t n = data->graph->n, f = data->x.columns, right = 0, all = 0;
    size_t bytes = (size_t)(n * f) * sizeof(float);
    float *x = malloc(bytes), *next = malloc(bytes);
    memcpy(x, data->x.dense, bytes);
    for (int hop = 0; hop < hops; hop++) {
        memcpy(next, x, bytes);
        for (int64_t u = 0; u < n; u++) {
            int64_t begin = data->graph->offset[u], end = data->graph->offset[u + 1];
            for (int64_t j = 0; j < f; j++) {
                for (int64_t e = begin; e < end; e++)
                    next[u * f + j] += x[data->graph->neighbour[e] * f + j];
                next[u * f + j] /= (float)(1 + end - begin);
            }
        }
        memcpy(x, next, bytes);
    }
    double *mean = malloc((size_t)(data->classes * f) * sizeof *mean);
    int64_t *members = malloc((size_t)data->classes * sizeof *members);
    assert_true(x && next && mean && members);
    for (int s = 0; s < data->splits; s++) {
        memset(mean, 0, (size_t)(data->classes * f) * sizeof *mean);
        memset(members, 0, (size_t)data->classes * sizeof *members);
        for (int64_t i = 0; i < n; i++) members[data->label[i]] += data->split[s].train[i];
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; data->split[s].train[i] && j < f; j++)
                mean[data->label[i] * f + j] +=
                    (double)x[i * f + j] / (double)members[data->label[i]];
        for (int64_t i = 0; i < n; i++) {
            if (!data->split[s].test[i]) continue;
            double least = INFINITY;
            int found = -1;
            for (int c = 0; c < data->classes; c++) {
                double distance = 0;
                for (int64_t j = 0; j < f; j++)
                    distance += pow((double)x[i * f + j] - mean[c * f + j], 2);
                if (distance < least) least = distance, found = c;
            }
            right += found == data->label[i];
            all++;
        }
    }
    free(x), free(next), free(mean), free(members);
    return (double)right / (double)all;
}

static void test_sbm_features_alone_are_weak_and_the_graph_helps(void **state) {
    (void)state;
    pgcn_dataset *data = load("sbm", NULL);
    double alone = nearest_mean_accuracy(data, 0), with_graph = nearest_mean_accuracy(data, 2);
    assert_true(alone > 0.60 && alone < 0.72);
    assert_true(with_graph > 0.95);
    pgcn_dataset_free(data);
}

static void test_sbm_has_the_properties_asked_for(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int64_t nodes;
        int classes;
        double degree, homophily;
    } cases[] = {{"sbm", 1000, 4, 10, 0.8},
                 {"sbm:nodes=3000,homophily=0.1,classes=7,degree=6", 3000, 7, 6, 0.1},
                 {"sbm:homophily=1,seed=5", 1000, 4, 10, 1},
                 {"sbm:homophily=0,features=3", 1000, 4, 10, 0}};
    for (int k = 0; k < 4; k++) {
        pgcn_dataset *data = load(cases[k].name, NULL);
        pgcn_dataset_info info = pgcn_dataset_describe(data);
        assert_string_equal(info.name, cases[k].name);
        assert_int_equal(info.nodes, cases[k].nodes);
        assert_int_equal(info.classes, cases[k].classes);
        assert_int_equal(info.self_loops, 0);
        assert_false(info.sparse_features);
        assert_true(fabs(info.edge_homophily - cases[k].homophily) < 0.03);
        double drawn = (double)info.nodes * cases[k].degree / 2; /* few are equal and merged */
        assert_true((double)info.edges <= drawn && (double)info.edges > 0.97 * drawn);
        int64_t size[7] = {0};
        for (int64_t i = 0; i < info.nodes; i++) size[data->label[i]]++;
        for (int c = 0; c < cases[k].classes; c++)
            assert_true(llabs(size[c] - info.nodes / cases[k].classes) <= 1);
        const uint8_t *train, *val, *test;
        pgcn_dataset_split(data, 3, &train, &val, &test);
        assert_int_equal(sum(train, info.nodes), 20 * cases[k].classes);
        assert_int_equal(sum(val, info.nodes), k == 1 ? 500 : 200);
        assert_int_equal(sum(train, info.nodes) + sum(val, info.nodes) + sum(test, info.nodes),
                         info.nodes);
        pgcn_dataset_free(data);
    }
    pgcn_dataset *small = load("sbm:nodes=10,classes=3,degree=0", NULL);
    assert_int_equal(pgcn_dataset_describe(small).isolated, 10);
    assert_true(isnan(pgcn_dataset_describe(small).edge_homophily));
    pgcn_dataset_free(small);
}

/* 5000 draws over the 100 * 45 pairs inside classes leave 4500 (1 - (1 - 1/4500)^5000) = 3019
 * distinct ones if every pair is equally likely and no draw is lost; one deviation is about 25. */
static void test_sbm_pairs_of_a_class_are_equally_likely(void **state) {
    (void)state;
    pgcn_dataset *data = load("sbm:nodes=1000,classes=100,homophily=1", NULL);
    assert_true(llabs(pgcn_dataset_describe(data).edges - 3019) < 75);
    pgcn_dataset_free(data);
}

static void test_grid_is_a_checkerboard(void **state) {
    (void)state;
    pgcn_dataset *data = load("grid:rows=5,cols=7", NULL);
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    assert_int_equal(info.nodes, 35);
    assert_int_equal(info.edges, 5 * 6 + 4 * 7);
    assert_int_equal(info.max_degree, 4);
    assert_true(info.edge_homophily == 0);
    assert_int_equal(info.features, 8);
    assert_int_equal(data->label[0], 0);
    assert_int_equal(data->label[7], 1);
    pgcn_dataset_free(data);
    data = load("grid:noise=0", NULL);
    for (int64_t i = 0; i < 400; i++)
        for (int f = 0; f < 8; f++)
            assert_true(data->x.dense[i * 8 + f] == (float)(f == data->label[i]));
    assert_int_equal(pgcn_dataset_describe(data).feature_nonzeros, 400);
    pgcn_dataset_free(data);
}

/* ---- powerlaw ------------------------------------------------------------------------------ */

/* A graph of fewer nodes is a smaller one, not a denser one. */
static void test_powerlaw_edges_go_with_the_nodes(void **state) {
    (void)state;
    static const char *const names[][2] = {
        {"powerlaw:nodes=200,classes=3", "powerlaw:nodes=200,edges=1400,classes=3"},
        {"powerlaw:features=2", "powerlaw:edges=70000,features=2"},
        {"powerlaw:size=arxiv,nodes=170000,features=1",
         "powerlaw:nodes=170000,edges=1166243,features=1,classes=40"}};
    for (int i = 0; i < 3; i++) {
        pgcn_dataset *data = load(names[i][0], NULL), *same = load(names[i][1], NULL);
        assert_string_equal(pgcn_dataset_describe(data).fingerprint,
                            pgcn_dataset_describe(same).fingerprint);
        pgcn_dataset_free(data);
        pgcn_dataset_free(same);
    }
}

static void test_powerlaw_has_the_properties_asked_for(void **state) {
    (void)state;
    pgcn_dataset *data = load("powerlaw:nodes=20000,edges=140000,homophily=0.7,classes=8", NULL);
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    assert_int_equal(info.nodes, 20000);
    assert_in_range(info.edges, 137200, 140000); /* 2 per cent: those that were drawn twice */
    assert_int_equal(info.self_loops, 0);
    assert_int_equal(info.isolated, 0);
    assert_int_equal(info.classes, 8);
    assert_int_equal(info.splits, 1);
    assert_true(fabs(info.edge_homophily - 0.7) < 0.01);
    const uint8_t *train, *val, *test;
    assert_non_null(pgcn_dataset_split(data, 0, &train, &val, &test));
    assert_int_equal(sum(train, info.nodes), 10800);
    assert_int_equal(sum(val, info.nodes), 3600);
    assert_int_equal(sum(test, info.nodes), 5600);
    pgcn_dataset_free(data);
    data = load("powerlaw:size=arxiv,features=1", NULL); /* what comes later holds */
    assert_int_equal(pgcn_dataset_describe(data).nodes, 169343);
    assert_int_equal(pgcn_dataset_describe(data).classes, 40);
    assert_int_equal(pgcn_dataset_describe(data).features, 1);
    assert_in_range(pgcn_dataset_describe(data).edges, 1142918, 1166243);
    pgcn_dataset_free(data);
}

/* Nodes of at least that degree. */
static double tail(const pgcn_graph *graph, int64_t degree) {
    int64_t count = 0;
    for (int64_t u = 0; u < graph->n; u++)
        count += graph->offset[u + 1] - graph->offset[u] >= degree;
    return (double)count;
}

/* The number of nodes of degree d or more falls like d^(1 - exponent). Between 60 and 240 the local
 * edges, about the same for all, matter little, and so does the bound of the largest degrees. */
static void test_powerlaw_tail_of_the_degrees_follows_the_exponent(void **state) {
    (void)state;
    static const double exponent[] = {2.2, 2.5, 3};
    for (int i = 0; i < 3; i++) {
        char name[128];
        snprintf(name, sizeof name, "powerlaw:nodes=100000,edges=700000,features=1,exponent=%g",
                 exponent[i]);
        pgcn_dataset *data = load(name, NULL);
        double slope = log(tail(data->graph, 240) / tail(data->graph, 60)) / log(4);
        if (fabs(slope + exponent[i] - 1) > 0.25)
            fail_msg("exponent %g: slope %g", exponent[i], slope);
        int64_t largest = pgcn_dataset_describe(data).max_degree;
        assert_in_range(largest, 400, 5000); /* the mean is 14 */
        pgcn_dataset_free(data);
    }
}

/* Numbers tell neither the class, nor the degree, nor who is near. */
static void test_powerlaw_numbers_are_in_random_order(void **state) {
    (void)state;
    pgcn_dataset *data = load("powerlaw", NULL);
    const pgcn_graph *graph = data->graph;
    int64_t n = graph->n, same_class = 0, first_half = 0, near = 0;
    for (int64_t u = 0; u < n; u++) {
        same_class += u > 0 && data->label[u] == data->label[u - 1];
        for (int64_t e = graph->offset[u]; e < graph->offset[u + 1]; e++) {
            first_half += u < n / 2;
            near += llabs((long long)(graph->neighbour[e] - u)) < n / 20;
        }
    }
    assert_in_range(same_class, 850, 1150); /* one in ten of 10,000 */
    assert_in_range(100 * first_half / graph->entries, 48, 52);
    assert_in_range(100 * near / graph->entries, 8, 11); /* 9.75 per cent of all pairs */
    pgcn_dataset_free(data);
}

/* A community is about 45 nodes of a class of 5000: neighbours share neighbours far more often than
 * in a graph without communities. */
static int64_t triangle_corners(const char *name) {
    pgcn_dataset *data = load(name, NULL);
    const pgcn_graph *graph = data->graph;
    int64_t corners = 0;
    for (int64_t u = 0; u < graph->n; u++)
        for (int64_t a = graph->offset[u]; a < graph->offset[u + 1]; a++) {
            int64_t v = graph->neighbour[a], x = graph->offset[u], y = graph->offset[v];
            while (x < graph->offset[u + 1] && y < graph->offset[v + 1]) {
                pgcn_node p = graph->neighbour[x], q = graph->neighbour[y];
                corners += p == q;
                x += p <= q;
                y += q <= p;
            }
        }
    pgcn_dataset_free(data);
    return corners;
}

static void test_powerlaw_local_edges_make_communities(void **state) {
    (void)state;
    int64_t with = triangle_corners("powerlaw:exponent=4,classes=2,features=1");
    int64_t without = triangle_corners("powerlaw:exponent=4,classes=2,features=1,local=0");
    assert_true(with > 4 * without);
}

static void test_powerlaw_features_alone_are_weak_and_the_graph_helps(void **state) {
    (void)state;
    for (int seed = 0; seed < 2; seed++) {
        char name[32];
        snprintf(name, sizeof name, "powerlaw:seed=%d", seed);
        pgcn_dataset *data = load(name, NULL);
        double alone = nearest_mean_accuracy(data, 0), twice = nearest_mean_accuracy(data, 2);
        if (!(alone > 0.25 && alone < 0.6 && twice > 0.8)) fail_msg("%g, %g", alone, twice);
        pgcn_dataset_free(data);
    }
}

static void test_powerlaw_can_be_learnt(void **state) {
    (void)state;
    pgcn_dataset *data = load("powerlaw:nodes=2000,edges=14000,features=32,classes=5", NULL);
    pgcn_config config = pgcn_config_for("powerlaw");
    pgcn_trainer *trainer = NULL;
    pgcn_epoch last = {0};
    config.epochs = 40;
    assert_int_equal(pgcn_trainer_new(data, &config, &trainer), PGCN_OK);
    while (!pgcn_trainer_finished(trainer))
        assert_int_equal(pgcn_trainer_epoch(trainer, &last), PGCN_OK);
    if (!(last.test_accuracy > 60)) /* each class is a fifth of the nodes */
        fail_msg("accuracy %g", last.test_accuracy);
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

static void test_powerlaw_extreme_settings_make_valid_graphs(void **state) {
    (void)state;
    static const char *const names[] = {
        "powerlaw:nodes=100,edges=1200",
        "powerlaw:nodes=100,edges=100,classes=33",
        "powerlaw:nodes=100,edges=1237,classes=33,homophily=1,local=1",
        "powerlaw:nodes=1000,edges=50000,homophily=0,local=1,exponent=2.1",
        "powerlaw:nodes=1000,edges=50000,homophily=1,local=0,exponent=5,features=3",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pgcn_dataset *data = load(names[i], NULL);
        assert_int_equal(pgcn_i_graph_check(data->graph), PGCN_OK);
        assert_int_equal(pgcn_dataset_describe(data).self_loops, 0);
        pgcn_dataset_free(data);
    }
}

/* ---- all ----------------------------------------------------------------------------------- */

static void test_builtin_wrong_setting_is_named_with_the_accepted_ones(void **state) {
    (void)state;
    static const struct {
        const char *name, *says;
    } cases[] = {
        {"sbm:node=5", "'node=5' is not a setting with a value; accepted settings: nodes (10 to"},
        {"sbm:nodes", "'nodes' is not a setting with a value"},
        {"sbm:nodes=", "'nodes=' is not a whole number"},
        {"sbm:nodes=9", "from 10 to 10000000"},
        {"sbm:nodes=10.5", "a whole number"},
        {"sbm:nodes=1e3x", "a whole number"},
        {"sbm:homophily=nan", "a number from 0 to 1"},
        {"sbm:noise=1,homophily=1.1", "'homophily=1.1'"},
        {"sbm:nodes=20,classes=10", "three nodes per class"},
        {"grid:rows=2,cols=2", "make 4 nodes"},
        {"grid:rows=10000,cols=10000", "make 100000000 nodes"},
        {"grid:nodes=5", "rows (2 to 10000), cols (2 to 10000), noise"},
        {"karate:seed=1", "accepted settings: none"},
        {"sbm:size=arxiv", "'size=arxiv' is not a setting with a value"},
        {"powerlaw:size=ogbn",
         "local (0 to 1), seed (0 to 9223372036854775807), size=arxiv, size=products"},
        {"powerlaw:exponent=2", "a number from 2.1 to 5"},
        {"powerlaw:nodes=100,edges=1238",
         "edges=1238 is too many for nodes=100, expected at most 1237"},
        {"powerlaw:nodes=200,edges=400,classes=100", "three nodes per class"},
        {"sbm:nodes=50:order=size", "degree, rcm, community, parts, metis or random"},
        {"karate:order=rcm,colour=red", "accepted settings: none"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_load_fails(cases[i].name, NULL, PGCN_ERR_ARGUMENT, cases[i].says);
    pgcn_dataset_opts directed = pgcn_dataset_opts_default();
    directed.directed = true;
    assert_load_fails("karate", &directed, PGCN_ERR_ARGUMENT, "no directed edges");
}

static void test_builtin_names_can_be_listed_and_loaded(void **state) {
    (void)state;
    const char *summary, *name;
    int count = 0;
    for (; (name = pgcn_builtin_name(count, &summary)); count++) {
        assert_non_null(summary);
        pgcn_dataset_free(load(name, NULL));
    }
    assert_int_equal(count, 4);
    assert_null(pgcn_builtin_name(-1, NULL));
}

/* Settings, then steps; a name that a data set gives itself finds it again. */
static void test_builtin_takes_steps_behind_its_settings(void **state) {
    (void)state;
    static const char *const names[] = {"karate:order=rcm", "sbm:nodes=50:order=degree",
                                        "sbm:nodes=50:features=degrees,order=degree"};
    for (int i = 0; i < 3; i++) {
        pgcn_dataset *data = load(names[i], NULL), *again;
        assert_string_equal(data->name, names[i]);
        again = load(data->name, NULL);
        assert_string_equal(data->fingerprint, again->fingerprint);
        pgcn_dataset_free(data), pgcn_dataset_free(again);
    }
    pgcn_dataset *data = load("sbm:features=5", NULL); /* a setting of sbm, though a step too */
    assert_int_equal(pgcn_dataset_describe(data).features, 5);
    pgcn_dataset_free(data);
    data = load("sbm::features=identity", NULL);
    assert_int_equal(pgcn_dataset_describe(data).features, 1000);
    pgcn_dataset_free(data);
}

/* Features of 9 MB are hashed beside the building of the graph, smaller ones and those of verify after
 * it. A label that is wrong ends the loading while they are being hashed. */
static void test_fingerprint_of_large_features_is_the_same_in_a_thread_of_its_own(void **state) {
    (void)state;
    enum { NODES = 70000, FEATURES = 32 };
    pgcn_dataset *data = load("sbm:nodes=70000,degree=4", NULL), *bad = NULL;
    if (pgcn_dataset_verify(data) != PGCN_OK) fail_msg("%s", pgcn_last_error());
    int32_t *label = calloc(NODES, sizeof *label);
    uint8_t *mask = calloc(NODES, 1);
    assert_true(label && mask);
    label[NODES - 1] = -7;
    pgcn_dataset_arrays arrays = pgcn_dataset_arrays_default();
    arrays.graph = data->graph;
    arrays.n_features = FEATURES;
    arrays.features = data->x.dense;
    arrays.label = label;
    arrays.n_splits = 1;
    arrays.train = arrays.val = arrays.test = mask;
    assert_int_equal(pgcn_dataset_from_arrays(&arrays, &bad), PGCN_ERR_FORMAT);
    assert_error_says("node 69999 has label -7");
    assert_null(bad);
    free(label);
    free(mask);
    pgcn_dataset_free(data);
}

/* Computed apart, from the edge list and the byte layout. Another value means that models of older
 * versions no longer know their data. */
static void test_fingerprint_of_karate_never_changes(void **state) {
    (void)state;
    pgcn_dataset *data = load("karate", NULL);
    assert_string_equal(pgcn_dataset_describe(data).fingerprint,
                        "d9d8debaeb6c8eb18d76d966d3937f76816859865b5057ea469cabb83d28e27e");
    pgcn_dataset_free(data);
}

static void test_fingerprint_of_random_sets_follows_the_seed(void **state) {
    (void)state;
    pgcn_dataset *a = load("sbm", NULL), *b = load("sbm:seed=0", NULL),
                 *c = load("sbm:seed=1", NULL);
    assert_string_equal(a->fingerprint, b->fingerprint);
    assert_string_not_equal(a->fingerprint, c->fingerprint);
    pgcn_dataset_free(a), pgcn_dataset_free(b), pgcn_dataset_free(c);
}

static pgcn_status load_karate(void) {
    return load_and_free("karate");
}
static pgcn_status load_sbm(void) {
    return load_and_free("sbm:nodes=30,classes=2");
}
static pgcn_status load_grid(void) {
    return load_and_free("grid:rows=4,cols=4");
}

static pgcn_status load_powerlaw(void) {
    return load_and_free("powerlaw:nodes=100,edges=300,features=3");
}

static void test_builtin_every_failing_allocation_is_reported(void **state) {
    (void)state;
    assert_true(fail_every_allocation(load_powerlaw) > 10);
    assert_true(fail_every_allocation(load_karate) > 10);
    assert_true(fail_every_allocation(load_sbm) > 10);
    assert_true(fail_every_allocation(load_grid) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_karate_has_the_published_numbers),
        cmocka_unit_test(test_karate_splits_are_balanced_and_differ),
        cmocka_unit_test(test_sbm_features_alone_are_weak_and_the_graph_helps),
        cmocka_unit_test(test_sbm_has_the_properties_asked_for),
        cmocka_unit_test(test_sbm_pairs_of_a_class_are_equally_likely),
        cmocka_unit_test(test_grid_is_a_checkerboard),
        cmocka_unit_test(test_powerlaw_edges_go_with_the_nodes),
        cmocka_unit_test(test_powerlaw_has_the_properties_asked_for),
        cmocka_unit_test(test_powerlaw_tail_of_the_degrees_follows_the_exponent),
        cmocka_unit_test(test_powerlaw_numbers_are_in_random_order),
        cmocka_unit_test(test_powerlaw_local_edges_make_communities),
        cmocka_unit_test(test_powerlaw_features_alone_are_weak_and_the_graph_helps),
        cmocka_unit_test(test_powerlaw_can_be_learnt),
        cmocka_unit_test(test_powerlaw_extreme_settings_make_valid_graphs),
        cmocka_unit_test(test_builtin_wrong_setting_is_named_with_the_accepted_ones),
        cmocka_unit_test(test_builtin_names_can_be_listed_and_loaded),
        cmocka_unit_test(test_builtin_takes_steps_behind_its_settings),
        cmocka_unit_test(test_fingerprint_of_karate_never_changes),
        cmocka_unit_test(test_fingerprint_of_large_features_is_the_same_in_a_thread_of_its_own),
        cmocka_unit_test(test_fingerprint_of_random_sets_follows_the_seed),
        cmocka_unit_test(test_builtin_every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
