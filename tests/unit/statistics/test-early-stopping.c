/* LoadGen's published table of queries, and the definition tried number by number. */
#include "statistics/distribution.h"
#include "statistics/early-stopping.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_published_table(void **state) {
  (void)state;
  static const size_t slow[] = {0, 1, 2, 5, 10};
  static const struct {
    double p;
    size_t queries[5];
  } table[] = {
      {0.9, {44, 64, 81, 127, 197}},
      {0.95, {90, 130, 165, 259, 398}},
      {0.99, {459, 662, 838, 1307, 2010}},
      {0.999, {4603, 6636, 8403, 13105, 20140}},
  };
  for (size_t i = 0; i < 4; i++)
    for (size_t k = 0; k < 5; k++)
      assert_int_equal(hl_early_stopping_passing(table[i].p, 0, 0.99, slow[k]) + slow[k],
                       table[i].queries[k]);
}

/* At most t slow ones of n, each slow with probability 1 - p. */
static double chance(size_t n, size_t t, double p) {
  double sum = 0;
  for (size_t k = 0; k <= t; k++) {
    double ways = 1;
    for (size_t i = 0; i < k; i++) ways *= (double)(n - i) / (double)(i + 1);
    sum += ways * pow(1 - p, (double)k) * pow(p, (double)(n - k));
  }
  return sum;
}

static void test_definition(void **state) {
  (void)state;
  for (size_t t = 0; t < 8; t++)
    for (int i = 0; i < 3; i++) {
      double p = (double[]){0.5, 0.8, 0.9}[i], c = (double[]){0.9, 0.99, 0.95}[i];
      size_t h = hl_early_stopping_passing(p, 0, c, t);
      assert_true(chance(h + t, t, p) <= 1 - c);
      assert_true(chance(h + t - 1, t, p) > 1 - c);
    }
}

static void test_allowed_inverts_passing(void **state) {
  (void)state;
  for (size_t n = 1; n < 3000; n += 7) {
    size_t t = hl_early_stopping_allowed(0.9, 0, 0.99, n);
    if (t) assert_true(hl_early_stopping_passing(0.9, 0, 0.99, t) + t <= n);
    assert_true(hl_early_stopping_passing(0.9, 0, 0.99, t + 1) + t + 1 > n);
  }
  assert_int_equal(hl_early_stopping_allowed(0.9, 0, 0.99, 63), 0);
  assert_int_equal(hl_early_stopping_allowed(0.9, 0, 0.99, 64), 1);
}

static void test_estimate(void **state) {
  (void)state;
  double sorted[1000], estimate = 0;
  for (size_t i = 0; i < 1000; i++) sorted[i] = (double)i + 1;
  assert_false(hl_early_stopping_estimate(sorted, 63, 0.9, 0.99, &estimate));
  assert_true(hl_early_stopping_estimate(sorted, 64, 0.9, 0.99, &estimate));
  assert_true(estimate == 64); /* one may be slower than the target: the largest is the estimate */
  assert_true(hl_early_stopping_estimate(sorted, 1000, 0.9, 0.99, &estimate));
  assert_true(estimate > 900 && estimate < 930); /* above the percentile, not far */
}

static void test_bad_arguments(void **state) {
  (void)state;
  double estimate = 0;
  assert_int_equal(hl_early_stopping_passing(1, 0, 0.99, 1), 0);
  assert_int_equal(hl_early_stopping_passing(0.9, 0.9, 0.99, 1), 0);
  assert_int_equal(hl_early_stopping_passing((double)NAN, 0, 0.99, 1), 0);
  assert_int_equal(hl_early_stopping_passing(0.9, 0, 1, 1), 0);
  assert_int_equal(hl_early_stopping_passing(0.9, 0, 0.99, SIZE_MAX), 0);
  assert_false(hl_early_stopping_estimate(NULL, 0, 0.9, 0.99, &estimate));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_published_table), cmocka_unit_test(test_definition),
      cmocka_unit_test(test_allowed_inverts_passing), cmocka_unit_test(test_estimate),
      cmocka_unit_test(test_bad_arguments)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
