/*
 * numeric/band-dft-internal.h - what a band's tables and its kernels share; private.
 *
 * Coordinates of a picture come in pairs +h and -h about its middle: h = t + 1/2 for an even n (the
 * half is a phase of the band), h = t for an odd one. Lanes are the rows of HL_WIDTH pairs.
 */
#ifndef HL_NUMERIC_BAND_DFT_INTERNAL_H
#define HL_NUMERIC_BAND_DFT_INTERNAL_H

#include "numeric/band-dft.h"

enum {
  HL__BAND_TILE = 4,
  HL__BAND_LANES = 16, /* the most of any instruction set */
  HL__BAND_EIGHTHS = 8
};

typedef struct hl__band_plan {
  size_t n, band, half; /* band = 2 half + 1 */
  size_t pairs, padded; /* (n + 1) / 2, and a multiple of HL__BAND_LANES */
  /* cos and sin of 2π k h / n, 0 beyond `pairs`: */
  const float *row_cos, *row_sin; /* [half + 1][padded] */
  const float *columns;           /* [padded / TILE][half + 1][cos of TILE pairs, sin of them] */
  /* For turns by an eighth: the band's columns in whole vectors, n / 16, and cos and sin of 2π k (t
   * + 1/2) / n below it. */
  size_t lanes, sixteenth;
  const float *turns; /* [of LANES t][half + 1][cos, sin][LANES] */
} hl__band_plan;

/* What a call works on; `fields` and `sums` are one thread's. */
typedef struct hl__band_job {
  const hl__band_plan *plan;
  /* [(band + TILE - 1) / TILE][half + 1][TILE][4]: sums and differences over ±u, each re and im, of
   * the column sums over ±v (v = 0..half), then differences (v = 1..half), then zeros. */
  const float *folded;
  /* The same numbers for turns by an eighth: [half + 1][sums re, im, differences re, im][lanes],
   * and in a lane the column sums over ±v (v = 0..half), then differences (v = 1..half), then
   * zeros. */
  const float *spread;
  float *slopes;       /* of gradients: [sixteenth][2][16][lanes] */
  float *spread_slope; /* that of `spread`: [half + 1][4][lanes] */
  int flip;
  int graded;               /* with the gradient of the residual */
  float *amplitude;         /* [n][n], to write; NULL for a residual */
  const float *target;      /* [n][n], of a residual */
  float *fields;            /* scratch: [band + TILE][4][LANES]; or [16][2][lanes], which
                             * of gradients are followed by [2][lanes][LANES] and once more */
  float *sums;              /* scratch of gradients: [half + 1 + 2 TILE][2][4][LANES] */
  float *rows;              /* of gradients: [band][4][padded] */
  float *gradient;          /* [band][band][2], without the phase */
  hl_residual_sums *losses; /* of each block of rows */
} hl__band_job;

typedef struct hl__band_kernels {
  size_t width; /* pairs of rows in a block */
  void (*rows)(const hl__band_job *job, size_t block);
  void (*gradient)(const hl__band_job *job, size_t v); /* after all rows: column v of the band */
  /* The rows ±(t + 1/2) + m n / 8, where n is a multiple of 16 x width; after all of them the
   * gradient of a residual, row u of the spread one. */
  void (*sixteen_rows)(const hl__band_job *job, size_t t);
  void (*spread_back)(const hl__band_job *job, size_t u);
} hl__band_kernels;

/* "baseline", "avx2", "avx512"; NULL where this processor, or build, lacks it. */
const hl__band_kernels *hl__band_kernels_by_name(const char *isa);
const hl__band_kernels *hl__band_kernels_select(void);

/* For tests of one set; otherwise the widest is used. */
void hl__band_dft_use(hl_band_dft *dft, const hl__band_kernels *kernels);

#endif
