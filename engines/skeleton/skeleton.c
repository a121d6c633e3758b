/*
 * engines/skeleton/skeleton.c - a template for an engine.
 *
 * To add an engine:
 *   1. copy this folder to engines/NAME, rename `skeleton`, and fill the hooks;
 *   2. add `subdir('NAME')` to engines/meson.build;
 *   3. run `hotlap sweep mlp --plugin build/engines/NAME/hotlap-engine-NAME.so --engine NAME`:
 *      outputs are compared with the reference before anything is timed.
 *
 * Include hotlap/engine.h and nothing else of hotlap's. As it stands the skeleton loads any file,
 * computes nothing, and says so when asked for an output.
 */
#include <hotlap/engine.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The engine's own structs: what each holds is nobody else's business. */
struct hl_engine {
  int threads; /* what `open` was told, handed to the library behind this engine */
};

struct hl_model {
  hl_engine *engine;
  long bytes; /* weights, as the library keeps them */
};

struct hl_program {
  hl_model *model;
  size_t input_count; /* shapes and precision, compiled */
};

struct hl_request {
  hl_program *program;
  hl_tensor_view inputs[16]; /* where the data of each input lies; borrowed */
};

static hl_status fail(hl_error *error, hl_status status, const char *message) {
  if (!error) return status;
  error->status = status;
  error->sys_errno = 0;
  snprintf(error->msg, sizeof error->msg, "skeleton: %s", message);
  return status;
}

/* Name the engine's version and that of the library it stands on. */
static const char *skeleton_version(void) {
  return "skeleton 1";
}

/* Look for the library, the device, the licence. If something is missing, return HL_UNAVAILABLE and
 * say what to install. */
static hl_status skeleton_probe(const hl_host *host, hl_error *error) {
  (void)host;
  (void)error;
  return HL_OK;
}

/* Start the library. Refuse options you do not know: a misspelt option that is ignored costs its
 * user an afternoon. */
static hl_status skeleton_open(const hl_host *host, const hl_engine_config *config,
                               hl_engine **ret_engine, hl_error *error) {
  (void)host;
  if (config->option_count) return fail(error, HL_INVALID_ARGUMENT, "it has no engine options");
  hl_engine *engine = calloc(1, sizeof *engine);
  if (!engine) return fail(error, HL_OUT_OF_MEMORY, "no memory");
  engine->threads = config->threads;
  *ret_engine = engine;
  return HL_OK;
}

/* Read the ONNX file at source->path. An operator that the engine lacks is HL_UNIMPLEMENTED, and
 * the message names operator and node. */
static hl_status skeleton_load(hl_engine *engine, const hl_model_source *source,
                               hl_model **ret_model, hl_error *error) {
  FILE *file = fopen(source->path, "rb");
  if (!file) return fail(error, HL_NOT_FOUND, "cannot open the model");
  fseek(file, 0, SEEK_END);
  long bytes = ftell(file);
  fclose(file);
  hl_model *model = calloc(1, sizeof *model);
  if (!model) return fail(error, HL_OUT_OF_MEMORY, "no memory");
  model->engine = engine;
  model->bytes = bytes;
  *ret_model = model;
  return HL_OK;
}

/* Inputs and outputs in the model's order; a symbolic dimension is -1. */
static hl_status skeleton_describe(hl_model *model, hl_model_info *ret_info, hl_error *error) {
  (void)model;
  (void)error;
  *ret_info = (hl_model_info){.size = sizeof *ret_info};
  return HL_OK;
}

/* What `prepare` will allocate, without allocating it. Leave the hook out if it cannot be told. */
static hl_status skeleton_plan(hl_model *model, const hl_program_spec *spec,
                               hl_program_plan *ret_plan, hl_error *error) {
  (void)spec;
  (void)error;
  *ret_plan = (hl_program_plan){.size = sizeof *ret_plan, .weight_bytes = (uint64_t)model->bytes};
  return HL_OK;
}

/* Compile for these shapes and this type. Allocate and touch everything that running needs, so that
 * memory runs out here and not in a measured step. */
static hl_status skeleton_prepare(hl_model *model, const hl_program_spec *spec,
                                  hl_program **ret_program, hl_error *error) {
  if (spec->mode != HL_MODE_INFERENCE) return fail(error, HL_UNIMPLEMENTED, "it cannot train");
  if (spec->input_count > 16) return fail(error, HL_UNIMPLEMENTED, "more than 16 inputs");
  hl_program *program = calloc(1, sizeof *program);
  if (!program) return fail(error, HL_OUT_OF_MEMORY, "no memory");
  program->model = model;
  program->input_count = spec->input_count;
  *ret_program = program;
  return HL_OK;
}

static hl_status skeleton_request(hl_program *program, hl_request **ret_request, hl_error *error) {
  hl_request *request = calloc(1, sizeof *request);
  if (!request) return fail(error, HL_OUT_OF_MEMORY, "no memory");
  request->program = program;
  *ret_request = request;
  return HL_OK;
}

/* Remember where the input lies. Called before every step: no copying here. */
static hl_status skeleton_bind(hl_request *request, size_t input, const hl_tensor_view *view,
                               hl_error *error) {
  if (input >= request->program->input_count)
    return fail(error, HL_INVALID_ARGUMENT, "there is no such input");
  request->inputs[input] = *view;
  return HL_OK;
}

/* Start the step. On an asynchronous device return at once... */
static hl_status skeleton_submit(hl_request *request, hl_error *error) {
  (void)request;
  (void)error;
  return HL_OK;
}

/* ...and here wait for that device, not for another. */
static hl_status skeleton_wait(hl_request *request, hl_error *error) {
  (void)request;
  (void)error;
  return HL_OK;
}

/* A dense row-major view of output number `output`; valid until the next submit. */
static hl_status skeleton_output(hl_request *request, size_t output, hl_tensor_view *ret_view,
                                 hl_error *error) {
  (void)request;
  (void)output;
  (void)ret_view;
  return fail(error, HL_UNIMPLEMENTED, "it computes nothing, so there is no output");
}

static void skeleton_request_free(hl_request *request) {
  free(request);
}

static void skeleton_program_free(hl_program *program) {
  free(program);
}

static void skeleton_model_free(hl_model *model) {
  free(model);
}

static void skeleton_close(hl_engine *engine) {
  free(engine);
}

/* Optional hooks that are left out are NULL. */
__attribute__((visibility("default"))) const hl_engine_ops *hl_engine_entry(void);

const hl_engine_ops *hl_engine_entry(void) {
  static const hl_engine_ops ops = {
      .abi = HL_ENGINE_ABI,
      .size = sizeof(hl_engine_ops),
      .name = "skeleton",
      .version = skeleton_version,
      .probe = skeleton_probe,
      .open = skeleton_open,
      .load = skeleton_load,
      .describe = skeleton_describe,
      .plan = skeleton_plan,
      .prepare = skeleton_prepare,
      .request = skeleton_request,
      .bind = skeleton_bind,
      .submit = skeleton_submit,
      .wait = skeleton_wait,
      .output = skeleton_output,
      .request_free = skeleton_request_free,
      .program_free = skeleton_program_free,
      .model_free = skeleton_model_free,
      .close = skeleton_close,
  };
  return &ops;
}
