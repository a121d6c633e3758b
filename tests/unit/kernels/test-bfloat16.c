/* Kernels on bfloat16, against plain loops in double. */
#include "attention-bf16.h"
#include "kernel-test.h"

#define TOLERANCE 5e-3 /* of the largest: bfloat16 keeps 8 bits */

static float widened(uint16_t x) {
  uint32_t bits = (uint32_t)x << 16;
  float ret;
  memcpy(&ret, &bits, sizeof ret);
  return ret;
}

/* Exact size, so that a sanitizer sees a step beyond. */
static uint16_t *halves(size_t count, uint64_t seed) {
  float *from = filled(count, seed);
  uint16_t *ret = malloc((count ? count : 1) * sizeof *ret);
  assert_non_null(ret);
  for (size_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, &from[i], sizeof bits);
    ret[i] = (uint16_t)(bits >> 16);
  }
  free(from);
  return ret;
}

static void assert_halves(const char *isa, const char *what, const uint16_t *found,
                          const double *expected, size_t count) {
  float *wide = poisoned(count);
  for (size_t i = 0; i < count; i++) wide[i] = widened(found[i]);
  assert_close(isa, what, wide, expected, count, TOLERANCE);
  free(wide);
}

static void expect_instance(const hl_normalize_last_args *a, double *y) {
  for (size_t n = 0; n < a->n; n++)
    for (size_t c = 0; c < a->c; c++) {
      double sum = 0, squares = 0;
      const uint16_t *x = a->x + n * a->s * a->c + c;
      for (size_t s = 0; s < a->s; s++) sum += (double)widened(x[s * a->c]);
      double mean = sum / (double)a->s;
      for (size_t s = 0; s < a->s; s++) squares += pow((double)widened(x[s * a->c]) - mean, 2);
      double rstd = 1 / sqrt(squares / (double)a->s + (double)a->epsilon);
      for (size_t s = 0; s < a->s; s++) {
        size_t at = (n * a->s + s) * a->c + c;
        double v = ((double)widened(x[s * a->c]) - mean) * rstd * (double)a->gamma[c] +
                   (double)a->beta[c] + (a->residual ? (double)widened(a->residual[at]) : 0);
        y[at] = v > 0 ? v : v * (double)a->slope;
      }
    }
}

static void instance_norm(void **state) {
  (void)state;
  /* the last spreads over several chunks of rows */
  static const size_t shapes[][3] = {{1, 1, 1},   {2, 3, 17},   {1, 16, 100},
                                     {3, 17, 50}, {1, 70, 700}, {2, 200, 333}};
  FOR_EACH_BUILD(k, threads) for (size_t i = 0; i < 2 * COUNT(shapes); i++) {
    const size_t *shape = shapes[i / 2];
    size_t n = shape[0], c = shape[1], s = shape[2], count = n * c * s;
    uint16_t *x = halves(count, 1), *residual = halves(count, 2);
    float *gamma = filled(c, 3), *beta = filled(c, 4);
    hl_normalize_last_args a = {.x = x,
                                .y = x,
                                .residual = i % 2 ? residual : NULL,
                                .gamma = gamma,
                                .beta = beta,
                                .n = n,
                                .c = c,
                                .s = s,
                                .epsilon = 1e-5f,
                                .slope = 0.1f};
    double *y = calloc(count, sizeof *y);
    expect_instance(&a, y);
    a.scratch = malloc(hl_normalize_last_scratch_bytes(n, c, s, threads));
    hl_kernel_normalize_last_moments(k, &a, threads);
    hl_kernel_normalize_last(k, &a, threads);
    assert_halves(k->isa, "normalize_last", x, y, count);
    free(a.scratch);
    free(x), free(residual), free(gamma), free(beta), free(y);
  }
}

static void layer_norm(void **state) {
  (void)state;
  static const size_t widths[] = {1, 15, 16, 33, 64, 100, 768};
  FOR_EACH_BUILD(k, threads) for (size_t i = 0; i < COUNT(widths); i++) {
    size_t n = widths[i], rows = 5;
    uint16_t *x = halves(rows * n, 1);
    float *gamma = filled(n, 3), *beta = filled(n, 4);
    double *y = calloc(rows * n, sizeof *y);
    for (size_t r = 0; r < rows; r++) {
      double sum = 0, squares = 0;
      for (size_t j = 0; j < n; j++) sum += (double)widened(x[r * n + j]);
      for (size_t j = 0; j < n; j++)
        squares += pow((double)widened(x[r * n + j]) - sum / (double)n, 2);
      double rstd = 1 / sqrt(squares / (double)n + 1e-5);
      for (size_t j = 0; j < n; j++)
        y[r * n + j] = ((double)widened(x[r * n + j]) - sum / (double)n) * rstd * (double)gamma[j] +
                       (i % 2 ? (double)beta[j] : 0);
    }
    hl_layer_norm_bf16_args a = {.x = x,
                                 .y = x,
                                 .gamma = gamma,
                                 .beta = i % 2 ? beta : NULL,
                                 .rows = rows,
                                 .n = n,
                                 .epsilon = 1e-5f};
    hl_kernel_layer_norm_bf16(k, &a, threads);
    assert_halves(k->isa, "layer_norm_bf16", x, y, rows * n);
    free(x), free(gamma), free(beta), free(y);
  }
}

static void join(void **state) {
  (void)state;
  static const size_t bytes[] = {2, 66, 64, 30};
  FOR_EACH_BUILD(k, threads) {
    size_t rows = 7, stride = 2 + 66 + 64 + 30;
    unsigned char *x[4], *y = malloc(rows * stride);
    for (size_t i = 0; i < 4; i++) {
      x[i] = malloc(rows * bytes[i]);
      for (size_t j = 0; j < rows * bytes[i]; j++) x[i][j] = (unsigned char)(j * 7 + i);
    }
    const void *inputs[] = {x[0], x[1], x[2], x[3]};
    hl_join_args a = {.x = inputs, .x_bytes = bytes, .x_count = 4, .y = y, .rows = rows};
    hl_kernel_join(k, &a, threads);
    for (size_t r = 0; r < rows; r++)
      for (size_t i = 0, at = r * stride; i < 4; at += bytes[i++])
        assert_memory_equal(y + at, x[i] + r * bytes[i], bytes[i]);
    for (size_t i = 0; i < 4; i++) free(x[i]);
    free(y);
  }
}

/* -- attention ------------------------------------------------------------------------------ */

typedef struct attention_case {
  size_t batch, heads, queries, keys, d;
  int mask;
} attention_case;

/* q, k and v lie in one (batch, tokens, 3, heads, d), the result in (batch, tokens, heads, d). */
static void expect_attention(const hl_attention_bf16_args *a, double *y) {
  double *w = calloc(a->keys, sizeof *w);
  for (size_t b = 0; b < a->batch; b++)
    for (size_t h = 0; h < a->heads; h++)
      for (size_t i = 0; i < a->queries; i++) {
        const uint16_t *q = a->q.data + (ptrdiff_t)b * a->q.batch + (ptrdiff_t)h * a->q.head +
                            (ptrdiff_t)i * a->q.token;
        double total = 0;
        for (size_t j = 0; j < a->keys; j++) {
          const uint16_t *k = a->k.data + (ptrdiff_t)b * a->k.batch + (ptrdiff_t)h * a->k.head +
                              (ptrdiff_t)j * a->k.token;
          double score = 0;
          for (size_t l = 0; l < a->head_dim; l++)
            score += (double)widened(q[l]) * (double)widened(k[l]);
          score *= (double)a->scale;
          if (a->mask) score += (double)a->mask[(ptrdiff_t)i * a->mask_query + (ptrdiff_t)j];
          total += w[j] = exp(score);
        }
        double *to = y + (ptrdiff_t)b * a->out_batch + (ptrdiff_t)h * a->out_head +
                     (ptrdiff_t)i * a->out_token;
        for (size_t l = 0; l < a->head_dim; l++)
          for (size_t j = 0; j < a->keys; j++)
            to[l] +=
                w[j] / total *
                (double)widened(a->v.data[(ptrdiff_t)b * a->v.batch + (ptrdiff_t)h * a->v.head +
                                          (ptrdiff_t)j * a->v.token + (ptrdiff_t)l]);
      }
  free(w);
}

static void run_attention(const attention_case *t, unsigned threads) {
  size_t tokens = t->queries > t->keys ? t->queries : t->keys, row = 3 * t->heads * t->d;
  size_t out_row = t->heads * t->d, out_count = t->batch * t->queries * out_row;
  uint16_t *x = halves(t->batch * tokens * row, 5), *out = halves(out_count, 6);
  float *mask = filled(t->queries * t->keys, 7);
  mask[0] = -INFINITY;
  hl_attention_bf16_view view = {.data = x,
                                 .batch = (ptrdiff_t)(tokens * row),
                                 .head = (ptrdiff_t)t->d,
                                 .token = (ptrdiff_t)row,
                                 .dim = 1};
  hl_attention_bf16_args a = {.q = view,
                              .k = view,
                              .v = view,
                              .mask = t->mask && t->keys > 1 ? mask : NULL,
                              .mask_query = (ptrdiff_t)t->keys,
                              .out = out,
                              .out_batch = (ptrdiff_t)(t->queries * out_row),
                              .out_head = (ptrdiff_t)t->d,
                              .out_token = (ptrdiff_t)out_row,
                              .batch = t->batch,
                              .heads = t->heads,
                              .queries = t->queries,
                              .keys = t->keys,
                              .head_dim = t->d,
                              .scale = 0.5f};
  a.k.data = x + out_row;
  a.v.data = x + 2 * out_row;
  if (!hl_attention_bf16_suits(&a)) skip();
  size_t bytes = hl_attention_bf16_scratch_bytes(t->keys, t->d, threads);
  a.scratch = aligned_alloc(64, (bytes + 63) / 64 * 64);
  double *y = calloc(out_count, sizeof *y);
  expect_attention(&a, y);
  hl_attention_bf16(&a, threads);
  assert_halves("avx512bf16", "attention", out, y, out_count);
  free(a.scratch);
  free(x), free(out), free(mask), free(y);
}

static void attention(void **state) {
  (void)state;
  static const attention_case cases[] = {{1, 1, 1, 1, 2, 0},     {2, 3, 20, 20, 8, 1},
                                         {1, 2, 25, 197, 64, 0}, {1, 1, 7, 65, 80, 1},
                                         {1, 2, 24, 600, 16, 1}, {2, 1, 49, 255, 66, 0}};
  for (size_t i = 0; i < COUNT(cases); i++)
    for (unsigned threads = 1; threads <= 3; threads += 2) run_attention(&cases[i], threads);
}

static void attention_declines(void **state) {
  (void)state;
  hl_attention_bf16_args a = {.head_dim = 7, .keys = 3};
  a.q.dim = a.k.dim = a.v.dim = 1;
  assert_false(hl_attention_bf16_suits(&a)); /* half a pair */
  a.head_dim = 8;
  a.v.dim = 3;
  assert_false(hl_attention_bf16_suits(&a));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(instance_norm), cmocka_unit_test(layer_norm),
                                     cmocka_unit_test(join), cmocka_unit_test(attention),
                                     cmocka_unit_test(attention_declines)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
