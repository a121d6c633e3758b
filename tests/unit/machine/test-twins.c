#include "base/clock.h"
#include "machine/twins.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Of 8 pairs those that differ by less than 3 %. */
static size_t count_near(int threads) {
  double ratios[8];
  size_t pairs = 0, near = 0;
  assert_int_equal(hl_twins_run(threads, 8, UINT64_MAX / 2, ratios, &pairs, NULL), HL_OK);
  assert_int_equal(pairs, 8);
  for (size_t i = 0; i < pairs; i++) {
    assert_true(isfinite(ratios[i]));
    near += fabs(ratios[i]) < 3;
  }
  return near;
}

static void pairs_of_the_same_are_near_each_other(void **state) {
  (void)state;
  for (int threads = 1; threads <= 3; threads++) {
    size_t near = 0;
    for (int i = 0; i < 20 && near < 4; i++) near = count_near(threads); /* others may compute */
    assert_true(near >= 4);
  }
}

static void time_ends_it(void **state) {
  (void)state;
  double ratios[1000];
  size_t pairs = 0;
  assert_int_equal(hl_twins_run(1, 1000, 50000000, ratios, &pairs, NULL), HL_OK);
  assert_in_range(pairs, 0, 10); /* a pair is 16 ms, or more on a busy machine */
  assert_int_equal(hl_twins_run(1, 1000, 0, ratios, &pairs, NULL), HL_OK);
  assert_int_equal(pairs, 0);
}

static void senseless_questions_are_refused(void **state) {
  (void)state;
  double ratio;
  size_t pairs;
  assert_int_equal(hl_twins_run(0, 1, 1, &ratio, &pairs, NULL), HL_INVALID_ARGUMENT);
  assert_int_equal(hl_twins_run(HL_TWINS_THREADS + 1, 1, 1, &ratio, &pairs, NULL),
                   HL_INVALID_ARGUMENT);
  assert_int_equal(hl_twins_run(1, 0, 1, &ratio, &pairs, NULL), HL_INVALID_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(pairs_of_the_same_are_near_each_other),
                                     cmocka_unit_test(time_ends_it),
                                     cmocka_unit_test(senseless_questions_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
