/* Shape, Size, and operators that only rename the dimensions of the same elements; constants. */
#include "graph/operator-kit.h"

#include <stdlib.h>
#include <string.h>

static void shape_range(const hl_node *node, int64_t rank, int64_t *ret_start, int64_t *ret_end) {
  int64_t start = hl_node_int(node, "start", 0), end = hl_node_int(node, "end", rank);
  if (start < 0) start += rank;
  if (end < 0) end += rank;
  *ret_start = start < 0 ? 0 : start > rank ? rank : start;
  *ret_end = end < *ret_start ? *ret_start : end > rank ? rank : end;
}

/* Knows its result as soon as the dimensions are known, whatever the data. */
static hl_status know(hl_graph *graph, const hl_node *node, hl_value *out, const int64_t *values,
                      int64_t count, hl_error *error) {
  for (int64_t i = 0; i < count; i++)
    if (values[i] < 0) return HL_OK;
  int64_t *copy = hl_arena_array(&graph->arena, (size_t)count, sizeof *copy);
  if (!copy) return hl_op_no_memory(node, error);
  for (int64_t i = 0; i < count; i++) copy[i] = values[i];
  out->data = copy;
  return HL_OK;
}

hl_status hl_infer_shape(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  hl_value *out = hl_node_output(graph, node, 0);
  int64_t start, end;
  shape_range(node, x->shape.rank, &start, &end);
  hl_op_set(out, HL_INT64, 1, (int64_t[]){end - start});
  return out ? know(graph, node, out, x->shape.dims + start, end - start, error) : HL_OK;
}

hl_status hl_evaluate_shape(const hl_graph *graph, const hl_node *node,
                            const hl_tensor_view *inputs, hl_tensor_view *outputs,
                            hl_error *error) {
  (void)graph, (void)error;
  int64_t start, end;
  shape_range(node, inputs[0].rank, &start, &end);
  for (int64_t i = start; i < end; i++) hl_view_put_int(&outputs[0], i - start, inputs[0].dims[i]);
  return HL_OK;
}

hl_status hl_infer_size(hl_graph *graph, hl_node *node, hl_error *error) {
  hl_value *out = hl_node_output(graph, node, 0);
  int64_t count = hl_shape_elements(&hl_node_input(graph, node, 0)->shape);
  hl_op_set(out, HL_INT64, 0, NULL);
  return out ? know(graph, node, out, &count, 1, error) : HL_OK;
}

hl_status hl_evaluate_size(const hl_graph *graph, const hl_node *node, const hl_tensor_view *inputs,
                           hl_tensor_view *outputs, hl_error *error) {
  (void)graph, (void)node, (void)error;
  hl_view_put_int(&outputs[0], 0, hl_view_elements(&inputs[0]));
  return HL_OK;
}

/* -- Reshape -------------------------------------------------------------------------------- */

/* Fills the one -1 of `dims` from the number of elements; false if it does not divide. */
static bool fill_wildcard(const hl_shape *from, hl_shape *to, int32_t wildcard) {
  int64_t have = hl_shape_elements(from), rest = 1;
  for (int32_t i = 0; i < to->rank; i++) {
    if (i == wildcard) continue;
    if (to->dims[i] < 0) return true;
    if (__builtin_mul_overflow(rest, to->dims[i], &rest)) return false;
  }
  if (have < 0) return true;
  if (wildcard < 0) return rest == have;
  if (rest == 0 || have % rest != 0) return false;
  to->dims[wildcard] = have / rest;
  return true;
}

hl_status hl_infer_reshape(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0), *s = hl_node_input(graph, node, 1);
  hl_value *out = hl_node_output(graph, node, 0);
  hl_shape shape = {0};
  size_t count = 0;
  bool allow_zero = hl_node_int(node, "allowzero", 0) != 0;
  if (s->shape.rank != 1) return hl_op_fail(node, HL_BAD_DATA, error, "the shape must be a vector");
  if (s->shape.dims[0] > HL_MAX_RANK)
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "a tensor of %lld dimensions; at most %d",
                      (long long)s->shape.dims[0], HL_MAX_RANK);
  if (!hl_op_value_ints(s, shape.dims, HL_MAX_RANK, &count)) {
    if (!out || s->shape.dims[0] < 0) return HL_OK;
    for (int64_t i = 0; i < s->shape.dims[0]; i++) shape.dims[i] = -1;
    hl_op_set(out, x->dtype, (int32_t)s->shape.dims[0], shape.dims);
    return HL_OK;
  }
  shape.rank = (int32_t)count;
  int32_t wildcard = -1;
  for (int32_t i = 0; i < shape.rank; i++) {
    if (shape.dims[i] == 0 && !allow_zero) {
      if (i >= x->shape.rank)
        return hl_op_fail(node, HL_BAD_DATA, error,
                          "0 in the shape keeps dimension %d, which the "
                          "input lacks",
                          i);
      shape.dims[i] = x->shape.dims[i];
    } else if (shape.dims[i] == -1 && wildcard < 0) {
      wildcard = i;
    } else if (shape.dims[i] < 0) {
      return hl_op_fail(node, HL_BAD_DATA, error, "the shape holds %lld, or -1 twice",
                        (long long)shape.dims[i]);
    }
  }
  if (!fill_wildcard(&x->shape, &shape, wildcard))
    return hl_op_fail(node, HL_BAD_DATA, error, "%lld elements do not fit into the new shape",
                      (long long)hl_shape_elements(&x->shape));
  hl_op_set(out, x->dtype, shape.rank, shape.dims);
  return HL_OK;
}

hl_status hl_infer_flatten(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  int64_t axis = hl_node_int(node, "axis", 1);
  int32_t rank = x->shape.rank;
  if (axis < -rank || axis > rank)
    return hl_op_fail(node, HL_BAD_DATA, error, "axis %lld is outside a tensor of rank %d",
                      (long long)axis, rank);
  int32_t at = (int32_t)(axis < 0 ? axis + rank : axis);
  int64_t dims[2] = {hl_op_product(x->shape.dims, 0, at), hl_op_product(x->shape.dims, at, rank)};
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, 2, dims);
  return HL_OK;
}

/* -- Squeeze and Unsqueeze: axes are an attribute before opset 13, then an input ------------- */

static hl_status read_axes(const hl_graph *graph, const hl_node *node, int32_t rank, bool *ret_in,
                           size_t *ret_count, bool *ret_known, hl_error *error) {
  int64_t axes[HL_MAX_RANK];
  hl_status status =
      hl_op_ints(graph, node, "axes", 1, axes, HL_MAX_RANK, ret_count, ret_known, error);
  for (size_t i = 0; status == HL_OK && i < *ret_count && *ret_known; i++) {
    int32_t axis;
    if (axes[i] < -rank || axes[i] >= rank)
      return hl_op_fail(node, HL_BAD_DATA, error, "axis %lld is outside a tensor of rank %d",
                        (long long)axes[i], rank);
    axis = (int32_t)(axes[i] < 0 ? axes[i] + rank : axes[i]);
    if (ret_in[axis]) return hl_op_fail(node, HL_BAD_DATA, error, "axis %d is given twice", axis);
    ret_in[axis] = true;
  }
  return status;
}

hl_status hl_infer_squeeze(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  bool in[HL_MAX_RANK] = {false}, known;
  size_t count;
  hl_status status = read_axes(graph, node, x->shape.rank, in, &count, &known, error);
  if (status != HL_OK || !known) return status;
  int64_t dims[HL_MAX_RANK];
  int32_t rank = 0;
  for (int32_t i = 0; i < x->shape.rank; i++) {
    int64_t dim = x->shape.dims[i];
    if (count == 0 && dim < 0) return HL_OK; /* it may be a 1: the rank is not known yet */
    bool drop = count ? in[i] : dim == 1;
    if (drop && dim != 1 && dim >= 0)
      return hl_op_fail(node, HL_BAD_DATA, error, "axis %d has %lld elements, not 1", i,
                        (long long)dim);
    if (!drop) dims[rank++] = dim;
  }
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, rank, dims);
  return HL_OK;
}

hl_status hl_infer_unsqueeze(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0), *a = hl_node_input(graph, node, 1);
  const hl_attribute *attribute = hl_node_attribute(node, "axes");
  int64_t added = attribute ? (int64_t)attribute->count : a ? hl_shape_elements(&a->shape) : -2;
  if (added == -2) return hl_op_fail(node, HL_BAD_DATA, error, "axes are missing");
  if (added < 0) return HL_OK;
  if (added > HL_MAX_RANK - x->shape.rank)
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "a result of %lld dimensions; at most %d",
                      (long long)added + x->shape.rank, HL_MAX_RANK);
  int32_t rank = x->shape.rank + (int32_t)added, from = 0;
  bool in[HL_MAX_RANK] = {false}, known;
  size_t count;
  hl_status status = read_axes(graph, node, rank, in, &count, &known, error);
  if (status != HL_OK || !known) return status;
  if (count != (size_t)added) return hl_op_fail(node, HL_BAD_DATA, error, "axes are missing");
  int64_t dims[HL_MAX_RANK];
  for (int32_t i = 0; i < rank; i++) dims[i] = in[i] ? 1 : x->shape.dims[from++];
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, rank, dims);
  return HL_OK;
}

/* -- constants ------------------------------------------------------------------------------ */

static const hl_value *constant_tensor(const hl_graph *graph, const hl_node *node) {
  const hl_attribute *a = hl_node_attribute(node, "value");
  bool ok = a && a->kind == HL_ATTRIBUTE_TENSOR && a->tensor >= 0;
  return ok ? &graph->values[a->tensor] : NULL;
}

hl_status hl_infer_constant(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *value = constant_tensor(graph, node);
  hl_value *out = hl_node_output(graph, node, 0);
  if (!value) return hl_op_fail(node, HL_BAD_DATA, error, "attribute 'value' is missing");
  hl_op_set(out, value->dtype, value->shape.rank, value->shape.dims);
  if (out) out->data = value->data;
  return HL_OK;
}

hl_status hl_evaluate_constant(const hl_graph *graph, const hl_node *node,
                               const hl_tensor_view *inputs, hl_tensor_view *outputs,
                               hl_error *error) {
  hl_tensor_view value = hl_view_of(constant_tensor(graph, node));
  (void)inputs;
  return hl_evaluate_copy(graph, node, &value, outputs, error);
}

hl_status hl_infer_constant_of_shape(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *s = hl_node_input(graph, node, 0), *value = constant_tensor(graph, node);
  hl_value *out = hl_node_output(graph, node, 0);
  hl_dtype dtype = value ? value->dtype : HL_FLOAT32;
  int64_t dims[HL_MAX_RANK];
  size_t count;
  if (value && hl_shape_elements(&value->shape) != 1)
    return hl_op_fail(node, HL_BAD_DATA, error, "attribute 'value' must have one element");
  if (s->shape.rank != 1 || s->shape.dims[0] > HL_MAX_RANK)
    return hl_op_fail(node, HL_BAD_DATA, error, "the shape must be a vector of at most %d",
                      HL_MAX_RANK);
  bool known = hl_op_value_ints(s, dims, HL_MAX_RANK, &count);
  if (!known && s->shape.dims[0] < 0) return HL_OK;
  if (!known) count = (size_t)s->shape.dims[0];
  for (size_t i = 0; i < count; i++) {
    if (!known) dims[i] = -1;
    if (known && dims[i] < 0)
      return hl_op_fail(node, HL_BAD_DATA, error, "dimension %zu is %lld", i, (long long)dims[i]);
  }
  hl_op_set(out, dtype, (int32_t)count, dims);
  return HL_OK;
}

hl_status hl_evaluate_constant_of_shape(const hl_graph *graph, const hl_node *node,
                                        const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                        hl_error *error) {
  (void)inputs, (void)error;
  const hl_value *value = constant_tensor(graph, node);
  size_t size = hl_dtype_bytes(outputs[0].dtype);
  int64_t count = hl_view_elements(&outputs[0]);
  for (int64_t i = 0; i < count; i++) {
    if (value)
      memcpy((char *)outputs[0].data + (size_t)i * size, value->data, size);
    else
      memset((char *)outputs[0].data + (size_t)i * size, 0, size);
  }
  return HL_OK;
}

/* -- Range ---------------------------------------------------------------------------------- */

hl_status hl_infer_range(hl_graph *graph, hl_node *node, hl_error *error) {
  hl_value *out = hl_node_output(graph, node, 0);
  hl_tensor_view v[3];
  for (size_t i = 0; i < 3; i++) {
    const hl_value *in = hl_node_input(graph, node, i);
    if (hl_shape_elements(&in->shape) != 1)
      return hl_op_fail(node, HL_BAD_DATA, error, "start, limit and delta must be scalars");
    v[i] = hl_view_of(in);
  }
  int64_t dims[1] = {-1};
  if (v[0].data && v[1].data && v[2].data) {
    double step = hl_view_get(&v[2], 0);
    double count = (hl_view_get(&v[1], 0) - hl_view_get(&v[0], 0)) / step;
    /* The negation also catches NaN. */
    if (step == 0 || !(count < 0x1p40))
      return hl_op_fail(node, HL_BAD_DATA, error, "delta %g gives no finite range", step);
    int64_t whole = count > 0 ? (int64_t)count : 0;
    dims[0] = whole + ((double)whole < count);
  }
  hl_op_set(out, v[0].dtype, 1, dims);
  return HL_OK;
}

hl_status hl_evaluate_range(const hl_graph *graph, const hl_node *node,
                            const hl_tensor_view *inputs, hl_tensor_view *outputs,
                            hl_error *error) {
  (void)graph, (void)node, (void)error;
  bool whole = hl_dtype_is_int(outputs[0].dtype);
  for (int64_t i = 0; i < outputs[0].dims[0]; i++) {
    if (whole) {
      uint64_t start = (uint64_t)hl_view_get_int(&inputs[0], 0);
      uint64_t step = (uint64_t)hl_view_get_int(&inputs[2], 0);
      hl_view_put_int(&outputs[0], i, (int64_t)(start + (uint64_t)i * step));
    } else {
      hl_view_put(&outputs[0], i,
                  hl_view_get(&inputs[0], 0) + (double)i * hl_view_get(&inputs[2], 0));
    }
  }
  return HL_OK;
}
