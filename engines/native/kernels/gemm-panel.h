/*
 * native/kernels/gemm-panel.h - what products with panels of weights share; private.
 */
#ifndef HL_NATIVE_GEMM_PANEL_H
#define HL_NATIVE_GEMM_PANEL_H

#include "gelu.h"
#include "vector.h"
#include "vmath.h"

/* y = function(y), of `count` columns, a multiple of HL_LANES. */
#define HL_GEMM_EACH(expression)                                                                   \
  do {                                                                                             \
    _Pragma("omp simd") for (size_t i = 0; i < count; i++) {                                       \
      float v = y[i];                                                                              \
      y[i] = (expression);                                                                         \
    }                                                                                              \
  } while (0)

HL_INLINE void hl_gemm_finish(hl_gemm_function function, float slope, float *y, size_t count) {
  switch (function) {
  case HL_GEMM_LEAKY:
    HL_GEMM_EACH(hl_leaky(v, slope));
    break;
  case HL_GEMM_GELU:
    for (size_t i = 0; i < count; i += HL_LANES) hl_vstore(y + i, hl_vgelu(hl_vload(y + i)));
    break;
  case HL_GEMM_SWISH:
    HL_GEMM_EACH(v * hl_sigmoid(v));
    break;
  case HL_GEMM_SIGMOID:
    HL_GEMM_EACH(hl_sigmoid(v));
    break;
  case HL_GEMM_TANH:
    HL_GEMM_EACH(hl_tanh(v));
    break;
  default:
    break;
  }
}

HL_INLINE vfloat hl_gemm_apply(hl_gemm_function function, float slope, vfloat v) {
  if (function == HL_GEMM_LEAKY) return hl_vleaky(v, slope);
  if (function == HL_GEMM_GELU) return hl_vgelu(v);
  float y[HL_LANES];
  hl_vstore(y, v);
  hl_gemm_finish(function, slope, y, HL_LANES);
  return hl_vload(y);
}

/* What a thread does: rows [first, end) by panels [begin, stop). */
typedef struct hl_gemm_part {
  size_t first, end, begin, stop;
} hl_gemm_part;

/* Most parts of `count` that one of `threads` gets, as a multiple of an even share. */
HL_INLINE double hl_gemm_uneven(size_t count, unsigned threads) {
  return (double)(hl_ceil_div(count, threads) * threads) / (double)count;
}

/* By columns, where no weight is read by two threads, unless rows are shared out more evenly.
 * `rows`: of a register tile. Neither m nor `panels` is 0. */
HL_INLINE hl_gemm_part hl_gemm_part_of(size_t m, size_t panels, size_t rows, unsigned thread,
                                       unsigned threads) {
  size_t tiles = hl_ceil_div(m, rows);
  if (hl_gemm_uneven(panels, threads) <= 1.02 * hl_gemm_uneven(tiles, threads)) {
    hl_share share = hl_share_of(panels, thread, threads);
    return (hl_gemm_part){0, m, share.first, share.end};
  }
  hl_share share = hl_share_of(tiles, thread, threads);
  return (hl_gemm_part){hl_min(share.first * rows, m), hl_min(share.end * rows, m), 0, panels};
}

#endif
