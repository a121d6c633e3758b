/* Made-up volumes. */
#include "imaging/volume-generate.h"
#include "workloads/volume-set-internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct nuclei {
  hl_nuclei_options options;
  hl_volume_task task;
  char (*names)[24];
} nuclei;

static hl_status read_nuclei(void *context, int64_t index, hl__raw_volume *ret_image,
                             hl__raw_volume *ret_target, hl_error *error) {
  const nuclei *n = context;
  hl_nuclei_options o = n->options;
  o.index = (uint64_t)index;
  hl_status status = hl__raw_volume_new(o.shape, ret_image, error);
  if (status == HL_OK && ret_target) status = hl__raw_volume_new(o.shape, ret_target, error);
  if (status != HL_OK) return status;
  float *target = ret_target ? ret_target->voxels : NULL;
  bool mask = n->task == HL_VOLUME_SEGMENTATION;
  return hl_nuclei_generate(&o, ret_image->voxels, mask ? target : NULL, mask ? NULL : target,
                            error);
}

static hl_status shape_of(void *context, int64_t index, hl_volume_shape *ret_shape,
                          hl_error *error) {
  (void)index, (void)error;
  *ret_shape = ((const nuclei *)context)->options.shape;
  return HL_OK;
}

static const char *name_of(void *context, int64_t index) {
  return ((const nuclei *)context)->names[index];
}

static void free_nuclei(void *context) {
  nuclei *n = context;
  free(n->names);
  free(n);
}

hl_status hl__volumes_of_nuclei(const char *path, const hl_volume_recipe *recipe, uint64_t seed,
                                int64_t most, hl__volume_origin *ret_origin, hl_error *error) {
  hl_nuclei_options o = HL_NUCLEI_DEFAULTS;
  int64_t count = 4, voxels = 0;
  hl_status status = hl_nuclei_parse(path, &o, &count, error);
  if (status == HL_OK) status = hl_volume_count(o.shape, "nuclei", &voxels, error);
  if (status != HL_OK) return status;
  if (most) count = most;
  o.seed = seed;
  nuclei *n = calloc(1, sizeof *n);
  char(*names)[24] = calloc((size_t)count, sizeof *names);
  hl_text what = HL_TEXT_INIT;
  hl_text_format(&what, "%" PRId64 " made-up volume%s of nuclei, ", count, count == 1 ? "" : "s");
  hl_volume_format(&what, o.shape);
  hl_text_format(&what, ", radius %g, fill %g, noise %g, seed %" PRIu64, o.radius, o.fill, o.noise,
                 seed);
  char *text = hl_text_take(&what);
  if (!n || !names || !text) {
    free(n);
    free(names);
    free(text);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for volumes");
  }
  for (int64_t i = 0; i < count; i++)
    snprintf(names[i], sizeof names[i], "nuclei_%04" PRId64, i % 1000000000);
  *n = (nuclei){o, recipe->task, names};
  *ret_origin = (hl__volume_origin){.context = n,
                                    .count = count,
                                    .what = text,
                                    .read = read_nuclei,
                                    .shape = shape_of,
                                    .name = name_of,
                                    .free = free_nuclei};
  return HL_OK;
}
