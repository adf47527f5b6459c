/* Networks of attention, the full kernel and the sum over graphs on several ranks: gradients are those of one process to
 * the bit, and a rank goes through its own rows only, in both passes. */
#include "network_help.h"
#include "ranks_help.h"

/* ---- kernels that count the rows they are given ------------------------------------------------------- */

enum { MOST_WEIGHTS = 2000 };
enum { ATTEND, SOFTMAX, SOFTMAX_BACK, DOTS, SUM, PAIR, GATHER, POOL, SPREAD, COUNTED };
static int64_t counted[COUNTED];
static const pgcn_i_kernels *real;

static void count_attend(const pgcn_i_attend *args, pgcn_i_rows rows) {
    counted[ATTEND] += rows.count;
    real->attend(args, rows);
}
static void count_softmax(const pgcn_i_edge_softmax *args, pgcn_i_rows rows) {
    counted[SOFTMAX] += rows.count;
    real->edge_softmax(args, rows);
}
static void count_softmax_backward(const pgcn_i_edge_softmax *args, pgcn_i_rows rows) {
    counted[SOFTMAX_BACK] += rows.count;
    real->edge_softmax_backward(args, rows);
}
static void count_dots(float *out, const pgcn_i_links *links, const pgcn_i_link_dots *args,
                       pgcn_i_rows rows) {
    counted[DOTS] += rows.count;
    real->link_dots(out, links, args, rows);
}
static void count_sum(float *out, int64_t out_c, const float *x, const pgcn_i_links *links,
                      const int64_t *number, const uint8_t *live, pgcn_i_rows rows) {
    counted[SUM] += rows.count;
    real->link_sum(out, out_c, x, links, number, live, rows);
}
static float count_pair(const float *a, const float *b, int64_t count) {
    counted[PAIR]++;
    return real->dot(a, b, count);
}
static void count_gather(float *out, const float *x, const pgcn_i_csr *a, int64_t begin,
                         int64_t end, int64_t c) {
    counted[GATHER] += end - begin;
    real->gather(out, x, a, begin, end, c);
}
static void count_pool(float *out, const float *x, pgcn_i_segments graphs, int64_t c) {
    counted[POOL] += graphs.end - graphs.begin;
    real->segment_sum(out, x, graphs, c);
}
static void count_spread(float *dx, const float *g, pgcn_i_segments graphs, int64_t c, bool add) {
    counted[SPREAD] += graphs.offset[graphs.end] - graphs.offset[graphs.begin];
    real->segment_spread(dx, g, graphs, c, add);
}

static pgcn_i_kernels counting_kernels(void) {
    real = pgcn_i_kernels_get();
    pgcn_i_kernels all = *real;
    all.attend = count_attend;
    all.edge_softmax = count_softmax;
    all.edge_softmax_backward = count_softmax_backward;
    all.link_dots = count_dots;
    all.link_sum = count_sum;
    all.dot = count_pair;
    all.gather = count_gather;
    all.segment_sum = count_pool;
    all.segment_spread = count_spread;
    return all;
}

/* ---- a step of one process, and of ranks --------------------------------------------------------------- */

/* What the ranks of a test train. */
static struct {
    int64_t nodes, edges;
    bool numbered; /* rows of others have numbers, as lists lead to few of them */
    pgcn_config config;
    bool some; /* the loss looks at few nodes, and other rows are left out */
} wanted;

typedef struct whole_graph {
    problem p;
    pgcn_dataset data; /* as much of it as views look at */
    pgcn_config config;
    pgcn_i_pool *pool;
    pgcn_i_input *input;
    pgcn_i_spatial spatial;
    pgcn_i_params params;
} whole_graph;

static void open_graph(whole_graph *g) {
    *g = (whole_graph){.p = {.n = wanted.nodes}, .config = wanted.config};
    g->p.graph = random_graph(wanted.nodes, wanted.edges, false, true, false, 3);
    problem_fill(&g->p);
    for (int64_t i = 0; i < wanted.nodes; i++) g->p.mask[i] = i % 40 == 0;
    for (int64_t i = g->p.masked = 0; i < wanted.nodes; i++)
        g->p.masked += g->p.mask[i] && g->p.label[i] >= 0;
    g->data = (pgcn_dataset){.graph = g->p.graph, .info.graphs = 1};
    CHECK(pgcn_i_pool_new(1, &g->pool) == PGCN_OK);
    CHECK(pgcn_i_input_new(&g->p.x, g->config.normalise, (pgcn_i_standard){0}, true, &g->input) ==
          PGCN_OK);
    CHECK(pgcn_i_spatial_init(&g->spatial, g->p.graph, &g->config) == PGCN_OK);
    CHECK(pgcn_i_network_declare(&g->params, &g->config,
                                 (pgcn_i_shape){NET_FEATURES, NET_CLASSES, false}) == PGCN_OK);
    CHECK(pgcn_i_params_allocate(&g->params, true) == PGCN_OK);
    CHECK(g->params.total <= MOST_WEIGHTS);
    pgcn_i_network_start(&g->params, &g->config);
}

static void close_graph(whole_graph *g) {
    pgcn_i_params_free(&g->params);
    pgcn_i_spatial_free(&g->spatial);
    pgcn_i_input_free(g->input);
    pgcn_i_pool_free(g->pool);
    problem_free(&g->p);
}

static void open_runner(pgcn_i_runner *runner, whole_graph *g, pgcn_i_share *share) {
    const pgcn_config *config = &g->config;
    const pgcn_i_runner_opts opts = {.config = config,
                                     .params = &g->params,
                                     .pool = g->pool,
                                     .share = share,
                                     .views = {.data = &g->data,
                                               .input = g->input,
                                               .spatial = &g->spatial,
                                               .layers = config->layers,
                                               .samples = config->samples,
                                               .sampled = config->train_form == PGCN_FORM_SAMPLED,
                                               .training = true,
                                               .links = pgcn_i_network_of(config)->links}};
    CHECK(pgcn_i_runner_open(runner, &opts) == PGCN_OK);
    CHECK(pgcn_i_runner_allocate(runner, NULL) == PGCN_OK);
    CHECK(runner->tape.divided == (share != NULL));
    const pgcn_i_transition *t = runner->views.transitions;
    CHECK(!share || t->visits || (t->others != NULL) == wanted.numbered);
}

/* Leaves the gradients in `grad`, counts in `counted`. */
static void run_graph(whole_graph *g, pgcn_i_share *share, float *grad) {
    const pgcn_i_kernels kernels = counting_kernels();
    const pgcn_i_target target = {g->p.label, NULL, g->p.mask, g->p.masked};
    pgcn_i_runner runner;
    pgcn_i_loss loss;
    open_runner(&runner, g, share);
    CHECK(pgcn_i_loss_init(&loss, g->p.n, g->config.samples, NET_CLASSES, runner.tape.groups) ==
          PGCN_OK);
    runner.tape.kernels = &kernels;
    memset(g->params.grad, 0, (size_t)g->params.total * sizeof *grad);
    for (int step = 0; step < 2; step++) { /* the second time with what the first has found out */
        memset(counted, 0, sizeof counted);
        runner.tape.step = step;
        pgcn_i_runner_put(&runner, (pgcn_i_chosen){NULL, 0}, &loss);
        pgcn_i_runner_draw(&runner, (pgcn_i_path_draw){g->config.seed, PGCN_I_RNG_WALK, step, 0});
        if (wanted.some) pgcn_i_loss_rows(&loss, &runner.tape, &target, 0);
        pgcn_i_tape_forward(&runner.tape);
        pgcn_i_loss_run(&loss, &runner.tape, runner.logits, &target, 0, 1);
        pgcn_i_tape_backward(&runner.tape);
    }
    memcpy(grad, g->params.grad, (size_t)g->params.total * sizeof *grad);
    pgcn_i_loss_free(&loss);
    pgcn_i_runner_close(&runner);
}

static void graph_work(pgcn_i_comm *comm) {
    static float grad[2][MOST_WEIGHTS];
    pgcn_i_share *share = NULL;
    whole_graph g;
    int64_t all[COUNTED];
    comm->patience = 30; /* if another has found a mistake */
    open_graph(&g);
    const pgcn_i_range own = pgcn_i_groups_share(pgcn_i_groups_of(g.p.n, PGCN_GROUPS), comm);
    run_graph(&g, NULL, grad[0]);
    memcpy(all, counted, sizeof all);
    CHECK(pgcn_i_share_new(comm, &share) == PGCN_OK);
    run_graph(&g, share, grad[1]);
    CHECK(pgcn_i_comm_status(comm) == PGCN_OK);
    CHECK(memcmp(grad[0], grad[1], sizeof grad[0]) == 0);
    CHECK(all[ATTEND] + all[GATHER] > 0);
    CHECK(all[PAIR] == 0 || comm->size * counted[PAIR] < 2 * all[PAIR]); /* by blocks of pairs */
    for (int i = 0; i < COUNTED && !wanted.some; i++)
        CHECK(i == PAIR || counted[i] * g.p.n == all[i] * (own.end - own.begin));
    pgcn_i_share_free(share);
    close_graph(&g);
}

/* On a graph of few edges; and where rows lead nearly everywhere, so that rows of others are where their owners have
 * them. */
static void check(const char *settings) {
    wanted.config = network_settings(settings);
    for (int i = 0; i < 4; i++) {
        wanted.numbered = i < 2;
        wanted.nodes = wanted.numbered ? 900 : 300;
        wanted.edges = wanted.numbered ? 700 : 6000;
        wanted.some = i % 2;
        on_ranks(2, graph_work);
        on_ranks(4, graph_work);
    }
}

static void test_attention_of_a_rank_goes_through_its_own_rows(void **state) {
    (void)state;
    check("model=gat heads=4 channels=16 layers=2 heads-last=2 dropout-attention=0.3 samples=2");
}

static void test_telling_links_from_pairs_of_a_rank_goes_through_its_own_rows(void **state) {
    (void)state;
    check("model=supergat heads=2 channels=8 layers=2 edge-loss=2 samples=1 consistency=0");
}

/* All steps share coefficients, or each has its own. */
static void test_diffusion_by_attention_of_a_rank_goes_through_its_own_rows(void **state) {
    (void)state;
    check("model=grand heads=2 channels=8 layers=2 attention-channels=8 samples=1 consistency=0");
    check("model=grand heads=2 channels=8 layers=1 attention-channels=8 attention=recomputed "
          "integrator=euler samples=1 consistency=0");
}

static void test_the_full_kernel_of_a_rank_goes_through_its_own_rows(void **state) {
    (void)state;
    check("kernel=full channels=8 layers=2 paths=3 path-length=3 samples=2 consistency=0");
    check("kernel=full channels=8 layers=2 path-length=3 samples=2 consistency=0 "
          "train-form=exact");
}

/* ---- sets of graphs ------------------------------------------------------------------------------------ */

/* A step on a set of graphs. */
static void run_graphs(const problem *p, pgcn_i_share *share, float *grad) {
    const pgcn_i_kernels kernels = counting_kernels();
    network net;
    network_prepare(&net, p, "channels=8 layers=2 paths=3 path-length=3 samples=2 consistency=0",
                    1);
    net.share = share;
    must(network_record(&net, true));
    net.tape.kernels = &kernels;
    memset(counted, 0, sizeof counted);
    network_run(&net);
    assert_true(net.params.total <= MOST_WEIGHTS);
    memcpy(grad, net.params.grad, (size_t)net.params.total * sizeof *grad);
    network_close(&net);
}

static void graphs_work(pgcn_i_comm *comm) {
    static float grad[2][MOST_WEIGHTS];
    pgcn_i_share *share = NULL;
    problem p = problem_of_graphs(300);
    int64_t all[COUNTED];
    comm->patience = 30;
    run_graphs(&p, NULL, grad[0]);
    memcpy(all, counted, sizeof all);
    CHECK(pgcn_i_share_new(comm, &share) == PGCN_OK);
    run_graphs(&p, share, grad[1]);
    CHECK(pgcn_i_comm_status(comm) == PGCN_OK);
    CHECK(memcmp(grad[0], grad[1], sizeof grad[0]) == 0);
    const pgcn_i_range graphs = pgcn_i_groups_share(pgcn_i_groups_of(p.graphs, PGCN_GROUPS), comm);
    const pgcn_i_range nodes = pgcn_i_groups_share(pgcn_i_groups_of(p.n, PGCN_GROUPS), comm);
    CHECK(all[POOL] > 0 && counted[POOL] * p.graphs == all[POOL] * (graphs.end - graphs.begin));
    CHECK(all[SPREAD] > 0 && counted[SPREAD] * p.n == all[SPREAD] * (nodes.end - nodes.begin));
    pgcn_i_share_free(share);
    problem_free(&p);
}

static void test_a_rank_adds_up_its_own_graphs(void **state) {
    (void)state;
    for (int ranks = 2; ranks <= 5; ranks++) on_ranks(ranks, graphs_work);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_of_a_rank_goes_through_its_own_rows),
        cmocka_unit_test(test_telling_links_from_pairs_of_a_rank_goes_through_its_own_rows),
        cmocka_unit_test(test_diffusion_by_attention_of_a_rank_goes_through_its_own_rows),
        cmocka_unit_test(test_the_full_kernel_of_a_rank_goes_through_its_own_rows),
        cmocka_unit_test(test_a_rank_adds_up_its_own_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
