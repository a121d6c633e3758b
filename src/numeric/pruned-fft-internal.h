/*
 * numeric/pruned-fft-internal.h - what the plan and the kernels of numeric/pruned-fft.h share;
 * private.
 *
 * Frequencies and pixels are counted from the middle of the plane and wrapped: -1 is n - 1. Lines
 * are LANES beside each other, as in fft-internal.h. Columns of frequencies v = 0..n/2 are in
 * blocks of LANES; those at -v, of the mask alone, are in blocks too, beside those at v.
 */
#ifndef HL_NUMERIC_PRUNED_FFT_INTERNAL_H
#define HL_NUMERIC_PRUNED_FFT_INTERNAL_H

#include "numeric/fft-internal.h"
#include "numeric/pruned-fft.h"

typedef struct hl__pruned_plan {
  size_t n, object, half; /* half = n / 2 */
  size_t groups, blocks;  /* of 2 LANES rows of the object, of LANES columns */
  hl__fft_axis *axis;     /* of n */
  size_t length;          /* numbers of a line's scratch */
  const hl__fft_kernels *lines;
  float *rows;     /* [blocks][re, im][2 LANES groups][LANES]: rows of the object transformed */
  float *spectrum; /* [blocks][re, im][n][LANES] */
  float *slope;    /* the same of the gradient, with those of -v folded in */
  float *field;  /* [n / LANES][blocks][v, -v][re, im][LANES][LANES]: rows of the picture's lines */
  uint8_t *open; /* [blocks][v, -v]: is the mask open anywhere? */
  hl_residual_sums *sums; /* [n / LANES] */
} hl__pruned_plan;

/* What one call works on. `scratch` is the thread's: 4 arrays of length * LANES. */
typedef struct hl__pruned_job {
  const hl__pruned_plan *plan;
  const float *pixels; /* of the object */
  float *gradient;
  size_t stride;
  const uint8_t *mask;
  int flip;
  float *amplitude; /* NULL for a residual */
  const float *target;
  float factor;
} hl__pruned_job;

typedef void hl__pruned_step(const hl__pruned_job *job, size_t block, float *scratch);

typedef struct hl__pruned_kernels {
  hl__pruned_step *rows_in;    /* group: pixels to rows */
  hl__pruned_step *columns_in; /* block: rows to spectrum */
  hl__pruned_step *mask_in;    /* 2 block + (-v): spectrum to field */
  hl__pruned_step
      *picture; /* n / LANES: field to amplitude, or to the sums and the field's slope */
  hl__pruned_step *mask_back;    /* block: field to slope */
  hl__pruned_step *columns_back; /* block: slope to rows */
  hl__pruned_step *rows_back;    /* group: rows to gradient */
} hl__pruned_kernels;

/* "baseline", "avx2", "avx512"; NULL where this processor, or build, lacks it. */
const hl__pruned_kernels *hl__pruned_kernels_by_name(const char *isa);
const hl__pruned_kernels *hl__pruned_kernels_select(void);

/* For tests of one set; otherwise the widest is used. */
void hl__pruned_fft_use(hl_pruned_fft *fft, const hl__pruned_kernels *kernels);

#endif
