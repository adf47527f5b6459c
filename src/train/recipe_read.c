/* The text of a recipe. Follow pgcn_i_recipe_parse: lines of the head and settings come first, then
 * sections for depths; a section starts from all settings before the first section. Every line is
 * checked, used or not, and so is what the settings of each depth come to together. */
#include "train/recipe.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINE_BYTES = 1024, MAX_FIELDS = 256 };

/* ---- the head ----------------------------------------------------------------------------------- */

#define TEXT(key, field, required)                                                                 \
    { key, offsetof(pgcn_recipe_info, field), sizeof((pgcn_recipe_info *)0)->field, required }
const pgcn_i_head_line pgcn_i_head_lines[PGCN_I_HEAD_LINES] = {
    TEXT("recipe", name, true),        {"version", offsetof(pgcn_recipe_info, version), 0, true},
    TEXT("task", task, true),          TEXT("dataset", dataset, true),
    TEXT("prepare", prepare, false),   TEXT("about", about, true),
    TEXT("searched", searched, false), TEXT("measure", measure, false),
};

/* What stands behind a blank and # would be a comment when the file is read again. */
static pgcn_status check_text(const pgcn_i_head_line *line, const char *text) {
    if (!memchr(text, 0, line->bytes))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s is longer than %zu bytes", line->key,
                           line->bytes - 1);
    if (line->required && !*text) return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s is empty", line->key);
    bool fine = pgcn_i_is_utf8(text, (int64_t)strlen(text)) && !strstr(text, " #") && *text != '#';
    for (const char *c = text; *c; c++) fine = fine && !iscntrl((unsigned char)*c);
    return fine ? PGCN_OK
                : pgcn_i_fail(PGCN_ERR_ARGUMENT,
                              "%s is not one line of UTF-8 text without the sign of a comment",
                              line->key);
}

pgcn_status pgcn_i_recipe_check_head(const pgcn_recipe_info *info) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-_.";
    for (int i = 0; i < PGCN_I_HEAD_LINES; i++)
        if (pgcn_i_head_lines[i].bytes > 0)
            PGCN_TRY(
                check_text(&pgcn_i_head_lines[i], (const char *)info + pgcn_i_head_lines[i].place));
    if (info->name[strspn(info->name, letters)] != '\0' || strchr("-_.", info->name[0]) ||
        strcmp(info->name, "none") == 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "the recipe is called '%s', expected letters, digits and - _ . inside, "
                           "and not none",
                           info->name);
    pgcn_measure measure;
    if (*info->measure && !pgcn_measure_parse(info->measure, &measure))
        return pgcn_i_fail(
            PGCN_ERR_ARGUMENT,
            "measure is '%s', expected accuracy | balanced-accuracy | macro-f1 | auc "
            "| average-precision",
            info->measure);
    if (info->version < 1 || info->version > 1000000)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "version is %d, expected 1..1000000", info->version);
    for (pgcn_task task = PGCN_TASK_NODE; task <= PGCN_TASK_GRAPH; task++)
        if (strcmp(info->task, pgcn_task_name(task)) == 0) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT, "task is '%s', expected node | multilabel | graph",
                       info->task);
}

/* ---- one line ----------------------------------------------------------------------------------- */

typedef struct parser {
    const char *origin;
    int line;
    pgcn_i_recipe *recipe;
    int head_line[PGCN_I_HEAD_LINES]; /* where each stood, 0: not yet */
    int field_line[MAX_FIELDS];       /* the same for settings, of this section */
} parser;

/* The sentence of the last error with file and line before it. */
static pgcn_status fail_here(const parser *p) {
    return pgcn_i_fail_in(PGCN_ERR_FORMAT, "reading '%s': line %d", p->origin, p->line);
}

static pgcn_i_recipe_section *section_of(const parser *p) {
    pgcn_i_recipe *recipe = p->recipe;
    return recipe->sections > 0 ? &recipe->section[recipe->sections - 1] : NULL;
}

static pgcn_status once(int *line, const parser *p, const char *key) {
    if (*line > 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "%s stands on line %d already; remove one of the two",
                           key, *line);
    *line = p->line;
    return PGCN_OK;
}

static pgcn_status whole_number(const char *text, const char *what, int low, int high, int *out) {
    size_t digits = strspn(text, "0123456789");
    int number = digits > 0 && digits < 9 && text[digits] == '\0' ? atoi(text) : -1;
    if (number < low || number > high)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "%s is '%s', expected %d..%d", what, text, low, high);
    *out = number;
    return PGCN_OK;
}

static pgcn_status head_line(parser *p, int i, const char *value) {
    const pgcn_i_head_line *line = &pgcn_i_head_lines[i];
    PGCN_TRY(once(&p->head_line[i], p, line->key));
    if (section_of(p))
        return pgcn_i_fail(PGCN_ERR_FORMAT, "%s belongs before the first section", line->key);
    if (line->bytes == 0)
        return whole_number(value, line->key, 1, 1000000, &p->recipe->info.version);
    if (strlen(value) >= line->bytes)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "%s is longer than %zu bytes", line->key,
                           line->bytes - 1);
    strcpy((char *)&p->recipe->info + line->place, value);
    return PGCN_OK;
}

static pgcn_status setting_line(parser *p, const char *key, const char *value) {
    pgcn_i_recipe_section *section = section_of(p);
    PGCN_TRY(pgcn_config_set(section ? &section->config : &p->recipe->config, key, value));
    PGCN_TRY(once(&p->field_line[pgcn_i_config_number(key)], p, key));
    if (section && strcmp(key, "layers") == 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "layers is what the section is for; leave it out");
    if (section && strcmp(key, "model") == 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "a recipe belongs to one network; put model before the "
                                            "first section, or write a recipe for each");
    return PGCN_OK;
}

/* "[layers = 16..64]", of which "[" is seen. */
static pgcn_status section_line(parser *p, char *line) {
    pgcn_i_recipe *recipe = p->recipe;
    char first[16], last[16], end = 0;
    int found = sscanf(line, "[ layers = %15[0-9] .. %15[0-9] %c", first, last, &end), used = 0;
    if (found != 3) {
        found = sscanf(line, "[ layers = %15[0-9] %c", first, &end);
        strcpy(last, found == 2 ? first : "");
    }
    used = (int)strcspn(line, "]");
    if (found < 2 || end != ']' || line[used] != ']' || line[used + 1] != '\0')
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "'%.40s' is no section, expected [layers = 8] or [layers = 16..64]",
                           line);
    if (recipe->sections == PGCN_I_RECIPE_SECTIONS)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "there are more than %d sections",
                           PGCN_I_RECIPE_SECTIONS);
    pgcn_i_recipe_section next = {.line = p->line, .config = recipe->config};
    pgcn_config_adopt(&next.config); /* what the section itself says is told apart */
    PGCN_TRY(pgcn_config_set(&next.config, "layers", last));
    next.last = next.config.layers;
    PGCN_TRY(pgcn_config_set(&next.config, "layers", first));
    next.first = next.config.layers;
    if (next.first > next.last)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "the section ends at %d layers, before it begins at %d",
                           next.last, next.first);
    for (int i = 0; i < recipe->sections; i++) {
        const pgcn_i_recipe_section *other = &recipe->section[i];
        if (next.first <= other->last && other->first <= next.last)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "the section for %d..%d layers overlaps the one of line %d, for "
                               "%d..%d; a depth has one section",
                               next.first, next.last, other->line, other->first, other->last);
    }
    recipe->section[recipe->sections++] = next;
    memset(p->field_line, 0, sizeof p->field_line);
    return PGCN_OK;
}

static char *trim(char *text) {
    while (*text == ' ') text++;
    for (size_t n = strlen(text); n > 0 && text[n - 1] == ' '; n--) text[n - 1] = '\0';
    return text;
}

/* A comment is a # at the start of a line or after a blank. */
static void drop_comment(char *line) {
    for (char *c = line; *c; c++)
        if (*c == '#' && (c == line || c[-1] == ' ')) {
            *c = '\0';
            return;
        }
}

static pgcn_status parse_line(parser *p, char *line) {
    drop_comment(line);
    line = trim(line);
    if (*line == '\0') return PGCN_OK;
    if (*line == '[') return section_line(p, line);
    char *equals = strchr(line, '=');
    if (!equals)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "found '%.40s', expected key = value, [layers = ...] "
                           "or a comment",
                           line);
    *equals = '\0';
    const char *key = trim(line), *value = trim(equals + 1);
    if (*value == '\0') return pgcn_i_fail(PGCN_ERR_FORMAT, "%s has no value", key);
    for (int i = 0; i < PGCN_I_HEAD_LINES; i++)
        if (strcmp(pgcn_i_head_lines[i].key, key) == 0) return head_line(p, i, value);
    return setting_line(p, key, value);
}

/* ---- all of it ---------------------------------------------------------------------------------- */

static pgcn_status check_bytes(const char *origin, const char *text, int64_t bytes) {
    const char *what = NULL;
    if (bytes > PGCN_I_RECIPE_BYTES)
        what = "it is longer than 64 KiB";
    else if (!pgcn_i_is_utf8(text, bytes))
        what = "it is not UTF-8 text";
    for (int64_t i = 0; !what && i < bytes; i++)
        if (iscntrl((unsigned char)text[i]) && !isspace((unsigned char)text[i]))
            what = "it is not text";
    return what ? pgcn_i_fail(PGCN_ERR_FORMAT,
                              "reading '%s': %s, expected a recipe (pathgcn recipes show cora "
                              "prints one)",
                              origin, what)
                : PGCN_OK;
}

pgcn_task pgcn_i_recipe_task(const pgcn_recipe_info *info) {
    pgcn_task task = PGCN_TASK_NODE;
    while (task < PGCN_TASK_GRAPH && strcmp(info->task, pgcn_task_name(task)) != 0) task++;
    return task;
}

/* A line that does nothing, neither in its own part nor, if it is before the first section, in any
 * section. The default may be written down anywhere. */
static pgcn_status check_used(const pgcn_i_recipe *recipe, const pgcn_config *config) {
    const pgcn_config plain = pgcn_config_default();
    const char *key;
    pgcn_i_usage usage = {config, pgcn_i_recipe_task(&recipe->info), NULL};
    for (int i = 0; (key = pgcn_i_config_key(i)); i++) {
        char value[PGCN_SETTING_BYTES], preset[PGCN_SETTING_BYTES];
        if (!pgcn_i_config_is_set(config, i)) continue;
        pgcn_config_get(config, key, value, sizeof value);
        pgcn_config_get(&plain, key, preset, sizeof preset);
        bool used = strcmp(value, preset) == 0 || !pgcn_i_config_unused(&usage, key);
        for (int s = 0; config == &recipe->config && s < recipe->sections && !used; s++)
            used = !pgcn_i_config_unused(
                &(pgcn_i_usage){&recipe->section[s].config, usage.task, NULL}, key);
        if (!used) return pgcn_i_config_fail_unused(&usage, key);
    }
    return PGCN_OK;
}

static pgcn_status check_part(const pgcn_i_recipe *recipe, const pgcn_config *config) {
    PGCN_TRY(pgcn_i_config_check_loaded(config));
    return check_used(recipe, config);
}

/* Settings that the rules of pgcn_config_check() do not allow together. Afterwards they are nobody's
 * but the recipe's. */
static pgcn_status check_settings(parser *p) {
    pgcn_i_recipe *recipe = p->recipe;
    if (check_part(recipe, &recipe->config) != PGCN_OK)
        return pgcn_i_fail_in(PGCN_ERR_FORMAT, "reading '%s'", p->origin);
    pgcn_config_adopt(&recipe->config);
    for (int i = 0; i < recipe->sections; i++) {
        p->line = recipe->section[i].line;
        if (check_part(recipe, &recipe->section[i].config) != PGCN_OK) return fail_here(p);
        pgcn_config_adopt(&recipe->section[i].config);
    }
    return PGCN_OK;
}

static pgcn_status parse_lines(parser *p, const char *text, int64_t bytes) {
    const char *end = text + bytes;
    if (bytes >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) text += 3; /* an editor's mark */
    while (text < end) {
        char line[MAX_LINE_BYTES];
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop ? stop : end) - text);
        p->line++;
        if (length >= sizeof line) {
            pgcn_i_fail(PGCN_ERR_FORMAT, "the line is longer than %d bytes", MAX_LINE_BYTES - 1);
            return fail_here(p);
        }
        for (size_t i = 0; i < length; i++)
            line[i] = text[i] == '\t' || text[i] == '\r' ? ' ' : text[i];
        line[length] = '\0';
        if (parse_line(p, line) != PGCN_OK) return fail_here(p);
        text += length + 1;
    }
    return PGCN_OK;
}

static pgcn_status hash_text(const char *text, int64_t bytes, char hex[65]) {
    pgcn_i_hash *hash;
    PGCN_TRY(pgcn_i_hash_new(&hash));
    pgcn_i_hash_add(hash, text, bytes);
    return pgcn_i_hash_finish(hash, hex);
}

pgcn_status pgcn_i_recipe_parse(const char *origin, const char *text, int64_t bytes,
                                pgcn_i_recipe *out) {
    parser p = {.origin = origin, .recipe = out};
    *out = (pgcn_i_recipe){.config = pgcn_config_default()};
    PGCN_TRY(check_bytes(origin, text, bytes));
    PGCN_TRY(parse_lines(&p, text, bytes));
    pgcn_recipe_info *info = &out->info;
    for (int i = 0; i < PGCN_I_HEAD_LINES; i++)
        if (pgcn_i_head_lines[i].required && p.head_line[i] == 0)
            return pgcn_i_fail(PGCN_ERR_FORMAT, "reading '%s': the line '%s = ...' is missing",
                               origin, pgcn_i_head_lines[i].key);
    if (pgcn_i_recipe_check_head(info) != PGCN_OK)
        return pgcn_i_fail_in(PGCN_ERR_FORMAT, "reading '%s'", origin);
    PGCN_TRY(check_settings(&p));
    PGCN_TRY(hash_text(text, bytes, info->sha256));
    snprintf(info->origin, sizeof info->origin, "%s", origin);
    return PGCN_OK;
}

void pgcn_i_recipe_settings(const pgcn_i_recipe *recipe, int layers, pgcn_config *out) {
    const pgcn_config *found = &recipe->config;
    if (layers == 0) layers = recipe->config.layers;
    for (int i = 0; i < recipe->sections; i++)
        if (layers >= recipe->section[i].first && layers <= recipe->section[i].last)
            found = &recipe->section[i].config;
    *out = *found;
    out->layers = layers;
    if (recipe->info.version == 0) return; /* no recipe, the defaults */
    pgcn_config_adopt(out);                /* the depth is the recipe's too, and not the caller's */
    snprintf(out->recipe, sizeof out->recipe, "%s version %d sha256 %s", recipe->info.name,
             recipe->info.version, recipe->info.sha256);
}
