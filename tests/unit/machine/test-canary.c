#include "machine/canary.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void lost_time_is_counted_against_the_fastest(void **state) {
  (void)state;
  hl_canary canary = {.least_ns = UINT64_MAX};
  assert_true(isnan(hl_canary_lost(&canary))); /* it has not sung */
  hl_canary_add(&canary, 20000);
  hl_canary_add(&canary, 20000);
  assert_true(fabs(hl_canary_lost(&canary)) < 1e-12);
  hl_canary_add(&canary, 20000);
  hl_canary_add(&canary, 60000); /* put off for 40 us of 80 */
  assert_true(fabs(hl_canary_lost(&canary) - .5) < 1e-12);
  hl_canary_add(&canary, 10000); /* the clock rose: what was the fastest is slow now */
  hl_canary_add(&canary, 20000);
  assert_true(fabs(hl_canary_lost(&canary) - 1.0 / 3) < 1e-12);
  assert_true(isnan(hl_canary_lost(&canary))); /* begins anew */
}

/* A clock that does not move within a piece. */
static void no_time_is_no_measure(void **state) {
  (void)state;
  hl_canary canary = {.least_ns = UINT64_MAX};
  hl_canary_add(&canary, 0);
  assert_true(isnan(hl_canary_lost(&canary)));
  assert_true(canary.least_ns == UINT64_MAX);
  hl_canary_sing(&canary, 1000000); /* and does not divide by it */
}

static void it_sings(void **state) {
  (void)state;
  hl_canary canary;
  hl_canary_init(&canary);
  assert_in_range(canary.least_ns, 2000, 1000000); /* some tens of microseconds */
  assert_int_equal(canary.pieces, 0);
  hl_canary_sing(&canary, 0);
  assert_int_equal(canary.pieces, 16);
  hl_canary_sing(&canary, 50 * 100 * canary.least_ns); /* a hundredth of the slice */
  assert_in_range(canary.pieces, 16 + 50, 16 + 80);
  double lost = hl_canary_lost(&canary);
  assert_true(lost >= 0 && lost < 1);
  hl_canary_sing(&canary, UINT64_MAX);
  assert_int_equal(canary.pieces, 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lost_time_is_counted_against_the_fastest),
                                     cmocka_unit_test(no_time_is_no_measure),
                                     cmocka_unit_test(it_sings)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
