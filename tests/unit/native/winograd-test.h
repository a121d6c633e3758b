/*
 * Tests of Winograd's convolutions share this: tensors blocked by 16 channels or channels-last, and
 * the direct sum in double precision.
 */
#ifndef WINOGRAD_TEST_H
#define WINOGRAD_TEST_H

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

static inline float *floats(size_t count) {
  return aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
}

/* A tensor blocked by 16 channels; depth 1 for pictures. */
typedef struct extent {
  size_t channels, depth, h, w;
} extent;

static inline extent input_of(const hl_winograd_shape *s) {
  return (extent){s->ic, s->depth ? s->depth : 1, s->h, s->w};
}

static inline extent output_of(const hl_winograd_shape *s) {
  return (extent){s->oc, s->odepth ? s->odepth : 1, s->oh, s->ow};
}

static inline size_t size_of(extent e) {
  return e.channels * e.depth * e.h * e.w;
}

static inline size_t blocked(extent e, size_t n, size_t c, size_t z, size_t y, size_t x) {
  return ((((n * (e.channels / LANES) + c / LANES) * e.depth + z) * e.h + y) * e.w + x) * LANES +
         c % LANES;
}

/* Output (z, row, column) of channel `o` by definition. */
static inline double direct(const hl_winograd_shape *s, const float *x, const float *k, size_t n,
                            size_t o, size_t z, size_t row, size_t column) {
  extent in = input_of(s);
  size_t taps = s->depth ? 3 : 1;
  double sum = 0;
  for (size_t c = 0; c < s->ic; c++)
    for (size_t t = 0; t < taps; t++)
      for (size_t r = 0; r < 3; r++)
        for (size_t q = 0; q < 3; q++) {
          /* wraps where outside */
          size_t f = z + t - s->front, y = row + r - s->top, g = column + q - s->left;
          if (f >= in.depth || y >= s->h || g >= s->w) continue;
          sum += (double)x[blocked(in, n, c, f, y, g)] *
                 (double)k[(((o * s->ic + c) * taps + t) * 3 + r) * 3 + q];
        }
  return sum;
}

static inline uint16_t narrowed(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static inline float widened(uint16_t x) {
  uint32_t bits = (uint32_t)x << 16;
  float ret;
  memcpy(&ret, &bits, sizeof ret);
  return ret;
}

/* Random numbers that bfloat16 holds, blocked as float32 and channels-last as bfloat16. */
static inline void fill_both(extent e, size_t n, uint64_t stream, float *ret_x,
                             uint16_t *ret_half) {
  hl_random_fill_normal(ret_x, n * size_of(e), 0.2, 1, 1, stream);
  size_t pixels = e.depth * e.h * e.w;
  for (size_t i = 0; i < n; i++)
    for (size_t c = 0; c < e.channels; c++)
      for (size_t p = 0; p < pixels; p++) {
        float *x =
            &ret_x[((i * (e.channels / LANES) + c / LANES) * pixels + p) * LANES + c % LANES];
        uint16_t half = narrowed(*x);
        *x = widened(half);
        ret_half[(i * pixels + p) * e.channels + c] = half;
      }
}

#endif
