/* An external sort of arcs, for graphs whose edges do not fit into memory (pgcn_memory_bound).
 *
 * Edges are taken in parts that fit into an eighth of the bound. The arcs of a part are sorted by (row,
 * column) and written to a file, a run. Then all runs are merged, and the arcs fall out in order, so that the
 * adjacency is written from front to back. The radix sort is stable and the merge takes equal arcs from earlier
 * runs first: weights of equal edges are added in the order of the edges, as csr.c adds them, and the graph is the
 * same to the bit.
 *
 * A run says in its header what it is made of. One that is there already, because the process before was
 * interrupted, is used again. Called by csr.c. Serial. */
#include "graph/graph.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    WORTH_IT = 1 << 16,  /* edges: fewer are sorted in memory in any case */
    MOST_RUNS = 512,     /* open files */
    SORT_SHARE = 8,      /* of the bound, for the keys of a part; their copy has as much */
    MERGE_SHARE = 8,     /* of the bound, for the buffers of all runs */
    LEAST_BUFFER = 1024, /* keys of a run's buffer */
    TELL_EVERY = 1 << 20
};

typedef struct run_head {
    char magic[8];
    int64_t nodes, edges, first, last, weighted, arcs;
    uint64_t sample; /* of the edges of the part */
} run_head;
_Static_assert(sizeof(run_head) == 64, "keys of a run are aligned");

bool pgcn_i_sort_is_needed(int64_t edges) {
    return pgcn_i_spool_is_on() && edges >= WORTH_IT;
}

/* ---- sorting a part ------------------------------------------------------------------------------ */

enum { DIGIT = 11, DIGITS = 1 << DIGIT };

typedef struct part {
    uint64_t *key, *other_key;
    float *weight, *other_weight; /* NULL: no weights */
    int64_t count;
} part;

static void sort_by_digit(part *p, int shift) {
    int64_t start[DIGITS] = {0};
    for (int64_t i = 0; i < p->count; i++) start[p->key[i] >> shift & (DIGITS - 1)]++;
    for (int d = 0; d < DIGITS; d++)
        if (start[d] == p->count) return; /* all have it */
    pgcn_i_counts_to_starts(start, DIGITS, 0);
    for (int64_t i = 0; i < p->count; i++) {
        int64_t to = start[p->key[i] >> shift & (DIGITS - 1)]++;
        p->other_key[to] = p->key[i];
        if (p->weight) p->other_weight[to] = p->weight[i];
    }
    uint64_t *key = p->key;
    float *weight = p->weight;
    p->key = p->other_key;
    p->weight = p->other_weight;
    p->other_key = key;
    p->other_weight = weight;
}

/* By column, then by row; digits beyond the largest node are all zero. */
static void sort_part(part *p, int64_t nodes) {
    for (int half = 0; half < 64; half += 32)
        for (int shift = 0; shift < 32 && (nodes - 1) >> shift > 0; shift += DIGIT)
            sort_by_digit(p, half + shift);
}

/* Without weights equal arcs are one. */
static void drop_equal(part *p) {
    int64_t kept = 0;
    for (int64_t i = 0; i < p->count && !p->weight; i++)
        if (i == 0 || p->key[i] != p->key[i - 1]) p->key[kept++] = p->key[i];
    if (!p->weight) p->count = kept;
}

/* ---- files --------------------------------------------------------------------------------------- */

static pgcn_status cannot_write(const char *path, int64_t bytes) {
    int error = errno;
    char size[32];
    unlink(path);
    pgcn_format_bytes(bytes, size);
    return pgcn_i_fail(
        PGCN_ERR_IO,
        "cannot write '%s', %s of sorted edges: %s; the same command goes on from what is there",
        path, size, pgcn_i_disk_error(path, error));
}

static bool put(int descriptor, const void *data, int64_t bytes) {
    const char *at = data;
    while (bytes > 0) {
        ssize_t done = write(descriptor, at, (size_t)(bytes < 1 << 30 ? bytes : 1 << 30));
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return false;
        at += done;
        bytes -= done;
    }
    return true;
}

static pgcn_status get(int descriptor, const char *path, void *data, int64_t bytes,
                       int64_t offset) {
    char *at = data;
    while (bytes > 0) {
        ssize_t done = pread(descriptor, at, (size_t)bytes, (off_t)offset);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0)
            return pgcn_i_fail(PGCN_ERR_IO, "cannot read '%s': %s", path, pgcn_system_error(errno));
        if (done == 0)
            return pgcn_i_fail(PGCN_ERR_IO, "cannot read '%s': it ended early; try again", path);
        at += done;
        bytes -= done;
        offset += done;
    }
    return PGCN_OK;
}

static int64_t run_bytes(const run_head *head) {
    int64_t arc = (int64_t)sizeof(uint64_t) + (head->weighted ? (int64_t)sizeof(float) : 0);
    return (int64_t)sizeof *head + head->arcs * arc;
}

static pgcn_status write_run(const char *path, const run_head *head, const part *p) {
    char temporary[PGCN_I_SPOOL_PATH + 8];
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    int descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor < 0) return cannot_write(temporary, run_bytes(head));
    bool fine = put(descriptor, head, sizeof *head) &&
                put(descriptor, p->key, p->count * (int64_t)sizeof *p->key) &&
                (!p->weight || put(descriptor, p->weight, p->count * (int64_t)sizeof *p->weight)) &&
                fsync(descriptor) == 0;
    int error = errno;
    close(descriptor);
    errno = error;
    if (!fine || rename(temporary, path) != 0) return cannot_write(temporary, run_bytes(head));
    return PGCN_OK;
}

/* Whether a run for this part is there; its head is completed then. */
static bool find_run(const char *path, run_head *head) {
    run_head found;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return false;
    bool same = get(descriptor, path, &found, sizeof found, 0) == PGCN_OK;
    int64_t length = (int64_t)lseek(descriptor, 0, SEEK_END);
    close(descriptor);
    head->arcs = same ? found.arcs : 0;
    return same && memcmp(&found, head, sizeof found) == 0 && length == run_bytes(head);
}

/* ---- runs ---------------------------------------------------------------------------------------- */

typedef struct sorter {
    const pgcn_i_arc_source *source;
    int64_t edges_of_part, runs;
    part room;
    int64_t arcs[MOST_RUNS];
} sorter;

/* Some of the arcs of a part, mixed into a number: another list of edges gives another one. */
static uint64_t sample_of(const sorter *s, int64_t first, int64_t last) {
    enum { SAMPLES = 1024 };
    uint64_t mixed = 0xcbf29ce484222325u;
    for (int64_t i = 0; i < SAMPLES; i++) {
        uint64_t key[2] = {0, 0};
        float weight[2] = {0, 0};
        int64_t e = first + (last - first - 1) * i / (SAMPLES - 1);
        s->source->list(s->source->context, e, e + 1, key, s->source->weighted ? weight : NULL);
        uint32_t bits;
        memcpy(&bits, weight, sizeof bits);
        mixed = (mixed ^ key[0]) * 0x100000001b3u;
        mixed = (mixed ^ bits) * 0x100000001b3u;
    }
    return mixed;
}

static pgcn_status make_run(sorter *s, int64_t number) {
    const pgcn_i_arc_source *source = s->source;
    char path[PGCN_I_SPOOL_PATH];
    int64_t first = number * s->edges_of_part, last = first + s->edges_of_part;
    if (last > source->edges) last = source->edges;
    run_head head = {.magic = {'P', 'G', 'C', 'N', 'R', 'U', 'N', '1'},
                     .nodes = source->nodes,
                     .edges = source->edges,
                     .first = first,
                     .last = last,
                     .weighted = source->weighted,
                     .sample = sample_of(s, first, last)};
    pgcn_i_spool_path("run", number, path);
    if (!find_run(path, &head)) {
        s->room.count = source->list(source->context, first, last, s->room.key, s->room.weight);
        sort_part(&s->room, source->nodes);
        drop_equal(&s->room);
        head.arcs = s->room.count;
        PGCN_TRY(write_run(path, &head, &s->room));
    }
    s->arcs[number] = head.arcs;
    return PGCN_OK;
}

static pgcn_status choose_parts(sorter *s) {
    const pgcn_i_arc_source *source = s->source;
    int64_t arc = (int64_t)sizeof(uint64_t) + (source->weighted ? (int64_t)sizeof(float) : 0);
    int64_t arcs = pgcn_i_spool_memory() / SORT_SHARE / arc;
    s->edges_of_part = arcs / source->arcs_of_edge;
    s->runs = (source->edges + s->edges_of_part - 1) / s->edges_of_part;
    if (s->runs <= MOST_RUNS) return PGCN_OK;
    char least[32];
    pgcn_format_bytes((source->edges / MOST_RUNS + 1) * source->arcs_of_edge * arc * SORT_SHARE,
                      least);
    return pgcn_i_fail(
        PGCN_ERR_ARGUMENT,
        "%lld edges cannot be sorted in so little memory; give at least %s (--memory)",
        (long long)source->edges, least);
}

static pgcn_status make_runs(sorter *s) {
    int64_t most = s->edges_of_part * s->source->arcs_of_edge;
    part *room = &s->room;
    bool weighted = s->source->weighted;
    pgcn_status status = PGCN_ERR_MEMORY;
    room->key = pgcn_i_alloc_resident(most, sizeof *room->key);
    room->other_key = pgcn_i_alloc_resident(most, sizeof *room->key);
    room->weight = weighted ? pgcn_i_alloc_resident(most, sizeof *room->weight) : NULL;
    room->other_weight = weighted ? pgcn_i_alloc_resident(most, sizeof *room->weight) : NULL;
    if (room->key && room->other_key && (!weighted || (room->weight && room->other_weight)))
        status = PGCN_OK;
    for (int64_t i = 0; i < s->runs && status == PGCN_OK; i++) {
        status = pgcn_i_stage("sorting edges", (double)i / (double)s->runs);
        if (status == PGCN_OK) status = make_run(s, i);
    }
    pgcn_i_free(room->key);
    pgcn_i_free(room->other_key);
    pgcn_i_free(room->weight);
    pgcn_i_free(room->other_weight);
    *room = (part){0};
    return status;
}

/* ---- merging -------------------------------------------------------------------------------------- */

typedef struct run {
    char path[PGCN_I_SPOOL_PATH];
    int descriptor;
    int64_t arcs, loaded, at, in_buffer; /* of the file: in all, read so far; of the buffer */
    uint64_t *key;
    float *weight;
} run;

typedef struct merger {
    run *run;
    int64_t runs, buffer;
    bool weighted;
    int32_t *heap; /* runs, the one with the smallest key on top; of equal ones the earliest */
    int64_t waiting;
} merger;

/* The next keys of a run. */
static pgcn_status refill(merger *m, run *r) {
    int64_t here = r->arcs - r->loaded < m->buffer ? r->arcs - r->loaded : m->buffer;
    int64_t keys = (int64_t)sizeof(run_head), weights = keys + r->arcs * (int64_t)sizeof *r->key;
    PGCN_TRY(get(r->descriptor, r->path, r->key, here * (int64_t)sizeof *r->key,
                 keys + r->loaded * (int64_t)sizeof *r->key));
    if (m->weighted)
        PGCN_TRY(get(r->descriptor, r->path, r->weight, here * (int64_t)sizeof *r->weight,
                     weights + r->loaded * (int64_t)sizeof *r->weight));
    r->loaded += here;
    r->in_buffer = here;
    r->at = 0;
    return PGCN_OK;
}

static bool comes_first(const merger *m, int32_t a, int32_t b) {
    uint64_t x = m->run[a].key[m->run[a].at], y = m->run[b].key[m->run[b].at];
    return x < y || (x == y && a < b);
}

static void sift_down(merger *m, int64_t at) {
    for (;;) {
        int64_t best = at;
        for (int64_t child = 2 * at + 1; child <= 2 * at + 2; child++)
            if (child < m->waiting && comes_first(m, m->heap[child], m->heap[best])) best = child;
        if (best == at) return;
        int32_t kept = m->heap[at];
        m->heap[at] = m->heap[best];
        m->heap[best] = kept;
        at = best;
    }
}

/* Goes on to the next arc. */
static pgcn_status advance(merger *m) {
    run *r = &m->run[m->heap[0]];
    r->at++;
    if (r->at == r->in_buffer && r->loaded < r->arcs) PGCN_TRY(refill(m, r));
    if (r->at == r->in_buffer) m->heap[0] = m->heap[--m->waiting];
    sift_down(m, 0);
    return PGCN_OK;
}

static pgcn_status open_runs(merger *m, const sorter *s, pgcn_i_arena *arena) {
    m->runs = s->runs;
    m->weighted = s->source->weighted;
    int64_t arc = (int64_t)sizeof(uint64_t) + (m->weighted ? (int64_t)sizeof(float) : 0);
    m->buffer = pgcn_i_spool_memory() / MERGE_SHARE / s->runs / arc;
    if (m->buffer < LEAST_BUFFER) m->buffer = LEAST_BUFFER;
    m->run = PGCN_I_ARRAY(arena, run, m->runs);
    m->heap = PGCN_I_ARRAY(arena, int32_t, m->runs);
    if (!m->run || !m->heap) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < m->runs; i++) m->run[i].descriptor = -1;
    for (int64_t i = 0; i < m->runs; i++) {
        run *r = &m->run[i];
        pgcn_i_spool_path("run", i, r->path);
        r->arcs = s->arcs[i];
        r->key = PGCN_I_ARRAY(arena, uint64_t, m->buffer);
        r->weight = m->weighted ? PGCN_I_ARRAY(arena, float, m->buffer) : NULL;
        if (!r->key || (m->weighted && !r->weight)) return PGCN_ERR_MEMORY;
        r->descriptor = open(r->path, O_RDONLY | O_CLOEXEC);
        if (r->descriptor < 0)
            return pgcn_i_fail(PGCN_ERR_IO, "cannot read '%s': %s", r->path,
                               pgcn_system_error(errno));
        PGCN_TRY(refill(m, r));
        if (r->arcs > 0) m->heap[m->waiting++] = (int32_t)i;
    }
    for (int64_t i = m->waiting / 2; i-- > 0;) sift_down(m, i);
    return PGCN_OK;
}

/* Arcs in order: equal ones become one, and where a row ends its offset and sum are known. */
static pgcn_status merge(merger *m, int64_t nodes, int64_t arcs, pgcn_i_csr *out) {
    int64_t row = 0, to = 0, taken = 0;
    double row_sum = 0;
    while (m->waiting > 0) {
        const run *r = &m->run[m->heap[0]];
        uint64_t key = r->key[r->at];
        double sum = 0;
        for (; row < (int64_t)(key >> 32); row_sum = 0) {
            PGCN_TRY(pgcn_i_check_row_sum(row, row_sum));
            out->offset[++row] = to;
        }
        while (m->waiting > 0) {
            r = &m->run[m->heap[0]];
            if (r->key[r->at] != key) break;
            if (m->weighted) sum += (double)r->weight[r->at];
            PGCN_TRY(advance(m));
            if (++taken % TELL_EVERY == 0)
                PGCN_TRY(pgcn_i_stage("merging edges", (double)taken / (double)arcs));
        }
        out->column[to] = (pgcn_node)(uint32_t)key;
        if (m->weighted) out->value[to] = (float)fmin(sum, FLT_MAX);
        row_sum += sum;
        to++;
    }
    PGCN_TRY(pgcn_i_check_row_sum(row, row_sum));
    while (row < nodes) out->offset[++row] = to;
    return PGCN_OK;
}

static pgcn_status merge_runs(const sorter *s, pgcn_i_arena *kept, pgcn_i_csr *out) {
    pgcn_i_arena arena = {0};
    merger m = {0};
    int64_t arcs = 0;
    for (int64_t i = 0; i < s->runs; i++) arcs += s->arcs[i];
    pgcn_status status = open_runs(&m, s, &arena);
    /* what merging leaves out is few: the arrays end with room for it */
    if (status == PGCN_OK) status = pgcn_i_csr_alloc(kept, s->source->nodes, arcs, m.weighted, out);
    if (status == PGCN_OK) status = merge(&m, s->source->nodes, arcs, out);
    for (int64_t i = 0; m.run && i < m.runs; i++)
        if (m.run[i].descriptor >= 0) close(m.run[i].descriptor);
    pgcn_i_arena_free(&arena);
    return status;
}

pgcn_status pgcn_i_sort_arcs(const pgcn_i_arc_source *source, pgcn_i_arena *kept, pgcn_i_csr *out) {
    sorter s = {.source = source};
    PGCN_TRY(choose_parts(&s));
    PGCN_TRY(make_runs(&s));
    return merge_runs(&s, kept, out);
}
