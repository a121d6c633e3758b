/* Writing and reading back, in files and in memory; where constants lie; limits of the writer. */
#include "base/file.h"
#include "model.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

static int make_folder(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "/tmp/hotlap-onnx-XXXXXX");
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  return rmdir(folder); /* fails if a test left a file, temporary ones too */
}

static const char *path_of(const char *name) {
  static char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

/* Every kind of attribute, two constants beyond the aligning size and an omitted input. */
static hl_graph *full_graph(void) {
  hl_graph *graph;
  assert_int_equal(hl_graph_new("full", &graph, NULL), HL_OK);
  hl_value_id x = hl_graph_input(graph, "x", HL_FLOAT32, 4, (int64_t[]){-1, 16, 4, 4}), y;
  hl_graph_symbol(graph, x, 0, "batch");
  hl_value_id a = hl_graph_constant(graph, "a", HL_FLOAT32, 4, (int64_t[]){16, 16, 3, 3}, NULL);
  hl_value_id odd = hl_graph_constant(graph, "odd", HL_UINT8, 1, (int64_t[]){3}, "abc");
  hl_value_id b = hl_graph_constant(graph, "b", HL_FLOAT32, 4, (int64_t[]){16, 16, 3, 3}, NULL);
  float scales[4] = {1, 1, 2, 2}, *weights = hl_graph_data(graph, b);
  for (int i = 0; i < 16 * 16 * 9; i++) weights[i] = (float)i;
  hl_value_id s = hl_graph_constant(graph, "scales", HL_FLOAT32, 1, (int64_t[]){4}, scales);
  hl_node *node = hl_graph_node(graph, "Conv", "one", (hl_value_id[]){x, a}, 2, &y, 1);
  hl_node_set_ints(graph, node, "pads", (int64_t[]){1, 1, 1, 1}, 4);
  hl_node_set_int(graph, node, "group", 1);
  node = hl_graph_node(graph, "Conv", "two", (hl_value_id[]){y, b}, 2, &y, 1);
  hl_node_set_text(graph, node, "auto_pad", "SAME_UPPER");
  node = hl_graph_node(graph, "LeakyRelu", "act", &y, 1, &y, 1);
  hl_node_set_real(graph, node, "alpha", 0.25f);
  node = hl_graph_node(graph, "Resize", "up", (hl_value_id[]){y, -1, s}, 3, &y, 1);
  hl_graph_output(graph, y);
  hl_graph_rename(graph, y, "image");
  (void)odd;
  assert_int_equal(hl_graph_resolve(graph, NULL), HL_OK);
  return graph;
}

static void assert_full(const hl_graph *graph) {
  assert_string_equal(graph->name, "full");
  assert_int_equal(graph->opset, 17);
  assert_int_equal(graph->ir_version, 8);
  assert_int_equal(graph->node_count, 4);
  assert_int_equal(graph->input_count, 1);
  const hl_value *x = &graph->values[graph->inputs[0]];
  assert_string_equal(x->name, "x");
  assert_string_equal(x->symbols[0], "batch");
  assert_int_equal(x->shape.dims[0], -1);
  assert_int_equal(x->shape.dims[1], 16);
  int64_t pads[4];
  assert_int_equal(hl_node_ints(&graph->nodes[0], "pads", pads, 4), 4);
  assert_int_equal(pads[3], 1);
  assert_string_equal(hl_node_text(&graph->nodes[1], "auto_pad", ""), "SAME_UPPER");
  assert_true(hl_node_real(&graph->nodes[2], "alpha", 0) == 0.25f);
  assert_null(hl_node_input(graph, &graph->nodes[3], 1));
  assert_string_equal(graph->values[graph->outputs[0]].name, "image");
  const float *b = graph->values[hl_graph_find(graph, "b")].data;
  assert_true(b[0] == 0 && b[2303] == 2303);
  assert_memory_equal(graph->values[hl_graph_find(graph, "odd")].data, "abc", 3);
}

static void reads_what_it_wrote(void **state) {
  (void)state;
  hl_graph *graph = full_graph(), *copy;
  const char *path = path_of("model.onnx");
  assert_int_equal(hl_onnx_write(graph, path, NULL), HL_OK);
  hl_graph_free(graph);
  assert_int_equal(hl_onnx_read(path, &copy, NULL), HL_OK);
  assert_full(copy);
  /* Large constants are used where they are mapped: aligned, and not the graph's to write. */
  static const char *const large[] = {"a", "b"};
  for (size_t i = 0; i < 2; i++) {
    hl_value_id id = hl_graph_find(copy, large[i]);
    assert_int_equal((uintptr_t)copy->values[id].data % 64, 0);
    assert_null(hl_graph_data(copy, id));
  }
  struct stat first, second;
  assert_int_equal(stat(path, &first), 0);
  assert_int_equal(hl_onnx_write(copy, path_of("model.onnx"), NULL), HL_OK); /* over its source */
  assert_int_equal(stat(path, &second), 0);
  assert_int_equal(first.st_size, second.st_size);
  hl_graph_free(copy);
  unlink(path);
}

static void writes_the_same_to_a_descriptor(void **state) {
  (void)state;
  hl_graph *graph = full_graph(), *copy;
  char *data, *file;
  size_t bytes, file_bytes;
  int fd = open(path_of("fd.onnx"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  assert_int_equal(hl_onnx_write_fd(graph, fd, NULL), HL_OK);
  close(fd);
  assert_int_equal(hl_file_read(path_of("fd.onnx"), 1 << 20, &data, &bytes, NULL), HL_OK);
  unlink(path_of("fd.onnx"));
  assert_int_equal(hl_onnx_write(graph, path_of("path.onnx"), NULL), HL_OK);
  assert_int_equal(hl_file_read(path_of("path.onnx"), 1 << 20, &file, &file_bytes, NULL), HL_OK);
  unlink(path_of("path.onnx"));
  assert_int_equal(bytes, file_bytes);
  assert_memory_equal(data, file, bytes);
  assert_int_equal(hl_onnx_read_memory(data, bytes, "memory", &copy, NULL), HL_OK);
  assert_full(copy);
  hl_graph_free(copy);
  hl_graph_free(graph);
  free(data);
  free(file);
}

static void replaces_files_as_a_whole(void **state) {
  (void)state;
  hl_graph *graph = full_graph();
  hl_error error;
  assert_int_equal(hl_onnx_write(graph, path_of("none/model.onnx"), &error), HL_IO);
  assert_non_null(strstr(error.msg, "none/model.onnx"));
  assert_int_equal(mkdir(path_of("taken"), 0700), 0);
  assert_int_equal(hl_onnx_write(graph, path_of("taken"), &error), HL_IO);
  assert_int_equal(rmdir(path_of("taken")), 0);
  hl_graph_free(graph);
}

static void refuses_what_onnx_cannot_hold(void **state) {
  (void)state;
  hl_graph *graph;
  hl_error error;
  assert_int_equal(hl_graph_new("big", &graph, NULL), HL_OK);
  /* Borrowed and never read: the size alone is refused. */
  hl_value_id w =
      hl_graph_constant_borrowed(graph, "w", HL_FLOAT32, 1, (int64_t[]){INT64_C(1) << 29}, "");
  hl_graph_output(graph, w);
  assert_int_equal(hl_onnx_write(graph, path_of("big.onnx"), &error), HL_LIMIT);
  assert_non_null(strstr(error.msg, "at most 2147483647"));
  hl_graph_free(graph);
  graph = full_graph();
  ((hl_attribute *)graph->nodes[0].attributes)->kind = HL_ATTRIBUTE_OTHER;
  assert_int_equal(hl_onnx_write(graph, path_of("other.onnx"), &error), HL_UNIMPLEMENTED);
  assert_non_null(strstr(error.msg, "attribute 'pads'"));
  hl_graph_free(graph);
}

/* Every dimension symbolic, one of which the weights fix: written all the same, unnamed. */
static void writes_symbols_that_are_not_free(void **state) {
  (void)state;
  hl_graph *graph, *copy;
  assert_int_equal(hl_graph_new("symbols", &graph, NULL), HL_OK);
  hl_value_id x = hl_graph_input(graph, "x", HL_FLOAT32, 2, (int64_t[]){-1, -1}), y;
  hl_value_id w = hl_graph_constant(graph, "w", HL_FLOAT32, 2, (int64_t[]){3, 4}, NULL);
  hl_graph_symbol(graph, x, 0, "batch");
  hl_graph_symbol(graph, x, 1, "features");
  hl_graph_node(graph, "MatMul", "m", (hl_value_id[]){x, w}, 2, &y, 1);
  hl_graph_output(graph, y);
  assert_int_equal(hl_onnx_write(graph, path_of("symbols.onnx"), NULL), HL_OK);
  assert_int_equal(hl_onnx_read(path_of("symbols.onnx"), &copy, NULL), HL_OK);
  assert_string_equal(copy->values[copy->inputs[0]].symbols[1], "features");
  unlink(path_of("symbols.onnx"));
  hl_graph_free(copy);
  hl_graph_free(graph);
}

static void says_what_is_wrong_with_the_path(void **state) {
  (void)state;
  hl_graph *graph;
  hl_error error;
  assert_int_equal(hl_onnx_read(path_of("none.onnx"), &graph, &error), HL_NOT_FOUND);
  assert_int_equal(hl_onnx_read(folder, &graph, &error), HL_BAD_DATA);
  assert_int_equal(hl_file_write(path_of("empty.onnx"), "", 0, NULL), HL_OK);
  assert_int_equal(hl_onnx_read(path_of("empty.onnx"), &graph, &error), HL_BAD_DATA);
  assert_non_null(strstr(error.msg, "empty.onnx: the file is empty"));
  unlink(path_of("empty.onnx"));
}

/* Packed and unpacked forms of the same list, and fields in an unusual order. */
static void reads_packed_and_unpacked(void **state) {
  (void)state;
  for (int packed = 0; packed < 2; packed++) {
    hl_text model = HL_TEXT_INIT, graph = HL_TEXT_INIT, node = HL_TEXT_INIT;
    hl_text attribute = HL_TEXT_INIT, tensor = HL_TEXT_INIT, list = HL_TEXT_INIT;
    if (packed) {
      hl_put_bytes(&attribute, 8, "\1\0", 2);
      hl_put_bytes(&tensor, 1, "\2\3", 2);
    } else {
      hl_put_int(&attribute, 8, 1);
      hl_put_int(&attribute, 8, 0);
      hl_put_int(&tensor, 1, 2);
      hl_put_int(&tensor, 1, 3);
    }
    for (int i = 0; i < 6; i++) {
      if (packed)
        hl_put_varint(&list, (uint64_t)-i);
      else
        hl_put_int(&tensor, 7, -i);
    }
    if (packed) hl_put_message(&tensor, 7, &list);
    hl_put_int(&tensor, 2, HL_INT64);
    hl_put_text(&tensor, 8, "w");
    hl_put_int(&attribute, 20, 7);
    hl_put_text(&attribute, 1, "perm");
    hl_put_message(&node, 5, &attribute);
    hl_put_text(&node, 4, "Transpose");
    hl_put_text(&node, 2, "y");
    hl_put_text(&node, 1, "w");
    graph_value(&graph, 12, "y");
    hl_put_message(&graph, 1, &node);
    hl_put_message(&graph, 5, &tensor);
    hl_put_message(&model, 7, &graph); /* the graph before the opset */
    model_begin(&model, 13);
    hl_graph *read;
    hl_error error = {0};
    hl_status status = hl_onnx_read_memory(model.data, model.length, "m", &read, &error);
    if (status != HL_OK) fail_msg("%s", error.msg);
    assert_int_equal(hl_graph_infer(read, NULL), HL_OK);
    const hl_value *w = &read->values[hl_graph_find(read, "w")];
    assert_int_equal(w->shape.rank, 2);
    assert_int_equal(((const int64_t *)w->data)[5], -5);
    assert_int_equal(read->values[read->outputs[0]].shape.dims[0], 3);
    hl_graph_free(read);
    hl_text *all[] = {&model, &graph, &node, &attribute, &tensor, &list};
    for (size_t i = 0; i < HL_COUNT(all); i++) hl_text_release(all[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_what_it_wrote),
      cmocka_unit_test(writes_the_same_to_a_descriptor),
      cmocka_unit_test(replaces_files_as_a_whole),
      cmocka_unit_test(refuses_what_onnx_cannot_hold),
      cmocka_unit_test(says_what_is_wrong_with_the_path),
      cmocka_unit_test(writes_symbols_that_are_not_free),
      cmocka_unit_test(reads_packed_and_unpacked),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
