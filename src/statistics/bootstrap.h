/*
 * statistics/bootstrap.h - by what factor a percentile of one series differs from that of another,
 * with an interval that stands autocorrelation.
 *
 *     hl_bootstrap_ratio r;
 *     hl_status status = hl_bootstrap_percentile_ratio(
 *         a_ns, n_a, b_ns, n_b, &(hl_bootstrap_options){.percent = 99, .seed = 42}, &r, error);
 *     if (r.low > 1) ... p99 of a is larger ...
 *
 * The moving-block bootstrap (H. Kuensch, 1989): each resample of a series is made of blocks of
 * consecutive values from random places. The interval goes between the level / 2 and 1 - level / 2
 * quantiles of the resampled ratios (B. Efron's percentile method). Series are in the order in
 * which they were measured. Pure and thread-safe; equal for an equal seed.
 */
#ifndef HL_STATISTICS_BOOTSTRAP_H
#define HL_STATISTICS_BOOTSTRAP_H

#include "base/error.h"
#include "statistics/percentile.h"
#include <stddef.h>
#include <stdint.h>

enum { HL_BOOTSTRAP_RESAMPLES = 2000 };

typedef struct hl_bootstrap_options {
  double percent; /* > 0, < 100 */
  hl_percentile_rule rule;
  double level;     /* of the interval, < 0.5; 0: 0.05 */
  size_t resamples; /* 0: 2000, the least */
  size_t block;     /* values; 0: hl_bootstrap_block of each series */
  uint64_t seed;
} hl_bootstrap_options;

typedef struct hl_bootstrap_ratio {
  double ratio;     /* percentile of a over percentile of b; NaN for an empty series */
  double low, high; /* NaN where a series is too short for an interval of the percentile
                     * (hl_percentile_least_n, by its effective count) */
} hl_bootstrap_ratio;

/* Takes resamples (n_a + n_b) steps. INVALID_ARGUMENT for options out of range, more than 2^20
 * values, or one that is not positive and finite; OUT_OF_MEMORY. */
hl_status hl_bootstrap_percentile_ratio(const double *a, size_t n_a, const double *b, size_t n_b,
                                        const hl_bootstrap_options *options,
                                        hl_bootstrap_ratio *ret, hl_error *error);

/* Length of a block for n values with lag-1 autocorrelation rho: (6 (rho / (1 - rho^2))^2 n)^(1/3),
 * which is best for the mean of a first-order autoregression (E. Carlstein, 1986; P. Hall et al.,
 * 1995), at least n^(1/3) and at most n / 4, and 1 for n < 8. */
size_t hl_bootstrap_block(size_t n, double rho);

#endif
