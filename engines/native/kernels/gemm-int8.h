/*
 * native/kernels/gemm-int8.h - products and convolutions of uint8 with int8 weights in panels, on
 * AVX-512 VNNI.
 *
 * y = function(scale · (x · w) + bias + residual), rounded to 8 bits or as float32. Sums are exact.
 * The zero point of x is the caller's: in `bias`, with what a pixel outside holds. Weights lie in
 * panels of as many columns as hl_gemm_int8_width says, each (taps, k / 4, columns) fours of
 * neighbouring rows. Pure; the same results for every number of threads.
 */
#ifndef HL_NATIVE_GEMM_INT8_H
#define HL_NATIVE_GEMM_INT8_H

#include "gemm-rows.h"
#include "kernels.h"

typedef struct hl_gemm_int8_args {
  const uint8_t *x;
  const int8_t *w;
  const float *scale, *bias; /* n each */
  const uint8_t *residual;   /* (m, n), means residual_scale · (q - residual_zero); or NULL */
  float residual_scale, residual_zero;
  void *y; /* (m, n) */
  enum { HL_GEMM_TO_FLOAT, HL_GEMM_TO_UINT8, HL_GEMM_TO_INT8 } to;
  float y_inverse, y_zero; /* y = round(value · y_inverse + y_zero) */
  size_t m, n;
  hl_gemm_rows rows;
  hl_gemm_function function;
  float slope;
} hl_gemm_int8_args;

/* Columns of a panel; 0 where this processor cannot do it, or rows and columns do not fill fours
 * and vectors. */
size_t hl_gemm_int8_width(const hl_gemm_rows *rows, size_t n);
void hl_gemm_int8(const hl_gemm_int8_args *args, unsigned threads);

#endif
