/*
 * native/winograd/transform.h - the transforms of F(4x4, 3x3), 16 channels at a time (inside
 * winograd/ only).
 */
#ifndef HL_NATIVE_WINOGRAD_TRANSFORM_H
#define HL_NATIVE_WINOGRAD_TRANSFORM_H

#include "winograd/cut.h"

typedef float vfloat __attribute__((vector_size(64), may_alias, aligned(64)));
typedef float vloose __attribute__((vector_size(64), may_alias, aligned(4)));

#define INLINE static inline __attribute__((always_inline, unused))

/* Compilers unroll fewer turns by themselves, and then keep the sums in memory. */
#ifdef __clang__
#define UNROLLED _Pragma("unroll 24")
#else
#define UNROLLED _Pragma("GCC unroll 24")
#endif

#define A 0.70710678118654752f /* the points are ±A and ±B; A * B = 1 */
#define B 1.41421356237309505f

/* An odd number of cache lines from plane to plane, so that they do not fall into the same sets. */
static inline size_t hl_winograd_plane(size_t floats) {
  size_t lines = floats / LANES + 1;
  return (lines | 1) * LANES;
}

enum { AHEAD = 2 }; /* tiles or blocks of channels, for prefetch_points */

/* The processor does not foresee 36 streams of writes; asked for two tiles ahead, the lines are
 * there when they are written. */
INLINE void prefetch_points(const float *at, size_t plane) {
  for (size_t k = 0; k < POINTS; k++) __builtin_prefetch(at + k * plane, 1, 2);
}

/* Bᵀ d: six cells to six points. */
INLINE void transform_cells(const vfloat d[IN], vfloat ret[IN]) {
  vfloat even = d[4] - 2.0f * d[2], odd = A * (d[3] - 2.0f * d[1]);
  ret[0] = d[0] - 2.5f * d[2] + d[4];
  ret[1] = even + odd;
  ret[2] = even - odd;
  even = d[4] - 0.5f * d[2];
  odd = B * (d[3] - 0.5f * d[1]);
  ret[3] = even + odd;
  ret[4] = even - odd;
  ret[5] = d[1] - 2.5f * d[3] + d[5];
}

/* Aᵀ m: six points to four results. */
INLINE void transform_back(const vfloat m[IN], vfloat ret[OUT]) {
  vfloat s1 = m[1] + m[2], d1 = m[1] - m[2], s2 = m[3] + m[4], d2 = m[3] - m[4];
  ret[0] = m[0] + s1 + s2;
  ret[1] = A * d1 + B * d2;
  ret[2] = 0.5f * s1 + 2.0f * s2;
  ret[3] = (0.5f * A) * d1 + (2.0f * B) * d2 + m[5];
}

/* A y: four gradients of results to six points, transform_back transposed. */
INLINE void transform_results(const vfloat y[OUT], vfloat ret[IN]) {
  vfloat even = y[0] + 0.5f * y[2], odd = A * (y[1] + 0.5f * y[3]);
  ret[0] = y[0];
  ret[1] = even + odd;
  ret[2] = even - odd;
  even = y[0] + 2.0f * y[2];
  odd = B * (y[1] + 2.0f * y[3]);
  ret[3] = even + odd;
  ret[4] = even - odd;
  ret[5] = y[3];
}

/* G g: three taps to six points. */
INLINE void transform_taps(const vfloat g[3], vfloat ret[IN]) {
  vfloat even = g[0] + 0.5f * g[2], odd = A * g[1];
  ret[0] = g[0];
  ret[1] = (even + odd) * (-2.0f / 3.0f); /* 1 / (2 A² (A² - B²)) */
  ret[2] = (even - odd) * (-2.0f / 3.0f);
  even = g[0] + 2.0f * g[2];
  odd = B * g[1];
  ret[3] = (even + odd) * (1.0f / 6.0f); /* 1 / (2 B² (B² - A²)) */
  ret[4] = (even - odd) * (1.0f / 6.0f);
  ret[5] = g[2];
}

/* Gᵀ u: six points to three taps. */
INLINE void transform_taps_back(const vfloat u[IN], vfloat ret[3]) {
  vfloat s1 = u[1] + u[2], d1 = u[1] - u[2], s2 = u[3] + u[4], d2 = u[3] - u[4];
  ret[0] = u[0] - (2.0f / 3.0f) * s1 + (1.0f / 6.0f) * s2;
  ret[1] = (A * -2.0f / 3.0f) * d1 + (B / 6.0f) * d2;
  ret[2] = (1.0f / 3.0f) * (s2 - s1) + u[5];
}

typedef uint16_t vhalf __attribute__((vector_size(32), may_alias, aligned(2)));
typedef uint32_t vuint __attribute__((vector_size(64), may_alias));

/* 16 channels in memory, as float32 or bfloat16; `half` is a constant where it is called. */
INLINE vfloat load_lanes(const void *x, size_t at, bool half) {
  if (!half) return *(const vloose *)((const float *)x + at);
  vhalf bits = *(const vhalf *)((const uint16_t *)x + at);
  return (vfloat)(__builtin_convertvector(bits, vuint) << 16);
}

/* Rounded to nearest, ties to even; NaN stays NaN. */
INLINE void store_lanes(void *y, size_t at, vfloat v, bool half) {
  if (!half) {
    *(vloose *)((float *)y + at) = v;
    return;
  }
  vuint bits = (vuint)v, rounded = (bits + ((bits >> 16 & 1) + 0x7FFF)) >> 16;
  vuint nan = (vuint)(v != v); /* NOLINT(misc-redundant-expression): true of NaN */
  rounded = (nan & (bits >> 16 | 0x40)) | (~nan & rounded);
  *(vhalf *)((uint16_t *)y + at) = __builtin_convertvector(rounded, vhalf);
}

/* A plane of 16 channels: pixels lie `pixel` elements apart. */
typedef struct surface {
  const void *x;
  ptrdiff_t h, w;
  size_t pixel;
  bool half;
} surface;

/* One tile's 6x6 cells of 16 channels; (top, left) may lie outside. */
INLINE void load_cells(surface p, ptrdiff_t top, ptrdiff_t left, vfloat cells[IN][IN]) {
  if (top >= 0 && left >= 0 && top + IN <= p.h && left + IN <= p.w) {
    size_t at = (size_t)(top * p.w + left) * p.pixel;
    for (size_t r = 0; r < IN; r++)
      for (size_t k = 0; k < IN; k++)
        cells[r][k] = load_lanes(p.x, at + (r * (size_t)p.w + k) * p.pixel, p.half);
    return;
  }
  for (ptrdiff_t r = 0; r < IN; r++)
    for (ptrdiff_t k = 0; k < IN; k++) {
      bool inside = top + r >= 0 && top + r < p.h && left + k >= 0 && left + k < p.w;
      size_t at = inside ? (size_t)((top + r) * p.w + left + k) * p.pixel : 0;
      cells[r][k] = inside ? load_lanes(p.x, at, p.half) : (vfloat){0};
    }
}

#endif
