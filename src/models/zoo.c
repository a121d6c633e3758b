/* NeuralLayers' single layers. */
#include "models/network.h"

#include <string.h>

/* Inputs and outputs (batch, hidden). */
static void vector_output(hl_network *n, hl_value_id value) {
  hl_net_output(n, value, "output", 2, (int64_t[]){-1, hl_model_int(n->spec, "hidden")});
}

static hl_value_id vector_input(hl_network *n, const char *name) {
  return hl_net_input(n, name, 2, (int64_t[]){-1, hl_model_int(n->spec, "hidden")});
}

hl_status hl_check_linear(hl_model_spec *spec, hl_error *error) {
  double in = hl_model_real(spec, "input_dim"), out = hl_model_real(spec, "hidden_dim");
  return hl_model_limit(spec, (in + 1) * out, error);
}

void hl_build_linear(hl_network *n) {
  int64_t in = hl_model_int(n->spec, "input_dim"), out = hl_model_int(n->spec, "hidden_dim");
  hl_value_id x = hl_net_input(n, "input", 2, (int64_t[]){-1, in});
  x = hl_net_linear(n, "linear", x, in, out, HL_GAIN_LINEAR);
  hl_net_output(n, x, "output", 2, (int64_t[]){-1, out});
}

void hl_build_layer_norm(hl_network *n) {
  hl_value_id x = vector_input(n, "input");
  x = hl_net_layer_norm(n, "norm", x, hl_model_int(n->spec, "hidden"), 1e-5f);
  vector_output(n, x);
}

void hl_build_activation(hl_network *n) {
  static const struct {
    const char *kind, *op;
  } kinds[] = {{"relu", "Relu"}, {"tanh", "Tanh"}, {"sigmoid", "Sigmoid"}};
  const char *kind = hl_model_text(n->spec, "kind");
  hl_value_id x = vector_input(n, "input"), y = -1;
  for (size_t i = 0; i < HL_COUNT(kinds); i++)
    if (strcmp(kinds[i].kind, kind) == 0) y = hl_net_op1(n, kinds[i].op, kind, x);
  vector_output(n, y < 0 ? hl_net_gelu(n, kind, x) : y);
}

/* 0.4 a + 0.3 b + 0.2 c + 0.1 d */
void hl_build_weighted_sum(hl_network *n) {
  static const float weights[] = {0.4f, 0.3f, 0.2f, 0.1f};
  hl_value_id sum = -1;
  for (int i = 0; i < 4; i++) {
    hl_value_id x = vector_input(n, hl_name(n, "input%d", i + 1));
    hl_value_id weight = hl_net_scalar(n, hl_name(n, "weight%d", i + 1), weights[i]);
    x = hl_net_op2(n, "Mul", hl_name(n, "mul%d", i + 1), x, weight);
    sum = i ? hl_net_op2(n, "Add", hl_name(n, "add%d", i), sum, x) : x;
  }
  vector_output(n, sum);
}

/* exp(-|x|^2 / (2 phi^2)) */
void hl_build_gaussian(hl_network *n) {
  double phi = hl_model_real(n->spec, "phi");
  hl_value_id x = vector_input(n, "input");
  hl_value_id y = hl_net_op2(n, "Mul", "square", x, x);
  hl_value_id axes = hl_net_ints(n, "axes", 1, (int64_t[]){1});
  y = hl_net_op2(n, "ReduceSum", "sum", y, axes);
  y = hl_net_op2(n, "Mul", "scale", y, hl_net_scalar(n, "factor", (float)(-0.5 / (phi * phi))));
  y = hl_net_op1(n, "Exp", "exp", y);
  hl_net_output(n, y, "output", 2, (int64_t[]){-1, 1});
}

/* a b / sqrt(1 + a^2 + b^2) */
void hl_build_soft_product(hl_network *n) {
  hl_value_id a = vector_input(n, "a"), b = vector_input(n, "b");
  hl_value_id product = hl_net_op2(n, "Mul", "product", a, b);
  hl_value_id squares = hl_net_op2(n, "Add", "squares", hl_net_op2(n, "Mul", "a_square", a, a),
                                   hl_net_op2(n, "Mul", "b_square", b, b));
  squares = hl_net_op2(n, "Add", "plus_one", squares, hl_net_scalar(n, "one", 1));
  hl_value_id root = hl_net_op1(n, "Sqrt", "root", squares);
  vector_output(n, hl_net_op2(n, "Div", "quotient", product, root));
}
