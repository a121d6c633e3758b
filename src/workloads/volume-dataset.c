#include "workloads/volume-dataset.h"

#include "imaging/volume-windows.h"
#include "workloads/volume-set.h"
#include "workloads/volume-source.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t bytes_max = (uint64_t)16 << 30;

typedef struct windows {
  hl_windows_options options;
  int64_t voxels; /* of a window */
  int64_t most;   /* wanted; 0: all */
  float *values;
  int64_t count, capacity;
  bool is_padded; /* a volume is smaller than the window */
} windows;

bool hl_volume_dataset_fits(const hl_port *ports, size_t port_count) {
  return port_count == 1 && strcmp(ports[0].name, "diffraction") != 0 &&
         hl_volume_ports_fit(&ports[0], &ports[0]);
}

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the windows of volumes");
}

static hl_status make_room(windows *w, const char *path, int64_t more, hl_error *error) {
  int64_t needed = w->count + more;
  if (needed <= w->capacity) return HL_OK;
  if ((uint64_t)needed > bytes_max / sizeof(float) / (uint64_t)w->voxels)
    return hl_error_set(error, HL_LIMIT,
                        "%.200s: %" PRId64 " windows and more would be beyond %" PRIu64
                        " GiB. Use some of them: --n-images 1000",
                        path, needed, bytes_max >> 30);
  int64_t capacity = needed > 2 * w->capacity ? needed : 2 * w->capacity;
  float *values = realloc(w->values, (size_t)(capacity * w->voxels) * sizeof *values);
  if (!values) return no_memory(error);
  w->values = values;
  w->capacity = capacity;
  return HL_OK;
}

static hl_status add_volume(windows *w, const char *path, const hl_prepared_volume *volume,
                            hl_error *error) {
  const hl_volume_shape *s = &volume->shape, *roi = &w->options.roi;
  hl_windows *cuts = NULL;
  hl_status status = hl_windows_new(&w->options, *s, &cuts, error);
  if (status != HL_OK) return status;
  int64_t count = hl_windows_count(cuts);
  if (w->most > 0 && count > w->most - w->count) count = w->most - w->count;
  status = make_room(w, path, count, error);
  if (status == HL_OK) {
    hl_windows_gather(cuts, volume->image, 0, count, w->values + w->count * w->voxels);
    w->count += count;
    w->is_padded |= s->depth < roi->depth || s->height < roi->height || s->width < roi->width;
  }
  hl_windows_free(cuts);
  return status;
}

static hl_status add_set(windows *w, const char *path, hl_volume_set *set, hl_error *error) {
  hl_status status = HL_OK;
  for (int64_t i = 0; i < hl_volume_set_count(set) && status == HL_OK; i++) {
    hl_prepared_volume volume = {0};
    if (w->most > 0 && w->count == w->most) break;
    status = hl_volume_set_read(set, i, false, &volume, error);
    if (status == HL_OK) status = add_volume(w, path, &volume, error);
    hl_prepared_volume_release(&volume);
  }
  return status;
}

static char *describe(const windows *w, const hl_volume_set *set) {
  hl_text text = HL_TEXT_INIT;
  hl_text_format(&text, "%s; each less its mean, over its deviation; %" PRId64 " window%s of ",
                 hl_volume_set_origin(set), w->count, w->count == 1 ? "" : "s");
  hl_volume_format(&text, w->options.roi);
  hl_text_append(&text, " without overlap");
  if (w->is_padded) hl_text_append(&text, ", padded with zeros where a volume is smaller");
  return hl_text_take(&text);
}

/* Hands the values over. */
static hl_status make_dataset(windows *w, const hl_port *port, const hl_volume_set *set,
                              hl_dataset **ret_dataset, hl_error *error) {
  hl_dataset *dataset = calloc(1, sizeof *dataset);
  if (!dataset) return no_memory(error);
  dataset->inputs = calloc(1, sizeof *dataset->inputs);
  dataset->description = describe(w, set);
  char *name = hl_strdup(port->name);
  if (!dataset->inputs || !dataset->description || !name) {
    free(name);
    hl_dataset_free(dataset);
    return no_memory(error);
  }
  dataset->count = w->count;
  dataset->input_count = 1;
  hl_tensor_view *view = &dataset->inputs[0];
  *view = (hl_tensor_view){.name = name, .dtype = HL_FLOAT32, .rank = port->rank};
  memcpy(view->dims, port->dims, sizeof view->dims);
  view->dims[0] = w->count;
  view->bytes = (uint64_t)(w->count * w->voxels) * sizeof(float);
  view->data = w->values;
  w->values = NULL;
  *ret_dataset = dataset;
  return HL_OK;
}

hl_status hl_volume_dataset_read(const char *path, const hl_port *port, int64_t max_images,
                                 uint64_t seed, hl_dataset **ret_dataset, hl_error *error) {
  hl_volume_recipe recipe;
  hl_volume_set *set = NULL;
  windows w = {.options = HL_WINDOWS_DEFAULTS, .most = max_images};
  w.options.roi = hl_volume_port_patch(port);
  hl_volume_recipe_default(HL_VOLUME_SEGMENTATION, &recipe);
  hl_status status = hl_volume_count(w.options.roi, port->name, &w.voxels, error);
  if (status == HL_OK) status = hl_volume_set_open(path, &recipe, seed, 0, &set, error);
  if (status == HL_OK) status = add_set(&w, path, set, error);
  if (status == HL_OK) status = make_dataset(&w, port, set, ret_dataset, error);
  if (status == HL_OK) status = hl_dataset_add_fingerprint(*ret_dataset, error);
  hl_volume_set_free(set);
  free(w.values);
  return status;
}
