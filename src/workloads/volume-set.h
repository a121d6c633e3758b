/*
 * workloads/volume-set.h - volumes to train with or to predict: made up, or of files.
 *
 *     hl_volume_set *set;
 *     hl_volume_set_open("nuclei:size=64x256x256,radius=24", &recipe, 42, 0, &set, error);
 *     hl_prepared_volume volume;
 *     hl_volume_set_read(set, 0, true, &volume, error);
 *     ... volume.shape, volume.image, volume.target ...
 *     hl_prepared_volume_release(&volume);
 *     hl_volume_set_free(set);
 *
 * What a path can be:
 *   nuclei, nuclei:KEY=VALUE,...   made up (imaging/volume-generate.h); target: the mask, or the
 *                                  function of the image for a label-free prediction
 *   FILE.npz                       arrays image and label (or mask, seg) or target (or signal),
 *                                  each (z, y, x) or (count, z, y, x)
 *   FILE.tif, .ome.tif, .npy       one volume; its target is FILE_label.tif (or _seg, _mask,
 *                                  _target, _signal) beside it, or another channel of it
 *   FOLDER                         all such files in it and below
 *   FILE.csv                       files by name, relative to the table, in columns raw (or image,
 *                                  brightfield, source) and seg (or label, mask, signal, target)
 *
 * Files are hostile: each voxel has to be finite, sizes are bounded, a target has to have its
 * image's shape; errors name the file.
 */
#ifndef HL_WORKLOADS_VOLUME_SET_H
#define HL_WORKLOADS_VOLUME_SET_H

#include "workloads/volume-recipe.h"

typedef struct hl_volume_set hl_volume_set;

/* A volume after the recipe's zoom, normalisation and threshold, before any crop. */
typedef struct hl_prepared_volume {
  hl_volume_shape shape;
  float *image, *target; /* owned; `target` NULL: none was wanted */
} hl_prepared_volume;

void hl_prepared_volume_release(hl_prepared_volume *volume);

/* Whether `path` names volumes rather than other data; files are looked at. */
bool hl_volume_set_is(const char *path);

/* Looks at what there is, without reading it whole. `most` 0: all; of made-up ones, as many as
 * the path says (count, 4). `recipe` is copied. NOT_FOUND, BAD_DATA, INVALID_ARGUMENT, LIMIT,
 * OUT_OF_MEMORY. */
hl_status hl_volume_set_open(const char *path, const hl_volume_recipe *recipe, uint64_t seed,
                             int64_t most, hl_volume_set **ret_set, hl_error *error);
void hl_volume_set_free(hl_volume_set *set);

int64_t hl_volume_set_count(const hl_volume_set *set);
const hl_volume_recipe *hl_volume_set_recipe(const hl_volume_set *set);

/* One line: what it is and what is done to it; and the first half of that. */
const char *hl_volume_set_description(const hl_volume_set *set);
const char *hl_volume_set_origin(const hl_volume_set *set);

/* What a volume is called in messages and files: "cells_01.tif", "volume 3". Valid as long as the
 * set. */
const char *hl_volume_set_name(const hl_volume_set *set, int64_t index);

/* Its shape after the zoom, from the head of its file; what is wrong further on is only seen when
 * it is read. */
hl_status hl_volume_set_shape(const hl_volume_set *set, int64_t index, hl_volume_shape *ret_shape,
                              hl_error *error);

/* Whether it has a target, as far as is known before it is read. */
bool hl_volume_set_has_target(const hl_volume_set *set, int64_t index);

/* Reads one and prepares it; `want_target` false leaves the target out. Thread-safe. */
hl_status hl_volume_set_read(hl_volume_set *set, int64_t index, bool want_target,
                             hl_prepared_volume *ret_volume, hl_error *error);

#endif
