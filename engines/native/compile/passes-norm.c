/* Layer normalisation written out, as exporters did before ONNX had it:
 *   d = x - mean(x);  y = d / sqrt(mean(d^2) + epsilon) * gamma + beta
 * found from its Sqrt. The Div becomes LayerNormalization(x, gamma, beta). */
#include "compile/passes.h"
#include <string.h>

static bool is_op(const hl_native_node *node, const char *op, size_t inputs) {
  return node && strcmp(node->op, op) == 0 && node->input_count >= inputs;
}

/* A mean over the last axis that keeps it: its input, or -1. */
static hl_value_id mean_of(hl_native_ir *ir, hl_value_id value) {
  hl_native_node *node = hl_native_ir_writer(ir, value);
  int64_t axis;
  if (!is_op(node, "ReduceMean", 1) || hl_node_int(node->source, "keepdims", 1) == 0) return -1;
  int rank = hl_native_value(ir, node->inputs[0])->shape.rank;
  bool one = hl_native_input(node, 1) >= 0 ? hl_native_integers(ir, node->inputs[1], &axis, 1) == 1
                                           : hl_node_ints(node->source, "axes", &axis, 1) == 1;
  return one && (axis == -1 || axis == rank - 1) ? node->inputs[0] : -1;
}

/* The value whose square this is, or -1. */
static hl_value_id square_of(hl_native_ir *ir, hl_value_id value) {
  hl_native_node *node = hl_native_ir_writer(ir, value);
  float two;
  if (is_op(node, "Mul", 2) && node->inputs[0] == node->inputs[1]) return node->inputs[0];
  if (is_op(node, "Pow", 2) && hl_native_scalar(ir, node->inputs[1], &two) && two == 2.0f)
    return node->inputs[0];
  return -1;
}

/* A known vector of `n` numbers among the two inputs of the only reader of `value`. */
static hl_native_node *vector_step(hl_native_ir *ir, hl_value_id value, const char *op, int64_t n,
                                   hl_value_id *ret_vector) {
  hl_native_node *node = hl_native_ir_reader(ir, value);
  if (!is_op(node, op, 2)) return NULL;
  hl_value_id vector = node->inputs[0] == value ? node->inputs[1] : node->inputs[0];
  const hl_value *v = hl_native_value(ir, vector);
  if (!hl_native_known(ir, vector) || v->dtype != HL_FLOAT32 || v->shape.rank != 1 ||
      v->shape.dims[0] != n)
    return NULL;
  *ret_vector = vector;
  return node;
}

static bool match(hl_native_ir *ir, const hl_native_node *root) {
  hl_native_node *sum = hl_native_ir_writer(ir, root->inputs[0]);
  float epsilon;
  if (!is_op(sum, "Add", 2)) return false;
  size_t side = hl_native_scalar(ir, sum->inputs[1], &epsilon) ? 0 : 1;
  if (side == 1 && !hl_native_scalar(ir, sum->inputs[0], &epsilon)) return false;
  hl_value_id squares = mean_of(ir, sum->inputs[side]);
  hl_value_id difference = squares < 0 ? -1 : square_of(ir, squares);
  hl_native_node *minus = hl_native_ir_writer(ir, difference);
  if (!is_op(minus, "Sub", 2) || mean_of(ir, minus->inputs[1]) != minus->inputs[0]) return false;
  hl_native_node *quotient = hl_native_ir_reader(ir, root->outputs[0]);
  if (!is_op(quotient, "Div", 2) || quotient->inputs[0] != difference) return false;
  const hl_value *x = hl_native_value(ir, minus->inputs[0]);
  int64_t n = x->shape.dims[x->shape.rank - 1];
  hl_value_id gamma, beta;
  hl_native_node *scaled = vector_step(ir, quotient->outputs[0], "Mul", n, &gamma);
  if (!scaled) return false;
  hl_native_node *shifted = vector_step(ir, scaled->outputs[0], "Add", n, &beta);
  if (!shifted) beta = -1;
  hl_native_node *last = shifted ? shifted : scaled;
  hl_value_id *inputs = hl_arena_array(&ir->arena, 3, sizeof(*inputs));
  if (!inputs) return false;
  inputs[0] = minus->inputs[0];
  inputs[1] = gamma;
  inputs[2] = beta;
  last->op = "LayerNormalization";
  last->inputs = inputs;
  last->input_count = beta >= 0 ? 3 : 2;
  last->epsilon = epsilon;
  return true;
}

hl_status hl_native_pass_layer_norm(hl_native_ir *ir, hl_error *error) {
  for (size_t i = 0; i < ir->node_count; i++)
    if (!ir->nodes[i].dead && strcmp(ir->nodes[i].op, "Sqrt") == 0 && match(ir, &ir->nodes[i])) {
      hl_status status = hl_native_ir_sweep(ir, error);
      if (status != HL_OK) return status;
    }
  return hl_graph_status(ir->graph, error);
}
