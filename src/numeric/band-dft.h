/*
 * numeric/band-dft.h - the picture that a small band of frequencies makes, and back, exactly, by
 * two matrix products instead of a transform of the whole plane.
 *
 *   hl_band_dft *dft;
 *   status = hl_band_dft_new(512, 41, team, &dft, error);
 *   hl_band_dft_amplitude(dft, band, HL_BAND_FLIP, image);            // image[512 * 512]
 *   hl_band_dft_residual(dft, band, HL_BAND_FLIP, seen, &sums, gradient);
 *
 * A band is `band` x `band` complex numbers, frequency 0 in the middle. The picture is n x n:
 *
 *   field[p][q] = 1/n Σ_u Σ_v band[u + band/2][v + band/2] exp(-2πi (u (p - c) + v (q - c)) / n)
 *
 * with c = n / 2 rounded down: fftshift(fft2(ifftshift(·), orthonormal)) of a plane that is zero
 * outside the band. A band that lies elsewhere in its plane makes the same picture times a phase of
 * modulus 1, so its amplitude is the same: cut it out and ask for the amplitude.
 *
 * cos is even and sin is odd in both axes, so each product takes a quarter of the multiplications
 * of a complex one, and an eighth where n is a multiple of 64, by the mirrors about a quarter of
 * the picture: n² band / 2. Where n is a multiple of 16 vectors (256 of AVX-512), less
 * than half of that is left, by turns by an eighth. Above a band of a quarter of n a pruned FFT is
 * faster. Sums are fused and as wide as the processor's vectors: the last bits differ between
 * instruction sets, and between numbers of threads for gradients. Errors are about 1e-6 of the
 * largest value.
 */
#ifndef HL_NUMERIC_BAND_DFT_H
#define HL_NUMERIC_BAND_DFT_H

#include <complex.h>
#include <stddef.h>

#include "base/error.h"
#include "base/team.h"
#include "numeric/residual.h"

enum hl_band_flags {
  HL_BAND_FLIP = 1 << 0, /* both axes of the picture reversed: [n-1-p][n-1-q] */
};

enum { HL_BAND_MAX_IMAGE = 1 << 14 };

/* Tables and scratch; one call at a time. */
typedef struct hl_band_dft hl_band_dft;

/* `band` is odd and at most n. INVALID_ARGUMENT else, OUT_OF_MEMORY. `team` is borrowed. The caller
 * frees with hl_band_dft_free. */
hl_status hl_band_dft_new(size_t n, size_t band, hl_team *team, hl_band_dft **ret_dft,
                          hl_error *error);
void hl_band_dft_free(hl_band_dft *dft); /* NULL is fine */
size_t hl_band_dft_bytes(const hl_band_dft *dft);

/* ret_amplitude[n][n] = |field|. */
void hl_band_dft_amplitude(hl_band_dft *dft, const float complex *band, unsigned flags,
                           float *ret_amplitude);

/* The sums of | |field| - target | over target[n][n], flipped as the amplitude is, and the gradient
 * of the first with respect to the band, d/d re + i d/d im (0 where the field or the difference is
 * 0). The field is never stored. ret_gradient[band][band]; NULL leaves it out. */
void hl_band_dft_residual(hl_band_dft *dft, const float complex *band, unsigned flags,
                          const float *target, hl_residual_sums *ret_sums,
                          float complex *ret_gradient);

#endif
