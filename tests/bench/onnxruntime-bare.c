/*
 * onnxruntime-bare - a bare loop on ONNX Runtime's C interface, for tests/bench/onnxruntime-bare.
 *
 *   onnxruntime-bare LIBRARY MODEL.onnx BATCH THREADS run|binding
 *
 * One input and its outputs, the settings that ONNX Runtime recommends, nothing of hotlap's but the
 * declarations. `run` calls Run with outputs that are used again; `binding` RunWithBinding. Two
 * steps are run before it is ready.
 */
#include "bare-loop.h"
#include "onnxruntime/api.h"
#include <dlfcn.h>

enum { MAX_OUTPUTS = 16, FLOAT32 = 1, RUN_PLACE = 9 };

typedef hl_ort_status *(*run_function)(hl_ort_session *, const void *options,
                                       const char *const *input_names,
                                       const hl_ort_value *const *inputs, size_t input_count,
                                       const char *const *output_names, size_t output_count,
                                       hl_ort_value **outputs);

static hl_ort_api api;
static run_function run;
static hl_ort_session *session;
static hl_ort_allocator *allocator;
static hl_ort_binding *binding; /* NULL: Run */
static hl_ort_value *input, *outputs[MAX_OUTPUTS];
static char *input_name, *output_names[MAX_OUTPUTS];
static size_t output_count;

static void check(hl_ort_status *failed) {
  if (!failed) return;
  fprintf(stderr, "onnxruntime-bare: %s\n", api.GetErrorMessage(failed));
  exit(1);
}

static void quiet(void *context, int severity, const char *category, const char *id,
                  const char *place, const char *message) {
  (void)context, (void)severity, (void)category, (void)id, (void)place, (void)message;
}

static void open_library(const char *path) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *symbol = handle ? dlsym(handle, "OrtGetApiBase") : NULL;
  if (!symbol) {
    fprintf(stderr, "onnxruntime-bare: %s\n", dlerror());
    exit(1);
  }
  const hl_ort_base *(*get_base)(void);
  memcpy(&get_base, &symbol, sizeof get_base);
  const char *table = get_base()->GetApi(HL_ORT_API_VERSION);
  if (!table) exit(1);
#define X(place, result, name, arguments)                                                          \
  memcpy(&api.name, table + (size_t)(place) * sizeof(void *), sizeof(void *));
  HL_ORT_MAP(X)
#undef X
  memcpy(&run, table + RUN_PLACE * sizeof(void *), sizeof run);
}

static void open_session(const char *model, int threads) {
  hl_ort_env *env;
  hl_ort_session_options *options;
  check(api.CreateEnvWithCustomLogger(quiet, NULL, HL_ORT_WARNING, "bare", &env));
  check(api.CreateSessionOptions(&options));
  check(api.SetSessionExecutionMode(options, HL_ORT_SEQUENTIAL));
  check(api.SetSessionGraphOptimizationLevel(options, HL_ORT_ALL));
  check(api.SetIntraOpNumThreads(options, threads));
  check(api.SetInterOpNumThreads(options, 1));
  check(api.CreateSession(env, model, options, &session));
  check(api.GetAllocatorWithDefaultOptions(&allocator));
  check(api.SessionGetInputName(session, 0, allocator, &input_name));
  check(api.SessionGetOutputCount(session, &output_count));
  if (output_count > MAX_OUTPUTS) exit(1);
  for (size_t i = 0; i < output_count; i++)
    check(api.SessionGetOutputName(session, i, allocator, &output_names[i]));
}

static void make_input(const hl_ort_memory *memory, int64_t batch) {
  hl_ort_type *type;
  const hl_ort_shape *shape;
  int64_t dims[BARE_MAX_RANK];
  size_t rank, elements;
  check(api.SessionGetInputTypeInfo(session, 0, &type));
  check(api.CastTypeInfoToTensorInfo(type, &shape));
  check(api.GetDimensionsCount(shape, &rank));
  if (rank > BARE_MAX_RANK) exit(1);
  check(api.GetDimensions(shape, dims, rank));
  if (rank > 0) dims[0] = batch;
  float *data = bare_input(dims, rank, &elements);
  check(api.CreateTensorWithDataAsOrtValue(memory, data, elements * sizeof *data, dims, rank,
                                           FLOAT32, &input));
}

static void step(void) {
  if (binding) {
    check(api.RunWithBinding(session, NULL, binding));
    return;
  }
  const hl_ort_value *inputs[] = {input};
  check(run(session, NULL, (const char *const[]){input_name}, inputs, 1,
            (const char *const *)output_names, output_count, outputs));
}

/* The first step allocates the outputs; the second one runs with them in their place. */
static void warm(int with_binding) {
  step();
  if (with_binding) {
    check(api.CreateIoBinding(session, &binding));
    check(api.BindInput(binding, input_name, input));
    for (size_t i = 0; i < output_count; i++)
      check(api.BindOutput(binding, output_names[i], outputs[i]));
  }
  step();
}

int main(int argc, char **argv) {
  if (argc != 6) {
    fprintf(stderr, "usage: onnxruntime-bare LIBRARY MODEL.onnx BATCH THREADS run|binding\n");
    return 2;
  }
  hl_ort_memory *memory;
  open_library(argv[1]);
  open_session(argv[2], atoi(argv[4]));
  check(api.CreateCpuMemoryInfo(HL_ORT_ARENA, HL_ORT_MEMORY_DEFAULT, &memory));
  make_input(memory, atoll(argv[3]));
  warm(strcmp(argv[5], "binding") == 0);
  return bare_loop(step);
}
