/* Gradients of the operators that move elements without changing them. */
#include "graph/gradient-kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reshape, Flatten, Squeeze, Unsqueeze, Identity, and Dropout as it is in inference. */
hl_status hl_gradient_reshape_rule(hl_gradient *g, const hl_node *node, hl_error *error) {
  hl_status status = hl_gradient_refuse(g, node, 1, "its ratio", error);
  if (status != HL_OK) return status;
  hl_shape shape = hl_gradient_shape(g, node->inputs[0]);
  hl_shape out = hl_gradient_shape(g, node->outputs[0]);
  bool same = shape.rank == out.rank &&
              memcmp(shape.dims, out.dims, (size_t)shape.rank * sizeof *shape.dims) == 0;
  hl_value_id dy = DY(0);
  hl_gradient_give(g, node, 0, same ? dy : hl_gradient_reshape(g, dy, &shape));
  return HL_OK;
}

hl_status hl_gradient_transpose_rule(hl_gradient *g, const hl_node *node, hl_error *error) {
  (void)error;
  int32_t rank = hl_gradient_shape(g, node->inputs[0]).rank;
  int64_t permutation[HL_MAX_RANK] = {0}, inverse[HL_MAX_RANK] = {0};
  if (hl_node_ints(node, "perm", permutation, HL_MAX_RANK) == 0)
    for (int32_t d = 0; d < rank; d++) permutation[d] = rank - 1 - d;
  for (int32_t d = 0; d < rank; d++) inverse[permutation[d]] = d;
  hl_gradient_give(g, node, 0, hl_gradient_transpose(g, DY(0), rank, inverse));
  return HL_OK;
}

hl_status hl_gradient_expand(hl_gradient *g, const hl_node *node, hl_error *error) {
  (void)error;
  hl_shape from = hl_gradient_shape(g, node->outputs[0]);
  hl_shape to = hl_gradient_shape(g, node->inputs[0]);
  hl_gradient_give(g, node, 0, hl_gradient_sum_to(g, DY(0), &from, &to));
  return HL_OK;
}

static hl_value_id slice(hl_gradient *g, hl_value_id value, int64_t axis, int64_t start,
                         int64_t end) {
  hl_value_id inputs[4] = {value, hl_gradient_list(g, &start, 1), hl_gradient_list(g, &end, 1),
                           hl_gradient_list(g, &axis, 1)};
  return hl_gradient_node(g, "Slice", inputs, 4, NULL);
}

hl_status hl_gradient_concat(hl_gradient *g, const hl_node *node, hl_error *error) {
  int32_t axis = 0, rank = hl_gradient_shape(g, node->outputs[0]).rank;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", 0), rank, &axis, error);
  int64_t start = 0;
  for (size_t i = 0; i < node->input_count && status == HL_OK; i++) {
    int64_t size = hl_gradient_shape(g, node->inputs[i]).dims[axis];
    if (hl_gradient_wanted(g, node, i))
      hl_gradient_give(g, node, i, slice(g, DY(0), axis, start, start + size));
    start += size;
  }
  return status;
}

static hl_value_id zeros_like(hl_gradient *g, hl_value_id forward) {
  hl_shape shape = hl_gradient_shape(g, forward);
  hl_value_id list = hl_gradient_list(g, shape.dims, (size_t)shape.rank);
  return G2("Expand", hl_gradient_number(g, forward, 0), list);
}

/* Outputs whose gradient did not arrive are not used: theirs is 0. */
hl_status hl_gradient_split(hl_gradient *g, const hl_node *node, hl_error *error) {
  int32_t axis = 0, rank = hl_gradient_shape(g, node->inputs[0]).rank;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", 0), rank, &axis, error);
  if (status != HL_OK) return status;
  HL_CLEANUP(hl_free_pointer)
  hl_value_id *parts = calloc(node->output_count, sizeof *parts);
  if (!parts) return hl_op_no_memory(node, error);
  for (size_t i = 0; i < node->output_count; i++)
    parts[i] = DY(i) >= 0 ? DY(i) : zeros_like(g, node->outputs[i]);
  hl_node *concat = NULL;
  hl_value_id joined = hl_gradient_node(g, "Concat", parts, node->output_count, &concat);
  hl_node_set_int(g->graph, concat, "axis", axis);
  hl_gradient_give(g, node, 0, joined);
  return HL_OK;
}

/* Pad's value has the gradient of all elements that did not come from the data. */
static void give_fill(hl_gradient *g, const hl_node *node, hl_value_id dx) {
  if (!hl_gradient_wanted(g, node, 2)) return;
  hl_shape one = hl_gradient_shape(g, node->inputs[2]);
  hl_value_id of_all = G1("ReduceSum", DY(0)), of_data = G1("ReduceSum", dx);
  hl_value_id rest =
      G2("Sub", hl_gradient_reshape(g, of_all, &one), hl_gradient_reshape(g, of_data, &one));
  hl_gradient_give(g, node, 2, rest);
}

/* Pads that undo a Slice of step 1 or a Pad with constants: cut off or zeros. */
static bool undoing_pads(const hl_gradient *g, const hl_node *node, int64_t *ret_pads) {
  hl_shape x = hl_gradient_shape(g, node->inputs[0]);
  if (g->graph->opset < 11) return false; /* pads are no input yet */
  if (strcmp(node->op, "Slice") == 0) {
    hl_slices s;
    bool known = false;
    if (hl_slices_read(g->graph, node, x.dims, x.rank, &s, &known, NULL) != HL_OK || !known)
      return false;
    for (int32_t d = 0; d < x.rank; d++) {
      if (s.step[d] != 1) return false;
      ret_pads[d] = s.start[d];
      ret_pads[d + x.rank] = x.dims[d] - s.start[d] - s.count[d];
    }
    return true;
  }
  size_t count = 0;
  bool known = false;
  bool constant = strcmp(hl_node_text(node, "mode", "constant"), "constant") == 0;
  if (!constant || node->input_count > 3 ||
      hl_op_ints(g->graph, node, "pads", 1, ret_pads, 2 * HL_MAX_RANK, &count, &known, NULL) !=
          HL_OK ||
      !known || count != 2 * (size_t)x.rank)
    return false;
  for (size_t i = 0; i < count; i++) ret_pads[i] = -ret_pads[i];
  return true;
}

hl_status hl_gradient_cut(hl_gradient *g, const hl_node *node, hl_error *error) {
  int64_t pads[2 * HL_MAX_RANK];
  if (!undoing_pads(g, node, pads)) return hl_gradient_move(g, node, error);
  size_t count = 2 * (size_t)hl_gradient_shape(g, node->inputs[0]).rank;
  hl_value_id out = G2("Pad", DY(0), hl_gradient_list(g, pads, count));
  hl_gradient_give(g, node, 0, out);
  if (strcmp(node->op, "Pad") == 0) give_fill(g, node, out);
  return HL_OK;
}

/* "SliceGradient" and so on, also "ResizeGradient": the gradient, then what the operator took
 * beside its data, and its attributes with the shape of the data. See gradient-operators.c. */
hl_status hl_gradient_move(hl_gradient *g, const hl_node *node, hl_error *error) {
  HL_CLEANUP(hl_free_pointer)
  hl_value_id *inputs = calloc(node->input_count + 1, sizeof *inputs);
  if (!inputs) return hl_op_no_memory(node, error);
  for (size_t i = 0; i < node->input_count; i++) inputs[i] = node->inputs[i];
  inputs[0] = DY(0);
  char op[64];
  snprintf(op, sizeof op, "%.40sGradient", node->op);
  hl_shape shape = hl_gradient_shape(g, node->inputs[0]);
  hl_value_id out = -1;
  hl_node *back = hl_gradient_own_node(g, op, inputs, node->input_count, &out, 1);
  hl_gradient_keep_all(g, back, node);
  hl_node_set_ints(g->graph, back, "shape", shape.dims, (size_t)shape.rank);
  hl_gradient_give(g, node, 0, out);
  /* What the others take beside their data decides shapes and is constant. */
  if (strcmp(node->op, "Pad") == 0) give_fill(g, node, out);
  return HL_OK;
}

hl_status hl_gradient_grid_sample(hl_gradient *g, const hl_node *node, hl_error *error) {
  (void)error;
  hl_value_id inputs[3] = {node->inputs[0], node->inputs[1], DY(0)}, outputs[2] = {-1, -1};
  hl_node *back = hl_gradient_own_node(g, "GridSampleGradient", inputs, 3, outputs, 2);
  hl_gradient_keep_all(g, back, node);
  for (size_t i = 0; i < 2; i++) hl_gradient_give(g, node, i, outputs[i]);
  return HL_OK;
}

/* "DetGradient" and "LRNGradient": of the gradient and the data, like the data. */
hl_status hl_gradient_again(hl_gradient *g, const hl_node *node, hl_error *error) {
  (void)error;
  char op[64];
  snprintf(op, sizeof op, "%.40sGradient", node->op);
  hl_value_id out = -1;
  hl_node *back = hl_gradient_own_node(g, op, (hl_value_id[]){DY(0), node->inputs[0]}, 2, &out, 1);
  hl_gradient_keep_all(g, back, node);
  hl_gradient_give(g, node, 0, out);
  return HL_OK;
}
