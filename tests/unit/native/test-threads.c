/* Small steps run on one thread: where the border lies, and what a program makes of it. */
#include "compile/compile.h"
#include "compile/threads.h"
#include "graph/onnx.h"
#include <math.h>
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

#define WIDTH 64
#define WIDE 4096

/* With two threads half of the time is saved, which must be more than 1.5 us: 3 us at 64 bytes and
 * 50 FLOPs a nanosecond. */
static void test_borders(void **state) {
  (void)state;
  assert_int_equal(hl_native_threads_for((hl_native_work){.bytes = 192000}, 2), 1);
  assert_int_equal(hl_native_threads_for((hl_native_work){.bytes = 192001}, 2), 2);
  assert_int_equal(hl_native_threads_for((hl_native_work){.flops = 150000}, 2), 1);
  assert_int_equal(hl_native_threads_for((hl_native_work){.flops = 150001}, 2), 2);
  /* The slower of both counts, not their sum. */
  hl_native_work both = {.bytes = 192000, .flops = 150000};
  assert_int_equal(hl_native_threads_for(both, 2), 1);
  /* Four threads save three quarters: 2 us. */
  assert_int_equal(hl_native_threads_for((hl_native_work){.bytes = 128000}, 4), 1);
  assert_int_equal(hl_native_threads_for((hl_native_work){.bytes = 128001}, 4), 4);
  assert_int_equal(hl_native_threads_for((hl_native_work){0}, 16), 1);
  assert_int_equal(hl_native_threads_for((hl_native_work){.flops = INFINITY}, 16), 16);
  assert_int_equal(hl_native_threads_for((hl_native_work){.flops = INFINITY}, 1), 1);
}

/* A ReLU of `many` numbers and `small` ones of 16. */
static int worth(int64_t many, int small) {
  hl_value values[2] = {{.dtype = HL_FLOAT32, .shape = {.rank = 1, .dims = {many}}},
                        {.dtype = HL_FLOAT32, .shape = {.rank = 1, .dims = {16}}}};
  hl_graph graph = {.values = values, .value_count = 2};
  hl_node source = {0};
  hl_value_id ids[] = {0, 1};
  hl_native_node nodes[64];
  assert_true(small < 64);
  for (int i = 0; i <= small; i++)
    nodes[i] = (hl_native_node){.source = &source,
                                .op = "Relu",
                                .inputs = &ids[i > 0],
                                .outputs = &ids[i > 0],
                                .input_count = 1,
                                .output_count = 1};
  hl_native_ir ir = {.graph = &graph, .nodes = nodes, .node_count = (size_t)small + 1};
  return hl_native_threads_worth(&ir, 2);
}

/* 8 bytes a number: 32768 are 4.1 us, of which two threads save 2.05; 65536 save twice that. */
static void test_programs(void **state) {
  (void)state;
  assert_int_equal(worth(16, 0), 1);
  assert_int_equal(worth(32768, 0), 2);
  assert_int_equal(worth(32768, 8), 2);
  assert_int_equal(worth(32768, 20), 1); /* a moment among much else */
  assert_int_equal(worth(65536, 60), 2); /* no longer a moment */
}

static char note[256];

static void take_note(const char *engine, const char *sentence) {
  (void)engine;
  strncpy(note, sentence, sizeof(note) - 1);
}

static const hl_host host = {.abi = HL_ENGINE_ABI, .size = sizeof(hl_host), .note = take_note};

/* tanh(x), then a product with (WIDTH, `columns`) ones */
static void write_model(const char *path, int64_t columns) {
  hl_graph *g = NULL;
  float *w = malloc((size_t)columns * WIDTH * sizeof(*w));
  assert_non_null(w);
  for (int64_t i = 0; i < columns * WIDTH; i++) w[i] = 1;
  assert_int_equal(hl_graph_new("test", &g, NULL), HL_OK);
  g->opset = 17;
  hl_value_id inputs[2], y, z;
  inputs[0] = hl_graph_input(g, "x", HL_FLOAT32, 2, (int64_t[]){-1, WIDTH});
  hl_graph_symbol(g, inputs[0], 0, "batch");
  hl_graph_node(g, "Tanh", "function", inputs, 1, &y, 1);
  inputs[0] = y;
  inputs[1] = hl_graph_constant(g, "w", HL_FLOAT32, 2, (int64_t[]){WIDTH, columns}, w);
  hl_graph_node(g, "MatMul", "product", inputs, 2, &z, 1);
  hl_graph_output(g, z);
  assert_int_equal(hl_graph_sort(g, NULL), HL_OK);
  assert_int_equal(hl_graph_resolve(g, NULL), HL_OK);
  assert_int_equal(hl_graph_infer(g, NULL), HL_OK);
  assert_int_equal(hl_onnx_write(g, path, NULL), HL_OK);
  hl_graph_free(g);
  free(w);
}

static int threads_of(const hl_program *program, const char *name) {
  for (int32_t s = 0; s < program->list.step_count; s++)
    if (strcmp(program->list.steps[s].name, name) == 0) return program->list.steps[s].threads;
  return 0;
}

/* The threads of both steps of one row, and whether the note of a single thread was given. */
static void check(int64_t columns, int threads, int want_function, int want_product, bool noted) {
  char path[] = P_tmpdir "/hotlap-test-threads-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  write_model(path, columns);
  const hl_engine_ops *ops = hl_engine_entry();
  hl_engine_config config = {.size = sizeof(config), .threads = threads, .device = "cpu"};
  hl_model_source source = {.size = sizeof(source), .path = path};
  hl_engine *engine = NULL;
  hl_model *model = NULL;
  hl_program *program = NULL;
  hl_error error = {0};
  note[0] = '\0';
  assert_int_equal(ops->open(&host, &config, &engine, &error), HL_OK);
  assert_int_equal(ops->load(engine, &source, &model, &error), HL_OK);
  hl_port port = {.name = "x", .dtype = HL_FLOAT32, .rank = 2, .dims = {1, WIDTH}};
  hl_program_spec spec = {
      .size = sizeof(spec), .dtype = HL_FLOAT32, .inputs = &port, .input_count = 1};
  assert_int_equal(ops->prepare(model, &spec, &program, &error), HL_OK);
  assert_int_equal(threads_of(program, "function"), want_function);
  assert_int_equal(threads_of(program, "product"), want_product);
  if (noted)
    assert_non_null(strstr(note, "one of the 2 threads"));
  else
    assert_string_equal(note, "");
  ops->program_free(program);
  ops->model_free(model);
  ops->close(engine);
  unlink(path);
}

static void test_steps(void **state) {
  (void)state;
  check(WIDTH, 2, 1, 1, true);
  check(WIDE, 2, 1, 2, false); /* a megabyte of weights */
  check(WIDTH, 1, 1, 1, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_borders),
                                     cmocka_unit_test(test_programs), cmocka_unit_test(test_steps)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
