/* A matrix times a matrix in panels, and what follows it, against plain loops in double. */
#include "kernel-test.h"

enum { NO_RESIDUAL, RESIDUAL, IN_PLACE };

typedef struct problem {
  size_t m, k, n, gap; /* floats between rows of x */
  int has_bias, residual;
  hl_gemm_function function;
  float slope;
} problem;

static double function_of(const problem *p, double v) {
  switch (p->function) {
  case HL_GEMM_GELU:
    return 0.5 * v * (1 + erf(v / sqrt(2)));
  case HL_GEMM_SWISH:
    return v / (1 + exp(-v));
  case HL_GEMM_SIGMOID:
    return 1 / (1 + exp(-v));
  case HL_GEMM_TANH:
    return tanh(v);
  default:
    return v > 0 ? v : v * (double)p->slope;
  }
}

static void check(const hl_kernels *k, unsigned threads, problem p) {
  size_t x_row = p.k + p.gap;
  float *x = filled(p.m * x_row, 1), *w = filled(p.k * p.n, 2), *bias = filled(p.n, 3);
  float *residual = filled(p.m * p.n, 4), *y = poisoned(p.m * p.n);
  double *expected = calloc(p.m * p.n, sizeof *expected);
  assert_non_null(expected);
  for (size_t r = 0; r < p.m; r++)
    for (size_t c = 0; c < p.n; c++) {
      size_t panel = c / HL_MATVEC_PANEL, lane = c % HL_MATVEC_PANEL;
      double sum = p.has_bias ? (double)bias[c] : 0;
      for (size_t i = 0; i < p.k; i++)
        sum += (double)x[r * x_row + i] * (double)w[(panel * p.k + i) * HL_MATVEC_PANEL + lane];
      if (p.residual != NO_RESIDUAL) sum += (double)residual[r * p.n + c];
      expected[r * p.n + c] = function_of(&p, sum);
    }
  if (p.residual == IN_PLACE) memcpy(y, residual, p.m * p.n * sizeof *y);
  hl_gemm_args args = {.x = x,
                       .w = w,
                       .bias = p.has_bias ? bias : NULL,
                       .residual = p.residual == NO_RESIDUAL ? NULL
                                   : p.residual == IN_PLACE  ? y
                                                             : residual,
                       .y = y,
                       .m = p.m,
                       .k = p.k,
                       .n = p.n,
                       .x_row = x_row,
                       .function = p.function,
                       .slope = p.slope};
  hl_kernel_gemm(k, &args, threads);
  assert_close(k->isa, "gemm", y, expected, p.m * p.n, 1e-5);
  free(x);
  free(w);
  free(bias);
  free(residual);
  free(y);
  free(expected);
}

/* Rows around whole tiles and blocks of them, depths around whole chunks. */
static void shapes(void **state) {
  (void)state;
  static const size_t rows[] = {1, 2, 3, 4, 5, 6, 7, 11, 13, 25};
  static const size_t depths[] = {1, 3, 4, 5, 17, 64};
  FOR_EACH_BUILD(k, threads)
  for (size_t i = 0; i < COUNT(rows); i++)
    for (size_t d = 0; d < COUNT(depths); d++)
      for (size_t panels = 1; panels <= 3; panels++)
        check(k, threads,
              (problem){.m = rows[i],
                        .k = depths[d],
                        .n = panels * HL_MATVEC_PANEL,
                        .gap = d,
                        .has_bias = i % 2 == 0,
                        .residual = (int)(i + d) % 3,
                        .slope = i % 3 == 0 ? 1.0f : 0.25f});
}

static void large(void **state) {
  (void)state;
  static const size_t depths[] = {767, 769, 1537, 1601};
  FOR_EACH_BUILD(k, threads)
  for (size_t d = 0; d < COUNT(depths); d++)
    for (int residual = NO_RESIDUAL; residual <= IN_PLACE; residual++)
      check(k, threads,
            (problem){.m = 9,
                      .k = depths[d],
                      .n = 2 * HL_MATVEC_PANEL,
                      .has_bias = 1,
                      .residual = residual,
                      .slope = 0.0f});
  FOR_EACH_BUILD(k, threads)
  check(k, threads,
        (problem){.m = 541, .k = 20, .n = HL_MATVEC_PANEL, .residual = IN_PLACE, .slope = 1.0f});
}

static void functions(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads)
  for (hl_gemm_function f = HL_GEMM_LEAKY; f <= HL_GEMM_TANH; f++)
    check(k, threads,
          (problem){.m = 8,
                    .k = 33,
                    .n = HL_MATVEC_PANEL,
                    .has_bias = f != HL_GEMM_SWISH,
                    .residual = (int)f % 3,
                    .function = f});
}

/* A ReLU makes -inf 0, any other slope leaves it; NaN stays. */
static void infinities(void **state) {
  (void)state;
  enum { N = HL_MATVEC_PANEL };
  static const float slopes[] = {0, 0.25f, 1};
  float *x = filled(2, 1), *w = filled(2 * N, 2), *bias = filled(N, 3), *y = poisoned(N);
  bias[3] = -INFINITY;
  bias[4] = INFINITY;
  bias[5] = NAN;
  FOR_EACH_BUILD(k, threads)
  for (size_t i = 0; i < 2 * COUNT(slopes); i++) {
    float slope = slopes[i / 2];
    hl_gemm_args many = {
        .x = x, .w = w, .bias = bias, .y = y, .m = 1, .k = 2, .n = N, .x_row = 2, .slope = slope};
    hl_matvec_args one = {.x = x, .w = w, .bias = bias, .y = y, .k = 2, .n = N, .slope = slope};
    if (i % 2)
      hl_kernel_matvec(k, &one, threads);
    else
      hl_kernel_gemm(k, &many, threads);
    assert_true(y[3] == (slope == 0 ? 0 : -INFINITY));
    assert_true(y[4] == INFINITY);
    assert_true(isnan((double)y[5]));
  }
  free(x);
  free(w);
  free(bias);
  free(y);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(shapes), cmocka_unit_test(large),
                                     cmocka_unit_test(functions), cmocka_unit_test(infinities)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
