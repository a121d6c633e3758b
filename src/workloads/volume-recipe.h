/*
 * workloads/volume-recipe.h - what is done to volumes before a network is trained with them or
 * predicts them.
 *
 *     hl_volume_recipe recipe;
 *     hl_volume_recipe_default(HL_VOLUME_SEGMENTATION, &recipe);
 *     hl_volume_recipe_parse("zoom=0.25,patches=4,flips=yx", &recipe, error);
 *
 * In this order: zoom by area; normalisation to mean 0 and deviation 1 of the image, and of the
 * target of a label-free prediction; the mask target > threshold of a segmentation; in training a
 * patch at a random place, and the augmentation. The defaults are those of CytoDL's experiments
 * im2im/segmentation and im2im/labelfree but for the zoom, which is 1: theirs is 0.25.
 *
 * Keys: zoom (Z, or ZxYxX), patches (of a volume in an epoch, 1), channel and target-channel (of
 * TIFF files, from 0), threshold (0.1), augment (on or off: the random changes of the intensity),
 * flips (axes, as zyx; none), rotate (on or off: quarter turns in the plane), normalise (on or
 * off). Pure; thread-safe.
 */
#ifndef HL_WORKLOADS_VOLUME_RECIPE_H
#define HL_WORKLOADS_VOLUME_RECIPE_H

#include "imaging/volume-augment.h"

typedef enum hl_volume_task {
  HL_VOLUME_SEGMENTATION, /* the target is a mask */
  HL_VOLUME_LABEL_FREE    /* the target is another image of the same place */
} hl_volume_task;

typedef struct hl_volume_recipe {
  hl_volume_task task;
  double zoom[3]; /* z, y, x */
  int64_t patches;
  int64_t channel;        /* of the image, in its file */
  int64_t target_channel; /* -1: channel 0 of a file of its own; else it may be the image's file */
  double threshold;
  bool normalise;
  hl_augment_options augment;
} hl_volume_recipe;

void hl_volume_recipe_default(hl_volume_task task, hl_volume_recipe *ret_recipe);

/* "KEY=VALUE,...", onto a recipe that holds the defaults; "" and NULL change nothing.
 * INVALID_ARGUMENT names --transform, the key and what is possible; the recipe is then unchanged.
 */
hl_status hl_volume_recipe_parse(const char *text, hl_volume_recipe *io_recipe, hl_error *error);

/* Appends what is done to a volume, for people: "zoom 0.25 by area, z-score, mask > 0.1". */
void hl_volume_recipe_describe(const hl_volume_recipe *recipe, hl_text *out);

/* Appends what training does besides: "4 random patches a volume, flips along yx". */
void hl_volume_recipe_describe_training(const hl_volume_recipe *recipe, hl_text *out);

#endif
