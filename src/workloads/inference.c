#include "workloads/inference.h"

#include "base/dtype.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static hl_status no_memory(const char *what, hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %s", what);
}

/* Repeats the data until a batch is full. */
static hl_status repeat_data(hl_dataset *dataset, int64_t batch, hl_error *error) {
  for (size_t i = 0; i < dataset->input_count; i++) {
    hl_tensor_view *view = &dataset->inputs[i];
    uint64_t image = view->bytes / (uint64_t)dataset->count, bytes;
    if (__builtin_mul_overflow(image, (uint64_t)batch, &bytes) || bytes > SIZE_MAX)
      return no_memory("a batch of inputs", error);
    char *data = realloc(view->data, bytes ? (size_t)bytes : 1);
    if (!data) return no_memory("a batch of inputs", error);
    for (uint64_t at = view->bytes; at < bytes; at += image) /* image by image from the start */
      memcpy(data + at, data + (at - view->bytes), (size_t)image);
    view->data = data;
    view->bytes = bytes;
    view->dims[0] = batch;
  }
  dataset->count = batch;
  return HL_OK;
}

static hl_status check_port(const hl_configuration *c, const hl_port *port, hl_error *error) {
  if (port->rank < 1)
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "%s: input '%s' is a scalar; a batch needs a first dimension", c->model,
                        port->name);
  for (int32_t axis = 1; axis < port->rank; axis++)
    if (port->dims[axis] < 0)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "%s: input '%s' has an unknown dimension %d; only the first (the batch) "
                          "may be open",
                          c->model, port->name, axis);
  if (port->dims[0] >= 0 && port->dims[0] != c->batch_size)
    return hl_error_set(error, HL_UNAVAILABLE,
                        "%s: input '%s' has a fixed batch of %" PRId64
                        "; export the model with a dynamic first dimension to run %" PRId64,
                        c->model, port->name, port->dims[0], c->batch_size);
  return HL_OK;
}

static hl_status open_data(hl_inference *in, hl_error *error) {
  const hl_configuration *c = in->configuration;
  const hl_model_file *file = in->file;
  hl_port ports[16];
  if (file->input_count == 0 || file->input_count > HL_COUNT(ports))
    return hl_error_set(error, HL_UNIMPLEMENTED, "%s: %zu inputs; 1 to %zu are supported", c->model,
                        file->input_count, HL_COUNT(ports));
  for (size_t i = 0; i < file->input_count; i++) {
    hl_status status = check_port(c, &file->inputs[i], error);
    if (status != HL_OK) return status;
    ports[i] = file->inputs[i];
    ports[i].dims[0] = -1;
  }
  uint64_t seed = (uint64_t)c->seed;
  hl_status status = c->test_data ? hl_dataset_read(c->test_data, ports, file->input_count,
                                                    c->n_images, seed, &in->dataset, error)
                                  : hl_dataset_synthetic(ports, file->input_count,
                                                         c->n_images ? c->n_images : c->batch_size,
                                                         seed, &in->dataset, error);
  /* A file of another kind is the user's to change, unlike an operator that an engine lacks. */
  if (status == HL_UNIMPLEMENTED && c->test_data) status = HL_BAD_DATA;
  if (status != HL_OK) return status;
  if (in->dataset->count < 1 || in->dataset->input_count != file->input_count)
    return hl_error_set(error, HL_BAD_DATA, "%s holds no inputs for %s",
                        c->test_data ? c->test_data : "the synthetic data", c->model);
  in->data_images = in->dataset->count;
  in->wraps = c->batch_size > in->dataset->count;
  return in->wraps ? repeat_data(in->dataset, c->batch_size, error) : HL_OK;
}

/* A provider is the user's wish: an engine without any cannot quietly leave it out. */
static hl_status check_provider(const hl_engine_ops *ops, const char *provider, hl_error *error) {
  if (!provider) return HL_OK;
  hl_text names = HL_TEXT_INIT;
  bool found = false;
  for (const char *const *name = ops->providers; name && *name && !found; name++) {
    found = strcmp(*name, provider) == 0;
    hl_text_format(&names, "%s%s", names.length ? ", " : "", *name);
  }
  hl_status status = HL_OK;
  if (!ops->providers && strcmp(provider, "cpu") != 0)
    status = hl_error_set(error, HL_UNAVAILABLE,
                          "engine %s has no execution providers; --provider %s is for onnxruntime",
                          ops->name, provider);
  else if (ops->providers && !found)
    status =
        hl_error_set(error, HL_INVALID_ARGUMENT, "--provider: engine %s has no '%s'; it has %s",
                     ops->name, provider, names.data);
  hl_text_release(&names);
  return status;
}

static hl_status open_engine(hl_inference *in, const hl_host *host, hl_error *error) {
  const hl_configuration *c = in->configuration;
  in->host = calloc(1, sizeof *in->host);
  if (!in->host) return no_memory("the engine", error);
  *in->host = host ? *host : (hl_host){.abi = HL_ENGINE_ABI, .size = sizeof *in->host};
  for (size_t i = 0; i < c->engine_option_count; i++)
    if (strcmp(c->engine_options[i].key, "library") == 0)
      in->host->library = c->engine_options[i].value;
  hl_status status = hl_engine_find(c->engine, c->plugins, c->plugin_count, &in->ops, NULL, error);
  if (status == HL_OK) status = check_provider(&in->ops, c->provider, error);
  if (status == HL_OK) status = in->ops.probe(in->host, error);
  if (status != HL_OK) return status;
  const hl_engine_config config = {.size = sizeof config,
                                   .threads = (int32_t)c->threads,
                                   .device = c->device,
                                   .options = c->engine_options,
                                   .option_count = c->engine_option_count,
                                   .provider = c->provider};
  return in->ops.open(in->host, &config, &in->engine, error);
}

hl_status hl_inference_open(const hl_configuration *configuration, const hl_model_file *file,
                            const hl_host *host, hl_inference *ret_inference, hl_error *error) {
  hl_inference in = {.configuration = configuration, .file = file};
  hl_status status = open_data(&in, error);
  if (status == HL_OK) {
    in.views = calloc(file->input_count, sizeof *in.views);
    in.image_bytes = calloc(file->input_count, sizeof *in.image_bytes);
    if (!in.views || !in.image_bytes) status = no_memory("the inputs", error);
  }
  for (size_t i = 0; status == HL_OK && i < file->input_count; i++) {
    in.views[i] = in.dataset->inputs[i];
    in.image_bytes[i] = in.dataset->inputs[i].bytes / (uint64_t)in.dataset->count;
  }
  if (status == HL_OK) {
    in.full.images = configuration->batch_size;
    in.partial.images = in.dataset->count % configuration->batch_size;
    status = open_engine(&in, host, error);
  }
  if (status != HL_OK) {
    hl_inference_release(&in);
    return status;
  }
  *ret_inference = in;
  return HL_OK;
}

hl_status hl_inference_load(hl_inference *inference, hl_error *error) {
  const hl_model_source source = {.size = sizeof source, .path = inference->file->path};
  return inference->ops.load(inference->engine, &source, &inference->model, error);
}

/* The specification of a program for `images` inputs; `ports` has room for the model's inputs. */
static hl_program_spec specify(const hl_inference *in, int64_t images, hl_port *ports) {
  for (size_t i = 0; i < in->file->input_count; i++) {
    ports[i] = in->file->inputs[i];
    ports[i].dims[0] = images;
  }
  return (hl_program_spec){.size = sizeof(hl_program_spec),
                           .mode = HL_MODE_INFERENCE,
                           .dtype = hl_dtype_from_name(in->configuration->dtype),
                           .inputs = ports,
                           .input_count = in->file->input_count};
}

hl_status hl_inference_plan(hl_inference *inference, hl_program_plan *ret_plan, bool *ret_known,
                            hl_error *error) {
  *ret_known = inference->ops.plan != NULL;
  *ret_plan = (hl_program_plan){.size = sizeof *ret_plan};
  if (!inference->ops.plan) return HL_OK;
  hl_port ports[16];
  hl_program_spec spec = specify(inference, inference->full.images, ports);
  hl_status status = inference->ops.plan(inference->model, &spec, ret_plan, error);
  if (status != HL_OK || inference->partial.images == 0) return status;
  hl_program_plan partial = {.size = sizeof partial};
  spec = specify(inference, inference->partial.images, ports);
  status = inference->ops.plan(inference->model, &spec, &partial, error);
  if (status == HL_OK) {
    ret_plan->arena_bytes += partial.arena_bytes;
    ret_plan->io_bytes += partial.io_bytes;
  }
  return status;
}

static hl_status prepare_one(hl_inference *in, hl_inference_program *p, hl_error *error) {
  if (p->images == 0) return HL_OK;
  hl_port ports[16];
  hl_program_spec spec = specify(in, p->images, ports);
  hl_status status = in->ops.prepare(in->model, &spec, &p->program, error);
  return status == HL_OK ? in->ops.request(p->program, &p->request, error) : status;
}

hl_status hl_inference_prepare(hl_inference *inference, hl_error *error) {
  hl_status status = prepare_one(inference, &inference->full, error);
  if (status == HL_OK) status = prepare_one(inference, &inference->partial, error);
  return status;
}

/* The first image of an output whose first dimension is the batch. */
static hl_status first_image(const hl_tensor_view *view, int64_t images, float **values,
                             size_t *used, size_t *ret_count, hl_error *error) {
  uint64_t elements = view->bytes / sizeof(float);
  bool by_image = view->rank > 0 && view->dims[0] == images;
  if (view->dtype != HL_FLOAT32 || !by_image || elements % (uint64_t)images) {
    *ret_count = 0; /* nothing that belongs to one image */
    return HL_OK;
  }
  size_t count = (size_t)(elements / (uint64_t)images);
  float *grown = realloc(*values, (*used + count + 1) * sizeof *grown);
  if (!grown) return no_memory("outputs", error);
  memcpy(grown + *used, view->data, count * sizeof *grown);
  *values = grown;
  *used += count;
  *ret_count = count;
  return HL_OK;
}

hl_status hl_inference_first_outputs(hl_inference *inference, float **ret_values,
                                     size_t *ret_counts, size_t output_capacity,
                                     size_t *ret_output_count, hl_error *error) {
  size_t count = inference->file->output_count;
  if (count > output_capacity)
    return hl_error_set(error, HL_LIMIT, "the model has %zu outputs; %zu can be checked", count,
                        output_capacity);
  int64_t images = 0;
  inference->offset = 0;
  hl_status status = hl_inference_step(inference, &images, error);
  inference->offset = 0;
  float *values = NULL;
  size_t used = 0;
  for (size_t i = 0; i < count && status == HL_OK; i++) {
    hl_tensor_view view = {0};
    status = inference->ops.output(inference->full.request, i, &view, error);
    if (status == HL_OK) status = first_image(&view, images, &values, &used, &ret_counts[i], error);
  }
  if (status != HL_OK) {
    free(values);
    return status;
  }
  *ret_values = values;
  *ret_output_count = count;
  return HL_OK;
}

static void close_program(hl_inference *in, hl_inference_program *p) {
  if (p->request) in->ops.request_free(p->request);
  if (p->program) in->ops.program_free(p->program);
  *p = (hl_inference_program){0};
}

void hl_inference_close(hl_inference *inference) {
  hl_inference *in = inference;
  close_program(in, &in->partial);
  close_program(in, &in->full);
  if (in->model) in->ops.model_free(in->model);
  if (in->engine) in->ops.close(in->engine);
  in->model = NULL;
  in->engine = NULL;
}

void hl_inference_release(hl_inference *inference) {
  hl_inference *in = inference;
  hl_inference_close(in);
  if (in->dataset) hl_dataset_free(in->dataset);
  free(in->views);
  free(in->image_bytes);
  free(in->host);
  *in = (hl_inference){0};
}
