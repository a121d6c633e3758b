/* LRN, LpNormalization and MeanVarianceNormalization. */
#include "graph/operator-kit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- LRN: by the squares of the channels around --------------------------------------------------
 */

hl_status hl_infer_lrn(hl_graph *graph, hl_node *node, hl_error *error) {
  int64_t size = hl_node_int(node, "size", 0);
  if (size < 1 || size > INT64_C(1) << 31)
    return hl_op_fail(node, HL_BAD_DATA, error, "size is %lld", (long long)size);
  if (hl_node_input(graph, node, 0)->shape.rank < 2)
    return hl_op_fail(node, HL_BAD_DATA, error, "the input has no channels");
  return hl_op_infer_same(graph, node, error);
}

typedef struct lrn {
  int64_t before, after; /* channels of the window beside its own */
  int64_t channels, inner;
  double alpha, beta, bias; /* alpha: of a channel */
} lrn;

static lrn read_lrn(const hl_node *node, const hl_tensor_view *x) {
  int64_t size = hl_node_int(node, "size", 1);
  return (lrn){.before = (size - 1) / 2,
               .after = size / 2,
               .channels = x->dims[1],
               .inner = hl_op_product(x->dims, 2, x->rank),
               .alpha = (double)hl_node_real(node, "alpha", 1e-4f) / (double)size,
               .beta = (double)hl_node_real(node, "beta", 0.75f),
               .bias = (double)hl_node_real(node, "bias", 1)};
}

/* bias + alpha times the squares of the channels around element i */
static double lrn_scale(const lrn *l, const hl_tensor_view *x, int64_t i) {
  int64_t c = i / l->inner % l->channels, first = c - l->before, last = c + l->after;
  double sum = 0;
  for (int64_t k = first < 0 ? 0 : first; k <= last && k < l->channels; k++) {
    double v = hl_view_get(x, i + (k - c) * l->inner);
    sum += v * v;
  }
  return l->bias + l->alpha * sum;
}

hl_status hl_evaluate_lrn(const hl_graph *graph, const hl_node *node, const hl_tensor_view *inputs,
                          hl_tensor_view *outputs, hl_error *error) {
  (void)graph, (void)error;
  const hl_tensor_view *x = &inputs[0];
  lrn l = read_lrn(node, x);
  int64_t count = hl_view_elements(x);
  for (int64_t i = 0; i < count; i++)
    hl_view_put(&outputs[0], i, hl_view_get(x, i) / pow(lrn_scale(&l, x, i), l.beta));
  return HL_OK;
}

/* Inputs: the output's gradient and x. With the scale s of each element: dy s^-beta at its own
 * place, and -2 alpha beta x_k dy x s^(-beta - 1) at each place k of its window. */
hl_status hl_evaluate_lrn_gradient(const hl_graph *graph, const hl_node *node,
                                   const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                   hl_error *error) {
  (void)graph;
  const hl_tensor_view *x = &inputs[1];
  lrn l = read_lrn(node, x);
  int64_t count = hl_view_elements(x);
  HL_CLEANUP(hl_free_pointer) double *dx = calloc((size_t)count + 1, sizeof *dx);
  if (!dx) return hl_op_no_memory(node, error);
  for (int64_t i = 0; i < count; i++) {
    int64_t c = i / l.inner % l.channels, first = c - l.before, last = c + l.after;
    double scale = lrn_scale(&l, x, i), own = hl_view_get(&inputs[0], i) * pow(scale, -l.beta);
    double share = -2 * l.alpha * l.beta * own * hl_view_get(x, i) / scale;
    dx[i] += own;
    for (int64_t k = first < 0 ? 0 : first; k <= last && k < l.channels; k++)
      dx[i + (k - c) * l.inner] += share * hl_view_get(x, i + (k - c) * l.inner);
  }
  hl_view_put_all(&outputs[0], dx);
  return HL_OK;
}

/* -- LpNormalization -----------------------------------------------------------------------------
 */

hl_status hl_infer_lp_norm(hl_graph *graph, hl_node *node, hl_error *error) {
  int32_t axis;
  int64_t p = hl_node_int(node, "p", 2);
  if (p != 1 && p != 2) return hl_op_fail(node, HL_BAD_DATA, error, "p is %lld", (long long)p);
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", -1),
                                hl_node_input(graph, node, 0)->shape.rank, &axis, error);
  return status == HL_OK ? hl_op_infer_same(graph, node, error) : status;
}

hl_status hl_evaluate_lp_norm(const hl_graph *graph, const hl_node *node,
                              const hl_tensor_view *inputs, hl_tensor_view *outputs,
                              hl_error *error) {
  (void)graph;
  const hl_tensor_view *x = &inputs[0];
  int32_t axis;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", -1), x->rank, &axis, error);
  if (status != HL_OK) return status;
  bool squares = hl_node_int(node, "p", 2) == 2;
  int64_t dim = x->dims[axis], inner = hl_op_product(x->dims, axis + 1, x->rank);
  int64_t lines = hl_op_product(x->dims, 0, axis) * inner;
  for (int64_t line = 0; line < lines; line++) {
    int64_t base = line / inner * dim * inner + line % inner;
    double sum = 0;
    for (int64_t i = 0; i < dim; i++) {
      double v = hl_view_get(x, base + i * inner);
      sum += squares ? v * v : fabs(v);
    }
    double norm = squares ? sqrt(sum) : sum;
    for (int64_t i = 0; i < dim; i++)
      hl_view_put(&outputs[0], base + i * inner,
                  norm != 0 ? hl_view_get(x, base + i * inner) / norm : 0);
  }
  return HL_OK;
}

/* -- MeanVarianceNormalization --------------------------------------------------------------------
 */

static hl_status moment_axes(const hl_node *node, int32_t rank, bool *ret, hl_error *error) {
  int64_t axes[HL_MAX_RANK] = {0, 2, 3};
  size_t count = 3;
  if (hl_node_attribute(node, "axes")) count = hl_node_ints(node, "axes", axes, HL_MAX_RANK);
  for (size_t i = 0; i < count && i < HL_MAX_RANK; i++) {
    int32_t axis;
    hl_status status = hl_op_axis(node, axes[i], rank, &axis, error);
    if (status != HL_OK) return status;
    ret[axis] = true;
  }
  return HL_OK;
}

hl_status hl_infer_mvn(hl_graph *graph, hl_node *node, hl_error *error) {
  bool along[HL_MAX_RANK] = {false};
  hl_status status = moment_axes(node, hl_node_input(graph, node, 0)->shape.rank, along, error);
  return status == HL_OK ? hl_op_infer_same(graph, node, error) : status;
}

hl_status hl_evaluate_mvn(const hl_graph *graph, const hl_node *node, const hl_tensor_view *inputs,
                          hl_tensor_view *outputs, hl_error *error) {
  (void)graph;
  const hl_tensor_view *x = &inputs[0];
  bool along[HL_MAX_RANK] = {false};
  hl_status status = moment_axes(node, x->rank, along, error);
  if (status != HL_OK) return status;
  int64_t strides[HL_MAX_RANK], groups = 1, count = hl_view_elements(x);
  for (int32_t d = x->rank - 1; d >= 0; d--) {
    strides[d] = along[d] ? 0 : groups;
    if (!along[d]) groups *= x->dims[d];
  }
  HL_CLEANUP(hl_free_pointer) double *sum = calloc(2 * (size_t)groups + 1, sizeof *sum);
  if (!sum) return hl_op_no_memory(node, error);
  double *square = sum + groups, each = groups ? (double)count / (double)groups : 1;
  for (int pass = 0; pass < 3; pass++) { /* means, variances, results */
    int64_t index[HL_MAX_RANK] = {0}, g = 0;
    for (int64_t i = 0; i < count; i++) {
      double v = hl_view_get(x, i), centred = v - sum[g] / each;
      if (pass == 0)
        sum[g] += v;
      else if (pass == 1)
        square[g] += centred * centred;
      else
        hl_view_put(&outputs[0], i, centred / (sqrt(square[g] / each) + 1e-9));
      hl_index_next(x->rank, x->dims, index, strides, &g);
    }
  }
  return HL_OK;
}
