/*
 * native/kernels/gemm-bf16.h - products and convolutions of bfloat16 with weights in panels, on
 * AVX-512 BF16.
 *
 *     hl_gemm_bf16_args args = {.x = x, .w = w, .y = y, .m = 197, .n = 768, .slope = 1,
 *                               .rows = {.taps = 1, .k = 768}};
 *     if (hl_gemm_bf16_width(&args.rows, args.n) > 0) hl_gemm_bf16(&args, 2);
 *
 * y = function(x · w + bias + residual), each sum in float32 from first to last and rounded once.
 * Weights lie in panels of as many columns as hl_gemm_bf16_width says, each (taps, k / 2, columns)
 * pairs of neighbouring rows. Pure; the same results for every number of threads.
 */
#ifndef HL_NATIVE_GEMM_BF16_H
#define HL_NATIVE_GEMM_BF16_H

#include "gemm-rows.h"
#include "kernels.h"

typedef struct hl_gemm_bf16_args {
  const uint16_t *x, *w;
  const float *bias;        /* n, or NULL */
  const uint16_t *residual; /* (m, n), and maybe y itself; or NULL */
  uint16_t *y;              /* (m, n), or NULL: */
  float *y_float;           /* in float32 */
  size_t m, n;
  hl_gemm_rows rows;
  hl_gemm_function function;
  float slope;
} hl_gemm_bf16_args;

/* Columns of a panel; 0 where this processor cannot do it, or rows and columns do not fill pairs
 * and vectors. */
size_t hl_gemm_bf16_width(const hl_gemm_rows *rows, size_t n);
void hl_gemm_bf16(const hl_gemm_bf16_args *args, unsigned threads);

#endif
