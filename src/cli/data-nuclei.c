/* hotlap data make nuclei: volumes whose answer is known, as arrays of an .npz or TIFF files in a
 * folder. */
#include "cli/data.h"

#include "base/dtype.h"
#include "base/file.h"
#include "data/npz.h"
#include "data/tiff.h"
#include "imaging/volume-generate.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { array_count = 3 };
static const char *const names[array_count] = {"image", "label", "target"};

typedef struct volumes {
  hl_nuclei_options options;
  int64_t count, voxels;
  hl_tensor_view arrays[array_count]; /* (count, z, y, x) */
} volumes;

static hl_status read_options(const hl_options *options, const char *spec, volumes *v,
                              hl_error *error) {
  int64_t seed = 0;
  v->options = (hl_nuclei_options)HL_NUCLEI_DEFAULTS;
  v->count = 4;
  hl_status status = hl_options_int(options, HL_OPTION_SEED, 0, INT64_MAX, 42, &seed, error);
  v->options.seed = (uint64_t)seed;
  if (status == HL_OK)
    status = hl_options_int(options, HL_OPTION_N_IMAGES, 1, 1000000, v->count, &v->count, error);
  if (status == HL_OK) status = hl_nuclei_parse(spec, &v->options, &v->count, error);
  if (status == HL_OK) status = hl_volume_count(v->options.shape, "nuclei", &v->voxels, error);
  if (status == HL_OK && v->voxels > HL_VOLUME_MAX_VOXELS / v->count)
    status = hl_error_set(error, HL_LIMIT,
                          "%" PRId64 " volumes of %" PRId64
                          " voxels: more than 2^32 voxels in a file. Give fewer or smaller ones",
                          v->count, v->voxels);
  return status;
}

static hl_status generate(volumes *v, hl_error *error) {
  hl_volume_shape s = v->options.shape;
  hl_status status = HL_OK;
  for (int i = 0; i < array_count && status == HL_OK; i++)
    status = hl_array_new(names[i], HL_FLOAT32, 4,
                          (int64_t[]){v->count, s.depth, s.height, s.width}, &v->arrays[i], error);
  for (int64_t k = 0; k < v->count && status == HL_OK; k++) {
    float *at[array_count];
    for (int i = 0; i < array_count; i++) at[i] = (float *)v->arrays[i].data + k * v->voxels;
    v->options.index = (uint64_t)k;
    status = hl_nuclei_generate(&v->options, at[0], at[1], at[2], error);
  }
  return status;
}

/* One volume as files NAME.tif, NAME_label.tif and NAME_target.tif; the mask in bytes. */
static hl_status write_files(const char *folder, const volumes *v, int64_t k, uint8_t *bytes,
                             hl_error *error) {
  hl_volume_shape s = v->options.shape;
  hl_status status = HL_OK;
  for (int i = 0; i < array_count && status == HL_OK; i++) {
    float *values = (float *)v->arrays[i].data + k * v->voxels;
    bool is_label = i == 1;
    for (int64_t j = 0; is_label && j < v->voxels; j++) bytes[j] = values[j] > 0;
    hl_tensor_view view = {.dtype = is_label ? HL_UINT8 : HL_FLOAT32,
                           .rank = 3,
                           .dims = {s.depth, s.height, s.width},
                           .data = is_label ? (void *)bytes : values};
    view.bytes = (uint64_t)v->voxels * hl_dtype_bytes(view.dtype);
    HL_CLEANUP(hl_free_pointer)
    char *path =
        hl_format("%s/nuclei_%04" PRId64 "%s%s.tif", folder, k, i ? "_" : "", i ? names[i] : "");
    if (!path) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a name");
    status = hl_tiff_write(path, &view, is_label, error);
  }
  return status;
}

static hl_status write_folder(const char *folder, const volumes *v, hl_error *error) {
  hl_status status = hl_directory_make(folder, error);
  HL_CLEANUP(hl_free_pointer) uint8_t *bytes = malloc((size_t)v->voxels);
  if (status == HL_OK && !bytes)
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a mask");
  for (int64_t k = 0; k < v->count && status == HL_OK; k++)
    status = write_files(folder, v, k, bytes, error);
  return status;
}

static bool is_npz(const char *path) {
  return hl_text_ends(path, ".npz");
}

static void say_made(const char *path, const volumes *v) {
  hl_text shape = HL_TEXT_INIT;
  hl_volume_format(&shape, v->options.shape);
  printf("%s: %" PRId64 " volume%s of %s (z, y, x), nuclei of radius %g that would fill %g of it, "
         "noise %g, seed %" PRIu64 "; %s\n",
         path, v->count, v->count == 1 ? "" : "s", shape.data, v->options.radius, v->options.fill,
         v->options.noise, v->options.seed,
         is_npz(path) ? "arrays image, label (0 and 1) and target"
                      : "each with _label.tif (0 and 1) and _target.tif");
  hl_text_release(&shape);
}

hl_status hl_cli_make_nuclei(const hl_options *options, const char *spec, const char *path,
                             hl_error *error) {
  volumes v = {0};
  hl_status status = read_options(options, spec, &v, error);
  if (status == HL_OK) status = generate(&v, error);
  if (status == HL_OK)
    status = is_npz(path) ? hl_npz_write(path, v.arrays, array_count, false, error)
                          : write_folder(path, &v, error);
  if (status == HL_OK && !hl_options_on(options, HL_OPTION_QUIET)) say_made(path, &v);
  for (int i = 0; i < array_count; i++) hl_array_release(&v.arrays[i]);
  return status;
}
