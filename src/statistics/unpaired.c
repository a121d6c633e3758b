#include "statistics/unpaired.h"

#include "statistics/distribution.h"
#include "statistics/percentile.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { exact_most = (HL_UNPAIRED_EXACT - 1) * (HL_UNPAIRED_EXACT - 1) + 1 };
static const size_t values_most = (size_t)1 << 20;
static const double value_most = 1e150; /* whose square is finite */
static const double power_quantile = 0.84, efficiency = 0.955;

static bool is_exact(size_t n_a, size_t n_b) {
  return n_a > 0 && n_b > 0 && n_a < HL_UNPAIRED_EXACT && n_b < HL_UNPAIRED_EXACT;
}

/* Number of ways to each U, by the Gaussian binomial: the product over i = 1..n of (1 - q^(m + i))
 * / (1 - q^i). All are integers below 2^53. Returns their sum. */
static double ways_to(size_t n, size_t m, double ret_ways[exact_most]) {
  size_t most = n * m;
  for (size_t u = 0; u <= most; u++) ret_ways[u] = u == 0;
  for (size_t i = 1; i <= n; i++) {
    for (size_t u = most + 1; u-- > m + i;) ret_ways[u] -= ret_ways[u - m - i];
    for (size_t u = i; u <= most; u++) ret_ways[u] += ret_ways[u - i];
  }
  double all = 0;
  for (size_t u = 0; u <= most; u++) all += ret_ways[u];
  return all;
}

double hl_mann_whitney_cdf(int64_t u, size_t n_a, size_t n_b) {
  if (!is_exact(n_a, n_b)) return (double)NAN;
  double ways[exact_most], sum = 0, all = ways_to(n_a, n_b, ways);
  for (size_t i = 0; i <= n_a * n_b && (int64_t)i <= u; i++) sum += ways[i];
  return sum / all;
}

/* Differences below the interval; negative where there is none. */
static int64_t exact_cut(size_t n_a, size_t n_b, double level) {
  double ways[exact_most], sum = 0, all = ways_to(n_a, n_b, ways);
  int64_t cut = -1;
  while (sum + ways[cut + 1] <= all * level / 2) sum += ways[++cut];
  return cut;
}

static int64_t normal_cut(double n_a, double n_b, double level) {
  double deviation = sqrt(n_a * n_b * (n_a + n_b + 1) / 12);
  double c = floor(n_a * n_b / 2 - hl_normal_quantile(1 - level / 2) * deviation);
  return c < 1 ? -1 : (int64_t)c - 1;
}

/* All differences a - b; both ascend. */
typedef struct differences {
  const double *a, *b;
  size_t n_a, n_b;
} differences;

/* How many are at most x: rounded differences ascend with a and descend with b, so that one walk
 * along the border counts them. */
static uint64_t at_most(const differences *d, double x) {
  uint64_t count = 0;
  for (size_t i = 0, k = 0; i < d->n_a; i++) {
    while (k < d->n_b && d->a[i] - d->b[k] > x) k++;
    count += d->n_b - k;
  }
  return count;
}

/* Doubles as integers of the same order, and back. */
static int64_t to_ordered(double x) {
  int64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits < 0 ? INT64_MIN - bits : bits;
}

static double from_ordered(int64_t bits) {
  double x;
  if (bits < 0) bits = INT64_MIN - bits;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The difference of this rank from 0, found by halving the doubles: at most 64 counts. */
static double ranked(const differences *d, uint64_t rank) {
  int64_t low = to_ordered(d->a[0] - d->b[d->n_b - 1]);
  int64_t high = to_ordered(d->a[d->n_a - 1] - d->b[0]);
  while (low < high) {
    int64_t middle = (low >> 1) + (high >> 1) + (low & high & 1);
    if (at_most(d, from_ordered(middle)) > rank)
      high = middle;
    else
      low = middle + 1;
  }
  return from_ordered(low);
}

static double middle_of(const differences *d) {
  uint64_t count = (uint64_t)d->n_a * d->n_b;
  double upper = ranked(d, count / 2);
  return count % 2 ? upper : (ranked(d, count / 2 - 1) + upper) / 2;
}

/* What both samples together say of equal values: the sum of t^3 - t over groups of t. */
static double ties_of(const differences *d) {
  double sum = 0;
  for (size_t i = 0, k = 0; i < d->n_a || k < d->n_b;) {
    double value = k == d->n_b || (i < d->n_a && d->a[i] <= d->b[k]) ? d->a[i] : d->b[k];
    size_t begin = i + k;
    while (i < d->n_a && d->a[i] == value) i++;
    while (k < d->n_b && d->b[k] == value) k++;
    double t = (double)(i + k - begin);
    sum += t * t * t - t;
  }
  return sum;
}

/* U of a: pairs in which a is above b, equal ones half. */
static double statistic(const differences *d) {
  double u = 0;
  for (size_t i = 0, below = 0, upto = 0; i < d->n_a; i++) {
    while (below < d->n_b && d->b[below] < d->a[i]) below++;
    while (upto < d->n_b && d->b[upto] <= d->a[i]) upto++;
    u += ((double)below + (double)upto) / 2;
  }
  return u;
}

static double normal_p(double u, double ties, double n_a, double n_b) {
  double n = n_a + n_b, most = n_a * n_b;
  double variance = most / 12 * (n + 1 - ties / (n * (n - 1)));
  double above = fmax(u, most - u) - most / 2 - 0.5;
  if (!(variance > 0) || above <= 0) return 1;
  return erfc(above / sqrt(2 * variance));
}

static double exact_p(double u, size_t n_a, size_t n_b) {
  double below = fmin(u, (double)(n_a * n_b) - u);
  return fmin(1, 2 * hl_mann_whitney_cdf((int64_t)below, n_a, n_b));
}

static double squares_of(const double *values, size_t n) {
  double mean = 0, squares = 0;
  for (size_t i = 0; i < n; i++) mean += values[i] / (double)n;
  for (size_t i = 0; i < n; i++) squares += (values[i] - mean) * (values[i] - mean);
  return squares;
}

static double pooled_deviation(const differences *d) {
  size_t n = d->n_a + d->n_b;
  if (n < 3) return (double)NAN;
  return sqrt((squares_of(d->a, d->n_a) + squares_of(d->b, d->n_b)) / (double)(n - 2));
}

static void estimate(const differences *d, double level, hl_unpaired *out) {
  double n_a = (double)d->n_a, n_b = (double)d->n_b;
  double u = statistic(d), ties = ties_of(d);
  bool exact = ties == 0 && is_exact(d->n_a, d->n_b);
  out->estimate = middle_of(d);
  out->cliffs_delta = 2 * u / (n_a * n_b) - 1;
  out->p = exact ? exact_p(u, d->n_a, d->n_b) : normal_p(u, ties, n_a, n_b);
  out->detectable = hl_unpaired_detectable(pooled_deviation(d), d->n_a, d->n_b, level);
  int64_t cut = exact ? exact_cut(d->n_a, d->n_b, level) : normal_cut(n_a, n_b, level);
  if (cut < 0) return;
  out->low = ranked(d, (uint64_t)cut);
  out->high = ranked(d, (uint64_t)d->n_a * d->n_b - 1 - (uint64_t)cut);
}

static hl_status check(const double *values, size_t n, const char *name, hl_error *error) {
  if (n > values_most)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "%zu values of %s; at most %zu are compared", n,
                        name, values_most);
  for (size_t i = 0; i < n; i++)
    if (!(fabs(values[i]) <= value_most))
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "value %zu of %s is %g; a finite one below 1e150 is needed", i + 1, name,
                          values[i]);
  return HL_OK;
}

hl_status hl_unpaired_estimate_at(const double *a, size_t n_a, const double *b, size_t n_b,
                                  double level, hl_unpaired *ret, hl_error *error) {
  double nan = (double)NAN;
  if (!(level > 0 && level <= 0.5))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "level %g is not within 0..0.5", level);
  hl_status status = check(a, n_a, "a", error);
  if (status == HL_OK) status = check(b, n_b, "b", error);
  if (status != HL_OK) return status;
  *ret = (hl_unpaired){n_a, n_b, nan, nan, nan, nan, nan, nan};
  if (n_a == 0 || n_b == 0) return HL_OK;
  double *sorted = malloc((n_a + n_b) * sizeof *sorted);
  if (!sorted) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %zu values", n_a + n_b);
  memcpy(sorted, a, n_a * sizeof *a);
  memcpy(sorted + n_a, b, n_b * sizeof *b);
  hl_sort(sorted, n_a);
  hl_sort(sorted + n_a, n_b);
  estimate(&(differences){sorted, sorted + n_a, n_a, n_b}, level, ret);
  free(sorted);
  return HL_OK;
}

double hl_unpaired_detectable(double deviation, size_t n_a, size_t n_b, double level) {
  if (n_a == 0 || n_b == 0) return (double)NAN;
  double width = hl_normal_quantile(1 - level / 2) + power_quantile;
  return width * deviation * sqrt(1 / (double)n_a + 1 / (double)n_b) / efficiency;
}
