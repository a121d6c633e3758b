/*
 * native/kernels/vector.h - whole-width vectors, for loops that the compiler does not vectorise
 * well by itself: a maximum, e^x and sums along rows of any length; private.
 *
 * A row's last, partial vector is read with a filler and written in part, so no loop has a scalar
 * tail and no row is read or written beyond its end.
 */
#ifndef HL_NATIVE_VECTOR_H
#define HL_NATIVE_VECTOR_H

#include <math.h>

#include "isa.h"
#include "vmath.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

typedef int32_t vint __attribute__((vector_size(HL_VECTOR_BYTES), may_alias));

/* Compilers unroll fewer turns by themselves, and then keep the sums in memory. */
#ifdef __clang__
#define HL_UNROLLED _Pragma("clang loop unroll(full)")
#define HL_ROLLED _Pragma("nounroll") /* several steps at once spill sums */
#else
#define HL_UNROLLED _Pragma("GCC unroll 8")
#define HL_ROLLED _Pragma("GCC unroll 1")
#endif

HL_INLINE vfloat hl_vload(const float *x) {
  return *(const vfloat_unaligned *)x;
}

HL_INLINE void hl_vstore(float *y, vfloat v) {
  *(vfloat_unaligned *)y = v;
}

HL_INLINE vfloat hl_vset(float x) {
  return x - (vfloat){0};
}

/* a where the comparison held, b elsewhere. */
HL_INLINE vfloat hl_vselect(vint mask, vfloat a, vfloat b) {
  return (vfloat)((mask & (vint)a) | (~mask & (vint)b));
}

/* The first `count` (< HL_LANES) of a vector; the others are `filler`. */
HL_INLINE vfloat hl_vload_part(const float *x, size_t count, float filler) {
#if HL_VECTOR_BYTES == 64
  return (vfloat)_mm512_mask_loadu_ps(_mm512_set1_ps(filler), (__mmask16)((1u << count) - 1), x);
#else
  float buffer[HL_LANES];
  for (size_t i = 0; i < HL_LANES; i++) buffer[i] = i < count ? x[i] : filler;
  return hl_vload(buffer);
#endif
}

HL_INLINE void hl_vstore_part(float *y, size_t count, vfloat v) {
#if HL_VECTOR_BYTES == 64
  _mm512_mask_storeu_ps(y, (__mmask16)((1u << count) - 1), (__m512)v);
#else
  float buffer[HL_LANES];
  hl_vstore(buffer, v);
  for (size_t i = 0; i < count; i++) y[i] = buffer[i];
#endif
}

/* The first `count` lanes of v, 0 in the others. */
HL_INLINE vfloat hl_vpart(vfloat v, size_t count) {
#if HL_VECTOR_BYTES == 64
  return (vfloat)_mm512_maskz_mov_ps((__mmask16)((1u << count) - 1), (__m512)v);
#else
  for (size_t l = 0; l < HL_LANES; l++) v[l] = l < count ? v[l] : 0;
  return v;
#endif
}

/* The larger; b where either is NaN. */
HL_INLINE vfloat hl_vmax(vfloat a, vfloat b) {
#if HL_VECTOR_BYTES == 64
  return (vfloat)_mm512_max_ps((__m512)a, (__m512)b);
#elif HL_VECTOR_BYTES == 32
  return (vfloat)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
  return (vfloat)_mm_max_ps((__m128)a, (__m128)b);
#else
  return hl_vselect(a > b, a, b);
#endif
}

/* hl_leaky of a vector. */
HL_INLINE vfloat hl_vleaky(vfloat v, float slope) {
  return hl_vselect(v > 0, v, hl_vmax(hl_vset(hl_least(slope)), v) * slope);
}

/* e^x for x <= 0: as hl_exp with a degree-5 polynomial (1.1e-7), 0 below about 2^-126. At the
 * lowest x the exponent field comes out 0, so that masked scores of -inf give an exact 0. */
HL_INLINE vfloat hl_vexp_nonpositive(vfloat x) {
  const vfloat magic = hl_vset(0x1.8p23f);
  vfloat c = hl_vmax(hl_vset(-88.0f), x); /* this order keeps NaN */
  vfloat t = c * 0x1.715476p0f + magic;
  vfloat n = t - magic;
  vfloat r = c - n * 0x1.62e4p-1f;
  r = r - n * 0x1.7f7d1cp-20f;
  vfloat p = r * 0x1.10621ap-7f + 0x1.572adap-5f;
  p = p * r + 0x1.5557bp-3f;
  p = p * r + 0x1.fffdfap-2f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  vint exponent = (vint)t - ((vint)magic - 127);
  return p * (vfloat)(exponent << 23);
}

/* y[i * y_stride + j] = x[j * x_stride + i] for i, j < 4. */
HL_INLINE void hl_transpose4(float *y, ptrdiff_t y_stride, const float *x, ptrdiff_t x_stride) {
#if defined(__SSE2__)
  __m128 a = _mm_loadu_ps(x), b = _mm_loadu_ps(x + x_stride);
  __m128 c = _mm_loadu_ps(x + 2 * x_stride), d = _mm_loadu_ps(x + 3 * x_stride);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_storeu_ps(y, a);
  _mm_storeu_ps(y + y_stride, b);
  _mm_storeu_ps(y + 2 * y_stride, c);
  _mm_storeu_ps(y + 3 * y_stride, d);
#else
  for (ptrdiff_t i = 0; i < 4; i++)
    for (ptrdiff_t j = 0; j < 4; j++) y[i * y_stride + j] = x[j * x_stride + i];
#endif
}

#if HL_VECTOR_BYTES == 64
/* The same for i, j < 16: pairs, fours and so on of rows exchange what is beside the diagonal. */
HL_INLINE void hl_transpose16(float *y, ptrdiff_t y_stride, const float *x, ptrdiff_t x_stride) {
  __m512 a[16], b[16];
  HL_UNROLLED
  for (int r = 0; r < 16; r++) a[r] = _mm512_loadu_ps(x + r * x_stride);
  HL_UNROLLED
  for (int r = 0; r < 16; r += 2) {
    b[r] = _mm512_unpacklo_ps(a[r], a[r + 1]);
    b[r + 1] = _mm512_unpackhi_ps(a[r], a[r + 1]);
  }
  HL_UNROLLED
  for (int r = 0; r < 16; r += 4) HL_UNROLLED for (int k = 0; k < 2; k++) {
      __m512d low = (__m512d)b[r + k], high = (__m512d)b[r + k + 2];
      a[r + 2 * k] = (__m512)_mm512_unpacklo_pd(low, high);
      a[r + 2 * k + 1] = (__m512)_mm512_unpackhi_pd(low, high);
    }
  /* a[4 q + c] has, in its four parts p, column 4 p + c of rows 4 q to 4 q + 3. */
  HL_UNROLLED
  for (int c = 0; c < 4; c++) {
    __m512 even = _mm512_shuffle_f32x4(a[c], a[4 + c], 0x88);
    __m512 odd = _mm512_shuffle_f32x4(a[c], a[4 + c], 0xDD);
    __m512 even2 = _mm512_shuffle_f32x4(a[8 + c], a[12 + c], 0x88);
    __m512 odd2 = _mm512_shuffle_f32x4(a[8 + c], a[12 + c], 0xDD);
    _mm512_storeu_ps(y + c * y_stride, _mm512_shuffle_f32x4(even, even2, 0x88));
    _mm512_storeu_ps(y + (4 + c) * y_stride, _mm512_shuffle_f32x4(odd, odd2, 0x88));
    _mm512_storeu_ps(y + (8 + c) * y_stride, _mm512_shuffle_f32x4(even, even2, 0xDD));
    _mm512_storeu_ps(y + (12 + c) * y_stride, _mm512_shuffle_f32x4(odd, odd2, 0xDD));
  }
}
#endif

/* The same for i < rows and j < columns, in bands of 16 columns: 16 lines of x are in use at a
 * time, which any stride leaves room for in the cache. */
HL_INLINE void hl_transpose(float *y, ptrdiff_t y_stride, const float *x, ptrdiff_t x_stride,
                            size_t rows, size_t columns) {
  ptrdiff_t height = (ptrdiff_t)rows, width = (ptrdiff_t)columns;
  for (ptrdiff_t band = 0; band < width; band += 16) {
    ptrdiff_t end = band + 16 < width ? band + 16 : width, whole = band + (end - band) / 4 * 4;
    ptrdiff_t i = 0;
#if HL_VECTOR_BYTES == 64
    for (; end - band == 16 && i + 16 <= height; i += 16)
      hl_transpose16(y + i * y_stride + band, y_stride, x + band * x_stride + i, x_stride);
#endif
    for (; i + 4 <= height; i += 4) {
      for (ptrdiff_t j = band; j < whole; j += 4)
        hl_transpose4(y + i * y_stride + j, y_stride, x + j * x_stride + i, x_stride);
      for (ptrdiff_t j = whole; j < end; j++)
        for (ptrdiff_t r = i; r < i + 4; r++) y[r * y_stride + j] = x[j * x_stride + r];
    }
    for (; i < height; i++)
      for (ptrdiff_t j = band; j < end; j++) y[i * y_stride + j] = x[j * x_stride + i];
  }
}

/* Sum and maximum of the lanes, halving: lane l with lane l + half. */
HL_INLINE float hl_vsum(vfloat v) {
#if HL_VECTOR_BYTES == 64
  return _mm512_reduce_add_ps((__m512)v);
#else
  float lane[HL_LANES];
  hl_vstore(lane, v);
  for (size_t half = HL_LANES / 2; half > 0; half /= 2)
    for (size_t l = 0; l < half; l++) lane[l] += lane[l + half];
  return lane[0];
#endif
}

HL_INLINE float hl_vlargest(vfloat v) {
#if HL_VECTOR_BYTES == 64
  return _mm512_reduce_max_ps((__m512)v);
#else
  float lane[HL_LANES];
  hl_vstore(lane, v);
  for (size_t half = HL_LANES / 2; half > 0; half /= 2)
    for (size_t l = 0; l < half; l++) lane[l] = lane[l + half] > lane[l] ? lane[l + half] : lane[l];
  return lane[0];
#endif
}

/* y = scale · x + mask (or NULL), and its largest element (NaN ignored); y may be x. */
HL_INLINE float hl_row_scale(float *y, const float *x, const float *mask, size_t n, float scale) {
  vfloat top = hl_vset(-INFINITY);
  size_t i = 0;
  for (; i + HL_LANES <= n; i += HL_LANES) {
    vfloat v = hl_vload(x + i) * scale;
    if (mask) v += hl_vload(mask + i);
    hl_vstore(y + i, v);
    top = hl_vmax(v, top);
  }
  if (i < n) {
    vfloat v = hl_vload_part(x + i, n - i, 0) * scale;
    if (mask) v += hl_vload_part(mask + i, n - i, 0);
    hl_vstore_part(y + i, n - i, v);
    top = hl_vmax(hl_vload_part(y + i, n - i, -INFINITY), top);
  }
  return hl_vlargest(top);
}

HL_INLINE float hl_row_max(const float *x, size_t n) {
  vfloat top = hl_vset(-INFINITY);
  size_t i = 0;
  for (; i + HL_LANES <= n; i += HL_LANES) top = hl_vmax(hl_vload(x + i), top);
  if (i < n) top = hl_vmax(hl_vload_part(x + i, n - i, -INFINITY), top);
  return hl_vlargest(top);
}

/* y = e^(x - base), and its sum; y may be x, or NULL for the sum alone. */
HL_INLINE float hl_row_exp(float *y, const float *x, size_t n, float base) {
  vfloat sum = {0};
  size_t i = 0;
  for (; i + HL_LANES <= n; i += HL_LANES) {
    vfloat v = hl_vexp_nonpositive(hl_vload(x + i) - base);
    if (y) hl_vstore(y + i, v);
    sum += v;
  }
  if (i < n) {
    vfloat v = hl_vexp_nonpositive(hl_vload_part(x + i, n - i, -INFINITY) - base);
    if (y) hl_vstore_part(y + i, n - i, v);
    sum += hl_vpart(v, n - i); /* base may be -inf, and the filler's exponential NaN */
  }
  return hl_vsum(sum);
}

#endif
