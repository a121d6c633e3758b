#include "base/clock.h"
#include "machine/roofline-kernels.h"
#include "machine/roofline.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

/* The kernel does the work that its FLOPs are counted for. */
static void product_is_right(void **state) {
  (void)state;
  const hl_roofline_kernel *kernel = hl_roofline_kernel_best();
  int rows = kernel->rows, columns = kernel->columns;
  static float a[HL_ROOFLINE_DEPTH * HL_ROOFLINE_MAX_ROWS];
  static float b[HL_ROOFLINE_DEPTH * HL_ROOFLINE_MAX_COLUMNS];
  static float c[HL_ROOFLINE_MAX_ROWS * HL_ROOFLINE_MAX_COLUMNS];
  assert_true(rows <= HL_ROOFLINE_MAX_ROWS && columns <= HL_ROOFLINE_MAX_COLUMNS);
  for (size_t i = 0; i < HL_COUNT(a); i++) a[i] = (float)(i % 5) - 2;
  for (size_t i = 0; i < HL_COUNT(b); i++) b[i] = (float)(i % 3) + 1;
  for (size_t i = 0; i < HL_COUNT(c); i++) c[i] = 1;
  kernel->product(a, b, c, 2);
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) {
      float sum = 0;
      for (int k = 0; k < HL_ROOFLINE_DEPTH; k++) sum += a[k * rows + i] * b[k * columns + j];
      assert_true(c[i * columns + j] == 1 + 2 * sum); /* small integers: exact */
    }
}

/* Pairs of bfloat16, as the upper and the lower half of a float. */
static void product_of_pairs_is_right(void **state) {
  (void)state;
  const hl_roofline_kernel *kernel = hl_roofline_kernel_bfloat16();
  if (!kernel) skip();
  int rows = kernel->rows, columns = kernel->columns;
  static uint32_t a[HL_ROOFLINE_DEPTH * HL_ROOFLINE_MAX_ROWS];
  static uint32_t b[HL_ROOFLINE_DEPTH * HL_ROOFLINE_MAX_COLUMNS];
  static float c[HL_ROOFLINE_MAX_ROWS * HL_ROOFLINE_MAX_COLUMNS];
  static const uint32_t one = 0x3F80, two = 0x4000; /* bfloat16 */
  assert_true(rows <= HL_ROOFLINE_MAX_ROWS && columns <= HL_ROOFLINE_MAX_COLUMNS);
  assert_int_equal(kernel->flops, 4);
  for (size_t i = 0; i < HL_COUNT(a); i++) a[i] = one << 16 | (i % 2 ? two : one);
  for (size_t i = 0; i < HL_COUNT(b); i++) b[i] = two << 16 | (i % 3 ? two : one);
  kernel->product((const float *)(void *)a, (const float *)(void *)b, c, 1);
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) {
      float sum = 0;
      for (int k = 0; k < HL_ROOFLINE_DEPTH; k++)
        sum += 2 + ((k * rows + i) % 2 ? 2.0f : 1.0f) * ((k * columns + j) % 3 ? 2.0f : 1.0f);
      assert_true(c[i * columns + j] == sum);
    }
}

static void measures(void **state) {
  (void)state;
  hl_roofline one, two;
  uint64_t start = hl_clock_ns();
  assert_int_equal(hl_roofline_measure(1, &one, NULL), HL_OK);
  assert_true(hl_clock_ns() - start < 60000000000u);
  assert_true(isfinite(one.compute_gflops) && one.compute_gflops > .1);
  assert_true(isfinite(one.bandwidth_gbs) && one.bandwidth_gbs > .1);
  assert_int_equal(isfinite(one.bfloat16_gflops) != 0, hl_roofline_kernel_bfloat16() != NULL);
  assert_int_equal(hl_roofline_measure(2, &two, NULL), HL_OK);
  assert_int_equal(two.threads, 2);
  print_message("%s: %.0f and %.0f GFLOP/s, %.0f in bfloat16, %.1f and %.1f GB/s\n", one.isa,
                one.compute_gflops, two.compute_gflops, two.bfloat16_gflops, one.bandwidth_gbs,
                two.bandwidth_gbs);
}

static void refuses(void **state) {
  (void)state;
  hl_roofline roofline;
  hl_error error = {0};
  assert_int_equal(hl_roofline_measure(0, &roofline, &error), HL_INVALID_ARGUMENT);
  assert_non_null(strstr(error.msg, "0 threads"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(product_is_right),
                                     cmocka_unit_test(product_of_pairs_is_right),
                                     cmocka_unit_test(measures), cmocka_unit_test(refuses)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
