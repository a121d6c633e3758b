#include "method/rate-search.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A server that holds any rate up to `capacity`. */
static hl_rate_search run(double guess, double resolution, double capacity) {
  hl_rate_search s;
  double rate;
  hl_rate_search_init(&s, guess, resolution);
  while (hl_rate_search_next(&s, &rate)) hl_rate_search_add(&s, rate <= capacity);
  return s;
}

static void test_finds_capacity(void **state) {
  (void)state;
  static const double guesses[] = {1e-3, 0.5, 90, 100, 101, 1e5, 1e8};
  static const double capacities[] = {0.01, 1, 99.9, 12345, 3e6};
  for (int i = 0; i < 7; i++)
    for (int k = 0; k < 5; k++) {
      hl_rate_search s = run(guesses[i], 0.02, capacities[k]);
      assert_true(s.best <= capacities[k] && s.failing > capacities[k]);
      assert_true(s.failing / s.best <= 1.02);
      assert_true(s.probes < 50);
    }
}

static void test_ends_without_an_answer(void **state) {
  (void)state;
  hl_rate_search s = run(100, 0.02, 0);
  assert_true(s.best == 0);
  s = run(100, 0.02, INFINITY); /* a server that holds everything */
  assert_true(s.best > HL_RATE_MOST / 2 && s.best <= HL_RATE_MOST);
  assert_true(isinf(s.failing));
}

static void test_refute(void **state) {
  (void)state;
  hl_rate_search s = run(100, 0.02, 500);
  double before = s.best;
  hl_rate_search_refute(&s);
  assert_true(fabs(s.best - 0.97 * before) < 1e-9 && s.failing == before);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_finds_capacity),
                                     cmocka_unit_test(test_ends_without_an_answer),
                                     cmocka_unit_test(test_refute)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
