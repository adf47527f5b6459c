/* The table of the arena: what every network has on every data set, and whether pathgcn is better. */
#include "experiments/arena.h"

#include <math.h>
#include <string.h>

/* ---- pairs of networks ------------------------------------------------------------------------ */

/* The mean test figure of a split; NaN: there is none. Its key names the measure: test_auc. */
static double test_of(const json_t *split) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)split, key, value) {
        if (strncmp(key, "test_", 5) == 0) return exp_record_number(value, "mean");
    }
    return NAN;
}

/* That of the split which has the name of another one. */
static double test_beside(const arena_cell *cell, const json_t *other) {
    const json_t *split, *name = json_object_get(other, "split");
    size_t i;
    json_array_foreach(json_object_get(cell->result, "splits"), i, split) {
        if (json_equal(json_object_get(split, "split"), name)) return test_of(split);
    }
    return NAN;
}

/* Test items / training items, over all splits; NaN: the cell is older than these figures. */
static double share_of(const arena_cell *cell) {
    double train = 0, test = 0;
    const json_t *split;
    size_t i;
    json_array_foreach(json_object_get(cell->result, "splits"), i, split) {
        const json_t *items = json_object_get(split, "items");
        train += exp_record_number(items, "train");
        test += exp_record_number(items, "test");
    }
    return test / train;
}

const char *const exp_verdict_words[EXP_VERDICTS] = {"", ARENA_OURS " worse", "tied",
                                                     ARENA_OURS " better"};

static exp_verdict verdict_of(bool differs, double mean) {
    return !differs ? EXP_TIED : mean > 0 ? EXP_BETTER : EXP_WORSE;
}

exp_pairing exp_pair(const exp_tally *differences, double share) {
    exp_spread spread = exp_tally_spread(differences);
    int pairs = differences->count;
    exp_pairing pairing = {.mean = spread.mean, .error = NAN, .p = NAN};
    if (pairs < 2) return pairing;
    pairing.error = cli_error_over_splits(spread.deviation, pairs, 0);
    pairing.verdict = verdict_of(fabs(pairing.mean) > 2 * pairing.error, pairing.mean);
    pairing.p = cli_difference_p(pairing.mean,
                                 cli_error_over_splits(spread.deviation, pairs, share), pairs - 1);
    if (!isnan(pairing.p)) pairing.strict = verdict_of(pairing.p < 0.05, pairing.mean);
    return pairing;
}

static bool same_data(const arena_cell *a, const arena_cell *b) {
    return json_equal(json_object_get(a->result, "fingerprint"),
                      json_object_get(b->result, "fingerprint"));
}

/* Ours minus the other, split by split. */
static exp_pairing compare(const arena_cell *ours, const arena_cell *other) {
    exp_tally differences = {0};
    const json_t *split;
    size_t i;
    if (!same_data(ours, other)) return exp_pair(&differences, NAN);
    json_array_foreach(json_object_get(ours->result, "splits"), i, split) {
        double theirs = test_beside(other, split);
        if (!isnan(theirs)) exp_tally_add(&differences, test_of(split) - theirs);
    }
    return exp_pair(&differences, share_of(ours));
}

static const arena_cell *ours_of(const arena *a, int set) {
    for (int i = 0; i < a->networks.count; i++) {
        const arena_cell *cell = &a->cell[set * a->networks.count + i];
        if (strcmp(cell->network, ARENA_OURS) == 0 && cell->result) return cell;
    }
    return NULL;
}

/* ---- a line for each cell --------------------------------------------------------------------- */

/* What is told of a finished cell. */
typedef struct arena_line {
    const char *measure; /* "accuracy", "auc" */
    int splits;
    double mean, deviation;
    exp_pairing pairing;       /* ours minus this */
    double core_seconds, peak; /* NaN: the cell is older than this figure; peak in bytes */
} arena_line;

static arena_line line_of(const arena *a, int number) {
    const arena_cell *cell = &a->cell[number], *ours = ours_of(a, number / a->networks.count);
    arena_line line = {.measure = "",
                       .mean = NAN,
                       .splits = (int)json_array_size(json_object_get(cell->result, "splits")),
                       .pairing = {.mean = NAN, .error = NAN, .p = NAN},
                       .core_seconds = exp_record_number(cell->result, "core_seconds"),
                       .peak = exp_record_number(cell->result, "peak_rss_bytes")};
    const json_t *value;
    const char *key;
    json_object_foreach(cell->result, key, value) {
        if (strncmp(key, "test_", 5) != 0) continue;
        line.measure = key + 5;
        line.mean = exp_record_number(value, "mean");
        line.deviation = exp_record_number(value, "std");
    }
    if (ours && ours != cell) line.pairing = compare(ours, cell);
    if (ours && !same_data(ours, cell))
        cli_complain(a->request->command,
                     "%s on %s was searched on other data than " ARENA_OURS
                     " and is not compared; search one of them again with --fresh",
                     cell->network, cell->dataset);
    return line;
}

/* A figure, or an empty place if it is not known. */
static void add_number(exp_table *table, const char *format, double value) {
    exp_table_add(table, isnan(value) ? "" : format, value);
}

static void add_comparison(exp_table *table, const exp_pairing *pairing) {
    char difference[32];
    if (isnan(pairing->error))
        exp_table_add(table, "%s", "");
    else
        exp_table_add(table, "%s ± %.2f", cli_format_signed(pairing->mean, difference),
                      pairing->error);
    exp_table_add(table, "%s", exp_verdict_words[pairing->verdict]);
    add_number(table, pairing->p < 0.0005 ? "< 0.001" : "%.3f", pairing->p);
    exp_table_add(table, "%s", exp_verdict_words[pairing->strict]);
}

static void add_to_table(exp_table *table, const arena_line *line) {
    double low, high;
    exp_table_add(table, "%s", line->measure);
    exp_table_add(table, "%d", line->splits);
    exp_table_add(table, line->splits > 1 ? "%.2f ± %.2f" : "%.2f", line->mean, line->deviation);
    if (cli_interval_of_mean(line->mean, line->deviation, line->splits, &low, &high))
        exp_table_add(table, "%.2f to %.2f", low, high);
    else
        exp_table_add(table, "%s", "");
    add_comparison(table, &line->pairing);
    add_number(table, line->core_seconds < 360 ? "%.2g" : "%.3f", line->core_seconds / 3600);
    add_number(table, "%.0f", line->peak / 1048576);
}

/* The same as numbers, for programs. */
static json_t *line_to_json(const arena_cell *cell, const arena_line *line) {
    const exp_pairing *pairing = &line->pairing;
    return json_pack(
        "{s:s, s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:s, s:s, s:o, s:o}", "dataset",
        cell->dataset, "network", cell->network, "measure", line->measure, "splits", line->splits,
        "test_mean", cli_json_real(line->mean), "test_std",
        cli_json_real(line->splits > 1 ? line->deviation : NAN), "difference_mean",
        cli_json_real(pairing->mean), "difference_error", cli_json_real(pairing->error), "p",
        cli_json_real(pairing->p), "verdict", exp_verdict_words[pairing->verdict], "verdict_by_p",
        exp_verdict_words[pairing->strict], "core_seconds", cli_json_real(line->core_seconds),
        "peak_rss_bytes", cli_json_real(line->peak));
}

/* ---- the table -------------------------------------------------------------------------------- */

/* How often ours is better, tied and worse: by the standard error, and by p. */
typedef struct verdict_counts {
    int plain[EXP_VERDICTS], strict[EXP_VERDICTS];
} verdict_counts;

/* "pathgcn is better in 8 of 24 pairs, tied in 11 and worse in 5; ..."; nothing without pairs. */
static void put_counts(const verdict_counts *counts, char *out, size_t bytes) {
    const int *plain = counts->plain, *strict = counts->strict;
    int pairs = plain[EXP_BETTER] + plain[EXP_TIED] + plain[EXP_WORSE];
    int strict_pairs = strict[EXP_BETTER] + strict[EXP_TIED] + strict[EXP_WORSE];
    size_t used = 0;
    out[0] = '\0';
    if (pairs > 0)
        used = (size_t)snprintf(
            out, bytes, ARENA_OURS " is better in %d of %d pair%s, tied in %d and worse in %d.",
            plain[EXP_BETTER], pairs, pairs == 1 ? "" : "s", plain[EXP_TIED], plain[EXP_WORSE]);
    if (strict_pairs > 0)
        snprintf(out + used, bytes - used,
                 " By p below 0.05: better in %d, tied in %d, worse in %d.", strict[EXP_BETTER],
                 strict[EXP_TIED], strict[EXP_WORSE]);
}

/* The arguments that all cells share: "--nested --candidates 16 --search-seed 0 ...". */
static void put_budget(const arena *a, char *out, size_t bytes) {
    const char *line = strstr(a->cell[0].request, "--candidates");
    snprintf(out, bytes, "--nested %.*s", line ? (int)strcspn(line, "\n") : 0, line ? line : "");
}

/* Every cell has a line of the table; those that are done have one of the JSON, too. */
static exp_table *list_cells(const arena *a, verdict_counts *counts, json_t *cells) {
    enum { FIGURES = 10 };
    exp_table *table =
        exp_table_new("data set|network|measure|>splits|>test|>95 % interval|>" ARENA_OURS
                      " minus this|verdict|>p|by p|>core-hours|>MiB");
    for (int i = 0; i < a->sets.count * a->networks.count; i++) {
        const arena_cell *cell = &a->cell[i];
        exp_table_add(table, "%s", cell->dataset);
        exp_table_add(table, "%s", cell->network);
        if (!cell->result) {
            for (int empty = 0; empty < FIGURES; empty++) exp_table_add(table, "%s", "");
            continue;
        }
        arena_line line = line_of(a, i);
        add_to_table(table, &line);
        json_array_append_new(cells, line_to_json(cell, &line));
        counts->plain[line.pairing.verdict]++;
        counts->strict[line.pairing.strict]++;
    }
    return table;
}

pgcn_status exp_arena_report(const arena *a) {
    verdict_counts counts = {0};
    char counted[256], budget[512], note[2048];
    json_t *cells = json_array();
    exp_table *table = list_cells(a, &counts, cells);
    put_counts(&counts, counted, sizeof counted);
    put_budget(a, budget, sizeof budget);
    snprintf(
        note, sizeof note,
        "%s%sEvery cell is 'pathgcn tune' with %s. Figures are in percent. The difference is the mean "
        "over the splits ± its standard error; two networks are tied unless it is above twice that. p "
        "is stricter: its error is raised for the items that splits share, as in 'pathgcn compare', "
        "but it is not adjusted for the number of pairs. Empty: not done, not known, or searched on "
        "other data than " ARENA_OURS
        "'s cell. Core-hours are those of all trainings of a cell, the search included.",
        counted, counted[0] ? " " : "", budget);
    const exp_listing listing = {
        .name = "arena",
        .title =
            "The arena: every network by one budget, settings and epoch chosen for each split by "
            "itself on its validation items",
        .note = note,
        .numbers = cells};
    pgcn_status status = exp_report_listing(a->request, &listing, table);
    json_decref(cells);
    return status;
}
