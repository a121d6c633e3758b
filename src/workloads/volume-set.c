#include "workloads/volume-set.h"

#include "imaging/volume-generate.h"
#include "imaging/volume-transform.h"
#include "workloads/volume-set-internal.h"
#include <stdlib.h>
#include <string.h>

struct hl_volume_set {
  hl_volume_recipe recipe;
  hl__volume_origin origin;
  char *description;
};

void hl_prepared_volume_release(hl_prepared_volume *volume) {
  free(volume->image);
  free(volume->target);
  *volume = (hl_prepared_volume){0};
}

hl_status hl__raw_volume_new(hl_volume_shape shape, hl__raw_volume *ret_volume, hl_error *error) {
  int64_t voxels = shape.depth * shape.height * shape.width;
  float *memory = malloc((size_t)voxels * sizeof *memory);
  if (!memory)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a volume of %lld voxels",
                        (long long)voxels);
  *ret_volume = (hl__raw_volume){shape, memory};
  return HL_OK;
}

bool hl_volume_set_is(const char *path) {
  return hl_nuclei_is(path) || hl__volumes_are_in_npz(path) || hl__volumes_are_in_files(path);
}

static hl_status find_origin(const char *path, const hl_volume_recipe *recipe, uint64_t seed,
                             int64_t most, hl__volume_origin *ret, hl_error *error) {
  if (hl_nuclei_is(path)) return hl__volumes_of_nuclei(path, recipe, seed, most, ret, error);
  if (hl__volumes_name_npz(path)) return hl__volumes_of_npz(path, recipe, most, ret, error);
  return hl__volumes_of_files(path, recipe, most, ret, error);
}

hl_status hl_volume_set_open(const char *path, const hl_volume_recipe *recipe, uint64_t seed,
                             int64_t most, hl_volume_set **ret_set, hl_error *error) {
  hl_volume_set *set = calloc(1, sizeof *set);
  if (!set) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for volumes");
  set->recipe = *recipe;
  hl_status status = hl_augment_check(&recipe->augment, error);
  if (status == HL_OK) status = find_origin(path, recipe, seed, most, &set->origin, error);
  if (status == HL_OK) {
    hl_text text = HL_TEXT_INIT;
    hl_text_format(&text, "%s; ", set->origin.what);
    hl_volume_recipe_describe(recipe, &text);
    set->description = hl_text_take(&text);
    hl_text_blank(set->origin.what, "");
    hl_text_blank(set->description, "");
    if (!set->description) status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for volumes");
  }
  if (status == HL_OK)
    *ret_set = set;
  else
    hl_volume_set_free(set);
  return status;
}

void hl_volume_set_free(hl_volume_set *set) {
  if (!set) return;
  if (set->origin.free) set->origin.free(set->origin.context);
  free(set->origin.what);
  free(set->description);
  free(set);
}

int64_t hl_volume_set_count(const hl_volume_set *set) {
  return set->origin.count;
}

const hl_volume_recipe *hl_volume_set_recipe(const hl_volume_set *set) {
  return &set->recipe;
}

const char *hl_volume_set_description(const hl_volume_set *set) {
  return set->description;
}

const char *hl_volume_set_origin(const hl_volume_set *set) {
  return set->origin.what;
}

const char *hl_volume_set_name(const hl_volume_set *set, int64_t index) {
  return set->origin.name(set->origin.context, index);
}

hl_status hl_volume_set_shape(const hl_volume_set *set, int64_t index, hl_volume_shape *ret_shape,
                              hl_error *error) {
  hl_volume_shape shape = {0};
  hl_status status = set->origin.shape(set->origin.context, index, &shape, error);
  return status == HL_OK ? hl_volume_zoom_shape(shape, set->recipe.zoom, ret_shape, error) : status;
}

bool hl_volume_set_has_target(const hl_volume_set *set, int64_t index) {
  return !set->origin.has_target || set->origin.has_target(set->origin.context, index);
}

/* Zooms in place of `raw`. */
static hl_status zoom(hl__raw_volume *raw, const double factors[3], hl_error *error) {
  hl_volume_shape shape = {0};
  hl_status status = hl_volume_zoom_shape(raw->shape, factors, &shape, error);
  if (status != HL_OK || hl_volume_same(shape, raw->shape)) return status;
  hl__raw_volume zoomed = {0};
  status = hl__raw_volume_new(shape, &zoomed, error);
  if (status != HL_OK) return status;
  hl_volume_zoom_area(raw->voxels, raw->shape, shape, zoomed.voxels);
  free(raw->voxels);
  *raw = zoomed;
  return HL_OK;
}

static hl_status prepare(const hl_volume_set *set, const char *what, bool is_target,
                         hl__raw_volume *raw, hl_error *error) {
  const hl_volume_recipe *r = &set->recipe;
  hl_text place = HL_TEXT_INIT;
  hl_text_format(&place, "%.200s: %s", what, is_target ? "target" : "image");
  hl_status status = hl_volume_check_finite(raw->voxels, raw->shape, place.data, error);
  if (status == HL_OK) {
    status = zoom(raw, r->zoom, error);
    if (status != HL_OK) hl_error_prefix(error, "%s", place.data);
  }
  hl_text_release(&place);
  if (status != HL_OK) return status;
  int64_t voxels = raw->shape.depth * raw->shape.height * raw->shape.width;
  if (is_target && r->task == HL_VOLUME_SEGMENTATION)
    hl_volume_threshold(raw->voxels, voxels, (float)r->threshold);
  else if (r->normalise)
    hl_volume_normalise(raw->voxels, voxels);
  return HL_OK;
}

static hl_status read_both(hl_volume_set *set, int64_t index, hl__raw_volume *image,
                           hl__raw_volume *target, hl_error *error) {
  const char *name = hl_volume_set_name(set, index);
  hl_status status = set->origin.read(set->origin.context, index, image, target, error);
  if (status == HL_OK && target && !hl_volume_same(image->shape, target->shape)) {
    hl_text shapes = HL_TEXT_INIT;
    hl_volume_format(&shapes, image->shape);
    hl_text_append(&shapes, " and ");
    hl_volume_format(&shapes, target->shape);
    status = hl_error_set(error, HL_BAD_DATA,
                          "%.200s: image and target have different shapes: %s (z, y, x)", name,
                          shapes.data);
    hl_text_release(&shapes);
  }
  if (status == HL_OK) status = prepare(set, name, false, image, error);
  if (status == HL_OK && target) status = prepare(set, name, true, target, error);
  return status;
}

hl_status hl_volume_set_read(hl_volume_set *set, int64_t index, bool want_target,
                             hl_prepared_volume *ret_volume, hl_error *error) {
  hl__raw_volume image = {0}, target = {0};
  hl_status status = read_both(set, index, &image, want_target ? &target : NULL, error);
  if (status != HL_OK) {
    free(image.voxels);
    free(target.voxels);
    return status;
  }
  *ret_volume = (hl_prepared_volume){image.shape, image.voxels, target.voxels};
  return HL_OK;
}
