/* Files: the checkpoint of a run and the model that comes out of it, both safetensors with the whole
 * configuration, the identity of data and split, the revision of the results' bits and the history as
 * metadata (docs/FORMATS.md). Files of pathgcn 0.1 have neither masks nor revision and are read too.
 *
 * Nothing that depends on the machine's speed or the number of threads is written, so equal runs
 * give equal bytes. No generator state is needed: random numbers are functions of the step. */
#include "train/train.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECKPOINT_FORMAT "pathgcn-checkpoint"
#define MODEL_FORMAT      "pathgcn-model"
#define FORMAT_VERSION    "1"
#define UNDERWAY_VERSION                                                                           \
    "2" /* of a checkpoint in the middle of an epoch, which older versions must not read */

/* ---- history ------------------------------------------------------------------------------------ */

static json_t *number_or_null(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

/* The measure that `select` names, where it is not the accuracy or the loss that stand there anyway. */
static bool names_measure(pgcn_select select) {
    return select > PGCN_SELECT_ACCURACY;
}

json_t *pgcn_i_history_to_json(const pgcn_epoch *history, int64_t count, pgcn_select select) {
    json_t *list = json_array();
    for (int64_t i = 0; list && i < count; i++) {
        json_t *epoch = json_pack(
            "{s:I, s:o, s:o, s:o, s:o, s:b}", "epoch", (json_int_t)history[i].epoch, "train_loss",
            number_or_null(history[i].train_loss), "val_loss", number_or_null(history[i].val_loss),
            "val_accuracy", number_or_null(history[i].val_accuracy), "test_accuracy",
            number_or_null(history[i].test_accuracy), "best", (int)history[i].best);
        if (names_measure(select)) {
            json_object_set_new(epoch, "val_measure", number_or_null(history[i].val_measure));
            json_object_set_new(epoch, "test_measure", number_or_null(history[i].test_measure));
        }
        if (json_array_append_new(list, epoch) == 0) continue;
        json_decref(list);
        return NULL;
    }
    return list;
}

static bool real_of(const json_t *object, const char *key, double *out) {
    const json_t *value = json_object_get(object, key);
    *out = json_is_number(value) ? json_number_value(value) : NAN;
    return json_is_number(value) || json_is_null(value);
}

static bool epoch_of(const json_t *object, pgcn_select select, pgcn_epoch *out) {
    *out = (pgcn_epoch){.epoch = json_integer_value(json_object_get(object, "epoch"))};
    bool named = names_measure(select);
    return real_of(object, named ? "val_measure" : "val_accuracy", &out->val_measure) &&
           real_of(object, named ? "test_measure" : "test_accuracy", &out->test_measure) &&
           real_of(object, "train_loss", &out->train_loss) &&
           real_of(object, "val_loss", &out->val_loss) &&
           real_of(object, "val_accuracy", &out->val_accuracy) &&
           real_of(object, "test_accuracy", &out->test_accuracy) && isfinite(out->train_loss) &&
           isnan(out->val_loss) == isnan(out->val_accuracy);
}

/* ---- metadata ------------------------------------------------------------------------------------ */

static void put(json_t *metadata, const char *key, const char *text) {
    json_object_set_new(metadata, key, json_string(text));
}
static void put_number(json_t *metadata, const char *key, int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    put(metadata, key, text);
}

/* Takes `object` and stores it as text. */
static void put_json(json_t *metadata, const char *key, json_t *object) {
    char *text = object ? pgcn_i_json_dump(object, 0) : NULL;
    if (text) put(metadata, key, text);
    pgcn_i_free(text);
    json_decref(object);
}

/* What checkpoint and model both hold, in HEADING_KEYS keys. */
typedef struct heading {
    const char *format, *version;
    const pgcn_config *config;
    const char *dataset, *fingerprint, *split;
    const pgcn_i_split_id *split_id;
    int64_t bits_revision; /* of what the weights were computed with, */
    int64_t groups;        /* and how sums were made */
    const char *isa;
} heading;
enum { HEADING_KEYS = 13 };

static json_t *metadata_of(const heading *h) {
    json_t *metadata = json_object();
    put(metadata, "format", h->format);
    put(metadata, "format_version", h->version);
    put(metadata, "pathgcn_version", PGCN_VERSION);
    put_number(metadata, "bits_revision", h->bits_revision);
    put(metadata, "isa", h->isa);
    put_number(metadata, "groups", h->groups);
    put(metadata, "dataset", h->dataset);
    put(metadata, "fingerprint", h->fingerprint);
    put(metadata, "split", h->split);
    put(metadata, "split_sha256", h->split_id->all);
    put(metadata, "split_seen_sha256", h->split_id->seen);
    put_json(metadata, "config", pgcn_i_config_to_json(h->config));
    put(metadata, "recipe", h->config->recipe);
    return metadata;
}

/* A key that could not be stored (no memory) must not cost the old file its metadata. */
static pgcn_status complete(const char *path, json_t *metadata, size_t keys) {
    if (json_object_size(metadata) == keys) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_MEMORY, "cannot write %s: out of memory for its metadata", path);
}

static pgcn_status check_format(const pgcn_i_safetensors *file, const char *format) {
    const char *found = "", *version = "";
    if (pgcn_i_safetensors_text(file, "format", &found) != PGCN_OK || strcmp(found, format) != 0)
        return pgcn_i_fail(
            PGCN_ERR_FORMAT,
            "%s is %s%s, expected a %s file (a run leaves model.safetensors for eval "
            "and predict, checkpoint.safetensors for --resume)",
            file->path, *found ? "a " : "not a file of pathgcn", found, format);
    PGCN_TRY(pgcn_i_safetensors_text(file, "format_version", &version));
    bool underway =
        strcmp(format, CHECKPOINT_FORMAT) == 0 && strcmp(version, UNDERWAY_VERSION) == 0;
    if (!underway && strcmp(version, FORMAT_VERSION) != 0)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "%s has format version %s and this pathgcn %s reads version %s; use the "
                           "pathgcn that wrote it or train again",
                           file->path, version, PGCN_VERSION, FORMAT_VERSION);
    return PGCN_OK;
}

/* Optional: files from before there were recipes have none. */
static pgcn_status read_recipe(const pgcn_i_safetensors *file, pgcn_config *out) {
    const char *text = json_string_value(json_object_get(file->metadata, "recipe"));
    if (!text) return PGCN_OK;
    snprintf(out->recipe, sizeof out->recipe, "%s", text);
    if (strlen(text) < sizeof out->recipe && pgcn_i_config_check_loaded(out) == PGCN_OK)
        return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_FORMAT, "%s: its recipe is not a line of plain text", file->path);
}

static pgcn_status read_config(const pgcn_i_safetensors *file, pgcn_config *out) {
    const char *text;
    PGCN_TRY(pgcn_i_safetensors_text(file, "config", &text));
    json_t *object;
    PGCN_TRY(pgcn_i_json_parse(file->path, text, (int64_t)strlen(text), &object));
    pgcn_status status = pgcn_i_config_from_json(object, file->path, out);
    json_decref(object);
    return status == PGCN_OK ? read_recipe(file, out) : status;
}

static pgcn_status read_number(const pgcn_i_safetensors *file, const char *key, int64_t low,
                               int64_t high, int64_t *out) {
    const char *text;
    char *end;
    PGCN_TRY(pgcn_i_safetensors_text(file, key, &text));
    *out = strtoll(text, &end, 10);
    if (end == text || *end || *out < low || *out > high)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "%s: %s is '%s', expected a number from %lld to %lld",
                           file->path, key, text, (long long)low, (long long)high);
    return PGCN_OK;
}

static pgcn_status read_text(const pgcn_i_safetensors *file, const char *key, char *out,
                             size_t bytes) {
    const char *text;
    PGCN_TRY(pgcn_i_safetensors_text(file, key, &text));
    if (strlen(text) >= bytes)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "%s: %s is longer than %zu characters", file->path, key,
                           bytes - 1);
    memcpy(out, text, strlen(text) + 1);
    return PGCN_OK;
}

static pgcn_status read_hash(const pgcn_i_safetensors *file, const char *key, char out[65]) {
    PGCN_TRY(read_text(file, key, out, 65));
    if (strlen(out) == 64 && strspn(out, "0123456789abcdef") == 64) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_FORMAT, "%s: %s is '%s', expected 64 hex digits", file->path, key,
                       out);
}

/* Older files have none: their sums were made otherwise, as their revision says. */
static pgcn_status read_groups(const pgcn_i_safetensors *file, int64_t *groups) {
    *groups = PGCN_GROUPS;
    if (!json_object_get(file->metadata, "groups")) return PGCN_OK;
    return read_number(file, "groups", 1, PGCN_MAX_GROUPS, groups);
}

/* Files of pathgcn 0.1 do not hold their revision, which is 0, nor the masks of their split. */
static pgcn_status read_revision(const pgcn_i_safetensors *file, int64_t *revision, char isa[16],
                                 pgcn_i_split_id *split_id) {
    *revision = 0;
    isa[0] = '\0';
    *split_id = (pgcn_i_split_id){"", ""};
    if (json_object_get(file->metadata, "bits_revision"))
        PGCN_TRY(read_number(file, "bits_revision", 0, INT32_MAX, revision));
    if (*revision == 0) return PGCN_OK;
    PGCN_TRY(read_text(file, "isa", isa, 16));
    PGCN_TRY(read_hash(file, "split_sha256", split_id->all));
    return read_hash(file, "split_seen_sha256", split_id->seen);
}

/* ---- tensors --------------------------------------------------------------------------------------- */

typedef struct block {
    const char *prefix; /* of the tensor names */
    float *data;        /* laid out like pgcn_i_params */
} block;

/* Where a file goes: to its path, or, where `bytes` is not NULL, into memory. */
typedef struct destination {
    const char *path; /* of memory: what it is, for errors */
    void **bytes;
    int64_t *size;
} destination;

static pgcn_status write_blocks(const destination *to, const pgcn_i_params *params,
                                const block *blocks, int count, json_t *metadata) {
    int64_t tensors = (int64_t)count * params->count;
    pgcn_i_arena arena = {0};
    pgcn_status status = PGCN_ERR_MEMORY;
    pgcn_i_tensor *tensor = PGCN_I_ARRAY(&arena, pgcn_i_tensor, tensors);
    if (!tensor) goto fail;
    for (int64_t i = 0; i < tensors; i++) {
        const block *b = &blocks[i / params->count];
        const pgcn_i_param *param = &params->param[i % params->count];
        char name[96];
        snprintf(name, sizeof name, "%s%s", b->prefix, param->name);
        tensor[i] =
            (pgcn_i_tensor){.name = pgcn_i_arena_strdup(&arena, name),
                            .array = {.dtype = PGCN_I_F32,
                                      .rank = param->rank,
                                      .shape = {param->shape[0], param->shape[1], param->shape[2]},
                                      .count = param->count,
                                      .data = b->data + param->first}};
        if (!tensor[i].name) goto fail;
    }
    status = to->bytes ? pgcn_i_safetensors_pack(to->path, tensor, (int)tensors, metadata,
                                                 to->bytes, to->size)
                       : pgcn_i_safetensors_write(to->path, tensor, (int)tensors, metadata);
fail:
    pgcn_i_arena_free(&arena);
    return status;
}

/* Every tensor of all blocks must be there with its shape and finite; the blocks are written only
 * then. */
static pgcn_status read_blocks(const pgcn_i_safetensors *file, const pgcn_i_params *params,
                               const block *blocks, int count) {
    int64_t tensors = (int64_t)count * params->count;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < tensors; i++) {
            const block *target = &blocks[i / params->count];
            const pgcn_i_param *param = &params->param[i % params->count];
            char name[96];
            const void *data;
            snprintf(name, sizeof name, "%s%s", target->prefix, param->name);
            PGCN_TRY(pgcn_i_safetensors_tensor(file, name, PGCN_I_F32, param->rank, param->shape,
                                               &data));
            const float *values = data;
            for (int64_t e = 0; e < param->count; e++)
                if (!isfinite(values[e]))
                    return pgcn_i_fail(PGCN_ERR_FORMAT,
                                       "%s: element %lld of tensor %s is not finite", file->path,
                                       (long long)e, name);
            if (pass == 1)
                memcpy(target->data + param->first, data, (size_t)param->count * sizeof(float));
        }
    return PGCN_OK;
}

/* ---- checkpoints -------------------------------------------------------------------------------------- */

/* A checkpoint is a state that can go on: a run that broke keeps the one it wrote before. Moments
 * may overflow before the weights do. */
static pgcn_status check_weights(const pgcn_trainer *trainer) {
    const pgcn_i_params *params = &trainer->params;
    bool finite = !trainer->broken;
    for (int64_t i = 0; finite && i < params->total; i++)
        finite = isfinite(params->value[i]) && isfinite(params->m[i]) && isfinite(params->v[i]);
    if (finite) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_NUMERIC,
                       "no checkpoint was written: the weights after epoch %lld are not finite or "
                       "give a loss that is not",
                       (long long)trainer->progress.epochs);
}

/* The steps of the present epoch. A begun evaluation is not kept: it is run again and finds the same. */
static json_t *underway_to_json(const pgcn_i_underway *u) {
    return json_pack("{s:I, s:f, s:I}", "steps", (json_int_t)u->steps, "loss_sum", u->loss_sum,
                     "items", (json_int_t)u->items);
}

/* A checkpoint between two epochs has none, and version 1. */
static pgcn_status read_underway(const pgcn_i_safetensors *file, const pgcn_trainer *trainer,
                                 pgcn_i_underway *out) {
    const char *version, *text;
    *out = (pgcn_i_underway){0};
    PGCN_TRY(pgcn_i_safetensors_text(file, "format_version", &version));
    if (strcmp(version, UNDERWAY_VERSION) != 0) return PGCN_OK;
    PGCN_TRY(pgcn_i_safetensors_text(file, "underway", &text));
    json_t *object;
    PGCN_TRY(pgcn_i_json_parse(file->path, text, (int64_t)strlen(text), &object));
    out->steps = json_integer_value(json_object_get(object, "steps"));
    out->items = json_integer_value(json_object_get(object, "items"));
    bool fine = real_of(object, "loss_sum", &out->loss_sum) && isfinite(out->loss_sum) &&
                out->items >= 1 && out->steps >= 1 && out->steps <= trainer->steps;
    json_decref(object);
    return fine
               ? PGCN_OK
               : pgcn_i_fail(PGCN_ERR_FORMAT,
                             "%s: underway is '%s', expected its steps, from 1 to %lld, the sum of "
                             "their losses and their items",
                             file->path, text, (long long)trainer->steps);
}

pgcn_status pgcn_i_checkpoint_write(const char *path, const pgcn_trainer *trainer) {
    const pgcn_i_params *params = &trainer->params;
    const bool underway = trainer->underway.steps > 0;
    PGCN_TRY(check_weights(trainer));
    json_t *metadata =
        metadata_of(&(heading){.format = CHECKPOINT_FORMAT,
                               .version = underway ? UNDERWAY_VERSION : FORMAT_VERSION,
                               .config = &trainer->config,
                               .dataset = trainer->data->name,
                               .fingerprint = trainer->data->fingerprint,
                               .split = trainer->split->name,
                               .split_id = &trainer->split_id,
                               .bits_revision = PGCN_BITS_REVISION,
                               .groups = pgcn_i_source_groups(&trainer->data->from),
                               .isa = pgcn_i_kernels_get()->isa});
    put_number(metadata, "epoch", trainer->progress.epochs);
    put_json(metadata, "history",
             pgcn_i_history_to_json(trainer->progress.history, trainer->progress.epochs,
                                    trainer->config.select));
    if (underway) put_json(metadata, "underway", underway_to_json(&trainer->underway));
    const block blocks[] = {{"", params->value},
                            {"best.", params->best},
                            {"adam.m.", params->m},
                            {"adam.v.", params->v}};
    pgcn_status status = complete(path, metadata, (size_t)(HEADING_KEYS + 2 + underway));
    if (status == PGCN_OK)
        status = write_blocks(&(destination){.path = path}, params, blocks, 4, metadata);
    json_decref(metadata);
    return status;
}

/* Replays the history into a list of its own (in `scratch`), which also restores the best epoch and
 * what patience looks at. */
static pgcn_status read_history(const pgcn_i_safetensors *file, const pgcn_trainer *trainer,
                                pgcn_i_arena *scratch, pgcn_i_progress *progress) {
    const char *text;
    int64_t epochs;
    PGCN_TRY(read_number(file, "epoch", 0, INT32_MAX, &epochs));
    PGCN_TRY(pgcn_i_safetensors_text(file, "history", &text));
    if (epochs > trainer->config.epochs)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "%s is of epoch %lld and epochs is %d; set epochs to at least that",
                           file->path, (long long)epochs, trainer->config.epochs);
    *progress = (pgcn_i_progress){.best = -1, .unvalidated = trainer->progress.unvalidated};
    progress->history = PGCN_I_ARRAY(scratch, pgcn_epoch, epochs);
    if (!progress->history) return PGCN_ERR_MEMORY;
    json_t *list;
    PGCN_TRY(pgcn_i_json_parse(file->path, text, (int64_t)strlen(text), &list));
    bool fine = json_is_array(list) && (int64_t)json_array_size(list) == epochs;
    for (int64_t i = 0; fine && i < epochs; i++) {
        pgcn_epoch epoch;
        fine = epoch_of(json_array_get(list, (size_t)i), trainer->config.select, &epoch) &&
               epoch.epoch == i + 1;
        if (fine) pgcn_i_progress_add(progress, trainer->config.select, epoch);
    }
    json_decref(list);
    return fine ? PGCN_OK
                : pgcn_i_fail(PGCN_ERR_FORMAT, "%s: its history is not the list of its %lld epochs",
                              file->path, (long long)epochs);
}

/* The identity of a run: data, settings, split. */
static pgcn_status same_data(const pgcn_i_safetensors *file, const pgcn_trainer *trainer) {
    char fingerprint[65], dataset[256];
    PGCN_TRY(read_text(file, "dataset", dataset, sizeof dataset));
    PGCN_TRY(read_text(file, "fingerprint", fingerprint, sizeof fingerprint));
    if (strcmp(fingerprint, trainer->data->fingerprint) == 0) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_MISMATCH,
                       "%s is of data set %s (fingerprint %.12s...), not of %s (%.12s...); "
                       "resume with the same data or train into another directory",
                       file->path, dataset, fingerprint, trainer->data->name,
                       trainer->data->fingerprint);
}

static pgcn_status same_settings(const pgcn_i_safetensors *file, const pgcn_trainer *trainer) {
    pgcn_config config;
    PGCN_TRY(read_config(file, &config));
    const char *key = pgcn_i_config_difference(&config, &trainer->config);
    if (!key) return PGCN_OK;
    char was[PGCN_SETTING_BYTES], is[PGCN_SETTING_BYTES];
    pgcn_config_get(&config, key, was, sizeof was);
    pgcn_config_get(&trainer->config, key, is, sizeof is);
    return pgcn_i_fail(PGCN_ERR_MISMATCH,
                       "%s was trained with %s %s and not %s; resume with the same options (only "
                       "epochs, patience, threads and recompute may change)",
                       file->path, key, was, is);
}

static void add_note(pgcn_i_notes *notes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add_note(pgcn_i_notes *notes, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (notes->count < PGCN_I_RESUME_NOTES)
        vsnprintf(notes->text[notes->count++], sizeof notes->text[0], format, arguments);
    va_end(arguments);
}

/* Two splits of one name may have different masks (split-seed, another file of splits): then items
 * that were trained on would be tested. */
static pgcn_status same_split(const pgcn_i_safetensors *file, const pgcn_trainer *trainer,
                              const pgcn_i_split_id *id, pgcn_i_notes *notes) {
    const char *items = pgcn_i_items_name(trainer->data), *name = trainer->split->name;
    char split[16];
    PGCN_TRY(read_text(file, "split", split, sizeof split));
    if (strcmp(split, name) != 0)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "%s was trained on split %s and not %s; resume with the same split",
                           file->path, split, name);
    if (!*id->all)
        add_note(notes,
                 "%s does not tell which %s are in its split; that it is split %s was seen by the "
                 "name only",
                 file->path, items, split);
    if (!*id->all || strcmp(id->all, trainer->split_id.all) == 0) return PGCN_OK;
    bool test_only = strcmp(id->seen, trainer->split_id.seen) == 0;
    return pgcn_i_fail(PGCN_ERR_MISMATCH,
                       "%s was trained on another split %s: split %s of %s has other %s %s; resume "
                       "with the data set, steps and split-seed of the first run, or train into "
                       "another directory",
                       file->path, split, name, trainer->data->name,
                       test_only ? "test" : "training or validation", items);
}

/* The groups that sums are made by belong to the data, and a run is one run only with the same. */
static pgcn_status same_groups(const pgcn_i_safetensors *file, const pgcn_trainer *trainer) {
    int64_t groups, here = pgcn_i_source_groups(&trainer->data->from);
    PGCN_TRY(read_groups(file, &groups));
    if (groups == here) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_MISMATCH,
                       "%s makes its sums by %lld groups of nodes and data set %s has %lld; resume "
                       "with the step groups=%lld, or train into another directory",
                       file->path, (long long)groups, trainer->data->name, (long long)here,
                       (long long)groups);
}

/* Same bits are promised by the same revision on the same instruction set. */
static pgcn_status same_version(const pgcn_i_safetensors *file, int64_t revision, const char *isa,
                                bool accept, pgcn_i_notes *notes) {
    const char *here = pgcn_i_kernels_get()->isa;
    char version[32];
    if (*isa && strcmp(isa, here) != 0)
        add_note(notes,
                 "%s was written with instruction set %s and the run goes on with %s: it agrees "
                 "with an uninterrupted run to rounding, and no longer to the bit",
                 file->path, isa, here);
    if (revision == PGCN_BITS_REVISION) return PGCN_OK;
    PGCN_TRY(read_text(file, "pathgcn_version", version, sizeof version));
    if (!accept)
        return pgcn_i_fail(
            PGCN_ERR_MISMATCH,
            "%s is of pathgcn %s, whose results differ from those of this version in "
            "their last bits (revision %lld, here %d), so that the run would end "
            "with the bits of neither; finish it with that version, train again, or "
            "accept it with --accept-other-version",
            file->path, version, (long long)revision, PGCN_BITS_REVISION);
    add_note(
        notes,
        "%s is of pathgcn %s (revision %lld of the results' bits, here %d): the run goes on as "
        "asked, and ends with the bits of neither version",
        file->path, version, (long long)revision, PGCN_BITS_REVISION);
    return PGCN_OK;
}

static pgcn_status same_run(const pgcn_i_safetensors *file, const pgcn_trainer *trainer,
                            const pgcn_resume_opts *opts, pgcn_i_notes *notes) {
    int64_t revision;
    char isa[16];
    pgcn_i_split_id id;
    PGCN_TRY(check_format(file, CHECKPOINT_FORMAT));
    PGCN_TRY(read_revision(file, &revision, isa, &id));
    PGCN_TRY(same_data(file, trainer));
    PGCN_TRY(same_settings(file, trainer));
    PGCN_TRY(same_split(file, trainer, &id, notes));
    PGCN_TRY(same_groups(file, trainer));
    return same_version(file, revision, isa, opts->accept_other_version, notes);
}

pgcn_status pgcn_i_checkpoint_read(const char *path, const pgcn_resume_opts *opts,
                                   pgcn_trainer *trainer) {
    pgcn_i_safetensors *file;
    const pgcn_i_params *params = &trainer->params;
    const block blocks[] = {{"", params->value},
                            {"best.", params->best},
                            {"adam.m.", params->m},
                            {"adam.v.", params->v}};
    pgcn_epoch *history = trainer->progress.history;
    pgcn_i_arena scratch = {0};
    pgcn_i_progress progress;
    pgcn_i_underway underway;
    pgcn_i_notes notes = {0};
    PGCN_TRY(pgcn_i_safetensors_read(path, &file));
    pgcn_status status = same_run(file, trainer, opts, &notes);
    if (status == PGCN_OK) status = read_history(file, trainer, &scratch, &progress);
    if (status == PGCN_OK) status = read_underway(file, trainer, &underway);
    if (status == PGCN_OK) status = read_blocks(file, params, blocks, 4);
    if (status == PGCN_OK) { /* from here on nothing can fail: the trainer changes as a whole */
        memcpy(history, progress.history, (size_t)progress.epochs * sizeof *history);
        trainer->progress = progress;
        trainer->progress.history = history;
        trainer->underway = underway;
        trainer->notes = notes;
    }
    pgcn_i_arena_free(&scratch);
    pgcn_i_safetensors_free(file);
    return status;
}

/* ---- models --------------------------------------------------------------------------------------------- */

static pgcn_status write_model(const pgcn_model *model, const destination *to) {
    json_t *metadata = metadata_of(&(heading){.format = MODEL_FORMAT,
                                              .version = FORMAT_VERSION,
                                              .config = &model->config,
                                              .dataset = model->dataset,
                                              .fingerprint = model->fingerprint,
                                              .split = model->split,
                                              .split_id = &model->split_id,
                                              .bits_revision = model->bits_revision,
                                              .groups = model->groups,
                                              .isa = model->isa});
    put_number(metadata, "epoch", model->epoch);
    put_number(metadata, "features", model->features);
    put_number(metadata, "classes", model->classes);
    put(metadata, "task", pgcn_task_name(model->task));
    put(metadata, "history", model->history);
    if (model->class_names) put_json(metadata, "class_names", json_incref(model->class_names));
    if (model->feature_names)
        put_json(metadata, "feature_names", json_incref(model->feature_names));
    if (model->encoder) put(metadata, "encoder", model->encoder);
    const block weights = {"", model->params.value};
    int optional = !!model->class_names + !!model->feature_names + !!model->encoder;
    pgcn_status status = complete(to->path, metadata, (size_t)(HEADING_KEYS + 5 + optional));
    if (status == PGCN_OK) status = write_blocks(to, &model->params, &weights, 1, metadata);
    json_decref(metadata);
    return status;
}

pgcn_status pgcn_model_save(const pgcn_model *model, const char *path) {
    PGCN_I_NEED(model);
    PGCN_I_NEED(path);
    return write_model(model, &(destination){.path = path});
}

static const char in_memory[] = "the bytes of a model";

pgcn_status pgcn_model_to_bytes(const pgcn_model *model, void **bytes, size_t *size) {
    PGCN_I_NEED(model);
    PGCN_I_NEED(bytes);
    PGCN_I_NEED(size);
    int64_t count;
    void *packed;
    PGCN_TRY(
        write_model(model, &(destination){.path = in_memory, .bytes = &packed, .size = &count}));
    *bytes = packed;
    *size = (size_t)count;
    return PGCN_OK;
}

void pgcn_bytes_free(void *bytes) {
    pgcn_i_free(bytes);
}

/* Optional: only where classes, or feature columns, have names. */
static pgcn_status read_names(const pgcn_i_safetensors *file, const char *key, int64_t count,
                              json_t **out) {
    const char *text = json_string_value(json_object_get(file->metadata, key));
    if (!text) return PGCN_OK;
    PGCN_TRY(pgcn_i_json_parse(file->path, text, (int64_t)strlen(text), out));
    json_t *names = *out;
    bool fine = json_is_array(names) && json_array_size(names) == (size_t)count;
    for (int64_t i = 0; fine && i < count; i++)
        fine = json_is_string(json_array_get(names, (size_t)i));
    return fine ? PGCN_OK
                : pgcn_i_fail(PGCN_ERR_FORMAT, "%s: %s is not a list of %lld strings", file->path,
                              key, (long long)count);
}

/* Optional: only where the features were a table of more than plain numbers. */
static pgcn_status read_encoder(const pgcn_i_safetensors *file, pgcn_model *model) {
    const char *text = json_string_value(json_object_get(file->metadata, "encoder"));
    if (!text) return PGCN_OK;
    PGCN_TRY(pgcn_i_encoder_check(file->path, text));
    model->encoder = pgcn_i_strdup(text);
    return model->encoder ? PGCN_OK : PGCN_ERR_MEMORY;
}

/* Optional: files from before there were other tasks classify nodes. */
static pgcn_status read_task(const pgcn_i_safetensors *file, pgcn_model *model) {
    const char *text = json_string_value(json_object_get(file->metadata, "task"));
    model->task = PGCN_TASK_NODE;
    if (!text) return PGCN_OK;
    for (pgcn_task task = PGCN_TASK_NODE; task <= PGCN_TASK_GRAPH; task++)
        if (strcmp(text, pgcn_task_name(task)) == 0) {
            model->task = task;
            return PGCN_OK;
        }
    return pgcn_i_fail(PGCN_ERR_FORMAT, "%s: its task is '%s', expected node, multilabel or graph",
                       file->path, text);
}

static bool has_tensor(const pgcn_i_safetensors *file, const char *name) {
    for (int i = 0; i < file->count; i++)
        if (strcmp(file->tensor[i].name, name) == 0) return true;
    return false;
}

static pgcn_status fill_model(const pgcn_i_safetensors *file, pgcn_model *model) {
    int64_t classes;
    const char *history;
    PGCN_TRY(check_format(file, MODEL_FORMAT));
    PGCN_TRY(read_config(file, &model->config));
    pgcn_i_config_settle(&model->config);
    PGCN_TRY(read_text(file, "dataset", model->dataset, sizeof model->dataset));
    PGCN_TRY(read_text(file, "fingerprint", model->fingerprint, sizeof model->fingerprint));
    PGCN_TRY(read_text(file, "split", model->split, sizeof model->split));
    PGCN_TRY(read_revision(file, &model->bits_revision, model->isa, &model->split_id));
    PGCN_TRY(read_groups(file, &model->groups));
    PGCN_TRY(read_number(file, "epoch", 0, INT64_MAX, &model->epoch));
    PGCN_TRY(read_number(file, "features", 1, INT32_MAX, &model->features));
    PGCN_TRY(read_number(file, "classes", 1, INT32_MAX, &classes));
    PGCN_TRY(pgcn_i_safetensors_text(file, "history", &history));
    model->classes = (int)classes;
    PGCN_TRY(read_task(file, model));
    PGCN_TRY(read_names(file, "class_names", model->classes, &model->class_names));
    PGCN_TRY(read_names(file, "feature_names", model->features, &model->feature_names));
    PGCN_TRY(read_encoder(file, model));
    model->history = pgcn_i_strdup(history);
    if (!model->history) return PGCN_ERR_MEMORY;
    PGCN_TRY(pgcn_i_network_declare(&model->params, &model->config, pgcn_i_model_shape(model)));
    if (has_tensor(file, PGCN_I_FILL)) /* not in files of version 0.1 */
        pgcn_i_network_declare_fill(&model->params, model->features);
    /* The largest tensor was checked against the length of the file; the sum of what the
     * configuration asks for is checked tensor by tensor before anything is allocated. */
    for (int i = 0; i < model->params.count; i++) {
        const pgcn_i_param *param = &model->params.param[i];
        const void *data;
        PGCN_TRY(pgcn_i_safetensors_tensor(file, param->name, PGCN_I_F32, param->rank, param->shape,
                                           &data));
    }
    PGCN_TRY(pgcn_i_params_allocate(&model->params, false));
    return read_blocks(file, &model->params, &(block){"", model->params.value}, 1);
}

/* Takes the file. */
static pgcn_status make_model(pgcn_i_safetensors *file, pgcn_model **out) {
    pgcn_model *model = pgcn_i_alloc(1, sizeof *model);
    pgcn_status status = model ? fill_model(file, model) : PGCN_ERR_MEMORY;
    pgcn_i_safetensors_free(file);
    if (status != PGCN_OK) {
        pgcn_model_free(model);
        return status;
    }
    *out = model;
    return PGCN_OK;
}

pgcn_status pgcn_model_load(const char *path, pgcn_model **out) {
    PGCN_I_NEED(path);
    PGCN_I_NEED(out);
    pgcn_i_safetensors *file;
    PGCN_TRY(pgcn_i_safetensors_read(path, &file));
    return make_model(file, out);
}

pgcn_status pgcn_model_from_bytes(const void *bytes, size_t size, pgcn_model **out) {
    PGCN_I_NEED(bytes);
    PGCN_I_NEED(out);
    if (size > INT64_MAX)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "pgcn_model_from_bytes: %zu bytes are too many",
                           size);
    pgcn_i_safetensors *file;
    PGCN_TRY(pgcn_i_safetensors_unpack(in_memory, bytes, (int64_t)size, &file));
    return make_model(file, out);
}
