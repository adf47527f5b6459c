/* Sums over groups, on several ranks: to the bit those of one process, by a relay or in two rounds. */
#include "nn/share.h"
#include "nn/sums.h"
#include "ranks_help.h"

enum { GROUPS = 31, ROWS = GROUPS * PGCN_GROUP_ROWS, MOST_FLOATS = 40000 };

/* What the ranks of a test add up. */
static struct {
    int64_t first_count; /* of the first sum; the second has the rest */
    int64_t floats;
    bool some;  /* only some groups have sums */
    int relays; /* that are expected */
} wanted;

static float partial[GROUPS * MOST_FLOATS], result[2][MOST_FLOATS];

/* Numbers whose sum depends on the order. */
static float number(int64_t group, int64_t i) {
    return 1.0f / (float)(1 + (7 * group + i) % 23) * (float)(1 << (group * 5 + i) % 14);
}

static void make_sums(pgcn_i_tape *tape, const pgcn_i_live *live, float *to) {
    pgcn_i_sums sums = {.tape = tape, .own = pgcn_i_own_of(tape, ROWS), .live = live};
    for (int64_t i = 0; i < wanted.floats; i++) to[i] = 0.1f * (float)(i % 17);
    pgcn_i_sums_add(&sums, (pgcn_i_group_sum){to, true, 0, wanted.first_count});
    pgcn_i_sums_add(&sums, (pgcn_i_group_sum){to + wanted.first_count, false, wanted.first_count,
                                              wanted.floats - wanted.first_count});
    pgcn_i_sums_run(&sums);
}

static void sums_work(pgcn_i_comm *comm) {
    pgcn_i_pool *pool = NULL;
    pgcn_i_share *share = NULL;
    int64_t first[GROUPS + 1] = {0};
    comm->patience = 30; /* if another has found a mistake */
    CHECK(pgcn_i_pool_new(1, &pool) == PGCN_OK);
    pgcn_i_tape tape = {.pool = pool,
                        .kernels = pgcn_i_kernels_get(),
                        .samples = 1,
                        .groups = GROUPS,
                        .partial = partial,
                        .partial_floats = wanted.floats};
    for (int64_t g = 0; g < GROUPS; g++) {
        first[g + 1] = first[g] + (g % 3 == 1); /* the first one is empty */
        for (int64_t i = 0; i < wanted.floats; i++) partial[g * wanted.floats + i] = number(g, i);
    }
    const pgcn_i_live live = {.first = first};
    make_sums(&tape, wanted.some ? &live : NULL, result[0]);
    CHECK(pgcn_i_share_new(comm, &share) == PGCN_OK);
    tape.share = share;
    for (int64_t g = 0; g < GROUPS; g++) { /* a rank knows its own groups only */
        pgcn_i_own own = pgcn_i_own_of(&tape, ROWS);
        for (int64_t i = 0; i < wanted.floats && (g < own.first || g >= own.end); i++)
            partial[g * wanted.floats + i] = -1e9f;
    }
    for (int time = 1; time <= 2; time++) { /* nothing is left of the first time */
        make_sums(&tape, wanted.some ? &live : NULL, result[1]);
        CHECK(pgcn_i_comm_status(comm) == PGCN_OK);
        CHECK(memcmp(result[0], result[1], (size_t)wanted.floats * sizeof(float)) == 0);
        CHECK(comm->rounds.relays == time * wanted.relays);
    }
    pgcn_i_share_free(share);
    pgcn_i_pool_free(pool);
}

static void check(int ranks, int64_t floats, int relays) {
    wanted.floats = floats;
    wanted.first_count = floats / 3;
    wanted.relays = relays;
    for (int some = 0; some < 2; some++) {
        wanted.some = some;
        on_ranks(ranks, sums_work);
    }
}

static void test_small_sums_of_many_ranks_are_made_in_two_rounds(void **state) {
    (void)state;
    check(3, 50, 0);
    check(5, 1000, 0);
    check(8, 7, 0); /* fewer cache lines than ranks: some make nothing */
}

static void test_large_sums_of_few_ranks_are_relayed(void **state) {
    (void)state;
    check(2, 1000, 1);
    check(3, MOST_FLOATS, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_sums_of_many_ranks_are_made_in_two_rounds),
        cmocka_unit_test(test_large_sums_of_few_ranks_are_relayed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
