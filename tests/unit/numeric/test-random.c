/* Random numbers: Random123's known answers, streams, and the moments of each distribution. */
#include "base/error.h"
#include "numeric/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Random123 1.14, tests/kat_vectors: philox4x32 with 10 rounds. */
static void known_answers(void **state) {
  (void)state;
  static const struct {
    uint32_t counter[4], key[2], words[4];
  } cases[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    uint32_t words[4];
    hl_philox4x32(cases[i].counter, cases[i].key, words);
    assert_memory_equal(words, cases[i].words, sizeof words);
  }
}

static void streams_repeat_and_differ(void **state) {
  (void)state;
  hl_random a, b, c, d;
  hl_random_init(&a, 42, 1);
  hl_random_init(&b, 42, 1);
  hl_random_init(&c, 42, 2);
  hl_random_init(&d, 43, 1);
  int same_c = 0, same_d = 0;
  for (int i = 0; i < 1000; i++) {
    uint32_t word = hl_random_u32(&a);
    assert_int_equal(word, hl_random_u32(&b));
    same_c += word == hl_random_u32(&c);
    same_d += word == hl_random_u32(&d);
  }
  assert_true(same_c == 0 && same_d == 0);
  assert_true(hl_random_stream("conv1.weight") != hl_random_stream("conv1.bias"));
  assert_int_equal(hl_random_stream("x"), hl_random_stream("x"));
  float whole[1001], part[10];
  hl_random_fill_normal(whole, 1001, 0, 1, 7, 3);
  hl_random_fill_normal(part, 10, 0, 1, 7, 3);
  assert_memory_equal(whole, part, sizeof part); /* the same numbers whatever else is drawn */
}

/* Mean and variance over 200,000 draws, within 5 standard errors. */
static void check_moments(const double *values, size_t n, double mean, double variance) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < n; i++) sum += values[i];
  double found = sum / (double)n;
  for (size_t i = 0; i < n; i++) squares += (values[i] - found) * (values[i] - found);
  double error = 5 * sqrt(variance / (double)n);
  if (fabs(found - mean) > error) fail_msg("mean %g, expected %g", found, mean);
  double spread = squares / (double)n;
  if (fabs(spread - variance) > 0.03 * variance + 1e-9)
    fail_msg("variance %g, not %g", spread, variance);
}

static void distributions_have_their_moments(void **state) {
  (void)state;
  enum { n = 200000 };
  static double values[n];
  hl_random random;
  hl_random_init(&random, 1, 2);
  for (size_t i = 0; i < n; i++) {
    values[i] = hl_random_uniform(&random);
    assert_true(values[i] > 0 && values[i] < 1);
  }
  check_moments(values, n, 0.5, 1.0 / 12);
  for (size_t i = 0; i < n; i++) values[i] = hl_random_normal(&random);
  check_moments(values, n, 0, 1);
  static const double means[] = {0.01, 1, 29.9, 30, 1000, 1e6};
  for (size_t k = 0; k < HL_COUNT(means); k++) {
    for (size_t i = 0; i < n; i++) values[i] = hl_random_poisson(&random, means[k]);
    check_moments(values, n, means[k], means[k]);
  }
  assert_true(hl_random_poisson(&random, 0) == 0);
  for (size_t i = 0; i < n; i++) {
    uint64_t below = hl_random_below(&random, 10);
    assert_true(below < 10);
    values[i] = (double)below;
  }
  check_moments(values, n, 4.5, 8.25);
  assert_int_equal(hl_random_below(&random, 1), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_answers),
      cmocka_unit_test(streams_repeat_and_differ),
      cmocka_unit_test(distributions_have_their_moments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
