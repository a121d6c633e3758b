/*
 * engine-run - drives any engine's shared object by the ABI, for tests and benches.
 *
 *   engine-run --engine PATH --model FILE.onnx [--batch N[,N...]] [--threads T]
 *              [--input FILE]... [--output-prefix PREFIX] [--warm W] [--steps S] [--interactive]
 *              [--profile] [--plan] [--option key=value]... [--data-limit BYTES] [--bfloat16]
 *
 * Inputs are raw files, one for each input in the model's order, filled with a pattern where none
 * is given. With several batch sizes the programs share one model; the outputs of batch number k go
 * to PREFIX-k-OUTPUT.raw. Results are printed as lines of `key value`: plan weights arena io flops
 * traffic     memory allocated peak     output I dims... median_ms X     prepare_ms X     status
 * NAME message (exit status 3 + status)
 * --interactive: after the warm-up each line `n` on standard input runs n steps and prints the
 * median of their times in milliseconds, so that two engines can be timed in turns.
 */
#include <dlfcn.h>
#include <hotlap/engine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define MAX_FILES 16

typedef struct arguments {
  const char *engine, *model, *prefix;
  int64_t batches[MAX_FILES];
  int batch_count, threads, warm, steps;
  const char *inputs[MAX_FILES];
  int input_count;
  hl_option options[MAX_FILES];
  size_t option_count;
  long long data_limit;
  int interactive, profile, plan;
  hl_dtype dtype;
} arguments;

static int fail(hl_status status, const hl_error *error) {
  static const char *const names[] = {
#define X(name, text) #name,
    HL_STATUS_MAP(X)
#undef X
  };
  printf("status %s %s\n", names[status], error->msg);
  fflush(stdout);
  return 3 + (int)status;
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static void parse_batches(arguments *a, char *list) {
  for (char *item = strtok(list, ","); item && a->batch_count < MAX_FILES; item = strtok(NULL, ","))
    a->batches[a->batch_count++] = strtoll(item, NULL, 10);
}

static int parse(int argc, char **argv, arguments *a) {
  for (int i = 1; i < argc; i++) {
    const char *key = argv[i];
    if (strcmp(key, "--interactive") == 0)
      a->interactive = 1;
    else if (strcmp(key, "--profile") == 0)
      a->profile = 1;
    else if (strcmp(key, "--plan") == 0)
      a->plan = 1;
    else if (strcmp(key, "--bfloat16") == 0)
      a->dtype = HL_BFLOAT16;
    else if (i + 1 >= argc)
      return 0;
    else if (strcmp(key, "--engine") == 0)
      a->engine = argv[++i];
    else if (strcmp(key, "--model") == 0)
      a->model = argv[++i];
    else if (strcmp(key, "--output-prefix") == 0)
      a->prefix = argv[++i];
    else if (strcmp(key, "--batch") == 0)
      parse_batches(a, argv[++i]);
    else if (strcmp(key, "--threads") == 0)
      a->threads = atoi(argv[++i]);
    else if (strcmp(key, "--warm") == 0)
      a->warm = atoi(argv[++i]);
    else if (strcmp(key, "--steps") == 0)
      a->steps = atoi(argv[++i]);
    else if (strcmp(key, "--data-limit") == 0)
      a->data_limit = atoll(argv[++i]);
    else if (strcmp(key, "--input") == 0 && a->input_count < MAX_FILES)
      a->inputs[a->input_count++] = argv[++i];
    else if (strcmp(key, "--option") == 0 && a->option_count < MAX_FILES) {
      char *text = argv[++i], *equal = strchr(text, '=');
      if (!equal) return 0;
      *equal = 0;
      a->options[a->option_count++] = (hl_option){text, equal + 1};
    } else
      return 0;
  }
  if (a->batch_count == 0) a->batches[a->batch_count++] = 1;
  return a->engine && a->model;
}

static void log_line(const char *engine, const char *line) {
  fprintf(stderr, "%s: %s\n", engine, line);
}

static uint64_t element_bytes(hl_dtype dtype) {
  switch (dtype) {
  case HL_INT64:
  case HL_FLOAT64:
  case HL_UINT64:
    return 8;
  case HL_UINT8:
  case HL_INT8:
  case HL_BOOL:
    return 1;
  case HL_FLOAT16:
  case HL_BFLOAT16:
  case HL_INT16:
  case HL_UINT16:
    return 2;
  default:
    return 4;
  }
}

/* Data of input `i`; the caller frees it. */
static void *read_input(const arguments *a, int i, const hl_port *port, uint64_t bytes) {
  void *data = calloc(1, bytes + 8);
  if (!data) return NULL;
  if (i < a->input_count) {
    FILE *file = fopen(a->inputs[i], "rb");
    size_t got = file ? fread(data, 1, bytes, file) : 0;
    if (file) fclose(file);
    if (got == bytes) return data;
    fprintf(stderr, "%s: %zu bytes, expected %llu\n", a->inputs[i], got, (unsigned long long)bytes);
    free(data);
    return NULL;
  }
  if (port->dtype == HL_FLOAT32)
    for (uint64_t k = 0; k < bytes / 4; k++)
      ((float *)data)[k] = (float)((k * 2654435761u >> 8) % 2001) / 1000.0f - 1.0f;
  return data;
}

typedef struct session {
  const hl_engine_ops *ops;
  hl_model *model;
  hl_program *program;
  hl_request *request;
  void *inputs[MAX_FILES];
} session;

static void session_close(session *s) {
  if (s->request) s->ops->request_free(s->request);
  if (s->program) s->ops->program_free(s->program);
  for (int i = 0; i < MAX_FILES; i++) free(s->inputs[i]);
}

static hl_status session_open(session *s, const arguments *a, const hl_model_info *info,
                              int64_t batch, hl_error *error) {
  hl_port ports[MAX_FILES];
  if (info->input_count > MAX_FILES) return HL_LIMIT;
  for (size_t i = 0; i < info->input_count; i++) {
    ports[i] = info->inputs[i];
    for (int k = 0; k < ports[i].rank; k++)
      if (ports[i].dims[k] < 0) ports[i].dims[k] = batch;
  }
  hl_program_spec spec = {.size = sizeof(spec),
                          .mode = HL_MODE_INFERENCE,
                          .dtype = a->dtype,
                          .inputs = ports,
                          .input_count = info->input_count};
  hl_status status;
  if (a->plan && s->ops->plan) {
    hl_program_plan plan = {.size = sizeof(plan)};
    status = s->ops->plan(s->model, &spec, &plan, error);
    if (status != HL_OK) return status;
    printf("plan %llu %llu %llu %.0f %llu\n", (unsigned long long)plan.weight_bytes,
           (unsigned long long)plan.arena_bytes, (unsigned long long)plan.io_bytes,
           plan.executed_flops, (unsigned long long)plan.traffic_bytes);
  }
  double start = now_ms();
  status = s->ops->prepare(s->model, &spec, &s->program, error);
  if (status == HL_OK) status = s->ops->request(s->program, &s->request, error);
  if (status != HL_OK) return status;
  printf("prepare_ms %.3f\n", now_ms() - start);
  for (size_t i = 0; i < info->input_count; i++) {
    hl_tensor_view view = {.name = ports[i].name, .dtype = ports[i].dtype, .rank = ports[i].rank};
    view.bytes = element_bytes(ports[i].dtype);
    for (int k = 0; k < ports[i].rank; k++) {
      view.dims[k] = ports[i].dims[k];
      view.bytes *= (uint64_t)ports[i].dims[k];
    }
    s->inputs[i] = view.data = read_input(a, (int)i, &ports[i], view.bytes);
    if (!view.data) return HL_IO;
    status = s->ops->bind(s->request, i, &view, error);
    if (status != HL_OK) return status;
  }
  return HL_OK;
}

static hl_status step(session *s, hl_error *error) {
  hl_status status = s->ops->submit(s->request, error);
  return status == HL_OK ? s->ops->wait(s->request, error) : status;
}

static hl_status time_steps(session *s, int steps, hl_error *error) {
  double *times = calloc((size_t)steps + 1, sizeof(*times));
  if (!times) return HL_OUT_OF_MEMORY;
  hl_status status = HL_OK;
  for (int i = 0; i < steps && status == HL_OK; i++) {
    double start = now_ms();
    status = step(s, error);
    times[i] = now_ms() - start;
  }
  qsort(times, (size_t)steps, sizeof(*times), by_value);
  if (steps > 0) printf("median_ms %.4f min_ms %.4f\n", times[steps / 2], times[0]);
  fflush(stdout);
  free(times);
  return status;
}

static void visit(void *context, const char *name, const char *kind, uint64_t duration_ns) {
  (void)context;
  printf("profile %10.3f us  %-24s %s\n", (double)duration_ns / 1e3, kind, name);
}

static hl_status write_outputs(session *s, const arguments *a, const hl_model_info *info, int k,
                               hl_error *error) {
  for (size_t i = 0; i < info->output_count; i++) {
    hl_tensor_view view;
    hl_status status = s->ops->output(s->request, i, &view, error);
    if (status != HL_OK) return status;
    printf("output %zu %d", i, (int)view.dtype);
    for (int d = 0; d < view.rank; d++) printf(" %lld", (long long)view.dims[d]);
    printf("\n");
    if (!a->prefix) continue;
    char path[4096];
    snprintf(path, sizeof(path), "%s-%d-%zu.raw", a->prefix, k, i);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(view.data, 1, view.bytes, file) != view.bytes) status = HL_IO;
    if (file) fclose(file);
    if (status != HL_OK) return status;
  }
  return HL_OK;
}

static hl_status run_batch(session *s, const arguments *a, const hl_model_info *info, int k,
                           hl_error *error) {
  hl_status status = session_open(s, a, info, a->batches[k], error);
  for (int i = 0; i < 1 + a->warm && status == HL_OK; i++) status = step(s, error);
  if (status == HL_OK) status = write_outputs(s, a, info, k, error);
  if (status == HL_OK && a->steps > 0) status = time_steps(s, a->steps, error);
  if (status == HL_OK && a->profile && s->ops->profile) {
    for (int i = 0; i < 3; i++) status = s->ops->profile(s->request, visit, NULL, error);
  }
  char line[64];
  if (a->interactive) printf("ready\n");
  fflush(stdout);
  while (status == HL_OK && a->interactive && fgets(line, sizeof(line), stdin))
    status = time_steps(s, atoi(line), error);
  return status;
}

static int drive(const hl_engine_ops *ops, const arguments *a) {
  static const hl_host host = {.abi = HL_ENGINE_ABI, .size = sizeof(hl_host), .log = log_line};
  hl_error error = {0};
  hl_engine_config config = {.size = sizeof(config),
                             .threads = a->threads,
                             .device = "cpu",
                             .options = a->options,
                             .option_count = a->option_count};
  hl_engine *engine = NULL;
  hl_model *model = NULL;
  hl_status status = ops->probe(&host, &error);
  if (status == HL_OK) status = ops->open(&host, &config, &engine, &error);
  hl_model_source source = {.size = sizeof(source), .path = a->model};
  if (status == HL_OK) status = ops->load(engine, &source, &model, &error);
  hl_model_info info = {.size = sizeof(info)};
  if (status == HL_OK) status = ops->describe(model, &info, &error);
  session sessions[MAX_FILES] = {0};
  if (a->data_limit > 0)
    setrlimit(RLIMIT_DATA, &(struct rlimit){(rlim_t)a->data_limit, (rlim_t)a->data_limit});
  for (int k = 0; k < a->batch_count && status == HL_OK; k++) {
    sessions[k] = (session){.ops = ops, .model = model};
    status = run_batch(&sessions[k], a, &info, k, &error);
    hl_engine_memory memory = {.size = sizeof(memory)};
    if (status == HL_OK && ops->memory && ops->memory(engine, &memory, NULL) == HL_OK)
      printf("memory %llu %llu\n", (unsigned long long)memory.allocated_bytes,
             (unsigned long long)memory.peak_bytes);
  }
  int result = status == HL_OK ? 0 : fail(status, &error);
  for (int k = 0; k < a->batch_count; k++)
    if (sessions[k].ops) session_close(&sessions[k]);
  ops->model_free(model);
  ops->close(engine);
  return result;
}

int main(int argc, char **argv) {
  arguments a = {.threads = 2, .dtype = HL_FLOAT32};
  if (!parse(argc, argv, &a)) {
    fprintf(stderr, "usage: engine-run --engine PATH --model FILE [options]\n");
    return 2;
  }
  if (!getenv("OMP_WAIT_POLICY")) setenv("GOMP_SPINCOUNT", "2000", 0); /* as hotlap's worker does */
  void *library = dlopen(a.engine, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  hl_engine_entry_fn entry;
  void *symbol = dlsym(library, "hl_engine_entry");
  memcpy(&entry, &symbol, sizeof(entry));
  return symbol ? drive(entry(), &a) : 2;
}
