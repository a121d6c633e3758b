/* Volumes: shapes, windows step by step, errors on the way. What is computed is compared with
 * numpy, scipy and torch in tests/oracle/imaging. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "imaging/volume-augment.h"
#include "imaging/volume-generate.h"
#include "imaging/volume-windows.h"
#include <math.h>
#include <string.h>

static void test_parse(void **state) {
  (void)state;
  static const struct {
    const char *text;
    hl_volume_shape shape;
  } good[] = {{"16x32x48", {16, 32, 48}},
              {"[16, 32, 48]", {16, 32, 48}},
              {" 16,32,48", {16, 32, 48}},
              {"64x65", {1, 64, 65}},
              {"[64,65]", {1, 64, 65}}};
  for (size_t i = 0; i < HL_COUNT(good); i++) {
    hl_volume_shape shape = {0};
    assert_int_equal(hl_volume_parse(good[i].text, "patch", &shape, NULL), HL_OK);
    assert_true(hl_volume_same(shape, good[i].shape));
  }
  static const char *const bad[] = {
      "",     "16",   "0x4x4", "4x4x4x4", "[4, 4",           "4x4]",  "4x-4x4",
      "4x4x", "x4x4", "a",     "4x4x4 ?", "99999999999x4x4", "4 4 4", "[]"};
  for (size_t i = 0; i < HL_COUNT(bad); i++) {
    hl_volume_shape shape = {7, 7, 7};
    hl_error error = {0};
    assert_int_equal(hl_volume_parse(bad[i], "patch", &shape, &error), HL_INVALID_ARGUMENT);
    assert_non_null(strstr(error.msg, "patch"));
    assert_int_equal(shape.depth, 7);
  }
}

/* Windows taken in batches of any size, in any order, give what one pass gives. */
static void test_steps(void **state) {
  (void)state;
  enum { side = 10, roi = 4, window = roi * roi * roi, voxels = side * side * side };
  static float volume[voxels], once[voxels], again[voxels], buffer[3 * window];
  for (int i = 0; i < voxels; i++) volume[i] = (float)((i * 7919) % 101);
  hl_windows_options options = HL_WINDOWS_DEFAULTS;
  options.roi = (hl_volume_shape){roi, roi, roi};
  options.overlap = 0.5;
  hl_windows *w = NULL;
  assert_int_equal(hl_windows_new(&options, (hl_volume_shape){side, side, side}, &w, NULL), HL_OK);
  assert_int_equal(hl_windows_count(w), 4 * 4 * 4);
  hl_windows_gather(w, volume, 63, 1, buffer); /* the last ends where the volume does */
  assert_true(buffer[window - 1] == volume[voxels - 1]);
  for (int64_t i = 0; i < 64; i++) {
    hl_windows_gather(w, volume, i, 1, buffer);
    hl_windows_scatter(w, buffer, i, 1);
  }
  hl_windows_finish(w, once);
  for (int64_t i = 63; i > 0; i -= 3) { /* 21 groups of 3, from the end */
    hl_windows_gather(w, volume, i - 2, 3, buffer);
    hl_windows_scatter(w, buffer, i - 2, 3);
  }
  hl_windows_gather(w, volume, 0, 1, buffer);
  hl_windows_scatter(w, buffer, 0, 1);
  hl_windows_finish(w, again);
  for (int i = 0; i < voxels; i++) {
    assert_true(fabsf(once[i] - volume[i]) <= 1e-4f);
    assert_true(fabsf(once[i] - again[i]) <= 1e-4f);
  }
  hl_windows_free(w);
}

static hl_status fail_later(void *context, int64_t count, const float *inputs, float *ret_outputs,
                            hl_error *error) {
  memcpy(ret_outputs, inputs, (size_t)count * 8 * sizeof *inputs);
  if (++*(int *)context < 3) return HL_OK;
  return hl_error_set(error, HL_CRASHED, "the network is gone");
}

static void test_network_fails(void **state) {
  (void)state;
  float volume[64] = {0}, out[64] = {-1};
  hl_windows_options options = HL_WINDOWS_DEFAULTS;
  options.roi = (hl_volume_shape){2, 2, 2};
  hl_error error = {0};
  int calls = 0;
  assert_int_equal(hl_windows_predict(&options, (hl_volume_shape){4, 4, 4}, volume, fail_later,
                                      &calls, out, &error),
                   HL_CRASHED);
  assert_string_equal(error.msg, "the network is gone");
  assert_int_equal(calls, 3);
  assert_true(out[0] == -1);
}

static void test_too_many_windows(void **state) {
  (void)state;
  hl_windows_options options = HL_WINDOWS_DEFAULTS;
  options.roi = (hl_volume_shape){1, 1, 1};
  hl_windows *w = NULL;
  hl_error error = {0};
  assert_int_equal(
      hl_windows_new(&options, (hl_volume_shape){1 << 10, 1 << 11, 1 << 11}, &w, &error), HL_LIMIT);
  assert_non_null(strstr(error.msg, "windows"));
  assert_null(w);
}

static void test_augment_options(void **state) {
  (void)state;
  hl_augment_options good = HL_AUGMENT_SEGMENTATION, none = {0};
  assert_int_equal(hl_augment_check(&good, NULL), HL_OK);
  assert_int_equal(hl_augment_check(&none, NULL), HL_OK);
  hl_augment_options bad[] = {good, good, good, good, good, good, good};
  bad[0].histogram = 1.1;
  bad[1].contrast = NAN;
  bad[2].points[0] = 2;
  bad[3].points[1] = HL_AUGMENT_MAX_POINTS + 1;
  bad[4].gamma[0] = 0;
  bad[5].shift_most = NAN;
  bad[6].points[1] = 89;
  for (size_t i = 0; i < HL_COUNT(bad); i++)
    assert_int_equal(hl_augment_check(&bad[i], NULL), HL_INVALID_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parse),           cmocka_unit_test(test_steps),
      cmocka_unit_test(test_network_fails),   cmocka_unit_test(test_too_many_windows),
      cmocka_unit_test(test_augment_options),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
