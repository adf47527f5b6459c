/* Features of batches of nodes on several ranks, each of which has those of its own nodes: the rows of a batch have the
 * features that one process would read, whoever has them. */
#include "ranks_help.h"

#include "train/train.h"

enum { GROUPS = 8, CHOSEN = 50, SAMPLES = 2, LEVELS = 2 };

/* What the ranks of a test have. */
static struct {
    const char *data;
    bool training;  /* rows are divided; else each rank takes some of the nodes */
    bool few_links; /* neighbours are drawn, along which features may be read */
} wanted;

static pgcn_config config_of(void) {
    pgcn_config config = pgcn_config_default();
    config.paths = config.path_length = 3;
    return config;
}

static void check_row(const pgcn_i_input *mine, int64_t row, const pgcn_i_input *whole,
                      pgcn_node node) {
    if (whole->dense) {
        CHECK(memcmp(mine->dense + mine->gathered[row] * mine->columns,
                     whole->dense + node * whole->columns,
                     (size_t)whole->columns * sizeof(float)) == 0);
        return;
    }
    int64_t begin = whole->offset[node], count = whole->offset[node + 1] - begin;
    CHECK(mine->offset[row + 1] - mine->offset[row] == count && mine->drawn_at[row] == begin);
    CHECK(memcmp(mine->column + mine->offset[row], whole->column + begin,
                 (size_t)count * sizeof(int32_t)) == 0);
    CHECK(memcmp(mine->value + mine->offset[row], whole->value + begin,
                 (size_t)count * sizeof(float)) == 0);
}

/* All rows that this rank reads: its own of the last level, and those that drawn links lead to. */
static void check_rows(const pgcn_i_nodes *nodes, const pgcn_i_comm *comm,
                       const pgcn_i_input *whole) {
    const pgcn_i_part *part = pgcn_i_nodes_part(nodes);
    const pgcn_i_input *mine = pgcn_i_nodes_input(nodes);
    const int64_t *rows = part->rows[PGCN_I_NODES];
    pgcn_i_range own = {0, rows[LEVELS]};
    if (wanted.training) own = pgcn_i_groups_share(pgcn_i_groups_of(rows[LEVELS], GROUPS), comm);
    for (int64_t r = own.begin; r < own.end; r++)
        check_row(mine, r, whole, (pgcn_node)(part->id[r] % part->nodes));
    if (!wanted.few_links) return;
    const pgcn_i_csr *list = &part->transitions[LEVELS - 1].visits->hop[0];
    own = pgcn_i_groups_share(pgcn_i_groups_of(rows[LEVELS - 1], GROUPS), comm);
    for (int64_t e = list->offset[own.begin]; e < list->offset[own.end]; e++)
        check_row(mine, list->column[e], whole,
                  (pgcn_node)(part->id[list->column[e]] % part->nodes));
}

static void lent_work(pgcn_i_comm *comm) {
    pgcn_dataset *data;
    pgcn_config config = config_of();
    pgcn_i_spatial spatial;
    pgcn_i_input *whole, *mine;
    pgcn_i_pool *pool;
    pgcn_i_nodes *nodes;
    CHECK(pgcn_dataset_load(wanted.data, NULL, &data) == PGCN_OK);
    CHECK(pgcn_i_spatial_of(&spatial, data, &config, PGCN_I_READS_T) == PGCN_OK);
    CHECK(pgcn_i_pool_new(1, &pool) == PGCN_OK);
    const int64_t n = data->graph->n;
    const pgcn_i_range own = pgcn_i_groups_share(pgcn_i_groups_of(n, GROUPS), comm);
    const pgcn_i_standard none = {0};
    CHECK(pgcn_i_input_new(&data->x, PGCN_NORMALISE_ROWS, none, false, &whole) == PGCN_OK);
    CHECK(pgcn_i_input_of_rows(&data->x, PGCN_NORMALISE_ROWS, none, false, own, &mine) == PGCN_OK);
    const pgcn_i_nodes_opts opts = {.data = data,
                                    .input = mine,
                                    .spatial = &spatial,
                                    .most = CHOSEN,
                                    .samples = SAMPLES,
                                    .layers = LEVELS,
                                    .levels = LEVELS,
                                    .sampled = !wanted.few_links,
                                    .training = wanted.training,
                                    .neighbours = wanted.few_links ? "2" : NULL,
                                    .owners = comm};
    CHECK(pgcn_i_nodes_new(&opts, &nodes) == PGCN_OK);
    if (wanted.training)
        CHECK(pgcn_i_nodes_divide(nodes, comm, GROUPS) == PGCN_OK);
    else
        pgcn_i_nodes_take(nodes, comm);
    for (int64_t step = 0; step < 3; step++) {
        pgcn_node chosen[CHOSEN];
        /* any; the first ones of groups, where ranks begin; and one, of which some ranks have no rows */
        int64_t count = step == 0 ? CHOSEN : step == 1 ? n / 64 : 1, apart = step == 0 ? 13 : 64;
        for (int64_t i = 0; i < count; i++) chosen[i] = (pgcn_node)(i * apart % n);
        pgcn_i_nodes_choose(nodes, chosen, count);
        pgcn_i_nodes_draw(nodes, pool, (pgcn_i_path_draw){8, PGCN_I_RNG_WALK, step, 0}, NULL);
        CHECK(pgcn_i_comm_status(comm) == PGCN_OK);
        check_rows(nodes, comm, whole);
    }
    pgcn_i_nodes_free(nodes);
    pgcn_i_input_free(mine);
    pgcn_i_input_free(whole);
    pgcn_i_pool_free(pool);
    pgcn_i_spatial_free(&spatial);
    pgcn_dataset_free(data);
}

#define DENSE  "powerlaw:nodes=1000,edges=3000,features=6:groups=8"
#define SPARSE "powerlaw:nodes=1001,edges=3000:features=adjacency,groups=8"

static void check_ranks(const char *data) {
    wanted.data = data;
    for (int ranks = 2; ranks <= 8; ranks = 2 * ranks - 1) on_ranks(ranks, lent_work);
}

static void test_rows_of_a_batch_have_the_features_of_their_nodes(void **state) {
    (void)state;
    wanted.training = true, wanted.few_links = false;
    check_ranks(DENSE);
    check_ranks(SPARSE);
}

static void test_rows_that_drawn_links_lead_to_have_theirs(void **state) {
    (void)state;
    wanted.training = wanted.few_links = true;
    check_ranks(DENSE);
}

/* Where ranks take some of the nodes each, none knows what the others need. */
static void test_rows_of_taken_nodes_have_theirs(void **state) {
    (void)state;
    wanted.training = wanted.few_links = false;
    check_ranks(DENSE);
    check_ranks(SPARSE);
}

/* 60 nodes are one group: one rank has all features, and lends them. */
static void test_a_rank_without_nodes_borrows_all(void **state) {
    (void)state;
    wanted.training = true, wanted.few_links = false;
    check_ranks("sbm:nodes=60,features=6,classes=3:groups=8");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_a_batch_have_the_features_of_their_nodes),
        cmocka_unit_test(test_rows_that_drawn_links_lead_to_have_theirs),
        cmocka_unit_test(test_rows_of_taken_nodes_have_theirs),
        cmocka_unit_test(test_a_rank_without_nodes_borrows_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
