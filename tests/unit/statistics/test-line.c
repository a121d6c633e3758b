/* Lines through exact and disturbed points; when two pieces are better than one. */
#include "statistics/line.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const double batches[] = {1, 2, 4, 8, 16, 32, 64, 128};
enum { SIZES = 8 };

static void exact(void **state) {
  (void)state;
  double y[SIZES], weights[SIZES];
  for (size_t i = 0; i < SIZES; i++) {
    y[i] = 0.8 + 1.9 * batches[i];
    weights[i] = 1 / (y[i] * y[i]);
  }
  hl_line line;
  assert_true(hl_line_fit(batches, y, weights, SIZES, &line));
  assert_true(fabs(line.a0 - 0.8) < 1e-9 && fabs(line.a1 - 1.9) < 1e-12);
  assert_true(fabs(line.r_squared - 1) < 1e-12);
}

static void refused(void **state) {
  (void)state;
  static const double same[] = {7, 7, 7}, y[] = {1, 2, 3}, bad[] = {1, 0, 1};
  double nan[] = {1, (double)NAN, 3};
  hl_line line;
  assert_false(hl_line_fit(same, y, NULL, 3, &line));
  assert_false(hl_line_fit(y, y, NULL, 1, &line));
  assert_false(hl_line_fit(y, nan, NULL, 3, &line));
  assert_false(hl_line_fit(y, y, bad, 3, &line));
  assert_true(hl_line_fit(y, y, NULL, 2, &line));
  assert_true(isnan(line.r_squared));
}

static void pieces(void **state) {
  (void)state;
  double straight[SIZES], bent[SIZES], w_straight[SIZES], w_bent[SIZES];
  for (size_t i = 0; i < SIZES; i++) {
    straight[i] = (1 + 2 * batches[i]) * (i % 2 ? 1.004 : 0.996);
    bent[i] = batches[i] <= 16 ? 1 + 2 * batches[i] : 33 + 5 * (batches[i] - 16);
    w_straight[i] = 1 / (straight[i] * straight[i]);
    w_bent[i] = 1 / (bent[i] * bent[i]);
  }
  hl_two_lines two;
  assert_true(hl_line_fit_two(batches, straight, w_straight, SIZES, 2.5e-5, &two));
  assert_true(two.bic_gain < 10);
  assert_true(hl_line_fit_two(batches, bent, w_bent, SIZES, 2.5e-5, &two));
  assert_true(two.bic_gain > 10);
  assert_int_equal(two.low_count, 5);
  assert_true(fabs(two.low.a1 - 2) < 1e-9 && fabs(two.high.a1 - 5) < 1e-9);
  assert_false(hl_line_fit_two(batches, bent, w_bent, 5, 2.5e-5, &two));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact),
      cmocka_unit_test(refused),
      cmocka_unit_test(pieces),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
