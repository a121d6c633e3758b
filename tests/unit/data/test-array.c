/* Conversion between element types, shapes, half precision. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/array.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void test_count(void **state) {
  (void)state;
  static const struct {
    int32_t rank;
    int64_t dims[3];
    bool good;
    int64_t count;
  } cases[] = {{0, {0}, true, 1},
               {1, {5}, true, 5},
               {3, {2, 3, 4}, true, 24},
               {2, {0, INT64_MAX}, true, 0},
               {2, {-1, 3}, false, 0},
               {2, {INT64_MAX, 2}, false, 0},
               {3, {INT64_MAX, 2, 0}, false, 0}};
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    int64_t count = 0;
    assert_int_equal(hl_array_count(cases[i].rank, cases[i].dims, &count), cases[i].good);
    assert_int_equal(count, cases[i].count);
  }
}

static void test_half(void **state) {
  (void)state;
  static const struct {
    float value;
    uint16_t bits;
  } cases[] = {{0, 0},
               {1, 0x3c00},
               {-2, 0xc000},
               {65504, 0x7bff},
               {65519, 0x7bff},
               {65520, 0x7c00},
               {0x1p-24f, 1},
               {0x1p-25f, 0},
               {0x1p-14f, 0x400},
               {0x1.8p-25f, 1},
               {1 + 0x1p-11f, 0x3c00},
               {1 + 0x3p-11f, 0x3c02},
               {INFINITY, 0x7c00},
               {0.1f, 0x2e66}};
  for (size_t i = 0; i < HL_COUNT(cases); i++)
    assert_int_equal(hl_half_from_float(cases[i].value), cases[i].bits);
  for (unsigned bits = 0; bits < 65536; bits++) {
    float value = hl_half_to_float((uint16_t)bits);
    if (isnan(value))
      assert_true(isnan(hl_half_to_float(hl_half_from_float(value))));
    else
      assert_int_equal(hl_half_from_float(value), bits);
  }
}

static void test_convert(void **state) {
  (void)state;
  static const struct {
    double value;
    hl_dtype to;
    bool good;
  } cases[] = {
      {255, HL_UINT8, true},   {256, HL_UINT8, false},   {-1, HL_UINT64, false},
      {0.5, HL_INT32, false},  {1, HL_BOOL, true},       {2, HL_BOOL, false},
      {-128, HL_INT8, true},   {-129, HL_INT8, false},   {9007199254740992.0, HL_INT64, true},
      {1e19, HL_INT64, false}, {1e19, HL_UINT64, true},  {NAN, HL_INT32, false},
      {0.5, HL_FLOAT16, true}, {-3.25, HL_FLOAT32, true}};
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    double value = cases[i].value;
    const hl_tensor_view view = {"v", HL_FLOAT64, 2, {1, 1}, &value, sizeof value};
    hl_tensor_view got;
    hl_error error = {0};
    hl_status status = hl_array_convert(&view, cases[i].to, "x.npz: array 'v'", &got, &error);
    assert_int_equal(status, cases[i].good ? HL_OK : HL_BAD_DATA);
    if (cases[i].good) {
      assert_true(hl_array_at(&got, 0) == value);
      hl_array_release(&got);
    } else {
      assert_non_null(strstr(error.msg, "x.npz: array 'v' holds"));
      assert_non_null(strstr(error.msg, "[0, 0]"));
    }
  }
}

/* Through float64 these would be equal. */
static void test_convert_large_integers(void **state) {
  (void)state;
  int64_t from[2] = {INT64_MAX, INT64_MAX - 1};
  const hl_tensor_view view = {"v", HL_INT64, 1, {2}, from, sizeof from};
  hl_tensor_view got;
  assert_int_equal(hl_array_convert(&view, HL_UINT64, "v", &got, NULL), HL_OK);
  assert_true(((uint64_t *)got.data)[0] == (uint64_t)INT64_MAX);
  assert_true(((uint64_t *)got.data)[1] == (uint64_t)INT64_MAX - 1);
  hl_array_release(&got);
}

static void test_convert_complex(void **state) {
  (void)state;
  float from[2] = {3, 4};
  const hl_tensor_view view = {"v", HL_COMPLEX64, 1, {1}, from, sizeof from};
  hl_tensor_view got;
  assert_true(hl_array_at(&view, 0) == 5);
  assert_int_equal(hl_array_convert(&view, HL_COMPLEX128, "v", &got, NULL), HL_OK);
  assert_true(((double *)got.data)[1] == 4);
  hl_array_release(&got);
  assert_int_equal(hl_array_convert(&view, HL_FLOAT32, "v", &got, NULL), HL_UNIMPLEMENTED);
}

static void test_finite(void **state) {
  (void)state;
  double d[6] = {0, 1, 2, 3, 4, INFINITY};
  float c[12] = {[7] = NAN};
  uint16_t h[6] = {0, 0, 0x7e00, 0, 0, 0};
  int32_t n[6] = {0};
  const struct {
    hl_tensor_view view;
    const char *words;
  } cases[] = {{{"v", HL_FLOAT64, 2, {2, 3}, d, sizeof d}, "v holds an infinity at [1, 2]"},
               {{"v", HL_COMPLEX64, 2, {2, 3}, c, sizeof c}, "v holds NaN at [1, 0]"},
               {{"v", HL_FLOAT16, 2, {2, 3}, h, sizeof h}, "v holds NaN at [0, 2]"},
               {{"v", HL_INT32, 2, {2, 3}, n, sizeof n}, NULL}};
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_error error = {0};
    hl_status status = hl_array_check_finite(&cases[i].view, "v", &error);
    assert_int_equal(status, cases[i].words ? HL_BAD_DATA : HL_OK);
    if (cases[i].words) assert_non_null(strstr(error.msg, cases[i].words));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_count),           cmocka_unit_test(test_half),
      cmocka_unit_test(test_convert),         cmocka_unit_test(test_convert_large_integers),
      cmocka_unit_test(test_convert_complex), cmocka_unit_test(test_finite),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
