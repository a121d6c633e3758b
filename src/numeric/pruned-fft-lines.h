/*
 * numeric/pruned-fft-lines.h - what the kernels of both directions of numeric/pruned-fft.h share;
 * private to them, compiled once per instruction set.
 */
#ifndef HL_NUMERIC_PRUNED_FFT_LINES_H
#define HL_NUMERIC_PRUNED_FFT_LINES_H

#include <string.h>

#include "numeric/fft-vector.h"
#include "numeric/pruned-fft-internal.h"

enum { LANES = HL__FFT_LANES, SQUARE = LANES * LANES };

typedef hl__fft_block block;
typedef hl__pruned_plan plan;
typedef hl__pruned_job job;

typedef struct number {
  vfloat re, im;
} number;

HL_INLINE number load(block x, size_t at) {
  return (number){hl_vload(x.re + at), hl_vload(x.im + at)};
}

HL_INLINE void store(block y, size_t at, number v) {
  hl_vstore(y.re + at, v.re);
  hl_vstore(y.im + at, v.im);
}

HL_INLINE block scratch_x(const plan *p, float *scratch) {
  return (block){scratch, scratch + p->length * LANES};
}

HL_INLINE block scratch_y(const plan *p, float *scratch) {
  return (block){scratch + 2 * p->length * LANES, scratch + 3 * p->length * LANES};
}

/* Of [blocks][re, im][count][LANES]. */
HL_INLINE block block_at(float *array, size_t count, size_t at) {
  return (block){array + at * 2 * count * LANES, array + (at * 2 + 1) * count * LANES};
}

HL_INLINE block tile_at(const plan *p, size_t row_block, size_t column_block, size_t minus) {
  return block_at(p->field, LANES, (row_block * p->blocks + column_block) * 2 + minus);
}

HL_INLINE block forward(const plan *p, block x, block y) {
  return p->lines->run(p->axis, x, y);
}

/* The inverse is the forward transform with the two parts exchanged. */
HL_INLINE block inverse(const plan *p, block x, block y) {
  block f = p->lines->run(p->axis, (block){x.im, x.re}, (block){y.im, y.re});
  return (block){f.im, f.re};
}

/* to[i][k] = from[k][i], LANES each way; strides in floats. */
HL_INLINE void turn(const float *from, ptrdiff_t from_stride, float *to, ptrdiff_t to_stride) {
  for (ptrdiff_t a = 0; a < LANES; a += HL_WIDTH)
    for (ptrdiff_t b = 0; b < LANES; b += HL_WIDTH) {
      vfloat v[HL_WIDTH];
      for (ptrdiff_t i = 0; i < HL_WIDTH; i++) v[i] = hl_vload(from + (a + i) * from_stride + b);
      hl_vsquare(v);
      for (ptrdiff_t i = 0; i < HL_WIDTH; i++) hl_vstore(to + (b + i) * to_stride + a, v[i]);
    }
}

HL_INLINE void clear(block x, size_t first, size_t count) {
  memset(x.re + first * LANES, 0, count * LANES * sizeof *x.re);
  memset(x.im + first * LANES, 0, count * LANES * sizeof *x.im);
}

HL_INLINE void copy(block to, size_t at, block from, size_t first, size_t count) {
  memcpy(to.re + at * LANES, from.re + first * LANES, count * LANES * sizeof *to.re);
  memcpy(to.im + at * LANES, from.im + first * LANES, count * LANES * sizeof *to.im);
}

/* Where the object's row or column i lies: counted from the middle, wrapped. */
HL_INLINE size_t wrapped(const plan *p, size_t i) {
  size_t before = p->object / 2;
  return i < before ? p->n + i - before : i - before;
}

/* Which of a block's columns the mask opens in row u, 1 or 0 each; are there any? At v = 0 and
 * v = n/2 the two signs are one column, which belongs to +0 and to -n/2. */
HL_INLINE int open_lanes(const plan *p, const uint8_t *mask, size_t u, size_t b, size_t minus,
                         float lanes[LANES]) {
  const uint8_t *row = mask + (u < p->half ? u + p->half : u - p->half) * p->n + p->half;
  size_t v = b * LANES;
#if HL_VECTOR_BYTES == 64
  if (v < p->half && !(minus && v == 0)) {
    __m128i bytes;
    if (minus)
      bytes = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(row - v - 15)),
                               _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    else
      bytes = _mm_loadu_si128((const __m128i *)(row + v));
    __mmask16 open = _mm_test_epi8_mask(bytes, bytes);
    _mm512_storeu_ps(lanes, _mm512_maskz_mov_ps(open, _mm512_set1_ps(1)));
    return open != 0;
  }
#endif
  int any = 0;
  for (size_t l = 0; l < LANES; l++, v++) {
    int open =
        minus ? v > 0 && v <= p->half && row[-(ptrdiff_t)v] != 0 : v < p->half && row[v] != 0;
    lanes[l] = (float)open;
    any |= open;
  }
  return any;
}

/* -u, wrapped. */
HL_INLINE size_t mirrored(const plan *p, size_t u) {
  return u ? p->n - u : 0;
}

hl__pruned_step HL_FN(hl__pruned_mask_back), HL_FN(hl__pruned_columns_back),
    HL_FN(hl__pruned_rows_back);

#endif
