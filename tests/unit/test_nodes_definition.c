/* What a batch of nodes computes where it differs from the whole graph: batch norm is over the rows of a level, in all
 * samples, and consistency is over the nodes of the batch. A second version in double precision, which knows no rows
 * and no numbers of them: for every sample and node, whether a layer needs it and what it is there. Gradients are
 * compared with differences of its loss; what consistency pulls towards is held still, as it is in training. */
#include "graphs_help.h"
#include "nn_help.h"

enum { N = 60, S = 2, L = 2, C = 5, P = 3, K = 3, F = 6, CLASSES = 3, SEEDS = 14 };
#define DATA "sbm:nodes=60,features=6,classes=3:per-class=10/4/4"
#define TEXT                                                                                        \
    "channels=5 layers=2 paths=3 path-length=3 samples=2 consistency=1.5 dropout=0 batch-norm=yes " \
    "mix=random kernel-noise=0.2 normalise=none epochs=9 patience=0 batch-by=nodes batch=10 "       \
    "unlabelled=4"

typedef struct reference {
    pgcn_trainer *trainer;
    const double *weight;          /* as params->value */
    pgcn_node seed[SEEDS];         /* ten that train, then four others */
    bool needed[L + 1][S][N];      /* by level */
    pgcn_node walk[S][N][P][K];    /* of every node, as training draws them */
    double target[SEEDS][CLASSES]; /* of consistency */
    bool holds_target;
} reference;

static const double *weight_of(const reference *r, const char *name) {
    const pgcn_i_param *param = pgcn_i_param_named(&r->trainer->params, "%s", name);
    assert_non_null(param);
    return r->weight + param->first;
}

/* ---- which rows there are ------------------------------------------------------------------------------ */

static void draw_walks(reference *r, int64_t step) {
    pgcn_trainer *t = r->trainer;
    pgcn_node start[N];
    for (int i = 0; i < N; i++) start[i] = (pgcn_node)i;
    for (int s = 0; s < S; s++)
        pgcn_i_walks(&t->spatial.walker, t->pool,
                     pgcn_i_rng_domain_of(t->config.seed, PGCN_I_RNG_WALK, step, 0, s), start, N,
                     r->walk[s][0][0]);
}

static void find_needed(reference *r) {
    memset(r->needed, 0, sizeof r->needed);
    for (int s = 0; s < S; s++)
        for (int i = 0; i < SEEDS; i++) r->needed[0][s][r->seed[i]] = true;
    for (int l = 0; l < L; l++)
        for (int s = 0; s < S; s++)
            for (int u = 0; u < N; u++)
                for (int q = 0; q < P * K && r->needed[l][s][u]; q++)
                    r->needed[l + 1][s][r->walk[s][u][q / K][q % K]] = true;
}

/* ---- the network in double ----------------------------------------------------------------------------- */

typedef double rows[S][N][C];

static void embed(const reference *r, rows h) {
    const double *w = weight_of(r, "embed.weight"), *b = weight_of(r, "embed.bias");
    const float *x = r->trainer->input->dense;
    for (int s = 0; s < S; s++)
        for (int u = 0; u < N; u++)
            for (int c = 0; c < C; c++) {
                double sum = b[c];
                for (int f = 0; f < F; f++) sum += (double)x[u * F + f] * w[f * C + c];
                h[s][u][c] = r->needed[L][s][u] ? fmax(sum, 0) : NAN;
            }
}

/* (1 - alpha) sum over hops and walks + alpha H0, of one node. */
static void walked(const reference *r, const double *kernel, int s, int u, rows h, rows h0,
                   double y[C]) {
    const float *degree = r->trainer->spatial.visit_degree;
    double alpha = r->trainer->config.alpha;
    for (int c = 0; c < C; c++) {
        y[c] = 0;
        for (int q = 0; q < P * K; q++) {
            int v = r->walk[s][u][q / K][q % K], hop = q % K;
            double share = sqrt((double)degree[u] / (double)degree[v]) / P;
            y[c] += (1 - alpha) * kernel[hop * C + c] * share * h[s][v][c];
        }
        y[c] += alpha * h0[s][u][c];
    }
}

static void normalise(const reference *r, int l, rows x) {
    for (int c = 0; c < C; c++) {
        double sum = 0, squares = 0, count = 0;
        for (int i = 0; i < S * N; i++)
            if (r->needed[l][i / N][i % N]) sum += x[i / N][i % N][c], count++;
        for (int i = 0; i < S * N; i++)
            if (r->needed[l][i / N][i % N]) squares += pow(x[i / N][i % N][c] - sum / count, 2);
        for (int i = 0; i < S * N; i++)
            x[i / N][i % N][c] = (x[i / N][i % N][c] - sum / count) / sqrt(squares / count + 1e-5);
    }
}

static void run_layer(const reference *r, int layer, rows h, rows h0) {
    char name[2][32];
    static rows out;
    int l = L - 1 - layer; /* level of its result */
    snprintf(name[0], sizeof name[0], "layers.%d.kernel", layer);
    snprintf(name[1], sizeof name[1], "layers.%d.weight", layer);
    const double *kernel = weight_of(r, name[0]), *w = weight_of(r, name[1]);
    for (int s = 0; s < S; s++)
        for (int u = 0; u < N; u++) {
            double y[C];
            if (r->needed[l][s][u]) walked(r, kernel, s, u, h, h0, y);
            for (int c = 0; c < C; c++) {
                out[s][u][c] = r->needed[l][s][u] ? 0 : NAN;
                for (int k = 0; k < C && r->needed[l][s][u]; k++)
                    out[s][u][c] += y[k] * w[k * C + c];
            }
        }
    normalise(r, l, out);
    for (int i = 0; i < S * N * C; i++) {
        double *to = &h[0][0][0] + i, from = (&out[0][0][0])[i];
        *to = from < 0 ? 0 : from; /* NaN stays: nobody may read it */
    }
}

static void probabilities(const reference *r, const double h[C], double p[CLASSES]) {
    const double *w = weight_of(r, "classifier.weight"), *b = weight_of(r, "classifier.bias");
    double sum = 0;
    for (int k = 0; k < CLASSES; k++) {
        double logit = b[k];
        for (int c = 0; c < C; c++) logit += h[c] * w[c * CLASSES + k];
        sum += p[k] = exp(logit);
    }
    for (int k = 0; k < CLASSES; k++) p[k] /= sum;
}

/* The squared distance of all samples of a node from their sharpened mean. */
static double distance(reference *r, int i, double p[S][CLASSES]) {
    double sum = 0, total = 0, *target = r->target[i];
    for (int k = 0; k < CLASSES && !r->holds_target; k++) {
        double mean = 0;
        for (int s = 0; s < S; s++) mean += p[s][k] / S;
        total += target[k] = pow(mean, 1 / r->trainer->config.temperature);
    }
    for (int k = 0; k < CLASSES && !r->holds_target; k++) target[k] /= total;
    for (int s = 0; s < S; s++)
        for (int k = 0; k < CLASSES; k++) sum += pow(p[s][k] - target[k], 2);
    return sum;
}

static double loss_of(reference *r, double lambda) {
    static rows h, h0;
    double cross_entropy = 0, consistency = 0, trained = 0;
    embed(r, h0);
    memcpy(h, h0, sizeof h);
    for (int layer = 0; layer < L; layer++) run_layer(r, layer, h, h0);
    for (int i = 0; i < SEEDS; i++) {
        double p[S][CLASSES];
        bool trains = r->trainer->split->train[r->seed[i]];
        for (int s = 0; s < S; s++) {
            probabilities(r, h[s][r->seed[i]], p[s]);
            if (trains) cross_entropy -= log(p[s][r->trainer->data->label[r->seed[i]]]);
        }
        trained += trains;
        consistency += distance(r, i, p);
    }
    return cross_entropy / (trained * S) + lambda * consistency / (SEEDS * S);
}

/* ---- the comparison ------------------------------------------------------------------------------------ */

static double train_loss(pgcn_trainer *t, pgcn_i_chosen chosen, int64_t step, double lambda) {
    pgcn_i_runner *runner = &t->train;
    pgcn_i_runner_put(runner, chosen, &t->loss);
    pgcn_i_target target = pgcn_i_views_target(&runner->views, t->split->train, t->train_items);
    runner->tape.step = step;
    pgcn_i_runner_draw(
        runner,
        (pgcn_i_path_draw){.seed = t->config.seed, .purpose = PGCN_I_RNG_WALK, .step = step});
    pgcn_i_tape_forward(&runner->tape);
    pgcn_i_loss_terms terms = pgcn_i_loss_run(&t->loss, &runner->tape, runner->logits, &target,
                                              lambda, t->config.temperature);
    pgcn_i_tape_backward(&runner->tape);
    return terms.cross_entropy + lambda * terms.consistency;
}

static void check_slopes(reference *r, double *weight, double lambda) {
    const pgcn_i_params *params = &r->trainer->params;
    r->holds_target = true;
    for (int p = 0; p < params->count; p++) {
        const pgcn_i_param *param = &params->param[p];
        if (param->group == PGCN_I_GROUP_BUFFER) continue;
        for (int64_t i = param->first; i < param->first + param->count; i++) {
            const double step = 1e-6, was = weight[i];
            weight[i] = was + step;
            double above = loss_of(r, lambda);
            weight[i] = was - step;
            double below = loss_of(r, lambda);
            weight[i] = was;
            double slope = (above - below) / (2 * step), grad = (double)params->grad[i];
            if (fabs(slope - grad) > 2e-4 * fabs(slope) + 2e-5)
                fail_msg("%s[%d]: gradient %g, slope %g", param->name, (int)(i - param->first),
                         grad, slope);
        }
    }
}

static void test_nodes_batch_norm_and_consistency_are_as_defined(void **state) {
    (void)state;
    const double lambda = 1.5;
    pgcn_dataset *data = dataset(DATA);
    static reference r;
    r = (reference){.trainer = trainer_of(data, TEXT)};
    const pgcn_i_params *params = &r.trainer->params;
    double *weight = test_malloc((size_t)params->total * sizeof *weight);
    for (int64_t i = 0; i < params->total; i++) weight[i] = (double)params->value[i];
    r.weight = weight;
    for (int64_t step = 0; step < 3; step++) {
        pgcn_i_chosen chosen = pgcn_i_feed_step(r.trainer->feed, 0, step);
        assert_int_equal(chosen.count, SEEDS);
        memcpy(r.seed, chosen.item, sizeof r.seed);
        draw_walks(&r, step);
        find_needed(&r);
        r.holds_target = false;
        double got = train_loss(r.trainer, chosen, step, lambda), should = loss_of(&r, lambda);
        assert_true(fabs(got - should) < 1e-5 * should);
        check_slopes(&r, weight, lambda);
    }
    test_free(weight);
    pgcn_trainer_free(r.trainer);
    pgcn_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes_batch_norm_and_consistency_are_as_defined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
