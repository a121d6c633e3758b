/*
 * statistics/percentile.h - percentiles by a named rule, and their intervals by order statistics.
 *
 *     hl_sort(ms, n);
 *     double p99 = hl_percentile(ms, n, 99, HL_PERCENTILE_LINEAR);
 *     hl_order_ranks r;
 *     if (hl_percentile_ranks(n, 99, &r)) print(ms[r.low - 1], ms[r.high - 1]);
 *
 * Percentiles are given in percent: 50, 99.9. Intervals are two-sided, 95 %, and free of any
 * assumption about the distribution; they assume independent samples (see hl_effective_count).
 */
#ifndef HL_STATISTICS_PERCENTILE_H
#define HL_STATISTICS_PERCENTILE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum hl_percentile_rule {
  HL_PERCENTILE_LINEAR,  /* numpy's default, type 7 of Hyndman and Fan (1996) */
  HL_PERCENTILE_LOADGEN, /* MLPerf: element floor(n p / 100), counted from 0 */
  HL_PERCENTILE_NEAREST  /* nearest rank: element ceil(n p / 100), counted from 1 */
} hl_percentile_rule;

void hl_sort(double *values, size_t n); /* ascending, NaN last */

/* Where a percentile lies among n ascending values, n >= 1 and 0 <= percent <= 100: at the value of
 * this index, and that share of the way to the next (0 but for HL_PERCENTILE_LINEAR). */
typedef struct hl_percentile_place {
  size_t index;
  double share;
} hl_percentile_place;
hl_percentile_place hl_percentile_place_of(size_t n, double percent, hl_percentile_rule rule);

/* `share` of the way from a value to the next, without overflow. */
double hl_percentile_between(double value, double share, double next);

/* NaN for n = 0 or a percentile outside 0..100. `sorted` ascends. */
double hl_percentile(const double *sorted, size_t n, double percent, hl_percentile_rule rule);

/* Median of an unsorted array, which is reordered; NaN for n = 0. */
double hl_median(double *values, size_t n);

/* Ranks (from 1) of the order statistics that bound the interval. */
typedef struct hl_order_ranks {
  size_t low, high;
} hl_order_ranks;

/* Largest `low` with P(B < low) <= 2.5 % and smallest `high` with P(B >= high) <= 2.5 %, B binomial
 * (n, p): David and Nagaraja, Order Statistics, 7.1. False if n is too small for a rank on either
 * side. */
bool hl_percentile_ranks(size_t n, double percent, hl_order_ranks *ret_ranks);

/* Least n with an interval: 6, 36, 72, 368, 3688 for 50, 90, 95, 99, 99.9; 0 if there is none
 * (percent <= 0 or >= 100). */
size_t hl_percentile_least_n(double percent);

/* n (1 - rho) / (1 + rho): the number of independent samples that n samples with lag-1
 * autocorrelation rho > 0 are worth; n for rho <= 0. At least 1 for n >= 1. */
size_t hl_effective_count(size_t n, double rho);

/* The interval of a percentile from sorted samples with lag-1 autocorrelation `rho`: the ranks for
 * the effective count, stretched to n, outwards. False if the effective count is too small. */
bool hl_percentile_interval(const double *sorted, size_t n, double percent, double rho,
                            double *ret_low, double *ret_high);

#endif
