/* Rows of a large container read by batches through the bounded cache: our side of bench/huge.sh. Prints one
 * JSON line.
 *
 *     rows FILE future|lru plain|best MEGABYTES BATCHES NODES FANOUT KNOWN
 *
 * A batch is what a step of training wants: NODES nodes drawn at random, and for each of them the nodes of FANOUT
 * walks of two hops along the graph of the container. KNOWN batches are announced ahead. Every row that arrives is
 * added up, so that nothing is read in vain; the sum is printed, and is the same for every cache. */
#include "base/rng.h"
#include "data/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

typedef struct work {
    const pgcn_graph *graph;
    pgcn_i_row_cache *cache;
    int64_t nodes, fanout;
    pgcn_node *row;
    uint8_t *wanted; /* [n] */
    float *x;
    int64_t columns, most;
} work;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int64_t want(work *w, pgcn_node node, int64_t count) {
    if (!w->wanted[node]) w->row[count++] = node;
    w->wanted[node] = 1;
    return count;
}

/* The rows of a batch: a function of its number alone. */
static int64_t rows_of(work *w, int64_t number) {
    const pgcn_graph *graph = w->graph;
    int64_t count = 0;
    for (int64_t i = 0; i < w->nodes; i++) {
        pgcn_i_stream stream =
            pgcn_i_stream_of((pgcn_i_rng_domain){.seed = 5, .step = (uint32_t)number}, (uint64_t)i);
        pgcn_node start = (pgcn_node)pgcn_i_bounded(&stream, (uint32_t)graph->n);
        count = want(w, start, count);
        for (int64_t path = 0; path < w->fanout; path++) {
            pgcn_node at = start;
            for (int hop = 0; hop < 2; hop++) {
                int64_t degree = graph->offset[at + 1] - graph->offset[at];
                if (degree == 0) break;
                at =
                    graph->neighbour[graph->offset[at] + pgcn_i_bounded(&stream, (uint32_t)degree)];
                count = want(w, at, count);
            }
        }
    }
    for (int64_t i = 0; i < count; i++) w->wanted[w->row[i]] = 0;
    return count;
}

static pgcn_status run(work *w, int64_t batches, int64_t known, double *sum, int64_t *rows) {
    int64_t *count = calloc((size_t)batches, sizeof *count);
    pgcn_status status = count ? PGCN_OK : PGCN_ERR_MEMORY;
    for (int64_t b = 0, told = 0; b < batches && status == PGCN_OK; b++) {
        for (; told < batches && told < b + known && status == PGCN_OK; told++) {
            count[told] = rows_of(w, told);
            status = pgcn_i_row_cache_announce(w->cache, w->row, count[told]);
        }
        if (status == PGCN_OK) status = pgcn_i_row_cache_take(w->cache, w->x, NULL, NULL);
        for (int64_t i = 0; i < count[b] * w->columns && status == PGCN_OK; i++)
            *sum += (double)w->x[i];
        *rows += count[b];
    }
    free(count);
    return status;
}

static pgcn_status open_all(char **argv, work *w, pgcn_i_source *source, pgcn_i_row_file **file) {
    static const pgcn_i_steps none;
    pgcn_i_row_cache_opts opts = {.bytes = atoll(argv[4]) << 20, .ahead = 2};
    opts.policy = strcmp(argv[2], "lru") == 0 ? PGCN_I_ROWS_LRU : PGCN_I_ROWS_FUTURE;
    PGCN_TRY(pgcn_i_container_rows(
        argv[1], strcmp(argv[3], "plain") == 0 ? PGCN_I_ROWS_PLAIN : PGCN_I_ROWS_BEST, file));
    PGCN_TRY(pgcn_i_container_graph(argv[1], source));
    PGCN_TRY(pgcn_i_row_cache_new(*file, &opts, &w->cache));
    w->graph = source->graph;
    w->nodes = atoll(argv[6]);
    w->fanout = atoll(argv[7]);
    w->columns = pgcn_i_row_file_layout(*file)->columns;
    w->most = w->nodes * (1 + 2 * w->fanout);
    w->row = calloc((size_t)w->most, sizeof *w->row);
    w->wanted = calloc((size_t)w->graph->n, 1);
    w->x = calloc((size_t)(w->most * w->columns), sizeof *w->x);
    return w->row && w->wanted && w->x ? PGCN_OK : PGCN_ERR_MEMORY;
}

int main(int argc, char **argv) {
    work w = {0};
    pgcn_i_source source = {0};
    pgcn_i_row_file *file = NULL;
    if (argc != 9) {
        fprintf(stderr,
                "usage: rows FILE future|lru plain|best MEGABYTES BATCHES NODES FANOUT KNOWN\n");
        return 2;
    }
    double sum = 0;
    int64_t rows = 0, batches = atoll(argv[5]);
    pgcn_status status = open_all(argv, &w, &source, &file);
    double begin = now();
    if (status == PGCN_OK) status = run(&w, batches, atoll(argv[8]), &sum, &rows);
    double seconds = now() - begin;
    if (status != PGCN_OK) {
        fprintf(stderr, "rows: %s\n", pgcn_last_error());
        return 1;
    }
    pgcn_i_row_counts counts = pgcn_i_row_cache_counts(w.cache);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf(
        "{\"policy\":\"%s\",\"way\":\"%s\",\"cache_mb\":%s,\"known\":%s,\"batches\":%lld,\"rows\":%lld,"
        "\"hit_rate\":%.4f,\"bytes_read\":%lld,\"seconds\":%.3f,\"rows_per_s\":%.0f,\"peak_bytes\":%lld,"
        "\"sum\":%.6g}\n",
        argv[2], pgcn_i_row_file_uses_uring(file) ? "io_uring" : "plain", argv[4], argv[8],
        (long long)batches, (long long)rows,
        (double)counts.hits / (double)(counts.hits + counts.misses), (long long)counts.bytes_read,
        seconds, (double)rows / seconds, (long long)usage.ru_maxrss * 1024, sum);
    return 0;
}
