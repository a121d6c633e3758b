/*
 * numeric/amplitude-vector.h - amplitudes of fields and how they differ from what was measured, a
 * vector at a time; private to the kernels, compiled once per instruction set.
 */
#ifndef HL_NUMERIC_AMPLITUDE_VECTOR_H
#define HL_NUMERIC_AMPLITUDE_VECTOR_H

#include <math.h>

#include "numeric/fft-vector.h"

/* The square root, and 1 / it where the square is no less than the smallest normal number, else 0.
 */
HL_INLINE vfloat hl_vroot(vfloat square, vfloat *ret_inverse) {
#if HL_VECTOR_BYTES == 64
  __m512 x = (__m512)square, r = _mm512_rsqrt14_ps(x);
  /* One step of Newton: to the last bit or two. */
  __m512 e = _mm512_fnmadd_ps(_mm512_mul_ps(x, r), r, _mm512_set1_ps(1));
  r = _mm512_fmadd_ps(_mm512_mul_ps(r, _mm512_set1_ps(0.5f)), e, r);
  r = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_set1_ps(0x1p-126f), _CMP_GE_OQ), r);
  *ret_inverse = (vfloat)r;
  return (vfloat)_mm512_mul_ps(x, r);
#else
  vfloat y, inverse;
  for (int i = 0; i < HL_WIDTH; i++) {
    y[i] = square[i] >= 0x1p-126f ? sqrtf(square[i]) : 0;
    inverse[i] = square[i] >= 0x1p-126f ? 1 / y[i] : 0;
  }
  *ret_inverse = inverse;
  return y;
#endif
}

/* The square root alone. */
HL_INLINE vfloat hl_vamplitude(vfloat square) {
#if HL_VECTOR_BYTES == 64
  /* Of 0 the root of the smallest normal number is taken, and 0 times its inverse is 0. */
  __m512 x = (__m512)square, r = _mm512_rsqrt14_ps(_mm512_max_ps(x, _mm512_set1_ps(0x1p-126f)));
  __m512 y = _mm512_mul_ps(x, r), e = _mm512_fnmadd_ps(y, y, x);
  return (vfloat)_mm512_fmadd_ps(_mm512_mul_ps(r, _mm512_set1_ps(0.5f)), e, y);
#else
  vfloat inverse;
  return hl_vroot(square, &inverse);
#endif
}

typedef struct hl_vsums {
  vfloat difference, target, amplitude; /* of absolute values */
} hl_vsums;

/* Adds to the sums, and returns what times the field makes the slope of |amplitude - target|: the
 * sign of the difference over the amplitude; 0 where either is 0. */
HL_INLINE vfloat hl_vdiffer(vfloat square, vfloat target, hl_vsums *sums) {
  vfloat inverse, amplitude = hl_vroot(square, &inverse), d = amplitude - target;
  sums->amplitude += amplitude;
#if HL_VECTOR_BYTES == 64
  __m512 x = (__m512)d;
  sums->difference += (vfloat)_mm512_abs_ps(x);
  sums->target += (vfloat)_mm512_abs_ps((__m512)target);
  __mmask16 some = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_NEQ_OQ);
  __m512i sign = _mm512_and_si512((__m512i)x, _mm512_set1_epi32((int)0x80000000u));
  return (vfloat)_mm512_maskz_mov_ps(some, (__m512)_mm512_xor_si512((__m512i)inverse, sign));
#else
  for (int i = 0; i < HL_WIDTH; i++) {
    sums->difference[i] += fabsf(d[i]);
    sums->target[i] += fabsf(target[i]);
    inverse[i] = d[i] > 0 ? inverse[i] : d[i] < 0 ? -inverse[i] : 0;
  }
  return inverse;
#endif
}

HL_INLINE double hl_vtotal(vfloat v) {
  double ret = 0;
  for (int i = 0; i < HL_WIDTH; i++) ret += (double)v[i];
  return ret;
}

#endif
