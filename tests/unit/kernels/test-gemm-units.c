/* Products of bfloat16 and of 8 bits with weights in panels, against plain loops in double. */
#include "gemm-bf16.h"
#include "gemm-int8.h"
#include "kernel-test.h"

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

static uint8_t *bytes(size_t count, uint64_t seed) {
  float *from = filled(count, seed);
  uint8_t *ret = malloc(count ? count : 1);
  assert_non_null(ret);
  for (size_t i = 0; i < count; i++) ret[i] = (uint8_t)(int)lrintf((from[i] + 1) * 127);
  free(from);
  return ret;
}

/* Where weight (i, column) lies in panels of groups of `together` rows. */
static size_t weight_at(size_t k, size_t together, size_t i, size_t c) {
  size_t panel = c / HL_MATVEC_PANEL * HL_MATVEC_PANEL * k;
  return panel + (i / together * HL_MATVEC_PANEL + c % HL_MATVEC_PANEL) * together + i % together;
}

static double function_of(hl_gemm_function function, double v) {
  if (function == HL_GEMM_GELU) return 0.5 * v * (1 + erf(v / sqrt(2)));
  return v > 0 ? v : v * 0.25;
}

typedef struct problem {
  size_t m, k, panels;
} problem;

/* Rows around whole tiles and blocks of them, depths around whole steps. */
static const problem problems[] = {{1, 4, 1},  {2, 8, 2},  {3, 12, 1},  {4, 20, 3}, {5, 36, 2},
                                   {6, 16, 1}, {7, 24, 1}, {13, 68, 3}, {25, 4, 1}, {271, 20, 2}};

static void check_bf16(problem p, unsigned threads, int residual, int gives_float,
                       hl_gemm_function function) {
  size_t n = p.panels * HL_MATVEC_PANEL, count = p.m * n;
  uint16_t *x = halves(p.m * p.k, 1), *w = halves(p.k * n, 2), *added = halves(count, 3);
  uint16_t *y = halves(count, 3);
  float *bias = filled(n, 4), *found = poisoned(count);
  double *expected = calloc(count, sizeof *expected);
  for (size_t r = 0; r < p.m; r++)
    for (size_t c = 0; c < n; c++) {
      double sum = (double)bias[c] + (residual ? (double)widened(added[r * n + c]) : 0);
      for (size_t i = 0; i < p.k; i++)
        sum += (double)widened(x[r * p.k + i]) * (double)widened(w[weight_at(p.k, 2, i, c)]);
      expected[r * n + c] = function_of(function, sum);
    }
  hl_gemm_bf16_args a = {.x = x,
                         .w = w,
                         .bias = bias,
                         .residual = !residual     ? NULL
                                     : gives_float ? added
                                                   : y,
                         .y = gives_float ? NULL : y,
                         .y_float = gives_float ? found : NULL,
                         .of.m = p.m,
                         .of.k = p.k,
                         .of.n = n,
                         .of.function = function,
                         .of.slope = 0.25f};
  hl_gemm_bf16(&a, threads);
  for (size_t i = 0; !gives_float && i < count; i++) found[i] = widened(y[i]);
  assert_close("avx512bf16", "gemm", found, expected, count, gives_float ? 1e-5 : 4e-3);
  free(x);
  free(w);
  free(added);
  free(y);
  free(bias);
  free(found);
  free(expected);
}

enum { ROUNDED, TO_FLOAT, FUNCTION_ROUNDED };

static void check_int8(problem p, unsigned threads, int residual, int way,
                       hl_gemm_function function) {
  enum { LOW = 40 };
  size_t n = p.panels * HL_MATVEC_PANEL, count = p.m * n;
  uint8_t *x = bytes(p.m * p.k, 1), *w = bytes(p.k * n, 2), *added = bytes(count, 3);
  uint8_t *y = bytes(count, 3);
  float *scale = filled(n, 4), *bias = filled(n, 5), *found = poisoned(count);
  for (size_t c = 0; c < n; c++) scale[c] = 1e-3f * (2 + scale[c]);
  hl_gemm_int8_args a = {.x = x,
                         .w = (int8_t *)w,
                         .scale = scale,
                         .bias = bias,
                         .residual = !residual        ? NULL
                                     : way == ROUNDED ? y
                                                      : added,
                         .residual_scale = 0.5f,
                         .least = -20,
                         .most = 30,
                         .y = way == TO_FLOAT ? NULL : y,
                         .y_float = way == TO_FLOAT ? found : NULL,
                         .low = LOW,
                         .y_inverse = way == FUNCTION_ROUNDED ? 0.75f : 0,
                         .y_zero = 3,
                         .of.m = p.m,
                         .of.k = p.k,
                         .of.n = n,
                         .of.function = function,
                         .of.slope = 0.25f};
  hl_gemm_int8(&a, threads);
  for (size_t r = 0; r < p.m; r++)
    for (size_t c = 0; c < n; c++) {
      size_t at = r * n + c;
      double sum = 0, got = way == TO_FLOAT ? (double)found[at] : y[at];
      for (size_t i = 0; i < p.k; i++)
        sum += x[r * p.k + i] * (double)(int8_t)w[weight_at(p.k, 4, i, c)];
      sum = sum * (double)scale[c] + (double)bias[c];
      if (residual) sum = fmin(fmax(sum, -20), 30) + 0.5 * added[at];
      if (way != ROUNDED) sum = function_of(function, sum);
      if (way == FUNCTION_ROUNDED) sum = sum * 0.75 + 3;
      if (way != TO_FLOAT) sum = fmin(fmax(sum, way == ROUNDED ? LOW : 0), 255);
      double tolerance = way == TO_FLOAT ? 1e-3 : 0.501; /* rounding, to whole numbers */
      if (!(fabs(got - sum) <= tolerance))
        fail_msg("m %zu k %zu way %d: element %zu is %g, expected %g", p.m, p.k, way, at, got, sum);
    }
  free(x);
  free(w);
  free(added);
  free(y);
  free(scale);
  free(bias);
  free(found);
}

static void bfloat16(void **state) {
  (void)state;
  if (!hl_gemm_bf16_suits(2, HL_MATVEC_PANEL)) skip();
  for (unsigned threads = 1; threads <= 3; threads += 2)
    for (size_t i = 0; i < COUNT(problems); i++)
      for (int way = 0; way < 8; way++)
        check_bf16(problems[i], threads, way & 1, way & 2, way & 4 ? HL_GEMM_GELU : HL_GEMM_LEAKY);
}

static void int8(void **state) {
  (void)state;
  if (!hl_gemm_int8_suits(4, HL_MATVEC_PANEL)) skip();
  for (unsigned threads = 1; threads <= 3; threads += 2)
    for (size_t i = 0; i < COUNT(problems); i++)
      for (int residual = 0; residual < 2; residual++)
        for (int way = ROUNDED; way <= FUNCTION_ROUNDED; way++)
          check_int8(problems[i], threads, residual, way, i % 2 ? HL_GEMM_GELU : HL_GEMM_LEAKY);
}

static void suits(void **state) {
  (void)state;
  assert_false(hl_gemm_bf16_suits(3, HL_MATVEC_PANEL)); /* half a pair */
  assert_false(hl_gemm_bf16_suits(2, HL_MATVEC_PANEL + 16));
  assert_false(hl_gemm_int8_suits(6, HL_MATVEC_PANEL)); /* a four and a half */
  assert_false(hl_gemm_int8_suits(0, HL_MATVEC_PANEL));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(bfloat16), cmocka_unit_test(int8),
                                     cmocka_unit_test(suits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
