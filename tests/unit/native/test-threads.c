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
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_borders), cmocka_unit_test(test_steps)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
