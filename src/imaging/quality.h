/*
 * imaging/quality.h - how alike two arrays of numbers, pictures or masks are.
 *
 *     double dice = hl_quality_dice(prediction, label, voxels, 0.5f, 0);
 *     double ssim;
 *     hl_quality_ssim(a, b, 128, 128, 1.0, HL_SSIM_CROP, &ssim, error);
 *
 * Sums are in double. A number that is not defined is NaN, and each function says when; a NaN in
 * the data gives NaN, except that it lies in no mask. Pure functions of arrays; thread-safe.
 */
#ifndef HL_IMAGING_QUALITY_H
#define HL_IMAGING_QUALITY_H

#include "base/error.h"

/* Dice coefficient of two masks, 2 |A and B| / (|A| + |B|) (Dice, 1945), A the values of `a` above
 * `threshold` and B those of `b`. With `smooth` above 0: (2 |A and B| + smooth) / (|A| + |B| +
 * smooth), which is 1 where both are empty; without it that is NaN. */
double hl_quality_dice(const float *a, const float *b, int64_t count, float threshold,
                       double smooth);

/* The same with `a` as probabilities and `b` from 0 to 1: (2 sum(a b) + smooth) / (sum(a) + sum(b)
 * + smooth). 1 less this is MONAI's DiceLoss where smooth is its smooth_nr and smooth_dr. */
double hl_quality_soft_dice(const float *a, const float *b, int64_t count, double smooth);

/* Mean of (a - b)^2. NaN for a count of 0. */
double hl_quality_mse(const float *a, const float *b, int64_t count);

/* Pearson's correlation coefficient; NaN if either has no variance. */
double hl_quality_correlation(const float *a, const float *b, int64_t count);

/* 20 log10(range / sqrt(mse)) in dB; infinite where both are equal. */
double hl_quality_psnr(const float *a, const float *b, int64_t count, double range);

/* Structural similarity (Wang, Bovik, Sheikh and Simoncelli, 2004) of pictures of values within
 * `range`: a Gaussian of 11 x 11 with deviation 1.5, K1 0.01, K2 0.03, population variances,
 * mirrored at the borders with the edge repeated (d c b a | a b c d), then the mean over all but
 * `crop` pixels on each side. With HL_SSIM_CROP it is skimage's
 * structural_similarity(gaussian_weights=True, use_sample_covariance=False); PRISM's
 * compute_ssim asks for a window of 7 and so leaves out 3. DSSIM is (1 - SSIM) / 2.
 * INVALID_ARGUMENT if nothing is left, or range is not above 0; OUT_OF_MEMORY. */
#define HL_SSIM_CROP 5
hl_status hl_quality_ssim(const float *a, const float *b, int64_t height, int64_t width,
                          double range, int64_t crop, double *ret_ssim, hl_error *error);

/* All four in one pass over the pictures, and fast where both are zero around a small object: no
 * more than the object and what the window reaches is filtered, since the rest is alike. Equal to
 * the functions above to rounding. Fails as hl_quality_ssim. */
typedef struct hl_picture_quality {
  double mse, psnr, ssim, correlation;
} hl_picture_quality;
hl_status hl_quality_pictures(const float *a, const float *b, int64_t height, int64_t width,
                              double range, int64_t crop, hl_picture_quality *ret_quality,
                              hl_error *error);

#endif
