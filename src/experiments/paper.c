/* The numbers that the paper (pathGCN, ICML 2022) gives in the tables that `reproduce` repeats, for
 * its own method and for the systems that it compares with, as they stand there. A NaN is a cell that
 * the paper leaves empty. Of its curves (Figure 5) only the points that are also in a table are known
 * as numbers: its source has no data for them. */
#include "experiments/reproduce.h"

#include <math.h>
#include <string.h>

/* clang-format off */
#define CELL(place, dataset, system, layers, accuracy)                                             \
    {place, dataset, system, layers, 0, accuracy, NAN, NAN}
#define BY_DEPTH(place, dataset, system, l2, l4, l8, l16, l32, l64)                                \
    CELL(place, dataset, system, 2, l2), CELL(place, dataset, system, 4, l4),                      \
    CELL(place, dataset, system, 8, l8), CELL(place, dataset, system, 16, l16),                    \
    CELL(place, dataset, system, 32, l32), CELL(place, dataset, system, 64, l64)
#define SUMMARY(system, cora, citeseer, pubmed)                                                    \
    CELL(EXP_TABLE_2, "cora", system, 0, cora), CELL(EXP_TABLE_2, "citeseer", system, 0, citeseer), \
    CELL(EXP_TABLE_2, "pubmed", system, 0, pubmed)
/* An accuracy and its depth for each data set; depth 0: not given. */
#define FULL(system, cora, c, citeseer, s, pubmed, p, chameleon, h, cornell, o, texas, t, wisconsin, w) \
    CELL(EXP_TABLE_4, "cora", system, c, cora), CELL(EXP_TABLE_4, "citeseer", system, s, citeseer), \
    CELL(EXP_TABLE_4, "pubmed", system, p, pubmed),                                                \
    CELL(EXP_TABLE_4, "chameleon", system, h, chameleon),                                          \
    CELL(EXP_TABLE_4, "cornell", system, o, cornell), CELL(EXP_TABLE_4, "texas", system, t, texas), \
    CELL(EXP_TABLE_4, "wisconsin", system, w, wisconsin)
#define LARGER(system, film, arxiv)                                                                \
    CELL(EXP_TABLE_5, "film", system, 0, film), CELL(EXP_TABLE_5, "ogbn-arxiv", system, 0, arxiv)
/* Accuracies by GIN's protocol, with their deviations over the folds. */
#define FOLDS(dataset, system, accuracy, deviation)                                                \
    {EXP_TABLE_8, dataset "-gin", system, 0, 0, accuracy, deviation, NAN}
#define GRAPHS(system, mutag, m, ptc, t, proteins, p, nci1, n)                                     \
    FOLDS("MUTAG", system, mutag, m), FOLDS("PTC", system, ptc, t),                                \
    FOLDS("PROTEINS", system, proteins, p), FOLDS("NCI1", system, nci1, n)
/* Table 9 does not give the depth. The depths here are those that have these accuracies in other
 * tables. */
#define INFERENCE(dataset, layers, deterministic, stochastic, deviation)                           \
    {EXP_TABLE_9, dataset, "pathGCN", layers, 0, deterministic, deviation, stochastic}

static const exp_paper numbers[] = {
    SUMMARY("ChebNet",  81.2, 69.8, 74.4),
    SUMMARY("GCN",      81.1, 70.8, 79.0),
    SUMMARY("GAT",      83.1, 70.8, 78.5),
    SUMMARY("APPNP",    83.3, 71.8, 80.1),
    SUMMARY("JKNet",    81.1, 69.8, 78.1),
    SUMMARY("GCNII",    85.5, 73.4, 80.3),
    SUMMARY("GRAND",    84.7, 73.6, 81.0),
    SUMMARY("PDE-GCN",  84.3, 75.6, 80.6),
    SUMMARY("EGNN",     85.7,  NAN, 80.1),
    SUMMARY("pathGCN",  85.8, 75.8, 82.7),

    BY_DEPTH(EXP_TABLE_3, "cora",     "GCN",          81.1, 80.4, 69.5, 64.9, 60.3, 28.7),
    BY_DEPTH(EXP_TABLE_3, "cora",     "GCN (Drop)",   82.8, 82.0, 75.8, 75.7, 62.5, 49.5),
    BY_DEPTH(EXP_TABLE_3, "cora",     "JKNet",         NAN, 80.2, 80.7, 80.2, 81.1, 71.5),
    BY_DEPTH(EXP_TABLE_3, "cora",     "JKNet (Drop)",  NAN, 83.3, 82.6, 83.0, 82.5, 83.2),
    BY_DEPTH(EXP_TABLE_3, "cora",     "Incep",         NAN, 77.6, 76.5, 81.7, 81.7, 80.0),
    BY_DEPTH(EXP_TABLE_3, "cora",     "Incep (Drop)",  NAN, 82.9, 82.5, 83.1, 83.1, 83.5),
    BY_DEPTH(EXP_TABLE_3, "cora",     "GCNII",        82.2, 82.6, 84.2, 84.6, 85.4, 85.5),
    BY_DEPTH(EXP_TABLE_3, "cora",     "GCNII*",       80.2, 82.3, 82.8, 83.5, 84.9, 85.3),
    BY_DEPTH(EXP_TABLE_3, "cora",     "PDE-GCN_D",    82.0, 83.6, 84.0, 84.2, 84.3, 84.3),
    BY_DEPTH(EXP_TABLE_3, "cora",     "EGNN",         83.2,  NAN,  NAN, 85.4,  NAN, 85.7),
    BY_DEPTH(EXP_TABLE_3, "cora",     "pathGCN",      84.2, 84.5, 84.6, 85.1, 85.4, 85.8),
    BY_DEPTH(EXP_TABLE_3, "citeseer", "GCN",          70.8, 67.6, 30.2, 18.3, 25.0, 20.0),
    BY_DEPTH(EXP_TABLE_3, "citeseer", "GCN (Drop)",   72.3, 70.6, 61.4, 57.2, 41.6, 34.4),
    BY_DEPTH(EXP_TABLE_3, "citeseer", "JKNet",         NAN, 68.7, 67.7, 69.8, 68.2, 63.4),
    BY_DEPTH(EXP_TABLE_3, "citeseer", "JKNet (Drop)",  NAN, 72.6, 71.8, 72.6, 70.8, 72.2),
    BY_DEPTH(EXP_TABLE_3, "citeseer", "Incep",         NAN, 69.3, 68.4, 70.2, 68.0, 67.5),
    BY_DEPTH(EXP_TABLE_3, "citeseer", "Incep (Drop)",  NAN, 72.7, 71.4, 72.5, 72.6, 71.0),
    BY_DEPTH(EXP_TABLE_3, "citeseer", "GCNII",        68.2, 68.8, 70.6, 72.9, 73.4, 73.4),
    BY_DEPTH(EXP_TABLE_3, "citeseer", "GCNII*",       66.1, 66.7, 70.6, 72.0, 73.2, 73.1),
    BY_DEPTH(EXP_TABLE_3, "citeseer", "PDE-GCN_D",    74.6, 75.0, 75.2, 75.5, 75.6, 75.5),
    BY_DEPTH(EXP_TABLE_3, "citeseer", "pathGCN",      74.3, 74.8, 75.4, 75.3, 75.6, 75.8),
    BY_DEPTH(EXP_TABLE_3, "pubmed",   "GCN",          79.0, 76.5, 61.2, 40.9, 22.4, 35.3),
    BY_DEPTH(EXP_TABLE_3, "pubmed",   "GCN (Drop)",   79.6, 79.4, 78.1, 78.5, 77.0, 61.5),
    BY_DEPTH(EXP_TABLE_3, "pubmed",   "JKNet",         NAN, 78.0, 78.1, 72.6, 72.4, 74.5),
    BY_DEPTH(EXP_TABLE_3, "pubmed",   "JKNet (Drop)",  NAN, 78.7, 78.7, 79.7, 79.2, 78.9),
    BY_DEPTH(EXP_TABLE_3, "pubmed",   "Incep",         NAN, 77.7, 77.9, 74.9,  NAN,  NAN),
    BY_DEPTH(EXP_TABLE_3, "pubmed",   "Incep (Drop)",  NAN, 79.5, 78.6, 79.0,  NAN,  NAN),
    BY_DEPTH(EXP_TABLE_3, "pubmed",   "GCNII",        78.2, 78.8, 79.3, 80.2, 79.8, 79.7),
    BY_DEPTH(EXP_TABLE_3, "pubmed",   "GCNII*",       77.7, 78.2, 78.8, 80.3, 79.8, 80.1),
    BY_DEPTH(EXP_TABLE_3, "pubmed",   "PDE-GCN_D",    79.3, 80.6, 80.1, 80.4, 80.2, 80.3),
    BY_DEPTH(EXP_TABLE_3, "pubmed",   "EGNN",         79.2,  NAN,  NAN, 80.0,  NAN, 80.1),
    BY_DEPTH(EXP_TABLE_3, "pubmed",   "pathGCN",      81.8, 81.8, 82.4, 82.5, 82.4, 82.7),

    FULL("GCN",          85.77,  0, 73.68,  0, 88.13,  0, 28.18,  0, 52.70,  0, 52.16,  0, 45.88,  0),
    FULL("GAT",          86.37,  0, 74.32,  0, 87.62,  0, 42.93,  0, 54.32,  0, 58.38,  0, 49.41,  0),
    FULL("Geom-GCN-I",   85.19,  0, 77.99,  0, 90.05,  0, 60.31,  0, 56.76,  0, 57.58,  0, 58.24,  0),
    FULL("Geom-GCN-P",   84.93,  0, 75.14,  0, 88.09,  0, 60.90,  0, 60.81,  0, 67.57,  0, 64.12,  0),
    FULL("Geom-GCN-S",   85.27,  0, 74.71,  0, 84.75,  0, 59.96,  0, 55.68,  0, 59.73,  0, 56.67,  0),
    FULL("APPNP",        87.87,  0, 76.53,  0, 89.40,  0, 54.30,  0, 73.51,  0, 65.41,  0, 69.02,  0),
    FULL("JKNet",        85.25, 16, 75.85,  8, 88.94, 64, 60.07, 32, 57.30,  4, 56.49, 32, 48.82,  8),
    FULL("JKNet (Drop)", 87.46, 16, 75.96,  8, 89.45, 64, 62.08, 32, 61.08,  4, 57.30, 32, 50.59,  8),
    FULL("Incep (Drop)", 86.86,  8, 76.83,  8, 89.18,  4, 61.71,  8, 61.62, 16, 57.84,  8, 50.20,  8),
    FULL("GCNII",        88.49, 64, 77.08, 64, 89.57, 64, 60.61,  8, 74.86, 16, 69.46, 32, 74.12, 16),
    FULL("GCNII*",       88.01, 64, 77.13, 64, 90.30, 64, 62.48,  8, 76.49, 16, 77.84, 32, 81.57, 16),
    FULL("PDE-GCN_M",    88.60, 16, 78.48, 32, 89.93, 16, 66.01, 16, 89.73, 64, 93.24, 32, 91.76, 16),
    FULL("pathGCN",      90.02, 64, 78.95, 32, 90.42, 64, 66.79, 16, 91.35,  8, 95.14, 16, 93.53, 16),

    LARGER("GCN",        26.86, 71.74),
    LARGER("GAT",        28.45, 71.89),
    LARGER("APPNP",      31.26, 71.82),
    LARGER("Geom-GCN-P", 31.63,   NAN),
    LARGER("JKNet",      29.81, 72.19),
    LARGER("SGC",        30.98, 69.20),
    LARGER("GCNII",      32.87, 72.74),
    LARGER("EGNN",         NAN, 72.70),
    LARGER("GRAND",        NAN, 72.23),
    LARGER("pathGCN",    37.54, 72.83),

    CELL(EXP_TABLE_6, "wikics", "GCN",      0, 77.19),
    CELL(EXP_TABLE_6, "wikics", "GAT",      0, 77.65),
    CELL(EXP_TABLE_6, "wikics", "SuperGAT", 0, 77.90),
    CELL(EXP_TABLE_6, "wikics", "APPNP",    0, 79.84),
    CELL(EXP_TABLE_6, "wikics", "pathGCN",  0, 80.02),

    CELL(EXP_TABLE_7, "ppi", "GraphSAGE",   0, 61.20),
    CELL(EXP_TABLE_7, "ppi", "VR-GCN",      0, 97.80),
    CELL(EXP_TABLE_7, "ppi", "GaAN",        0, 98.71),
    CELL(EXP_TABLE_7, "ppi", "GAT",         0, 97.30),
    CELL(EXP_TABLE_7, "ppi", "JKNet",       0, 97.60),
    CELL(EXP_TABLE_7, "ppi", "GeniePath",   0, 98.50),
    CELL(EXP_TABLE_7, "ppi", "Cluster-GCN", 0, 99.36),
    CELL(EXP_TABLE_7, "ppi", "GCNII",       0, 99.54),
    CELL(EXP_TABLE_7, "ppi", "GCNII*",      0, 99.58),
    CELL(EXP_TABLE_7, "ppi", "PDE-GCN_M",   0, 99.18),
    CELL(EXP_TABLE_7, "ppi", "pathGCN",     8, 99.61),

    GRAPHS("DGCNN",   85.8,  1.8, 58.6,  2.5, 75.5,  0.9, 74.4,  0.5),
    GRAPHS("IGN",     83.9, 13.0, 58.5,  6.9, 76.6,  5.5, 74.3,  2.7),
    GRAPHS("GIN",     89.4,  5.6, 64.6,  7.0, 76.2,  2.8, 82.7,  1.7),
    GRAPHS("CIN",     92.7,  6.1, 68.2,  5.6, 77.0,  4.3, 83.6,  1.4),
    GRAPHS("GSN",     92.7,  7.5, 68.2,  7.2, 76.6,  5.0, 83.5,  2.0),
    GRAPHS("pathGCN", 94.7,  4.7, 75.2,  5.3, 80.4,  4.2, 83.3,  1.3),

    INFERENCE("cora",       64, 85.8,  85.8,  0.29),
    INFERENCE("citeseer",   64, 75.8,  75.8,  0.34),
    INFERENCE("pubmed",     64, 82.7,  82.7,  0.34),
    INFERENCE("ogbn-arxiv",  0, 72.84, 72.83, 0.13),
    INFERENCE("wisconsin",  16, 93.51, 93.53, 0.21),
    INFERENCE("ppi",         8, 99.61, 99.61, 0.02),

    BY_DEPTH(EXP_TABLE_11, "cora",     "pathGCN_G",  83.0, 81.9, 81.5, 81.2, 81.4, 82.0),
    BY_DEPTH(EXP_TABLE_11, "cora",     "pathGCN_PL", 82.9, 83.3, 83.5, 83.8, 84.1, 84.7),
    BY_DEPTH(EXP_TABLE_11, "cora",     "pathGCN",    84.2, 84.5, 84.6, 85.1, 85.4, 85.8),
    BY_DEPTH(EXP_TABLE_11, "citeseer", "pathGCN_G",  73.1, 71.9, 72.0, 71.9, 72.6, 71.7),
    BY_DEPTH(EXP_TABLE_11, "citeseer", "pathGCN_PL", 73.4, 73.6, 74.0, 74.3, 74.5, 75.0),
    BY_DEPTH(EXP_TABLE_11, "citeseer", "pathGCN",    74.3, 74.8, 75.4, 75.3, 75.6, 75.8),
    BY_DEPTH(EXP_TABLE_11, "pubmed",   "pathGCN_G",  80.9, 80.4, 81.1, 81.0, 80.4, 80.8),
    BY_DEPTH(EXP_TABLE_11, "pubmed",   "pathGCN_PL", 81.1, 81.2, 81.5, 82.0, 82.2, 82.1),
    BY_DEPTH(EXP_TABLE_11, "pubmed",   "pathGCN",    81.8, 81.8, 82.4, 82.5, 82.4, 82.7),

    CELL(EXP_TABLE_10, "cora", "GCN (2 layers)",             2, 81.1),
    CELL(EXP_TABLE_10, "cora", "GCNII (2 layers)",           2, 82.2),
    CELL(EXP_TABLE_10, "cora", "GCNII (8 layers)",           8, 84.2),
    CELL(EXP_TABLE_10, "cora", "GAT (2 layers)",             2, 83.1),
    CELL(EXP_TABLE_10, "cora", "pathGCN, k = 2 (2 layers)",  2, 81.3),
    CELL(EXP_TABLE_10, "cora", "pathGCN, k = 5 (2 layers)",  2, 84.2),

    {EXP_FIGURE_5_PATHS,   "cora",     "pathGCN", 2, 5, 84.2, NAN, NAN}, /* k = 5, p = 5, as in its table */
    {EXP_FIGURE_5_PATHS,   "citeseer", "pathGCN", 2, 5, 74.3, NAN, NAN}, /* k = 5, p = 5 */
    {EXP_FIGURE_5_LENGTHS, "pubmed",   "pathGCN", 2, 7, 81.8, NAN, NAN}, /* k = 7, p = 10 */
};
/* clang-format on */
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static const exp_paper_times times[] = {{"GCN (2 layers)", 4.07, 1.97, NAN},
                                        {"GCNII (2 layers)", 4.24, 1.95, NAN},
                                        {"GCNII (8 layers)", 13.05, 6.87, NAN},
                                        {"GAT (2 layers)", 5.27, 1.96, NAN},
                                        {"pathGCN, k = 2 (2 layers)", 3.48, 1.67, 0.378},
                                        {"pathGCN, k = 5 (2 layers)", 5.35, 2.17, 0.384}};

const exp_paper_times *exp_paper_times_of(const char *line) {
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (strcmp(times[i].line, line) == 0) return &times[i];
    return NULL;
}

static const struct {
    const char *source;
    bool by_depth; /* a number is for its depth only */
    int decimals;  /* as it is printed */
} places[] = {
    [EXP_TABLE_2] = {"Table 2, semi-supervised summary", false, 1},
    [EXP_TABLE_3] = {"Table 3, semi-supervised by depth", true, 1},
    [EXP_TABLE_4] = {"Table 4, fully supervised", false, 2},
    [EXP_TABLE_5] = {"Table 5, Actor and ogbn-arxiv", false, 2},
    [EXP_TABLE_6] = {"Table 6, Wiki-CS", false, 2},
    [EXP_TABLE_7] = {"Table 7, PPI", false, 2},
    [EXP_TABLE_8] = {"Table 8, graph classification", false, 1},
    [EXP_TABLE_9] = {"Table 9, inference", false, 2},
    [EXP_TABLE_10] = {"Table 10, computation times", false, 1},
    [EXP_TABLE_11] = {"Table 11, variants", true, 1},
    [EXP_FIGURE_5_PATHS] = {"Figure 5, by the same settings in Table 3", true, 1},
    [EXP_FIGURE_5_LENGTHS] = {"Figure 5, by the same settings in Table 3", true, 1},
};

const exp_paper *exp_paper_get(int i) {
    return i >= 0 && i < NUMBERS ? &numbers[i] : NULL;
}

const char *exp_paper_source(exp_place place) {
    return places[place].source;
}

/* The length of the name before its steps; 0 if they make other nodes or splits of it, which the
 * paper has no numbers for. Directions, self-loops and features are a part of the method. */
static size_t comparable_name(const char *dataset) {
    const unsigned others = CLI_STEP_LARGEST_COMPONENT | CLI_STEP_STRATIFIED | CLI_STEP_RANDOM |
                            CLI_STEP_PER_CLASS | CLI_STEP_KFOLD | CLI_STEP_FAIR |
                            (unsigned)CLI_STEP_ONLY_SPLIT;
    size_t length = strcspn(dataset, ":");
    const char *steps = dataset[length] ? dataset + length + 1 : NULL;
    return cli_steps_include(steps, others) ? 0 : length;
}

static bool is_at(const exp_paper *number, const exp_place *list) {
    while (*list != EXP_NOWHERE && *list != number->place) list++;
    return *list != EXP_NOWHERE;
}

static bool is_of(const exp_paper *number, const char *dataset, size_t length) {
    return strlen(number->dataset) == length && strncmp(number->dataset, dataset, length) == 0;
}

const exp_paper *exp_paper_find(const exp_place *list, const char *dataset, const char *system,
                                int layers, int value) {
    size_t length = comparable_name(dataset);
    for (int i = 0; i < NUMBERS; i++) {
        const exp_paper *n = &numbers[i];
        if (is_at(n, list) && is_of(n, dataset, length) && strcmp(n->system, system) == 0 &&
            (!places[n->place].by_depth || n->layers == layers) && n->value == value &&
            !isnan(n->accuracy))
            return n;
    }
    return NULL;
}

bool exp_paper_mentions(const exp_place *list, const char *dataset, const char *system) {
    size_t length = dataset ? comparable_name(dataset) : 0;
    for (int i = 0; i < NUMBERS; i++)
        if (is_at(&numbers[i], list) && (!dataset || is_of(&numbers[i], dataset, length)) &&
            (!system || strcmp(numbers[i].system, system) == 0))
            return true;
    return false;
}

int exp_paper_decimals(exp_place place) {
    return places[place].decimals;
}
