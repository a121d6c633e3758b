/*
 * Requests: the infer requests of a program, over the caller's memory.
 *
 * Inputs are tensors that wrap the caller's data, so nothing is copied on the way in. Outputs of a
 * request of one part are OpenVINO's own; those of several parts lie one after the other in one
 * buffer, so that the batch is whole again. `request` runs the network once on zeros, so that what
 * is made at a first run is made there.
 */
#include "openvino.h"

#include "common/fail.h"
#include "common/port.h"
#include <stdlib.h>
#include <string.h>

static hl_status no_memory(hl_error *error) {
  return hl_engine_fail(error, HL_OUT_OF_MEMORY, "openvino: no memory");
}

/* A tensor over `data`, of `port`'s shape with `1 / parts` of its first dimension. */
static hl_status wrap(const hl_engine *engine, const hl_port *port, size_t parts, void *data,
                      hl_ov_tensor **ret_tensor, hl_error *error) {
  int64_t dims[HL_MAX_RANK];
  memcpy(dims, port->dims, sizeof dims);
  if (port->rank > 0) dims[0] /= (int64_t)parts;
  const hl_ov_shape shape = {.rank = port->rank, .dims = dims};
  int type = hl_ov_type(engine->library, port->dtype);
  return hl_ov_check(engine,
                     engine->api->tensor_create_from_host_ptr(type, shape, data, ret_tensor),
                     port->name, error);
}

static hl_status bind_data(hl_request *request, size_t input, char *data, hl_error *error) {
  const hl_program *program = request->program;
  const hl_engine *engine = program->model->engine;
  size_t part_bytes = (size_t)program->input_bytes[input] / program->parts;
  hl_status status = HL_OK;
  for (size_t i = 0; i < program->parts && status == HL_OK; i++) {
    hl_ov_tensor *tensor = NULL;
    status = wrap(engine, &program->inputs[input], program->parts, data + i * part_bytes, &tensor,
                  error);
    if (status == HL_OK)
      status = hl_ov_check(engine,
                           engine->api->infer_request_set_tensor_by_const_port(
                               request->parts[i], program->ports[input], tensor),
                           program->inputs[input].name, error);
    if (tensor) engine->api->tensor_free(tensor); /* the infer request holds what it needs */
  }
  request->bound[input] = status == HL_OK ? data : NULL;
  return status;
}

hl_status hl_ov_bind(hl_request *request, size_t input, const hl_tensor_view *view,
                     hl_error *error) {
  const hl_program *program = request->program;
  if (input >= program->input_count)
    return hl_engine_fail(error, HL_INVALID_ARGUMENT, "openvino: there is no input %zu", input);
  if (view->bytes < program->input_bytes[input])
    return hl_engine_fail(error, HL_INVALID_ARGUMENT,
                          "openvino: input '%s' has %llu bytes; the program needs %llu",
                          program->inputs[input].name, (unsigned long long)view->bytes,
                          (unsigned long long)program->input_bytes[input]);
  if (view->data == request->bound[input]) return HL_OK; /* the tensor is a view: nothing to do */
  return bind_data(request, input, view->data, error);
}

hl_status hl_ov_submit(hl_request *request, hl_error *error) {
  const hl_engine *engine = request->program->model->engine;
  if (request->program->parts == 1)
    return hl_ov_check(engine, engine->api->infer_request_infer(request->parts[0]), "a step",
                       error);
  hl_status status = HL_OK;
  for (size_t i = 0; i < request->program->parts && status == HL_OK; i++)
    status = hl_ov_check(engine, engine->api->infer_request_start_async(request->parts[i]),
                         "a step", error);
  return status;
}

hl_status hl_ov_wait(hl_request *request, hl_error *error) {
  const hl_engine *engine = request->program->model->engine;
  if (request->program->parts == 1) return HL_OK;
  hl_status first = HL_OK;
  for (size_t i = 0; i < request->program->parts; i++) {
    hl_status status = hl_ov_check(engine, engine->api->infer_request_wait(request->parts[i]),
                                   "a step", first == HL_OK ? error : NULL);
    if (first == HL_OK) first = status;
  }
  return first;
}

static hl_status look_at(const hl_engine *engine, const hl_ov_tensor *tensor, hl_tensor_view *view,
                         hl_error *error) {
  const hl_ov_api *api = engine->api;
  int type = 0;
  size_t bytes = 0;
  hl_ov_shape shape = {0};
  hl_status status =
      hl_ov_check(engine, api->tensor_get_element_type(tensor, &type), view->name, error);
  if (status == HL_OK)
    status = hl_ov_check(engine, api->tensor_get_byte_size(tensor, &bytes), view->name, error);
  if (status == HL_OK)
    status = hl_ov_check(engine, api->tensor_data(tensor, &view->data), view->name, error);
  if (status == HL_OK)
    status = hl_ov_check(engine, api->tensor_get_shape(tensor, &shape), view->name, error);
  if (status != HL_OK) return status;
  view->dtype = hl_ov_dtype(engine->library, type);
  view->bytes = bytes;
  view->rank = (int32_t)shape.rank;
  if (shape.rank >= 0 && shape.rank <= HL_MAX_RANK)
    memcpy(view->dims, shape.dims, (size_t)shape.rank * sizeof *view->dims);
  else
    status = hl_engine_fail(error, HL_UNIMPLEMENTED, "openvino: '%s' has more than %d dimensions",
                            view->name, HL_MAX_RANK);
  api->shape_free(&shape);
  return status;
}

/* A shape that follows the data is known only now, and its place may be another after each step. */
hl_status hl_ov_output(hl_request *request, size_t output, hl_tensor_view *ret_view,
                       hl_error *error) {
  const hl_program *program = request->program;
  const hl_engine *engine = program->model->engine;
  if (output >= program->model->output_count)
    return hl_engine_fail(error, HL_INVALID_ARGUMENT, "openvino: there is no output %zu", output);
  hl_tensor_view view = request->views[output];
  if (program->parts == 1) {
    hl_ov_tensor *tensor = NULL;
    view.name = program->model->outputs[output].name;
    hl_status status = hl_ov_check(
        engine,
        engine->api->infer_request_get_output_tensor_by_index(request->parts[0], output, &tensor),
        view.name, error);
    if (status == HL_OK) status = look_at(engine, tensor, &view, error);
    if (tensor) engine->api->tensor_free(tensor); /* the infer request keeps the data */
    if (status != HL_OK) return status;
  }
  *ret_view = view;
  return HL_OK;
}

/* One buffer for the whole batch of output `i`, whose parts the infer requests fill. */
static hl_status make_output(hl_request *request, size_t i, hl_error *error) {
  const hl_program *program = request->program;
  const hl_engine *engine = program->model->engine;
  const hl_ov_api *api = engine->api;
  hl_port port = {.name = program->model->outputs[i].name};
  hl_ov_port *of_part = NULL;
  uint64_t bytes = 0;
  hl_status status =
      hl_ov_check(engine, api->compiled_model_output_by_index(program->compiled, i, &of_part),
                  port.name, error);
  if (status == HL_OK) status = hl_ov_read_port(engine, of_part, port.name, &port, error);
  if (of_part) api->output_const_port_free(of_part);
  if (status == HL_OK) port.dims[0] *= (int64_t)program->parts;
  if (status == HL_OK) status = hl_engine_port_bytes("openvino", &port, &bytes, error);
  if (status != HL_OK) return status;
  size_t whole = ((size_t)bytes + 63) / 64 * 64;
  request->buffers[i] = aligned_alloc(64, whole ? whole : 64);
  if (!request->buffers[i]) return no_memory(error);
  memset(request->buffers[i], 0, whole);
  request->views[i] = (hl_tensor_view){.name = port.name,
                                       .dtype = port.dtype,
                                       .rank = port.rank,
                                       .data = request->buffers[i],
                                       .bytes = bytes};
  memcpy(request->views[i].dims, port.dims, sizeof port.dims);
  size_t part_bytes = (size_t)bytes / program->parts;
  for (size_t part = 0; part < program->parts && status == HL_OK; part++) {
    hl_ov_tensor *tensor = NULL;
    status = wrap(engine, &port, program->parts, (char *)request->buffers[i] + part * part_bytes,
                  &tensor, error);
    if (status == HL_OK)
      status = hl_ov_check(
          engine, api->infer_request_set_output_tensor_by_index(request->parts[part], i, tensor),
          port.name, error);
    if (tensor) api->tensor_free(tensor);
  }
  return status;
}

/* Zeros from calloc are pages that only reading maps, all to one: they cost no memory. */
static hl_status run_on_zeros(hl_request *request, hl_error *error) {
  const hl_program *program = request->program;
  void *zeros[HL_OV_MAX_PORTS] = {0};
  hl_status status = HL_OK;
  for (size_t i = 0; i < program->input_count && status == HL_OK; i++) {
    zeros[i] = calloc(1, program->input_bytes[i] ? (size_t)program->input_bytes[i] : 1);
    status = zeros[i] ? bind_data(request, i, zeros[i], error) : no_memory(error);
  }
  if (status == HL_OK) status = hl_ov_submit(request, error);
  if (status == HL_OK) status = hl_ov_wait(request, error);
  for (size_t i = 0; i < program->input_count; i++) {
    free(zeros[i]);
    request->bound[i] = NULL; /* the next array may get the same address: bind it anew */
  }
  return status;
}

hl_status hl_ov_request(hl_program *program, hl_request **ret_request, hl_error *error) {
  const hl_engine *engine = program->model->engine;
  hl_request *request = calloc(1, sizeof *request);
  if (!request) return no_memory(error);
  request->program = program;
  request->parts = calloc(program->parts, sizeof(hl_ov_infer_request *));
  if (!request->parts) {
    free(request);
    return no_memory(error);
  }
  hl_status status = HL_OK;
  for (size_t i = 0; i < program->parts && status == HL_OK; i++)
    status = hl_ov_check(
        engine,
        engine->api->compiled_model_create_infer_request(program->compiled, &request->parts[i]),
        "making an infer request", error);
  for (size_t i = 0; i < program->model->output_count && program->parts > 1 && status == HL_OK; i++)
    status = make_output(request, i, error);
  if (status == HL_OK) status = run_on_zeros(request, error);
  if (status != HL_OK) {
    hl_ov_request_free(request);
    return status;
  }
  *ret_request = request;
  return HL_OK;
}

void hl_ov_request_free(hl_request *request) {
  if (!request) return;
  const hl_ov_api *api = request->program->model->engine->api;
  hl_ov_request_free(request->profiling);
  hl_ov_program_free(request->counting);
  for (size_t i = 0; request->parts && i < request->program->parts; i++)
    if (request->parts[i]) api->infer_request_free(request->parts[i]);
  for (size_t i = 0; i < HL_OV_MAX_PORTS; i++) free(request->buffers[i]);
  free(request->parts);
  free(request);
}
