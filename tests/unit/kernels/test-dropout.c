/* Dropout keeps exactly what the generator of numeric/random.h says. */
#include "kernel-test.h"
#include "numeric/random.h"

static void run(const hl_kernels *k, unsigned threads, size_t n, double ratio, uint64_t seed,
                uint64_t step) {
  float *x = filled(n, 1), *y = poisoned(n), *expected = poisoned(n);
  const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  uint32_t words[4] = {0};
  for (size_t i = 0; i < n; i++) {
    const uint32_t counter[4] = {(uint32_t)(i / 4), 0, (uint32_t)step, (uint32_t)(step >> 32)};
    if (i % 4 == 0) hl_philox4x32(counter, key, words);
    int kept = (double)words[i % 4] * 0x1p-32 >= ratio;
    expected[i] = kept ? (float)((double)x[i] / (1 - ratio)) : 0;
  }
  hl_dropout_args a = {.x = x, .y = y, .n = n, .seed = seed, .step = step, .ratio = ratio};
  hl_kernel_dropout(k, &a, threads);
  assert_memory_equal(y, expected, n * sizeof *y);
  a.y = x; /* in place */
  hl_kernel_dropout(k, &a, threads);
  assert_memory_equal(x, expected, n * sizeof *x);
  free(x), free(y), free(expected);
}

static void test_dropout(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (size_t i = 0; i < COUNT(odd_sizes); i++) run(k, threads, odd_sizes[i], 0.5, 1, 1);
    run(k, threads, 5000, (double)0.1f, 0x123456789abcdefu, 0x100000002u);
    run(k, threads, 300, 0, 7, 1);
    run(k, threads, 300, 0.999999999999, 7, 2);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_dropout)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
