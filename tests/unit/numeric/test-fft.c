#include "numeric/fft.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "numeric/fft-internal.h"
#include "numeric/random.h"

static float complex *filled(size_t count, uint64_t seed) {
  float complex *ret = malloc(count * sizeof *ret);
  assert_non_null(ret);
  hl_random_fill_normal((float *)ret, 2 * count, 0, 1, seed, 0);
  return ret;
}

static hl_fft *plan(size_t h, size_t w) {
  hl_fft *fft;
  assert_int_equal(hl_fft_new(h, w, &fft, NULL), HL_OK);
  return fft;
}

/* One coefficient by the definition, in double. */
static double complex coefficient(const float complex *x, size_t h, size_t w, size_t row,
                                  size_t column, unsigned flags) {
  double complex sum = 0;
  double sign = flags & HL_FFT_INVERSE ? 2 * M_PI : -2 * M_PI;
  for (size_t i = 0; i < h; i++)
    for (size_t j = 0; j < w; j++) {
      double turn = (double)(i * row % h) / (double)h + (double)(j * column % w) / (double)w;
      sum += (double complex)x[i * w + j] * cexp(I * sign * turn);
    }
  double count = (double)(h * w);
  if (flags & HL_FFT_ORTHONORMAL) return sum / sqrt(count);
  return flags & HL_FFT_INVERSE ? sum / count : sum;
}

static const size_t sizes[][2] = {
    {1, 1},  {1, 2},   {2, 1},   {4, 4},   {8, 2},   {16, 32}, {3, 5},  {15, 17}, {33, 1},
    {1, 33}, {31, 64}, {67, 12}, {1, 127}, {7, 134}, {17, 18}, {6, 49}, {1, 61},  {2, 128},
};

static void test_definition(void **state) {
  (void)state;
  for (size_t c = 0; c < HL_COUNT(sizes); c++)
    for (unsigned flags = 0; flags < 4; flags++) {
      enum { BATCH = 2 };
      size_t h = sizes[c][0], w = sizes[c][1], count = h * w;
      float complex *x = filled(BATCH * count, c), *y = malloc(BATCH * count * sizeof *y);
      memcpy(y, x, BATCH * count * sizeof *y);
      hl_fft *fft = plan(h, w);
      hl_fft2(fft, flags, y, BATCH);
      double top = 0, worst = 0;
      for (size_t i = 0; i < BATCH * count; i++) {
        double complex expected =
            coefficient(x + i / count * count, h, w, i % count / w, i % w, flags);
        top = fmax(top, cabs(expected));
        worst = fmax(worst, cabs((double complex)y[i] - expected));
      }
      if (worst > 5e-7 * top) fail_msg("%zu x %zu, flags %u: %g of %g", h, w, flags, worst, top);
      hl_fft_free(fft);
      free(x), free(y);
    }
}

static void test_round_trip(void **state) {
  (void)state;
  static const size_t large[][2] = {{128, 128}, {1, 3481}, {1, 4099}, {100, 1}, {64, 257}};
  for (size_t c = 0; c < HL_COUNT(large); c++)
    for (unsigned norm = 0; norm <= HL_FFT_ORTHONORMAL; norm += HL_FFT_ORTHONORMAL) {
      size_t h = large[c][0], w = large[c][1], count = 3 * h * w;
      float complex *x = filled(count, c), *y = malloc(count * sizeof *y);
      memcpy(y, x, count * sizeof *y);
      hl_fft *fft = plan(h, w);
      hl_fft2(fft, HL_FFT_FORWARD | norm, y, 3);
      double before = 0, after = 0;
      for (size_t i = 0; i < count; i++) {
        before += pow(cabs((double complex)x[i]), 2);
        after += pow(cabs((double complex)y[i]), 2);
      }
      double factor = norm ? 1 : (double)(h * w); /* Parseval */
      assert_true(fabs(after / factor / before - 1) < 1e-5);
      hl_fft2(fft, HL_FFT_INVERSE | norm, y, 3);
      for (size_t i = 0; i < count; i++)
        assert_true(cabs((double complex)y[i] - (double complex)x[i]) < 1e-5);
      hl_fft_free(fft);
      free(x), free(y);
    }
}

static void test_shift(void **state) {
  (void)state;
  static const size_t shapes[][2] = {{1, 1}, {1, 5}, {4, 6}, {5, 3}, {3, 8}, {6, 2}};
  for (size_t c = 0; c < HL_COUNT(shapes); c++) {
    size_t h = shapes[c][0], w = shapes[c][1], count = 2 * h * w;
    float complex *x = filled(count, c), *y = malloc(count * sizeof *y);
    memcpy(y, x, count * sizeof *y);
    hl_fft_shift(y, 2, h, w);
    for (size_t i = 0; i < count; i++) {
      size_t row = (i / w % h + h / 2) % h, column = (i % w + w / 2) % w;
      assert_true(y[i / w / h * h * w + row * w + column] == x[i]);
    }
    hl_fft_unshift(y, 2, h, w);
    assert_memory_equal(x, y, count * sizeof *x);
    free(x), free(y);
  }
}

/* Rows (stride 1) or columns of a picture, by the kernels of one instruction set. */
static void lines_by(const char *isa, size_t n, size_t lines, int columns, int inverse,
                     float complex *data) {
  const hl__fft_kernels *kernels = hl__fft_kernels_by_name(isa);
  size_t part = n * HL__FFT_LANES;
  hl__fft_axis axis = {.n = n, .radix = {4, 4, 2, 3}, .pass_count = 4};
  float *tables = malloc(2 * n * sizeof *tables);
  axis.cosine = tables, axis.sine = tables + n;
  for (size_t j = 0; j < n; j++) {
    tables[j] = (float)cos(-2 * M_PI * (double)j / (double)n);
    tables[n + j] = (float)sin(-2 * M_PI * (double)j / (double)n);
  }
  hl__fft_lines what = {.axis = &axis,
                        .scratch = aligned_alloc(64, 4 * part * sizeof *what.scratch),
                        .part = part,
                        .lines = lines,
                        .line = columns ? 1 : n,
                        .stride = columns ? lines : 1,
                        .inverse = inverse,
                        .scale = 0.1f};
  kernels->lines(&what, (float *)data);
  free(what.scratch), free(tables);
}

static void test_instruction_sets(void **state) {
  (void)state;
  static const char *const wider[] = {"avx2", "avx512"};
  enum { N = 96, LINES = 37 }; /* two blocks, and one in part */
  size_t bytes = N * LINES * sizeof(float complex);
  for (size_t i = 0; i < HL_COUNT(wider); i++) {
    if (!hl__fft_kernels_by_name(wider[i])) continue;
    for (int kind = 0; kind < 4; kind++) {
      float complex *x = filled(N * LINES, 5), *y = filled(N * LINES, 5);
      lines_by("baseline", N, LINES, kind & 1, kind >> 1, x);
      lines_by(wider[i], N, LINES, kind & 1, kind >> 1, y);
      assert_memory_equal(x, y, bytes);
      free(x), free(y);
    }
  }
}

static void test_bad_lengths(void **state) {
  (void)state;
  static const size_t bad[][2] = {{0, 4}, {4, 0}, {1, HL_FFT_MAX_LENGTH + 1}, {SIZE_MAX, 2}};
  for (size_t c = 0; c < HL_COUNT(bad); c++) {
    hl_fft *fft = NULL;
    hl_error error = {0};
    assert_int_equal(hl_fft_new(bad[c][0], bad[c][1], &fft, &error), HL_INVALID_ARGUMENT);
    assert_null(fft);
    assert_non_null(strstr(error.msg, "each length must be between 1 and"));
  }
  hl_fft_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_definition), cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_shift), cmocka_unit_test(test_instruction_sets),
      cmocka_unit_test(test_bad_lengths)};
  return cmocka_run_group_tests_name("numeric/fft", tests, NULL, NULL);
}
