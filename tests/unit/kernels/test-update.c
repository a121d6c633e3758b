/* Updates of weights against the formulas in double. */
#include "kernel-test.h"

enum { N = 1003 };

static void test_adam(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    float *w = filled(N, 1), *m = filled(N, 2), *v = filled(N, 3), *g = filled(N, 4);
    double expected[3][N];
    for (size_t i = 0; i < N; i++) {
      v[i] = fabsf(v[i]);
      double own = (double)w[i], slope = (double)g[i] + 0.02 * own;
      double mean = 0.9 * (double)m[i] + 0.1 * slope;
      double square = 0.999 * (double)v[i] + 0.001 * slope * slope;
      expected[1][i] = mean;
      expected[2][i] = square;
      expected[0][i] = 0.99 * own - 0.01 * mean / (sqrt(square) * 1.5 + 1e-8);
    }
    hl_adam_args a = {.weight = w,
                      .mean = m,
                      .square = v,
                      .gradient = g,
                      .n = N,
                      .beta1 = 0.9f,
                      .beta2 = 0.999f,
                      .rest1 = 0.1f,
                      .rest2 = 0.001f,
                      .epsilon = 1e-8f,
                      .decay = 0.02f,
                      .keep = 0.99f,
                      .step = 0.01f,
                      .root = 1.5f};
    hl_kernel_adam(k, &a, threads);
    assert_close(k->isa, "weight", w, expected[0], N, 1e-6);
    assert_close(k->isa, "mean", m, expected[1], N, 1e-6);
    assert_close(k->isa, "square", v, expected[2], N, 1e-6);
    free(w), free(m), free(v), free(g);
  }
}

static void test_sgd(void **state) {
  (void)state;
  for (int nesterov = 0; nesterov < 2; nesterov++) FOR_EACH_BUILD(k, threads) {
      float *w = filled(N, 1), *v = filled(N, 2), *g = filled(N, 3);
      double expected[2][N];
      for (size_t i = 0; i < N; i++) {
        double slope = (double)g[i] + 0.03 * (double)w[i];
        expected[1][i] = 0.9 * (double)v[i] + slope;
        expected[0][i] =
            (double)w[i] - 0.1 * (nesterov ? slope + 0.9 * expected[1][i] : expected[1][i]);
      }
      hl_sgd_args a = {.weight = w,
                       .velocity = v,
                       .gradient = g,
                       .n = N,
                       .rate = 0.1f,
                       .momentum = 0.9f,
                       .decay = 0.03f,
                       .nesterov = nesterov};
      hl_kernel_sgd(k, &a, threads);
      assert_close(k->isa, "weight", w, expected[0], N, 1e-6);
      assert_close(k->isa, "velocity", v, expected[1], N, 1e-6);
      free(w), free(v), free(g);
    }
}

static void test_accumulate(void **state) {
  (void)state;
  for (int first = 0; first < 2; first++) FOR_EACH_BUILD(k, threads) {
      float *sum = filled(N, 1), *g = filled(N, 2);
      double expected[N];
      for (size_t i = 0; i < N; i++)
        expected[i] = (first ? 0 : (double)sum[i]) + 0.25 * (double)g[i];
      if (first) sum[0] = NAN; /* what was there does not count */
      hl_accumulate_args a = {.sum = sum, .gradient = g, .n = N, .share = 0.25f, .first = first};
      hl_kernel_accumulate(k, &a, threads);
      assert_close(k->isa, "sum", sum, expected, N, 1e-6);
      free(sum), free(g);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_adam), cmocka_unit_test(test_sgd),
                                     cmocka_unit_test(test_accumulate)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
