/* Orders of the nodes: what each of them promises, and the step `order`, which moves every array of
 * a data set and keeps the numbers that people know. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "every_kind_help.h"

#include "base/rng.h"

/* ---- graphs -------------------------------------------------------------------------------- */

/* Edges between the nodes of a hidden order; the graph has them under shuffled numbers. */
typedef struct hidden {
    int64_t n;
    pgcn_node *place; /* [n] of a node in the hidden order */
    pgcn_graph *graph;
} hidden;

static hidden hide(int64_t n, int64_t m, const pgcn_node (*edge)[2], bool directed, bool weighted) {
    pgcn_node *number = malloc((size_t)n * sizeof *number);
    pgcn_node *from = malloc((size_t)m * sizeof *from), *to = malloc((size_t)m * sizeof *to);
    float *weight = malloc((size_t)m * sizeof *weight);
    hidden h = {.n = n, .place = malloc((size_t)n * sizeof *h.place)};
    assert_true(number && from && to && weight && h.place);
    pgcn_i_shuffle(pgcn_i_rng_domain_of(3, PGCN_I_RNG_TEST, 0, 0, 0), n, number);
    for (int64_t i = 0; i < n; i++) h.place[number[i]] = (pgcn_node)i;
    for (int64_t e = 0; e < m; e++) {
        from[e] = number[edge[e][0]];
        to[e] = number[edge[e][1]];
        weight[e] = (float)(e + 1);
    }
    pgcn_graph_opts opts = pgcn_graph_opts_default();
    opts.directed = directed;
    opts.keep_self_loops = true;
    assert_int_equal(
        pgcn_graph_from_edges(n, m, from, to, weighted ? weight : NULL, &opts, &h.graph), PGCN_OK);
    free(number), free(from), free(to), free(weight);
    return h;
}

static void hidden_free(hidden *h) {
    free(h->place);
    pgcn_graph_free(h->graph);
}

static hidden random_edges(int64_t n, int64_t m, bool directed, bool weighted) {
    pgcn_node(*edge)[2] = malloc((size_t)m * sizeof *edge);
    assert_non_null(edge);
    pgcn_i_stream stream = pgcn_i_stream_of(pgcn_i_rng_domain_of(4, PGCN_I_RNG_TEST, 0, 0, 0), 0);
    for (int64_t e = 0; e < m; e++)
        for (int k = 0; k < 2; k++) /* the product of two numbers: small ones are hubs */
            edge[e][k] = (pgcn_node)((uint64_t)pgcn_i_bounded(&stream, (uint32_t)n) *
                                     pgcn_i_bounded(&stream, (uint32_t)n) / (uint64_t)n);
    hidden h = hide(n, m, (const pgcn_node(*)[2])edge, directed, weighted);
    free(edge);
    return h;
}

/* The order, checked to hold every node once. */
static pgcn_node *order_of(const pgcn_graph *graph, pgcn_i_order kind) {
    pgcn_node *order = malloc((size_t)graph->n * sizeof *order);
    uint8_t *seen = calloc((size_t)graph->n, 1);
    assert_true(order && seen);
    assert_int_equal(pgcn_i_graph_order(graph, kind, order), PGCN_OK);
    for (int64_t i = 0; i < graph->n; i++) {
        assert_in_range(order[i], 0, graph->n - 1);
        assert_false(seen[order[i]]++);
    }
    free(seen);
    return order;
}

static void invert(const pgcn_node *order, int64_t n, pgcn_node *number) {
    for (int64_t i = 0; i < n; i++) number[order[i]] = (pgcn_node)i;
}

static void test_order_every_kind_holds_every_node_once_and_is_repeatable(void **state) {
    (void)state;
    for (int directed = 0; directed < 2; directed++) {
        hidden h = random_edges(300, 700, directed, false); /* some nodes have no edge */
        for (int kind = PGCN_I_ORDER_DEGREE; kind <= PGCN_I_ORDER_COMMUNITY; kind++) {
            pgcn_node *a = order_of(h.graph, (pgcn_i_order)kind);
            pgcn_node *b = order_of(h.graph, (pgcn_i_order)kind);
            assert_memory_equal(a, b, (size_t)h.n * sizeof *a);
            free(a), free(b);
        }
        hidden_free(&h);
    }
    hidden one = hide(1, 0, NULL, false, false);
    for (int kind = PGCN_I_ORDER_DEGREE; kind <= PGCN_I_ORDER_COMMUNITY; kind++)
        free(order_of(one.graph, (pgcn_i_order)kind));
    hidden_free(&one);
}

static void test_order_degree_puts_hubs_first(void **state) {
    (void)state;
    hidden h = random_edges(300, 2000, false, false);
    pgcn_node *order = order_of(h.graph, PGCN_I_ORDER_DEGREE);
    const int64_t *offset = h.graph->offset;
    for (int64_t i = 1; i < h.n; i++)
        assert_true(offset[order[i - 1] + 1] - offset[order[i - 1]] >=
                    offset[order[i] + 1] - offset[order[i]]);
    free(order);
    hidden_free(&h);
}

/* The largest distance of two neighbours. */
static int64_t bandwidth(const pgcn_graph *graph, const pgcn_node *order) {
    int64_t most = 0;
    pgcn_node *number = malloc((size_t)graph->n * sizeof *number);
    assert_non_null(number);
    invert(order, graph->n, number);
    for (int64_t u = 0; u < graph->n; u++)
        for (int64_t e = graph->offset[u]; e < graph->offset[u + 1]; e++) {
            int64_t distance = number[u] - number[graph->neighbour[e]];
            if (distance > most) most = distance;
        }
    free(number);
    return most;
}

static void test_order_rcm_makes_a_grid_narrow(void **state) {
    (void)state;
    enum { ROWS = 12, COLS = 50, N = ROWS * COLS };
    static pgcn_node edge[2 * N][2];
    int64_t m = 0;
    for (pgcn_node i = 0; i < N; i++) {
        if (i % COLS + 1 < COLS) edge[m][0] = i, edge[m++][1] = i + 1;
        if (i / COLS + 1 < ROWS) edge[m][0] = i, edge[m++][1] = i + COLS;
    }
    hidden h = hide(N, m, (const pgcn_node(*)[2])edge, false, false);
    pgcn_node *order = order_of(h.graph, PGCN_I_ORDER_RCM);
    assert_true(bandwidth(h.graph, order) <= ROWS + 1); /* layers are the diagonals */
    pgcn_node *shuffled = order_of(h.graph, PGCN_I_ORDER_DEGREE);
    assert_true(bandwidth(h.graph, shuffled) > 10 * ROWS); /* so the test can fail */
    free(order), free(shuffled);
    hidden_free(&h);
}

/* Cliques of ten, each tied to the next by two edges. One may join another before that is complete
 * and then stands in the midst of it: a few more changes than cliques. */
static void test_order_community_keeps_cliques_together(void **state) {
    (void)state;
    enum { CLIQUES = 40, SIZE = 10, N = CLIQUES * SIZE };
    static pgcn_node edge[CLIQUES * (SIZE * SIZE + 2)][2];
    int64_t m = 0;
    for (pgcn_node c = 0; c < CLIQUES; c++) {
        for (pgcn_node a = 0; a < SIZE; a++)
            for (pgcn_node b = 0; b < a; b++)
                edge[m][0] = c * SIZE + a, edge[m++][1] = c * SIZE + b;
        for (pgcn_node a = 0; a < 2; a++)
            edge[m][0] = c * SIZE + a, edge[m++][1] = (c * SIZE + SIZE + a + 5) % N;
    }
    hidden h = hide(N, m, (const pgcn_node(*)[2])edge, false, false);
    pgcn_node *order = order_of(h.graph, PGCN_I_ORDER_COMMUNITY);
    int64_t changes = 0;
    for (int64_t i = 1; i < N; i++)
        changes += h.place[order[i]] / SIZE != h.place[order[i - 1]] / SIZE;
    assert_in_range(changes, CLIQUES - 1, CLIQUES * 5 / 4); /* at random: about 360 */
    free(order);
    hidden_free(&h);
}

static void test_renumber_keeps_edges_and_weights_and_comes_back(void **state) {
    (void)state;
    for (int directed = 0; directed < 2; directed++) {
        hidden h = random_edges(200, 600, directed, true);
        pgcn_node *order = order_of(h.graph, PGCN_I_ORDER_DEGREE);
        pgcn_node *number = malloc((size_t)h.n * sizeof *number);
        pgcn_graph *moved, *back;
        assert_non_null(number);
        invert(order, h.n, number);
        assert_int_equal(pgcn_i_graph_renumber(h.graph, order, number, &moved), PGCN_OK);
        if (pgcn_i_graph_check(moved) != PGCN_OK) fail_msg("%s", pgcn_last_error());
        assert_int_equal(moved->entries, h.graph->entries);
        for (int64_t u = 0; u < h.n; u++) /* every arc is there under its new numbers */
            for (int64_t e = h.graph->offset[u]; e < h.graph->offset[u + 1]; e++) {
                int64_t at = moved->offset[number[u]], end = moved->offset[number[u] + 1];
                while (at < end && moved->neighbour[at] != number[h.graph->neighbour[e]]) at++;
                assert_true(at < end);
                assert_true(moved->weight[at] == h.graph->weight[e]);
            }
        assert_int_equal(pgcn_i_graph_renumber(moved, number, order, &back), PGCN_OK);
        assert_same_array(back->offset, h.graph->offset, (h.n + 1) * 8);
        assert_same_array(back->neighbour, h.graph->neighbour, back->entries * 4);
        assert_same_array(back->weight, h.graph->weight, back->entries * 4);
        pgcn_graph_free(moved), pgcn_graph_free(back);
        free(order), free(number);
        hidden_free(&h);
    }
}

/* ---- the step ------------------------------------------------------------------------------ */

static void assert_same_row(const void *a, int64_t row_a, const void *b, int64_t row_b,
                            int64_t bytes) {
    assert_int_equal(a == NULL, b == NULL);
    if (a)
        assert_memory_equal((const char *)a + row_a * bytes, (const char *)b + row_b * bytes,
                            (size_t)bytes);
}

/* Row i of `moved` is node number[i] of `plain`, in every array. */
static void assert_moved_together(const pgcn_dataset *plain, const pgcn_dataset *moved) {
    const pgcn_node *number, *row;
    assert_true(pgcn_dataset_order(moved, &number, &row));
    int64_t n = plain->graph->n, out_of_place = 0;
    assert_int_equal(moved->graph->n, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t was = number[i];
        out_of_place += was != i;
        assert_int_equal(row[was], i);
        assert_same_row(plain->label, was, moved->label, i, 4);
        assert_same_row(plain->from.labels, was, moved->from.labels, i, plain->classes);
        assert_same_row(plain->from.label_known, was, moved->from.label_known, i, 1);
        assert_same_row(plain->from.graph_of, was, moved->from.graph_of, i, 4);
        assert_same_row(plain->x.dense, was, moved->x.dense, i, plain->x.columns * 4);
        if (plain->x.offset) {
            int64_t a = plain->x.offset[was], b = moved->x.offset[i];
            int64_t entries = plain->x.offset[was + 1] - a;
            assert_int_equal(moved->x.offset[i + 1] - b, entries);
            assert_memory_equal(plain->x.column + a, moved->x.column + b, (size_t)entries * 4);
            assert_memory_equal(plain->x.value + a, moved->x.value + b, (size_t)entries * 4);
        }
        for (int s = 0; s < plain->splits; s++) {
            assert_int_equal(plain->split[s].train[was], moved->split[s].train[i]);
            assert_int_equal(plain->split[s].val[was], moved->split[s].val[i]);
            assert_int_equal(plain->split[s].test[was], moved->split[s].test[i]);
        }
        assert_int_equal(plain->graph->offset[was + 1] - plain->graph->offset[was],
                         moved->graph->offset[i + 1] - moved->graph->offset[i]);
        if (plain->from.node_id.count > 0)
            assert_string_equal(pgcn_dataset_node_id(plain, was), pgcn_dataset_node_id(moved, i));
        else
            assert_null(pgcn_dataset_node_id(moved, i));
    }
    assert_true(out_of_place > n / 2); /* or nothing was tested */
}

static const char *with_steps(const char *path, const char *steps) {
    static char name[PGCN_I_PATH_BYTES];
    snprintf(name, sizeof name, "%s:%s", path, steps);
    return name;
}

static void test_order_step_moves_every_kind_and_files_bring_it_back(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        pgcn_dataset *made = every_kind(kind);
        assert_int_equal(pgcn_dataset_save(made, scratch_path("a.pgcn")), PGCN_OK);
        pgcn_dataset_free(made);
        pgcn_dataset *plain = load(scratch_path("a.pgcn"), NULL);
        assert_false(pgcn_dataset_order(plain, NULL, NULL));
        const char *ordered = with_steps(scratch_path("a.pgcn"), "order=random");
        if (kind == KIND_GRAPHS) {
            assert_load_fails(ordered, NULL, PGCN_ERR_ARGUMENT, "classes of graphs");
            pgcn_dataset_free(plain);
            continue;
        }
        pgcn_dataset *moved = load(ordered, NULL);
        assert_moved_together(plain, moved);
        assert_non_null(strstr(moved->name, ":order=random"));
        assert_non_null(strstr(pgcn_dataset_describe(moved).steps, "order=random"));

        /* the container keeps the order, and the numbers beside it */
        assert_int_equal(pgcn_dataset_save(moved, scratch_path("b.pgcn")), PGCN_OK);
        pgcn_dataset *back = load(scratch_path("b.pgcn"), NULL);
        assert_same_dataset(moved, back);
        assert_moved_together(plain, back);
        if (pgcn_dataset_verify(back) != PGCN_OK) fail_msg("%s", pgcn_last_error());

        /* others know nodes by their numbers */
        for (int i = 0; i < 2; i++) {
            assert_int_equal(pgcn_dataset_save_npz(i ? back : moved, scratch_path("c.npz")),
                             PGCN_OK);
            pgcn_dataset *npz = load(scratch_path("c.npz"), NULL);
            assert_same_dataset(plain, npz);
            assert_false(pgcn_dataset_order(npz, NULL, NULL));
            pgcn_dataset_free(npz);
        }
        assert_load_fails(with_steps(scratch_path("b.pgcn"), "features=degrees"), NULL,
                          PGCN_ERR_ARGUMENT, "in another order");
        pgcn_dataset_free(plain), pgcn_dataset_free(moved), pgcn_dataset_free(back);
    }
}

/* Columns of identity and splits go by the numbers, not by the rows. */
static void test_order_is_the_last_step_whatever_its_place(void **state) {
    (void)state;
    static const char *const steps = "features=identity+degrees,stratified=50/25/25,splits=2";
    char name[256];
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, i ? "karate:%s,order=rcm" : "karate:order=rcm,%s", steps);
        pgcn_dataset *moved = load(name, NULL);
        snprintf(name, sizeof name, "karate:%s", steps);
        pgcn_dataset *plain = load(name, NULL);
        assert_moved_together(plain, moved);
        assert_string_not_equal(plain->fingerprint, moved->fingerprint);
        pgcn_dataset_free(plain), pgcn_dataset_free(moved);
    }
}

static void test_order_of_a_component_keeps_names(void **state) {
    (void)state;
    pgcn_dataset *plain = load("sbm:nodes=60,degree=2:largest-component", NULL);
    pgcn_dataset *moved = load("sbm:nodes=60,degree=2:largest-component,order=community", NULL);
    assert_true(plain->graph->n < 60);
    assert_moved_together(plain, moved);
    pgcn_dataset_free(plain), pgcn_dataset_free(moved);
}

/* A group of nodes is a part, in a file too, and ids and results are those of the data. */
static void test_order_by_parts_makes_groups_of_parts(void **state) {
    (void)state;
    static const char *const steps[] = {"order=parts,groups=8", "order=metis,groups=8"};
    pgcn_dataset *plain = load("grid:rows=32,cols=32", NULL), *moved, *again;
    pgcn_parts before, after;
    assert_int_equal(pgcn_dataset_prepare(plain, "groups=8,order=random", &moved), PGCN_OK);
    assert_int_equal(pgcn_dataset_parts(moved, &before), PGCN_OK);
    assert_int_equal(before.parts, 8);
    assert_true(before.cut_share > 0.8);
    pgcn_dataset_free(moved);
    for (int i = 0; i < 2; i++) {
        if (i == 1 && !pgcn_i_has_metis()) {
            assert_int_equal(pgcn_dataset_prepare(plain, steps[i], &moved), PGCN_ERR_ARGUMENT);
            assert_error_says("libmetis-dev");
            continue;
        }
        assert_int_equal(pgcn_dataset_prepare(plain, steps[i], &moved), PGCN_OK);
        assert_moved_together(plain, moved);
        assert_int_equal(pgcn_dataset_parts(moved, &after), PGCN_OK);
        assert_true(after.parts == 8 && after.rows == 128);
        assert_true(after.cut_share < 0.25);
        assert_true(after.visits_share < 1.12 && after.features_share < 1.01);
        assert_int_equal(pgcn_dataset_save(moved, scratch_path("a.pgcn")), PGCN_OK);
        assert_int_equal(pgcn_dataset_load(scratch_path("a.pgcn"), NULL, &again), PGCN_OK);
        assert_string_equal(again->fingerprint, moved->fingerprint);
        assert_int_equal(pgcn_dataset_parts(again, &before), PGCN_OK);
        assert_memory_equal(&before, &after, sizeof before);
        pgcn_dataset_free(moved), pgcn_dataset_free(again);
    }
    pgcn_dataset_free(plain);
}

static void test_container_wrong_numbers_are_refused(void **state) {
    (void)state;
    pgcn_dataset *moved = load("karate:order=rcm", NULL), *bad = NULL;
    static const pgcn_node wrong[] = {-1, 34, 0};
    for (int i = 0; i < 3; i++) {
        pgcn_node number[34];
        memcpy(number, moved->from.number, sizeof number);
        number[number[5] == 0 ? 6 : 5] = wrong[i]; /* 0 is then there twice */
        const pgcn_node *kept = moved->from.number;
        moved->from.number = number;
        assert_int_equal(pgcn_dataset_save(moved, scratch_path("a.pgcn")), PGCN_OK);
        moved->from.number = kept;
        assert_int_equal(pgcn_dataset_load(scratch_path("a.pgcn"), NULL, &bad), PGCN_ERR_FORMAT);
        assert_error_says("every number from 0 to 33 once");
    }
    pgcn_dataset_free(moved);
}

static pgcn_status order_all(void) {
    static const char *const names[] = {"karate:order=degree", "karate:order=rcm",
                                        "karate:order=community", "karate:order=random",
                                        "sbm:nodes=200:order=parts,groups=3"};
    for (int i = 0; i < 5; i++) PGCN_TRY(load_and_free(names[i]));
    return PGCN_OK;
}

static pgcn_dataset *ordered;
static pgcn_status save_ordered(void) {
    return pgcn_dataset_save_npz(ordered, scratch_path("a.npz"));
}

static void test_order_every_failing_allocation_is_reported(void **state) {
    (void)state;
    assert_true(fail_every_allocation(order_all) > 100);
    ordered = load("karate:order=rcm", NULL);
    assert_true(fail_every_allocation(save_ordered) > 10);
    pgcn_dataset_free(ordered);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_every_kind_holds_every_node_once_and_is_repeatable),
        cmocka_unit_test(test_order_degree_puts_hubs_first),
        cmocka_unit_test(test_order_rcm_makes_a_grid_narrow),
        cmocka_unit_test(test_order_community_keeps_cliques_together),
        cmocka_unit_test(test_renumber_keeps_edges_and_weights_and_comes_back),
        TEST(test_order_step_moves_every_kind_and_files_bring_it_back),
        cmocka_unit_test(test_order_is_the_last_step_whatever_its_place),
        cmocka_unit_test(test_order_of_a_component_keeps_names),
        TEST(test_order_by_parts_makes_groups_of_parts),
        TEST(test_container_wrong_numbers_are_refused),
        TEST(test_order_every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
