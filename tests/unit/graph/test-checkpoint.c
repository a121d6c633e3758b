/* Checkpoints: what is written comes back, and what is damaged is refused. */
#include "base/file.h"
#include "graph/onnx-checkpoint.h"
#include "graph/onnx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { STATES = 3 };
static const hl_port ports[STATES] = {
    {"w", HL_FLOAT32, 2, {2, 2}}, {"w/mean", HL_FLOAT32, 2, {2, 2}}, {"count", HL_FLOAT32, 0, {0}}};
static float values[STATES][4] = {{1, 2, 3, 4}, {-1, -2, -3, -4}, {7}};
static char path[] = "/tmp/hotlap-checkpoint-XXXXXX";

static hl_graph *network(void) {
  hl_graph *graph = NULL;
  hl_value_id y = -1;
  float zeros[4] = {0};
  assert_int_equal(hl_graph_new("net", &graph, NULL), HL_OK);
  hl_value_id x = hl_graph_input(graph, "x", HL_FLOAT32, 2, (int64_t[]){-1, 2});
  hl_value_id w = hl_graph_constant(graph, "w", HL_FLOAT32, 2, (int64_t[]){2, 2}, zeros);
  hl_graph_node(graph, "MatMul", "product", (hl_value_id[]){x, w}, 2, &y, 1);
  hl_graph_output(graph, y);
  assert_int_equal(hl_graph_resolve(graph, NULL), HL_OK);
  return graph;
}

static hl_status read_state(void *context, const char *name, hl_tensor_view *ret_view,
                            hl_error *error) {
  const char *failing = context;
  if (failing && strcmp(name, failing) == 0)
    return hl_error_set(error, HL_INTERNAL, "no state '%s'", name);
  for (size_t i = 0; i < STATES; i++)
    if (strcmp(ports[i].name, name) == 0)
      *ret_view = (hl_tensor_view){.name = name,
                                   .dtype = HL_FLOAT32,
                                   .rank = ports[i].rank,
                                   .data = values[i],
                                   .bytes = ports[i].rank ? 16 : 4};
  return HL_OK;
}

static hl_status write_it(char *failing, hl_error *error) {
  hl_graph *graph = network();
  const hl_checkpoint c = {.facts = "step 5\nlines are kept\n",
                           .ports = ports,
                           .count = STATES,
                           .read = read_state,
                           .context = failing};
  hl_status status = hl_checkpoint_write(graph, &c, path, error);
  hl_graph_free(graph);
  return status;
}

static const float *floats(const hl_graph *graph, const char *name) {
  hl_value_id id = hl_graph_find(graph, name);
  assert_true(id >= 0);
  return graph->values[id].data;
}

static void what_is_written_comes_back(void **state) {
  (void)state;
  hl_error error = {0};
  hl_graph *graph = NULL, *states = NULL;
  const char *facts = NULL;
  assert_int_equal(write_it(NULL, &error), HL_OK);
  assert_int_equal(hl_checkpoint_read(path, &graph, &states, &facts, &error), HL_OK);
  assert_string_equal(facts, "step 5\nlines are kept\n");
  assert_memory_equal(floats(graph, "w"), values[0], 16);
  assert_memory_equal(floats(states, "w/mean"), values[1], 16);
  assert_true(*floats(states, "count") == 7);
  assert_int_equal(hl_graph_find(states, "w"), -1); /* it stands once in the file */
  hl_graph_free(states);
  hl_graph_free(graph);
  /* It is a model like any other. */
  assert_int_equal(hl_onnx_read(path, &graph, &error), HL_OK);
  assert_memory_equal(floats(graph, "w"), values[0], 16);
  hl_graph_free(graph);
}

/* A failure on the way leaves the file that was there. */
static void the_old_one_stays(void **state) {
  (void)state;
  static char *const failing[] = {"w", "w/mean", "count"};
  char *before = NULL, *after = NULL;
  size_t before_bytes = 0, after_bytes = 0;
  assert_int_equal(write_it(NULL, NULL), HL_OK);
  assert_int_equal(hl_file_read(path, 1 << 20, &before, &before_bytes, NULL), HL_OK);
  for (size_t i = 0; i < HL_COUNT(failing); i++) {
    hl_error error = {0};
    values[0][0] = 100;
    assert_int_equal(write_it(failing[i], &error), HL_INTERNAL);
    assert_non_null(strstr(error.msg, failing[i]));
    values[0][0] = 1;
    assert_int_equal(hl_file_read(path, 1 << 20, &after, &after_bytes, NULL), HL_OK);
    assert_int_equal(after_bytes, before_bytes);
    assert_memory_equal(after, before, before_bytes);
    free(after);
  }
  free(before);
}

static hl_status read_bytes(const char *data, size_t bytes, hl_error *error) {
  hl_graph *graph = NULL, *states = NULL;
  const char *facts = NULL;
  assert_int_equal(hl_file_write(path, data, bytes, NULL), HL_OK);
  hl_status status = hl_checkpoint_read(path, &graph, &states, &facts, error);
  if (status == HL_OK) {
    hl_graph_free(states);
    hl_graph_free(graph);
  }
  return status;
}

/* Cut anywhere it is refused; with any byte changed it is read or refused, and nothing else. */
static void damage_is_refused(void **state) {
  (void)state;
  char *data = NULL;
  size_t bytes = 0;
  assert_int_equal(write_it(NULL, NULL), HL_OK);
  assert_int_equal(hl_file_read(path, 1 << 20, &data, &bytes, NULL), HL_OK);
  for (size_t length = 0; length < bytes; length++) {
    hl_error error = {0};
    if (read_bytes(data, length, &error) == HL_OK) fail_msg("cut at %zu of %zu", length, bytes);
    assert_non_null(strstr(error.msg, path));
  }
  for (size_t i = 0; i < bytes; i++)
    for (int bit = 0; bit < 8; bit += 3) {
      hl_error error = {0};
      data[i] = (char)(data[i] ^ 1 << bit);
      (void)read_bytes(data, bytes, &error);
      data[i] = (char)(data[i] ^ 1 << bit);
    }
  free(data);
}

static void a_model_is_no_checkpoint(void **state) {
  (void)state;
  hl_error error = {0};
  hl_graph *graph = network(), *states = NULL, *back = NULL;
  const char *facts = NULL;
  assert_int_equal(hl_onnx_write(graph, path, &error), HL_OK);
  hl_graph_free(graph);
  assert_int_equal(hl_checkpoint_read(path, &back, &states, &facts, &error), HL_BAD_DATA);
  assert_non_null(strstr(error.msg, "no optimiser's state"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_comes_back), cmocka_unit_test(the_old_one_stays),
      cmocka_unit_test(damage_is_refused), cmocka_unit_test(a_model_is_no_checkpoint)};
  int fd = mkstemp(path);
  if (fd < 0) return 1;
  close(fd);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  unlink(path);
  return failed;
}
