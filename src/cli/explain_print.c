/* An explanation as tables for people and as JSON for programs. */
#include "cli/explain.h"

#include <string.h>

/* ---- names ------------------------------------------------------------------------------------------- */

int64_t cli_explain_listed(const cli_explained *x, int64_t count) {
    return x->top > 0 && x->top < count ? x->top : count;
}

static void put_name(const char *name, int64_t number, char *out, size_t bytes) {
    if (name)
        pgcn_text_printable(name, out, bytes);
    else
        snprintf(out, bytes, "%lld", (long long)number);
}

void cli_explain_node(const cli_explained *x, int64_t node, char *out, size_t bytes) {
    put_name(pgcn_dataset_node_id(x->data, node), cli_node_number(x->data, node), out, bytes);
}

void cli_explain_class(const cli_explained *x, int class, char *out, size_t bytes) {
    put_name(pgcn_model_class_name(x->model, class), class, out, bytes);
}

void cli_explain_feature(const cli_explained *x, int64_t column, char *out, size_t bytes) {
    put_name(pgcn_model_feature_name(x->model, column), column, out, bytes);
}

static void item_name(const cli_explained *x, char *out, size_t bytes) {
    if (x->explanation->is_graph)
        snprintf(out, bytes, "%lld", (long long)x->explanation->item);
    else
        cli_explain_node(x, x->explanation->item, out, bytes);
}

/* ---- tables ------------------------------------------------------------------------------------------ */

enum { NAME = 26, OVER = 12 };

/* A name in the first column of a table. */
static void print_name(const char *name) {
    cli_put_padded(stdout, name, NAME, false);
}

/* The head of the column that compares with the second class, and a number in it; nothing where there is none. */
static void print_over_head(const cli_explained *x) {
    char class[96], over[128];
    if (!x->contrast) return;
    cli_explain_class(x, x->contrast->against, class, sizeof class);
    snprintf(over, sizeof over, "over %s", class);
    putchar(' ');
    cli_put_padded(stdout, over, OVER, true);
}
static void print_over(const cli_explained *x, double value) {
    if (x->contrast) printf(" %*.4f", OVER, value);
}

/* What the same node, or feature, is for the explained class over the second one. */
static double node_over(const pgcn_explanation *contrast, pgcn_node node) {
    for (int64_t i = 0; i < contrast->nodes; i++)
        if (contrast->node[i].node == node) return contrast->node[i].sum;
    return 0;
}
static double feature_over(const pgcn_explanation *contrast, int64_t column) {
    for (int64_t i = 0; i < contrast->columns; i++)
        if (contrast->feature[i].column == column) return contrast->feature[i].sum;
    return 0;
}
static double constant_over(const pgcn_explanation *contrast, const char *name) {
    for (int i = 0; i < contrast->constants; i++)
        if (strcmp(contrast->constant[i].name, name) == 0) return contrast->constant[i].sum;
    return 0;
}

/* What the data says; by the names of the data, whose classes may be others than the model's. */
static void print_label(const cli_explained *x) {
    const int32_t *label = pgcn_dataset_labels(x->data);
    int64_t item = x->explanation->item;
    char name[96];
    if (!label || label[item] < 0) return;
    put_name(pgcn_dataset_class_name(x->data, label[item]), label[item], name, sizeof name);
    printf("in the data: class %s\n", name);
}

static void print_heading(const cli_explained *x) {
    const pgcn_explanation *e = x->explanation;
    char item[96], class[96], other[96];
    item_name(x, item, sizeof item);
    cli_explain_class(x, e->predicted, class, sizeof class);
    printf("%s %s of %s: %s %s with probability %.4f\n", e->is_graph ? "graph" : "node", item,
           pgcn_dataset_describe(x->data).name,
           pgcn_model_task(x->model) == PGCN_TASK_MULTILABEL ? "its most probable label is"
                                                             : "class",
           class, (double)e->probability[e->predicted]);
    print_label(x);
    cli_explain_class(x, e->target, class, sizeof class);
    printf("explained: the logit of %s, %.6g", class, (double)e->logits[e->target]);
    if (e->against >= 0) {
        cli_explain_class(x, e->against, other, sizeof other);
        printf(", minus that of %s, %.6g", other, (double)e->logits[e->against]);
    }
    if (e->sampled) printf("; of one draw of paths, seed %llu", (unsigned long long)e->seed);
    printf("\n");
}

enum { SUMS = 6 };
static void sums_of(const pgcn_explanation *e, double out[SUMS]) {
    const double sums[SUMS] = {e->features, e->residual, e->biases, e->norms, e->sum, e->logit};
    memcpy(out, sums, sizeof sums);
}

static void print_sums(const cli_explained *x) {
    static const char *const name[SUMS] = {
        "features, along layers", "features, by a residual", "biases", "norms", "sum",
        "what the network has"};
    double sum[SUMS], over[SUMS] = {0};
    sums_of(x->explanation, sum);
    if (x->contrast) sums_of(x->contrast, over);
    printf("\n");
    if (x->contrast) {
        printf("%*s %10s", NAME, "", "sum");
        print_over_head(x);
        printf("\n");
    }
    for (int i = 0; i < SUMS; i++) {
        print_name(name[i]);
        printf(" %10.4f", sum[i]);
        print_over(x, over[i]);
        printf("\n");
    }
}

/* The last hop that something came from. */
static int last_hop(const pgcn_explanation *e) {
    int last = e->hops;
    while (last > 0 && e->of_hop[last] == 0) last--;
    return last;
}

/* Columns that fit into a table: 0 .. 8 hops. */
static int hops_shown(const pgcn_explanation *e) {
    int last = last_hop(e);
    return last < 8 ? last : 8;
}

static double hop_sum(const pgcn_explanation *e, const double *of_hop, int hop) {
    double sum = of_hop[hop];
    for (int h = hop + 1; hop == hops_shown(e) && h <= e->hops; h++) sum += of_hop[h];
    return sum;
}

static void print_hops(const pgcn_explanation *e, const double *of_hop) {
    for (int h = 0; h <= hops_shown(e); h++) printf(" %8.3f", hop_sum(e, of_hop, h));
    printf("\n");
}

static void print_nodes(const cli_explained *x) {
    const pgcn_explanation *e = x->explanation;
    char name[96];
    int shown = hops_shown(e);
    printf("\n%-*s %6s %10s", NAME, "node", "links", "sum");
    print_over_head(x);
    for (int h = 0; h <= shown; h++) {
        snprintf(name, sizeof name, "hop %d%s", h, h == shown && last_hop(e) > shown ? "+" : "");
        printf(" %8s", h == shown && h == e->hops ? "further" : name);
    }
    printf("\n");
    for (int64_t i = 0; i < cli_explain_listed(x, e->nodes); i++) {
        const pgcn_node_share *share = &e->node[i];
        cli_explain_node(x, share->node, name, sizeof name);
        print_name(name);
        putchar(' ');
        if (share->distance >= 0)
            printf("%6d", share->distance);
        else
            printf("%6s", "-");
        printf(" %10.4f", share->sum);
        print_over(x, x->contrast ? node_over(x->contrast, share->node) : 0);
        print_hops(e, share->of_hop);
    }
    printf("%-*s %6s %10.4f", NAME, "all nodes", "", e->features + e->residual);
    print_over(x, x->contrast ? x->contrast->features + x->contrast->residual : 0);
    print_hops(e, e->of_hop);
}

/* What a network makes of features before it reads them. */
static const char *how_values_are(const cli_explained *x) {
    const pgcn_config *config = pgcn_model_config(x->model);
    bool weighed = config->frequency != 0;
    switch (config->normalise) {
    case PGCN_NORMALISE_STANDARDISE:
        return "standardised, minus the mean and over the deviation of the training nodes";
    case PGCN_NORMALISE_ROWS:
        return weighed ? "times a factor by frequency, then each row over the sum of its magnitudes"
                       : "each row over the sum of its magnitudes";
    default: return weighed ? "times a factor by frequency" : "as they stand in the data";
    }
}

static void print_features(const cli_explained *x) {
    const pgcn_explanation *e = x->explanation;
    char name[96], node[96];
    printf("\n%-*s %17s", NAME, "feature, of all nodes", "sum");
    print_over_head(x);
    printf("\n");
    for (int64_t i = 0; i < cli_explain_listed(x, e->columns); i++) {
        cli_explain_feature(x, e->feature[i].column, name, sizeof name);
        print_name(name);
        printf(" %17.4f", e->feature[i].sum);
        print_over(x, x->contrast ? feature_over(x->contrast, e->feature[i].column) : 0);
        printf("\n");
    }
    if (e->pairs > 0) printf("\nValues are as the network reads them: %s.", how_values_are(x));
    printf("\n%-*s %-12s %10s %10s\n", NAME, "feature", "of node", "value", "sum");
    for (int64_t i = 0; i < cli_explain_listed(x, e->pairs); i++) {
        cli_explain_feature(x, e->pair[i].column, name, sizeof name);
        cli_explain_node(x, e->pair[i].node, node, sizeof node);
        print_name(name);
        putchar(' ');
        cli_put_padded(stdout, node, 12, false);
        printf(" %10.4g %10.4f\n", e->pair[i].value, e->pair[i].sum);
    }
}

static void print_constants(const cli_explained *x) {
    const pgcn_explanation *e = x->explanation;
    if (e->constants == 0) return;
    printf("\n%-*s %17s", NAME, "bias or norm", "sum");
    print_over_head(x);
    for (int i = 0; i < cli_explain_listed(x, e->constants); i++) {
        printf("\n%-*s %17.4f", NAME, e->constant[i].name, e->constant[i].sum);
        print_over(x, x->contrast ? constant_over(x->contrast, e->constant[i].name) : 0);
    }
    printf("\n");
}

/* "12", "all 5 of them", "every node"; or the explained one. */
static void removal_name(const cli_explained *x, const pgcn_removal *removal, char *out,
                         size_t bytes) {
    if (removal->nodes > 1)
        snprintf(out, bytes, "these %lld together", (long long)removal->nodes);
    else
        cli_explain_node(x, removal->node[0], out, bytes);
    if (removal->nodes == 1 && !x->explanation->is_graph &&
        removal->node[0] == x->explanation->item)
        snprintf(out, bytes, "the node itself");
}

static void print_removals(const cli_explained *x) {
    const pgcn_explanation *e = x->explanation;
    char name[96], class[96];
    if (e->removals == 0) return;
    cli_explain_class(x, e->target, class, sizeof class);
    printf("\n%-*s %6s %10s %12s  %s\n", NAME,
           e->masked ? "links counted 0 of" : "without the links of", "links", "logit",
           "probability", "predicted");
    for (int i = 0; i < e->removals; i++) {
        const pgcn_removal *removal = &e->removal[i];
        removal_name(x, removal, name, sizeof name);
        cli_explain_class(x, removal->predicted, class, sizeof class);
        print_name(name);
        printf(" %6lld %10.4f %12.4f  %s%s\n", (long long)removal->links, removal->logit,
               (double)removal->probability[e->target], class,
               removal->predicted == e->predicted ? "" : ", another class");
    }
}

void cli_explain_print(const cli_explained *x) {
    print_heading(x);
    print_sums(x);
    print_nodes(x);
    print_features(x);
    print_constants(x);
    print_removals(x);
}

/* ---- JSON -------------------------------------------------------------------------------------------- */

static json_t *reals(const double *value, int64_t count) {
    json_t *list = json_array();
    for (int64_t i = 0; i < count; i++) json_array_append_new(list, cli_json_real(value[i]));
    return list;
}

static json_t *floats(const float *value, int64_t count) {
    json_t *list = json_array();
    for (int64_t i = 0; i < count; i++)
        json_array_append_new(list, cli_json_real((double)value[i]));
    return list;
}

/* A name as a string, or the number of what has none. */
static json_t *name_or_number(const char *name, int64_t number) {
    return name ? cli_json_text(name) : json_integer(number);
}
static json_t *node_to_json(const cli_explained *x, int64_t node) {
    return name_or_number(pgcn_dataset_node_id(x->data, node), cli_node_number(x->data, node));
}
static json_t *class_to_json(const cli_explained *x, int class) {
    return class < 0 ? json_null() : name_or_number(pgcn_model_class_name(x->model, class), class);
}

static json_t *nodes_to_json(const cli_explained *x) {
    const pgcn_explanation *e = x->explanation;
    json_t *list = json_array();
    for (int64_t i = 0; i < cli_explain_listed(x, e->nodes); i++) {
        const pgcn_node_share *share = &e->node[i];
        json_t *entry =
            json_pack("{s:o, s:o, s:o, s:o, s:o}", "node", node_to_json(x, share->node), "links",
                      share->distance < 0 ? json_null() : json_integer(share->distance), "sum",
                      cli_json_real(share->sum), "residual", cli_json_real(share->residual),
                      "by_hop", reals(share->of_hop, e->hops + 1));
        if (x->contrast)
            json_object_set_new(entry, "over_second",
                                cli_json_real(node_over(x->contrast, share->node)));
        json_array_append_new(list, entry);
    }
    return list;
}

static json_t *features_to_json(const cli_explained *x, bool pairs) {
    const pgcn_explanation *e = x->explanation;
    const pgcn_feature_share *share = pairs ? e->pair : e->feature;
    json_t *list = json_array();
    for (int64_t i = 0; i < cli_explain_listed(x, pairs ? e->pairs : e->columns); i++) {
        json_t *entry = json_pack(
            "{s:o, s:o}", "feature",
            name_or_number(pgcn_model_feature_name(x->model, share[i].column), share[i].column),
            "sum", cli_json_real(share[i].sum));
        if (pairs) {
            json_object_set_new(entry, "node", node_to_json(x, share[i].node));
            json_object_set_new(entry, "value", cli_json_real(share[i].value));
        } else if (x->contrast) {
            json_object_set_new(entry, "over_second",
                                cli_json_real(feature_over(x->contrast, share[i].column)));
        }
        json_array_append_new(list, entry);
    }
    return list;
}

static json_t *constants_to_json(const cli_explained *x) {
    const pgcn_explanation *e = x->explanation;
    json_t *list = json_array();
    for (int i = 0; i < e->constants; i++) {
        json_t *entry = json_pack("{s:s, s:b, s:o}", "name", e->constant[i].name, "is_norm",
                                  e->constant[i].is_norm, "sum", cli_json_real(e->constant[i].sum));
        if (x->contrast)
            json_object_set_new(entry, "over_second",
                                cli_json_real(constant_over(x->contrast, e->constant[i].name)));
        json_array_append_new(list, entry);
    }
    return list;
}

static json_t *removals_to_json(const cli_explained *x) {
    const pgcn_explanation *e = x->explanation;
    json_t *list = json_array();
    for (int i = 0; i < e->removals; i++) {
        const pgcn_removal *removal = &e->removal[i];
        json_t *nodes = json_array();
        for (int64_t j = 0; j < removal->nodes; j++)
            json_array_append_new(nodes, node_to_json(x, removal->node[j]));
        json_array_append_new(list, json_pack("{s:o, s:I, s:o, s:o, s:o}", "nodes", nodes, "links",
                                              (json_int_t)removal->links, "logit",
                                              cli_json_real(removal->logit), "predicted",
                                              class_to_json(x, removal->predicted), "probability",
                                              floats(removal->probability, e->classes)));
    }
    return list;
}

json_t *cli_explain_to_json(const cli_explained *x) {
    const pgcn_explanation *e = x->explanation;
    json_t *object = json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "dataset",
        pgcn_dataset_describe(x->data).name, "network",
        pgcn_network_name(pgcn_model_config(x->model)->model), e->is_graph ? "graph" : "node",
        e->is_graph ? json_integer(e->item) : node_to_json(x, e->item), "predicted",
        class_to_json(x, e->predicted), "class", class_to_json(x, e->target), "against",
        class_to_json(x, e->against), "second",
        class_to_json(x, x->contrast ? x->contrast->against : -1), "logits",
        floats(e->logits, e->classes), "probability", floats(e->probability, e->classes));
    const struct {
        const char *key;
        json_t *value;
    } rest[] = {{"logit", cli_json_real(e->logit)},
                {"sum", cli_json_real(e->sum)},
                {"features_sum", cli_json_real(e->features)},
                {"residual_sum", cli_json_real(e->residual)},
                {"biases_sum", cli_json_real(e->biases)},
                {"norms_sum", cli_json_real(e->norms)},
                {"form", json_string(e->sampled ? "sampled" : "exact")},
                {"seed", e->sampled ? json_integer((json_int_t)e->seed) : json_null()},
                {"by_hop", reals(e->of_hop, e->hops + 1)},
                {"nodes_reached", json_integer(e->nodes)},
                {"nodes", nodes_to_json(x)},
                {"features", features_to_json(x, false)},
                {"features_of_nodes", features_to_json(x, true)},
                {"constants", constants_to_json(x)},
                {"over_second", x->contrast ? cli_json_real(x->contrast->logit) : json_null()},
                {"values", json_string(how_values_are(x))},
                {"removal", json_string(e->masked ? "mask" : "links")},
                {"removals", removals_to_json(x)}};
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++)
        json_object_set_new(object, rest[i].key, rest[i].value);
    return object;
}
