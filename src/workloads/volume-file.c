/* One volume in a file of its own: TIFF or .npy. */
#include "base/dtype.h"
#include "data/array.h"
#include "data/npz.h"
#include "data/tiff.h"
#include "workloads/volume-set-internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *hl__last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Where the ending of a volume's file begins ("cells.ome.tif": ".ome.tif"); NULL: it is none. */
const char *hl__volume_ending(const char *name) {
  static const char *const endings[] = {".ome.tiff", ".ome.tif", ".tiff", ".tif", ".npy"};
  size_t length = strlen(name);
  for (size_t i = 0; i < HL_COUNT(endings); i++) {
    size_t tail = strlen(endings[i]);
    if (length > tail && strcasecmp(name + length - tail, endings[i]) == 0)
      return name + length - tail;
  }
  return NULL;
}

static hl_status to_float(hl_tensor_view *raw, const char *path, hl_volume_shape shape,
                          hl__raw_volume *ret, hl_error *error) {
  hl_tensor_view converted = {0};
  hl_status status = HL_OK;
  if (raw->dtype == HL_FLOAT32) {
    converted = *raw;
    *raw = (hl_tensor_view){0};
    free((void *)(uintptr_t)converted.name);
  } else {
    status = hl_array_convert(raw, HL_FLOAT32, hl__last_part(path), &converted, error);
    if (status == HL_OK) free((void *)(uintptr_t)converted.name);
  }
  if (status == HL_OK) *ret = (hl__raw_volume){shape, converted.data};
  return status;
}

static hl_status read_tiff(const char *path, int64_t channel, hl__raw_volume *ret,
                           hl_error *error) {
  hl_tiff *tiff = NULL;
  hl_tensor_view raw = {0};
  int64_t voxels = 0;
  hl_status status = hl_tiff_open(path, &tiff, error);
  if (status != HL_OK) return status;
  const hl_tiff_shape *s = hl_tiff_get_shape(tiff);
  hl_volume_shape shape = {s->depth, s->height, s->width};
  if (channel >= s->channels)
    status = hl_error_set(error, HL_INVALID_ARGUMENT,
                          "%.200s has %" PRId64 " channel%s; there is no channel %" PRId64
                          " (they are counted from 0)",
                          hl__last_part(path), s->channels, s->channels == 1 ? "" : "s", channel);
  if (status == HL_OK) status = hl_volume_count(shape, hl__last_part(path), &voxels, error);
  if (status == HL_OK)
    status = hl_array_new("volume", s->dtype, 3, (int64_t[]){s->depth, s->height, s->width}, &raw,
                          error);
  if (status == HL_OK) status = hl_tiff_read(tiff, 0, channel, raw.data, error);
  if (status == HL_OK) status = to_float(&raw, path, shape, ret, error);
  hl_array_release(&raw);
  hl_tiff_free(tiff);
  return status;
}

static hl_status shape_of_npy(const hl_npz_entry *array, const char *path,
                              hl_volume_shape *ret_shape, hl_error *error) {
  int32_t rank = array ? array->header.rank : 0;
  if (!array || rank < 2 || rank > 3)
    return hl_error_set(error, HL_BAD_DATA,
                        "%.200s: an array of %d dimensions; a volume has (z, y, x) or (y, x)",
                        hl__last_part(path), rank);
  const int64_t *d = array->header.dims;
  *ret_shape = (hl_volume_shape){rank == 3 ? d[0] : 1, d[rank - 2], d[rank - 1]};
  return HL_OK;
}

static hl_status read_npy(const char *path, int64_t channel, hl__raw_volume *ret, hl_error *error) {
  hl_npz *npz = NULL;
  hl_tensor_view raw = {0};
  int64_t voxels = 0;
  hl_status status = hl_npz_open(path, NULL, &npz, error);
  if (status != HL_OK) return status;
  const hl_npz_entry *array = hl_npz_at(npz, 0);
  hl_volume_shape shape = {0};
  status = shape_of_npy(array, path, &shape, error);
  if (status == HL_OK && channel > 0)
    status = hl_error_set(error, HL_INVALID_ARGUMENT, "%.200s: an .npy has one channel, number 0",
                          hl__last_part(path));
  if (status == HL_OK) status = hl_volume_count(shape, hl__last_part(path), &voxels, error);
  if (status == HL_OK && array) status = hl_npz_read(npz, array->name, &raw, error);
  if (status == HL_OK) status = to_float(&raw, path, shape, ret, error);
  hl_array_release(&raw);
  hl_npz_free(npz);
  return status;
}

static bool is_npy(const char *path) {
  const char *end = hl__volume_ending(hl__last_part(path));
  return end && strcasecmp(end, ".npy") == 0;
}

hl_status hl__volume_file_read(const char *path, int64_t channel, hl__raw_volume *ret,
                               hl_error *error) {
  return is_npy(path) ? read_npy(path, channel, ret, error) : read_tiff(path, channel, ret, error);
}

hl_status hl__volume_file_shape(const char *path, hl_volume_shape *ret_shape, hl_error *error) {
  hl_npz *npz = NULL;
  hl_tiff *tiff = NULL;
  hl_status status =
      is_npy(path) ? hl_npz_open(path, NULL, &npz, error) : hl_tiff_open(path, &tiff, error);
  if (status == HL_OK && npz) status = shape_of_npy(hl_npz_at(npz, 0), path, ret_shape, error);
  if (status == HL_OK && tiff) {
    const hl_tiff_shape *s = hl_tiff_get_shape(tiff);
    *ret_shape = (hl_volume_shape){s->depth, s->height, s->width};
  }
  hl_npz_free(npz);
  hl_tiff_free(tiff);
  return status;
}
