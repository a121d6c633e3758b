/*
 * engine-cases - runs many models on one engine in one process, for conformance tests.
 *
 *     engine-cases ENGINE.so [THREADS]
 *
 * Reads cases from standard input and answers each on standard output; numbers are decimal and
 * tensors follow their line as raw bytes. A case:
 *
 *     model PATH
 *     inputs N
 *     input KNOWN DTYPE RANK DIMS...     N times, in the model's order. KNOWN is 1 if the value
 *                                        may be compiled in (hl_program_spec.known)
 *
 * The answer is either `status NAME message`, or
 *
 *     outputs N
 *     output DTYPE RANK DIMS... BYTES    N times
 *
 * A crash ends the process: whoever drives it counts that and starts another one.
 */
#include "base/dtype.h"
#include "base/error.h"
#include <dlfcn.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { max_inputs = 64, max_path = 4096 };

typedef struct test_case {
  char path[max_path];
  size_t input_count;
  hl_tensor_view inputs[max_inputs];
  hl_tensor_view known[max_inputs]; /* data is NULL where the value may not be compiled in */
} test_case;

typedef struct session {
  const hl_engine_ops *ops;
  hl_model *model;
  hl_program *program;
  hl_request *request;
} session;

static const char *status_name(hl_status status) {
  static const char *const names[] = {
#define X(name, text) #name,
    HL_STATUS_MAP(X)
#undef X
  };
  return names[status];
}

static void log_line(const char *engine, const char *line) {
  (void)engine;
  (void)line;
}

static bool read_input(hl_tensor_view *view, hl_tensor_view *known) {
  int is_known, dtype, rank;
  if (scanf(" input %d %d %d", &is_known, &dtype, &rank) != 3 || rank < 0 || rank > HL_MAX_RANK)
    return false;
  *view = (hl_tensor_view){.name = "", .dtype = (hl_dtype)dtype, .rank = rank};
  view->bytes = hl_dtype_bytes(view->dtype);
  for (int d = 0; d < rank; d++) {
    if (scanf("%" SCNd64, &view->dims[d]) != 1) return false;
    view->bytes *= (uint64_t)view->dims[d];
  }
  if (getchar() != '\n') return false;
  view->data = calloc(1, (size_t)view->bytes + 1);
  if (!view->data || fread(view->data, 1, (size_t)view->bytes, stdin) != view->bytes) return false;
  *known = *view;
  if (!is_known) known->data = NULL;
  return true;
}

static bool read_case(test_case *c) {
  memset(c, 0, sizeof *c);
  size_t count;
  if (scanf(" model %4095[^\n]", c->path) != 1 || scanf(" inputs %zu", &count) != 1 ||
      count > max_inputs)
    return false;
  for (size_t i = 0; i < count; i++, c->input_count++)
    if (!read_input(&c->inputs[i], &c->known[i])) return false;
  return true;
}

static hl_status prepare(session *s, const test_case *c, const hl_model_info *info,
                         hl_error *error) {
  hl_port ports[max_inputs];
  if (info->input_count != c->input_count)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "the model has %zu inputs, the case %zu",
                        info->input_count, c->input_count);
  for (size_t i = 0; i < c->input_count; i++) {
    ports[i] = info->inputs[i];
    ports[i].rank = c->inputs[i].rank;
    memcpy(ports[i].dims, c->inputs[i].dims, sizeof ports[i].dims);
  }
  hl_program_spec spec = {.size = sizeof spec,
                          .mode = HL_MODE_INFERENCE,
                          .dtype = HL_FLOAT32,
                          .inputs = ports,
                          .input_count = c->input_count,
                          .known = c->known};
  hl_status status = s->ops->prepare(s->model, &spec, &s->program, error);
  if (status == HL_OK) status = s->ops->request(s->program, &s->request, error);
  for (size_t i = 0; status == HL_OK && i < c->input_count; i++)
    status = s->ops->bind(s->request, i, &c->inputs[i], error);
  return status;
}

/* Collects all outputs before anything is printed, so that an error is an answer of its own. */
static hl_status answer(session *s, const hl_model_info *info, hl_error *error) {
  hl_tensor_view views[max_inputs];
  if (info->output_count > max_inputs)
    return hl_error_set(error, HL_LIMIT, "more than %d outputs", max_inputs);
  for (size_t i = 0; i < info->output_count; i++) {
    hl_status status = s->ops->output(s->request, i, &views[i], error);
    if (status != HL_OK) return status;
  }
  printf("outputs %zu\n", info->output_count);
  for (size_t i = 0; i < info->output_count; i++) {
    printf("output %d %d", (int)views[i].dtype, views[i].rank);
    for (int d = 0; d < views[i].rank; d++) printf(" %" PRId64, views[i].dims[d]);
    printf(" %" PRIu64 "\n", views[i].bytes);
    if (views[i].bytes) fwrite(views[i].data, 1, (size_t)views[i].bytes, stdout);
  }
  return HL_OK;
}

static void run_case(const hl_engine_ops *ops, hl_engine *engine, const test_case *c) {
  session s = {.ops = ops};
  hl_error error = {0};
  hl_model_source source = {.size = sizeof source, .path = c->path};
  hl_model_info info = {.size = sizeof info};
  hl_status status = ops->load(engine, &source, &s.model, &error);
  if (status == HL_OK) status = ops->describe(s.model, &info, &error);
  if (status == HL_OK) status = prepare(&s, c, &info, &error);
  /* Twice, so that a step which spoils its own memory is seen. */
  for (int i = 0; i < 2 && status == HL_OK; i++) {
    status = ops->submit(s.request, &error);
    if (status == HL_OK) status = ops->wait(s.request, &error);
  }
  if (status == HL_OK) status = answer(&s, &info, &error);
  if (status != HL_OK) printf("status %s %s\n", status_name(status), error.msg);
  fflush(stdout);
  if (s.request) ops->request_free(s.request);
  if (s.program) ops->program_free(s.program);
  if (s.model) ops->model_free(s.model);
}

static int serve(const hl_engine_ops *ops, int threads) {
  static const hl_host host = {.abi = HL_ENGINE_ABI, .size = sizeof(hl_host), .log = log_line};
  static test_case c;
  hl_engine_config config = {.size = sizeof config, .threads = threads, .device = "cpu"};
  hl_engine *engine = NULL;
  hl_error error = {0};
  hl_status status = ops->probe(&host, &error);
  if (status == HL_OK) status = ops->open(&host, &config, &engine, &error);
  if (status != HL_OK) {
    fprintf(stderr, "engine-cases: %s\n", error.msg);
    return 2;
  }
  while (read_case(&c)) {
    run_case(ops, engine, &c);
    for (size_t i = 0; i < c.input_count; i++) free(c.inputs[i].data);
  }
  ops->close(engine);
  return 0;
}

int main(int count, char **arguments) {
  void *library = count >= 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  void *symbol = library ? dlsym(library, "hl_engine_entry") : NULL;
  if (!symbol) {
    fprintf(stderr, count < 2 ? "usage: engine-cases ENGINE.so [THREADS]\n" : "%s\n", dlerror());
    return 2;
  }
  setenv("GOMP_SPINCOUNT", "0", 0); /* tiny steps; others want the cores */
  hl_engine_entry_fn entry;
  memcpy(&entry, &symbol, sizeof entry);
  return serve(entry(), count > 2 ? atoi(arguments[2]) : 1);
}
