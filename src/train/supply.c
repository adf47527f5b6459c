/* Rows of features that stay on disk, brought to the batches of nodes that need them.
 *
 * Random numbers are functions of seed, step and node, so that a batch can be drawn before it is run. Whoever knows which
 * batches come next announces them: each is drawn on the views that will run it, without what only a network needs, and
 * the rows that it leads to are announced to the cache (io/row_cache.c), which has the missing ones read meanwhile and
 * keeps those that are wanted soonest. What was drawn is kept until the batch is due. Then its rows are taken, checked and
 * normalised: the same bits as if all features were in memory.
 *
 * The bound is divided once, when everything else is allocated and some batches have been drawn: what is left of it goes to
 * the mapped graph, whose pages are given back when it takes more than its share (base/spool.c), and to the cache.
 * Called by lookahead.c for training and by blocks.c for inference. */
#include "train/train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_AHEAD = 2,   /* batches whose rows are read while others are computed, */
    AHEAD_SHARE = 8,   /* and the share of the bound that these rows may take if there are more */
    MOST_KNOWN = 32,   /* batches that are announced, */
    LEAST_KNOWN = 3,   /* more than are read ahead, so that the cache knows what comes after them */
    KNOWN_SHARE = 12,  /* and the share of the bound that their lists may take */
    KNOWN_BYTES = 20,  /* of a row that is announced: its number, its next batch, places, slot */
    SORT_BYTES = 16,   /* of a row, when its batch is sorted */
    MISSED_BYTES = 49, /* of a row that is read, besides its numbers: number, slot, request */
    SLOT_BYTES = 28, /* of a row that is kept, besides its numbers: what is known of it, a queue */
    NODE_BYTES = 12, /* of the cache, for every node */
    LEAST_SHARE = 8, /* of the graph must fit, or walks would read every page again */
    SLACK_BYTES = 16 << 20 /* threads, the history as JSON, pages between two looks */
};

/* Whether the system has room for all rows in its cache, besides what the process will take. */
static bool has_room(const pgcn_dataset *data) {
    int64_t available = pgcn_memory_available();
    int64_t more = data->from.memory - pgcn_i_resident_bytes();
    int64_t bytes = data->x.n * pgcn_i_row_file_row_bytes(data->x.file);
    return available < 0 || available - (more > 0 ? more : 0) >= bytes;
}

/* ---- opening ---------------------------------------------------------------------------------------- */

pgcn_status pgcn_i_supply_open(pgcn_i_supply *supply, const pgcn_dataset *data, pgcn_i_pool *pool,
                               pgcn_i_row_rule rule) {
    *supply = (pgcn_i_supply){.data = data, .pool = pool, .rule = rule};
    PGCN_TRY(pgcn_i_row_file_again(data->x.file, &supply->file));
    pgcn_i_row_file_at_random(supply->file);
    if (!has_room(data)) pgcn_i_row_file_direct(supply->file);
    pgcn_i_pages_at_random(data->from.mapping, data->from.mapping_bytes);
    return PGCN_OK;
}

static pgcn_i_row_counts counts_of(const pgcn_i_supply *supply) {
    pgcn_i_row_counts all = supply->before;
    if (!supply->cache) return all;
    pgcn_i_row_counts now = pgcn_i_row_cache_counts(supply->cache);
    return (pgcn_i_row_counts){all.batches + now.batches, all.hits + now.hits,
                               all.misses + now.misses, all.bytes_read + now.bytes_read};
}

/* Adds what was read since the last time to what the data set knows. */
static void tell(pgcn_i_supply *supply) {
    pgcn_i_row_counts now = counts_of(supply), *told = &supply->told;
    pgcn_i_row_file_note(supply->data->x.file,
                         (pgcn_i_row_counts){now.batches - told->batches, now.hits - told->hits,
                                             now.misses - told->misses,
                                             now.bytes_read - told->bytes_read});
    *told = now;
}

void pgcn_i_supply_close(pgcn_i_supply *supply) {
    if (supply->data) tell(supply);
    for (int64_t i = 0; supply->drawn && i < supply->known; i++)
        pgcn_i_drawn_free(&supply->drawn[i]);
    pgcn_i_free(supply->drawn);
    pgcn_i_row_cache_free(supply->cache);
    pgcn_i_row_file_close(supply->file);
    *supply = (pgcn_i_supply){.cache = NULL};
}

/* ---- batches that come ------------------------------------------------------------------------------ */

void pgcn_i_supply_forget(pgcn_i_supply *supply) {
    supply->before = counts_of(supply);
    pgcn_i_row_cache_free(supply->cache);
    supply->cache = NULL;
}

pgcn_status pgcn_i_supply_begin(pgcn_i_supply *supply) {
    pgcn_i_supply_forget(supply);
    supply->announced = supply->taken = 0;
    if (!supply->drawn) supply->drawn = pgcn_i_alloc(supply->known, sizeof *supply->drawn);
    if (!supply->drawn) return PGCN_ERR_MEMORY;
    return pgcn_i_row_cache_new(supply->file, &supply->opts, &supply->cache);
}

bool pgcn_i_supply_is_full(const pgcn_i_supply *supply) {
    return pgcn_i_row_cache_announced(supply->cache) >= supply->known;
}

pgcn_status pgcn_i_supply_announce(pgcn_i_supply *supply, pgcn_i_batch_turn turn) {
    pgcn_i_views_choose(turn.views, turn.chosen.item, turn.chosen.count);
    pgcn_i_nodes_reach(turn.views->nodes, supply->pool, turn.draw);
    pgcn_i_wanted_rows wanted = pgcn_i_nodes_wanted(turn.views->nodes);
    PGCN_TRY(pgcn_i_row_cache_announce(supply->cache, wanted.node, wanted.count));
    return pgcn_i_nodes_keep(turn.views->nodes, turn.draw,
                             &supply->drawn[supply->announced++ % supply->known]);
}

const pgcn_i_drawn *pgcn_i_supply_first(const pgcn_i_supply *supply) {
    return supply->taken < supply->announced ? &supply->drawn[supply->taken % supply->known] : NULL;
}

/* ---- the rows of a batch ---------------------------------------------------------------------------- */

typedef struct read_job {
    const pgcn_i_row_rule *rule;
    pgcn_i_wanted_rows rows;
    atomic_llong first_bad; /* number of `rows`, INT64_MAX: none */
} read_job;

/* A row that is not finite is left as it is: the sentence quotes it. */
static void read_row(void *context, int64_t i, float *row) {
    read_job *job = context;
    if (pgcn_i_first_bad(row, job->rule->features->columns) < 0) {
        pgcn_i_row_as_read(job->rule, job->rows.node[i], row);
        return;
    }
    long long first = atomic_load(&job->first_bad);
    while (i < first && !atomic_compare_exchange_weak(&job->first_bad, &first, i)) continue;
}

pgcn_status pgcn_i_supply_bring(pgcn_i_supply *supply, const pgcn_i_views *views) {
    pgcn_i_wanted_rows rows = pgcn_i_nodes_wanted(views->nodes);
    read_job job = {.rule = &supply->rule, .rows = rows, .first_bad = INT64_MAX};
    int64_t columns = supply->rule.features->columns;
    PGCN_TRY(pgcn_i_row_cache_take(supply->cache, rows.to, read_row, &job));
    supply->taken++;
    tell(supply);
    if (job.first_bad == INT64_MAX) return PGCN_OK;
    const float *row = rows.to + job.first_bad * columns;
    int64_t column = pgcn_i_first_bad(row, columns);
    return pgcn_i_fail_row(supply->file, rows.node[job.first_bad], column, row[column]);
}

bool pgcn_dataset_row_reads(const pgcn_dataset *data, pgcn_row_reads *out) {
    if (!data || !data->x.file) return false;
    pgcn_i_row_counts counts = pgcn_i_row_file_noted(data->x.file);
    if (out)
        *out = (pgcn_row_reads){
            .hits = counts.hits, .misses = counts.misses, .bytes = counts.bytes_read};
    return true;
}

pgcn_row_reads pgcn_i_supply_reads(const pgcn_i_supply *supply) {
    pgcn_i_row_counts counts = counts_of(supply);
    return (pgcn_row_reads){.hits = counts.hits,
                            .misses = counts.misses,
                            .bytes = counts.bytes_read,
                            .cache_bytes = supply->opts.bytes};
}

/* ---- the bound of memory ------------------------------------------------------------------------------ */

static int64_t least_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t graph_bytes(const pgcn_graph *graph) {
    return (graph->n + 1) * (int64_t)sizeof *graph->offset +
           graph->entries *
               (int64_t)(sizeof *graph->neighbour + (graph->weight ? sizeof *graph->weight : 0));
}

pgcn_i_memory_needs pgcn_i_needs_of(const pgcn_dataset *data) {
    return (pgcn_i_memory_needs){.program = data->from.before,
                                 .nodes = data->from.arena.bytes + NODE_BYTES * data->graph->n,
                                 .graph = graph_bytes(data->graph)};
}

/* The pages of the graph that must fit. */
static int64_t least_graph(const pgcn_i_memory_needs *need) {
    return need->graph / LEAST_SHARE;
}

static int64_t fixed_bytes(const pgcn_i_memory_needs *need) {
    return need->program + need->nodes + need->weights + need->batch + SLACK_BYTES;
}

int64_t pgcn_i_needs_bytes(const pgcn_i_memory_needs *need) {
    return fixed_bytes(need) + least_graph(need);
}

bool pgcn_i_needs_fit(const pgcn_i_memory_needs *need, const pgcn_dataset *data) {
    return pgcn_i_needs_bytes(need) <= data->from.memory;
}

/* A bound that suffices, as --memory takes it: a process has some pages more or less each time. */
static void bound_text(int64_t bytes, char out[32]) {
    enum { MIB = 1 << 20, SHARE = 64 };
    int64_t enough = bytes + bytes / SHARE + 2 * MIB;
    snprintf(out, 32, "%lldM", (long long)((enough + MIB - 1) / MIB));
}

pgcn_status pgcn_i_needs_fail(const pgcn_i_memory_needs *need, const pgcn_dataset *data,
                              const char *what, const char *advice) {
    char text[7][32], available[64], enough[32];
    const int64_t size[7] = {data->from.memory,
                             pgcn_i_needs_bytes(need),
                             need->program + SLACK_BYTES,
                             need->nodes,
                             need->weights,
                             need->batch,
                             least_graph(need)};
    for (int i = 0; i < 7; i++) pgcn_format_bytes(size[i], text[i]);
    pgcn_i_available_text(available);
    bound_text(size[1], enough);
    return pgcn_i_fail(
        PGCN_ERR_MEMORY,
        "%s %s within %s is not possible: it needs at least %s in all (program %s, arrays "
        "of nodes %s, weights %s, a batch and those after it %s, pages of the graph %s), and %s; "
        "raise the bound (--memory %s)%s",
        what, data->name, text[0], text[1], text[2], text[3], text[4], text[5], text[6], available,
        enough, advice);
}

pgcn_i_batch_size pgcn_i_batch_size_of(pgcn_i_nodes *nodes, pgcn_i_batch_size before) {
    int64_t wanted = pgcn_i_nodes_wanted(nodes).count, drawn = pgcn_i_nodes_drawn_bytes(nodes);
    return (pgcn_i_batch_size){wanted > before.wanted ? wanted : before.wanted,
                               drawn > before.drawn_bytes ? drawn : before.drawn_bytes};
}

/* Of a batch, with some room to spare, since batches differ: its lists, and its rows while they are read. */
typedef struct batch_bytes {
    int64_t known, sorted, read;
} batch_bytes;

static batch_bytes bytes_of(const pgcn_i_supply *supply, pgcn_i_batch_size size) {
    int64_t rows = size.wanted + size.wanted / 8 + 1;
    return (batch_bytes){KNOWN_BYTES * rows + size.drawn_bytes + size.drawn_bytes / 8,
                         SORT_BYTES * rows,
                         rows * (pgcn_i_row_file_row_bytes(supply->file) + MISSED_BYTES)};
}

/* Rows are read of `ahead` batches, and of the one before them. */
static int64_t bytes_of_all(batch_bytes each, int64_t known, int64_t ahead) {
    return known * each.known + each.sorted + (ahead + 1) * each.read;
}

int64_t pgcn_i_supply_least(const pgcn_i_supply *supply, pgcn_i_batch_size size) {
    return bytes_of_all(bytes_of(supply, size), LEAST_KNOWN, LEAST_AHEAD);
}

/* More than the least where there is room, half of which is left to the graph and the cache. */
static int64_t more_than(int64_t least, int64_t most, int64_t bytes_each, int64_t room) {
    int64_t number = room / bytes_each;
    return number < least ? least : number < most ? number : most;
}

int64_t pgcn_i_supply_plan(pgcn_i_supply *supply, pgcn_i_batch_size size,
                           pgcn_i_memory_needs *need) {
    batch_bytes each = bytes_of(supply, size);
    int64_t bound = supply->data->from.memory, quarter = (bound - pgcn_i_needs_bytes(need)) / 4;
    supply->known = more_than(LEAST_KNOWN, MOST_KNOWN, each.known,
                              least_of(bound / KNOWN_SHARE, LEAST_KNOWN * each.known + quarter));
    int64_t ahead =
        more_than(LEAST_AHEAD, PGCN_I_MOST_AHEAD, each.read,
                  least_of(bound / AHEAD_SHARE - each.read, LEAST_AHEAD * each.read + quarter));
    supply->opts.ahead = (int)least_of(ahead, supply->known - 1);
    int64_t more = bytes_of_all(each, supply->known, supply->opts.ahead) -
                   bytes_of_all(each, LEAST_KNOWN, LEAST_AHEAD);
    need->batch += more;
    return more;
}

/* For measurements and tests: "lru", "future", and after a colon how many bytes of rows are kept at most. */
static void compare_with(pgcn_i_row_cache_opts *opts, const char *text) {
    const char *colon = text ? strchr(text, ':') : NULL;
    int64_t bytes;
    if (text && strncmp(text, "lru", 3) == 0) opts->policy = PGCN_I_ROWS_LRU;
    if (colon && pgcn_integer_parse(colon + 1, 0, opts->bytes, &bytes)) opts->bytes = bytes;
}

int64_t pgcn_i_supply_divide(pgcn_i_supply *supply, const pgcn_i_memory_needs *need) {
    int64_t row = pgcn_i_row_file_row_bytes(supply->file), rows = supply->data->x.n;
    int64_t rest = supply->data->from.memory - fixed_bytes(need);
    int64_t cache = rest - least_of(need->graph, rest / 3 * 2); /* the graph first */
    int64_t slots = least_of(cache / (row + SLOT_BYTES), rows);
    supply->opts.bytes = slots * row;
    supply->opts.pool = supply->pool;
    compare_with(&supply->opts, getenv("PATHGCN_ROWS"));
    return NODE_BYTES * rows + slots * (row + SLOT_BYTES);
}
