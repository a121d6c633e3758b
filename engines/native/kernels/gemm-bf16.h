/*
 * native/kernels/gemm-bf16.h - products of bfloat16 with weights in panels, on AVX-512 BF16.
 *
 *     if (hl_gemm_bf16_suits(768, 3072)) hl_gemm_bf16(&args, 2);
 *
 * y = function(x · w + bias + residual), each sum in float32 from first to last and rounded once.
 * Weights lie in panels of HL_MATVEC_PANEL columns, each (k / 2, HL_MATVEC_PANEL) pairs of
 * neighbouring rows. Pure; the same results for every number of threads.
 */
#ifndef HL_NATIVE_GEMM_BF16_H
#define HL_NATIVE_GEMM_BF16_H

#include "kernels.h"
#include <stdbool.h>

typedef struct hl_gemm_bf16_args {
  const uint16_t *x, *w;
  const float *bias;        /* n, or NULL */
  const uint16_t *residual; /* (m, n), and maybe y itself; or NULL */
  uint16_t *y;              /* (m, n), or NULL: */
  float *y_float;           /* in float32 */
  hl_gemm_problem of;
} hl_gemm_bf16_args;

/* Can this processor do it, and do rows fill pairs and columns panels? */
bool hl_gemm_bf16_suits(size_t k, size_t n);
void hl_gemm_bf16(const hl_gemm_bf16_args *args, unsigned threads);

#endif
