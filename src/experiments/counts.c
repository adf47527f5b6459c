/* pathgcn reproduce datasets: Table 1 of the paper beside the data sets as they are loaded, with the
 * cause of each difference. A cause is computed from the data where that is possible; otherwise it is
 * a fact about the published files (docs/DATASETS.md). */
#include "experiments/reproduce.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A line of Table 1. */
typedef struct published {
    const char *dataset;
    int64_t classes, nodes, edges, features;
    int64_t tested;   /* test nodes of the public split, where some of ours have no label; else 0 */
    const char *fact; /* about the published files: why edges differ where the data cannot tell */
    const char *remark; /* another thing that a reader must know, or NULL */
} published;

#define HALF_OF_THE_LISTS                                                                          \
    "half the entries of the published lists, which hold duplicates and self-loops"
/* clang-format off */
static const published table_1[] = {
    {"cora",       7,   2708,   5429,    1433, 0, HALF_OF_THE_LISTS, NULL},
    {"citeseer",   6,   3327,   4732,    3703, 0, HALF_OF_THE_LISTS, NULL},
    {"pubmed",     3,   19717,  44338,   500, 0,  HALF_OF_THE_LISTS, NULL},
    {"chameleon",  5,   2277,   36101,   2325, 0, NULL, NULL},
    {"cornell",    5,   183,    295,     1703, 0, NULL, "the published node file is that of texas"},
    {"texas",      5,   183,    309,     1703, 0, NULL, NULL},
    {"wisconsin",  5,   251,    499,     1703, 0, NULL, NULL},
    {"ppi",        121, 56944,  818716,  50, 5524,   NULL, NULL},
    {"wikics",     10,  11701,  216123,  300, 0,  NULL, NULL},
    {"film",       5,   7600,   33544,   932, 0,  "Geom-GCN's own number, which its published file does not reach", NULL},
    {"ogbn-arxiv", 40,  169343, 1166243, 128, 0,  NULL, NULL},
    {.dataset = NULL}};
/* clang-format on */

/* A cause on its way, "; " between its parts. */
enum { CAUSE_BYTES = 512 };
__attribute__((format(printf, 2, 3))) static void add_cause(char cause[CAUSE_BYTES],
                                                            const char *format, ...) {
    size_t length = strlen(cause);
    va_list arguments;
    if (length > 0 && length + 2 < CAUSE_BYTES) length += (size_t)sprintf(cause + length, "; ");
    va_start(arguments, format);
    vsnprintf(cause + length, CAUSE_BYTES - length, format, arguments);
    va_end(arguments);
}

static pgcn_status load(const exp_request *r, const char *name, const char *steps,
                        pgcn_dataset **out) {
    char full[160];
    pgcn_dataset_opts opts = pgcn_dataset_opts_default();
    opts.data_dir = r->data_dir;
    snprintf(full, sizeof full, "%s%s%s", name, *steps ? ":" : "", steps);
    return pgcn_dataset_load(full, &opts, out);
}

/* The arcs of the source, and the self-loops among them; 0 if it has no directions. */
static int64_t count_arcs(const exp_request *r, const char *name, int64_t *loops) {
    pgcn_dataset *data = NULL;
    int64_t arcs = 0;
    *loops = 0;
    if (load(r, name, "directed", &data) == PGCN_OK) {
        pgcn_dataset_info info = pgcn_dataset_describe(data);
        *loops = info.dropped_self_loops;
        arcs = info.source_edges;
    }
    pgcn_dataset_free(data);
    return arcs;
}

/* How the paper's number of edges comes about. */
static void explain_edges(const exp_request *r, const published *paper,
                          const pgcn_dataset_info *info, char cause[CAUSE_BYTES]) {
    int64_t loops;
    if (info->edges == paper->edges) return;
    int64_t arcs = count_arcs(r, paper->dataset, &loops);
    if (info->edges + info->dropped_self_loops == paper->edges)
        add_cause(cause, "the paper counts %lld self-loops", (long long)info->dropped_self_loops);
    else if (info->source_edges == 2 * paper->edges)
        add_cause(cause, "%s", HALF_OF_THE_LISTS);
    else if (arcs == paper->edges)
        add_cause(cause, "the paper counts arcs, of which %lld are self-loops", (long long)loops);
    else if (arcs - loops == paper->edges && arcs > 0)
        add_cause(cause, "the paper counts arcs without the %lld self-loops", (long long)loops);
    else
        add_cause(cause, "%s",
                  paper->fact ? paper->fact : "other edges than the paper's: not explained");
}

/* Nodes without a label are in no mask: scores are over fewer test nodes than published. */
static void explain_labels(const pgcn_dataset *data, const pgcn_dataset_info *info,
                           int64_t published_test, char cause[CAUSE_BYTES]) {
    const uint8_t *train, *val, *test;
    if (info->unlabelled == 0) return;
    add_cause(cause, "%lld nodes have no label", (long long)info->unlabelled);
    if (published_test == 0 || !pgcn_dataset_split(data, 0, &train, &val, &test)) return;
    add_cause(cause, "%lld of %lld test nodes are scored",
              (long long)cli_mask_size(test, info->items), (long long)published_test);
}

/* "2,708", or "2,700 (paper 2,708)". */
static void add_count(exp_table *table, int64_t ours, int64_t paper) {
    char count[32], other[32];
    cli_format_count(ours, count);
    cli_format_count(paper, other);
    if (ours == paper)
        exp_table_add(table, "%s", count);
    else
        exp_table_add(table, "%s (paper %s)", count, other);
}

static void add_set(exp_table *table, const exp_request *r, const published *paper) {
    char edges[32], cause[CAUSE_BYTES] = "";
    pgcn_dataset *data = NULL;
    pgcn_status status = load(r, paper->dataset, "", &data);
    pgcn_dataset_info info = {
        .classes = (int)paper->classes, .nodes = paper->nodes, .features = paper->features};
    if (status == PGCN_OK) info = pgcn_dataset_describe(data);
    exp_table_add(table, "%s", paper->dataset);
    add_count(table, info.classes, paper->classes);
    add_count(table, info.nodes, paper->nodes);
    add_count(table, info.features, paper->features);
    cli_format_count(paper->edges, edges);
    exp_table_add(table, "%s", edges);
    cli_format_count(info.edges, edges);
    exp_table_add(table, status == PGCN_OK ? "%s" : "-", edges);
    bool shadowed = exp_is_shadowed(paper->dataset);
    if (shadowed)
        add_cause(cause, "./%s of the working directory was read%s", paper->dataset,
                  status == PGCN_OK ? "" : " and is no such data set; the counts are the paper's");
    if (status == PGCN_OK) {
        explain_edges(r, paper, &info, cause);
        explain_labels(data, &info, paper->tested, cause);
    } else if (!shadowed) {
        add_cause(cause, "data not here; the counts are the paper's");
    }
    if (paper->remark) add_cause(cause, "%s", paper->remark);
    exp_table_add(table, "%s", cause);
    pgcn_dataset_free(data);
}

static const published *find_published(const char *name) {
    const published *paper = table_1;
    while (paper->dataset && strcmp(paper->dataset, name) != 0) paper++;
    return paper->dataset ? paper : NULL;
}

pgcn_status exp_report_counts(const exp_request *r) {
    exp_words sets = {0};
    if (r->datasets) CLI_TRY(exp_split_words(r, "datasets", r->datasets, ',', &sets));
    for (int i = 0; i < sets.count; i++)
        if (!find_published(sets.word[i]))
            return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                            "Table 1 of the paper has no data set '%s'; it has cora, citeseer, "
                            "pubmed, chameleon, cornell, texas, wisconsin, ppi, wikics, film and "
                            "ogbn-arxiv",
                            sets.word[i]);
    exp_table *table =
        exp_table_new("data set|>classes|>nodes|>features|>edges, paper|>edges, ours|cause");
    for (int i = 0; i < sets.count; i++) add_set(table, r, find_published(sets.word[i]));
    for (const published *p = table_1; !r->datasets && p->dataset; p++) add_set(table, r, p);
    const exp_listing listing = {.name = "datasets",
                                 .title = "Data sets (paper: Table 1)",
                                 .note = "Edges of ours are undirected pairs without self-loops."};
    return exp_report_listing(r, &listing, table);
}
