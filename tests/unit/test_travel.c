/* Rows of several ranks that travel while they are made: a tape whose opening operation writes rows, a second one gathers
 * them, and a third one writes gradients that the second gathers back. Messages are watched as they are posted. */
#include "nn/share.h"
#include "ranks_help.h"

#include <math.h>

enum { N = 8202, COLS = 32, GROUPS = 32 };

/* What the ranks of a test do. */
static struct {
    int samples, threads;
    bool far; /* rows lead to all rows of others, else to some */
} wanted;

/* ---- operations ------------------------------------------------------------------------------------------- */

static int64_t offset[N + 1], offset_t[N + 1];
static pgcn_node column[2 * N], column_t[2 * N];
static const pgcn_i_csr list = {.rows = N, .offset = offset, .column = column};
static const pgcn_i_csr list_t = {.rows = N, .offset = offset_t, .column = column_t};

static void make_lists(void) {
    static int64_t next[N];
    int64_t entries = 0;
    memset(offset_t, 0, sizeof offset_t);
    for (int64_t i = 0; i < N; i++) {
        if (wanted.far || i % 8 != 0) {
            int64_t to = wanted.far ? (i + N / 2) % N : (7 * i + 1) % N;
            column[entries++] = (pgcn_node)to;
            offset_t[to + 1]++;
        }
        offset[i + 1] = entries;
    }
    for (int64_t i = 0; i < N; i++) offset_t[i + 1] += offset_t[i];
    memcpy(next, offset_t, sizeof next);
    for (int64_t i = 0; i < N; i++)
        for (int64_t e = offset[i]; e < offset[i + 1]; e++)
            column_t[next[column[e]]++] = (pgcn_node)i;
}

/* Small whole numbers: sums are exact. */
static float number(int64_t row, int64_t c) {
    return (float)((row * 31 + c * 7) % 1009);
}

static int64_t made_rows; /* of the loop that is running */

static void open_rows(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)tape, (void)worker;
    for (int64_t i = 0; i < rows.count; i++)
        for (int64_t c = 0; c < COLS; c++)
            op->out->data[pgcn_i_row(rows, i) * COLS + c] = number(pgcn_i_row(rows, i), c);
    __atomic_add_fetch(&made_rows, rows.count, __ATOMIC_RELAXED);
}

static void gather(float *to, const float *from, const pgcn_i_csr *along, int64_t row) {
    const int64_t node = row % N, first = row - node;
    for (int64_t c = 0; c < COLS; c++) {
        to[c] = 0;
        for (int64_t e = along->offset[node]; e < along->offset[node + 1]; e++)
            to[c] += from[(first + along->column[e]) * COLS + c];
    }
}

static void gather_rows(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)tape, (void)worker;
    for (int64_t i = 0; i < rows.count; i++) {
        int64_t row = pgcn_i_row(rows, i);
        gather(op->out->data + row * COLS, op->in[0]->data, &list, row);
    }
}
static void gather_back(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile) {
    (void)tape;
    for (int64_t i = 0; i < tile.rows.count; i++)
        gather(tile.dx + i * COLS, op->out->grad, &list_t, pgcn_i_row(tile.rows, i));
}
static pgcn_i_reach visited(const pgcn_i_op *op) {
    (void)op;
    return (pgcn_i_reach){.hop = &list, .hops = 1, .n = N};
}
static pgcn_i_reach visitors(const pgcn_i_op *op) {
    (void)op;
    return (pgcn_i_reach){.hop = &list_t, .hops = 1, .n = N};
}

static void double_rows(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)tape, (void)worker;
    for (int64_t i = 0; i < rows.count; i++)
        for (int64_t c = 0; c < COLS; c++) {
            int64_t at = pgcn_i_row(rows, i) * COLS + c;
            op->out->data[at] = 2 * op->in[0]->data[at];
        }
}
static void double_back(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile) {
    (void)tape, (void)op;
    for (int64_t i = 0; i < tile.rows.count * COLS; i++) tile.dx[i] = 2 * tile.g[i];
    __atomic_add_fetch(&made_rows, tile.rows.count, __ATOMIC_RELAXED);
}

static const pgcn_i_kind opening = {.needs = PGCN_I_NEEDS_NOTHING, .forward_rows = open_rows};
static const pgcn_i_kind gathering = {.needs = PGCN_I_NEEDS_VISITED,
                                      .forward_rows = gather_rows,
                                      .backward_rows = gather_back,
                                      .reach = visited,
                                      .reach_back = visitors,
                                      .shares = true};
static const pgcn_i_kind doubling = {
    .needs = PGCN_I_NEEDS_ROW, .forward_rows = double_rows, .backward_rows = double_back};

/* ---- messages that are watched --------------------------------------------------------------------------- */

/* Rows that were made when the first message was sent; -1: none was. */
static int64_t made_at_first;
static int sends, calls; /* calls: that let messages go on */

static void watched_post(pgcn_i_queue queue, const pgcn_i_message *message, int count) {
    for (int i = 0; i < count; i++) {
        if (queue != PGCN_I_MEANWHILE || !message[i].sends) continue;
        if (sends++ == 0) made_at_first = made_rows;
    }
    post(queue, message, count);
}

static void watched_progress(void) {
    calls++;
    progress();
}

static void watch(void) {
    made_rows = sends = calls = 0;
    made_at_first = -1;
}

/* ---- what ranks do ------------------------------------------------------------------------------------------ */

static void fill(float *array, int64_t rows) {
    for (int64_t i = 0; array && i < rows * COLS; i++) array[i] = NAN;
}

/* Row `row` of a gather of `scale` times number(). */
static void check_gathered(const float *array, const pgcn_i_csr *along, int64_t row, float scale) {
    const int64_t node = row % N, first = row - node;
    for (int64_t c = 0; c < COLS; c++) {
        float sum = 0;
        for (int64_t e = along->offset[node]; e < along->offset[node + 1]; e++)
            sum += scale * number(first + along->column[e], c);
        CHECK(array[row * COLS + c] == sum);
    }
}

static void run_twice(pgcn_i_tape *tape, const pgcn_i_comm *comm) {
    const int64_t rows = N * tape->samples;
    const pgcn_i_own own = pgcn_i_own_of(tape, rows);
    const int64_t mine = (own.stop - own.begin) * tape->samples;
    pgcn_i_value *opened = tape->op[0].out, *last = tape->op[2].out;
    for (int time = 0; time < 2; time++) { /* nothing is left of the first time */
        for (int i = 0; i < 3; i++) fill(tape->op[i].out->data, rows);
        watch();
        pgcn_i_tape_forward(tape);
        CHECK(made_rows == mine && sends > comm->size - 1);
        CHECK(made_at_first > 0 && made_at_first <= mine / 2);
        CHECK(wanted.threads > 1 || calls > 10); /* of several threads one may do it all */
        for (int64_t s = 0; s < tape->samples; s++)
            for (int64_t i = own.begin; i < own.stop; i++)
                check_gathered(last->data, &list, s * N + i, 2);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t c = 0; c < COLS; c++) last->grad[i * COLS + c] = number(i, c);
        watch();
        pgcn_i_tape_backward(tape);
        CHECK(made_rows == mine && sends > comm->size - 1);
        CHECK(made_at_first > 0 && made_at_first <= mine / 2);
        CHECK(wanted.threads > 1 || calls > 10); /* of several threads one may do it all */
        for (int64_t s = 0; s < tape->samples; s++)
            for (int64_t i = own.begin; i < own.stop; i++)
                check_gathered(opened->grad, &list_t, s * N + i, 2);
        CHECK(pgcn_i_comm_status(comm) == PGCN_OK && comm->posted == 0);
    }
}

static void travel_work(pgcn_i_comm *comm) {
    pgcn_i_transport watched = by_sockets;
    pgcn_i_pool *pool = NULL;
    pgcn_i_share *share = NULL;
    pgcn_i_tape tape;
    pgcn_i_params params = {0};
    watched.post = watched_post;
    watched.progress = watched_progress;
    comm->transport = &watched;
    comm->patience = 30; /* if another has found a mistake */
    make_lists();
    CHECK(pgcn_i_pool_new(wanted.threads, &pool) == PGCN_OK);
    CHECK(pgcn_i_share_new(comm, &share) == PGCN_OK);
    CHECK(pgcn_i_tape_init(&tape, pool, &params, 3, true) == PGCN_OK);
    tape.samples = wanted.samples;
    tape.groups = GROUPS;
    tape.share = share;
    const int64_t rows = N * wanted.samples;
    pgcn_i_op *op = pgcn_i_tape_op(&tape, &opening, (pgcn_i_ports){.rows = rows, .cols = COLS});
    op = pgcn_i_tape_op(&tape, &gathering,
                        (pgcn_i_ports){.in = {op->out}, .rows = rows, .cols = COLS});
    pgcn_i_tape_op(&tape, &doubling, (pgcn_i_ports){.in = {op->out}, .rows = rows, .cols = COLS});
    CHECK(pgcn_i_tape_finish(&tape) == PGCN_OK);
    run_twice(&tape, comm);
    CHECK(pgcn_i_share_fetched(share) > 0);
    pgcn_i_tape_free(&tape);
    pgcn_i_share_free(share);
    pgcn_i_pool_free(pool);
}

static void check(int ranks, int threads, int samples, bool far) {
    wanted.threads = threads;
    wanted.samples = samples;
    wanted.far = far;
    on_ranks(ranks, travel_work);
}

static void test_rows_that_are_picked_travel_while_others_are_made(void **state) {
    (void)state;
    check(2, 1, 1, false);
    check(2, 2, 1, false);
    check(3, 1, 2, false);
    check(4, 1, 1, false);
}

static void test_rows_that_are_all_of_an_owner_travel_while_others_are_made(void **state) {
    (void)state;
    check(2, 1, 1, true);
    check(2, 2, 2, true);
    check(3, 1, 2, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_that_are_picked_travel_while_others_are_made),
        cmocka_unit_test(test_rows_that_are_all_of_an_owner_travel_while_others_are_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
