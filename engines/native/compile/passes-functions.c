/* Composites that exporters write out, back to the one function they are. */
#include "compile/passes.h"
#include <math.h>
#include <string.h>

/* The node reading `value`, if it is the only one and has this operator and two inputs. */
static hl_native_node *next(hl_native_ir *ir, hl_value_id value, const char *op) {
  hl_native_node *node = hl_native_ir_reader(ir, value);
  return node && strcmp(node->op, op) == 0 && node->input_count == 2 ? node : NULL;
}

/* The node's input that is not `value`. */
static hl_value_id other_input(const hl_native_node *node, hl_value_id value) {
  return node->inputs[0] == value ? node->inputs[1] : node->inputs[0];
}

static bool is_number(const hl_native_ir *ir, hl_value_id value, float number) {
  float x;
  return hl_native_scalar(ir, value, &x) && fabsf(x - number) <= 1e-5f * fabsf(number);
}

/* x from x / sqrt 2 or x * sqrt 1/2; -1 if the value is neither. */
static hl_value_id undo_root(hl_native_ir *ir, hl_value_id value) {
  const hl_native_node *node = hl_native_ir_writer(ir, value);
  if (!node || node->input_count != 2) return -1;
  if (strcmp(node->op, "Div") == 0)
    return is_number(ir, node->inputs[1], 1.41421356f) ? node->inputs[0] : -1;
  if (strcmp(node->op, "Mul") != 0) return -1;
  for (int i = 0; i < 2; i++)
    if (is_number(ir, node->inputs[i], 0.70710678f)) return node->inputs[1 - i];
  return -1;
}

/* Is `value` a half of x? */
static bool is_half(hl_native_ir *ir, hl_value_id value, hl_value_id x) {
  const hl_native_node *node = hl_native_ir_writer(ir, value);
  if (!node || strcmp(node->op, "Mul") != 0 || node->input_count != 2) return false;
  hl_value_id number = other_input(node, x);
  return (node->inputs[0] == x || node->inputs[1] == x) && is_number(ir, number, 0.5f);
}

static void become(hl_native_node *node, const char *op, hl_value_id x) {
  node->op = op;
  node->inputs[0] = x;
  node->input_count = 1;
}

/* x/2 (1 + erf(x / sqrt 2)) from its Erf, in either order of the products. */
static void match_gelu(hl_native_ir *ir, hl_native_node *erf) {
  hl_value_id x = undo_root(ir, erf->inputs[0]);
  hl_native_node *add = x < 0 ? NULL : next(ir, erf->outputs[0], "Add");
  if (!add || !is_number(ir, other_input(add, erf->outputs[0]), 1.0f)) return;
  hl_native_node *product = next(ir, add->outputs[0], "Mul");
  if (!product) return;
  hl_value_id factor = other_input(product, add->outputs[0]);
  hl_native_node *last = next(ir, product->outputs[0], "Mul");
  if (is_half(ir, factor, x)) {
    become(product, "Gelu", x);
  } else if (factor == x && last && is_number(ir, other_input(last, product->outputs[0]), 0.5f)) {
    become(last, "Gelu", x);
  } else if (is_number(ir, factor, 0.5f) && last && other_input(last, product->outputs[0]) == x) {
    become(last, "Gelu", x);
  }
}

/* x * sigmoid(x) from its Sigmoid. */
static void match_swish(hl_native_ir *ir, hl_native_node *sigmoid) {
  hl_native_node *product = next(ir, sigmoid->outputs[0], "Mul");
  if (product && other_input(product, sigmoid->outputs[0]) == sigmoid->inputs[0])
    become(product, "Swish", sigmoid->inputs[0]);
}

hl_status hl_native_pass_functions(hl_native_ir *ir, hl_error *error) {
  for (size_t i = 0; i < ir->node_count; i++) {
    hl_native_node *node = &ir->nodes[i];
    if (node->dead) continue;
    if (strcmp(node->op, "Erf") == 0) match_gelu(ir, node);
    if (strcmp(node->op, "Sigmoid") == 0) match_swish(ir, node);
    if (strcmp(node->op, "Gelu") == 0 && node->op == node->source->op &&
        strcmp(hl_node_text(node->source, "approximate", "none"), "tanh") == 0)
      node->op = "GeluTanh";
  }
  return hl_graph_status(ir->graph, error);
}
