#include "method/interval.h"

#include "statistics/descriptive.h"
#include "statistics/distribution.h"
#include "statistics/percentile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ranks of the interval of a median among 30, 95.7 %, and how many further out 98.4 % are. Batches
 * worth fewer independent samples than that depend on each other. */
enum { RANK_LOW = 10, RANK_HIGH = 21, FURTHER_OUT = 1, BATCH_WORTH = 2 };
static const double normal_95 = 1.645; /* one-sided 5 % point */

/* Few samples show some autocorrelation by chance: what is below its 5 % point is none. */
static double significant_autocorrelation(const double *values, size_t n) {
  double rho = hl_autocorrelation(values, n);
  return rho > normal_95 / sqrt((double)n) ? rho : 0;
}

static void by_batches(const double *values, size_t n, size_t looks, double *scratch,
                       hl_median_interval *out) {
  double medians[HL_BATCHES];
  hl_batch_medians(values, n, HL_BATCHES, medians, scratch);
  out->by_batches = true;
  out->autocorrelation = hl_autocorrelation(medians, HL_BATCHES);
  out->independent = out->autocorrelation < normal_95 / sqrt(HL_BATCHES);
  hl_sort(medians, HL_BATCHES);
  size_t worth = hl_effective_count(n, significant_autocorrelation(values, n));
  size_t out_by = looks > 1 || worth < HL_BATCHES * BATCH_WORTH ? FURTHER_OUT : 0;
  out->low = medians[RANK_LOW - 1 - out_by];
  out->high = medians[RANK_HIGH - 1 + out_by];
}

hl_status hl_median_interval_make(const double *values, size_t n, size_t looks,
                                  hl_median_interval *ret_interval, hl_error *error) {
  double nan = (double)NAN;
  hl_median_interval out = {n, false, nan, nan, nan, nan, nan, n, false};
  if (n) {
    double *sorted = malloc(n * sizeof *sorted);
    if (!sorted) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %zu samples", n);
    if (n >= HL_SAMPLES_LEAST) by_batches(values, n, looks, sorted, &out);
    memcpy(sorted, values, n * sizeof *sorted);
    out.median = hl_median(sorted, n);
    if (!out.by_batches) {
      double rho = significant_autocorrelation(values, n);
      out.worth = hl_effective_count(n, rho);
      hl_percentile_interval(sorted, n, 50, rho, &out.low, &out.high);
    }
    free(sorted);
  }
  if (isfinite(out.low)) {
    double width = out.high - out.low;
    out.half_width = width > 0 ? width / (2 * out.median) : 0;
  }
  *ret_interval = out;
  return HL_OK;
}

enum { MEAN_SAMPLES_LEAST = 6 };

/* Means of `k` contiguous batches, cut as hl_batch_medians cuts them. */
static void batch_means(const double *values, size_t n, size_t k, double *ret_means) {
  for (size_t i = 0; i < k; i++) {
    size_t first = i * n / k, end = (i + 1) * n / k;
    ret_means[i] = hl_describe(values + first, end - first).mean;
  }
}

void hl_mean_interval_make(const double *values, size_t n, double *ret_low, double *ret_high) {
  *ret_low = *ret_high = (double)NAN;
  if (n < MEAN_SAMPLES_LEAST) return;
  double means[HL_SAMPLES_LEAST];
  size_t k = n >= HL_SAMPLES_LEAST ? HL_BATCHES : n;
  batch_means(values, n, k, means);
  hl_description of_means = hl_describe(means, k), all = hl_describe(values, n);
  double worth = (double)hl_effective_count(k, hl_autocorrelation(means, k));
  if (worth < 2) worth = 2;
  /* The sample deviation: hl_describe gives that of the population. */
  double deviation = of_means.std * sqrt((double)k / (double)(k - 1));
  double half = hl_student_quantile(0.975, worth - 1) * deviation / sqrt(worth);
  *ret_low = fmax(all.mean - half, all.min);
  *ret_high = all.mean + half;
}
