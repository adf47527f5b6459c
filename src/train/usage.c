/* Settings that do nothing beside the others: a table of which setting is not looked at when, and the
 * check that refuses them. Only what the caller has set is refused: pgcn_config.origin tells it from
 * what a recipe, a model file or the defaults say. Called by pgcn_config_check and, with the data, by
 * pgcn_trainer_new. */
#include "train/train.h"

#include <stdio.h>
#include <string.h>

/* ---- who has set a field ----------------------------------------------------------------------- */

/* config->origin[i]: not known, so that it is the caller's unless it is the default; the
 * caller, by pgcn_config_set(); or else a hash of the text that was adopted. */
enum { BY_NOBODY = 0, BY_CALLER = 1, LEAST_HASH = 2 };

static bool has_origins(const pgcn_config *config) {
    return config->size >= offsetof(pgcn_config, origin) + sizeof config->origin;
}

/* FNV-1a */
static uint32_t hash_of(const char *text) {
    uint32_t hash = 2166136261u;
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash < LEAST_HASH ? LEAST_HASH : hash;
}

void pgcn_i_config_mark(pgcn_config *config, int field) {
    if (has_origins(config)) config->origin[field] = BY_CALLER;
}

bool pgcn_i_config_is_set(const pgcn_config *config, int field) {
    return config->origin[field] == BY_CALLER;
}

void pgcn_config_adopt(pgcn_config *config) {
    const char *key;
    char text[PGCN_SETTING_BYTES];
    if (!config || !has_origins(config)) return;
    for (int i = 0; (key = pgcn_i_config_key(i)); i++) {
        pgcn_config_get(config, key, text, sizeof text);
        config->origin[i] = hash_of(text);
    }
}

/* Whether field i, which stands at `text`, is what the caller wants and nobody before. */
static bool is_callers(const pgcn_config *config, int i, const char *key, const char *text) {
    const pgcn_config plain = pgcn_config_default();
    char preset[PGCN_SETTING_BYTES];
    if (config->origin[i] == BY_CALLER) return true;
    if (config->origin[i] != BY_NOBODY) return config->origin[i] != hash_of(text);
    pgcn_config_get(&plain, key, preset, sizeof preset);
    return strcmp(text, preset) != 0;
}

bool pgcn_i_config_by_nodes(const pgcn_config *config) {
    char text[PGCN_SETTING_BYTES];
    if (config->batch == 0 || config->batch_by == PGCN_BATCH_CLUSTER) return false;
    if (config->batch_by == PGCN_BATCH_NODES) return true;
    pgcn_config_get(config, "batch", text, sizeof text);
    return is_callers(config, pgcn_i_config_number("batch"), "batch", text);
}

void pgcn_config_settle_batches(pgcn_config *config, const pgcn_dataset *data) {
    if (!config || !data || !has_origins(config)) return;
    bool one_graph = !pgcn_i_in_batches(data, data->task == PGCN_TASK_GRAPH);
    if (!one_graph)
        config->batch_by = PGCN_BATCH_AUTO;
    else if (config->batch_by == PGCN_BATCH_AUTO && pgcn_i_config_by_nodes(config))
        config->batch_by = PGCN_BATCH_NODES;
    else if (config->batch == 0 && config->batch_by == PGCN_BATCH_NODES)
        config->batch_by = PGCN_BATCH_AUTO;
}

/* ---- when a setting does nothing --------------------------------------------------------------- */

static bool is_exact(const pgcn_i_usage *u) {
    return u->config->train_form == PGCN_FORM_EXACT;
}
static bool has_no_steps(const pgcn_i_usage *u) {
    return u->config->path_length == 1;
}
static bool starts_otherwise(const pgcn_i_usage *u) {
    return u->config->kernel_start != PGCN_START_SMOOTH;
}
static bool has_no_mix(const pgcn_i_usage *u) {
    return u->config->kernel == PGCN_KERNEL_FULL;
}
static bool has_no_batch_norm(const pgcn_i_usage *u) {
    return !u->config->batch_norm;
}
static bool norms_graphs(const pgcn_i_usage *u) {
    return pgcn_i_norms_graphs(u->config);
}
static bool has_no_norm(const pgcn_i_usage *u) {
    return !u->config->batch_norm && !u->config->input_norm;
}
/* The gains of the batch norm are trained like the 1x1 weights. Where graphs are classified there always are some. */
static bool trains_no_mix(const pgcn_i_usage *u) {
    bool gains = u->task == PGCN_TASK_GRAPH || u->task == PGCN_TASK_NONE ||
                 pgcn_i_own_yes(u->config, &pgcn_i_norm_gain) || pgcn_i_norms_graphs(u->config);
    return has_no_mix(u) && !(u->config->batch_norm && gains);
}
static bool gathers_floats(const pgcn_i_usage *u) {
    return has_no_mix(u) && u->config->input_hops <= 0;
}
static bool keeps_bf16(const pgcn_i_usage *u) {
    return u->config->hidden_rows == PGCN_ROWS_BF16;
}
static bool has_no_residual(const pgcn_i_usage *u) {
    return u->config->residual == PGCN_RESIDUAL_NONE;
}
static bool is_first_order(const pgcn_i_usage *u) {
    return u->config->walk != PGCN_WALK_NODE2VEC;
}
static bool has_one_step(const pgcn_i_usage *u) {
    return u->config->path_length <= 2;
}
static bool drops_at_the_end(const pgcn_i_usage *u) {
    return (pgcn_i_network_of(u->config)->drops_last_only || u->task == PGCN_TASK_GRAPH) &&
           u->config->dropout_last >= 0;
}
static bool has_one_layer(const pgcn_i_usage *u) {
    return u->config->layers == 1;
}
static bool classifies_nodes(const pgcn_i_usage *u) {
    return u->task == PGCN_TASK_NODE || u->task == PGCN_TASK_MULTILABEL;
}
/* Where graphs are classified the last layer's results are dropped, too. */
static bool has_nothing_hidden(const pgcn_i_usage *u) {
    int from = pgcn_i_network_of(u->config)->hidden_from;
    return u->config->layers < (from > 0 ? from : 2) && u->task != PGCN_TASK_GRAPH &&
           u->task != PGCN_TASK_NONE;
}
static bool classifies_graphs(const pgcn_i_usage *u) {
    return u->task == PGCN_TASK_GRAPH;
}
static bool has_no_edge_loss(const pgcn_i_usage *u) {
    return pgcn_i_network_has(pgcn_i_network_of(u->config), &pgcn_i_edge_loss) &&
           !pgcn_i_own_yes(u->config, &pgcn_i_edge_loss);
}
/* A residual has the columns of the layer that it is mixed with: the first and the last have others. */
static bool has_nothing_to_mix(const pgcn_i_usage *u) {
    int from = pgcn_i_network_of(u->config)->residual_from - (u->task == PGCN_TASK_GRAPH);
    return u->config->layers < from && u->task != PGCN_TASK_NONE;
}
/* Where the only layer reads the features, and is the last one too. */
static bool is_first_and_last(const pgcn_i_usage *u) {
    return has_one_layer(u) && pgcn_i_network_of(u->config)->hidden_from > 2 && classifies_nodes(u);
}
/* A column times a factor is standardised to what the column alone is. */
static bool standardises(const pgcn_i_usage *u) {
    return u->config->normalise == PGCN_NORMALISE_STANDARDISE ||
           (u->config->normalise == PGCN_NORMALISE_AUTO && u->data && !u->data->x.offset);
}
static bool has_no_direction(const pgcn_i_usage *u) {
    return u->data && !u->data->graph->directed;
}
static bool has_no_weights(const pgcn_i_usage *u) {
    return u->data && !u->data->graph->weight && u->config->walk == PGCN_WALK_WEIGHTED;
}
static bool is_one_graph(const pgcn_i_usage *u) {
    return u->data && !pgcn_i_in_batches(u->data, u->task == PGCN_TASK_GRAPH);
}
static bool is_whole_graph(const pgcn_i_usage *u) {
    return is_one_graph(u) && !pgcn_i_config_by_nodes(u->config) &&
           u->config->batch_by != PGCN_BATCH_CLUSTER;
}
static bool is_in_batches(const pgcn_i_usage *u) {
    return is_one_graph(u) && pgcn_i_config_by_nodes(u->config);
}
static bool has_many_graphs(const pgcn_i_usage *u) {
    return u->data && !is_one_graph(u);
}
static bool is_in_clusters(const pgcn_i_usage *u) {
    return u->config->batch_by == PGCN_BATCH_CLUSTER;
}
static bool is_not_in_clusters(const pgcn_i_usage *u) {
    return !is_in_clusters(u);
}
static bool stays_on_disk(const pgcn_i_usage *u) {
    return u->data && u->data->x.file && is_not_in_clusters(u);
}
static bool has_all_nodes(const pgcn_i_usage *u) {
    return u->config->batch == 0 && u->config->batch_by == PGCN_BATCH_NODES;
}
static bool walks(const pgcn_i_usage *u) {
    return pgcn_i_network_of(u->config)->walks;
}
static bool does_not_walk(const pgcn_i_usage *u) {
    return !walks(u);
}
static bool reads_no_neighbours(const pgcn_i_usage *u) {
    const pgcn_i_network *network = pgcn_i_network_of(u->config);
    return network->levels && network->levels(u->config) == 0;
}
/* The values of T do not count where attention weighs links, and where it has no neighbours to weigh. */
static bool attends(const pgcn_i_usage *u) {
    const pgcn_i_network *network = pgcn_i_network_of(u->config);
    return network->links || (reads_no_neighbours(u) && !network->powers);
}
static bool has_no_loops(const pgcn_i_usage *u) {
    return !u->config->self_loops;
}
static bool has_no_validation(const pgcn_i_usage *u) {
    return u->data && u->data->without_val;
}
static bool has_equal_samples(const pgcn_i_usage *u) {
    const pgcn_config *c = u->config;
    bool drops = c->dropout > 0 || c->dropout_last > 0 || c->drop_rows > 0 || c->dropout_hidden > 0;
    return (is_exact(u) || has_no_steps(u)) && !drops && c->consistency <= 0;
}
static bool is_not_compared(const pgcn_i_usage *u) {
    return u->config->consistency <= 0;
}
static bool has_no_pseudo(const pgcn_i_usage *u) {
    return u->config->pseudo_labels == 0;
}
static bool begins_too_late(const pgcn_i_usage *u) {
    return u->config->pseudo_from >= u->config->epochs;
}
static bool freezes_ends(const pgcn_i_usage *u) {
    return u->config->lr_ends <= 0;
}
static bool freezes_mix(const pgcn_i_usage *u) {
    return u->config->lr_mix <= 0;
}
static bool freezes_kernel(const pgcn_i_usage *u) {
    return u->config->lr_kernel <= 0;
}

/* What depends on other settings and on the data. What a network does not use at all says its own file
 * (src/models). `holds` is asked with the settings as the network reads them. */
typedef struct reason {
    bool (*holds)(const pgcn_i_usage *u);
    const char *because, *instead; /* what to do but to leave the setting out; "": nothing */
} reason;

/* clang-format off */
static const reason
    exact = {is_exact, "train-form is exact, which samples no paths", "set train-form to sampled"},
    no_steps = {has_no_steps, "path-length is 1, a node alone", "set path-length to at least 2"},
    not_smooth = {starts_otherwise, "kernel-start is not smooth", "set kernel-start to smooth"},
    no_mix = {has_no_mix, "kernel is full, which has no 1x1 convolution beside it", "set kernel to depthwise"},
    untrained_mix = {trains_no_mix, "kernel is full, which has no 1x1 convolution beside it", "set kernel to depthwise"},
    no_batch_norm = {has_no_batch_norm, "batch-norm is no", "set batch-norm to yes"},
    no_norm = {has_no_norm, "batch-norm is no", "set batch-norm to yes"},
    own_gains = {norms_graphs, "norm-over is graph, which always has gains", ""},
    graph_gains = {classifies_graphs, "graphs are classified, and batch norm always has gains there", ""},
    float_gather = {gathers_floats, "kernel is full, which reads floats", "set kernel to depthwise"},
    no_residual = {has_no_residual, "residual is none", "set residual to initial or previous"},
    halved = {keeps_bf16, "hidden-rows is bf16, and rows are read as they are kept", "leave one of them out"},
    first_order = {is_first_order, "walk is not node2vec", "set walk to node2vec"},
    one_step = {has_one_step, "a walk of one step has no step before it", "set path-length to at least 3"},
    last_dropout = {drops_at_the_end, "dropout-last is given, and this network drops before its last layer only", "set dropout-last to -1"},
    one_layer = {has_one_layer, "layers is 1", "set layers to at least 2"},
    nothing_hidden = {has_nothing_hidden, "no layer is hidden between the first and the last", "raise layers"},
    nothing_mixed = {has_nothing_to_mix, "no layer has as many columns as the one before it", "raise layers"},
    only_layer = {is_first_and_last, "the last layer is the first one too, and has dropout", "set layers to at least 2"},
    last_columns = {is_first_and_last, "the only layer is the last one, which has a column for each class", "set layers to at least 2"},
    last_heads = {is_first_and_last, "the only layer is the last one, whose heads are heads-last", "set layers to at least 2"},
    no_edge_loss = {has_no_edge_loss, "edge-loss is 0", "set edge-loss"},
    nodes = {classifies_nodes, "nodes are classified, not graphs", ""},
    graphs = {classifies_graphs, "graphs are classified, by a readout after the last layer", ""},
    standardised = {standardises, "features are standardised, which undoes it", "set normalise to rows"},
    undirected = {has_no_direction, "the graph is undirected", "load it as NAME:directed"},
    unweighted = {has_no_weights, "the edges have no weights", "set walk to uniform"},
    whole_graph = {is_whole_graph, "a step has all of the one graph", "set batch"},
    many_graphs = {has_many_graphs, "a step has some graphs of many", ""},
    all_nodes = {has_all_nodes, "batch is 0", "set batch"},
    clusters = {is_in_clusters, "batch-by is cluster", "set parts-per-step"},
    clusters_alone = {is_in_clusters, "batch-by is cluster", "set batch in place of batch-by"},
    on_disk = {stays_on_disk, "parts of a graph are made in memory, and the features stay on disk", ""},
    no_clusters = {is_not_in_clusters, "batch-by is not cluster", "set batch-by to cluster"},
    with_paths = {walks, "paths are drawn in place of neighbours", "set batch-paths"},
    without_paths = {does_not_walk, "no paths are drawn", "set neighbours"},
    attended = {attends, "the values of T are not read", ""},
    without_loops = {has_no_loops, "T has no diagonal without self-loops", "set self-loops to yes"},
    without_neighbours = {reads_no_neighbours, "no neighbours are read", ""},
    unvalidated = {has_no_validation, "the data has no validation items, and the last weights are kept", "give a validation mask"},
    equal_samples = {has_equal_samples, "without dropout and sampled paths all samples are the same", ""},
    in_batches = {is_in_batches, "a step has some of the nodes", "set batch to 0"},
    too_late = {begins_too_late, "pseudo-from is not below epochs", "lower pseudo-from"},
    no_pseudo = {has_no_pseudo, "pseudo-labels is 0", "set pseudo-labels"},
    not_compared = {is_not_compared, "consistency is 0", "set consistency above 0"},
    frozen_ends = {freezes_ends, "lr-ends is 0", "set lr-ends above 0"},
    frozen_mix = {freezes_mix, "lr-mix is 0", "set lr-mix above 0"},
    frozen_kernel = {freezes_kernel, "lr-kernel is 0", "set lr-kernel above 0"};

/* `is` is what the setting comes to where the reason holds, and may be set to; NULL: nothing. A setting
 * that is listed twice does nothing for either reason. */
static const struct rule {
    const char *key;
    const reason *why;
    const char *is;
} rules[] = {
    {"paths", &exact, NULL}, {"resample-every", &exact, NULL}, {"paths-per-layer", &exact, "no"},
    {"bf16", &exact, "no"}, {"hidden-rows", &exact, "float32"},

    {"paths", &no_steps, NULL}, {"resample-every", &no_steps, NULL}, {"paths-per-layer", &no_steps, "no"},
    {"bf16", &no_steps, "no"}, {"hidden-rows", &no_steps, "float32"}, {"walk", &no_steps, NULL}, {"self-loops", &no_steps, "no"},
    {"scaling", &no_steps, NULL}, {"hops", &no_steps, "0"}, {"direction", &no_steps, NULL},

    {"hops", &not_smooth, NULL},
    {"mix", &no_mix, NULL}, {"self-mix", &no_mix, "no"}, {"lr-mix", &untrained_mix, NULL}, {"wd-mix", &untrained_mix, "0"},
    {"norm-gain", &no_batch_norm, "no"}, {"norm-gain", &graph_gains, "yes"},
    {"norm-gain", &own_gains, "yes"}, {"norm-over", &no_norm, "step"},
    {"bf16", &float_gather, "no"}, {"hidden-rows", &no_mix, "float32"}, {"bf16", &halved, "no"},
    {"alpha", &no_residual, "0"}, {"residual", &nothing_mixed, "none"}, {"alpha", &nothing_mixed, NULL},
    {"return-p", &first_order, "1"}, {"inout-q", &first_order, "1"},
    {"return-p", &one_step, "1"}, {"inout-q", &one_step, "1"},
    {"walk", &unweighted, NULL}, {"direction", &undirected, "forward"},
    {"dropout", &last_dropout, "0"}, {"dropout-hidden", &nothing_hidden, "0"}, {"dropout-last", &only_layer, "-1"},
    {"paths-per-layer", &one_layer, "no"}, {"frequency", &standardised, "0"},
    {"readout", &nodes, NULL}, {"heads-last", &graphs, NULL}, {"heads", &last_heads, NULL}, {"channels", &last_columns, NULL},
    {"edge-sample", &no_edge_loss, NULL}, {"negatives", &no_edge_loss, NULL},
    {"steps", &whole_graph, "0"}, {"batch-by", &many_graphs, "auto"}, {"batch-by", &all_nodes, "auto"},
    {"neighbours", &many_graphs, "all"}, {"neighbours", &whole_graph, "all"}, {"neighbours", &with_paths, "all"},
    {"neighbours", &without_neighbours, "all"}, {"batch-paths", &without_paths, "all"}, {"batch-paths", &no_steps, "all"},
    {"batch-paths", &many_graphs, "all"}, {"batch-paths", &whole_graph, "all"},
    {"batch", &clusters, NULL}, {"neighbours", &clusters_alone, "all"}, {"batch-paths", &clusters_alone, "all"},
    {"unlabelled", &clusters_alone, "0"}, {"eval-nodes", &clusters_alone, "0"},
    {"parts-by", &on_disk, "auto"}, {"parts", &on_disk, NULL}, {"parts-per-step", &on_disk, "1"},
    {"parts-by", &no_clusters, "auto"}, {"parts-by", &many_graphs, "auto"},
    {"parts", &no_clusters, NULL}, {"parts-per-step", &no_clusters, "1"},
    {"parts", &many_graphs, NULL}, {"parts-per-step", &many_graphs, "1"}, {"diagonal", &with_paths, "0"},
    {"diagonal", &attended, "0"}, {"diagonal", &without_loops, "0"},
    {"eval-nodes", &many_graphs, "0"}, {"eval-nodes", &whole_graph, "0"}, {"eval-nodes", &unvalidated, "0"},
    {"unlabelled", &many_graphs, "0"}, {"unlabelled", &whole_graph, "0"}, {"unlabelled", &not_compared, "0"},
    {"select", &unvalidated, NULL}, {"patience", &unvalidated, "0"}, {"eval-every", &unvalidated, NULL},
    {"samples", &equal_samples, "1"},
    {"pseudo-labels", &many_graphs, "0"}, {"pseudo-labels", &in_batches, "0"}, {"pseudo-labels", &clusters_alone, "0"},
    {"pseudo-labels", &too_late, "0"}, {"pseudo-from", &no_pseudo, NULL},
    {"temperature", &not_compared, NULL}, {"consistency-ramp", &not_compared, "0"},
    {"wd-ends", &frozen_ends, "0"}, {"wd-mix", &frozen_mix, "0"}, {"wd-kernel", &frozen_kernel, "0"},
};
/* clang-format on */
enum { RULES = sizeof rules / sizeof *rules };

/* ---- what the network ignores -------------------------------------------------------------------- */

static const pgcn_i_ignored *find_ignored(const pgcn_config *config, const char *key) {
    const pgcn_i_ignored *ignored = pgcn_i_network_of(config)->ignored;
    char text[PGCN_SETTING_BYTES];
    for (; ignored && ignored->key; ignored++) {
        if (strcmp(ignored->key, key) != 0) continue;
        if (!ignored->value) return ignored;
        pgcn_config_get(config, key, text, sizeof text);
        if (strcmp(ignored->value, text) == 0) return ignored;
    }
    return NULL;
}

/* The setting of that name that only some networks have; NULL: it is a shared one. */
static const pgcn_i_setting *find_own(const char *key) {
    const pgcn_i_setting *own;
    for (int i = 0; (own = pgcn_i_own_setting(i)); i++)
        if (strcmp(own->key, key) == 0) return own;
    return NULL;
}

static bool is_anothers(const pgcn_config *config, const char *key) {
    const pgcn_i_setting *own = find_own(key);
    return own && !pgcn_i_network_has(pgcn_i_network_of(config), own);
}

/* Settings as the network reads them: what it ignores is what it comes to. */
static void read_as_network(pgcn_config *config) {
    const pgcn_i_ignored *ignored = pgcn_i_network_of(config)->ignored;
    for (; ignored && ignored->key; ignored++)
        if (ignored->is && find_ignored(config, ignored->key))
            pgcn_config_set(config, ignored->key, ignored->is);
}

bool pgcn_config_uses(const pgcn_config *given, const char *key) {
    pgcn_config config;
    char text[PGCN_SETTING_BYTES];
    if (!given || !key || pgcn_i_config_copy(given, &config) != PGCN_OK) return false;
    if (pgcn_config_get(&config, key, text, sizeof text) != PGCN_OK) return false;
    const pgcn_i_ignored *ignored = find_ignored(&config, key);
    return !is_anothers(&config, key) && !(ignored && !ignored->value);
}

/* ---- both ---------------------------------------------------------------------------------------- */

/* Why a setting does nothing. */
typedef struct finding {
    char because[96];
    const char *instead;
    const char *is; /* what it comes to, and may be set to; NULL: nothing */
    bool fixed;     /* by the network, whatever the other settings are */
} finding;

static bool find_in_network(const pgcn_i_usage *u, const char *key, finding *out) {
    const pgcn_i_network *network = pgcn_i_network_of(u->config);
    const pgcn_i_ignored *ignored = find_ignored(u->config, key);
    if (!ignored && !is_anothers(u->config, key)) return false;
    *out = (finding){.instead = "choose another model"};
    snprintf(out->because, sizeof out->because, "model is %s%s", network->name,
             ignored && ignored->value ? network->why_ignored : "");
    if (!ignored || ignored->value) return true;
    out->is = ignored->is;
    out->fixed = ignored->is != NULL;
    return true;
}

static bool find_rule(const pgcn_i_usage *u, const char *key, finding *out) {
    if (find_in_network(u, key, out)) return true;
    pgcn_config config = *u->config;
    read_as_network(&config);
    const pgcn_i_usage as_read = {&config, u->task, u->data};
    for (int i = 0; i < RULES; i++)
        if (strcmp(rules[i].key, key) == 0 && rules[i].why->holds(&as_read)) {
            *out = (finding){.instead = rules[i].why->instead, .is = rules[i].is};
            snprintf(out->because, sizeof out->because, "%s", rules[i].why->because);
            return true;
        }
    return false;
}

bool pgcn_i_config_unused(const pgcn_i_usage *u, const char *key) {
    finding found;
    char text[PGCN_SETTING_BYTES];
    if (!find_rule(u, key, &found)) return false;
    pgcn_config_get(u->config, key, text, sizeof text);
    return !found.is || strcmp(found.is, text) != 0;
}

const char *pgcn_config_unused(const pgcn_config *given, const pgcn_dataset *data,
                               const char *key) {
    static _Thread_local finding found;
    pgcn_config config;
    if (!given || !key || pgcn_i_config_copy(given, &config) != PGCN_OK) return NULL;
    const pgcn_i_usage usage = {&config, data ? data->task : PGCN_TASK_NONE, data};
    return find_rule(&usage, key, &found) ? found.because : NULL;
}

/* ---- the check --------------------------------------------------------------------------------- */

pgcn_status pgcn_i_config_fail_unused(const pgcn_i_usage *u, const char *key) {
    finding found = {.instead = ""};
    char text[PGCN_SETTING_BYTES];
    find_rule(u, key, &found);
    pgcn_config_get(u->config, key, text, sizeof text);
    return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s is %s and does nothing: %s%s%s; leave it out%s%s",
                       key, text, found.because, found.fixed ? ", where it is always " : "",
                       found.fixed ? found.is : "", *found.instead ? " or " : "", found.instead);
}

/* A smooth start that shall walk further than its flattest kernel, 1/k for every node, does. */
static pgcn_status check_reach(const pgcn_config *config, const char *key, double hops,
                               double layers) {
    double reach = layers * (config->path_length - 1) / 2;
    if (hops <= reach) return PGCN_OK;
    return pgcn_i_fail(
        PGCN_ERR_ARGUMENT,
        "%s is %g, and paths of %d nodes over %g layer%s walk at most %g on average; "
        "set it to 0..%g or raise path-length",
        key, hops, config->path_length, layers, layers > 1 ? "s" : "", reach, reach);
}

/* A list of numbers that is longer than the network is deep: the last ones would do nothing, whoever wrote it. */
static pgcn_status check_counts(const pgcn_i_usage *u, const char *key) {
    const pgcn_i_network *network = pgcn_i_network_of(u->config);
    char text[PGCN_SETTING_BYTES];
    finding found;
    int levels = network->levels ? network->levels(u->config) : 0, numbers = 1;
    pgcn_config_get(u->config, key, text, sizeof text);
    for (const char *at = text; *at; at++) numbers += *at == ',';
    if (levels == 0 || numbers <= levels || find_rule(u, key, &found)) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "%s is %s, %d numbers, and model %s takes %d step%s from its last layer to "
                       "its first; give at most %d, the first for the last layer",
                       key, text, numbers, network->name, levels, levels > 1 ? "s" : "", levels);
}

pgcn_status pgcn_i_config_check_used(const pgcn_i_usage *u) {
    const pgcn_config *config = u->config;
    const char *key;
    for (int i = 0; (key = pgcn_i_config_key(i)); i++) {
        char text[PGCN_SETTING_BYTES];
        pgcn_config_get(config, key, text, sizeof text);
        if (!is_callers(config, i, key, text)) continue;
        if (pgcn_i_config_unused(u, key)) return pgcn_i_config_fail_unused(u, key);
        if (strcmp(key, "hops") == 0)
            PGCN_TRY(check_reach(config, key, config->hops, config->layers));
        if (strcmp(key, "input-hops") == 0)
            PGCN_TRY(check_reach(config, key, config->input_hops, 1));
    }
    PGCN_TRY(check_counts(u, "neighbours"));
    return check_counts(u, "batch-paths");
}

/* ---- settings over settings -------------------------------------------------------------------- */

/* A setting that makes another one impossible. */
static const struct {
    const char *key, *value, *gives_way, *to;
} ruled_out[] = {
    {"samples", "1", "consistency", "0"},      {"walk", "node2vec", "self-loops", "no"},
    {"input-hops", "0", "input-norm", "no"},   {"layer-norm", "yes", "batch-norm", "no"},
    {"batch-norm", "yes", "layer-norm", "no"},
};

bool pgcn_i_config_has_set(const pgcn_config *config, const char *key) {
    int field = pgcn_i_config_number(key);
    return field >= 0 && pgcn_i_config_is_set(config, field);
}

pgcn_status pgcn_config_overlay(pgcn_config *config, const pgcn_config *given) {
    PGCN_I_NEED(config);
    PGCN_I_NEED(given);
    pgcn_config own;
    PGCN_TRY(pgcn_i_config_copy(given, &own));
    const char *key;
    char text[PGCN_SETTING_BYTES];
    for (int i = 0; (key = pgcn_i_config_key(i)); i++) {
        if (!pgcn_i_config_is_set(&own, i)) continue;
        PGCN_TRY(pgcn_config_get(&own, key, text, sizeof text));
        PGCN_TRY(pgcn_config_set(config, key, text));
    }
    for (size_t i = 0; i < sizeof ruled_out / sizeof *ruled_out; i++) {
        if (!pgcn_i_config_has_set(&own, ruled_out[i].key) ||
            pgcn_i_config_has_set(&own, ruled_out[i].gives_way))
            continue;
        PGCN_TRY(pgcn_config_get(&own, ruled_out[i].key, text, sizeof text));
        if (strcmp(text, ruled_out[i].value) == 0 &&
            pgcn_config_uses(config, ruled_out[i].gives_way))
            PGCN_TRY(pgcn_config_set(config, ruled_out[i].gives_way, ruled_out[i].to));
    }
    return PGCN_OK;
}

/* ---- what follows ------------------------------------------------------------------------------ */

void pgcn_i_config_settle(pgcn_config *config) {
    read_as_network(config);
    pgcn_config_adopt(config);
}
