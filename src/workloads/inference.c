#include "workloads/inference.h"

#include "base/dtype.h"
#include "workloads/foreign-model.h"
#include "workloads/open-engine.h"
#include "workloads/outputs.h"
#include "workloads/shapes.h"
#include "workloads/simulated-scan.h"
#include "workloads/volume-dataset.h"
#include "workloads/volume-set.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static hl_status no_memory(const char *what, hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %s", what);
}

/* Repeats the data until a batch is full. */
static hl_status repeat_data(hl_inference *in, int64_t batch, hl_error *error) {
  hl_dataset *dataset = in->dataset;
  for (size_t i = 0; i < dataset->input_count; i++) {
    hl_tensor_view *view = &dataset->inputs[i];
    if (hl_model_file_input_axis(in->file, i) < 0) continue;
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

static hl_status wrong_batch(const hl_inference *in, int64_t fixed, hl_error *error) {
  const hl_configuration *c = in->configuration;
  const hl_port *port = &in->file->inputs[0];
  for (size_t i = 0; i < in->file->input_count; i++)
    if (hl_model_file_input_axis(in->file, i) >= 0)
      return hl_error_set(error, HL_UNAVAILABLE,
                          "%s: input '%s' has a fixed batch of %" PRId64
                          "; export the model with a dynamic first dimension to run %" PRId64
                          ", or give --batch-sizes %" PRId64,
                          c->model, in->file->inputs[i].name, fixed, c->batch_size, fixed);
  return hl_error_set(error, HL_UNAVAILABLE,
                      "%s: no input has a batch dimension (the first is '%s'), so that a batch of "
                      "%" PRId64 " cannot be run; give --batch-sizes 1",
                      c->model, port->name, c->batch_size);
}

/* Every dimension besides the batch has a number; the batch is open, or the one asked for. */
static hl_status check_port(const hl_inference *in, size_t i, hl_error *error) {
  const hl_configuration *c = in->configuration;
  const hl_port *port = &in->file->inputs[i];
  int32_t batch = hl_model_file_input_axis(in->file, i);
  if (batch >= port->rank)
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "%s: input '%s' is a scalar; a batch needs a first dimension", c->model,
                        port->name);
  for (int32_t axis = 0; axis < port->rank; axis++)
    if (axis != batch && port->dims[axis] < 0)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "%s: input '%s' has an unknown dimension %d; only the batch may be open",
                          c->model, port->name, axis);
  if (batch >= 0 && port->dims[batch] >= 0 && port->dims[batch] != c->batch_size)
    return wrong_batch(in, port->dims[batch], error);
  return HL_OK;
}

/* A model of a fixed batch runs whole batches only. */
static hl_status drop_rest(hl_inference *in, hl_error *error) {
  hl_dataset *dataset = in->dataset;
  int64_t batch = in->configuration->batch_size, rest = dataset->count % batch;
  if (in->file->fixed_batch == 0 || rest == 0 || dataset->count < batch) return HL_OK;
  char *description =
      hl_format("%s; the last %" PRId64 " left out, as the model's batch is fixed at %" PRId64,
                dataset->description, rest, batch);
  if (!description) return no_memory("the inputs", error);
  free(dataset->description);
  dataset->description = description;
  dataset->count -= rest;
  for (size_t i = 0; i < dataset->input_count; i++) {
    hl_tensor_view *view = &dataset->inputs[i];
    if (hl_model_file_input_axis(in->file, i) < 0) continue;
    view->bytes = view->bytes / (uint64_t)view->dims[0] * (uint64_t)dataset->count;
    view->dims[0] = dataset->count;
  }
  return HL_OK;
}

/* A batch is drawn whole as far as that takes a few seconds; the rest of it repeats. */
static int64_t images_to_draw(const hl_inference *in) {
  static const double most_bytes = 1 << 30;
  const hl_configuration *c = in->configuration;
  if (c->n_images) return c->n_images;
  double image = 0;
  for (size_t i = 0; i < in->file->input_count; i++) {
    const hl_port *port = &in->file->inputs[i];
    int32_t batch = hl_model_file_input_axis(in->file, i);
    double bytes = batch >= 0 ? (double)hl_dtype_bytes(port->dtype) : 0;
    for (int32_t axis = 0; axis < port->rank; axis++)
      if (axis != batch) bytes *= (double)port->dims[axis];
    image += bytes;
  }
  if (image * (double)c->batch_size <= most_bytes) return c->batch_size;
  return image < most_bytes ? (int64_t)(most_bytes / image) : 1;
}

static hl_status read_data(hl_inference *in, const hl_port *ports, const hl_data_rule *rules,
                           hl_error *error) {
  const hl_configuration *c = in->configuration;
  size_t count = in->file->input_count;
  uint64_t seed = (uint64_t)c->seed;
  const hl_data_choice choice = {.max_images = c->n_images,
                                 .seed = seed,
                                 .decoding = c->decodes_scaled ? HL_IMAGE_SCALED : HL_IMAGE_EXACT};
  if (!c->test_data)
    return hl_dataset_synthetic(ports, rules, count, images_to_draw(in), seed, &in->dataset, error);
  if (hl_simulated_scan_is(c->test_data))
    return hl_simulated_scan_dataset(ports, count, c->n_images, c->seed, &in->dataset, error);
  hl_status status =
      hl_volume_dataset_fits(ports, count) && hl_volume_set_is(c->test_data)
          ? hl_volume_dataset_read(c->test_data, ports, c->n_images, seed, &in->dataset, error)
          : hl_dataset_read(c->test_data, ports, rules, count, &choice, &in->dataset, error);
  /* A file of another kind is the user's to change, unlike an operator that an engine lacks. */
  return status == HL_UNIMPLEMENTED ? HL_BAD_DATA : status;
}

static hl_status open_data(hl_inference *in, hl_error *error) {
  const hl_configuration *c = in->configuration;
  const hl_model_file *file = in->file;
  hl_port ports[HL_INPUTS_MAX];
  hl_data_rule rules[HL_INPUTS_MAX];
  if (file->input_count == 0 || file->input_count > HL_INPUTS_MAX)
    return hl_error_set(error, HL_UNIMPLEMENTED, "%s: %zu inputs; 1 to %d are supported", c->model,
                        file->input_count, HL_INPUTS_MAX);
  if (file->fixed_batch && file->fixed_batch != c->batch_size)
    return wrong_batch(in, file->fixed_batch, error);
  for (size_t i = 0; i < file->input_count; i++) {
    hl_status status = check_port(in, i, error);
    if (status != HL_OK) return status;
    ports[i] = file->inputs[i];
    rules[i] = (hl_data_rule){.batch_axis = hl_model_file_input_axis(file, i),
                              .index_limit = file->index_limits ? file->index_limits[i] : 0};
    if (rules[i].batch_axis >= 0) ports[i].dims[rules[i].batch_axis] = -1;
  }
  if (in->dataset) return HL_OK; /* the caller's */
  hl_status status = read_data(in, ports, rules, error);
  if (status != HL_OK) return status;
  if (in->dataset->count < 1 || in->dataset->input_count != file->input_count)
    return hl_error_set(error, HL_BAD_DATA, "%s holds no inputs for %s",
                        c->test_data ? c->test_data : "the synthetic data", c->model);
  status = drop_rest(in, error);
  if (status != HL_OK) return status;
  in->data_images = in->dataset->count;
  in->wraps = c->batch_size > in->dataset->count;
  return in->wraps ? repeat_data(in, c->batch_size, error) : HL_OK;
}

/* -- views ----------------------------------------------------------------------------------- */

/* Of a block of `images`, the first dimension becomes dimension `axis`. */
static void move_batch(char *block, char *scratch, int64_t images, int64_t before, size_t part) {
  size_t bytes = (size_t)images * (size_t)before * part;
  for (int64_t i = 0; i < images; i++)
    for (int64_t b = 0; b < before; b++)
      memcpy(scratch + (size_t)(b * images + i) * part, block + (size_t)(i * before + b) * part,
             part);
  memcpy(block, scratch, bytes);
}

/* Lays each batch of an input out as the model wants it, where the batch is not the first
 * dimension; a copy of the first image is kept. */
static hl_status lay_out(hl_inference *in, size_t i, hl_error *error) {
  const hl_tensor_view *view = &in->dataset->inputs[i];
  int32_t axis = in->axes[i];
  size_t image = (size_t)in->image_bytes[i], batch = (size_t)in->configuration->batch_size;
  if (axis < 1 || image == 0) return HL_OK;
  int64_t before = 1;
  for (int32_t d = 0; d < axis; d++) before *= in->file->inputs[i].dims[d];
  HL_CLEANUP(hl_free_pointer) char *scratch = malloc(image * batch);
  in->first[i] = malloc(image);
  if (!scratch || !in->first[i]) return no_memory("a batch of inputs", error);
  memcpy(in->first[i], view->data, image);
  for (int64_t at = 0; at < in->dataset->count; at += (int64_t)batch) {
    int64_t left = in->dataset->count - at;
    move_batch((char *)view->data + (size_t)at * image, scratch,
               left < (int64_t)batch ? left : (int64_t)batch, before, image / (size_t)before);
  }
  return HL_OK;
}

static hl_status make_views(hl_inference *in, hl_error *error) {
  size_t count = in->file->input_count;
  in->views = calloc(count, sizeof *in->views);
  in->image_bytes = calloc(count, sizeof *in->image_bytes);
  in->axes = calloc(count, sizeof *in->axes);
  in->first = calloc(count, sizeof *in->first);
  if (!in->views || !in->image_bytes || !in->axes || !in->first)
    return no_memory("the inputs", error);
  if (!in->dataset) return hl_error_set(error, HL_INTERNAL, "inputs without data");
  for (size_t i = 0; i < count; i++) {
    const hl_port *port = &in->file->inputs[i];
    in->axes[i] = hl_model_file_input_axis(in->file, i);
    in->views[i] = in->dataset->inputs[i];
    memcpy(in->views[i].dims, port->dims, sizeof port->dims);
    if (in->axes[i] < 0) continue;
    in->image_bytes[i] = in->dataset->inputs[i].bytes / (uint64_t)in->dataset->count;
    hl_status status = lay_out(in, i, error);
    if (status != HL_OK) return status;
  }
  return HL_OK;
}

hl_tensor_view hl_inference_first_image(const hl_inference *inference, size_t i) {
  const hl_inference *in = inference;
  hl_tensor_view view = in->views[i];
  view.data = in->dataset->inputs[i].data;
  int64_t images = in->file->fixed_batch ? in->file->fixed_batch : 1;
  if (in->axes[i] < 0) return view;
  view.dims[in->axes[i]] = images;
  view.bytes = (uint64_t)images * in->image_bytes[i];
  if (images == 1 && in->first[i]) view.data = in->first[i];
  return view;
}

/* -- engine ---------------------------------------------------------------------------------- */

hl_status hl_inference_open(const hl_configuration *configuration, const hl_model_file *file,
                            const hl_host *host, hl_inference *ret_inference, hl_error *error) {
  return hl_inference_open_on(configuration, file, host, NULL, ret_inference, error);
}

hl_status hl_inference_open_on(const hl_configuration *configuration, const hl_model_file *file,
                               const hl_host *host, hl_dataset *dataset,
                               hl_inference *ret_inference, hl_error *error) {
  hl_inference in = {.configuration = configuration, .file = file, .dataset = dataset};
  hl_status status = open_data(&in, error);
  if (status == HL_OK) status = make_views(&in, error);
  if (status == HL_OK) {
    in.full.images = dataset ? dataset->count : configuration->batch_size;
    in.partial.images = in.dataset->count % in.full.images;
    status = hl_open_engine(configuration, file, host, &in.ops, &in.host, &in.engine, error);
  }
  if (status != HL_OK) {
    hl_inference_release(&in);
    return status;
  }
  *ret_inference = in;
  return HL_OK;
}

hl_status hl_inference_load(hl_inference *inference, hl_error *error) {
  return hl_model_load(inference->configuration, inference->file, &inference->ops,
                       inference->engine, &inference->model, error);
}

hl_program_spec hl_inference_specify(const hl_inference *in, int64_t images, hl_port *ports) {
  for (size_t i = 0; i < in->file->input_count; i++) {
    ports[i] = in->file->inputs[i];
    if (in->axes[i] >= 0) ports[i].dims[in->axes[i]] = images;
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
  hl_port ports[HL_INPUTS_MAX];
  hl_program_spec spec = hl_inference_specify(inference, inference->full.images, ports);
  hl_status status = inference->ops.plan(inference->model, &spec, ret_plan, error);
  if (status != HL_OK || inference->partial.images == 0) return status;
  hl_program_plan partial = {.size = sizeof partial};
  spec = hl_inference_specify(inference, inference->partial.images, ports);
  status = inference->ops.plan(inference->model, &spec, &partial, error);
  if (status == HL_OK) {
    ret_plan->arena_bytes += partial.arena_bytes;
    ret_plan->io_bytes += partial.io_bytes;
  }
  return status;
}

static hl_status prepare_one(hl_inference *in, hl_inference_program *p, hl_error *error) {
  if (p->images == 0) return HL_OK;
  hl_port ports[HL_INPUTS_MAX];
  hl_program_spec spec = hl_inference_specify(in, p->images, ports);
  hl_status status = in->ops.prepare(in->model, &spec, &p->program, error);
  return status == HL_OK ? in->ops.request(p->program, &p->request, error) : status;
}

hl_status hl_inference_prepare(hl_inference *inference, hl_error *error) {
  hl_status status = prepare_one(inference, &inference->full, error);
  if (status == HL_OK) status = prepare_one(inference, &inference->partial, error);
  return status;
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
    if (status == HL_OK)
      status = hl_output_append(inference->file, i, &view, images, &values, &used, &ret_counts[i],
                                error);
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
  for (size_t i = 0; in->first && i < in->file->input_count; i++) free(in->first[i]);
  free(in->first);
  free(in->views);
  free(in->image_bytes);
  free(in->host);
  free(in->axes);
  *in = (hl_inference){0};
}
