/* A file of class weights, `class,weight` on each line, as the value of the setting class-weights: the
 * weights in the order of the classes. Cells and headers as in every text file of a user's
 * (delimited.c). Called by the command line. */
#include "data/data.h"
#include "data/delimited.h"

#include <stdio.h>
#include <string.h>

/* Weights found so far, [classes]; 0: none. */
typedef struct weights {
    const pgcn_dataset *data;
    double *weight;
} weights;

/* A class without a name is called by its number. */
static const char *name_of(const pgcn_dataset *data, int c, char number[16]) {
    const char *name = pgcn_dataset_class_name(data, c);
    snprintf(number, 16, "%d", c);
    return name ? name : number;
}

static pgcn_status take_row(void *context, const pgcn_i_rows *rows, char **cell) {
    weights *in = context;
    char number[16], shown[PGCN_I_EXCERPT];
    int c = 0;
    pgcn_i_text_excerpt(cell[0], (int64_t)strlen(cell[0]), shown);
    while (c < in->data->classes && strcmp(name_of(in->data, c, number), cell[0]) != 0) c++;
    if (c == in->data->classes)
        return pgcn_i_text_fail(rows->text,
                                "found the class '%s', which data set %s does not have; 'pathgcn "
                                "data info' lists its %d classes",
                                shown, in->data->name, in->data->classes);
    if (in->weight[c] > 0)
        return pgcn_i_text_fail(rows->text, "the class '%s' has a weight already; remove one",
                                shown);
    if (!pgcn_number_parse(cell[1], &in->weight[c]) || in->weight[c] < 1e-6 ||
        in->weight[c] > 1e6) {
        pgcn_i_text_excerpt(cell[1], (int64_t)strlen(cell[1]), shown);
        return pgcn_i_text_fail(rows->text,
                                "found the weight '%s', expected a number from 1e-6 to 1e6", shown);
    }
    return PGCN_OK;
}

static pgcn_status read_rows(weights *in, const char *path, pgcn_header header,
                             pgcn_i_arena *arena) {
    const pgcn_i_known known = {.role = PGCN_I_ROLE_FEATURES, .header = header};
    pgcn_i_layout layout;
    PGCN_TRY(pgcn_i_layout_find(path, &known, arena, &layout));
    if (layout.columns != 2)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': found %lld columns, expected class,weight on each line",
                           path, (long long)layout.columns);
    return pgcn_i_rows_each(&layout, take_row, in);
}

static pgcn_status write_list(const weights *in, const char *path, char out[PGCN_SETTING_BYTES]) {
    char number[64], name[16], text[PGCN_SETTING_BYTES];
    size_t used = 0;
    for (int c = 0; c < in->data->classes; c++) {
        if (in->weight[c] <= 0)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s': it has no weight for the class '%s' of data set %s; "
                               "add a line for it",
                               path, name_of(in->data, c, name), in->data->name);
        pgcn_i_number_write(in->weight[c], number, sizeof number);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", c ? "," : "", number);
        if (used >= sizeof text)
            return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                               "reading '%s': the weights of %d classes are longer than %d "
                               "characters; write them with fewer digits, or use balanced",
                               path, in->data->classes, PGCN_SETTING_BYTES - 1);
    }
    memcpy(out, text, used + 1);
    return PGCN_OK;
}

pgcn_status pgcn_class_weights_read(const char *path, const pgcn_dataset *data, pgcn_header header,
                                    char *out) {
    PGCN_I_NEED(path);
    PGCN_I_NEED(data);
    PGCN_I_NEED(out);
    pgcn_i_arena arena = {0};
    weights in = {.data = data};
    if (data->classes == 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "data set %s has no classes to weigh", data->name);
    in.weight = PGCN_I_ARRAY(&arena, double, data->classes);
    pgcn_status status = in.weight ? read_rows(&in, path, header, &arena) : PGCN_ERR_MEMORY;
    if (status == PGCN_OK) status = write_list(&in, path, out);
    pgcn_i_arena_free(&arena);
    return status;
}
