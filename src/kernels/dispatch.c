/* Which instruction set to use: one table per set that this build holds, the best one that the
 * processor and the operating system support by default, another one by PATHGCN_ISA.
 * Tables are filled once and only read afterwards, from any thread. Called by paths, nn, train and
 * info. */
#include "kernels/kernels.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The eight files of a set (isa.h declares them for one set only: the one being compiled). */
#define DECLARE_SET(set)                                                                           \
    void pgcn_i_fill_pathconv_##set(pgcn_i_kernels *table);                                        \
    void pgcn_i_fill_spmm_##set(pgcn_i_kernels *table);                                            \
    void pgcn_i_fill_elementwise_##set(pgcn_i_kernels *table);                                     \
    void pgcn_i_fill_dropout_##set(pgcn_i_kernels *table);                                         \
    void pgcn_i_fill_norm_##set(pgcn_i_kernels *table);                                            \
    void pgcn_i_fill_propagate_##set(pgcn_i_kernels *table);                                       \
    void pgcn_i_fill_attention_##set(pgcn_i_kernels *table);                                       \
    void pgcn_i_fill_loss_##set(pgcn_i_kernels *table);                                            \
    void pgcn_i_fill_gemm_##set(pgcn_i_kernels *table);                                            \
    void pgcn_i_fill_walk_##set(pgcn_i_kernels *table);                                            \
    static void fill_##set(pgcn_i_kernels *table) {                                                \
        table->isa = #set;                                                                         \
        pgcn_i_fill_pathconv_##set(table);                                                         \
        pgcn_i_fill_spmm_##set(table);                                                             \
        pgcn_i_fill_elementwise_##set(table);                                                      \
        pgcn_i_fill_dropout_##set(table);                                                          \
        pgcn_i_fill_norm_##set(table);                                                             \
        pgcn_i_fill_propagate_##set(table);                                                        \
        pgcn_i_fill_attention_##set(table);                                                        \
        pgcn_i_fill_loss_##set(table);                                                             \
        pgcn_i_fill_gemm_##set(table);                                                             \
        pgcn_i_fill_walk_##set(table);                                                             \
    }

DECLARE_SET(baseline)
static bool supports_baseline(void) {
    return true;
}

#ifdef PGCN_HAVE_X86_KERNELS
DECLARE_SET(avx2)
DECLARE_SET(avx512)
/* The sets are compiled for x86-64-v3 and -v4. Every processor with the features tested here has
 * the other features of these levels too; older compilers cannot test for a level as such. */
static bool supports_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}
static bool supports_avx512(void) {
    return supports_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

/* From the least to the best. */
static const struct instruction_set {
    bool (*supported)(void);
    void (*fill)(pgcn_i_kernels *table);
} sets[] = {
    {supports_baseline, fill_baseline},
#ifdef PGCN_HAVE_X86_KERNELS
    {supports_avx2, fill_avx2},
    {supports_avx512, fill_avx512},
#endif
};
enum { SETS = sizeof sets / sizeof sets[0] };

static pgcn_i_kernels tables[SETS]; /* isa is NULL where not supported */
static const pgcn_i_kernels *chosen;
static char refused[32]; /* the value of PATHGCN_ISA if there is no such set, else "" */
static pthread_once_t fill_once = PTHREAD_ONCE_INIT, choose_once = PTHREAD_ONCE_INIT;

static void fill_tables(void) {
    for (int i = 0; i < SETS; i++)
        if (sets[i].supported()) sets[i].fill(&tables[i]);
}

static void choose(void) {
    const char *name = getenv("PATHGCN_ISA");
    chosen = name && *name ? pgcn_i_kernels_named(name) : NULL;
    if (name && *name && !chosen) snprintf(refused, sizeof refused, "%s", name);
    for (int i = SETS - 1; !chosen; i--) /* ends: the baseline is always there */
        if (tables[i].isa) chosen = &tables[i];
}

const pgcn_i_kernels *pgcn_i_kernels_named(const char *isa) {
    pthread_once(&fill_once, fill_tables);
    for (int i = 0; i < SETS; i++)
        if (tables[i].isa && strcmp(tables[i].isa, isa) == 0) return &tables[i];
    return NULL;
}

const pgcn_i_kernels *pgcn_i_kernels_get(void) {
    pthread_once(&fill_once, fill_tables);
    pthread_once(&choose_once, choose);
    return chosen;
}

static bool is_built(const char *isa) {
    const char *list = pgcn_i_kernels_built(), *found = strstr(list, isa);
    size_t length = strlen(isa);
    return found && !strchr(isa, ' ') && (found == list || found[-1] == ' ') &&
           strchr(" ", found[length]);
}

pgcn_status pgcn_i_kernels_check(void) {
    pgcn_i_kernels_get();
    if (!*refused) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_SYSTEM,
                       "PATHGCN_ISA is '%s', which this %s; it was built for %s: unset it for the "
                       "best one of this processor",
                       refused, is_built(refused) ? "processor lacks" : "build does not know",
                       pgcn_i_kernels_built());
}

const char *pgcn_i_kernels_built(void) {
#ifdef PGCN_HAVE_X86_KERNELS
    return "baseline avx2 avx512";
#else
    return "baseline";
#endif
}
