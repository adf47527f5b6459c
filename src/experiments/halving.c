/* The cost of the rungs of a search, and the ranking of candidates. Only arithmetic. */
#include "experiments/tune.h"

#include <stdlib.h>

long long exp_rungs_trainings(const pgcn_rung *rung, int rungs) {
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
