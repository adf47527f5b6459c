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

enum { NAME = 26 };

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

static void print_sums(const pgcn_explanation *e) {
    const struct {
        const char *name;
        double sum;
    } lines[] = {{"features, along layers", e->features},
                 {"features, by a residual", e->residual},
                 {"biases", e->biases},
                 {"norms", e->norms},
                 {"sum", e->sum},
                 {"what the network has", e->logit}};
    printf("\n");
    for (int i = 0; i < 6; i++) printf("%-*s %10.4f\n", NAME, lines[i].name, lines[i].sum);
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
    char name[96], over[64] = "";
    int shown = hops_shown(e);
    if (x->contrast) {
        cli_explain_class(x, x->contrast->against, name, sizeof name);
        snprintf(over, sizeof over, "over %.20s", name);
    }
    printf("\n%-*s %6s %10s", NAME, "node", "links", "sum");
    if (x->contrast) printf(" %12s", over);
    for (int h = 0; h <= shown; h++) {
        snprintf(name, sizeof name, "hop %d%s", h, h == shown && last_hop(e) > shown ? "+" : "");
        printf(" %8s", h == shown && h == e->hops ? "further" : name);
    }
    printf("\n");
    for (int64_t i = 0; i < cli_explain_listed(x, e->nodes); i++) {
        const pgcn_node_share *share = &e->node[i];
        cli_explain_node(x, share->node, name, sizeof name);
        printf("%-*.*s ", NAME, NAME, name);
        if (share->distance >= 0)
            printf("%6d", share->distance);
        else
            printf("%6s", "-");
        printf(" %10.4f", share->sum);
        if (x->contrast) printf(" %12.4f", node_over(x->contrast, share->node));
        print_hops(e, share->of_hop);
    }
    printf("%-*s %6s %10.4f", NAME, "all nodes", "", e->features + e->residual);
    if (x->contrast) printf(" %12.4f", x->contrast->features + x->contrast->residual);
    print_hops(e, e->of_hop);
}

static void print_features(const cli_explained *x) {
    const pgcn_explanation *e = x->explanation;
    char name[96], node[96];
    printf("\n%-*s %17s\n", NAME, "feature, of all nodes", "sum");
    for (int64_t i = 0; i < cli_explain_listed(x, e->columns); i++) {
        cli_explain_feature(x, e->feature[i].column, name, sizeof name);
        printf("%-*.*s %17.4f", NAME, NAME, name, e->feature[i].sum);
        if (x->contrast) printf(" %12.4f", feature_over(x->contrast, e->feature[i].column));
        printf("\n");
    }
    printf("\n%-*s %-12s %10s %10s\n", NAME, "feature", "of node", "value", "sum");
    for (int64_t i = 0; i < cli_explain_listed(x, e->pairs); i++) {
        cli_explain_feature(x, e->pair[i].column, name, sizeof name);
        cli_explain_node(x, e->pair[i].node, node, sizeof node);
        printf("%-*.*s %-12.12s %10.4g %10.4f\n", NAME, NAME, name, node, e->pair[i].value,
               e->pair[i].sum);
    }
}

static void print_constants(const cli_explained *x) {
    const pgcn_explanation *e = x->explanation;
    if (e->constants > 0) printf("\n%-*s %17s\n", NAME, "bias or norm", "sum");
    for (int i = 0; i < cli_explain_listed(x, e->constants); i++)
        printf("%-*s %17.4f\n", NAME, e->constant[i].name, e->constant[i].sum);
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
        printf("%-*.*s %6lld %10.4f %12.4f  %s%s\n", NAME, NAME, name, (long long)removal->links,
               removal->logit, (double)removal->probability[e->target], class,
               removal->predicted == e->predicted ? "" : ", another class");
    }
}

void cli_explain_print(const cli_explained *x) {
    print_heading(x);
    print_sums(x->explanation);
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

static json_t *constants_to_json(const pgcn_explanation *e) {
    json_t *list = json_array();
    for (int i = 0; i < e->constants; i++)
        json_array_append_new(list, json_pack("{s:s, s:b, s:o}", "name", e->constant[i].name,
                                              "is_norm", e->constant[i].is_norm, "sum",
                                              cli_json_real(e->constant[i].sum)));
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
                {"constants", constants_to_json(e)},
                {"removal", json_string(e->masked ? "mask" : "links")},
                {"removals", removals_to_json(x)}};
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++)
        json_object_set_new(object, rest[i].key, rest[i].value);
    return object;
}
