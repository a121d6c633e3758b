/*
 * imaging/translate-internal.h - bilinear translations of small squares, added up.
 *
 * A square of n x n moved by (x, y) covers (n + 1) x (n + 1) pixels from (floor y, floor x) on,
 * with the same four weights everywhere, and these are products: of 1 - f and f, f the fraction, in
 * each direction. A square of ones moved so is the product of two profiles: 1 - f, 1, ..., 1, f.
 */
#ifndef HL_IMAGING_TRANSLATE_INTERNAL_H
#define HL_IMAGING_TRANSLATE_INTERNAL_H

#include "imaging/reassemble.h"

/* Where a moved square begins in its target, and the fractions. */
typedef struct hl__shift {
  int64_t row, column;
  double row_fraction, column_fraction;
} hl__shift;

/* The shift of a square that begins at (row, column) and moves by (dy, dx), which are finite. */
hl__shift hl__shift_make(int64_t row, int64_t column, double dy, double dx);

/* Adds source[n][n] so moved to rows row_first to row_end - 1 of target[...][width]; what would lie
 * outside is left out. `line` is scratch of n + 2. */
void hl__shift_add(hl__shift shift, const float *source, int64_t n, double *target, int64_t width,
                   int64_t row_first, int64_t row_end, double *line);

/* The same of n x n ones, to the one row `row`: adds to target[width]. */
void hl__shift_add_ones(hl__shift shift, int64_t n, double *target, int64_t width, int64_t row);

/* The central n x n of image `index` of `patches`, (.., size, size), as real and imaginary parts.
 */
void hl__patch_split(hl_patches patches, int64_t index, int64_t size, int64_t n, float *ret_real,
                     float *ret_imaginary);

#endif
