/* Gradients of the operators that compute each element from those at its place. */
#include "graph/gradient-kit.h"

#include <string.h>

typedef hl_value_id (*slope_rule)(hl_gradient *g, const hl_node *node, hl_value_id x,
                                  hl_value_id y);

/* dy / dx as an expression of x and y. */
#define SLOPE(name, expression)                                                                    \
  static hl_value_id name(hl_gradient *g, const hl_node *node, hl_value_id x, hl_value_id y) {     \
    (void)g, (void)node, (void)x, (void)y;                                                         \
    return expression;                                                                             \
  }
#define REAL(key, otherwise) ((double)hl_node_real(node, key, otherwise))
#define ONE NUMBER(1)

static hl_value_id positive(hl_gradient *g, const hl_node *node, hl_value_id x) {
  return G2("Greater", x, NUMBER(0));
}
static hl_value_id square(hl_gradient *g, hl_value_id x) {
  return G2("Mul", x, x);
}
/* a where x > 0, else b */
static hl_value_id either(hl_gradient *g, const hl_node *node, hl_value_id x, hl_value_id a,
                          hl_value_id b) {
  return G3("Where", positive(g, node, x), a, b);
}
/* 1 / sqrt(a + b x^2) */
static hl_value_id inverse_root(hl_gradient *g, const hl_node *node, double a, double b,
                                hl_value_id x) {
  return G1("Reciprocal", G1("Sqrt", G2("Add", NUMBER(a), G2("Mul", NUMBER(b), square(g, x)))));
}
/* 1 / (1 + b x^2) */
static hl_value_id inverse(hl_gradient *g, const hl_node *node, double b, hl_value_id x) {
  return G1("Reciprocal", G2("Add", ONE, G2("Mul", NUMBER(b), square(g, x))));
}

SLOPE(slope_abs, G1("Sign", x))
SLOPE(slope_acos, G1("Neg", inverse_root(g, node, 1, -1, x)))
SLOPE(slope_acosh, inverse_root(g, node, -1, 1, x))
SLOPE(slope_asin, inverse_root(g, node, 1, -1, x))
SLOPE(slope_asinh, inverse_root(g, node, 1, 1, x))
SLOPE(slope_atan, inverse(g, node, 1, x))
SLOPE(slope_atanh, inverse(g, node, -1, x))
SLOPE(slope_celu, either(g, node, x, ONE, G1("Exp", G2("Div", x, NUMBER(REAL("alpha", 1))))))
SLOPE(slope_cos, G1("Neg", G1("Sin", x)))
SLOPE(slope_cosh, G1("Sinh", x))
SLOPE(slope_elu, either(g, node, x, ONE, G2("Add", y, NUMBER(REAL("alpha", 1)))))
SLOPE(slope_erf, G2("Mul", NUMBER(1.12837916709551257390), G1("Exp", G1("Neg", square(g, x)))))
SLOPE(slope_exp, y)
SLOPE(slope_leaky_relu, either(g, node, x, ONE, NUMBER(REAL("alpha", 0.01f))))
SLOPE(slope_log, G1("Reciprocal", x))
SLOPE(slope_neg, NUMBER(-1))
SLOPE(slope_reciprocal, G1("Neg", square(g, y)))
SLOPE(slope_sin, G1("Cos", x))
SLOPE(slope_sinh, G1("Cosh", x))
SLOPE(slope_softplus, G1("Sigmoid", x))
SLOPE(slope_softsign, square(g, G1("Reciprocal", G2("Add", ONE, G1("Abs", x)))))
SLOPE(slope_sqrt, G2("Div", NUMBER(0.5), y))
SLOPE(slope_tan, G2("Add", ONE, square(g, y)))

static hl_value_id slope_selu(hl_gradient *g, const hl_node *node, hl_value_id x, hl_value_id y) {
  double alpha = REAL("alpha", 1.67326319217681884765625f);
  double gamma = REAL("gamma", 1.05070102214813232421875f);
  return either(g, node, x, NUMBER(gamma), G2("Add", y, NUMBER(alpha * gamma)));
}

static hl_value_id slope_hard_sigmoid(hl_gradient *g, const hl_node *node, hl_value_id x,
                                      hl_value_id y) {
  (void)x;
  hl_value_id within = G2("And", positive(g, node, y), G2("Less", y, ONE));
  return G3("Where", within, NUMBER(REAL("alpha", 0.2f)), NUMBER(0));
}

/* y = x c with c = min(max(x / 6 + 1/2, 0), 1): (2 x + 3) / 6 between the bounds. */
static hl_value_id slope_hard_swish(hl_gradient *g, const hl_node *node, hl_value_id x,
                                    hl_value_id y) {
  (void)y;
  hl_value_id middle = G2("Add", G2("Div", x, NUMBER(3)), NUMBER(0.5));
  hl_value_id above = G2("Greater", x, NUMBER(-3));
  return G3("Where", above, G3("Where", G2("Less", x, NUMBER(3)), middle, ONE), NUMBER(0));
}

static hl_value_id slope_thresholded_relu(hl_gradient *g, const hl_node *node, hl_value_id x,
                                          hl_value_id y) {
  (void)y;
  return G3("Where", G2("Greater", x, NUMBER(REAL("alpha", 1))), ONE, NUMBER(0));
}

static hl_value_id slope_shrink(hl_gradient *g, const hl_node *node, hl_value_id x, hl_value_id y) {
  (void)y;
  return G3("Where", G2("Greater", G1("Abs", x), NUMBER(REAL("lambd", 0.5f))), ONE, NUMBER(0));
}

/* y = x tanh(s), s = softplus(x): tanh(s) + x (1 - tanh(s)^2) sigmoid(x). */
static hl_value_id slope_mish(hl_gradient *g, const hl_node *node, hl_value_id x, hl_value_id y) {
  (void)y;
  hl_value_id t = G1("Tanh", G1("Softplus", x));
  hl_value_id rest = G2("Mul", G2("Mul", x, G2("Sub", ONE, square(g, t))), G1("Sigmoid", x));
  return G2("Add", t, rest);
}

/* P(x) + x p(x), normal distribution; or the derivative of its approximation by tanh. */
static hl_value_id slope_gelu(hl_gradient *g, const hl_node *node, hl_value_id x, hl_value_id y) {
  (void)y;
  const double root = 0.79788456080286535588, cubic = 0.044715;
  if (strcmp(hl_node_text(node, "approximate", "none"), "tanh") != 0) {
    hl_value_id e = G1("Erf", G2("Mul", x, NUMBER(0.70710678118654752440)));
    hl_value_id p = G1("Exp", G2("Mul", square(g, x), NUMBER(-0.5)));
    return G2("Add", G2("Mul", NUMBER(0.5), G2("Add", ONE, e)),
              G2("Mul", G2("Mul", x, p), NUMBER(root / 2)));
  }
  hl_value_id x2 = square(g, x);
  hl_value_id inner = G2("Mul", x, G2("Add", NUMBER(root), G2("Mul", NUMBER(root * cubic), x2)));
  hl_value_id t = G1("Tanh", inner);
  hl_value_id slope = G2("Add", NUMBER(root), G2("Mul", NUMBER(3 * root * cubic), x2));
  hl_value_id rest = G2("Mul", G2("Mul", x, G2("Sub", ONE, square(g, t))), slope);
  return G2("Mul", NUMBER(0.5), G2("Add", G2("Add", ONE, t), rest));
}

/* Floor, Ceil, Round and Sign are not here: their gradient is 0 (hl_gradient_none). */
static const struct {
  const char *op;
  slope_rule slope;
} slopes[] = {
    {"Abs", slope_abs},
    {"Acos", slope_acos},
    {"Acosh", slope_acosh},
    {"Asin", slope_asin},
    {"Asinh", slope_asinh},
    {"Atan", slope_atan},
    {"Atanh", slope_atanh},
    {"Celu", slope_celu},
    {"Cos", slope_cos},
    {"Cosh", slope_cosh},
    {"Elu", slope_elu},
    {"Erf", slope_erf},
    {"Exp", slope_exp},
    {"Gelu", slope_gelu},
    {"HardSigmoid", slope_hard_sigmoid},
    {"HardSwish", slope_hard_swish},
    {"LeakyRelu", slope_leaky_relu},
    {"Log", slope_log},
    {"Mish", slope_mish},
    {"Neg", slope_neg},
    {"Reciprocal", slope_reciprocal},
    {"Selu", slope_selu},
    {"Shrink", slope_shrink},
    {"Sin", slope_sin},
    {"Sinh", slope_sinh},
    {"Softplus", slope_softplus},
    {"Softsign", slope_softsign},
    {"Sqrt", slope_sqrt},
    {"Tan", slope_tan},
    {"ThresholdedRelu", slope_thresholded_relu},
};

hl_status hl_gradient_unary(hl_gradient *g, const hl_node *node, hl_error *error) {
  if (hl_gradient_function(g, node)) return HL_OK;
  for (size_t i = 0; i < HL_COUNT(slopes); i++) {
    if (strcmp(slopes[i].op, node->op) != 0) continue;
    hl_value_id slope = slopes[i].slope(g, node, node->inputs[0], node->outputs[0]);
    hl_gradient_give(g, node, 0, G2("Mul", DY(0), slope));
    return HL_OK;
  }
  return hl_op_fail(node, HL_INTERNAL, error, "no such slope");
}

hl_status hl_gradient_none(hl_gradient *g, const hl_node *node, hl_error *error) {
  (void)g, (void)node, (void)error;
  return HL_OK;
}

/* -- several inputs, broadcast --------------------------------------------------------------- */

static void give_summed(hl_gradient *g, const hl_node *node, size_t input, hl_value_id gradient) {
  if (!hl_gradient_wanted(g, node, input)) return;
  hl_shape from = hl_gradient_shape(g, node->outputs[0]);
  hl_shape to = hl_gradient_shape(g, node->inputs[input]);
  hl_gradient_give(g, node, input, hl_gradient_sum_to(g, gradient, &from, &to));
}

static hl_value_id as_real(hl_gradient *g, const hl_node *node, hl_value_id condition) {
  return G3("Where", condition, ONE, NUMBER(0));
}

/* Max and Min: all inputs that equal the result have an equal share. */
static void give_extreme(hl_gradient *g, const hl_node *node) {
  hl_value_id count = -1, y = node->outputs[0];
  for (size_t i = 0; i < node->input_count; i++) {
    hl_value_id is = as_real(g, node, G2("Equal", node->inputs[i], y));
    count = count < 0 ? is : G2("Add", count, is);
  }
  hl_value_id share = G2("Div", DY(0), count);
  for (size_t i = 0; i < node->input_count; i++)
    if (hl_gradient_wanted(g, node, i))
      give_summed(g, node, i, G3("Where", G2("Equal", node->inputs[i], y), share, NUMBER(0)));
}

static void give_power(hl_gradient *g, const hl_node *node) {
  hl_value_id x = node->inputs[0], p = node->inputs[1], dy = DY(0);
  if (g->graph->values[p].dtype != g->graph->values[x].dtype) { /* since opset 12 it may differ */
    hl_node *cast = NULL;
    p = hl_gradient_node(g, "Cast", &p, 1, &cast);
    hl_node_set_int(g->graph, cast, "to", (int64_t)g->graph->values[x].dtype);
  }
  if (hl_gradient_wanted(g, node, 0)) {
    hl_value_id slope = G2("Mul", p, G2("Pow", x, G2("Sub", p, ONE)));
    hl_value_id constant = G2("Equal", p, NUMBER(0)); /* also at 0 */
    give_summed(g, node, 0, G2("Mul", dy, G3("Where", constant, NUMBER(0), slope)));
  }
  if (hl_gradient_wanted(g, node, 1)) {
    hl_value_id log = G3("Where", G2("Equal", x, NUMBER(0)), NUMBER(0), G1("Log", x));
    give_summed(g, node, 1, G2("Mul", dy, G2("Mul", node->outputs[0], log)));
  }
}

/* Of the slope that broadcasts as ONNX has it since opset 7. */
static void give_prelu(hl_gradient *g, const hl_node *node) {
  hl_value_id x = node->inputs[0], dy = DY(0);
  hl_value_id below = G2("Less", x, NUMBER(0));
  if (hl_gradient_wanted(g, node, 0))
    hl_gradient_give(g, node, 0, G3("Where", below, G2("Mul", dy, node->inputs[1]), dy));
  if (hl_gradient_wanted(g, node, 1))
    give_summed(g, node, 1, G3("Where", below, G2("Mul", dy, x), NUMBER(0)));
}

static void give_quotient(hl_gradient *g, const hl_node *node) {
  hl_value_id b = node->inputs[1], dy = DY(0);
  if (hl_gradient_wanted(g, node, 0)) give_summed(g, node, 0, G2("Div", dy, b));
  if (hl_gradient_wanted(g, node, 1))
    give_summed(g, node, 1, G1("Neg", G2("Mul", dy, G2("Div", node->outputs[0], b))));
}

static void give_product(hl_gradient *g, const hl_node *node) {
  for (size_t i = 0; i < 2; i++)
    if (hl_gradient_wanted(g, node, i))
      give_summed(g, node, i, G2("Mul", DY(0), node->inputs[1 - i]));
}

/* With the sign of the dividend (fmod = 1): a - b trunc(a / b). */
static void give_remainder(hl_gradient *g, const hl_node *node) {
  hl_value_id a = node->inputs[0], b = node->inputs[1], dy = DY(0);
  give_summed(g, node, 0, dy);
  if (hl_gradient_wanted(g, node, 1)) {
    hl_value_id whole = G2("Div", G2("Sub", node->outputs[0], a), b);
    give_summed(g, node, 1, G2("Mul", dy, whole));
  }
}

/* Add, Sum, Mean, Sub: the gradient itself, scaled or negated. */
static void give_sum(hl_gradient *g, const hl_node *node) {
  hl_value_id dy = DY(0);
  if (strcmp(node->op, "Mean") == 0) dy = G2("Div", dy, NUMBER((double)node->input_count));
  for (size_t i = 0; i < node->input_count; i++) {
    if (!hl_gradient_wanted(g, node, i)) continue;
    give_summed(g, node, i, i == 1 && strcmp(node->op, "Sub") == 0 ? G1("Neg", dy) : dy);
  }
}

hl_status hl_gradient_nary(hl_gradient *g, const hl_node *node, hl_error *error) {
  static const struct {
    const char *op;
    void (*give)(hl_gradient *g, const hl_node *node);
  } rules[] = {{"Add", give_sum},     {"Sum", give_sum},      {"Mean", give_sum},
               {"Sub", give_sum},     {"Mul", give_product},  {"Div", give_quotient},
               {"Pow", give_power},   {"PRelu", give_prelu},  {"Max", give_extreme},
               {"Min", give_extreme}, {"Mod", give_remainder}};
  if (strcmp(node->op, "PRelu") == 0 && g->graph->opset < 7)
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "its gradient before opset 7");
  for (size_t i = 0; i < HL_COUNT(rules); i++)
    if (strcmp(rules[i].op, node->op) == 0) return rules[i].give(g, node), HL_OK;
  return hl_op_fail(node, HL_INTERNAL, error, "no such rule");
}

hl_status hl_gradient_where(hl_gradient *g, const hl_node *node, hl_error *error) {
  (void)error;
  hl_value_id condition = node->inputs[0], dy = DY(0);
  hl_value_id zero = hl_gradient_number(g, node->outputs[0], 0);
  if (hl_gradient_wanted(g, node, 1)) give_summed(g, node, 1, G3("Where", condition, dy, zero));
  if (hl_gradient_wanted(g, node, 2)) give_summed(g, node, 2, G3("Where", condition, zero, dy));
  return HL_OK;
}

/* What a bound cut goes to the bound; the upper one wins where they cross. */
hl_status hl_gradient_clip(hl_gradient *g, const hl_node *node, hl_error *error) {
  (void)error;
  hl_value_id x = node->inputs[0], dy = DY(0), kept = G2("Equal", x, node->outputs[0]);
  hl_gradient_give(g, node, 0, G3("Where", kept, dy, NUMBER(0)));
  bool has_low = node->input_count > 1 && node->inputs[1] >= 0;
  bool has_high = node->input_count > 2 && node->inputs[2] >= 0;
  if (!has_low && !has_high) return HL_OK;
  hl_value_id above = -1;
  if (has_high) {
    hl_value_id lifted = has_low ? G2("Max", x, node->inputs[1]) : x;
    above = G2("Greater", lifted, node->inputs[2]);
    if (hl_gradient_wanted(g, node, 2)) give_summed(g, node, 2, G3("Where", above, dy, NUMBER(0)));
  }
  if (hl_gradient_wanted(g, node, 1)) {
    hl_value_id below = G2("Less", x, node->inputs[1]);
    hl_value_id cut = G3("Where", below, dy, NUMBER(0));
    give_summed(g, node, 1, has_high ? G3("Where", above, NUMBER(0), cut) : cut);
  }
  return HL_OK;
}

hl_status hl_gradient_cast(hl_gradient *g, const hl_node *node, hl_error *error) {
  (void)error;
  hl_node *cast = NULL;
  hl_dtype dtype = g->graph->values[node->inputs[0]].dtype;
  hl_value_id back = hl_gradient_node(g, "Cast", (hl_value_id[]){DY(0)}, 1, &cast);
  hl_node_set_int(g->graph, cast, "to", (int64_t)dtype);
  hl_gradient_give(g, node, 0, back);
  return HL_OK;
}
