/* Binding, inference with known and unknown dimensions, folding, FLOPs, evaluation. */
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

/* One operator on one or two inputs with one integer list attribute. */
typedef struct shape_case {
  const char *op;
  int64_t opset;
  hl_shape a, b;         /* rank -2: no second input */
  const char *attribute; /* or NULL */
  int64_t list[8];
  size_t count;      /* 0: the attribute is list[0] */
  hl_shape expected; /* rank -2: an error that holds `message` */
  double flops;
  const char *message;
} shape_case;

#define S(n, ...)                                                                                  \
  {                                                                                                \
    .rank = n, .dims = { __VA_ARGS__ }                                                             \
  }
#define NONE                                                                                       \
  { .rank = -2 }

static const shape_case shape_cases[] = {
    {"Relu", 17, S(2, 2, 3), NONE, NULL, {0}, 0, S(2, 2, 3), 6, NULL},
    {"Add", 17, S(3, 2, 1, 4), S(2, 3, 1), NULL, {0}, 0, S(3, 2, 3, 4), 24, NULL},
    {"Add", 17, S(1, 3), S(1, 4), NULL, {0}, 0, NONE, 0, "does not broadcast"},
    {"Equal", 17, S(1, 3), S(1, 3), NULL, {0}, 0, S(1, 3), 3, NULL},
    {"PRelu", 17, S(1, 1), S(1, 3), NULL, {0}, 0, NONE, 0, "slope"},
    {"MatMul", 17, S(3, 5, 2, 3), S(2, 3, 4), NULL, {0}, 0, S(3, 5, 2, 4), 240, NULL},
    {"MatMul", 17, S(1, 3), S(1, 3), NULL, {0}, 0, S(0, 0), 6, NULL},
    {"MatMul", 17, S(2, 2, 3), S(2, 4, 3), NULL, {0}, 0, NONE, 0, "multiplied"},
    {"Gemm", 17, S(2, 2, 3), S(2, 4, 3), "transB", {1}, 0, S(2, 2, 4), 48, NULL},
    {"Gemm", 17, S(2, 2, 3), S(2, 4, 3), NULL, {0}, 0, NONE, 0, "A has 3 columns and B has 4"},
    {"Conv",
     17,
     S(4, 1, 2, 5, 5),
     S(4, 3, 2, 3, 3),
     "pads",
     {1, 1, 1, 1},
     4,
     S(4, 1, 3, 5, 5),
     2700,
     NULL},
    {"Conv", 17, S(4, 1, 4, 5, 5), S(4, 6, 2, 3, 3), "group", {2}, 0, S(4, 1, 6, 3, 3), 1944, NULL},
    {"Conv", 17, S(4, 1, 3, 5, 5), S(4, 3, 2, 3, 3), NULL, {0}, 0, NONE, 0, "3 channels"},
    {"Conv", 17, S(4, 1, 2, 2, 5), S(4, 3, 2, 3, 3), NULL, {0}, 0, NONE, 0, "does not fit"},
    {"Conv",
     17,
     S(4, 1, 2, 5, 5),
     S(4, 3, 2, 3, 3),
     "strides",
     {0, 1},
     2,
     NONE,
     0,
     "'strides' holds 0"},
    {"Conv",
     17,
     S(4, 1, 2, 5, 5),
     S(4, 3, 2, 3, 3),
     "pads",
     {1, 1},
     2,
     NONE,
     0,
     "2 numbers; expected 4"},
    {"Conv", 17, S(4, 1, 2, 5, 5), S(4, 3, 2, 3, 3), "group", {0}, 0, NONE, 0, "group is 0"},
    {"ConvTranspose",
     17,
     S(3, 1, 2, 5),
     S(3, 2, 3, 4),
     "strides",
     {2},
     1,
     S(3, 1, 3, 12),
     240,
     NULL},
    {"ConvTranspose",
     17,
     S(3, 1, 2, 5),
     S(3, 2, 3, 4),
     "pads",
     {9, 9},
     2,
     NONE,
     0,
     "leave nothing"},
    {"MaxPool", 17, S(3, 1, 2, 6), NONE, "kernel_shape", {3}, 1, S(3, 1, 2, 4), 24, NULL},
    {"MaxPool", 17, S(3, 1, 2, 6), NONE, NULL, {0}, 0, NONE, 0, "'kernel_shape' is missing"},
    {"GlobalAveragePool", 17, S(4, 1, 2, 6, 5), NONE, NULL, {0}, 0, S(4, 1, 2, 1, 1), 60, NULL},
    {"ReduceMean", 13, S(3, 2, 3, 4), NONE, "axes", {0, -1}, 2, S(3, 1, 3, 1), 24, NULL},
    {"ReduceMean", 13, S(3, 2, 3, 4), NONE, "axes", {3}, 1, NONE, 0, "axis 3 is outside"},
    {"ReduceMean", 13, S(3, 2, 3, 4), NONE, "keepdims", {0}, 0, S(0, 0), 24, NULL},
    {"ArgMax", 13, S(2, 2, 3), NONE, "axis", {-1}, 0, S(2, 2, 1), 6, NULL},
    {"Softmax", 13, S(2, 2, 3), NONE, "axis", {2}, 0, NONE, 0, "axis 2 is outside"},
    {"Softmax", 13, S(2, 2, 3), NONE, NULL, {0}, 0, S(2, 2, 3), 30, NULL},
    {"Flatten", 13, S(3, 2, 3, 4), NONE, "axis", {2}, 0, S(2, 6, 4), 0, NULL},
    {"Transpose", 13, S(3, 2, 3, 4), NONE, "perm", {2, 0, 1}, 3, S(3, 4, 2, 3), 0, NULL},
    {"Transpose", 13, S(3, 2, 3, 4), NONE, "perm", {2, 2, 1}, 3, NONE, 0, "not a permutation"},
    {"Concat", 13, S(2, 2, 3), S(2, 2, 5), "axis", {1}, 0, S(2, 2, 8), 0, NULL},
    {"Concat", 13, S(2, 2, 3), S(2, 3, 5), "axis", {1}, 0, NONE, 0, "dimension 0 is 3"},
    {"Squeeze", 11, S(3, 1, 3, 1), NONE, "axes", {0}, 1, S(2, 3, 1), 0, NULL},
    {"Squeeze", 11, S(3, 1, 3, 1), NONE, "axes", {1}, 1, NONE, 0, "not 1"},
    {"Unsqueeze", 11, S(1, 3), NONE, "axes", {0, 2}, 2, S(3, 1, 3, 1), 0, NULL},
    {"Unsqueeze", 11, S(1, 3), NONE, "axes", {0, 0}, 2, NONE, 0, "twice"},
    {"Unsqueeze", 11, S(8, 1, 1, 1, 1, 1, 1, 1, 1), NONE, "axes", {0}, 1, NONE, 0, "9 dimensions"},
    {"Pad", 9, S(2, 2, 3), NONE, "pads", {0, 1, 1, 0}, 4, S(2, 3, 4), 0, NULL},
    {"Pad", 9, S(2, 2, 3), NONE, "pads", {0, INT64_MIN, 0, 0}, 4, NONE, 0, "out of range"},
    {"Split", 11, S(2, 2, 4), NONE, "axis", {1}, 0, S(2, 2, 4), 0, NULL},
    {"Cast", 17, S(1, 3), NONE, "to", {8}, 0, NONE, 0, "element type 8"},
    {"Shape", 17, S(3, 2, 3, 4), NONE, NULL, {0}, 0, S(1, 3), 0, NULL},
    {"GridSample",
     17,
     S(4, 1, 2, 5, 6),
     S(4, 1, 3, 4, 2),
     NULL,
     {0},
     0,
     S(4, 1, 2, 3, 4),
     192,
     NULL},
    /* unknown dimensions stay unknown and known ones known */
    {"Relu", 17, S(2, -1, 3), NONE, NULL, {0}, 0, S(2, -1, 3), 0, NULL},
    {"Add", 17, S(2, -1, 3), S(1, 3), NULL, {0}, 0, S(2, -1, 3), 0, NULL},
    {"Conv", 17, S(4, -1, 2, 5, -1), S(4, 3, 2, 3, 3), NULL, {0}, 0, S(4, -1, 3, 3, -1), 0, NULL},
    {"MatMul", 17, S(3, -1, -1, 3), S(2, 3, 4), NULL, {0}, 0, S(3, -1, -1, 4), 0, NULL},
    {"Flatten", 17, S(3, -1, 3, 4), NONE, NULL, {0}, 0, S(2, -1, 12), 0, NULL},
    {"Squeeze", 11, S(3, 1, -1, 1), NONE, NULL, {0}, 0, S(-1, 0), 0, NULL},
    {"MaxPool", 17, S(3, -1, 2, -1), NONE, "kernel_shape", {3}, 1, S(3, -1, 2, -1), 0, NULL},
};

static void assert_shape(const shape_case *c, const hl_shape *got) {
  bool same = got->rank == c->expected.rank;
  for (int32_t d = 0; same && d < got->rank; d++) same = got->dims[d] == c->expected.dims[d];
  if (!same) fail_msg("%s: rank %d, first %ld", c->op, got->rank, (long)got->dims[0]);
}

static void infers_shapes(void **state) {
  (void)state;
  for (size_t i = 0; i < HL_COUNT(shape_cases); i++) {
    const shape_case *c = &shape_cases[i];
    hl_graph *graph = fresh();
    hl_error error = {0};
    graph->opset = c->opset;
    hl_value_id y, x[2] = {hl_graph_input(graph, "a", HL_FLOAT32, c->a.rank, c->a.dims), -1};
    bool two = c->b.rank >= 0;
    if (two) x[1] = hl_graph_input(graph, "b", HL_FLOAT32, c->b.rank, c->b.dims);
    hl_node *node = hl_graph_node(graph, c->op, "n", x, two ? 2 : 1, &y, 1);
    if (c->attribute && c->count)
      hl_node_set_ints(graph, node, c->attribute, c->list, c->count);
    else if (c->attribute)
      hl_node_set_int(graph, node, c->attribute, c->list[0]);
    hl_graph_output(graph, y);
    assert_int_equal(hl_graph_resolve(graph, &error), HL_OK);
    hl_status status = hl_graph_infer(graph, &error);
    if (c->message) {
      assert_int_not_equal(status, HL_OK);
      if (!strstr(error.msg, c->message)) fail_msg("%s: %s", c->op, error.msg);
      assert_non_null(strstr(error.msg, "node 'n'"));
    } else {
      if (status != HL_OK) fail_msg("%s: %s", c->op, error.msg);
      assert_shape(c, &graph->values[y].shape);
      if (c->flops != 0) assert_true(hl_graph_flops(graph) == c->flops);
    }
    hl_graph_free(graph);
  }
}

/* Reshape to (batch, everything else) by Shape, Gather and Concat. */
static hl_graph *shape_chain(hl_value_id *ret_y) {
  hl_graph *graph = fresh();
  hl_value_id x = hl_graph_input(graph, "x", HL_FLOAT32, 3, (int64_t[]){-1, 3, 4}), s, n, to;
  hl_value_id zero = hl_graph_constant(graph, "zero", HL_INT64, 1, (int64_t[]){1}, NULL);
  hl_value_id rest = hl_graph_constant(graph, "rest", HL_INT64, 1, (int64_t[]){1}, &(int64_t){-1});
  hl_graph_symbol(graph, x, 0, "batch");
  hl_graph_node(graph, "Shape", "s", &x, 1, &s, 1);
  hl_graph_node(graph, "Gather", "n", (hl_value_id[]){s, zero}, 2, &n, 1);
  hl_node *node = hl_graph_node(graph, "Concat", "to", (hl_value_id[]){n, rest}, 2, &to, 1);
  hl_node_set_int(graph, node, "axis", 0);
  hl_graph_node(graph, "Reshape", "y", (hl_value_id[]){x, to}, 2, ret_y, 1);
  hl_graph_output(graph, *ret_y);
  assert_int_equal(hl_graph_resolve(graph, NULL), HL_OK);
  return graph;
}

static void folds_shapes(void **state) {
  (void)state;
  hl_value_id y;
  hl_graph *graph = shape_chain(&y);
  assert_int_equal(hl_graph_infer(graph, NULL), HL_OK); /* unbound: rank only */
  assert_int_equal(graph->values[y].shape.rank, 2);
  assert_int_equal(graph->values[y].shape.dims[1], -1);
  assert_int_equal(hl_graph_bind_batch(graph, 7, NULL), HL_OK);
  for (int again = 0; again < 2; again++) { /* inference may be repeated */
    assert_int_equal(hl_graph_infer(graph, NULL), HL_OK);
    assert_int_equal(graph->values[y].shape.dims[0], 7);
    assert_int_equal(graph->values[y].shape.dims[1], 12);
  }
  hl_graph_free(graph);
}

static void needs_known_shapes_once_bound(void **state) {
  (void)state;
  hl_graph *graph = fresh();
  hl_error error;
  hl_value_id x = hl_graph_input(graph, "x", HL_FLOAT32, 1, (int64_t[]){4});
  hl_value_id s = hl_graph_input(graph, "s", HL_INT64, 1, (int64_t[]){2}), y;
  hl_graph_node(graph, "Reshape", "r", (hl_value_id[]){x, s}, 2, &y, 1);
  assert_int_equal(hl_graph_resolve(graph, NULL), HL_OK);
  assert_int_equal(hl_graph_infer(graph, &error), HL_UNIMPLEMENTED);
  assert_non_null(strstr(error.msg, "'r_out' depends on data"));
  hl_graph_free(graph);
}

static void binds(void **state) {
  (void)state;
  hl_graph *graph = fresh();
  hl_error error;
  hl_value_id a = hl_graph_input(graph, "a", HL_FLOAT32, 2, (int64_t[]){-1, 3});
  hl_value_id b = hl_graph_input(graph, "b", HL_FLOAT32, 2, (int64_t[]){5, -1});
  hl_graph_symbol(graph, a, 0, "batch");
  hl_graph_symbol(graph, b, 1, "batch");
  assert_int_equal(hl_graph_bind(graph, 0, 2, (int64_t[]){2, 4}, &error), HL_INVALID_ARGUMENT);
  assert_non_null(strstr(error.msg, "dimension 1 is 3"));
  assert_int_equal(hl_graph_bind(graph, 0, 3, (int64_t[]){2, 3, 1}, &error), HL_INVALID_ARGUMENT);
  assert_int_equal(hl_graph_bind(graph, 2, 2, (int64_t[]){2, 3}, &error), HL_INVALID_ARGUMENT);
  assert_int_equal(hl_graph_bind(graph, 0, 2, (int64_t[]){-1, 3}, &error), HL_INVALID_ARGUMENT);
  assert_int_equal(hl_graph_bind_batch(graph, 0, &error), HL_INVALID_ARGUMENT);
  assert_int_equal(hl_graph_bind(graph, 0, 2, (int64_t[]){2, 3}, &error), HL_OK);
  assert_int_equal(graph->values[b].shape.dims[1], 2); /* the same symbol */
  assert_int_equal(hl_graph_bind(graph, 1, 2, (int64_t[]){5, 9}, &error), HL_INVALID_ARGUMENT);
  assert_int_equal(hl_graph_bind_batch(graph, 8, &error), HL_OK); /* nothing left to bind */
  assert_int_equal(graph->values[a].shape.dims[0], 2);
  hl_graph_free(graph);
}

static void batch_must_lead(void **state) {
  (void)state;
  hl_graph *graph = fresh();
  hl_error error;
  hl_graph_input(graph, "image", HL_FLOAT32, 2, (int64_t[]){-1, -1});
  assert_int_equal(hl_graph_bind_batch(graph, 8, &error), HL_INVALID_ARGUMENT);
  assert_non_null(strstr(error.msg, "'image'"));
  assert_int_equal(graph->values[0].shape.dims[0], -1); /* nothing was bound */
  hl_graph_free(graph);
}

static void resolves_by_opset(void **state) {
  (void)state;
  static const struct {
    const char *domain, *op;
    int64_t opset;
    bool exists;
  } cases[] = {{"", "Conv", 17, true},       {"", "Conv", 1, true},
               {"", "Conv", 22, false},      {"", "Add", 5, false},
               {"", "Gelu", 19, false},      {"", "Gelu", 20, true},
               {"", "Upsample", 9, true},    {"", "Upsample", 10, false},
               {"ai.onnx", "Add", 17, true}, {"ai.onnx.ml", "Add", 17, false}};
  for (size_t i = 0; i < HL_COUNT(cases); i++)
    assert_int_equal(hl_operator_find(cases[i].domain, cases[i].op, cases[i].opset) != NULL,
                     cases[i].exists);
  hl_graph *graph = fresh();
  hl_error error;
  hl_value_id x = hl_graph_input(graph, "x", HL_FLOAT32, 1, (int64_t[]){4}), y;
  hl_graph_node(graph, "ImageDecoder", "image", &x, 1, &y, 1);
  assert_int_equal(hl_graph_resolve(graph, &error), HL_UNIMPLEMENTED);
  assert_non_null(strstr(error.msg, "'image': operator ImageDecoder at opset 17"));
  hl_graph_free(graph);
}

static void table_is_consistent(void **state) {
  (void)state;
  const hl_operator *row, *last = NULL;
  for (size_t i = 0; (row = hl_operator_at(i)); last = row, i++) {
    assert_true(row->since >= 1 && row->since <= row->last && row->last <= 21);
    assert_non_null(row->infer);
    assert_non_null(row->evaluate);
    assert_ptr_equal(hl_operator_find("", row->name, row->since), row);
    assert_true(row->min_inputs <= row->max_inputs && row->max_outputs >= 1);
    if (last && last->group == row->group) assert_true(strcmp(last->name, row->name) < 0);
  }
}

static void evaluates(void **state) {
  (void)state;
  hl_value_id y;
  hl_graph *graph = shape_chain(&y);
  float data[24];
  for (int i = 0; i < 24; i++) data[i] = (float)i;
  hl_tensor_view in = {.dtype = HL_FLOAT32,
                       .rank = 3,
                       .dims = {2, 3, 4},
                       .data = data,
                       .bytes = sizeof data},
                 out = {0};
  hl_error error;
  assert_int_equal(hl_graph_bind_batch(graph, 2, NULL), HL_OK);
  assert_int_equal(hl_graph_infer(graph, NULL), HL_OK);
  assert_int_equal(hl_graph_evaluate(graph, &in, &out, NULL), HL_OK);
  assert_int_equal(out.rank, 2);
  assert_int_equal(out.dims[1], 12);
  assert_memory_equal(out.data, data, sizeof data);
  free(out.data);
  in.dims[0] = 1;
  assert_int_equal(hl_graph_evaluate(graph, &in, &out, &error), HL_INVALID_ARGUMENT);
  assert_non_null(strstr(error.msg, "input 'x'"));
  hl_graph_free(graph);
}

static void counts_inputs(void **state) {
  (void)state;
  static const struct {
    size_t inputs, outputs;
    const char *message;
  } cases[] = {{1, 1, "input number 2 is missing"}, {4, 1, "4 inputs"}, {2, 3, "3 outputs"}};
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_graph *graph = fresh();
    hl_error error;
    hl_value_id x = hl_graph_input(graph, "x", HL_FLOAT32, 2, (int64_t[]){4, 4}), y[3];
    hl_graph_node(graph, "Gemm", "g", (hl_value_id[]){x, x, x, x}, cases[i].inputs, y,
                  cases[i].outputs);
    assert_int_equal(hl_graph_resolve(graph, NULL), HL_OK);
    assert_int_equal(hl_graph_infer(graph, &error), HL_BAD_DATA);
    assert_non_null(strstr(error.msg, cases[i].message));
    hl_graph_free(graph);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(infers_shapes),   cmocka_unit_test(folds_shapes),
      cmocka_unit_test(binds),           cmocka_unit_test(needs_known_shapes_once_bound),
      cmocka_unit_test(batch_must_lead), cmocka_unit_test(resolves_by_opset),
      cmocka_unit_test(evaluates),       cmocka_unit_test(table_is_consistent),
      cmocka_unit_test(counts_inputs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
