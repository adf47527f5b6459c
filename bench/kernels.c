/* Every kernel with what it achieves and, beside it, the limit of this machine: a plain loop
 * (limits.c) that does the least any program must do for the same work, measured in turns with
 * it. An answer is compared with a plain loop in double precision before it is timed.
 *
 *     kernels [--full | --smoke] [--repetitions N] [--json FILE]
 *
 * Cora is used if PATHGCN_DATA has it, a block model of its size otherwise. --smoke is a test:
 * tiny sizes, one repetition. */
#include "bed.h"

#include <stdlib.h>
#include <string.h>

/* ---- all of it ------------------------------------------------------------------------------ */

static const char *small_set(void) {
    pgcn_dataset *data;
    if (run.smoke) return "sbm:nodes=300";
    if (pgcn_dataset_load("cora", NULL, &data) != PGCN_OK) {
        printf("PATHGCN_DATA does not name a folder that holds cora/: a block model of its size is "
               "measured instead, without the sparse input layer.\n");
        return "sbm:nodes=2708,degree=4,classes=7";
    }
    pgcn_dataset_free(data);
    return "cora";
}

static void bench_in_cache(void) {
    const char *name = small_set();
    const char *label = strcmp(name, "cora") == 0 ? "cora" : "sbm";
    bed b;
    bed_open(&b, name, label, 5, 5, 64, 0, false);
    bench_sampling(&b);
    bench_pathconv(&b, NULL);
    bench_exact(&b);
    bench_input(&b);
    bench_gemm(&b);
    bench_layer(&b);
    bench_elementwise(&b);
    bench_loss(&b);
    bed_close(&b);
    if (run.smoke) { /* the other one has no sparse features */
        bed_open(&b, "karate", "karate", 5, 5, 64, 0, false);
        bench_input(&b);
        bed_close(&b);
    }
    /* Few visits of wide rows: the product bounds this layer. */
    bed_open(&b, name, label, 2, 1, 256, 0, false);
    bench_redraw(&b);
    bench_gemm(&b);
    bench_layer(&b);
    bed_close(&b);
}

/* Rows of a matrix that no cache holds. In the block model every node is as likely as any other,
 * so that rows are read at random; in the power-law graph some are read often. */
static void bench_out_of_cache(const char *name, const char *label, bool huge_pages) {
    bed b;
    bed_open(&b, name, label, 5, 10, run.smoke ? 64 : 256, run.smoke ? 256 : 16384, huge_pages);
    if (!huge_pages) {
        bench_sampling(&b);
    } else {
        bench_redraw(&b);
    }
    bench_pathconv(&b, huge_pages ? "2 MiB pages" : "4 KiB pages");
    bed_close(&b);
}

static void parse(int count, char **argument) {
    for (int i = 1; i < count; i++) {
        const char *next = i + 1 < count ? argument[i + 1] : NULL;
        if (strcmp(argument[i], "--smoke") == 0) {
            run.smoke = true;
            run.repetitions = 1;
        } else if (strcmp(argument[i], "--full") == 0) {
            run.repetitions = 20;
        } else if (strcmp(argument[i], "--repetitions") == 0 && next) {
            run.repetitions = atoi(argument[++i]);
            if (run.repetitions < 1 || run.repetitions > 100) bench_die("1 to 100 repetitions");
        } else if (strcmp(argument[i], "--json") == 0 && next) {
            run.json = fopen(argument[++i], "w");
            if (!run.json) bench_die("%s cannot be written", argument[i]);
        } else {
            bench_die("usage: kernels [--full | --smoke] [--repetitions N] [--json FILE]");
        }
    }
}

int main(int count, char **argument) {
    run.machine = bench_machine_get();
    run.repetitions = 9;
    bench_command_text(run.command, sizeof run.command, count, argument);
    parse(count, argument);
    for (int t = 1; t <= 2 && t <= pgcn_i_cores(); t++) {
        run.threads[run.thread_counts] = t;
        must(pgcn_i_pool_new(t, &run.pool[run.thread_counts++]));
    }
    bench_machine_print(&run.machine);
    printf("kernels for %s\n", pgcn_i_kernels_get()->isa);
    bench_table_head();
    bench_machine_limits();
    bench_in_cache();
    bench_out_of_cache(run.smoke
                           ? "sbm:nodes=400"
                           : "sbm:nodes=169343,degree=13.8,classes=2,features=2,homophily=0.5",
                       "random", false);
    if (!run.smoke) {
        bench_out_of_cache("sbm:nodes=169343,degree=13.8,classes=2,features=2,homophily=0.5",
                           "random", true);
        bench_out_of_cache("powerlaw:nodes=169343,edges=1166243,features=8,classes=40", "powerlaw",
                           true);
    }
    for (int t = 0; t < run.thread_counts; t++) {
        pgcn_i_pool_free(run.pool[t]);
    }
    if (run.json) fclose(run.json);
    return 0;
}
