/* Search spaces: a text like a recipe, one setting per line, with a range or a list of choices; and
 * the drawing of candidates. */
#include "experiments/tune.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 65536, MOST_LINE = 512, MOST_ATTEMPTS = 1000 };

/* ---- built-in spaces -------------------------------------------------------------------------- */

/* `select` is in none of them: choosing the epoch by validation accuracy raises the validation
 * accuracy itself, so a search would always choose it. */
/* Settings that only some networks have; left out of a search in the others. */
#define OF_SOME_NETWORKS                                                                           \
    "edge-keep = 0.5 | 0.8 | 1\n"                                                                  \
    "powers = 1 .. 12\n"                                                                           \
    "order = 1 .. 3\n"                                                                             \
    "lambda = 0.3 .. 1.5\n"                                                                        \
    "layer-norm = no | yes\n"                                                                      \
    "heads = 1 | 4 | 8\n"                                                                          \
    "dropout-attention = 0 .. 0.7\n"                                                               \
    "dropout-values = 0 .. 0.7\n"                                                                  \
    "step = 0.1 .. 1 log\n"                                                                        \
    "c-min = 0.1 .. 0.5\n"                                                                         \
    "orthogonal = 0.1 .. 30 log\n"

static const struct {
    const char *name, *about, *text;
} builtin[] = {
    {"semi", "few labels, neighbours alike: citation graphs with the public split",
     "lr-ends = 3e-3 .. 3e-2 log\n"
     "lr-mix = 1e-4 .. 2e-2 log\n"
     "lr-kernel = 1e-4 .. 2e-2 log\n"
     "wd-ends = 1e-4 .. 5e-3 log\n"
     "wd-mix = 0.05 .. 5 log\n"
     "wd-kernel = 0.01 .. 5 log\n"
     "dropout = 0.3 .. 0.8\n"
     "drop-rows = 0 | 0.2 | 0.5\n"
     "alpha = 0.02 .. 0.4\n"
     "path-length = 3 .. 7\n"
     "paths = 3 | 5 | 10\n"
     "hops = 1 .. 32 log\n"
     "consistency = 0.5 .. 3\n"
     "temperature = 0.1 .. 0.7\n"},
    {"full", "many labels, neighbours alike: citation graphs with 48 % in training",
     "lr-ends = 1e-3 .. 3e-2 log\n"
     "lr-mix = 1e-4 .. 2e-2 log\n"
     "lr-kernel = 1e-4 .. 3e-2 log\n"
     "wd-ends = 1e-5 .. 2e-3 log\n"
     "wd-mix = 1e-3 .. 2 log\n"
     "wd-kernel = 1e-3 .. 1 log\n"
     "dropout = 0.3 .. 0.8\n"
     "drop-rows = 0 | 0.1 | 0.3\n"
     "alpha = 0.05 .. 0.5\n"
     "path-length = 3 .. 7\n"
     "paths = 5 | 10 | 20\n"
     "hops = 0.5 .. 16 log\n"
     "channels = 64 | 128\n" OF_SOME_NETWORKS},
    {"heterophilous", "neighbours seldom alike: web graphs, actors, Wikipedia",
     "lr-ends = 1e-3 .. 1e-1 log\n"
     "lr-mix = 1e-4 .. 3e-2 log\n"
     "lr-kernel = 1e-4 .. 5e-2 log\n"
     "wd-ends = 1e-6 .. 1e-1 log\n"
     "wd-mix = 1e-6 .. 1e-1 log\n"
     "wd-kernel = 1e-6 .. 1e-1 log\n"
     "dropout = 0 .. 0.8\n"
     "dropout-hidden = 0 | 0.2 | 0.5\n"
     "residual = initial | previous | none\n"
     "alpha = 0.1 .. 0.9\n"
     "layers = 1 | 2 | 3 | 4\n"
     "path-length = 1 .. 6\n"
     "paths = 5 | 10 | 20\n"
     "train-form = sampled | exact\n"
     "kernel = layer | depthwise\n"
     "kernel-start = identity | smooth | random\n"
     "kernel-noise = 0 | 0.1 | 0.3\n"
     "mix = identity | random\n"
     "batch-norm = no | yes\n"
     "self-loops = no | yes\n"
     "scaling = walk | symmetric\n"
     "normalise = auto | none\n"
     "channels = 64 | 128 | 256\n" OF_SOME_NETWORKS},
    {"graph", "a class for every graph of a set of graphs",
     "lr-ends = 1e-3 .. 3e-2 log\n"
     "lr-mix = 1e-3 .. 3e-2 log\n"
     "lr-kernel = 1e-4 .. 3e-2 log\n"
     "layers = 2 .. 5\n"
     "channels = 16 | 32 | 64\n"
     "path-length = 2 .. 7\n"
     "dropout-last = 0 | 0.5\n"
     "scaling = walk | symmetric | sum\n"
     "kernel-start = identity | smooth | random\n"
     "residual = none | initial | previous\n"
     "readout = linear | relu | layers\n"
     "powers = 1 .. 5\n"
     "order = 1 .. 3\n"
     "lambda = 0.3 .. 1.5\n"
     "heads = 1 | 4 | 8\n"
     "step = 0.1 .. 1 log\n"},
    {"multilabel", "several labels for every node",
     "lr-ends = 5e-4 .. 2e-2 log\n"
     "lr-mix = 1e-4 .. 1e-2 log\n"
     "lr-kernel = 1e-4 .. 1e-2 log\n"
     "dropout = 0 .. 0.5\n"
     "residual = none | initial | previous\n"
     "alpha = 0.1 .. 0.6\n"
     "layers = 2 .. 5\n"
     "path-length = 2 .. 6\n"
     "kernel-start = identity | smooth | random\n"
     "mix = identity | random\n"
     "batch-norm = no | yes\n"
     "self-loops = no | yes\n"
     "scaling = walk | symmetric\n"
     "channels = 128 | 256 | 512\n"
     "powers = 1 .. 5\n"
     "order = 1 .. 3\n"
     "lambda = 0.3 .. 1.5\n"
     "layer-norm = no | yes\n"},
};

const char *exp_space_builtin(int i, const char **text, const char **about) {
    if (i < 0 || i >= (int)(sizeof builtin / sizeof *builtin)) return NULL;
    *text = builtin[i].text;
    *about = builtin[i].about;
    return builtin[i].name;
}

/* ---- reading ---------------------------------------------------------------------------------- */

/* Where in the text the parser is. */
typedef struct reader {
    exp_space *space;
    int line;
} reader;

static pgcn_status refuse(reader *at, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static pgcn_status refuse(reader *at, const char *format, ...) {
    char what[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    snprintf(at->space->error, sizeof at->space->error, "space %.60s, line %d: %s", at->space->name,
             at->line, what);
    return PGCN_ERR_FORMAT;
}

static char *trim(char *text) {
    while (isspace((unsigned char)*text)) text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1])) text[--length] = '\0';
    return text;
}

/* Whether the library accepts the value for the setting. */
static bool is_accepted(const char *key, const char *value) {
    pgcn_config config = pgcn_config_default();
    return pgcn_config_set(&config, key, value) == PGCN_OK;
}

static void write_number(double number, bool is_whole, char out[48]) {
    if (is_whole)
        snprintf(out, 48, "%.0f", number);
    else
        snprintf(out, 48, "%.3g", number); /* what a person would write into a recipe */
}

/* "low .. high" or "low .. high log"; `dots` is where the dots are. */
static pgcn_status parse_range(reader *at, exp_parameter *p, char *value, char *dots) {
    *dots = '\0';
    char *low = trim(value), *high = trim(dots + 2), *word = strpbrk(high, " \t");
    if (word) {
        *word++ = '\0';
        word = trim(word);
        if (strcmp(word, "log") != 0)
            return refuse(at, "'%.40s' follows the range of %s, expected 'log' or nothing", word,
                          p->key);
        p->is_log = true;
    }
    if (!pgcn_number_parse(low, &p->low) || !pgcn_number_parse(high, &p->high) ||
        !(p->low < p->high))
        return refuse(at,
                      "%s goes from '%.30s' to '%.30s', expected two numbers, the lower one first",
                      p->key, low, high);
    if (!is_accepted(p->key, low) || !is_accepted(p->key, high))
        return refuse(at, "%.200s", pgcn_last_error());
    if (p->is_log && p->low <= 0)
        return refuse(at, "%s is searched by its logarithm from %s, expected a lower end above 0",
                      p->key, low);
    char half[48];
    snprintf(half, sizeof half, "%.17g", floor(p->low) + 0.5);
    /* only whole numbers are accepted if a half between two valid ones is not */
    p->is_whole =
        floor(p->low) == p->low && floor(p->high) == p->high && !is_accepted(p->key, half);
    return PGCN_OK;
}

static pgcn_status parse_choices(reader *at, exp_parameter *p, char *value) {
    for (char *next = value; next;) {
        char *word = next, *bar = strchr(next, '|');
        next = bar ? bar + 1 : NULL;
        if (bar) *bar = '\0';
        word = trim(word);
        if (p->choices == EXP_MOST_CHOICES)
            return refuse(at, "%s has more than %d choices", p->key, EXP_MOST_CHOICES);
        if (strlen(word) >= sizeof p->choice[0] || !is_accepted(p->key, word))
            return refuse(at, "%.200s", pgcn_last_error());
        snprintf(p->choice[p->choices++], sizeof p->choice[0], "%s", word);
    }
    return PGCN_OK;
}

static bool find_setting(const char *key, pgcn_field *out) {
    for (int i = 0; pgcn_config_field(i, out); i++)
        if (strcmp(out->key, key) == 0) return true;
    return false;
}

/* Whether `key` is a setting that can be searched and is not in the space yet. */
static pgcn_status check_key(reader *at, const char *key) {
    const exp_space *space = at->space;
    pgcn_field field;
    if (!find_setting(key, &field)) {
        cli_guess guess = cli_guess_start(key);
        char hint[CLI_HINT_BYTES];
        for (int i = 0; pgcn_config_field(i, &field); i++) cli_guess_offer(&guess, field.key);
        cli_guess_hint(&guess, "", hint);
        return refuse(at, "there is no setting '%.40s'%s", key, hint);
    }
    if (cli_is_run_setting(&field) || strcmp(key, "seed") == 0 || strcmp(key, "split") == 0)
        return refuse(at, "%s belongs to a run and cannot be searched", key);
    for (int i = 0; i < space->parameters; i++)
        if (strcmp(space->parameter[i].key, key) == 0) return refuse(at, "%s is given twice", key);
    if (space->parameters == EXP_MOST_PARAMETERS)
        return refuse(at, "there are more than %d settings", EXP_MOST_PARAMETERS);
    return PGCN_OK;
}

static pgcn_status parse_line(reader *at, char *text) {
    text[strcspn(text, "#")] = '\0';
    text = trim(text);
    if (!*text) return PGCN_OK;
    char *equals = strchr(text, '=');
    if (!equals)
        return refuse(at, "'%.60s' is no setting, expected 'key = low .. high' or 'key = a | b'",
                      text);
    *equals = '\0';
    char *key = trim(text), *value = trim(equals + 1), *dots = strstr(value, "..");
    CLI_TRY(check_key(at, key));
    exp_parameter *p = &at->space->parameter[at->space->parameters++];
    *p = (exp_parameter){0};
    snprintf(p->key, sizeof p->key, "%s", key);
    return dots ? parse_range(at, p, value, dots) : parse_choices(at, p, value);
}

pgcn_status exp_space_parse(const char *name, const char *text, size_t bytes, exp_space *out) {
    reader at = {.space = out, .line = 1};
    *out = (exp_space){0};
    snprintf(out->name, sizeof out->name, "%.255s", name);
    if (bytes > MOST_BYTES || memchr(text, '\0', bytes))
        return refuse(&at, "it has %zu bytes, expected a text of up to %d", bytes, MOST_BYTES);
    out->text = strndup(text, bytes);
    if (!out->text) {
        refuse(&at, "out of memory");
        return PGCN_ERR_MEMORY;
    }
    at.line = 0;
    for (const char *rest = out->text; *rest;) {
        char copy[MOST_LINE];
        size_t length = strcspn(rest, "\n");
        at.line++;
        if (length >= sizeof copy) return refuse(&at, "it is longer than %d bytes", MOST_LINE - 1);
        memcpy(copy, rest, length);
        copy[length] = '\0';
        CLI_TRY(parse_line(&at, copy));
        rest += length + (rest[length] == '\n');
    }
    if (out->parameters == 0) return refuse(&at, "there is no setting to search");
    return PGCN_OK;
}

void exp_space_free(exp_space *space) {
    free(space->text);
    *space = (exp_space){0};
}

/* ---- the border ------------------------------------------------------------------------------- */

/* Within a twentieth of the way from one end to the other. */
static int end_of_range(const exp_parameter *p, double value) {
    double at = p->is_log ? log(value / p->low) / log(p->high / p->low)
                          : (value - p->low) / (p->high - p->low);
    if (p->is_whole) return value <= p->low ? -1 : value >= p->high;
    return at < 0.05 ? -1 : at > 0.95;
}

/* The same for a list of numbers. Words have no order and no ends. */
static int end_of_choices(const exp_parameter *p, double value) {
    double number, least = INFINITY, most = -INFINITY;
    for (int i = 0; i < p->choices; i++) {
        if (!pgcn_number_parse(p->choice[i], &number)) return 0;
        least = fmin(least, number);
        most = fmax(most, number);
    }
    if (p->choices < 3) return 0; /* of two values one is always at an end */
    return value <= least ? -1 : value >= most;
}

bool exp_space_at_border(const exp_parameter *p, const pgcn_config *config) {
    char text[EXP_VALUE];
    double value, beyond;
    if (pgcn_config_get(config, p->key, text, sizeof text) != PGCN_OK ||
        !pgcn_number_parse(text, &value))
        return false;
    int end = p->choices > 0 ? end_of_choices(p, value) : end_of_range(p, value);
    if (end == 0) return false;
    /* an end of the setting's own range is no border of the space */
    beyond = value + end * (p->is_whole || value == floor(value) ? 1 : 1e-3 * fabs(value));
    snprintf(text, sizeof text, "%.9g", beyond);
    return is_accepted(p->key, text);
}

/* ---- drawing ---------------------------------------------------------------------------------- */

/* A number in [0, 1), from a hash of its use: another setting in the space changes no other
 * draw. */
static double uniform(uint64_t seed, int number, int attempt, const char *key, const char *what) {
    char text[160], hash[EXP_HASH_BYTES], digits[14];
    snprintf(text, sizeof text, "%llu %d %d %s %s", (unsigned long long)seed, number, attempt, key,
             what);
    if (!exp_hash(text, strlen(text), hash)) return 0.5;
    snprintf(digits, sizeof digits, "%.13s", hash);
    return (double)strtoull(digits, NULL, 16) / 4503599627370496.0; /* 2^52 */
}

static void draw_value(const exp_parameter *p, double u, char out[48]) {
    if (p->choices > 0) {
        snprintf(out, 48, "%s", p->choice[(int)(u * p->choices)]);
        return;
    }
    double value = p->is_log     ? p->low * pow(p->high / p->low, u)
                   : p->is_whole ? p->low + floor(u * (p->high - p->low + 1))
                                 : p->low + u * (p->high - p->low);
    if (p->is_whole) value = floor(value + (p->is_log ? 0.5 : 0));
    write_number(fmin(fmax(value, p->low), p->high), p->is_whole, out);
}

/* The values of one attempt; "" keeps the present one. */
static void draw_all(const exp_space *space, uint64_t seed, int number, int attempt,
                     char value[EXP_MOST_PARAMETERS][48]) {
    bool near = number % 2 == 0;
    int sure = (int)(uniform(seed, number, attempt, "", "sure") * space->parameters);
    for (int i = 0; i < space->parameters; i++) {
        const exp_parameter *p = &space->parameter[i];
        value[i][0] = '\0';
        if (near && i != sure && uniform(seed, number, attempt, p->key, "change") >= 1.0 / 3)
            continue;
        draw_value(p, uniform(seed, number, attempt, p->key, "value"), value[i]);
    }
}

/* Consistency compares samples: of a single one that the space does not change there is none. */
static bool is_ruled_out(const exp_space *space, const char *key, const pgcn_config *config) {
    if (strcmp(key, "consistency") != 0 || config->samples > 1) return false;
    for (int i = 0; i < space->parameters; i++)
        if (strcmp(space->parameter[i].key, "samples") == 0) return false;
    return true;
}

/* Sets the values that have an effect under `uses`; all of them if it is NULL. */
static bool set_all(const exp_space *space, char value[EXP_MOST_PARAMETERS][48],
                    const pgcn_config *uses, const pgcn_dataset *data, pgcn_config *config) {
    bool fine = true;
    for (int i = 0; i < space->parameters && fine; i++) {
        const char *key = space->parameter[i].key;
        if (!value[i][0] || is_ruled_out(space, key, config)) continue;
        if (uses && pgcn_config_unused(uses, data, key)) continue;
        fine = pgcn_config_set(config, key, value[i]) == PGCN_OK;
    }
    return fine;
}

bool exp_space_draw(const exp_space *space, uint64_t seed, int number, const pgcn_config *present,
                    const pgcn_dataset *data, pgcn_config *out) {
    pgcn_config start = *present;
    pgcn_config_settle_batches(&start, data); /* while it is known who has set `batch` */
    *out = start;
    if (number == 0) return true;
    for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        char value[EXP_MOST_PARAMETERS][48];
        pgcn_config all = start;
        *out = start;
        pgcn_config_adopt(out); /* a given setting may have no effect with the drawn ones */
        draw_all(space, seed, number, attempt, value);
        /* a setting without effect is not changed: equal trainings are then one job */
        if (set_all(space, value, NULL, data, &all) && set_all(space, value, &all, data, out) &&
            pgcn_config_check(out) == PGCN_OK) {
            pgcn_config_settle_batches(out, data);
            return true;
        }
    }
    return false;
}
