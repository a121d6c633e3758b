#include "worker/describe.h"

#include "machine/memory.h"
#include "worker/host.h"
#include "workloads/quantize.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "8x1x64x64"; of several inputs "ids=8x128,mask=8x128". */
static void shapes_text(const hl_model_file *file, int64_t batch, hl_text *out) {
  for (size_t i = 0; i < file->input_count; i++) {
    const hl_port *port = &file->inputs[i];
    if (file->input_count > 1) hl_text_format(out, "%s%s=", i ? "," : "", port->name);
    for (int32_t axis = 0; axis < port->rank; axis++) {
      bool is_batch = axis == hl_model_file_input_axis(file, i);
      hl_text_format(out, "%s%lld", axis ? "x" : "",
                     (long long)(is_batch ? batch : port->dims[axis]));
    }
    if (port->rank == 0) hl_text_append(out, "scalar");
  }
}

/* Of inputs of integers, drawn below it: 0 where it is not known; and of others. */
static json_t *index_limits(const hl_model_file *file) {
  json_t *limits = json_array();
  for (size_t i = 0; limits && i < file->input_count; i++) {
    int64_t limit = file->index_limits ? file->index_limits[i] : 0;
    if (json_array_append_new(limits, json_integer(limit)) != 0) break;
  }
  return limits;
}

void hl_worker_describe_model(const hl_model_file *file, int64_t batch, json_t *reply) {
  hl_text shape = HL_TEXT_INIT;
  shapes_text(file, batch, &shape);
  if (file->parameters >= 0) hl_json_set_int(reply, "parameters", (uint64_t)file->parameters);
  hl_json_set_real(reply, "flops_per_image", file->flops_per_image);
  hl_json_set_real(reply, "weight_bytes", file->weight_bytes);
  hl_json_set_real(reply, "port_bytes_per_image", file->port_bytes_per_image);
  hl_json_set_real(reply, "operator_bytes_per_image", file->operator_bytes_per_image);
  hl_json_set_int(reply, "patterns_per_input", (uint64_t)file->patterns_per_input);
  hl_json_set_text(reply, "input_shape", shape.data);
  json_object_set_new(reply, "index_limits", index_limits(file));
  hl_json_set_int(reply, "fixed_batch", (uint64_t)file->fixed_batch);
  hl_json_set_text(reply, "not_a_number", file->not_a_number);
  hl_json_set_text(reply, "infinite", file->infinite);
  hl_json_set_text(reply, "unread", file->unread);
  hl_json_set_text(reply, "model_source", file->source);
  hl_json_set_bool(reply, "quantized", file->quantized);
  hl_json_set_bool(reply, "classifier", file->classifier);
  hl_json_set_bool(reply, "model_generated", file->generated);
  hl_json_set_bool(reply, "model_cached", file->memory_fd < 0);
  hl_text_release(&shape);
}

json_t *hl_worker_output_shape(const hl_model_file *file, size_t output, size_t elements) {
  if (output >= file->output_count) return json_null();
  const hl_port *port = &file->outputs[output];
  json_t *shape = json_array();
  size_t product = 1;
  for (int32_t i = 0; shape && i < port->rank; i++) {
    int64_t dim = port->dims[i] < 0 ? 1 : port->dims[i];
    bool fits = dim > 0 && (size_t)dim <= elements / product;
    product = fits ? product * (size_t)dim : SIZE_MAX;
    if (!fits || json_array_append_new(shape, json_integer(dim)) != 0) break;
  }
  if (shape && product == elements) return shape;
  json_decref(shape);
  return json_null();
}

void hl_worker_describe_program(const hl_engine_ops *ops, hl_program *program, json_t *reply) {
  uint64_t compile_ns = 0;
  if (ops->compile_time && ops->compile_time(program, &compile_ns, NULL) == HL_OK)
    hl_json_set_int(reply, "compile_ns", compile_ns);
}

void hl_worker_describe_pictures(const hl_dataset *dataset, json_t *reply) {
  const hl_picture_reading *pictures = &dataset->pictures;
  hl_json_set_int(reply, "pictures", (uint64_t)pictures->count);
  hl_json_set_int(reply, "picture_ns", pictures->ns);
  hl_json_set_real(reply, "decode_psnr_db", pictures->count ? pictures->psnr_db : (double)NAN);
}

hl_status hl_worker_check_type(const hl_model_file *file, const hl_configuration *configuration,
                               hl_error *error) {
  const hl_configuration *c = configuration;
  bool int8 = strcmp(c->dtype, "int8") == 0;
  if (int8 == file->quantized) return HL_OK;
  if (int8) return hl_error_set(error, HL_UNIMPLEMENTED, "%s is not quantised", c->model);
  return hl_error_set(error, HL_UNIMPLEMENTED,
                      "%s is quantised: it computes in 8 bits and not in %s. Give --dtype int8, or "
                      "the model that it was made from",
                      c->model, c->dtype);
}

void hl_worker_describe_plan(const hl_program_plan *plan, bool known, json_t *reply) {
  hl_json_set_bool(reply, "known", known);
  hl_json_set_int(reply, "weight_bytes", plan->weight_bytes);
  hl_json_set_int(reply, "arena_bytes", plan->arena_bytes);
  hl_json_set_int(reply, "io_bytes", plan->io_bytes);
  hl_json_set_real(reply, "executed_flops", plan->executed_flops);
  hl_json_set_int(reply, "traffic_bytes", plan->traffic_bytes);
  uint64_t available = hl_memory_available(NULL);
  if (available != UINT64_MAX) hl_json_set_int(reply, "available_bytes", available);
}

hl_status hl_worker_quantize(const hl_configuration *configuration, const hl_model_file *file,
                             const char *cache_directory, json_t *reply, hl_error *error) {
  char *path = NULL;
  hl_status status =
      hl_quantized_copy(configuration, file, cache_directory, hl_worker_host(), &path, error);
  if (status != HL_OK) return status;
  hl_json_set_text(reply, "path", path);
  hl_json_set_int(reply, "images", (uint64_t)hl_quantize_images(configuration));
  free(path);
  return HL_OK;
}
