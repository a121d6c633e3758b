/* Files that are damaged or made to do harm: each must be refused with a message that says why. */
#include "model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* A model of three nodes, an initialiser, attributes and two inputs; free() it. */
static char *small_model(size_t *ret_bytes) {
  hl_graph *graph;
  assert_int_equal(hl_graph_new("small", &graph, NULL), HL_OK);
  hl_value_id x = hl_graph_input(graph, "x", HL_FLOAT32, 4, (int64_t[]){-1, 1, 4, 4}), y;
  hl_graph_symbol(graph, x, 0, "batch");
  hl_value_id w = hl_graph_constant(graph, "w", HL_FLOAT32, 4, (int64_t[]){2, 1, 3, 3}, NULL);
  hl_node *node = hl_graph_node(graph, "Conv", "conv", (hl_value_id[]){x, w}, 2, &y, 1);
  hl_node_set_ints(graph, node, "pads", (int64_t[]){1, 1, 1, 1}, 4);
  node = hl_graph_node(graph, "LeakyRelu", "act", &y, 1, &y, 1);
  hl_node_set_real(graph, node, "alpha", 0.1f);
  hl_graph_node(graph, "GlobalAveragePool", "pool", &y, 1, &y, 1);
  hl_graph_output(graph, y);
  int fd = memfd_create("model", MFD_CLOEXEC);
  assert_int_equal(hl_onnx_write_fd(graph, fd, NULL), HL_OK);
  off_t size = lseek(fd, 0, SEEK_END);
  char *data = malloc((size_t)size);
  assert_int_equal(pread(fd, data, (size_t)size, 0), size);
  close(fd);
  hl_graph_free(graph);
  *ret_bytes = (size_t)size;
  return data;
}

static hl_status read_model(const void *data, size_t bytes, hl_error *error) {
  hl_graph *graph = NULL;
  *error = (hl_error){0};
  hl_status status = hl_onnx_read_memory(data, bytes, "evil.onnx", &graph, error);
  if (status == HL_OK) status = hl_graph_infer(graph, error);
  hl_graph_free(graph);
  return status;
}

static void expect(const hl_text *model, hl_status status, const char *message) {
  hl_error error;
  hl_status got = read_model(model->data, model->length, &error);
  if (got != status || !strstr(error.msg, message))
    fail_msg("status %d, '%s'; expected %d, '%s'", (int)got, error.msg, (int)status, message);
  assert_int_equal(error.status, status);
}

static void cut_off_anywhere(void **state) {
  (void)state;
  size_t bytes;
  char *model = small_model(&bytes);
  hl_error error;
  assert_int_equal(read_model(model, bytes, &error), HL_OK);
  for (size_t cut = 0; cut < bytes; cut++) {
    char *part = malloc(cut ? cut : 1); /* exact, so that ASan sees a read past the end */
    memcpy(part, model, cut);
    hl_status status = read_model(part, cut, &error);
    if (status != HL_BAD_DATA && status != HL_UNIMPLEMENTED)
      fail_msg("cut at %zu of %zu: status %d", cut, bytes, (int)status);
    assert_int_equal(strncmp(error.msg, "evil.onnx: ", 11), 0);
    free(part);
  }
  free(model);
}

/* Every byte replaced by a few others: any status, but no crash and always a message. */
static void any_byte_wrong(void **state) {
  (void)state;
  static const unsigned char others[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
  size_t bytes;
  char *model = small_model(&bytes);
  hl_error error;
  for (size_t i = 0; i < bytes; i++) {
    char kept = model[i];
    for (size_t k = 0; k < HL_COUNT(others); k++) {
      model[i] = (char)others[k];
      if (read_model(model, bytes, &error) != HL_OK) assert_true(error.msg[0] != '\0');
    }
    model[i] = kept;
  }
  free(model);
}

static void not_protobuf(void **state) {
  (void)state;
  static const struct {
    const char *data;
    size_t bytes;
    const char *message;
  } cases[] = {
      {"", 0, "the file is empty"},
      {"\x89PNG\r\n\x1a\n", 8, "not an ONNX model"},
      {"hello, world", 12, "not an ONNX model"},
      {"{\"json\": 1}", 11, "not an ONNX model"},
      {"\x08\x07", 2, "there is no graph"},
      {"\x3a\x7f", 2, "longer than its message"},
      {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11, "more than 64 bits"},
      {"\x00\x00", 2, "no number"},
      {"\x0d\x01", 2, "cut off"},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_error error;
    assert_int_equal(read_model(cases[i].data, cases[i].bytes, &error), HL_BAD_DATA);
    if (!strstr(error.msg, cases[i].message)) fail_msg("case %zu: %s", i, error.msg);
  }
}

static void deep_nesting(void **state) {
  (void)state;
  /* Groups 10,000 deep, and a graph in a graph in a graph: neither is followed. */
  hl_text model = HL_TEXT_INIT, inner = HL_TEXT_INIT;
  for (int i = 0; i < 10000; i++) hl_text_char(&model, 0x3b);
  expect(&model, HL_BAD_DATA, "wire type");
  hl_text_clear(&model);
  for (int i = 0; i < 2000; i++) {
    hl_text outer = HL_TEXT_INIT;
    hl_put_message(&outer, 6, &inner);
    hl_text_release(&inner);
    inner = outer;
  }
  hl_text attribute = HL_TEXT_INIT, node = HL_TEXT_INIT, graph = HL_TEXT_INIT;
  hl_put_text(&attribute, 1, "then_branch");
  hl_put_message(&attribute, 6, &inner);
  hl_put_int(&attribute, 20, 5);
  hl_put_text(&node, 2, "y");
  hl_put_text(&node, 4, "If");
  hl_put_message(&node, 5, &attribute);
  hl_text output = HL_TEXT_INIT;
  hl_put_text(&output, 1, "y");
  hl_put_message(&graph, 1, &node);
  hl_put_message(&graph, 12, &output);
  model_begin(&model, 17);
  hl_put_message(&model, 7, &graph);
  expect(&model, HL_UNIMPLEMENTED, "operator If at opset");
  hl_text *all[] = {&model, &inner, &attribute, &node, &graph, &output};
  for (size_t i = 0; i < HL_COUNT(all); i++) hl_text_release(all[i]);
}

static void cyclic(void **state) {
  (void)state;
  hl_text model = HL_TEXT_INIT, graph = HL_TEXT_INIT;
  graph_node(&graph, "Relu", "b", "a");
  graph_node(&graph, "Neg", "a", "b");
  graph_value(&graph, 12, "b");
  model_begin(&model, 17);
  hl_put_message(&model, 7, &graph);
  expect(&model, HL_BAD_DATA, "cycle");
  hl_text_release(&graph);
  hl_text_release(&model);
}

static void opsets_out_of_range(void **state) {
  (void)state;
  static const struct {
    int64_t opset;
    const char *message;
  } cases[] = {{22, "opset 22 is newer than 21"},
               {INT64_MAX, "is newer than 21"},
               {0, "opset 0 is older than 1"},
               {-1, "is older than 1"}};
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_text model = HL_TEXT_INIT;
    model_begin(&model, cases[i].opset);
    expect(&model, HL_UNIMPLEMENTED, cases[i].message);
    hl_text_release(&model);
  }
}

/* One graph built by a function, in a model of opset 17. */
typedef struct graph_case {
  const char *what;
  void (*build)(hl_text *graph);
  hl_status status;
  const char *message;
} graph_case;

static void put_tensor(hl_text *graph, const char *name, hl_dtype dtype, int32_t rank,
                       const int64_t *dims, uint32_t field, const void *data, size_t bytes) {
  hl_text tensor = HL_TEXT_INIT;
  tensor_head(&tensor, name, dtype, rank, dims);
  if (field) hl_put_bytes(&tensor, field, data, bytes);
  hl_put_message(graph, 5, &tensor);
  hl_text_release(&tensor);
}

static void huge_tensor(hl_text *graph) {
  put_tensor(graph, "w", HL_FLOAT32, 2, (int64_t[]){1 << 20, 1 << 20}, 9, "1234", 4);
}

static void huge_typed(hl_text *graph) {
  put_tensor(graph, "w", HL_INT64, 2, (int64_t[]){1 << 20, 1 << 20}, 7, "\1\2", 2);
}

static void overflowing_tensor(hl_text *graph) {
  int64_t dims[4] = {INT64_C(1) << 40, INT64_C(1) << 40, 1, 1};
  put_tensor(graph, "w", HL_FLOAT32, 4, dims, 9, "1234", 4);
}

static void endless_dimension(hl_text *graph) {
  put_tensor(graph, "w", HL_FLOAT32, 1, (int64_t[]){INT64_MAX}, 9, "1234", 4);
}

static void negative_dimension(hl_text *graph) {
  put_tensor(graph, "w", HL_FLOAT32, 1, (int64_t[]){-1}, 9, "1234", 4);
}

static void many_dimensions(hl_text *graph) {
  put_tensor(graph, "w", HL_FLOAT32, 9, (int64_t[9]){1, 1, 1, 1, 1, 1, 1, 1, 1}, 9, "1234", 4);
}

static void no_data(hl_text *graph) {
  put_tensor(graph, "w", HL_FLOAT32, 1, (int64_t[]){2}, 0, NULL, 0);
}

static void cut_floats(hl_text *graph) {
  put_tensor(graph, "w", HL_FLOAT32, 1, (int64_t[]){2}, 4, "12345", 5);
}

static void strings(hl_text *graph) {
  put_tensor(graph, "w", HL_STRING, 1, (int64_t[]){1}, 6, "text", 4);
}

static void strange_type(hl_text *graph) {
  put_tensor(graph, "w", (hl_dtype)77, 1, (int64_t[]){1}, 9, "1234", 4);
}

static void nameless_tensor(hl_text *graph) {
  put_tensor(graph, "", HL_FLOAT32, 1, (int64_t[]){1}, 9, "1234", 4);
}

static void same_tensor_twice(hl_text *graph) {
  for (int i = 0; i < 2; i++) put_tensor(graph, "w", HL_FLOAT32, 1, (int64_t[]){1}, 9, "1234", 4);
}

static void external(hl_text *graph, const char *location) {
  hl_text tensor = HL_TEXT_INIT, entry = HL_TEXT_INIT;
  tensor_head(&tensor, "w", HL_FLOAT32, 1, (int64_t[]){1});
  hl_put_text(&entry, 1, "location");
  hl_put_text(&entry, 2, location);
  hl_put_message(&tensor, 13, &entry);
  hl_put_int(&tensor, 14, 1);
  hl_put_message(graph, 5, &tensor);
  hl_text_release(&tensor);
  hl_text_release(&entry);
}

static void external_up(hl_text *graph) {
  external(graph, "data/../../secret");
}

static void external_absolute(hl_text *graph) {
  external(graph, "/etc/passwd");
}

static void external_in_memory(hl_text *graph) {
  external(graph, "weights.bin");
}

static void sparse(hl_text *graph) {
  hl_put_text(graph, 15, "");
}

static void undefined_input(hl_text *graph) {
  graph_node(graph, "Relu", "ghost", "y");
  graph_value(graph, 12, "y");
}

static void undefined_output(hl_text *graph) {
  graph_value(graph, 11, "x");
  graph_value(graph, 12, "y");
}

static void no_outputs(hl_text *graph) {
  graph_value(graph, 11, "x");
}

static void computed_twice(hl_text *graph) {
  graph_value(graph, 11, "x");
  graph_node(graph, "Relu", "x", "y");
  graph_node(graph, "Neg", "x", "y");
  graph_value(graph, 12, "y");
}

static void input_twice(hl_text *graph) {
  graph_value(graph, 11, "x");
  graph_value(graph, 11, "x");
}

static void output_twice(hl_text *graph) {
  graph_value(graph, 11, "x");
  graph_value(graph, 12, "x");
  graph_value(graph, 12, "x");
}

static void name_with_nul(hl_text *graph) {
  hl_text node = HL_TEXT_INIT;
  hl_put_bytes(&node, 2, "a\0b", 3);
  hl_put_text(&node, 4, "Relu");
  hl_put_message(graph, 1, &node);
  hl_text_release(&node);
}

static void input_with_nul(hl_text *graph) {
  hl_text node = HL_TEXT_INIT;
  graph_value(graph, 11, "a");
  hl_put_bytes(&node, 1, "a\0b", 3); /* must not be taken for "a" */
  hl_put_text(&node, 2, "y");
  hl_put_text(&node, 4, "Relu");
  hl_put_message(graph, 1, &node);
  hl_text_release(&node);
}

static void name_not_utf8(hl_text *graph) {
  graph_node(graph, "Relu", "x", "\xc0\x80");
}

static void name_with_escape(hl_text *graph) {
  graph_node(graph, "Relu", "x", "\x1b[2J");
}

static void no_operator(hl_text *graph) {
  graph_node(graph, "", "x", "y");
}

static void unknown_operator(hl_text *graph) {
  graph_value(graph, 11, "x");
  graph_node(graph, "FancyAttention", "x", "y");
  graph_value(graph, 12, "y");
}

static void internal_operator(hl_text *graph) {
  hl_text node = HL_TEXT_INIT;
  graph_value(graph, 11, "x");
  hl_put_text(&node, 1, "x");
  hl_put_text(&node, 2, "y");
  hl_put_text(&node, 4, "SliceGradient");
  hl_put_text(&node, 7, "hotlap");
  hl_put_message(graph, 1, &node);
  hl_text_release(&node);
}

static void loops_on_itself(hl_text *graph) {
  graph_node(graph, "Relu", "y", "y");
  graph_value(graph, 12, "y");
}

static void wide_node(hl_text *graph) {
  hl_text node = HL_TEXT_INIT;
  hl_put_text(&node, 4, "Sum");
  for (int i = 0; i < 70000; i++) hl_put_text(&node, 1, "x");
  hl_put_message(graph, 1, &node);
  hl_text_release(&node);
}

static void many_nodes(hl_text *graph) {
  for (int i = 0; i < 300000; i++) hl_put_bytes(graph, 1, "\x22\x04Relu", 6);
}

static void constant_without_value(hl_text *graph) {
  graph_node(graph, "Constant", "", "c");
}

static void attribute_reference(hl_text *graph) {
  hl_text attribute = HL_TEXT_INIT, node = HL_TEXT_INIT;
  hl_put_text(&attribute, 1, "alpha");
  hl_put_text(&attribute, 21, "outer");
  hl_put_text(&node, 2, "y");
  hl_put_text(&node, 4, "Elu");
  hl_put_message(&node, 5, &attribute);
  hl_put_message(graph, 1, &node);
  hl_text_release(&attribute);
  hl_text_release(&node);
}

static const graph_case graph_cases[] = {
    {"huge tensor", huge_tensor, HL_BAD_DATA, "declares 4398046511104 bytes but holds 4"},
    {"huge typed", huge_typed, HL_BAD_DATA, "declares 1099511627776 elements but holds 2"},
    {"overflow", overflowing_tensor, HL_LIMIT, "larger than any memory"},
    {"endless", endless_dimension, HL_LIMIT, "dimension of 9223372036854775807"},
    {"negative", negative_dimension, HL_LIMIT, "dimension of -1"},
    {"rank 9", many_dimensions, HL_UNIMPLEMENTED, "more than 8 dimensions"},
    {"no data", no_data, HL_BAD_DATA, "declares 2 elements but holds 0"},
    {"cut floats", cut_floats, HL_BAD_DATA, "cut off"},
    {"strings", strings, HL_UNIMPLEMENTED, "element type"},
    {"type 77", strange_type, HL_UNIMPLEMENTED, "element type"},
    {"nameless", nameless_tensor, HL_BAD_DATA, "has no name"},
    {"twice", same_tensor_twice, HL_BAD_DATA, "called 'w'"},
    {"external up", external_up, HL_BAD_DATA, "only files beside the model"},
    {"external absolute", external_absolute, HL_BAD_DATA, "only files beside the model"},
    {"external memory", external_in_memory, HL_UNIMPLEMENTED, "came from memory"},
    {"sparse", sparse, HL_UNIMPLEMENTED, "sparse initialisers"},
    {"undefined input", undefined_input, HL_BAD_DATA, "uses 'ghost'"},
    {"undefined output", undefined_output, HL_BAD_DATA, "'y' is computed by no node"},
    {"no outputs", no_outputs, HL_BAD_DATA, "no outputs"},
    {"computed twice", computed_twice, HL_BAD_DATA, "'y' is computed by node 'y' (Neg) and again"},
    {"input twice", input_twice, HL_BAD_DATA, "called 'x'"},
    {"output twice", output_twice, HL_BAD_DATA, "'x' is listed twice"},
    {"NUL", name_with_nul, HL_BAD_DATA, "byte 0x00"},
    {"NUL in input", input_with_nul, HL_BAD_DATA, "byte 0x00"},
    {"UTF-8", name_not_utf8, HL_BAD_DATA, "byte 0xc0"},
    {"escape", name_with_escape, HL_BAD_DATA, "byte 0x1b"},
    {"no operator", no_operator, HL_BAD_DATA, "has no operator"},
    {"internal operator", internal_operator, HL_BAD_DATA, "a file cannot hold one"},
    {"unknown operator", unknown_operator, HL_UNIMPLEMENTED, "operator FancyAttention at opset 17"},
    {"own input", loops_on_itself, HL_BAD_DATA, "cycle"},
    {"wide node", wide_node, HL_LIMIT, "more than 65536 values"},
    {"many nodes", many_nodes, HL_LIMIT, "more than 262144 nodes"},
    {"Constant", constant_without_value, HL_BAD_DATA, "one output and one attribute"},
    {"reference", attribute_reference, HL_BAD_DATA, "refers to a function's"},
};

static void bad_graphs(void **state) {
  (void)state;
  for (size_t i = 0; i < HL_COUNT(graph_cases); i++) {
    hl_text model = HL_TEXT_INIT, graph = HL_TEXT_INIT;
    graph_cases[i].build(&graph);
    model_begin(&model, 17);
    hl_put_message(&model, 7, &graph);
    expect(&model, graph_cases[i].status, graph_cases[i].message);
    hl_text_release(&graph);
    hl_text_release(&model);
  }
}

static void bad_models(void **state) {
  (void)state;
  hl_text model = HL_TEXT_INIT, graph = HL_TEXT_INIT;
  model_begin(&model, 17);
  hl_put_text(&model, 25, "");
  expect(&model, HL_UNIMPLEMENTED, "functions");
  hl_text_clear(&model);
  model_begin(&model, 17);
  hl_put_text(&model, 7, "");
  hl_put_text(&model, 7, "");
  expect(&model, HL_BAD_DATA, "second graph");
  hl_text_clear(&model);
  graph_value(&graph, 11, "x");
  hl_put_int(&model, 1, 8);
  hl_put_bytes(&model, 7, graph.data, graph.length);
  expect(&model, HL_BAD_DATA, "does not say its opset");
  hl_text_clear(&model);
  hl_put_int(&model, 1, 99);
  hl_put_message(&model, 7, &graph);
  expect(&model, HL_UNIMPLEMENTED, "IR version 99");
  hl_text_release(&graph);
  hl_text_release(&model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cut_off_anywhere), cmocka_unit_test(any_byte_wrong),
      cmocka_unit_test(not_protobuf),     cmocka_unit_test(deep_nesting),
      cmocka_unit_test(cyclic),           cmocka_unit_test(opsets_out_of_range),
      cmocka_unit_test(bad_graphs),       cmocka_unit_test(bad_models),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
