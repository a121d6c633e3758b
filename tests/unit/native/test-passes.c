/* What the passes leave of small networks: the living nodes and what is fused into them. */
#include "compile/passes.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static hl_value_id constant(hl_graph *g, const char *name, int32_t rank, const int64_t *dims) {
  hl_value_id id = hl_graph_constant(g, name, HL_FLOAT32, rank, dims, NULL);
  hl_shape shape = {.rank = rank};
  for (int i = 0; i < rank; i++) shape.dims[i] = dims[i];
  float *data = hl_graph_data(g, id);
  for (int64_t i = 0; i < hl_shape_elements(&shape); i++) data[i] = 0.5f + (float)(i % 7);
  return id;
}

static hl_value_id number(hl_graph *g, const char *name, float value) {
  return hl_graph_constant(g, name, HL_FLOAT32, 0, NULL, &value);
}

static hl_value_id op(hl_graph *g, const char *type, const char *name, hl_value_id a, hl_value_id b,
                      hl_value_id c) {
  hl_value_id inputs[] = {a, b, c}, output = -1;
  size_t count = c >= 0 ? 3 : b >= 0 ? 2 : 1;
  hl_graph_node(g, type, name, inputs, count, &output, 1);
  return output;
}

/* Runs the passes and writes "Conv+relu Gemm" for what lives. */
static void living(hl_graph *g, hl_value_id output, uint32_t off, char *ret_text, size_t size) {
  hl_error error = {0};
  hl_native_ir ir = {0};
  hl_graph_output(g, output);
  assert_int_equal(hl_graph_status(g, &error), HL_OK);
  assert_int_equal(hl_graph_resolve(g, &error), HL_OK);
  assert_int_equal(hl_graph_bind_batch(g, 2, &error), HL_OK);
  assert_int_equal(hl_graph_infer(g, &error), HL_OK);
  assert_int_equal(hl_native_ir_init(&ir, g, &error), HL_OK);
  assert_int_equal(hl_native_passes(&ir, off, &error), HL_OK);
  size_t at = 0;
  ret_text[0] = 0;
  for (size_t i = 0; i < ir.node_count; i++) {
    const hl_native_node *node = &ir.nodes[i];
    if (node->dead) continue;
    at += (size_t)snprintf(ret_text + at, size - at, "%s%s%s%s", at ? " " : "", node->op,
                           node->scale >= 0 ? "*scale" : "", node->channel_slice ? "[slice]" : "");
    for (int k = 0; k < node->post_count; k++)
      at += (size_t)snprintf(ret_text + at, size - at,
                             node->posts[k].kind == HL_POST_ADD ? "+add" : "+fn");
  }
  hl_native_ir_release(&ir);
}

typedef hl_value_id (*network)(hl_graph *g);

static hl_value_id conv_norm_relu(hl_graph *g) {
  hl_value_id x = hl_graph_input(g, "x", HL_FLOAT32, 4, (int64_t[]){-1, 4, 6, 6});
  hl_value_id w = constant(g, "w", 4, (int64_t[]){8, 4, 3, 3});
  hl_value_id y = op(g, "Conv", "conv", x, w, -1), norm[5] = {y};
  const char *const names[] = {"g", "b", "m", "v"};
  for (int i = 0; i < 4; i++) norm[i + 1] = constant(g, names[i], 1, (int64_t[]){8});
  hl_graph_node(g, "BatchNormalization", "norm", norm, 5, &y, 1);
  return op(g, "Relu", "relu", y, -1, -1);
}

static hl_value_id residual(hl_graph *g) {
  hl_value_id x = hl_graph_input(g, "x", HL_FLOAT32, 4, (int64_t[]){-1, 4, 6, 6});
  hl_value_id w = constant(g, "w", 4, (int64_t[]){4, 4, 1, 1});
  hl_value_id a = op(g, "Conv", "a", x, w, -1), b = op(g, "Conv", "b", x, w, -1);
  return op(g, "Relu", "relu", op(g, "Add", "add", a, b, -1), -1, -1);
}

static hl_value_id read_twice(hl_graph *g) {
  hl_value_id x = hl_graph_input(g, "x", HL_FLOAT32, 4, (int64_t[]){-1, 4, 6, 6});
  hl_value_id w = constant(g, "w", 4, (int64_t[]){4, 4, 1, 1});
  hl_value_id a = op(g, "Conv", "a", x, w, -1);
  return op(g, "Mul", "mul", op(g, "Relu", "relu", a, -1, -1), a, -1);
}

static hl_value_id gelu(hl_graph *g) {
  hl_value_id x = hl_graph_input(g, "x", HL_FLOAT32, 2, (int64_t[]){-1, 4});
  hl_value_id e =
      op(g, "Erf", "erf", op(g, "Div", "div", x, number(g, "r", 1.41421356f), -1), -1, -1);
  hl_value_id a = op(g, "Add", "add", e, number(g, "one", 1), -1);
  return op(g, "Mul", "half", op(g, "Mul", "mul", x, a, -1), number(g, "h", 0.5f), -1);
}

static hl_value_id not_gelu(hl_graph *g) {
  hl_value_id x = hl_graph_input(g, "x", HL_FLOAT32, 2, (int64_t[]){-1, 4});
  hl_value_id e = op(g, "Erf", "erf", op(g, "Div", "div", x, number(g, "r", 1.5f), -1), -1, -1);
  hl_value_id a = op(g, "Add", "add", e, number(g, "one", 1), -1);
  return op(g, "Mul", "half", op(g, "Mul", "mul", x, a, -1), number(g, "h", 0.5f), -1);
}

static hl_value_id folded(hl_graph *g) {
  hl_value_id x = hl_graph_input(g, "x", HL_FLOAT32, 2, (int64_t[]){-1, 4});
  hl_value_id w = op(g, "Neg", "neg", constant(g, "w", 2, (int64_t[]){4, 3}), -1, -1);
  hl_value_id y = op(g, "MatMul", "mm", op(g, "Identity", "id", x, -1, -1), w, -1);
  return op(g, "Add", "bias", constant(g, "b", 1, (int64_t[]){3}), y, -1);
}

static hl_value_id layer_norm(hl_graph *g) {
  hl_value_id x = hl_graph_input(g, "x", HL_FLOAT32, 2, (int64_t[]){-1, 4}), mean, square;
  hl_node *node = hl_graph_node(g, "ReduceMean", "mean", &x, 1, &mean, 1);
  hl_node_set_ints(g, node, "axes", (int64_t[]){-1}, 1);
  hl_value_id d = op(g, "Sub", "sub", x, mean, -1), d2 = op(g, "Mul", "square", d, d, -1);
  node = hl_graph_node(g, "ReduceMean", "variance", &d2, 1, &square, 1);
  hl_node_set_ints(g, node, "axes", (int64_t[]){-1}, 1);
  hl_value_id sum = op(g, "Add", "add", square, number(g, "e", 1e-5f), -1);
  hl_value_id y = op(g, "Div", "div", d, op(g, "Sqrt", "sqrt", sum, -1, -1), -1);
  y = op(g, "Mul", "mul", y, constant(g, "gamma", 1, (int64_t[]){4}), -1);
  return op(g, "Add", "shift", y, constant(g, "beta", 1, (int64_t[]){4}), -1);
}

static hl_value_id slice(hl_graph *g) {
  hl_value_id x = hl_graph_input(g, "x", HL_FLOAT32, 4, (int64_t[]){-1, 4, 6, 6});
  x = op(g, "Relu", "relu", x, -1, -1);
  hl_value_id cut[] = {x, hl_graph_constant(g, "s", HL_INT64, 1, (int64_t[]){1}, (int64_t[]){0}),
                       hl_graph_constant(g, "e", HL_INT64, 1, (int64_t[]){1}, (int64_t[]){3}),
                       hl_graph_constant(g, "a", HL_INT64, 1, (int64_t[]){1}, (int64_t[]){1})};
  hl_graph_node(g, "Slice", "slice", cut, 4, &x, 1);
  return op(g, "Conv", "conv", x, constant(g, "w", 4, (int64_t[]){2, 3, 1, 1}), -1);
}

static void test_passes(void **state) {
  (void)state;
  static const struct {
    network make;
    const char *living, *off;
  } cases[] = {{conv_norm_relu, "Conv*scale+fn", ""},
               {residual, "Conv Conv+add+fn", ""},
               {read_twice, "Conv Relu Mul", ""},
               {gelu, "Gelu", ""},
               {not_gelu, "Div Erf Add Mul Mul", ""},
               {folded, "MatMul", ""},
               {layer_norm, "LayerNormalization", ""},
               {slice, "Relu Conv[slice]", ""},
               {conv_norm_relu, "Conv BatchNormalization Relu", "batch-norm,posts"},
               {conv_norm_relu, "Conv*scale Relu", "posts"},
               {residual, "Conv Conv Add Relu", "winograd,posts"},
               {gelu, "Div Erf Add Mul Mul", "functions"},
               {layer_norm, "ReduceMean Sub Mul ReduceMean Add Sqrt Div Mul Add", "layer-norm"},
               {slice, "Relu Slice Conv", "padding"},
               {slice, "Relu Slice Conv", "all"}};
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_graph *g = NULL;
    char text[256];
    uint32_t off = 0;
    if (cases[i].off[0]) assert_int_equal(hl_native_switches_read(cases[i].off, &off, NULL), HL_OK);
    assert_int_equal(hl_graph_new("test", &g, NULL), HL_OK);
    g->opset = 17;
    living(g, cases[i].make(g), off, text, sizeof(text));
    assert_string_equal(text, cases[i].living);
    hl_graph_free(g);
  }
}

/* Names by themselves and together; what is none is refused. */
static void test_switches(void **state) {
  (void)state;
  hl_error error = {0};
  uint32_t off = 0;
  assert_int_equal(hl_native_switches_read("winograd", &off, &error), HL_OK);
  assert_true(!hl_native_does(off, HL_NATIVE_WINOGRAD) && hl_native_does(off, HL_NATIVE_POSTS));
  assert_int_equal(hl_native_switches_read("posts,taps", &off, &error), HL_OK);
  assert_true(!hl_native_does(off, HL_NATIVE_WINOGRAD) && !hl_native_does(off, HL_NATIVE_TAPS));
  assert_int_equal(hl_native_switches_read(" pools , sums", &off, &error), HL_OK);
  assert_true(!hl_native_does(off, HL_NATIVE_POOLS) && !hl_native_does(off, HL_NATIVE_SUMS));
  assert_true(hl_native_does(UINT32_MAX, HL_NATIVE_ALWAYS));
  static const char *const bad[] = {"",           ",",  "post", "postss", "posts,", "posts,,taps",
                                    "posts taps", "al", " "};
  for (size_t i = 0; i < HL_COUNT(bad); i++) {
    off = 0;
    assert_int_equal(hl_native_switches_read(bad[i], &off, &error), HL_INVALID_ARGUMENT);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_passes),
                                     cmocka_unit_test(test_switches)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
