/* Every number that the paper (pathGCN, ICML 2022) gives for its own method in the experiments that
 * `reproduce` repeats. Tables are numbered as in the paper. Of its two curves (Figure 5)
 * only the points that are also in a table are known as numbers: its source has no data for them. */
#include "experiments/reproduce.h"

#include <math.h>
#include <string.h>

#define TABLE_3  "Table 3, semi-supervised by depth"
#define TABLE_4  "Table 4, fully supervised"
#define TABLE_5  "Table 5, Actor and ogbn-arxiv"
#define TABLE_6  "Table 6, Wiki-CS"
#define TABLE_7  "Table 7, PPI"
#define TABLE_8  "Table 8, graph classification"
#define TABLE_9  "Table 9, inference"
#define TABLE_11 "Table 11, variants"
#define FIGURE_5 "Figure 5, by the same settings in Table 3"

#define BY_DEPTH(experiment, dataset, variant, source, l2, l4, l8, l16, l32, l64)                  \
    {experiment, dataset, variant, 2, 0, l2, NAN, NAN, source},                                    \
        {experiment, dataset, variant, 4, 0, l4, NAN, NAN, source},                                \
        {experiment, dataset, variant, 8, 0, l8, NAN, NAN, source},                                \
        {experiment, dataset, variant, 16, 0, l16, NAN, NAN, source},                              \
        {experiment, dataset, variant, 32, 0, l32, NAN, NAN, source}, {                            \
        experiment, dataset, variant, 64, 0, l64, NAN, NAN, source                                 \
    }
#define FULL(dataset, layers, accuracy, source)                                                    \
    { "full", dataset, NULL, layers, 0, accuracy, NAN, NAN, source }
/* Table 9 does not give the depth. The depths here are those that have these accuracies in other
 * tables. */
#define INFERENCE(dataset, layers, deterministic, stochastic, deviation)                           \
    { "inference", dataset, NULL, layers, 0, deterministic, stochastic, deviation, TABLE_9 }

/* By GIN's protocol. The number for GIN is that of its authors, which the paper quotes. */
#define GRAPHS(dataset, ours, gin)                                                                 \
    {"graphs", dataset "-gin", "pathgcn", 0, 0, ours, NAN, NAN, TABLE_8}, {                        \
        "graphs", dataset "-gin", "gin", 0, 0, gin, NAN, NAN, TABLE_8                              \
    }

/* clang-format off */
static const exp_paper numbers[] = {
    BY_DEPTH("semi", "cora",     NULL, TABLE_3, 84.2, 84.5, 84.6, 85.1, 85.4, 85.8),
    BY_DEPTH("semi", "citeseer", NULL, TABLE_3, 74.3, 74.8, 75.4, 75.3, 75.6, 75.8),
    BY_DEPTH("semi", "pubmed",   NULL, TABLE_3, 81.8, 81.8, 82.4, 82.5, 82.4, 82.7),

    FULL("cora",       64, 90.02, TABLE_4),
    FULL("citeseer",   32, 78.95, TABLE_4),
    FULL("pubmed",     64, 90.42, TABLE_4),
    FULL("chameleon",  16, 66.79, TABLE_4),
    FULL("cornell",     8, 91.35, TABLE_4),
    FULL("texas",      16, 95.14, TABLE_4),
    FULL("wisconsin",  16, 93.53, TABLE_4),
    FULL("film",        0, 37.54, TABLE_5),
    FULL("ogbn-arxiv",  0, 72.83, TABLE_5),
    FULL("wikics",      0, 80.02, TABLE_6),

    INFERENCE("cora",       64, 85.8,  85.8,  0.29),
    INFERENCE("citeseer",   64, 75.8,  75.8,  0.34),
    INFERENCE("pubmed",     64, 82.7,  82.7,  0.34),
    INFERENCE("ogbn-arxiv",  0, 72.84, 72.83, 0.13),
    INFERENCE("wisconsin",  16, 93.51, 93.53, 0.21),
    INFERENCE("ppi",         8, 99.61, 99.61, 0.02),

    BY_DEPTH("variants", "cora",     "global",    TABLE_11, 83.0, 81.9, 81.5, 81.2, 81.4, 82.0),
    BY_DEPTH("variants", "cora",     "layer",     TABLE_11, 82.9, 83.3, 83.5, 83.8, 84.1, 84.7),
    BY_DEPTH("variants", "cora",     "depthwise", TABLE_11, 84.2, 84.5, 84.6, 85.1, 85.4, 85.8),
    BY_DEPTH("variants", "citeseer", "global",    TABLE_11, 73.1, 71.9, 72.0, 71.9, 72.6, 71.7),
    BY_DEPTH("variants", "citeseer", "layer",     TABLE_11, 73.4, 73.6, 74.0, 74.3, 74.5, 75.0),
    BY_DEPTH("variants", "citeseer", "depthwise", TABLE_11, 74.3, 74.8, 75.4, 75.3, 75.6, 75.8),
    BY_DEPTH("variants", "pubmed",   "global",    TABLE_11, 80.9, 80.4, 81.1, 81.0, 80.4, 80.8),
    BY_DEPTH("variants", "pubmed",   "layer",     TABLE_11, 81.1, 81.2, 81.5, 82.0, 82.2, 82.1),
    BY_DEPTH("variants", "pubmed",   "depthwise", TABLE_11, 81.8, 81.8, 82.4, 82.5, 82.4, 82.7),

    {"paths",   "cora",     NULL, 2, 5, 84.2, NAN, NAN, FIGURE_5}, /* k = 5, p = 5, as in its table */
    {"paths",   "citeseer", NULL, 2, 5, 74.3, NAN, NAN, FIGURE_5}, /* k = 5, p = 5 */
    {"lengths", "pubmed",   NULL, 2, 7, 81.8, NAN, NAN, FIGURE_5}, /* k = 7, p = 10 */

    GRAPHS("MUTAG",    94.7, 89.4),
    GRAPHS("PTC",      75.2, 64.6),
    GRAPHS("PROTEINS", 80.4, 76.2),
    GRAPHS("NCI1",     83.3, 82.7),

    {"ppi", "ppi", NULL, 8, 0, 99.61, NAN, NAN, TABLE_7},
};
/* clang-format on */
enum { NUMBERS = sizeof numbers / sizeof *numbers };

const exp_paper *exp_paper_get(int i) {
    return i >= 0 && i < NUMBERS ? &numbers[i] : NULL;
}

/* The length of the name before its steps; 0 if they make other nodes or splits of it, which the
 * paper has no numbers for. Directions, self-loops and features are a part of the method. */
static size_t comparable_name(const char *dataset) {
    const unsigned others = CLI_STEP_LARGEST_COMPONENT | CLI_STEP_STRATIFIED | CLI_STEP_RANDOM |
                            CLI_STEP_PER_CLASS | CLI_STEP_KFOLD | (unsigned)CLI_STEP_ONLY_SPLIT;
    size_t length = strcspn(dataset, ":");
    const char *steps = dataset[length] ? dataset + length + 1 : NULL;
    return cli_steps_include(steps, others) ? 0 : length;
}

const exp_paper *exp_paper_find(const char *experiment, const char *dataset, const char *variant,
                                int layers, int value) {
    size_t length = comparable_name(dataset);
    static const char *const at_any_depth[] = {"full", "inference", "graphs", "ppi"};
    bool any_depth = false;
    for (size_t i = 0; i < sizeof at_any_depth / sizeof *at_any_depth; i++)
        any_depth = any_depth || strcmp(experiment, at_any_depth[i]) == 0;
    for (int i = 0; i < NUMBERS; i++) {
        const exp_paper *n = &numbers[i];
        if (strcmp(n->experiment, experiment) == 0 && strlen(n->dataset) == length &&
            strncmp(n->dataset, dataset, length) == 0 && (any_depth || n->layers == layers) &&
            n->value == value && (!n->variant || strcmp(n->variant, variant) == 0))
            return n;
    }
    return NULL;
}
