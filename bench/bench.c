/* See bench.h. */
#define _GNU_SOURCE
#include "bench.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

double bench_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void bench_die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

/* ---- the machine ---------------------------------------------------------------------------- */

static void read_cpu_name(char *out, size_t bytes) {
    char line[256];
    snprintf(out, bytes, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        const char *name = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !name) continue;
        snprintf(out, bytes, "%.*s", (int)strcspn(name + 2, "\n\"\\"), name + 2);
        break;
    }
    if (file) fclose(file);
}

/* Of the first core; sysconf() adds up what several cores share. */
static long read_cache_kib(int level) {
    char path[80];
    long kib = 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", level);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%ld", &kib) != 1) kib = 0;
    if (file) fclose(file);
    return kib;
}

bench_machine bench_machine_get(void) {
    bench_machine machine = {.cores = (int)sysconf(_SC_NPROCESSORS_ONLN),
                             .l2_kib = read_cache_kib(2),
                             .l3_kib = read_cache_kib(3)};
    read_cpu_name(machine.cpu, sizeof machine.cpu);
    if (getloadavg(&machine.load, 1) != 1) machine.load = -1;
    return machine;
}

void bench_machine_print(const bench_machine *machine) {
    printf("%s, %d cores, L2 %ld KiB, L3 %ld KiB, load %.1f\n", machine->cpu, machine->cores,
           machine->l2_kib, machine->l3_kib, machine->load);
    if (machine->load > 0.5)
        printf("The machine is busy (load %.1f before the start): repeat when it is idle.\n",
               machine->load);
}

int64_t bench_peak_bytes(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (int64_t)usage.ru_maxrss * 1024;
}

/* ---- timing --------------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bench_times bench_times_of(double *seconds, int count) {
    qsort(seconds, (size_t)count, sizeof *seconds, compare_doubles);
    double median = 0.5 * (seconds[(count - 1) / 2] + seconds[count / 2]);
    return (bench_times){.median = median, .least = seconds[0], .repetitions = count};
}

static double seconds_of(const bench_turn *turn, int calls) {
    double begin = bench_now();
    for (int i = 0; i < calls; i++) turn->run(turn->context);
    return (bench_now() - begin) / calls;
}

enum { MOST_TURNS = 8, MOST_REPETITIONS = 100 };

void bench_take_turns(bench_turn *turns, int count, int repetitions) {
    static double seconds[MOST_TURNS][MOST_REPETITIONS];
    int calls[MOST_TURNS] = {0};
    const double least_s = repetitions > 1 ? 3e-3 : 0;
    if (count > MOST_TURNS || repetitions > MOST_REPETITIONS) bench_die("too many turns");
    for (int i = 0; i < count; i++) {
        double once = seconds_of(&turns[i], 1);
        if (once < least_s) once = seconds_of(&turns[i], 1); /* without the first page faults */
        calls[i] = once < least_s ? (int)(least_s / (once + 1e-7)) + 1 : 1;
    }
    for (int r = 0; r < repetitions; r++)
        for (int i = 0; i < count; i++) seconds[i][r] = seconds_of(&turns[i], calls[i]);
    for (int i = 0; i < count; i++) turns[i].times = bench_times_of(seconds[i], repetitions);
}

/* ---- reporting ------------------------------------------------------------------------------ */

const char *bench_unit_name(bench_unit unit) {
    static const char *const names[] = {"GB/s", "GFLOP/s", "ns"};
    return names[unit];
}

double bench_rate(const bench_case *result, double seconds) {
    return result->unit == BENCH_NS ? 1e9 * seconds / result->work : 1e-9 * result->work / seconds;
}

void bench_table_head(void) {
    printf("%-27s %-44s %2s %10s %10s %9s %-8s %9s %6s  %s\n", "case", "shape", "th", "median us",
           "least us", "achieved", "", "limit", "%", "the limit is");
}

void bench_report(const bench_case *result, const bench_machine *machine, const char *command,
                  FILE *json) {
    const bench_times *times = &result->times;
    double achieved = bench_rate(result, times->median), limit = 0, percent = 0;
    if (result->limit_seconds > 0) {
        limit = bench_rate(result, result->limit_seconds);
        percent = 100 * result->limit_seconds / times->median;
    }
    const char *unit = bench_unit_name(result->unit);
    printf("%-27s %-44s %2d %10.1f %10.1f %9.2f %-8s ", result->name, result->shape,
           result->threads, 1e6 * times->median, 1e6 * times->least, achieved, unit);
    if (limit > 0) printf("%9.2f %5.0f%%  %s", limit, percent, result->limit);
    if (result->of) printf("  (per %s)", result->of);
    printf("\n");
    fflush(stdout);
    if (!json) return;
    const char *commit = getenv("BENCH_COMMIT");
    fprintf(json,
            "{\"bench\": \"%s\", \"case\": \"%s\", \"shape\": \"%s\", \"threads\": %d, "
            "\"median_us\": %.3f, \"min_us\": %.3f, \"repetitions\": %d, \"achieved\": %.4g, "
            "\"unit\": \"%s\", \"per\": \"%s\", \"limit\": %.4g, \"limit_name\": \"%s\", "
            "\"percent_of_limit\": %.1f, \"cpu\": \"%s\", \"cores\": %d, \"l2_kib\": %ld, "
            "\"l3_kib\": %ld, \"load\": %.2f, \"commit\": \"%s\", \"command\": \"%s\"}\n",
            result->bench, result->name, result->shape, result->threads, 1e6 * times->median,
            1e6 * times->least, times->repetitions, achieved, unit, result->of ? result->of : "",
            limit, result->limit ? result->limit : "", percent, machine->cpu, machine->cores,
            machine->l2_kib, machine->l3_kib, machine->load, commit ? commit : "unknown", command);
    fflush(json);
}

void bench_command_text(char *out, size_t bytes, int count, char **argument) {
    size_t at = 0;
    for (int i = 0; i < count && at + 1 < bytes; i++) {
        const char *text = argument[i], *slash = strrchr(text, '/');
        if (i == 0 && slash) text = slash + 1; /* the program without its folder */
        int wrote = snprintf(out + at, bytes - at, "%s%s", i ? " " : "", text);
        at += wrote > 0 ? (size_t)wrote : 0;
    }
    for (char *c = out; *c; c++)
        if (*c == '"' || *c == '\\') *c = '\'';
}

/* ---- memory --------------------------------------------------------------------------------- */

enum { HUGE_PAGE = 2 << 20 };

static size_t mapped_bytes(int64_t count) {
    size_t bytes = (size_t)count * sizeof(float);
    return (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE + HUGE_PAGE; /* room to align */
}

float *bench_floats(int64_t count, bool huge_pages) {
    size_t bytes = mapped_bytes(count);
    char *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) bench_die("no memory for %lld floats", (long long)count);
    /* Fails where the kernel has no huge pages: then both kinds are the same. */
    madvise(block, bytes, huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    size_t past = (size_t)(uintptr_t)block % HUGE_PAGE, skip = past ? HUGE_PAGE - past : 0;
    float *floats = (float *)(void *)(block + skip);
    memset(floats, 0, (size_t)count * sizeof *floats);
    return floats;
}

void bench_floats_free(float *floats, int64_t count) {
    if (floats) munmap(floats, (size_t)count * sizeof *floats); /* the rest was never touched */
}
