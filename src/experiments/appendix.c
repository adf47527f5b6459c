/* pathgcn reproduce settings: the hyper-parameters of the paper's appendix beside the recipes `paper`
 * that are meant to repeat them. */
#include "experiments/reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The columns of the appendix, and the settings that each one is. */
enum { LR_GCN, WD_GCN, LR_OC, WD_OC, CHANNELS, DROPOUT, LENGTH, PATHS, BATCH, COLUMNS };
static const struct {
    const char *head;
    const char *keys[2];
} columns[COLUMNS] = {[LR_GCN] = {">LR_GCN", {"lr-mix", "lr-kernel"}},
                      [WD_GCN] = {">WD_GCN", {"wd-mix", "wd-kernel"}},
                      [LR_OC] = {">LR_oc", {"lr-ends", NULL}},
                      [WD_OC] = {">WD_oc", {"wd-ends", NULL}},
                      [CHANNELS] = {">c", {"channels", NULL}},
                      [DROPOUT] = {">p_drop", {"dropout", NULL}},
                      [LENGTH] = {">k", {"path-length", NULL}},
                      [PATHS] = {">p", {"paths", NULL}},
                      [BATCH] = {">BS", {"batch", NULL}}};

/* A line of the appendix; NaN: it gives no value. */
typedef struct appendix_line {
    const char *recipe, *dataset;
    double value[COLUMNS];
} appendix_line;

/* clang-format off */
#define SEMI(d, ...)  {"paper", d, {__VA_ARGS__, NAN}}
#define FULL(d, ...)  {"paper-full", d, {__VA_ARGS__, NAN}}
#define GRAPHS(d, lr_gcn, lr_oc, c, drop, batch, p, k)                                             \
    {"paper", d, {lr_gcn, 0, lr_oc, 0, c, drop, k, p, batch}}
static const appendix_line appendix[] = {
    SEMI("cora",      1e-3, 2e-5, 1e-2, 1e-5, 64,  0.6, 5, 5),
    SEMI("citeseer",  1e-3, 1e-5, 7e-3, 5e-5, 256, 0.7, 5, 5),
    SEMI("pubmed",    5e-3, 0,    1e-2, 1e-5, 256, 0.5, 7, 10),
    FULL("cora",      1e-4, 1e-4, 7e-2, 1e-4, 64, 0.5, 5, 10),
    FULL("citeseer",  3e-4, 5e-5, 8e-3, 1e-4, 64, 0.5, 5, 10),
    FULL("pubmed",    1e-4, 2e-4, 1e-2, 1e-6, 64, 0.5, 7, 10),
    SEMI("chameleon", 5e-4, 1e-5, 5e-3, 3e-5, 64, 0.5, 3, 10),
    SEMI("cornell",   4e-4, 1e-5, 5e-2, 5e-4, 64, 0.5, 5, 10),
    SEMI("texas",     3e-4, 5e-4, 4e-2, 1e-4, 64, 0.5, 7, 10),
    SEMI("wisconsin", 3e-4, 2e-4, 1e-2, 5e-5, 64, 0.5, 7, 10),
    SEMI("film",      2e-4, 1e-4, 8e-2, 5e-4, 64, 0.5, 7, 10),
    SEMI("wikics",    3e-2, 1e-4, 7e-3, 1e-5, 64, 0.3, 7, 5),
    SEMI("ogbn-arxiv", 1e-3, 0,   1e-3, 0,    256, 0.1, 5, 10),
    SEMI("ppi",       1e-3, 0,    1e-3, 0,    NAN, 0.2, 5, 10),
    GRAPHS("MUTAG",    0.01, 0.01, 32, 0,   32,  5, 5),
    GRAPHS("PTC_MR",   0.01, 0.01, 32, 0,   32,  5, 5),
    GRAPHS("PROTEINS", 0.01, 0.01, 32, 0,   128, 5, 10),
    GRAPHS("NCI1",     0.01, 0.01, 32, 0.5, 32,  5, 10)};
/* clang-format on */

/* "0.001"; "0.001, recipe 0.002"; "not given, recipe 256"; "" where neither has a value. */
static int add_value(exp_table *table, const pgcn_config *config, const appendix_line *line,
                     int column) {
    double paper = line->value[column];
    char text[PGCN_SETTING_BYTES], other[PGCN_SETTING_BYTES + 16] = "";
    bool differs = false;
    for (int i = 0; i < 2 && columns[column].keys[i]; i++) {
        double ours;
        pgcn_config_get(config, columns[column].keys[i], text, sizeof text);
        if (!isnan(paper) && pgcn_number_parse(text, &ours) && ours == paper) continue;
        differs = differs || !isnan(paper);
        snprintf(other, sizeof other, ", recipe %s", text);
    }
    if (column == BATCH && isnan(paper))
        exp_table_add(table, "%s", ""); /* one graph: there are no batches */
    else if (isnan(paper))
        exp_table_add(table, "not given%s", other);
    else
        exp_table_add(table, "%g%s", paper, other);
    return differs;
}

pgcn_status exp_report_settings(const exp_request *r) {
    enum { LINES = sizeof appendix / sizeof *appendix };
    char heads[256] = "data set|recipe";
    int differences = 0;
    for (int c = 0; c < COLUMNS; c++)
        snprintf(heads + strlen(heads), sizeof heads - strlen(heads), "|%s", columns[c].head);
    exp_table *table = exp_table_new(heads);
    for (int i = 0; i < LINES; i++) {
        pgcn_config config;
        pgcn_recipe_info info;
        pgcn_status status =
            pgcn_recipe_load(appendix[i].recipe, appendix[i].dataset, 0, &config, &info);
        if (status != PGCN_OK) {
            exp_table_free(table);
            return cli_report(r->command, status);
        }
        exp_table_add(table, "%s", appendix[i].dataset);
        exp_table_add(table, "%s", info.name);
        for (int c = 0; c < COLUMNS; c++) differences += add_value(table, &config, &appendix[i], c);
    }
    char note[512];
    snprintf(note, sizeof note,
             "LR_GCN is lr-mix and lr-kernel, WD_GCN wd-mix and wd-kernel, LR_oc and WD_oc lr-ends "
             "and wd-ends,\nc channels, p_drop dropout, k path-length, p paths, BS batch. "
             "%d value%s of the recipes differ%s.",
             differences, differences == 1 ? "" : "s", differences == 1 ? "s" : "");
    const exp_listing listing = {
        .name = "settings", .title = "Hyper-parameters (paper: appendix B)", .note = note};
    return exp_report_listing(r, &listing, table);
}
