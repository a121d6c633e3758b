#include "statistics/paired.h"

#include "statistics/distribution.h"
#include "statistics/percentile.h"
#include <math.h>
#include <stdlib.h>

enum { exact_most = 50, exact_sums = exact_most * (exact_most + 1) / 2 + 1, pairs_most = 4096 };

static const double difference_most = 1e150; /* whose square is finite */
static const double usual_level = 0.05, power_quantile = 0.84, efficiency = 0.955;

static double normal_quantile(double level) {
  return hl_normal_quantile(1 - level / 2);
}

/* Probability of each sum of a random subset of the ranks 1..n. */
static void sums_of_ranks(size_t n, double ret_probability[exact_sums]) {
  for (size_t i = 0; i < exact_sums; i++) ret_probability[i] = 0;
  ret_probability[0] = 1;
  size_t most = 0;
  for (size_t rank = 1; rank <= n; rank++) {
    most += rank;
    for (size_t sum = most + 1; sum-- > 0;) {
      double with = sum >= rank ? ret_probability[sum - rank] : 0;
      ret_probability[sum] = (ret_probability[sum] + with) / 2;
    }
  }
}

double hl_signed_rank_cdf(int64_t w, size_t n) {
  if (n == 0 || n > exact_most) return (double)NAN;
  if (w < 0) return 0;
  double probability[exact_sums], sum = 0;
  sums_of_ranks(n, probability);
  for (size_t i = 0; i < exact_sums && i <= (uint64_t)w; i++) sum += probability[i];
  return sum < 1 ? sum : 1;
}

int64_t hl_signed_rank_cut(size_t n) {
  return hl_signed_rank_cut_at(n, usual_level);
}

int64_t hl_signed_rank_cut_at(size_t n, double level) {
  if (n == 0) return -1;
  if (n > exact_most) {
    double count = (double)n, averages = count * (count + 1) / 2;
    return (int64_t)floor(averages / 2 - normal_quantile(level) *
                                             sqrt(count * (count + 1) * (2 * count + 1) / 24)) -
           1;
  }
  double probability[exact_sums], sum = 0;
  sums_of_ranks(n, probability);
  int64_t cut = -1;
  while (sum + probability[cut + 1] <= level / 2) sum += probability[++cut];
  return cut;
}

static double deviation_of(const double *values, size_t n) {
  if (n < 2) return (double)NAN;
  double mean = 0, squares = 0;
  for (size_t i = 0; i < n; i++) mean += values[i] / (double)n;
  for (size_t i = 0; i < n; i++) squares += (values[i] - mean) * (values[i] - mean);
  return sqrt(squares / (double)(n - 1));
}

/* Averages above zero are the sum of the positive ranks (J. Tukey, 1949). */
static double standardised(const double *averages, size_t count, size_t n) {
  double above = 0, pairs = (double)n;
  for (size_t i = 0; i < count; i++) above += averages[i] > 0 ? 1 : averages[i] == 0 ? 0.5 : 0;
  return (above - (double)count / 2) / sqrt(pairs * (pairs + 1) * (2 * pairs + 1) / 24);
}

hl_status hl_paired_estimate(const double *differences, size_t n, hl_paired *ret_paired,
                             hl_error *error) {
  return hl_paired_estimate_at(differences, n, usual_level, ret_paired, error);
}

hl_status hl_paired_estimate_at(const double *differences, size_t n, double level,
                                hl_paired *ret_paired, hl_error *error) {
  double nan = (double)NAN;
  if (n > pairs_most)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "%zu pairs; at most %d are compared", n,
                        pairs_most);
  for (size_t i = 0; i < n; i++)
    if (!(fabs(differences[i]) <= difference_most))
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "difference %zu is %g; a finite one below 1e150 is needed", i + 1,
                          differences[i]);
  *ret_paired = (hl_paired){n, nan, nan, nan, deviation_of(differences, n), nan};
  if (n == 0) return HL_OK;
  size_t count = n * (n + 1) / 2, at = 0;
  double *averages = malloc(count * sizeof *averages);
  if (!averages) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %zu pairs", n);
  for (size_t i = 0; i < n; i++)
    for (size_t k = i; k < n; k++) averages[at++] = (differences[i] + differences[k]) / 2;
  hl_sort(averages, count);
  ret_paired->estimate = hl_percentile(averages, count, 50, HL_PERCENTILE_LINEAR);
  ret_paired->z = standardised(averages, count, n);
  int64_t cut = hl_signed_rank_cut_at(n, level);
  if (cut >= 0) {
    ret_paired->low = averages[cut];
    ret_paired->high = averages[count - 1 - (size_t)cut];
  }
  free(averages);
  return HL_OK;
}

double hl_paired_detectable(double deviation, size_t n) {
  return hl_paired_detectable_at(deviation, n, usual_level);
}

double hl_paired_detectable_at(double deviation, size_t n, double level) {
  double width = normal_quantile(level) + power_quantile;
  return n < 2 ? (double)NAN : width * deviation / sqrt((double)n) / efficiency;
}
