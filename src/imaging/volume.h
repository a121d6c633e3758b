/*
 * imaging/volume.h - dense float volumes in the order z, y, x, and their sizes.
 *
 *     hl_volume_shape shape = {16, 32, 32};
 *     int64_t voxels;
 *     hl_volume_count(shape, "patch", &voxels, error);
 *
 * A picture is a volume of depth 1. Voxel (z, y, x) is number (z * height + y) * width + x. Pure
 * functions of their arguments; thread-safe.
 */
#ifndef HL_IMAGING_VOLUME_H
#define HL_IMAGING_VOLUME_H

#include "base/error.h"
#include "base/text.h"
#include <stdbool.h>

typedef struct hl_volume_shape {
  int64_t depth, height, width;
} hl_volume_shape;

/* Voxels of the largest volume: 16 GiB of float. */
#define HL_VOLUME_MAX_VOXELS (INT64_C(1) << 32)

/* The voxels of a volume. INVALID_ARGUMENT, with `what` ("patch"), if a side is below 1; LIMIT
 * beyond HL_VOLUME_MAX_VOXELS. */
hl_status hl_volume_count(hl_volume_shape shape, const char *what, int64_t *ret_voxels,
                          hl_error *error);

bool hl_volume_same(hl_volume_shape a, hl_volume_shape b);

/* Appends "16 x 32 x 32". */
void hl_volume_format(hl_text *text, hl_volume_shape shape);

/* BAD_DATA, with `what` ("cells.tiff: image") and the position of the first one, if a voxel is NaN
 * or infinite: one such voxel makes all of a normalised volume NaN. `shape` has been counted. */
hl_status hl_volume_check_finite(const float *volume, hl_volume_shape shape, const char *what,
                                 hl_error *error);

/* "16x32x32", or "64x64" for a picture, into a shape; INVALID_ARGUMENT names `what`. Also with
 * commas, and in brackets, as CytoDL's patch_shape: "[16, 32, 32]". */
hl_status hl_volume_parse(const char *text, const char *what, hl_volume_shape *ret_shape,
                          hl_error *error);

#endif
