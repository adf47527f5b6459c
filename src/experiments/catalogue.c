/* The table of experiments: what each trains, on which data sets, and which table or figure of the
 * paper it is compared with. */
#include "experiments/figures.h"

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
static const exp_set_name split_sets[] = {
    {"cora", 0}, {"citeseer", 0}, {"pubmed", 0}, {"chameleon", 0}, {"cornell", 0}, {"texas", 0},
    {"wisconsin", 0}, {NULL, 0}};
static const exp_set_name larger_sets[] = {{"film", 0}, {"ogbn-arxiv", true}, {NULL, 0}};
static const exp_set_name wiki_sets[] = {{"wikics", true}, {NULL, 0}};
static const exp_set_name cheb_sets[] = {{"cora", 0}, {"citeseer", 0}, {NULL, 0}};
static const exp_set_name cora_set[] = {{"cora", 0}, {NULL, 0}};
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
    {.name = "gin", .system = "GIN", .network = "gin", .recipe = "gin"},
    {.name = NULL}};

static const exp_variant form_variants[] = {
    {.name = "p = 1",   .change = {SET("train-form", "sampled"), SET("paths", "1")}},
    {.name = "p = 5",   .change = {SET("train-form", "sampled"), SET("paths", "5")}},
    {.name = "p = 20",  .change = {SET("train-form", "sampled"), SET("paths", "20")}},
    {.name = "p = 100", .change = {SET("train-form", "sampled"), SET("paths", "100")}},
    {.name = "exact",   .change = {SET("train-form", "exact")}},
    {.name = NULL}};
static const exp_variant cheb_variants[] = {
    {.name = "ChebNet", .network = "cheb"}, {.name = "pathGCN"}, {.name = NULL}};

/* The systems of the paper's tables. A network that is built under such a name is run, one that is
 * not is quoted. The rows by depth of GCN, JKNet and Incep are DropEdge's runs, whose authors
 * published the settings of the best depth with dropped edges only; for other data sets nothing is
 * published and half of the edges are kept. */
#define KEEP_ALL SET("edge-keep", "1")
#define KEPT(recipes) .family = {.name = recipes}, .change = {KEEP_ALL}
#define DROPPED(recipes, cora, citeseer, pubmed)                                                   \
    .family = {.name = recipes, .otherwise = SET("edge-keep", "0.5"),                              \
               .published = {{"cora", cora}, {"citeseer", citeseer}, {"pubmed", pubmed}}}
#define CHEB       {.name = "ChebNet", .network = "cheb"}
#define GCN        {.name = "GCN", .network = "gcn"}
#define GCN_KEPT   {.name = "GCN", .network = "gcn", KEPT("gcn-drop")}
#define GCN_DROP   {.name = "GCN (Drop)", .network = "gcn", DROPPED("gcn-drop", 2, 2, 2)}
#define GAT        {.name = "GAT", .network = "gat"}
#define APPNP      {.name = "APPNP", .network = "appnp"}
#define SGC        {.name = "SGC", .network = "sgc"}
#define JKNET      {.name = "JKNet", .network = "jknet", .change = {KEEP_ALL}}
#define JKNET_KEPT {.name = "JKNet", .network = "jknet", KEPT("jknet-drop")}
#define JKNET_DROP {.name = "JKNet (Drop)", .network = "jknet", DROPPED("jknet-drop", 4, 16, 32)}
#define INCEP_KEPT {.name = "Incep", .network = "incep", KEPT("incep-drop")}
#define INCEP_DROP {.name = "Incep (Drop)", .network = "incep", DROPPED("incep-drop", 64, 4, 4)}
#define GCNII      {.name = "GCNII", .network = "gcnii"}
#define GCNII_STAR {.name = "GCNII*", .network = "gcnii-star"}
#define GRAND      {.name = "GRAND", .network = "grand"}
#define EGNN       {.name = "EGNN", .network = "egnn"}
#define PATHGCN    {.name = "pathGCN"}
#define NO_MORE    {.name = NULL}
static const exp_variant table_2[] = {
    CHEB,
    {.name = "GCN", .network = "gcn", .family = {.name = "gcn-drop", .except = 2}, .change = {KEEP_ALL}},
    GAT, APPNP, {.name = "JKNet", .network = "jknet"}, GCNII, GRAND,
    {.name = "PDE-GCN", .network = "pde-gcn-d"}, EGNN, PATHGCN, NO_MORE};
static const exp_variant table_3[] = {
    GCN_KEPT, GCN_DROP, JKNET_KEPT, JKNET_DROP, INCEP_KEPT, INCEP_DROP, GCNII, GCNII_STAR,
    {.name = "PDE-GCN_D", .network = "pde-gcn-d"}, EGNN, PATHGCN, NO_MORE};
static const exp_variant table_4[] = {
    GCN, GAT, {.name = "Geom-GCN-I", .network = "geom-gcn-i"},
    {.name = "Geom-GCN-P", .network = "geom-gcn-p"},
    {.name = "Geom-GCN-S", .network = "geom-gcn-s"}, APPNP, JKNET,
    {.name = "JKNet (Drop)", .network = "jknet", .unpublished = true, .change = {SET("edge-keep", "0.5")}},
    {.name = "Incep (Drop)", .network = "incep", .unpublished = true, .change = {SET("edge-keep", "0.5")}},
    GCNII, GCNII_STAR, {.name = "PDE-GCN_M", .network = "pde-gcn-m"}, PATHGCN, NO_MORE};
static const exp_variant table_5[] = {
    GCN, GAT, APPNP, {.name = "Geom-GCN-P", .network = "geom-gcn-p"}, JKNET, SGC, GCNII, EGNN,
    GRAND, PATHGCN, NO_MORE};
static const exp_variant table_6[] = {
    GCN, GAT, {.name = "SuperGAT", .network = "supergat"}, APPNP, PATHGCN, NO_MORE};
static const exp_variant table_7[] = {
    {.name = "GraphSAGE", .network = "sage"}, {.name = "VR-GCN", .network = "vr-gcn"},
    {.name = "GaAN", .network = "gaan"}, GAT, JKNET, {.name = "GeniePath", .network = "geniepath"},
    {.name = "Cluster-GCN", .network = "cluster-gcn"}, GCNII, GCNII_STAR,
    {.name = "PDE-GCN_M", .network = "pde-gcn-m"}, PATHGCN, NO_MORE};
static const exp_variant table_8[] = { /* the paper has neither MLP nor GCN here: ours */
    {.name = "MLP", .network = "mlp"}, GCN, {.name = "DGCNN", .network = "dgcnn"},
    {.name = "IGN", .network = "ign"}, {.name = "GIN", .network = "gin"},
    {.name = "CIN", .network = "cin"}, {.name = "GSN", .network = "gsn"}, PATHGCN, NO_MORE};
static const exp_variant table_10[] = {
    {.name = "GCN (2 layers)", .network = "gcn", .layers = 2},
    {.name = "GCNII (2 layers)", .network = "gcnii", .layers = 2},
    {.name = "GCNII (8 layers)", .network = "gcnii", .layers = 8},
    {.name = "GAT (2 layers)", .network = "gat", .layers = 2},
    {.name = "pathGCN, k = 2 (2 layers)", .layers = 2,
     .change = {SET("train-form", "sampled"), SET("path-length", "2"), SET("paths", "5"), SET("samples", "1"), SET("consistency", "0")}},
    {.name = "pathGCN, k = 5 (2 layers)", .layers = 2,
     .change = {SET("train-form", "sampled"), SET("path-length", "5"), SET("paths", "5"), SET("samples", "1"), SET("consistency", "0")}},
    NO_MORE};

/* The second one has the values of the recipe paper-cora, on any data. */
static const exp_variant learnt_variants[] = {
    PATHGCN,
    {.name = "paper's settings",
     .change = {SET("kernel-start", "random"), SET("mix", "random"), SET("residual", "none"), SET("self-loops", "no"),
                SET("scaling", "walk"), SET("samples", "1"), SET("consistency", "0"), SET("path-length", "5"),
                SET("paths", "5"), SET("lr-mix", "1e-3"), SET("lr-kernel", "1e-3"), SET("wd-mix", "2e-5"),
                SET("wd-kernel", "2e-5"), SET("lr-ends", "1e-2"), SET("wd-ends", "1e-5")}},
    NO_MORE};
static const exp_variant smoothing_variants[] = {GCN_KEPT, GCNII, PATHGCN, NO_MORE};

static const exp_protocol fold_protocols[] = {
    {"GIN", "crossval=10"}, {"held out", "kfold=10"}, {NULL, NULL}};

#define DEPTHS    {6, {2, 4, 8, 16, 32, 64}}
#define OWN_DEPTH {1, {0}}
#define PROTOCOLS                                                                                  \
    "Protocol GIN, which the paper follows: accuracy on the fold that is left out, "               \
    "at the one epoch with\nthe best mean over the folds; there is no test. 'Held "                \
    "out': one fold validates, another is tested once;\nsettings that were chosen over all "       \
    "folds, as those of the built-in recipes, have seen its graphs."
#define NETWORKS(number)                                                                           \
    .name = "networks-" #number, .group = "networks", .table = number,                             \
    .places = {EXP_TABLE_##number}, .variants = table_##number, .variants_head = "network",        \
    .networks = true, .apart = true

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
     .places = {EXP_FIGURE_5_PATHS}, .figure = EXP_FIGURE_5,
     .datasets = citation_sets, .layers = {1, {2}}, .axis = "paths",
     .values = {7, {1, 2, 5, 10, 20, 50, 100}}, .quick_values = {2, {1, 10}},
     .fixed = SET("path-length", "5")},
    {.name = "lengths", .title = "Accuracy by the path length k, p = 10 (paper: Figure 5, right)",
     .places = {EXP_FIGURE_5_LENGTHS}, .figure = EXP_FIGURE_5,
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
     .note = PROTOCOLS},
    {.name = "ppi", .title = "Inductive learning on PPI, micro-averaged F1 (paper: Table 7)",
     .places = {EXP_TABLE_7},
     .datasets = ppi_sets, .layers = OWN_DEPTH, .runs = 2, .task = PGCN_TASK_MULTILABEL},
    {.name = "forms", .title = "Trained on samples of p paths and in exact form (paper: section 3.4)",
     .datasets = citation_sets, .layers = {1, {2}}, .variants = form_variants,
     .variants_head = "trained on", .fixed = SET("path-length", "5"), .columns = exp_form_columns,
     .timed = true, .apart = true,
     .note = "The paper's claim is that sampling regularises: fewer paths, higher test accuracy. Seconds are "
             "the median training\nstep of this machine with one thread."},
    {.name = "cheb", .title = "ChebNet and pathGCN by depth (paper: Figure 3, whose numbers are not known)",
     .datasets = cheb_sets, .layers = DEPTHS, .quick_layers = {2, {2, 8}}, .variants = cheb_variants,
     .variants_head = "network", .layout = EXP_BY_DEPTH, .apart = true, .figure = EXP_FIGURE_3},
    {.name = "figure-4", .title = "Learnt operators (paper: Figure 4)", .datasets = cora_set,
     .layers = {1, {8}}, .runs = 1, .variants = learnt_variants, .variants_head = "settings", .apart = true,
     .figure = EXP_FIGURE_4, .drawn_only = true, .models = true},
    {.name = "smoothing", .title = "What layers leave of differences between nodes", .datasets = cora_set,
     .layers = {3, {2, 8, 64}}, .quick_layers = {2, {2, 8}}, .variants = smoothing_variants,
     .variants_head = "network", .runs = 1, .apart = true, .figure = EXP_SMOOTHING, .drawn_only = true,
     .models = true},
    {NETWORKS(2), .title = "Networks, semi-supervised, at the depth of their recipes (paper: Table 2)",
     .datasets = citation_sets, .layers = OWN_DEPTH, .layout = EXP_BY_SET},
    {NETWORKS(3), .title = "Networks, semi-supervised, by depth (paper: Table 3)",
     .datasets = citation_sets, .layers = DEPTHS, .quick_layers = {2, {2, 8}}, .layout = EXP_BY_DEPTH},
    {NETWORKS(4), .title = "Networks, fully supervised, ten splits (paper: Table 4)",
     .datasets = split_sets, .layers = OWN_DEPTH, .splits = true, .layout = EXP_BY_SET},
    {NETWORKS(5), .title = "Networks on Actor and ogbn-arxiv (paper: Table 5)",
     .datasets = larger_sets, .layers = OWN_DEPTH, .splits = true, .layout = EXP_BY_SET},
    {NETWORKS(6), .title = "Networks on Wiki-CS (paper: Table 6)",
     .datasets = wiki_sets, .layers = OWN_DEPTH, .splits = true, .layout = EXP_BY_SET},
    {NETWORKS(7), .title = "Networks on PPI, micro-averaged F1 (paper: Table 7)",
     .datasets = ppi_sets, .layers = OWN_DEPTH, .runs = 2, .task = PGCN_TASK_MULTILABEL,
     .layout = EXP_BY_SET},
    {NETWORKS(8), .title = "Networks, classification of graphs, ten folds (paper: Table 8)",
     .note = PROTOCOLS,
     .datasets = graph_sets, .layers = OWN_DEPTH, .splits = true, .protocols = fold_protocols,
     .task = PGCN_TASK_GRAPH, .layout = EXP_BY_SET},
    {.name = "times", .title = "Times of a step, of inference and of sampling (paper: Table 10)",
     .places = {EXP_TABLE_10}, .datasets = cora_set, .layers = OWN_DEPTH, .variants = table_10,
     .variants_head = "network", .columns = exp_time_columns, .timed = true, .apart = true,
     .note = "Milliseconds of this machine, one thread, the median of up to 60 epochs, one training after the "
             "other; inference is an\nevaluation of all nodes in exact form. Sampling is a part of the "
             "training step. Multiply-adds of a forward pass, as section\n3.5 of the paper counts them. "
             "'paper, ms': training / inference / sampling on a Titan RTX. pathGCN draws one sample per step, as in "
             "the paper."},
    {.name = NULL},
};
/* clang-format on */
