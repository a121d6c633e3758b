/*
 * numeric/pruned-fft.h - a real object in the middle of a plane, its spectrum, and the picture that
 * the spectrum makes through a mask, without the parts of the transforms that are zero or mirrored.
 *
 *   hl_pruned_fft *fft;
 *   status = hl_pruned_fft_new(512, 128, team, &fft, error);
 *   hl_pruned_fft_object(fft, picture + offset, 512);             // its spectrum is kept
 *   hl_pruned_fft_amplitude(fft, mask, HL_PRUNED_FLIP, seen);     // |F(mask F(object))|
 *   hl_pruned_fft_cut(fft, top, left, 41, band);                  // for numeric/band-dft.h
 *
 *   hl_pruned_fft_residual(fft, mask, HL_PRUNED_FLIP, target, &sums);
 *   hl_pruned_fft_add(fft, top, left, 41, band_gradient, 0.5f);
 *   hl_pruned_fft_gradient(fft, factor, gradient, 512);           // of the object's pixels
 *
 * F is fftshift(fft2(ifftshift(·), orthonormal)) of n x n, its object the object x object pixels
 * from n / 2 - object / 2 on (each rounded down), and 0 elsewhere. Rows of the object are
 * transformed in pairs as one complex line, half of the columns follow from the others, columns in
 * which the mask is closed are skipped, and the picture is only ever in the cache.
 *
 * Results are the same bits whatever the number of threads; the last ones differ between
 * instruction sets. Errors are about 1e-6 of the largest value. One call at a time.
 */
#ifndef HL_NUMERIC_PRUNED_FFT_H
#define HL_NUMERIC_PRUNED_FFT_H

#include <complex.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/team.h"
#include "numeric/residual.h"

enum hl_pruned_flags {
  HL_PRUNED_FLIP = 1 << 0, /* both axes of the picture reversed: [n-1-p][n-1-q] */
};

enum { HL_PRUNED_MULTIPLE = 32, HL_PRUNED_MAX_IMAGE = 1 << 14 };

typedef struct hl_pruned_fft hl_pruned_fft;

/* UNIMPLEMENTED unless n is a multiple of HL_PRUNED_MULTIPLE, INVALID_ARGUMENT for an object of 0
 * or larger than n or an n too large, OUT_OF_MEMORY. `team` is borrowed. The caller frees with
 * hl_pruned_fft_free. */
hl_status hl_pruned_fft_new(size_t n, size_t object, hl_team *team, hl_pruned_fft **ret_fft,
                            hl_error *error);
void hl_pruned_fft_free(hl_pruned_fft *fft); /* NULL is fine */
size_t hl_pruned_fft_bytes(const hl_pruned_fft *fft);

/* Transforms object x object pixels, rows `stride` floats apart. The spectrum is kept until the
 * next call. */
void hl_pruned_fft_object(hl_pruned_fft *fft, const float *pixels, size_t stride);

/* ret_band[band][band] of the kept spectrum, from row `top` and column `left` of the plane on; what
 * lies outside of the plane is 0. */
void hl_pruned_fft_cut(const hl_pruned_fft *fft, ptrdiff_t top, ptrdiff_t left, size_t band,
                       float complex *ret_band);

/* ret_amplitude[n][n] = |F(mask · spectrum)|; mask[n][n] of 0 and 1. */
void hl_pruned_fft_amplitude(hl_pruned_fft *fft, const uint8_t *mask, unsigned flags,
                             float *ret_amplitude);

/* The sums against target[n][n], flipped as the amplitude is. Begins a gradient: that of Σ
 * |amplitude - target| with respect to the spectrum. A mask of NULL begins with 0. */
void hl_pruned_fft_residual(hl_pruned_fft *fft, const uint8_t *mask, unsigned flags,
                            const float *target, hl_residual_sums *ret_sums);

/* Adds a band's gradient times `scale`, where hl_pruned_fft_cut cut it. */
void hl_pruned_fft_add(hl_pruned_fft *fft, ptrdiff_t top, ptrdiff_t left, size_t band,
                       const float complex *gradient, float scale);

/* `factor` times all of it, with respect to the object's pixels, written with `stride`; ends it. */
void hl_pruned_fft_gradient(hl_pruned_fft *fft, float factor, float *ret_pixels, size_t stride);

#endif
