/* Simulated scans: photons, reproducibility, options. The forward model itself is compared with
 * numpy in tests/oracle/data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "imaging/ptychography-simulate.h"
#include <math.h>
#include <string.h>

static hl_ptychography_simulation *simulate(hl_ptychography_options o) {
  hl_ptychography_simulation *s = NULL;
  hl_error error = {0};
  if (hl_ptychography_simulate(&o, &s, &error) != HL_OK) fail_msg("%s", error.msg);
  return s;
}

static void test_photons(void **state) {
  (void)state;
  static const double photons[] = {10, 1e4, 1e9};
  for (size_t i = 0; i < HL_COUNT(photons); i++)
    for (int noise = 0; noise < 2; noise++) {
      hl_ptychography_options o = HL_PTYCHOGRAPHY_DEFAULTS;
      o.size = 32;
      o.count = 50;
      o.photons = photons[i];
      o.noise = noise;
      hl_ptychography_simulation *s = simulate(o);
      double sum = 0, largest_gap = 0;
      for (int64_t p = 0; p < 50 * 32 * 32; p++) {
        double count = (double)s->amplitude[p] * (double)s->amplitude[p];
        sum += count;
        if (noise && count < 1e5) largest_gap = fmax(largest_gap, fabs(count - rint(count)));
      }
      double expected = photons[i] * 50;
      assert_true(fabs(sum - expected) <= (noise ? 6 * sqrt(expected) : 0) + 1e-4 * expected);
      assert_true(largest_gap < 0.02); /* counts are whole */
      hl_ptychography_simulation_free(s);
    }
}

static void test_prefix_and_seed(void **state) {
  (void)state;
  hl_ptychography_options o = HL_PTYCHOGRAPHY_DEFAULTS;
  o.size = 16;
  o.count = 20;
  hl_ptychography_simulation *a = simulate(o), *b = simulate(o);
  o.seed = 7;
  hl_ptychography_simulation *c = simulate(o);
  size_t bytes = 20 * 16 * 16 * sizeof(float);
  assert_memory_equal(a->amplitude, b->amplitude, bytes);
  assert_memory_not_equal(a->amplitude, c->amplitude, bytes);
  hl_ptychography_simulation_free(a);
  hl_ptychography_simulation_free(b);
  hl_ptychography_simulation_free(c);
}

static void test_patches_inside(void **state) {
  (void)state;
  static const int64_t counts[] = {1, 2, 3, 50};
  for (size_t i = 0; i < HL_COUNT(counts); i++)
    for (int path = 0; path < 2; path++) {
      hl_ptychography_options o = HL_PTYCHOGRAPHY_DEFAULTS;
      o.size = 16;
      o.count = counts[i];
      o.path = (hl_scan_path)path;
      o.overlap = 0.95;
      hl_ptychography_simulation *s = simulate(o);
      for (int64_t n = 0; n < s->count; n++) {
        assert_true(s->x[n] >= 8 && s->x[n] + 8 <= (double)s->width);
        assert_true(s->y[n] >= 8 && s->y[n] + 8 <= (double)s->height);
        assert_true(s->x[n] == floor(s->x[n]) && s->y[n] == floor(s->y[n]));
      }
      hl_ptychography_simulation_free(s);
    }
}

static void test_options_refused(void **state) {
  (void)state;
  static const struct {
    hl_ptychography_options options;
    hl_status status;
    const char *word;
  } cases[] = {
      {{15, 1, 0, 0.7, 1e9, true, 1}, HL_INVALID_ARGUMENT, "size 15"},
      {{17, 1, 0, 0.7, 1e9, true, 1}, HL_INVALID_ARGUMENT, "size 17"},
      {{1026, 1, 0, 0.7, 1e9, true, 1}, HL_INVALID_ARGUMENT, "size 1026"},
      {{64, 0, 0, 0.7, 1e9, true, 1}, HL_INVALID_ARGUMENT, "0 images"},
      {{64, 1000001, 0, 0.7, 1e9, true, 1}, HL_INVALID_ARGUMENT, "1000001 images"},
      {{64, 1, 0, 0.96, 1e9, true, 1}, HL_INVALID_ARGUMENT, "overlap"},
      {{64, 1, 0, NAN, 1e9, true, 1}, HL_INVALID_ARGUMENT, "overlap"},
      {{64, 1, 0, 0.7, 0, true, 1}, HL_INVALID_ARGUMENT, "photons"},
      {{64, 1, 0, 0.7, INFINITY, true, 1}, HL_INVALID_ARGUMENT, "photons"},
      {{1024, 1000000, 0, 0.7, 1e9, true, 1}, HL_LIMIT, "fewer images"},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_ptychography_simulation *s = NULL;
    hl_error error = {0};
    assert_int_equal(hl_ptychography_simulate(&cases[i].options, &s, &error), cases[i].status);
    assert_non_null(strstr(error.msg, cases[i].word));
    assert_null(s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_photons),
      cmocka_unit_test(test_prefix_and_seed),
      cmocka_unit_test(test_patches_inside),
      cmocka_unit_test(test_options_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
