#include "statistics/adjust.h"

#include <math.h>
#include <stdlib.h>

typedef struct test {
  double p;
  size_t place;
} test;

static int compare(const void *a, const void *b) {
  double x = ((const test *)a)->p, y = ((const test *)b)->p;
  return (x > y) - (x < y);
}

/* In ascending order of p; free() them. */
static hl_status ordered(const double *p, size_t n, test **ret_tests, hl_error *error) {
  for (size_t i = 0; i < n; i++)
    if (!(p[i] >= 0 && p[i] <= 1))
      return hl_error_set(error, HL_INVALID_ARGUMENT, "p value %zu is %g; it has to be in 0..1",
                          i + 1, p[i]);
  test *tests = calloc(n + 1, sizeof *tests);
  if (!tests) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %zu p values", n);
  for (size_t i = 0; i < n; i++) tests[i] = (test){p[i], i};
  qsort(tests, n, sizeof *tests, compare);
  *ret_tests = tests;
  return HL_OK;
}

hl_status hl_adjust_benjamini_hochberg(const double *p, size_t n, double *ret_adjusted,
                                       hl_error *error) {
  test *tests = NULL;
  hl_status status = ordered(p, n, &tests, error);
  if (status != HL_OK) return status;
  double least = 1;
  for (size_t k = n; k-- > 0;) {
    least = fmin(least, tests[k].p * (double)n / (double)(k + 1));
    ret_adjusted[tests[k].place] = least;
  }
  free(tests);
  return HL_OK;
}
