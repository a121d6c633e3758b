#include "imaging/telescope-object.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { side = 96, image = 200 };
static float one[side * side], again[side * side], other[side * side], picture[image * image];

static void is_a_picture_of_its_seed(void **state) {
  (void)state;
  hl_telescope_object_make(side, 1, one);
  hl_telescope_object_make(side, 1, again);
  hl_telescope_object_make(side, 2, other);
  assert_memory_equal(one, again, sizeof one);
  assert_memory_not_equal(one, other, sizeof one);
  double sum = 0, square = 0;
  for (int i = 0; i < side * side; i++) {
    assert_true(one[i] >= 0 && one[i] <= 1);
    sum += (double)one[i];
    square += (double)one[i] * (double)one[i];
  }
  double mean = sum / (side * side), variance = square / (side * side) - mean * mean;
  assert_true(mean > 0.2 && mean < 0.6 && variance > 0.03); /* something is there, and not all */
  assert_true(one[0] == 0 && one[side - 1] == 0 && one[side * side - 1] == 0); /* dark corners */
  assert_true(one[side / 2 * side + side / 2] > 0);
}

static void any_side_will_do(void **state) {
  (void)state;
  for (int64_t n = 1; n <= 9; n++) {
    memset(one, 0xFF, sizeof one);
    hl_telescope_object_make(n, 3, one);
    for (int64_t i = 0; i < n * n; i++) assert_true(one[i] >= 0 && one[i] <= 1);
    assert_true(isnan(one[n * n])); /* untouched */
  }
}

static void lies_in_the_middle(void **state) {
  (void)state;
  hl_telescope_object_make(side, 1, one);
  hl_telescope_object_place(one, side, image, picture);
  int first = image / 2 - side / 2;
  for (int i = 0; i < image; i++)
    for (int j = 0; j < image; j++) {
      int y = i - first, x = j - first;
      int inside = y >= 0 && y < side && x >= 0 && x < side;
      assert_true(picture[i * image + j] == (inside ? one[y * side + x] : 0));
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(is_a_picture_of_its_seed),
      cmocka_unit_test(any_side_will_do),
      cmocka_unit_test(lies_in_the_middle),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
