/* What ranks would fetch and hold: counts beside a plain count of sets of nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "every_kind_help.h"

#include "train/train.h"

#include <math.h>

enum { N = 1000, GROUPS = 8, PATHS = 3, LENGTH = 4, CHANNELS = 16, LAYERS = 3 };

static pgcn_config small_config(void) {
    pgcn_config config = pgcn_config_default();
    config.channels = CHANNELS;
    config.layers = LAYERS;
    config.paths = PATHS;
    config.path_length = LENGTH;
    return config;
}

static int rank_of(int64_t node, int ranks) {
    pgcn_i_blocks groups = pgcn_i_groups_of(N, GROUPS);
    return (int)(node / groups.size * ranks / groups.count);
}

/* Rank r has node u of another rank: [ranks, N]. */
typedef struct sets {
    uint8_t *next, *visited, *visitors;
} sets;

static int64_t largest(const uint8_t *set, int ranks) {
    int64_t most = 0;
    for (int r = 0; r < ranks; r++) {
        int64_t count = 0;
        for (int u = 0; u < N; u++) count += set[r * N + u];
        if (count > most) most = count;
    }
    return most;
}

static sets count_plainly(const pgcn_dataset *data, int ranks) {
    static pgcn_node walk[N][PATHS][LENGTH];
    pgcn_paths_opts opts = pgcn_paths_opts_default();
    sets s = {calloc((size_t)ranks, N), calloc((size_t)ranks, N), calloc((size_t)ranks, N)};
    assert_true(s.next && s.visited && s.visitors);
    opts.may_stay = pgcn_config_default().self_loops;
    opts.paths = PATHS;
    opts.length = LENGTH;
    assert_int_equal(pgcn_paths_sample(data->graph, &opts, NULL, 0, &walk[0][0][0]), PGCN_OK);
    for (int u = 0; u < N; u++) {
        int own = rank_of(u, ranks);
        for (int64_t e = data->graph->offset[u]; e < data->graph->offset[u + 1]; e++) {
            pgcn_node v = data->graph->neighbour[e];
            if (rank_of(v, ranks) != own) s.next[own * N + v] = 1;
        }
        for (int q = 0; q < PATHS; q++)
            for (int i = 1; i < LENGTH; i++) {
                pgcn_node v = walk[u][q][i];
                if (rank_of(v, ranks) == own) continue;
                s.visited[own * N + v] = 1;
                s.visitors[rank_of(v, ranks) * N + u] = 1;
            }
    }
    return s;
}

static void test_ranks_fetch_what_a_plain_count_says(void **state) {
    (void)state;
    static const int ranks[] = {1, 2, 3, 8};
    pgcn_dataset *data = load("powerlaw:nodes=1000,edges=5000:order=parts,groups=8", NULL);
    pgcn_config config = small_config();
    pgcn_ranks out[4], one_thread[4];
    assert_int_equal(pgcn_dataset_ranks(data, &config, ranks, 4, out), PGCN_OK);
    config.threads = 1;
    assert_int_equal(pgcn_dataset_ranks(data, &config, ranks, 4, one_thread), PGCN_OK);
    for (int i = 0; i < 4; i++) {
        sets s = count_plainly(data, ranks[i]);
        assert_int_equal(out[i].ranks, ranks[i]);
        assert_int_equal(out[i].neighbours, largest(s.next, ranks[i]));
        assert_int_equal(out[i].visited, largest(s.visited, ranks[i]));
        assert_int_equal(out[i].visitors, largest(s.visitors, ranks[i]));
        int64_t both = 0;
        for (int r = 0; r < ranks[i]; r++) {
            int64_t sum = 0;
            const uint8_t *needed[2] = {s.visited + r * N, s.visitors + r * N};
            int64_t all = 0;
            for (int u = 0; u < N; u++) all += rank_of(u, ranks[i]) != r;
            for (int back = 0; back < 2; back++) {
                int64_t count = 0;
                for (int u = 0; u < N; u++) count += needed[back][u];
                sum += 8 * count >= 7 * all ? all : count; /* all, if these are nearly all */
            }
            if (sum > both) both = sum;
        }
        assert_int_equal(out[i].bytes_step, both * CHANNELS * 4 * LAYERS * config.samples);
        assert_int_equal(one_thread[i].visited, out[i].visited);
        assert_int_equal(one_thread[i].bytes_step, out[i].bytes_step);
        free(s.next), free(s.visited), free(s.visitors);
    }
    pgcn_dataset_free(data);
}

static void test_ranks_memory_falls_where_it_should(void **state) {
    (void)state;
    static const int ranks[] = {1, 2, 4, 8};
    pgcn_dataset *data = load("powerlaw:nodes=1024,edges=5000:order=parts,groups=8", NULL);
    pgcn_config config = small_config();
    pgcn_ranks out[4];
    assert_int_equal(pgcn_dataset_ranks(data, &config, ranks, 4, out), PGCN_OK);
    assert_true(out[0].visited == 0 && out[0].bytes_step == 0 && out[0].memory_fetched == 0);
    for (int i = 0; i < 4; i++) {
        const pgcn_ranks *x = &out[i];
        assert_int_equal(x->rows, 1024 / ranks[i]);
        assert_int_equal(x->memory, x->memory_shared + x->memory_rows + x->memory_fetched);
        assert_int_equal(x->memory_shared, out[0].memory_shared);
        assert_true(llabs(x->memory_rows * ranks[i] - out[0].memory_rows) <= ranks[i]);
        assert_true(i == 0 || x->memory_fetched > 0);
    }
    pgcn_dataset_free(data);
}

/* For this number of ranks, with the small settings. */
static pgcn_ranks predicted(const char *name, int ranks) {
    pgcn_config config = small_config();
    pgcn_ranks out;
    pgcn_dataset *data = load(name, NULL);
    assert_int_equal(pgcn_dataset_ranks(data, &config, &ranks, 1, &out), PGCN_OK);
    pgcn_dataset_free(data);
    return out;
}

/* Dense features are in memory once, as the first layer reads them: the container is mapped. */
static void test_ranks_memory_has_dense_features_once(void **state) {
    (void)state;
    static const char *const names[] = {"powerlaw:nodes=1024,edges=5000,features=16:groups=8",
                                        "powerlaw:nodes=1024,edges=5000,features=80:groups=8"};
    pgcn_ranks out[2];
    for (int i = 0; i < 2; i++) out[i] = predicted(names[i], 2);
    int64_t more = out[1].memory_rows - out[0].memory_rows, once = 1024 / 2 * (80 - 16) * 4;
    assert_in_range(more, once - 2, once + 2);
}

/* Huge pages hold rows beside those that are fetched, but no more than there are. */
static void test_ranks_memory_of_rows_of_others_is_bounded_by_all_of_them(void **state) {
    (void)state;
    static const int ranks[] = {2};
    pgcn_dataset *data = load("grid:rows=32,cols=32:order=parts,groups=8", NULL);
    pgcn_config config = small_config();
    pgcn_ranks out;
    assert_int_equal(pgcn_dataset_ranks(data, &config, ranks, 1, &out), PGCN_OK);
    double all = (1024.0 - 512) * 4 * CHANNELS * config.samples * pgcn_i_copies_of_fetched(&config);
    assert_true(out.visited < 512 * 7 / 8); /* not all are fetched */
    assert_true(fabs((double)out.memory_fetched - all) <= 1);
    pgcn_dataset_free(data);
}

/* The point of parts: less to fetch than with nodes in any order. */
static void test_ranks_fetch_less_of_parts_than_of_random_groups(void **state) {
    (void)state;
    static const char *const names[] = {"grid:rows=32,cols=32:order=random,groups=8",
                                        "grid:rows=32,cols=32:order=parts,groups=8"};
    pgcn_ranks out[2];
    for (int i = 0; i < 2; i++) out[i] = predicted(names[i], 4);
    assert_true(2 * out[1].visited < out[0].visited);
    assert_true(2 * out[1].neighbours < out[0].neighbours);
    assert_true(2 * out[1].bytes_step < out[0].bytes_step);
}

static void test_ranks_beyond_the_groups_are_refused(void **state) {
    (void)state;
    static const int ranks[] = {2, 9};
    pgcn_dataset *data = load("powerlaw:nodes=1000,edges=5000:order=parts,groups=8", NULL);
    pgcn_config config = small_config();
    pgcn_ranks out[2];
    assert_int_equal(pgcn_dataset_ranks(data, &config, ranks, 2, out), PGCN_ERR_ARGUMENT);
    assert_error_says("9 ranks: expected 1 to 8");
    pgcn_dataset_free(data);
}

static pgcn_dataset *shared_data;
static pgcn_status count_ranks(void) {
    static const int ranks[] = {2};
    pgcn_config config = small_config();
    pgcn_ranks out;
    pgcn_parts parts;
    config.threads = 1;
    PGCN_TRY(pgcn_dataset_parts(shared_data, &parts));
    return pgcn_dataset_ranks(shared_data, &config, ranks, 1, &out);
}

static void test_ranks_every_failing_allocation_is_reported(void **state) {
    (void)state;
    shared_data = load("sbm:nodes=200:groups=3", NULL);
    assert_true(fail_every_allocation(count_ranks) > 10);
    pgcn_dataset_free(shared_data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_fetch_what_a_plain_count_says),
        cmocka_unit_test(test_ranks_memory_falls_where_it_should),
        cmocka_unit_test(test_ranks_memory_has_dense_features_once),
        cmocka_unit_test(test_ranks_memory_of_rows_of_others_is_bounded_by_all_of_them),
        cmocka_unit_test(test_ranks_fetch_less_of_parts_than_of_random_groups),
        cmocka_unit_test(test_ranks_beyond_the_groups_are_refused),
        cmocka_unit_test(test_ranks_every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
