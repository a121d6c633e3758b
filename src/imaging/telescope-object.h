/*
 * imaging/telescope-object.h - something to look at through a telescope.
 *
 *     float object[128 * 128];
 *     hl_telescope_object_make(128, 42, object);
 *     hl_telescope_object_place(object, 128, 512, picture);
 *
 * Pure functions; thread-safe.
 */
#ifndef HL_IMAGING_TELESCOPE_OBJECT_H
#define HL_IMAGING_TELESCOPE_OBJECT_H

#include <stdint.h>

/* A moon of `seed`: a disc, darker towards its limb, with bright and dark spots and dark lines.
 * (side, side) values from 0 to 1, the same on every machine to rounding. */
void hl_telescope_object_make(int64_t side, uint64_t seed, float *ret_object);

/* In the middle of (image, image) zeros, where hl_telescope expects it. */
void hl_telescope_object_place(const float *object, int64_t side, int64_t image,
                               float *ret_picture);

#endif
