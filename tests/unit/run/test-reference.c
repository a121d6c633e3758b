/* Comparing outputs with the reference: the largest relative error, whatever is in them. */
#include "run/reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static hl_status compare(const float *reference, const float *values, const size_t *counts,
                         size_t count, double *ret_error, hl_error *error) {
  hl_reference r = {.values = (float *)(uintptr_t)reference, .count = count};
  for (size_t i = 0; i < count; i++) {
    r.counts[i] = counts[i];
    r.total += counts[i];
  }
  hl_agreement agreement;
  hl_status status = hl_reference_compare(&r, values, counts, count, &agreement, error);
  if (status == HL_OK) *ret_error = agreement.error;
  return status;
}

static void errors_are_relative_to_the_largest_value(void **state) {
  (void)state;
  static const struct {
    float reference[4], values[4];
    size_t counts[2];
    double error;
  } cases[] = {
      {{1, 2, 3, 4}, {1, 2, 3, 4}, {4, 0}, 0},
      {{1, 2, 3, 4}, {1, 2, 3, 5}, {4, 0}, 0.25},
      {{1, 2, 3, -4}, {3, 2, 3, -4}, {4, 0}, 0.5},
      {{1, 1, 100, 100}, {1, 2, 100, 100}, {2, 2}, 1}, /* the worst output counts */
      {{0, 0, 100, 100}, {0, 0, 100, 110}, {2, 2}, 0.1},
      {{1, 2, 3, 4}, {1, 2, (float)NAN, 4}, {4, 0}, (double)INFINITY},
      {{1, 2, 3, 4}, {1, 2, (float)INFINITY, 4}, {4, 0}, (double)INFINITY},
      {{0, 0, 0, 0}, {0, 0, 0, 1}, {4, 0}, (double)INFINITY},
      {{0, 0, 0, 0}, {0, 0, 0, 0}, {4, 0}, 0},
      {{1, (float)INFINITY, 3, 4}, {1, 2, 3, 4}, {4, 0}, (double)INFINITY},
      {{1, (float)INFINITY, 3, 4}, {1, (float)INFINITY, 3, 4}, {4, 0}, 0},
      {{1, (float)INFINITY, 3, 4}, {1, (float)INFINITY, 3, 5}, {4, 0}, 0.25},
      {{1, (float)INFINITY, 3, 4}, {1, -(float)INFINITY, 3, 4}, {4, 0}, (double)INFINITY},
      {{1, (float)NAN, 3, 4}, {1, (float)NAN, 3, 4}, {4, 0}, 0},
      {{1, (float)NAN, 3, 4}, {1, 2, 3, 4}, {4, 0}, (double)INFINITY},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    double found = -1;
    hl_error error = {0};
    assert_int_equal(
        compare(cases[i].reference, cases[i].values, cases[i].counts, 2, &found, &error), HL_OK);
    if (!(found == cases[i].error || fabs(found - cases[i].error) < 1e-6))
      fail_msg("case %zu: %g instead of %g", i, found, cases[i].error);
  }
}

static void direction_and_largest_element(void **state) {
  (void)state;
  const float expected[] = {1, 2, 3, 4}, half[] = {0.5f, 1, 1.5f, 2}, turned[] = {4, 3, 2, 1};
  const float bad[] = {1, 2, (float)NAN, 4}, zeros[4] = {0};
  hl_reference r = {.values = (float *)(uintptr_t)expected, .counts = {4}, .count = 1, .total = 4};
  hl_agreement found;
  hl_error error = {0};
  const size_t four[] = {4};
  assert_int_equal(hl_reference_compare(&r, half, four, 1, &found, &error), HL_OK);
  assert_true(fabs(found.cosine - 1) < 1e-12 && found.top1 && found.error == 0.5);
  assert_int_equal(hl_reference_compare(&r, turned, four, 1, &found, &error), HL_OK);
  assert_true(fabs(found.cosine - 20.0 / 30) < 1e-12 && !found.top1);
  assert_int_equal(hl_reference_compare(&r, bad, four, 1, &found, &error), HL_OK);
  assert_true(isnan(found.cosine) && found.nan_output == 0);
  assert_non_null(strstr(found.cosine_reason, "NaN"));
  assert_int_equal(hl_reference_compare(&r, zeros, four, 1, &found, &error), HL_OK);
  assert_true(isnan(found.cosine) && found.nan_output == -1);
  assert_non_null(strstr(found.cosine_reason, "zeros"));
  r.values = (float *)(uintptr_t)zeros;
  assert_int_equal(hl_reference_compare(&r, zeros, four, 1, &found, &error), HL_OK);
  assert_true(found.cosine == 1 && found.top1 && !found.cosine_reason);
  /* What is NaN in both is no news of the engine. */
  r.values = (float *)(uintptr_t)bad;
  assert_int_equal(hl_reference_compare(&r, bad, four, 1, &found, &error), HL_OK);
  assert_int_equal(found.nan_output, -1);
}

static void what_cannot_be_compared(void **state) {
  (void)state;
  const float values[] = {1, 2, 3};
  hl_agreement found;
  hl_error error = {0};
  const size_t three[] = {3}, two[] = {2}, none[] = {0};
  hl_reference r = {.values = (float *)(uintptr_t)values, .counts = {3}, .count = 1, .total = 3};
  assert_int_equal(hl_reference_compare(&r, values, three, 1, &found, &error), HL_OK);
  assert_int_equal(hl_reference_compare(&r, values, two, 1, &found, &error), HL_BAD_DATA);
  const size_t more[] = {3, 0};
  assert_int_equal(hl_reference_compare(&r, values, more, 2, &found, &error), HL_BAD_DATA);
  r = (hl_reference){.values = (float *)(uintptr_t)values, .count = 1};
  assert_int_equal(hl_reference_compare(&r, values, none, 1, &found, &error), HL_UNAVAILABLE);
  assert_true(error.msg[0] != '\0');
}

static void tolerances_widen_with_the_type(void **state) {
  (void)state;
  double f32 = hl_reference_tolerance("float32"), f16 = hl_reference_tolerance("float16");
  double bf16 = hl_reference_tolerance("bfloat16");
  assert_true(f32 > 0 && f32 <= 1e-3);
  assert_true(f32 < f16 && f16 < bf16 && bf16 <= 0.1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(errors_are_relative_to_the_largest_value),
      cmocka_unit_test(direction_and_largest_element),
      cmocka_unit_test(what_cannot_be_compared),
      cmocka_unit_test(tolerances_widen_with_the_type),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
