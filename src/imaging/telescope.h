/*
 * imaging/telescope.h - PRISM's progressive imaging: a picture seen through small apertures in the
 * plane of its spatial frequencies, and the loss that a reconstruction has against what was seen.
 *
 *     hl_telescope *t;
 *     hl_telescope_new(&(hl_telescope_spec){.image = 512, .object = 128, .radius = 20}, &t, error);
 *     hl_telescope_set_truth(t, picture, 1);
 *     hl_telescope_measure(t, i, aperture, reconstruction, seen_before, seen_now, error);
 *     hl_telescope_loss(t, aperture, image, seen_before, seen_now, &loss, gradient, error);
 *     hl_telescope_add(t, aperture, error);                 // to the cumulative mask
 *
 * F is fftshift(FFT2(ifftshift(.))), orthonormal. What is seen of x through a mask M is the
 * amplitude |F(M F(x))|, both axes flipped: pictures are (image, image) floats, row-major. The
 * cumulative mask is open where any aperture was.
 *
 * Pictures are zero outside of the object x object pixels in the middle, which the exact
 * optimisations use: with all of them the results are those without any to about 1e-6 of the
 * largest value. Without any, each transform is of the whole plane, with its shifts, and nothing is
 * kept from call to call. An aperture is closed where it is outside of the plane; one farther from
 * the middle than `image`, or not finite, is INVALID_ARGUMENT. One thread at a time.
 */
#ifndef HL_IMAGING_TELESCOPE_H
#define HL_IMAGING_TELESCOPE_H

#include "imaging/aperture.h"
#include "imaging/measurement-cache.h"

/* What may be done to be fast. All are exact. */
enum {
  HL_TELESCOPE_GRID_CACHE = 1 << 0,        /* coordinates of the plane are computed once */
  HL_TELESCOPE_PLAN_CACHE = 1 << 1,        /* tables of transforms are computed once */
  HL_TELESCOPE_MEASUREMENT_CACHE = 1 << 2, /* what is seen of the truth is kept by aperture */
  HL_TELESCOPE_KEPT_SPECTRUM = 1 << 3,     /* the truth is transformed once */
  HL_TELESCOPE_MATRIX_DFT = 1 << 4,        /* of the band and the object alone, by products of
                                            * matrices where those cost less than a transform */
  HL_TELESCOPE_REAL_INPUT = 1 << 5,        /* half of the spectrum of a real picture is enough */
  HL_TELESCOPE_INCREMENTAL_MASK = 1 << 6,  /* an aperture is added to the mask, which is else made
                                            * anew of all of them */
  HL_TELESCOPE_ALL = (1 << 7) - 1
};

typedef struct hl_telescope_spec {
  int64_t image, object; /* pixels a side; the picture's, and of its part that is not zero */
  double radius;         /* of an aperture, in pixels of the spectrum */
  double snr;            /* 0: no noise; a ratio, not decibels */
  uint64_t seed;         /* of noise */
  unsigned options;      /* HL_TELESCOPE_* */
  int threads;
  uint64_t cache_bytes; /* of measurements; 0: none is kept */
} hl_telescope_spec;

typedef struct hl_telescope hl_telescope;

/* INVALID_ARGUMENT for an image that is odd or above 8192, an object larger than it, a radius of 0
 * or beyond the image; OUT_OF_MEMORY. */
hl_status hl_telescope_new(const hl_telescope_spec *spec, hl_telescope **ret_telescope,
                           hl_error *error);
void hl_telescope_free(hl_telescope *telescope); /* NULL is fine */

/* The picture that is seen; copied. `version` names it for the cache: another one for each. */
void hl_telescope_set_truth(hl_telescope *telescope, const float *picture, uint64_t version);

/* An empty cumulative mask. Caches stay. */
void hl_telescope_restart(hl_telescope *telescope);

/* Empties the cache of measurements, which is no eviction, and forgets the truth's spectrum. */
void hl_telescope_forget(hl_telescope *telescope);

/* What is seen of the reconstruction through the cumulative mask, and of the truth through the new
 * aperture. With noise each pixel a becomes max(0, a^2 + a g / sqrt(snr)), g normal and of
 * (seed, sample, pixel), added after the cache. OUT_OF_MEMORY. */
hl_status hl_telescope_measure(hl_telescope *telescope, int64_t sample, hl_aperture aperture,
                               const float *reconstruction, float *ret_old, float *ret_new,
                               hl_error *error);
/* The two halves alone. */
hl_status hl_telescope_measure_old(hl_telescope *telescope, int64_t sample,
                                   const float *reconstruction, float *ret_old, hl_error *error);
hl_status hl_telescope_measure_new(hl_telescope *telescope, int64_t sample, hl_aperture aperture,
                                   float *ret_new, hl_error *error);

/* Each sum |a - m| / sum |m| over pixels, a what is seen of `image` and m what was measured; where
 * nothing was, mean |a|. */
typedef struct hl_telescope_losses {
  double old_loss, new_loss;
} hl_telescope_losses;

/* `measured_old` NULL: the image is the one that was measured, without noise, so that the old loss
 * is 0 and has no slope, and is not computed; by sums in another order it would have one.
 * Losses of `image` and, unless NULL, the gradient of their sum by each of its pixels; of those
 * outside of the object it is 0. OUT_OF_MEMORY. */
hl_status hl_telescope_loss(hl_telescope *telescope, hl_aperture aperture, const float *image,
                            const float *measured_old, const float *measured_new,
                            hl_telescope_losses *ret_losses, float *ret_gradient, hl_error *error);

/* Opens the cumulative mask there. OUT_OF_MEMORY. */
hl_status hl_telescope_add(hl_telescope *telescope, hl_aperture aperture, hl_error *error);

/* (image, image) of 0 and 1; borrowed until the next call. */
const uint8_t *hl_telescope_mask(hl_telescope *telescope);

typedef struct hl_telescope_counts {
  hl_measurement_counts measurements;
  uint64_t plan_hits, plan_misses, plan_bytes; /* tables of transforms: used again, made, kept */
  uint64_t grid_hits, grid_misses, grid_bytes;
  uint64_t open_pixels; /* of the cumulative mask */
  uint64_t bytes;       /* all that it holds, caches included */
} hl_telescope_counts;
void hl_telescope_count(const hl_telescope *telescope, hl_telescope_counts *ret_counts);

#endif
