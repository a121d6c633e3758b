/*
 * imaging/volume-augment.h - the random part of training on patches: where, how turned, how bright.
 *
 *     hl_augment_options options = HL_AUGMENT_SEGMENTATION;
 *     hl_augment draw;
 *     hl_augment_draw(&options, shape, patch, seed, epoch, sample, &draw);
 *     hl_volume_crop(image, shape, draw.at, patch, "image", out, error);
 *     hl_augment_turn(&draw, out, patch, scratch);       the label too
 *     hl_augment_intensity(&draw, out, voxels);          the image only
 *
 * A draw depends on (seed, epoch, sample) alone, and one kind of change does not move the numbers
 * of another: switching it off leaves the rest as it was. Pure; thread-safe.
 */
#ifndef HL_IMAGING_VOLUME_AUGMENT_H
#define HL_IMAGING_VOLUME_AUGMENT_H

#include "imaging/volume.h"

enum { HL_AUGMENT_MAX_POINTS = 512 };

typedef struct hl_augment_options {
  double histogram;  /* probability of a shift of the histogram */
  int32_t points[2]; /* fewest and most control points of it, 3 to HL_AUGMENT_MAX_POINTS */
  double shift;      /* probability of adding a part of the standard deviation */
  double shift_most; /* of it, at most, up or down */
  double contrast;   /* probability of a gamma curve */
  double gamma[2];   /* smallest and largest exponent */
  unsigned flips;    /* axes that are mirrored with probability 1/2: 1 z, 2 y, 4 x */
  bool rotate;       /* by 0 to 3 quarter turns in the plane; 0 or 2 where it is not square */
} hl_augment_options;

/* As CytoDL's data/im2im/segmentation.yaml; its labelfree.yaml has crops alone: {0}. */
#define HL_AUGMENT_SEGMENTATION                                                                    \
  {                                                                                                \
    .histogram = 0.1, .points = {90, 500}, .shift = 0.1, .shift_most = 0.1, .contrast = 0.1,       \
    .gamma = {                                                                                     \
      0.9,                                                                                         \
      1.5                                                                                          \
    }                                                                                              \
  }

typedef struct hl_augment {
  hl_volume_shape at; /* first voxel of the patch, of all that fit with equal chance */
  unsigned flips;
  int quarters;
  int32_t point_count;                  /* 0: no shift of the histogram */
  double points[HL_AUGMENT_MAX_POINTS]; /* what i / (point_count - 1) of the range becomes */
  double shift;                         /* in standard deviations; 0: none */
  double gamma;                         /* 1: none */
} hl_augment;

/* INVALID_ARGUMENT for an option out of its range. */
hl_status hl_augment_check(const hl_augment_options *options, hl_error *error);

/* `options` have been checked and the patch fits (hl_volume_check_patch). */
void hl_augment_draw(const hl_augment_options *options, hl_volume_shape shape,
                     hl_volume_shape patch, uint64_t seed, uint32_t epoch, uint64_t sample,
                     hl_augment *ret_draw);

/* Flips, then turns a patch, in place; `scratch` is as large as the patch. */
void hl_augment_turn(const hl_augment *draw, float *patch, hl_volume_shape shape, float *scratch);

/* In place, in this order: the histogram (MONAI's RandHistogramShift: values are mapped by straight
 * lines between control points, the range stays), v + shift * deviation (StdShiftIntensity), and
 * ((v - min) / (range + 1e-7))^gamma * range + min (AdjustContrast). */
void hl_augment_intensity(const hl_augment *draw, float *patch, int64_t voxels);

#endif
