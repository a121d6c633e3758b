/* Element-wise operators on integers and bits, and the tests for NaN and infinity. */
#include "graph/operator-kit.h"

#include <math.h>
#include <string.h>

typedef enum integer_op { MODULO, REMAINDER, SHIFT_LEFT, SHIFT_RIGHT, AND, OR, XOR } integer_op;

/* The remainder has the divisor's sign (Python), or the dividend's with `fmod` (C). Dividing by
 * zero is undefined in ONNX; 0 keeps hostile constants from killing the process. */
static int64_t modulo(int64_t a, int64_t b, bool c_way) {
  if (b == 0 || b == -1) return 0;
  int64_t rest = a % b;
  return !c_way && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static uint64_t modulo_unsigned(uint64_t a, uint64_t b) {
  return b ? a % b : 0;
}

static int64_t combine(integer_op op, hl_dtype dtype, int64_t a, int64_t b) {
  uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
  switch (op) {
  case MODULO:
  case REMAINDER:
    return dtype == HL_UINT64 ? (int64_t)modulo_unsigned(ua, ub) : modulo(a, b, op == REMAINDER);
  case SHIFT_LEFT: /* all bits are gone beyond the width */
    return ub > 63 ? 0 : (int64_t)(ua << ub);
  case SHIFT_RIGHT:
    return ub > 63 ? 0 : (int64_t)(ua >> ub);
  case AND:
    return (int64_t)(ua & ub);
  case OR:
    return (int64_t)(ua | ub);
  default:
    return (int64_t)(ua ^ ub);
  }
}

static integer_op op_of(const hl_node *node) {
  if (strcmp(node->op, "Mod") == 0) return hl_node_int(node, "fmod", 0) ? REMAINDER : MODULO;
  if (strcmp(node->op, "BitwiseAnd") == 0) return AND;
  if (strcmp(node->op, "BitwiseOr") == 0) return OR;
  if (strcmp(node->op, "BitwiseXor") == 0) return XOR;
  return strcmp(hl_node_text(node, "direction", ""), "LEFT") == 0 ? SHIFT_LEFT : SHIFT_RIGHT;
}

hl_status hl_infer_integer(hl_graph *graph, hl_node *node, hl_error *error) {
  hl_dtype dtype = hl_node_input(graph, node, 0)->dtype;
  hl_dtype other = hl_node_input(graph, node, 1)->dtype;
  bool shifts = strcmp(node->op, "BitShift") == 0, mod = strcmp(node->op, "Mod") == 0;
  const char *direction = hl_node_text(node, "direction", "");
  if (shifts && strcmp(direction, "LEFT") != 0 && strcmp(direction, "RIGHT") != 0)
    return hl_op_fail(node, HL_BAD_DATA, error, "direction '%.40s'; LEFT and RIGHT are", direction);
  if (dtype != HL_DTYPE_NONE && !hl_dtype_is_int(dtype) && !(mod && hl_dtype_is_float(dtype)))
    return hl_op_fail(node, HL_BAD_DATA, error, "elements of type %s", hl_dtype_name(dtype));
  if (dtype != other && dtype != HL_DTYPE_NONE && other != HL_DTYPE_NONE)
    return hl_op_fail(node, HL_BAD_DATA, error, "the inputs differ in type");
  if (mod && hl_dtype_is_float(dtype) && !hl_node_int(node, "fmod", 0))
    return hl_op_fail(node, HL_BAD_DATA, error, "floating-point numbers need fmod=1");
  return hl_infer_binary(graph, node, error);
}

hl_status hl_evaluate_integer(const hl_graph *graph, const hl_node *node,
                              const hl_tensor_view *inputs, hl_tensor_view *outputs,
                              hl_error *error) {
  (void)graph, (void)error;
  hl_tensor_view *out = &outputs[0];
  int64_t strides[2][HL_MAX_RANK], index[2][HL_MAX_RANK] = {0}, at[2] = {0};
  int64_t count = hl_view_elements(out);
  integer_op op = op_of(node);
  bool real = hl_dtype_is_float(out->dtype);
  for (int k = 0; k < 2; k++) hl_view_broadcast_strides(&inputs[k], out->rank, strides[k]);
  for (int64_t i = 0; i < count; i++) {
    if (real)
      hl_view_put(out, i, fmod(hl_view_get(&inputs[0], at[0]), hl_view_get(&inputs[1], at[1])));
    else
      hl_view_put_int(out, i,
                      combine(op, out->dtype, hl_view_get_int(&inputs[0], at[0]),
                              hl_view_get_int(&inputs[1], at[1])));
    for (int k = 0; k < 2; k++) hl_index_next(out->rank, out->dims, index[k], strides[k], &at[k]);
  }
  return HL_OK;
}

hl_status hl_evaluate_bitwise_not(const hl_graph *graph, const hl_node *node,
                                  const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                  hl_error *error) {
  (void)graph;
  if (!hl_dtype_is_int(inputs[0].dtype))
    return hl_op_fail(node, HL_BAD_DATA, error, "elements of type %s",
                      hl_dtype_name(inputs[0].dtype));
  int64_t count = hl_view_elements(&outputs[0]);
  for (int64_t i = 0; i < count; i++)
    hl_view_put_int(&outputs[0], i, ~hl_view_get_int(&inputs[0], i));
  return HL_OK;
}

/* -- IsNaN and IsInf ------------------------------------------------------------------------- */

hl_status hl_infer_float_test(hl_graph *graph, hl_node *node, hl_error *error) {
  (void)error;
  const hl_value *x = hl_node_input(graph, node, 0);
  hl_op_set(hl_node_output(graph, node, 0), HL_BOOL, x->shape.rank, x->shape.dims);
  return HL_OK;
}

hl_status hl_evaluate_float_test(const hl_graph *graph, const hl_node *node,
                                 const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                 hl_error *error) {
  (void)graph, (void)error;
  bool nan = strcmp(node->op, "IsNaN") == 0;
  bool above = hl_node_int(node, "detect_positive", 1) != 0;
  bool below = hl_node_int(node, "detect_negative", 1) != 0;
  int64_t count = hl_view_elements(&outputs[0]);
  for (int64_t i = 0; i < count; i++) {
    double x = hl_view_get(&inputs[0], i);
    hl_view_put_int(&outputs[0], i, nan ? isnan(x) != 0 : isinf(x) && (x > 0 ? above : below));
  }
  return HL_OK;
}
