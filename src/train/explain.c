/* Explanations of a prediction: the public side of nn's explain.c. Opens a session that keeps what is read
 * afterwards, traces a logit back to features and constants, and orders what was found by size. What would be
 * predicted without the links of the strongest nodes is in removal.c. */
#include "train/explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_HOPS = 1000 };

pgcn_explain_opts pgcn_explain_opts_default(void) {
    return (pgcn_explain_opts){.size = sizeof(pgcn_explain_opts),
                               .target = -1,
                               .against = -1,
                               .hops = 16,
                               .pairs = 100,
                               .removals = 5};
}

void pgcn_explanation_free(pgcn_explanation *explanation) {
    if (!explanation) return;
    pgcn_i_explained *e = (pgcn_i_explained *)explanation; /* its first member */
    pgcn_i_arena_free(&e->arena);
    pgcn_i_free(e);
}

/* ---- what is asked for ------------------------------------------------------------------------------- */

static pgcn_status check_class(const pgcn_model *model, const char *which, int number) {
    if (number >= -1 && number < model->classes) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s is %d, expected a class from 0 to %d", which, number,
                       model->classes - 1);
}

static pgcn_status check_mask(const pgcn_model *model, const pgcn_explain_opts *opts) {
    const pgcn_i_network *network = pgcn_i_network_of(&model->config);
    if (!opts->mask || opts->removals == 0) return PGCN_OK;
    if (opts->sampled)
        return pgcn_i_fail(
            PGCN_ERR_ARGUMENT,
            "mask keeps the degrees of the exact form, and paths are drawn here; remove "
            "links without mask");
    if (network->links)
        return pgcn_i_fail(
            PGCN_ERR_ARGUMENT,
            "mask keeps degrees, and the attention of network %s has none; remove links "
            "without mask",
            network->name);
    return PGCN_OK;
}

static pgcn_status check_opts(const pgcn_model *model, const pgcn_dataset *data, int64_t item,
                              const pgcn_explain_opts *opts) {
    bool per_graph = model->task == PGCN_TASK_GRAPH;
    int64_t items = per_graph ? data->info.graphs : data->graph->n;
    const char *what = per_graph ? "graph" : "node";
    if (item < 0 || item >= items)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "there is no %s %lld: data set %s has the %ss 0 to %lld", what,
                           (long long)item, data->name, what, (long long)items - 1);
    PGCN_TRY(check_class(model, "target", opts->target));
    PGCN_TRY(check_class(model, "against", opts->against));
    if (opts->target >= 0 && opts->target == opts->against)
        return pgcn_i_fail(
            PGCN_ERR_ARGUMENT,
            "target and against are both %d: their difference is 0; choose two classes",
            opts->target);
    if (opts->hops < 0 || opts->hops > MOST_HOPS)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "hops is %d, expected 0 to %d", opts->hops,
                           MOST_HOPS);
    if (opts->pairs < 0 || opts->removals < 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s is negative, expected 0 or more",
                           opts->pairs < 0 ? "pairs" : "removals");
    return check_mask(model, opts);
}

double pgcn_i_explain_logit(const pgcn_explanation *e, const float *logits) {
    return (double)logits[e->target] - (e->against < 0 ? 0 : (double)logits[e->against]);
}

/* ---- what was found, by size ------------------------------------------------------------------------- */

/* Larger sums first, then lower numbers: the same order for any number of threads. */
static int by_size(double a, double b, int64_t first, int64_t second) {
    double x = fabs(a), y = fabs(b);
    if (x != y) return x > y ? -1 : 1;
    return first < second ? -1 : first > second;
}
static int compare_nodes(const void *a, const void *b) {
    const pgcn_node_share *x = a, *y = b;
    return by_size(x->sum, y->sum, x->node, y->node);
}
static int compare_features(const void *a, const void *b) {
    const pgcn_feature_share *x = a, *y = b;
    if (fabs(x->sum) == fabs(y->sum) && x->node != y->node) return x->node < y->node ? -1 : 1;
    return by_size(x->sum, y->sum, x->column, y->column);
}
static int compare_constants(const void *a, const void *b) {
    const pgcn_constant_share *x = a, *y = b;
    int order = by_size(x->sum, y->sum, 0, 0);
    return order != 0 ? order : strcmp(x->name, y->name);
}

/* The strongest of many, in a heap whose root is the weakest of them. */
typedef struct strongest {
    int64_t count, most;
    pgcn_feature_share *share;
} strongest;

static void sink(strongest *s) {
    for (int64_t at = 0, next; (next = 2 * at + 1) < s->count; at = next) {
        if (next + 1 < s->count && compare_features(&s->share[next + 1], &s->share[next]) > 0)
            next++;
        if (compare_features(&s->share[at], &s->share[next]) >= 0) return;
        pgcn_feature_share swap = s->share[at];
        s->share[at] = s->share[next];
        s->share[next] = swap;
    }
}

static void offer(strongest *s, pgcn_feature_share share) {
    if (s->count < s->most) {
        int64_t at = s->count++;
        for (; at > 0 && compare_features(&share, &s->share[(at - 1) / 2]) > 0; at = (at - 1) / 2)
            s->share[at] = s->share[(at - 1) / 2];
        s->share[at] = share;
    } else if (s->most > 0 && compare_features(&share, &s->share[0]) < 0) {
        s->share[0] = share;
        sink(s);
    }
}

/* ---- from the trace to the lists ---------------------------------------------------------------------- */

static bool add_node(pgcn_i_explained *e, const pgcn_i_trace *trace, pgcn_node node,
                     pgcn_node_share *share, double *of_hop) {
    int planes = trace->most_hops + 1;
    bool any = false;
    *share = (pgcn_node_share){.node = node, .distance = e->distance ? e->distance[node] : -1};
    for (int p = 0; p < planes; p++) {
        double along = trace->of_node[0][(int64_t)node * planes + p];
        double residual = trace->of_node[1][(int64_t)node * planes + p];
        of_hop[p] = along + residual;
        share->sum += of_hop[p];
        share->residual += residual;
        any = any || along != 0 || residual != 0;
    }
    share->of_hop = of_hop;
    return any;
}

static pgcn_status list_nodes(pgcn_i_explained *e, const pgcn_i_trace *trace) {
    int planes = trace->most_hops + 1;
    int64_t reached = 0, nodes = trace->input->n;
    for (int64_t u = 0; u < nodes; u++) reached += trace->of_entry[u] != NULL;
    pgcn_node_share *share = PGCN_I_ARRAY(&e->arena, pgcn_node_share, reached);
    double *of_hop = PGCN_I_ARRAY(&e->arena, double, reached *planes);
    double *sum = PGCN_I_ARRAY(&e->arena, double, planes);
    if (!share || !of_hop || !sum) return PGCN_ERR_MEMORY;
    int64_t count = 0;
    for (int64_t u = 0; u < nodes; u++) {
        double *own = of_hop + count * planes;
        if (!trace->of_entry[u] || !add_node(e, trace, (pgcn_node)u, &share[count], own)) continue;
        for (int p = 0; p < planes; p++) sum[p] += own[p];
        e->out.features += share[count].sum - share[count].residual;
        e->out.residual += share[count].residual;
        count++;
    }
    qsort(share, (size_t)count, sizeof *share, compare_nodes);
    e->out.nodes = count;
    e->out.node = share;
    e->out.of_hop = sum;
    return PGCN_OK;
}

/* What every entry of the features contributes: the strongest of them, and the sums of columns. */
static pgcn_status list_features(pgcn_i_explained *e, const pgcn_i_trace *trace, int64_t pairs) {
    const pgcn_i_input *x = trace->input;
    double *of_column = PGCN_I_ARRAY(&e->arena, double, x->columns);
    strongest s = {.most = pairs};
    int64_t entries = 0, columns = 0;
    for (int64_t u = 0; u < x->n; u++)
        if (trace->of_entry[u]) entries += x->dense ? x->columns : x->offset[u + 1] - x->offset[u];
    if (s.most > entries) s.most = entries;
    s.share = PGCN_I_ARRAY(&e->arena, pgcn_feature_share, s.most);
    if (!of_column || !s.share) return PGCN_ERR_MEMORY;
    for (int64_t u = 0; u < x->n; u++) {
        int64_t first = x->dense ? u * x->columns : x->offset[u];
        int64_t count = x->dense ? x->columns : x->offset[u + 1] - first;
        for (int64_t i = 0; trace->of_entry[u] && i < count; i++) {
            double sum = trace->of_entry[u][i];
            int64_t column = x->dense ? i : x->column[first + i];
            double value = (double)(x->dense ? x->dense[first + i] : x->value[first + i]);
            of_column[column] += sum;
            if (sum != 0) offer(&s, (pgcn_feature_share){(pgcn_node)u, column, value, sum});
        }
    }
    qsort(s.share, (size_t)s.count, sizeof *s.share, compare_features);
    pgcn_feature_share *feature = PGCN_I_ARRAY(&e->arena, pgcn_feature_share, x->columns);
    if (!feature) return PGCN_ERR_MEMORY;
    for (int64_t j = 0; j < x->columns; j++)
        if (of_column[j] != 0)
            feature[columns++] = (pgcn_feature_share){.node = -1, .column = j, .sum = of_column[j]};
    qsort(feature, (size_t)columns, sizeof *feature, compare_features);
    e->out.columns = columns;
    e->out.feature = feature;
    e->out.pairs = s.count;
    e->out.pair = s.share;
    return PGCN_OK;
}

/* "layers.0.norm.shift" and "layers.0.norm.mean" are told as "layers.0.norm". */
static pgcn_constant_share constant_of(const pgcn_i_param *param, double sum) {
    static const char *const of_norm[] = {".shift", ".mean"};
    pgcn_constant_share share = {.sum = sum};
    size_t length = strlen(param->name);
    memcpy(share.name, param->name, length + 1);
    for (int i = 0; i < 2; i++) {
        size_t end = strlen(of_norm[i]);
        if (length <= end || strcmp(param->name + length - end, of_norm[i]) != 0) continue;
        share.name[length - end] = '\0';
        share.is_norm = true;
    }
    return share;
}

static pgcn_status list_constants(pgcn_i_explained *e, const pgcn_i_trace *trace) {
    const pgcn_i_params *params = trace->tape->params;
    pgcn_constant_share *share = PGCN_I_ARRAY(&e->arena, pgcn_constant_share, params->count);
    if (!share) return PGCN_ERR_MEMORY;
    for (int i = 0; i < params->count; i++) {
        if (trace->of_param[i] == 0) continue;
        pgcn_constant_share constant = constant_of(&params->param[i], trace->of_param[i]);
        *(constant.is_norm ? &e->out.norms : &e->out.biases) += constant.sum;
        share[e->out.constants++] = constant;
    }
    qsort(share, (size_t)e->out.constants, sizeof *share, compare_constants);
    e->out.constant = share;
    return PGCN_OK;
}

/* Links from the item to every node, the way the network reads them. */
static pgcn_status measure_distances(pgcn_i_explained *e, const pgcn_graph *graph) {
    int64_t n = graph->n, head = 0, tail = 0;
    pgcn_node *queue = PGCN_I_ARRAY(&e->arena, pgcn_node, n);
    e->distance = PGCN_I_ARRAY(&e->arena, int32_t, n);
    if (!queue || !e->distance) return PGCN_ERR_MEMORY;
    for (int64_t u = 0; u < n; u++) e->distance[u] = -1;
    queue[tail++] = (pgcn_node)e->out.item;
    e->distance[e->out.item] = 0;
    while (head < tail) {
        pgcn_node u = queue[head++];
        for (int64_t i = graph->offset[u]; i < graph->offset[u + 1]; i++) {
            pgcn_node v = graph->neighbour[i];
            if (e->distance[v] >= 0) continue;
            e->distance[v] = e->distance[u] + 1;
            queue[tail++] = v;
        }
    }
    return PGCN_OK;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static pgcn_status trace_back(pgcn_i_explained *e, pgcn_i_session *s, int64_t row, int64_t pairs) {
    pgcn_i_trace trace = {.tape = &s->runner.tape,
                          .most_hops = e->out.hops,
                          .input = s->plain ? s->plain : s->input,
                          .node = s->runner.views.batch ? s->runner.views.batch->subset.node : NULL,
                          .smooth = &s->spatial.exact,
                          .powers = pgcn_i_network_powers(&s->config)};
    float *weight = PGCN_I_ARRAY(&e->arena, float, e->out.classes);
    if (!weight) return PGCN_ERR_MEMORY;
    weight[e->out.target] = 1;
    if (e->out.against >= 0) weight[e->out.against] = -1;
    pgcn_status status = pgcn_i_trace_init(&trace);
    if (status == PGCN_OK) status = pgcn_i_trace_run(&trace, row, weight);
    if (status == PGCN_OK) status = list_nodes(e, &trace);
    if (status == PGCN_OK) status = list_features(e, &trace, pairs);
    if (status == PGCN_OK) status = list_constants(e, &trace);
    pgcn_i_trace_free(&trace);
    e->out.sum = e->out.features + e->out.residual + e->out.biases + e->out.norms;
    return status;
}

static float *copy_row(pgcn_i_arena *arena, const float *matrix, int64_t row, int classes) {
    float *copy = PGCN_I_ARRAY(arena, float, classes);
    if (copy) memcpy(copy, matrix + row * classes, (size_t)classes * sizeof *copy);
    return copy;
}

/* The prediction, and what of it is explained. */
static pgcn_status predict(pgcn_i_explained *e, pgcn_i_session *s, int64_t *row) {
    pgcn_explanation *out = &e->out;
    PGCN_TRY(pgcn_i_session_run_item(s, out->item, row));
    out->logits = copy_row(&e->arena, s->runner.logits->data, *row, out->classes);
    out->probability = copy_row(&e->arena, s->loss.probability, *row, out->classes);
    if (!out->logits || !out->probability) return PGCN_ERR_MEMORY;
    out->predicted = pgcn_i_best_class(out->probability, out->classes);
    if (out->target < 0) out->target = out->predicted;
    if (out->target == out->against)
        return pgcn_i_fail(
            PGCN_ERR_ARGUMENT,
            "against is %d, the predicted class, whose logit is explained; choose another "
            "class for one of them",
            out->against);
    out->logit = pgcn_i_explain_logit(out, out->logits);
    return PGCN_OK;
}

static pgcn_status explain(pgcn_i_explained *e, const pgcn_explain_opts *opts) {
    pgcn_i_session s;
    int64_t row;
    PGCN_TRY(pgcn_i_session_open_for(&s, e->model, e->data, &e->inference,
                                     (pgcn_i_session_purpose){.explains = true}));
    pgcn_status status = predict(e, &s, &row);
    if (status == PGCN_OK && !e->out.is_graph)
        status = measure_distances(e, s.spatial.walker.graph);
    if (status == PGCN_OK) status = trace_back(e, &s, row, opts->pairs);
    pgcn_i_session_close(&s);
    if (status == PGCN_OK && opts->removals > 0)
        status = pgcn_i_explain_removals(e, opts->removals);
    return status;
}

pgcn_status pgcn_model_explain(const pgcn_model *model, const pgcn_dataset *data, int64_t item,
                               const pgcn_explain_opts *opts, pgcn_explanation **out) {
    PGCN_I_NEED(model);
    PGCN_I_NEED(data);
    PGCN_I_NEED(out);
    pgcn_explain_opts known = pgcn_explain_opts_default();
    PGCN_TRY(pgcn_i_opts_over(&known, sizeof known, opts, "pgcn_explain_opts_default"));
    if (model->config.walk == PGCN_WALK_NODE2VEC) known.sampled = true;
    PGCN_TRY(check_opts(model, data, item, &known));
    pgcn_i_explained *e = pgcn_i_alloc(1, sizeof *e);
    if (!e) return PGCN_ERR_MEMORY;
    *e = (pgcn_i_explained){.model = model,
                            .data = data,
                            .inference = pgcn_inference_default(),
                            .out = {.item = item,
                                    .is_graph = model->task == PGCN_TASK_GRAPH,
                                    .classes = model->classes,
                                    .target = known.target,
                                    .against = known.against,
                                    .sampled = known.sampled,
                                    .seed = known.sampled ? known.seed : 0,
                                    .masked = known.mask,
                                    .hops = known.hops}};
    e->inference.draws = known.sampled ? 1 : 0;
    e->inference.seed = known.seed;
    e->inference.threads = known.threads;
    pgcn_status status = explain(e, &known);
    if (status == PGCN_OK)
        *out = &e->out;
    else
        pgcn_explanation_free(&e->out);
    return status;
}
