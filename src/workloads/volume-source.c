#include "workloads/volume-source.h"

#include "imaging/volume-transform.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { port_count = 2 /* image, target */ };
static const uint64_t most_bytes = UINT64_C(8) << 30;

typedef struct slot {
  pthread_mutex_t lock;
  bool is_ready;
  hl_prepared_volume volume;
} slot;

typedef struct volumes {
  hl_source source; /* the object that callers hold */
  hl_volume_set *set;
  hl_volume_shape patch;
  int64_t count;
  slot *slots; /* one for each volume */
  _Atomic uint64_t bytes;
  char names[port_count][64];
  hl_source_port whole[port_count], cut[port_count];
  char *description;
} volumes;

bool hl_volume_ports_fit(const hl_port *input, const hl_port *target) {
  if (input->dtype != HL_FLOAT32 || target->dtype != HL_FLOAT32 || input->rank != target->rank ||
      (input->rank != 4 && input->rank != 5) || input->dims[1] != 1)
    return false;
  for (int32_t i = 1; i < input->rank; i++)
    if (input->dims[i] < 1 || input->dims[i] != target->dims[i]) return false;
  return true;
}

hl_volume_shape hl_volume_port_patch(const hl_port *input) {
  const int64_t *d = input->dims + input->rank - 2;
  return (hl_volume_shape){input->rank == 5 ? d[-1] : 1, d[0], d[1]};
}

/* Reads a volume if it is not there. Under the slot's lock. */
static hl_status fill(volumes *v, int64_t index, slot *s, hl_error *error) {
  if (s->is_ready) return HL_OK;
  hl_status status = hl_volume_set_read(v->set, index, true, &s->volume, error);
  if (status != HL_OK) return status;
  hl_volume_shape shape = s->volume.shape;
  const char *name = hl_volume_set_name(v->set, index);
  status = hl_volume_check_patch(shape, v->patch, name, error);
  uint64_t bytes = (uint64_t)(shape.depth * shape.height * shape.width) * 2 * sizeof(float);
  if (status == HL_OK && atomic_fetch_add(&v->bytes, bytes) + bytes > most_bytes)
    status = hl_error_set(error, HL_LIMIT,
                          "%.200s: the prepared volumes need more than %" PRIu64
                          " GiB of memory. Use fewer (--n-images) or a smaller zoom",
                          name, most_bytes >> 30);
  if (status != HL_OK)
    hl_prepared_volume_release(&s->volume);
  else
    s->is_ready = true;
  return status;
}

/* The volume of sample `index`. */
static hl_status find(volumes *v, int64_t index, const hl_prepared_volume **ret, hl_error *error) {
  int64_t number = index / hl_volume_set_recipe(v->set)->patches;
  slot *s = &v->slots[number];
  pthread_mutex_lock(&s->lock);
  hl_status status = fill(v, number, s, error);
  pthread_mutex_unlock(&s->lock);
  *ret = &s->volume;
  return status;
}

static hl_status shape_values(void *context, int64_t index, hl_tensor_view *values,
                              hl_error *error) {
  const hl_prepared_volume *volume = NULL;
  hl_status status = find(context, index, &volume, error);
  if (status != HL_OK) return status;
  hl_volume_shape s = volume->shape;
  for (int i = 0; i < port_count; i++) {
    int64_t *d = values[i].dims;
    values[i].rank = 4;
    d[0] = 1, d[1] = s.depth, d[2] = s.height, d[3] = s.width;
    values[i].bytes = (uint64_t)(s.depth * s.height * s.width) * sizeof(float);
  }
  return HL_OK;
}

static hl_status lend(void *context, int64_t index, hl_tensor_view *values, hl_error *error) {
  const hl_prepared_volume *volume = NULL;
  hl_status status = shape_values(context, index, values, error);
  if (status == HL_OK) status = find(context, index, &volume, error);
  if (status != HL_OK) return status;
  values[0].data = volume->image;
  values[1].data = volume->target;
  return HL_OK;
}

hl_status hl_volume_source_cut(void *context, uint64_t seed, const hl_tensor_view *sample,
                               const hl_tensor_view *values, hl_error *error) {
  const volumes *v = context;
  const hl_augment_options *options = &hl_volume_set_recipe(v->set)->augment;
  const int64_t *d = sample[0].dims;
  hl_volume_shape shape = {d[1], d[2], d[3]}, patch = v->patch;
  int64_t voxels = patch.depth * patch.height * patch.width;
  hl_status status = hl_volume_check_patch(shape, patch, "a patch", error);
  if (status != HL_OK) return status;
  HL_CLEANUP(hl_free_pointer) float *scratch = NULL;
  if (options->rotate && !(scratch = malloc((size_t)voxels * sizeof *scratch)))
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to turn a patch");
  hl_augment draw;
  hl_augment_draw(options, shape, patch, seed, 0, 0, &draw);
  for (int i = 0; i < port_count && status == HL_OK; i++) {
    status =
        hl_volume_crop(sample[i].data, shape, draw.at, patch, "a patch", values[i].data, error);
    if (status == HL_OK) hl_augment_turn(&draw, values[i].data, patch, scratch);
  }
  if (status == HL_OK) hl_augment_intensity(&draw, values[0].data, voxels);
  return status;
}

const hl_source_port *hl_volume_source_ports(const hl_source *source) {
  return ((const volumes *)source->context)->cut;
}

static void free_volumes(void *context) {
  volumes *v = context;
  for (int64_t i = 0; v->slots && i < v->count; i++) {
    hl_prepared_volume_release(&v->slots[i].volume);
    pthread_mutex_destroy(&v->slots[i].lock);
  }
  free(v->slots);
  free(v->description);
  hl_volume_set_free(v->set);
  /* The struct is the source's, which hl_source_free frees. */
}

static void set_port(volumes *v, int i, const hl_port *port) {
  strncpy(v->names[i], port->name, sizeof v->names[i] - 1);
  hl_port whole = {.name = v->names[i], .dtype = HL_FLOAT32, .rank = 4, .dims = {1, -1, -1, -1}};
  hl_port cut = *port;
  cut.name = v->names[i];
  cut.rank--;
  memmove(cut.dims, port->dims + 1, (size_t)cut.rank * sizeof *cut.dims);
  v->whole[i] = (hl_source_port){.port = whole, .is_target = i > 0};
  v->cut[i] = (hl_source_port){.port = cut, .is_target = i > 0};
}

hl_status hl_source_of_volumes(hl_volume_set *set, const hl_port *input, const hl_port *target,
                               hl_source **ret_source, hl_error *error) {
  int64_t count = hl_volume_set_count(set);
  volumes *v = calloc(1, sizeof *v);
  slot *slots = calloc((size_t)count, sizeof *slots);
  hl_text text = HL_TEXT_INIT;
  hl_text_format(&text, "%s; ", hl_volume_set_description(set));
  hl_volume_recipe_describe_training(hl_volume_set_recipe(set), &text);
  char *description = hl_text_take(&text);
  if (!v || !slots || !description) {
    free(v);
    free(slots);
    free(description);
    hl_volume_set_free(set);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for volumes");
  }
  for (int64_t i = 0; i < count; i++) pthread_mutex_init(&slots[i].lock, NULL);
  v->set = set;
  v->slots = slots;
  v->count = count;
  v->description = description;
  v->patch = hl_volume_port_patch(input);
  set_port(v, 0, input);
  set_port(v, 1, target);
  v->source = (hl_source){.context = v,
                          .count = count * hl_volume_set_recipe(set)->patches,
                          .port_count = port_count,
                          .ports = v->whole,
                          .description = description,
                          .shape = shape_values,
                          .read = lend,
                          .is_lent = true,
                          .free = free_volumes};
  *ret_source = &v->source;
  return HL_OK;
}
