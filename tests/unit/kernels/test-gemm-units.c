/* Products and convolutions of bfloat16 and of 8 bits, against plain loops in double. */
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

/* n pictures of h x w, k channels, `size` x `size` taps `stride` apart with a margin of `pad`; size
 * 0: a product of n rows. */
typedef struct problem {
  size_t n, k, oc, size, h, w, stride, pad;
} problem;

/* `places`: pixel of x for each row of the result and tap, -1 outside, for the loops here. */
typedef struct made {
  hl_gemm_rows rows;
  size_t m, pixels;
  int32_t *lines, *cells, *places;
} made;

static size_t out_of(size_t in, const problem *p) {
  return (in + 2 * p->pad - p->size) / p->stride + 1;
}

static int32_t place_of(size_t out, size_t tap, size_t in, const problem *p) {
  size_t at = out * p->stride + tap - p->pad; /* wraps where outside */
  return at < in ? (int32_t)at : -1;
}

static made make(const problem *p, const void *outside) {
  if (p->size == 0) {
    made m = {.rows = {.taps = 1, .k = p->k}, .m = p->n, .pixels = p->n};
    m.places = calloc(p->n, sizeof *m.places);
    for (size_t i = 0; i < p->n; i++) m.places[i] = (int32_t)i;
    return m;
  }
  size_t oh = out_of(p->h, p), ow = out_of(p->w, p), taps = p->size * p->size;
  made m = {.m = p->n * oh * ow, .pixels = p->n * p->h * p->w};
  m.lines = calloc(oh * p->size, sizeof *m.lines);
  m.cells = calloc(ow * p->size, sizeof *m.cells);
  m.places = calloc(m.m * taps, sizeof *m.places);
  for (size_t i = 0; i < oh * p->size; i++) {
    int32_t line = place_of(i / p->size, i % p->size, p->h, p);
    m.lines[i] = line < 0 ? -1 : line * (int32_t)p->w;
  }
  for (size_t i = 0; i < ow * p->size; i++)
    m.cells[i] = place_of(i / p->size, i % p->size, p->w, p);
  for (size_t r = 0; r < m.m; r++)
    for (size_t t = 0; t < taps; t++) {
      int32_t line = m.lines[r / ow % oh * p->size + t / p->size];
      int32_t cell = m.cells[r % ow * p->size + t % p->size];
      int32_t first = (int32_t)(r / ow / oh * p->h * p->w);
      m.places[r * taps + t] = line < 0 || cell < 0 ? -1 : first + line + cell;
    }
  m.rows = (hl_gemm_rows){.taps = taps,
                          .k = p->k,
                          .lines = m.lines,
                          .cells = m.cells,
                          .along = p->size,
                          .line_count = oh,
                          .columns = ow,
                          .pixels = p->h * p->w,
                          .outside = outside};
  return m;
}

static void release(made *m) {
  free(m->lines);
  free(m->cells);
  free(m->places);
}

/* Where weight (tap, i, column) lies in panels of groups of `together`. */
static size_t weight_at(const made *m, size_t width, size_t together, size_t tap, size_t i,
                        size_t c) {
  size_t k = m->rows.k, panel = c / width * width * m->rows.taps * k;
  return panel + ((tap * k + i) / together * width + c % width) * together + i % together;
}

static void check_bf16(const problem *p, unsigned threads, int residual, int gives_float,
                       hl_gemm_function function) {
  uint16_t *zeros = calloc(p->k, sizeof *zeros);
  made m = make(p, zeros);
  size_t count = m.m * p->oc, taps = m.rows.taps, width = hl_gemm_bf16_width(&m.rows, p->oc);
  assert_true(width > 0);
  uint16_t *x = halves(m.pixels * p->k, 1), *w = halves(taps * p->k * p->oc, 2);
  uint16_t *added = halves(count, 3), *y = halves(count, 3);
  float *bias = filled(p->oc, 4), *found = poisoned(count);
  double *expected = calloc(count, sizeof *expected);
  for (size_t r = 0; r < m.m; r++)
    for (size_t c = 0; c < p->oc; c++) {
      double sum = (double)bias[c] + (residual ? (double)widened(added[r * p->oc + c]) : 0);
      for (size_t t = 0; t < taps; t++)
        for (size_t i = 0; i < p->k && m.places[r * taps + t] >= 0; i++)
          sum += (double)widened(x[(size_t)m.places[r * taps + t] * p->k + i]) *
                 (double)widened(w[weight_at(&m, width, 2, t, i, c)]);
      double gelu = 0.5 * sum * (1 + erf(sum / sqrt(2)));
      expected[r * p->oc + c] = function == HL_GEMM_GELU ? gelu : sum > 0 ? sum : sum * 0.25;
    }
  hl_gemm_bf16_args a = {.x = x,
                         .w = w,
                         .bias = bias,
                         .residual = !residual     ? NULL
                                     : gives_float ? added
                                                   : y,
                         .y = gives_float ? NULL : y,
                         .y_float = gives_float ? found : NULL,
                         .m = m.m,
                         .n = p->oc,
                         .rows = m.rows,
                         .function = function,
                         .slope = 0.25f};
  hl_gemm_bf16(&a, threads);
  for (size_t i = 0; !gives_float && i < count; i++) found[i] = widened(y[i]);
  assert_close("avx512bf16", "gemm", found, expected, count, gives_float ? 1e-5 : 4e-3);
  free(zeros);
  free(x);
  free(w);
  free(added);
  free(y);
  free(bias);
  free(found);
  free(expected);
  release(&m);
}

static void check_int8(const problem *p, unsigned threads, int residual, int to,
                       hl_gemm_function function) {
  enum { ZERO = 7 }; /* what a pixel outside holds */
  uint8_t *outside = malloc(p->k);
  memset(outside, ZERO, p->k);
  made m = make(p, outside);
  size_t count = m.m * p->oc, taps = m.rows.taps, width = hl_gemm_int8_width(&m.rows, p->oc);
  assert_true(width > 0);
  uint8_t *x = bytes(m.pixels * p->k, 1), *w = bytes(taps * p->k * p->oc, 2);
  uint8_t *added = bytes(count, 3), *y = bytes(count, 3);
  float *scale = filled(p->oc, 4), *bias = filled(p->oc, 5), *found = poisoned(count);
  double *expected = calloc(count, sizeof *expected);
  for (size_t c = 0; c < p->oc; c++) scale[c] = 1e-4f * (2 + scale[c]);
  for (size_t r = 0; r < m.m; r++)
    for (size_t c = 0; c < p->oc; c++) {
      double sum = 0;
      for (size_t t = 0; t < taps; t++)
        for (size_t i = 0; i < p->k; i++) {
          int32_t place = m.places[r * taps + t];
          sum += (place < 0 ? ZERO : x[(size_t)place * p->k + i]) *
                 (double)(int8_t)w[weight_at(&m, width, 4, t, i, c)];
        }
      sum = sum * (double)scale[c] + (double)bias[c];
      if (residual) sum += 0.01 * (added[r * p->oc + c] - 100.0);
      double gelu = 0.5 * sum * (1 + erf(sum / sqrt(2)));
      sum = function == HL_GEMM_GELU ? gelu : sum > 0 ? sum : sum * 0.25;
      if (to != HL_GEMM_TO_FLOAT) sum = sum * 50 + 3;
      if (to == HL_GEMM_TO_UINT8) sum = fmin(fmax(sum, 0), 255);
      if (to == HL_GEMM_TO_INT8) sum = fmin(fmax(sum, -128), 127);
      expected[r * p->oc + c] = sum;
    }
  hl_gemm_int8_args a = {.x = x,
                         .w = (int8_t *)w,
                         .scale = scale,
                         .bias = bias,
                         .residual = !residual                ? NULL
                                     : to == HL_GEMM_TO_UINT8 ? y
                                                              : added,
                         .residual_scale = 0.01f,
                         .residual_zero = 100,
                         .y = to == HL_GEMM_TO_FLOAT ? (void *)found : y,
                         .y_inverse = 50,
                         .y_zero = 3,
                         .m = m.m,
                         .n = p->oc,
                         .rows = m.rows,
                         .function = function,
                         .slope = 0.25f};
  if (to == HL_GEMM_TO_UINT8) a.to = HL_GEMM_TO_UINT8;
  if (to == HL_GEMM_TO_INT8) a.to = HL_GEMM_TO_INT8;
  hl_gemm_int8(&a, threads);
  for (size_t i = 0; i < count; i++) {
    double got = to == HL_GEMM_TO_FLOAT   ? (double)found[i]
                 : to == HL_GEMM_TO_UINT8 ? (double)y[i]
                                          : (double)(int8_t)y[i];
    double tolerance = to == HL_GEMM_TO_FLOAT ? 1e-4 : 0.51; /* rounding, to whole numbers */
    assert_true(fabs(got - expected[i]) <= tolerance);
  }
  free(outside);
  free(x);
  free(w);
  free(added);
  free(y);
  free(scale);
  free(bias);
  free(found);
  free(expected);
  release(&m);
}

/* Rows around whole tiles and blocks of them, depths around whole steps, all widths of panels. */
static const problem problems[] = {
    {.n = 1, .k = 4, .oc = 64},
    {.n = 5, .k = 12, .oc = 128},
    {.n = 13, .k = 36, .oc = 192},
    {.n = 271, .k = 20, .oc = 64},
    {.n = 9, .k = 40, .oc = 32},
    {.n = 17, .k = 68, .oc = 96},
    {.n = 23, .k = 16, .oc = 16},
    {.n = 2, .k = 16, .oc = 64, .size = 3, .h = 7, .w = 5, .stride = 1, .pad = 1},
    {.n = 3, .k = 8, .oc = 48, .size = 3, .h = 9, .w = 10, .stride = 2, .pad = 1},
    {.n = 1, .k = 32, .oc = 32, .size = 1, .h = 6, .w = 7, .stride = 2},
    {.n = 1, .k = 4, .oc = 64, .size = 7, .h = 12, .w = 9, .stride = 2, .pad = 3},
    {.n = 2, .k = 20, .oc = 128, .size = 2, .h = 17, .w = 16, .stride = 1},
    {.n = 1, .k = 12, .oc = 16, .size = 3, .h = 1, .w = 1, .stride = 1, .pad = 1},
};

static void bfloat16(void **state) {
  (void)state;
  if (hl_gemm_bf16_width(&(hl_gemm_rows){.taps = 1, .k = 2}, 16) == 0) skip();
  for (unsigned threads = 1; threads <= 3; threads += 2)
    for (size_t i = 0; i < COUNT(problems); i++)
      for (int way = 0; way < 8; way++)
        check_bf16(&problems[i], threads, way & 1, way & 2, way & 4 ? HL_GEMM_GELU : HL_GEMM_LEAKY);
}

static void int8(void **state) {
  (void)state;
  if (hl_gemm_int8_width(&(hl_gemm_rows){.taps = 1, .k = 4}, 16) == 0) skip();
  for (unsigned threads = 1; threads <= 3; threads += 2)
    for (size_t i = 0; i < COUNT(problems); i++)
      for (int way = 0; way < 4; way++)
        for (int to = HL_GEMM_TO_FLOAT; to <= HL_GEMM_TO_INT8; to++)
          check_int8(&problems[i], threads, way & 1, to, way & 2 ? HL_GEMM_GELU : HL_GEMM_LEAKY);
}

static void suits(void **state) {
  (void)state;
  hl_gemm_rows rows = {.taps = 1, .k = 6};
  assert_int_equal(hl_gemm_int8_width(&rows, 64), 0); /* a group and a half */
  assert_int_equal(hl_gemm_bf16_width(&rows, 24), 0); /* a vector and a half */
  rows.k = 3;
  assert_int_equal(hl_gemm_bf16_width(&rows, 64), 0);
  rows = (hl_gemm_rows){.taps = HL_GEMM_TAPS + 1, .k = 4};
  assert_int_equal(hl_gemm_bf16_width(&rows, 64), 0);
  assert_int_equal(hl_gemm_int8_width(&rows, 64), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(bfloat16), cmocka_unit_test(int8),
                                     cmocka_unit_test(suits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
