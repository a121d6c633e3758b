/* Operators that move elements: Transpose, Concat, Slice, Split, Gather, Expand, Tile, Pad. */
#include "graph/operator-kit.h"

#include <stdlib.h>
#include <string.h>

/* Copies the element at `offset` of `in` to each place i of `out`, `offset` stepping by strides. */
static void copy_strided(const hl_tensor_view *in, hl_tensor_view *out, int64_t offset,
                         const int64_t *strides) {
  size_t size = hl_dtype_bytes(out->dtype);
  int64_t index[HL_MAX_RANK] = {0}, count = hl_view_elements(out);
  for (int64_t i = 0; i < count; i++) {
    memcpy((char *)out->data + (size_t)i * size, (const char *)in->data + (size_t)offset * size,
           size);
    hl_index_next(out->rank, out->dims, index, strides, &offset);
  }
}

/* -- Transpose ------------------------------------------------------------------------------ */

static hl_status read_permutation(const hl_node *node, int32_t rank, int64_t *ret,
                                  hl_error *error) {
  size_t count = hl_node_ints(node, "perm", ret, HL_MAX_RANK);
  bool seen[HL_MAX_RANK] = {false}, given = hl_node_attribute(node, "perm") != NULL;
  if (given && count != (size_t)rank)
    return hl_op_fail(node, HL_BAD_DATA, error, "perm has %zu numbers for %d dimensions", count,
                      rank);
  for (int32_t i = 0; i < rank; i++) {
    if (!given) ret[i] = rank - 1 - i;
    if (ret[i] < 0 || ret[i] >= rank || seen[ret[i]])
      return hl_op_fail(node, HL_BAD_DATA, error, "perm is not a permutation of the axes");
    seen[ret[i]] = true;
  }
  return HL_OK;
}

hl_status hl_infer_transpose(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  int64_t perm[HL_MAX_RANK], dims[HL_MAX_RANK];
  hl_status status = read_permutation(node, x->shape.rank, perm, error);
  if (status != HL_OK) return status;
  for (int32_t i = 0; i < x->shape.rank; i++) dims[i] = x->shape.dims[perm[i]];
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, x->shape.rank, dims);
  return HL_OK;
}

hl_status hl_evaluate_transpose(const hl_graph *graph, const hl_node *node,
                                const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                hl_error *error) {
  (void)graph;
  int64_t perm[HL_MAX_RANK], own[HL_MAX_RANK], strides[HL_MAX_RANK];
  hl_status status = read_permutation(node, inputs[0].rank, perm, error);
  if (status != HL_OK) return status;
  hl_view_strides(&inputs[0], own);
  for (int32_t i = 0; i < inputs[0].rank; i++) strides[i] = own[perm[i]];
  copy_strided(&inputs[0], &outputs[0], 0, strides);
  return HL_OK;
}

/* -- Concat and Split ----------------------------------------------------------------------- */

/* A tensor seen around one axis: outer x (axis x inner). */
static void around(const hl_tensor_view *view, int32_t axis, int64_t *ret_outer,
                   int64_t *ret_inner) {
  *ret_outer = hl_op_product(view->dims, 0, axis);
  *ret_inner = hl_op_product(view->dims, axis + 1, view->rank);
}

hl_status hl_infer_concat(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *first = hl_node_input(graph, node, 0);
  hl_shape shape = first->shape;
  int32_t axis;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", 0), shape.rank, &axis, error);
  if (status != HL_OK) return status;
  for (size_t i = 1; i < node->input_count; i++) {
    const hl_value *value = hl_node_input(graph, node, i);
    if (!value) return hl_op_fail(node, HL_BAD_DATA, error, "input number %zu is missing", i + 1);
    if (value->shape.rank != shape.rank || value->dtype != first->dtype)
      return hl_op_fail(node, HL_BAD_DATA, error, "'%.60s' and '%.60s' differ in rank or type",
                        first->name, value->name);
    for (int32_t d = 0; d < shape.rank; d++) {
      int64_t a = shape.dims[d], b = value->shape.dims[d];
      if (d == axis)
        shape.dims[d] = a < 0 || b < 0 ? -1 : a + b;
      else if (a >= 0 && b >= 0 && a != b)
        return hl_op_fail(node, HL_BAD_DATA, error,
                          "dimension %d is %lld in '%.60s' and %lld before it", d, (long long)b,
                          value->name, (long long)a);
      else if (a < 0)
        shape.dims[d] = b;
    }
  }
  hl_op_set(hl_node_output(graph, node, 0), first->dtype, shape.rank, shape.dims);
  return HL_OK;
}

hl_status hl_evaluate_concat(const hl_graph *graph, const hl_node *node,
                             const hl_tensor_view *inputs, hl_tensor_view *outputs,
                             hl_error *error) {
  (void)graph;
  int32_t axis;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", 0), outputs[0].rank, &axis, error);
  if (status != HL_OK) return status;
  int64_t outer, inner, start = 0;
  around(&outputs[0], axis, &outer, &inner);
  size_t size = hl_dtype_bytes(outputs[0].dtype);
  size_t row = (size_t)(outputs[0].dims[axis] * inner) * size;
  for (size_t i = 0; i < node->input_count; i++) {
    size_t part = (size_t)(inputs[i].dims[axis] * inner) * size;
    for (int64_t o = 0; o < outer && part; o++)
      memcpy((char *)outputs[0].data + (size_t)o * row + (size_t)(start * inner) * size,
             (const char *)inputs[i].data + (size_t)o * part, part);
    start += inputs[i].dims[axis];
  }
  return HL_OK;
}

/* Sizes of the parts: attribute `split` before opset 13, then an input; equal parts otherwise. */
static hl_status part_sizes(const hl_graph *graph, const hl_node *node, int64_t whole,
                            int64_t *ret_sizes, bool *ret_known, hl_error *error) {
  size_t count = 0, parts = node->output_count;
  int64_t sum = 0, asked = hl_node_int(node, "num_outputs", (int64_t)parts);
  hl_status status =
      hl_op_ints(graph, node, "split", 1, ret_sizes, parts, &count, ret_known, error);
  if (status != HL_OK || !*ret_known) return status;
  if (asked != (int64_t)parts || (count && count != parts))
    return hl_op_fail(node, HL_BAD_DATA, error, "%zu outputs do not match its attributes", parts);
  int64_t each = whole < 0 ? -1 : (whole + (int64_t)parts - 1) / (int64_t)parts;
  if (!count && whole >= 0 && graph->opset < 18 && whole % (int64_t)parts != 0)
    return hl_op_fail(node, HL_BAD_DATA, error, "%lld elements do not split into %zu equal parts",
                      (long long)whole, parts);
  for (size_t i = 0; i < parts; i++) {
    if (!count) ret_sizes[i] = i + 1 < parts || whole < 0 ? each : whole - sum;
    if (ret_sizes[i] < (count || whole >= 0 ? 0 : -1) || (whole >= 0 && ret_sizes[i] > whole))
      return hl_op_fail(node, HL_BAD_DATA, error, "part %zu cannot have %lld elements", i,
                        (long long)ret_sizes[i]);
    sum += ret_sizes[i];
  }
  if (whole >= 0 && sum != whole)
    return hl_op_fail(node, HL_BAD_DATA, error, "the parts have %lld elements, the axis %lld",
                      (long long)sum, (long long)whole);
  return HL_OK;
}

hl_status hl_infer_split(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  int32_t axis;
  bool known;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", 0), x->shape.rank, &axis, error);
  if (status != HL_OK) return status;
  HL_CLEANUP(hl_free_pointer) int64_t *sizes = calloc(node->output_count, sizeof *sizes);
  if (!sizes) return hl_op_no_memory(node, error);
  status = part_sizes(graph, node, x->shape.dims[axis], sizes, &known, error);
  if (status != HL_OK) return status;
  hl_shape shape = x->shape;
  for (size_t i = 0; i < node->output_count; i++) {
    shape.dims[axis] = known ? sizes[i] : -1;
    hl_op_set(hl_node_output(graph, node, i), x->dtype, shape.rank, shape.dims);
  }
  return HL_OK;
}

hl_status hl_evaluate_split(const hl_graph *graph, const hl_node *node,
                            const hl_tensor_view *inputs, hl_tensor_view *outputs,
                            hl_error *error) {
  int32_t axis;
  bool known;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", 0), inputs[0].rank, &axis, error);
  if (status != HL_OK) return status;
  HL_CLEANUP(hl_free_pointer) int64_t *sizes = calloc(node->output_count, sizeof *sizes);
  if (!sizes) return hl_op_no_memory(node, error);
  status = part_sizes(graph, node, inputs[0].dims[axis], sizes, &known, error);
  if (status != HL_OK) return status;
  int64_t outer, inner, start = 0;
  around(&inputs[0], axis, &outer, &inner);
  size_t size = hl_dtype_bytes(inputs[0].dtype);
  size_t row = (size_t)(inputs[0].dims[axis] * inner) * size;
  for (size_t i = 0; i < node->output_count; start += sizes[i++]) {
    size_t part = (size_t)(sizes[i] * inner) * size;
    for (int64_t o = 0; o < outer && part && outputs[i].data; o++)
      memcpy((char *)outputs[i].data + (size_t)o * part,
             (const char *)inputs[0].data + (size_t)o * row + (size_t)(start * inner) * size, part);
  }
  return HL_OK;
}

/* -- Slice ---------------------------------------------------------------------------------- */

static int64_t clamp(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x > high ? high : x;
}

/* numpy's rule: negative numbers count from the end, then everything is clamped. */
static void slice_axis(int64_t dim, int64_t start, int64_t end, int64_t step, int64_t *ret_start,
                       int64_t *ret_count) {
  if (start < 0) start = start < -dim ? -1 : start + dim;
  if (end < 0) end = end < -dim ? -1 : end + dim;
  if (step > 0) {
    start = clamp(start, 0, dim);
    end = clamp(end, 0, dim);
    *ret_count = end > start ? (end - start - 1) / step + 1 : 0;
  } else {
    start = clamp(start, -1, dim - 1);
    end = clamp(end, -1, dim - 1);
    *ret_count = start > end ? (start - end - 1) / -step + 1 : 0;
  }
  *ret_start = start < 0 ? 0 : start;
}

/* Attributes before opset 10, inputs since. */
hl_status hl_slices_read(const hl_graph *graph, const hl_node *node, const int64_t *dims,
                         int32_t rank, hl_slices *ret, bool *ret_known, hl_error *error) {
  static const char *const names[4] = {"starts", "ends", "axes", "steps"};
  int64_t list[4][HL_MAX_RANK];
  size_t count[4];
  *ret_known = true;
  for (size_t k = 0; k < 4; k++) {
    bool known;
    hl_status status =
        hl_op_ints(graph, node, names[k], k + 1, list[k], HL_MAX_RANK, &count[k], &known, error);
    if (status != HL_OK) return status;
    *ret_known = *ret_known && known;
  }
  if (!*ret_known) return HL_OK;
  if (count[1] != count[0] || (count[2] && count[2] != count[0]) ||
      (count[3] && count[3] != count[0]) || count[0] > (size_t)rank)
    return hl_op_fail(node, HL_BAD_DATA, error, "starts, ends, axes and steps differ in length");
  *ret = (hl_slices){0};
  for (int32_t d = 0; d < rank; d++) {
    ret->step[d] = 1;
    ret->count[d] = dims[d];
  }
  for (size_t i = 0; i < count[0]; i++) {
    int32_t axis;
    hl_status status = hl_op_axis(node, count[2] ? list[2][i] : (int64_t)i, rank, &axis, error);
    if (status != HL_OK) return status;
    int64_t step = count[3] ? list[3][i] : 1;
    if (step == 0 || step == INT64_MIN || ret->touched[axis])
      return hl_op_fail(node, HL_BAD_DATA, error, "axis %d is given twice, or its step is 0", axis);
    ret->touched[axis] = true;
    ret->step[axis] = step;
    bool all = list[0][i] == 0 && list[1][i] >= INT32_MAX && step == 1;
    if (dims[axis] >= 0)
      slice_axis(dims[axis], list[0][i], list[1][i], step, &ret->start[axis], &ret->count[axis]);
    else if (!all)
      ret->count[axis] = -1;
  }
  return HL_OK;
}

hl_status hl_infer_slice(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  hl_slices s;
  bool known;
  hl_status status = hl_slices_read(graph, node, x->shape.dims, x->shape.rank, &s, &known, error);
  if (status != HL_OK) return status;
  for (int32_t d = 0; d < x->shape.rank && !known; d++) s.count[d] = -1;
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, x->shape.rank, s.count);
  return HL_OK;
}

hl_status hl_evaluate_slice(const hl_graph *graph, const hl_node *node,
                            const hl_tensor_view *inputs, hl_tensor_view *outputs,
                            hl_error *error) {
  hl_slices s;
  bool known;
  hl_status status = hl_slices_read(graph, node, inputs[0].dims, inputs[0].rank, &s, &known, error);
  if (status != HL_OK || hl_view_elements(&outputs[0]) == 0) return status;
  int64_t own[HL_MAX_RANK], strides[HL_MAX_RANK], offset = 0;
  hl_view_strides(&inputs[0], own);
  for (int32_t d = 0; d < inputs[0].rank; d++) {
    offset += s.start[d] * own[d];
    /* One element is no step, and a huge step must not overflow. */
    strides[d] = s.count[d] > 1 ? s.step[d] * own[d] : 0;
  }
  copy_strided(&inputs[0], &outputs[0], offset, strides);
  return HL_OK;
}

/* -- Gather --------------------------------------------------------------------------------- */

hl_status hl_infer_gather(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0), *at = hl_node_input(graph, node, 1);
  int32_t axis, rank = 0;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", 0), x->shape.rank, &axis, error);
  if (status != HL_OK) return status;
  if (at->dtype != HL_INT64 && at->dtype != HL_INT32 && at->dtype != HL_DTYPE_NONE)
    return hl_op_fail(node, HL_BAD_DATA, error, "indices of type %s", hl_dtype_name(at->dtype));
  if (x->shape.rank - 1 + at->shape.rank > HL_MAX_RANK)
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "a result of more than %d dimensions",
                      HL_MAX_RANK);
  int64_t dims[HL_MAX_RANK];
  for (int32_t i = 0; i < axis; i++) dims[rank++] = x->shape.dims[i];
  for (int32_t i = 0; i < at->shape.rank; i++) dims[rank++] = at->shape.dims[i];
  for (int32_t i = axis + 1; i < x->shape.rank; i++) dims[rank++] = x->shape.dims[i];
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, rank, dims);
  return HL_OK;
}

hl_status hl_evaluate_gather(const hl_graph *graph, const hl_node *node,
                             const hl_tensor_view *inputs, hl_tensor_view *outputs,
                             hl_error *error) {
  (void)graph;
  int32_t axis;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", 0), inputs[0].rank, &axis, error);
  if (status != HL_OK) return status;
  int64_t outer, inner, dim = inputs[0].dims[axis], count = hl_view_elements(&inputs[1]);
  around(&inputs[0], axis, &outer, &inner);
  size_t part = (size_t)inner * hl_dtype_bytes(inputs[0].dtype);
  for (int64_t i = 0; i < count; i++) {
    int64_t at = hl_view_get_int(&inputs[1], i);
    if (at < -dim || at >= dim)
      return hl_op_fail(node, HL_BAD_DATA, error, "index %lld is outside %lld elements",
                        (long long)at, (long long)dim);
    if (at < 0) at += dim;
    for (int64_t o = 0; o < outer && part; o++)
      memcpy((char *)outputs[0].data + (size_t)(o * count + i) * part,
             (const char *)inputs[0].data + (size_t)(o * dim + at) * part, part);
  }
  return HL_OK;
}

/* -- Expand and Tile ------------------------------------------------------------------------ */

hl_status hl_infer_expand(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0), *s = hl_node_input(graph, node, 1);
  hl_shape to = {0}, shape;
  size_t count;
  if (s->shape.rank != 1 || s->shape.dims[0] > HL_MAX_RANK)
    return hl_op_fail(node, HL_BAD_DATA, error, "the shape must be a vector of at most %d",
                      HL_MAX_RANK);
  if (!hl_op_value_ints(s, to.dims, HL_MAX_RANK, &count)) {
    if (s->shape.dims[0] < 0) return HL_OK;
    int32_t rank =
        (int32_t)s->shape.dims[0] > x->shape.rank ? (int32_t)s->shape.dims[0] : x->shape.rank;
    for (int32_t i = 0; i < rank; i++) to.dims[i] = -1;
    hl_op_set(hl_node_output(graph, node, 0), x->dtype, rank, to.dims);
    return HL_OK;
  }
  to.rank = (int32_t)count;
  for (size_t i = 0; i < count; i++)
    if (to.dims[i] < 0)
      return hl_op_fail(node, HL_BAD_DATA, error, "the shape holds %lld", (long long)to.dims[i]);
  if (!hl_op_broadcast(&x->shape, &to, &shape))
    return hl_op_fail(node, HL_BAD_DATA, error, "the input does not expand to the shape");
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, shape.rank, shape.dims);
  return HL_OK;
}

hl_status hl_evaluate_expand(const hl_graph *graph, const hl_node *node,
                             const hl_tensor_view *inputs, hl_tensor_view *outputs,
                             hl_error *error) {
  (void)graph, (void)node, (void)error;
  int64_t strides[HL_MAX_RANK];
  hl_view_broadcast_strides(&inputs[0], outputs[0].rank, strides);
  copy_strided(&inputs[0], &outputs[0], 0, strides);
  return HL_OK;
}

hl_status hl_infer_tile(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  hl_shape shape = x->shape;
  int64_t repeats[HL_MAX_RANK];
  size_t count;
  bool known = hl_op_value_ints(hl_node_input(graph, node, 1), repeats, HL_MAX_RANK, &count);
  if (known && count != (size_t)shape.rank)
    return hl_op_fail(node, HL_BAD_DATA, error, "%zu repeats for %d dimensions", count, shape.rank);
  for (int32_t i = 0; i < shape.rank; i++) {
    if (!known || shape.dims[i] < 0) {
      shape.dims[i] = -1;
    } else if (repeats[i] < 0 ||
               __builtin_mul_overflow(shape.dims[i], repeats[i], &shape.dims[i])) {
      return hl_op_fail(node, HL_BAD_DATA, error, "repeats hold %lld", (long long)repeats[i]);
    }
  }
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, shape.rank, shape.dims);
  return HL_OK;
}

hl_status hl_evaluate_tile(const hl_graph *graph, const hl_node *node, const hl_tensor_view *inputs,
                           hl_tensor_view *outputs, hl_error *error) {
  (void)graph, (void)node, (void)error;
  const hl_tensor_view *in = &inputs[0];
  hl_tensor_view *out = &outputs[0];
  int64_t strides[HL_MAX_RANK], index[HL_MAX_RANK] = {0}, unused[HL_MAX_RANK] = {0}, offset = 0;
  size_t size = hl_dtype_bytes(out->dtype);
  int64_t count = hl_view_elements(out);
  hl_view_strides(in, strides);
  for (int64_t i = 0; i < count; i++) {
    int64_t from = 0;
    for (int32_t d = 0; d < in->rank; d++) from += index[d] % in->dims[d] * strides[d];
    memcpy((char *)out->data + (size_t)i * size, (const char *)in->data + (size_t)from * size,
           size);
    hl_index_next(out->rank, out->dims, index, unused, &offset);
  }
  return HL_OK;
}

/* -- Pad: attributes before opset 11, inputs since ------------------------------------------- */

static bool in_range(int64_t pad) {
  return pad > -(INT64_C(1) << 40) && pad < INT64_C(1) << 40;
}

static hl_status read_pads(const hl_graph *graph, const hl_node *node, int32_t rank,
                           int64_t *ret_before, int64_t *ret_after, bool *ret_known,
                           hl_error *error) {
  int64_t pads[2 * HL_MAX_RANK], axes[HL_MAX_RANK];
  size_t count, axis_count;
  bool axes_known;
  hl_status status =
      hl_op_ints(graph, node, "pads", 1, pads, 2 * HL_MAX_RANK, &count, ret_known, error);
  if (status == HL_OK)
    status = hl_op_ints(graph, node, "axes", 3, axes, HL_MAX_RANK, &axis_count, &axes_known, error);
  if (status != HL_OK) return status;
  *ret_known = *ret_known && axes_known;
  if (!*ret_known) return HL_OK;
  size_t padded = axis_count ? axis_count : (size_t)rank;
  if (count != 2 * padded)
    return hl_op_fail(node, HL_BAD_DATA, error, "%zu pads for %zu axes; expected two each", count,
                      padded);
  for (int32_t i = 0; i < rank; i++) ret_before[i] = ret_after[i] = 0;
  for (size_t i = 0; i < padded; i++) {
    int32_t axis;
    status = hl_op_axis(node, axis_count ? axes[i] : (int64_t)i, rank, &axis, error);
    if (status != HL_OK) return status;
    ret_before[axis] = pads[i];
    ret_after[axis] = pads[i + padded];
    if (!in_range(pads[i]) || !in_range(pads[i + padded]))
      return hl_op_fail(node, HL_BAD_DATA, error, "a pad is out of range");
  }
  return HL_OK;
}

static hl_status check_mode(const hl_node *node, const char *mode, const int64_t *dims,
                            const int64_t *before, const int64_t *after, int32_t rank,
                            hl_error *error) {
  bool reflect = strcmp(mode, "reflect") == 0;
  if (!reflect && strcmp(mode, "edge") != 0 && strcmp(mode, "constant") != 0)
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "mode '%.40s'", mode);
  for (int32_t i = 0; i < rank; i++) {
    if (dims[i] < 0) continue;
    int64_t most = before[i] > after[i] ? before[i] : after[i];
    if (dims[i] + before[i] + after[i] < 0 || dims[i] + before[i] < 0 || dims[i] + after[i] < 0 ||
        (most > 0 && ((reflect && most >= dims[i]) || (mode[0] == 'e' && dims[i] == 0))))
      return hl_op_fail(node, HL_BAD_DATA, error, "pads do not fit dimension %d of %lld elements",
                        i, (long long)dims[i]);
  }
  return HL_OK;
}

hl_status hl_infer_pad(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  int64_t before[HL_MAX_RANK], after[HL_MAX_RANK], dims[HL_MAX_RANK];
  bool known;
  hl_status status = read_pads(graph, node, x->shape.rank, before, after, &known, error);
  if (status == HL_OK && known)
    status = check_mode(node, hl_node_text(node, "mode", "constant"), x->shape.dims, before, after,
                        x->shape.rank, error);
  if (status != HL_OK) return status;
  const hl_value *fill = hl_node_attribute(node, "pads") ? NULL : hl_node_input(graph, node, 2);
  if (fill && (hl_shape_elements(&fill->shape) != 1 || fill->dtype != x->dtype))
    return hl_op_fail(node, HL_BAD_DATA, error, "'%.60s' must be a scalar of type %s", fill->name,
                      hl_dtype_name(x->dtype));
  for (int32_t i = 0; i < x->shape.rank; i++)
    dims[i] = !known || x->shape.dims[i] < 0 ? -1 : x->shape.dims[i] + before[i] + after[i];
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, x->shape.rank, dims);
  return HL_OK;
}

hl_status hl_evaluate_pad(const hl_graph *graph, const hl_node *node, const hl_tensor_view *inputs,
                          hl_tensor_view *outputs, hl_error *error) {
  const hl_tensor_view *in = &inputs[0];
  hl_tensor_view *out = &outputs[0];
  int64_t before[HL_MAX_RANK] = {0}, after[HL_MAX_RANK] = {0}, strides[HL_MAX_RANK], offset = 0;
  int64_t index[HL_MAX_RANK] = {0}, unused[HL_MAX_RANK] = {0};
  bool known;
  hl_status status = read_pads(graph, node, in->rank, before, after, &known, error);
  if (status != HL_OK) return status;
  char mode = hl_node_text(node, "mode", "constant")[0];
  size_t size = hl_dtype_bytes(out->dtype);
  double fill[2] = {0}; /* 16 zero bytes: an element of any type */
  hl_tensor_view filler = {.dtype = out->dtype, .data = fill};
  if (hl_node_attribute(node, "value"))
    hl_view_put(&filler, 0, (double)hl_node_real(node, "value", 0));
  if (node->input_count > 2 && inputs[2].data) memcpy(fill, inputs[2].data, size);
  hl_view_strides(in, strides);
  int64_t count = hl_view_elements(out);
  for (int64_t i = 0; i < count; i++) {
    int64_t from = 0;
    bool inside = true;
    for (int32_t d = 0; d < in->rank; d++) {
      int64_t at = index[d] - before[d], last = in->dims[d] - 1;
      if (mode == 'r') at = at < 0 ? -at : at > last ? 2 * last - at : at;
      if (mode == 'e') at = clamp(at, 0, last);
      inside = inside && at >= 0 && at <= last;
      from += at * strides[d];
    }
    memcpy((char *)out->data + (size_t)i * size,
           inside ? (const char *)in->data + (size_t)from * size : (const char *)fill, size);
    hl_index_next(out->rank, out->dims, index, unused, &offset);
  }
  return HL_OK;
}
