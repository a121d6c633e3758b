#include "method/interval.h"

#include "statistics/percentile.h"
#include "statistics/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ranks of the interval of a median among 30: 95.7 %. One-sided 5 % point of the normal. */
enum { RANK_LOW = 10, RANK_HIGH = 21 };
static const double normal_95 = 1.645;

static void by_batches(const double *values, size_t n, double *scratch, hl_median_interval *out) {
  double medians[HL_BATCHES];
  hl_batch_medians(values, n, HL_BATCHES, medians, scratch);
  out->by_batches = true;
  out->autocorrelation = hl_autocorrelation(medians, HL_BATCHES);
  out->independent = out->autocorrelation < normal_95 / sqrt(HL_BATCHES);
  hl_sort(medians, HL_BATCHES);
  out->low = medians[RANK_LOW - 1];
  out->high = medians[RANK_HIGH - 1];
}

hl_status hl_median_interval_make(const double *values, size_t n, hl_median_interval *ret_interval,
                                  hl_error *error) {
  double nan = (double)NAN;
  hl_median_interval out = {n, false, nan, nan, nan, nan, nan, false};
  if (n) {
    double *sorted = malloc(n * sizeof *sorted);
    if (!sorted) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %zu samples", n);
    if (n >= HL_SAMPLES_LEAST) by_batches(values, n, sorted, &out);
    memcpy(sorted, values, n * sizeof *sorted);
    out.median = hl_median(sorted, n);
    if (!out.by_batches) hl_percentile_interval(sorted, n, 50, 0, &out.low, &out.high);
    free(sorted);
  }
  if (isfinite(out.low)) {
    double width = out.high - out.low;
    out.half_width = width > 0 ? width / (2 * out.median) : 0;
  }
  *ret_interval = out;
  return HL_OK;
}
