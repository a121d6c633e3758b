/*
 * imaging/volume-transform.h - what is done to a volume before a network sees it, and after.
 *
 *     hl_volume_zoom_shape(shape, factors, &small, error);   scanner: 65 x 624 x 924
 *     hl_volume_zoom_area(image, shape, small, out);         network: 16 x 156 x 231
 *     hl_volume_normalise(out, voxels);                      mean 0, deviation 1
 *     hl_volume_threshold(label, voxels, 0.1f);              a mask of 0 and 1
 *     ... the network ...
 *     hl_volume_sigmoid(logits, voxels);                     for a segmentation
 *     hl_volume_to_bytes(logits, voxels, bytes);             0 to 255
 *
 * These are the steps of CytoDL's experiments im2im/segmentation and im2im/labelfree. Each names
 * the function it equals. Shapes have been counted (hl_volume_count); arrays do not overlap unless
 * a function works in place. Pure functions of their arguments; thread-safe.
 */
#ifndef HL_IMAGING_VOLUME_TRANSFORM_H
#define HL_IMAGING_VOLUME_TRANSFORM_H

#include "imaging/volume.h"

/* The shape after a zoom by `factors` (z, y, x): floor(side * factor), as torch's interpolate and
 * MONAI's Zoom have it; a side of a picture (depth 1) stays 1. INVALID_ARGUMENT for a factor that
 * is not above 0, at most 64, or that leaves nothing of a side. */
hl_status hl_volume_zoom_shape(hl_volume_shape shape, const double factors[3],
                               hl_volume_shape *ret_shape, hl_error *error);

/* Resamples by area: voxel i of a side of `to` is the mean of voxels floor(i n / m) to
 * ceil((i + 1) n / m) - 1 of `from`'s n. That is torch.nn.functional.interpolate(mode='area'),
 * which is MONAI's default for Zoom. Means are taken in double. */
void hl_volume_zoom_area(const float *volume, hl_volume_shape from, hl_volume_shape to,
                         float *ret_volume);

/* In place: less the mean, over the population's standard deviation (over 1 where that is 0), as
 * MONAI's NormalizeIntensity. One channel; call it for each. */
void hl_volume_normalise(float *volume, int64_t voxels);

/* In place: 1 where a voxel is above `threshold`, else 0. (CytoDL's ThresholdIntensity with
 * above=False, cval=1 keeps what is below as it is: of a mask zoomed by area, values between 0 and
 * the threshold. Those are no labels, and are 0 here.) */
void hl_volume_threshold(float *volume, int64_t voxels, float threshold);

/* Copies the `patch` whose first voxel is `at`. INVALID_ARGUMENT if it does not fit, with `what`
 * and the remedy. */
hl_status hl_volume_crop(const float *volume, hl_volume_shape shape, hl_volume_shape at,
                         hl_volume_shape patch, const char *what, float *ret_patch,
                         hl_error *error);

/* INVALID_ARGUMENT, with `what`, if no patch of this shape lies in the volume. */
hl_status hl_volume_check_patch(hl_volume_shape shape, hl_volume_shape patch, const char *what,
                                hl_error *error);

/* Mirrors the axes whose bit is set: 1 z, 2 y, 4 x. In place. */
void hl_volume_flip(float *volume, hl_volume_shape shape, unsigned axes);

/* Turns each plane (y, x) by `quarters` quarter turns as numpy.rot90(volume, quarters, (1, 2)).
 * Odd numbers swap height and width in ret_volume. */
void hl_volume_rotate(const float *volume, hl_volume_shape shape, int quarters, float *ret_volume);

/* In place: 1 / (1 + exp(-x)), without overflow. */
void hl_volume_sigmoid(float *volume, int64_t voxels);

/* The smallest value becomes 0 and the largest 255, with the fraction cut off, as
 * skimage.exposure.rescale_intensity(out_range=uint8).astype(uint8); of a volume of one value, that
 * value between 0 and 255. NaN becomes 0, and takes no part in the range. */
void hl_volume_to_bytes(const float *volume, int64_t voxels, uint8_t *ret_bytes);

#endif
