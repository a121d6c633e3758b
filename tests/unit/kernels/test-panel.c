/* Products with a matrix in panels against plain loops in double. */
#include "kernel-test.h"

static void check(const hl_kernels *k, unsigned threads, size_t n, size_t depth, size_t columns,
                  int turned, int add) {
  const size_t a_row = depth + 3, c_row = columns + 2;
  size_t panels = (columns + HL_PANEL - 1) / HL_PANEL;
  float *a = filled(n * a_row, 1), *b = filled(depth * columns, 2), *c = filled(n * c_row, 3);
  float *before = copied(c, n * c_row), *packed = poisoned(panels * HL_PANEL * depth);
  double *expected = calloc(n * c_row, sizeof(double));
  hl_panels_args pack = {.x = b,
                         .k = depth,
                         .columns = columns,
                         .row = turned ? 1 : columns,
                         .column = turned ? depth : 1,
                         .y = packed};
  for (size_t i = 0; i < n * c_row; i++) expected[i] = (double)before[i];
  for (size_t r = 0; r < n; r++)
    for (size_t j = 0; j < columns; j++) {
      double sum = add ? (double)before[r * c_row + j] : 0;
      for (size_t i = 0; i < depth; i++)
        sum += (double)a[r * a_row + i] * (double)b[i * pack.row + j * pack.column];
      expected[r * c_row + j] = sum;
    }
  hl_kernel_panels(k, &pack, threads);
  hl_panel_product_args args = {.a = a,
                                .b = packed,
                                .c = c,
                                .n = n,
                                .k = depth,
                                .columns = columns,
                                .a_row = a_row,
                                .c_row = c_row,
                                .add = add};
  hl_kernel_panel_product(k, &args, threads);
  assert_close(k->isa, "product", c, expected, n * c_row, 2e-6);
  free(a), free(b), free(c), free(before), free(packed), free(expected);
}

static void test_panel_product(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (size_t i = 0; i < COUNT(odd_sizes); i++)
      for (size_t n = 1; n <= 10; n++)
        check(k, threads, n, odd_sizes[(i + n) % COUNT(odd_sizes)], odd_sizes[i], n % 2,
              n % 3 == 0);
    check(k, threads, 19, 40, 130, 1, 1);
    check(k, threads, 3, 70, 96, 0, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_panel_product)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
