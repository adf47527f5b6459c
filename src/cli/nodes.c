/* Nodes that a user names: "a,b,c", or a file with an id in every line. Called by predict and paths. */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The names of all nodes, sorted, where they have names. */
typedef struct node_name {
    const char *name;
    pgcn_node row;
} node_name;

static int compare_names(const void *a, const void *b) {
    return strcmp(((const node_name *)a)->name, ((const node_name *)b)->name);
}

static node_name *sort_names(const pgcn_dataset *data, int64_t n) {
    node_name *names = malloc((size_t)(n + 1) * sizeof *names);
    for (int64_t i = 0; names && i < n; i++)
        names[i] = (node_name){pgcn_dataset_node_id(data, i), (pgcn_node)i};
    if (names) qsort(names, (size_t)n, sizeof *names, compare_names);
    return names;
}

/* The row of an id, -1 if there is none. */
static int64_t find_node(const pgcn_dataset *data, const node_name *names, int64_t n,
                         const char *id) {
    if (names) {
        node_name wanted = {.name = id};
        const node_name *found = bsearch(&wanted, names, (size_t)n, sizeof *names, compare_names);
        return found ? found->row : -1;
    }
    int64_t number;
    return pgcn_integer_parse(id, 0, n - 1, &number) ? cli_node_row(data, number) : -1;
}

/* The text with a line for every id: of the file of that name, or else with its commas replaced. *no_file says why there
 * is no such file, 0: there is. The caller frees the text. */
static char *lines_of(const char *text, int *no_file) {
    char *lines = NULL;
    size_t bytes = 0;
    FILE *file = fopen(text, "r");
    *no_file = file ? 0 : errno;
    if (file) {
        if (getdelim(&lines, &bytes, '\0', file) < 0) {
            free(lines);
            lines = strdup("");
        }
        fclose(file);
        return lines;
    }
    lines = strdup(text);
    for (char *at = lines; at && *at; at++)
        if (*at == ',') *at = '\n';
    return lines;
}

static pgcn_status refuse(const cli_command *command, const char *option, const char *text,
                          const pgcn_dataset *data, int no_file, long long line, const char *id) {
    bool is_file = no_file == 0;
    char shown[80], expected[96];
    snprintf(shown, sizeof shown, "%.60s", id);
    snprintf(expected, sizeof expected,
             pgcn_dataset_node_id(data, 0) ? "an id as it stands in the data"
                                           : "a number from 0 to %lld",
             (long long)pgcn_dataset_describe(data).nodes - 1);
    if (!is_file && !strchr(text, ',')) /* a single word may have been meant as either */
        return cli_fail(command, PGCN_ERR_ARGUMENT,
                        "--%s is '%s', which is neither a file that can be read (%s) nor a node; "
                        "expected %s, several of them separated by commas, or a file with one in "
                        "every line",
                        option, text, strerror(no_file), expected);
    return cli_fail(command, PGCN_ERR_ARGUMENT,
                    "--%s is '%s': %s %lld, '%s', is not a node; expected %s%s", option, text,
                    is_file ? "line" : "number", line, shown, expected,
                    is_file ? "" : ", separated by commas, or a file with one in every line");
}

pgcn_status cli_nodes(const cli_command *command, const char *option, const char *text,
                      const pgcn_dataset *data, pgcn_node **out, int64_t *count) {
    int64_t n = pgcn_dataset_describe(data).nodes;
    int no_file = 0;
    bool named = pgcn_dataset_node_id(data, 0) != NULL;
    char *lines = lines_of(text, &no_file);
    node_name *names = named ? sort_names(data, n) : NULL;
    pgcn_node *nodes = lines ? malloc((strlen(lines) + 1) * sizeof *nodes) : NULL;
    pgcn_status status = PGCN_OK;
    long long line = 0;
    *count = 0;
    if (!nodes || (named && !names)) status = cli_fail(command, PGCN_ERR_MEMORY, "out of memory");
    for (char *id = lines, *next; status == PGCN_OK && id; id = next) {
        next = strchr(id, '\n');
        if (next) *next++ = '\0';
        line++;
        size_t length = strlen(id);
        if (length > 0 && id[length - 1] == '\r') id[length - 1] = '\0';
        if (no_file == 0 && !*id) continue; /* an empty line, or the end of the last */
        int64_t node = find_node(data, names, n, id);
        if (node < 0)
            status = refuse(command, option, text, data, no_file, line, id);
        else
            nodes[(*count)++] = (pgcn_node)node;
    }
    if (status == PGCN_OK && *count == 0)
        status = cli_fail(command, PGCN_ERR_ARGUMENT,
                          "--%s is '%s', a file without a line; expected a node in every line",
                          option, text);
    free(names);
    free(lines);
    *out = status == PGCN_OK ? nodes : NULL;
    if (status != PGCN_OK) free(nodes);
    return status;
}
