/* The table of experiments: what each trains, on which data sets, and which table or figure of the
 * paper it is compared with. */
#include "experiments/reproduce.h"

/* clang-format off */
#define SET(a_key, a_value) {.key = a_key, .value = a_value}

static const exp_set_name citation_sets[] = {{"cora", 0}, {"citeseer", 0}, {"pubmed", 0}, {NULL, 0}};
static const exp_set_name full_sets[] = {
    {"cora", 0}, {"citeseer", 0}, {"pubmed", 0}, {"chameleon", 0}, {"cornell", 0}, {"texas", 0},
    {"wisconsin", 0}, {"film", 0}, {"wikics", true}, {"ogbn-arxiv", true}, {NULL, 0}};
static const exp_set_name inference_sets[] = {
    {"cora", 0}, {"citeseer", 0}, {"pubmed", 0}, {"ogbn-arxiv", true}, {"wisconsin", 0},
    {"ppi", true}, {NULL, 0}};
static const exp_set_name frozen_sets[] = {
    {"cora", 0}, {"citeseer", 0}, {"chameleon", 0}, {"cornell", 0}, {"texas", 0}, {"wisconsin", 0},
    {"film", 0}, {NULL, 0}};
static const exp_set_name graph_sets[] = {
    {"MUTAG-gin", 0}, {"PTC-gin", 0}, {"PROTEINS-gin", 0}, {"NCI1-gin", 0}, {NULL, 0}};
static const exp_set_name ppi_sets[] = {{"ppi", 0}, {NULL, 0}};

static const exp_variant kernel_variants[] = {
    {.name = "global",    .system = "pathGCN_G",  .change = {SET("kernel", "global")}},
    {.name = "layer",     .system = "pathGCN_PL", .change = {SET("kernel", "layer")}},
    {.name = "depthwise", .system = "pathGCN",    .change = {SET("kernel", "depthwise")}},
    {.name = "full",                              .change = {SET("kernel", "full")}},
    {.name = NULL}};
static const exp_variant frozen_variants[] = {
    {.name = "learnt"},
    {.name = "frozen",   .change = {SET("lr-kernel", "0")}},
    {.name = "smooth",   .change = {SET("kernel-start", "smooth"), SET("lr-kernel", "0")}},
    {.name = "no walks", .change = {SET("path-length", "1")}},
    {.name = NULL}};
static const exp_variant model_variants[] = {
    {.name = "pathgcn", .system = "pathGCN"},
    {.name = "gin", .system = "GIN", .recipe = "gin"},
    {.name = NULL}};

static const exp_protocol fold_protocols[] = {
    {"GIN", "crossval=10"}, {"held out", "kfold=10"}, {NULL, NULL}};

#define DEPTHS    {6, {2, 4, 8, 16, 32, 64}}
#define OWN_DEPTH {1, {0}}

const exp_experiment exp_experiments[] = {
    {.name = "semi", .title = "Semi-supervised node classification by depth (paper: Table 3)",
     .places = {EXP_TABLE_3},
     .datasets = citation_sets, .layers = DEPTHS, .quick_layers = {2, {2, 8}}},
    {.name = "full", .title = "Fully supervised node classification (paper: Tables 4, 5 and 6)",
     .places = {EXP_TABLE_4, EXP_TABLE_5, EXP_TABLE_6},
     .datasets = full_sets, .layers = OWN_DEPTH, .splits = true},
    {.name = "inference", .title = "Deterministic and stochastic inference (paper: Table 9)",
     .places = {EXP_TABLE_9}, .columns = exp_inference_columns,
     .datasets = inference_sets, .layers = OWN_DEPTH},
    {.name = "variants", .title = "Kernels by depth (paper: Table 11)",
     .places = {EXP_TABLE_11}, .variants_head = "kernel",
     .datasets = citation_sets, .layers = DEPTHS, .quick_layers = {1, {2}},
     .variants = kernel_variants},
    {.name = "paths", .title = "Accuracy by the number of paths p, k = 5 (paper: Figure 5, left)",
     .places = {EXP_FIGURE_5_PATHS},
     .datasets = citation_sets, .layers = {1, {2}}, .axis = "paths",
     .values = {7, {1, 2, 5, 10, 20, 50, 100}}, .quick_values = {2, {1, 10}},
     .fixed = SET("path-length", "5")},
    {.name = "lengths", .title = "Accuracy by the path length k, p = 10 (paper: Figure 5, right)",
     .places = {EXP_FIGURE_5_LENGTHS},
     .datasets = citation_sets, .layers = {1, {2}}, .axis = "path-length",
     .values = {7, {1, 2, 3, 5, 7, 9, 11}}, .quick_values = {2, {1, 5}},
     .fixed = SET("paths", "10")},
    {.name = "frozen", .title = "Learnt kernels against frozen ones, and against no walks (ours)",
     .datasets = frozen_sets, .layers = OWN_DEPTH, .variants = frozen_variants,
     .variants_head = "kernel", .splits = true},
    {.name = "graphs", .title = "Graph classification, ten folds (paper: Table 8)",
     .places = {EXP_TABLE_8}, .variants_head = "model",
     .datasets = graph_sets, .layers = OWN_DEPTH, .variants = model_variants, .splits = true,
     .protocols = fold_protocols, .task = PGCN_TASK_GRAPH,
     .note = "Protocol GIN, which the paper follows: accuracy on the fold that is left out, "
             "at the one epoch with\nthe best mean over the folds; there is no test. 'Held "
             "out': one fold validates, another is tested once;\nsettings that were chosen over all "
             "folds, as those of the built-in recipes, have seen its graphs."},
    {.name = "ppi", .title = "Inductive learning on PPI, micro-averaged F1 (paper: Table 7)",
     .places = {EXP_TABLE_7},
     .datasets = ppi_sets, .layers = OWN_DEPTH, .runs = 2, .task = PGCN_TASK_MULTILABEL},
    {.name = NULL},
};
/* clang-format on */
