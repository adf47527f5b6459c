/* Calls that ranks make of one exchange of messages: with processes that talk over sockets in place of MPI, for several
 * numbers of ranks. */
#include "ranks_help.h"

static void for_all_sizes(void (*work)(pgcn_i_comm *comm)) {
    for (int size = 1; size <= MOST; size++) on_ranks(size, work);
}

/* ---- what they do -------------------------------------------------------------------------------- */

static void broadcast_work(pgcn_i_comm *comm) {
    for (int root = 0; root < comm->size; root++) {
        int64_t number[3] = {comm->rank, 10 + comm->rank, -1};
        pgcn_i_comm_broadcast(comm, number, sizeof number, root);
        CHECK(number[0] == root && number[1] == 10 + root && number[2] == -1);
    }
}

static void swap_work(pgcn_i_comm *comm) {
    int64_t mine[MOST], theirs[MOST];
    for (int r = 0; r < comm->size; r++) mine[r] = 100 * comm->rank + r;
    pgcn_i_comm_swap(comm, mine, theirs);
    for (int r = 0; r < comm->size; r++) CHECK(theirs[r] == 100 * r + comm->rank);
    CHECK(pgcn_i_comm_all(comm, true));
    CHECK(!pgcn_i_comm_all(comm, comm->rank != comm->size - 1));
}

/* Rank r has r numbers: rank 0 has none. */
static void gather_work(pgcn_i_comm *comm) {
    int32_t number[MOST * MOST] = {0};
    int64_t first[MOST + 1] = {0};
    for (int r = 0; r < comm->size; r++) first[r + 1] = first[r] + r * (int64_t)sizeof *number;
    int64_t begin = first[comm->rank] / (int64_t)sizeof *number;
    for (int i = 0; i < comm->rank; i++) number[begin + i] = 1000 * comm->rank + i;
    pgcn_i_comm_gather(comm, number, first);
    for (int r = 0, at = 0; r < comm->size; r++)
        for (int i = 0; i < r; i++) CHECK(number[at++] == 1000 * r + i);
}

static void add_own(void *context, float *data, int64_t begin, int64_t end) {
    const pgcn_i_comm *comm = context;
    for (int64_t i = begin; i < end; i++) {
        if (comm->rank == 0) data[i] = 0; /* the first one writes */
        for (int k = 0; k < 3; k++)
            data[i] += 1.0f / (float)(1 + comm->rank * 3 + k) * (float)(1 + i % 7);
    }
}

/* To the bit the sum that one process makes in the same order, which sums in another order are not. */
static void relay_work(pgcn_i_comm *comm) {
    enum { COUNT = 1001 };
    float data[COUNT];
    for (int64_t chunk = 7; chunk < 3000; chunk *= 5) {
        pgcn_i_comm_relay(comm, data, COUNT, chunk, add_own, comm);
        for (int64_t i = 0; i < COUNT; i++) {
            float sum = 0;
            for (int k = 0; k < 3 * comm->size; k++)
                sum += 1.0f / (float)(1 + k) * (float)(1 + i % 7);
            CHECK(data[i] == sum);
        }
    }
}

/* Messages of no bytes are left out, and bytes are counted. */
static void exchange_work(pgcn_i_comm *comm) {
    static char big[1 << 20], back[1 << 20];
    int next = (comm->rank + 1) % comm->size, before = (comm->rank + comm->size - 1) % comm->size;
    if (comm->size == 1) return;
    memset(big, comm->rank + 1, sizeof big);
    const pgcn_i_message message[] = {{next, true, big, sizeof big},
                                      {before, false, back, sizeof back},
                                      {next, true, big, 0},
                                      {before, false, back, 0}};
    pgcn_i_comm_exchange(comm, message, 4);
    CHECK(back[0] == before + 1 && back[sizeof back - 1] == before + 1);
    CHECK(comm->sent == sizeof big && comm->received == sizeof back);
    CHECK(pgcn_i_comm_status(comm) == PGCN_OK);
}

/* Messages that are posted in two parts go on around exchanges with the same rank, and count as one. */
static void posted_work(pgcn_i_comm *comm) {
    static char big[2][1 << 19], back[2][1 << 19];
    int next = (comm->rank + 1) % comm->size, before = (comm->rank + comm->size - 1) % comm->size;
    int64_t mine[MOST], theirs[MOST];
    if (comm->size == 1) return;
    for (int part = 0; part < 2; part++) {
        memset(big[part], 2 * comm->rank + part + 1, sizeof *big);
        const pgcn_i_message get = {before, false, back[part], sizeof *back};
        pgcn_i_comm_post(comm, &get, 1);
    }
    for (int part = 0; part < 2; part++) {
        const pgcn_i_message give = {next, true, big[part], sizeof *big};
        pgcn_i_comm_post(comm, &give, 1);
        for (int i = 0; i < 3; i++) pgcn_i_comm_progress(comm);
    }
    CHECK(comm->rounds.exchanges == 0);
    for (int r = 0; r < comm->size; r++) mine[r] = 100 * comm->rank + r;
    pgcn_i_comm_swap(comm, mine, theirs);
    for (int r = 0; r < comm->size; r++) CHECK(theirs[r] == 100 * r + comm->rank);
    pgcn_i_comm_finish(comm);
    pgcn_i_comm_finish(comm); /* nothing is left */
    for (int part = 0; part < 2; part++)
        CHECK(back[part][0] == 2 * before + part + 1 &&
              back[part][sizeof *back - 1] == 2 * before + part + 1);
    CHECK(comm->rounds.exchanges == 2);
    CHECK(comm->received == (int64_t)(sizeof back + sizeof *mine * (size_t)(comm->size - 1)));
}

/* The last rank posts nothing: the others do not wait for ever. */
static void posted_silent_work(pgcn_i_comm *comm) {
    int64_t number = 7;
    comm->patience = 0.05;
    if (comm->rank == comm->size - 1) return;
    pgcn_i_comm_post(comm, &(pgcn_i_message){comm->size - 1, false, &number, sizeof number}, 1);
    pgcn_i_comm_progress(comm);
    CHECK(pgcn_i_comm_status(comm) == PGCN_OK);
    pgcn_i_comm_finish(comm);
    CHECK(pgcn_i_comm_status(comm) == PGCN_ERR_SYSTEM);
    CHECK(strstr(pgcn_last_error(), "rank 2 has not answered rank"));
    int64_t received = comm->received;
    pgcn_i_comm_post(comm, &(pgcn_i_message){comm->size - 1, false, &number, sizeof number}, 1);
    CHECK(comm->received == received && comm->posted == 0);
}

/* Rank 0 takes messages as they come; the others wait for theirs. */
static void waiting_work(pgcn_i_comm *comm) {
    int64_t number = 10 + comm->rank;
    if (comm->rank > 0) {
        pgcn_i_comm_exchange(comm, &(pgcn_i_message){0, true, &number, sizeof number}, 1);
        return;
    }
    bool heard[MOST] = {false};
    for (int left = comm->size - 1; left > 0;) {
        int rank = pgcn_i_comm_waiting(comm);
        if (rank == PGCN_I_NO_RANK) continue;
        CHECK(!heard[rank]);
        pgcn_i_comm_exchange(comm, &(pgcn_i_message){rank, false, &number, sizeof number}, 1);
        CHECK(number == 10 + rank);
        heard[rank] = true;
        left--;
    }
    CHECK(pgcn_i_comm_waiting(comm) == PGCN_I_NO_RANK);
}

/* The last rank says nothing: the others do not wait for ever, and then do nothing more. */
static void silent_work(pgcn_i_comm *comm) {
    int64_t number = 7, other[MOST], mine[MOST] = {0};
    comm->patience = 0.05;
    if (comm->rank == comm->size - 1) return;
    pgcn_i_comm_broadcast(comm, &number, sizeof number, comm->size - 1);
    CHECK(pgcn_i_comm_status(comm) == PGCN_ERR_SYSTEM);
    CHECK(strstr(pgcn_last_error(), "has not answered rank"));
    CHECK(strstr(pgcn_last_error(), "host"));
    int64_t sent = comm->sent;
    pgcn_i_comm_swap(comm, mine, other);
    CHECK(comm->sent == sent && !pgcn_i_comm_all(comm, true));
}

static void test_broadcast_comes_from_any_rank(void **state) {
    (void)state;
    for_all_sizes(broadcast_work);
}
static void test_swap_and_all(void **state) {
    (void)state;
    for_all_sizes(swap_work);
}
static void test_gather_has_ranges_of_any_length(void **state) {
    (void)state;
    for_all_sizes(gather_work);
}
static void test_relay_adds_in_the_order_of_the_ranks(void **state) {
    (void)state;
    for_all_sizes(relay_work);
}
static void test_exchange_of_long_messages_in_a_ring(void **state) {
    (void)state;
    for_all_sizes(exchange_work);
}
static void test_posted_messages_go_on_around_exchanges(void **state) {
    (void)state;
    for_all_sizes(posted_work);
}
static void test_silent_rank_is_named_when_posts_are_finished(void **state) {
    (void)state;
    on_ranks(3, posted_silent_work);
}
static void test_messages_are_taken_as_they_come(void **state) {
    (void)state;
    for_all_sizes(waiting_work);
}
static void test_silent_rank_is_named(void **state) {
    (void)state;
    on_ranks(3, silent_work);
}

static void test_launchers_are_known_by_their_variables(void **state) {
    (void)state;
    static const char *const names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}};
    int rank, size;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 2; k++) unsetenv(names[j][k]);
        setenv("SLURM_NTASKS", "4", 1); /* of a job script: no launcher */
        setenv("SLURM_PROCID", "0", 1);
        pgcn_i_comm_expected(&rank, &size);
        assert_int_equal(size, 1);
        setenv(names[i][0], "2", 1);
        setenv(names[i][1], "x", 1);
        pgcn_i_comm_expected(&rank, &size);
        assert_int_equal(size, 1);
        setenv(names[i][1], "5", 1);
        pgcn_i_comm_expected(&rank, &size);
        assert_int_equal(size, 5);
        assert_int_equal(rank, 2);
    }
    setenv("PATHGCN_MPI_MODULE", "/nonexistent/pathgcn_mpi.so", 1);
    assert_int_equal(pgcn_i_comm_join(pgcn_i_comm_world()), PGCN_ERR_SYSTEM);
    assert_non_null(strstr(pgcn_last_error(), "5 ranks were started"));
    assert_non_null(strstr(pgcn_last_error(), "/nonexistent/pathgcn_mpi.so"));
}

static void test_patience_must_be_a_number(void **state) {
    (void)state;
    pgcn_i_comm comm;
    setenv("PATHGCN_MPI_PATIENCE", "soon", 1);
    assert_int_equal(pgcn_i_comm_start(&comm, &by_sockets), PGCN_ERR_ARGUMENT);
    assert_non_null(strstr(pgcn_last_error(), "'soon'"));
    setenv("PATHGCN_MPI_PATIENCE", "7", 1);
    assert_int_equal(pgcn_i_comm_start(&comm, &by_sockets), PGCN_OK);
    assert_true(comm.patience == 7);
    pgcn_i_comm_leave(&comm);
    assert_int_equal(comm.size, 1);
    unsetenv("PATHGCN_MPI_PATIENCE");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_broadcast_comes_from_any_rank),
        cmocka_unit_test(test_swap_and_all),
        cmocka_unit_test(test_gather_has_ranges_of_any_length),
        cmocka_unit_test(test_relay_adds_in_the_order_of_the_ranks),
        cmocka_unit_test(test_exchange_of_long_messages_in_a_ring),
        cmocka_unit_test(test_posted_messages_go_on_around_exchanges),
        cmocka_unit_test(test_silent_rank_is_named_when_posts_are_finished),
        cmocka_unit_test(test_messages_are_taken_as_they_come),
        cmocka_unit_test(test_silent_rank_is_named),
        cmocka_unit_test(test_launchers_are_known_by_their_variables),
        cmocka_unit_test(test_patience_must_be_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
