#include "statistics/histogram.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 11;
}

/* Every value lies in its bucket, every bucket ends before the next, and none is too wide. */
static void test_buckets(void **state) {
  (void)state;
  for (uint32_t i = 0; i + 1 < HL_HISTOGRAM_BUCKETS; i++) {
    uint64_t end = hl_histogram_bucket_end(i);
    assert_int_equal(hl_histogram_bucket(end), i);
    assert_int_equal(hl_histogram_bucket(end + 1), i + 1);
  }
  assert_true(hl_histogram_bucket_end(HL_HISTOGRAM_BUCKETS - 1) == UINT64_MAX);
  assert_int_equal(hl_histogram_bucket(UINT64_MAX), HL_HISTOGRAM_BUCKETS - 1);
  uint64_t random = 1;
  for (int i = 0; i < 100000; i++) {
    uint64_t value = next_random(&random) >> (next_random(&random) % 53);
    uint64_t end = hl_histogram_bucket_end(hl_histogram_bucket(value));
    assert_true(end >= value);
    assert_true((double)(end - value) <= HL_HISTOGRAM_ERROR * (double)value);
  }
}

static int by_value(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void test_against_sorted(void **state) {
  (void)state;
  enum { N = 20000 };
  static uint64_t values[N];
  uint64_t random = 7;
  double sum = 0;
  hl_histogram a, b;
  assert_true(hl_histogram_init(&a) && hl_histogram_init(&b));
  for (int i = 0; i < N; i++) {
    values[i] = next_random(&random) >> (20 + next_random(&random) % 20);
    sum += (double)values[i];
    hl_histogram_add(i % 3 ? &a : &b, values[i]);
  }
  hl_histogram_merge(&a, &b);
  qsort(values, N, sizeof *values, by_value);
  assert_int_equal(a.count, N);
  assert_true(a.sum == sum || (a.sum - sum) / sum < 1e-12);
  assert_int_equal(a.min, values[0]);
  assert_int_equal(a.max, values[N - 1]);
  for (uint64_t i = 0; i < N; i += 37) {
    uint64_t got = hl_histogram_at(&a, i);
    assert_true(got >= values[i]);
    assert_true((double)(got - values[i]) <= HL_HISTOGRAM_ERROR * (double)values[i]);
  }
  assert_int_equal(hl_histogram_at(&a, N - 1), values[N - 1]);
  assert_int_equal(hl_histogram_at(&a, N), 0);
  uint64_t limit = hl_histogram_bucket_end(hl_histogram_bucket(values[N / 2])), above = 0;
  for (int i = 0; i < N; i++) above += values[i] > limit;
  assert_int_equal(hl_histogram_above(&a, limit), above);
  hl_histogram_release(&a);
  hl_histogram_release(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_buckets),
                                     cmocka_unit_test(test_against_sorted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
