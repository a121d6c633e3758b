#include "null/null.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What a step does: slow-downs of known size. */
typedef struct busy {
  uint64_t spin_ns; /* until so much time is over: exact whatever the machine does meanwhile */
  uint64_t work;    /* so many rounds of arithmetic: as slow as the machine makes it */
} busy;

struct hl_engine {
  busy busy;
};
struct hl_model {
  hl_engine *engine;
};
struct hl_program {
  busy busy;
};
struct hl_request {
  busy busy;
  uint64_t sum; /* of the work, so that it is not optimised away */
};

static hl_status fail(hl_error *error, hl_status status, const char *message) {
  if (!error) return status;
  error->status = status;
  error->sys_errno = 0;
  strncpy(error->msg, message, sizeof error->msg - 1);
  error->msg[sizeof error->msg - 1] = '\0';
  return status;
}

static const char *null_version(void) {
  return "null 1";
}

static hl_status null_probe(const hl_host *host, hl_error *error) {
  (void)host;
  (void)error;
  return HL_OK;
}

static hl_status null_open(const hl_host *host, const hl_engine_config *config,
                           hl_engine **ret_engine, hl_error *error) {
  (void)host;
  busy todo = {0};
  for (size_t i = 0; i < config->option_count; i++) {
    char *end = NULL;
    const char *key = config->options[i].key, *value = config->options[i].value;
    bool spin = strcmp(key, "spin_ns") == 0;
    if (!spin && strcmp(key, "work") != 0)
      return fail(error, HL_INVALID_ARGUMENT,
                  "null: unknown engine option; it has spin_ns=N and work=N");
    errno = 0;
    uint64_t number = strtoull(value, &end, 10);
    if (errno || value[0] < '0' || value[0] > '9' || *end != '\0')
      return fail(error, HL_INVALID_ARGUMENT,
                  spin ? "null: spin_ns is no whole number below 2^64"
                       : "null: work is no whole number below 2^64");
    *(spin ? &todo.spin_ns : &todo.work) = number;
  }
  hl_engine *engine = calloc(1, sizeof *engine);
  if (!engine) return fail(error, HL_OUT_OF_MEMORY, "null: no memory");
  engine->busy = todo;
  *ret_engine = engine;
  return HL_OK;
}

static hl_status null_load(hl_engine *engine, const hl_model_source *source, hl_model **ret_model,
                           hl_error *error) {
  (void)source;
  hl_model *model = calloc(1, sizeof *model);
  if (!model) return fail(error, HL_OUT_OF_MEMORY, "null: no memory");
  model->engine = engine;
  *ret_model = model;
  return HL_OK;
}

static hl_status null_describe(hl_model *model, hl_model_info *ret_info, hl_error *error) {
  (void)model;
  (void)error;
  *ret_info = (hl_model_info){.size = sizeof *ret_info};
  return HL_OK;
}

static hl_status null_prepare(hl_model *model, const hl_program_spec *spec,
                              hl_program **ret_program, hl_error *error) {
  (void)spec;
  hl_program *program = calloc(1, sizeof *program);
  if (!program) return fail(error, HL_OUT_OF_MEMORY, "null: no memory");
  program->busy = model->engine->busy;
  *ret_program = program;
  return HL_OK;
}

static hl_status null_request(hl_program *program, hl_request **ret_request, hl_error *error) {
  hl_request *request = calloc(1, sizeof *request);
  if (!request) return fail(error, HL_OUT_OF_MEMORY, "null: no memory");
  request->busy = program->busy;
  *ret_request = request;
  return HL_OK;
}

static hl_status null_bind(hl_request *request, size_t input, const hl_tensor_view *view,
                           hl_error *error) {
  (void)request;
  (void)input;
  (void)view;
  (void)error;
  return HL_OK;
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Each round waits for the one before, so that its time is the latency of a product and a sum. */
static uint64_t work(uint64_t rounds, uint64_t sum) {
  for (uint64_t i = 0; i < rounds; i++) sum = sum * 6364136223846793005u + i;
  return sum;
}

static hl_status null_submit(hl_request *request, hl_error *error) {
  (void)error;
  request->sum = work(request->busy.work, request->sum);
  if (request->busy.spin_ns == 0) return HL_OK;
  uint64_t start = now_ns();
  while (now_ns() - start < request->busy.spin_ns) {
  }
  return HL_OK;
}

static hl_status null_wait(hl_request *request, hl_error *error) {
  (void)request;
  (void)error;
  return HL_OK;
}

static hl_status null_output(hl_request *request, size_t output, hl_tensor_view *ret_view,
                             hl_error *error) {
  (void)request;
  (void)output;
  (void)ret_view;
  return fail(error, HL_UNIMPLEMENTED, "null: it computes nothing, so there is no output");
}

static void null_request_free(hl_request *request) {
  free(request);
}
static void null_program_free(hl_program *program) {
  free(program);
}
static void null_model_free(hl_model *model) {
  free(model);
}
static void null_close(hl_engine *engine) {
  free(engine);
}

const hl_engine_ops *hl_engine_null(void) {
  static const hl_option_info options[] = {
      {"spin_ns", "N", "nanoseconds that a step is busy"},
      {"work", "N", "rounds of arithmetic in a step, as slow as the machine makes them"},
      {NULL, NULL, NULL}};
  static const hl_engine_ops ops = {
      .abi = HL_ENGINE_ABI,
      .size = sizeof(hl_engine_ops),
      .name = "null",
      .version = null_version,
      .probe = null_probe,
      .open = null_open,
      .load = null_load,
      .describe = null_describe,
      .prepare = null_prepare,
      .request = null_request,
      .bind = null_bind,
      .submit = null_submit,
      .wait = null_wait,
      .output = null_output,
      .request_free = null_request_free,
      .program_free = null_program_free,
      .model_free = null_model_free,
      .close = null_close,
      .option_table = options,
  };
  return &ops;
}
