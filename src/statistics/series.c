#include "statistics/series.h"

#include "statistics/descriptive.h"
#include "statistics/percentile.h"

#include <math.h>
#include <string.h>

double hl_autocorrelation(const double *values, size_t n) {
  if (n < 2) return (double)NAN;
  hl_description about = hl_describe(values, n);
  double products = 0, squares = 0;
  if (about.std == 0) return 0;
  /* Halves of what is so far apart that its difference overflows. */
  double part = isfinite(about.max - about.min) ? 1 : 0.5, before = 0;
  for (size_t i = 0; i < n; i++) {
    double d = (values[i] * part - about.mean * part) / (about.std * part);
    squares += d * d;
    if (i) products += before * d;
    before = d;
  }
  return products / squares;
}

/* i n / k without overflow for n up to SIZE_MAX, as i <= k. */
static size_t batch_start(size_t i, size_t n, size_t k) {
  return i * (n / k) + i * (n % k) / k;
}

void hl_batch_medians(const double *values, size_t n, size_t k, double *ret_medians,
                      double *scratch) {
  for (size_t i = 0; i < k; i++) {
    size_t start = batch_start(i, n, k), count = batch_start(i + 1, n, k) - start;
    memcpy(scratch, values + start, count * sizeof *values);
    ret_medians[i] = hl_median(scratch, count);
  }
}

double hl_slope(const double *values, size_t n) {
  if (n < 2) return 0;
  double middle = (double)(n - 1) / 2, mean = hl_describe(values, n).mean;
  double products = 0, squares = 0;
  for (size_t i = 0; i < n; i++) {
    double x = (double)i - middle;
    products += x * (values[i] - mean);
    squares += x * x;
  }
  return products / squares;
}

enum { MSER_BATCH = 5 };

static double mser_mean(const double *values, size_t batch) {
  double sum = 0;
  for (size_t i = 0; i < MSER_BATCH; i++) sum += values[batch * MSER_BATCH + i];
  return sum / MSER_BATCH;
}

size_t hl_mser5(const double *values, size_t n) {
  size_t batches = n / MSER_BATCH;
  if (batches < 4) return 0;
  /* From the end backwards, Welford's update gives mean and squares of every tail in one pass. */
  double mean = 0, squares = 0, least = INFINITY;
  size_t best = 0;
  for (size_t i = batches; i-- > 0;) {
    double count = (double)(batches - i), value = mser_mean(values, i), d = value - mean;
    mean += d / count;
    squares += d * (value - mean);
    if (i > batches / 2) continue;
    double error = squares / (count * count);
    /* "<=": of equal candidates the one that drops least. */
    if (error <= least) {
      least = error;
      best = i;
    }
  }
  return best * MSER_BATCH;
}
