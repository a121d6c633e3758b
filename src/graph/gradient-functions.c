/*
 * Gradients of activation functions in one node each: inputs dy and y, where the result tells the
 * slope, else dy and x. Written out as sums and products they would cost several passes over
 * memory in every step.
 */
#include "graph/gradient-kit.h"

#include <math.h>
#include <string.h>

/* dy / dx from a = y or x. */
typedef double (*slope_function)(const hl_node *node, double a);

static double slope_relu(const hl_node *node, double y) {
  (void)node;
  return y > 0 ? 1 : 0;
}

static double slope_leaky_relu(const hl_node *node, double y) {
  return y > 0 ? 1 : (double)hl_node_real(node, "alpha", 0.01f);
}

static double slope_sigmoid(const hl_node *node, double y) {
  (void)node;
  return y * (1 - y);
}

static double slope_tanh(const hl_node *node, double y) {
  (void)node;
  return 1 - y * y;
}

/* P(x) + x p(x), P and p of the normal distribution. */
static double slope_gelu(const hl_node *node, double x) {
  (void)node;
  return 0.5 * (1 + erf(x * 0.70710678118654752440)) +
         x * 0.39894228040143267794 * exp(-0.5 * x * x);
}

static double slope_swish(const hl_node *node, double x) {
  (void)node;
  double s = 1 / (1 + exp(-x));
  return s * (1 + x * (1 - s));
}

static const struct {
  const char *op, *gradient;
  bool of_x;
  slope_function slope;
} functions[] = {
    {"Relu", "ReluGradient", false, slope_relu},
    {"LeakyRelu", "LeakyReluGradient", false, slope_leaky_relu},
    {"Sigmoid", "SigmoidGradient", false, slope_sigmoid},
    {"Tanh", "TanhGradient", false, slope_tanh},
    {"Gelu", "GeluGradient", true, slope_gelu},
    {"Swish", "SwishGradient", true, slope_swish},
};

bool hl_gradient_function(hl_gradient *g, const hl_node *node) {
  for (size_t i = 0; i < HL_COUNT(functions); i++) {
    if (strcmp(functions[i].op, node->op) != 0) continue;
    /* A slope of 0 or less: the sign of the result does not tell the argument's. */
    if (strcmp(node->op, "LeakyRelu") == 0 && !(hl_node_real(node, "alpha", 0.01f) > 0))
      return false;
    if (strcmp(node->op, "Gelu") == 0 &&
        strcmp(hl_node_text(node, "approximate", "none"), "none") != 0)
      return false;
    hl_value_id of = functions[i].of_x ? node->inputs[0] : node->outputs[0], out = -1;
    hl_node *back =
        hl_gradient_own_node(g, functions[i].gradient, (hl_value_id[]){DY(0), of}, 2, &out, 1);
    if (back) hl_gradient_keep(g, back, node, "alpha");
    hl_gradient_give(g, node, 0, out);
    return true;
  }
  return false;
}

hl_status hl_evaluate_function_gradient(const hl_graph *graph, const hl_node *node,
                                        const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                        hl_error *error) {
  (void)graph;
  for (size_t i = 0; i < HL_COUNT(functions); i++) {
    if (strcmp(functions[i].gradient, node->op) != 0) continue;
    int64_t count = hl_view_elements(&outputs[0]);
    for (int64_t k = 0; k < count; k++)
      hl_view_put(&outputs[0], k,
                  hl_view_get(&inputs[0], k) *
                      functions[i].slope(node, hl_view_get(&inputs[1], k)));
    return HL_OK;
  }
  return hl_op_fail(node, HL_INTERNAL, error, "no such function");
}
