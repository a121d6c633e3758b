#include "statistics/paired.h"

#include "statistics/percentile.h"
#include <math.h>
#include <stdlib.h>

enum { exact_most = 50, exact_sums = exact_most * (exact_most + 1) / 2 + 1, pairs_most = 4096 };

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
  if (n < HL_PAIRS_FOR_INTERVAL) return -1;
  if (n > exact_most) {
    double count = (double)n, averages = count * (count + 1) / 2;
    return (int64_t)floor(averages / 2 - 1.96 * sqrt(count * (count + 1) * (2 * count + 1) / 24)) -
           1;
  }
  double probability[exact_sums], sum = 0;
  sums_of_ranks(n, probability);
  int64_t cut = -1;
  while (sum + probability[cut + 1] <= 0.025) sum += probability[++cut];
  return cut;
}

static double deviation_of(const double *values, size_t n) {
  if (n < 2) return (double)NAN;
  double mean = 0, squares = 0;
  for (size_t i = 0; i < n; i++) mean += values[i] / (double)n;
  for (size_t i = 0; i < n; i++) squares += (values[i] - mean) * (values[i] - mean);
  return sqrt(squares / (double)(n - 1));
}

hl_status hl_paired_estimate(const double *differences, size_t n, hl_paired *ret_paired,
                             hl_error *error) {
  double nan = (double)NAN;
  *ret_paired = (hl_paired){n, nan, nan, nan, deviation_of(differences, n)};
  if (n == 0) return HL_OK;
  if (n > pairs_most)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "%zu pairs; at most %d are compared", n,
                        pairs_most);
  size_t count = n * (n + 1) / 2, at = 0;
  double *averages = malloc(count * sizeof *averages);
  if (!averages) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %zu pairs", n);
  for (size_t i = 0; i < n; i++)
    for (size_t k = i; k < n; k++) averages[at++] = (differences[i] + differences[k]) / 2;
  hl_sort(averages, count);
  ret_paired->estimate = hl_percentile(averages, count, 50, HL_PERCENTILE_LINEAR);
  int64_t cut = hl_signed_rank_cut(n);
  if (cut >= 0) {
    ret_paired->low = averages[cut];
    ret_paired->high = averages[count - 1 - (size_t)cut];
  }
  free(averages);
  return HL_OK;
}

double hl_paired_detectable(double deviation, size_t n) {
  return n < 2 ? (double)NAN : 2.80 * deviation / sqrt((double)n) / 0.955;
}
