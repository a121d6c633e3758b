/* Volumes in arrays of an .npz. They are read whole when the first one is wanted. */
#include "base/dtype.h"
#include "data/array.h"
#include "data/npz.h"
#include "workloads/volume-set-internal.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const image_names[] = {"image", "images", "raw", "brightfield", NULL};
static const char *const mask_names[] = {"label", "labels", "mask", "seg", "target", NULL};
static const char *const signal_names[] = {"target", "signal", "label", NULL};

typedef struct arrays {
  hl_npz *npz;
  const char *image, *target; /* names of arrays; `target` NULL: there is none */
  const char *const *target_names;
  int64_t count;
  hl_volume_shape shape;
  pthread_mutex_t lock;     /* of what follows */
  hl_tensor_view values[2]; /* float32, once read */
  bool is_read[2];
  char (*names)[80];
} arrays;

static const char *find(const hl_npz *npz, const char *const *names) {
  while (*names && !hl_npz_find(npz, *names)) names++;
  return *names;
}

static bool is_stack(const hl_npz_entry *entry) {
  return entry && !entry->problem && (entry->header.rank == 3 || entry->header.rank == 4);
}

bool hl__volumes_name_npz(const char *path) {
  return hl_text_ends(path, ".npz") || hl_text_ends(path, ".npz.bz2");
}

bool hl__volumes_are_in_npz(const char *path) {
  hl_npz *npz = NULL;
  if (!hl__volumes_name_npz(path)) return false;
  if (hl_npz_open(path, NULL, &npz, NULL) != HL_OK) return false;
  const char *image = find(npz, image_names);
  bool found = image && is_stack(hl_npz_find(npz, image));
  hl_npz_free(npz);
  return found;
}

/* The part of an array's shape that is one volume. */
static hl_volume_shape shape_of(const hl_npy_header *h) {
  int32_t first = h->rank - 3;
  return (hl_volume_shape){h->dims[first], h->dims[first + 1], h->dims[first + 2]};
}

/* Array number `which` as float32, read when it is first wanted. Under the lock. */
static hl_status read_array(arrays *a, int which, const char *name, hl_error *error) {
  if (a->is_read[which]) return HL_OK;
  hl_tensor_view raw = {0};
  hl_text what = HL_TEXT_INIT;
  hl_text_format(&what, "%s: array '%s'", hl_npz_name(a->npz), name);
  hl_status status = hl_npz_read(a->npz, name, &raw, error);
  if (status == HL_OK && raw.dtype == HL_FLOAT32) {
    a->values[which] = raw;
    raw = (hl_tensor_view){0};
  } else if (status == HL_OK) {
    status = hl_array_convert(&raw, HL_FLOAT32, what.data, &a->values[which], error);
  }
  hl_array_release(&raw);
  hl_text_release(&what);
  a->is_read[which] = status == HL_OK;
  return status;
}

static hl_status copy_volume(arrays *a, int which, const char *name, int64_t index,
                             hl__raw_volume *ret, hl_error *error) {
  hl_status status = read_array(a, which, name, error);
  if (status == HL_OK) status = hl__raw_volume_new(a->shape, ret, error);
  if (status != HL_OK) return status;
  size_t voxels = (size_t)(a->shape.depth * a->shape.height * a->shape.width);
  memcpy(ret->voxels, (const float *)a->values[which].data + (size_t)index * voxels,
         voxels * sizeof(float));
  return HL_OK;
}

static hl_status read_volume(void *context, int64_t index, hl__raw_volume *ret_image,
                             hl__raw_volume *ret_target, hl_error *error) {
  arrays *a = context;
  if (ret_target && !a->target)
    return hl_error_set(error, HL_NOT_FOUND,
                        "%s has no array of targets: '%s', or '%s', in the shape of '%s'",
                        hl_npz_name(a->npz), a->target_names[0], a->target_names[1], a->image);
  pthread_mutex_lock(&a->lock);
  hl_status status = copy_volume(a, 0, a->image, index, ret_image, error);
  if (status == HL_OK && ret_target)
    status = copy_volume(a, 1, a->target, index, ret_target, error);
  pthread_mutex_unlock(&a->lock);
  return status;
}

static hl_status shape_of_each(void *context, int64_t index, hl_volume_shape *ret_shape,
                               hl_error *error) {
  (void)index, (void)error;
  *ret_shape = ((const arrays *)context)->shape;
  return HL_OK;
}

static const char *name_of(void *context, int64_t index) {
  return ((const arrays *)context)->names[index];
}

static bool has_target(void *context, int64_t index) {
  (void)index;
  return ((const arrays *)context)->target != NULL;
}

static void free_arrays(void *context) {
  arrays *a = context;
  for (int i = 0; i < 2; i++) hl_array_release(&a->values[i]);
  hl_npz_free(a->npz);
  pthread_mutex_destroy(&a->lock);
  free(a->names);
  free(a);
}

static hl_status check_arrays(arrays *a, hl_error *error) {
  const char *file = hl_npz_name(a->npz);
  const hl_npz_entry *image = a->image ? hl_npz_find(a->npz, a->image) : NULL;
  if (!is_stack(image))
    return hl_error_set(error, HL_BAD_DATA,
                        "%s: no array 'image' of volumes, (z, y, x) or (count, z, y, x)", file);
  a->shape = shape_of(&image->header);
  a->count = image->header.rank == 4 ? image->header.dims[0] : 1;
  const hl_npz_entry *target = a->target ? hl_npz_find(a->npz, a->target) : NULL;
  if (target && (target->problem || target->header.rank != image->header.rank ||
                 memcmp(target->header.dims, image->header.dims,
                        (size_t)image->header.rank * sizeof image->header.dims[0]) != 0))
    return hl_error_set(error, HL_BAD_DATA, "%s: arrays '%s' and '%s' have different shapes", file,
                        a->image, a->target);
  if (a->count < 1) return hl_error_set(error, HL_BAD_DATA, "%s: no volume is in it", file);
  int64_t voxels = 0;
  return hl_volume_count(a->shape, file, &voxels, error);
}

static hl_status name_volumes(arrays *a, hl_error *error) {
  const char *file = hl_npz_name(a->npz);
  a->names = calloc((size_t)a->count, sizeof *a->names);
  if (!a->names) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for volumes");
  for (int64_t i = 0; i < a->count; i++)
    snprintf(a->names[i], sizeof a->names[i], "%.40s, volume %" PRId64, file, i);
  return HL_OK;
}

hl_status hl__volumes_of_npz(const char *path, const hl_volume_recipe *recipe, int64_t most,
                             hl__volume_origin *ret_origin, hl_error *error) {
  arrays *a = calloc(1, sizeof *a);
  if (!a) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for volumes");
  pthread_mutex_init(&a->lock, NULL);
  bool mask = recipe->task == HL_VOLUME_SEGMENTATION;
  a->target_names = mask ? mask_names : signal_names;
  hl_status status = hl_npz_open(path, NULL, &a->npz, error);
  if (status == HL_OK) {
    a->image = find(a->npz, image_names);
    a->target = find(a->npz, a->target_names);
    status = check_arrays(a, error);
  }
  if (status == HL_OK && most && most < a->count) a->count = most;
  if (status == HL_OK) status = name_volumes(a, error);
  char *what = NULL;
  if (status == HL_OK) {
    hl_text text = HL_TEXT_INIT;
    hl_text_format(&text, "%s: %" PRId64 " volume%s, ", hl_npz_name(a->npz), a->count,
                   a->count == 1 ? "" : "s");
    hl_volume_format(&text, a->shape);
    what = hl_text_take(&text);
    if (!what) status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for volumes");
  }
  if (status != HL_OK) {
    free_arrays(a);
    return status;
  }
  *ret_origin = (hl__volume_origin){.context = a,
                                    .count = a->count,
                                    .what = what,
                                    .read = read_volume,
                                    .shape = shape_of_each,
                                    .name = name_of,
                                    .has_target = has_target,
                                    .free = free_arrays};
  return HL_OK;
}
