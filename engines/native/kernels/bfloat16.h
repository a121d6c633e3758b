/*
 * native/kernels/bfloat16.h - vectors of bfloat16 in memory, of float in registers; private.
 *
 *     vfloat v = hl_load_bf16(x + i);          // HL_LANES elements, exact
 *     hl_store_bf16(y + i, v * v);             // rounded to nearest, ties to even; NaN stays NaN
 */
#ifndef HL_NATIVE_BFLOAT16_H
#define HL_NATIVE_BFLOAT16_H

#include "vector.h"

typedef uint16_t vhalf __attribute__((vector_size(HL_VECTOR_BYTES / 2), may_alias));
typedef uint16_t vhalf_unaligned
    __attribute__((vector_size(HL_VECTOR_BYTES / 2), may_alias, aligned(sizeof(uint16_t))));
typedef uint32_t vuint __attribute__((vector_size(HL_VECTOR_BYTES), may_alias));

HL_INLINE vfloat hl_widen_bf16(vhalf x) {
  return (vfloat)(__builtin_convertvector(x, vuint) << 16);
}

HL_INLINE vhalf hl_narrow_bf16(vfloat v) {
  vuint bits = (vuint)v, odd = bits >> 16 & 1;
  vuint rounded = (bits + (odd + 0x7FFF)) >> 16, quiet = bits >> 16 | 0x40;
  vuint nan = (vuint)(v != v); /* NOLINT(misc-redundant-expression): true of NaN */
  return __builtin_convertvector((nan & quiet) | (~nan & rounded), vhalf);
}

HL_INLINE vfloat hl_load_bf16(const uint16_t *x) {
  return hl_widen_bf16(*(const vhalf_unaligned *)x);
}

HL_INLINE void hl_store_bf16(uint16_t *y, vfloat v) {
  *(vhalf_unaligned *)y = hl_narrow_bf16(v);
}

/* The first `count` (<= HL_LANES) elements; the others are 0. */
HL_INLINE vfloat hl_load_bf16_part(const uint16_t *x, size_t count) {
  vhalf v = {0};
  memcpy(&v, x, count * sizeof *x);
  return hl_widen_bf16(v);
}

HL_INLINE void hl_store_bf16_part(uint16_t *y, size_t count, vfloat v) {
  vhalf narrow = hl_narrow_bf16(v);
  memcpy(y, &narrow, count * sizeof *y);
}

#endif
