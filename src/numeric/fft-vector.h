/*
 * numeric/fft-vector.h - vectors of one instruction set, and the two ways numbers come into lanes
 * and leave them; private to fft-kernels.c and what is compiled as it is.
 *
 * HL_ISA and HL_VECTOR_BYTES come from the build. Nothing here computes: bits only move.
 */
#ifndef HL_NUMERIC_FFT_VECTOR_H
#define HL_NUMERIC_FFT_VECTOR_H

#include <stddef.h>

#if HL_VECTOR_BYTES > 16
#include <immintrin.h>
#endif

#define HL_CAT_(a, b) a##_##b
#define HL_CAT(a, b) HL_CAT_(a, b)
#define HL_FN(name) HL_CAT(name, HL_ISA)
#define HL_INLINE static inline __attribute__((always_inline, unused))

/* Before a loop whose values would not fit into registers otherwise, and before one whose numbers
 * are known only where it is unrolled. */
#if defined(__clang__)
#define HL_NO_UNROLL _Pragma("clang loop unroll(disable)")
#define HL_UNROLL _Pragma("clang loop unroll(enable)")
#else
#define HL_NO_UNROLL _Pragma("GCC unroll 1")
#define HL_UNROLL _Pragma("GCC unroll 24")
#endif

typedef float vfloat __attribute__((vector_size(HL_VECTOR_BYTES), may_alias, aligned(4)));

enum { HL_WIDTH = HL_VECTOR_BYTES / sizeof(float) };

HL_INLINE vfloat hl_vload(const float *x) {
  return *(const vfloat *)x;
}

HL_INLINE void hl_vstore(float *y, vfloat v) {
  *(vfloat *)y = v;
}

/* 2 HL_WIDTH floats (re, im) from a pair of vectors to their two parts, and back. */
HL_INLINE void hl_vsplit(vfloat a, vfloat b, vfloat *re, vfloat *im) {
#if HL_VECTOR_BYTES == 64
  *re = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  *im = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#elif HL_VECTOR_BYTES == 32
  *re = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
  *im = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
#else
  *re = __builtin_shufflevector(a, b, 0, 2, 4, 6);
  *im = __builtin_shufflevector(a, b, 1, 3, 5, 7);
#endif
}

HL_INLINE void hl_vjoin(vfloat re, vfloat im, vfloat *a, vfloat *b) {
#if HL_VECTOR_BYTES == 64
  *a = __builtin_shufflevector(re, im, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  *b =
      __builtin_shufflevector(re, im, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
#elif HL_VECTOR_BYTES == 32
  *a = __builtin_shufflevector(re, im, 0, 8, 1, 9, 2, 10, 3, 11);
  *b = __builtin_shufflevector(re, im, 4, 12, 5, 13, 6, 14, 7, 15);
#else
  *a = __builtin_shufflevector(re, im, 0, 4, 1, 5);
  *b = __builtin_shufflevector(re, im, 2, 6, 3, 7);
#endif
}

/* How many complex numbers a vector holds: hl_vtranspose turns a square of them. */
enum { HL_PAIRS = HL_WIDTH / 2 };

HL_INLINE void hl_vtranspose(vfloat v[HL_PAIRS]) {
#if HL_VECTOR_BYTES == 64
  __m512d a[8], b[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = _mm512_unpacklo_pd((__m512d)v[i], (__m512d)v[i + 1]);
    a[i + 1] = _mm512_unpackhi_pd((__m512d)v[i], (__m512d)v[i + 1]);
  }
  for (int i = 0; i < 8; i += 4)
    for (int k = 0; k < 2; k++) {
      b[i + k] = _mm512_shuffle_f64x2(a[i + k], a[i + k + 2], 0x88);
      b[i + k + 2] = _mm512_shuffle_f64x2(a[i + k], a[i + k + 2], 0xdd);
    }
  for (int k = 0; k < 4; k++) {
    v[k] = (vfloat)_mm512_shuffle_f64x2(b[k], b[k + 4], 0x88);
    v[k + 4] = (vfloat)_mm512_shuffle_f64x2(b[k], b[k + 4], 0xdd);
  }
#elif HL_VECTOR_BYTES == 32
  __m256d a[4];
  for (int i = 0; i < 4; i += 2) {
    a[i] = _mm256_unpacklo_pd((__m256d)v[i], (__m256d)v[i + 1]);
    a[i + 1] = _mm256_unpackhi_pd((__m256d)v[i], (__m256d)v[i + 1]);
  }
  for (int k = 0; k < 2; k++) {
    v[k] = (vfloat)_mm256_permute2f128_pd(a[k], a[k + 2], 0x20);
    v[k + 2] = (vfloat)_mm256_permute2f128_pd(a[k], a[k + 2], 0x31);
  }
#else
  vfloat a = __builtin_shufflevector(v[0], v[1], 0, 1, 4, 5);
  v[1] = __builtin_shufflevector(v[0], v[1], 2, 3, 6, 7);
  v[0] = a;
#endif
}

/* A square of HL_WIDTH x HL_WIDTH floats. */
HL_INLINE void hl_vsquare(vfloat v[HL_WIDTH]) {
#if HL_VECTOR_BYTES == 64
  __m512 a[16];
  for (int i = 0; i < 16; i += 2) {
    a[i] = _mm512_unpacklo_ps((__m512)v[i], (__m512)v[i + 1]);
    a[i + 1] = _mm512_unpackhi_ps((__m512)v[i], (__m512)v[i + 1]);
  }
  __m512d b[16];
  for (int i = 0; i < 16; i += 4)
    for (int k = 0; k < 2; k++) { /* b[i + c]: column c of each quarter, rows i..i + 3 */
      b[i + 2 * k] = _mm512_unpacklo_pd((__m512d)a[i + k], (__m512d)a[i + k + 2]);
      b[i + 2 * k + 1] = _mm512_unpackhi_pd((__m512d)a[i + k], (__m512d)a[i + k + 2]);
    }
  for (int c = 0; c < 4; c++) {
    __m512d low = _mm512_shuffle_f64x2(b[c], b[c + 4], 0x88);
    __m512d low2 = _mm512_shuffle_f64x2(b[c + 8], b[c + 12], 0x88);
    __m512d high = _mm512_shuffle_f64x2(b[c], b[c + 4], 0xdd);
    __m512d high2 = _mm512_shuffle_f64x2(b[c + 8], b[c + 12], 0xdd);
    v[c] = (vfloat)_mm512_shuffle_f64x2(low, low2, 0x88);
    v[c + 8] = (vfloat)_mm512_shuffle_f64x2(low, low2, 0xdd);
    v[c + 4] = (vfloat)_mm512_shuffle_f64x2(high, high2, 0x88);
    v[c + 12] = (vfloat)_mm512_shuffle_f64x2(high, high2, 0xdd);
  }
#else
  for (int i = 0; i < HL_WIDTH; i++)
    for (int k = 0; k < i; k++) {
      float swap = v[i][k];
      v[i][k] = v[k][i];
      v[k][i] = swap;
    }
#endif
}

#endif
