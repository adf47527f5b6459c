/* What the programs of this folder share: a clock, turns, the description of the machine, and
 * one way to report a case: a line for people on standard output and one JSON line in a file. */
#ifndef PGCN_BENCH_H
#define PGCN_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

double bench_now(void); /* seconds */

/* ---- the machine ---------------------------------------------------------------------------- */

typedef struct bench_machine {
    char cpu[96];
    int cores;
    long l2_kib, l3_kib;
    double load; /* of the last minute, before we added to it */
} bench_machine;
bench_machine bench_machine_get(void);
/* "AMD EPYC, 2 cores, L2 1024 KiB, L3 32768 KiB, load 0.1", and a warning if somebody else
 * works. */
void bench_machine_print(const bench_machine *machine);

/* ---- timing --------------------------------------------------------------------------------- */

typedef struct bench_times {
    double median, least; /* seconds of one call */
    int repetitions;
} bench_times;
bench_times bench_times_of(double *seconds, int count); /* sorts them */

/* Things that are compared take turns, so that a moment in which the machine is busy hits all of
 * them. A repetition calls often enough to take some milliseconds; the first one warms up and is
 * forgotten. */
typedef struct bench_turn {
    void (*run)(void *context);
    void *context;
    bench_times times; /* comes out */
} bench_turn;
void bench_take_turns(bench_turn *turns, int count, int repetitions);

/* ---- reporting ------------------------------------------------------------------------------ */

typedef enum bench_unit {
    BENCH_GB_S,    /* work is bytes: the more the better */
    BENCH_GFLOP_S, /* work is operations */
    BENCH_NS       /* nanoseconds per unit of work: the less the better */
} bench_unit;

typedef struct bench_case {
    const char *bench; /* the program: "kernels" */
    const char *name;  /* "path convolution forward" */
    char shape[120];   /* "cora n=2708 k=5 p=5 c=64" */
    int threads;
    bench_times times;
    double work; /* of one call */
    bench_unit unit;
    const char *of; /* with BENCH_NS: of what, "walk step"; else NULL */
    /* the limit of this machine for the same work, measured in turns with it; 0: none */
    double limit_seconds;
    const char *limit; /* what the limit is */
} bench_case;

double bench_rate(const bench_case *result, double seconds); /* in its unit */
const char *bench_unit_name(bench_unit unit);
/* `json` may be NULL. The command is what the user typed. */
void bench_report(const bench_case *result, const bench_machine *machine, const char *command,
                  FILE *json);
void bench_table_head(void);

/* ---- memory --------------------------------------------------------------------------------- */

/* Zeroed floats in pages of their own, of 4 KiB or (as far as the system gives them) of 2 MiB. */
float *bench_floats(int64_t count, bool huge_pages);
void bench_floats_free(float *floats, int64_t count);

/* argument[0] argument[1] ...: for the JSON lines. */
void bench_command_text(char *out, size_t bytes, int count, char **argument);
/* Prints the sentence and ends the program: a wrong answer must not be timed. */
void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
int64_t bench_peak_bytes(void); /* resident, so far */

#endif
