/* A table of text: columns as wide as what is in them, or Markdown. */
#include "experiments/experiments.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 16, CELL_BYTES = 96 };

struct exp_table {
    int columns;
    bool right[MOST_COLUMNS];
    size_t cells, room; /* the heads are the first row */
    char (*cell)[CELL_BYTES];
};

exp_table *exp_table_new(const char *heads) {
    exp_table *table = calloc(1, sizeof *table);
    if (!table) return NULL;
    for (const char *head = heads; table->columns < MOST_COLUMNS;) {
        size_t length = strcspn(head, "|");
        bool right = head[0] == '>';
        table->right[table->columns++] = right;
        exp_table_add(table, "%.*s", (int)length - right, head + right);
        head += length;
        if (!*head++) break;
    }
    return table;
}

void exp_table_add(exp_table *table, const char *format, ...) {
    if (!table) return;
    if (table->cells == table->room) {
        size_t room = table->room ? 2 * table->room : 128;
        char(*cell)[CELL_BYTES] = realloc(table->cell, room * sizeof *cell);
        if (!cell) return;
        table->cell = cell;
        table->room = room;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(table->cell[table->cells++], CELL_BYTES, format, arguments);
    va_end(arguments);
}

/* Characters as a terminal shows them: bytes that begin one in UTF-8. */
static int width_of(const char *text) {
    int width = 0;
    for (; *text; text++) width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void print_row(FILE *out, const exp_table *table, size_t row, const int *width,
                      bool markdown) {
    int held = 0; /* blanks not printed yet: none are printed at the end of a line */
    if (markdown) fputc('|', out);
    for (int c = 0; c < table->columns; c++) {
        const char *text = table->cell[row * (size_t)table->columns + (size_t)c];
        int blanks = width[c] - width_of(text);
        if (markdown) {
            fprintf(out, " %s |", text);
            continue;
        }
        if (table->right[c]) held += blanks;
        if (*text) fprintf(out, "%*s%s", held, "", text);
        held = (*text ? 0 : held) + (table->right[c] ? 0 : blanks) + 2;
    }
    fputc('\n', out);
}

void exp_table_print(FILE *out, const exp_table *table, bool markdown) {
    int width[MOST_COLUMNS] = {0};
    if (!table) return;
    size_t rows = table->cells / (size_t)table->columns;
    for (size_t i = 0; i < rows * (size_t)table->columns; i++) {
        int wide = width_of(table->cell[i]);
        if (wide > width[i % (size_t)table->columns]) width[i % (size_t)table->columns] = wide;
    }
    for (size_t row = 0; row < rows; row++) {
        print_row(out, table, row, width, markdown);
        if (row > 0 || !markdown) continue;
        fputc('|', out);
        for (int c = 0; c < table->columns; c++) fputs(table->right[c] ? "---:|" : "---|", out);
        fputc('\n', out);
    }
}

void exp_table_free(exp_table *table) {
    if (table) free(table->cell);
    free(table);
}
