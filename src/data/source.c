/* Functions that readers share: notes, class codes of any value, masks, and the choice between
 * dense and sparse features. Serial, thread-safe. Called by every reader. */
#include "data/data.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void pgcn_i_source_free(pgcn_i_source *source) {
    pgcn_graph_free(source->graph);
    pgcn_i_arena_free(&source->edge_arena);
    pgcn_i_arena_free(&source->arena);
    pgcn_i_row_file_close(source->x.file);
    if (source->bounded) pgcn_i_pages_unbound();
    if (source->mapping) pgcn_i_spool_unwatch(source->mapping);
    if (source->mapping) munmap(source->mapping, (size_t)source->mapping_bytes);
    *source = (pgcn_i_source){0};
}

pgcn_status pgcn_i_source_note(pgcn_i_source *source, const char *format, ...) {
    char raw[1024], text[1024];
    va_list arguments;
    if (source->notes == PGCN_I_MAX_NOTES) return PGCN_OK;
    va_start(arguments, format);
    vsnprintf(raw, sizeof raw, format, arguments);
    va_end(arguments);
    pgcn_text_printable(raw, text, sizeof text); /* it may quote files */
    for (int i = 0; i < source->notes; i++)      /* of the data that a step is applied to again */
        if (strcmp(source->note[i], text) == 0) return PGCN_OK;
    const char *note = pgcn_i_arena_strdup(&source->arena, text);
    if (!note) return PGCN_ERR_MEMORY;
    source->note[source->notes++] = note;
    return PGCN_OK;
}

pgcn_status pgcn_i_source_note_rounded(pgcn_i_source *source, const char *file, bool rounded) {
    if (!rounded) return PGCN_OK;
    return pgcn_i_source_note(source,
                              "%.60s has whole numbers above 2^24, which are rounded: features are "
                              "float32; subtract or divide first if their last digits matter",
                              file);
}

int64_t pgcn_i_source_items(const pgcn_i_source *source) {
    return source->graph_label ? source->graphs : source->nodes;
}

bool pgcn_i_source_has_label(const pgcn_i_source *source, int64_t item) {
    const int32_t *label = source->graph_label ? source->graph_label : source->label;
    if (label) return label[item] >= 0;
    return source->labels && (!source->label_known || source->label_known[item]);
}

bool pgcn_i_source_has_numbers(const pgcn_i_source *source) {
    enum { USUAL_CLASSES = 20, FEW_OF_EACH = 2, FEW_OF_FRACTIONS = 10 };
    const pgcn_i_names *names = &source->class_name;
    int64_t items = pgcn_i_source_items(source), labelled = 0;
    bool fractions = false;
    if ((!source->label && !source->graph_label) || source->classes <= USUAL_CLASSES) return false;
    for (int64_t c = 0; c < names->count; c++) { /* without names they are 0, 1, ... */
        const char *name = names->text + names->offset[c], *at = name;
        float value;
        if (!pgcn_i_parse_f32(&at, &value) || *at) return false;
        fractions = fractions || strpbrk(name, ".eE");
    }
    for (int64_t i = 0; i < items; i++) labelled += pgcn_i_source_has_label(source, i);
    return labelled < (fractions ? FEW_OF_FRACTIONS : FEW_OF_EACH) * (int64_t)source->classes;
}

pgcn_status pgcn_i_names_copy(pgcn_i_arena *arena, const char *const *text, int64_t count,
                              pgcn_i_names *out) {
    int64_t *offset = PGCN_I_ARRAY(arena, int64_t, count + 1);
    if (!offset) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < count; i++) offset[i + 1] = offset[i] + (int64_t)strlen(text[i]) + 1;
    char *table = PGCN_I_ARRAY(arena, char, offset[count]);
    if (!table) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < count; i++)
        memcpy(table + offset[i], text[i], (size_t)(offset[i + 1] - offset[i]));
    *out = (pgcn_i_names){count, offset, table};
    return PGCN_OK;
}

/* ---- classes --------------------------------------------------------------------------------- */

/* The names of ascending codes, in one table. */
static pgcn_status name_codes(pgcn_i_arena *arena, const int64_t *code, int64_t count,
                              pgcn_i_names *names) {
    enum { LONGEST = 24 };
    int64_t *offset = PGCN_I_ARRAY(arena, int64_t, count + 1);
    char *text = PGCN_I_ARRAY(arena, char, count *LONGEST);
    if (!offset || !text) return PGCN_ERR_MEMORY;
    for (int64_t c = 0; c < count; c++)
        offset[c + 1] =
            offset[c] + 1 + snprintf(text + offset[c], LONGEST, "%lld", (long long)code[c]);
    *names = (pgcn_i_names){count, offset, text};
    return PGCN_OK;
}

static pgcn_status number_classes(pgcn_i_arena *scratch, pgcn_i_arena *arena,
                                  pgcn_i_class_codes codes, const int32_t **out, int *classes,
                                  pgcn_i_names *names) {
    const int64_t *code = codes.code, count = codes.count;
    int64_t *distinct = PGCN_I_ARRAY(scratch, int64_t, count), known = 0, kinds = 0;
    int32_t *label = PGCN_I_ARRAY(arena, int32_t, count);
    if (!distinct || !label) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < count; i++)
        if (code[i] != codes.missing) distinct[known++] = code[i];
    qsort(distinct, (size_t)known, sizeof *distinct, pgcn_i_compare_i64);
    for (int64_t i = 0; i < known; i++)
        if (i == 0 || distinct[i] != distinct[i - 1]) distinct[kinds++] = distinct[i];
    bool counted = kinds > 0 && distinct[0] == 0 && distinct[kinds - 1] == kinds - 1;
    for (int64_t i = 0; i < count; i++) {
        label[i] = -1;
        if (code[i] == codes.missing) continue;
        const int64_t *match =
            bsearch(&code[i], distinct, (size_t)kinds, sizeof *distinct, pgcn_i_compare_i64);
        label[i] = (int32_t)(match - distinct);
    }
    if (!counted && kinds > 0 && names) PGCN_TRY(name_codes(arena, distinct, kinds, names));
    *out = label;
    *classes = (int)kinds; /* at most `count`, which are nodes or graphs */
    return PGCN_OK;
}

pgcn_status pgcn_i_source_number_classes(pgcn_i_source *source, pgcn_i_class_codes codes,
                                         const int32_t **out, int *classes, pgcn_i_names *names) {
    pgcn_i_arena scratch = {0};
    if (codes.count > INT32_MAX)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "%lld items are too many, expected at most %d",
                           (long long)codes.count, INT32_MAX);
    pgcn_status status = number_classes(&scratch, &source->arena, codes, out, classes, names);
    pgcn_i_arena_free(&scratch);
    return status;
}

/* ---- splits ---------------------------------------------------------------------------------- */

pgcn_status pgcn_i_source_masks(pgcn_i_source *source, int64_t items, uint8_t *mask[3]) {
    pgcn_i_split *split = PGCN_I_ARRAY(&source->arena, pgcn_i_split, source->splits + 1);
    if (!split) return PGCN_ERR_MEMORY;
    int number = source->splits;
    for (int s = 0; s < source->splits; s++) {
        split[s] = source->split[s];
        if (strcmp(split[s].name, "public") == 0) number--;
    }
    for (int k = 0; k < 3; k++)
        if (!(mask[k] = PGCN_I_ARRAY(&source->arena, uint8_t, items))) return PGCN_ERR_MEMORY;
    pgcn_i_split *last = &split[source->splits];
    snprintf(last->name, sizeof last->name, "%d", number);
    last->train = mask[0];
    last->val = mask[1];
    last->test = mask[2];
    pgcn_i_arena_drop(&source->arena, source->split);
    source->split = split;
    source->splits++;
    return PGCN_OK;
}

void pgcn_i_source_unmask(pgcn_i_source *source) {
    for (int64_t i = 0; i < source->nodes; i++) {
        if (pgcn_i_source_has_label(source, i)) continue;
        for (int s = 0; s < source->splits; s++) {
            ((uint8_t *)source->split[s].train)[i] = 0;
            ((uint8_t *)source->split[s].val)[i] = 0;
            ((uint8_t *)source->split[s].test)[i] = 0;
        }
    }
}

/* ---- features -------------------------------------------------------------------------------- */

/* Half of the bytes of a dense row hold as many CSR entries; walks over a row of which nine tenths are
 * zero are also faster in CSR form. */
enum { SPARSE_BELOW_ONE_OF = 10 };

pgcn_status pgcn_i_source_features(pgcn_i_source *source, const float *dense, int64_t n,
                                   int64_t columns) {
    int64_t count = n * columns, nonzeros = 0; /* the array exists: the product fits */
    int64_t most = count / SPARSE_BELOW_ONE_OF;
    for (int64_t i = 0; i < count && nonzeros <= most; i++) nonzeros += dense[i] != 0.0f;
    source->x = (pgcn_i_features){.n = n, .columns = columns, .dense = dense};
    if (nonzeros > most || columns > INT32_MAX) return PGCN_OK;
    int64_t *offset = PGCN_I_ARRAY(&source->arena, int64_t, n + 1), at = 0;
    int32_t *column = PGCN_I_ARRAY(&source->arena, int32_t, nonzeros);
    float *value = PGCN_I_ARRAY(&source->arena, float, nonzeros);
    if (!offset || !column || !value) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < columns; j++) {
            if (dense[i * columns + j] == 0.0f) continue;
            column[at] = (int32_t)j;
            value[at++] = dense[i * columns + j];
        }
        offset[i + 1] = at;
    }
    pgcn_i_arena_drop(&source->arena, dense);
    source->x = (pgcn_i_features){.n = n,
                                  .columns = columns,
                                  .nonzeros = nonzeros,
                                  .offset = offset,
                                  .column = column,
                                  .value = value};
    return PGCN_OK;
}

static int by_column(const void *a, const void *b) {
    int32_t x = ((const pgcn_i_entry *)a)->column, y = ((const pgcn_i_entry *)b)->column;
    return (x > y) - (x < y);
}

void pgcn_i_sort_row(pgcn_i_entry *row, int64_t count) {
    qsort(row, (size_t)count, sizeof *row, by_column);
}
