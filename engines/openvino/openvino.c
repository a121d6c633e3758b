/* The engine and its models: options, the core, a graph as OpenVINO reads it. */
#include "openvino.h"

#include "common/fail.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool says(const char *message, const char *const *phrases) {
  for (; *phrases; phrases++)
    if (strstr(message, *phrases)) return true;
  return false;
}

/* Nearly everything comes as GENERAL_ERROR, so the text is asked first. */
static hl_status status_of(hl_ov_status result, const char *message) {
  static const char *const memory[] = {"bad_alloc", "out of memory", "Failed to allocate",
                                       "could not allocate", NULL};
  static const char *const lacking[] = {"does not support the following ONNX operations",
                                        "Unsupported operation",
                                        "No conversion rule",
                                        "Not Implemented",
                                        "NotImplemented",
                                        "not implemented",
                                        "Unsupported type of primitive",
                                        NULL};
  static const char *const missing[] = {"Could not open the file", NULL};
  static const char *const malformed[] = {"FrontEnd API failed", "Error during import", NULL};
  if (says(message, memory)) return HL_OUT_OF_MEMORY;
  if (says(message, lacking) || result == HL_OV_NOT_IMPLEMENTED) return HL_UNIMPLEMENTED;
  if (says(message, missing)) return HL_NOT_FOUND;
  if (says(message, malformed)) return HL_BAD_DATA;
  return HL_INTERNAL;
}

hl_status hl_ov_check(const hl_engine *engine, hl_ov_status result, const char *what,
                      hl_error *error) {
  if (result == HL_OV_OK) return HL_OK;
  const char *message = engine->api->get_last_err_msg();
  const char *text = message && message[0] ? message : engine->api->get_error_info(result);
  hl_status status = status_of(result, text);
  hl_engine_fail_whole(engine->host, error, status, "openvino: %s: %s", what, text);
  if (message) engine->api->free(message);
  return status;
}

static hl_status no_memory(hl_error *error) {
  return hl_engine_fail(error, HL_OUT_OF_MEMORY, "openvino: no memory");
}

/* Asked before `probe` too: then the library is opened where it usually lies. */
static const char *version(void) {
  const hl_ov_library *library = hl_ov_library_current();
  if (!library && hl_ov_library_open(NULL, &library, NULL) != HL_OK)
    return "openvino (library not found)";
  return library->version;
}

static hl_status probe(const hl_host *host, hl_error *error) {
  const hl_ov_library *library;
  return hl_ov_library_open(host, &library, error);
}

static const hl_option_info option_table[] = {
    {"library", "PATH", "the libopenvino_c.so to open; the same as --engine-library"},
    {"hint", "latency|throughput", "OpenVINO's performance hint; latency if not given"},
    {"pinning", "on|off", "bind threads to cores; as OpenVINO decides if not given"},
    {NULL, NULL, NULL}};

static hl_status read_option(hl_engine *engine, const hl_option *option, hl_error *error) {
  const char *key = option->key, *value = option->value;
  if (strcmp(key, "library") == 0) return HL_OK; /* the host has it too */
  if (strcmp(key, "hint") == 0) {
    if (strcmp(value, "latency") != 0 && strcmp(value, "throughput") != 0)
      return hl_engine_fail(error, HL_INVALID_ARGUMENT,
                            "openvino: option hint is latency or throughput, not '%s'", value);
    engine->hint = value[0] == 'l' ? HL_OV_LATENCY : HL_OV_THROUGHPUT;
  } else if (strcmp(key, "pinning") == 0) {
    if (strcmp(value, "on") != 0 && strcmp(value, "off") != 0)
      return hl_engine_fail(error, HL_INVALID_ARGUMENT,
                            "openvino: option pinning is on or off, not '%s'", value);
    engine->pinning = value[1] == 'n' ? "YES" : "NO";
  } else {
    return hl_engine_fail(error, HL_INVALID_ARGUMENT,
                          "openvino has no option '%s'; it has library=PATH, "
                          "hint=latency|throughput and pinning=on|off",
                          key);
  }
  return HL_OK;
}

static hl_status read_config(hl_engine *engine, const hl_engine_config *config, hl_error *error) {
  if (config->threads < 1)
    return hl_engine_fail(error, HL_INVALID_ARGUMENT, "openvino: threads must be at least 1");
  engine->threads = config->threads;
  hl_status status = HL_OK;
  for (size_t i = 0; i < config->option_count && status == HL_OK; i++)
    status = read_option(engine, &config->options[i], error);
  return status;
}

/* The names of OpenVINO's devices here, with commas; whether `device` is one of them. */
static hl_status list_devices(const hl_ov_api *api, const hl_ov_core *core, const char *device,
                              char *ret_list, size_t capacity, bool *ret_found) {
  hl_ov_devices devices = {0};
  ret_list[0] = '\0';
  *ret_found = false;
  if (api->core_get_available_devices(core, &devices) != HL_OV_OK) return HL_INTERNAL;
  for (size_t i = 0, used = 0; i < devices.count; i++) {
    *ret_found |= strcmp(devices.names[i], device) == 0;
    if (used < capacity)
      used += (size_t)snprintf(ret_list + used, capacity - used, "%s%s", i ? ", " : "",
                               devices.names[i]);
  }
  api->available_devices_free(&devices);
  return HL_OK;
}

/* "cpu", "gpu" and "gpu:0" are OpenVINO's CPU, GPU and GPU.0. */
static hl_status find_device(hl_engine *engine, const char *device, hl_error *error) {
  if (strcmp(device, "cpu") == 0)
    snprintf(engine->device, sizeof engine->device, "CPU");
  else if (strncmp(device, "gpu", 3) == 0 && strcspn(device, ":") == 3)
    snprintf(engine->device, sizeof engine->device, "GPU%s%.8s", device[3] ? "." : "",
             device[3] ? device + 4 : "");
  char list[256];
  bool found;
  hl_status status =
      list_devices(engine->api, engine->core, engine->device, list, sizeof list, &found);
  if (status == HL_OK && found) return HL_OK;
  return hl_engine_fail(error, HL_UNAVAILABLE, "openvino: no device '%s'; OpenVINO finds here: %s",
                        device, list[0] ? list : "none");
}

static hl_status inspect(const hl_host *host, hl_inspect_visit visit, void *context,
                         hl_error *error) {
  const hl_ov_library *library;
  hl_ov_core *core = NULL;
  hl_status status = hl_ov_library_open(host, &library, error);
  if (status != HL_OK) return status;
  visit(context, "library", library->file.path);
  if (library->api.core_create(&core) != HL_OV_OK)
    return hl_engine_fail(error, HL_UNAVAILABLE, "openvino: %s cannot start", library->file.path);
  char list[256], *capabilities = NULL;
  bool found;
  if (list_devices(&library->api, core, "CPU", list, sizeof list, &found) == HL_OK)
    visit(context, "devices", list);
  if (library->api.core_get_property(core, "CPU", "OPTIMIZATION_CAPABILITIES", &capabilities) ==
          HL_OV_OK &&
      capabilities) {
    visit(context, "capabilities", capabilities);
    library->api.free(capabilities);
  }
  library->api.core_free(core);
  return HL_OK;
}

static void engine_close(hl_engine *engine) {
  if (!engine) return;
  if (engine->core) engine->api->core_free(engine->core);
  free(engine);
}

static hl_status engine_open(const hl_host *host, const hl_engine_config *config,
                             hl_engine **ret_engine, hl_error *error) {
  hl_engine *engine = calloc(1, sizeof *engine);
  if (!engine) return no_memory(error);
  engine->host = host;
  hl_status status = read_config(engine, config, error);
  if (status == HL_OK) status = hl_ov_library_open(host, &engine->library, error);
  if (status == HL_OK) {
    engine->api = &engine->library->api;
    status = hl_ov_check(engine, engine->api->core_create(&engine->core), "starting", error);
  }
  if (status == HL_OK) status = find_device(engine, config->device, error);
  if (status != HL_OK) {
    engine_close(engine);
    return status;
  }
  *ret_engine = engine;
  return HL_OK;
}

hl_status hl_ov_read_port(const hl_engine *engine, const hl_ov_port *port, const char *what,
                          hl_port *ret_port, hl_error *error) {
  const hl_ov_api *api = engine->api;
  int type = 0;
  hl_ov_partial_shape shape = {0};
  hl_status status = hl_ov_check(engine, api->port_get_element_type(port, &type), what, error);
  if (status == HL_OK)
    status = hl_ov_check(engine, api->port_get_partial_shape(port, &shape), what, error);
  if (status != HL_OK) return status;
  ret_port->dtype = hl_ov_dtype(engine->library, type);
  if (ret_port->dtype == HL_DTYPE_NONE)
    status = hl_engine_fail(error, HL_UNIMPLEMENTED,
                            "openvino: '%s' has an element type that is no plain number (%d)", what,
                            type);
  else if (shape.rank.min != shape.rank.max || shape.rank.max > HL_MAX_RANK)
    status = hl_engine_fail(error, HL_UNIMPLEMENTED,
                            "openvino: '%s' has an open number of dimensions, or more than %d",
                            what, HL_MAX_RANK);
  if (status == HL_OK) ret_port->rank = (int32_t)shape.rank.max;
  for (int64_t i = 0; status == HL_OK && i < shape.rank.max; i++)
    ret_port->dims[i] = shape.dims[i].min == shape.dims[i].max ? shape.dims[i].max : -1;
  api->partial_shape_free(&shape);
  return status;
}

static hl_status read_port(const hl_model *model, bool input, size_t index, hl_port *ret_port,
                           hl_error *error) {
  const hl_engine *engine = model->engine;
  const hl_ov_api *api = engine->api;
  hl_ov_port *port = NULL;
  char *name = NULL;
  hl_status status =
      hl_ov_check(engine,
                  (input ? api->model_const_input_by_index
                         : api->model_const_output_by_index)(model->model, index, &port),
                  input ? "an input" : "an output", error);
  if (status == HL_OK)
    status = hl_ov_check(engine, api->port_get_any_name(port, &name), "a name", error);
  if (status == HL_OK) {
    ret_port->name = name;
    status = hl_ov_read_port(engine, port, name, ret_port, error);
  }
  if (port) api->output_const_port_free(port);
  return status;
}

static hl_status read_ports(hl_model *model, hl_error *error) {
  const hl_engine *engine = model->engine;
  size_t inputs = 0, outputs = 0;
  hl_status status = hl_ov_check(engine, engine->api->model_inputs_size(model->model, &inputs),
                                 "its inputs", error);
  if (status == HL_OK)
    status = hl_ov_check(engine, engine->api->model_outputs_size(model->model, &outputs),
                         "its outputs", error);
  if (status == HL_OK && (inputs > HL_OV_MAX_PORTS || outputs > HL_OV_MAX_PORTS))
    status =
        hl_engine_fail(error, HL_LIMIT, "openvino: %zu inputs and %zu outputs; at most %d of each",
                       inputs, outputs, HL_OV_MAX_PORTS);
  for (size_t i = 0; i < inputs && status == HL_OK; i++, model->input_count++)
    status = read_port(model, true, i, &model->inputs[i], error);
  for (size_t i = 0; i < outputs && status == HL_OK; i++, model->output_count++)
    status = read_port(model, false, i, &model->outputs[i], error);
  return status;
}

static void model_free(hl_model *model) {
  if (!model) return;
  const hl_ov_api *api = model->engine->api;
  for (size_t i = 0; i < HL_OV_MAX_PORTS; i++) {
    if (model->inputs[i].name) api->free(model->inputs[i].name);
    if (model->outputs[i].name) api->free(model->outputs[i].name);
  }
  if (model->model) api->model_free(model->model);
  free(model);
}

static hl_status load(hl_engine *engine, const hl_model_source *source, hl_model **ret_model,
                      hl_error *error) {
  hl_model *model = calloc(1, sizeof *model);
  if (!model) return no_memory(error);
  model->engine = engine;
  hl_status status = hl_ov_check(
      engine, engine->api->core_read_model(engine->core, source->path, NULL, &model->model),
      source->path, error);
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
      .name = "openvino",
      .version = version,
      .probe = probe,
      .open = engine_open,
      .load = load,
      .describe = describe,
      .prepare = hl_ov_prepare,
      .request = hl_ov_request,
      .bind = hl_ov_bind,
      .submit = hl_ov_submit,
      .wait = hl_ov_wait,
      .output = hl_ov_output,
      .request_free = hl_ov_request_free,
      .program_free = hl_ov_program_free,
      .model_free = model_free,
      .close = engine_close,
      .option_table = option_table,
      .inspect = inspect,
      .spans = hl_ov_spans,
  };
  return &ops;
}
