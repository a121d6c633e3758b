/*
 * statistics/early-stopping.h - MLPerf LoadGen's rule of when a percentile is known well enough.
 *
 * Of n = h + t queries, t were slower than the target: is the share of slow queries below 1 - p,
 * with confidence c? It is if a process with just that share would have at most t slow ones of n
 * with probability 1 - c or less, and that probability is I_{p-d}(h, t + 1).
 *
 *     double estimate;
 *     if (hl_early_stopping_estimate(sorted, n, 0.9, 0.99, &estimate)) print(estimate);
 *
 * Pure and thread-safe. 0 < p - d < 1, 0 < c < 1; other values give 0 or false.
 */
#ifndef HL_STATISTICS_EARLY_STOPPING_H
#define HL_STATISTICS_EARLY_STOPPING_H

#include <stdbool.h>
#include <stddef.h>

/* The smallest h with I_{p-d}(h, t + 1) <= 1 - c: 44 for p = .9, t = 0, c = .99. */
size_t hl_early_stopping_passing(double p, double d, double c, size_t t);

/* The largest t >= 1 with h(t) + t <= n, by which the target of a percentile may be set; 0 if n
 * does not suffice for t = 1. */
size_t hl_early_stopping_allowed(double p, double d, double c, size_t n);

/* LoadGen's estimate of percentile p from n ascending latencies: element n - t, counted from 0, for
 * the t of hl_early_stopping_allowed with d = 0. It is above the percentile with confidence c.
 * False if n is too small. */
bool hl_early_stopping_estimate(const double *sorted, size_t n, double p, double c,
                                double *ret_estimate);

#endif
