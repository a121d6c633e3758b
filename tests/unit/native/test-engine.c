/* The engine by its ABI: refusals, two requests of one program, memory that is given back. */
#include "base/clock.h"
#include "graph/onnx.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

const hl_engine_ops *hl_engine_entry(void);

#define WIDTH 20

static char model_path[] = P_tmpdir "/hotlap-test-engine-XXXXXX";

/* y = relu(x W), W = the identity times 2 */
static int write_model(void **state) {
  (void)state;
  hl_graph *g = NULL;
  float w[WIDTH * WIDTH] = {0};
  for (int i = 0; i < WIDTH; i++) w[i * WIDTH + i] = 2.0f;
  if (hl_graph_new("test", &g, NULL) != HL_OK) return -1;
  g->opset = 17;
  hl_value_id inputs[2], y, z;
  inputs[0] = hl_graph_input(g, "x", HL_FLOAT32, 2, (int64_t[]){-1, WIDTH});
  hl_graph_symbol(g, inputs[0], 0, "batch");
  inputs[1] = hl_graph_constant(g, "w", HL_FLOAT32, 2, (int64_t[]){WIDTH, WIDTH}, w);
  hl_graph_node(g, "MatMul", "product", inputs, 2, &y, 1);
  hl_graph_node(g, "Relu", "relu", &y, 1, &z, 1);
  hl_graph_output(g, z);
  int fd = mkstemp(model_path);
  if (fd >= 0) close(fd);
  hl_status status = hl_graph_sort(g, NULL);
  if (status == HL_OK) status = hl_graph_resolve(g, NULL);
  if (status == HL_OK) status = hl_graph_infer(g, NULL);
  if (status == HL_OK) status = hl_onnx_write(g, model_path, NULL);
  hl_graph_free(g);
  return status == HL_OK ? 0 : -1;
}

static int remove_model(void **state) {
  (void)state;
  return unlink(model_path);
}

static const hl_host host = {.abi = HL_ENGINE_ABI, .size = sizeof(hl_host)};

typedef struct loaded {
  const hl_engine_ops *ops;
  hl_engine *engine;
  hl_model *model;
  hl_model_info info;
  hl_port port;
  hl_program_spec spec;
} loaded;

static void load(loaded *l, int64_t batch) {
  l->ops = hl_engine_entry();
  hl_engine_config config = {.size = sizeof(config), .threads = 2, .device = "cpu"};
  hl_model_source source = {.size = sizeof(source), .path = model_path};
  l->info = (hl_model_info){.size = sizeof(l->info)};
  hl_error error = {0};
  assert_int_equal(l->ops->open(&host, &config, &l->engine, &error), HL_OK);
  assert_int_equal(l->ops->load(l->engine, &source, &l->model, &error), HL_OK);
  assert_int_equal(l->ops->describe(l->model, &l->info, &error), HL_OK);
  assert_int_equal(l->info.input_count, 1);
  assert_int_equal(l->info.inputs[0].dims[0], -1);
  l->port = l->info.inputs[0];
  l->port.dims[0] = batch;
  l->spec = (hl_program_spec){
      .size = sizeof(l->spec), .dtype = HL_FLOAT32, .inputs = &l->port, .input_count = 1};
}

static uint64_t held(const loaded *l) {
  hl_engine_memory memory = {.size = sizeof(memory)};
  assert_int_equal(l->ops->memory(l->engine, &memory, NULL), HL_OK);
  return memory.allocated_bytes;
}

static void unload(loaded *l) {
  l->ops->model_free(l->model);
  assert_int_equal(held(l), 0);
  l->ops->close(l->engine);
}

static void test_open_refuses(void **state) {
  (void)state;
  const hl_option option = {"speed", "high"};
  const struct {
    hl_engine_config config;
    hl_status status;
    const char *says;
  } cases[] = {
      {{.threads = 0, .device = "cpu"}, HL_INVALID_ARGUMENT, "threads"},
      {{.threads = 2, .device = "cuda:0"}, HL_UNAVAILABLE, "cuda:0"},
      {{.threads = 2, .device = "cpu", .options = &option, .option_count = 1},
       HL_INVALID_ARGUMENT,
       "speed"},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_engine *engine = NULL;
    hl_error error = {0};
    assert_int_equal(hl_engine_entry()->open(&host, &cases[i].config, &engine, &error),
                     cases[i].status);
    assert_null(engine);
    assert_non_null(strstr(error.msg, cases[i].says));
  }
}

static void test_prepare_refuses(void **state) {
  (void)state;
  loaded l;
  load(&l, 3);
  hl_program *program = NULL;
  hl_error error = {0};
  l.spec.dtype = HL_FLOAT16;
  assert_int_equal(l.ops->prepare(l.model, &l.spec, &program, &error), HL_UNIMPLEMENTED);
  assert_non_null(strstr(error.msg, "float16"));
  l.spec.dtype = HL_FLOAT32;
  l.spec.mode = HL_MODE_TRAINING; /* without saying how */
  assert_int_equal(l.ops->prepare(l.model, &l.spec, &program, &error), HL_INVALID_ARGUMENT);
  l.spec.mode = HL_MODE_INFERENCE;
  l.port.dims[1] = WIDTH + 1;
  assert_int_not_equal(l.ops->prepare(l.model, &l.spec, &program, &error), HL_OK);
  assert_null(program);
  unload(&l);
}

static void count_visit(void *context, const char *name, const char *kind, uint64_t duration_ns) {
  (void)duration_ns;
  assert_non_null(name);
  assert_non_null(kind);
  ++*(int *)context;
}

typedef struct seen {
  int count;
  hl_span last;
  char layer[64];
} seen;

static void see_span(void *context, const hl_span *span) {
  seen *s = context;
  s->count++;
  s->last = *span;
  snprintf(s->layer, sizeof s->layer, "%s", span->layer);
}

/* A step that is profiled is a step, and tells what its one operator did. */
static void check_spans(const hl_engine_ops *ops, hl_request *request) {
  hl_error error = {0};
  seen s = {0};
  uint64_t before = hl_clock_ns();
  assert_int_equal(ops->spans(request, see_span, &s, &error), HL_OK);
  uint64_t after = hl_clock_ns();
  assert_int_equal(s.count, 1);
  assert_int_equal(s.last.phase, -1);
  assert_true(s.last.start_ns >= before && s.last.start_ns + s.last.duration_ns <= after);
  assert_true(s.last.flops >= 2.0 * 3 * WIDTH * WIDTH);
  assert_true(s.last.bytes >= 4.0 * (2 * 3 * WIDTH + WIDTH * WIDTH));
  assert_true(s.last.memory_bytes >= 4.0 * 3 * WIDTH);
  assert_true(s.layer[0] != 0);
  hl_tensor_view output;
  assert_int_equal(ops->output(request, 0, &output, &error), HL_OK);
}

static void test_requests(void **state) {
  (void)state;
  loaded l;
  load(&l, 3);
  hl_program *program = NULL;
  hl_error error = {0};
  hl_program_plan plan = {.size = sizeof(plan)};
  assert_int_equal(l.ops->plan(l.model, &l.spec, &plan, &error), HL_OK);
  assert_int_equal(held(&l), 0); /* planning allocates nothing */
  assert_int_equal(plan.executed_flops, 2.0 * 3 * WIDTH * WIDTH + 3 * WIDTH);
  assert_true(plan.weight_bytes >= WIDTH * WIDTH * sizeof(float));
  assert_int_equal(l.ops->prepare(l.model, &l.spec, &program, &error), HL_OK);
  hl_request *requests[2] = {NULL, NULL};
  float data[2][3 * WIDTH];
  for (int r = 0; r < 2; r++) {
    assert_int_equal(l.ops->request(program, &requests[r], &error), HL_OK);
    for (int i = 0; i < 3 * WIDTH; i++) data[r][i] = (float)(i - 10 * r) - 25.0f;
    hl_tensor_view view = {.name = "x",
                           .dtype = HL_FLOAT32,
                           .rank = 2,
                           .dims = {3, WIDTH},
                           .data = data[r],
                           .bytes = sizeof(data[r])};
    hl_tensor_view output;
    assert_int_equal(l.ops->submit(requests[r], &error), HL_INVALID_ARGUMENT); /* not bound */
    assert_int_equal(l.ops->output(requests[r], 0, &output, &error), HL_INVALID_ARGUMENT);
    assert_int_equal(l.ops->bind(requests[r], 1, &view, &error), HL_INVALID_ARGUMENT);
    view.bytes -= 4;
    assert_int_equal(l.ops->bind(requests[r], 0, &view, &error), HL_INVALID_ARGUMENT);
    view.bytes += 4;
    assert_int_equal(l.ops->bind(requests[r], 0, &view, &error), HL_OK);
  }
  for (int r = 0; r < 2; r++) assert_int_equal(l.ops->submit(requests[r], &error), HL_OK);
  for (int r = 0; r < 2; r++) {
    hl_tensor_view view;
    assert_int_equal(l.ops->wait(requests[r], &error), HL_OK);
    assert_int_equal(l.ops->output(requests[r], 0, &view, &error), HL_OK);
    assert_int_equal(view.bytes, sizeof(data[r]));
    for (int i = 0; i < 3 * WIDTH; i++) {
      float want = data[r][i] > 0 ? 2 * data[r][i] : 0;
      assert_float_equal(((const float *)view.data)[i], want, 1e-6);
    }
  }
  int visits = 0;
  assert_int_equal(l.ops->profile(requests[0], count_visit, &visits, &error), HL_OK);
  assert_int_equal(visits, 1); /* the ReLU is part of the product */
  check_spans(l.ops, requests[0]);
  for (int r = 0; r < 2; r++) l.ops->request_free(requests[r]);
  l.ops->program_free(program);
  unload(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_open_refuses),
                                     cmocka_unit_test(test_prepare_refuses),
                                     cmocka_unit_test(test_requests)};
  return cmocka_run_group_tests(tests, write_model, remove_model);
}
