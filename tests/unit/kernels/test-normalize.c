#include "kernel-test.h"

/* Index of (n, c, s) in a layout. */
static size_t index_of(const hl_normalize_args *a, size_t n, size_t c, size_t s) {
  size_t blocks = (a->c + a->block - 1) / a->block;
  return ((n * blocks + c / a->block) * a->s + s) * a->block + c % a->block;
}

static size_t total(const hl_normalize_args *a) {
  return a->n * ((a->c + a->block - 1) / a->block) * a->block * a->s;
}

static void expected_normalize(const hl_normalize_args *a, double *y, double *means,
                               double *rstds) {
  size_t each = a->c / a->groups;
  for (size_t i = 0; i < total(a); i++) y[i] = 0;
  for (size_t n = 0; n < a->n; n++)
    for (size_t g = 0; g < a->groups; g++) {
      double sum = 0, squares = 0, count = (double)(each * a->s);
      for (size_t c = g * each; c < (g + 1) * each; c++)
        for (size_t s = 0; s < a->s; s++) sum += (double)a->x[index_of(a, n, c, s)];
      double mean = sum / count;
      for (size_t c = g * each; c < (g + 1) * each; c++)
        for (size_t s = 0; s < a->s; s++)
          squares += pow((double)a->x[index_of(a, n, c, s)] - mean, 2);
      double rstd = 1 / sqrt(squares / count + (double)a->epsilon);
      means[n * a->groups + g] = mean;
      rstds[n * a->groups + g] = rstd;
      for (size_t c = g * each; c < (g + 1) * each; c++)
        for (size_t s = 0; s < a->s; s++) {
          size_t i = index_of(a, n, c, s);
          double v = ((double)a->x[i] - mean) * rstd * (a->gamma ? (double)a->gamma[c] : 1) +
                     (a->beta ? (double)a->beta[c] : 0) +
                     (a->residual ? (double)a->residual[i] : 0);
          y[i] = v > 0 ? v : v * (double)a->slope;
        }
    }
}

typedef struct norm_case {
  size_t n, c, s, block, groups;
  int affine, residual;
  float slope, offset; /* offset: added to x, so that the mean is far from 0 */
} norm_case;

static const norm_case norm_cases[] = {
    {1, 1, 1, 1, 1, 1, 0, 1, 0},         {2, 3, 17, 1, 3, 1, 0, 0.01f, 0},
    {2, 6, 33, 1, 2, 1, 1, 0, 0},        {1, 4, 5000, 1, 4, 0, 0, 1, 100},
    {2, 16, 15, 16, 16, 1, 0, 0.01f, 0}, {1, 17, 33, 16, 17, 1, 1, 0.01f, 0},
    {2, 3, 300, 16, 3, 1, 0, 1, 100},    {1, 20, 9, 8, 20, 1, 1, 0, 0},
    {2, 24, 7, 16, 3, 1, 0, 1, 0},       {1, 36, 11, 16, 4, 1, 1, 0.2f, 0},
    {1, 12, 600, 8, 2, 0, 0, 1, 50},     {2, 33, 3, 16, 1, 1, 0, 1, 0},
};

static void run_norm_case(const hl_kernels *k, unsigned threads, const norm_case *t, int in_place) {
  hl_normalize_args a = {.n = t->n,
                         .c = t->c,
                         .s = t->s,
                         .block = t->block,
                         .groups = t->groups,
                         .epsilon = 1e-5f,
                         .slope = t->slope};
  size_t count = total(&a), groups = a.n * a.groups;
  float *x = filled(count, 1), *residual = filled(count, 2);
  for (size_t i = 0; i < count; i++) x[i] += t->offset;
  for (size_t n = 0; n < a.n; n++) /* the padding is 0, as every kernel keeps it */
    for (size_t c = a.c; c < (a.c + a.block - 1) / a.block * a.block; c++)
      for (size_t s = 0; s < a.s; s++)
        x[index_of(&a, n, c, s)] = residual[index_of(&a, n, c, s)] = 0;
  float *gamma = filled(a.c, 3), *beta = filled(a.c, 4);
  float *mean = poisoned(groups), *rstd = poisoned(groups);
  double *y = calloc(count, sizeof *y), *means = calloc(groups, sizeof *y),
         *rstds = calloc(groups, sizeof *y);
  a.x = x;
  a.gamma = t->affine ? gamma : NULL;
  a.beta = t->affine ? beta : NULL;
  a.residual = t->residual ? residual : NULL;
  a.ret_mean = mean;
  a.ret_rstd = rstd;
  expected_normalize(&a, y, means, rstds);
  a.y = in_place ? x : poisoned(count);
  hl_kernel_normalize(k, &a, threads);
  double tolerance = 2e-6 * (1 + (double)t->offset / 10);
  assert_close(k->isa, "normalize", a.y, y, count, tolerance);
  assert_close(k->isa, "mean", mean, means, groups, 1e-6);
  assert_close(k->isa, "rstd", rstd, rstds, groups, 2e-6);
  if (!in_place) free(a.y);
  free(x), free(residual), free(gamma), free(beta), free(mean), free(rstd);
  free(y), free(means), free(rstds);
}

static void test_normalize(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (size_t i = 0; i < COUNT(norm_cases); i++) {
      run_norm_case(k, threads, &norm_cases[i], 0);
      run_norm_case(k, threads, &norm_cases[i], 1);
    }
  }
}

static void run_layer_norm(const hl_kernels *k, unsigned threads, size_t rows, size_t n,
                           int residual, int in_place) {
  size_t count = rows * n;
  float *x = filled(count, 5), *r = filled(count, 6), *gamma = filled(n, 7), *beta = filled(n, 8);
  double *y = calloc(count, sizeof *y), *z = calloc(count, sizeof *z);
  for (size_t row = 0; row < rows; row++) {
    double mean = 0, m2 = 0;
    for (size_t i = row * n; i < (row + 1) * n; i++) {
      z[i] = residual ? (double)(x[i] + r[i]) : (double)x[i];
      mean += z[i] / (double)n;
    }
    for (size_t i = row * n; i < (row + 1) * n; i++) m2 += pow(z[i] - mean, 2);
    for (size_t i = 0; i < n; i++)
      y[row * n + i] = (z[row * n + i] - mean) / sqrt(m2 / (double)n + 1e-5) * (double)gamma[i] +
                       (double)beta[i];
  }
  float *sum = poisoned(count);
  hl_layer_norm_args a = {.x = x,
                          .residual = residual ? r : NULL,
                          .gamma = gamma,
                          .beta = beta,
                          .sum = in_place ? NULL : sum,
                          .y = in_place ? x : poisoned(count),
                          .rows = rows,
                          .n = n,
                          .epsilon = 1e-5f};
  hl_kernel_layer_norm(k, &a, threads);
  assert_close(k->isa, "layer norm", a.y, y, count, 3e-6);
  if (!in_place) {
    assert_close(k->isa, "its sum", sum, z, count, 1e-7);
    free(a.y);
  }
  free(sum), free(x), free(r), free(gamma), free(beta), free(y), free(z);
}

static void test_layer_norm(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (size_t i = 0; i < COUNT(odd_sizes); i++)
      for (int flags = 0; flags < 4; flags++)
        run_layer_norm(k, threads, odd_sizes[COUNT(odd_sizes) - 1 - i], odd_sizes[i], flags & 1,
                       flags >> 1);
    run_layer_norm(k, threads, 5, 768, 1, 0);
    run_layer_norm(k, threads, 2, 5001, 1, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_normalize),
                                     cmocka_unit_test(test_layer_norm)};
  return cmocka_run_group_tests_name("kernels/normalize", tests, NULL, NULL);
}
