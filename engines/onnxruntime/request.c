/*
 * Programs and requests.
 *
 * A request is an I/O binding, which is ONNX Runtime's way without copies: inputs are bound where
 * the caller's data lies, and outputs to tensors whose place stays the same. Output shapes are
 * known only after a run, so `request` runs the network on zeros: the first time the library
 * allocates the outputs, which are then bound for good, and lays down its memory plan; the second
 * time it allocates by that plan. After that a step allocates nothing large.
 */
#include "onnxruntime.h"

#include "common/fail.h"
#include "common/port.h"
#include <stdlib.h>
#include <string.h>

/* The name of the model that equals the specification's, which is borrowed. */
static const char *name_in_model(const hl_model *model, const char *name) {
  for (size_t i = 0; i < model->input_count; i++)
    if (strcmp(model->inputs[i].name, name) == 0) return model->inputs[i].name;
  return NULL;
}

static hl_status take_specification(hl_program *program, const hl_program_spec *spec,
                                    hl_error *error) {
  const hl_model *model = program->model;
  if (spec->input_count != model->input_count)
    return hl_engine_fail(error, HL_INVALID_ARGUMENT,
                          "onnxruntime: the model has %zu inputs, not %zu", model->input_count,
                          spec->input_count);
  for (size_t i = 0; i < spec->input_count; i++) {
    program->inputs[i] = spec->inputs[i];
    program->inputs[i].name = name_in_model(model, spec->inputs[i].name);
    if (!program->inputs[i].name)
      return hl_engine_fail(error, HL_INVALID_ARGUMENT, "onnxruntime: the model has no input '%s'",
                            spec->inputs[i].name);
    hl_status status =
        hl_engine_port_bytes("onnxruntime", &program->inputs[i], &program->input_bytes[i], error);
    if (status != HL_OK) return status;
  }
  program->input_count = spec->input_count;
  return HL_OK;
}

static const char *float_name(hl_dtype dtype) {
  switch (dtype) {
  case HL_FLOAT32:
    return "float32";
  case HL_FLOAT64:
    return "float64";
  case HL_FLOAT16:
    return "float16";
  case HL_BFLOAT16:
    return "bfloat16";
  default:
    return NULL;
  }
}

/* ONNX Runtime computes in the types of the file. Which they are, inputs and outputs tell: the
 * first one of them that is a real number. */
static hl_status check_precision(const hl_model *model, hl_dtype asked, hl_error *error) {
  hl_dtype found = HL_DTYPE_NONE;
  for (size_t i = 0; i < model->input_count && found == HL_DTYPE_NONE; i++)
    if (float_name(model->inputs[i].dtype)) found = model->inputs[i].dtype;
  for (size_t i = 0; i < model->output_count && found == HL_DTYPE_NONE; i++)
    if (float_name(model->outputs[i].dtype)) found = model->outputs[i].dtype;
  /* int8: quantised operators and the float32 between them are in the file. */
  if (found == HL_DTYPE_NONE || found == asked || asked == HL_INT8) return HL_OK;
  return hl_engine_fail(error, HL_UNIMPLEMENTED,
                        "onnxruntime: it computes in the types of the file, %s here, and not in "
                        "%s: convert the model, or give --dtype %s",
                        float_name(found), float_name(asked) ? float_name(asked) : "another type",
                        float_name(found));
}

hl_status hl_ort_prepare(hl_model *model, const hl_program_spec *spec, hl_program **ret_program,
                         hl_error *error) {
  if (spec->mode != HL_MODE_INFERENCE)
    return hl_engine_fail(error, HL_UNIMPLEMENTED, "onnxruntime: this engine does not train");
  hl_status fits = check_precision(model, spec->dtype, error);
  if (fits != HL_OK) return fits;
  hl_program *program = calloc(1, sizeof *program);
  if (!program) return hl_engine_fail(error, HL_OUT_OF_MEMORY, "onnxruntime: no memory");
  program->model = model;
  hl_status status = take_specification(program, spec, error);
  if (status != HL_OK) {
    free(program);
    return status;
  }
  *ret_program = program;
  return HL_OK;
}

static hl_status bind_data(hl_request *request, size_t input, void *data, hl_error *error) {
  const hl_program *program = request->program;
  const hl_engine *engine = program->model->engine;
  const hl_port *port = &program->inputs[input];
  hl_ort_value *value = NULL;
  hl_status status = hl_ort_check(engine,
                                  engine->api->CreateTensorWithDataAsOrtValue(
                                      engine->memory, data, (size_t)program->input_bytes[input],
                                      port->dims, (size_t)port->rank, (int)port->dtype, &value),
                                  port->name, error);
  if (status == HL_OK)
    status = hl_ort_check(engine, engine->api->BindInput(request->binding, port->name, value),
                          port->name, error);
  if (status != HL_OK) {
    if (value) engine->api->ReleaseValue(value);
    return status;
  }
  if (request->inputs[input]) engine->api->ReleaseValue(request->inputs[input]);
  request->inputs[input] = value;
  request->bound[input] = data;
  return HL_OK;
}

static hl_status run(const hl_request *request, hl_error *error) {
  const hl_model *model = request->program->model;
  return hl_ort_check(model->engine,
                      model->engine->api->RunWithBinding(model->session, NULL, request->binding),
                      "a step", error);
}

/* Takes the outputs of the first run over, in the model's order, which is that of binding. */
static hl_status keep_outputs(hl_request *request, hl_error *error) {
  const hl_model *model = request->program->model;
  const hl_engine *engine = model->engine;
  hl_ort_value **values = NULL;
  size_t count = 0;
  hl_status status = hl_ort_check(
      engine,
      engine->api->GetBoundOutputValues(request->binding, engine->allocator, &values, &count),
      "its outputs", error);
  if (status != HL_OK) return status;
  for (size_t i = 0; i < count && i < model->output_count; i++) request->outputs[i] = values[i];
  for (size_t i = model->output_count; i < count; i++) engine->api->ReleaseValue(values[i]);
  if (values)
    status = hl_ort_check(engine, engine->api->AllocatorFree(engine->allocator, values),
                          "its outputs", error);
  if (status == HL_OK && count != model->output_count)
    status = hl_engine_fail(error, HL_INTERNAL, "onnxruntime: %zu outputs instead of %zu", count,
                            model->output_count);
  return status;
}

/* Binds output `i` to the tensor that the first run made, and looks at it. */
static hl_status fix_output(hl_request *request, size_t i, hl_error *error) {
  const hl_model *model = request->program->model;
  const hl_ort_api *api = model->engine->api;
  const char *name = model->outputs[i].name;
  hl_ort_shape *shape = NULL;
  hl_port port = {.name = name};
  hl_tensor_view *view = &request->views[i];
  hl_status status = hl_ort_check(
      model->engine, api->GetTensorTypeAndShape(request->outputs[i], &shape), name, error);
  if (status == HL_OK) status = hl_ort_port(model->engine, shape, name, &port, error);
  if (shape) api->ReleaseTensorTypeAndShapeInfo(shape);
  if (status == HL_OK) status = hl_engine_port_bytes("onnxruntime", &port, &view->bytes, error);
  if (status == HL_OK)
    status = hl_ort_check(model->engine,
                          api->GetTensorMutableData(request->outputs[i], &view->data), name, error);
  if (status == HL_OK)
    status = hl_ort_check(
        model->engine, api->BindOutput(request->binding, name, request->outputs[i]), name, error);
  if (status != HL_OK) return status;
  view->name = name;
  view->dtype = port.dtype;
  view->rank = port.rank;
  memcpy(view->dims, port.dims, sizeof view->dims);
  return HL_OK;
}

static hl_status run_on(hl_request *request, void *const *zeros, hl_error *error) {
  const hl_model *model = request->program->model;
  const hl_engine *engine = model->engine;
  hl_status status = HL_OK;
  for (size_t i = 0; i < request->program->input_count && status == HL_OK; i++)
    status = bind_data(request, i, zeros[i], error);
  for (size_t i = 0; i < model->output_count && status == HL_OK; i++)
    status = hl_ort_check(
        engine,
        engine->api->BindOutputToDevice(request->binding, model->outputs[i].name, engine->memory),
        model->outputs[i].name, error);
  if (status == HL_OK) status = run(request, error);
  if (status == HL_OK) status = keep_outputs(request, error);
  for (size_t i = 0; i < model->output_count && status == HL_OK; i++)
    status = fix_output(request, i, error);
  return status == HL_OK ? run(request, error) : status;
}

/* Zeros from calloc are pages that only reading maps, all to one: they cost no memory. */
static hl_status run_on_zeros(hl_request *request, hl_error *error) {
  const hl_program *program = request->program;
  void *zeros[HL_ORT_MAX_PORTS] = {0};
  hl_status status = HL_OK;
  for (size_t i = 0; i < program->input_count && status == HL_OK; i++) {
    zeros[i] = calloc(1, program->input_bytes[i] ? (size_t)program->input_bytes[i] : 1);
    if (!zeros[i])
      status = hl_engine_fail(error, HL_OUT_OF_MEMORY, "onnxruntime: no memory for input '%s'",
                              program->inputs[i].name);
  }
  if (status == HL_OK) status = run_on(request, zeros, error);
  for (size_t i = 0; i < program->input_count; i++) {
    free(zeros[i]);
    request->bound[i] = NULL; /* the next array may get the same address: bind it anew */
  }
  return status;
}

hl_status hl_ort_request(hl_program *program, hl_request **ret_request, hl_error *error) {
  const hl_model *model = program->model;
  hl_request *request = calloc(1, sizeof *request);
  if (!request) return hl_engine_fail(error, HL_OUT_OF_MEMORY, "onnxruntime: no memory");
  request->program = program;
  hl_status status = hl_ort_check(
      model->engine, model->engine->api->CreateIoBinding(model->session, &request->binding),
      "making a binding", error);
  if (status == HL_OK) status = run_on_zeros(request, error);
  if (status != HL_OK) {
    hl_ort_request_free(request);
    return status;
  }
  *ret_request = request;
  return HL_OK;
}

hl_status hl_ort_bind(hl_request *request, size_t input, const hl_tensor_view *view,
                      hl_error *error) {
  const hl_program *program = request->program;
  if (input >= program->input_count)
    return hl_engine_fail(error, HL_INVALID_ARGUMENT, "onnxruntime: there is no input %zu", input);
  if (view->bytes < program->input_bytes[input])
    return hl_engine_fail(error, HL_INVALID_ARGUMENT,
                          "onnxruntime: input '%s' has %llu bytes; the program needs %llu",
                          program->inputs[input].name, (unsigned long long)view->bytes,
                          (unsigned long long)program->input_bytes[input]);
  if (view->data == request->bound[input]) return HL_OK; /* the tensor is a view: nothing to do */
  return bind_data(request, input, view->data, error);
}

hl_status hl_ort_submit(hl_request *request, hl_error *error) {
  return run(request, error);
}

/* `submit` returns when the step is done. */
hl_status hl_ort_wait(hl_request *request, hl_error *error) {
  (void)request;
  (void)error;
  return HL_OK;
}

hl_status hl_ort_output(hl_request *request, size_t output, hl_tensor_view *ret_view,
                        hl_error *error) {
  if (output >= request->program->model->output_count)
    return hl_engine_fail(error, HL_INVALID_ARGUMENT, "onnxruntime: there is no output %zu",
                          output);
  *ret_view = request->views[output];
  return HL_OK;
}

void hl_ort_request_free(hl_request *request) {
  if (!request) return;
  const hl_ort_api *api = request->program->model->engine->api;
  hl_ort_profiler_free(request->profiler);
  if (request->binding) api->ReleaseIoBinding(request->binding);
  for (size_t i = 0; i < HL_ORT_MAX_PORTS; i++) {
    if (request->inputs[i]) api->ReleaseValue(request->inputs[i]);
    if (request->outputs[i]) api->ReleaseValue(request->outputs[i]);
  }
  free(request);
}

void hl_ort_program_free(hl_program *program) {
  free(program);
}
