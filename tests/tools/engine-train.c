/*
 * Trains a network by an engine's shared object, through the ABI; otherwise as graph-train.
 *
 *     engine-train ENGINE.so MODEL.onnx DIR STEPS RATE KEY=VALUE...
 *
 * Further keys: threads=N; time=1 prints the time of each step and of its phases, and the engine's
 * memory, on standard error; profile=1 the operators of one more step; bfloat16=1
 * computes in it; disable=LIST is an option of the native engine. interactive=1: afterwards
 * each line `n` on standard input runs n steps and prints "median_ms X loss Y", so that two
 * programs can be timed in turns; at the end "peak_mb Z".
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "training-spec.h"
#include <dlfcn.h>
#include <stdio.h>

enum { MAX_INPUTS = 16 };

typedef struct run {
  const hl_engine_ops *ops;
  hl_engine *engine;
  hl_model *model;
  hl_program *program;
  hl_request *request;
  const char *folder;
  int threads;
  bool time, profile, interactive, bfloat16;
  hl_option disable;
  void *data[MAX_INPUTS];
} run;

static void log_line(const char *engine, const char *line) {
  fprintf(stderr, "%s: %s\n", engine, line);
}

/* Shapes of the inputs, a line each. */
static hl_status read_ports(const run *r, const hl_model_info *info, hl_port *ports,
                            hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/shapes.txt", r->folder);
  HL_CLEANUP(hl_free_pointer) char *text = NULL;
  hl_status status = hl_file_read(path, 1 << 16, &text, NULL, error);
  char *line = text;
  for (size_t i = 0; status == HL_OK && i < info->input_count; i++) {
    ports[i] = info->inputs[i];
    for (int32_t k = 0; k < ports[i].rank; k++) ports[i].dims[k] = strtoll(line, &line, 10);
  }
  return status;
}

static hl_status bind_file(run *r, size_t input, hl_dtype dtype, int32_t rank, const int64_t *dims,
                           const char *what, size_t number, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/%s-%zu.bin", r->folder, what, number);
  char *data = NULL;
  size_t bytes = 0;
  hl_status status = hl_file_read(path, (size_t)1 << 30, &data, &bytes, error);
  if (status != HL_OK) return status;
  r->data[input] = data;
  hl_tensor_view view = {.dtype = dtype, .rank = rank, .data = data, .bytes = bytes};
  for (int32_t k = 0; k < rank; k++) view.dims[k] = dims[k];
  return r->ops->bind(r->request, input, &view, error);
}

static void show_times(const run *r, uint64_t ns) {
  uint64_t phases[HL_PHASE_COUNT] = {0};
  hl_error error;
  if (r->ops->phases && r->ops->phases(r->request, phases, &error) == HL_OK)
    fprintf(stderr, "step %.3f ms: forward %.3f loss %.3f backward %.3f optimizer %.3f\n",
            (double)ns / 1e6, (double)phases[0] / 1e6, (double)phases[1] / 1e6,
            (double)phases[2] / 1e6, (double)phases[3] / 1e6);
}

static void show_operator(void *context, const char *name, const char *kind, uint64_t ns) {
  (void)context;
  fprintf(stderr, "profile %10.3f us  %-24s %s\n", (double)ns / 1e3, kind, name);
}

/* Of this program alone: getrusage counts what the process was before it, too. */
static double peak_resident_mb(void) {
  FILE *file = fopen("/proc/self/status", "r");
  char line[256];
  long kilobytes = 0;
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "VmHWM: %ld kB", &kilobytes) == 1) break;
  if (file) fclose(file);
  return (double)kilobytes * 1024 / 1e6;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* Times as many steps as each line says. */
static hl_status serve(run *r, int64_t *number, hl_error *error) {
  char line[64];
  hl_status status = HL_OK;
  printf("ready\n");
  fflush(stdout);
  while (status == HL_OK && fgets(line, sizeof line, stdin)) {
    double ms[256] = {0};
    int count = atoi(line);
    if (count < 1 || count > 256) break;
    hl_tensor_view loss = {0};
    for (int i = 0; i < count && status == HL_OK; i++) {
      uint64_t start = hl_clock_ns();
      ++*number;
      status = r->ops->submit(r->request, error);
      if (status == HL_OK) status = r->ops->wait(r->request, error);
      ms[i] = (double)(hl_clock_ns() - start) / 1e6;
    }
    if (status == HL_OK) status = r->ops->output(r->request, 0, &loss, error);
    if (status != HL_OK) break;
    qsort(ms, (size_t)count, sizeof *ms, by_value);
    double median = (ms[(count - 1) / 2] + ms[count / 2]) / 2;
    printf("median_ms %.4f loss %.6g\n", median, (double)*(float *)loss.data);
    fflush(stdout);
  }
  printf("peak_mb %.1f\n", peak_resident_mb());
  return status;
}

static hl_status steps(run *r, size_t inputs, int64_t count, float rate, size_t outputs,
                       hl_error *error) {
  int64_t number = 0;
  hl_tensor_view of_rate = {.dtype = HL_FLOAT32, .data = &rate, .bytes = sizeof rate};
  hl_tensor_view of_step = {.dtype = HL_INT64, .data = &number, .bytes = sizeof number};
  hl_status status = r->ops->bind(r->request, inputs, &of_rate, error);
  if (status == HL_OK) status = r->ops->bind(r->request, inputs + 1, &of_step, error);
  while (status == HL_OK && number < count) {
    number++;
    uint64_t start = hl_clock_ns();
    status = r->ops->submit(r->request, error);
    if (status == HL_OK) status = r->ops->wait(r->request, error);
    if (r->time && status == HL_OK) show_times(r, hl_clock_ns() - start);
    for (size_t i = 0; i < outputs && status == HL_OK; i++) {
      hl_tensor_view view;
      status = r->ops->output(r->request, i, &view, error);
      if (status == HL_OK)
        printf("%.9g%c", (double)*(float *)view.data, i + 1 < outputs ? ' ' : '\n');
    }
  }
  if (r->interactive && status == HL_OK) status = serve(r, &number, error);
  if (r->profile && status == HL_OK)
    status = r->ops->profile(r->request, show_operator, NULL, error);
  return status;
}

static hl_status write_states(run *r, hl_error *error) {
  const hl_port *states = NULL;
  size_t count = 0;
  hl_status status = r->ops->states(r->program, &states, &count, error);
  for (size_t i = 0; i < count && status == HL_OK; i++) {
    hl_tensor_view view;
    status = r->ops->state_read(r->program, states[i].name, &view, error);
    if (status != HL_OK) return status;
    HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/state-%zu.bin", r->folder, i);
    status = hl_file_write(path, view.data, (size_t)view.bytes, error);
    printf("%s\n", states[i].name);
  }
  return status;
}

static hl_status open_model(run *r, const char *path, hl_error *error) {
  static const hl_host host = {.abi = HL_ENGINE_ABI, .size = sizeof(hl_host), .log = log_line};
  hl_engine_config config = {.size = sizeof config,
                             .threads = r->threads,
                             .device = "cpu",
                             .options = &r->disable,
                             .option_count = r->disable.key ? 1 : 0};
  hl_model_source source = {.size = sizeof source, .path = path};
  hl_status status = r->ops->probe(&host, error);
  if (status == HL_OK) status = r->ops->open(&host, &config, &r->engine, error);
  return status == HL_OK ? r->ops->load(r->engine, &source, &r->model, error) : status;
}

/* Targets have the shapes that the file `targets.txt` says, as inputs theirs. */
static hl_status bind_targets(run *r, const hl_model_info *info, const hl_training_spec *spec,
                              hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/targets.txt", r->folder);
  HL_CLEANUP(hl_free_pointer) char *text = NULL;
  hl_status status = hl_file_read(path, 1 << 16, &text, NULL, error);
  char *line = text;
  for (size_t i = 0; status == HL_OK && i < info->output_count; i++) {
    int64_t dims[HL_MAX_RANK] = {0};
    int32_t rank = 0;
    while (line && *line && *line != '\n' && rank < HL_MAX_RANK)
      dims[rank++] = strtoll(line, &line, 10);
    if (line && *line == '\n') line++;
    hl_dtype dtype = spec->loss == HL_LOSS_CROSS_ENTROPY ? HL_INT64 : HL_FLOAT32;
    status = bind_file(r, info->input_count + i, dtype, rank, dims, "target", i, error);
  }
  return status;
}

static hl_status train(run *r, const hl_training_spec *spec, int64_t count, float rate,
                       hl_error *error) {
  hl_model_info info = {.size = sizeof info};
  hl_port ports[MAX_INPUTS];
  hl_status status = r->ops->describe(r->model, &info, error);
  if (status == HL_OK && info.input_count + info.output_count + 2 > MAX_INPUTS)
    status = hl_error_set(error, HL_LIMIT, "more than %d inputs", MAX_INPUTS);
  if (status == HL_OK) status = read_ports(r, &info, ports, error);
  hl_program_spec program = {.size = sizeof program,
                             .mode = HL_MODE_TRAINING,
                             .dtype = r->bfloat16 ? HL_BFLOAT16 : HL_FLOAT32,
                             .inputs = ports,
                             .input_count = info.input_count,
                             .training = spec};
  if (status == HL_OK) status = r->ops->prepare(r->model, &program, &r->program, error);
  if (status == HL_OK) status = r->ops->request(r->program, &r->request, error);
  for (size_t i = 0; i < info.input_count && status == HL_OK; i++)
    status = bind_file(r, i, ports[i].dtype, ports[i].rank, ports[i].dims, "input", i, error);
  if (status == HL_OK) status = bind_targets(r, &info, spec, error);
  if (status == HL_OK)
    status = steps(r, info.input_count + info.output_count, count, rate,
                   spec->clip_norm > 0 ? 2 : 1, error);
  return status == HL_OK ? write_states(r, error) : status;
}

static void release(run *r) {
  r->ops->request_free(r->request);
  r->ops->program_free(r->program);
  r->ops->model_free(r->model);
  r->ops->close(r->engine);
  for (size_t i = 0; i < MAX_INPUTS; i++) free(r->data[i]);
}

static void show_memory(const run *r) {
  hl_engine_memory memory = {.size = sizeof memory};
  hl_error error;
  if (r->ops->memory && r->ops->memory(r->engine, &memory, &error) == HL_OK)
    fprintf(stderr, "memory: engine %.1f MB, peak resident %.1f MB\n",
            (double)memory.peak_bytes / 1e6, peak_resident_mb());
}

static bool set(run *r, hl_training_spec *spec, const char *word) {
  if (strncmp(word, "threads=", 8) == 0) return r->threads = atoi(word + 8), r->threads > 0;
  if (strcmp(word, "time=1") == 0) return r->time = true;
  if (strcmp(word, "interactive=1") == 0) return r->interactive = true;
  if (strcmp(word, "bfloat16=1") == 0) return r->bfloat16 = true;
  if (strncmp(word, "disable=", 8) == 0) {
    r->disable = (hl_option){.key = "disable", .value = word + 8};
    return true;
  }
  if (strcmp(word, "profile=1") == 0) return r->profile = true;
  return training_spec_set(spec, word);
}

int main(int count, char **arguments) {
  hl_training_spec spec = {.size = sizeof spec, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
  run r = {.threads = 2};
  bool ok = count >= 6;
  for (int i = 6; i < count && ok; i++) ok = set(&r, &spec, arguments[i]);
  if (!ok) {
    fprintf(stderr, "usage: engine-train ENGINE MODEL DIR STEPS RATE KEY=VALUE...\n");
    return 2;
  }
  if (!getenv("OMP_WAIT_POLICY")) setenv("GOMP_SPINCOUNT", "2000", 0); /* as hotlap's worker does */
  void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  void *symbol = library ? dlsym(library, "hl_engine_entry") : NULL;
  hl_engine_entry_fn entry;
  memcpy(&entry, &symbol, sizeof entry);
  if (!symbol) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  r.ops = entry();
  r.folder = arguments[3];
  hl_error error = {0};
  hl_status status = open_model(&r, arguments[2], &error);
  if (status == HL_OK)
    status = train(&r, &spec, strtoll(arguments[4], NULL, 10), strtof(arguments[5], NULL), &error);
  if (r.time) show_memory(&r);
  release(&r);
  if (status == HL_OK) return 0;
  fprintf(stderr, "engine-train: %s: %s\n", hl_status_name(status), error.msg);
  return 1;
}
