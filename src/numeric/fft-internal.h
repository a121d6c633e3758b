/*
 * numeric/fft-internal.h - what the transforms' plans and their kernels share; private.
 *
 * fft-kernels.c is compiled once per instruction set. Products and sums are written in one order
 * and never fused, and lanes are independent, so every set gives the same bits.
 */
#ifndef HL_NUMERIC_FFT_INTERNAL_H
#define HL_NUMERIC_FFT_INTERNAL_H

#include <stddef.h>

/* Lines are transformed that many at a time. */
enum { HL__FFT_LANES = 16, HL__FFT_MAX_PASSES = 24 };

/* One block of lines: element j of line l is re[j * LANES + l] + i im[j * LANES + l]. */
typedef struct hl__fft_block {
  float *re, *im;
} hl__fft_block;

typedef struct hl__fft_axis {
  size_t n;
  unsigned pass_count, radix[HL__FFT_MAX_PASSES];
  float *cosine, *sine; /* exp(-2πi j / n) */
  /* Bluestein, for lengths with a large prime factor: */
  struct hl__fft_axis *convolution; /* of a power of two; NULL otherwise */
  float *chirp_re, *chirp_im, *filter_re, *filter_im;
} hl__fft_axis;

/* `lines` lines of axis->n numbers (re, im), `line` numbers apart, elements `stride` apart, in
 * place, times `scale`; the inverse takes the two parts exchanged. One of line and stride is 1. */
typedef struct hl__fft_lines {
  const hl__fft_axis *axis;
  float *scratch; /* 4 arrays of `part` floats, 64 bytes aligned */
  size_t part, lines, line, stride;
  int inverse;
  float scale;
} hl__fft_lines;

typedef struct hl__fft_kernels {
  void (*lines)(const hl__fft_lines *what, float *data);
  /* Stockham's passes from x to y and back; returns the one that holds the result. */
  hl__fft_block (*passes)(const hl__fft_axis *axis, hl__fft_block x, hl__fft_block y);
  /* The transform of a block in x, using y, each hl__fft_axis_scratch long; where it lies. */
  hl__fft_block (*run)(const hl__fft_axis *axis, hl__fft_block x, hl__fft_block y);
} hl__fft_kernels;

/* NULL: no memory. */
hl__fft_axis *hl__fft_axis_new(size_t n);
void hl__fft_axis_free(hl__fft_axis *axis); /* NULL is fine */
size_t hl__fft_axis_scratch(const hl__fft_axis *axis);

/* "baseline", "avx2", "avx512"; NULL where this processor, or build, lacks it. */
const hl__fft_kernels *hl__fft_kernels_by_name(const char *isa);
const hl__fft_kernels *hl__fft_kernels_select(void); /* the widest there is */

#endif
