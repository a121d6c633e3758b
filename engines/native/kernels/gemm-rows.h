/*
 * native/kernels/gemm-rows.h - which elements of x a row of a product's result is made of.
 *
 *     hl_gemm_rows rows = {.taps = 1, .k = 768};   // row i of x: a product of matrices
 *
 * A convolution of a channels-last picture is a product whose rows are gathered: a row of the
 * result, one pixel, is made of one pixel of x for each tap. Which one is the sum of a number for
 * the pixel's line and the taps across lines and one for its column and the taps along a line, so
 * that strides, dilations and padding cost nothing and tables are small.
 */
#ifndef HL_NATIVE_GEMM_ROWS_H
#define HL_NATIVE_GEMM_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HL_GEMM_TAPS = 64 }; /* at most */

typedef struct hl_gemm_rows {
  size_t taps, k;       /* pixels of x for each row, and elements of one */
  const int32_t *lines; /* (line_count, taps / along): pixels to the line of x, -1: outside; NULL:
                           row i is pixel i, and what follows is not read */
  const int32_t *cells; /* (columns, along): pixels on from there, -1: outside */
  size_t along;         /* taps along a line */
  size_t line_count, columns; /* of a picture of the result */
  size_t pixels;              /* of a picture of x */
  const void *outside;        /* what a pixel outside holds: k elements */
} hl_gemm_rows;

#endif
