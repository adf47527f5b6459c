/* What figures are made of: panels, words and numbers; and the files that they become. */
#include "experiments/figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory --------------------------------------------------------------------------------------- */

typedef union block {
    union block *next;
    max_align_t aligned; /* what follows may hold anything */
} block;

void *exp_figure_keep(exp_figure *figure, size_t count, size_t bytes) {
    block *b = count < SIZE_MAX / 2 / (bytes + 1) ? calloc(1, sizeof *b + count * bytes + 1) : NULL;
    if (!b) {
        figure->failed = true;
        return NULL;
    }
    b->next = figure->kept;
    figure->kept = b;
    return b + 1;
}

const char *exp_figure_text(exp_figure *figure, const char *format, ...) {
    va_list arguments;
    report_text text = {0};
    va_start(arguments, format);
    report_vputf(&text, format, arguments);
    va_end(arguments);
    char *copy = text.failed ? NULL : exp_figure_keep(figure, text.length + 1, 1);
    if (copy && text.bytes) memcpy(copy, text.bytes, text.length + 1);
    figure->failed |= text.failed;
    report_text_free(&text);
    return copy ? copy : "";
}

exp_panel *exp_figure_panel(exp_figure *figure, double width, double height, const char *format,
                            ...) {
    va_list arguments;
    if (figure->panels == EXP_MOST_PANELS) {
        figure->failed = true;
        return NULL;
    }
    exp_panel *panel = &figure->panel[figure->panels++];
    *panel = (exp_panel){.width = width, .height = height};
    va_start(arguments, format);
    vsnprintf(panel->title, sizeof panel->title, format, arguments);
    va_end(arguments);
    return panel;
}

void exp_figure_row(exp_figure *figure, json_t *row) {
    if (!figure->rows) figure->rows = json_array();
    if (!row || json_array_append_new(figure->rows, row) != 0) figure->failed = true;
}

void exp_figure_free(exp_figure *figure) {
    for (block *b = figure->kept, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    report_text_free(&figure->seen);
    report_text_free(&figure->paper);
    report_text_free(&figure->measured);
    json_decref(figure->rows);
}

enum { GAP = 18 }; /* between two panels */

/* ---- drawing ------------------------------------------------------------------------------------- */

static void draw_panel(report_canvas *canvas, const exp_panel *panel, double left, double top) {
    double graph = panel->has_chart ? panel->graph_height : panel->height;
    if (panel->has_graph)
        report_network_draw(canvas, &panel->graph, left, top, panel->width, graph);
    if (panel->has_chart)
        report_chart_draw(canvas, &panel->chart, left, top + (panel->has_graph ? graph : 0));
}

/* On a page: the caption has the title. */
static void draw_alone(report_canvas *canvas, void *context) {
    draw_panel(canvas, context, 0, 0);
}

/* In one file: all panels, with their titles. */
static void draw_all(report_canvas *canvas, void *context) {
    const exp_figure *figure = context;
    double x = 0, y = 0, highest = 0;
    for (int i = 0; i < figure->panels; i++) {
        const exp_panel *panel = &figure->panel[i];
        if (i > 0 && i % figure->columns == 0) {
            y += highest;
            x = highest = 0;
        }
        report_words(canvas, x + panel->width / 2, y + 14, panel->title,
                     &(report_font){.size = 12, .anchor = REPORT_MIDDLE, .bold = true});
        draw_panel(canvas, panel, x, y + EXP_TITLE_HEIGHT);
        x += panel->width + GAP;
        highest = fmax(highest, panel->height + EXP_TITLE_HEIGHT + 6);
    }
    if (figure->quick)
        report_words(canvas, canvas->width / 2, canvas->height - 6, figure->quick,
                     &(report_font){.anchor = REPORT_MIDDLE});
}

static report_picture picture_of(exp_figure *figure) {
    double width = 0, height = 0, row_width = 0, row_height = 0;
    for (int i = 0; i < figure->panels; i++) {
        if (i % figure->columns == 0) {
            height += row_height;
            row_width = row_height = 0;
        }
        row_width += figure->panel[i].width + (i % figure->columns ? GAP : 0);
        row_height = fmax(row_height, figure->panel[i].height + EXP_TITLE_HEIGHT + 6);
        width = fmax(width, row_width);
    }
    return (report_picture){.width = width,
                            .height = height + row_height + (figure->quick ? 20 : 0),
                            .about = figure->title,
                            .draw = draw_all,
                            .context = figure};
}

/* ---- files --------------------------------------------------------------------------------------- */

static const char *words_of(const report_text *text) {
    return text->bytes ? text->bytes : "";
}

static pgcn_status write_picture(exp_figure *figure, const exp_request *r, report_format format) {
    report_text text = {0};
    report_picture picture = picture_of(figure);
    report_canvas canvas =
        report_canvas_open(&text, format, picture.width, picture.height, picture.about, true);
    draw_all(&canvas, figure);
    report_canvas_close(&canvas);
    pgcn_status status = exp_write_file(r, figure->name, format == REPORT_SVG ? "svg" : "tex",
                                        text.failed ? NULL : text.bytes);
    report_text_free(&text);
    return status;
}

static void put_value(FILE *out, const json_t *value) {
    if (json_is_string(value)) cli_put_cell(out, json_string_value(value));
    if (json_is_integer(value)) fprintf(out, "%lld", (long long)json_integer_value(value));
    if (json_is_real(value)) fprintf(out, "%.10g", json_real_value(value));
}

/* A line of the row's values; without a row, of the names of the columns. */
static void put_line(FILE *out, json_t *columns, const json_t *row) {
    const char *key;
    json_t *ignored;
    bool more = false;
    json_object_foreach(columns, key, ignored) {
        if (more) fputc(',', out);
        more = true;
        if (row)
            put_value(out, json_object_get(row, key));
        else
            fputs(key, out);
    }
    fputc('\n', out);
}

/* All keys of all rows are columns. */
static pgcn_status write_csv(const exp_figure *figure, const exp_request *r) {
    char *text = NULL;
    size_t bytes = 0, i;
    FILE *out = open_memstream(&text, &bytes);
    json_t *row, *columns = json_object();
    json_array_foreach(figure->rows, i, row) json_object_update_missing(columns, row);
    if (out) put_line(out, columns, NULL);
    json_array_foreach(figure->rows, i, row) if (out) put_line(out, columns, row);
    bool fine = out && fclose(out) == 0 && columns;
    pgcn_status status = exp_write_file(r, figure->name, "csv", fine ? text : NULL);
    json_decref(columns);
    free(text);
    return status;
}

static pgcn_status write_json(const exp_figure *figure, const exp_request *r) {
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s?, s:O}", "figure", figure->name, "title", figure->title,
        "version", PGCN_VERSION, "seen", words_of(&figure->seen), "paper", words_of(&figure->paper),
        "measured", words_of(&figure->measured), "quick", figure->quick, "numbers", figure->rows);
    char *json = object ? json_dumps(object, JSON_INDENT(1)) : NULL;
    pgcn_status status = exp_write_file(r, figure->name, "json", json);
    json_decref(object);
    free(json);
    return status;
}

pgcn_status exp_figure_write(exp_figure *figure, const exp_request *r) {
    if (*figure->skipped) return PGCN_OK;
    if (figure->failed || !figure->rows)
        return cli_fail(r->command, PGCN_ERR_MEMORY, "out of memory for %s", figure->name);
    CLI_TRY(write_picture(figure, r, REPORT_SVG));
    CLI_TRY(write_picture(figure, r, REPORT_LATEX));
    CLI_TRY(write_csv(figure, r));
    return write_json(figure, r);
}

/* ---- the page ------------------------------------------------------------------------------------ */

void exp_figure_show(exp_figure *figure, report_page *page) {
    report_section_open(page, figure->name, figure->title);
    if (*figure->skipped) {
        report_remark(page, "Skipped: %s", figure->skipped);
        report_section_close(page);
        return;
    }
    if (figure->quick) report_remark(page, "%s", figure->quick);
    report_figures_open(page);
    for (int i = 0; i < figure->panels; i++) {
        exp_panel *panel = &figure->panel[i];
        report_picture picture = {panel->width, panel->height, panel->title, draw_alone, panel};
        report_drawing(page, figure->name, panel->title, &picture);
    }
    report_figures_close(page);
    report_paragraph(page, "What is seen: %s", words_of(&figure->seen));
    report_paragraph(page, "In the paper: %s", words_of(&figure->paper));
    report_paragraph(page, "Measured here: %s", words_of(&figure->measured));
    report_paragraph(page, "In one picture: %s.svg, %s.tex; its numbers: %s.csv, %s.json.",
                     figure->name, figure->name, figure->name, figure->name);
    report_section_close(page);
}
