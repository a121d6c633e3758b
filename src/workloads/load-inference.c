#include "workloads/load-inference.h"

#include "workloads/shapes.h"
#include <stdlib.h>
#include <string.h>

/* The smallest size that holds `count`, or the largest there is. */
static uint32_t size_for(const hl_load_inference *s, uint32_t count) {
  uint32_t i = 0;
  while (i + 1 < s->size_count && s->sizes[i] < count) i++;
  return i;
}

/* Input `input` of the samples, one behind the other; a single one lies where it is. */
static void *gather(const hl_load_inference *s, const hl_load_instance *own, size_t input,
                    const uint64_t *samples, uint32_t count) {
  const hl_inference *in = s->inference;
  uint64_t bytes = in->image_bytes[input];
  char *data = in->dataset->inputs[input].data;
  if (count == 1 && s->sizes[0] == 1) return data + samples[0] * bytes;
  for (uint32_t i = 0; i < count; i++)
    memcpy(own->staging[input] + i * bytes, data + samples[i] * bytes, (size_t)bytes);
  return own->staging[input];
}

static hl_status serve_part(const hl_load_inference *s, const hl_load_instance *own,
                            const uint64_t *samples, uint32_t count, hl_error *error) {
  const hl_inference *in = s->inference;
  uint32_t size = size_for(s, count);
  hl_request *request = own->requests[size];
  for (size_t i = 0; i < in->file->input_count; i++) {
    hl_tensor_view view = in->views[i];
    if (in->axes[i] == 0) { /* others have no batch: they are the same for all */
      view.data = gather(s, own, i, samples, count);
      view.dims[0] = s->sizes[size];
      view.bytes = s->sizes[size] * in->image_bytes[i];
    }
    hl_status status = in->ops.bind(request, i, &view, error);
    if (status != HL_OK) return status;
  }
  hl_status status = in->ops.submit(request, error);
  return status == HL_OK ? in->ops.wait(request, error) : status;
}

static hl_status serve(void *context, uint32_t instance, const uint64_t *samples, uint32_t count,
                       hl_error *error) {
  const hl_load_inference *s = context;
  uint32_t largest = s->sizes[s->size_count - 1];
  hl_status status = HL_OK;
  while (count > 0 && status == HL_OK) {
    uint32_t part = count < largest ? count : largest;
    status = serve_part(s, &s->instances[instance], samples, part, error);
    samples += part;
    count -= part;
  }
  return status;
}

/* Every size once: buffers are touched, and the thread has its team. */
static hl_status warm(void *context, uint32_t instance, hl_error *error) {
  const hl_load_inference *s = context;
  uint64_t *samples = calloc(s->sizes[s->size_count - 1], sizeof *samples);
  if (!samples) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to warm up");
  hl_status status = HL_OK;
  for (uint32_t turn = 0; turn < 3; turn++)
    for (uint32_t i = 0; i < s->size_count && status == HL_OK; i++)
      status = serve_part(s, &s->instances[instance], samples, s->sizes[i], error);
  free(samples);
  return status;
}

static hl_status prepare(hl_load_inference *s, hl_error *error) {
  const hl_inference *in = s->inference;
  hl_status status = HL_OK;
  for (uint32_t i = 0; i < s->size_count && status == HL_OK; i++) {
    hl_port ports[HL_INPUTS_MAX];
    hl_program_spec spec = hl_inference_specify(in, s->sizes[i], ports);
    status = in->ops.prepare(in->model, &spec, &s->programs[i], error);
    for (uint32_t k = 0; k < s->instance_count && status == HL_OK; k++)
      status = in->ops.request(s->programs[i], &s->instances[k].requests[i], error);
  }
  return status;
}

static hl_status allocate(hl_load_inference *s, hl_error *error) {
  const hl_inference *in = s->inference;
  size_t inputs = in->file->input_count;
  uint64_t largest = s->sizes[s->size_count - 1];
  s->instances = calloc(s->instance_count, sizeof *s->instances);
  bool good = s->instances != NULL;
  for (uint32_t k = 0; good && k < s->instance_count; k++) {
    s->instances[k].staging = calloc(inputs, sizeof *s->instances[k].staging);
    good = s->instances[k].staging != NULL;
    for (size_t i = 0; good && i < inputs; i++) {
      uint64_t bytes;
      good = !__builtin_mul_overflow(largest, in->image_bytes[i], &bytes) && bytes <= SIZE_MAX;
      if (good) s->instances[k].staging[i] = calloc(1, bytes ? (size_t)bytes : 1);
      good = good && s->instances[k].staging[i];
    }
  }
  return good ? HL_OK
              : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the inputs of %u instances",
                             s->instance_count);
}

hl_status hl_load_inference_init(const hl_inference *inference, uint32_t instances,
                                 uint32_t max_batch, hl_load_inference *ret_server,
                                 hl_error *error) {
  hl_load_inference *s = ret_server;
  *s = (hl_load_inference){.inference = inference, .instance_count = instances};
  if (instances < 1 || instances > HL_LOAD_MOST_INSTANCES || max_batch < 1 ||
      max_batch > HL_LOAD_MOST_BATCH)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "load: instances or batch out of range");
  for (size_t i = 0; i < inference->file->input_count; i++)
    if (inference->axes[i] > 0)
      return hl_error_set(error, HL_UNIMPLEMENTED,
                          "load: input '%s' has its batch on axis %d; only the first is served",
                          inference->file->inputs[i].name, inference->axes[i]);
  for (uint32_t size = 1; size < max_batch; size *= 2) s->sizes[s->size_count++] = size;
  s->sizes[s->size_count++] = max_batch;
  s->server = (hl_load_server){
      .context = s, .samples = (uint64_t)inference->dataset->count, .serve = serve, .warm = warm};
  hl_status status = allocate(s, error);
  if (status == HL_OK) status = prepare(s, error);
  if (status != HL_OK) hl_load_inference_release(s);
  return status;
}

void hl_load_inference_release(hl_load_inference *server) {
  hl_load_inference *s = server;
  for (uint32_t k = 0; s->instances && k < s->instance_count; k++) {
    hl_load_instance *own = &s->instances[k];
    for (uint32_t i = 0; i < s->size_count; i++)
      if (own->requests[i]) s->inference->ops.request_free(own->requests[i]);
    for (size_t i = 0; own->staging && i < s->inference->file->input_count; i++)
      free(own->staging[i]);
    free(own->staging);
  }
  free(s->instances);
  for (uint32_t i = 0; i < s->size_count; i++)
    if (s->programs[i]) s->inference->ops.program_free(s->programs[i]);
  *s = (hl_load_inference){0};
}
