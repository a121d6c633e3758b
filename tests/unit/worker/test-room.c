/* Room for inputs: what they need, and that too many are refused before memory is touched. */
#include "worker/room.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void needs(void **state) {
  (void)state;
  static const struct {
    int64_t batch, n_images;
    const char *data;
    hl_dtype dtype;
    int64_t dims[3];
    double bytes;
  } cases[] = {
      {1, 0, NULL, HL_FLOAT32, {-1, 4, 9}, 144},
      {8, 0, NULL, HL_FLOAT16, {-1, 4, 9}, 576},
      {8, 100, NULL, HL_FLOAT32, {-1, 4, 9}, 14400},
      {8, 100, "scan.npz", HL_FLOAT32, {-1, 4, 9}, 1152}, /* what a file holds, it says itself */
      {2, 0, NULL, HL_FLOAT32, {-1, INT64_MAX, INT64_MAX}, 8.0 * 0x1p63 * 0x1p63},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_port port = {.name = "x", .dtype = cases[i].dtype, .rank = 3};
    memcpy(port.dims, cases[i].dims, sizeof cases[i].dims);
    const hl_model_file file = {.inputs = &port, .input_count = 1};
    const hl_configuration c = {
        .batch_size = cases[i].batch, .n_images = cases[i].n_images, .test_data = cases[i].data};
    hl_error error = {0};
    assert_true(hl_room_needed(&c, &file) == cases[i].bytes);
    assert_int_equal(hl_room_check(&c, &file, UINT64_MAX, &error), HL_OK);
    assert_int_equal(hl_room_check(&c, &file, 100, &error), HL_OUT_OF_MEMORY);
    assert_non_null(strstr(error.msg, "inputs"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(needs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
