/* Batch norm in training and the gradients of the norms against the formulas in double. */
#include "kernel-test.h"

typedef struct extents {
  size_t n, c, s, block;
} extents;

static const extents cases[] = {{1, 1, 1, 1},   {2, 3, 7, 1},    {3, 16, 5, 16},   {2, 20, 33, 16},
                                {2, 20, 33, 8}, {1, 5, 5000, 1}, {4, 33, 300, 16}, {3, 9, 17, 8}};

static size_t padded(const extents *e) {
  return (e->c + e->block - 1) / e->block * e->block;
}

static size_t size_of(const extents *e) {
  return e->n * padded(e) * e->s;
}

static size_t place(const extents *e, size_t n, size_t c, size_t i) {
  return ((n * (padded(e) / e->block) + c / e->block) * e->s + i) * e->block + c % e->block;
}

/* Random, with 0 in the channels that pad the last block. */
static float *tensor(const extents *e, uint64_t seed) {
  float *x = filled(size_of(e), seed);
  for (size_t n = 0; n < e->n; n++)
    for (size_t c = e->c; c < padded(e); c++)
      for (size_t i = 0; i < e->s; i++) x[place(e, n, c, i)] = 0;
  return x;
}

static size_t scratch_of(const extents *e) {
  return 2 * e->n * ((e->c + 15) / 16 * 16);
}

/* Mean and 1 / deviation of channel c over pictures [first, end). */
static void moments(const extents *e, const float *x, size_t first, size_t end, size_t c,
                    double *mean, double *variance) {
  double count = (double)((end - first) * e->s);
  *mean = *variance = 0;
  for (size_t n = first; n < end; n++)
    for (size_t i = 0; i < e->s; i++) *mean += (double)x[place(e, n, c, i)] / count;
  for (size_t n = first; n < end; n++)
    for (size_t i = 0; i < e->s; i++) {
      double d = (double)x[place(e, n, c, i)] - *mean;
      *variance += d * d / count;
    }
}

static void run_forward(const hl_kernels *k, unsigned threads, const extents *e, float slope) {
  size_t size = size_of(e);
  float *x = tensor(e, 1), *residual = tensor(e, 2), *y = poisoned(size);
  float *gamma = filled(e->c, 3), *beta = filled(e->c, 4);
  float *running[2] = {filled(e->c, 5), filled(e->c, 6)};
  float *stats[2] = {poisoned(e->c), poisoned(e->c)};
  double *expected = calloc(size, sizeof *expected), *after[4];
  double *scratch = malloc(scratch_of(e) * sizeof *scratch);
  for (size_t i = 0; i < 4; i++) after[i] = calloc(e->c, sizeof **after);
  for (size_t i = 0; i < size; i++) x[i] = x[i] == 0 ? 0 : x[i] + 3;
  for (size_t c = 0; c < e->c; c++) {
    double mean, variance;
    moments(e, x, 0, e->n, c, &mean, &variance);
    after[0][c] = mean;
    after[1][c] = 1 / sqrt(variance + 1e-3);
    after[2][c] = 0.9 * (double)running[0][c] + 0.1 * mean;
    after[3][c] = 0.9 * (double)running[1][c] + 0.1 * variance;
    for (size_t n = 0; n < e->n; n++)
      for (size_t i = 0; i < e->s; i++) {
        size_t at = place(e, n, c, i);
        double v = ((double)x[at] - mean) * after[1][c] * (double)gamma[c] + (double)beta[c] +
                   (double)residual[at];
        expected[at] = v > 0 ? v : v * (double)slope;
      }
  }
  hl_batch_norm_args a = {.x = x,
                          .residual = residual,
                          .gamma = gamma,
                          .beta = beta,
                          .y = y,
                          .ret_mean = stats[0],
                          .ret_rstd = stats[1],
                          .running_mean = running[0],
                          .running_variance = running[1],
                          .ret_running_mean = running[0],
                          .ret_running_variance = running[1],
                          .n = e->n,
                          .c = e->c,
                          .s = e->s,
                          .block = e->block,
                          .epsilon = 1e-3f,
                          .momentum = 0.9f,
                          .slope = slope,
                          .scratch = scratch};
  a.blocks = 1; /* one block of channels after the other */
  for (; a.first * e->block < e->c; a.first++) {
    hl_kernel_batch_norm_moments(k, &a, threads);
    hl_kernel_batch_norm(k, &a, threads);
  }
  assert_close(k->isa, "batch norm", y, expected, size, 2e-6);
  for (size_t i = 0; i < 4; i++)
    assert_close(k->isa, "statistics", i < 2 ? stats[i] : running[i - 2], after[i], e->c, 1e-6);
  free(x), free(residual), free(y), free(gamma), free(beta), free(expected), free(scratch);
  for (size_t i = 0; i < 2; i++) free(running[i]), free(stats[i]);
  for (size_t i = 0; i < 4; i++) free(after[i]);
}

static void test_batch_norm(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (size_t i = 0; i < COUNT(cases); i++) {
      run_forward(k, threads, &cases[i], 1);
      run_forward(k, threads, &cases[i], 0);
    }
  }
}

/* Adds up what one set of n, [first, end), gives to the expected gradients. */
static void expect(const extents *e, const hl_norm_gradient_args *a, size_t first, size_t end,
                   size_t c, double *dx, double *dgamma, double *dbeta) {
  double mean, variance, count = (double)((end - first) * e->s), sums[2] = {0};
  moments(e, a->x, first, end, c, &mean, &variance);
  double rstd = 1 / sqrt(variance + 1e-3);
  for (int pass = 0; pass < 2; pass++)
    for (size_t n = first; n < end; n++)
      for (size_t i = 0; i < e->s; i++) {
        size_t at = place(e, n, c, i);
        double h = ((double)a->x[at] - mean) * rstd, d = (double)a->dy[at];
        if (a->beta && !(h * (double)a->gamma[c] + (double)a->beta[c] > 0)) d *= (double)a->slope;
        if (pass == 0) {
          sums[0] += d;
          sums[1] += d * h;
        } else {
          dx[at] = rstd * (double)a->gamma[c] * (d - sums[0] / count - h * sums[1] / count);
        }
      }
  *dbeta += sums[0];
  *dgamma += sums[1];
}

static void run_gradient(const hl_kernels *k, unsigned threads, const extents *e, int batch,
                         int masked) {
  size_t size = size_of(e), sets = batch ? 1 : e->n;
  float *x = tensor(e, 1), *dy = tensor(e, 2), *beta = filled(e->c, 3), *gamma = filled(e->c, 4);
  float *mean = filled(sets * e->c, 5), *rstd = filled(sets * e->c, 6), *dx = poisoned(size);
  float *dgamma = poisoned(e->c), *dbeta = poisoned(e->c), *scratch = poisoned(scratch_of(e));
  double *expected[3] = {calloc(size, sizeof(double)), calloc(e->c, sizeof(double)),
                         calloc(e->c, sizeof(double))};
  hl_norm_gradient_args a = {.x = x,
                             .dy = dy,
                             .beta = masked ? beta : NULL,
                             .gamma = gamma,
                             .mean = mean,
                             .rstd = rstd,
                             .dx = dx,
                             .dgamma = dgamma,
                             .dbeta = dbeta,
                             .n = e->n,
                             .c = e->c,
                             .s = e->s,
                             .block = e->block,
                             .batch = batch,
                             .slope = 0.2f,
                             .scratch = scratch};
  for (size_t c = 0; c < e->c; c++)
    for (size_t set = 0; set < sets; set++) {
      size_t first = set, end = batch ? e->n : set + 1;
      double m, v;
      moments(e, x, first, end, c, &m, &v);
      mean[set * e->c + c] = (float)m;
      rstd[set * e->c + c] = (float)(1 / sqrt(v + 1e-3));
      expect(e, &a, first, end, c, expected[0], &expected[1][c], &expected[2][c]);
    }
  hl_kernel_norm_gradient_sums(k, &a, threads);
  hl_kernel_norm_gradient(k, &a, threads);
  assert_close(k->isa, "dx", dx, expected[0], size, 5e-6);
  assert_close(k->isa, "dgamma", dgamma, expected[1], e->c, 5e-6);
  assert_close(k->isa, "dbeta", dbeta, expected[2], e->c, 5e-6);
  a.dx = dy; /* in place */
  hl_kernel_norm_gradient(k, &a, threads);
  assert_memory_equal(dx, dy, size * sizeof *dx);
  free(x), free(dy), free(beta), free(gamma), free(mean), free(rstd), free(dx), free(dgamma);
  free(dbeta), free(scratch);
  for (size_t i = 0; i < 3; i++) free(expected[i]);
}

static void test_norm_gradient(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (size_t i = 0; i < COUNT(cases); i++)
      for (int variant = 0; variant < 4; variant++)
        run_gradient(k, threads, &cases[i], variant & 1, variant >> 1);
  }
}

static void run_layer(const hl_kernels *k, unsigned threads, size_t rows, size_t n) {
  float *x = filled(rows * n, 1), *dy = filled(rows * n, 2), *gamma = filled(n, 3);
  float *dx = poisoned(rows * n), *dgamma = poisoned(n), *dbeta = poisoned(n);
  float *scratch = poisoned(2 * HL_SUM_PARTS * n);
  double *expected[3] = {calloc(rows * n, sizeof(double)), calloc(n, sizeof(double)),
                         calloc(n, sizeof(double))};
  for (size_t r = 0; r < rows; r++) {
    double mean = 0, variance = 0, sum = 0, product = 0;
    for (size_t i = 0; i < n; i++) mean += (double)x[r * n + i] / (double)n;
    for (size_t i = 0; i < n; i++) variance += pow((double)x[r * n + i] - mean, 2) / (double)n;
    double rstd = 1 / sqrt(variance + 1e-3);
    for (size_t i = 0; i < n; i++) {
      double h = ((double)x[r * n + i] - mean) * rstd, d = (double)dy[r * n + i];
      sum += d * (double)gamma[i] / (double)n;
      product += d * (double)gamma[i] * h / (double)n;
      expected[1][i] += d * h;
      expected[2][i] += d;
    }
    for (size_t i = 0; i < n; i++) {
      double h = ((double)x[r * n + i] - mean) * rstd;
      expected[0][r * n + i] =
          rstd * ((double)dy[r * n + i] * (double)gamma[i] - sum - h * product);
    }
  }
  hl_layer_norm_gradient_args a = {.x = x,
                                   .dy = dy,
                                   .gamma = gamma,
                                   .dx = dx,
                                   .dgamma = dgamma,
                                   .dbeta = dbeta,
                                   .rows = rows,
                                   .n = n,
                                   .epsilon = 1e-3f,
                                   .scratch = scratch};
  hl_kernel_layer_norm_gradient(k, &a, threads);
  hl_kernel_layer_norm_gradient_sums(k, &a, threads);
  assert_close(k->isa, "dx", dx, expected[0], rows * n, 5e-6);
  assert_close(k->isa, "dgamma", dgamma, expected[1], n, 5e-6);
  assert_close(k->isa, "dbeta", dbeta, expected[2], n, 5e-6);
  a.dx = dy;
  hl_kernel_layer_norm_gradient(k, &a, threads);
  assert_memory_equal(dx, dy, rows * n * sizeof *dx);
  free(x), free(dy), free(gamma), free(dx), free(dgamma), free(dbeta), free(scratch);
  for (size_t i = 0; i < 3; i++) free(expected[i]);
}

static void test_layer_norm_gradient(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    /* of one element all is rounding */
    for (size_t i = 1; i < COUNT(odd_sizes); i++) run_layer(k, threads, 37, odd_sizes[i]);
    run_layer(k, threads, 3, 700);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_batch_norm),
                                     cmocka_unit_test(test_norm_gradient),
                                     cmocka_unit_test(test_layer_norm_gradient)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
