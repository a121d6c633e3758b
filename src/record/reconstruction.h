/*
 * record/reconstruction.h - the image that a pipeline put together, while a row is at hand: for
 * pictures; neither copied nor stored.
 */
#ifndef HL_RECORD_RECONSTRUCTION_H
#define HL_RECORD_RECONSTRUCTION_H

#include <stdbool.h>
#include <stdint.h>

typedef struct hl_reconstruction {
  int64_t side;   /* of all that follow, side x side */
  double x, y;    /* pixel [row, column] lies at (x + column, y + row), as positions do */
  float *pixels;  /* real and imaginary part by turns; owned */
  float *weights; /* how often a pixel was covered; owned */
  float *truth;   /* the true object on the same pixels, NaN outside of it; owned, or NULL */
  bool is_aligned;
  /* What is compared with the truth: pixel * factor * exp(i (ramp[0] column + ramp[1] row)). */
  double factor[2], ramp[2];
  int64_t top, left, height, width; /* where; 0: nowhere */
} hl_reconstruction;

void hl_reconstruction_free(hl_reconstruction *reconstruction); /* also NULL */

/* What a picture shows: what was compared with the truth, else all that was covered. Not empty. */
typedef struct hl_reconstruction_part {
  int64_t top, left, height, width;
} hl_reconstruction_part;
hl_reconstruction_part hl_reconstruction_shown(const hl_reconstruction *image);

/* The value of a pixel, of the image (aligned, where that is known) or of the truth, which is
 * there. */
void hl_reconstruction_pixel(const hl_reconstruction *image, bool truth, int64_t row,
                             int64_t column, double *ret_amplitude, double *ret_phase);

#endif
