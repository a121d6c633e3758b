/* Descriptions and series: values computed by hand, and degenerate input. */
#include "statistics/descriptive.h"
#include "statistics/series.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void description(void **state) {
  (void)state;
  static const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
  hl_description d = hl_describe(values, 8);
  assert_true(d.mean == 5 && d.std == 2 && d.min == 2 && d.max == 9);
  assert_true(isnan(hl_describe(values, 0).mean));
  assert_true(hl_describe(values, 1).std == 0);
}

/* Five runs of 2 s that differ by 1 ns, and 1.9206 s with a spread of 30 ms: integer sums of
 * squares give 31,622 ns and 3.72 s. */
static void cancellation(void **state) {
  (void)state;
  static const double close[] = {2e9, 2e9 + 1, 2e9, 2e9 + 1, 2e9};
  assert_true(fabs(hl_describe(close, 5).std - sqrt(0.24)) < 1e-6);
  static const double spread[] = {1.8902e9, 1.9206e9, 1.951e9};
  assert_true(fabs(hl_describe(spread, 3).std - 30.4e6 * sqrt(2.0 / 3)) < 1);
}

static void autocorrelation(void **state) {
  (void)state;
  static const double alternating[] = {1, -1, 1, -1}, rising[] = {1, 2, 3, 4}, same[] = {3, 3, 3};
  assert_true(fabs(hl_autocorrelation(alternating, 4) + 0.75) < 1e-15);
  assert_true(fabs(hl_autocorrelation(rising, 4) - 0.25) < 1e-15);
  assert_true(hl_autocorrelation(same, 3) == 0);
  assert_true(isnan(hl_autocorrelation(same, 1)));
}

static void medians(void **state) {
  (void)state;
  static const double values[] = {5, 1, 3, 10, 30, 20, 7};
  double got[3], scratch[4];
  /* Batches of 2, 2 and 3 values. */
  hl_batch_medians(values, 7, 3, got, scratch);
  assert_true(got[0] == 3 && got[1] == 6.5 && got[2] == 20);
}

static void slope(void **state) {
  (void)state;
  static const double values[] = {1, 3, 5, 7, 9};
  assert_true(fabs(hl_slope(values, 5) - 2) < 1e-15);
  assert_true(hl_slope(values, 1) == 0);
}

static void mser(void **state) {
  (void)state;
  double values[200];
  for (size_t i = 0; i < 200; i++) values[i] = 10 + (i % 2 ? 0.1 : -0.1);
  assert_int_equal(hl_mser5(values, 200), 0);
  for (size_t i = 0; i < 40; i++) values[i] += 5;
  assert_int_equal(hl_mser5(values, 200), 40);
  assert_int_equal(hl_mser5(values, 19), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(description),     cmocka_unit_test(cancellation),
      cmocka_unit_test(autocorrelation), cmocka_unit_test(medians),
      cmocka_unit_test(slope),           cmocka_unit_test(mser),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
