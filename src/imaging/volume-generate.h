/*
 * imaging/volume-generate.h - made-up microscopy volumes whose answer is known.
 *
 *     hl_nuclei_options options = HL_NUCLEI_DEFAULTS;
 *     options.shape = (hl_volume_shape){32, 96, 96};
 *     options.index = 3;                                   volume number 3 of this seed
 *     hl_nuclei_generate(&options, image, label, target, error);
 *
 * Nuclei are ellipsoids of random place, size (semi-axes 3/4 to 5/4 of the radius), direction and
 * brightness b (0.5 to 1); within one, the light falls from b at the centre to 3/4 b at the edge,
 * and outside there is 0.1. Where they overlap the brighter one is seen. The light is blurred by
 * two running means over each axis, of 2 h + 1 voxels with h = max(1, radius / 6) in the plane and
 * 2 h along z, as a microscope is worse along z. Noise is a sum of four uniform numbers, with a
 * standard deviation of noise * sqrt(light): more where there is more light, as photons do it.
 *
 *   label   1 within an ellipsoid, else 0: of the ellipsoids, not of the blurred light
 *   target  s^2 / (s^2 + 1/4), s the image smoothed by 1 2 1 over each axis, at least 0: what a
 *           network with windows of 3 can learn without error
 *
 * Numbers come from additions, products, quotients and square roots alone, which IEEE 754 rounds
 * in one way, so a volume is the same bytes on every machine. Pure; thread-safe.
 */
#ifndef HL_IMAGING_VOLUME_GENERATE_H
#define HL_IMAGING_VOLUME_GENERATE_H

#include "imaging/volume.h"

typedef struct hl_nuclei_options {
  hl_volume_shape shape; /* depth 1: a picture, a plane through such nuclei */
  double radius;         /* mean semi-axis in voxels, 1 to 1000 */
  double fill;           /* part of the volume that nuclei would take if none overlapped, 0 to 1 */
  double noise;          /* 0 to 10 */
  uint64_t seed, index;  /* of all volumes, and of this one */
} hl_nuclei_options;

#define HL_NUCLEI_DEFAULTS                                                                         \
  { .shape = {32, 96, 96}, .radius = 6, .fill = 0.25, .noise = 0.1, .seed = 42 }

/* Fills arrays of the shape; `ret_label` and `ret_target` may be NULL. INVALID_ARGUMENT names the
 * option; LIMIT; OUT_OF_MEMORY. */
hl_status hl_nuclei_generate(const hl_nuclei_options *options, float *ret_image, float *ret_label,
                             float *ret_target, hl_error *error);

/* Whether `text` is "nuclei" or begins with "nuclei:". */
bool hl_nuclei_is(const char *text);

/* "nuclei", or "nuclei:size=32x96x96,count=8,radius=6,fill=0.25,noise=0.1" with any of these keys,
 * onto options that hold the defaults; `io_count` is the number of volumes. INVALID_ARGUMENT names
 * the key. */
hl_status hl_nuclei_parse(const char *text, hl_nuclei_options *io_options, int64_t *io_count,
                          hl_error *error);

#endif
