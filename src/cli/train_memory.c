/* Predicts how much memory a run will take, before its first epoch. The library knows what training
 * adds; the system reports what the program, the data set included, uses already. Called by
 * train_run.c after the trainer was made. */
#include "cli/train.h"

#include <string.h>
#include <unistd.h>

enum {
    REPORTED_FROM = 100 << 20, /* less is not worth a line */
    /* The first files, stacks of threads, the history as JSON. Measured on karate, where there is nothing else. */
    FIRST_USE = 1 << 20
};

int64_t cli_train_resident_bytes(void) {
    long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    bool fine = file && fscanf(file, "%*s %lld", &pages) == 1;
    if (file) fclose(file);
    return fine ? (int64_t)pages * sysconf(_SC_PAGESIZE) : cli_peak_rss_bytes();
}

static const char *advice(const pgcn_trainer *trainer) {
    pgcn_memory memory = pgcn_trainer_memory(trainer);
    return memory.paths > memory.values ? "fewer --paths or --samples"
                                        : "--recompute yes (deep networks), fewer --samples or "
                                          "--channels";
}

int64_t cli_train_predict(const train_request *r, const pgcn_trainer *trainer, int64_t resident,
                          bool first) {
    int64_t peak = cli_peak_rss_bytes(), available = pgcn_memory_available();
    int64_t more = pgcn_trainer_memory(trainer).total + FIRST_USE;
    int64_t now = cli_train_resident_bytes(), predicted = resident + more;
    char size[32], free_size[32];
    if (peak > predicted) predicted = peak; /* loading the data took more */
    int64_t bound = r->source.memory;       /* pages of the graph are given back there */
    if (bound > 0 && predicted > bound) predicted = bound;
    pgcn_format_bytes(predicted, size);
    if (!first || r->quiet) return predicted;
    if (available >= 0 && resident + more - now > available) {
        pgcn_format_bytes(available, free_size);
        cli_complain(&cli_train,
                     "this run needs about %s of memory, and %s are free; if it is stopped, try %s",
                     size, free_size, advice(trainer));
    } else if (predicted >= REPORTED_FROM && isatty(STDERR_FILENO)) {
        fprintf(stderr, "needs about %s of memory\n", size);
    }
    return predicted;
}

/* Of batches of nodes: how many rows a step has in every layer, and what to do where they are most of the graph. A
 * recipe has batches because its network learns better so: then nobody wants to save by them. */
void cli_train_tell_rows(const train_request *r, const pgcn_trainer *trainer,
                         const pgcn_dataset *data, const pgcn_config *config) {
    pgcn_batch_rows rows, all;
    int64_t nodes = pgcn_graph_nodes(pgcn_dataset_graph(data)) * config->samples;
    if (!pgcn_trainer_rows(trainer, 0, &all)) return;
    if (!pgcn_trainer_rows(trainer, 1, &rows)) return; /* no layer leads to other rows */
    fputs("rows of a step, from the first layer to the last:", stderr);
    for (int l = 0; pgcn_trainer_rows(trainer, l, &rows); l++)
        fprintf(stderr, "%s %lld (at most %lld)", l == 0 ? "" : ",", (long long)rows.expected,
                (long long)rows.most);
    if (config->samples > 1) fprintf(stderr, "; a row for each of %d samples", config->samples);
    fputc('\n', stderr);
    bool wanted = cli_is_given(r->arguments, "batch") || cli_is_given(r->arguments, "batch-by");
    if (!wanted || all.expected < nodes / 2) return;
    cli_complain(&cli_train,
                 "a step has %lld of %lld rows in its first layer: at this depth batches save "
                 "little; use fewer layers, a smaller --batch, %s for fewer %s in the first "
                 "layers, or --batch-by cluster",
                 (long long)all.expected, (long long)nodes,
                 pgcn_config_unused(config, data, "batch-paths") ? "--neighbours 10,5"
                                                                 : "--batch-paths 5,2",
                 pgcn_config_unused(config, data, "batch-paths") ? "neighbours" : "paths");
}
