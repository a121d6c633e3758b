/*
 * An engine for tests that runs on "cuda:N" and on cpu. A step takes step_us for each image and
 * goes on by itself after submit, as a GPU's does: it is done when its time has passed. The first
 * value of each image is its output. Option log=FILE: a line "DEVICE prepare N", "DEVICE submit N"
 * or "DEVICE wait N" for each call. Option fail=DEVICE: its steps
 * fail.
 */
#include <hotlap/engine.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct hl_engine {
  char device[32];
  long step_us;
  FILE *log;
  int fails;
};
struct hl_model {
  hl_engine *engine;
};
struct hl_program {
  hl_engine *engine;
  long images;
};
struct hl_request {
  hl_engine *engine;
  long images;
  size_t stride;
  const char *input;
  float *output;
  struct timespec done;
};

static hl_status fail(hl_error *error, hl_status status, const char *message) {
  if (!error) return status;
  error->status = status;
  error->sys_errno = 0;
  snprintf(error->msg, sizeof error->msg, "fake-gpu: %s", message);
  return status;
}

static void say(const hl_engine *engine, const char *what, long images) {
  if (!engine->log) return;
  fprintf(engine->log, "%s %s %ld\n", engine->device, what, images);
  fflush(engine->log);
}

static const char *version(void) {
  return "fake-gpu 1";
}

static hl_status probe(const hl_host *host, hl_error *error) {
  (void)host, (void)error;
  return HL_OK;
}

static void engine_close(hl_engine *engine) {
  if (engine && engine->log) fclose(engine->log);
  free(engine);
}

static hl_status engine_open(const hl_host *host, const hl_engine_config *config,
                             hl_engine **ret_engine, hl_error *error) {
  (void)host;
  hl_engine *engine = calloc(1, sizeof *engine);
  if (!engine) return fail(error, HL_OUT_OF_MEMORY, "no memory");
  snprintf(engine->device, sizeof engine->device, "%s", config->device);
  if (strcmp(config->device, "cpu") != 0 &&
      (strncmp(config->device, "cuda:", 5) != 0 || strchr(config->device, '+'))) {
    free(engine);
    return fail(error, HL_UNAVAILABLE, "no such device");
  }
  for (size_t i = 0; i < config->option_count; i++) {
    if (strcmp(config->options[i].key, "step_us") == 0)
      engine->step_us = atol(config->options[i].value);
    else if (strcmp(config->options[i].key, "log") == 0)
      engine->log = fopen(config->options[i].value, "a");
    else if (strcmp(config->options[i].key, "fail") == 0)
      engine->fails = strcmp(config->options[i].value, engine->device) == 0;
  }
  *ret_engine = engine;
  return HL_OK;
}

static hl_status load(hl_engine *engine, const hl_model_source *source, hl_model **ret_model,
                      hl_error *error) {
  (void)source;
  hl_model *model = calloc(1, sizeof *model);
  if (!model) return fail(error, HL_OUT_OF_MEMORY, "no memory");
  model->engine = engine;
  *ret_model = model;
  return HL_OK;
}

static hl_status describe(hl_model *model, hl_model_info *ret_info, hl_error *error) {
  (void)model, (void)error;
  *ret_info = (hl_model_info){.size = sizeof *ret_info};
  return HL_OK;
}

static hl_status prepare(hl_model *model, const hl_program_spec *spec, hl_program **ret_program,
                         hl_error *error) {
  hl_program *program = calloc(1, sizeof *program);
  if (!program) return fail(error, HL_OUT_OF_MEMORY, "no memory");
  program->engine = model->engine;
  program->images = (long)spec->inputs[0].dims[0];
  say(model->engine, "prepare", program->images);
  *ret_program = program;
  return HL_OK;
}

static hl_status request(hl_program *program, hl_request **ret_request, hl_error *error) {
  hl_request *r = calloc(1, sizeof *r);
  float *output = calloc((size_t)program->images, sizeof *output);
  if (!r || !output) {
    free(r);
    free(output);
    return fail(error, HL_OUT_OF_MEMORY, "no memory");
  }
  r->engine = program->engine;
  r->images = program->images;
  r->output = output;
  *ret_request = r;
  return HL_OK;
}

static hl_status bind(hl_request *r, size_t input, const hl_tensor_view *view, hl_error *error) {
  if (view->dims[0] != r->images) return fail(error, HL_INVALID_ARGUMENT, "another batch");
  if (input > 0) return HL_OK;
  r->input = view->data;
  r->stride = (size_t)(view->bytes / (uint64_t)r->images);
  return HL_OK;
}

static hl_status submit(hl_request *r, hl_error *error) {
  if (r->engine->fails) return fail(error, HL_INTERNAL, "the GPU has fallen off the bus");
  clock_gettime(CLOCK_MONOTONIC, &r->done);
  r->done.tv_nsec += r->engine->step_us * 1000 * r->images;
  r->done.tv_sec += r->done.tv_nsec / 1000000000;
  r->done.tv_nsec %= 1000000000;
  say(r->engine, "submit", r->images);
  return HL_OK;
}

static hl_status wait_for(hl_request *r, hl_error *error) {
  (void)error;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &r->done, NULL) != 0) {
  }
  for (long i = 0; i < r->images; i++)
    memcpy(&r->output[i], r->input + (size_t)i * r->stride, sizeof *r->output);
  say(r->engine, "wait", r->images);
  return HL_OK;
}

static hl_status output(hl_request *r, size_t index, hl_tensor_view *ret_view, hl_error *error) {
  if (index > 0) return fail(error, HL_INVALID_ARGUMENT, "one output only");
  *ret_view = (hl_tensor_view){.name = "first",
                               .dtype = HL_FLOAT32,
                               .rank = 2,
                               .dims = {r->images, 1},
                               .data = r->output,
                               .bytes = (uint64_t)r->images * sizeof *r->output};
  return HL_OK;
}

static hl_status memory(hl_engine *engine, hl_engine_memory *ret_memory, hl_error *error) {
  (void)engine, (void)error;
  hl_engine_memory m = {.size = ret_memory->size, .device_peak_bytes = 123000000};
  memcpy(ret_memory, &m, ret_memory->size < sizeof m ? ret_memory->size : sizeof m);
  return HL_OK;
}

static hl_status stream(hl_request *r, void **ret_stream, hl_error *error) {
  if (strcmp(r->engine->device, "cpu") == 0) return fail(error, HL_UNAVAILABLE, "no stream");
  *ret_stream = r->engine;
  return HL_OK;
}

static void request_free(hl_request *r) {
  if (r) free(r->output);
  free(r);
}

static void program_free(hl_program *program) {
  free(program);
}

static void model_free(hl_model *model) {
  free(model);
}

__attribute__((visibility("default"))) const hl_engine_ops *hl_engine_entry(void);

const hl_engine_ops *hl_engine_entry(void) {
  static const hl_engine_ops ops = {
      .abi = HL_ENGINE_ABI,
      .size = sizeof ops,
      .name = "fake-gpu",
      .version = version,
      .probe = probe,
      .open = engine_open,
      .load = load,
      .describe = describe,
      .prepare = prepare,
      .request = request,
      .bind = bind,
      .submit = submit,
      .wait = wait_for,
      .output = output,
      .request_free = request_free,
      .program_free = program_free,
      .model_free = model_free,
      .close = engine_close,
      .memory = memory,
      .stream = stream,
  };
  return &ops;
}
