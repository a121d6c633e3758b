#include "statistics/early-stopping.h"

#include "statistics/distribution.h"

static const size_t most = (size_t)1 << 40; /* beyond any run, and exact as a double */

static bool sane(double p, double d, double c) {
  return p - d > 0 && p - d < 1 && c > 0 && c < 1;
}

/* Falls as h grows. */
static bool passes(double x, double c, size_t h, size_t t) {
  return hl_beta_regularised(x, (double)h, (double)t + 1) <= 1 - c;
}

size_t hl_early_stopping_passing(double p, double d, double c, size_t t) {
  if (!sane(p, d, c) || t > most) return 0;
  size_t low = 0, high = 1; /* low does not pass, high does */
  while (!passes(p - d, c, high, t)) {
    low = high;
    high *= 2;
    if (high > most) return 0;
  }
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (passes(p - d, c, middle, t))
      high = middle;
    else
      low = middle;
  }
  return high;
}

size_t hl_early_stopping_allowed(double p, double d, double c, size_t n) {
  if (!sane(p, d, c)) return 0;
  size_t low = 0, high = n + 1; /* h(low) + low <= n, but for low = 0; h(high) + high > n */
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    /* h(t) <= n - t, without searching for h */
    if (middle < n && passes(p - d, c, n - middle, middle))
      low = middle;
    else
      high = middle;
  }
  return low;
}

bool hl_early_stopping_estimate(const double *sorted, size_t n, double p, double c,
                                double *ret_estimate) {
  size_t t = hl_early_stopping_allowed(p, 0, c, n);
  if (t == 0) return false;
  *ret_estimate = sorted[n - t];
  return true;
}
