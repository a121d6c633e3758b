#include "record/reconstruction.h"

#include <math.h>
#include <stdlib.h>

void hl_reconstruction_free(hl_reconstruction *reconstruction) {
  if (!reconstruction) return;
  free(reconstruction->pixels);
  free(reconstruction->weights);
  free(reconstruction->truth);
  free(reconstruction);
}

/* All that was covered. */
static hl_reconstruction_part covered(const hl_reconstruction *image) {
  int64_t side = image->side, bottom = 0, right = 0;
  hl_reconstruction_part p = {.top = side, .left = side};
  for (int64_t i = 0; i < side * side; i++) {
    if (!(image->weights[i] > 0.01f)) continue;
    if (i / side < p.top) p.top = i / side;
    if (i / side > bottom) bottom = i / side;
    if (i % side < p.left) p.left = i % side;
    if (i % side > right) right = i % side;
  }
  p.height = bottom - p.top + 1;
  p.width = right - p.left + 1;
  return p;
}

hl_reconstruction_part hl_reconstruction_shown(const hl_reconstruction *image) {
  hl_reconstruction_part p = image->is_aligned ? (hl_reconstruction_part){.top = image->top,
                                                                          .left = image->left,
                                                                          .height = image->height,
                                                                          .width = image->width}
                                               : covered(image);
  if (p.height < 1 || p.width < 1)
    p = (hl_reconstruction_part){.height = image->side, .width = image->side};
  return p;
}

void hl_reconstruction_pixel(const hl_reconstruction *image, bool truth, int64_t row,
                             int64_t column, double *ret_amplitude, double *ret_phase) {
  const float *at = (truth ? image->truth : image->pixels) + 2 * (row * image->side + column);
  double re = (double)at[0], im = (double)at[1], turn = 0;
  *ret_amplitude = hypot(re, im);
  if (!truth && image->is_aligned) {
    turn = atan2(image->factor[1], image->factor[0]) + image->ramp[0] * (double)column +
           image->ramp[1] * (double)row;
    *ret_amplitude *= hypot(image->factor[0], image->factor[1]);
  }
  *ret_phase = remainder(atan2(im, re) + turn, 2 * acos(-1));
}
