/* Synthetic inputs, and neighbours against a search of all pairs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/data.h"
#include "data/neighbours.h"
#include "numeric/random.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const hl_port ports[] = {{"x", HL_FLOAT32, 3, {-1, 20, 30}},
                                {"half", HL_FLOAT16, 2, {-1, 50}},
                                {"ids", HL_INT64, 2, {1, 40}},
                                {"mask", HL_BOOL, 2, {-1, 40}}};

static void test_synthetic(void **state) {
  (void)state;
  hl_dataset *d = NULL;
  assert_int_equal(hl_dataset_synthetic(ports, NULL, 4, 10, 42, &d, NULL), HL_OK);
  assert_int_equal(d->count, 10);
  assert_int_equal(d->input_count, 4);
  for (size_t i = 0; i < 4; i++) {
    assert_string_equal(d->inputs[i].name, ports[i].name);
    assert_int_equal(d->inputs[i].dtype, ports[i].dtype);
    assert_int_equal(d->inputs[i].dims[0], 10);
  }
  const float *x = d->inputs[0].data;
  double sum = 0, squares = 0;
  for (int i = 0; i < 6000; i++) {
    sum += (double)x[i];
    squares += (double)x[i] * (double)x[i];
  }
  assert_true(fabs(sum / 6000) < 0.06);
  assert_true(fabs(squares / 6000 - 1) < 0.08);
  int ones = 0;
  for (int i = 0; i < 400; i++) {
    int64_t id = ((int64_t *)d->inputs[2].data)[i];
    assert_true(id == 0 || id == 1);
    ones += (int)id;
    assert_true(((uint8_t *)d->inputs[3].data)[i] <= 1);
  }
  assert_in_range(ones, 140, 260);
  assert_non_null(strstr(d->description, "10 synthetic inputs"));
  hl_dataset_free(d);
}

/* The first inputs do not depend on how many there are; seeds do matter. */
static void test_synthetic_seeds(void **state) {
  (void)state;
  hl_dataset *a = NULL, *b = NULL, *c = NULL;
  assert_int_equal(hl_dataset_synthetic(ports, NULL, 1, 2, 42, &a, NULL), HL_OK);
  assert_int_equal(hl_dataset_synthetic(ports, NULL, 1, 5, 42, &b, NULL), HL_OK);
  assert_int_equal(hl_dataset_synthetic(ports, NULL, 1, 2, 43, &c, NULL), HL_OK);
  assert_memory_equal(a->inputs[0].data, b->inputs[0].data, a->inputs[0].bytes);
  assert_memory_not_equal(a->inputs[0].data, c->inputs[0].data, a->inputs[0].bytes);
  hl_dataset_free(a);
  hl_dataset_free(b);
  hl_dataset_free(c);
}

static void test_synthetic_refuses(void **state) {
  (void)state;
  static const struct {
    hl_port port;
    int64_t count;
    hl_status status;
  } cases[] = {{{"x", HL_FLOAT32, 2, {-1, 3}}, 0, HL_INVALID_ARGUMENT},
               {{"x", HL_FLOAT32, 2, {-1, -1}}, 1, HL_INVALID_ARGUMENT},
               {{"x", HL_FLOAT32, 0, {0}}, 1, HL_INVALID_ARGUMENT},
               {{"x", HL_STRING, 2, {-1, 3}}, 1, HL_LIMIT},
               {{"x", HL_FLOAT32, 3, {-1, INT64_MAX, 3}}, 1, HL_LIMIT},
               {{"x", HL_FLOAT32, 2, {-1, 1 << 20}}, INT64_MAX / 2, HL_LIMIT}};
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_dataset *d = NULL;
    hl_error error = {0};
    hl_status status = hl_dataset_synthetic(&cases[i].port, NULL, 1, cases[i].count, 1, &d, &error);
    assert_int_equal(status, cases[i].status);
    assert_null(d);
  }
}

enum { points = 400, k = 6 };

static void check_nearest(const double *x, const double *y, const int64_t *found) {
  for (int i = 0; i < points; i++) {
    double worst = 0;
    for (int j = 0; j < k; j++) {
      int64_t n = found[i * k + j];
      assert_true(n >= 0 && n < points && n != i);
      worst = fmax(worst, hypot(x[n] - x[i], y[n] - y[i]));
      for (int l = 0; l < j; l++) assert_true(found[i * k + l] != n);
    }
    int nearer = 0;
    for (int n = 0; n < points; n++)
      nearer += n != i && hypot(x[n] - x[i], y[n] - y[i]) < worst - 1e-12;
    assert_true(nearer < k);
  }
}

static void test_neighbours(void **state) {
  (void)state;
  static double x[points], y[points];
  static int64_t found[points * k];
  hl_random random;
  hl_random_init(&random, 5, 0);
  for (int kind = 0; kind < 4; kind++) { /* random, grid, line, one point */
    for (int i = 0; i < points; i++) {
      x[i] = kind == 0 ? hl_random_normal(&random) : kind == 1 ? i % 20 : kind == 2 ? i : 3;
      y[i] = kind == 0 ? hl_random_normal(&random) : kind == 1 ? i / 20 : 1;
    }
    assert_int_equal(hl_neighbours_find(x, y, points, k, found, NULL), HL_OK);
    check_nearest(x, y, found);
  }
  /* Ties are taken in the order of indices. */
  for (int j = 0; j < k; j++) assert_int_equal(found[j], j + 1);
}

static void test_neighbours_refuses(void **state) {
  (void)state;
  const double x[5] = {0, 1, 2, 3, 4};
  int64_t found[20];
  hl_error error = {0};
  assert_int_equal(hl_neighbours_find(x, x, 5, 4, found, &error), HL_OK);
  static const int bad[] = {0, -1, 5, 65};
  for (size_t i = 0; i < HL_COUNT(bad); i++)
    assert_int_equal(hl_neighbours_find(x, x, 5, bad[i], found, &error), HL_INVALID_ARGUMENT);
  assert_int_equal(hl_neighbours_group(x, x, 4, 4, 1, found, &error), HL_INVALID_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_synthetic),          cmocka_unit_test(test_synthetic_seeds),
      cmocka_unit_test(test_synthetic_refuses),  cmocka_unit_test(test_neighbours),
      cmocka_unit_test(test_neighbours_refuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
