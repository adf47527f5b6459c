/* What the tests of nn and train share: gradients checked by finite differences of a reference in
 * double, the dropout rule written a second time, and trainers made from one line of settings. */
#ifndef PGCN_NN_HELP_H
#define PGCN_NN_HELP_H

#include "sampling_help.h"
#include "ref/reference.h"

#include "nn/nn.h"
#include "train/train.h"

#include <stdio.h>

/* For tests that run once for each instruction set: PATHGCN_ISA names one that is not here, which is said. */
static inline bool lacks_instruction_set(void) {
    const char *isa = getenv("PATHGCN_ISA");
    if (!isa || pgcn_i_kernels_named(isa)) return false;
    printf("skipped: this processor or this build has no %s\n", isa);
    return true;
}

/* ---- dropout, from the comment in kernels.h --------------------------------------------------- */

static inline uint32_t dropped_below(double rate) {
    return (uint32_t)lround(rate * 65536);
}

/* What element e is multiplied with: 0, or the inverse of the share that is kept. */
static inline double dropout_factor(pgcn_i_rng_domain domain, double rate, int64_t e) {
    if (rate <= 0) return 1;
    uint32_t word[4];
    pgcn_i_rng_words(domain, (uint64_t)e / 8, 0, word);
    int lane = (int)(e % 8);
    uint32_t half = lane % 2 ? word[lane / 2] >> 16 : word[lane / 2] & 0xffff;
    return half < dropped_below(rate) ? 0 : 65536.0 / (65536.0 - dropped_below(rate));
}

static inline double dropout_row_factor(pgcn_i_rng_domain domain, double rate, int64_t row) {
    if (rate <= 0) return 1;
    uint32_t word[4];
    pgcn_i_rng_words(domain, (uint64_t)row, 0, word);
    return word[0] >> 16 < dropped_below(rate) ? 0 : 65536.0 / (65536.0 - dropped_below(rate));
}

/* ---- gradients --------------------------------------------------------------------------------- */

/* The scalar whose gradient is checked, of the double reference; it reads `x` through context. */
typedef double (*objective)(void *context);

/* (f(x + h d) - f(x - h d)) / 2h. h is small because a ReLU between the two points would spoil the
 * quotient, and can be because the reference has 52 bits. */
static inline double slope_along(double *x, const double *direction, int64_t count, objective f,
                                 void *context) {
    const double h = 1e-6;
    double *kept = ref_zeros(count), side[2];
    memcpy(kept, x, (size_t)count * sizeof *x);
    for (int s = 0; s < 2; s++) {
        for (int64_t i = 0; i < count; i++) x[i] = kept[i] + (s ? -h : h) * direction[i];
        side[s] = f(context);
    }
    memcpy(x, kept, (size_t)count * sizeof *x);
    free(kept);
    return (side[0] - side[1]) / (2 * h);
}

/* `got` against the slopes of f at x: single elements (all of a small array, else `singles` of
 * them, spread), and two random directions that every element is part of. Errors count against the
 * largest slope of the array, or `least` where all of them are smaller. */
static inline void check_gradient(const char *label, const float *got, double *x, int64_t count,
                                  objective f, void *context, int singles, double tolerance,
                                  double least) {
    enum { MOST = 64 };
    double *direction = ref_zeros(count), want[MOST], largest = least;
    int64_t checked = count < singles ? count : singles, place[MOST];
    assert_true(singles <= MOST);
    pgcn_i_stream random = test_stream((uint64_t)count);
    for (int64_t t = 0; t < checked; t++) { /* one in each of equal parts */
        int64_t begin = t * count / checked, end = (t + 1) * count / checked;
        place[t] = begin + pgcn_i_bounded(&random, (uint32_t)(end - begin));
        direction[place[t]] = 1;
        want[t] = slope_along(x, direction, count, f, context);
        direction[place[t]] = 0;
        if (fabs(want[t]) > largest) largest = fabs(want[t]);
    }
    for (int64_t t = 0; t < checked; t++) {
        double error = fabs((double)got[place[t]] - want[t]) / largest;
        if (!(error <= tolerance))
            fail_msg("%s: element %lld of the gradient is %.9g, expected %.9g (error %.2g of the "
                     "largest, %.2g)",
                     label, (long long)place[t], (double)got[place[t]], want[t], error, largest);
    }
    for (int t = 0; t < 2; t++) {
        double product = 0, squares = least * least;
        for (int64_t i = 0; i < count; i++) {
            direction[i] = 2 * pgcn_i_unit_double(&random) - 1;
            product += direction[i] * (double)got[i];
            squares += direction[i] * (double)got[i] * direction[i] * (double)got[i];
        }
        double slope = slope_along(x, direction, count, f, context);
        if (!(fabs(product - slope) <= tolerance * sqrt(squares)))
            fail_msg("%s: along direction %d the gradient is %.9g, expected %.9g (scale %.2g)",
                     label, t, product, slope, sqrt(squares));
    }
    free(direction);
}

static inline void assert_close(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%.9g is not %.9g to within %g", got, want, tolerance);
}

static inline void check_values(const char *label, const float *got, const double *want,
                                int64_t count, double tolerance) {
    double error = ref_error(got, want, count);
    if (!(error <= tolerance)) fail_msg("%s: error %.3g, tolerance %g", label, error, tolerance);
}

/* ---- configurations and trainers ----------------------------------------------------------------- */

/* The default, changed by "key=value key=value". One thread unless the text says otherwise: tests
 * run side by side, and threads that share a core wait for each other. */
static inline pgcn_config settings(const char *text) {
    pgcn_config config = pgcn_config_default();
    config.threads = 1;
    must(pgcn_i_config_apply(&config, text));
    return config;
}

static inline pgcn_dataset *dataset(const char *name) {
    pgcn_dataset *data = NULL;
    must(pgcn_dataset_load(name, NULL, &data));
    return data;
}

/* Settings that no trainer takes on karate, and a part of the sentence that says why. */
typedef struct refused_settings {
    const char *text, *why;
} refused_settings;
static inline void assert_settings_refused(const refused_settings *cases, size_t count) {
    pgcn_dataset *data = dataset("karate");
    for (size_t i = 0; i < count; i++) {
        pgcn_config config = settings(cases[i].text);
        pgcn_trainer *trainer = NULL;
        must_fail(pgcn_trainer_new(data, &config, &trainer), PGCN_ERR_ARGUMENT, cases[i].why);
    }
    pgcn_dataset_free(data);
}

static inline pgcn_trainer *trainer_of(const pgcn_dataset *data, const char *text) {
    pgcn_config config = settings(text);
    pgcn_trainer *trainer = NULL;
    must(pgcn_trainer_new(data, &config, &trainer));
    return trainer;
}

static inline void run_epochs(pgcn_trainer *trainer, int count) {
    for (int i = 0; i < count; i++) must(pgcn_trainer_epoch(trainer, NULL));
}
/* A model, after three epochs. */
static inline pgcn_model *model_after_three(const pgcn_dataset *data, const char *text) {
    pgcn_trainer *trainer = trainer_of(data, text);
    pgcn_model *model;
    run_epochs(trainer, 3);
    must(pgcn_trainer_model(trainer, &model));
    pgcn_trainer_free(trainer);
    return model;
}

/* The same lists of visits: of the same walks, with the same weights. */
static inline void assert_same_visits(const pgcn_i_visits *a, const pgcn_i_visits *b) {
    assert_int_equal(a->rows, b->rows);
    for (int hop = 0; hop < a->k - 1; hop++) {
        const pgcn_i_csr *x = &a->hop[hop], *y = &b->hop[hop];
        size_t entries = (size_t)y->offset[y->rows];
        assert_memory_equal(x->offset, y->offset, (size_t)(y->rows + 1) * sizeof *x->offset);
        assert_memory_equal(x->column, y->column, entries * sizeof *x->column);
        assert_memory_equal(x->value, y->value, entries * sizeof *x->value);
    }
}

/* All blocks of parameters, padding included: the state of a run but for its history. */
static inline void assert_same_weights(const pgcn_i_params *a, const pgcn_i_params *b,
                                       const char *label) {
    assert_int_equal(a->total, b->total);
    size_t bytes = (size_t)a->total * sizeof *a->value;
    if (memcmp(a->value, b->value, bytes) != 0 || memcmp(a->m, b->m, bytes) != 0 ||
        memcmp(a->v, b->v, bytes) != 0 || memcmp(a->best, b->best, bytes) != 0)
        fail_msg("%s: weights, moments or best weights differ in their bits", label);
}

/* ---- a step whose loss is not finite ------------------------------------------------------------- */

static inline float *floats_copy(const float *from, int64_t count) {
    float *copy = calloc((size_t)count, sizeof *copy);
    memcpy(copy, from, (size_t)count * sizeof *copy);
    return copy;
}

static inline void assert_same_floats(const float *a, const float *b, int64_t count,
                                      const char *label) {
    if (memcmp(a, b, (size_t)count * sizeof *a) != 0) fail_msg("%s: other bits", label);
}

/* An infinite bias makes the loss of the next step NaN. That step changes no trained weight, no
 * moment and no counter: with the bias repaired, training goes on as if the step had not been tried. */
static inline void check_step_without_finite_loss(const pgcn_dataset *data, const char *text) {
    pgcn_trainer *whole = trainer_of(data, text), *trainer = trainer_of(data, text);
    pgcn_i_params *params = &trainer->params;
    run_epochs(whole, 5), run_epochs(trainer, 3);
    float *good = floats_copy(params->value, params->total);
    float *m = floats_copy(params->m, params->total), *v = floats_copy(params->v, params->total);
    const pgcn_i_progress progress = trainer->progress;
    for (int i = 0; i < params->count; i++)
        if (strncmp(params->param[i].name, "classifier", 10) == 0 && params->param[i].rank == 1)
            params->value[params->param[i].first] = INFINITY;
    float *bad = floats_copy(params->value, params->total);
    must_fail(pgcn_trainer_epoch(trainer, NULL), PGCN_ERR_NUMERIC, "training loss");
    for (int i = 0; i < params->count; i++) {
        const pgcn_i_param *param = &params->param[i];
        if (param->group == PGCN_I_GROUP_BUFFER) continue; /* statistics are not trained */
        assert_same_floats(params->value + param->first, bad + param->first, param->count,
                           param->name);
    }
    assert_same_floats(params->m, m, params->total, "first moments");
    assert_same_floats(params->v, v, params->total, "second moments");
    assert_int_equal(trainer->progress.epochs, progress.epochs);
    assert_int_equal(trainer->progress.best, progress.best);
    assert_int_equal(trainer->progress.improved, progress.improved);
    memcpy(params->value, good, (size_t)params->total * sizeof *good);
    run_epochs(trainer, 2);
    assert_same_weights(&whole->params, params, text);
    free(good), free(bad), free(m), free(v);
    pgcn_trainer_free(whole), pgcn_trainer_free(trainer);
}

#endif
