#include "kernel-test.h"

static void run_softmax(const hl_kernels *k, unsigned threads, size_t rows, size_t n, int masked,
                        int log) {
  float *x = filled(rows * n, 1), *mask = filled(2 * n, 2), *y = poisoned(rows * n);
  double *expected = calloc(rows * n, sizeof *expected);
  for (size_t i = 0; i < rows * n; i++) x[i] *= 20;
  if (n > 1) mask[n - 1] = -INFINITY;
  for (size_t r = 0; r < rows; r++) {
    double top = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++) {
      double z = (double)x[r * n + i] * 0.125 + (masked ? (double)mask[r / 3 % 2 * n + i] : 0);
      expected[r * n + i] = z;
      top = fmax(top, z);
    }
    for (size_t i = 0; i < n; i++) sum += exp(expected[r * n + i] - top);
    for (size_t i = 0; i < n; i++) {
      double z = expected[r * n + i] - top;
      expected[r * n + i] = log ? z - log1p(sum - 1) : exp(z) / sum;
    }
  }
  hl_softmax_args a = {.x = x,
                       .y = y,
                       .mask = masked ? mask : NULL,
                       .rows = rows,
                       .n = n,
                       .mask_rows = 2,
                       .mask_repeat = 3,
                       .scale = 0.125f,
                       .log = log};
  hl_kernel_softmax(k, &a, threads);
  assert_close(k->isa, "softmax", y, expected, rows * n, 1e-6);
  a.y = x;
  hl_kernel_softmax(k, &a, threads);
  assert_memory_equal(x, y, rows * n * sizeof *x);
  free(x), free(mask), free(y), free(expected);
}

static void test_softmax(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (size_t i = 0; i < COUNT(odd_sizes); i++) {
      run_softmax(k, threads, 17, odd_sizes[i], 0, 0);
      run_softmax(k, threads, 17, odd_sizes[i], 1, 0);
      run_softmax(k, threads, 3, odd_sizes[i], 0, 1);
    }
    run_softmax(k, threads, 5, 1000, 1, 0);
  }
}

static void test_softmax_extremes(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    float x[4] = {3e38f, -3e38f, -INFINITY, 3e38f}, y[4];
    hl_softmax_args a = {.x = x, .y = y, .rows = 1, .n = 4, .scale = 1};
    hl_kernel_softmax(k, &a, threads);
    for (size_t i = 0; i < 4; i++) assert_true(y[i] == (i % 3 == 0 ? 0.5f : 0.0f));
    float nan[2] = {NAN, 1};
    a = (hl_softmax_args){.x = nan, .y = y, .rows = 1, .n = 2, .scale = 1};
    hl_kernel_softmax(k, &a, threads);
    assert_true(isnan(y[0]) && isnan(y[1]));
  }
}

typedef struct attention_case {
  size_t batch, heads, queries, keys, d;
  int packed, masked; /* packed: q, k, v interleaved as one projection gives them */
} attention_case;

static const attention_case attention_cases[] = {
    {1, 1, 1, 1, 1, 0, 0},    {1, 2, 3, 5, 3, 0, 0},     {2, 3, 17, 17, 16, 1, 0},
    {1, 2, 33, 15, 33, 0, 1}, {1, 2, 25, 64, 64, 0, 0},  {2, 2, 49, 49, 20, 1, 1},
    {1, 1, 7, 257, 17, 0, 1}, {1, 2, 31, 600, 70, 0, 1}, {1, 2, 65, 65, 64, 1, 0},
    {1, 1, 2, 48, 130, 0, 0},
};

/* Element (b, h, t, i) of a view. */
static double at(const hl_attention_view *v, size_t b, size_t h, size_t t, size_t i) {
  return (double)v->data[(ptrdiff_t)b * v->batch + (ptrdiff_t)h * v->head +
                         (ptrdiff_t)t * v->token + (ptrdiff_t)i * v->dim];
}

static void expected_attention(const hl_attention_args *a, double *out) {
  double *p = calloc(a->keys, sizeof *p);
  for (size_t b = 0; b < a->batch; b++)
    for (size_t h = 0; h < a->heads; h++)
      for (size_t q = 0; q < a->queries; q++) {
        double top = -INFINITY, sum = 0;
        for (size_t k = 0; k < a->keys; k++) {
          p[k] = 0;
          for (size_t i = 0; i < a->head_dim; i++)
            p[k] += at(&a->q, b, h, q, i) * at(&a->k, b, h, k, i);
          p[k] *= (double)a->scale;
          if (a->mask)
            p[k] += (double)a->mask[(ptrdiff_t)b * a->mask_batch + (ptrdiff_t)h * a->mask_head +
                                    (ptrdiff_t)q * a->mask_query + (ptrdiff_t)k];
          top = fmax(top, p[k]);
        }
        for (size_t k = 0; k < a->keys; k++) sum += p[k] = exp(p[k] - top);
        for (size_t i = 0; i < a->head_dim; i++) {
          double v = 0;
          for (size_t k = 0; k < a->keys; k++) v += p[k] / sum * at(&a->v, b, h, k, i);
          out[((b * a->queries + q) * a->heads + h) * a->head_dim + i] = v;
        }
      }
  free(p);
}

static hl_attention_view view(const attention_case *t, const float *data, size_t part,
                              size_t tokens, int dim_outside) {
  ptrdiff_t d = (ptrdiff_t)t->d, heads = (ptrdiff_t)t->heads, n = (ptrdiff_t)tokens;
  if (t->packed)
    return (hl_attention_view){data + (ptrdiff_t)part * heads * d, n * 3 * heads * d, d,
                               3 * heads * d, 1};
  if (dim_outside) return (hl_attention_view){data, heads * n * d, n * d, 1, n};
  return (hl_attention_view){data, heads * n * d, n * d, d, 1};
}

static void run_attention(const hl_kernels *k, unsigned threads, const attention_case *t) {
  size_t heads = t->batch * t->heads, out_count = heads * t->queries * t->d;
  size_t packed = 3 * heads * t->queries * t->d;
  float *q = filled(t->packed ? packed : out_count, 1);
  float *keys = filled(heads * t->keys * t->d, 2), *values = filled(heads * t->keys * t->d, 3);
  float *mask = filled(t->queries * t->keys, 4), *out = poisoned(out_count);
  for (size_t i = 0; i < t->queries * t->keys; i++)
    if (i % 3 == 0 || (i % t->keys < 256 && i % t->keys + 1 < t->keys)) mask[i] = -INFINITY;
  double *expected = calloc(out_count, sizeof *expected);
  size_t bytes = hl_attention_scratch_bytes(t->keys, t->d, threads);
  void *scratch = aligned_alloc(64, bytes);
  hl_attention_args a = {.batch = t->batch,
                         .heads = t->heads,
                         .queries = t->queries,
                         .keys = t->keys,
                         .head_dim = t->d,
                         .scale = 0.7f,
                         .out = out,
                         .scratch = scratch};
  a.q = view(t, q, 0, t->queries, 0);
  a.k = view(t, t->packed ? q : keys, 1, t->keys, 1);
  a.v = view(t, t->packed ? q : values, 2, t->keys, t->d % 2);
  a.out_batch = (ptrdiff_t)(t->queries * t->heads * t->d);
  a.out_token = (ptrdiff_t)(t->heads * t->d);
  a.out_head = (ptrdiff_t)t->d;
  if (t->masked) {
    for (size_t row = 0; row < t->queries; row++) mask[row * t->keys + t->keys - 1] = 0.5f;
    a.mask = mask;
    a.mask_query = (ptrdiff_t)t->keys;
  }
  expected_attention(&a, expected);
  hl_kernel_attention(k, &a, threads);
  assert_close(k->isa, "attention", out, expected, out_count, 2e-6);
  free(q), free(keys), free(values), free(mask), free(out), free(expected), free(scratch);
}

static void test_attention(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (size_t i = 0; i < COUNT(attention_cases); i++)
      run_attention(k, threads, &attention_cases[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_softmax),
                                     cmocka_unit_test(test_softmax_extremes),
                                     cmocka_unit_test(test_attention)};
  return cmocka_run_group_tests_name("kernels/softmax", tests, NULL, NULL);
}
