/* See bed.h. */
#include "bed.h"

#include <stdlib.h>
#include <string.h>

struct bench_run run;

void must(pgcn_status status) {
    if (status != PGCN_OK) bench_die("%s", pgcn_last_error());
}

void check_close(const char *what, const float *got, const double *want, int64_t count,
                 double tolerance) {
    double error = ref_error(got, want, count);
    if (!(error <= tolerance))
        bench_die("%s is wrong: error %.3g, tolerance %g; nothing was timed", what, error,
                  tolerance);
}

void bed_open(bed *b, const char *name, const char *label, int k, int p, int64_t c, int64_t rows,
              bool huge_pages) {
    *b = (bed){.kernels = pgcn_i_kernels_get(), .k = k, .p = p, .c = c};
    snprintf(b->name, sizeof b->name, "%s", label);
    must(pgcn_dataset_load(name, NULL, &b->data));
    pgcn_config config = pgcn_config_default();
    char settings[160];
    snprintf(settings, sizeof settings,
             "layers=1 channels=8 path-length=%d paths=%d samples=1 consistency=0 threads=%d", k, p,
             run.threads[run.thread_counts - 1]);
    must(pgcn_i_config_apply(&config, settings));
    must(pgcn_trainer_new(b->data, &config, &b->trainer));
    const pgcn_i_visits *visits = b->trainer->train.views.visits[0];
    b->n = pgcn_graph_nodes(pgcn_dataset_graph(b->data));
    b->rows = rows > 0 && rows < b->n ? rows : b->n;
    b->pool = run.pool[run.thread_counts - 1];
    b->hop = visits->hop;
    b->hop_t = visits->hop_t;
    b->h = bench_floats(b->n * c, huge_pages);
    b->g = bench_floats(b->n * c, huge_pages);
    b->out = bench_floats(b->n * c, huge_pages);
    float *random = ref_random_floats(1, b->n * c);
    memcpy(b->h, random, (size_t)(b->n * c) * sizeof *random);
    for (int64_t i = 0; i < b->n * c; i++) b->g[i] = random[b->n * c - 1 - i];
    free(random);
    b->s = ref_random_floats(2, k * c);
    b->partial = ref_filled_floats(0, PGCN_GROUPS * k * c);
    b->walks = pgcn_i_alloc(b->n * p * k, sizeof *b->walks);
    if (!b->walks) bench_die("%s", pgcn_last_error());
}

void bed_close(bed *b) {
    bench_floats_free(b->h, b->n * b->c);
    bench_floats_free(b->g, b->n * b->c);
    bench_floats_free(b->out, b->n * b->c);
    free(b->s), free(b->partial);
    pgcn_i_free(b->walks);
    pgcn_trainer_free(b->trainer);
    pgcn_dataset_free(b->data);
}

int64_t bed_checked_rows(const bed *b) {
    return b->rows < 512 ? b->rows : 512;
}

void bed_shape(char *out, size_t bytes, const bed *b, const char *note) {
    snprintf(out, bytes, "%s n=%lld k=%d p=%d c=%lld%s%s", b->name, (long long)b->n, b->k, b->p,
             (long long)b->c, note ? ", " : "", note ? note : "");
}

void measure(bed *b, const subject *x) {
    for (int t = 0; t < run.thread_counts; t++) {
        bench_turn turns[4] = {{.run = x->body, .context = b}};
        int count = 1;
        for (int i = 0; i < 3; i++)
            if (x->limit[i]) turns[count++] = (bench_turn){.run = x->limit[i], .context = b};
        b->pool = run.pool[t];
        bench_take_turns(turns, count, run.repetitions);
        bench_case result = {.bench = "kernels",
                             .name = x->name,
                             .threads = run.threads[t],
                             .times = turns[0].times,
                             .work = x->work,
                             .unit = x->unit,
                             .of = x->of,
                             .limit = x->limit_name};
        for (int i = 1; i < count; i++)
            if (i == 1 || turns[i].times.median < result.limit_seconds)
                result.limit_seconds = turns[i].times.median;
        if (x->limit_thread_work > 0)
            result.limit_seconds *= x->work / (x->limit_thread_work * run.threads[t]);
        bed_shape(result.shape, sizeof result.shape, b, x->note);
        bench_report(&result, &run.machine, run.command, run.json);
    }
}
