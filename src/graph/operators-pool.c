/* Pools, reductions and ArgMax. */
#include "graph/operator-kit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- MaxPool and AveragePool ----------------------------------------------------------------- */

hl_status hl_infer_pool(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  hl_window w;
  hl_status status = hl_window_read(node, &x->shape, NULL, &w, error);
  if (status != HL_OK) return status;
  int64_t dims[HL_MAX_RANK] = {x->shape.dims[0], x->shape.dims[1]};
  for (int32_t i = 0; i < w.spatial; i++) dims[i + 2] = w.out[i];
  if (hl_node_int(node, "storage_order", 0) != 0 && hl_node_output(graph, node, 1))
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "column-major indices");
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, x->shape.rank, dims);
  hl_op_set(hl_node_output(graph, node, 1), HL_INT64, x->shape.rank, dims);
  return HL_OK;
}

double hl_flops_pool(const hl_graph *graph, const hl_node *node) {
  const hl_value *x = hl_node_input(graph, node, 0), *y = hl_node_output(graph, node, 0);
  hl_window w;
  if (hl_window_read(node, &x->shape, NULL, &w, NULL) != HL_OK) return 0;
  double count = (double)hl_shape_elements(&y->shape);
  for (int32_t i = 0; i < w.spatial; i++) count *= (double)w.kernel[i];
  return count;
}

typedef struct pooled {
  double most, sum;
  int64_t at, inside, in_padding; /* place of the largest; taps in data and in data or padding */
} pooled;

/* All taps of the window at output index `out` over one plane. */
static pooled pool_window(const hl_window *w, const int64_t *in, const double *plane,
                          const int64_t *out) {
  pooled p = {.most = -HUGE_VAL, .at = -1};
  int64_t tap[HL_MAX_RANK] = {0}, unused[HL_MAX_RANK] = {0}, offset = 0, taps = 1;
  for (int32_t d = 0; d < w->spatial; d++) taps *= w->kernel[d];
  for (int64_t t = 0; t < taps; t++) {
    bool inside = true, padded = true;
    int64_t at = 0;
    for (int32_t d = 0; d < w->spatial; d++) {
      int64_t i = out[d] * w->stride[d] - w->before[d] + tap[d] * w->dilation[d];
      inside = inside && i >= 0 && i < in[d];
      padded = padded && i < in[d] + w->after[d];
      at = at * in[d] + i;
    }
    p.in_padding += padded;
    if (inside) {
      p.inside++;
      p.sum += plane[at];
      if (p.at < 0 || plane[at] > p.most || isnan(plane[at])) {
        p.most = plane[at];
        p.at = at;
      }
    }
    hl_index_next(w->spatial, w->kernel, tap, unused, &offset);
  }
  return p;
}

hl_status hl_evaluate_pool(const hl_graph *graph, const hl_node *node, const hl_tensor_view *inputs,
                           hl_tensor_view *outputs, hl_error *error) {
  (void)graph;
  hl_shape shape = {.rank = inputs[0].rank};
  memcpy(shape.dims, inputs[0].dims, sizeof shape.dims);
  hl_window w;
  hl_status status = hl_window_read(node, &shape, NULL, &w, error);
  if (status != HL_OK) return status;
  bool average = node->op[0] == 'A', with_pad = hl_node_int(node, "count_include_pad", 0) != 0;
  int64_t in_plane = hl_op_product(shape.dims, 2, shape.rank);
  int64_t out_plane = hl_op_product(outputs[0].dims, 2, shape.rank);
  HL_CLEANUP(hl_free_pointer) double *x = hl_view_doubles(&inputs[0]);
  if (!x) return hl_op_no_memory(node, error);
  for (int64_t c = 0; c < shape.dims[0] * shape.dims[1]; c++) {
    int64_t out[HL_MAX_RANK] = {0}, unused[HL_MAX_RANK] = {0}, offset = 0;
    for (int64_t i = 0; i < out_plane; i++) {
      pooled p = pool_window(&w, shape.dims + 2, x + c * in_plane, out);
      int64_t divisor = with_pad ? p.in_padding : p.inside;
      double y = !average ? p.most : divisor ? p.sum / (double)divisor : 0;
      hl_view_put(&outputs[0], c * out_plane + i, y);
      if (node->output_count > 1 && outputs[1].data)
        hl_view_put_int(&outputs[1], c * out_plane + i, c * in_plane + p.at);
      hl_index_next(w.spatial, outputs[0].dims + 2, out, unused, &offset);
    }
  }
  return HL_OK;
}

/* -- reductions ------------------------------------------------------------------------------ */

double hl_flops_input(const hl_graph *graph, const hl_node *node) {
  return (double)hl_shape_elements(&hl_node_input(graph, node, 0)->shape);
}

hl_status hl_infer_global_pool(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  hl_shape shape = x->shape;
  if (shape.rank < 3)
    return hl_op_fail(node, HL_BAD_DATA, error, "the input has %d dimensions; expected 3 or more",
                      shape.rank);
  for (int32_t i = 2; i < shape.rank; i++) shape.dims[i] = 1;
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, shape.rank, shape.dims);
  return HL_OK;
}

/* Axes to reduce: none given means all, or nothing with noop_with_empty_axes. */
static hl_status reduced_axes(const hl_graph *graph, const hl_node *node, int32_t rank,
                              bool *ret_reduced, bool *ret_known, hl_error *error) {
  int64_t axes[HL_MAX_RANK];
  size_t count;
  hl_status status =
      hl_op_ints(graph, node, "axes", 1, axes, HL_MAX_RANK, &count, ret_known, error);
  if (status != HL_OK || !*ret_known) return status;
  for (int32_t i = 0; i < rank; i++)
    ret_reduced[i] = count == 0 && hl_node_int(node, "noop_with_empty_axes", 0) == 0;
  for (size_t i = 0; i < count; i++) {
    int32_t axis;
    status = hl_op_axis(node, axes[i], rank, &axis, error);
    if (status != HL_OK) return status;
    ret_reduced[axis] = true;
  }
  return HL_OK;
}

hl_status hl_infer_reduce(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  bool reduced[HL_MAX_RANK] = {false}, known, keep = hl_node_int(node, "keepdims", 1) != 0;
  hl_status status = reduced_axes(graph, node, x->shape.rank, reduced, &known, error);
  if (status != HL_OK || (!known && !keep)) return status;
  int64_t dims[HL_MAX_RANK];
  int32_t rank = 0;
  for (int32_t i = 0; i < x->shape.rank; i++) {
    if (!known)
      dims[rank++] = -1;
    else if (!reduced[i])
      dims[rank++] = x->shape.dims[i];
    else if (keep)
      dims[rank++] = 1;
  }
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, rank, dims);
  return HL_OK;
}

typedef enum reduction { REDUCE_SUM, REDUCE_MEAN, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD } reduction;

static void reduce_into(reduction kind, double *y, double x) {
  switch (kind) {
  case REDUCE_SUM:
  case REDUCE_MEAN:
    *y += x;
    break;
  case REDUCE_MAX:
    *y = isnan(x) || x > *y ? x : *y;
    break;
  case REDUCE_MIN:
    *y = isnan(x) || x < *y ? x : *y;
    break;
  case REDUCE_PROD:
    *y *= x;
    break;
  }
}

/* Reduces the marked axes of `in` into the elements of `out`, in row-major order of the rest. */
static hl_status reduce(const hl_node *node, reduction kind, const hl_tensor_view *in,
                        const bool *reduced, hl_tensor_view *out, hl_error *error) {
  int64_t count = hl_view_elements(in), results = hl_view_elements(out), stride = 1;
  int64_t strides[HL_MAX_RANK], index[HL_MAX_RANK] = {0}, offset = 0;
  for (int32_t d = in->rank - 1; d >= 0; d--) {
    strides[d] = reduced[d] ? 0 : stride;
    if (!reduced[d]) stride *= in->dims[d];
  }
  HL_CLEANUP(hl_free_pointer) double *y = calloc((size_t)results + 1, sizeof *y);
  if (!y) return hl_op_no_memory(node, error);
  double start = kind == REDUCE_MAX    ? -HUGE_VAL
                 : kind == REDUCE_MIN  ? HUGE_VAL
                 : kind == REDUCE_PROD ? 1
                                       : 0;
  for (int64_t i = 0; i < results; i++) y[i] = start;
  for (int64_t i = 0; i < count; i++) {
    reduce_into(kind, &y[offset], hl_view_get(in, i));
    hl_index_next(in->rank, in->dims, index, strides, &offset);
  }
  double each = results ? (double)count / (double)results : 1;
  for (int64_t i = 0; i < results && kind == REDUCE_MEAN; i++) y[i] /= each;
  hl_view_put_all(out, y);
  return HL_OK;
}

hl_status hl_evaluate_global_pool(const hl_graph *graph, const hl_node *node,
                                  const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                  hl_error *error) {
  (void)graph;
  bool reduced[HL_MAX_RANK] = {false, false, true, true, true, true, true, true};
  bool average = strcmp(node->op, "GlobalAveragePool") == 0;
  return reduce(node, average ? REDUCE_MEAN : REDUCE_MAX, &inputs[0], reduced, &outputs[0], error);
}

hl_status hl_evaluate_reduce(const hl_graph *graph, const hl_node *node,
                             const hl_tensor_view *inputs, hl_tensor_view *outputs,
                             hl_error *error) {
  static const char *const names[] = {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin",
                                      "ReduceProd"};
  reduction kind = REDUCE_SUM;
  while (kind < REDUCE_PROD && strcmp(names[kind], node->op) != 0) kind++;
  bool reduced[HL_MAX_RANK] = {false}, known;
  hl_status status = reduced_axes(graph, node, inputs[0].rank, reduced, &known, error);
  return status != HL_OK ? status : reduce(node, kind, &inputs[0], reduced, &outputs[0], error);
}

/* -- ArgMax and ArgMin ----------------------------------------------------------------------- */

hl_status hl_infer_argmax(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  int32_t axis, rank = 0;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", 0), x->shape.rank, &axis, error);
  if (status != HL_OK) return status;
  if (x->shape.dims[axis] == 0)
    return hl_op_fail(node, HL_BAD_DATA, error, "axis %d has no elements", axis);
  int64_t dims[HL_MAX_RANK];
  for (int32_t i = 0; i < x->shape.rank; i++) {
    if (i != axis)
      dims[rank++] = x->shape.dims[i];
    else if (hl_node_int(node, "keepdims", 1) != 0)
      dims[rank++] = 1;
  }
  hl_op_set(hl_node_output(graph, node, 0), HL_INT64, rank, dims);
  return HL_OK;
}

hl_status hl_evaluate_argmax(const hl_graph *graph, const hl_node *node,
                             const hl_tensor_view *inputs, hl_tensor_view *outputs,
                             hl_error *error) {
  (void)graph;
  int32_t axis;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", 0), inputs[0].rank, &axis, error);
  if (status != HL_OK) return status;
  bool last = hl_node_int(node, "select_last_index", 0) != 0,
       least = strcmp(node->op, "ArgMin") == 0;
  int64_t outer = hl_op_product(inputs[0].dims, 0, axis), count = inputs[0].dims[axis];
  int64_t inner = hl_op_product(inputs[0].dims, axis + 1, inputs[0].rank);
  for (int64_t o = 0; o < outer * inner; o++) {
    const int64_t base = o / inner * count * inner + o % inner;
    int64_t best = 0;
    double most = hl_view_get(&inputs[0], base);
    for (int64_t i = 1; i < count; i++) {
      double x = hl_view_get(&inputs[0], base + i * inner);
      if (least ? x < most || (last && x <= most) : x > most || (last && x >= most)) {
        best = i;
        most = x;
      }
    }
    hl_view_put_int(&outputs[0], o, best);
  }
  return HL_OK;
}
