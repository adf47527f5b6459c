/* The table of formats: a file or folder is read by the first reader that detects its format.
 * Called by load.c. */
#include "data/data.h"

#define READER(name) pgcn_i_##name##_detect, pgcn_i_##name##_read
const pgcn_i_format pgcn_i_formats[] = {
    {"pgcn", "container of pathgcn: FILE.pgcn", READER(container)},
    {"folder", "folder of NumPy arrays: edges.npy, y.npy, ...", READER(folder)},
    {"planetoid", "Planetoid: ind.NAME.x, .tx, .allx, .y, .ty, .ally, .graph, .test.index",
     READER(planetoid)},
    {"geom-gcn", "Geom-GCN: out1_node_feature_label.txt, out1_graph_edges.txt, splits/*.npz",
     READER(geom)},
    {"tu", "TU Dortmund: NAME_A.txt, NAME_graph_indicator.txt, ...", READER(tu)},
    {"ogb", "OGB node properties: raw/edge.csv.gz, raw/node-feat.csv.gz, split/*/...", READER(ogb)},
    {"wikics", "Wiki-CS: data.json", READER(wikics)},
    {"graphsage", "GraphSAGE: NAME-G.json, NAME-feats.npy, NAME-class_map.json, NAME-id_map.json",
     READER(graphsage)},
    {"dgl-ppi", "PPI of DGL: train_graph.json, train_feats.npy, train_labels.npy, ...",
     READER(dgl_ppi)},
    {"npz", "NumPy archive FILE.npz: gnn-benchmark, heterophilous-graphs or our own",
     READER(npz_graph)},
    {"gin", "GIN: NAME.txt with many graphs, 10fold_idx/", READER(gin)},
    {"mtx", "Matrix Market: FILE.mtx", READER(matrix_market)},
    {"edges", "edge list: FILE.edges, .csv, .tsv, .txt with two or three columns",
     READER(edge_list)},
    {NULL, NULL, NULL, NULL},
};
#undef READER

const char *pgcn_format_name(int i, const char **summary) {
    int count = (int)(sizeof pgcn_i_formats / sizeof *pgcn_i_formats) - 1;
    if (i < 0 || i >= count) return NULL;
    if (summary) *summary = pgcn_i_formats[i].summary;
    return pgcn_i_formats[i].name;
}

const pgcn_i_format *pgcn_i_format_find(const char *path) {
    for (const pgcn_i_format *format = pgcn_i_formats; format->name; format++)
        if (format->detect(path)) return format;
    return NULL;
}

const char *pgcn_format_of(const char *path) {
    const pgcn_i_format *format = path ? pgcn_i_format_find(path) : NULL;
    return format ? format->name : NULL;
}
