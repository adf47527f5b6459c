/* Successive halving: how many candidates have how many runs. Only arithmetic. Called by race.c and by
 * the searches of the command line. */
#include "train/train.h"

static int divide_up(int a, int b) {
    return (a + b - 1) / b;
}

int pgcn_halving(int candidates, int runs, int keep, pgcn_rung out[PGCN_MOST_RUNGS]) {
    int rungs = 1;
    if (candidates < 1 || runs < 1 || keep < 2 || !out) return 0;
    for (int c = candidates, r = runs; rungs < PGCN_MOST_RUNGS && c >= keep && r >= keep; rungs++) {
        c /= keep;
        r /= keep;
    }
    out[rungs - 1].runs = runs;
    for (int i = rungs - 2; i >= 0; i--) out[i].runs = divide_up(out[i + 1].runs, keep);
    out[0].candidates = candidates;
    for (int i = 1; i < rungs; i++) out[i].candidates = divide_up(out[i - 1].candidates, keep);
    return rungs;
}
