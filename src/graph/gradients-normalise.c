/* Gradients of Softmax, the normalisations and the losses over classes. */
#include "graph/gradient-kit.h"

#include <stdio.h>

/* Softmax: y (dy - sum(dy y)); LogSoftmax: dy - exp(y) sum(dy); sums over the axis, or over all
 * axes from it on before opset 13. */
hl_status hl_gradient_softmax(hl_gradient *g, const hl_node *node, hl_error *error) {
  bool flat = g->graph->opset < 13;
  int32_t rank = hl_gradient_shape(g, node->inputs[0]).rank, axis = 0;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", flat ? 1 : -1), rank, &axis, error);
  if (status != HL_OK) return status;
  int64_t axes[HL_MAX_RANK];
  size_t count = 0;
  for (int32_t d = axis; d < (flat ? rank : axis + 1); d++) axes[count++] = d;
  hl_value_id y = node->outputs[0], dy = DY(0);
  bool logarithm = node->op[0] == 'L';
  hl_value_id sum = hl_gradient_sum(g, logarithm ? dy : G2("Mul", dy, y), axes, count);
  hl_gradient_give(g, node, 0,
                   logarithm ? G2("Sub", dy, G2("Mul", G1("Exp", y), sum))
                             : G2("Mul", y, G2("Sub", dy, sum)));
  return HL_OK;
}

/* x, scale and dy to the gradients of x, scale and shift. */
static void give_three(hl_gradient *g, const hl_node *node, const char *op) {
  hl_value_id outputs[3] = {-1, -1, -1};
  hl_value_id inputs[3] = {node->inputs[0], node->inputs[1], DY(0)};
  hl_node *back = hl_gradient_own_node(g, op, inputs, 3, outputs, 3);
  hl_gradient_keep_all(g, back, node);
  hl_gradient_give(g, node, 0, outputs[0]);
  hl_gradient_give(g, node, 1, outputs[1]);
  hl_gradient_give(g, node, 2, outputs[2]);
}

static hl_status only_first(const hl_gradient *g, const hl_node *node, hl_error *error) {
  for (size_t i = 1; i < node->output_count; i++)
    if (hl_gradient_arrived(g, node, i) >= 0)
      return hl_op_fail(node, HL_UNIMPLEMENTED, error, "the gradient of its mean and variance");
  return HL_OK;
}

hl_status hl_gradient_layer_norm(hl_gradient *g, const hl_node *node, hl_error *error) {
  hl_status status = only_first(g, node, error);
  if (status == HL_OK) give_three(g, node, "LayerNormalizationGradient");
  return status;
}

hl_status hl_gradient_group_norm(hl_gradient *g, const hl_node *node, hl_error *error) {
  (void)error;
  bool instance = node->op[0] == 'I';
  give_three(g, node, instance ? "InstanceNormalizationGradient" : "GroupNormalizationGradient");
  return HL_OK;
}

/* With the statistics of the batch; else of given ones, where it is a scale and a shift. */
hl_status hl_gradient_batch_norm(hl_gradient *g, const hl_node *node, hl_error *error) {
  hl_status status = only_first(g, node, error);
  if (status != HL_OK) return status;
  if (hl_node_int(node, "training_mode", 0) != 0) {
    give_three(g, node, "BatchNormalizationGradient");
    return HL_OK;
  }
  status = hl_gradient_refuse(g, node, 3, "given statistics", error);
  if (status != HL_OK) return status;
  hl_shape x = hl_gradient_shape(g, node->inputs[0]);
  hl_shape plane = {.rank = x.rank > 1 ? x.rank - 1 : 1};
  for (int32_t d = 0; d < plane.rank; d++) plane.dims[d] = 1;
  hl_shape channels = hl_gradient_shape(g, node->inputs[1]);
  plane.dims[0] = channels.dims[0];
  hl_value_id dy = DY(0), epsilon = NUMBER((double)hl_node_real(node, "epsilon", 1e-5f));
  hl_value_id inverse = G1("Reciprocal", G1("Sqrt", G2("Add", node->inputs[4], epsilon)));
  hl_value_id factor = hl_gradient_reshape(g, G2("Mul", node->inputs[1], inverse), &plane);
  hl_gradient_give(g, node, 0, G2("Mul", dy, factor));
  if (hl_gradient_wanted(g, node, 1)) {
    hl_value_id centred =
        G2("Sub", node->inputs[0], hl_gradient_reshape(g, node->inputs[3], &plane));
    hl_value_id normal = G2("Mul", centred, hl_gradient_reshape(g, inverse, &plane));
    hl_value_id product = G2("Mul", dy, normal);
    hl_gradient_give(g, node, 1, hl_gradient_sum_channels(g, product, x.rank, &channels));
  }
  if (hl_gradient_wanted(g, node, 2))
    hl_gradient_give(g, node, 2, hl_gradient_sum_channels(g, dy, x.rank, &channels));
  return HL_OK;
}

/* x / n with n = |x| or sqrt(x x): (dy - dn/dx sum(dy y)) / n, 0 where n is. */
hl_status hl_gradient_lp_norm(hl_gradient *g, const hl_node *node, hl_error *error) {
  hl_value_id x = node->inputs[0], y = node->outputs[0], dy = DY(0);
  bool squares = hl_node_int(node, "p", 2) == 2;
  int32_t axis = 0, rank = hl_gradient_shape(g, x).rank;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", -1), rank, &axis, error);
  if (status != HL_OK) return status;
  int64_t along = axis;
  hl_value_id n = hl_gradient_sum(g, squares ? G2("Mul", x, x) : G1("Abs", x), &along, 1);
  if (squares) n = G1("Sqrt", n);
  hl_value_id sum = hl_gradient_sum(g, G2("Mul", dy, y), &along, 1);
  hl_value_id rest = G2("Sub", dy, G2("Mul", squares ? y : G1("Sign", x), sum));
  hl_gradient_give(g, node, 0,
                   G3("Where", G2("Greater", n, NUMBER(0)), G2("Div", rest, n), NUMBER(0)));
  return HL_OK;
}

/* With c = x - mean(x), s = sqrt(mean(c c)) and y = c / (s + e):
 * (dy - mean(dy) - c / s mean(dy y)) / (s + e), the middle alone where s is 0. */
hl_status hl_gradient_mean_variance(hl_gradient *g, const hl_node *node, hl_error *error) {
  (void)error;
  int64_t axes[HL_MAX_RANK] = {0, 2, 3};
  size_t count = hl_node_ints(node, "axes", axes, HL_MAX_RANK);
  if (!hl_node_attribute(node, "axes")) count = 3;
  hl_value_id x = node->inputs[0], dy = DY(0);
  hl_shape shape = hl_gradient_shape(g, x);
  double size = 1;
  for (size_t i = 0; i < count; i++)
    size *= (double)shape.dims[axes[i] < 0 ? axes[i] + shape.rank : axes[i]];
  hl_value_id share = NUMBER(1 / size);
  hl_value_id c = G2("Sub", x, G2("Mul", share, hl_gradient_sum(g, x, axes, count)));
  hl_value_id s = G1("Sqrt", G2("Mul", share, hl_gradient_sum(g, G2("Mul", c, c), axes, count)));
  hl_value_id mean_dy = G2("Mul", share, hl_gradient_sum(g, dy, axes, count));
  hl_value_id product = hl_gradient_sum(g, G2("Mul", dy, node->outputs[0]), axes, count);
  hl_value_id bend = G2("Mul", G2("Div", c, s), G2("Mul", share, product));
  bend = G3("Where", G2("Greater", s, NUMBER(0)), bend, NUMBER(0));
  hl_value_id rest = G2("Sub", G2("Sub", dy, mean_dy), bend);
  hl_gradient_give(g, node, 0, G2("Div", rest, G2("Add", s, NUMBER(1e-9))));
  return HL_OK;
}

/* dy, scores, classes and weights to the gradient of the scores. */
hl_status hl_gradient_class_loss(hl_gradient *g, const hl_node *node, hl_error *error) {
  hl_status status = only_first(g, node, error);
  if (status == HL_OK) status = hl_gradient_refuse(g, node, 2, "class weights", error);
  if (status != HL_OK) return status;
  char op[64];
  snprintf(op, sizeof op, "%.40sGradient", node->op);
  hl_value_id inputs[4] = {DY(0)}, out = -1;
  for (size_t i = 0; i < node->input_count; i++) inputs[i + 1] = node->inputs[i];
  hl_node *back = hl_gradient_own_node(g, op, inputs, node->input_count + 1, &out, 1);
  hl_gradient_keep_all(g, back, node);
  hl_gradient_give(g, node, 0, out);
  return HL_OK;
}
