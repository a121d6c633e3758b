/* Sums against sums in double. */
#include "kernel-test.h"

static void test_rows(void **state) {
  (void)state;
  static const size_t rows[] = {0, 1, 5, 33, 400};
  FOR_EACH_BUILD(k, threads) {
    for (size_t i = 0; i < COUNT(odd_sizes); i++)
      for (size_t j = 0; j < COUNT(rows); j++) {
        size_t n = odd_sizes[i];
        float *x = filled(rows[j] * n, 1), *y = poisoned(n);
        float *scratch = poisoned(HL_SUM_PARTS * n);
        double *expected = calloc(n, sizeof *expected);
        for (size_t at = 0; at < rows[j] * n; at++) expected[at % n] += (double)x[at];
        hl_row_sums_args a = {.x = x, .y = y, .rows = rows[j], .n = n, .scratch = scratch};
        hl_kernel_row_sums(k, &a, threads);
        hl_kernel_row_sums_end(k, &a, threads);
        assert_close(k->isa, "rows", y, expected, n, 2e-6);
        free(x), free(y), free(scratch), free(expected);
      }
  }
}

static void test_channels(void **state) {
  (void)state;
  static const struct {
    size_t n, c, s, block;
  } cases[] = {{2, 3, 7, 1}, {3, 16, 5, 16}, {2, 20, 33, 16}, {2, 20, 33, 8}, {1, 5, 5000, 1}};
  FOR_EACH_BUILD(k, threads) {
    for (size_t i = 0; i < COUNT(cases); i++) {
      size_t n = cases[i].n, c = cases[i].c, s = cases[i].s, block = cases[i].block;
      size_t blocks = (c + block - 1) / block, size = n * blocks * s * block;
      float *x = filled(size, 1), *y = poisoned(c), *scratch = poisoned(n * ((c + 15) / 16 * 16));
      double *expected = calloc(blocks * block, sizeof *expected);
      for (size_t at = 0; at < size; at++)
        expected[at / block / s % blocks * block + at % block] += (double)x[at];
      hl_channel_sums_args a = {
          .x = x, .y = y, .n = n, .c = c, .s = s, .block = block, .scratch = scratch};
      hl_kernel_channel_sums(k, &a, threads);
      hl_kernel_channel_sums_end(k, &a, threads);
      assert_close(k->isa, "channels", y, expected, c, 2e-6);
      free(x), free(y), free(scratch), free(expected);
    }
  }
}

static void test_total(void **state) {
  (void)state;
  static const size_t sizes[] = {1, 63, 64, 1000, 200001};
  FOR_EACH_BUILD(k, threads) {
    for (size_t i = 0; i < COUNT(sizes); i++)
      for (int square = 0; square < 2; square++) {
        float *x = filled(sizes[i], 1), y = 12345;
        double expected = 0, scratch[HL_TOTAL_PARTS];
        for (size_t at = 0; at < sizes[i]; at++)
          expected += 0.5 * (double)x[at] * (square ? (double)x[at] : 1);
        hl_total_args a = {
            .x = x, .y = &y, .n = sizes[i], .scale = 0.5f, .square = square, .scratch = scratch};
        hl_kernel_total(k, &a, threads);
        hl_kernel_total_end(k, &a, threads);
        assert_close(k->isa, "total", &y, &expected, 1, square ? 1e-6 : 1e-5);
        free(x);
      }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_channels),
                                     cmocka_unit_test(test_total)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
