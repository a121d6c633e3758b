/*
 * imaging/fourier-ring.h - Fourier ring correlation: up to which frequency two pictures agree.
 *
 *     int64_t rings = hl_fourier_rings(h, w);
 *     double *curve = ...[rings], *threshold = ...[rings];
 *     hl_fourier_ring_correlation(a, b, h, w, curve, threshold, error);
 *     double f = hl_fourier_ring_crossing(curve, NULL, 0.5, rings, h, w);
 *
 * Of complex pictures less their means, under a Hann window (Saxton and Baumeister, 1982):
 *
 *     FRC(k) = Re sum(A conj B) / sqrt(sum |A|^2 sum |B|^2)   over the frequencies of ring k
 *
 * Ring k has the frequencies of (k +- 1/2) / min(h, w) cycles a pixel, up to 1/2. The half-bit
 * threshold (van Heel and Schatz, 2005) is (0.2071 + 1.9102 / sqrt n) / (1.2071 + 0.9102 / sqrt n)
 * with the n frequencies of the ring. Pure; thread-safe.
 */
#ifndef HL_IMAGING_FOURIER_RING_H
#define HL_IMAGING_FOURIER_RING_H

#include "base/error.h"
#include <complex.h>

/* Rings of a picture: 0 (the constant) to min(h, w) / 2. */
int64_t hl_fourier_rings(int64_t height, int64_t width);

/* The curve and the half-bit threshold, unless NULL. NaN in a ring where a picture has nothing.
 * INVALID_ARGUMENT for sides below 2, OUT_OF_MEMORY. */
hl_status hl_fourier_ring_correlation(const float complex *a, const float complex *b,
                                      int64_t height, int64_t width, double *ret_curve,
                                      double *ret_half_bit, hl_error *error);

/* The frequency, in cycles a pixel, at which the curve first falls below `threshold` (or, where
 * that is NULL, below `level`), between rings by a straight line. 1/2 if it never does; 0 if ring 1
 * is below. */
double hl_fourier_ring_crossing(const double *curve, const double *threshold, double level,
                                int64_t rings, int64_t height, int64_t width);

#endif
