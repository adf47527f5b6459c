/* The list of steps: "directed,features=own+degrees,stratified=60/20/20". Reads it into pgcn_i_steps
 * and writes it back in one canonical form, which is part of the data set's name ("film:directed"), so
 * that a model remembers what it was trained on, and `data info` lists it.
 * Serial, thread-safe. Called by dataset.c, load.c and prepare.c. */
#include "data/data.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SPLITS = 1000 };

/* One step of a list. */
typedef struct step_word {
    const char *text;
    size_t length;     /* of the whole step, without the comma */
    size_t key_length; /* of the key before the "=" */
    const char *value; /* after the "="; NULL: there is none */
    size_t value_length;
} step_word;

static step_word word_at(const char *text) {
    size_t length = strcspn(text, ",");
    const char *equals = memchr(text, '=', length);
    step_word word = {.text = text, .length = length, .key_length = length};
    if (equals) {
        word.key_length = (size_t)(equals - text);
        word.value = equals + 1;
        word.value_length = length - word.key_length - 1;
    }
    return word;
}

/* ---- values --------------------------------------------------------------------------------- */

static pgcn_status bad_value(const step_word *word, const char *expected) {
    return pgcn_i_fail(PGCN_ERR_ARGUMENT, "step '%.*s': expected %s",
                       (int)(word->length < 80 ? word->length : 80), word->text, expected);
}

/* "60/20/20" as fractions: percentages, or parts of 1 when they add up to no more. */
static pgcn_status parse_fractions(const step_word *word, pgcn_i_steps *steps) {
    static const char expected[] =
        "three numbers like 60/20/20 (percent of train, validation and test, each above 0, together "
        "at most 100)";
    const char *at = word->value;
    double part[3], sum = 0;
    for (int k = 0; k < 3; k++) {
        if (!pgcn_i_parse_f64(&at, &part[k]) || !(part[k] > 0) || (k < 2 && *at++ != '/'))
            return bad_value(word, expected);
        sum += part[k];
    }
    if (at != word->text + word->length || !(sum <= 100 + 1e-9)) return bad_value(word, expected);
    double total = sum > 1 + 1e-9 ? 100 : 1;
    for (int k = 0; k < 3; k++) steps->split[k] = part[k] / total;
    return PGCN_OK;
}

/* "20/500/1000" or "20/500/rest". */
static pgcn_status parse_counts(const step_word *word, pgcn_i_steps *steps) {
    static const char expected[] =
        "three numbers like 20/500/1000 (train per class, validation, test; 'rest' for all others)";
    const char *at = word->value;
    for (int k = 0; k < 3; k++) {
        int64_t count = INT32_MAX;
        if (k == 2 && strncmp(at, "rest", 4) == 0)
            at += 4;
        else if (!pgcn_i_parse_i64(&at, &count))
            return bad_value(word, expected);
        if (count < 1 || count > INT32_MAX || (k < 2 && *at++ != '/'))
            return bad_value(word, expected);
        steps->split[k] = (double)count;
    }
    return at == word->text + word->length ? PGCN_OK : bad_value(word, expected);
}

static pgcn_status parse_integer(const step_word *word, int64_t low, int64_t high, int64_t *out) {
    char expected[80], number[32];
    snprintf(expected, sizeof expected, "a whole number from %lld to %lld", (long long)low,
             (long long)high);
    snprintf(number, sizeof number, "%.*s", (int)word->value_length, word->value);
    bool fine = word->value_length < sizeof number && pgcn_integer_parse(number, low, high, out);
    return fine ? PGCN_OK : bad_value(word, expected);
}

static pgcn_status parse_split_count(const step_word *word, pgcn_i_steps *steps) {
    int64_t number;
    PGCN_TRY(parse_integer(word, 1, MOST_SPLITS, &number));
    steps->split_count = (int)number;
    return PGCN_OK;
}

static pgcn_status parse_split_seed(const step_word *word, pgcn_i_steps *steps) {
    int64_t number;
    PGCN_TRY(parse_integer(word, 0, PGCN_MAX_SEED, &number));
    steps->split_seed = (uint64_t)number;
    return PGCN_OK;
}

static const struct {
    const char *name;
    pgcn_i_feature_kind kind;
} feature_kinds[] = {{"own", PGCN_I_FEATURES_OWN},
                     {"labels", PGCN_I_FEATURES_LABELS},
                     {"degrees", PGCN_I_FEATURES_DEGREES},
                     {"identity", PGCN_I_FEATURES_IDENTITY},
                     {"adjacency", PGCN_I_FEATURES_ADJACENCY}};
enum { FEATURE_KINDS = sizeof feature_kinds / sizeof *feature_kinds };

static pgcn_status parse_features(const step_word *word, pgcn_i_steps *steps) {
    const char *at = word->value;
    steps->features = 0;
    while (true) {
        size_t letters = strcspn(at, "+,");
        int k = 0;
        while (k < FEATURE_KINDS && !pgcn_i_is_word(at, letters, feature_kinds[k].name)) k++;
        if (k == FEATURE_KINDS)
            return bad_value(word, "features=own, labels, degrees, identity or adjacency, several "
                                   "joined by +");
        steps->features |= feature_kinds[k].kind;
        at += letters;
        if (*at != '+') return PGCN_OK;
        at++;
    }
}

static const char *const order_names[PGCN_I_NODE_ORDERS] = {
    [PGCN_I_NODE_ORDER_DEGREE] = "degree",       [PGCN_I_NODE_ORDER_RCM] = "rcm",
    [PGCN_I_NODE_ORDER_COMMUNITY] = "community", [PGCN_I_NODE_ORDER_RANDOM] = "random",
    [PGCN_I_NODE_ORDER_PARTS] = "parts",         [PGCN_I_NODE_ORDER_METIS] = "metis",
};

static pgcn_status parse_order(const step_word *word, pgcn_i_steps *steps) {
    for (int i = 0; i < PGCN_I_NODE_ORDERS; i++)
        if (order_names[i] && pgcn_i_is_word(word->value, word->value_length, order_names[i])) {
            steps->order = (pgcn_i_node_order)i;
            return PGCN_OK;
        }
    return bad_value(word, "order=degree, rcm, community, parts, metis or random");
}

static pgcn_status parse_groups(const step_word *word, pgcn_i_steps *steps) {
    int64_t groups;
    PGCN_TRY(parse_integer(word, 1, PGCN_MAX_GROUPS, &groups));
    steps->groups = (int)groups;
    return PGCN_OK;
}

/* The words of the setting `split`. */
static pgcn_status parse_only_split(const step_word *word, pgcn_i_steps *steps) {
    const char *value = word->value;
    size_t letters = word->value_length;
    bool number = letters > 0 && letters < 10 && strspn(value, "0123456789") >= letters;
    if (!number && !pgcn_i_is_word(value, letters, "auto") &&
        !pgcn_i_is_word(value, letters, "public") && !pgcn_i_is_word(value, letters, "numbered"))
        return bad_value(word, "only-split=auto, public, numbered or the number of a split");
    snprintf(steps->only_split, sizeof steps->only_split, "%.*s", (int)letters, value);
    return PGCN_OK;
}

static pgcn_status parse_fair(const step_word *word, pgcn_i_steps *steps) {
    if (word->value_length == 0) return bad_value(word, "fair=FILE, a JSON file of folds");
    if (word->value_length >= sizeof steps->fair)
        return pgcn_i_fail(
            PGCN_ERR_ARGUMENT,
            "step 'fair=': the path of its file has %zu letters, expected at most %zu; "
            "give a shorter path",
            word->value_length, sizeof steps->fair - 1);
    snprintf(steps->fair, sizeof steps->fair, "%.*s", (int)word->value_length, word->value);
    return PGCN_OK;
}

/* ---- words ---------------------------------------------------------------------------------- */

/* Sets the flag of a step without a value; false if there is no such step. */
static bool set_flag(const step_word *word, pgcn_i_steps *steps) {
    const struct {
        const char *name;
        bool *flag;
        bool *opposite; /* flag that it clears, or NULL */
    } flags[] = {{"directed", &steps->directed, &steps->symmetrise},
                 {"symmetrise", &steps->symmetrise, &steps->directed},
                 {"self-loops", &steps->self_loops, NULL},
                 {"largest-component", &steps->largest_component, NULL},
                 {"without-test", &steps->without_test, NULL}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (!pgcn_i_is_word(word->text, word->length, flags[i].name)) continue;
        *flags[i].flag = true;
        if (flags[i].opposite) *flags[i].opposite = false;
        return true;
    }
    return false;
}

static pgcn_status parse_split(const step_word *word, pgcn_i_split_kind kind, pgcn_i_steps *steps) {
    const pgcn_i_split_rule *rule = &pgcn_i_split_rules[kind];
    int64_t folds;
    steps->split_kind = kind;
    switch (rule->value) {
    case PGCN_I_SPLIT_FRACTIONS: return parse_fractions(word, steps);
    case PGCN_I_SPLIT_COUNTS: return parse_counts(word, steps);
    case PGCN_I_SPLIT_FILE: return parse_fair(word, steps);
    default: break;
    }
    PGCN_TRY(parse_integer(word, rule->fewest_folds, MOST_SPLITS, &folds));
    steps->split_count = (int)folds;
    return PGCN_OK;
}

/* *known = false if the word is no step. */
static pgcn_status parse_step(const step_word *word, pgcn_i_steps *steps, bool *known) {
    static const struct {
        const char *name;
        pgcn_status (*parse)(const step_word *word, pgcn_i_steps *steps);
    } keys[] = {{"only-split", parse_only_split}, {"features", parse_features},
                {"order", parse_order},           {"groups", parse_groups},
                {"splits", parse_split_count},    {"split-seed", parse_split_seed}};
    *known = true;
    if (!word->value) {
        *known = set_flag(word, steps);
        return PGCN_OK;
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (pgcn_i_is_word(word->text, word->key_length, keys[i].name))
            return keys[i].parse(word, steps);
    for (int kind = PGCN_I_SPLIT_AS_GIVEN + 1; kind < PGCN_I_SPLIT_KINDS; kind++)
        if (pgcn_i_is_word(word->text, word->key_length, pgcn_i_split_rules[kind].name))
            return parse_split(word, (pgcn_i_split_kind)kind, steps);
    *known = false;
    return PGCN_OK;
}

pgcn_status pgcn_i_check_repeats(const char *list) {
    for (const char *a = list; *a;) {
        step_word first = word_at(a);
        const char *next = a + first.length;
        if (*next == ',') next++;
        for (const char *b = next; first.value && *b;) {
            step_word other = word_at(b);
            bool same_key = other.value && other.key_length == first.key_length &&
                            strncmp(a, b, first.key_length) == 0;
            if (same_key && (other.length != first.length || strncmp(a, b, first.length) != 0))
                return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                                   "'%.*s' and '%.*s' are in one list; leave out one of them",
                                   (int)(first.length < 80 ? first.length : 80), a,
                                   (int)(other.length < 80 ? other.length : 80), b);
            b += other.length;
            if (*b == ',') b++;
        }
        a = next;
    }
    return PGCN_OK;
}

pgcn_status pgcn_i_steps_parse(const char *text, pgcn_i_steps *out, bool *known) {
    pgcn_i_steps steps = *out;
    *known = true;
    for (const char *at = text; *at && *known;) {
        step_word word = word_at(at);
        PGCN_TRY(parse_step(&word, &steps, known));
        at += word.length;
        if (*at == ',') at++;
    }
    if (!*known) return PGCN_OK;
    PGCN_TRY(pgcn_i_check_repeats(text));
    if (steps.split_kind == PGCN_I_SPLIT_FAIR && (steps.split_count > 0 || steps.split_seed > 0))
        return pgcn_i_fail(
            PGCN_ERR_ARGUMENT,
            "'%.200s': the folds of fair=FILE are those of the file; leave out splits, "
            "split-seed and other folds",
            text);
    *out = steps;
    return PGCN_OK;
}

pgcn_status pgcn_i_steps_need(const char *text, pgcn_i_steps *steps) {
    bool known = true;
    if (text) PGCN_TRY(pgcn_i_steps_parse(text, steps, &known));
    if (!known)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "'%.200s' is no list of steps, expected e.g. "
                           "directed,largest-component,features=degrees,stratified=60/20/20",
                           text);
    return PGCN_OK;
}

int pgcn_i_split_count(const pgcn_i_steps *steps) {
    return steps->split_count ? steps->split_count : PGCN_I_DEFAULT_SPLITS;
}

bool pgcn_i_steps_remove_test(const char *text) {
    const pgcn_i_split_rule *crossval = &pgcn_i_split_rules[PGCN_I_SPLIT_CROSSVAL];
    for (const char *at = text; *at;) {
        step_word word = word_at(at);
        if (pgcn_i_is_word(word.text, word.length, "without-test")) return true;
        if (word.value && pgcn_i_is_word(word.text, word.key_length, crossval->name)) return true;
        at += word.length;
        if (*at == ',') at++;
    }
    return false;
}

/* ---- the canonical text --------------------------------------------------------------------- */

/* Appends ",word" to the text, which is large enough for all steps together. */
static void add_word(char out[PGCN_I_STEPS_TEXT], const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add_word(char out[PGCN_I_STEPS_TEXT], const char *format, ...) {
    size_t used = strlen(out);
    va_list arguments;
    if (used > 0) used += (size_t)snprintf(out + used, PGCN_I_STEPS_TEXT - used, ",");
    va_start(arguments, format);
    vsnprintf(out + used, PGCN_I_STEPS_TEXT - used, format, arguments);
    va_end(arguments);
}

static void add_features(unsigned features, char out[PGCN_I_STEPS_TEXT]) {
    char text[64] = "";
    for (int k = 0; k < FEATURE_KINDS; k++)
        if (features & feature_kinds[k].kind)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", *text ? "+" : "",
                     feature_kinds[k].name);
    if (*text) add_word(out, "features=%s", text);
}

static void add_split(const pgcn_i_steps *steps, char out[PGCN_I_STEPS_TEXT]) {
    const pgcn_i_split_rule *rule = &pgcn_i_split_rules[steps->split_kind];
    const double *part = steps->split;
    if (steps->split_kind == PGCN_I_SPLIT_AS_GIVEN) return;
    switch (rule->value) {
    case PGCN_I_SPLIT_FRACTIONS:
        add_word(out, "%s=%.6g/%.6g/%.6g", rule->name, 100 * part[0], 100 * part[1], 100 * part[2]);
        break;
    case PGCN_I_SPLIT_COUNTS:
        if (part[2] < INT32_MAX)
            add_word(out, "%s=%.0f/%.0f/%.0f", rule->name, part[0], part[1], part[2]);
        else
            add_word(out, "%s=%.0f/%.0f/rest", rule->name, part[0], part[1]);
        break;
    case PGCN_I_SPLIT_FOLDS: add_word(out, "%s=%d", rule->name, pgcn_i_split_count(steps)); break;
    case PGCN_I_SPLIT_FILE: add_word(out, "%s=%s", rule->name, steps->fair); return;
    }
    if (rule->value != PGCN_I_SPLIT_FOLDS && pgcn_i_split_count(steps) != PGCN_I_DEFAULT_SPLITS)
        add_word(out, "splits=%d", steps->split_count);
    if (steps->split_seed) add_word(out, "split-seed=%llu", (unsigned long long)steps->split_seed);
}

void pgcn_i_steps_text(const pgcn_i_steps *steps, char out[PGCN_I_STEPS_TEXT]) {
    out[0] = '\0';
    if (steps->directed) add_word(out, "directed");
    if (steps->symmetrise) add_word(out, "symmetrise");
    if (steps->self_loops) add_word(out, "self-loops");
    if (steps->largest_component) add_word(out, "largest-component");
    add_features(steps->features, out);
    add_split(steps, out);
    if (*steps->only_split) add_word(out, "only-split=%s", steps->only_split);
    if (steps->without_test) add_word(out, "without-test");
    if (steps->order != PGCN_I_NODE_ORDER_KEEP)
        add_word(out, "order=%s", order_names[steps->order]);
    if (steps->groups > 0) add_word(out, "groups=%d", steps->groups);
}

void pgcn_i_steps_name(const pgcn_i_steps *steps, const char *mark, char *name, size_t bytes) {
    char text[PGCN_I_STEPS_TEXT];
    size_t used = strlen(name);
    pgcn_i_steps_text(steps, text);
    if (*text) snprintf(name + used, bytes - used, "%s%s", mark, text);
}
