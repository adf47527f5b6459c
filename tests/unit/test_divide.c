/* Visit lists that are divided among ranks: each has its own rows of the lists that one process would have, to the bit,
 * with the rows of others by numbers, or, where nearly all are visited, as they are. */
#include "ranks_help.h"
#include "sampling_help.h"

typedef struct lists {
    pgcn_graph *graph;
    pgcn_i_walker walker;
    pgcn_i_visits *visits;
    float *degree;
} lists;

/* What the ranks of a test draw. */
static struct {
    int64_t nodes, edges, groups;
    int samples, threads;
    bool scaled, whole; /* whole: nearly all rows of others are visited */
} wanted;

static lists make(void) {
    lists l = {.graph = random_graph(wanted.nodes, wanted.edges, false, false, false, 5)};
    pgcn_paths_opts opts = pgcn_paths_opts_default();
    opts.paths = 4;
    opts.length = 4;
    CHECK(pgcn_i_walker_init(&l.walker, l.graph, &opts) == PGCN_OK);
    CHECK(pgcn_i_visits_new(&l.walker, NULL, wanted.samples, true, &l.visits) == PGCN_OK);
    l.degree = calloc((size_t)wanted.nodes, sizeof *l.degree);
    for (int64_t u = 0; u < wanted.nodes; u++) l.degree[u] = 1 + (float)(u % 13);
    return l;
}

static void draw(const lists *l, pgcn_i_pool *pool, int64_t step) {
    pgcn_i_visits_sample(l->visits, &l->walker, pool,
                         (pgcn_i_path_draw){8, PGCN_I_RNG_WALK, step, 0},
                         wanted.scaled ? l->degree : NULL);
}

static void unmake(lists *l) {
    pgcn_i_visits_free(l->visits);
    pgcn_i_walker_free(&l->walker);
    pgcn_graph_free(l->graph);
    free(l->degree);
}

/* Every number is a row of another rank, in order; and all of them are used. */
static void check_others(const pgcn_i_others *others, const pgcn_i_division *division,
                         const uint8_t *used) {
    const pgcn_i_comm *comm = division->comm;
    CHECK(others->from == wanted.nodes * wanted.samples);
    CHECK(others->first[0] == 0 && others->first[comm->size] == others->count);
    for (int r = 0; r < comm->size; r++)
        for (int64_t i = others->first[r]; i < others->first[r + 1]; i++) {
            int64_t node = others->row[i] % wanted.nodes;
            CHECK(r != comm->rank && node >= division->begin[r] && node < division->begin[r + 1]);
            CHECK(i == others->first[r] || others->row[i] > others->row[i - 1]);
            CHECK(used[i]);
        }
}

static void check_list(const pgcn_i_csr *mine, const pgcn_i_csr *whole, const pgcn_i_others *others,
                       pgcn_i_range own, uint8_t *used) {
    for (int64_t s = 0; s < wanted.samples; s++)
        for (int64_t row = s * wanted.nodes + own.begin; row < s * wanted.nodes + own.end; row++) {
            int64_t e = mine->offset[row], of_all = whole->offset[row];
            CHECK(mine->offset[row + 1] - e == whole->offset[row + 1] - of_all);
            for (; e < mine->offset[row + 1]; e++, of_all++) {
                int64_t column = mine->column[e], node = whole->column[of_all] % wanted.nodes;
                CHECK(wanted.whole ||
                      (column < others->from) == (node >= own.begin && node < own.end));
                CHECK(pgcn_i_others_row(pgcn_i_numbered(others), column) == whole->column[of_all]);
                CHECK(memcmp(&mine->value[e], &whole->value[of_all], sizeof(float)) == 0);
                if (!wanted.whole && column >= others->from) used[column - others->from] = 1;
            }
        }
}

static void divided_work(pgcn_i_comm *comm) {
    int64_t begin[MOST + 1];
    const pgcn_i_blocks groups = pgcn_i_groups_of(wanted.nodes, wanted.groups);
    for (int r = 0; r < comm->size; r++)
        begin[r] = pgcn_i_groups_share(groups, &(pgcn_i_comm){.rank = r, .size = comm->size}).begin;
    begin[comm->size] = wanted.nodes;
    const pgcn_i_division division = {comm, begin};
    const pgcn_i_range own = pgcn_i_division_own(&division);
    lists whole = make(), mine = make();
    comm->patience = 30; /* if another has found a mistake */
    pgcn_i_pool *pool = NULL;
    CHECK(pgcn_i_pool_new(wanted.threads, &pool) == PGCN_OK);
    CHECK(pgcn_i_visits_divide(mine.visits, &division) == PGCN_OK);
    for (int64_t step = 0; step < 2; step++) { /* nothing is left of the draw before */
        draw(&whole, pool, step);
        draw(&mine, pool, step);
        CHECK(pgcn_i_comm_status(comm) == PGCN_OK);
        for (int turned = 0; turned < 2; turned++) {
            const pgcn_i_visits *v = mine.visits;
            const pgcn_i_others *others = turned ? &v->others_t : &v->others;
            uint8_t *used = calloc((size_t)others->count + 1, 1);
            for (int hop = 0; hop < v->k - 1; hop++)
                check_list(turned ? &v->hop_t[hop] : &v->hop[hop],
                           turned ? &whole.visits->hop_t[hop] : &whole.visits->hop[hop], others,
                           own, used);
            CHECK(others->whole == wanted.whole);
            if (!wanted.whole) check_others(others, &division, used);
            free(used);
        }
    }
    pgcn_i_pool_free(pool);
    unmake(&whole);
    unmake(&mine);
}

static void check_ranks(const int *size, int sizes) {
    for (int i = 0; i < sizes; i++) on_ranks(size[i], divided_work);
}

static void test_divided_lists_are_rows_of_the_whole_lists(void **state) {
    (void)state;
    wanted.nodes = 700, wanted.edges = 400, wanted.groups = 32;
    wanted.samples = 2, wanted.threads = 2, wanted.scaled = true, wanted.whole = false;
    check_ranks((int[]){2, 3, 5, 8}, 4);
}

static void test_rows_of_others_are_not_numbered_where_nearly_all_are_visited(void **state) {
    (void)state;
    wanted.nodes = 700, wanted.edges = 3000, wanted.groups = 32;
    wanted.samples = 2, wanted.threads = 2, wanted.scaled = true, wanted.whole = true;
    check_ranks((int[]){2, 3}, 2);
}

/* Buckets of nodes are cut by the ranks, and ranks of more than 2^14 nodes have several. */
static void test_divided_lists_of_many_buckets_are_rows_of_the_whole_lists(void **state) {
    (void)state;
    wanted.nodes = 50001, wanted.edges = 30000, wanted.groups = 64;
    wanted.samples = 1, wanted.threads = 1, wanted.scaled = false, wanted.whole = false;
    check_ranks((int[]){2, 3}, 2);
}

/* 64 nodes are one group: one rank has it, and the others have nothing. */
static void test_ranks_without_nodes_have_empty_lists(void **state) {
    (void)state;
    wanted.nodes = 64, wanted.edges = 100, wanted.groups = 32;
    wanted.samples = 3, wanted.threads = 1, wanted.scaled = true, wanted.whole = false;
    check_ranks((int[]){2, 4}, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_divided_lists_are_rows_of_the_whole_lists),
        cmocka_unit_test(test_rows_of_others_are_not_numbered_where_nearly_all_are_visited),
        cmocka_unit_test(test_divided_lists_of_many_buckets_are_rows_of_the_whole_lists),
        cmocka_unit_test(test_ranks_without_nodes_have_empty_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
