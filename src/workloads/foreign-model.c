#include "workloads/foreign-model.h"

#include "base/hash.h"
#include "engine/registry.h"
#include "workloads/open-engine.h"
#include "workloads/shapes.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a model");
}

static hl_status refuse(const hl_configuration *c, hl_error *error) {
  return hl_error_set(
      error, HL_UNIMPLEMENTED,
      "engine %s takes ONNX files and built-in networks, and %.150s is a model of "
      "a framework. Write it to a file first: hotlap models import %.150s --engine "
      "ENGINE -o FILE.onnx, or choose the framework's engine: torch, jax, tensorflow",
      c->engine, c->model, c->model);
}

hl_status hl_foreign_model_open(const hl_configuration *configuration, const hl_host *host,
                                hl_model_file *ret_file, hl_error *error) {
  const hl_configuration *c = configuration;
  hl_engine_ops ops;
  hl_status status = hl_engine_find(c->engine, c->plugins, c->plugin_count, &ops, NULL, error);
  if (status == HL_OK && !ops.facts) status = refuse(c, error);
  if (status != HL_OK) return status;
  if (hl_device_is_split(c->device))
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "%.200s is a model of a framework, whose batch is not split over devices",
                        c->model);
  hl_foreign_model *f = calloc(1, sizeof *f);
  if (!f) return no_memory(error);
  status = hl_open_engine(c, NULL, host, &f->ops, &f->host, &f->engine, error);
  if (status != HL_OK) {
    hl_foreign_model_free(f);
    return status;
  }
  *ret_file = (hl_model_file){.memory_fd = -1, .foreign = f, .flops_per_image = (double)NAN};
  ret_file->path = hl_strdup(c->model);
  ret_file->patterns_per_input = 1;
  return ret_file->path ? HL_OK : no_memory(error);
}

/* -- what it is ------------------------------------------------------------------------------ */

static hl_status copy_ports(const hl_port *from, size_t count, hl_port **ret_ports,
                            hl_error *error) {
  hl_port *ports = calloc(count ? count : 1, sizeof *ports);
  if (!ports) return no_memory(error);
  *ret_ports = ports;
  for (size_t i = 0; i < count; i++) {
    if (!from[i].name || from[i].rank < 0 || from[i].rank > HL_MAX_RANK)
      return hl_error_set(error, HL_INTERNAL, "the engine describes a port that cannot be");
    ports[i] = from[i];
    ports[i].name = hl_strdup(from[i].name);
    if (!ports[i].name) return no_memory(error);
  }
  return HL_OK;
}

/* The dimension that is open, -1 for none. */
static int32_t open_axis(const hl_port *port) {
  for (int32_t d = 0; d < port->rank; d++)
    if (port->dims[d] < 0) return d;
  return -1;
}

/* Where the batch is fixed it is the first dimension. */
static int32_t batch_axis(const hl_port *port, int64_t fixed) {
  if (fixed) return port->rank > 0 && port->dims[0] == fixed ? 0 : -1;
  return open_axis(port);
}

static hl_status find_axes(hl_model_file *file, const int64_t *index_limits, hl_error *error) {
  file->input_axes = calloc(file->input_count + 1, sizeof *file->input_axes);
  file->output_axes = calloc(file->output_count + 1, sizeof *file->output_axes);
  file->index_limits = calloc(file->input_count + 1, sizeof *file->index_limits);
  if (!file->input_axes || !file->output_axes || !file->index_limits) return no_memory(error);
  for (size_t i = 0; i < file->input_count; i++) {
    file->input_axes[i] = batch_axis(&file->inputs[i], file->fixed_batch);
    file->index_limits[i] = index_limits && index_limits[i] > 0 ? index_limits[i] : 0;
  }
  for (size_t i = 0; i < file->output_count; i++)
    file->output_axes[i] = batch_axis(&file->outputs[i], file->fixed_batch);
  return HL_OK;
}

static hl_status copy_facts(const hl_configuration *c, const hl_model_facts *facts,
                            hl_model_file *file, hl_error *error) {
  file->parameters = facts->parameters;
  file->fixed_batch = facts->fixed_batch > 0 ? facts->fixed_batch : 0;
  file->hash = hl_hash_bytes(facts->hash ^ (uint64_t)c->seed, c->model, strlen(c->model));
  if (facts->not_a_number) file->not_a_number = hl_strdup(facts->not_a_number);
  if (facts->infinite) file->infinite = hl_strdup(facts->infinite);
  if (facts->source) file->source = hl_strdup(facts->source);
  file->classifier = file->output_count > 0 && file->outputs[0].rank == 2 &&
                     file->outputs[0].dims[1] > 1 && file->outputs[0].dtype == HL_FLOAT32;
  return find_axes(file, facts->index_limits, error);
}

static hl_status check_input_shapes(const hl_configuration *c, hl_error *error) {
  if (c->input_shape_count == 0) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "--input-shape: the shapes of %.200s are those of its example inputs, but "
                      "for the batch",
                      c->model);
}

hl_status hl_foreign_model_load(const hl_configuration *configuration, hl_model_file *file,
                                hl_error *error) {
  hl_foreign_model *f = file->foreign;
  hl_model_info info = {.size = sizeof info};
  hl_model_facts facts = {.size = sizeof facts, .parameters = -1};
  hl_status status = check_input_shapes(configuration, error);
  if (status == HL_OK)
    status = hl_model_load(configuration, NULL, &f->ops, f->engine, &f->model, error);
  if (status == HL_OK) status = f->ops.describe(f->model, &info, error);
  if (status == HL_OK) status = f->ops.facts(f->model, &facts, error);
  if (status != HL_OK) return status;
  if (info.input_count < 1 || info.input_count > HL_INPUTS_MAX)
    return hl_error_set(error, HL_UNIMPLEMENTED, "%.200s: %zu inputs; 1 to %d are supported",
                        configuration->model, info.input_count, HL_INPUTS_MAX);
  file->input_count = info.input_count; /* freed with the ports */
  status = copy_ports(info.inputs, info.input_count, &file->inputs, error);
  if (status != HL_OK) return status;
  file->output_count = info.output_count;
  status = copy_ports(info.outputs, info.output_count, &file->outputs, error);
  return status == HL_OK ? copy_facts(configuration, &facts, file, error) : status;
}

hl_status hl_foreign_model_export(const hl_model_file *file, const char *path, hl_error *error) {
  const hl_foreign_model *f = file->foreign;
  if (!f || f->model_taken || !f->ops.export_onnx)
    return hl_error_set(error, HL_UNIMPLEMENTED, "%.200s: the engine cannot write it as ONNX",
                        file->path);
  return f->ops.export_onnx(f->model, path, error);
}

void hl_foreign_model_free(hl_foreign_model *foreign) {
  hl_foreign_model *f = foreign;
  if (!f) return;
  if (f->model && !f->model_taken) f->ops.model_free(f->model);
  if (f->engine && !f->engine_taken) {
    f->ops.close(f->engine);
    free(f->host);
  }
  free(f);
}

hl_status hl_model_load(const hl_configuration *configuration, const hl_model_file *file,
                        const hl_engine_ops *ops, hl_engine *engine, hl_model **ret_model,
                        hl_error *error) {
  hl_foreign_model *f = file ? file->foreign : NULL;
  if (f && f->model && !f->model_taken && f->engine == engine) {
    f->model_taken = true;
    *ret_model = f->model;
    return HL_OK;
  }
  const hl_model_source source = {.size = sizeof source,
                                  .path = file ? file->path : configuration->model,
                                  .is_foreign = configuration->is_foreign,
                                  .seed = (uint64_t)configuration->seed,
                                  .weights = configuration->weights};
  return ops->load(engine, &source, ret_model, error);
}
