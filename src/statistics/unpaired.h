/*
 * statistics/unpaired.h - by how much do two independent samples differ: Hodges-Lehmann shift, its
 * interval, and what could have been found.
 *
 *     hl_unpaired u;
 *     hl_status status = hl_unpaired_estimate_at(log_a, n_a, log_b, n_b, 0.05, &u, error);
 *     if (u.low > 0) ... a is larger: exp(u.estimate) times ...
 *
 * Pass logarithms where ratios are meant. Free of any assumption but that b is distributed as a
 * shifted; samples are independent, so where they are autocorrelated the interval is too narrow.
 * Verdicts rest on the interval; `p` may differ from it in the last place where it is approximate.
 * Pure and thread-safe.
 */
#ifndef HL_STATISTICS_UNPAIRED_H
#define HL_STATISTICS_UNPAIRED_H

#include "base/error.h"
#include <stddef.h>
#include <stdint.h>

enum { HL_UNPAIRED_EXACT = 20 }; /* samples below that have the exact distribution */

typedef struct hl_unpaired {
  size_t n_a, n_b;
  double estimate;     /* median of all a_i - b_k; NaN for an empty sample */
  double low, high;    /* interval of confidence 1 - level by the Mann-Whitney test; NaN if there
                        * are too few for that */
  double p;            /* two-sided, of no difference; NaN for an empty sample */
  double cliffs_delta; /* P(a > b) - P(a < b), -1..1 (N. Cliff, 1993); NaN for an empty sample */
  double detectable;   /* hl_unpaired_detectable of the pooled deviation */
} hl_unpaired;

/*
 * 0 < level <= 0.5. Exact where both samples are below 20 and no two values are equal; else the
 * interval goes from the C-th least of the n m differences to the C-th largest with C = floor(n m /
 * 2 - z sqrt(n m (n + m + 1) / 12)) (Hollander and Wolfe, 4.3), and p is normal with the variance
 * that ties leave and a continuity correction. Differences are counted, not stored: O((n + m) log(n
 * + m)) time, n + m doubles. INVALID_ARGUMENT for a level out of range, more than 2^20 values, or a
 * value that is not finite or beyond 1e150; OUT_OF_MEMORY.
 */
hl_status hl_unpaired_estimate_at(const double *a, size_t n_a, const double *b, size_t n_b,
                                  double level, hl_unpaired *ret, hl_error *error);

/* P(U <= u) for the Mann-Whitney statistic of samples below 20 without ties, exactly; NaN for an
 * empty or a larger one. */
double hl_mann_whitney_cdf(int64_t u, size_t n_a, size_t n_b);

/* Shift that samples of this common deviation find with 80 % power in a two-sided test at `level`:
 * (z + 0.84) deviation sqrt(1 / n_a + 1 / n_b) / 0.955, which is 3.96 deviation / sqrt(n) / 0.955
 * for two samples of n at 5 %. 0.955 is the efficiency of the Mann-Whitney test for normal samples.
 * NaN where the deviation is, or for an empty sample. */
double hl_unpaired_detectable(double deviation, size_t n_a, size_t n_b, double level);

#endif
