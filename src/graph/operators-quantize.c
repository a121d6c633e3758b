/* QuantizeLinear, DequantizeLinear and what is computed on quantised tensors. */
#include "graph/operator-kit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- which scale an element has -------------------------------------------------------------- */

/* Scale and zero point are one number, one for each place of an axis, or one for each block of
 * `block` places of it (opset 21). `strides` leads from an element's index to its scale. */
typedef struct granularity {
  int32_t axis; /* -1: one scale for all */
  int64_t block;
  int64_t strides[HL_MAX_RANK];
} granularity;

static hl_status read_granularity(const hl_node *node, const hl_shape *x, const hl_shape *scale,
                                  granularity *ret, hl_error *error) {
  int64_t block = hl_node_int(node, "block_size", 0), count = hl_shape_elements(scale);
  *ret = (granularity){.axis = -1, .block = 1};
  if (block < 0) return hl_op_fail(node, HL_BAD_DATA, error, "block_size is negative");
  if (block == 0 && (scale->rank == 0 || (scale->rank == 1 && count == 1))) return HL_OK;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", 1), x->rank, &ret->axis, error);
  if (status != HL_OK) return status;
  if (block == 0) {
    int64_t dim = x->dims[ret->axis];
    if (scale->rank != 1 || (count >= 0 && dim >= 0 && count != dim))
      return hl_op_fail(node, HL_BAD_DATA, error,
                        "the scale must be one number, or one for each of the %lld places of axis "
                        "%d",
                        (long long)dim, ret->axis);
    ret->strides[ret->axis] = 1;
    return HL_OK;
  }
  ret->block = block;
  int64_t stride = 1;
  bool fits = scale->rank == x->rank;
  for (int32_t d = x->rank - 1; fits && d >= 0; d--) {
    int64_t dim = x->dims[d], want = d == ret->axis && dim > 0 ? (dim - 1) / block + 1 : dim;
    fits = scale->dims[d] < 0 || dim < 0 || scale->dims[d] == want;
    ret->strides[d] = stride;
    stride = (int64_t)((uint64_t)stride * (uint64_t)(scale->dims[d] > 0 ? scale->dims[d] : 1));
  }
  return fits ? HL_OK
              : hl_op_fail(node, HL_BAD_DATA, error,
                           "the scale must have the input's dimensions, axis %d divided by "
                           "block_size %lld",
                           ret->axis, (long long)block);
}

static int64_t scale_index(const granularity *g, int32_t rank, const int64_t *index) {
  int64_t at = 0;
  for (int32_t d = 0; d < rank && g->axis >= 0; d++)
    at += (d == g->axis ? index[d] / g->block : index[d]) * g->strides[d];
  return at;
}

static bool same_dims(const hl_shape *a, const hl_shape *b) {
  bool same = a->rank == b->rank;
  for (int32_t d = 0; same && d < a->rank; d++)
    same = a->dims[d] < 0 || b->dims[d] < 0 || a->dims[d] == b->dims[d];
  return same;
}

static hl_status check_zero_point(const hl_node *node, const hl_value *scale, const hl_value *zero,
                                  hl_error *error) {
  if (!hl_dtype_is_float(scale->dtype) && scale->dtype != HL_DTYPE_NONE)
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "a scale of type %s",
                      hl_dtype_name(scale->dtype));
  if (!zero) return HL_OK;
  if (!hl_dtype_is_int(zero->dtype) && zero->dtype != HL_DTYPE_NONE)
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "a zero point of type %s",
                      hl_dtype_name(zero->dtype));
  if (!same_dims(&scale->shape, &zero->shape) &&
      (hl_shape_elements(&scale->shape) != 1 || hl_shape_elements(&zero->shape) != 1))
    return hl_op_fail(node, HL_BAD_DATA, error, "scale and zero point differ in shape");
  return HL_OK;
}

/* -- QuantizeLinear and DequantizeLinear ----------------------------------------------------- */

void hl_op_int_range(hl_dtype dtype, double *ret_low, double *ret_high) {
  bool is_signed = dtype == HL_INT8 || dtype == HL_INT16 || dtype == HL_INT32 || dtype == HL_INT64;
  int bits = 8 * (int)hl_dtype_bytes(dtype);
  *ret_low = is_signed ? -ldexp(1, bits - 1) : 0;
  *ret_high = ldexp(1, is_signed ? bits - 1 : bits) - 1;
}

double hl_flops_quantize(const hl_graph *graph, const hl_node *node) {
  return 2 * hl_flops_input(graph, node);
}

hl_status hl_infer_quantize(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0), *scale = hl_node_input(graph, node, 1);
  const hl_value *zero = hl_node_input(graph, node, 2);
  granularity g;
  hl_status status = check_zero_point(node, scale, zero, error);
  if (status == HL_OK) status = read_granularity(node, &x->shape, &scale->shape, &g, error);
  if (status != HL_OK) return status;
  int64_t wanted = hl_node_int(node, "output_dtype", 0);
  hl_dtype to = zero ? zero->dtype : wanted ? (hl_dtype)wanted : HL_UINT8;
  if (wanted < 0 || wanted > HL_BFLOAT16 || (to != HL_DTYPE_NONE && !hl_dtype_is_int(to)))
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "quantised elements of type %lld",
                      (long long)wanted);
  if (zero && wanted && to != HL_DTYPE_NONE && (int64_t)to != wanted)
    return hl_op_fail(node, HL_BAD_DATA, error, "output_dtype differs from the zero point's type");
  hl_op_set(hl_node_output(graph, node, 0), to, x->shape.rank, x->shape.dims);
  return HL_OK;
}

hl_status hl_infer_dequantize(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0), *scale = hl_node_input(graph, node, 1);
  const hl_value *zero = hl_node_input(graph, node, 2);
  granularity g;
  hl_status status = check_zero_point(node, scale, zero, error);
  if (status == HL_OK) status = read_granularity(node, &x->shape, &scale->shape, &g, error);
  if (status != HL_OK) return status;
  if (x->dtype != HL_DTYPE_NONE && !hl_dtype_is_int(x->dtype))
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "quantised elements of type %s",
                      hl_dtype_name(x->dtype));
  if (zero && zero->dtype != x->dtype && zero->dtype != HL_DTYPE_NONE && x->dtype != HL_DTYPE_NONE)
    return hl_op_fail(node, HL_BAD_DATA, error, "the input is %s, the zero point %s",
                      hl_dtype_name(x->dtype), hl_dtype_name(zero->dtype));
  hl_op_set(hl_node_output(graph, node, 0), scale->dtype, x->shape.rank, x->shape.dims);
  return HL_OK;
}

static hl_status granularity_of(const hl_node *node, const hl_tensor_view *inputs, granularity *ret,
                                hl_error *error) {
  hl_shape x = hl_view_shape(&inputs[0]), scale = hl_view_shape(&inputs[1]);
  return read_granularity(node, &x, &scale, ret, error);
}

double hl_op_quantize(double x, double scale, double zero, hl_dtype to) {
  double low, high;
  hl_op_int_range(to, &low, &high);
  /* A float's quotient is rounded to float first, as every implementation does: it decides ties. */
  double y = nearbyint((double)((float)x / (float)scale)) + zero;
  return isnan(y) ? zero : y < low ? low : y > high ? high : y;
}

/* One element from input `x` with its scale and zero point. */
typedef double (*scale_fn)(double x, double scale, double zero, hl_dtype to);

static hl_status scale_all(const hl_node *node, const hl_tensor_view *inputs,
                           hl_tensor_view *output, scale_fn scale, hl_error *error) {
  granularity g;
  hl_status status = granularity_of(node, inputs, &g, error);
  int64_t index[HL_MAX_RANK] = {0}, unused[HL_MAX_RANK] = {0}, offset = 0;
  int64_t count = hl_view_elements(output);
  bool has_zero = node->input_count > 2 && inputs[2].data;
  for (int64_t i = 0; status == HL_OK && i < count; i++) {
    int64_t s = scale_index(&g, inputs[0].rank, index);
    double zero = has_zero ? hl_view_get(&inputs[2], s) : 0;
    hl_view_put(output, i,
                scale(hl_view_get(&inputs[0], i), hl_view_get(&inputs[1], s), zero, output->dtype));
    hl_index_next(inputs[0].rank, inputs[0].dims, index, unused, &offset);
  }
  return status;
}

static double dequantize(double x, double scale, double zero, hl_dtype to) {
  (void)to;
  return (x - zero) * scale;
}

hl_status hl_evaluate_quantize(const hl_graph *graph, const hl_node *node,
                               const hl_tensor_view *inputs, hl_tensor_view *outputs,
                               hl_error *error) {
  (void)graph;
  return scale_all(node, inputs, &outputs[0], hl_op_quantize, error);
}

hl_status hl_evaluate_dequantize(const hl_graph *graph, const hl_node *node,
                                 const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                 hl_error *error) {
  (void)graph;
  return scale_all(node, inputs, &outputs[0], dequantize, error);
}
