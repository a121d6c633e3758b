/*
 * native/kernels/gemm-int8.h - products of uint8 with int8 weights in panels, on AVX-512 VNNI.
 *
 *     if (hl_gemm_int8_suits(768, 3072)) hl_gemm_int8(&args, 2);
 *
 * value = scale · (x · w) + bias, cut off, + residual_scale · residual; sums are exact. Zero points
 * are the caller's, in `bias`. Then either y = value rounded to uint8, at least `low`; or y_float =
 * function(value); or, with `y_inverse` not 0, y = function(value) · y_inverse + y_zero rounded.
 * Weights lie in panels of HL_MATVEC_PANEL columns, each (k / 4, HL_MATVEC_PANEL) fours of
 * neighbouring rows. Pure; the same results for every number of threads.
 */
#ifndef HL_NATIVE_GEMM_INT8_H
#define HL_NATIVE_GEMM_INT8_H

#include "kernels.h"
#include <stdbool.h>

typedef struct hl_gemm_int8_args {
  const uint8_t *x;
  const int8_t *w;
  const float *scale, *bias; /* n each */
  const uint8_t *residual;   /* (m, n), and maybe y itself; or NULL */
  float residual_scale;
  float least, most; /* with a residual: what the sum is cut off at before it is added */
  uint8_t *y;        /* (m, n), or NULL: */
  float *y_float;    /* in float32 */
  float low, y_inverse, y_zero;
  hl_gemm_problem of;
} hl_gemm_int8_args;

/* Can this processor do it, and do rows fill fours and columns panels? */
bool hl_gemm_int8_suits(size_t k, size_t n);
void hl_gemm_int8(const hl_gemm_int8_args *args, unsigned threads);

#endif
