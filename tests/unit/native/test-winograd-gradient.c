/* The gradient of a kernel by Winograd's algorithm against the direct sum in double precision. */
#include "numeric/random.h"
#include "winograd/winograd.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LANES 16

static float *floats(size_t count) {
  return aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
}

static size_t slices(size_t depth) {
  return depth ? depth : 1;
}

static size_t blocks(size_t channels) {
  return (channels + LANES - 1) / LANES;
}

/* A blocked tensor of random numbers, whose channels beyond `channels` are 0. */
static float *blocked(size_t n, size_t channels, size_t plane, uint64_t stream) {
  size_t count = n * blocks(channels) * plane * LANES;
  float *x = floats(count);
  hl_random_fill_normal(x, count, 0.3, 1, 1, stream);
  for (size_t i = 0; i < count; i++) {
    size_t c = i / LANES / plane % blocks(channels) * LANES + i % LANES;
    if (c >= channels) x[i] = 0;
  }
  return x;
}

static const float *plane_of(const float *x, size_t n, size_t c, size_t channels, size_t plane) {
  return x + (n * blocks(channels) + c / LANES) * plane * LANES + c % LANES;
}

/* Tap (t, r, q) from input channel i to output channel o by definition. */
static double direct(const hl_winograd_shape *s, const float *x, const float *dy, size_t o,
                     size_t i, size_t t, size_t r, size_t q) {
  size_t in = slices(s->depth) * s->h * s->w, out = slices(s->odepth) * s->oh * s->ow;
  double sum = 0;
  for (size_t n = 0; n < s->n; n++) {
    const float *from = plane_of(x, n, i, s->ic, in), *to = plane_of(dy, n, o, s->oc, out);
    for (size_t at = 0; at < out; at++) {
      /* wraps where outside */
      size_t z = at / (s->oh * s->ow) + t - (s->depth ? s->front : 0);
      size_t y = at / s->ow % s->oh + r - s->top, g = at % s->ow + q - s->left;
      if (z >= slices(s->depth) || y >= s->h || g >= s->w) continue;
      sum += (double)to[at * LANES] * (double)from[((z * s->h + y) * s->w + g) * LANES];
    }
  }
  return sum;
}

/* The largest error, as a share of the largest gradient. */
static double error_of(const hl_winograd_shape *s, float **ret_dw) {
  size_t each = s->depth ? 27 : 9, count = s->oc * s->ic * each;
  float *x = blocked(s->n, s->ic, slices(s->depth) * s->h * s->w, 1);
  float *dy = blocked(s->n, s->oc, slices(s->odepth) * s->oh * s->ow, 2);
  uint64_t scratch_floats = hl_winograd_gradient_scratch_bytes(s) / sizeof(float);
  float *scratch = floats(scratch_floats), *dw = floats(count);
  memset(scratch, 0xff, scratch_floats * sizeof(float));
  memset(dw, 0xff, count * sizeof(float)); /* NaN: every gradient must be written */
  hl_winograd_gradient(s, x, dy, dw, scratch);
  double worst = 0, largest = 0;
  /* A part is enough where there are many channels. */
  for (size_t at = 0; at<count; at += count> 20000 ? 37 : 1) {
    size_t k = at % each, i = at / each % s->ic, o = at / each / s->ic;
    double want = direct(s, x, dy, o, i, s->depth ? k / 9 : 0, k / 3 % 3, k % 3);
    assert_true(isfinite(dw[at]));
    worst = fmax(worst, fabs((double)dw[at] - want));
    largest = fmax(largest, fabs(want));
  }
  free(x);
  free(dy);
  free(scratch);
  *ret_dw = dw;
  return worst / largest;
}

#define SAME(n_, ic_, oc_, h_, w_, threads_)                                                       \
  {                                                                                                \
    .n = (n_), .ic = (ic_), .oc = (oc_), .h = (h_), .w = (w_), .oh = (h_), .ow = (w_), .top = 1,   \
    .left = 1, .threads = (threads_)                                                               \
  }

static const hl_winograd_shape cases[] = {
    SAME(1, 16, 16, 8, 8, 1),
    SAME(2, 32, 64, 13, 22, 2),
    SAME(3, 48, 16, 14, 14, 3), /* the last 16 output channels by themselves */
    SAME(5, 60, 36, 7, 7, 2),   /* channels that do not fill a block */
    SAME(4, 64, 64, 64, 64, 2), /* several blocks of tiles, the last one smaller */
    SAME(2, 256, 128, 8, 8, 2),
    /* no padding; more on one side */
    {.n = 1, .ic = 32, .oc = 32, .h = 18, .w = 18, .oh = 16, .ow = 16, .threads = 2},
    {.n = 1, .ic = 16, .oc = 32, .h = 10, .w = 11, .oh = 11, .ow = 9, .top = 2, .threads = 1},
    /* volumes */
    {.n = 2,
     .ic = 32,
     .oc = 48,
     .h = 8,
     .w = 9,
     .oh = 8,
     .ow = 9,
     .top = 1,
     .left = 1,
     .depth = 5,
     .odepth = 5,
     .front = 1,
     .threads = 2},
    {.n = 1,
     .ic = 16,
     .oc = 16,
     .h = 40,
     .w = 40,
     .oh = 40,
     .ow = 40,
     .top = 1,
     .left = 1,
     .depth = 24,
     .odepth = 22,
     .front = 0,
     .threads = 2},
};

static void test_against_direct(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    hl_winograd_shape s = cases[i];
    if (!hl_winograd_gradient_suits(&s)) skip();
    float *dw = NULL;
    double error = error_of(&s, &dw);
    if (error > 1e-5) print_error("case %zu: %g\n", i, error);
    assert_true(error <= 1e-5);
    free(dw);
  }
}

static void test_threads_do_not_matter(void **state) {
  (void)state;
  hl_winograd_shape s = cases[1];
  if (!hl_winograd_gradient_suits(&s)) skip();
  float *one = NULL, *other = NULL;
  s.threads = 1;
  error_of(&s, &one);
  s.threads = 3;
  error_of(&s, &other);
  assert_memory_equal(one, other, s.oc * s.ic * 9 * sizeof(float));
  free(one);
  free(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_direct),
                                     cmocka_unit_test(test_threads_do_not_matter)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
