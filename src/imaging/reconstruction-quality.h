/*
 * imaging/reconstruction-quality.h - how good a reconstruction is, with and without the truth.
 *
 *     hl_canvas canvas = {side, side, pixels, weights, x, y};      // of hl_reassembly
 *     hl_reconstruction_quality q;
 *     hl_reconstruction_compare(&canvas, object, height, width, &q, error);
 *     ... q.amplitude_ssim, q.phase_error_rad, q.frc_half ...
 *     hl_reconstruction_quality_release(&q);
 *
 *     hl_diffraction measured = {amplitude, probe, count, size, x, y};
 *     hl_diffraction_residual(&canvas, &measured, threads, &residual, &used, error);
 *
 * Diffraction tells an object but for a constant phase, a factor (where the light is not known) and
 * a linear phase ramp (where the frequencies' origin is not); these are fitted and taken away
 * before anything is compared. Everything is about the largest rectangle in which every pixel was
 * covered and the truth is known: the edges of a scan, which few patches saw, do not count. Pure;
 * thread-safe.
 */
#ifndef HL_IMAGING_RECONSTRUCTION_QUALITY_H
#define HL_IMAGING_RECONSTRUCTION_QUALITY_H

#include "base/error.h"
#include <complex.h>

typedef struct hl_canvas {
  int64_t height, width;
  const float complex *pixels;
  const float *weights; /* how often each was covered */
  double x, y;          /* of pixel [0, 0], in the coordinates of the positions */
} hl_canvas;

/* A pixel counts from this coverage on; a rectangle from this many pixels a side on. */
#define HL_CANVAS_COVERED 0.01
enum { HL_QUALITY_MIN_SIDE = 16 };

typedef struct hl_reconstruction_quality {
  int64_t top, left, height, width; /* the rectangle, in pixels of the canvas */
  /* aligned = pixel * factor * exp(i (ramp_x column + ramp_y row)), row and column of the canvas.
   */
  double complex factor;
  double ramp_x, ramp_y; /* radians a pixel */
  double amplitude_ssim; /* imaging/quality.h, the range that of the true amplitude, 0 to largest */
  double amplitude_psnr_db; /* the same range */
  double phase_error_rad;   /* root of the mean square, weighted by the true |amplitude|^2 */
  double frc_half; /* cycles a pixel at which the ring correlation falls below 0.5; at most 0.5 */
  double frc_half_bit;    /* the same for the half-bit threshold */
  int64_t rings;          /* the curve of imaging/fourier-ring.h, over the rectangle */
  double *frc, *half_bit; /* owned */
} hl_reconstruction_quality;

/* The truth (height, width), whose pixel [row, column] lies at (x, y) = (column, row), on the grid
 * of the canvas, bilinear; NaN outside of it. */
void hl_truth_on_canvas(const hl_canvas *canvas, const float complex *truth, int64_t height,
                        int64_t width, float complex *ret_truth);

/* BAD_DATA where no rectangle of HL_QUALITY_MIN_SIDE is both covered and known, or the
 * reconstruction is not finite there, or zero; OUT_OF_MEMORY. */
hl_status hl_reconstruction_compare(const hl_canvas *canvas, const float complex *truth,
                                    int64_t height, int64_t width,
                                    hl_reconstruction_quality *ret_quality, hl_error *error);
void hl_reconstruction_quality_release(hl_reconstruction_quality *quality);

/* What was measured: amplitudes (count, size, size), zero frequency at [size/2, size/2], the probe,
 * and the positions of the patterns. */
typedef struct hl_diffraction {
  const float *amplitude;
  const float complex *probe;
  int64_t count, size;
  const double *x, *y;
} hl_diffraction;

/* sum (s |FT(probe * patch)| - measured)^2 / sum measured^2 over the patterns whose probe falls, to
 * 99 % of its light, on covered pixels; the transform is orthonormal and s, one number, makes it
 * least. 0 is a perfect fit, 1 none. *ret_used is how many patterns that are. BAD_DATA for none of
 * them, or a canvas that is not finite or dark; OUT_OF_MEMORY. */
hl_status hl_diffraction_residual(const hl_canvas *canvas, const hl_diffraction *measured,
                                  int threads, double *ret_residual, int64_t *ret_used,
                                  hl_error *error);

#endif
