/* The configuration as a table: name, type, range and meaning of every field, once. The command
 * line, its help, the checkpoint's JSON and the recipes are all driven by it. */
#include "train/train.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum field_type {
    FIELD_INT,
    FIELD_REAL,
    FIELD_BOOL,
    FIELD_ENUM,
    FIELD_SEED,
    FIELD_SPLIT,
    FIELD_WEIGHTS,
    FIELD_COUNTS,   /* whole numbers with commas between them, or the first word of the choices */
    FIELD_OWN,      /* of some networks only, see models.h: a number or a word, */
    FIELD_OWN_WHOLE /* or a whole number */
} field_type;

typedef struct field {
    const char *key;
    field_type type;
    size_t place;
    double low, high;    /* inclusive */
    const char *choices; /* enumerators in order, separated by " | " */
    const char *help;
    const char *group;
} field;

#define AT(name) offsetof(pgcn_config, name)
#define INT(key, name, low, high, help)                                                            \
    { key, FIELD_INT, AT(name), low, high, NULL, help, GROUP }
#define REAL(key, name, low, high, help)                                                           \
    { key, FIELD_REAL, AT(name), low, high, NULL, help, GROUP }
#define BOOL(key, name, help)                                                                      \
    { key, FIELD_BOOL, AT(name), 0, 1, "no | yes", help, GROUP }
#define ENUM(key, name, choices, help)                                                             \
    { key, FIELD_ENUM, AT(name), 0, 0, choices, help, GROUP }

/* clang-format off */
static const field fields[] = {
#define GROUP "model"
    INT ("layers", layers, 1, 4096, "layers L"),
    INT ("channels", channels, 1, 65536, "channels c of the hidden layers"),
    INT ("path-length", path_length, 1, PGCN_MAX_PATH_LENGTH, "nodes k of a path, its start included; 1 is an MLP"),
    INT ("paths", paths, 1, PGCN_MAX_PATHS, "random walks p from every node"),
    ENUM("kernel", kernel, "global | layer | depthwise | full", "what has path weights of its own: all layers together, a layer, a channel, or every pair of channels"),
    ENUM("kernel-start", kernel_start, "smooth | identity | random | neighbours", "path weights before training: falling along the path (hops), all on the node itself, drawn, or all on the first step"),
    REAL("hops", hops, 0, 1e6, "hops that a smooth start walks on average, over all layers together"),
    REAL("kernel-noise", kernel_noise, 0, 100, "standard deviation of noise added to the kernel start"),
    ENUM("mix", mix, "identity | random", "1x1 weights before training; identity also decays towards the identity"),
    ENUM("residual", residual, "none | initial | previous", "what a layer's result is mixed with: nothing, the embedding H0, its input"),
    REAL("alpha", alpha, 0, 1, "share of the residual"),
    ENUM("scaling", scaling, "walk | symmetric | sum", "visits averaged as walked (rows of D^-1 A), or scaled to D^-1/2 A D^-1/2; sum: added up over the neighbours, which needs the exact form"),
    BOOL("self-loops", self_loops, "staying is one extra choice of every step"),
    BOOL("batch-norm", batch_norm, "batch norm before the ReLU of every layer"),
    ENUM("walk", walk, "uniform | weighted | node2vec", "how a walk chooses its next node; weighted: edge weights count, in exact form too"),
    REAL("return-p", return_p, 1e-6, 1e6, "node2vec p: large values avoid going back"),
    REAL("inout-q", inout_q, 1e-6, 1e6, "node2vec q: large values stay near"),
    REAL("dropout", dropout, 0, 0.999, "share of inputs dropped before the first and the last layer"),
    REAL("dropout-last", dropout_last, -1, 0.999, "share dropped before the last layer alone; -1: as --dropout"),
    REAL("drop-rows", drop_rows, 0, 0.999, "share of nodes whose embedding, or whose inputs before they are smoothed, are dropped"),
    ENUM("normalise", normalise, "auto | none | rows | standardise", "rows: divide each feature row by the sum of its magnitudes; standardise: each column to mean 0 and deviation 1 on the training nodes; auto: rows if features are sparse, else standardise"),
    ENUM("direction", direction, "forward | backward", "walks along the edges or against them; matters on directed graphs (name:directed)"),
    REAL("input-hops", input_hops, 0, 1e6, "hops that the inputs are smoothed by, along the paths, before the first layer; 0: none"),
    BOOL("input-norm", input_norm, "batch norm of these smoothed inputs, with a gain and a shift for each that are learnt with the first layer"),
    REAL("dropout-hidden", dropout_hidden, 0, 0.999, "share of a layer's results dropped before the next one"),
    ENUM("model", model, NULL, "the network; 'pathgcn train --model NAME --help' lists what it takes"), /* choices: the table of networks */
    ENUM("readout", readout, "linear | relu | layers", "where graphs are classified: the sum of the last layer and two 1x1 convolutions, with a ReLU between them or not; layers: a 1x1 convolution for the sum of every layer"),
    REAL("frequency", frequency, -4, 4, "features are multiplied by the share of training nodes that have them, to this power, before rows are normalised: above 0 common ones count more, below 0 rare ones (as idf has it), 0: all alike; not of standardised features"),
#undef GROUP
#define GROUP "training"
    ENUM("train-form", train_form, "sampled | exact", "train on sampled paths or on the exact operator"),
    INT ("samples", samples, 1, 64, "independent samples S of paths and dropout per step"),
    REAL("consistency", consistency, 0, 1e6, "weight of the consistency loss between samples"),
    REAL("temperature", temperature, 0.01, 100, "temperature of its sharpened target"),
    INT ("consistency-ramp", consistency_ramp, 0, 1000000, "epochs over which that weight rises from 0"),
    REAL("lr-ends", lr_ends, 0, 100, "learning rate of the first and last layer"),
    REAL("lr-mix", lr_mix, 0, 100, "learning rate of the layers in between: 1x1 convolutions, or what a network has there"),
    REAL("lr-kernel", lr_kernel, 0, 100, "learning rate of the path kernels, of egnn's thresholds, pde-gcn-m's mixture, or grand's rate and source; 0 freezes them"),
    REAL("wd-ends", wd_ends, 0, 1e6, "weight decay of the first and last layer"),
    REAL("wd-mix", wd_mix, 0, 1e6, "weight decay of the other layers, towards 0, or of 1x1 convolutions that start at the identity towards it"),
    REAL("wd-kernel", wd_kernel, 0, 1e6, "weight decay of the path kernels, towards their start, or 0 if that is random; of all others towards 0"),
    INT ("resample-every", resample_every, 0, 1000000, "steps between two samples of paths; 0: one sample for ever"),
    BOOL("paths-per-layer", paths_per_layer, "a sample of paths for each layer instead of one for all"),
    INT ("epochs", epochs, 1, 1000000, "most epochs"),
    INT ("patience", patience, 0, 1000000, "epochs without better validation loss or accuracy (or what --select names) after which training stops; 0: it never stops early"),
    ENUM("select", select, "loss | accuracy | balanced-accuracy | macro-f1 | auc | average-precision", "which validation figure chooses the weights that are kept; the lower loss between equal ones"),
    INT ("eval-every", eval_every, 1, 1000000, "epochs between two evaluations"),
    BOOL("allow-missing-class", allow_missing_class, "train although a class has no training node"),
    {"split", FIELD_SPLIT, AT(split), 0, 0, "auto | public | numbered | 0, 1, 2, ...", "which split; numbered: the seed's number modulo the numbered ones; auto: public, or else numbered", GROUP},
    {"seed", FIELD_SEED, AT(seed), 0, 0, "0..9223372036854775807", "seed of all random numbers", GROUP},
    BOOL("bf16", bf16, "the rows that paths visit are read in bf16, two bytes a number, and summed in float; on graphs beyond the cache a tenth faster"),
    INT ("batch", batch, 0, 1000000000, "graphs of a step where there are many; of one graph, if it is set, training nodes of a step; 0: all"),
    INT ("steps", steps, 0, 1000000, "steps of an epoch, of many graphs or in batches of nodes; 0: every training graph, or node, once"),
    INT ("lr-halve", lr_halve, 0, 1000000, "epochs after which the learning rates are halved, again and again; 0: never"),
    {"class-weights", FIELD_WEIGHTS, AT(class_weights), 1e-6, 1e6, "none | balanced | W,W,... | FILE", "weights of the classes in the training loss; balanced: rare classes count as much as frequent ones; or a number for each class, in their order; FILE (command line): a line class,weight for each", GROUP},
    ENUM("batch-by", batch_by, "auto | nodes | cluster", "what a step of one graph has; nodes: `batch` training nodes and the rows that they need, layer by layer; cluster: some of `parts` parts of the graph, for every network; auto: nodes if batch is set, else all of it"),
    {"neighbours", FIELD_COUNTS, AT(neighbours), 1, PGCN_MOST_NEIGHBOURS, "all | N,N,...", "in batches of nodes, of networks without paths: neighbours that are drawn for a node of the last layer, of the one before, ...; the last number goes on", GROUP},
    {"batch-paths", FIELD_COUNTS, AT(batch_paths), 1, PGCN_MAX_PATHS, "all | N,N,...", "in batches of nodes: paths of a node of the last layer, of the one before, ..., at most `paths`; the last number goes on", GROUP},
    INT ("unlabelled", unlabelled, 0, 1000000000, "in batches of nodes: nodes without a training label beside those of the batch, for the consistency of samples"),
    INT ("parts", parts, 2, 1000000, "with batch-by cluster: parts that the graph is cut into"),
    INT ("parts-per-step", parts_per_step, 1, 1000000, "with batch-by cluster: parts of a step"),
    ENUM("parts-by", parts_by, "auto | metis | builtin", "with batch-by cluster: who cuts the graph; auto: METIS where the program has it (pathgcn info), which belongs to the run from then on"),
    ENUM("hidden-rows", hidden_rows, "float32 | bf16", "of pathgcn with drawn paths: type of the hidden rows that a step keeps for its backward pass; bf16, with sums and weights in float: half the memory, and with wide rows beyond the cache faster; in one process"),
    REAL("diagonal", diagonal, 0, 100, "of networks without paths: T + diagonal diag(T) in place of T, in all forms; Cluster-GCN's diagonal enhancement"),
    INT ("eval-nodes", eval_nodes, 0, 1000000000, "in batches of nodes: how many validation and how many test nodes an evaluation looks at, by drawn paths; 0: all, on the whole graph, without drawing"),
    REAL("clip", clip, 0, 1e6, "greatest norm of a step's gradient, of all trained weights together and without decay; a longer one is scaled down to it; 0: any"),
    INT ("pseudo-labels", pseudo_labels, 0, 1000000000, "nodes of every class that train too: those which neither train nor validate and are most probably of it, chosen anew for every step; 0: none"),
    INT ("pseudo-from", pseudo_from, 1, 1000000, "epochs before the first pseudo-labels"),
#undef GROUP
#define GROUP "run"
    INT ("threads", threads, 0, 1024, "threads; 0: one per core; no influence on any result"),
    BOOL("recompute", recompute, "deep networks in less memory: most values are recomputed in the backward pass and not kept; slower, no influence on any result"),
#undef GROUP
};
/* clang-format on */
enum { SHARED = sizeof fields / sizeof *fields };
_Static_assert(SHARED + PGCN_MOST_OWN <= PGCN_MOST_SETTINGS, "origin has an entry per field");

/* Field i: the shared ones, then those that only some networks have. False after the last. */
static bool field_at(int i, field *out) {
    if (i < 0) return false;
    if (i < SHARED) {
        *out = fields[i];
        if (out->type == FIELD_ENUM && !out->choices) out->choices = pgcn_i_network_names();
        return true;
    }
    const pgcn_i_setting *own = pgcn_i_own_setting(i - SHARED);
    if (!own) return false;
    *out = (field){.key = own->key,
                   .type = own->whole ? FIELD_OWN_WHOLE : FIELD_OWN,
                   .place = AT(own) + (size_t)(i - SHARED) * sizeof(double),
                   .low = own->low,
                   .high = own->high,
                   .choices = own->choices,
                   .help = own->help,
                   .group = "model"};
    return true;
}

/* The semi-supervised recipe for citation graphs at two layers. */
pgcn_config pgcn_config_default(void) {
    pgcn_config config = {
        .size = sizeof(pgcn_config),
        .layers = 2,
        .channels = 64,
        .path_length = 5,
        .paths = 5,
        .kernel = PGCN_KERNEL_DEPTHWISE,
        .kernel_start = PGCN_START_SMOOTH,
        .hops = 4,
        .mix = PGCN_MIX_IDENTITY,
        .residual = PGCN_RESIDUAL_INITIAL,
        .alpha = 0.1,
        .scaling = PGCN_SCALING_SYMMETRIC,
        .self_loops = true,
        .return_p = 1,
        .inout_q = 1,
        .dropout = 0.6,
        .dropout_last = -1,
        .samples = 2,
        .consistency = 1.5,
        .temperature = 0.5,
        .consistency_ramp = 100,
        .pseudo_from = 100,
        .lr_ends = 1e-2,
        .lr_mix = 1e-2,
        .lr_kernel = 1e-2,
        .wd_ends = 5e-4,
        .wd_mix = 2,
        .wd_kernel = 1,
        .resample_every = 1,
        .epochs = 1500,
        .patience = 100,
        .eval_every = 1,
        .split = "auto",
        .class_weights = "none",
        .batch = 32,
        .neighbours = "all",
        .batch_paths = "all",
        .parts = 50,
        .parts_per_step = 1,
    };
    const pgcn_i_setting *own;
    for (int i = 0; (own = pgcn_i_own_setting(i)); i++) config.own[i] = own->preset;
    return config;
}

pgcn_status pgcn_i_config_copy(const pgcn_config *given, pgcn_config *out) {
    *out = pgcn_config_default();
    return pgcn_i_opts_over(out, sizeof *out, given, "pgcn_config_default");
}

const char *pgcn_network_name(int i) {
    const pgcn_i_network *network = pgcn_i_network_at(i);
    return network ? network->name : NULL;
}
const char *pgcn_network_about(int i) {
    const pgcn_i_network *network = pgcn_i_network_at(i);
    return network ? network->about : NULL;
}

/* ---- text to field and back ------------------------------------------------------------------ */

/* lr_mix, Dropout and batchnorm are spelt with the letters of a setting. */
static bool same_letters(const char *a, const char *b) {
    for (;; a++, b++) {
        while (*a && !isalnum((unsigned char)*a)) a++;
        while (*b && !isalnum((unsigned char)*b)) b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return false;
        if (*a == '\0') return true;
    }
}

static pgcn_status fail_unknown(const char *key) {
    const char *meant = NULL;
    field f;
    for (int i = 0; field_at(i, &f); i++)
        if (same_letters(f.key, key)) meant = f.key;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "there is no setting '%s' (%s%s%spathgcn train --help all lists them)", key,
                       meant ? "did you mean " : "", meant ? meant : "", meant ? "? " : "");
}

/* The field of that name in a struct of `size` bytes: one filled by a program that was compiled
 * against an older header ends before the newer fields. */
static pgcn_status find_field(const char *key, size_t size, field *out, int *number) {
    for (int i = 0; field_at(i, out); i++)
        if (strcmp(out->key, key) == 0 && out->place < size) {
            *number = i;
            return PGCN_OK;
        }
    return fail_unknown(key);
}

static void accepted(const field *f, char *out, size_t bytes) {
    if (f->choices)
        snprintf(out, bytes, "%s", f->choices);
    else
        snprintf(out, bytes, "%.10g..%.10g", f->low, f->high);
}

const char *pgcn_i_config_key(int i) {
    field f;
    return field_at(i, &f) ? f.key : NULL;
}

int pgcn_i_config_number(const char *key) {
    const char *other;
    for (int i = 0; (other = pgcn_i_config_key(i)); i++)
        if (strcmp(other, key) == 0) return i;
    return -1;
}

bool pgcn_config_field(int i, pgcn_field *out) {
    static _Thread_local char text[512];
    field f;
    if (!field_at(i, &f)) return false;
    accepted(&f, text, sizeof text);
    if (out) *out = (pgcn_field){f.key, text, f.help, f.group, i >= SHARED};
    return true;
}

/* Index of `value` in "a | b | c", -1 if it is not there; and the word at an index. */
static int choice_index(const char *choices, const char *value) {
    size_t length = strlen(value);
    for (int index = 0;; index++) {
        size_t word = strcspn(choices, " ");
        if (word == length && memcmp(choices, value, word) == 0) return index;
        choices += word;
        if (strncmp(choices, " | ", 3) != 0) return -1;
        choices += 3;
    }
}
static void choice_word(const char *choices, int index, char *out, size_t bytes) {
    while (index-- > 0) choices = strstr(choices, " | ") + 3;
    snprintf(out, bytes, "%.*s", (int)strcspn(choices, " "), choices);
}

/* The choice that is spelt with the same letters: "GCN" is gcn. False if there is none. */
static bool nearest_choice(const field *f, const char *value, char out[64]) {
    for (int i = 0; f->choices; i++) {
        const char *at = f->choices;
        for (int skip = i; skip > 0 && at; skip--)
            at = strstr(at, " | ") ? strstr(at, " | ") + 3 : NULL;
        if (!at) return false;
        snprintf(out, 64, "%.*s", (int)strcspn(at, " "), at);
        if (same_letters(out, value)) return true;
    }
    return false;
}

static pgcn_status refuse(const field *f, const char *value) {
    char range[512], meant[64];
    bool near = nearest_choice(f, value, meant);
    accepted(f, range, sizeof range);
    return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s is '%s', expected %s (%s%s%s%s)", f->key, value,
                       range, near ? "did you mean " : "", near ? meant : "", near ? "? " : "",
                       f->help);
}

/* Each writes *out only if the text is accepted. */
static bool parse_real(const field *f, const char *value, double *out) {
    double number;
    if (!pgcn_number_parse(value, &number) || number < f->low || number > f->high) return false;
    *out = number + 0.0; /* -0 is 0 */
    return true;
}

/* Whole numbers only: 1e3 is fine, 2.5 is not. */
static bool parse_int(const field *f, const char *value, int *out) {
    int64_t number;
    if (!pgcn_integer_parse(value, (int64_t)f->low, (int64_t)f->high, &number)) return false;
    *out = (int)number;
    return true;
}

static bool parse_seed(const char *value, uint64_t *out) {
    int64_t seed;
    if (!pgcn_integer_parse(value, 0, PGCN_MAX_SEED, &seed)) return false;
    *out = (uint64_t)seed;
    return true;
}

static bool parse_bool(const char *value, bool *out) {
    static const char *const words[] = {"no", "yes", "false", "true", "0", "1"};
    for (int i = 0; i < 6; i++)
        if (strcmp(value, words[i]) == 0) {
            *out = i % 2;
            return true;
        }
    return false;
}

static bool parse_choice(const field *f, const char *value, int *out) {
    int index = choice_index(f->choices, value);
    if (index >= 0) *out = index;
    return index >= 0;
}

/* A number, or the number of a word; all are kept as doubles. */
static bool parse_own(const field *f, const char *value, double *out) {
    int index;
    if (!f->choices) return parse_real(f, value, out);
    if (!parse_choice(f, value, &index)) return false;
    *out = index;
    return true;
}
static bool parse_own_whole(const field *f, const char *value, double *out) {
    int number;
    if (!parse_int(f, value, &number)) return false;
    *out = number;
    return true;
}

static bool parse_split(const char *value, char *out, size_t bytes) {
    size_t digits = strspn(value, "0123456789");
    if (strcmp(value, "auto") != 0 && strcmp(value, "public") != 0 &&
        strcmp(value, "numbered") != 0 && (digits == 0 || digits >= 10 || value[digits] != '\0'))
        return false;
    snprintf(out, bytes, "%s", value);
    return true;
}

/* none, balanced, or positive numbers with commas between them. */
static bool parse_weights(const field *f, const char *value, char *out, size_t bytes) {
    char number[64];
    const char *at = value;
    bool words = strcmp(value, "none") == 0 || strcmp(value, "balanced") == 0;
    if (strlen(value) >= bytes) return false;
    while (!words) {
        double weight;
        size_t length = strcspn(at, ",");
        snprintf(number, sizeof number, "%.*s", (int)length, at);
        if (length >= sizeof number || !parse_real(f, number, &weight)) return false;
        at += length;
        if (*at++ == '\0') break;
    }
    memmove(out, value, strlen(value) + 1);
    return true;
}

static bool parse_counts(const field *f, const char *value, char *out, size_t bytes) {
    if (strlen(value) >= bytes) return false;
    for (const char *at = value; strcmp(value, "all") != 0;) {
        char number[16];
        int count;
        size_t length = strcspn(at, ",");
        snprintf(number, sizeof number, "%.*s", (int)length, at);
        if (length >= sizeof number || !parse_int(f, number, &count)) return false;
        if (strspn(number, "0123456789") != length) return false; /* 1e3 is for single numbers */
        at += length;
        if (*at++ == '\0') break;
    }
    memmove(out, value, strlen(value) + 1);
    return true;
}

static pgcn_status set_field(pgcn_config *config, const field *f, const char *value) {
    void *place = (char *)config + f->place;
    bool fine = false;
    switch (f->type) {
    case FIELD_INT: fine = parse_int(f, value, place); break;
    case FIELD_REAL: fine = parse_real(f, value, place); break;
    case FIELD_BOOL: fine = parse_bool(value, place); break;
    case FIELD_ENUM: fine = parse_choice(f, value, place); break;
    case FIELD_SEED: fine = parse_seed(value, place); break;
    case FIELD_SPLIT: fine = parse_split(value, place, sizeof config->split); break;
    case FIELD_WEIGHTS: fine = parse_weights(f, value, place, sizeof config->class_weights); break;
    case FIELD_COUNTS: fine = parse_counts(f, value, place, sizeof config->neighbours); break;
    case FIELD_OWN: fine = parse_own(f, value, place); break;
    case FIELD_OWN_WHOLE: fine = parse_own_whole(f, value, place); break;
    }
    return fine ? PGCN_OK : refuse(f, value);
}

pgcn_status pgcn_config_set(pgcn_config *config, const char *key, const char *value) {
    PGCN_I_NEED(config);
    PGCN_I_NEED(key);
    PGCN_I_NEED(value);
    field f;
    int number;
    PGCN_TRY(find_field(key, config->size, &f, &number));
    PGCN_TRY(set_field(config, &f, value));
    pgcn_i_config_mark(config, number);
    return PGCN_OK;
}

static void write_field(const pgcn_config *config, const field *f, char *out, size_t bytes) {
    const void *place = (const char *)config + f->place;
    switch (f->type) {
    case FIELD_INT: snprintf(out, bytes, "%d", *(const int *)place); break;
    case FIELD_REAL: pgcn_i_number_write(*(const double *)place, out, bytes); break;
    case FIELD_BOOL: snprintf(out, bytes, "%s", *(const bool *)place ? "yes" : "no"); break;
    case FIELD_ENUM: choice_word(f->choices, *(const int *)place, out, bytes); break;
    case FIELD_SEED:
        snprintf(out, bytes, "%llu", (unsigned long long)*(const uint64_t *)place);
        break;
    case FIELD_OWN:
    case FIELD_OWN_WHOLE:
        if (f->choices)
            choice_word(f->choices, (int)*(const double *)place, out, bytes);
        else
            pgcn_i_number_write(*(const double *)place, out, bytes);
        break;
    case FIELD_SPLIT:
    case FIELD_COUNTS:
    case FIELD_WEIGHTS: snprintf(out, bytes, "%s", (const char *)place); break;
    }
}

pgcn_status pgcn_config_get(const pgcn_config *config, const char *key, char *out,
                            size_t out_bytes) {
    PGCN_I_NEED(config);
    PGCN_I_NEED(key);
    PGCN_I_NEED(out);
    field f;
    int number;
    PGCN_TRY(find_field(key, config->size, &f, &number));
    if (out_bytes < 32)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "pgcn_config_get: the text has room for %zu bytes, expected at least 32",
                           out_bytes);
    if (f.type == FIELD_WEIGHTS && strlen((const char *)config + f.place) >= out_bytes)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "pgcn_config_get: %s has %zu bytes and the text has room for %zu; "
                           "PGCN_SETTING_BYTES are enough",
                           key, strlen((const char *)config + f.place), out_bytes);
    write_field(config, &f, out, out_bytes);
    return PGCN_OK;
}

/* ---- checks ------------------------------------------------------------------------------------ */

static pgcn_status check_choice(const field *f, double index) {
    int choices = 1;
    for (const char *bar = f->choices; (bar = strchr(bar, '|')); bar++) choices++;
    if (index >= 0 && index < choices && index == (int)index) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s is number %g, expected %s", f->key, index,
                       f->choices);
}

/* A struct filled by hand gets the checks of the text. */
static pgcn_status check_field(const pgcn_config *config, const field *f) {
    char text[PGCN_SETTING_BYTES];
    const void *place = (const char *)config + f->place;
    if (f->type == FIELD_BOOL || f->type == FIELD_SEED) return PGCN_OK;
    if (f->type == FIELD_ENUM) return check_choice(f, *(const int *)place);
    if (f->type == FIELD_OWN && f->choices) return check_choice(f, *(const double *)place);
    if ((f->type == FIELD_SPLIT && !memchr(place, 0, sizeof config->split)) ||
        (f->type == FIELD_COUNTS && !memchr(place, 0, sizeof config->neighbours)) ||
        (f->type == FIELD_WEIGHTS && !memchr(place, 0, sizeof config->class_weights)))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s is not a text that ends", f->key);
    write_field(config, f, text, sizeof text);
    pgcn_config copy = *config;
    return set_field(&copy, f, text);
}

/* It goes into JSON, and before a person's eyes. */
static pgcn_status check_recipe_mark(const pgcn_config *config) {
    for (size_t i = 0; i < sizeof config->recipe; i++) {
        if (config->recipe[i] == '\0') return PGCN_OK;
        if (config->recipe[i] < ' ' || config->recipe[i] > '~')
            return pgcn_i_fail(PGCN_ERR_ARGUMENT, "recipe holds more than plain ASCII text");
    }
    return pgcn_i_fail(PGCN_ERR_ARGUMENT, "recipe is not a text that ends");
}

static pgcn_status check_fields(const pgcn_config *config) {
    field f;
    for (int i = 0; field_at(i, &f); i++) PGCN_TRY(check_field(config, &f));
    return check_recipe_mark(config);
}

/* Settings that rule each other out. */
static pgcn_status check_rules(const pgcn_config *config) {
    if (config->walk == PGCN_WALK_NODE2VEC && config->self_loops)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "walk is node2vec and self-loops is yes: a walk that may stay has no "
                           "previous node to compare with; set self-loops to no");
    if (config->walk == PGCN_WALK_NODE2VEC && config->train_form == PGCN_FORM_EXACT)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "train-form is exact and walk is node2vec: its walks have a memory and "
                           "no exact form; set train-form to sampled");
    if (config->scaling == PGCN_SCALING_SUM && config->train_form != PGCN_FORM_EXACT)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "scaling is sum and train-form is sampled: walks are means over "
                           "neighbours; set train-form to exact");
    PGCN_TRY(pgcn_i_network_check(config));
    if (config->input_norm && config->input_hops <= 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "input-norm is of smoothed inputs and input-hops is 0; set input-hops");
    if (config->samples == 1 && config->consistency > 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "consistency is %g and samples is 1: there is nothing to be consistent "
                           "with; set consistency to 0 or samples to 2",
                           config->consistency);
    if (config->patience > 0 && config->patience < config->eval_every)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "patience is %d and eval-every is %d: training would stop before it was "
                           "evaluated; set patience to 0 or to at least %d",
                           config->patience, config->eval_every, config->eval_every);
    return PGCN_OK;
}

pgcn_status pgcn_i_config_check_loaded(const pgcn_config *config) {
    PGCN_TRY(check_fields(config));
    return check_rules(config);
}

/* Asked before other checks, which would advise settings of clusters; `data` may be NULL. */
static pgcn_status check_features_on_disk(const pgcn_config *config, const pgcn_dataset *data) {
    if (!data || !data->x.file || config->batch_by != PGCN_BATCH_CLUSTER) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "the features of data set %s stay on disk, and batch-by cluster makes its "
                       "parts and evaluates in memory; leave batch-by out, with parts, "
                       "parts-per-step and parts-by, and set batch to a number of training nodes, "
                       "such as 1024, or leave the bound of memory out (--memory)",
                       data->name);
}

pgcn_status pgcn_config_check_for(const pgcn_config *given, const pgcn_dataset *data) {
    pgcn_config config;
    PGCN_TRY(pgcn_i_config_copy(given, &config));
    PGCN_TRY(check_fields(&config));
    PGCN_TRY(pgcn_i_seed_check(config.seed));
    pgcn_task task = data ? data->task : PGCN_TASK_NONE;
    PGCN_TRY(check_features_on_disk(&config, data));
    PGCN_TRY(pgcn_i_config_check_used(&(pgcn_i_usage){&config, task, data}));
    return check_rules(&config);
}

pgcn_status pgcn_config_check(const pgcn_config *config) {
    return pgcn_config_check_for(config, NULL);
}

/* ---- JSON and recipes ---------------------------------------------------------------------------- */

static bool is_run_field(const field *f) {
    return strcmp(f->group, "run") == 0;
}

/* A setting that the configured network does not have. */
static bool is_of_others(const pgcn_config *config, int i) {
    return i >= SHARED &&
           !pgcn_i_network_has(pgcn_i_network_of(config), pgcn_i_own_setting(i - SHARED));
}

json_t *pgcn_i_config_to_json(const pgcn_config *config) {
    json_t *object = json_object();
    field f;
    for (int i = 0; object && field_at(i, &f); i++) {
        char text[PGCN_SETTING_BYTES];
        if (is_run_field(&f) || is_of_others(config, i)) continue;
        write_field(config, &f, text, sizeof text);
        if (json_object_set_new(object, f.key, json_string(text)) == 0) continue;
        json_decref(object);
        return NULL;
    }
    return object;
}

/* Version 0.1 had seeds up to 2^64 - 1. */
static pgcn_status load_field(pgcn_config *config, const char *key, const char *value) {
    size_t digits = strspn(value, "0123456789");
    char *end = NULL;
    errno = 0;
    unsigned long long seed = digits > 0 ? strtoull(value, &end, 10) : 0;
    if (strcmp(key, "seed") != 0 || digits == 0 || *end || errno != 0)
        return pgcn_config_set(config, key, value);
    config->seed = seed;
    return PGCN_OK;
}

pgcn_status pgcn_i_config_from_json(json_t *object, const char *where, pgcn_config *out) {
    pgcn_config config = pgcn_config_default();
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return pgcn_i_fail(PGCN_ERR_FORMAT, "%s: its configuration is not a JSON object", where);
    json_object_foreach(object, key, value) {
        if (!json_is_string(value))
            return pgcn_i_fail(PGCN_ERR_FORMAT, "%s: configuration '%s' is not a string", where,
                               key);
        pgcn_status status = load_field(&config, key, json_string_value(value));
        if (status != PGCN_OK)
            return pgcn_i_fail_in(PGCN_ERR_FORMAT, "%s: its configuration cannot be used", where);
    }
    pgcn_status status = pgcn_i_config_check_loaded(&config);
    if (status != PGCN_OK)
        return pgcn_i_fail_in(PGCN_ERR_FORMAT, "%s: its configuration cannot be used", where);
    pgcn_config_adopt(&config);
    *out = config;
    return PGCN_OK;
}

const char *pgcn_i_config_difference(const pgcn_config *a, const pgcn_config *b) {
    field f;
    for (int i = 0; field_at(i, &f); i++) {
        char left[PGCN_SETTING_BYTES], right[PGCN_SETTING_BYTES];
        if (is_run_field(&f) || is_of_others(a, i) || strcmp(f.key, "epochs") == 0 ||
            strcmp(f.key, "patience") == 0)
            continue;
        write_field(a, &f, left, sizeof left);
        write_field(b, &f, right, sizeof right);
        if (strcmp(left, right) != 0) return f.key;
    }
    return NULL;
}

pgcn_status pgcn_i_config_apply(pgcn_config *config, const char *settings) {
    char key[64], value[64];
    while (*(settings += strspn(settings, " "))) {
        size_t name = strcspn(settings, "="), all = strcspn(settings, " ");
        if (name >= all) break; /* a word without a value ends it */
        snprintf(key, sizeof key, "%.*s", (int)name, settings);
        snprintf(value, sizeof value, "%.*s", (int)(all - name - 1), settings + name + 1);
        PGCN_TRY(pgcn_config_set(config, key, value));
        settings += all;
    }
    pgcn_config_adopt(config);
    return PGCN_OK;
}
