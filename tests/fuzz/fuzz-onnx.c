/*
 * Reading, binding and inferring a hostile model; running it by the reference functions where that
 * is little work; and writing what was read, which must be readable again.
 */
#include "driver.h"
#include "graph/onnx.h"
#include "graph/operator.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { max_elements = 4096, max_total = 1 << 16 };

/* -- seeds ----------------------------------------------------------------------------------- */

static hl_value_id node(hl_graph *graph, const char *op, hl_value_id a, hl_value_id b,
                        hl_value_id c, hl_node **ret_node) {
  hl_value_id out = -1, in[3] = {a, b, c};
  size_t count = c >= 0 ? 3 : b >= 0 ? 2 : a >= 0 ? 1 : 0;
  *ret_node = hl_graph_node(graph, op, "", in, count, &out, 1);
  return out;
}

static hl_value_id apply(hl_graph *graph, const char *op, hl_value_id a, hl_value_id b) {
  hl_node *unused;
  return node(graph, op, a, b, -1, &unused);
}

static hl_value_id ints(hl_graph *graph, const char *name, size_t count, const int64_t *values) {
  return hl_graph_constant(graph, name, HL_INT64, 1, (int64_t[]){(int64_t)count}, values);
}

static hl_value_id weights(hl_graph *graph, const char *name, int32_t rank, const int64_t *dims) {
  return hl_graph_constant(graph, name, HL_FLOAT32, rank, dims, NULL);
}

static void convolutions(hl_graph *graph) {
  hl_node *n;
  hl_value_id x = hl_graph_input(graph, "x", HL_FLOAT32, 4, (int64_t[]){-1, 2, 5, 6});
  hl_graph_symbol(graph, x, 0, "batch");
  hl_value_id y = node(graph, "Conv", x, weights(graph, "w", 4, (int64_t[]){4, 1, 3, 3}),
                       weights(graph, "b", 1, (int64_t[]){4}), &n);
  hl_node_set_ints(graph, n, "pads", (int64_t[]){1, 1, 1, 1}, 4);
  hl_node_set_int(graph, n, "group", 2);
  y = apply(graph, "Relu", y, -1);
  y = node(graph, "MaxPool", y, -1, -1, &n);
  hl_node_set_ints(graph, n, "kernel_shape", (int64_t[]){2, 2}, 2);
  hl_node_set_ints(graph, n, "strides", (int64_t[]){2, 2}, 2);
  y = node(graph, "ConvTranspose", y, weights(graph, "t", 4, (int64_t[]){4, 2, 2, 2}), -1, &n);
  hl_node_set_text(graph, n, "auto_pad", "SAME_UPPER");
  y = apply(graph, "GlobalAveragePool", y, -1);
  y = apply(graph, "Flatten", y, -1);
  hl_graph_output(graph, apply(graph, "Gemm", y, weights(graph, "g", 2, (int64_t[]){2, 3})));
}

static void shapes(hl_graph *graph) {
  hl_node *n;
  hl_value_id parts[2];
  hl_value_id x = hl_graph_input(graph, "x", HL_FLOAT32, 3, (int64_t[]){-1, 4, 6});
  hl_value_id s = apply(graph, "Shape", x, -1);
  s = apply(graph, "Gather", s, ints(graph, "first", 1, (int64_t[]){0}));
  s = node(graph, "Concat", s, ints(graph, "rest", 1, (int64_t[]){-1}), -1, &n);
  hl_node_set_int(graph, n, "axis", 0);
  hl_value_id y = apply(graph, "Reshape", x, s);
  y = node(graph, "Slice", y, ints(graph, "from", 1, (int64_t[]){-9}),
           ints(graph, "to", 1, (int64_t[]){20}), &n);
  hl_node_set_ints(graph, n, "axes", (int64_t[]){1}, 1);
  y = apply(graph, "Pad", y, ints(graph, "pads", 4, (int64_t[]){0, 1, 0, 2}));
  y = apply(graph, "Unsqueeze", y, ints(graph, "axes", 1, (int64_t[]){1}));
  y = apply(graph, "Expand", y, ints(graph, "wide", 3, (int64_t[]){1, 2, 1}));
  y = node(graph, "Transpose", y, -1, -1, &n);
  hl_node_set_ints(graph, n, "perm", (int64_t[]){0, 2, 1}, 3);
  n = hl_graph_node(graph, "Split", "", (hl_value_id[]){y}, 1, parts, 2);
  hl_node_set_int(graph, n, "axis", 2);
  y = node(graph, "Concat", parts[0], parts[1], -1, &n);
  hl_node_set_int(graph, n, "axis", 1);
  hl_graph_output(graph, apply(graph, "Tile", y, ints(graph, "times", 3, (int64_t[]){1, 1, 2})));
}

static void attention(hl_graph *graph) {
  hl_node *n;
  int64_t width[1] = {4};
  hl_value_id x = hl_graph_input(graph, "x", HL_FLOAT32, 3, (int64_t[]){-1, 3, 4});
  hl_value_id y = node(graph, "LayerNormalization", x, weights(graph, "s", 1, width),
                       weights(graph, "b", 1, width), &n);
  hl_value_id q = apply(graph, "MatMul", y, weights(graph, "w", 2, (int64_t[]){4, 4}));
  hl_value_id k = node(graph, "Transpose", y, -1, -1, &n);
  hl_node_set_ints(graph, n, "perm", (int64_t[]){0, 2, 1}, 3);
  y = apply(graph, "Softmax", apply(graph, "MatMul", q, k), -1);
  y = node(graph, "ReduceMean", y, -1, -1, &n);
  hl_node_set_ints(graph, n, "axes", (int64_t[]){-1}, 1);
  y = apply(graph, "Squeeze", y, ints(graph, "last", 1, (int64_t[]){-1}));
  y = node(graph, "Where", apply(graph, "Greater", y, y), y, weights(graph, "z", 0, width), &n);
  hl_graph_output(graph, apply(graph, "Erf", apply(graph, "Sqrt", y, -1), -1));
}

static void images(hl_graph *graph) {
  hl_node *n;
  float scales[4] = {1, 1, 2, 1.5f};
  hl_value_id x = hl_graph_input(graph, "x", HL_FLOAT32, 4, (int64_t[]){-1, 2, 3, 4});
  hl_value_id s = hl_graph_constant(graph, "scales", HL_FLOAT32, 1, (int64_t[]){4}, scales);
  hl_value_id out, in[3] = {x, -1, s};
  n = hl_graph_node(graph, "Resize", "", in, 3, &out, 1);
  hl_node_set_text(graph, n, "mode", "linear");
  hl_value_id grid = hl_graph_input(graph, "grid", HL_FLOAT32, 4, (int64_t[]){-1, 2, 3, 2});
  hl_graph_symbol(graph, x, 0, "batch");
  hl_graph_symbol(graph, grid, 0, "batch");
  hl_value_id y = node(graph, "GridSample", out, grid, -1, &n);
  hl_node_set_text(graph, n, "padding_mode", "reflection");
  y = node(graph, "InstanceNormalization", y, weights(graph, "g", 1, (int64_t[]){2}),
           weights(graph, "b", 1, (int64_t[]){2}), &n);
  y = node(graph, "ArgMax", y, -1, -1, &n);
  hl_node_set_int(graph, n, "axis", 1);
  y = node(graph, "Cast", y, -1, -1, &n);
  hl_node_set_int(graph, n, "to", HL_FLOAT16);
  hl_graph_output(graph, y);
}

size_t hl_fuzz_seed(size_t index, uint8_t *ret_data, size_t capacity) {
  static void (*const builders[])(hl_graph *) = {convolutions, shapes, attention, images};
  hl_graph *graph;
  ssize_t size = 0;
  if (index >= HL_COUNT(builders) || hl_graph_new("seed", &graph, NULL) != HL_OK) return 0;
  builders[index](graph);
  int fd = memfd_create("seed", MFD_CLOEXEC);
  hl_error error;
  if (hl_onnx_write_fd(graph, fd, &error) != HL_OK) {
    fprintf(stderr, "seed %zu: %s\n", index, error.msg);
    abort();
  }
  size = pread(fd, ret_data, capacity, 0);
  close(fd);
  hl_graph_free(graph);
  return size > 0 ? (size_t)size : 0;
}

/* -- target ---------------------------------------------------------------------------------- */

static bool is_small(const hl_graph *graph) {
  int64_t total = 0;
  for (size_t i = 0; i < graph->value_count; i++) {
    int64_t elements = hl_shape_elements(&graph->values[i].shape);
    if (elements < 0 || elements > max_elements) return false;
    total += elements;
  }
  return total <= max_total && hl_graph_flops(graph) < 1e6;
}

static void run(const hl_graph *graph) {
  hl_tensor_view inputs[8] = {0}, outputs[8] = {0};
  if (graph->input_count > 8 || graph->output_count > 8) return;
  for (size_t i = 0; i < graph->input_count; i++) {
    const hl_value *value = &graph->values[graph->inputs[i]];
    inputs[i] = (hl_tensor_view){.dtype = value->dtype, .rank = value->shape.rank};
    memcpy(inputs[i].dims, value->shape.dims, sizeof inputs[i].dims);
    hl_shape_bytes(&value->shape, value->dtype, &inputs[i].bytes);
    inputs[i].data = calloc(1, inputs[i].bytes + 1);
  }
  hl_graph_evaluate(graph, inputs, outputs, NULL);
  for (size_t i = 0; i < 8; i++) {
    free(inputs[i].data);
    free(outputs[i].data);
  }
}

/* What the reader accepts, the writer must not make unreadable. */
static void rewrite(const hl_graph *graph) {
  int fd = memfd_create("copy", MFD_CLOEXEC);
  off_t size;
  if (hl_onnx_write_fd(graph, fd, NULL) == HL_OK && (size = lseek(fd, 0, SEEK_END)) > 0) {
    void *data = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    hl_graph *copy;
    if (data == MAP_FAILED) abort();
    if (hl_onnx_read_memory(data, (size_t)size, "copy", &copy, NULL) != HL_OK) abort();
    hl_graph_free(copy);
    munmap(data, (size_t)size);
  }
  close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hl_graph *graph;
  hl_error error;
  if (hl_onnx_read_memory(data, size, "fuzz", &graph, &error) != HL_OK) return 0;
  rewrite(graph);
  if (hl_graph_infer(graph, &error) == HL_OK || error.msg[0]) {
    if (hl_graph_bind_batch(graph, 2, &error) == HL_OK && hl_graph_infer(graph, &error) == HL_OK &&
        is_small(graph))
      run(graph);
  }
  hl_graph_free(graph);
  return 0;
}
