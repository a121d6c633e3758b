/* Calibrating clocks that are fine, coarse, still, and running backwards. */
#include "base/clock.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Nanoseconds of the next read, and by how much each read moves it; --wrap puts this in the place
 * of clock_gettime. */
static int64_t now_ns, moves_ns, tick_ns;

int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t) {
  (void)id;
  now_ns += moves_ns;
  int64_t shown = tick_ns ? now_ns / tick_ns * tick_ns : now_ns;
  t->tv_sec = shown / 1000000000;
  t->tv_nsec = shown % 1000000000;
  return 0;
}

static hl_clock_cost calibrate(int64_t moves, int64_t tick) {
  now_ns = 1000000000000;
  moves_ns = moves;
  tick_ns = tick;
  return hl_clock_calibrate();
}

static void cost_and_resolution(void **state) {
  (void)state;
  hl_clock_cost fine = calibrate(25, 0), coarse = calibrate(25, 1000),
                jiffy = calibrate(25, 4000000);
  assert_true(fabs(fine.read_ns - 25) < 0.01 && fine.resolution_ns == 25);
  assert_true(fabs(coarse.read_ns - 25) < 0.1 && coarse.resolution_ns == 1000);
  assert_true(jiffy.resolution_ns == 4000000); /* which 20000 reads do not show */
}

static void a_clock_that_is_of_no_use(void **state) {
  (void)state;
  assert_true(isinf(calibrate(0, 0).resolution_ns));
  hl_clock_cost backwards = calibrate(-3, 0);
  assert_true(isinf(backwards.resolution_ns) && isnan(backwards.read_ns));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(cost_and_resolution),
                                     cmocka_unit_test(a_clock_that_is_of_no_use)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
