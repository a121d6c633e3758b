/*
 * numeric/fft.h - complex Fourier transforms, single precision data, any length.
 *
 *   hl_fft *fft;
 *   status = hl_fft_new(128, 128, &fft, error);
 *   hl_fft2(fft, HL_FFT_FORWARD | HL_FFT_ORTHONORMAL, exit_waves, images);   // in place
 *   hl_fft_shift(exit_waves, images, 128, 128);
 *
 * Conventions of NumPy: forward is X[k] = Σ x[j] exp(-2πi jk / n); the inverse has the other sign
 * and, unless orthonormal, the factor 1 / (h·w); orthonormal is 1 / √(h·w) either way.
 *
 * Lengths whose prime factors are at most 61 take mixed-radix Stockham passes (4, 2, 3, 5 unrolled,
 * other primes by a direct sum); other lengths become a convolution of a power of two (Bluestein
 * 1970). Twiddles are computed in double. The error is about 1e-7 · log2(n) of the largest value.
 * Vectors are as wide as the processor's, and the results the same bits whatever their width.
 */
#ifndef HL_NUMERIC_FFT_H
#define HL_NUMERIC_FFT_H

#include <complex.h>
#include <stddef.h>

#include "base/error.h"

enum hl_fft_flags {
  HL_FFT_FORWARD = 0,
  HL_FFT_INVERSE = 1 << 0,
  HL_FFT_ORTHONORMAL = 1 << 1, /* scaled by 1 / √(h·w) */
};

enum { HL_FFT_MAX_LENGTH = 1 << 20 };

/* Tables and scratch for one (h, w); one thread at a time. */
typedef struct hl_fft hl_fft;

/* Rows of w, pictures of h rows; h = 1 makes it one-dimensional. INVALID_ARGUMENT for lengths of 0
 * or above HL_FFT_MAX_LENGTH, OUT_OF_MEMORY. The caller frees *ret_fft with hl_fft_free. */
hl_status hl_fft_new(size_t h, size_t w, hl_fft **ret_fft, hl_error *error);
void hl_fft_free(hl_fft *fft); /* NULL is fine */
size_t hl_fft_bytes(const hl_fft *fft);

/* Transforms `batch` pictures (batch, h, w) in place along both axes. */
void hl_fft2(hl_fft *fft, unsigned flags, float complex *data, size_t batch);

/* Rolls each picture of (batch, h, w) so that the zero frequency moves to (h/2, w/2), rounded
 * down, and back (NumPy's fftshift and ifftshift over the last two axes). */
void hl_fft_shift(float complex *data, size_t batch, size_t h, size_t w);
void hl_fft_unshift(float complex *data, size_t batch, size_t h, size_t w);

#endif
