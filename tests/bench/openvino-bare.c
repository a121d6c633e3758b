/*
 * openvino-bare - a bare loop on OpenVINO's C interface, for tests/bench/openvino-bare.
 *
 *   openvino-bare LIBRARY MODEL.onnx BATCH THREADS infer|async
 *
 * One input, the settings that OpenVINO recommends for one step at a time (LATENCY, fixed shapes,
 * f32), nothing of hotlap's but the declarations. `infer` calls infer; `async` start_async and
 * wait. Two steps are run before it is ready.
 */
#include "bare-loop.h"
#include "openvino/api.h"
#include <dlfcn.h>

static hl_ov_api api;
static hl_ov_infer_request *request;

static void check(hl_ov_status status) {
  if (status == HL_OV_OK) return;
  fprintf(stderr, "openvino-bare: %s\n", api.get_last_err_msg());
  exit(1);
}

static void open_library(const char *path) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL), *symbol;
  if (!handle) {
    fprintf(stderr, "openvino-bare: %s\n", dlerror());
    exit(1);
  }
#define X(result, name, arguments)                                                                 \
  symbol = dlsym(handle, "ov_" #name);                                                             \
  if (!symbol) exit(1);                                                                            \
  memcpy(&api.name, &symbol, sizeof symbol);
  HL_OV_MAP(X)
#undef X
}

/* The input's dimensions with the batch in front; returns how many. */
static size_t shape_input(const hl_ov_port *port, int64_t batch, int64_t *dims) {
  hl_ov_partial_shape shape;
  check(api.port_get_partial_shape(port, &shape));
  size_t rank = (size_t)shape.rank.max;
  if (rank < 1 || rank > BARE_MAX_RANK) exit(1);
  for (size_t i = 0; i < rank; i++) dims[i] = i ? shape.dims[i].max : batch;
  return rank;
}

static void make_request(const char *path, int64_t batch, const char *threads) {
  hl_ov_core *core;
  hl_ov_model *model;
  hl_ov_port *port;
  hl_ov_compiled *compiled;
  hl_ov_tensor *tensor;
  char *name;
  int type;
  int64_t dims[BARE_MAX_RANK];
  hl_ov_dimension wanted[BARE_MAX_RANK];
  check(api.core_create(&core));
  check(api.core_read_model(core, path, NULL, &model));
  check(api.model_const_input_by_index(model, 0, &port));
  check(api.port_get_any_name(port, &name));
  check(api.port_get_element_type(port, &type));
  size_t rank = shape_input(port, batch, dims), elements;
  for (size_t i = 0; i < rank; i++) wanted[i] = (hl_ov_dimension){dims[i], dims[i]};
  const hl_ov_partial_shape shape = {{(int64_t)rank, (int64_t)rank}, wanted};
  const char *names[] = {name};
  check(api.model_reshape(model, names, &shape, 1));
  check(api.core_compile_model(core, model, "CPU", 6, &compiled, "PERFORMANCE_HINT", "LATENCY",
                               "INFERENCE_PRECISION_HINT", "f32", "INFERENCE_NUM_THREADS",
                               threads));
  check(api.compiled_model_create_infer_request(compiled, &request));
  float *data = bare_input(dims, rank, &elements);
  check(api.tensor_create_from_host_ptr(type, (hl_ov_shape){(int64_t)rank, dims}, data, &tensor));
  check(api.compiled_model_input_by_name(compiled, name, &port));
  check(api.infer_request_set_tensor_by_const_port(request, port, tensor));
}

static void infer(void) {
  check(api.infer_request_infer(request));
}

static void start_and_wait(void) {
  check(api.infer_request_start_async(request));
  check(api.infer_request_wait(request));
}

int main(int argc, char **argv) {
  if (argc != 6) {
    fprintf(stderr, "usage: openvino-bare LIBRARY MODEL.onnx BATCH THREADS infer|async\n");
    return 2;
  }
  open_library(argv[1]);
  make_request(argv[2], atoll(argv[3]), argv[4]);
  void (*step)(void) = strcmp(argv[5], "infer") == 0 ? infer : start_and_wait;
  step();
  step();
  return bare_loop(step);
}
