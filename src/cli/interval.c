/* By Student's t: the 95 % interval of a mean, for the tables of train and tune, and whether a mean difference can be
 * chance, for compare and the arena. */
#include "cli/cli.h"

#include <math.h>

/* P(|T| <= t) for Student's T with a whole number of degrees of freedom: the finite sums of
 * Abramowitz and Stegun 26.7.3 and 26.7.4. */
static double share_within(double t, long long freedom) {
    const double pi = 3.14159265358979323846;
    double angle = atan(t / sqrt((double)freedom)), c = cos(angle), term = freedom % 2 ? c : 1;
    double sum = freedom > 1 ? term : 0;
    for (long long i = freedom % 2 ? 3 : 2; i < freedom; i += 2) {
        term *= c * c * (double)(i - 1) / (double)i;
        sum += term;
    }
    return freedom % 2 ? 2 / pi * (angle + sin(angle) * sum) : sin(angle) * sum;
}

double cli_student_p(double t, long long freedom) {
    return freedom < 1 || isnan(t) ? NAN : 1 - share_within(fabs(t), freedom);
}

double cli_error_over_splits(double deviation, long long pairs, double share) {
    return deviation * sqrt(1.0 / (double)pairs + share);
}

double cli_difference_p(double mean, double error, long long freedom) {
    if (error == 0) return mean == 0 ? 1 : 0; /* every pair differs by the same */
    return cli_student_p(mean / error, freedom);
}

double cli_interval_95(double deviation, long long count) {
    if (count < 2) return NAN;
    double low = 1.9, high = 12.8; /* t is 12.706 with two runs and falls to 1.960 */
    while (high - low > 1e-12 * high) {
        double middle = 0.5 * (low + high);
        if (share_within(middle, count - 1) < 0.95)
            low = middle;
        else
            high = middle;
    }
    return low * deviation / sqrt((double)count);
}

bool cli_interval_of_mean(double mean, double deviation, long long count, double *low,
                          double *high) {
    double half = cli_interval_95(deviation, count);
    *low = fmax(mean - half, 0);
    *high = fmin(mean + half, 100);
    return !isnan(mean) && !isnan(half);
}

json_t *cli_json_interval(double mean, double deviation, long long count) {
    double low, high;
    if (!cli_interval_of_mean(mean, deviation, count, &low, &high)) return json_null();
    return json_pack("[f, f]", low, high);
}
