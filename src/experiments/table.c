/* A table of text: for people, with columns as wide as what is in them; as Markdown; as LaTeX. */
#include "experiments/experiments.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 40, CELL_BYTES = 256 };

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

static const char *cell_at(const exp_table *table, size_t row, int column) {
    return table->cell[row * (size_t)table->columns + (size_t)column];
}

static void print_text_row(FILE *out, const exp_table *table, size_t row, const int *width) {
    int held = 0; /* blanks not printed yet: none are printed at the end of a line */
    for (int c = 0; c < table->columns; c++) {
        const char *text = cell_at(table, row, c);
        int blanks = width[c] - width_of(text);
        if (table->right[c]) held += blanks;
        if (*text) fprintf(out, "%*s%s", held, "", text);
        held = (*text ? 0 : held) + (table->right[c] ? 0 : blanks) + 2;
    }
    fputc('\n', out);
}

static void print_text(FILE *out, const exp_table *table, size_t rows) {
    int width[MOST_COLUMNS] = {0};
    for (size_t row = 0; row < rows; row++)
        for (int c = 0; c < table->columns; c++) {
            int wide = width_of(cell_at(table, row, c));
            if (wide > width[c]) width[c] = wide;
        }
    for (size_t row = 0; row < rows; row++) print_text_row(out, table, row, width);
}

static void print_markdown(FILE *out, const exp_table *table, size_t rows) {
    for (size_t row = 0; row < rows; row++) {
        fputc('|', out);
        for (int c = 0; c < table->columns; c++) fprintf(out, " %s |", cell_at(table, row, c));
        fputc('\n', out);
        if (row > 0) continue;
        fputc('|', out);
        for (int c = 0; c < table->columns; c++) fputs(table->right[c] ? "---:|" : "---|", out);
        fputc('\n', out);
    }
}

void exp_put_latex(FILE *out, const char *text) {
    static const char *const written[][2] = {{"\\", "\\textbackslash{}"},
                                             {"~", "\\textasciitilde{}"},
                                             {"^", "\\textasciicircum{}"},
                                             {"&", "\\&"},
                                             {"%", "\\%"},
                                             {"$", "\\$"},
                                             {"#", "\\#"},
                                             {"_", "\\_"},
                                             {"{", "\\{"},
                                             {"}", "\\}"},
                                             {"<", "$<$"},
                                             {">", "$>$"},
                                             {"±", "$\\pm$"}};
    enum { WRITTEN = sizeof written / sizeof *written };
    while (*text) {
        size_t i = 0;
        while (i < WRITTEN && strncmp(text, written[i][0], strlen(written[i][0])) != 0) i++;
        if (i == WRITTEN)
            fputc(*text++, out);
        else
            text += fputs(written[i][1], out) == EOF ? 1 : strlen(written[i][0]);
    }
}

/* A plain tabular: no package is needed. */
static void print_latex(FILE *out, const exp_table *table, size_t rows) {
    fputs("\\begin{tabular}{", out);
    for (int c = 0; c < table->columns; c++) fputc(table->right[c] ? 'r' : 'l', out);
    fputs("}\n\\hline\n", out);
    for (size_t row = 0; row < rows; row++) {
        for (int c = 0; c < table->columns; c++) {
            if (c > 0) fputs(" & ", out);
            exp_put_latex(out, cell_at(table, row, c));
        }
        fputs(row == 0 ? " \\\\\n\\hline\n" : " \\\\\n", out);
    }
    fputs("\\hline\n\\end{tabular}\n", out);
}

static void print_csv(FILE *out, const exp_table *table, size_t rows) {
    for (size_t row = 0; row < rows; row++)
        for (int c = 0; c < table->columns; c++) {
            cli_put_cell(out, cell_at(table, row, c));
            fputc(c + 1 < table->columns ? ',' : '\n', out);
        }
}

json_t *exp_table_to_json(const exp_table *table) {
    json_t *lines = json_array();
    size_t rows = table ? table->cells / (size_t)table->columns : 0;
    for (size_t row = 1; row < rows; row++) {
        json_t *line = json_object();
        for (int c = 0; c < table->columns; c++)
            json_object_set_new(line, cell_at(table, 0, c), cli_json_text(cell_at(table, row, c)));
        json_array_append_new(lines, line);
    }
    return lines;
}

void exp_table_print(FILE *out, const exp_table *table, exp_format format) {
    static void (*const print[])(FILE *, const exp_table *,
                                 size_t) = {[EXP_TEXT] = print_text,
                                            [EXP_MARKDOWN] = print_markdown,
                                            [EXP_LATEX] = print_latex,
                                            [EXP_CSV] = print_csv};
    if (table) print[format](out, table, table->cells / (size_t)table->columns);
}

void exp_table_to_page(report_page *page, const exp_table *table) {
    size_t rows = table ? table->cells / (size_t)table->columns : 0;
    if (rows == 0) return;
    report_text heads = {0};
    for (int c = 0; c < table->columns; c++)
        report_putf(&heads, "%s%s%s", c ? "|" : "", table->right[c] ? ">" : "",
                    cell_at(table, 0, c));
    page->text.failed |= heads.failed;
    if (!heads.failed) report_table_open(page, heads.bytes);
    for (size_t row = 1; !heads.failed && row < rows; row++)
        for (int c = 0; c < table->columns; c++) report_cell(page, "%s", cell_at(table, row, c));
    if (!heads.failed) report_table_close(page);
    report_text_free(&heads);
}

void exp_table_free(exp_table *table) {
    if (table) free(table->cell);
    free(table);
}
