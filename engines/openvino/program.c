/*
 * Programs: a graph with fixed shapes, compiled.
 *
 * With the throughput hint OpenVINO keeps several streams of few threads each, which only several
 * infer requests in flight use. So a batch is then cut into equal parts, one request each. Parts
 * are of whole inputs, so only a model whose inputs and outputs all count the batch in their first
 * dimension is cut; another runs as one part.
 */
#include "openvino.h"

#include "common/fail.h"
#include "common/port.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_pairs = 8 };

typedef struct settings {
  const char *words[2 * most_pairs]; /* key and value in turns */
  size_t count;
} settings;

static void add(settings *s, const char *key, const char *value) {
  if (s->count + 2 > 2 * most_pairs) return;
  s->words[s->count++] = key;
  s->words[s->count++] = value;
}

static const char *precision_name(hl_dtype dtype) {
  return dtype == HL_FLOAT32 || dtype == HL_INT8 ? "f32" /* of what is not 8 bits in the file */
         : dtype == HL_BFLOAT16                  ? "bf16"
         : dtype == HL_FLOAT16                   ? "f16"
                                                 : NULL;
}

static hl_status compile(hl_program *program, const settings *s, hl_error *error) {
  const hl_model *model = program->model;
  const hl_engine *engine = model->engine;
  const char *const *w = s->words; /* words beyond the count are not looked at */
  return hl_ov_check(engine,
                     engine->api->core_compile_model(engine->core, model->model, engine->device,
                                                     s->count, &program->compiled, w[0], w[1], w[2],
                                                     w[3], w[4], w[5], w[6], w[7], w[8], w[9],
                                                     w[10], w[11], w[12], w[13], w[14], w[15]),
                     "compiling the model", error);
}

/* Gives the model the program's shapes, with `1 / parts` of each first dimension. */
static hl_status reshape(const hl_program *program, size_t parts, hl_error *error) {
  const hl_model *model = program->model;
  static const char what[] = "shaping the model";
  hl_ov_dimension dims[HL_OV_MAX_PORTS][HL_MAX_RANK];
  hl_ov_partial_shape shapes[HL_OV_MAX_PORTS];
  const char *names[HL_OV_MAX_PORTS];
  for (size_t i = 0; i < program->input_count; i++) {
    const hl_port *port = &program->inputs[i];
    for (int32_t axis = 0; axis < port->rank; axis++) {
      int64_t size = port->dims[axis] / (axis == 0 ? (int64_t)parts : 1);
      dims[i][axis] = (hl_ov_dimension){size, size};
    }
    shapes[i] = (hl_ov_partial_shape){{port->rank, port->rank}, dims[i]};
    names[i] = port->name;
  }
  return hl_ov_check(
      model->engine,
      model->engine->api->model_reshape(model->model, names, shapes, program->input_count), what,
      error);
}

/* Property `key` of the compiled model in `ret_value`; empty if it has none. */
static void property(const hl_program *program, const char *key, char *ret_value, size_t capacity) {
  const hl_ov_api *api = program->model->engine->api;
  char *value = NULL;
  ret_value[0] = '\0';
  if (api->compiled_model_get_property(program->compiled, key, &value) != HL_OV_OK || !value)
    return;
  snprintf(ret_value, capacity, "%s", value);
  api->free(value);
}

/* A processor without the type's instructions is given another type without a word. */
static hl_status check_precision(const hl_program *program, const char *asked, hl_error *error) {
  char used[32];
  property(program, "INFERENCE_PRECISION_HINT", used, sizeof used);
  if (strcmp(used, asked) == 0) return HL_OK;
  return hl_engine_fail(error, HL_UNIMPLEMENTED,
                        "openvino: asked for %s on %s, it would compute in %s", asked,
                        program->model->engine->device, used[0] ? used : "a type it does not name");
}

static hl_status build(hl_program *program, size_t parts, const settings *s, hl_error *error) {
  const hl_ov_api *api = program->model->engine->api;
  if (program->compiled) api->compiled_model_free(program->compiled);
  program->compiled = NULL;
  program->parts = parts;
  hl_status status = reshape(program, parts, error);
  return status == HL_OK ? compile(program, s, error) : status;
}

static size_t largest_divisor(int64_t batch, size_t most) {
  if (most > HL_OV_MAX_PARTS) most = HL_OV_MAX_PARTS;
  for (size_t parts = most; parts > 1; parts--)
    if (batch % (int64_t)parts == 0) return parts;
  return 1;
}

/* The batch that all inputs share; 1 where they share none. */
static int64_t common_batch(const hl_program *program) {
  for (size_t i = 0; i < program->input_count; i++)
    if (program->inputs[i].rank < 1 || program->inputs[i].dims[0] != program->inputs[0].dims[0])
      return 1;
  return program->input_count ? program->inputs[0].dims[0] : 1;
}

static bool outputs_count(const hl_program *program, int64_t images) {
  const hl_model *model = program->model;
  const hl_ov_api *api = model->engine->api;
  bool all = true;
  for (size_t i = 0; i < model->output_count && all; i++) {
    hl_ov_port *port = NULL;
    hl_port shape = {0};
    all = api->compiled_model_output_by_index(program->compiled, i, &port) == HL_OV_OK &&
          hl_ov_read_port(model->engine, port, "an output", &shape, NULL) == HL_OK &&
          shape.rank > 0 && shape.dims[0] == images;
    for (int32_t axis = 1; axis < shape.rank; axis++) all &= shape.dims[axis] >= 0;
    if (port) api->output_const_port_free(port);
  }
  return all;
}

/* Compiles, in as many parts as OpenVINO wants requests. How many that is, only a compiled model
 * says; it is at most one a thread. */
static hl_status build_parts(hl_program *program, const settings *s, hl_error *error) {
  const hl_engine *engine = program->model->engine;
  int64_t batch = common_batch(program);
  size_t parts =
      engine->hint == HL_OV_THROUGHPUT ? largest_divisor(batch, (size_t)engine->threads) : 1;
  hl_status status = build(program, parts, s, error);
  if (status != HL_OK || parts == 1) return status;
  char wanted[32];
  property(program, "OPTIMAL_NUMBER_OF_INFER_REQUESTS", wanted, sizeof wanted);
  size_t requests = (size_t)strtoul(wanted, NULL, 10);
  size_t fitting = outputs_count(program, batch / (int64_t)parts)
                       ? largest_divisor(batch, requests < parts ? requests : parts)
                       : 1;
  return fitting == parts ? HL_OK : build(program, fitting, s, error);
}

/* More threads than cores are cut down without a word. */
static void tell_threads(const hl_program *program) {
  const hl_engine *engine = program->model->engine;
  char used[32];
  property(program, "INFERENCE_NUM_THREADS", used, sizeof used);
  if (used[0] && strtol(used, NULL, 10) != engine->threads)
    hl_engine_note(engine->host, "openvino", "OpenVINO computes with %s thread(s), not %d", used,
                   (int)engine->threads);
}

static hl_status compile_for(hl_program *program, hl_dtype dtype, hl_error *error) {
  const hl_engine *engine = program->model->engine;
  const char *precision = precision_name(dtype);
  if (!precision)
    return hl_engine_fail(error, HL_UNIMPLEMENTED,
                          "openvino: it computes in float32, bfloat16 or float16");
  char threads[16];
  snprintf(threads, sizeof threads, "%d", (int)engine->threads);
  settings s = {0};
  add(&s, "PERFORMANCE_HINT", engine->hint == HL_OV_LATENCY ? "LATENCY" : "THROUGHPUT");
  add(&s, "INFERENCE_PRECISION_HINT", precision);
  if (strcmp(engine->device, "CPU") == 0) {
    add(&s, "INFERENCE_NUM_THREADS", threads);
    /* Else activations beside compressed weights would be quantised to eight bits. */
    if (dtype == HL_FLOAT32) add(&s, "DYNAMIC_QUANTIZATION_GROUP_SIZE", "0");
    if (engine->pinning) add(&s, "ENABLE_CPU_PINNING", engine->pinning);
  }
  if (program->counts) add(&s, "PERF_COUNT", "YES");
  hl_status status = build_parts(program, &s, error);
  if (program->counts) return status; /* the rest has been said of the program without */
  if (status == HL_OK && strcmp(engine->device, "CPU") == 0) tell_threads(program);
  if (status == HL_OK && engine->hint == HL_OV_THROUGHPUT)
    hl_engine_note(engine->host, "openvino", "%zu infer requests of %lld inputs in flight",
                   program->parts, (long long)common_batch(program) / (long long)program->parts);
  return status == HL_OK ? check_precision(program, precision, error) : status;
}

static hl_status take_specification(hl_program *program, const hl_program_spec *spec,
                                    hl_error *error) {
  const hl_model *model = program->model;
  if (spec->input_count != model->input_count)
    return hl_engine_fail(error, HL_INVALID_ARGUMENT, "openvino: the model has %zu inputs, not %zu",
                          model->input_count, spec->input_count);
  for (size_t i = 0; i < spec->input_count; i++) {
    hl_port *port = &program->inputs[i];
    *port = spec->inputs[i];
    hl_status status = hl_engine_port_bytes("openvino", port, &program->input_bytes[i], error);
    if (status != HL_OK) return status;
    port->name = strdup(port->name);
    if (!port->name) return hl_engine_fail(error, HL_OUT_OF_MEMORY, "openvino: no memory");
    program->input_count++;
  }
  return HL_OK;
}

static hl_status find_ports(hl_program *program, hl_error *error) {
  const hl_engine *engine = program->model->engine;
  hl_status status = HL_OK;
  for (size_t i = 0; i < program->input_count && status == HL_OK; i++)
    status = hl_ov_check(engine,
                         engine->api->compiled_model_input_by_name(
                             program->compiled, program->inputs[i].name, &program->ports[i]),
                         program->inputs[i].name, error);
  return status;
}

void hl_ov_program_free(hl_program *program) {
  if (!program) return;
  const hl_ov_api *api = program->model->engine->api;
  for (size_t i = 0; i < program->input_count; i++) {
    if (program->ports[i]) api->output_const_port_free(program->ports[i]);
    free((char *)(uintptr_t)program->inputs[i].name);
  }
  if (program->compiled) api->compiled_model_free(program->compiled);
  free(program);
}

static hl_status prepare(hl_model *model, const hl_program_spec *spec, bool counts,
                         hl_program **ret_program, hl_error *error) {
  hl_program *program = calloc(1, sizeof *program);
  if (!program) return hl_engine_fail(error, HL_OUT_OF_MEMORY, "openvino: no memory");
  program->model = model;
  program->dtype = spec->dtype;
  program->counts = counts;
  hl_status status = take_specification(program, spec, error);
  if (status == HL_OK) status = compile_for(program, spec->dtype, error);
  if (status == HL_OK) status = find_ports(program, error);
  if (status != HL_OK) {
    hl_ov_program_free(program);
    return status;
  }
  *ret_program = program;
  return HL_OK;
}

hl_status hl_ov_prepare(hl_model *model, const hl_program_spec *spec, hl_program **ret_program,
                        hl_error *error) {
  if (spec->mode != HL_MODE_INFERENCE)
    return hl_engine_fail(error, HL_UNIMPLEMENTED, "openvino: this engine does not train");
  return prepare(model, spec, false, ret_program, error);
}

hl_status hl_ov_counting(const hl_program *program, hl_program **ret_program, hl_error *error) {
  const hl_program_spec spec = {.size = sizeof spec,
                                .mode = HL_MODE_INFERENCE,
                                .dtype = program->dtype,
                                .inputs = program->inputs,
                                .input_count = program->input_count};
  return prepare(program->model, &spec, true, ret_program, error);
}
