/* Building, reading, sorting and copying of graphs. */
#include "graph/graph.h"
#include "graph/operator.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static hl_graph *fresh(void) {
  hl_graph *graph;
  assert_int_equal(hl_graph_new("test", &graph, NULL), HL_OK);
  return graph;
}

static hl_value_id input(hl_graph *graph, const char *name) {
  return hl_graph_input(graph, name, HL_FLOAT32, 2, (int64_t[]){-1, 3});
}

static hl_value_id unary(hl_graph *graph, const char *op, const char *name, hl_value_id x) {
  hl_value_id y;
  hl_graph_node(graph, op, name, &x, 1, &y, 1);
  return y;
}

static void builds_values_and_nodes(void **state) {
  (void)state;
  hl_graph *graph = fresh();
  hl_value_id x = input(graph, "x"), out[2];
  float data[3] = {1, 2, 3};
  hl_value_id w = hl_graph_constant(graph, "w", HL_FLOAT32, 1, (int64_t[]){3}, data);
  hl_node *node = hl_graph_node(graph, "Split", "s", (hl_value_id[]){x, -1}, 2, out, 2);
  hl_node_set_int(graph, node, "axis", 1);
  hl_graph_output(graph, out[1]);
  assert_int_equal(hl_graph_status(graph, NULL), HL_OK);
  assert_string_equal(graph->values[out[0]].name, "s_out");
  assert_string_equal(graph->values[out[1]].name, "s_out1");
  assert_int_equal(graph->values[out[1]].producer, 0);
  assert_true(graph->values[out[1]].is_output);
  assert_int_equal(hl_graph_find(graph, "w"), w);
  assert_int_equal(hl_graph_find(graph, "none"), -1);
  assert_ptr_equal(hl_node_input(graph, node, 0), &graph->values[x]);
  assert_null(hl_node_input(graph, node, 1)); /* omitted */
  assert_null(hl_node_input(graph, node, 2)); /* beyond */
  data[0] = 9;                                /* the graph has a copy */
  assert_true(*(const float *)graph->values[w].data == 1);
  assert_non_null(hl_graph_data(graph, w));
  assert_null(hl_graph_data(graph, x));
  assert_int_equal(graph->values[w].bytes, 12);
  hl_graph_free(graph);
}

static void borrows_and_zeroes_constants(void **state) {
  (void)state;
  static const float data[2] = {1, 2};
  hl_graph *graph = fresh();
  hl_value_id a = hl_graph_constant_borrowed(graph, "a", HL_FLOAT32, 1, (int64_t[]){2}, data);
  hl_value_id b = hl_graph_constant(graph, "b", HL_INT64, 0, NULL, NULL);
  assert_ptr_equal(graph->values[a].data, data);
  assert_null(hl_graph_data(graph, a)); /* not ours to write */
  assert_int_equal(*(int64_t *)hl_graph_data(graph, b), 0);
  assert_int_equal((uintptr_t)hl_graph_data(graph, b) % 64, 0);
  hl_graph_free(graph);
}

static void keeps_the_first_failure(void **state) {
  (void)state;
  hl_graph *graph = fresh();
  hl_error error;
  hl_value_id x = input(graph, "x"), y;
  assert_int_equal(input(graph, "x"), -1); /* the name is taken */
  assert_null(hl_graph_node(graph, "Relu", "r", &x, 1, &y, 1));
  assert_int_equal(y, -1);
  hl_node_set_int(graph, NULL, "axis", 1);
  hl_graph_output(graph, y);
  hl_graph_symbol(graph, x, 7, "far");
  assert_int_equal(hl_graph_status(graph, &error), HL_INVALID_ARGUMENT);
  assert_non_null(strstr(error.msg, "called 'x'"));
  assert_int_equal(hl_graph_infer(graph, &error), HL_INVALID_ARGUMENT);
  hl_graph_free(graph);
}

static void refuses_bad_arguments(void **state) {
  (void)state;
  static const struct {
    int32_t rank;
    int64_t dim;
    hl_dtype dtype;
  } cases[] = {
      {9, 1, HL_FLOAT32},         {-1, 1, HL_FLOAT32},     {1, -2, HL_FLOAT32},
      {1, INT64_MAX, HL_FLOAT32}, {1, -1, HL_FLOAT32}, /* a constant has no unknown dimension */
      {1, 3, HL_STRING},          {8, 1 << 20, HL_FLOAT32}}; /* 2^160 elements */
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_graph *graph = fresh();
    int64_t dims[9];
    for (int d = 0; d < 9; d++) dims[d] = cases[i].dim;
    assert_int_equal(hl_graph_constant(graph, "c", cases[i].dtype, cases[i].rank, dims, NULL), -1);
    assert_int_equal(hl_graph_status(graph, NULL), HL_INVALID_ARGUMENT);
    hl_graph_free(graph);
  }
  hl_graph *graph = fresh();
  hl_value_id y;
  assert_null(hl_graph_node(graph, "Relu", "r", (hl_value_id[]){5}, 1, &y, 1));
  assert_int_equal(hl_graph_status(graph, NULL), HL_INVALID_ARGUMENT);
  hl_graph_free(graph);
}

static void attributes_read_back(void **state) {
  (void)state;
  hl_graph *graph = fresh();
  hl_value_id x = input(graph, "x"), y;
  hl_node *node = hl_graph_node(graph, "Any", "n", &x, 1, &y, 1);
  int64_t ints[2] = {3, -4}, got[2] = {0};
  hl_node_set_int(graph, node, "i", 1);
  hl_node_set_int(graph, node, "i", 2); /* replaces */
  hl_node_set_real(graph, node, "f", 0.5f);
  hl_node_set_text(graph, node, "s", "SAME");
  hl_node_set_ints(graph, node, "l", ints, 2);
  for (int i = 0; i < 40; i++) {
    char name[8];
    snprintf(name, sizeof name, "a%d", i);
    hl_node_set_int(graph, node, name, i);
  }
  assert_int_equal(node->attribute_count, 44);
  assert_int_equal(hl_node_int(node, "i", 7), 2);
  assert_int_equal(hl_node_int(node, "a39", 7), 39);
  assert_int_equal(hl_node_int(node, "none", 7), 7);
  assert_int_equal(hl_node_int(node, "f", 7), 7); /* another kind */
  assert_true(hl_node_real(node, "f", 0) == 0.5f);
  assert_string_equal(hl_node_text(node, "s", ""), "SAME");
  assert_int_equal(hl_node_ints(node, "l", got, 1), 2);
  assert_int_equal(got[0], 3);
  assert_int_equal(got[1], 0); /* beyond the capacity */
  assert_int_equal(hl_node_ints(node, "none", got, 2), 0);
  hl_graph_free(graph);
}

static void renames(void **state) {
  (void)state;
  hl_graph *graph = fresh();
  hl_value_id x = input(graph, "x"), y = unary(graph, "Relu", "r", x);
  hl_graph_rename(graph, y, "logits");
  assert_int_equal(hl_graph_find(graph, "logits"), y);
  assert_int_equal(hl_graph_find(graph, "r_out"), -1);
  hl_graph_rename(graph, y, "logits");
  assert_int_equal(hl_graph_status(graph, NULL), HL_OK);
  hl_graph_rename(graph, y, "x");
  assert_int_equal(hl_graph_status(graph, NULL), HL_INVALID_ARGUMENT);
  hl_graph_free(graph);
}

static void many_values_are_found(void **state) {
  (void)state;
  hl_graph *graph = fresh();
  hl_value_id x = input(graph, "x");
  char name[32];
  for (int i = 0; i < 3000; i++) {
    snprintf(name, sizeof name, "node%d", i);
    x = unary(graph, "Relu", name, x);
  }
  for (int i = 0; i < 3000; i++) {
    snprintf(name, sizeof name, "node%d_out", i);
    assert_int_equal(hl_graph_find(graph, name), i + 1);
  }
  hl_graph_free(graph);
}

static void swap_nodes(hl_graph *graph, size_t a, size_t b) {
  hl_node node = graph->nodes[a];
  graph->nodes[a] = graph->nodes[b];
  graph->nodes[b] = node;
  for (size_t n = 0; n < graph->node_count; n++)
    graph->values[graph->nodes[n].outputs[0]].producer = (int32_t)n;
}

static void sorts(void **state) {
  (void)state;
  hl_graph *graph = fresh();
  hl_value_id x = input(graph, "x"), a = unary(graph, "Relu", "a", x);
  hl_value_id b = unary(graph, "Neg", "b", a), c;
  hl_graph_node(graph, "Add", "c", (hl_value_id[]){a, b}, 2, &c, 1);
  swap_nodes(graph, 0, 2);
  assert_int_equal(hl_graph_sort(graph, NULL), HL_OK);
  static const char *const order[] = {"a", "b", "c"};
  for (size_t n = 0; n < 3; n++) {
    assert_string_equal(graph->nodes[n].name, order[n]);
    assert_int_equal(graph->values[graph->nodes[n].outputs[0]].producer, n);
  }
  hl_graph_free(graph);
}

static void names_a_node_on_a_cycle(void **state) {
  (void)state;
  hl_graph *graph = fresh();
  hl_error error;
  hl_value_id x = input(graph, "x"), a = unary(graph, "Relu", "good", x);
  hl_value_id b = unary(graph, "Neg", "loop", a), c = unary(graph, "Abs", "back", b);
  graph->nodes[1].inputs[0] = c;
  assert_int_equal(hl_graph_sort(graph, &error), HL_BAD_DATA);
  assert_non_null(strstr(error.msg, "'loop' (Neg)"));
  hl_graph_free(graph);
}

static void clones(void **state) {
  (void)state;
  hl_graph *graph = fresh(), *copy;
  hl_value_id x = input(graph, "x"), y;
  hl_graph_symbol(graph, x, 0, "batch");
  hl_value_id w = hl_graph_constant(graph, "w", HL_FLOAT32, 2, (int64_t[]){3, 4}, NULL);
  hl_node *node = hl_graph_node(graph, "Gemm", "g", (hl_value_id[]){x, w}, 2, &y, 1);
  hl_node_set_int(graph, node, "transB", 0);
  hl_node_set_text(graph, node, "note", "text");
  hl_node_set_ints(graph, node, "list", (int64_t[]){1, 2}, 2);
  hl_graph_output(graph, y);
  assert_int_equal(hl_graph_resolve(graph, NULL), HL_OK);
  assert_int_equal(hl_graph_clone(graph, &copy, NULL), HL_OK);
  assert_int_equal(hl_graph_bind_batch(copy, 5, NULL), HL_OK);
  assert_int_equal(hl_graph_infer(copy, NULL), HL_OK);
  assert_int_equal(copy->values[y].shape.dims[0], 5);
  assert_int_equal(graph->values[x].shape.dims[0], -1); /* the original is untouched */
  assert_ptr_equal(copy->values[w].data, graph->values[w].data);
  assert_ptr_not_equal(copy->values[x].symbols[0], graph->values[x].symbols[0]);
  assert_string_equal(hl_node_text(&copy->nodes[0], "note", ""), "text");
  assert_true(copy->values[y].is_output);
  assert_int_equal(copy->output_count, 1);
  assert_int_equal(hl_graph_parameters(copy), 12);
  assert_true(hl_graph_flops(copy) == 2.0 * 5 * 3 * 4);
  hl_graph_free(copy);
  hl_graph_free(graph);
}

static void types_have_names_and_sizes(void **state) {
  (void)state;
  static const struct {
    hl_dtype dtype;
    const char *name;
    size_t bytes;
  } cases[] = {{HL_FLOAT32, "float32", 4}, {HL_BFLOAT16, "bfloat16", 2},
               {HL_BOOL, "bool", 1},       {HL_INT64, "int64", 8},
               {HL_STRING, "string", 0},   {HL_COMPLEX128, "complex128", 16}};
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    assert_string_equal(hl_dtype_name(cases[i].dtype), cases[i].name);
    assert_int_equal(hl_dtype_bytes(cases[i].dtype), cases[i].bytes);
    assert_int_equal(hl_dtype_from_name(cases[i].name), cases[i].dtype);
  }
  assert_int_equal(hl_dtype_from_name("float31"), HL_DTYPE_NONE);
  assert_string_equal(hl_dtype_name((hl_dtype)99), "unknown");
}

static void sizes_do_not_overflow(void **state) {
  (void)state;
  static const struct {
    hl_shape shape;
    int64_t elements;
    bool has_bytes;
  } cases[] = {
      {{.rank = 0}, 1, true},
      {{.rank = 2, .dims = {3, 4}}, 12, true},
      {{.rank = 2, .dims = {3, -1}}, -1, false},
      {{.rank = -1}, -1, false},
      {{.rank = 2, .dims = {INT64_MAX, 2}}, -1, false},
      {{.rank = 3, .dims = {INT64_MAX, 2, 0}}, 0, true},
      {{.rank = 1, .dims = {INT64_MAX}}, INT64_MAX, false},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    uint64_t bytes;
    assert_int_equal(hl_shape_elements(&cases[i].shape), cases[i].elements);
    assert_int_equal(hl_shape_bytes(&cases[i].shape, HL_FLOAT32, &bytes), cases[i].has_bytes);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(builds_values_and_nodes),    cmocka_unit_test(borrows_and_zeroes_constants),
      cmocka_unit_test(keeps_the_first_failure),    cmocka_unit_test(refuses_bad_arguments),
      cmocka_unit_test(attributes_read_back),       cmocka_unit_test(renames),
      cmocka_unit_test(many_values_are_found),      cmocka_unit_test(sorts),
      cmocka_unit_test(names_a_node_on_a_cycle),    cmocka_unit_test(clones),
      cmocka_unit_test(types_have_names_and_sizes), cmocka_unit_test(sizes_do_not_overflow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
