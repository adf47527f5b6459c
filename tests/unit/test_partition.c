/* Partitions of a graph: sizes to the node, weights within their tolerance, few edges between parts, the
 * same parts every time. METIS and the built-in one keep the same promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "every_kind_help.h"

#include "base/rng.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

static const pgcn_i_partitioner both[] = {PGCN_I_PARTS_BUILTIN, PGCN_I_PARTS_METIS};
/* of `both` that this build has */
static int makers(void) {
    return pgcn_i_has_metis() ? 2 : 1;
}

/* The partition, checked to have the promised sizes. */
static int32_t *divide(const pgcn_graph *graph, const int32_t *features, pgcn_i_parts parts,
                       pgcn_i_partitioner how, pgcn_i_part_quality *quality) {
    int32_t *part = malloc((size_t)graph->n * sizeof *part);
    int64_t *rows = calloc((size_t)parts.count, sizeof *rows);
    assert_true(part && rows);
    for (int64_t u = 0; u < graph->n; u++) part[u] = -7;
    assert_int_equal(pgcn_i_graph_partition(graph, features, parts, how, part), PGCN_OK);
    for (int64_t u = 0; u < graph->n; u++) {
        assert_in_range(part[u], 0, parts.count - 1);
        rows[part[u]]++;
    }
    for (int64_t p = 0; p < parts.count; p++)
        assert_int_equal(rows[p], pgcn_i_part_rows(parts, graph->n, p));
    assert_int_equal(pgcn_i_partition_measure(graph, features, parts.count, part, quality),
                     PGCN_OK);
    free(rows);
    return part;
}

/* Edges of pairs (from, to). */
static pgcn_graph *graph_of(int64_t n, int64_t m, const pgcn_node *from, const pgcn_node *to,
                            bool directed) {
    pgcn_graph *graph;
    pgcn_graph_opts opts = pgcn_graph_opts_default();
    opts.directed = directed;
    opts.keep_self_loops = true;
    assert_int_equal(pgcn_graph_from_edges(n, m, from, to, NULL, &opts, &graph), PGCN_OK);
    return graph;
}

/* ---- what is promised -------------------------------------------------------------------------- */

/* Cut shares of a random partition into 8 parts are 7/8; these are the shares that both makers beat. */
static void test_partition_cuts_far_fewer_edges_than_a_random_one(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double most[2]; /* of built-in and METIS */
    } cases[] = {{"sbm:nodes=2000,classes=8,homophily=0.9", {0.13, 0.13}},
                 {"grid:rows=60,cols=50", {0.13, 0.06}},
                 {"powerlaw:nodes=3000,edges=20000", {0.50, 0.42}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pgcn_dataset *data = load(cases[i].name, NULL);
        for (int how = 0; how < makers(); how++) {
            pgcn_i_part_quality quality;
            free(divide(data->graph, NULL, (pgcn_i_parts){8, 0}, both[how], &quality));
            print_message("%s by %d: cut %.3f, visits %.3f\n", cases[i].name, how,
                          quality.cut_share, quality.balance_visits);
            assert_true(quality.cut_share < cases[i].most[how]);
            assert_true(quality.balance_visits < 1.12);
        }
        pgcn_dataset_free(data);
    }
}

static void test_partition_random_parts_are_measured_as_such(void **state) {
    (void)state;
    pgcn_dataset *data = load("sbm:nodes=2000", NULL);
    int64_t n = data->graph->n;
    int32_t *part = malloc((size_t)n * sizeof *part), *ones = malloc((size_t)n * sizeof *ones);
    pgcn_i_part_quality quality;
    assert_true(part && ones);
    for (int64_t u = 0; u < n; u++) {
        uint32_t word[4];
        pgcn_i_rng_words(pgcn_i_rng_domain_of(1, PGCN_I_RNG_TEST, 0, 0, 0), (uint64_t)u, 0, word);
        part[u] = (int32_t)(word[0] % 8);
        ones[u] = part[u] == 3 ? 2 : 1;
    }
    assert_int_equal(pgcn_i_partition_measure(data->graph, ones, 8, part, &quality), PGCN_OK);
    assert_true(quality.cut_share > 0.85 && quality.cut_share < 0.90);
    assert_int_equal(quality.cut,
                     (int64_t)(quality.cut_share * (double)data->graph->entries + 0.5));
    assert_true(quality.largest > 250 && quality.smallest < 250);
    assert_true(quality.balance > 1 && quality.balance < 1.3);
    assert_true(quality.balance_features > 1.4 && quality.balance_features < 2);
    free(part), free(ones);
    pgcn_dataset_free(data);
}

/* Features that are heavy on one side of a grid: an equal number of nodes is no balance of them. */
static void test_partition_balances_features_and_visits(void **state) {
    (void)state;
    pgcn_dataset *data = load("grid:rows=60,cols=60", NULL);
    int64_t n = data->graph->n;
    int32_t *weight = malloc((size_t)n * sizeof *weight);
    assert_non_null(weight);
    for (int64_t u = 0; u < n; u++) weight[u] = u < n / 2 ? 18 : 10;
    for (int how = 0; how < makers(); how++) {
        pgcn_i_part_quality quality, plain;
        free(divide(data->graph, weight, (pgcn_i_parts){4, 0}, both[how], &quality));
        print_message("by %d: features %.3f, visits %.3f\n", how, quality.balance_features,
                      quality.balance_visits);
        assert_true(quality.balance_features < 1.12);
        assert_true(quality.balance_visits < 1.12);
        int32_t *part = divide(data->graph, NULL, (pgcn_i_parts){4, 0}, both[how], &plain);
        assert_int_equal(pgcn_i_partition_measure(data->graph, weight, 4, part, &plain), PGCN_OK);
        assert_true(plain.balance_features > 1.2); /* so the test can fail */
        free(part);
    }
    free(weight);
    pgcn_dataset_free(data);
}

/* ---- graphs that are not nice ------------------------------------------------------------------ */

static void test_partition_takes_every_graph_and_number_of_parts(void **state) {
    (void)state;
    static const pgcn_node from[] = {0, 1, 2, 4, 5, 6, 8, 8, 8, 8},
                           to[] = {1, 2, 0, 5, 6, 4, 9, 10, 11, 8};
    for (int directed = 0; directed < 2; directed++)
        for (int64_t edges = 0; edges <= 10; edges += 5) {
            pgcn_graph *graph = graph_of(16, edges, from, to, directed); /* some have no edge */
            for (int how = 0; how < makers(); how++)
                for (int64_t count = 1; count < 40; count++) {
                    pgcn_i_part_quality quality;
                    free(divide(graph, NULL, (pgcn_i_parts){count, 0}, both[how], &quality));
                    assert_true(count > 1 || quality.cut == 0);
                }
            pgcn_graph_free(graph);
        }
}

/* Triangles, and as many parts: no edge has to be cut. Isolated nodes fill what is left. */
static void test_partition_keeps_components_whole(void **state) {
    (void)state;
    enum { TRIANGLES = 12, ALONE = 12, N = 3 * TRIANGLES + ALONE };
    pgcn_node from[3 * TRIANGLES], to[3 * TRIANGLES];
    for (int t = 0; t < TRIANGLES; t++)
        for (int k = 0; k < 3; k++) {
            from[3 * t + k] = (pgcn_node)(t + k * TRIANGLES); /* far apart by number */
            to[3 * t + k] = (pgcn_node)(t + (k + 1) % 3 * TRIANGLES);
        }
    for (int directed = 0; directed < 2; directed++) {
        pgcn_graph *graph = graph_of(N, 3 * TRIANGLES, from, to, directed);
        for (int how = 0; how < makers(); how++) {
            pgcn_i_part_quality quality;
            free(divide(graph, NULL, (pgcn_i_parts){4, 0}, both[how], &quality));
            assert_int_equal(quality.cut, 0);
        }
        pgcn_graph_free(graph);
    }
}

/* Stars whose arcs leave the hub: whoever follows outgoing arcs only does not know where a leaf belongs. */
static void test_partition_looks_at_arcs_both_ways(void **state) {
    (void)state;
    enum { LEAVES = 30, HUBS = 8, N = HUBS * (LEAVES + 1) };
    pgcn_node from[N], to[N];
    int64_t m = 0;
    for (int h = 0; h < HUBS; h++)
        for (int k = 0; k < LEAVES; k++) { /* a leaf has no arc that leaves it */
            from[m] = (pgcn_node)h;
            to[m++] = (pgcn_node)(h + (k + 1) * HUBS);
        }
    pgcn_graph *graph = graph_of(N, m, from, to, true);
    for (int how = 0; how < makers(); how++) {
        pgcn_i_part_quality quality;
        free(divide(graph, NULL, (pgcn_i_parts){HUBS, 0}, both[how], &quality));
        assert_true(quality.cut_share < 0.05);
    }
    pgcn_graph_free(graph);
}

static void test_partition_parts_of_groups_are_the_groups(void **state) {
    (void)state;
    static const int64_t most[] = {1, 2, 7, 32, 4096};
    pgcn_dataset *data = load("powerlaw:nodes=1000,edges=5000", NULL);
    for (size_t i = 0; i < sizeof most / sizeof *most; i++)
        for (int how = 0; how < makers(); how++) {
            pgcn_i_blocks groups = pgcn_i_groups_of(1000, most[i]);
            pgcn_i_part_quality quality;
            pgcn_node order[1000];
            int32_t *part = divide(data->graph, NULL, pgcn_i_parts_of_groups(1000, most[i]),
                                   both[how], &quality);
            assert_int_equal(pgcn_i_partition_order(1000, groups.count, part, NULL, order),
                             PGCN_OK);
            for (int64_t g = 0; g < groups.count; g++)
                for (int64_t u = pgcn_i_block_begin(groups, g); u < pgcn_i_block_end(groups, g);
                     u++) {
                    assert_int_equal(part[order[u]], g);
                    assert_true(u == pgcn_i_block_begin(groups, g) || order[u - 1] < order[u]);
                }
            free(part);
        }
    pgcn_dataset_free(data);
}

static void test_partition_order_keeps_another_order_inside_parts(void **state) {
    (void)state;
    static const int32_t part[] = {1, 0, 1, 0, 2};
    static const pgcn_node within[] = {4, 3, 2, 1, 0}, expected[] = {3, 1, 2, 0, 4};
    pgcn_node order[5];
    assert_int_equal(pgcn_i_partition_order(5, 3, part, within, order), PGCN_OK);
    assert_memory_equal(order, expected, sizeof order);
}

/* ---- the same every time ------------------------------------------------------------------------ */

typedef struct job {
    const pgcn_graph *graph;
    pgcn_i_partitioner how;
    int32_t *part;
    pgcn_status status;
} job;

static void *run_job(void *context) {
    job *j = context;
    j->status = pgcn_i_graph_partition(j->graph, NULL, (pgcn_i_parts){16, 0}, j->how, j->part);
    return NULL;
}

/* In several threads at once too, and whatever was drawn from rand() before. */
static void test_partition_is_the_same_in_any_thread(void **state) {
    (void)state;
    enum { THREADS = 4 };
    pgcn_dataset *data = load("powerlaw:nodes=3000,edges=20000", NULL);
    size_t bytes = 3000 * sizeof(int32_t);
    for (int how = 0; how < makers(); how++) {
        pgcn_i_part_quality quality;
        job jobs[THREADS];
        pthread_t thread[THREADS];
        srand(1);
        int32_t *first = divide(data->graph, NULL, (pgcn_i_parts){16, 0}, both[how], &quality);
        srand(77);
        for (int t = 0; t < THREADS; t++) {
            jobs[t] = (job){data->graph, both[how], malloc(bytes), PGCN_ERR_SYSTEM};
            assert_int_equal(pthread_create(&thread[t], NULL, run_job, &jobs[t]), 0);
        }
        for (int t = 0; t < THREADS; t++) {
            pthread_join(thread[t], NULL);
            assert_int_equal(jobs[t].status, PGCN_OK);
            assert_memory_equal(jobs[t].part, first, bytes);
            free(jobs[t].part);
        }
        free(first);
    }
    pgcn_dataset_free(data);
}

static void test_partition_leaves_the_random_numbers_of_the_caller_alone(void **state) {
    (void)state;
    pgcn_dataset *data = load("karate", NULL);
    for (int how = 0; how < makers(); how++) {
        pgcn_i_part_quality quality;
        srand(5);
        int expected[2] = {rand(), rand()};
        srand(5);
        assert_int_equal(rand(), expected[0]);
        free(divide(data->graph, NULL, (pgcn_i_parts){4, 0}, both[how], &quality));
        assert_int_equal(rand(), expected[1]);
    }
    pgcn_dataset_free(data);
}

/* ---- long work ----------------------------------------------------------------------------------- */

typedef struct told {
    const char *stop_at; /* the first letters of what is being done; NULL: it is not stopped */
    int times;
    bool out_of_range;
} told;

static bool on_work(const char *what, double share, void *context) {
    told *t = context;
    t->times++;
    t->out_of_range |= share < 0 || share > 1;
    return !t->stop_at || strncmp(what, t->stop_at, strlen(t->stop_at)) != 0;
}

static pgcn_status divide_watched(const pgcn_graph *graph, pgcn_i_partitioner how, told *t) {
    int32_t *part = malloc((size_t)graph->n * sizeof *part);
    assert_non_null(part);
    pgcn_on_work(on_work, t);
    pgcn_status status = pgcn_i_graph_partition(graph, NULL, (pgcn_i_parts){16, 0}, how, part);
    pgcn_on_work(NULL, NULL);
    free(part);
    return status;
}

/* Every part of the work can be stopped, says so, and leaves nothing behind: the next partition is the same. */
static void test_partition_tells_how_far_it_is_and_can_be_stopped(void **state) {
    (void)state;
    pgcn_dataset *data = load("powerlaw:nodes=3000,edges=20000", NULL);
    static const char *const stages[] = {"dividing", "moving", "making"};
    for (int how = 0; how < makers(); how++) {
        for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
            told t = {.stop_at = stages[i]};
            assert_int_equal(divide_watched(data->graph, both[how], &t), PGCN_ERR_STOPPED);
            assert_non_null(strstr(pgcn_last_error(), stages[i]));
        }
        told t = {.stop_at = NULL};
        assert_int_equal(divide_watched(data->graph, both[how], &t), PGCN_OK);
        assert_true(t.times >= 3);
        assert_false(t.out_of_range);
    }
    pgcn_dataset_free(data);
}

typedef struct late {
    int left; /* calls until it is stopped */
    struct timespec stopped;
} late;

static bool stop_later(const char *what, double share, void *context) {
    (void)what, (void)share;
    late *l = context;
    if (l->left-- > 0) return true;
    if (l->left == -1) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &l->stopped);
    return false;
}

/* METIS knows nothing of a stop: it is ended in the middle, and works again afterwards. */
static void test_partition_ends_metis_in_the_middle(void **state) {
    (void)state;
    if (!pgcn_i_has_metis()) skip();
    pgcn_dataset *data = load("powerlaw:nodes=150000,edges=1500000,features=1,classes=2", NULL);
    int32_t *part = malloc((size_t)data->graph->n * sizeof *part);
    late l = {.left = 2}; /* the first is told before METIS begins */
    struct timespec end;
    pgcn_on_work(stop_later, &l);
    pgcn_status status =
        pgcn_i_graph_partition(data->graph, NULL, (pgcn_i_parts){64, 0}, PGCN_I_PARTS_METIS, part);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    pgcn_on_work(NULL, NULL);
    assert_int_equal(status, PGCN_ERR_STOPPED);
    assert_non_null(strstr(pgcn_last_error(), "stopped while dividing the graph by METIS"));
    double seconds =
        (double)(end.tv_sec - l.stopped.tv_sec) + 1e-9 * (double)(end.tv_nsec - l.stopped.tv_nsec);
    assert_true(seconds < 0.5); /* of processor time; all of it would take more than a second */
    pgcn_dataset_free(data);
    free(part);
    data = load("karate", NULL);
    pgcn_i_part_quality quality;
    free(divide(data->graph, NULL, (pgcn_i_parts){2, 0}, PGCN_I_PARTS_METIS, &quality));
    pgcn_dataset_free(data);
}

/* ---- what cannot be ------------------------------------------------------------------------------ */

static void test_partition_metis_is_there_or_says_how_to_get_it(void **state) {
    (void)state;
    pgcn_dataset *data = load("karate", NULL);
    int32_t part[34];
    pgcn_status status =
        pgcn_i_graph_partition(data->graph, NULL, (pgcn_i_parts){2, 0}, PGCN_I_PARTS_METIS, part);
    if (pgcn_i_has_metis()) {
        pgcn_dataset_free(data);
        assert_int_equal(status, PGCN_OK);
        return;
    }
    assert_int_equal(status, PGCN_ERR_ARGUMENT);
    assert_non_null(strstr(pgcn_last_error(), "libmetis-dev"));
    pgcn_dataset_free(data);
    print_message("skipped: this build has no METIS, its partitions are not tested\n");
    skip();
}

static void test_partition_refuses_sizes_that_do_not_fit(void **state) {
    (void)state;
    pgcn_dataset *data = load("karate", NULL);
    int32_t part[34];
    static const pgcn_i_parts wrong[] = {{0, 0}, {-1, 0}, {3, 20}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(
            pgcn_i_graph_partition(data->graph, NULL, wrong[i], PGCN_I_PARTS_BUILTIN, part),
            PGCN_ERR_ARGUMENT);
        assert_non_null(strstr(pgcn_last_error(), "34 nodes cannot be divided"));
    }
    pgcn_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_partition_cuts_far_fewer_edges_than_a_random_one),
        cmocka_unit_test(test_partition_random_parts_are_measured_as_such),
        cmocka_unit_test(test_partition_balances_features_and_visits),
        cmocka_unit_test(test_partition_takes_every_graph_and_number_of_parts),
        cmocka_unit_test(test_partition_keeps_components_whole),
        cmocka_unit_test(test_partition_looks_at_arcs_both_ways),
        cmocka_unit_test(test_partition_parts_of_groups_are_the_groups),
        cmocka_unit_test(test_partition_order_keeps_another_order_inside_parts),
        cmocka_unit_test(test_partition_is_the_same_in_any_thread),
        cmocka_unit_test(test_partition_leaves_the_random_numbers_of_the_caller_alone),
        cmocka_unit_test(test_partition_tells_how_far_it_is_and_can_be_stopped),
        cmocka_unit_test(test_partition_ends_metis_in_the_middle),
        cmocka_unit_test(test_partition_metis_is_there_or_says_how_to_get_it),
        cmocka_unit_test(test_partition_refuses_sizes_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
