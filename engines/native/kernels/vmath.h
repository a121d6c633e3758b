/*
 * native/kernels/vmath.h - branch-free f32 functions that loops can be vectorised over; private.
 *
 * Errors against double, swept by tests/unit/kernels: exp, erf, tanh and sigmoid at most 4e-7 of
 * the value, GELU 1e-6 of the value or of 1. NaN goes through; infinities have their limits.
 */
#ifndef HL_NATIVE_VMATH_H
#define HL_NATIVE_VMATH_H

#include <float.h>
#include <math.h>

#include "isa.h"

HL_INLINE uint32_t hl_bits(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

HL_INLINE float hl_float(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

/* e^x: x = n ln 2 + r with ln 2 in two parts (Cody and Waite 1980), a degree-6 minimax polynomial
 * on |r| <= ln 2 / 2 (4.5e-9), and 2^n in two factors, so that results below 2^-126 are right. */
HL_INLINE float hl_exp(float x) {
  const float magic = 0x1.8p23f; /* adding it rounds to an integer in the low bits */
  x = x > 89.0f ? 89.0f : x;
  x = x < -104.0f ? -104.0f : x;
  float t = x * 0x1.715476p0f + magic;
  float n = t - magic;
  float r = x - n * 0x1.62e4p-1f;
  r = r - n * 0x1.7f7d1cp-20f;
  float p = 0x1.6a168cp-10f;
  p = p * r + 0x1.123a82p-7f;
  p = p * r + 0x1.555904p-5f;
  p = p * r + 0x1.55549p-3f;
  p = p * r + 0x1.fffffcp-2f;
  p = p * (r * r) + r;
  p = p + 1.0f;
  int32_t exponent = (int32_t)(hl_bits(t) - hl_bits(magic));
  int32_t half = exponent >> 1;
  float scale1 = hl_float((uint32_t)(half + 127) << 23);
  float scale2 = hl_float((uint32_t)(exponent - half + 127) << 23);
  return p * scale1 * scale2;
}

HL_INLINE float hl_copysign(float magnitude, float sign) {
  return hl_float((hl_bits(magnitude) & 0x7fffffffu) | (hl_bits(sign) & 0x80000000u));
}

HL_INLINE float hl_abs(float x) {
  return hl_float(hl_bits(x) & 0x7fffffffu);
}

/* NaN wins over any number, as in ONNX Runtime and NumPy; so it does in hl_smaller and hl_clip. */
HL_INLINE float hl_larger(float a, float b) {
  float larger = a > b ? a : b; /* b where either is NaN */
  return a != a ? a : larger;
}

HL_INLINE float hl_smaller(float a, float b) {
  float smaller = a < b ? a : b;
  return a != a ? a : smaller;
}

HL_INLINE float hl_clip(float x, float low, float high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

/* Minimax: odd polynomial below 0.9277, 1 - exp(polynomial) above (N. Juffa's erff). */
HL_INLINE float hl_erf(float x) {
  float t = hl_abs(x), s = x * x;
  t = t > 4.0f ? 4.0f : t;
  float far = -1.72853470e-5f * t + 3.83197126e-4f;
  float u = -3.88396438e-3f * t + 2.42546219e-2f;
  float t2 = t * t;
  far = far * t2 + u;
  far = far * t + -1.06777877e-1f;
  far = far * t + -6.34846687e-1f;
  far = far * t + -1.28717512e-1f;
  far = far * t + -t;
  far = hl_copysign(1.0f - hl_exp(far), x);
  float near = -5.96761703e-4f;
  near = near * s + 4.99119423e-3f;
  near = near * s + -2.67681349e-2f;
  near = near * s + 1.12819925e-1f;
  near = near * s + -3.76125336e-1f;
  near = near * s + 1.28379166e-1f;
  near = near * x + x;
  return t > 0.927734375f ? far : near;
}

/* Odd polynomial below 0.625 (Cephes tanhf), 1 - 2 / (e^2x + 1) above. */
HL_INLINE float hl_tanh(float x) {
  float t = hl_abs(x), s = x * x;
  float far = hl_copysign(1.0f - 2.0f / (hl_exp(t + t) + 1.0f), x);
  float near = -5.70498872745e-3f;
  near = near * s + 2.06390887954e-2f;
  near = near * s + -5.37397155531e-2f;
  near = near * s + 1.33314422036e-1f;
  near = near * s + -3.33332819422e-1f;
  near = near * s * x + x;
  return t > 0.625f ? far : near;
}

/* What a LeakyReLU multiplies by its slope: for a ReLU -inf is the lowest number, whose product
 * with 0 is 0; NaN stays. */
HL_INLINE float hl_least(float slope) {
  return slope == 0 ? -FLT_MAX : -INFINITY;
}

HL_INLINE float hl_leaky(float x, float slope) {
  float least = hl_least(slope), low = x < least ? least : x;
  return x > 0 ? x : low * slope;
}

HL_INLINE float hl_sigmoid(float x) {
  return 1.0f / (1.0f + hl_exp(-x));
}

/* erf to 3.7e-7, for GELU: x P(x²) / Q(x²) on |x| <= 3.9, a relative minimax fit (2.6e-8) made by
 * Lawson's iteration, so that what remains is rounding. Half the work of hl_erf: no exponential. */
HL_INLINE float hl_erf_fast(float x) {
  float c = x > 3.9f ? 3.9f : x;
  c = c < -3.9f ? -3.9f : c;
  float s = c * c;
  float p = 0x1.e25b2ep-13f;
  p = p * s + 0x1.d008p-9f;
  p = p * s + 0x1.a4d1eap-5f;
  p = p * s + 0x1.82611ap-3f;
  p = p * s + 0x1.20dd74p+0f;
  float q = -0x1.e75756p-24f;
  q = q * s + 0x1.85ed32p-16f;
  q = q * s + 0x1.11ffcap-10f;
  q = q * s + 0x1.d5f866p-7f;
  q = q * s + 0x1.cc4778p-4f;
  q = q * s + 0x1.00456ap-1f;
  q = q * s + 1.0f;
  float y = c * p / q;
  y = c >= 3.9f ? 1.0f : y; /* so that GELU is x or -0 far from 0 */
  return c <= -3.9f ? -1.0f : y;
}

HL_INLINE float hl_gelu(float x) {
  return 0.5f * x * (1.0f + hl_erf_fast(x * 0x1.6a09e6p-1f));
}

#endif
