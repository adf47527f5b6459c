/* What became of the columns of a table, for pathgcn data info: the encoder of a data set, which the
 * library hands out as JSON (docs/FORMATS.md), as a table. */
#include "cli/cli.h"

#include <string.h>

static json_t *rules_of(const pgcn_dataset *data) {
    const char *text = pgcn_dataset_encoder(data);
    return text ? json_loads(text, 0, NULL) : NULL;
}

static const char *text_of(const json_t *rule, const char *key) {
    const char *text = json_string_value(json_object_get(rule, key));
    return text ? text : "";
}

static long long count_of(const json_t *rule, const char *key) {
    return (long long)json_integer_value(json_object_get(rule, key));
}

static void print_values(const json_t *rule) {
    enum { MOST_SHOWN = 8 };
    const json_t *values = json_object_get(rule, "values");
    long long rare = count_of(rule, "rare");
    size_t count = json_array_size(values);
    for (size_t i = 0; i < count && i < MOST_SHOWN; i++) {
        fputs(i ? ", " : "a column each: ", stdout);
        cli_put_text(stdout, json_string_value(json_array_get(values, i)));
    }
    if (count > MOST_SHOWN) printf(", and %zu more", count - MOST_SHOWN);
    if (rare > 0) printf("; %lld rare value%s as other", rare, rare == 1 ? "" : "s");
}

static void print_number(const json_t *rule) {
    const char *kind = text_of(rule, "kind");
    if (strcmp(kind, "date") == 0)
        printf("days since 1970, read as %s", text_of(rule, "form"));
    else if (strcmp(kind, "yes/no") == 0)
        printf("%s is 1, %s is 0", text_of(rule, "yes"), text_of(rule, "no"));
    else
        printf("mean %.6g%s", json_number_value(json_object_get(rule, "mean")),
               strcmp(text_of(rule, "decimal"), "comma") == 0 ? ", decimal commas" : "");
}

static void print_rule(const json_t *rule) {
    const char *kind = text_of(rule, "kind");
    char name[64];
    bool left_out = strcmp(kind, "left out") == 0;
    pgcn_text_printable(text_of(rule, "name"), name, sizeof name);
    int width = cli_columns_of(name);
    cli_put_padded(stdout, name, width > 20 ? width : 20, false);
    printf(" %-9s %7lld  ", kind, count_of(rule, "missing"));
    if (json_object_get(rule, "values"))
        print_values(rule);
    else if (left_out)
        fputs("no cell says anything", stdout);
    else
        print_number(rule);
    puts(json_is_true(json_object_get(rule, "gaps")) ? "; a column for the empty cells" : "");
}

void cli_print_columns(const pgcn_dataset *data) {
    json_t *rules = rules_of(data);
    const json_t *columns = json_object_get(rules, "columns");
    if (rules) printf("\n%-20s %-9s %7s  %s\n", "column", "is", "empty", "became");
    for (size_t i = 0; i < json_array_size(columns); i++) print_rule(json_array_get(columns, i));
    json_decref(rules);
}

json_t *cli_columns_to_json(const pgcn_dataset *data) {
    json_t *rules = rules_of(data);
    json_t *columns = json_incref(json_object_get(rules, "columns"));
    json_decref(rules);
    return columns ? columns : json_null();
}
