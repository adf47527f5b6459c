/* reproduce arena: every network on every data set by one budget. A cell is a nested search, `tune --nested` with the
 * same number of candidates, epochs and runs for all networks, in a directory of its own and, but for ranks, in a process
 * of its own; what it leaves there is read again for the table. A cell that is done is not searched again, and one that is not
 * stays empty; so do those of a data set that is not here.
 * docs/PROTOCOL.md fixes the budget. */
#include "experiments/reproduce.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const usual_networks[] = {"pathgcn", "mlp",   "gcn",  "gat",
                                             "appnp",   "gcnii", "sage", NULL};
static const char *const usual_sets[] = {"cora",
                                         "citeseer",
                                         "texas",
                                         "wisconsin",
                                         "cornell",
                                         "film",
                                         "chameleon",
                                         "heterophilous/chameleon_filtered.npz",
                                         "heterophilous/minesweeper.npz",
                                         NULL};
/* The one that the others are compared with. */
#define OURS "pathgcn"

typedef struct arena_cell {
    const char *dataset, *network;
    char directory[EXP_PATH_BYTES];
    char *request;  /* the arguments of its search, one line; owned */
    json_t *result; /* nested.json of that search; NULL: it is not done */
} arena_cell;

typedef struct arena {
    const exp_request *request;
    const exp_pace *pace;
    exp_words networks, sets;
    arena_cell *cell; /* [sets.count * networks.count], data set by data set */
} arena;

static int cells_of(const arena *a) {
    return a->sets.count * a->networks.count;
}

/* ---- the search of a cell --------------------------------------------------------------------- */

enum { MOST_ARGUMENTS = 2 * CLI_MAX_SETTINGS + 40 };
typedef struct argument_list {
    int count;
    const char *word[MOST_ARGUMENTS + 1];
} argument_list;

static void put(argument_list *list, const char *key, const char *value) {
    if (list->count + 2 > MOST_ARGUMENTS) return;
    list->word[list->count++] = key;
    list->word[list->count++] = value;
}

/* A setting of the budget, unless the command line gives it. */
static void put_usual(const arena *a, argument_list *list, const char *option, const char *value) {
    if (!cli_is_given(a->request->arguments, option + 2)) put(list, option, value);
}

/* What decides the result of a search. `given` holds the text of the settings of the command line. */
static void list_arguments(const arena *a, const arena_cell *cell, char (*given)[64],
                           argument_list *list) {
    const exp_request *r = a->request;
    bool quick = r->quick;
    list->word[list->count++] = cell->dataset;
    list->word[list->count++] = "--nested";
    put(list, "--model", cell->network);
    /* all start from settings for any data; a race for the start would be a budget of its own */
    if (strcmp(cell->network, OURS) == 0) put(list, "--recipe", "none");
    put(list, "--candidates", quick ? "2" : "16");
    put(list, "--search-seed", "0");
    put_usual(a, list, "--seed", "1000");
    put_usual(a, list, "--epochs", quick ? "5" : "400");
    put_usual(a, list, "--split", "numbered");
    put_usual(a, list, "--allow-missing-class", "yes");
    for (int i = 0; i < r->arguments->settings; i++) {
        snprintf(given[i], sizeof *given, "--%.60s", r->arguments->key[i]);
        put(list, given[i], r->arguments->value[i]);
    }
}

/* The arguments as one line, by which a finished cell is known again. NULL without memory. */
static char *line_of(const argument_list *list, const char *runs) {
    size_t bytes = strlen(runs) + 16;
    for (int i = 0; i < list->count; i++) bytes += strlen(list->word[i]) + 1;
    char *line = malloc(bytes);
    size_t used = 0;
    for (int i = 0; line && i < list->count; i++)
        used += (size_t)snprintf(line + used, bytes - used, "%s ", list->word[i]);
    if (line) snprintf(line + used, bytes - used, "--runs %s\n", runs);
    return line;
}

static void runs_of(const arena *a, char out[24]) {
    snprintf(out, 24, "%lld", a->request->seeds > 0 ? a->request->seeds : 1);
}

static void print_to_log(const char *directory) {
    char path[EXP_PATH_BYTES];
    snprintf(path, sizeof path, "%.4000s/log", directory);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) return;
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    close(file);
}

/* Runs the command in a process of its own: what it does wrong is not the arena's end. */
static bool run_apart(const arena_cell *cell, const argument_list *list) {
    fflush(NULL); /* or buffered output is printed twice */
    pid_t pid = fork();
    int status = -1;
    if (pid == 0) {
        print_to_log(cell->directory);
        pgcn_status result = cli_tune.run(list->count, (char **)list->word);
        fflush(NULL);
        _exit(result == PGCN_OK ? 0 : 1);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return false;
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Runs it in this process, which must not fork where it is a rank; the other ranks take its jobs. */
static bool run_here(const arena_cell *cell, const argument_list *list) {
    int before[2] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
    fflush(NULL);
    print_to_log(cell->directory);
    pgcn_status result = cli_tune.run(list->count, (char **)list->word);
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        if (before[i] < 0) continue;
        dup2(before[i], i == 0 ? STDOUT_FILENO : STDERR_FILENO);
        close(before[i]);
    }
    return result == PGCN_OK;
}

/* `pathgcn tune` with the arguments of the cell. */
static bool run_search(const arena *a, const arena_cell *cell) {
    char given[CLI_MAX_SETTINGS][64], runs[24], processes[24], threads[24];
    argument_list list = {0};
    list_arguments(a, cell, given, &list);
    runs_of(a, runs);
    snprintf(processes, sizeof processes, "%d", a->pace->processes);
    snprintf(threads, sizeof threads, "%d", a->pace->threads);
    put(&list, "--runs", runs);
    put(&list, "--jobs", processes);
    put(&list, "--threads", threads);
    put(&list, "--out", cell->directory);
    if (a->request->data_dir) put(&list, "--data", a->request->data_dir);
    if (a->request->fresh) list.word[list.count++] = "--fresh";
    list.word[list.count++] = "--quiet";
    return pgcn_workers_count() > 1 ? run_here(cell, &list) : run_apart(cell, &list);
}

/* ---- what is done ----------------------------------------------------------------------------- */

static bool same_request(const arena_cell *cell) {
    char path[EXP_PATH_BYTES], line[4096] = "";
    snprintf(path, sizeof path, "%.4000s/arena.txt", cell->directory);
    FILE *file = fopen(path, "r");
    bool read = file && fgets(line, sizeof line, file);
    if (file) fclose(file);
    return read && strcmp(line, cell->request) == 0;
}

static void load_result(arena_cell *cell) {
    char path[EXP_PATH_BYTES];
    snprintf(path, sizeof path, "%.4000s/nested.json", cell->directory);
    if (same_request(cell)) cell->result = json_load_file(path, 0, NULL);
}

/* The mark that a cell is done comes last. */
static pgcn_status mark_done(const arena *a, const arena_cell *cell) {
    char path[EXP_PATH_BYTES];
    snprintf(path, sizeof path, "%.4000s/arena.txt", cell->directory);
    FILE *file = fopen(path, "w");
    bool written = file && fputs(cell->request, file) >= 0;
    if (file && fclose(file) != 0) written = false;
    if (written) return PGCN_OK;
    return cli_fail(a->request->command, PGCN_ERR_IO, "cannot write %s: %s", path,
                    pgcn_system_error(errno));
}

static pgcn_status search_cell(const arena *a, arena_cell *cell, int number) {
    const exp_request *r = a->request;
    if (cell->result && !r->fresh) return PGCN_OK;
    json_decref(cell->result);
    cell->result = NULL;
    CLI_TRY(cli_make_directory(r->command, cell->directory));
    if (!r->quiet)
        fprintf(stderr, "arena: cell %d of %d, %s on %s\n", number + 1, cells_of(a), cell->network,
                cell->dataset);
    if (!run_search(a, cell)) {
        if (!cli_interrupted())
            cli_complain(r->command, "%s on %s is not done and its cell stays empty; see %s/log",
                         cell->network, cell->dataset, cell->directory);
        return PGCN_OK;
    }
    CLI_TRY(mark_done(a, cell));
    load_result(cell);
    return PGCN_OK;
}

/* Whether there is something to search on; why not is said once for all networks. */
static bool is_here(const arena *a, const char *name) {
    pgcn_dataset_opts opts = pgcn_dataset_opts_default();
    pgcn_dataset *data = NULL;
    opts.data_dir = a->request->data_dir;
    pgcn_status status = pgcn_dataset_load(name, &opts, &data);
    if (status != PGCN_OK)
        cli_complain(a->request->command, "%s; the cells of %s stay empty", pgcn_last_error(),
                     name);
    pgcn_dataset_free(data);
    return status == PGCN_OK;
}

/* All networks on one data set. */
static pgcn_status search_set(const arena *a, int set) {
    int first = set * a->networks.count, last = first + a->networks.count, left = 0;
    for (int i = first; i < last; i++) left += !a->cell[i].result || a->request->fresh;
    if (left == 0 || !is_here(a, a->sets.word[set])) return PGCN_OK;
    for (int i = first; i < last && !cli_interrupted(); i++)
        CLI_TRY(search_cell(a, &a->cell[i], i));
    return PGCN_OK;
}

/* ---- the table -------------------------------------------------------------------------------- */

/* The mean test figure of a split by its name; NaN: there is none. Its key names the measure: test_auc. */
static double test_of(const json_t *object) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key,
                        value) if (strncmp(key, "test_", 5) == 0) return exp_record_number(value,
                                                                                           "mean");
    return NAN;
}

static double split_test(const arena_cell *cell, const char *name) {
    const json_t *split;
    size_t i;
    json_array_foreach(json_object_get(cell->result, "splits"), i,
                       split) if (strcmp(json_string_value(json_object_get(split, "split")),
                                         name) == 0) return test_of(split);
    return NAN;
}

exp_pairing exp_pair(const exp_tally *differences) {
    exp_spread spread = exp_tally_spread(differences);
    exp_pairing pairing = {.mean = spread.mean, .error = NAN, .verdict = ""};
    if (differences->count < 2) return pairing;
    pairing.error = spread.deviation / sqrt(differences->count);
    pairing.verdict = fabs(pairing.mean) <= 2 * pairing.error ? "tied"
                      : pairing.mean > 0                      ? OURS " better"
                                                              : OURS " worse";
    return pairing;
}

/* Ours minus the other, split by split. */
static exp_pairing compare(const arena_cell *ours, const arena_cell *other) {
    exp_tally differences = {0};
    const json_t *split;
    size_t i;
    json_array_foreach(json_object_get(ours->result, "splits"), i, split) {
        double theirs = split_test(other, json_string_value(json_object_get(split, "split")));
        if (!isnan(theirs)) exp_tally_add(&differences, test_of(split) - theirs);
    }
    return exp_pair(&differences);
}

static const arena_cell *ours_of(const arena *a, int set) {
    for (int i = 0; i < a->networks.count; i++) {
        const arena_cell *cell = &a->cell[set * a->networks.count + i];
        if (strcmp(cell->network, OURS) == 0 && cell->result) return cell;
    }
    return NULL;
}

static void add_comparison(exp_table *table, const arena_cell *ours, const arena_cell *cell) {
    if (!ours || ours == cell) {
        for (int i = 0; i < 2; i++) exp_table_add(table, "%s", "");
        return;
    }
    exp_pairing pairing = compare(ours, cell);
    char difference[32];
    if (isnan(pairing.error))
        exp_table_add(table, "%s", "");
    else
        exp_table_add(table, "%s ± %.2f", cli_format_signed(pairing.mean, difference),
                      pairing.error);
    exp_table_add(table, "%s", pairing.verdict);
}

static void add_figures(exp_table *table, const arena_cell *cell) {
    const json_t *test = NULL, *value;
    const char *key;
    int splits = (int)json_array_size(json_object_get(cell->result, "splits"));
    json_object_foreach(cell->result, key, value) if (strncmp(key, "test_", 5) == 0) test = value;
    double mean = exp_record_number(test, "mean"), deviation = exp_record_number(test, "std");
    double low, high;
    exp_table_add(table, "%d", splits);
    if (splits > 1)
        exp_table_add(table, "%.2f ± %.2f", mean, deviation);
    else
        exp_table_add(table, "%.2f", mean);
    if (cli_interval_of_mean(mean, deviation, splits, &low, &high))
        exp_table_add(table, "%.2f to %.2f", low, high);
    else
        exp_table_add(table, "%s", "");
}

static void add_line(const arena *a, exp_table *table, int number) {
    const arena_cell *cell = &a->cell[number];
    exp_table_add(table, "%s", cell->dataset);
    exp_table_add(table, "%s", cell->network);
    if (!cell->result) {
        for (int i = 0; i < 7; i++) exp_table_add(table, "%s", "");
        return;
    }
    add_figures(table, cell);
    add_comparison(table, ours_of(a, number / a->networks.count), cell);
    double core_seconds = exp_record_number(cell->result, "core_seconds");
    if (isnan(core_seconds))
        exp_table_add(table, "%s", "");
    else
        exp_table_add(table, "%.3f", core_seconds / 3600);
    exp_table_add(table, "%.0f", exp_record_number(cell->result, "peak_rss_bytes") / 1048576);
}

static pgcn_status report(const arena *a) {
    exp_table *table = exp_table_new("data set|network|>splits|>test|>95 % interval|>" OURS
                                     " minus this|verdict|>core-hours|>MiB");
    for (int i = 0; i < cells_of(a); i++) add_line(a, table, i);
    const exp_listing listing = {
        .name = "arena",
        .title =
            "The arena: every network by one budget, settings and epoch chosen for each split by "
            "itself on its validation items",
        .note =
            "The difference is the mean over the splits ± its standard error; two networks are tied "
            "unless it is above twice that. Empty: not done. Core-hours are those of all trainings "
            "of a cell, the search included."};
    return exp_report_listing(a->request, &listing, table);
}

/* ---- all cells -------------------------------------------------------------------------------- */

static pgcn_status list_words(const exp_request *r, const char *option, const char *text,
                              const char *const *usual, exp_words *out) {
    if (text) return exp_split_words(r, option, text, strchr(text, ' ') ? ' ' : ',', out);
    for (; *usual; usual++) snprintf(out->word[out->count++], sizeof *out->word, "%s", *usual);
    return PGCN_OK;
}

static pgcn_status check(const arena *a) {
    const exp_request *r = a->request;
    static const char *const others[] = {"layers", "recipe", "tables", "model"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (cli_is_given(r->arguments, others[i]))
            return cli_fail(
                r->command, PGCN_ERR_ARGUMENT,
                "--%s: in the arena every network has the same budget and chooses its own "
                "settings; leave it out (--models chooses networks)",
                others[i]);
    for (int i = 0; i < a->networks.count; i++)
        if (exp_network_number(a->networks.word[i]) < 0)
            return cli_fail(r->command, PGCN_ERR_ARGUMENT, "--models: there is no network '%s'",
                            a->networks.word[i]);
    return PGCN_OK;
}

static bool set_up_cell(const arena *a, int number) {
    arena_cell *cell = &a->cell[number];
    char given[CLI_MAX_SETTINGS][64], runs[24], set[128];
    argument_list list = {0};
    cell->dataset = a->sets.word[number / a->networks.count];
    cell->network = a->networks.word[number % a->networks.count];
    snprintf(set, sizeof set, "%s", cell->dataset);
    for (char *c = set; *c; c++)
        if (strchr(",=/: ", *c)) *c = '-';
    snprintf(cell->directory, sizeof cell->directory, "%.3800s/arena/%s/%.60s", a->request->out,
             set, cell->network);
    list_arguments(a, cell, given, &list);
    runs_of(a, runs);
    cell->request = line_of(&list, runs);
    if (cell->request) load_result(cell);
    return cell->request != NULL;
}

/* A table of what is there is all that --report is asked for: cells that are missing are no error of it. */
static pgcn_status check_done(const arena *a, bool only_report) {
    int done = 0, all = cells_of(a);
    for (int i = 0; i < all; i++) done += a->cell[i].result != NULL;
    if (done == all) return PGCN_OK;
    if (!only_report)
        return cli_fail(a->request->command, PGCN_ERR_SYSTEM,
                        "%d of %d cells are done; the same command goes on with the others", done,
                        all);
    if (!a->request->quiet)
        fprintf(stderr,
                "note: %d of %d cells are done; the same command without --report goes on with the "
                "others\n",
                done, all);
    return PGCN_OK;
}

static pgcn_status run_arena(arena *a, bool only_report) {
    for (int i = 0; i < cells_of(a); i++)
        if (!set_up_cell(a, i))
            return cli_fail(a->request->command, PGCN_ERR_MEMORY, "out of memory");
    if (!only_report) cli_catch_signals();
    for (int set = 0; set < a->sets.count && !only_report && !cli_interrupted(); set++)
        CLI_TRY(search_set(a, set));
    CLI_TRY(report(a));
    return check_done(a, only_report);
}

pgcn_status exp_arena(const exp_request *r, const exp_pace *pace, bool only_report) {
    arena a = {.request = r, .pace = pace};
    CLI_TRY(list_words(r, "models", r->models, usual_networks, &a.networks));
    CLI_TRY(list_words(r, "datasets", r->datasets, usual_sets, &a.sets));
    CLI_TRY(check(&a));
    a.cell = calloc((size_t)cells_of(&a) + 1, sizeof *a.cell);
    if (!a.cell) return cli_fail(r->command, PGCN_ERR_MEMORY, "out of memory");
    pgcn_status status = run_arena(&a, only_report);
    for (int i = 0; i < cells_of(&a); i++) {
        json_decref(a.cell[i].result);
        free(a.cell[i].request);
    }
    free(a.cell);
    return status;
}
