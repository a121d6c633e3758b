/* Operators that compute each output element from the input elements at its place. */
#include "graph/operator-kit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- unary ---------------------------------------------------------------------------------- */

/* `p` holds the operator's two real attributes. */
typedef double (*unary_fn)(double x, const double *p);
#define UNARY(name, expression)                                                                    \
  static double name(double x, const double *p) {                                                  \
    (void)p;                                                                                       \
    return expression;                                                                             \
  }

static double clamp(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}

UNARY(relu, x < 0 ? 0 : x)
UNARY(leaky_relu, x < 0 ? p[0] * x : x)
UNARY(thresholded_relu, x > p[0] ? x : 0)
UNARY(sigmoid, x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x)))
UNARY(tangent, tanh(x))
UNARY(error_function, erf(x))
UNARY(exponential, exp(x))
UNARY(logarithm, log(x))
UNARY(root, sqrt(x))
UNARY(negate, -x)
UNARY(absolute, fabs(x))
UNARY(reciprocal, 1 / x)
UNARY(softplus, x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)))
UNARY(softsign, x / (1 + fabs(x)))
UNARY(hard_sigmoid, clamp(p[0] * x + p[1], 0, 1))
UNARY(hard_swish, x *clamp(x / 6 + 0.5, 0, 1))
UNARY(elu, x < 0 ? p[0] * expm1(x) : x)
UNARY(celu, x < 0 ? p[0] * expm1(x / p[0]) : x)
UNARY(selu, p[1] * (x > 0 ? x : p[0] * expm1(x)))
UNARY(mish, x *tanh(x > 0 ? x + log1p(exp(-x)) : log1p(exp(x))))
UNARY(gelu, 0.5 * x * (1 + erf(x * 0.70710678118654752440)))
UNARY(gelu_tanh, 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x))))
UNARY(lower, floor(x))
UNARY(upper, ceil(x))
UNARY(nearest, nearbyint(x))
UNARY(sign_of, (double)((x > 0) - (x < 0)))
UNARY(sine, sin(x))
UNARY(cosine, cos(x))
UNARY(tangent_of, tan(x))
UNARY(arc_sine, asin(x))
UNARY(arc_cosine, acos(x))
UNARY(arc_tangent, atan(x))
UNARY(sine_h, sinh(x))
UNARY(cosine_h, cosh(x))
UNARY(arc_sine_h, asinh(x))
UNARY(arc_cosine_h, acosh(x))
UNARY(arc_tangent_h, atanh(x))
UNARY(shrink, x<-p[0] ? x + p[1] : x> p[0] ? x - p[1] : 0)

static const struct unary {
  const char *op;
  unary_fn f;
  const char *attributes[2];
  float defaults[2];
} unaries[] = {
    {"Relu", relu, {0}, {0}},
    {"LeakyRelu", leaky_relu, {"alpha"}, {0.01f}},
    {"ThresholdedRelu", thresholded_relu, {"alpha"}, {1}},
    {"Sigmoid", sigmoid, {0}, {0}},
    {"Tanh", tangent, {0}, {0}},
    {"Erf", error_function, {0}, {0}},
    {"Exp", exponential, {0}, {0}},
    {"Log", logarithm, {0}, {0}},
    {"Sqrt", root, {0}, {0}},
    {"Neg", negate, {0}, {0}},
    {"Abs", absolute, {0}, {0}},
    {"Reciprocal", reciprocal, {0}, {0}},
    {"Softplus", softplus, {0}, {0}},
    {"Softsign", softsign, {0}, {0}},
    {"HardSigmoid", hard_sigmoid, {"alpha", "beta"}, {0.2f, 0.5f}},
    {"HardSwish", hard_swish, {0}, {0}},
    {"Elu", elu, {"alpha"}, {1}},
    {"Celu", celu, {"alpha"}, {1}},
    {"Selu", selu, {"alpha", "gamma"}, {1.67326319217681884765625f, 1.05070102214813232421875f}},
    {"Mish", mish, {0}, {0}},
    {"Gelu", gelu, {0}, {0}},
    {"Floor", lower, {0}, {0}},
    {"Ceil", upper, {0}, {0}},
    {"Round", nearest, {0}, {0}},
    {"Sign", sign_of, {0}, {0}},
    {"Sin", sine, {0}, {0}},
    {"Cos", cosine, {0}, {0}},
    {"Tan", tangent_of, {0}, {0}},
    {"Asin", arc_sine, {0}, {0}},
    {"Acos", arc_cosine, {0}, {0}},
    {"Atan", arc_tangent, {0}, {0}},
    {"Sinh", sine_h, {0}, {0}},
    {"Cosh", cosine_h, {0}, {0}},
    {"Asinh", arc_sine_h, {0}, {0}},
    {"Acosh", arc_cosine_h, {0}, {0}},
    {"Atanh", arc_tangent_h, {0}, {0}},
    {"Shrink", shrink, {"lambd", "bias"}, {0.5f, 0}},
};

/* Integers beyond 2^53 stay exact where the operator has an integer meaning. */
static bool integer_unary(const char *op, int64_t x, int64_t *ret) {
  uint64_t u = (uint64_t)x;
  if (strcmp(op, "Neg") == 0) return *ret = (int64_t)(0 - u), true;
  if (strcmp(op, "Abs") == 0) return *ret = x < 0 ? (int64_t)(0 - u) : x, true;
  if (strcmp(op, "Relu") == 0) return *ret = x < 0 ? 0 : x, true;
  if (strcmp(op, "Sign") == 0) return *ret = (x > 0) - (x < 0), true;
  return false;
}

hl_status hl_evaluate_unary(const hl_graph *graph, const hl_node *node,
                            const hl_tensor_view *inputs, hl_tensor_view *outputs,
                            hl_error *error) {
  (void)graph;
  const struct unary *row = NULL;
  for (size_t i = 0; i < HL_COUNT(unaries); i++)
    if (strcmp(unaries[i].op, node->op) == 0) row = &unaries[i];
  if (!row) return hl_op_fail(node, HL_INTERNAL, error, "no such function");
  unary_fn f = row->f;
  if (f == gelu && strcmp(hl_node_text(node, "approximate", "none"), "tanh") == 0) f = gelu_tanh;
  double p[2] = {0};
  for (int i = 0; i < 2; i++)
    if (row->attributes[i]) p[i] = (double)hl_node_real(node, row->attributes[i], row->defaults[i]);
  int64_t count = hl_view_elements(&outputs[0]), whole;
  bool integer = hl_dtype_is_int(inputs[0].dtype) && inputs[0].dtype != HL_UINT64;
  for (int64_t i = 0; i < count; i++) {
    if (integer && integer_unary(node->op, hl_view_get_int(&inputs[0], i), &whole))
      hl_view_put_int(&outputs[0], i, whole);
    else
      hl_view_put(&outputs[0], i, f(hl_view_get(&inputs[0], i), p));
  }
  return HL_OK;
}

/* -- arithmetic with broadcasting ----------------------------------------------------------- */

typedef double (*real_fn)(double a, double b);
typedef int64_t (*whole_fn)(int64_t a, int64_t b);

#define REAL(name, expression)                                                                     \
  static double name(double a, double b) {                                                         \
    return expression;                                                                             \
  }
/* Wraps like two's complement; the casts keep overflow defined. */
#define WHOLE(name, expression)                                                                    \
  static int64_t name(int64_t a, int64_t b) {                                                      \
    return (int64_t)(expression);                                                                  \
  }

REAL(add, a + b)
REAL(subtract, a - b)
REAL(times, a *b)
REAL(divide, a / b)
REAL(power, pow(a, b))
REAL(smaller, isnan(a) || isnan(b) ? (double)NAN : a < b ? a : b)
REAL(larger, isnan(a) || isnan(b) ? (double)NAN : a > b ? a : b)
REAL(prelu, a < 0 ? a * b : a)
WHOLE(add_whole, (uint64_t)a + (uint64_t)b)
WHOLE(subtract_whole, (uint64_t)a - (uint64_t)b)
WHOLE(times_whole, (uint64_t)a *(uint64_t)b)
/* Division by zero is undefined in ONNX; 0 keeps hostile constants from killing the process. */
WHOLE(divide_whole, b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b)
WHOLE(smaller_whole, a < b ? a : b)
WHOLE(larger_whole, a > b ? a : b)
WHOLE(prelu_whole, a < 0 ? (int64_t)((uint64_t)a * (uint64_t)b) : a)

static int64_t power_whole(int64_t a, int64_t b) {
  uint64_t result = 1, base = (uint64_t)a;
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
  for (; b; b >>= 1, base *= base)
    if (b & 1) result *= base;
  return (int64_t)result;
}

static const struct nary {
  const char *op;
  real_fn real;
  whole_fn whole;
} naries[] = {
    {"Add", add, add_whole},       {"Sub", subtract, subtract_whole},
    {"Mul", times, times_whole},   {"Div", divide, divide_whole},
    {"Pow", power, power_whole},   {"Min", smaller, smaller_whole},
    {"Max", larger, larger_whole}, {"Sum", add, add_whole},
    {"Mean", add, add_whole},      {"PRelu", prelu, prelu_whole},
};

/* All inputs broadcast together, as ONNX does since opset 7. */
static hl_status broadcast_inputs(hl_graph *graph, const hl_node *node, hl_shape *ret_shape,
                                  hl_error *error) {
  *ret_shape = hl_node_input(graph, node, 0)->shape;
  for (size_t i = 1; i < node->input_count; i++) {
    const hl_value *value = hl_node_input(graph, node, i);
    if (!value) return hl_op_fail(node, HL_BAD_DATA, error, "input number %zu is missing", i + 1);
    if (!hl_op_broadcast(ret_shape, &value->shape, ret_shape))
      return hl_op_fail(node, HL_BAD_DATA, error,
                        "the shape of '%.60s' does not broadcast with the inputs before it",
                        value->name);
  }
  return HL_OK;
}

/* Before opset 7, `axis` said where the second input lies in the first: at its end, as since, or
 * in the middle, which no exporter used that is still around. */
static hl_status check_old_axis(const hl_graph *graph, const hl_node *node, hl_error *error) {
  if (graph->opset >= 7 || !hl_node_attribute(node, "axis") || node->input_count != 2) return HL_OK;
  int32_t rank = hl_node_input(graph, node, 0)->shape.rank;
  int64_t axis = hl_node_int(node, "axis", 0), other = hl_node_input(graph, node, 1)->shape.rank;
  if ((axis < 0 ? axis + rank : axis) + other == rank) return HL_OK;
  return hl_op_fail(node, HL_UNIMPLEMENTED, error,
                    "broadcasting along axis %lld. Convert the model with onnx.version_converter",
                    (long long)axis);
}

hl_status hl_infer_binary(hl_graph *graph, hl_node *node, hl_error *error) {
  hl_shape shape;
  hl_status status = check_old_axis(graph, node, error);
  if (status == HL_OK) status = broadcast_inputs(graph, node, &shape, error);
  if (status != HL_OK) return status;
  hl_op_set(hl_node_output(graph, node, 0), hl_node_input(graph, node, 0)->dtype, shape.rank,
            shape.dims);
  return HL_OK;
}

hl_status hl_infer_comparison(hl_graph *graph, hl_node *node, hl_error *error) {
  hl_status status = hl_infer_binary(graph, node, error);
  hl_value *out = hl_node_output(graph, node, 0);
  if (out) out->dtype = HL_BOOL;
  return status;
}

/* Before opset 7 a slope of several elements had one for each channel, whatever lies behind. */
static hl_shape slope_shape(int64_t opset, const hl_shape *slope, int32_t rank) {
  hl_shape shape = *slope;
  if (opset >= 7 || slope->rank != 1 || slope->dims[0] == 1 || rank < 2) return shape;
  for (shape.rank = 1; shape.rank < rank - 1; shape.rank++) shape.dims[shape.rank] = 1;
  return shape;
}

/* The slope broadcasts to the input, not the other way round. */
hl_status hl_infer_prelu(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0), *slope = hl_node_input(graph, node, 1);
  hl_shape shape = slope_shape(graph->opset, &slope->shape, x->shape.rank);
  if (!hl_op_broadcasts_to(&shape, &x->shape))
    return hl_op_fail(node, HL_BAD_DATA, error, "the slope does not broadcast to the input");
  return hl_op_infer_same(graph, node, error);
}

/* out[i] = f(out[i], in[i]) with `in` broadcast; `first` copies instead. */
static void accumulate(hl_tensor_view *out, const hl_tensor_view *in, const struct nary *row,
                       bool first) {
  int64_t strides[HL_MAX_RANK] = {0}, index[HL_MAX_RANK] = {0}, offset = 0;
  int64_t count = hl_view_elements(out);
  bool whole = hl_dtype_is_int(out->dtype) && hl_dtype_is_int(in->dtype);
  hl_view_broadcast_strides(in, out->rank, strides);
  for (int64_t i = 0; i < count; i++) {
    if (whole) {
      int64_t b = hl_view_get_int(in, offset);
      hl_view_put_int(out, i, first ? b : row->whole(hl_view_get_int(out, i), b));
    } else {
      double b = hl_view_get(in, offset);
      hl_view_put(out, i, first ? b : row->real(hl_view_get(out, i), b));
    }
    hl_index_next(out->rank, out->dims, index, strides, &offset);
  }
}

hl_status hl_evaluate_nary(const hl_graph *graph, const hl_node *node, const hl_tensor_view *inputs,
                           hl_tensor_view *outputs, hl_error *error) {
  const struct nary *row = NULL;
  for (size_t i = 0; i < HL_COUNT(naries); i++)
    if (strcmp(naries[i].op, node->op) == 0) row = &naries[i];
  if (!row) return hl_op_fail(node, HL_INTERNAL, error, "no such function");
  for (size_t i = 0; i < node->input_count; i++) {
    hl_tensor_view in = inputs[i];
    if (i == 1 && row->real == prelu) {
      hl_shape own = hl_view_shape(&in);
      hl_shape shape = slope_shape(graph->opset, &own, inputs[0].rank);
      in.rank = shape.rank;
      memcpy(in.dims, shape.dims, sizeof in.dims);
    }
    accumulate(&outputs[0], &in, row, i == 0);
  }
  if (strcmp(node->op, "Mean") == 0) {
    int64_t count = hl_view_elements(&outputs[0]);
    for (int64_t i = 0; i < count; i++)
      hl_view_put(&outputs[0], i, hl_view_get(&outputs[0], i) / (double)node->input_count);
  }
  return HL_OK;
}

/* -- comparisons and logic ------------------------------------------------------------------ */

typedef enum relation { EQUAL, GREATER, LESS, GREATER_EQUAL, LESS_EQUAL, AND, OR, XOR } relation;
static const char *const relations[] = {"Equal",       "Greater", "Less", "GreaterOrEqual",
                                        "LessOrEqual", "And",     "Or",   "Xor"};

#define COMPARE(a, b)                                                                              \
  switch (r) {                                                                                     \
  case EQUAL:                                                                                      \
    return a == b;                                                                                 \
  case GREATER:                                                                                    \
    return a > b;                                                                                  \
  case LESS:                                                                                       \
    return a < b;                                                                                  \
  case GREATER_EQUAL:                                                                              \
    return a >= b;                                                                                 \
  case LESS_EQUAL:                                                                                 \
    return a <= b;                                                                                 \
  case AND:                                                                                        \
    return a != 0 && b != 0;                                                                       \
  case OR:                                                                                         \
    return a != 0 || b != 0;                                                                       \
  default:                                                                                         \
    return (a != 0) != (b != 0);                                                                   \
  }

static bool holds_real(relation r, double a, double b) {
  COMPARE(a, b)
}

static bool holds_whole(relation r, int64_t a, int64_t b){COMPARE(a, b)}

hl_status
    hl_evaluate_comparison(const hl_graph *graph, const hl_node *node, const hl_tensor_view *inputs,
                           hl_tensor_view *outputs, hl_error *error) {
  (void)graph;
  (void)error;
  relation r = EQUAL;
  while (r < XOR && strcmp(relations[r], node->op) != 0) r++;
  hl_tensor_view *out = &outputs[0];
  int64_t sa[HL_MAX_RANK] = {0}, sb[HL_MAX_RANK] = {0}, ia[HL_MAX_RANK] = {0};
  int64_t ib[HL_MAX_RANK] = {0}, oa = 0, ob = 0, count = hl_view_elements(out);
  bool whole = !hl_dtype_is_float(inputs[0].dtype) && !hl_dtype_is_float(inputs[1].dtype);
  hl_view_broadcast_strides(&inputs[0], out->rank, sa);
  hl_view_broadcast_strides(&inputs[1], out->rank, sb);
  for (int64_t i = 0; i < count; i++) {
    bool holds =
        whole ? holds_whole(r, hl_view_get_int(&inputs[0], oa), hl_view_get_int(&inputs[1], ob))
              : holds_real(r, hl_view_get(&inputs[0], oa), hl_view_get(&inputs[1], ob));
    hl_view_put_int(out, i, holds);
    hl_index_next(out->rank, out->dims, ia, sa, &oa);
    hl_index_next(out->rank, out->dims, ib, sb, &ob);
  }
  return HL_OK;
}

hl_status hl_evaluate_not(const hl_graph *graph, const hl_node *node, const hl_tensor_view *inputs,
                          hl_tensor_view *outputs, hl_error *error) {
  (void)graph, (void)node, (void)error;
  int64_t count = hl_view_elements(&outputs[0]);
  for (int64_t i = 0; i < count; i++)
    hl_view_put_int(&outputs[0], i, hl_view_get_int(&inputs[0], i) == 0);
  return HL_OK;
}

/* -- Where, Clip, Cast, copies -------------------------------------------------------------- */

hl_status hl_infer_where(hl_graph *graph, hl_node *node, hl_error *error) {
  hl_shape shape;
  hl_status status = broadcast_inputs(graph, node, &shape, error);
  if (status != HL_OK) return status;
  hl_op_set(hl_node_output(graph, node, 0), hl_node_input(graph, node, 1)->dtype, shape.rank,
            shape.dims);
  return HL_OK;
}

hl_status hl_evaluate_where(const hl_graph *graph, const hl_node *node,
                            const hl_tensor_view *inputs, hl_tensor_view *outputs,
                            hl_error *error) {
  (void)graph;
  hl_tensor_view *out = &outputs[0];
  int64_t strides[3][HL_MAX_RANK], index[3][HL_MAX_RANK] = {0}, offset[3] = {0};
  size_t size = hl_dtype_bytes(out->dtype);
  if (inputs[1].dtype != inputs[2].dtype)
    return hl_op_fail(node, HL_BAD_DATA, error, "X and Y differ in type");
  for (int k = 0; k < 3; k++) hl_view_broadcast_strides(&inputs[k], out->rank, strides[k]);
  int64_t count = hl_view_elements(out);
  for (int64_t i = 0; i < count; i++) {
    int k = hl_view_get_int(&inputs[0], offset[0]) ? 1 : 2;
    memcpy((char *)out->data + (size_t)i * size,
           (const char *)inputs[k].data + (size_t)offset[k] * size, size);
    for (int j = 0; j < 3; j++)
      hl_index_next(out->rank, out->dims, index[j], strides[j], &offset[j]);
  }
  return HL_OK;
}

hl_status hl_infer_clip(hl_graph *graph, hl_node *node, hl_error *error) {
  for (size_t i = 1; i < node->input_count; i++) {
    const hl_value *bound = hl_node_input(graph, node, i);
    if (bound && hl_shape_elements(&bound->shape) != 1)
      return hl_op_fail(node, HL_BAD_DATA, error, "'%.60s' must be a scalar", bound->name);
  }
  return hl_op_infer_same(graph, node, error);
}

hl_status hl_evaluate_clip(const hl_graph *graph, const hl_node *node, const hl_tensor_view *inputs,
                           hl_tensor_view *outputs, hl_error *error) {
  (void)error;
  bool old = graph->opset < 11;
  bool has_low =
      old ? hl_node_attribute(node, "min") != NULL : node->input_count > 1 && inputs[1].data;
  bool has_high =
      old ? hl_node_attribute(node, "max") != NULL : node->input_count > 2 && inputs[2].data;
  double low = -HUGE_VAL, high = HUGE_VAL;
  if (has_low) low = old ? (double)hl_node_real(node, "min", 0) : hl_view_get(&inputs[1], 0);
  if (has_high) high = old ? (double)hl_node_real(node, "max", 0) : hl_view_get(&inputs[2], 0);
  int64_t count = hl_view_elements(&outputs[0]);
  for (int64_t i = 0; i < count; i++) {
    double x = hl_view_get(&inputs[0], i), y = x < low ? low : x;
    hl_view_put(&outputs[0], i, y > high ? high : y);
  }
  return HL_OK;
}

hl_status hl_evaluate_copy(const hl_graph *graph, const hl_node *node, const hl_tensor_view *inputs,
                           hl_tensor_view *outputs, hl_error *error) {
  (void)graph, (void)node, (void)error;
  if (outputs[0].bytes) memcpy(outputs[0].data, inputs[0].data, (size_t)outputs[0].bytes);
  return HL_OK;
}

hl_status hl_infer_cast(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  int64_t to = hl_node_int(node, "to", 0);
  if (to < 1 || to > HL_BFLOAT16 || hl_dtype_bytes((hl_dtype)to) == 0 || to == HL_COMPLEX64 ||
      to == HL_COMPLEX128)
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "a cast to element type %lld", (long long)to);
  hl_op_set(hl_node_output(graph, node, 0), (hl_dtype)to, x->shape.rank, x->shape.dims);
  return HL_OK;
}

hl_status hl_infer_cast_like(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0), *like = hl_node_input(graph, node, 1);
  if (like->dtype == HL_COMPLEX64 || like->dtype == HL_COMPLEX128)
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "a cast to %s", hl_dtype_name(like->dtype));
  hl_op_set(hl_node_output(graph, node, 0), like->dtype, x->shape.rank, x->shape.dims);
  return HL_OK;
}

hl_status hl_evaluate_cast(const hl_graph *graph, const hl_node *node, const hl_tensor_view *inputs,
                           hl_tensor_view *outputs, hl_error *error) {
  (void)graph, (void)node, (void)error;
  bool whole = !hl_dtype_is_float(inputs[0].dtype) && !hl_dtype_is_float(outputs[0].dtype);
  int64_t count = hl_view_elements(&outputs[0]);
  for (int64_t i = 0; i < count; i++) {
    if (whole)
      hl_view_put_int(&outputs[0], i, hl_view_get_int(&inputs[0], i));
    else
      hl_view_put(&outputs[0], i, hl_view_get(&inputs[0], i));
  }
  return HL_OK;
}
