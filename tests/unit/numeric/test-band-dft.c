#include "numeric/band-dft.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "numeric/band-dft-internal.h"
#include "numeric/random.h"

static float *filled(size_t count, uint64_t seed) {
  float *ret = malloc(count * sizeof *ret);
  assert_non_null(ret);
  hl_random_fill_normal(ret, count, 0, 1, seed, 0);
  return ret;
}

typedef struct result {
  float *amplitude;
  float complex *gradient;
  hl_residual_sums sums;
} result;

static result run(const char *isa, size_t n, size_t band, int threads, const float complex *x,
                  const float *target) {
  hl_band_dft *dft;
  hl_team *team = hl_team_new(threads);
  assert_non_null(team);
  assert_int_equal(hl_band_dft_new(n, band, team, &dft, NULL), HL_OK);
  hl__band_dft_use(dft, hl__band_kernels_by_name(isa));
  result ret = {
      malloc(n * n * sizeof(float)), malloc(band * band * sizeof(float complex)), {0, 0, 0}};
  hl_band_dft_amplitude(dft, x, HL_BAND_FLIP, ret.amplitude);
  hl_band_dft_residual(dft, x, HL_BAND_FLIP, target, &ret.sums, ret.gradient);
  hl_band_dft_free(dft);
  hl_team_free(team);
  return ret;
}

static void same(const float *a, const float *b, size_t count) {
  float top = 0, worst = 0;
  for (size_t i = 0; i < count; i++) {
    top = fmaxf(top, fabsf(a[i]));
    worst = fmaxf(worst, fabsf(a[i] - b[i]));
  }
  assert_true(worst <= 1e-5f * top);
}

/* Each set of instructions and number of threads, against the plain one; sizes with parts of
 * vectors, and of whole ones, where some take turns by an eighth and others do not. */
static void test_instruction_sets(void **state) {
  (void)state;
  static const char *const sets[] = {"baseline", "avx2", "avx512"};
  static const size_t sizes[][2] = {{64, 41}, {128, 41}, {256, 41}, {33, 7}, {50, 49}, {9, 1}};
  for (size_t c = 0; c < HL_COUNT(sizes); c++) {
    size_t n = sizes[c][0], band = sizes[c][1];
    float *x = filled(2 * band * band, c), *target = filled(n * n, 9);
    result plain = run("baseline", n, band, 1, (float complex *)x, target);
    for (size_t i = 0; i < HL_COUNT(sets); i++) {
      if (!hl__band_kernels_by_name(sets[i])) continue;
      result r = run(sets[i], n, band, 3, (float complex *)x, target);
      same(plain.amplitude, r.amplitude, n * n);
      same((float *)plain.gradient, (float *)r.gradient, 2 * band * band);
      assert_true(fabs(plain.sums.difference / r.sums.difference - 1) <= 1e-6);
      assert_true(fabs(plain.sums.target / r.sums.target - 1) <= 1e-6);
      assert_true(fabs(plain.sums.amplitude / r.sums.amplitude - 1) <= 1e-6);
      free(r.amplitude), free(r.gradient);
    }
    free(x), free(target), free(plain.amplitude), free(plain.gradient);
  }
}

/* Against the definition in double, at some places: by blocks of pairs and by turns by an eighth,
 * which each set of instructions takes where its vectors fit. */
static void test_definition(void **state) {
  (void)state;
  static const char *const sets[] = {"baseline", "avx2", "avx512"};
  static const size_t sizes[][2] = {{64, 11}, {96, 41}, {128, 41}, {256, 41}, {256, 1}, {512, 17}};
  for (size_t c = 0; c < HL_COUNT(sizes); c++)
    for (size_t i = 0; i < HL_COUNT(sets); i++) {
      if (!hl__band_kernels_by_name(sets[i])) continue;
      size_t n = sizes[c][0], band = sizes[c][1];
      ptrdiff_t half = (ptrdiff_t)band / 2, middle = (ptrdiff_t)n / 2;
      float *numbers = filled(2 * band * band, c), *plain = malloc(n * n * sizeof *plain);
      float *flipped = malloc(n * n * sizeof *flipped);
      float complex *x = (float complex *)numbers;
      hl_band_dft *dft;
      hl_team *team = hl_team_new(2);
      assert_non_null(plain);
      assert_non_null(flipped);
      assert_int_equal(hl_band_dft_new(n, band, team, &dft, NULL), HL_OK);
      hl__band_dft_use(dft, hl__band_kernels_by_name(sets[i]));
      hl_band_dft_amplitude(dft, x, 0, plain);
      hl_band_dft_amplitude(dft, x, HL_BAND_FLIP, flipped);
      for (size_t at = 0; at < n * n; at += n * n / 400 + 1) {
        ptrdiff_t p = (ptrdiff_t)(at / n) - middle, q = (ptrdiff_t)(at % n) - middle;
        double complex sum = 0;
        for (ptrdiff_t u = -half; u <= half; u++)
          for (ptrdiff_t v = -half; v <= half; v++)
            sum += x[(u + half) * (ptrdiff_t)band + v + half] *
                   cexp(-2 * M_PI * I * (double)(u * p + v * q) / (double)n);
        double expected = cabs(sum) / (double)n, most = 1e-6 * (double)band;
        assert_true(fabs((double)plain[at] - expected) < most);
        assert_true(fabs((double)flipped[n * n - 1 - at] - expected) < most);
      }
      hl_band_dft_free(dft);
      hl_team_free(team);
      free(numbers), free(plain), free(flipped);
    }
}

/* Where the field or the difference is 0 there is no slope, and nothing is NaN. */
static void test_nothing(void **state) {
  (void)state;
  enum { N = 20, BAND = 5 };
  float complex x[BAND * BAND] = {0};
  float target[N * N] = {0};
  result zero = run("baseline", N, BAND, 2, x, target);
  assert_true(zero.sums.difference == 0 && zero.sums.amplitude == 0);
  for (size_t i = 0; i < N * N; i++) target[i] = 1;
  result one = run("baseline", N, BAND, 2, x, target);
  assert_true(fabs(one.sums.difference - N * N) < 1e-9);
  for (size_t i = 0; i < BAND * BAND; i++)
    assert_true(zero.gradient[i] == 0 && one.gradient[i] == 0);
  free(zero.amplitude), free(zero.gradient), free(one.amplitude), free(one.gradient);
}

static void test_bad_sizes(void **state) {
  (void)state;
  static const size_t bad[][2] = {{0, 1}, {8, 0}, {8, 4}, {8, 9}, {HL_BAND_MAX_IMAGE + 1, 3}};
  for (size_t c = 0; c < HL_COUNT(bad); c++) {
    hl_band_dft *dft = NULL;
    hl_error error = {0};
    assert_int_equal(hl_band_dft_new(bad[c][0], bad[c][1], NULL, &dft, &error),
                     HL_INVALID_ARGUMENT);
    assert_null(dft);
    assert_non_null(strstr(error.msg, "give an odd band"));
  }
  hl_band_dft_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_instruction_sets), cmocka_unit_test(test_definition),
      cmocka_unit_test(test_nothing), cmocka_unit_test(test_bad_sizes)};
  return cmocka_run_group_tests_name("numeric/band-dft", tests, NULL, NULL);
}
