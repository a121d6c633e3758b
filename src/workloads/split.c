#include "workloads/split-internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to split a batch over devices");
}

int64_t hl_split_share(int64_t images, size_t parts, size_t part) {
  int64_t each = images / (int64_t)parts, more = images % (int64_t)parts;
  return each + ((int64_t)part < more ? 1 : 0);
}

hl_status hl_split_failed(const split_engine *engine, size_t device, hl_status status,
                          hl_error *error) {
  hl_error cause = error ? *error : (hl_error){0};
  return hl_error_set(error, status, "%s: %s", engine->devices[device], cause.msg);
}

/* -- engine and model ------------------------------------------------------------------------ */

static void split_close(hl_engine *opaque) {
  split_engine *e = (split_engine *)(void *)opaque;
  for (size_t i = 0; e && i < e->count; i++)
    if (e->engines[i]) e->ops.close(e->engines[i]);
  free(e);
}

static void split_model_free(hl_model *opaque) {
  split_model *m = (split_model *)(void *)opaque;
  for (size_t i = 0; m && i < m->engine->count; i++)
    if (m->models[i]) m->engine->ops.model_free(m->models[i]);
  free(m);
}

static hl_status split_load(hl_engine *opaque, const hl_model_source *source, hl_model **ret_model,
                            hl_error *error) {
  split_engine *e = (split_engine *)(void *)opaque;
  split_model *m = calloc(1, sizeof *m);
  if (!m) return no_memory(error);
  m->engine = e;
  for (size_t i = 0; i < e->count; i++) {
    hl_status status = e->ops.load(e->engines[i], source, &m->models[i], error);
    if (status == HL_OK) continue;
    status = hl_split_failed(e, i, status, error);
    split_model_free((hl_model *)(void *)m);
    return status;
  }
  *ret_model = (hl_model *)(void *)m;
  return HL_OK;
}

static hl_status split_describe(hl_model *opaque, hl_model_info *ret_info, hl_error *error) {
  split_model *m = (split_model *)(void *)opaque;
  return m->engine->ops.describe(m->models[0], ret_info, error);
}

/* -- program --------------------------------------------------------------------------------- */

/* The ports of a part; the batch of the whole is found on the way. */
static hl_status part_of(const split_engine *e, const hl_program_spec *spec, size_t part,
                         hl_port *ports, int64_t *ret_batch, hl_program_spec *ret_spec,
                         hl_error *error) {
  int64_t batch = 0;
  if (spec->input_count > HL_INPUTS_MAX || spec->known)
    return hl_error_set(error, HL_UNIMPLEMENTED, "a batch of this model cannot be split");
  for (size_t i = 0; i < spec->input_count; i++) {
    int32_t axis = hl_model_file_input_axis(e->file, i);
    ports[i] = spec->inputs[i];
    if (axis < 0) continue;
    batch = ports[i].dims[axis];
    ports[i].dims[axis] = hl_split_share(batch, e->count, part);
  }
  if (batch < 1)
    return hl_error_set(error, HL_UNIMPLEMENTED, "no input has a batch that could be split");
  *ret_spec = *spec;
  ret_spec->inputs = ports;
  *ret_batch = batch;
  return HL_OK;
}

static hl_status split_plan(hl_model *opaque, const hl_program_spec *spec,
                            hl_program_plan *ret_plan, hl_error *error) {
  split_model *m = (split_model *)(void *)opaque;
  const split_engine *e = m->engine;
  hl_program_plan sum = {.size = ret_plan->size};
  for (size_t i = 0; i < e->count; i++) {
    hl_port ports[HL_INPUTS_MAX];
    hl_program_spec own;
    hl_program_plan plan = {.size = sizeof plan};
    int64_t batch;
    hl_status status = part_of(e, spec, i, ports, &batch, &own, error);
    if (status != HL_OK) return status;
    if (hl_split_share(batch, e->count, i) == 0) break;
    status = e->ops.plan(m->models[i], &own, &plan, error);
    if (status != HL_OK) return hl_split_failed(e, i, status, error);
    sum.weight_bytes += plan.weight_bytes;
    sum.arena_bytes += plan.arena_bytes;
    sum.io_bytes += plan.io_bytes;
    sum.executed_flops += plan.executed_flops;
    sum.traffic_bytes += plan.traffic_bytes;
  }
  memcpy(ret_plan, &sum, ret_plan->size < sizeof sum ? ret_plan->size : sizeof sum);
  return HL_OK;
}

static void split_program_free(hl_program *opaque) {
  split_program *p = (split_program *)(void *)opaque;
  for (size_t i = 0; p && i < p->count; i++)
    if (p->programs[i]) p->engine->ops.program_free(p->programs[i]);
  free(p);
}

static hl_status prepare_parts(split_model *m, const hl_program_spec *spec, split_program *p,
                               hl_error *error) {
  split_engine *e = m->engine;
  for (size_t i = 0; i < e->count; i++) {
    hl_port ports[HL_INPUTS_MAX];
    hl_program_spec own;
    hl_status status = part_of(e, spec, i, ports, &p->batch, &own, error);
    if (status != HL_OK) return status;
    p->images[i] = hl_split_share(p->batch, e->count, i);
    if (p->images[i] == 0) break;
    p->first[i] = i ? p->first[i - 1] + p->images[i - 1] : 0;
    p->count = i + 1;
    status = e->ops.prepare(m->models[i], &own, &p->programs[i], error);
    if (status != HL_OK) return hl_split_failed(e, i, status, error);
  }
  return HL_OK;
}

static void say_idle(const split_program *p) {
  const split_engine *e = p->engine;
  char text[128];
  snprintf(text, sizeof text, "a batch of %" PRId64 " used %zu of %zu devices", p->batch, p->count,
           e->count);
  if (p->count < e->count && HL_HOST_HAS(e->host, note)) e->host->note(e->ops.name, text);
}

static hl_status split_prepare(hl_model *opaque, const hl_program_spec *spec,
                               hl_program **ret_program, hl_error *error) {
  split_model *m = (split_model *)(void *)opaque;
  split_program *p = calloc(1, sizeof *p);
  if (!p) return no_memory(error);
  p->engine = m->engine;
  hl_status status = prepare_parts(m, spec, p, error);
  if (status != HL_OK) {
    split_program_free((hl_program *)(void *)p);
    return status;
  }
  p->input_count = spec->input_count;
  memcpy(p->inputs, spec->inputs, spec->input_count * sizeof *spec->inputs);
  say_idle(p);
  *ret_program = (hl_program *)(void *)p;
  return HL_OK;
}

/* Sums over the devices; the sum of peaks is an upper bound of the peak of sums. */
static hl_status split_memory(hl_engine *opaque, hl_engine_memory *ret_memory, hl_error *error) {
  const split_engine *e = (const split_engine *)(const void *)opaque;
  hl_engine_memory sum = {.size = ret_memory->size};
  for (size_t i = 0; i < e->count; i++) {
    hl_engine_memory own = {.size = sizeof own};
    hl_status status = e->ops.memory(e->engines[i], &own, error);
    if (status != HL_OK) return hl_split_failed(e, i, status, error);
    sum.allocated_bytes += own.allocated_bytes;
    sum.reserved_bytes += own.reserved_bytes;
    sum.peak_bytes += own.peak_bytes;
    sum.device_allocated_bytes += own.device_allocated_bytes;
    sum.device_peak_bytes += own.device_peak_bytes;
    sum.device_reserved_bytes += own.device_reserved_bytes;
  }
  memcpy(ret_memory, &sum, ret_memory->size < sizeof sum ? ret_memory->size : sizeof sum);
  return HL_OK;
}

/* -- opening --------------------------------------------------------------------------------- */

static hl_engine_ops split_ops(const hl_engine_ops *own) {
  hl_engine_ops ops = *own;
  ops.load = split_load;
  ops.describe = split_describe;
  ops.plan = own->plan ? split_plan : NULL;
  ops.prepare = split_prepare;
  ops.request = hl_split_request;
  ops.bind = hl_split_bind;
  ops.submit = hl_split_submit;
  ops.wait = hl_split_wait;
  ops.output = hl_split_output;
  ops.request_free = hl_split_request_free;
  ops.program_free = split_program_free;
  ops.model_free = split_model_free;
  ops.close = split_close;
  ops.memory = own->memory ? split_memory : NULL;
  ops.profile = NULL;
  ops.spans = NULL;
  ops.spans_end = NULL;
  ops.state_read = NULL;
  ops.state_write = NULL;
  ops.compile_time = NULL;
  ops.compilations = NULL;
  ops.stream = NULL; /* there is no one stream */
  return ops;
}

hl_status hl_split_open(hl_engine_ops *ops, const hl_model_file *file, const hl_host *host,
                        const hl_engine_config *config, hl_engine **ret_engine, hl_error *error) {
  int ordinals[HL_DEVICE_MOST];
  size_t count = hl_device_ordinals(config->device, ordinals);
  if (count < 2)
    return hl_error_set(error, HL_UNIMPLEMENTED, "%s: only CUDA's devices can share a batch",
                        config->device);
  if (file->fixed_batch)
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "%s: the model's batch is fixed at %" PRId64 " and cannot be split",
                        config->device, file->fixed_batch);
  split_engine *e = calloc(1, sizeof *e);
  if (!e) return no_memory(error);
  *e = (split_engine){.ops = *ops, .file = file, .host = host};
  for (size_t i = 0; i < count; i++) {
    hl_engine_config own = *config;
    snprintf(e->devices[i], sizeof e->devices[i], "cuda:%d", ordinals[i]);
    own.device = e->devices[i];
    e->count = i + 1;
    hl_status status = e->ops.open(host, &own, &e->engines[i], error);
    if (status == HL_OK) continue;
    status = hl_split_failed(e, i, status, error);
    split_close((hl_engine *)(void *)e);
    return status;
  }
  *ops = split_ops(ops);
  *ret_engine = (hl_engine *)(void *)e;
  return HL_OK;
}
