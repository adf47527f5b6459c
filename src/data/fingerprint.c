/* The fingerprint of a data set: SHA-256 of the numbers a model depends on, little-endian, each array
 * after its length (docs/FORMATS.md). Neither the name nor the splits: the same data under another name
 * is the same data. Splits have hashes of their own, at the end of this file.
 *
 * Features come first, so that large ones are hashed by a thread of their own while the graph is built.
 * Called by dataset.c; the hashes of splits by the training room. */
#include "data/data.h"

#include <pthread.h>

enum { WORTH_A_THREAD = 1 << 23 }; /* bytes of features: about 5 ms of hashing */

struct pgcn_i_fingerprint {
    pgcn_i_hash *hash; /* NULL: taken by pgcn_i_hash_finish */
    pgcn_i_features x; /* the arrays to hash */
    pthread_t thread;
    bool running;
};

static void add_number(pgcn_i_hash *hash, int64_t number) {
    pgcn_i_hash_add(hash, &number, sizeof number);
}

static int64_t feature_bytes(const pgcn_i_features *x) {
    return x->offset ? x->nonzeros * (int64_t)(sizeof *x->column + sizeof *x->value)
                     : x->n * x->columns * (int64_t)sizeof *x->dense;
}

/* The values, or what a store makes of them. */
static pgcn_status add_values(pgcn_i_hash *hash, const float *value, int64_t count,
                              const pgcn_i_store *store) {
    enum { PIECE = 4096 };
    if (!store) {
        pgcn_i_hash_add(hash, value, count * (int64_t)sizeof *value);
        return PGCN_OK;
    }
    for (int64_t first = 0; first < count; first += PIECE) {
        uint16_t stored[PIECE];
        float back[PIECE];
        int64_t here = count - first < PIECE ? count - first : PIECE;
        PGCN_TRY(pgcn_i_store_encode(store, first, here, stored));
        pgcn_i_store_decode(store, stored, first, here, back);
        pgcn_i_hash_add(hash, back, here * (int64_t)sizeof *back);
    }
    return PGCN_OK;
}

static pgcn_status add_features(pgcn_i_hash *hash, const pgcn_i_features *x,
                                const pgcn_i_store *store) {
    static const char tag[16] = "pathgcn-data-2";
    pgcn_i_hash_add(hash, tag, sizeof tag);
    add_number(hash, x->offset != NULL);
    add_number(hash, x->n);
    add_number(hash, x->columns);
    if (!x->offset) return add_values(hash, x->dense, x->n * x->columns, store);
    add_number(hash, x->nonzeros);
    pgcn_i_hash_add(hash, x->offset, (x->n + 1) * (int64_t)sizeof *x->offset);
    pgcn_i_hash_add(hash, x->column, x->nonzeros * (int64_t)sizeof *x->column);
    return add_values(hash, x->value, x->nonzeros, store);
}

static void add_graph(pgcn_i_hash *hash, const pgcn_graph *graph) {
    add_number(hash, graph->directed);
    add_number(hash, graph->entries);
    pgcn_i_hash_add(hash, graph->offset, (graph->n + 1) * (int64_t)sizeof *graph->offset);
    pgcn_i_hash_add(hash, graph->neighbour, graph->entries * (int64_t)sizeof *graph->neighbour);
    add_number(hash, graph->weight != NULL);
    if (graph->weight)
        pgcn_i_hash_add(hash, graph->weight, graph->entries * (int64_t)sizeof *graph->weight);
}

static void add_labels(pgcn_i_hash *hash, const pgcn_dataset *data) {
    const pgcn_i_source *from = &data->from;
    int64_t n = data->graph->n;
    add_number(hash, (int64_t)data->task);
    if (data->label) pgcn_i_hash_add(hash, data->label, n * (int64_t)sizeof *data->label);
    if (from->labels) {
        for (int64_t i = 0; i < n; i++) {
            uint8_t known = !from->label_known || from->label_known[i];
            pgcn_i_hash_add(hash, &known, 1);
        }
        pgcn_i_hash_add(hash, from->labels, n * data->classes);
    }
    add_number(hash, from->graphs);
    if (from->graphs > 0)
        pgcn_i_hash_add(hash, from->graph_of, n * (int64_t)sizeof *from->graph_of);
    if (from->graph_label)
        pgcn_i_hash_add(hash, from->graph_label, from->graphs * (int64_t)sizeof *from->graph_label);
    add_number(hash, data->classes);
}

/* Adds nothing if all nodes have features, so that fingerprints are those of versions without this
 * mark. */
static void add_absent(pgcn_i_hash *hash, const pgcn_i_features *x) {
    static const char tag[8] = "absent";
    if (!x->absent) return;
    pgcn_i_hash_add(hash, tag, sizeof tag);
    pgcn_i_hash_add(hash, x->absent, x->n);
    for (int64_t j = 0; j < x->columns; j++) {
        uint8_t made = x->made ? x->made[j] : 0;
        pgcn_i_hash_add(hash, &made, 1);
    }
}

static void add_rest(pgcn_i_hash *hash, const pgcn_dataset *data) {
    add_graph(hash, data->graph);
    add_labels(hash, data);
    add_absent(hash, &data->x);
}

static void *run(void *context) {
    pgcn_i_fingerprint *fingerprint = context;
    (void)add_features(fingerprint->hash, &fingerprint->x, NULL); /* cannot fail without a store */
    return NULL;
}

pgcn_status pgcn_i_fingerprint_begin(const pgcn_i_features *x, pgcn_i_fingerprint **out) {
    *out = NULL;
    if ((!x->dense && !x->offset) || feature_bytes(x) < WORTH_A_THREAD) return PGCN_OK;
    pgcn_i_fingerprint *fingerprint = pgcn_i_alloc(1, sizeof *fingerprint);
    if (!fingerprint) return PGCN_ERR_MEMORY;
    fingerprint->x = *x;
    pgcn_status status = pgcn_i_hash_new(&fingerprint->hash);
    if (status == PGCN_OK)
        fingerprint->running = pthread_create(&fingerprint->thread, NULL, run, fingerprint) == 0;
    if (fingerprint->running) {
        *out = fingerprint;
        return PGCN_OK;
    }
    pgcn_i_fingerprint_drop(fingerprint); /* without a thread it is all done at the end */
    return status;
}

static void wait_for(pgcn_i_fingerprint *fingerprint) {
    if (fingerprint->running) pthread_join(fingerprint->thread, NULL);
    fingerprint->running = false;
}

void pgcn_i_fingerprint_drop(pgcn_i_fingerprint *fingerprint) {
    char unused[65];
    if (!fingerprint) return;
    wait_for(fingerprint);
    if (fingerprint->hash) (void)pgcn_i_hash_finish(fingerprint->hash, unused);
    pgcn_i_free(fingerprint);
}

/* Whether the features hashed at the beginning are still those of the data set. */
static bool is_about(const pgcn_i_fingerprint *fingerprint, const pgcn_i_features *x) {
    const pgcn_i_features *begun = &fingerprint->x;
    return begun->n == x->n && begun->columns == x->columns && begun->dense == x->dense &&
           begun->value == x->value;
}

pgcn_status pgcn_i_fingerprint_end(pgcn_i_fingerprint *fingerprint, const pgcn_dataset *data,
                                   char hex[65]) {
    pgcn_i_hash *hash;
    if (fingerprint && is_about(fingerprint, &data->x)) {
        wait_for(fingerprint);
        hash = fingerprint->hash;
        fingerprint->hash = NULL;
    } else {
        PGCN_TRY(pgcn_i_hash_new(&hash));
        (void)add_features(hash, &data->x, NULL);
    }
    add_rest(hash, data);
    return pgcn_i_hash_finish(hash, hex);
}

pgcn_status pgcn_i_fingerprint_stored(const pgcn_dataset *data, const pgcn_i_store *store,
                                      char hex[65]) {
    pgcn_i_hash *hash;
    PGCN_TRY(pgcn_i_hash_new(&hash));
    pgcn_status status = add_features(hash, &data->x, store);
    add_rest(hash, data);
    pgcn_status finished = pgcn_i_hash_finish(hash, hex); /* frees it in any case */
    return status == PGCN_OK ? finished : status;
}

/* ---- splits ---------------------------------------------------------------------------------- */

/* In the original numbering, before the step `order`: a split is the same in any order of the
 * nodes. */
static void add_mask(pgcn_i_hash *hash, const pgcn_dataset *data, const uint8_t *mask) {
    enum { PIECE = 4096 };
    const pgcn_node *row = data->task == PGCN_TASK_GRAPH ? NULL : data->from.row;
    int64_t items = data->info.items;
    if (!row) {
        pgcn_i_hash_add(hash, mask, items);
        return;
    }
    for (int64_t first = 0; first < items; first += PIECE) {
        uint8_t piece[PIECE];
        int64_t count = items - first < PIECE ? items - first : PIECE;
        for (int64_t i = 0; i < count; i++) piece[i] = mask[row[first + i]];
        pgcn_i_hash_add(hash, piece, count);
    }
}

static pgcn_status hash_masks(const pgcn_dataset *data, const uint8_t *const *mask, int masks,
                              char hex[65]) {
    static const char tag[16] = "pathgcn-split-1";
    pgcn_i_hash *hash;
    PGCN_TRY(pgcn_i_hash_new(&hash));
    pgcn_i_hash_add(hash, tag, sizeof tag);
    add_number(hash, data->info.items);
    for (int i = 0; i < masks; i++) add_mask(hash, data, mask[i]);
    return pgcn_i_hash_finish(hash, hex);
}

pgcn_status pgcn_i_split_identify(const pgcn_dataset *data, const pgcn_i_split *split,
                                  pgcn_i_split_id *out) {
    const uint8_t *const mask[] = {split->train, split->val, split->test};
    PGCN_TRY(hash_masks(data, mask, 2, out->seen));
    return hash_masks(data, mask, 3, out->all);
}
