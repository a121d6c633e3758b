/* A step of a batch that is split: bind, submit on all, wait for all, put outputs together. */
#include "base/clock.h"
#include "base/dtype.h"
#include "data/array.h"
#include "workloads/split-internal.h"
#include <stdlib.h>
#include <string.h>

enum { STEPS_WATCHED = 3 };

/* An input as it was bound; where the batch is not the outermost dimension, parts are copies. */
typedef struct bound_input {
  const char *data;
  size_t before, row; /* rows of an image, and their bytes */
  char *copy;         /* of all parts, one after another; or NULL */
} bound_input;

typedef struct split_request {
  const split_program *program;
  hl_request *requests[HL_DEVICE_MOST];
  bound_input *inputs;
  void **outputs; /* the file's number of them, made when asked for */
  uint64_t submit_ns;
  int steps; /* so far, up to STEPS_WATCHED */
} split_request;

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a batch that is split");
}

void hl_split_request_free(hl_request *opaque) {
  split_request *r = (split_request *)(void *)opaque;
  if (!r) return;
  const split_program *p = r->program;
  for (size_t i = 0; i < p->count; i++)
    if (r->requests[i]) p->engine->ops.request_free(r->requests[i]);
  for (size_t i = 0; r->inputs && i < p->input_count; i++) free(r->inputs[i].copy);
  for (size_t i = 0; r->outputs && i < p->engine->file->output_count; i++) free(r->outputs[i]);
  free(r->inputs);
  free(r->outputs);
  free(r);
}

static hl_status make_input(const split_program *p, size_t i, bound_input *input, hl_error *error) {
  const hl_port *port = &p->inputs[i];
  int32_t axis = hl_model_file_input_axis(p->engine->file, i);
  int64_t elements = 0;
  if (axis < 0) return HL_OK;
  if (!hl_array_count(port->rank, port->dims, &elements))
    return hl_error_set(error, HL_LIMIT, "input '%s' is too large", port->name);
  input->before = 1;
  for (int32_t d = 0; d < axis; d++) input->before *= (size_t)port->dims[d];
  size_t bytes = (size_t)elements * hl_dtype_bytes(port->dtype);
  if (input->before > 0) input->row = bytes / input->before / (size_t)p->batch;
  if (input->before <= 1) return HL_OK;
  input->copy = calloc(1, bytes + 1);
  return input->copy ? HL_OK : no_memory(error);
}

static hl_status make_request(split_request *r, hl_error *error) {
  const split_program *p = r->program;
  r->inputs = calloc(p->input_count + 1, sizeof *r->inputs);
  r->outputs = calloc(p->engine->file->output_count + 1, sizeof *r->outputs);
  if (!r->inputs || !r->outputs) return no_memory(error);
  for (size_t i = 0; i < p->input_count; i++) {
    hl_status status = make_input(p, i, &r->inputs[i], error);
    if (status != HL_OK) return status;
  }
  for (size_t i = 0; i < p->count; i++) {
    hl_status status = p->engine->ops.request(p->programs[i], &r->requests[i], error);
    if (status != HL_OK) return hl_split_failed(p->engine, i, status, error);
  }
  return HL_OK;
}

hl_status hl_split_request(hl_program *program, hl_request **ret_request, hl_error *error) {
  split_request *r = calloc(1, sizeof *r);
  if (!r) return no_memory(error);
  r->program = (const split_program *)(const void *)program;
  hl_status status = make_request(r, error);
  if (status != HL_OK) {
    hl_split_request_free((hl_request *)(void *)r);
    return status;
  }
  *ret_request = (hl_request *)(void *)r;
  return HL_OK;
}

hl_status hl_split_bind(hl_request *request, size_t input, const hl_tensor_view *view,
                        hl_error *error) {
  split_request *r = (split_request *)(void *)request;
  const split_program *p = r->program;
  int32_t axis = hl_model_file_input_axis(p->engine->file, input);
  bound_input *in = &r->inputs[input];
  if (axis >= 0 && view->dims[axis] != p->batch)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "another batch than the program's");
  in->data = view->data;
  for (size_t i = 0; i < p->count; i++) {
    hl_tensor_view part = *view;
    if (axis >= 0) {
      size_t start = (size_t)p->first[i] * in->before * in->row;
      part.data = in->copy ? in->copy + start : (char *)view->data + start;
      part.dims[axis] = p->images[i];
      part.bytes = (uint64_t)p->images[i] * in->before * in->row;
    }
    hl_status status = p->engine->ops.bind(r->requests[i], input, &part, error);
    if (status != HL_OK) return hl_split_failed(p->engine, i, status, error);
  }
  return HL_OK;
}

/* Parts of an input whose batch is an inner dimension, each in one piece. */
static void copy_parts(const split_program *p, const bound_input *in) {
  for (size_t i = 0; in->copy && i < p->count; i++) {
    size_t width = (size_t)p->images[i] * in->row, pitch = (size_t)p->batch * in->row;
    char *to = in->copy + (size_t)p->first[i] * in->before * in->row;
    for (size_t b = 0; b < in->before; b++)
      memcpy(to + b * width, in->data + b * pitch + (size_t)p->first[i] * in->row, width);
  }
}

/* Waits for the first `count` devices, all of them even where one fails. */
static hl_status wait_for(split_request *r, size_t count, hl_error *error) {
  const split_engine *e = r->program->engine;
  hl_status first = HL_OK;
  for (size_t i = 0; i < count; i++) {
    hl_error failure = {0};
    hl_status status = e->ops.wait(r->requests[i], &failure);
    if (status == HL_OK || first != HL_OK) continue;
    first = hl_error_set(error, status, "%s: %s", e->devices[i], failure.msg);
  }
  return first;
}

hl_status hl_split_submit(hl_request *request, hl_error *error) {
  split_request *r = (split_request *)(void *)request;
  const split_program *p = r->program;
  bool watched = r->steps < STEPS_WATCHED;
  uint64_t start = watched ? hl_clock_ns() : 0;
  for (size_t i = 0; i < p->input_count; i++) copy_parts(p, &r->inputs[i]);
  for (size_t i = 0; i < p->count; i++) {
    hl_status status = p->engine->ops.submit(r->requests[i], error);
    if (status == HL_OK) continue;
    status = hl_split_failed(p->engine, i, status, error);
    wait_for(r, i, NULL); /* they still read the inputs */
    return status;
  }
  if (watched) r->submit_ns = hl_clock_ns() - start;
  return HL_OK;
}

/* An engine that computes within submit keeps the other devices waiting. */
static void say_in_turn(split_request *r, uint64_t wait_ns) {
  const split_engine *e = r->program->engine;
  if (++r->steps == STEPS_WATCHED && r->program->count > 1 && r->submit_ns / 4 > wait_ns &&
      HL_HOST_HAS(e->host, note))
    e->host->note(e->ops.name, "the engine starts a step and returns when it is done: the devices "
                               "computed one after another, not at once");
}

hl_status hl_split_wait(hl_request *request, hl_error *error) {
  split_request *r = (split_request *)(void *)request;
  if (r->steps >= STEPS_WATCHED) return wait_for(r, r->program->count, error);
  uint64_t start = hl_clock_ns();
  hl_status status = wait_for(r, r->program->count, error);
  if (status == HL_OK) say_in_turn(r, hl_clock_ns() - start);
  return status;
}

/* -- outputs --------------------------------------------------------------------------------- */

/* Places a part at `at` along `axis` of the whole. */
static void place(const hl_tensor_view *part, int32_t axis, const hl_tensor_view *whole, int64_t at,
                  char *to) {
  size_t before = 1, row = hl_dtype_bytes(part->dtype);
  for (int32_t d = 0; d < part->rank; d++) {
    if (d < axis) before *= (size_t)part->dims[d];
    if (d > axis) row *= (size_t)part->dims[d];
  }
  size_t width = (size_t)part->dims[axis] * row, pitch = (size_t)whole->dims[axis] * row;
  for (size_t b = 0; b < before; b++)
    memcpy(to + b * pitch + (size_t)at * row, (const char *)part->data + b * width, width);
}

/* Parts differ along the batch only. */
static hl_status measure(split_request *r, size_t output, int32_t axis, hl_tensor_view *parts,
                         hl_tensor_view *ret_whole, hl_error *error) {
  const split_program *p = r->program;
  int64_t along = 0;
  for (size_t i = 0; i < p->count; i++) {
    hl_status status = p->engine->ops.output(r->requests[i], output, &parts[i], error);
    if (status != HL_OK) return hl_split_failed(p->engine, i, status, error);
    bool alike =
        parts[i].rank == parts[0].rank && parts[i].dtype == parts[0].dtype && axis < parts[i].rank;
    for (int32_t d = 0; alike && d < parts[i].rank; d++)
      alike = d == axis || parts[i].dims[d] == parts[0].dims[d];
    if (!alike)
      return hl_error_set(error, HL_UNIMPLEMENTED,
                          "output %zu of the devices does not fit together along dimension %d",
                          output, axis);
    along += parts[i].dims[axis];
  }
  *ret_whole = parts[0];
  ret_whole->dims[axis] = along;
  return HL_OK;
}

hl_status hl_split_output(hl_request *request, size_t output, hl_tensor_view *ret_view,
                          hl_error *error) {
  split_request *r = (split_request *)(void *)request;
  const split_program *p = r->program;
  const hl_model_file *file = p->engine->file;
  if (output >= file->output_count)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "the model has no output %zu", output);
  int32_t axis = hl_model_file_output_axis(file, output);
  if (axis < 0) return p->engine->ops.output(r->requests[0], output, ret_view, error);
  hl_tensor_view parts[HL_DEVICE_MOST], whole = {0};
  hl_status status = measure(r, output, axis, parts, &whole, error);
  if (status != HL_OK) return status;
  int64_t elements = 0, at = 0;
  if (!hl_array_count(whole.rank, whole.dims, &elements) || hl_dtype_bytes(whole.dtype) == 0)
    return hl_error_set(error, HL_LIMIT, "output %zu cannot be put together", output);
  whole.bytes = (uint64_t)elements * hl_dtype_bytes(whole.dtype);
  char *grown = realloc(r->outputs[output], (size_t)whole.bytes + 1);
  if (!grown) return no_memory(error);
  r->outputs[output] = grown;
  for (size_t i = 0; i < p->count; i++) {
    place(&parts[i], axis, &whole, at, grown);
    at += parts[i].dims[axis];
  }
  whole.data = grown;
  *ret_view = whole;
  return HL_OK;
}
