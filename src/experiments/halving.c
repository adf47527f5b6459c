/* Successive halving: how many candidates have how many runs, and who is better. Only arithmetic. */
#include "experiments/tune.h"

#include <math.h>
#include <stdlib.h>

static int divide_up(int a, int b) {
    return (a + b - 1) / b;
}

int exp_rungs(int candidates, int runs, int keep, exp_rung out[EXP_MOST_RUNGS]) {
    int rungs = 1;
    for (int c = candidates, r = runs; rungs < EXP_MOST_RUNGS && c >= keep && r >= keep; rungs++) {
        c /= keep;
        r /= keep;
    }
    out[rungs - 1].runs = runs;
    for (int i = rungs - 2; i >= 0; i--) out[i].runs = divide_up(out[i + 1].runs, keep);
    out[0].candidates = candidates;
    for (int i = 1; i < rungs; i++) out[i].candidates = divide_up(out[i - 1].candidates, keep);
    return rungs;
}

long long exp_rungs_trainings(const exp_rung *rung, int rungs) {
    long long sum = 0;
    for (int i = 0; i < rungs; i++)
        sum += (long long)rung[i].candidates * (rung[i].runs - (i > 0 ? rung[i - 1].runs : 0));
    return sum;
}

static int compare(double a, double b) {
    return (a > b) - (a < b);
}

static int compare_scores(const exp_score *a, const exp_score *b, bool by_loss) {
    if (a->failed != b->failed) return a->failed ? 1 : -1;
    if (a->runs != b->runs) return b->runs - a->runs;
    int accuracy = compare(b->accuracy, a->accuracy), loss = compare(a->loss, b->loss);
    int first = by_loss ? loss : accuracy, second = by_loss ? accuracy : loss;
    if (first) return first;
    return second ? second : a->number - b->number;
}
static int compare_by_accuracy(const void *a, const void *b) {
    return compare_scores(a, b, false);
}
static int compare_by_loss(const void *a, const void *b) {
    return compare_scores(a, b, true);
}

void exp_rank(exp_score *score, int count, bool by_loss) {
    qsort(score, (size_t)count, sizeof *score, by_loss ? compare_by_loss : compare_by_accuracy);
}
