/* Data sets that need no file: Zachary's karate club, a contextual stochastic block model, a
 * checkerboard grid and (in powerlaw.c) a large graph with hubs. Every random number is a function
 * of (seed, what it is for, element), so a name always means the same data. Called by
 * pgcn_dataset_load. Serial, thread-safe. */
#include "data/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPLITS = 10 };

/* ---- settings after the colon ------------------------------------------------------------ */

typedef struct setting {
    const char *key;
    double value, low, high;
    bool integer;
    uint64_t seed; /* of the setting "seed", which has more digits than a double */
} setting;

enum { MAX_SETTINGS = 8, MAX_SIZES = 3 };
enum { SBM_NODES, SBM_CLASSES, SBM_DEGREE, SBM_HOMOPHILY, SBM_FEATURES, SBM_NOISE, SBM_SEED };
enum { GRID_ROWS, GRID_COLS, GRID_NOISE, GRID_SEED };
enum {
    LAW_NODES,
    LAW_EDGES,
    LAW_FEATURES,
    LAW_CLASSES,
    LAW_EXPONENT,
    LAW_HOMOPHILY,
    LAW_LOCAL,
    LAW_SEED
};

#define SEED_MOST  ((double)PGCN_MAX_SEED)
#define NODES_MOST 10000000.0
/* Of powerlaw, where edges are not given: about as dense as ogbn-arxiv. */
enum { LAW_EDGES_OF_NODE = 7 };

/* "size=arxiv" stands for several settings. */
typedef struct named_size {
    const char *name, *settings;
} named_size;

typedef struct builtin builtin;
struct builtin {
    const char *name, *summary;
    pgcn_status (*make)(const char *name, const setting *settings, pgcn_i_source *source);
    setting settings[MAX_SETTINGS]; /* up to the first without a key */
    named_size sizes[MAX_SIZES];    /* up to the first without a name */
};

static pgcn_status make_karate(const char *name, const setting *settings, pgcn_i_source *source);
static pgcn_status make_sbm(const char *name, const setting *settings, pgcn_i_source *source);
static pgcn_status make_grid(const char *name, const setting *settings, pgcn_i_source *source);
static pgcn_status make_powerlaw(const char *name, const setting *settings, pgcn_i_source *source);

/* clang-format off */
static const builtin builtins[] = {
    {"karate", "Zachary's karate club: 34 members, 78 friendships, 2 factions (no settings)",
     make_karate, {{0}}, {{0}}},
    {"sbm", "block model with Gaussian features: nodes=1000,classes=4,degree=10,homophily=0.8,"
     "features=32,noise=2,seed=0",
     make_sbm,
     {[SBM_NODES]     = {"nodes", 1000, 10, NODES_MOST, true, 0},
      [SBM_CLASSES]   = {"classes", 4, 2, 100, true, 0},
      [SBM_DEGREE]    = {"degree", 10, 0, 1000, false, 0},
      [SBM_HOMOPHILY] = {"homophily", 0.8, 0, 1, false, 0},
      [SBM_FEATURES]  = {"features", 32, 1, 10000, true, 0},
      [SBM_NOISE]     = {"noise", 2, 0, 1e6, false, 0},
      [SBM_SEED]      = {"seed", 0, 0, SEED_MOST, true, 0}},
     {{0}}},
    {"grid", "checkerboard on a grid, neighbours always differ: rows=20,cols=20,noise=1,seed=0",
     make_grid,
     {[GRID_ROWS]  = {"rows", 20, 2, 10000, true, 0},
      [GRID_COLS]  = {"cols", 20, 2, 10000, true, 0},
      [GRID_NOISE] = {"noise", 1, 0, 1e6, false, 0},
      [GRID_SEED]  = {"seed", 0, 0, SEED_MOST, true, 0}},
     {{0}}},
    {"powerlaw", "large graph with hubs and communities: nodes=10000,edges=70000 (7 a node),"
     "features=64,classes=10,exponent=2.5,homophily=0.65,local=0.4,seed=0; size=arxiv, size=products: as "
     "large as those of OGB; size=huge: 10^7 nodes, 10^8 edges, for data convert --memory",
     make_powerlaw,
     {[LAW_NODES]     = {"nodes", 10000, 100, NODES_MOST, true, 0},
      [LAW_EDGES]     = {"edges", 0, 100, 1e9, true, 0},
      [LAW_FEATURES]  = {"features", 64, 1, 10000, true, 0},
      [LAW_CLASSES]   = {"classes", 10, 2, 1000, true, 0},
      [LAW_EXPONENT]  = {"exponent", 2.5, 2.1, 5, false, 0},
      [LAW_HOMOPHILY] = {"homophily", 0.65, 0, 1, false, 0},
      [LAW_LOCAL]     = {"local", 0.4, 0, 1, false, 0},
      [LAW_SEED]      = {"seed", 0, 0, SEED_MOST, true, 0}},
     {{"arxiv", "nodes=169343,edges=1166243,features=128,classes=40"},
      {"products", "nodes=2449029,edges=61859140,features=100,classes=47"},
      {"huge", "nodes=1e7,edges=1e8,features=100,classes=50"}}},
};
/* clang-format on */
enum { BUILTINS = sizeof builtins / sizeof builtins[0] };

const char *pgcn_builtin_name(int i, const char **summary) {
    if (i < 0 || i >= BUILTINS) return NULL;
    if (summary) *summary = builtins[i].summary;
    return builtins[i].name;
}

static bool is_seed(const setting *found) {
    return strcmp(found->key, "seed") == 0;
}

/* "10 to 10000000" */
static const char *range_of(const setting *found, char text[64]) {
    if (is_seed(found))
        snprintf(text, 64, "0 to %lld", (long long)PGCN_MAX_SEED);
    else
        snprintf(text, 64, "%.16g to %.16g", found->low, found->high);
    return text;
}

/* "nodes (10 to 10000000), classes (2 to 100), ..." */
static void accepted_settings(const builtin *which, char *text, size_t bytes) {
    const setting *settings = which->settings;
    size_t used = 0;
    snprintf(text, bytes, "none");
    for (int i = 0; i < MAX_SETTINGS && settings[i].key && used < bytes; i++) {
        char range[64];
        int more = snprintf(text + used, bytes - used, "%s%s (%s)", i ? ", " : "", settings[i].key,
                            range_of(&settings[i], range));
        used += more > 0 ? (size_t)more : 0;
    }
    for (int i = 0; i < MAX_SIZES && which->sizes[i].name && used < bytes; i++) {
        int more = snprintf(text + used, bytes - used, ", size=%s", which->sizes[i].name);
        used += more > 0 ? (size_t)more : 0;
    }
}

static bool take_value(setting *found, const char *text) {
    double value;
    int64_t seed = 0;
    if (!pgcn_number_parse(text, &value) || !(value >= found->low && value <= found->high) ||
        (found->integer && value != floor(value)) ||
        (is_seed(found) && !pgcn_integer_parse(text, 0, PGCN_MAX_SEED, &seed)))
        return false;
    found->value = value;
    found->seed = (uint64_t)seed;
    return true;
}

/* One "key=value" of `length` bytes. */
static pgcn_status parse_setting(const char *name, const builtin *which, const char *text,
                                 size_t length, setting *settings) {
    char accepted[512];
    accepted_settings(which, accepted, sizeof accepted);
    const char *equals = memchr(text, '=', length);
    size_t key_length = equals ? (size_t)(equals - text) : length;
    int shown = (int)(length < 60 ? length : 60);
    setting *found = NULL;
    for (int i = 0; i < MAX_SETTINGS && settings[i].key; i++)
        if (pgcn_i_is_word(text, key_length, settings[i].key)) found = &settings[i];
    if (!found || !equals)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "data set '%.200s': '%.*s' is not a setting with a value; accepted "
                           "settings: %s",
                           name, shown, text, accepted);
    char number[64], range[64];
    size_t number_length = length - key_length - 1;
    snprintf(number, sizeof number, "%.*s", (int)number_length, equals + 1);
    if (number_length < sizeof number && take_value(found, number)) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "data set '%.200s': the setting '%.*s' is not %s from %s; accepted "
                       "settings: %s",
                       name, shown, text, found->integer ? "a whole number" : "a number",
                       range_of(found, range), accepted);
}

/* The settings that a "size=..." stands for, NULL if it is none. */
static const char *settings_of_size(const builtin *which, const char *text, size_t length) {
    static const char key[] = "size=";
    size_t letters = strlen(key);
    if (length < letters || strncmp(text, key, letters) != 0) return NULL;
    for (int i = 0; i < MAX_SIZES && which->sizes[i].name; i++)
        if (pgcn_i_is_word(text + letters, length - letters, which->sizes[i].name))
            return which->sizes[i].settings;
    return NULL;
}

static setting *setting_of(setting *settings, const char *key) {
    for (int i = 0; i < MAX_SETTINGS && settings[i].key; i++)
        if (strcmp(settings[i].key, key) == 0) return &settings[i];
    return NULL;
}

/* A setting after a size replaces the value of the size. */
static pgcn_status parse_list(const char *name, const builtin *which, const char *text,
                              setting *settings) {
    PGCN_TRY(pgcn_i_check_repeats(text));
    while (*text) {
        size_t item = strcspn(text, ",");
        const char *several = settings_of_size(which, text, item);
        PGCN_TRY(several ? parse_list(name, which, several, settings)
                         : parse_setting(name, which, text, item, settings));
        text += item + (text[item] == ',');
    }
    return PGCN_OK;
}

/* Parses a list of settings. Edges that nobody has given go with the nodes. */
static pgcn_status parse_settings(const char *name, const builtin *which, const char *text,
                                  setting *settings) {
    PGCN_TRY(parse_list(name, which, text, settings));
    setting *edges = setting_of(settings, "edges");
    if (edges && edges->value == 0)
        edges->value = LAW_EDGES_OF_NODE * setting_of(settings, "nodes")->value;
    return PGCN_OK;
}

static const builtin *find_builtin(const char *name) {
    for (int i = 0; i < BUILTINS; i++)
        if (pgcn_i_is_word(name, strcspn(name, ":"), builtins[i].name)) return &builtins[i];
    return NULL;
}

bool pgcn_i_builtin_knows(const char *name) {
    return find_builtin(name) != NULL;
}

bool pgcn_i_builtin_has_steps(const char *name) {
    const builtin *which = find_builtin(name);
    const char *colon = strchr(name, ':');
    if (!which || !colon) return false;
    if (strchr(colon + 1, ':')) return true;
    size_t letters = strcspn(colon + 1, "=,");
    for (int i = 0; i < MAX_SETTINGS && which->settings[i].key; i++)
        if (pgcn_i_is_word(colon + 1, letters, which->settings[i].key)) return false;
    return !pgcn_i_is_word(colon + 1, letters, "size");
}

static double value_of(setting *settings, const char *key) {
    const setting *found = setting_of(settings, key);
    return found ? found->value : 0;
}

pgcn_i_data_size pgcn_i_builtin_size(const char *name) {
    const builtin *which = find_builtin(name);
    const char *colon = strchr(name, ':');
    char list[PGCN_I_PATH_BYTES] = "";
    if (!which) return (pgcn_i_data_size){0};
    setting settings[MAX_SETTINGS];
    memcpy(settings, which->settings, sizeof settings);
    if (colon && !(pgcn_i_builtin_has_steps(name) && !strchr(colon + 1, ':')))
        snprintf(list, sizeof list, "%.*s", (int)strcspn(colon + 1, ":"), colon + 1);
    if (parse_settings(name, which, list, settings) != PGCN_OK) return (pgcn_i_data_size){0};
    double nodes = value_of(settings, "nodes"), edges = value_of(settings, "edges");
    if (edges == 0) edges = nodes * value_of(settings, "degree") / 2;
    return (pgcn_i_data_size){(int64_t)nodes, (int64_t)edges,
                              (int64_t)value_of(settings, "features")};
}

pgcn_status pgcn_i_builtin_read(const char *name, bool *found, pgcn_i_source *source) {
    const char *colon = strchr(name, ':');
    const builtin *which = find_builtin(name);
    *found = which != NULL;
    if (!which) return PGCN_OK;
    setting settings[MAX_SETTINGS];
    memcpy(settings, which->settings, sizeof settings);
    PGCN_TRY(parse_settings(name, which, colon ? colon + 1 : "", settings));
    source->format = "built in";
    source->split_origin = "made here: a fixed number per class, seeded like the graph";
    return which->make(name, settings, source);
}

/* ---- splits ------------------------------------------------------------------------------ */

/* Like the public splits of the citation graphs: 20 training nodes per class (a tenth of a small
 * class) and 500 validation nodes (a fifth of a small graph) spread evenly over the classes. */
static pgcn_status draw_usual_splits(pgcn_i_source *source, uint64_t seed) {
    int64_t *train = PGCN_I_ARRAY(&source->arena, int64_t, source->classes);
    int64_t *val = PGCN_I_ARRAY(&source->arena, int64_t, source->classes);
    if (!train || !val) return PGCN_ERR_MEMORY;
    int64_t n = source->nodes, val_total = n / 5 < 500 ? n / 5 : 500;
    for (int64_t i = 0; i < n; i++) train[source->label[i]]++; /* first the size of the class */
    for (int c = 0; c < source->classes; c++) {
        int64_t tenth = train[c] / 10;
        train[c] = tenth < 1 ? 1 : tenth < 20 ? tenth : 20;
        val[c] = val_total / source->classes + (c < val_total % source->classes);
    }
    pgcn_i_quotas quotas = {.items = n,
                            .class_of = source->label,
                            .classes = source->classes,
                            .quota = {train, val, NULL}};
    return pgcn_i_draw_splits(source, &quotas, seed, SPLITS);
}

/* ---- karate ------------------------------------------------------------------------------ */

enum { KARATE_NODES = 34, KARATE_EDGES = 78 };

/* W. W. Zachary, An information flow model for conflict and fission in small groups (1977),
 * members counted from 0: node 0 is the instructor Mr. Hi, node 33 the officer. */
/* clang-format off */
static const pgcn_node karate_edge[KARATE_EDGES][2] = {
    {0, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}, {2, 3}, {0, 4}, {0, 5}, {0, 6}, {4, 6},
    {5, 6}, {0, 7}, {1, 7}, {2, 7}, {3, 7}, {0, 8}, {2, 8}, {2, 9}, {0, 10}, {4, 10},
    {5, 10}, {0, 11}, {0, 12}, {3, 12}, {0, 13}, {1, 13}, {2, 13}, {3, 13}, {5, 16}, {6, 16},
    {0, 17}, {1, 17}, {0, 19}, {1, 19}, {0, 21}, {1, 21}, {23, 25}, {24, 25}, {2, 27}, {23, 27},
    {24, 27}, {2, 28}, {23, 29}, {26, 29}, {1, 30}, {8, 30}, {0, 31}, {24, 31}, {25, 31}, {28, 31},
    {2, 32}, {8, 32}, {14, 32}, {15, 32}, {18, 32}, {20, 32}, {22, 32}, {23, 32}, {29, 32},
    {30, 32}, {31, 32}, {8, 33}, {9, 33}, {13, 33}, {14, 33}, {15, 33}, {18, 33}, {19, 33},
    {20, 33}, {22, 33}, {23, 33}, {26, 33}, {27, 33}, {28, 33}, {29, 33}, {30, 33}, {31, 33},
    {32, 33},
};
/* The club a member joined after the fission: 0 Mr. Hi's, 1 the officer's. */
static const int32_t karate_club[KARATE_NODES] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0,
    0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
};
/* clang-format on */

static pgcn_status make_karate(const char *name, const setting *settings, pgcn_i_source *source) {
    (void)name;
    (void)settings;
    static const int64_t quota[2] = {4, 4};
    pgcn_node from[KARATE_EDGES], to[KARATE_EDGES];
    for (int e = 0; e < KARATE_EDGES; e++) {
        from[e] = karate_edge[e][0];
        to[e] = karate_edge[e][1];
    }
    int64_t *offset = PGCN_I_ARRAY(&source->arena, int64_t, KARATE_NODES + 1);
    int32_t *column = PGCN_I_ARRAY(&source->arena, int32_t, KARATE_NODES);
    float *value = PGCN_I_ARRAY(&source->arena, float, KARATE_NODES);
    if (!offset || !column || !value) return PGCN_ERR_MEMORY;
    /* members have no features: each gets a column of its own */
    for (int i = 0; i < KARATE_NODES; i++) {
        offset[i + 1] = i + 1;
        column[i] = i;
        value[i] = 1.0f;
    }
    source->nodes = KARATE_NODES;
    source->label = karate_club;
    source->classes = 2;
    source->x = (pgcn_i_features){.n = KARATE_NODES,
                                  .columns = KARATE_NODES,
                                  .nonzeros = KARATE_NODES,
                                  .offset = offset,
                                  .column = column,
                                  .value = value};
    pgcn_i_quotas quotas = {.items = KARATE_NODES,
                            .class_of = karate_club,
                            .classes = 2,
                            .quota = {quota, quota, NULL}};
    PGCN_TRY(pgcn_i_draw_splits(source, &quotas, 0, SPLITS));
    return pgcn_graph_from_edges(KARATE_NODES, KARATE_EDGES, from, to, NULL, NULL, &source->graph);
}

/* ---- sbm --------------------------------------------------------------------------------- */

/* Length of the class means. At the default noise of 2 and 32 features, the nearest of the class
 * means estimated from 20 training nodes each finds 66 to 70 per cent of the test labels (seeds
 * 0, 1, 2), and 99 per cent after averaging each node with its neighbours twice. */
static const double sbm_mean_length = 3.5;

/* Classes are blocks of a random order of the nodes: class c holds positions
 * block_begin(c) .. block_begin(c + 1) - 1 of it. */
typedef struct blocks {
    int64_t n;
    int classes;
    const pgcn_node *order;  /* [n] */
    const int32_t *label;    /* [n] by node */
    const int64_t *position; /* [n] by node */
} blocks;

static int64_t block_begin(const blocks *model, int class) {
    return model->n * class / model->classes;
}

/* Draw e: a node, then with probability `homophily` another one of its class, else one of the
 * other classes. Never the node itself. */
static void draw_edge(const blocks *model, pgcn_i_rng_domain domain, int64_t e, double homophily,
                      pgcn_node *source, pgcn_node *target) {
    pgcn_i_stream stream = pgcn_i_stream_of(domain, (uint64_t)e);
    pgcn_node node = (pgcn_node)pgcn_i_bounded(&stream, (uint32_t)model->n);
    int class = model->label[node];
    int64_t begin = block_begin(model, class), end = block_begin(model, class + 1), position;
    if (pgcn_i_unit_double(&stream) < homophily) {
        position = begin + pgcn_i_bounded(&stream, (uint32_t)(end - begin - 1));
        if (position >= model->position[node]) position++; /* skips the node itself */
    } else {
        position = pgcn_i_bounded(&stream, (uint32_t)(model->n - (end - begin)));
        if (position >= begin) position += end - begin; /* skips its class */
    }
    *source = node;
    *target = model->order[position];
}

static pgcn_status draw_sbm_graph(const blocks *model, const setting *settings, pgcn_graph **out) {
    double draws = floor((double)model->n * settings[SBM_DEGREE].value / 2.0 + 0.5);
    int64_t m = (int64_t)draws; /* at most 10^7 * 10^3 / 2 */
    pgcn_i_rng_domain domain = pgcn_i_data_domain(settings[SBM_SEED].seed, PGCN_I_DRAW_EDGE, 0);
    pgcn_i_arena arena = {0};
    pgcn_node *source = PGCN_I_ARRAY(&arena, pgcn_node, m);
    pgcn_node *target = PGCN_I_ARRAY(&arena, pgcn_node, m);
    pgcn_status status = PGCN_ERR_MEMORY;
    if (source && target) {
        for (int64_t e = 0; e < m; e++)
            draw_edge(model, domain, e, settings[SBM_HOMOPHILY].value, &source[e], &target[e]);
        status = pgcn_graph_from_edges(model->n, m, source, target, NULL, NULL, out);
    }
    pgcn_i_arena_free(&arena); /* freed before the features are made: the peak is lower */
    return status;
}

/* x = mean of the class + noise * N(0, I); the means are random directions of one length. */
static pgcn_status draw_sbm_features(pgcn_i_arena *arena, const blocks *model,
                                     const setting *settings, pgcn_i_features *x) {
    uint64_t seed = settings[SBM_SEED].seed;
    int64_t columns = (int64_t)settings[SBM_FEATURES].value, count;
    if (!pgcn_i_mul(model->n, columns, &count))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "sbm: nodes times features is too large");
    float *dense = PGCN_I_ARRAY(arena, float, count);
    double *mean = PGCN_I_ARRAY(arena, double, model->classes *columns);
    if (!dense || !mean) return PGCN_ERR_MEMORY;
    for (int c = 0; c < model->classes; c++) {
        pgcn_i_stream stream =
            pgcn_i_stream_of(pgcn_i_data_domain(seed, PGCN_I_DRAW_MEAN, 0), (uint64_t)c);
        double *row = mean + c * columns, squares = 0;
        for (int64_t f = 0; f < columns; f++) {
            row[f] = pgcn_i_normal(&stream);
            squares += row[f] * row[f];
        }
        for (int64_t f = 0; f < columns; f++) row[f] *= sbm_mean_length / sqrt(squares);
    }
    for (int64_t i = 0; i < model->n; i++) {
        pgcn_i_stream stream =
            pgcn_i_stream_of(pgcn_i_data_domain(seed, PGCN_I_DRAW_FEATURE, 0), (uint64_t)i);
        const double *row = mean + model->label[i] * columns;
        for (int64_t f = 0; f < columns; f++)
            dense[i * columns + f] =
                (float)(row[f] + settings[SBM_NOISE].value * pgcn_i_normal(&stream));
    }
    *x = (pgcn_i_features){.n = model->n, .columns = columns, .dense = dense};
    return PGCN_OK;
}

static pgcn_status check_classes(const char *name, int64_t nodes, int classes) {
    if (nodes >= 3 * (int64_t)classes) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "data set '%.200s': nodes=%lld is too few for classes=%d, expected at "
                       "least three nodes per class",
                       name, (long long)nodes, classes);
}

static pgcn_status make_sbm(const char *name, const setting *settings, pgcn_i_source *source) {
    uint64_t seed = settings[SBM_SEED].seed;
    int64_t n = (int64_t)settings[SBM_NODES].value;
    int classes = (int)settings[SBM_CLASSES].value;
    PGCN_TRY(check_classes(name, n, classes));
    int32_t *label = PGCN_I_ARRAY(&source->arena, int32_t, n);
    pgcn_node *order = PGCN_I_ARRAY(&source->edge_arena, pgcn_node, n);
    int64_t *position = PGCN_I_ARRAY(&source->edge_arena, int64_t, n);
    if (!order || !label || !position) return PGCN_ERR_MEMORY;
    blocks model = {n, classes, order, label, position};
    pgcn_i_shuffle(pgcn_i_data_domain(seed, PGCN_I_DRAW_ORDER, 0), n, order);
    for (int c = 0; c < classes; c++)
        for (int64_t at = block_begin(&model, c); at < block_begin(&model, c + 1); at++) {
            label[order[at]] = c;
            position[order[at]] = at;
        }
    source->nodes = n;
    source->label = label;
    source->classes = classes;
    PGCN_TRY(draw_sbm_graph(&model, settings, &source->graph));
    PGCN_TRY(draw_sbm_features(&source->arena, &model, settings, &source->x));
    pgcn_i_arena_free(&source->edge_arena);
    return draw_usual_splits(source, seed);
}

/* ---- grid -------------------------------------------------------------------------------- */

enum { GRID_FEATURES = 8 }; /* two noisy indicators of the class, six columns of noise */

static pgcn_status draw_grid_graph(int64_t rows, int64_t cols, pgcn_graph **out) {
    pgcn_i_arena arena = {0};
    int64_t m = 0, most = 2 * rows * cols;
    pgcn_node *source = PGCN_I_ARRAY(&arena, pgcn_node, most);
    pgcn_node *target = PGCN_I_ARRAY(&arena, pgcn_node, most);
    pgcn_status status = PGCN_ERR_MEMORY;
    if (source && target) {
        for (int64_t i = 0; i < rows * cols; i++) {
            if (i % cols + 1 < cols) source[m] = (pgcn_node)i, target[m++] = (pgcn_node)(i + 1);
            if (i / cols + 1 < rows) source[m] = (pgcn_node)i, target[m++] = (pgcn_node)(i + cols);
        }
        status = pgcn_graph_from_edges(rows * cols, m, source, target, NULL, NULL, out);
    }
    pgcn_i_arena_free(&arena);
    return status;
}

/* Neighbours always have the other class: averaging mixes the two, and an operator that can
 * subtract neighbours (an edge detector) keeps them apart. */
static pgcn_status make_grid(const char *name, const setting *settings, pgcn_i_source *source) {
    int64_t rows = (int64_t)settings[GRID_ROWS].value, cols = (int64_t)settings[GRID_COLS].value;
    int64_t n = rows * cols; /* at most 10^8 */
    uint64_t seed = settings[GRID_SEED].seed;
    if (n < 10 || n > (int64_t)NODES_MOST)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "data set '%.200s': rows=%lld and cols=%lld make %lld nodes, expected "
                           "10 to %.0f",
                           name, (long long)rows, (long long)cols, (long long)n, NODES_MOST);
    int32_t *label = PGCN_I_ARRAY(&source->arena, int32_t, n);
    float *dense = PGCN_I_ARRAY(&source->arena, float, n *GRID_FEATURES);
    if (!label || !dense) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) {
        pgcn_i_stream stream =
            pgcn_i_stream_of(pgcn_i_data_domain(seed, PGCN_I_DRAW_FEATURE, 0), (uint64_t)i);
        label[i] = (int32_t)((i / cols + i % cols) % 2);
        for (int f = 0; f < GRID_FEATURES; f++)
            dense[i * GRID_FEATURES + f] =
                (float)((f == label[i]) + settings[GRID_NOISE].value * pgcn_i_normal(&stream));
    }
    source->nodes = n;
    source->label = label;
    source->classes = 2;
    source->x = (pgcn_i_features){.n = n, .columns = GRID_FEATURES, .dense = dense};
    PGCN_TRY(draw_usual_splits(source, seed));
    return draw_grid_graph(rows, cols, &source->graph);
}

/* ---- powerlaw ---------------------------------------------------------------------------- */

/* Beyond that most edges would be drawn twice. */
enum { LAW_LEAST_PAIRS_PER_EDGE = 4 };

static pgcn_status make_powerlaw(const char *name, const setting *settings, pgcn_i_source *source) {
    pgcn_i_powerlaw set = {.nodes = (int64_t)settings[LAW_NODES].value,
                           .edges = (int64_t)settings[LAW_EDGES].value,
                           .features = (int64_t)settings[LAW_FEATURES].value,
                           .classes = (int)settings[LAW_CLASSES].value,
                           .exponent = settings[LAW_EXPONENT].value,
                           .homophily = settings[LAW_HOMOPHILY].value,
                           .local = settings[LAW_LOCAL].value,
                           .seed = settings[LAW_SEED].seed};
    int64_t most = set.nodes * (set.nodes - 1) / 2 / LAW_LEAST_PAIRS_PER_EDGE;
    PGCN_TRY(check_classes(name, set.nodes, set.classes));
    if (set.edges > most)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "data set '%.200s': edges=%lld is too many for nodes=%lld, expected at "
                           "most %lld",
                           name, (long long)set.edges, (long long)set.nodes, (long long)most);
    return pgcn_i_powerlaw_make(&set, source);
}
