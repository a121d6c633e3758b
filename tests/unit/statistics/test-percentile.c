/* Percentile rules, ranks of intervals and least counts against pinned vectors. */
#include "statistics/percentile.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST = 1000 };

static void rules(void **state) {
  (void)state;
  static const struct {
    size_t n; /* values 1..n */
    double percent;
    hl_percentile_rule rule;
    double expected;
  } cases[] = {
      {10, 90, HL_PERCENTILE_LINEAR, 9.10},      {10, 90, HL_PERCENTILE_LOADGEN, 10},
      {10, 90, HL_PERCENTILE_NEAREST, 9},        {100, 99, HL_PERCENTILE_LINEAR, 99.01},
      {100, 99, HL_PERCENTILE_LOADGEN, 100},     {100, 99, HL_PERCENTILE_NEAREST, 99},
      {200, 99, HL_PERCENTILE_NEAREST, 198},     {1000, 99.9, HL_PERCENTILE_NEAREST, 999},
      {1000, 99.9, HL_PERCENTILE_LOADGEN, 1000}, {10, 100, HL_PERCENTILE_LINEAR, 10},
      {10, 100, HL_PERCENTILE_LOADGEN, 10},      {10, 100, HL_PERCENTILE_NEAREST, 10},
      {10, 0, HL_PERCENTILE_LINEAR, 1},          {10, 0, HL_PERCENTILE_LOADGEN, 1},
      {10, 0, HL_PERCENTILE_NEAREST, 1},         {1, 50, HL_PERCENTILE_LINEAR, 1},
      {1, 99, HL_PERCENTILE_LOADGEN, 1},         {2, 50, HL_PERCENTILE_LINEAR, 1.5},
  };
  double values[MOST];
  for (size_t i = 0; i < MOST; i++) values[i] = (double)i + 1;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    double got = hl_percentile(values, cases[i].n, cases[i].percent, cases[i].rule);
    if (!(fabs(got - cases[i].expected) < 1e-12))
      fail_msg("p%g of 1..%zu by rule %d: %.15g, expected %.15g", cases[i].percent, cases[i].n,
               (int)cases[i].rule, got, cases[i].expected);
  }
}

static void outside(void **state) {
  (void)state;
  double one = 1;
  assert_true(isnan(hl_percentile(&one, 0, 50, HL_PERCENTILE_LINEAR)));
  assert_true(isnan(hl_percentile(&one, 1, 101, HL_PERCENTILE_LINEAR)));
  assert_true(isnan(hl_percentile(&one, 1, -1, HL_PERCENTILE_NEAREST)));
  assert_true(isnan(hl_percentile(&one, 1, (double)NAN, HL_PERCENTILE_LOADGEN)));
  assert_true(isnan(hl_median(&one, 0)));
}

static void ranks(void **state) {
  (void)state;
  static const struct {
    size_t n, low, high;
  } cases[] = {{6, 1, 6}, {10, 2, 9}, {20, 6, 15}, {30, 10, 21}, {100, 40, 61}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    hl_order_ranks got;
    assert_true(hl_percentile_ranks(cases[i].n, 50, &got));
    assert_int_equal(got.low, cases[i].low);
    assert_int_equal(got.high, cases[i].high);
  }
}

static void least_counts(void **state) {
  (void)state;
  static const struct {
    double percent;
    size_t least;
  } cases[] = {{50, 6}, {90, 36}, {95, 72}, {99, 368}, {99.9, 3688}, {10, 36}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    hl_order_ranks got;
    assert_int_equal(hl_percentile_least_n(cases[i].percent), cases[i].least);
    assert_true(hl_percentile_ranks(cases[i].least, cases[i].percent, &got));
    assert_false(hl_percentile_ranks(cases[i].least - 1, cases[i].percent, &got));
  }
  assert_int_equal(hl_percentile_least_n(0), 0);
  assert_int_equal(hl_percentile_least_n(100), 0);
}

static void effective(void **state) {
  (void)state;
  assert_int_equal(hl_effective_count(300, 0.5), 100);
  assert_int_equal(hl_effective_count(300, -0.5), 300);
  assert_int_equal(hl_effective_count(300, (double)NAN), 300);
  assert_int_equal(hl_effective_count(300, 1), 1);
  assert_int_equal(hl_effective_count(0, 0.5), 0);
  double values[MOST], low = 0, high = 0, wide_low = 0, wide_high = 0;
  for (size_t i = 0; i < MOST; i++) values[i] = (double)i + 1;
  assert_true(hl_percentile_interval(values, 100, 50, 0, &low, &high));
  assert_true(low == 40 && high == 61);
  /* Correlated samples are worth less: the interval is wider, and gone where too few are left. */
  assert_true(hl_percentile_interval(values, 100, 50, 0.6, &wide_low, &wide_high));
  assert_true(wide_low < low && wide_high > high);
  assert_false(hl_percentile_interval(values, 100, 95, 0.6, &low, &high));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rules),        cmocka_unit_test(outside),   cmocka_unit_test(ranks),
      cmocka_unit_test(least_counts), cmocka_unit_test(effective),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
