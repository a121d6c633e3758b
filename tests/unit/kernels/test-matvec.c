/* A row times a matrix in panels, against plain loops in double. */
#include "kernel-test.h"

static void check(const hl_kernels *k, unsigned threads, size_t depth, size_t n, int has_bias,
                  float slope) {
  float *x = filled(depth, 1), *w = filled(depth * n, 2), *bias = filled(n, 3), *y = poisoned(n);
  double *expected = calloc(n ? n : 1, sizeof *expected);
  assert_non_null(expected);
  for (size_t c = 0; c < n; c++) {
    size_t panel = c / HL_MATVEC_PANEL, lane = c % HL_MATVEC_PANEL;
    double sum = has_bias ? (double)bias[c] : 0;
    for (size_t i = 0; i < depth; i++)
      sum += (double)x[i] * (double)w[(panel * depth + i) * HL_MATVEC_PANEL + lane];
    expected[c] = sum > 0 ? sum : sum * (double)slope;
  }
  hl_matvec_args args = {
      .x = x, .w = w, .bias = has_bias ? bias : NULL, .y = y, .k = depth, .n = n, .slope = slope};
  hl_kernel_matvec(k, &args, threads);
  assert_close(k->isa, "matvec", y, expected, n, 1e-5);
  free(x);
  free(w);
  free(bias);
  free(y);
  free(expected);
}

static void shapes(void **state) {
  (void)state;
  static const size_t depths[] = {1, 2, 3, 4, 5, 17, 64, 1000};
  FOR_EACH_BUILD(k, threads)
  for (size_t i = 0; i < COUNT(depths); i++)
    for (size_t panels = 1; panels <= 5; panels += 2) {
      check(k, threads, depths[i], panels * HL_MATVEC_PANEL, 1, 0.0f);
      check(k, threads, depths[i], panels * HL_MATVEC_PANEL, 0, 1.0f);
      check(k, threads, depths[i], panels * HL_MATVEC_PANEL, 1, 0.25f);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(shapes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
