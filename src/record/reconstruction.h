/*
 * record/reconstruction.h - the image that a pipeline put together, while a row is at hand: for
 * pictures; neither copied nor stored.
 */
#ifndef HL_RECORD_RECONSTRUCTION_H
#define HL_RECORD_RECONSTRUCTION_H

#include <stdint.h>

typedef struct hl_reconstruction {
  int64_t side;   /* of all that follow, side x side */
  double x, y;    /* pixel [row, column] lies at (x + column, y + row), as positions do */
  float *pixels;  /* real and imaginary part by turns; owned */
  float *weights; /* how often a pixel was covered; owned, or NULL */
} hl_reconstruction;

void hl_reconstruction_free(hl_reconstruction *reconstruction); /* also NULL */

#endif
