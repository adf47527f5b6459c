/* The networks of fixed convolutions against their equations (docs/NETWORKS.md), in double precision and with dense
 * matrices: logits, and the gradient of every parameter by finite differences of the double-precision loss. */
#include "network_help.h"
#include "train/train.h"

#include <math.h>
#include <string.h>

/* ---- dense matrices ---------------------------------------------------------------------------- */

typedef struct matrix {
    int64_t rows, cols;
    double *at;
} matrix;

/* Matrices of one evaluation are freed together. */
enum { MOST = 1 << 16 };
static double *made[MOST];
static int made_count;

static matrix zeros(int64_t rows, int64_t cols) {
    assert_true(made_count < MOST);
    matrix m = {rows, cols, calloc((size_t)(rows * cols) + 1, sizeof *m.at)};
    made[made_count++] = m.at;
    return m;
}
static void free_all(void) {
    while (made_count > 0) free(made[--made_count]);
}

static matrix times(matrix a, matrix b) {
    matrix c = zeros(a.rows, b.cols);
    assert_int_equal(a.cols, b.rows);
    for (int64_t i = 0; i < a.rows; i++)
        for (int64_t k = 0; k < a.cols; k++)
            for (int64_t j = 0; j < b.cols; j++)
                c.at[i * b.cols + j] += a.at[i * a.cols + k] * b.at[k * b.cols + j];
    return c;
}
/* p a + q b */
static matrix mixed(double p, matrix a, double q, matrix b) {
    matrix c = zeros(a.rows, a.cols);
    assert_true(a.rows == b.rows && a.cols == b.cols);
    for (int64_t i = 0; i < a.rows * a.cols; i++) c.at[i] = p * a.at[i] + q * b.at[i];
    return c;
}
static matrix larger(matrix a, matrix b) {
    matrix c = zeros(a.rows, a.cols);
    for (int64_t i = 0; i < a.rows * a.cols; i++) c.at[i] = fmax(a.at[i], b.at[i]);
    return c;
}
static matrix columns(matrix a, int64_t first, int64_t count) {
    matrix c = zeros(a.rows, count);
    for (int64_t i = 0; i < a.rows; i++)
        for (int64_t j = 0; j < count; j++) c.at[i * count + j] = a.at[i * a.cols + first + j];
    return c;
}

/* ---- the problem ------------------------------------------------------------------------------- */

typedef struct reference {
    const network *net;
    double *weight; /* [total] as net->params.value */
    matrix x, t;
} reference;

/* A of the graph; without edge weights, as `walk` uniform reads it. */
static matrix adjacency(const pgcn_graph *graph) {
    matrix a = zeros(graph->n, graph->n);
    for (int64_t i = 0; i < graph->n; i++)
        for (int64_t e = graph->offset[i]; e < graph->offset[i + 1]; e++)
            a.at[i * graph->n + graph->neighbour[e]] = 1;
    return a;
}

static matrix transition_of(const pgcn_graph *graph, const pgcn_config *config) {
    matrix a = adjacency(graph), t = zeros(graph->n, graph->n);
    int64_t n = graph->n;
    double *degree = zeros(n, 1).at;
    for (int64_t i = 0; i < n; i++) {
        if (config->self_loops) a.at[i * n + i] += 1;
        for (int64_t j = 0; j < n; j++) degree[i] += a.at[i * n + j];
        if (degree[i] == 0) degree[i] = 1;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            t.at[i * n + j] =
                a.at[i * n + j] /
                (config->scaling == PGCN_SCALING_WALK ? degree[i] : sqrt(degree[i] * degree[j]));
    return t;
}

static matrix features_of(const problem *p) {
    matrix x = zeros(p->n, NET_FEATURES);
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t e = p->csr.offset[i]; e < p->csr.offset[i + 1]; e++)
            x.at[i * NET_FEATURES + p->csr.column[e]] = (double)p->csr.value[e];
    return x;
}

static bool has(const reference *r, const char *of, const char *name) {
    return pgcn_i_param_named(&r->net->params, "%s%s", of, name) != NULL;
}
static matrix param(const reference *r, const char *of, const char *name) {
    const pgcn_i_param *p = pgcn_i_param_named(&r->net->params, "%s%s", of, name);
    if (!p) fail_msg("there is no parameter %s%s", of, name);
    matrix m = {p->rank == 2 ? p->shape[0] : 1, p->shape[p->rank - 1], r->weight + p->first};
    return m;
}
static double own(const reference *r, const char *key) {
    char text[PGCN_SETTING_BYTES];
    must(pgcn_config_get(&r->net->config, key, text, sizeof text));
    return strcmp(text, "yes") == 0 || strcmp(text, "max") == 0 || strcmp(text, "relu") == 0
               ? 1
               : atof(text);
}

/* ---- layers ------------------------------------------------------------------------------------ */

static matrix with_bias(const reference *r, matrix y, const char *of) {
    if (!has(r, of, "bias")) return y;
    matrix b = param(r, of, "bias"), z = mixed(1, y, 0, y);
    for (int64_t i = 0; i < y.rows * y.cols; i++) z.at[i] += b.at[i % y.cols];
    return z;
}

/* Along the columns of a row (layer norm) or the rows of a column (batch norm). */
static void normalise(double *first, int64_t count, int64_t apart) {
    double mean = 0, square = 0;
    for (int64_t i = 0; i < count; i++) mean += first[i * apart] / (double)count;
    for (int64_t i = 0; i < count; i++) square += pow(first[i * apart] - mean, 2) / (double)count;
    for (int64_t i = 0; i < count; i++)
        first[i * apart] = (first[i * apart] - mean) / sqrt(square + 1e-5);
}
static matrix with_norm(const reference *r, matrix y, const char *of) {
    if (!has(r, of, "norm.gain")) return y;
    matrix z = mixed(1, y, 0, y), gain = param(r, of, "norm.gain"),
           shift = param(r, of, "norm.shift");
    bool batch = has(r, of, "norm.mean");
    for (int64_t i = 0; i < (batch ? y.cols : y.rows); i++)
        normalise(z.at + (batch ? i : i * y.cols), batch ? y.rows : y.cols, batch ? y.cols : 1);
    for (int64_t i = 0; i < y.rows * y.cols; i++)
        z.at[i] = gain.at[i % y.cols] * z.at[i] + shift.at[i % y.cols];
    return z;
}
static matrix relu(matrix y) {
    return larger(y, zeros(y.rows, y.cols));
}

static matrix dense(const reference *r, matrix x, const char *of, bool last) {
    matrix y = with_norm(r, with_bias(r, times(x, param(r, of, "weight")), of), of);
    return last ? y : relu(y);
}

static matrix conv(const reference *r, matrix x, const matrix *residual, const char *of,
                   bool last) {
    double alpha = residual ? r->net->config.alpha : 0;
    matrix y = times(r->t, times(x, param(r, of, "weight")));
    if (residual) y = mixed(1 - alpha, y, alpha, *residual);
    if (has(r, of, "self.weight")) y = mixed(1, y, 1, times(x, param(r, of, "self.weight")));
    y = with_norm(r, with_bias(r, y, of), of);
    return last ? y : relu(y);
}

/* ---- networks ---------------------------------------------------------------------------------- */

static const char *named(const char *format, int a, int b) {
    static char text[8][64];
    static int next;
    char *out = text[next++ % 8];
    snprintf(out, sizeof text[0], format, a, b);
    return out;
}
static const char *layer(int l) {
    return named("layers.%d.", l, 0);
}

static matrix mlp(const reference *r) {
    matrix h = r->x;
    int layers = r->net->config.layers;
    for (int l = 0; l < layers; l++) h = dense(r, h, layer(l), l == layers - 1);
    return h;
}

static matrix gcn(const reference *r) {
    const pgcn_config *config = &r->net->config;
    matrix h = r->x, first = h;
    for (int l = 0; l < config->layers; l++) {
        bool last = l == config->layers - 1,
             mixes = l > 0 && !last && config->residual != PGCN_RESIDUAL_NONE;
        const matrix *other = config->residual == PGCN_RESIDUAL_INITIAL ? &first : &h;
        h = conv(r, h, mixes ? other : NULL, layer(l), last);
        if (l == 0) first = h;
    }
    return h;
}

static matrix sgc(const reference *r) {
    matrix h = r->x;
    for (int k = 0; k < (int)own(r, "powers"); k++) h = times(r->t, h);
    return dense(r, h, "classifier.", true);
}

/* T_0 = H, T_1 = M H, T_k = 2 M T_{k-1} - T_{k-2}; M from the matrix itself. */
static matrix cheb(const reference *r) {
    int order = (int)own(r, "order"), layers = r->net->config.layers;
    double largest = param(r, "", PGCN_I_EIGENVALUE).at[0];
    matrix m = zeros(r->t.rows, r->t.rows), h = r->x;
    for (int64_t i = 0; i < m.rows * m.rows; i++) {
        double one = i / m.rows == i % m.rows;
        m.at[i] = 2 * (one - r->t.at[i]) / largest - one;
    }
    for (int l = 0; l < layers; l++) {
        matrix w = param(r, layer(l), "weight"), before = h, now = times(m, h);
        int64_t out = w.cols / (order + 1);
        matrix y = times(h, columns(w, 0, out));
        for (int k = 1; k <= order; k++) {
            y = mixed(1, y, 1, times(now, columns(w, k * out, out)));
            matrix next = mixed(2, times(m, now), -1, before);
            before = now;
            now = next;
        }
        y = with_norm(r, with_bias(r, y, layer(l)), layer(l));
        h = l == layers - 1 ? y : relu(y);
    }
    return h;
}

static matrix appnp(const reference *r) {
    matrix z = mlp(r), y = z;
    double alpha = r->net->config.alpha;
    for (int k = 0; k < (int)own(r, "powers"); k++) y = mixed(1 - alpha, times(r->t, y), alpha, z);
    return y;
}

static matrix gcnii(const reference *r) {
    const pgcn_config *config = &r->net->config;
    matrix h0 = dense(r, r->x, "embed.", false), h = h0;
    for (int l = 0; l < config->layers; l++) {
        double theta = log(own(r, "lambda") / (l + 1) + 1);
        matrix p = times(r->t, h), s = mixed(1 - config->alpha, p, config->alpha, h0);
        matrix w = param(r, layer(l), "weight"), y;
        if (has(r, layer(l), "initial"))
            y = mixed(1, times(p, w), 1, times(h0, param(r, layer(l), "initial")));
        else
            y = times(s, w);
        y = mixed(theta, y, 1 - theta, s);
        if (own(r, "skip") > 0) y = mixed(1, y, 1, h);
        h = relu(with_norm(r, y, layer(l)));
    }
    return dense(r, h, "classifier.", true);
}

/* The larger one of x and the threshold of its channel. */
static matrix shifted_relu(const reference *r, matrix y, const char *of) {
    matrix t = param(r, of, "threshold"), z = mixed(1, y, 0, y);
    for (int64_t i = 0; i < y.rows * y.cols; i++)
        z.at[i] = fmax(y.at[i] - t.at[i % y.cols], 0) + t.at[i % y.cols];
    return z;
}

static matrix egnn(const reference *r) {
    double least = own(r, "c-min"), beta = own(r, "beta");
    matrix h0 = dense(r, r->x, "embed.", false), h = h0;
    for (int l = 0; l < r->net->config.layers; l++) {
        matrix s = mixed(1 - least, times(r->t, h), least - beta, h);
        s = times(mixed(1, s, beta, h0), param(r, layer(l), "weight"));
        h = shifted_relu(r, with_norm(r, s, layer(l)), layer(l));
    }
    return dense(r, h, "classifier.", true);
}

/* Its term of the loss. */
static double egnn_term(const reference *r) {
    double sum = 0;
    for (int l = 0; l < r->net->config.layers; l++) {
        matrix w = param(r, layer(l), "weight");
        double square = 0, diagonal = l == 0 ? sqrt(own(r, "c-max")) : 1;
        for (int64_t e = 0; e < w.rows * w.cols; e++)
            square += pow(w.at[e] - (e / w.cols == e % w.cols ? diagonal : 0), 2);
        sum += sqrt(square);
    }
    return own(r, "orthogonal") * sum;
}

/* G^T s(G x K) K^T, link by link and with K applied to each link, as the paper has it. */
static matrix flow(const reference *r, matrix x, matrix k) {
    bool with_relu = own(r, "activation") > 0;
    matrix d = zeros(x.rows, x.cols), turned = zeros(k.cols, k.rows);
    for (int64_t e = 0; e < k.rows * k.cols; e++)
        turned.at[e % k.cols * k.rows + e / k.cols] = k.at[e];
    for (int64_t i = 0; i < x.rows; i++)
        for (int64_t j = 0; j < x.rows; j++) {
            double w = r->t.at[i * x.rows + j];
            if (w == 0) continue;
            matrix edge = zeros(1, x.cols);
            for (int64_t c = 0; c < x.cols; c++)
                edge.at[c] = w * (x.at[i * x.cols + c] - x.at[j * x.cols + c]);
            matrix y = times(edge, k);
            for (int64_t c = 0; c < y.cols; c++)
                y.at[c] = with_relu ? fmax(y.at[c], 0) : tanh(y.at[c]);
            matrix z = times(y, turned);
            for (int64_t c = 0; c < x.cols; c++) {
                d.at[i * x.cols + c] += w * z.at[c];
                d.at[j * x.cols + c] -= w * z.at[c];
            }
        }
    return d;
}

/* As the authors write the three forms: with x of the step before. */
static matrix pde_gcn(const reference *r) {
    const char *name = pgcn_i_network_of(&r->net->config)->name;
    double h = own(r, "step");
    matrix x = dense(r, r->x, "embed.", false), before = x;
    for (int l = 0; l < r->net->config.layers; l++) {
        matrix d = flow(r, x, param(r, layer(l), "weight")), next;
        if (strcmp(name, "pde-gcn-d") == 0) {
            next = mixed(1, x, -h, d);
        } else if (strcmp(name, "pde-gcn-h") == 0) {
            next = mixed(1, mixed(2, x, -1, before), -h * h, d);
        } else {
            double wave = 1 / (1 + exp(-param(r, "", "mixture").at[0])), heat = (1 - wave) / h;
            wave /= h * h;
            next = mixed(2 * wave + heat, x, -wave, before);
            next = mixed(1 / (wave + heat), next, -1 / (wave + heat), d);
        }
        before = x;
        x = next;
    }
    return dense(r, x, "classifier.", true);
}

static matrix sage(const reference *r) {
    matrix h = r->x;
    for (int l = 0; l < r->net->config.layers; l++) h = conv(r, h, NULL, layer(l), false);
    return dense(r, h, "classifier.", true);
}

static matrix jknet(const reference *r) {
    int layers = r->net->config.layers;
    matrix h = r->x, y = {0, 0, NULL}, most = y;
    for (int l = 0; l < layers - 1; l++) {
        h = conv(r, h, NULL, layer(l), false);
        most = l == 0 ? h : larger(most, h);
        if (own(r, "jump") > 0) continue;
        matrix part = times(h, param(r, named("classifier.%d.", l, 0), "weight"));
        y = l == 0 ? part : mixed(1, y, 1, part);
    }
    if (own(r, "jump") > 0) y = times(most, param(r, "classifier.", "weight"));
    return with_bias(r, times(r->t, y), "classifier.");
}

static matrix incep(const reference *r) {
    matrix first = conv(r, r->x, NULL, "input.", false);
    matrix y = times(first, param(r, "classifier.0.", "weight"));
    for (int b = 1; b <= r->net->config.layers - 2; b++) {
        matrix h = first;
        for (int l = 0; l < b; l++) h = conv(r, h, NULL, named("branches.%d.%d.", b, l), false);
        y = mixed(1, y, 1, times(h, param(r, named("classifier.%d.", b, 0), "weight")));
    }
    return with_bias(r, times(r->t, y), "classifier.");
}

static matrix elu(matrix y) {
    matrix z = zeros(y.rows, y.cols);
    for (int64_t i = 0; i < y.rows * y.cols; i++) z.at[i] = y.at[i] > 0 ? y.at[i] : expm1(y.at[i]);
    return z;
}

static double head_product(matrix z, int64_t i, int64_t j, int64_t first, int64_t count) {
    double sum = 0;
    for (int64_t ch = first; ch < first + count; ch++)
        sum += z.at[i * z.cols + ch] * z.at[j * z.cols + ch];
    return sum;
}

/* The row of attention of node i in head h, over all nodes: 0 where T is. */
static void attention_row(const reference *r, matrix z, int64_t i, int64_t h, const char *of,
                          double *out) {
    matrix target = param(r, of, "target"), source = param(r, of, "source");
    int64_t width = target.cols;
    bool is_gated = strcmp(pgcn_i_network_of(&r->net->config)->name, "supergat") == 0;
    double sum = 0;
    for (int64_t j = 0; j < z.rows; j++) {
        double e = 0;
        for (int64_t ch = 0; ch < width; ch++)
            e += target.at[h * width + ch] * z.at[i * z.cols + h * width + ch] +
                 source.at[h * width + ch] * z.at[j * z.cols + h * width + ch];
        if (is_gated) e /= 1 + exp(-head_product(z, i, j, h * width, width));
        out[j] = r->t.at[i * z.rows + j] > 0 ? exp(e > 0 ? e : 0.2 * e) : 0;
        sum += out[j];
    }
    for (int64_t j = 0; j < z.rows; j++) out[j] /= sum;
}

static matrix attend(const reference *r, matrix z, const char *of) {
    int64_t heads = param(r, of, "target").rows, width = z.cols / heads;
    matrix y = zeros(z.rows, z.cols), row = zeros(1, z.rows);
    for (int64_t i = 0; i < z.rows; i++)
        for (int64_t h = 0; h < heads; h++) {
            attention_row(r, z, i, h, of, row.at);
            for (int64_t j = 0; j < z.rows; j++)
                for (int64_t ch = h * width; ch < (h + 1) * width; ch++)
                    y.at[i * z.cols + ch] += row.at[j] * z.at[j * z.cols + ch];
        }
    return y;
}

static matrix gat(const reference *r) {
    matrix h = r->x;
    int layers = r->net->config.layers;
    for (int l = 0; l < layers; l++) {
        bool last = l == layers - 1;
        matrix y = attend(r, times(h, param(r, layer(l), "weight")), layer(l));
        int64_t heads = param(r, layer(l), "target").rows, width = y.cols / heads;
        if (last) {
            matrix mean = zeros(y.rows, width);
            for (int64_t k = 0; k < heads; k++)
                mean = mixed(1, mean, 1.0 / (double)heads, columns(y, k * width, width));
            y = mean;
        }
        if (has(r, layer(l), "self.weight"))
            y = mixed(1, y, 1, times(h, param(r, layer(l), "self.weight")));
        y = with_norm(r, with_bias(r, y, layer(l)), layer(l));
        h = last ? y : elu(y);
    }
    return h;
}

/* The mean over heads of softmax(q k^T / sqrt(columns)), where T has an entry. */
static matrix grand_attention(const reference *r, matrix x) {
    matrix qk = with_bias(r, times(x, param(r, "attention.", "weight")), "attention."),
           a = zeros(x.rows, x.rows);
    int64_t heads = (int64_t)own(r, "heads"), width = qk.cols / 2 / heads;
    for (int64_t i = 0; i < x.rows; i++)
        for (int64_t h = 0; h < heads; h++) {
            double *row = zeros(1, x.rows).at, sum = 0;
            for (int64_t j = 0; j < x.rows; j++) {
                if (r->t.at[i * x.rows + j] <= 0) continue;
                for (int64_t ch = h * width; ch < (h + 1) * width; ch++)
                    row[j] += qk.at[i * qk.cols + ch] * qk.at[j * qk.cols + qk.cols / 2 + ch];
                row[j] = exp(row[j] / sqrt((double)width));
                sum += row[j];
            }
            for (int64_t j = 0; j < x.rows; j++)
                a.at[i * x.rows + j] += row[j] / sum / (double)heads;
        }
    return a;
}

static matrix grand_slope(const reference *r, matrix x, matrix x0) {
    char text[PGCN_SETTING_BYTES];
    must(pgcn_config_get(&r->net->config, "attention", text, sizeof text));
    matrix a = grand_attention(r, strcmp(text, "fixed") == 0 ? x0 : x);
    double rate = 1 / (1 + exp(-param(r, "", "rate").at[0]));
    return mixed(rate, mixed(1, times(a, x), -1, x), param(r, "", "source").at[0], x0);
}

static matrix grand(const reference *r) {
    char text[PGCN_SETTING_BYTES];
    must(pgcn_config_get(&r->net->config, "integrator", text, sizeof text));
    double h = own(r, "step");
    matrix x0 = dense(r, r->x, "embed.", true), x = x0;
    for (int l = 0; l < r->net->config.layers; l++) {
        matrix k1 = grand_slope(r, x, x0);
        if (strcmp(text, "euler") == 0) {
            x = mixed(1, x, h, k1);
            continue;
        }
        matrix k2 = grand_slope(r, mixed(1, x, h / 2, k1), x0);
        matrix k3 = grand_slope(r, mixed(1, x, h / 2, k2), x0);
        matrix k4 = grand_slope(r, mixed(1, x, h, k3), x0);
        x = mixed(1, x, h / 6, mixed(1, mixed(1, k1, 2, k2), 1, mixed(2, k3, 1, k4)));
    }
    return dense(r, relu(x), "classifier.", true);
}

static const struct {
    const char *model;
    matrix (*logits)(const reference *r);
    double (*term)(const reference *r); /* of the loss; NULL: none */
} models[] = {
    {"mlp", mlp, NULL},           {"gcn", gcn, NULL},           {"sgc", sgc, NULL},
    {"cheb", cheb, NULL},         {"appnp", appnp, NULL},       {"gcnii", gcnii, NULL},
    {"gcnii-star", gcnii, NULL},  {"sage", sage, NULL},         {"jknet", jknet, NULL},
    {"incep", incep, NULL},       {"egnn", egnn, egnn_term},    {"pde-gcn-d", pde_gcn, NULL},
    {"pde-gcn-h", pde_gcn, NULL}, {"pde-gcn-m", pde_gcn, NULL}, {"gat", gat, NULL},
    {"supergat", gat, NULL},      {"grand", grand, NULL}};
enum { MODELS = sizeof models / sizeof *models };

static int model_of(const reference *r) {
    const char *name = pgcn_i_network_of(&r->net->config)->name;
    int i = 0;
    while (i < MODELS && strcmp(models[i].model, name) != 0) i++;
    if (i == MODELS) fail_msg("no equations for %s", name);
    return i;
}
static matrix logits_of(const reference *r) {
    return models[model_of(r)].logits(r);
}

static double loss_of(const reference *r) {
    const problem *p = r->net->problem;
    matrix logits = logits_of(r);
    double (*term)(const reference *) = models[model_of(r)].term, loss = term ? term(r) : 0;
    for (int64_t i = 0; i < p->n; i++) {
        if (!p->mask[i] || p->label[i] < 0) continue;
        const double *row = logits.at + i * logits.cols;
        double sum = 0;
        for (int64_t j = 0; j < logits.cols; j++) sum += exp(row[j] - row[p->label[i]]);
        loss += log(sum) / (double)p->masked;
    }
    return loss;
}

/* ---- the comparison ---------------------------------------------------------------------------- */

static void reference_open(reference *r, const network *net) {
    *r = (reference){.net = net, .weight = calloc((size_t)net->params.total, sizeof *r->weight)};
    for (int64_t i = 0; i < net->params.total; i++) r->weight[i] = (double)net->params.value[i];
}

/* A loss of this evaluation, with x and t made for it. */
static double evaluate(reference *r, matrix *logits) {
    r->x = features_of(r->net->problem);
    r->t = transition_of(r->net->problem->graph, &r->net->config);
    if (logits) {
        matrix found = logits_of(r);
        memcpy(logits->at, found.at, (size_t)(found.rows * found.cols) * sizeof *found.at);
    }
    double loss = loss_of(r);
    free_all();
    return loss;
}

static void check_logits(reference *r, const char *text) {
    const pgcn_i_value *ours = r->net->logits;
    matrix logits = {ours->rows, ours->cols,
                     calloc((size_t)(ours->rows * ours->cols), sizeof(double))};
    double most = 0, off = 0;
    evaluate(r, &logits);
    for (int64_t i = 0; i < ours->rows * ours->cols; i++) {
        most = fmax(most, fabs(logits.at[i]));
        off = fmax(off, fabs(logits.at[i] - (double)ours->data[i]));
    }
    if (!(off < 2e-5 * most + 1e-6)) fail_msg("%s: logits are off by %g of %g", text, off, most);
    free(logits.at);
}

/* Some entries of each parameter. A kink of a ReLU within 1e-6 is not to be expected. */
static void check_gradients(reference *r, const char *text) {
    const network *net = r->net;
    for (int i = 0; i < net->params.count; i++) {
        const pgcn_i_param *p = &net->params.param[i];
        double most = 0;
        if (p->group == PGCN_I_GROUP_BUFFER) continue;
        for (int64_t e = 0; e < p->count; e++)
            most = fmax(most, fabs((double)net->params.grad[p->first + e]));
        for (int64_t e = 0; e < p->count; e += 1 + p->count / 7) {
            double *w = r->weight + p->first + e, start = *w, side[2];
            for (int s = 0; s < 2; s++) {
                *w = start + (s ? -1e-6 : 1e-6);
                side[s] = evaluate(r, NULL);
            }
            *w = start;
            double slope = (side[0] - side[1]) / 2e-6,
                   ours = (double)net->params.grad[p->first + e];
            if (!(fabs(slope - ours) < 1e-3 * most + 1e-6))
                fail_msg("%s: gradient %lld of %s is %g, expected %g", text, (long long)e, p->name,
                         ours, slope);
        }
    }
}

static const char *const texts[] = {
    "model=mlp layers=3 batch-norm=yes",
    "model=mlp layers=1 bias=no",
    "model=gcn",
    "model=gcn layers=4 residual=previous alpha=0.3 bias=no",
    "model=gcn layers=4 residual=initial alpha=0.3 self-mix=yes",
    "model=gcn layers=3 scaling=walk layer-norm=yes",
    "model=gcn layers=3 batch-norm=yes",
    "model=sgc powers=3",
    "model=sgc powers=0 bias=no",
    "model=cheb layers=3 order=4 layer-norm=yes",
    "model=cheb order=1 eigenvalue=two bias=no",
    "model=cheb order=0",
    "model=appnp powers=5 alpha=0.2",
    "model=appnp powers=2 alpha=0.7 batch-norm=yes layers=3",
    "model=gcnii layers=4 lambda=1.5 alpha=0.2",
    "model=gcnii layers=3 skip=yes batch-norm=yes",
    "model=gcnii-star layers=3 lambda=1.5 alpha=0.4",
    "model=gcnii-star layers=2 skip=yes",
    "model=sage layers=2 layer-norm=yes",
    "model=sage layers=3 bias=no",
    "model=jknet layers=5",
    "model=jknet layers=4 jump=max self-mix=yes",
    "model=incep layers=5",
    "model=incep layers=2 scaling=walk",
    "model=gat channels=6 heads=3 heads-last=4 layers=3",
    "model=supergat channels=6 heads=3 heads-last=4 layers=3 edge-loss=0",
    "model=supergat channels=16 heads=2 heads-last=1 self-mix=yes edge-loss=0",
    "model=grand layers=3 step=0.7 integrator=euler heads=2 attention-channels=6",
    "model=grand layers=2 step=0.5 heads=1 attention-channels=3",
    "model=grand layers=2 step=0.5 attention=recomputed heads=4 attention-channels=8",
    "model=gat channels=24 heads=3 heads-last=1 self-mix=yes",
    "model=gat channels=16 heads=1 heads-last=9 layer-norm=yes bias=no layers=3",
    "model=gat channels=24 heads=8 batch-norm=yes layers=2",
    "model=egnn layers=3 c-min=0.3 c-max=2 beta=0.1 threshold=0",
    "model=egnn layers=2 c-min=0.5 beta=0.5 threshold=0.1 batch-norm=yes orthogonal=0.3",
    "model=egnn layers=4 c-min=0.4 beta=0 threshold=-0.05 orthogonal=0",
    "model=pde-gcn-d layers=3 step=0.7",
    "model=pde-gcn-d layers=2 step=0.3 activation=relu bias=no",
    "model=pde-gcn-h layers=4 step=0.6",
    "model=pde-gcn-h layers=1 activation=relu",
    "model=pde-gcn-m layers=4 step=0.5",
    "model=pde-gcn-m layers=2 step=1.5 activation=relu bias=no",
    "model=pde-gcn-m layers=1 step=2",
};

/* Also of directed graphs, where T is not symmetric; some nodes have no neighbours. */
static void test_networks_are_their_equations(void **state) {
    (void)state;
    problem some[] = {problem_new(30), problem_of(30, true)};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int p = 0; p < 2; p++) {
            char text[256];
            network net;
            reference r;
            snprintf(text, sizeof text,
                     "channels=5 consistency=0 samples=1 dropout=0 dropout-hidden=0 normalise=none "
                     "seed=3 %s",
                     texts[i]);
            network_open(&net, &some[p], text, 2);
            network_shake(&net);
            double loss = network_run(&net);
            reference_open(&r, &net);
            check_logits(&r, texts[i]);
            assert_true(fabs(evaluate(&r, NULL) - loss) < 1e-5 * (1 + fabs(loss)));
            check_gradients(&r, texts[i]);
            free(r.weight);
            network_close(&net);
        }
    problem_free(&some[0]), problem_free(&some[1]);
}

/* Whoever adds a network adds its equations here. */
static void test_networks_all_have_equations(void **state) {
    (void)state;
    for (int i = 0; pgcn_network_name(i); i++) {
        bool found = strcmp(pgcn_network_name(i), "pathgcn") == 0 ||
                     strcmp(pgcn_network_name(i), "gin") == 0;
        for (int m = 0; m < MODELS; m++)
            found |= strcmp(models[m].model, pgcn_network_name(i)) == 0;
        if (!found) fail_msg("%s has no equations in this test", pgcn_network_name(i));
    }
}

/* A problem whose loss looks at a few nodes. */
static problem problem_of_few(bool directed) {
    problem p = problem_of(200, directed);
    for (int64_t j = 0; j < p.n; j++) p.mask[j] = p.mask[j] && j % 40 == 3;
    p.masked = 0;
    for (int64_t j = 0; j < p.n; j++) p.masked += p.mask[j] && p.label[j] >= 0;
    assert_in_range(p.masked, 1, 5);
    return p;
}

static void check_few_rows(const problem *p, const char *text) {
    network all, few;
    network_open(&all, p, text, 2), network_open(&few, p, text, 2);
    network_shake(&all), network_shake(&few);
    double loss = network_run(&all);
    pgcn_i_target target = {p->label, NULL, p->mask, p->masked};
    pgcn_i_loss_rows(&few.loss, &few.tape, &target, 0);
    assert_float_equal(network_run(&few), loss, 1e-6);
    double most = 0, off = 0;
    for (int64_t e = 0; e < all.params.total; e++) {
        most = fmax(most, fabs((double)all.params.grad[e]));
        off = fmax(off, fabs((double)(all.params.grad[e] - few.params.grad[e])));
    }
    if (!(off <= 1e-5 * most)) fail_msg("%s: gradients are off by %g of %g", text, off, most);
    network_close(&all), network_close(&few);
}

/* Only rows that the loss looks at are computed, and gradients are the same; of several samples and where T is not
 * symmetric, too. */
static void test_networks_rows_that_do_not_matter_are_left_out(void **state) {
    (void)state;
    problem some[] = {problem_of_few(false), problem_of_few(true)};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int form = 0; form < 4; form++) {
            char text[256];
            snprintf(text, sizeof text,
                     "channels=5 consistency=0 samples=%d dropout=0.5 dropout-hidden=0.3 %s%s",
                     1 + form / 2, texts[i],
                     strstr(texts[i], "gat ") ? " dropout-attention=0.4 dropout-values=0.3" : "");
            check_few_rows(&some[form % 2], text);
        }
    problem_free(&some[0]), problem_free(&some[1]);
}

int main(void) {
    if (lacks_instruction_set()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_networks_are_their_equations),
        cmocka_unit_test(test_networks_all_have_equations),
        cmocka_unit_test(test_networks_rows_that_do_not_matter_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
