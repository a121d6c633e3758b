#include "imaging/telescope-object.h"
#include "imaging/telescope.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { image = 64, object = 20, pixels = image * image };
static float truth[pixels], guess[pixels], old[pixels], new[pixels], gradient[pixels];
static const hl_aperture middle = {0, 0}, aside = {7.5, -12};

static hl_telescope *make(unsigned options, uint64_t cache_bytes) {
  hl_telescope_spec spec = {.image = image,
                            .object = object,
                            .radius = 6,
                            .options = options,
                            .threads = 1,
                            .cache_bytes = cache_bytes};
  hl_telescope *t = NULL;
  hl_error error = {0};
  assert_int_equal(hl_telescope_new(&spec, &t, &error), HL_OK);
  return t;
}

static void fill(float *picture, uint64_t seed) {
  float moon[object * object];
  hl_telescope_object_make(object, seed, moon);
  hl_telescope_object_place(moon, object, image, picture);
}

static bool all_zero(const float *a) {
  for (int i = 0; i < pixels; i++)
    if (a[i] != 0) return false;
  return true;
}

/* -- the cache -----------------------------------------------------------------------------------
 */

static bool is_there(hl_measurement_cache *cache, double row, float value) {
  float got[2] = {-1, -1};
  hl_measurement_key key = {.object = 1, .version = 1, .row = row, .radius = 5};
  if (!hl_measurement_cache_get(cache, &key, got)) return false;
  assert_true(got[0] == value && got[1] == -value);
  return true;
}

static void keep(hl_measurement_cache *cache, double row, float value) {
  hl_measurement_key key = {.object = 1, .version = 1, .row = row, .radius = 5};
  float picture[2] = {value, -value};
  hl_measurement_cache_put(cache, &key, picture);
  picture[0] = 99; /* it was copied */
}

static uint64_t bytes_of_one(void) {
  hl_measurement_cache *cache;
  hl_measurement_counts counts;
  hl_error error = {0};
  assert_int_equal(hl_measurement_cache_new(1 << 20, 2, &cache, &error), HL_OK);
  keep(cache, 1, 1);
  hl_measurement_cache_count(cache, &counts);
  hl_measurement_cache_free(cache);
  return counts.bytes;
}

static void least_recently_used_goes_first(void **state) {
  (void)state;
  hl_measurement_cache *cache;
  hl_measurement_counts counts;
  hl_error error = {0};
  assert_int_equal(hl_measurement_cache_new(2 * bytes_of_one(), 2, &cache, &error), HL_OK);
  keep(cache, 1, 10);
  keep(cache, 2, 20);
  assert_true(is_there(cache, 1, 10)); /* so that 2 is the oldest */
  keep(cache, 3, 30);
  assert_false(is_there(cache, 2, 20));
  assert_true(is_there(cache, 1, 10) && is_there(cache, 3, 30));
  keep(cache, 1, 11); /* in its place */
  assert_true(is_there(cache, 1, 11) && is_there(cache, 3, 30));
  hl_measurement_cache_count(cache, &counts);
  assert_true(counts.hits == 5 && counts.misses == 1 && counts.evictions == 1);
  assert_true(counts.entries == 2 && counts.bytes == counts.limit_bytes);
  hl_measurement_cache_clear(cache);
  assert_false(is_there(cache, 1, 11));
  hl_measurement_cache_count(cache, &counts);
  assert_true(counts.entries == 0 && counts.bytes == 0 && counts.evictions == 1);
  hl_measurement_cache_free(cache);
}

static void keys_differ_in_every_part(void **state) {
  (void)state;
  static const hl_measurement_key keys[] = {
      {1, 1, 2, 3, 4, 0}, {2, 1, 2, 3, 4, 0},  {1, 2, 2, 3, 4, 0}, {1, 1, 3, 2, 4, 0},
      {1, 1, 2, 4, 4, 0}, {1, 1, 2, 3, 5, 0},  {1, 1, 2, 3, 4, 1}, {1, 1, -2, 3, 4, 0},
      {1, 1, 0, 3, 4, 0}, {1, 1, 2, 3.5, 4, 0}};
  enum { count = sizeof keys / sizeof *keys };
  hl_measurement_cache *cache;
  hl_error error = {0};
  float value;
  assert_int_equal(hl_measurement_cache_new(1 << 20, 1, &cache, &error), HL_OK);
  for (int i = 0; i < count; i++) {
    assert_false(hl_measurement_cache_get(cache, &keys[i], &value));
    value = (float)i;
    hl_measurement_cache_put(cache, &keys[i], &value);
  }
  for (int i = 0; i < count; i++)
    assert_true(hl_measurement_cache_get(cache, &keys[i], &value) && value == (float)i);
  hl_measurement_key minus_zero = keys[8];
  minus_zero.row = -0.0;
  assert_true(hl_measurement_cache_get(cache, &minus_zero, &value) && value == 8);
  hl_measurement_cache_free(cache);
}

static void limit_of_nothing_keeps_nothing(void **state) {
  (void)state;
  hl_measurement_cache *cache;
  hl_measurement_counts counts;
  hl_error error = {0};
  for (uint64_t limit = 0; limit < bytes_of_one(); limit += bytes_of_one() - 1) {
    assert_int_equal(hl_measurement_cache_new(limit, 2, &cache, &error), HL_OK);
    keep(cache, 1, 1);
    assert_false(is_there(cache, 1, 1));
    hl_measurement_cache_count(cache, &counts);
    assert_true(counts.entries == 0 && counts.bytes == 0 && counts.misses == 1);
    hl_measurement_cache_free(cache);
  }
}

/* -- the telescope -------------------------------------------------------------------------------
 */

static void another_truth_is_another_measurement(void **state) {
  (void)state;
  hl_error error = {0};
  hl_telescope *t = make(HL_TELESCOPE_ALL, 1 << 20), *plain = make(0, 0);
  for (uint64_t version = 1; version <= 2; version++) {
    fill(truth, version);
    hl_telescope_set_truth(t, truth, version);
    hl_telescope_set_truth(plain, truth, version);
    for (int again = 0; again < 2; again++) {
      assert_int_equal(hl_telescope_measure_new(t, 0, aside, new, &error), HL_OK);
      assert_int_equal(hl_telescope_measure_new(plain, 0, aside, old, &error), HL_OK);
      for (int i = 0; i < pixels; i++) assert_true(fabsf(new[i] - old[i]) < 1e-5f);
    }
  }
  hl_telescope_counts counts;
  hl_telescope_count(t, &counts);
  assert_true(counts.measurements.hits == 2 && counts.measurements.misses == 2);
  hl_telescope_forget(t);
  assert_int_equal(hl_telescope_measure_new(t, 0, aside, new, &error), HL_OK);
  hl_telescope_count(t, &counts);
  assert_true(counts.measurements.hits == 2 && counts.measurements.misses == 3);
  assert_true(counts.measurements.evictions == 0 && counts.measurements.entries == 1);
  hl_telescope_free(plain);
  hl_telescope_free(t);
}

/* Nothing to see, nothing open: zeros and finite losses, never a quotient of zeros. */
static void darkness_is_no_nan(void **state) {
  (void)state;
  static const unsigned all[] = {0, HL_TELESCOPE_ALL, HL_TELESCOPE_MATRIX_DFT,
                                 HL_TELESCOPE_REAL_INPUT};
  memset(truth, 0, sizeof truth);
  fill(guess, 4);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    hl_error error = {0};
    hl_telescope_losses losses;
    hl_telescope *t = make(all[i], 1 << 20);
    hl_telescope_set_truth(t, truth, 1);
    assert_int_equal(hl_telescope_measure(t, 0, middle, guess, old, new, &error), HL_OK);
    assert_true(all_zero(old) && all_zero(new)); /* no aperture yet; a black truth */
    assert_int_equal(hl_telescope_loss(t, middle, truth, old, new, &losses, gradient, &error),
                     HL_OK);
    assert_true(losses.old_loss == 0 && losses.new_loss == 0 && all_zero(gradient));
    assert_int_equal(hl_telescope_loss(t, middle, guess, old, new, &losses, gradient, &error),
                     HL_OK);
    assert_true(losses.old_loss == 0 && losses.new_loss > 0 && isfinite(losses.new_loss));
    for (int k = 0; k < pixels; k++) assert_true(isfinite(gradient[k]));
    hl_telescope_free(t);
  }
}

static double loss_at(hl_telescope *t, const float *picture) {
  hl_error error = {0};
  hl_telescope_losses losses;
  assert_int_equal(hl_telescope_loss(t, aside, picture, old, new, &losses, NULL, &error), HL_OK);
  return losses.old_loss + losses.new_loss;
}

/* The slope along the gradient is its square length. */
static void gradient_is_the_slope(void **state) {
  (void)state;
  static const unsigned all[] = {0, HL_TELESCOPE_ALL, HL_TELESCOPE_ALL ^ HL_TELESCOPE_MATRIX_DFT,
                                 HL_TELESCOPE_ALL ^ HL_TELESCOPE_REAL_INPUT};
  static float low[pixels], high[pixels];
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    hl_error error = {0};
    hl_telescope_losses losses;
    hl_telescope *t = make(all[i], 1 << 20);
    fill(truth, 1);
    fill(guess, 2);
    hl_telescope_set_truth(t, truth, 1);
    assert_int_equal(hl_telescope_add(t, middle, &error), HL_OK);
    assert_int_equal(hl_telescope_measure(t, 0, aside, truth, old, new, &error), HL_OK);
    assert_int_equal(hl_telescope_loss(t, aside, guess, old, new, &losses, gradient, &error),
                     HL_OK);
    double square = 0, largest = 0;
    for (int k = 0; k < pixels; k++) {
      square += (double)gradient[k] * (double)gradient[k];
      largest = fmax(largest, fabs((double)gradient[k]));
    }
    double step = 2e-3 / largest;
    for (int k = 0; k < pixels; k++) {
      low[k] = (float)((double)guess[k] - step * (double)gradient[k]);
      high[k] = (float)((double)guess[k] + step * (double)gradient[k]);
    }
    double slope = (loss_at(t, high) - loss_at(t, low)) / (2 * step);
    assert_true(square > 0 && fabs(slope - square) < 0.02 * square);
    hl_telescope_free(t);
  }
}

static void apertures_far_outside_are_refused(void **state) {
  (void)state;
  static const hl_aperture outside[] = {
      {image + 1, 0}, {0, -image - 1}, {1e300, 0}, {(double)NAN, 0}, {0, (double)INFINITY}};
  hl_telescope *t = make(HL_TELESCOPE_ALL, 1 << 20);
  fill(truth, 1);
  hl_telescope_set_truth(t, truth, 1);
  for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
    hl_error error = {0};
    hl_telescope_losses losses;
    assert_int_equal(hl_telescope_measure_new(t, 0, outside[i], new, &error), HL_INVALID_ARGUMENT);
    assert_non_null(strstr(error.msg, "outside"));
    assert_int_equal(hl_telescope_add(t, outside[i], &error), HL_INVALID_ARGUMENT);
    assert_int_equal(hl_telescope_loss(t, outside[i], truth, old, new, &losses, NULL, &error),
                     HL_INVALID_ARGUMENT);
  }
  hl_telescope_counts counts;
  hl_telescope_count(t, &counts);
  assert_true(counts.open_pixels == 0);
  hl_telescope_free(t);
}

static void mask_is_the_union_and_starts_anew(void **state) {
  (void)state;
  hl_error error = {0};
  static uint8_t expected[pixels];
  for (unsigned options = 0; options <= HL_TELESCOPE_INCREMENTAL_MASK;
       options += HL_TELESCOPE_INCREMENTAL_MASK) {
    hl_telescope *t = make(options, 0);
    memset(expected, 0, sizeof expected);
    for (int i = 0; i < 3; i++) {
      hl_aperture a = {3.0 * i, -9.0 * i};
      assert_int_equal(hl_telescope_add(t, a, &error), HL_OK);
      hl_aperture_add(expected, image, a, 6);
    }
    assert_memory_equal(hl_telescope_mask(t), expected, sizeof expected);
    hl_telescope_restart(t);
    memset(expected, 0, sizeof expected);
    assert_memory_equal(hl_telescope_mask(t), expected, sizeof expected);
    hl_telescope_free(t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(least_recently_used_goes_first),
      cmocka_unit_test(keys_differ_in_every_part),
      cmocka_unit_test(limit_of_nothing_keeps_nothing),
      cmocka_unit_test(another_truth_is_another_measurement),
      cmocka_unit_test(darkness_is_no_nan),
      cmocka_unit_test(gradient_is_the_slope),
      cmocka_unit_test(apertures_far_outside_are_refused),
      cmocka_unit_test(mask_is_the_union_and_starts_anew),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
