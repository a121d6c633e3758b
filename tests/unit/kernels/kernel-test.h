/*
 * Kernel tests share this: every build that this processor can run is called directly, on 1 and 3
 * threads, on arrays of exact size (so that a sanitizer sees a step beyond), and compared with
 * plain loops in double.
 */
#ifndef KERNEL_TEST_H
#define KERNEL_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels.h"

static const char *const isa_names[] = {"baseline", "avx2", "avx512"};
static const size_t odd_sizes[] = {1, 3, 15, 16, 17, 33};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* `count` floats that look random, between -1 and 1. */
static inline float *filled(size_t count, uint64_t seed) {
  float *ret = malloc((count ? count : 1) * sizeof *ret);
  assert_non_null(ret);
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (size_t i = 0; i < count; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    ret[i] = (float)((double)(state >> 33) / (double)(1u << 30) - 1);
  }
  return ret;
}

/* An array that no result can be mistaken for. */
static inline float *poisoned(size_t count) {
  float *ret = malloc((count ? count : 1) * sizeof *ret);
  assert_non_null(ret);
  for (size_t i = 0; i < count; i++) ret[i] = 12345;
  return ret;
}

static inline float *copied(const float *x, size_t count) {
  float *ret = malloc((count ? count : 1) * sizeof *ret);
  assert_non_null(ret);
  memcpy(ret, x, count * sizeof *ret);
  return ret;
}

/* Largest difference over the largest expected value (at least 1e-3) must be within `tolerance`. */
static inline void assert_close(const char *isa, const char *what, const float *found,
                                const double *expected, size_t count, double tolerance) {
  double top = 1e-3;
  for (size_t i = 0; i < count; i++)
    if (fabs(expected[i]) > top) top = fabs(expected[i]);
  for (size_t i = 0; i < count; i++)
    if (!(fabs((double)found[i] - expected[i]) <= tolerance * top))
      fail_msg("%s, %s: element %zu of %zu is %.9g, expected %.9g", isa, what, i, count,
               (double)found[i], expected[i]);
}

/* Runs `body` for each build and number of threads. */
#define FOR_EACH_BUILD(kernels, threads)                                                           \
  for (size_t build_ = 0; build_ < COUNT(isa_names); build_++)                                     \
    for (const hl_kernels *kernels = hl_kernels_by_name(isa_names[build_]); kernels;               \
         kernels = NULL)                                                                           \
      for (unsigned threads = 1; threads <= 3; threads += 2)

#endif
