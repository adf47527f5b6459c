/* HTML pages in one file. Tags are closed and attributes quoted as XML wants it, so that any XML
 * parser can check a page. */
#include "report/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No script, no picture, no font, no form, no frame, from anywhere. */
static const char policy[] = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
                             "form-action 'none'";

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1c1e21;--paper:#fff;--faint:#565d66;--line:#d5dae0;"
    "--panel:#f4f6f8;--accent:#005f96;--warn:#8a3b00}\n"
    "@media (prefers-color-scheme:dark){:root{--ink:#e6e6e6;--paper:#16181c;--faint:#a3abb5;"
    "--line:#3a4048;--panel:#20242a;--accent:#6cb8ea;--warn:#f0a060}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',"
    "'Liberation Sans',sans-serif;color:var(--ink);background:var(--paper)}\n"
    "main{max-width:74rem;margin:0 auto;padding:1.2rem 1rem 4rem}\n"
    "h1{font-size:1.6rem;line-height:1.25;margin:.3rem 0 .6rem;overflow-wrap:anywhere}\n"
    "h2{font-size:1.2rem;margin:2.4rem 0 .6rem;padding-top:.7rem;border-top:1px solid var(--line)}\n"
    "p{max-width:46rem;margin:.6rem 0;overflow-wrap:anywhere}\n"
    ".lead{font-size:1.12rem}\n"
    ".remark{border-left:4px solid var(--warn);padding:.2rem 0 .2rem .8rem}\n"
    "nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:1rem 0;font-size:.92rem}\n"
    "a{color:var(--accent)}\n"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(9.2rem,1fr));gap:.6rem;"
    "margin:1rem 0}\n"
    ".tile{background:var(--panel);border-radius:.4rem;padding:.5rem .7rem;min-width:0}\n"
    ".tile b{display:block;font-size:1.3rem;line-height:1.3;font-variant-numeric:tabular-nums;"
    "overflow-wrap:anywhere}\n"
    ".tile span{font-size:.82rem;color:var(--faint)}\n"
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(20.5rem,100%),1fr));"
    "gap:1.4rem 2rem;align-items:start;margin:.8rem 0}\n"
    "figure{margin:0;min-width:0;max-width:30rem}\n"
    "figcaption{font-size:.88rem;color:var(--faint);margin-bottom:.3rem;line-height:1.4}\n"
    "svg{display:block;width:100%;height:auto;color:var(--ink)}\n"
    ".pf{fill:var(--paper)}.ps{stroke:var(--paper)}\n"
    ".scroll{overflow-x:auto;margin:.6rem 0}\n"
    "table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}\n"
    "th,td{text-align:left;padding:.22rem .9rem .22rem 0;border-bottom:1px solid var(--line);"
    "vertical-align:top}\n"
    "td:not(.r){overflow-wrap:anywhere;min-width:5rem}\n"
    "th{color:var(--faint);font-weight:600}\n"
    ".r{text-align:right}\n"
    "pre{background:var(--panel);border-radius:.4rem;padding:.7rem .9rem;white-space:pre-wrap;"
    "overflow-wrap:anywhere;font:.85rem/1.5 ui-monospace,'DejaVu Sans Mono',monospace}\n"
    "details{margin:.8rem 0}summary{cursor:pointer;color:var(--accent)}\n"
    "footer{margin-top:3rem;font-size:.85rem;color:var(--faint)}\n"
    "@media print{:root{color-scheme:light;--ink:#000;--paper:#fff;--faint:#333;--line:#999;"
    "--panel:#fff;--accent:#000}main{max-width:none;padding:0}nav{display:none}"
    "details::details-content{content-visibility:visible}"
    "figure,tr,.tile{break-inside:avoid}h2{break-after:avoid}.scroll{overflow:visible}"
    ".tile{border:1px solid #999}body{font-size:10pt}}\n";

/* ---- the page ------------------------------------------------------------------------------- */

void report_page_open(report_page *page, const char *title) {
    report_text *out = &page->text;
    report_putf(out,
                "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"%s\"/>\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                "<meta name=\"generator\" content=\"pathgcn %s\"/>\n"
                "<meta name=\"referrer\" content=\"no-referrer\"/>\n<title>",
                policy, PGCN_VERSION);
    report_put_xml(out, title);
    report_putf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n<h1>", style);
    report_put_xml(out, title);
    report_put(out, "</h1>\n");
}

pgcn_status report_page_close(report_page *page, const char *path) {
    report_putf(&page->text,
                "<footer>Made by pathgcn %s. This file is all of it: it loads nothing and runs "
                "nothing.</footer>\n</main>\n</body>\n</html>\n",
                PGCN_VERSION);
    if (page->status != PGCN_OK) return page->status;
    return report_text_write(&page->text, path);
}

void report_page_free(report_page *page) {
    report_text_free(&page->text);
}

void report_section_open(report_page *page, const char *id, const char *title) {
    report_putf(&page->text, "<section id=\"%s\">\n<h2>", id);
    report_put_xml(&page->text, title);
    report_put(&page->text, "</h2>\n");
}

void report_section_close(report_page *page) {
    report_put(&page->text, "</section>\n");
}

void report_details_open(report_page *page, const char *summary) {
    report_put(&page->text, "<details>\n<summary>");
    report_put_xml(&page->text, summary);
    report_put(&page->text, "</summary>\n");
}

void report_details_close(report_page *page) {
    report_put(&page->text, "</details>\n");
}

void report_contents(report_page *page, const char *const *id_and_title) {
    report_put(&page->text, "<nav aria-label=\"Contents\">\n");
    for (int i = 0; id_and_title[i] && id_and_title[i + 1]; i += 2) {
        report_putf(&page->text, "<a href=\"#%s\">", id_and_title[i]);
        report_put_xml(&page->text, id_and_title[i + 1]);
        report_put(&page->text, "</a>\n");
    }
    report_put(&page->text, "</nav>\n");
}

/* ---- words ---------------------------------------------------------------------------------- */

static void put_words(report_page *page, const char *before, const char *after, const char *format,
                      va_list arguments) {
    report_text words = {0};
    report_vputf(&words, format, arguments);
    report_put(&page->text, before);
    report_put_xml(&page->text, words.bytes ? words.bytes : "");
    report_put(&page->text, after);
    page->text.failed |= words.failed;
    report_text_free(&words);
}

void report_paragraph(report_page *page, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put_words(page, "<p>", "</p>\n", format, arguments);
    va_end(arguments);
}

void report_lead(report_page *page, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put_words(page, "<p class=\"lead\">", "</p>\n", format, arguments);
    va_end(arguments);
}

void report_remark(report_page *page, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put_words(page, "<p class=\"remark\">", "</p>\n", format, arguments);
    va_end(arguments);
}

void report_code(report_page *page, const char *text) {
    report_put(&page->text, "<pre>");
    report_put_xml(&page->text, text);
    report_put(&page->text, "</pre>\n");
}

void report_tiles_open(report_page *page) {
    report_put(&page->text, "<div class=\"tiles\">\n");
}

void report_tile(report_page *page, const char *name, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put_words(page, "<div class=\"tile\"><b>", "</b><span>", format, arguments);
    va_end(arguments);
    report_put_xml(&page->text, name);
    report_put(&page->text, "</span></div>\n");
}

void report_tiles_close(report_page *page) {
    report_put(&page->text, "</div>\n");
}

/* ---- tables --------------------------------------------------------------------------------- */

/* Column i of "a|>b|c": its text and length; whether it stands to the right. */
static const char *column_of(const char *heads, int i, int *length, bool *right) {
    for (; i > 0; i--) heads += strcspn(heads, "|") + 1;
    *right = *heads == '>';
    heads += *right;
    *length = (int)strcspn(heads, "|");
    return heads;
}

static int columns_in(const char *heads) {
    int columns = 1;
    for (; *heads; heads++) columns += *heads == '|';
    return columns;
}

void report_table_open(report_page *page, const char *heads) {
    page->columns = heads;
    page->column = 0;
    report_put(&page->text, "<div class=\"scroll\"><table>\n<thead><tr>");
    for (int i = 0; i < columns_in(heads); i++) {
        int length;
        bool right;
        char head[128];
        const char *text = column_of(heads, i, &length, &right);
        snprintf(head, sizeof head, "%.*s", length, text);
        report_put(&page->text, right ? "<th class=\"r\" scope=\"col\">" : "<th scope=\"col\">");
        report_put_xml(&page->text, head);
        report_put(&page->text, "</th>");
    }
    report_put(&page->text, "</tr></thead>\n<tbody>\n");
}

void report_cell(report_page *page, const char *format, ...) {
    int length;
    bool right;
    column_of(page->columns, page->column, &length, &right);
    if (page->column == 0) report_put(&page->text, "<tr>");
    va_list arguments;
    va_start(arguments, format);
    put_words(page, right ? "<td class=\"r\">" : "<td>", "</td>", format, arguments);
    va_end(arguments);
    if (++page->column < columns_in(page->columns)) return;
    page->column = 0;
    report_put(&page->text, "</tr>\n");
}

void report_table_close(report_page *page) {
    report_put(&page->text, "</tbody>\n</table></div>\n");
}

/* ---- figures -------------------------------------------------------------------------------- */

void report_figures_open(report_page *page) {
    report_put(&page->text, "<div class=\"figures\">\n");
}

void report_figures_close(report_page *page) {
    report_put(&page->text, "</div>\n");
}

/* What a figure is made of, a chart or a picture, in one of its forms. */
static void put_figure(report_text *out, const report_chart *chart, const report_picture *picture,
                       report_format format, bool alone) {
    if (chart && format == REPORT_SVG) {
        report_chart_svg(out, chart, alone);
    } else if (chart) {
        report_chart_latex(out, chart, alone);
    } else {
        report_canvas canvas =
            report_canvas_open(out, format, picture->width, picture->height, picture->about, alone);
        picture->draw(&canvas, picture->context);
        report_canvas_close(&canvas);
    }
}

static void write_figure(report_page *page, const char *name, const report_chart *chart,
                         const report_picture *picture, report_format format) {
    const char *folder = format == REPORT_SVG ? page->svg : page->latex;
    if (!folder || page->status != PGCN_OK) return;
    report_text text = {0}, path = {0};
    report_putf(&path, "%s/%s.%s", folder, name, format == REPORT_SVG ? "svg" : "tex");
    put_figure(&text, chart, picture, format, true);
    page->status = path.failed ? PGCN_ERR_MEMORY : report_text_write(&text, path.bytes);
    report_text_free(&text);
    report_text_free(&path);
}

static void add_figure(report_page *page, const char *name, const char *caption,
                       const report_chart *chart, const report_picture *picture) {
    report_put(&page->text, "<figure><figcaption>");
    report_put_xml(&page->text, caption);
    report_put(&page->text, "</figcaption>\n");
    put_figure(&page->text, chart, picture, REPORT_SVG, false);
    report_put(&page->text, "</figure>\n");
    write_figure(page, name, chart, picture, REPORT_SVG);
    write_figure(page, name, chart, picture, REPORT_LATEX);
}

void report_figure(report_page *page, const char *name, const char *caption,
                   const report_chart *chart) {
    report_chart described = *chart;
    if (!described.about) described.about = caption;
    add_figure(page, name, caption, &described, NULL);
}

void report_drawing(report_page *page, const char *name, const char *caption,
                    const report_picture *picture) {
    add_figure(page, name, caption, NULL, picture);
}

/* ---- data ----------------------------------------------------------------------------------- */

void report_data(report_page *page, const char *id, const char *json) {
    report_putf(&page->text, "<script type=\"application/json\" id=\"%s\">", id);
    /* These three could end the block, or make it no XML. In JSON they stand in strings only. */
    for (const char *at = json; *at;) {
        size_t plain = strcspn(at, "<>&");
        report_put_bytes(&page->text, at, plain);
        at += plain;
        if (*at) report_putf(&page->text, "\\u%04x", (unsigned)*at++);
    }
    report_put(&page->text, "</script>\n");
}
