/* Signed-rank quantiles and Hodges-Lehmann intervals against brute force and printed tables. */
#include "statistics/paired.h"

#include "statistics/percentile.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Every one of the 2^n signs. */
static double brute_cdf(int64_t w, size_t n) {
  size_t below = 0, all = (size_t)1 << n;
  for (size_t signs = 0; signs < all; signs++) {
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
      if (signs >> i & 1) sum += (int64_t)i + 1;
    below += sum <= w;
  }
  return (double)below / (double)all;
}

static void exact_distribution(void **state) {
  (void)state;
  for (size_t n = 1; n <= 12; n++)
    for (int64_t w = -1; w <= (int64_t)(n * (n + 1) / 2) + 1; w++)
      assert_true(fabs(hl_signed_rank_cdf(w, n) - brute_cdf(w, n)) < 1e-14);
  assert_true(isnan(hl_signed_rank_cdf(3, 0)) && isnan(hl_signed_rank_cdf(3, 51)));
}

/* Two-sided critical values at 5 % as printed (Hollander and Wolfe, table A.4): reject at W <= c.
 */
static void critical_values(void **state) {
  (void)state;
  static const int64_t printed[][2] = {{5, -1}, {6, 0},   {7, 2},   {8, 3},   {9, 5},
                                       {10, 8}, {15, 25}, {20, 52}, {25, 89}, {30, 137}};
  for (size_t i = 0; i < sizeof printed / sizeof printed[0]; i++)
    assert_int_equal(hl_signed_rank_cut((size_t)printed[i][0]), printed[i][1]);
  /* Beyond the exact ones the approximation goes on where they end. */
  int64_t last = hl_signed_rank_cut(50), next = hl_signed_rank_cut(51);
  assert_in_range(next - last, 10, 22);
}

static void estimate(void **state) {
  (void)state;
  static const double d[] = {0.3, -0.1, 0.4, 0.15, 0.9, 0.26, 0.05};
  hl_paired p;
  assert_int_equal(hl_paired_estimate(d, 7, &p, NULL), HL_OK);
  double walsh[28];
  size_t n = 0;
  for (size_t i = 0; i < 7; i++)
    for (size_t k = i; k < 7; k++) walsh[n++] = (d[i] + d[k]) / 2;
  hl_sort(walsh, n);
  assert_true(p.estimate == (walsh[13] + walsh[14]) / 2);
  assert_true(p.low == walsh[2] && p.high == walsh[25]);
  assert_int_equal(hl_paired_estimate(d, 5, &p, NULL), HL_OK);
  assert_true(isfinite(p.estimate) && isnan(p.low) && isnan(p.high));
  assert_int_equal(hl_paired_estimate(d, 1, &p, NULL), HL_OK);
  assert_true(p.estimate == 0.3 && isnan(p.deviation));
  assert_int_equal(hl_paired_estimate(d, 0, &p, NULL), HL_OK);
  assert_true(isnan(p.estimate));
  hl_error error;
  assert_int_equal(hl_paired_estimate(d, 5000, &p, &error), HL_INVALID_ARGUMENT);
}

static void detectable(void **state) {
  (void)state;
  assert_true(fabs(hl_paired_detectable(0.02, 25) - 2.80 * 0.02 / 5 / 0.955) < 1e-6);
  assert_true(isnan(hl_paired_detectable(0.02, 1)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_distribution),
      cmocka_unit_test(critical_values),
      cmocka_unit_test(estimate),
      cmocka_unit_test(detectable),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
