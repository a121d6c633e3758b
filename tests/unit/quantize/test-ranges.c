/* Ranges of activations. Expected numbers are worked out by hand; tests/oracle/quantize compares
 * with numpy and with ONNX Runtime's calibrator. */
#include "quantize/ranges.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void scales_hold_zero_exactly(void **state) {
  (void)state;
  static const struct {
    float low, high, scale;
    int zero;
  } cases[] = {
      {0, 255, 1, 0},           {-128, 127, 1, 128},
      {-1, 0, 1 / 255.0f, 255}, {0, 0, 1, 0}, /* nothing but zeros */
      {2, 510, 2, 0},                         /* zero is always in */
      {-510, -2, 2, 255},                     /* */
      {0, 1e-40f, 1, 0},                      /* no scale that small divides */
      {-1, 3, 4 / 255.0f, 64}                 /* 63.75 */
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_affine a = hl_affine_from_range((hl_range){cases[i].low, cases[i].high});
    if (fabsf(a.scale - cases[i].scale) > 1e-6f * cases[i].scale || a.zero_point != cases[i].zero)
      fail_msg("case %zu: %g and %d", i, (double)a.scale, a.zero_point);
  }
}

static void what_was_seen(void **state) {
  (void)state;
  const float values[] = {1, -2, 3, 0.5f}, bad[] = {1, (float)NAN, (float)INFINITY};
  hl_observer o = {0};
  hl_observer_see(&o, values, 4);
  assert_true(o.low == -2 && o.high == 3 && o.seen == 4 && o.invalid == 0);
  hl_range range = hl_observer_range(&o, HL_RANGES_PERCENTILE, 50); /* nothing was counted */
  assert_true(range.low == -2 && range.high == 3);
  hl_observer_see(&o, bad, 3);
  assert_true(o.seen == 7 && o.invalid == 2 && o.high == 3);
  hl_observer_release(&o);
}

static hl_observer observe(const float *values, size_t count) {
  hl_observer o = {0};
  hl_observer_see(&o, values, count);
  assert_int_equal(hl_observer_start_counting(&o, NULL), HL_OK);
  hl_observer_count(&o, values, count);
  return o;
}

static void outliers_are_cut_off(void **state) {
  (void)state;
  enum { n = 10000 };
  static float values[n];
  for (int i = 0; i < n; i++) values[i] = (float)i / n; /* 0 to 1, */
  values[17] = 100;                                     /* and one outlier */
  hl_observer o = observe(values, n);
  hl_range all = hl_observer_range(&o, HL_RANGES_MINMAX, 0);
  assert_true(all.low == 0 && all.high == 100);
  hl_range most = hl_observer_range(&o, HL_RANGES_PERCENTILE, 99.9);
  assert_true(most.low == 0 && most.high > 0.9f && most.high < 1.1f);
  hl_range whole = hl_observer_range(&o, HL_RANGES_PERCENTILE, 100);
  assert_true(whole.high > 99.9f && whole.high <= 100);
  hl_observer_release(&o);
  for (int i = 0; i < n; i++) values[i] = -logf(1 - ((float)i + 0.5f) / n); /* to 9.9, */
  values[17] = 100;                                                         /* and an outlier */
  o = observe(values, n);
  hl_range informed = hl_observer_range(&o, HL_RANGES_ENTROPY, 0);
  assert_true(informed.low == 0 && informed.high > 9 && informed.high < 60);
  hl_observer_release(&o);
}

static void constant_tensors(void **state) {
  (void)state;
  const float zeros[8] = {0}, ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  for (int rule = HL_RANGES_MINMAX; rule <= HL_RANGES_ENTROPY; rule++) {
    hl_observer o = observe(zeros, 8);
    hl_range range = hl_observer_range(&o, (hl_ranges)rule, 99.99);
    assert_true(range.low == 0 && range.high == 0);
    hl_observer_release(&o);
    o = observe(ones, 8);
    range = hl_observer_range(&o, (hl_ranges)rule, 99.99);
    assert_true(range.low == 0 && range.high > 0.99f && range.high <= 1);
    hl_observer_release(&o);
  }
}

static void names(void **state) {
  (void)state;
  hl_ranges ranges;
  for (int rule = HL_RANGES_MINMAX; rule <= HL_RANGES_ENTROPY; rule++) {
    assert_true(hl_ranges_from_name(hl_ranges_name((hl_ranges)rule), &ranges));
    assert_int_equal(ranges, rule);
  }
  assert_false(hl_ranges_from_name("average", &ranges));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(scales_hold_zero_exactly),
                                     cmocka_unit_test(what_was_seen),
                                     cmocka_unit_test(outliers_are_cut_off),
                                     cmocka_unit_test(constant_tensors), cmocka_unit_test(names)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
