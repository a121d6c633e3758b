/*
 * statistics/paired.h - by how much do pairs differ: Hodges-Lehmann estimate, its interval, and
 * what could have been found.
 *
 *     hl_paired p;
 *     hl_status status = hl_paired_estimate(log_ratios, n, &p, error);
 *     if (p.low > 0) ... the first of each pair is larger ...
 *
 * Free of any assumption about the differences but a symmetric distribution; pure and thread-safe.
 */
#ifndef HL_STATISTICS_PAIRED_H
#define HL_STATISTICS_PAIRED_H

#include "base/error.h"
#include <stddef.h>
#include <stdint.h>

enum { HL_PAIRS_FOR_INTERVAL = 6 }; /* fewer pairs cannot give 95 % */

typedef struct hl_paired {
  size_t n;
  double estimate;  /* the median of all Walsh averages (d_i + d_j) / 2, i <= j; NaN for n = 0 */
  double low, high; /* 95 % interval of the signed-rank test; NaN with fewer than 6 pairs */
  double deviation; /* of the differences, n - 1 in the denominator; NaN for n < 2 */
  double z;         /* signed-rank statistic, standardised without ties; NaN for n = 0 */
} hl_paired;

/* Of the differences of n pairs (J. Hodges and E. Lehmann, 1963; M. Hollander and D.
 * Wolfe, Nonparametric Statistical Methods, 3.2). Takes n (n + 1) / 2 doubles; INVALID_ARGUMENT for
 * more than 4096 pairs, or a difference that is not finite or beyond 1e150; OUT_OF_MEMORY. */
hl_status hl_paired_estimate(const double *differences, size_t n, hl_paired *ret_paired,
                             hl_error *error);

/* The same with an interval of confidence 1 - level, 0 < level <= 0.5. */
hl_status hl_paired_estimate_at(const double *differences, size_t n, double level,
                                hl_paired *ret_paired, hl_error *error);

/* P(W <= w) for the signed-rank statistic of n <= 50 pairs without ties, exactly; NaN beyond. */
double hl_signed_rank_cdf(int64_t w, size_t n);

/* Walsh averages that lie below the 95 % interval: the largest c with P(W <= c) <= 2.5 %, exactly
 * up to 50 pairs, else floor(M / 2 - 1.96 sqrt(n (n + 1) (2 n + 1) / 24)) - 1 with M = n (n + 1)
 * / 2. Negative where there is no interval. */
int64_t hl_signed_rank_cut(size_t n);
/* The same for confidence 1 - level: level / 2 in each tail. */
int64_t hl_signed_rank_cut_at(size_t n, double level);

/* Difference that n pairs find with 80 % power in a two-sided test at 5 %: 2.80 deviation /
 * sqrt(n), divided by 0.955, the efficiency of the signed-rank test for normal differences. NaN for
 * n < 2. */
double hl_paired_detectable(double deviation, size_t n);
/* The same for a test at `level`: 1.96 of the 2.80 is the normal quantile of 1 - level / 2. */
double hl_paired_detectable_at(double deviation, size_t n, double level);

#endif
