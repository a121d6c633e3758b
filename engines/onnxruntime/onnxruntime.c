/* The engine and its models: options, one session for each model, its inputs and outputs. */
#include "onnxruntime.h"

#include "common/fail.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool says(const char *message, const char *const *phrases) {
  for (; *phrases; phrases++)
    if (strstr(message, *phrases)) return true;
  return false;
}

/* Codes are coarse: running out of memory comes as FAIL or RUNTIME_EXCEPTION, an operator that the
 * library has never heard of makes the graph invalid, and outputs whose shape follows the data of
 * the step are an invalid argument. So the text is asked first. */
static hl_status status_of(hl_ort_code code, const char *message) {
  static const char *const memory[] = {"Failed to allocate memory", "bad_alloc", "out of memory",
                                       NULL};
  static const char *const lacking[] = {"No Op registered", "not a registered function/op",
                                        "computed output shape for this run", NULL};
  static const char *const absent[] = {"no CUDA-capable device", "CUDA driver version",
                                       "invalid device ordinal", NULL};
  if (says(message, memory)) return HL_OUT_OF_MEMORY;
  if (says(message, lacking)) return HL_UNIMPLEMENTED;
  if (says(message, absent)) return HL_UNAVAILABLE;
  switch (code) {
  case HL_ORT_NOT_IMPLEMENTED:
    return HL_UNIMPLEMENTED;
  case HL_ORT_NO_FILE:
    return HL_NOT_FOUND;
  case HL_ORT_INVALID_ARGUMENT:
    return HL_INVALID_ARGUMENT;
  case HL_ORT_INVALID_PROTOBUF:
  case HL_ORT_INVALID_GRAPH:
    return HL_BAD_DATA;
  default:
    return HL_INTERNAL;
  }
}

hl_status hl_ort_check(const hl_engine *engine, hl_ort_status *failed, const char *what,
                       hl_error *error) {
  if (!failed) return HL_OK;
  const char *message = engine->api->GetErrorMessage(failed);
  hl_status status = status_of(engine->api->GetErrorCode(failed), message);
  hl_engine_fail_whole(engine->host, error, status, "onnxruntime: %s: %s", what, message);
  engine->api->ReleaseStatus(failed);
  return status;
}

static hl_status no_memory(hl_error *error) {
  return hl_engine_fail(error, HL_OUT_OF_MEMORY, "onnxruntime: no memory");
}

/* Asked before `probe` too: then the library is opened where it usually lies. */
static const char *version(void) {
  const hl_ort_library *library = hl_ort_library_current();
  if (!library && hl_ort_library_open(NULL, &library, NULL) != HL_OK)
    return "onnxruntime (library not found)";
  return library->version;
}

static hl_status probe(const hl_host *host, hl_error *error) {
  const hl_ort_library *library;
  return hl_ort_library_open(host, &library, error);
}

static hl_status inspect(const hl_host *host, hl_inspect_visit visit, void *context,
                         hl_error *error) {
  const hl_ort_library *library;
  hl_status status = hl_ort_library_open(host, &library, error);
  if (status != HL_OK) return status;
  char list[512];
  hl_ort_list_providers(&library->api, list, sizeof list);
  visit(context, "library", library->file.path);
  visit(context, "providers", list);
  return HL_OK;
}

/* Also where a session with another provider says that the processor gets some nodes. */
static void log_line(void *context, int severity, const char *category, const char *id,
                     const char *place, const char *message) {
  (void)severity;
  (void)category;
  (void)id;
  hl_engine *engine = context;
  char line[1024];
  if (engine->choice.provider != HL_ORT_CPU && !engine->told_of_cpu &&
      strstr(message, "not assigned to the preferred execution providers")) {
    engine->told_of_cpu = true;
    hl_engine_note(engine->host, "onnxruntime",
                   "onnxruntime computes some nodes on the processor, not with provider %s",
                   hl_ort_providers[engine->choice.provider]);
  }
  if (!HL_HOST_HAS(engine->host, log)) return;
  snprintf(line, sizeof line, "%s (%s)", message, place);
  engine->host->log("onnxruntime", line);
}

static const hl_option_info option_table[] = {
    {"library", "PATH", "the libonnxruntime.so.1 to open; the same as --engine-library"},
    {"optimization", "disabled|basic|extended|all", "graph optimisation; all if not given"},
    {NULL, NULL, NULL}};

static hl_status read_option(hl_engine *engine, const hl_option *option, hl_error *error) {
  static const struct {
    const char *name;
    hl_ort_optimization level;
  } levels[] = {{"disabled", HL_ORT_DISABLED},
                {"basic", HL_ORT_BASIC},
                {"extended", HL_ORT_EXTENDED},
                {"all", HL_ORT_ALL}};
  if (strcmp(option->key, "library") == 0) return HL_OK; /* the host has it too */
  if (strcmp(option->key, "optimization") != 0)
    return hl_engine_fail(error, HL_INVALID_ARGUMENT,
                          "onnxruntime has no option '%s'; it has library=PATH and "
                          "optimization=disabled|basic|extended|all",
                          option->key);
  for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
    if (strcmp(option->value, levels[i].name) == 0) {
      engine->optimization = levels[i].level;
      return HL_OK;
    }
  return hl_engine_fail(error, HL_INVALID_ARGUMENT,
                        "onnxruntime: option optimization is disabled, basic, extended or all, not "
                        "'%s'",
                        option->value);
}

static hl_status read_config(hl_engine *engine, const hl_engine_config *config, hl_error *error) {
  if (config->threads < 1)
    return hl_engine_fail(error, HL_INVALID_ARGUMENT, "onnxruntime: threads must be at least 1");
  const char *provider =
      config->size > offsetof(hl_engine_config, provider) ? config->provider : NULL;
  engine->threads = config->threads;
  engine->optimization = HL_ORT_ALL;
  hl_status status = hl_ort_choose(provider, config->device, &engine->choice, error);
  for (size_t i = 0; i < config->option_count && status == HL_OK; i++)
    status = read_option(engine, &config->options[i], error);
  return status;
}

static void engine_close(hl_engine *engine) {
  if (!engine) return;
  if (engine->memory) engine->api->ReleaseMemoryInfo(engine->memory);
  if (engine->env) engine->api->ReleaseEnv(engine->env);
  free(engine);
}

static hl_status start(hl_engine *engine, hl_error *error) {
  const hl_ort_api *api = engine->api;
  hl_status status = hl_ort_check(
      engine,
      api->CreateEnvWithCustomLogger(log_line, engine, HL_ORT_WARNING, "hotlap", &engine->env),
      "starting", error);
  if (status == HL_OK)
    status = hl_ort_check(engine, api->DisableTelemetryEvents(engine->env), "starting", error);
  if (status == HL_OK)
    status = hl_ort_check(
        engine, api->CreateCpuMemoryInfo(HL_ORT_ARENA, HL_ORT_MEMORY_DEFAULT, &engine->memory),
        "starting", error);
  if (status == HL_OK)
    status = hl_ort_check(engine, api->GetAllocatorWithDefaultOptions(&engine->allocator),
                          "starting", error);
  return status;
}

static hl_status engine_open(const hl_host *host, const hl_engine_config *config,
                             hl_engine **ret_engine, hl_error *error) {
  hl_engine *engine = calloc(1, sizeof *engine);
  if (!engine) return no_memory(error);
  engine->host = host;
  hl_status status = read_config(engine, config, error);
  if (status == HL_OK) status = hl_ort_library_open(host, &engine->library, error);
  if (status == HL_OK) {
    engine->api = &engine->library->api;
    status = start(engine, error);
  }
  if (status != HL_OK) {
    engine_close(engine);
    return status;
  }
  *ret_engine = engine;
  return HL_OK;
}

hl_status hl_ort_port(const hl_engine *engine, const hl_ort_shape *shape, const char *what,
                      hl_port *ret_port, hl_error *error) {
  const hl_ort_api *api = engine->api;
  int dtype = 0;
  size_t rank = 0;
  hl_status status = hl_ort_check(engine, api->GetTensorElementType(shape, &dtype), what, error);
  if (status == HL_OK)
    status = hl_ort_check(engine, api->GetDimensionsCount(shape, &rank), what, error);
  if (status != HL_OK) return status;
  if (rank > HL_MAX_RANK)
    return hl_engine_fail(error, HL_UNIMPLEMENTED, "onnxruntime: %s: %zu dimensions; at most %d",
                          what, rank, HL_MAX_RANK);
  ret_port->dtype = (hl_dtype)dtype;
  ret_port->rank = (int32_t)rank;
  return hl_ort_check(engine, api->GetDimensions(shape, ret_port->dims, rank), what, error);
}

static hl_status read_port(const hl_model *model, bool input, size_t index, hl_port *port,
                           hl_error *error) {
  const hl_engine *engine = model->engine;
  const hl_ort_api *api = engine->api;
  char *name = NULL;
  hl_ort_type *type = NULL;
  const hl_ort_shape *shape = NULL;
  hl_status status = hl_ort_check(engine,
                                  (input ? api->SessionGetInputName : api->SessionGetOutputName)(
                                      model->session, index, engine->allocator, &name),
                                  "a name", error);
  if (status != HL_OK) return status;
  port->name = name;
  status = hl_ort_check(engine,
                        (input ? api->SessionGetInputTypeInfo
                               : api->SessionGetOutputTypeInfo)(model->session, index, &type),
                        name, error);
  if (status == HL_OK)
    status = hl_ort_check(engine, api->CastTypeInfoToTensorInfo(type, &shape), name, error);
  if (status == HL_OK && !shape)
    status = hl_engine_fail(error, HL_UNIMPLEMENTED, "onnxruntime: '%s' is not a tensor", name);
  if (status == HL_OK) status = hl_ort_port(engine, shape, name, port, error);
  if (type) api->ReleaseTypeInfo(type);
  return status;
}

static hl_status read_ports(hl_model *model, hl_error *error) {
  const hl_engine *engine = model->engine;
  size_t inputs = 0, outputs = 0;
  hl_status status = hl_ort_check(
      engine, engine->api->SessionGetInputCount(model->session, &inputs), "its inputs", error);
  if (status == HL_OK)
    status = hl_ort_check(engine, engine->api->SessionGetOutputCount(model->session, &outputs),
                          "its outputs", error);
  if (status == HL_OK && (inputs > HL_ORT_MAX_PORTS || outputs > HL_ORT_MAX_PORTS))
    status = hl_engine_fail(error, HL_LIMIT,
                            "onnxruntime: %zu inputs and %zu outputs; at most %d of each", inputs,
                            outputs, HL_ORT_MAX_PORTS);
  for (size_t i = 0; i < inputs && status == HL_OK; i++, model->input_count++)
    status = read_port(model, true, i, &model->inputs[i], error);
  for (size_t i = 0; i < outputs && status == HL_OK; i++, model->output_count++)
    status = read_port(model, false, i, &model->outputs[i], error);
  return status;
}

/* Sequential with one pool of `threads`: what ONNX Runtime recommends where steps come one at a
 * time, and the only mode in which it plans memory ahead. */
hl_status hl_ort_set_options(const hl_engine *engine, hl_ort_session_options *options,
                             hl_error *error) {
  const hl_ort_api *api = engine->api;
  static const char what[] = "setting options";
  hl_status status =
      hl_ort_check(engine, api->SetSessionExecutionMode(options, HL_ORT_SEQUENTIAL), what, error);
  if (status == HL_OK) status = hl_ort_check(engine, api->EnableMemPattern(options), what, error);
  if (status == HL_OK) status = hl_ort_check(engine, api->EnableCpuMemArena(options), what, error);
  if (status == HL_OK)
    status = hl_ort_check(engine,
                          api->SetSessionGraphOptimizationLevel(options, (int)engine->optimization),
                          what, error);
  if (status == HL_OK)
    status = hl_ort_check(engine, api->SetIntraOpNumThreads(options, engine->threads), what, error);
  if (status == HL_OK)
    status = hl_ort_check(engine, api->SetInterOpNumThreads(options, 1), what, error);
  if (status == HL_OK) status = hl_ort_add_provider(engine, options, error);
  return status;
}

static void model_free(hl_model *model) {
  if (!model) return;
  const hl_ort_api *api = model->engine->api;
  hl_ort_allocator *allocator = model->engine->allocator;
  for (size_t i = 0; i < HL_ORT_MAX_PORTS; i++) {
    char *names[] = {(char *)(uintptr_t)model->inputs[i].name,
                     (char *)(uintptr_t)model->outputs[i].name};
    for (size_t k = 0; k < 2; k++)
      if (names[k]) hl_ort_check(model->engine, api->AllocatorFree(allocator, names[k]), "", NULL);
  }
  if (model->session) api->ReleaseSession(model->session);
  free(model->path);
  free(model);
}

static hl_status load(hl_engine *engine, const hl_model_source *source, hl_model **ret_model,
                      hl_error *error) {
  hl_model *model = calloc(1, sizeof *model);
  if (!model) return no_memory(error);
  model->engine = engine;
  model->path = strdup(source->path);
  if (!model->path) {
    free(model);
    return no_memory(error);
  }
  hl_ort_session_options *options = NULL;
  hl_status status =
      hl_ort_check(engine, engine->api->CreateSessionOptions(&options), "setting options", error);
  if (status == HL_OK) status = hl_ort_set_options(engine, options, error);
  if (status == HL_OK)
    status = hl_ort_check(
        engine, engine->api->CreateSession(engine->env, source->path, options, &model->session),
        source->path, error);
  if (options) engine->api->ReleaseSessionOptions(options);
  if (status == HL_OK) status = read_ports(model, error);
  if (status != HL_OK) {
    model_free(model);
    return status;
  }
  *ret_model = model;
  return HL_OK;
}

static hl_status describe(hl_model *model, hl_model_info *ret_info, hl_error *error) {
  (void)error;
  *ret_info = (hl_model_info){.size = sizeof *ret_info,
                              .inputs = model->inputs,
                              .input_count = model->input_count,
                              .outputs = model->outputs,
                              .output_count = model->output_count};
  return HL_OK;
}

__attribute__((visibility("default"))) const hl_engine_ops *hl_engine_entry(void);

const hl_engine_ops *hl_engine_entry(void) {
  static const hl_engine_ops ops = {
      .abi = HL_ENGINE_ABI,
      .size = sizeof(hl_engine_ops),
      .name = "onnxruntime",
      .version = version,
      .probe = probe,
      .open = engine_open,
      .load = load,
      .describe = describe,
      .prepare = hl_ort_prepare,
      .request = hl_ort_request,
      .bind = hl_ort_bind,
      .submit = hl_ort_submit,
      .wait = hl_ort_wait,
      .output = hl_ort_output,
      .request_free = hl_ort_request_free,
      .program_free = hl_ort_program_free,
      .model_free = model_free,
      .close = engine_close,
      .option_table = option_table,
      .providers = hl_ort_providers,
      .inspect = inspect,
      .spans = hl_ort_spans,
      .spans_end = hl_ort_spans_end,
  };
  return &ops;
}
