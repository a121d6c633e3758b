/* The incomplete beta function where its value is known, and LoadGen's table of counts, which rests
 * on it. The comparison with SciPy is in tests/oracle. */
#include "statistics/distribution.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void closed_forms(void **state) {
  (void)state;
  for (double x = 0; x <= 1; x += 0.0625) {
    assert_true(fabs(hl_beta_regularised(x, 1, 1) - x) < 1e-14);
    assert_true(fabs(hl_beta_regularised(x, 5, 1) - pow(x, 5)) < 1e-14);
    assert_true(fabs(hl_beta_regularised(x, 1, 3) - (1 - pow(1 - x, 3))) < 1e-14);
  }
  assert_true(fabs(hl_beta_regularised(0.5, 1e6, 1e6) - 0.5) < 1e-12);
}

static void outside(void **state) {
  (void)state;
  assert_true(isnan(hl_beta_regularised(-0.1, 1, 1)));
  assert_true(isnan(hl_beta_regularised(0.5, 0, 1)));
  assert_true(isnan(hl_beta_regularised((double)NAN, 1, 1)));
  assert_true(isnan(hl_binomial_cdf(1, 2, 1.5)));
  assert_true(hl_binomial_cdf(-1, 2, 0.5) == 0);
  assert_true(hl_binomial_cdf(2, 2, 0.5) == 1);
}

static void binomial(void **state) {
  (void)state;
  assert_true(fabs(hl_binomial_cdf(0, 6, 0.5) - 1.0 / 64) < 1e-15);
  assert_true(fabs(hl_binomial_cdf(1, 2, 0.5) - 0.75) < 1e-15);
  assert_true(fabs(hl_binomial_cdf(9, 30, 0.5) - 0.02138697262853384) < 1e-14);
}

/* n = h + t, h the smallest with I_p(h, t + 1) <= 1 - 0.99. */
static void early_stopping(void **state) {
  (void)state;
  static const double percentiles[] = {0.9, 0.95, 0.99, 0.999};
  static const int t[] = {0, 1, 2, 5, 10};
  static const int n[4][5] = {{44, 64, 81, 127, 197},
                              {90, 130, 165, 259, 398},
                              {459, 662, 838, 1307, 2010},
                              {4603, 6636, 8403, 13105, 20140}};
  for (size_t p = 0; p < 4; p++)
    for (size_t i = 0; i < 5; i++) {
      int h = n[p][i] - t[i];
      assert_true(hl_beta_regularised(percentiles[p], h, t[i] + 1) <= 0.01);
      assert_true(hl_beta_regularised(percentiles[p], h - 1, t[i] + 1) > 0.01);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(closed_forms),
      cmocka_unit_test(outside),
      cmocka_unit_test(binomial),
      cmocka_unit_test(early_stopping),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
