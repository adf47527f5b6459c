/* reproduce arena: every network on every data set by one budget. A cell is a nested search, `tune --nested` with the
 * same number of candidates, epochs and runs for all networks, in a directory of its own and, but for ranks, in a process
 * of its own; what it leaves there is read again for the table (arena_report.c). A cell that is done is not searched
 * again, and one that is not stays empty; so do those of a data set that is not here.
 * docs/PROTOCOL.md fixes the budget. */
#include "experiments/arena.h"

#include <errno.h>
#include <fcntl.h>
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
    if (strcmp(cell->network, ARENA_OURS) == 0) put(list, "--recipe", "none");
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

/* The table of a cell is for its own directory; progress and errors of its search are for the user. */
static void print_table_to_log(const char *directory) {
    char path[EXP_PATH_BYTES];
    snprintf(path, sizeof path, "%.4000s/log", directory);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) return;
    dup2(file, STDOUT_FILENO);
    close(file);
}

/* Runs the command in a process of its own: what it does wrong is not the arena's end. */
static bool run_apart(const arena_cell *cell, const argument_list *list) {
    fflush(NULL); /* or buffered output is printed twice */
    pid_t pid = fork();
    int status = -1;
    if (pid == 0) {
        print_table_to_log(cell->directory);
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
    int before = dup(STDOUT_FILENO);
    fflush(NULL);
    print_table_to_log(cell->directory);
    pgcn_status result = cli_tune.run(list->count, (char **)list->word);
    fflush(NULL);
    if (before >= 0) {
        dup2(before, STDOUT_FILENO);
        close(before);
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
    if (a->request->quiet) list.word[list.count++] = "--quiet";
    return pgcn_workers_count() > 1 ? run_here(cell, &list) : run_apart(cell, &list);
}

/* ---- what is done ----------------------------------------------------------------------------- */

/* Reads what is done in the directory of the cell, if it was asked for by the same arguments. */
static void load_result(const arena *a, arena_cell *cell) {
    char path[EXP_PATH_BYTES], line[4096] = "";
    json_error_t error;
    snprintf(path, sizeof path, "%.4000s/arena.txt", cell->directory);
    FILE *file = fopen(path, "r");
    bool read = file && fgets(line, sizeof line, file);
    if (file) fclose(file);
    cell->other = read && strcmp(line, cell->request) != 0;
    if (!read || cell->other) return;
    snprintf(path, sizeof path, "%.4000s/nested.json", cell->directory);
    cell->result = json_load_file(path, 0, &error);
    if (!cell->result)
        cli_complain(a->request->command,
                     "'%s' cannot be read (%s), so its cell counts as not done", path, error.text);
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
            cli_complain(r->command,
                         "%s on %s is not done, for the reason above, and its cell stays empty; "
                         "the same command tries it again",
                         cell->network, cell->dataset);
        return PGCN_OK;
    }
    CLI_TRY(mark_done(a, cell));
    load_result(a, cell);
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

static bool has_work(const arena *a, int set) {
    int first = set * a->networks.count;
    for (int i = first; i < first + a->networks.count; i++)
        if (!a->cell[i].result || a->request->fresh) return true;
    return false;
}

/* All data sets are looked at before the first hour is spent. */
static pgcn_status search_sets(arena *a) {
    for (int set = 0; set < a->sets.count; set++)
        a->absent[set] = has_work(a, set) && !is_here(a, a->sets.word[set]);
    for (int i = 0; i < cells_of(a) && !cli_interrupted(); i++)
        if (!a->absent[i / a->networks.count]) CLI_TRY(search_cell(a, &a->cell[i], i));
    return PGCN_OK;
}

/* ---- all cells -------------------------------------------------------------------------------- */

static pgcn_status list_words(const exp_request *r, const char *option, const char *text,
                              const char *const *usual, exp_words *out) {
    if (text && strcmp(option, "datasets") == 0) return exp_split_sets(r, out);
    if (text) return exp_split_words(r, option, text, ',', out);
    for (; *usual; usual++) snprintf(out->word[out->count++], sizeof *out->word, "%s", *usual);
    return PGCN_OK;
}

static pgcn_status check_distinct(const exp_request *r, const char *option, const exp_words *list) {
    for (int i = 0; i < list->count; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(list->word[i], list->word[j]) == 0)
                return cli_fail(r->command, PGCN_ERR_ARGUMENT, "--%s names '%s' twice", option,
                                list->word[i]);
    return PGCN_OK;
}

static pgcn_status no_network(const exp_request *r, const char *name) {
    cli_guess guess = cli_guess_start(name);
    char hint[CLI_HINT_BYTES];
    for (int i = 0; pgcn_network_name(i); i++) cli_guess_offer(&guess, pgcn_network_name(i));
    cli_guess_hint(&guess, "", hint);
    return cli_fail(r->command, PGCN_ERR_ARGUMENT, "--models: there is no network '%s'%s", name,
                    hint);
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
    const char *word = r->arguments->words > 1 ? r->arguments->word[1] : NULL;
    if (word)
        return cli_fail(
            r->command, PGCN_ERR_ARGUMENT,
            "'%s' is one argument too many; --datasets %s chooses the data sets of the arena", word,
            word);
    for (int i = 0; i < a->networks.count; i++)
        if (exp_network_number(a->networks.word[i]) < 0) return no_network(r, a->networks.word[i]);
    CLI_TRY(check_distinct(r, "models", &a->networks));
    return check_distinct(r, "datasets", &a->sets);
}

/* What is done by other arguments took hours too, and a search would write over it. */
static pgcn_status check_others(const arena *a) {
    const exp_request *r = a->request;
    for (int i = 0; i < cells_of(a) && !r->fresh; i++)
        if (a->cell[i].other)
            return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                            "'%s' holds a finished search with other arguments (its arena.txt has "
                            "them); give another --out, or --fresh to write over it",
                            a->cell[i].directory);
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
    if (cell->request) load_result(a, cell);
    return cell->request != NULL;
}

/* A table of what is there is all that --report is asked for: cells that are missing are no error of it. */
static pgcn_status check_done(const arena *a, bool only_report) {
    int done = 0, others = 0, absent = 0, all = cells_of(a);
    for (int i = 0; i < all; i++) {
        done += a->cell[i].result != NULL;
        others += a->cell[i].other;
        absent += a->absent[i / a->networks.count] && !a->cell[i].result;
    }
    if (done == all) return PGCN_OK;
    fflush(stdout); /* the table comes first */
    if (!only_report)
        return cli_fail(a->request->command, PGCN_ERR_SYSTEM, "%d of %d cells are done; %s", done,
                        all,
                        done + absent == all ? "the others are of data sets that are not here"
                                             : "the same command goes on with the others");
    if (a->request->quiet) return PGCN_OK;
    fprintf(stderr,
            "note: %d of %d cells are done; the same command without --report goes on with the "
            "others\n",
            done, all);
    if (others > 0)
        fprintf(stderr,
                "note: %d of the others %s done with other arguments; a report needs the --quick, "
                "--seeds and settings of its search\n",
                others, others == 1 ? "is" : "are");
    return PGCN_OK;
}

static pgcn_status run_arena(arena *a, bool only_report) {
    for (int i = 0; i < cells_of(a); i++)
        if (!set_up_cell(a, i))
            return cli_fail(a->request->command, PGCN_ERR_MEMORY, "out of memory");
    if (!only_report) {
        CLI_TRY(check_others(a));
        cli_catch_signals();
        CLI_TRY(search_sets(a));
    }
    CLI_TRY(exp_arena_report(a));
    return check_done(a, only_report);
}

pgcn_status exp_arena(const exp_request *r, const exp_pace *pace, bool only_report) {
    arena a = {.request = r, .pace = pace};
    CLI_TRY(list_words(r, "models", r->models, usual_networks, &a.networks));
    CLI_TRY(list_words(r, "datasets", r->datasets, usual_sets, &a.sets));
    CLI_TRY(check(&a));
    if (only_report && access(r->out, F_OK) != 0)
        return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                        "--out: the directory '%s' does not exist, so there is nothing to report; "
                        "without --report the arena runs there",
                        r->out);
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
