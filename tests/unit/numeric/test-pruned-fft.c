#include "numeric/pruned-fft.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "numeric/pruned-fft-internal.h"
#include "numeric/random.h"

enum { N = 96, OBJECT = 37, BAND = 9 };

typedef struct result {
  float amplitude[N * N], gradient[OBJECT * OBJECT];
  float complex band[BAND * BAND];
  hl_residual_sums sums;
} result;

static void run(const char *isa, int threads, result *ret) {
  static float object[OBJECT * OBJECT], target[N * N];
  static uint8_t mask[N * N];
  hl_random_fill_normal(object, OBJECT * OBJECT, 0, 1, 1, 0);
  hl_random_fill_normal(target, N * N, 0.2f, 0.1f, 2, 0);
  for (int i = 0; i < N * N; i++) mask[i] = i % 7 < 3 || i % N < 5;
  hl_team *team = hl_team_new(threads);
  hl_pruned_fft *fft;
  assert_int_equal(hl_pruned_fft_new(N, OBJECT, team, &fft, NULL), HL_OK);
  hl__pruned_fft_use(fft, hl__pruned_kernels_by_name(isa));
  hl_pruned_fft_object(fft, object, OBJECT);
  hl_pruned_fft_cut(fft, -1, 40, BAND, ret->band);
  hl_pruned_fft_amplitude(fft, mask, HL_PRUNED_FLIP, ret->amplitude);
  hl_pruned_fft_residual(fft, mask, HL_PRUNED_FLIP, target, &ret->sums);
  hl_pruned_fft_add(fft, -1, 40, BAND, ret->band, 0.3f);
  hl_pruned_fft_gradient(fft, 2, ret->gradient, OBJECT);
  hl_pruned_fft_free(fft);
  hl_team_free(team);
}

static void same(const float *a, const float *b, size_t count) {
  float top = 0, worst = 0;
  for (size_t i = 0; i < count; i++) {
    top = fmaxf(top, fabsf(a[i]));
    worst = fmaxf(worst, fabsf(a[i] - b[i]));
  }
  assert_true(top > 0 && worst <= 1e-5f * top);
}

static void test_instruction_sets(void **state) {
  (void)state;
  static const char *const wider[] = {"avx2", "avx512"};
  static result plain, other;
  run("baseline", 1, &plain);
  for (size_t i = 0; i < HL_COUNT(wider); i++) {
    if (!hl__pruned_kernels_by_name(wider[i])) continue;
    run(wider[i], 1, &other);
    same(plain.amplitude, other.amplitude, N * N);
    same(plain.gradient, other.gradient, OBJECT * OBJECT);
    same((float *)plain.band, (float *)other.band, 2 * BAND * BAND);
    assert_true(fabs(plain.sums.difference / other.sums.difference - 1) < 1e-5);
    assert_true(fabs(plain.sums.target / other.sums.target - 1) < 1e-5);
    assert_true(fabs(plain.sums.amplitude / other.sums.amplitude - 1) < 1e-5);
  }
}

/* Whoever took which block, the bits are the same. */
static void test_threads(void **state) {
  (void)state;
  static result one, many;
  run("baseline", 1, &one);
  run("baseline", 3, &many);
  assert_memory_equal(&one, &many, sizeof one);
}

/* Without a mask the gradient is a band's alone. */
static void test_no_mask(void **state) {
  (void)state;
  hl_pruned_fft *fft;
  hl_team *team = hl_team_new(1);
  assert_int_equal(hl_pruned_fft_new(32, 4, team, &fft, NULL), HL_OK);
  hl_residual_sums sums = {1, 1, 1};
  float pixels[4 * 5], target[32 * 32] = {0};
  float complex one = 32;
  for (int i = 0; i < 20; i++) pixels[i] = 7;
  hl_pruned_fft_residual(fft, NULL, 0, target, &sums);
  assert_true(sums.difference == 0 && sums.target == 0 && sums.amplitude == 0);
  hl_pruned_fft_add(fft, 16, 16, 1, &one, 1); /* the mean: a slope of 1 everywhere */
  hl_pruned_fft_gradient(fft, 3, pixels, 5);
  for (int i = 0; i < 20; i++) {
    float expected = i % 5 < 4 ? 3 : 7;
    assert_true(fabsf(pixels[i] - expected) < 1e-5f);
  }
  hl_pruned_fft_free(fft);
  hl_team_free(team);
}

static void test_bad_sizes(void **state) {
  (void)state;
  static const struct {
    size_t n, object;
    hl_status status;
  } bad[] = {{0, 1, HL_INVALID_ARGUMENT},
             {64, 0, HL_INVALID_ARGUMENT},
             {64, 65, HL_INVALID_ARGUMENT},
             {HL_PRUNED_MAX_IMAGE + 32, 1, HL_INVALID_ARGUMENT},
             {48, 8, HL_UNIMPLEMENTED}};
  for (size_t c = 0; c < HL_COUNT(bad); c++) {
    hl_pruned_fft *fft = NULL;
    hl_error error = {0};
    assert_int_equal(hl_pruned_fft_new(bad[c].n, bad[c].object, NULL, &fft, &error), bad[c].status);
    assert_null(fft);
    assert_true(strlen(error.msg) > 0);
  }
  hl_pruned_fft_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_instruction_sets),
                                     cmocka_unit_test(test_threads), cmocka_unit_test(test_no_mask),
                                     cmocka_unit_test(test_bad_sizes)};
  return cmocka_run_group_tests_name("numeric/pruned-fft", tests, NULL, NULL);
}
