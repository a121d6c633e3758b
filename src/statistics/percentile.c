#include "statistics/percentile.h"

#include "statistics/distribution.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* Half of the 5 % on each side. */
static const double tail = 0.025;

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  if (isnan(x) || isnan(y)) return isnan(x) - isnan(y);
  return (x > y) - (x < y);
}

void hl_sort(double *values, size_t n) {
  if (n > 1) qsort(values, n, sizeof *values, compare);
}

/* n * percent / 100, where a product that is an integer but for rounding becomes that integer:
 * 99.9 % of 1000 is element 999, not 1000. */
static double position(size_t n, double percent) {
  double exact = (double)n * percent / 100, whole = nearbyint(exact);
  return fabs(exact - whole) <= 1e-9 * fmax(1, exact) ? whole : exact;
}

hl_percentile_place hl_percentile_place_of(size_t n, double percent, hl_percentile_rule rule) {
  double at = position(n, percent), share = 0;
  if (rule == HL_PERCENTILE_LINEAR) {
    double index = (double)(n - 1) * percent / 100;
    at = floor(index);
    share = index - at;
  } else if (rule == HL_PERCENTILE_LOADGEN) {
    at = floor(at);
  } else {
    at = fmax(0, ceil(at) - 1);
  }
  size_t index = (size_t)at;
  return index + 1 < n ? (hl_percentile_place){index, share} : (hl_percentile_place){n - 1, 0};
}

double hl_percentile_between(double value, double share, double next) {
  if (!(share > 0) || value == next) return value;
  double step = next - value;
  /* Of two huge values, or an infinite one. */
  return isfinite(step) ? value + share * step : (1 - share) * value + share * next;
}

double hl_percentile(const double *sorted, size_t n, double percent, hl_percentile_rule rule) {
  if (n == 0 || !(percent >= 0 && percent <= 100)) return (double)NAN;
  hl_percentile_place place = hl_percentile_place_of(n, percent, rule);
  return hl_percentile_between(sorted[place.index], place.share,
                               place.share > 0 ? sorted[place.index + 1] : 0);
}

double hl_median(double *values, size_t n) {
  hl_sort(values, n);
  return hl_percentile(values, n, 50, HL_PERCENTILE_LINEAR);
}

/* Number of k in 0..n with P(B <= k) <= tail: the CDF rises, so halving finds it. */
static size_t count_below_tail(size_t n, double p) {
  size_t low = 0, high = n + 1;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (hl_binomial_cdf((int64_t)middle, (int64_t)n, p) <= tail)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

bool hl_percentile_ranks(size_t n, double percent, hl_order_ranks *ret_ranks) {
  if (n == 0 || n > (size_t)1 << 52 || !(percent > 0 && percent < 100)) return false;
  double p = percent / 100;
  /* P(B < low) = P(B <= low - 1), and P(B >= high) is the same with the roles of p and 1 - p. */
  size_t low = count_below_tail(n, p), from_above = count_below_tail(n, 1 - p);
  if (low == 0 || from_above == 0) return false;
  *ret_ranks = (hl_order_ranks){low, n + 1 - from_above};
  return true;
}

size_t hl_percentile_least_n(double percent) {
  if (!(percent > 0 && percent < 100)) return 0;
  double p = fmax(percent, 100 - percent) / 100;
  return (size_t)ceil(log(tail) / log(p));
}

size_t hl_effective_count(size_t n, double rho) {
  if (n == 0 || !(rho > 0)) return n;
  double worth = rho < 1 ? (double)n * (1 - rho) / (1 + rho) : 0;
  return worth < 1 ? 1 : (size_t)worth;
}

bool hl_percentile_interval(const double *sorted, size_t n, double percent, double rho,
                            double *ret_low, double *ret_high) {
  size_t effective = hl_effective_count(n, rho);
  hl_order_ranks ranks;
  if (!hl_percentile_ranks(effective, percent, &ranks)) return false;
  double stretch = (double)n / (double)effective;
  size_t low = (size_t)floor((double)(ranks.low - 1) * stretch);
  size_t high = (size_t)ceil((double)ranks.high * stretch) - 1;
  *ret_low = sorted[low < n ? low : n - 1];
  *ret_high = sorted[high < n ? high : n - 1];
  return true;
}
