/* Pools over windows and over whole planes. */
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
  if (node->op[0] == 'L' && hl_node_int(node, "p", 2) < 1)
    return hl_op_fail(node, HL_BAD_DATA, error, "p must be at least 1");
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
  double most, sum;     /* sum of the elements, or of their p-th powers where `power` is p */
  int64_t column_major; /* the place of the largest, first dimension fastest */
  int64_t at, inside, in_padding; /* place of the largest; taps in data and in data or padding */
} pooled;

/* All taps of the window at output index `out` over one plane. */
static pooled pool_window(const hl_window *w, const int64_t *in, const double *plane,
                          const int64_t *out, double power) {
  pooled p = {.most = -HUGE_VAL, .at = -1};
  int64_t tap[HL_MAX_RANK] = {0}, unused[HL_MAX_RANK] = {0}, offset = 0, taps = 1;
  for (int32_t d = 0; d < w->spatial; d++) taps *= w->kernel[d];
  for (int64_t t = 0; t < taps; t++) {
    bool inside = true, padded = true;
    int64_t at = 0, column = 0, step = 1;
    for (int32_t d = 0; d < w->spatial; d++) {
      int64_t i = out[d] * w->stride[d] - w->before[d] + tap[d] * w->dilation[d];
      inside = inside && i >= 0 && i < in[d];
      padded = padded && i < in[d] + w->after[d];
      at = at * in[d] + i;
      column += i * step;
      step *= in[d];
    }
    p.in_padding += padded;
    if (inside) {
      p.inside++;
      p.sum += power != 0 ? pow(fabs(plane[at]), power) : plane[at];
      if (p.at < 0 || plane[at] > p.most || isnan(plane[at])) {
        p.most = plane[at];
        p.at = at;
        p.column_major = column;
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
  bool column_major = hl_node_int(node, "storage_order", 0) != 0;
  double power = node->op[0] == 'L' ? (double)hl_node_int(node, "p", 2) : 0;
  int64_t in_plane = hl_op_product(shape.dims, 2, shape.rank);
  int64_t out_plane = hl_op_product(outputs[0].dims, 2, shape.rank);
  HL_CLEANUP(hl_free_pointer) double *x = hl_view_doubles(&inputs[0]);
  if (!x) return hl_op_no_memory(node, error);
  for (int64_t c = 0; c < shape.dims[0] * shape.dims[1]; c++) {
    int64_t out[HL_MAX_RANK] = {0}, unused[HL_MAX_RANK] = {0}, offset = 0;
    for (int64_t i = 0; i < out_plane; i++) {
      pooled p = pool_window(&w, shape.dims + 2, x + c * in_plane, out, power);
      int64_t divisor = with_pad ? p.in_padding : p.inside;
      double y = !average ? p.most : divisor ? p.sum / (double)divisor : 0;
      if (power != 0) y = pow(p.sum, 1 / power);
      hl_view_put(&outputs[0], c * out_plane + i, y);
      if (node->output_count > 1 && outputs[1].data)
        hl_view_put_int(&outputs[1], c * out_plane + i,
                        c * in_plane + (column_major ? p.column_major : p.at));
      hl_index_next(w.spatial, outputs[0].dims + 2, out, unused, &offset);
    }
  }
  return HL_OK;
}

/* Each tap's share in the data; one window. Equal shares for an average; for the p-norm y, where
 * `norm` is y and `power` p, sign(x) (|x| / y)^(p - 1) of it. */
static void spread_window(const hl_window *w, const int64_t *in, const int64_t *out, double share,
                          const double *x, double norm, double power, double *plane) {
  int64_t tap[HL_MAX_RANK] = {0}, unused[HL_MAX_RANK] = {0}, offset = 0, taps = 1;
  for (int32_t d = 0; d < w->spatial; d++) taps *= w->kernel[d];
  for (int64_t t = 0; t < taps; t++) {
    bool inside = true;
    int64_t at = 0;
    for (int32_t d = 0; d < w->spatial; d++) {
      int64_t i = out[d] * w->stride[d] - w->before[d] + tap[d] * w->dilation[d];
      inside = inside && i >= 0 && i < in[d];
      at = at * in[d] + i;
    }
    if (inside && power != 0)
      plane[at] += share * copysign(pow(fabs(x[at]) / norm, power - 1), x[at]);
    else if (inside)
      plane[at] += share;
    hl_index_next(w->spatial, w->kernel, tap, unused, &offset);
  }
}

/* Inputs: the output's gradient, and of MaxPool and LpPool their data. */
hl_status hl_evaluate_pool_gradient(const hl_graph *graph, const hl_node *node,
                                    const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                    hl_error *error) {
  (void)graph;
  hl_shape shape = hl_view_shape(&outputs[0]);
  hl_window w;
  hl_status status = hl_window_read(node, &shape, NULL, &w, error);
  if (status != HL_OK) return status;
  bool average = node->op[0] == 'A', with_pad = hl_node_int(node, "count_include_pad", 0) != 0;
  int64_t in_plane = hl_op_product(shape.dims, 2, shape.rank);
  int64_t out_plane = hl_op_product(inputs[0].dims, 2, shape.rank);
  double power = node->op[0] == 'L' ? (double)hl_node_int(node, "p", 2) : 0;
  const hl_tensor_view *data = average ? &outputs[0] : &inputs[1];
  HL_CLEANUP(hl_free_pointer) double *x = hl_view_doubles(data);
  HL_CLEANUP(hl_free_pointer)
  double *dx = calloc((size_t)hl_view_elements(&outputs[0]) + 1, sizeof *dx);
  if (!x || !dx) return hl_op_no_memory(node, error);
  for (int64_t c = 0; c < shape.dims[0] * shape.dims[1]; c++) {
    int64_t out[HL_MAX_RANK] = {0}, unused[HL_MAX_RANK] = {0}, offset = 0;
    for (int64_t i = 0; i < out_plane; i++) {
      double dy = hl_view_get(&inputs[0], c * out_plane + i);
      pooled p = pool_window(&w, shape.dims + 2, x + c * in_plane, out, power);
      int64_t divisor = with_pad ? p.in_padding : p.inside;
      double norm = power != 0 ? pow(p.sum, 1 / power) : 0;
      if (power != 0 && norm > 0)
        spread_window(&w, shape.dims + 2, out, dy, x + c * in_plane, norm, power,
                      dx + c * in_plane);
      else if (average && divisor)
        spread_window(&w, shape.dims + 2, out, dy / (double)divisor, NULL, 0, 0, dx + c * in_plane);
      else if (power == 0 && !average && p.at >= 0)
        dx[c * in_plane + p.at] += dy;
      hl_index_next(w.spatial, inputs[0].dims + 2, out, unused, &offset);
    }
  }
  hl_view_put_all(&outputs[0], dx);
  return HL_OK;
}

/* -- pools over whole planes ----------------------------------------------------------------- */

double hl_flops_input(const hl_graph *graph, const hl_node *node) {
  return (double)hl_shape_elements(&hl_node_input(graph, node, 0)->shape);
}

hl_status hl_infer_global_pool(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  hl_shape shape = x->shape;
  if (shape.rank < 3)
    return hl_op_fail(node, HL_BAD_DATA, error, "the input has %d dimensions; expected 3 or more",
                      shape.rank);
  if (strcmp(node->op, "GlobalLpPool") == 0 && hl_node_int(node, "p", 2) < 1)
    return hl_op_fail(node, HL_BAD_DATA, error, "p must be at least 1");
  for (int32_t i = 2; i < shape.rank; i++) shape.dims[i] = 1;
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, shape.rank, shape.dims);
  return HL_OK;
}

/* One plane: the mean, the largest, or the p-norm. */
static double pool_plane(const hl_node *node, const double *x, int64_t count) {
  double p = node->op[6] == 'L' ? (double)hl_node_int(node, "p", 2) : 0;
  double y = node->op[6] == 'M' ? -HUGE_VAL : 0;
  for (int64_t i = 0; i < count; i++) {
    if (node->op[6] == 'M')
      y = isnan(x[i]) || x[i] > y ? x[i] : y;
    else
      y += p != 0 ? pow(fabs(x[i]), p) : x[i];
  }
  return p != 0 ? pow(y, 1 / p) : node->op[6] == 'A' ? y / (double)count : y;
}

hl_status hl_evaluate_global_pool(const hl_graph *graph, const hl_node *node,
                                  const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                  hl_error *error) {
  (void)graph;
  int64_t planes = hl_op_product(inputs[0].dims, 0, 2);
  int64_t count = hl_op_product(inputs[0].dims, 2, inputs[0].rank);
  HL_CLEANUP(hl_free_pointer) double *x = hl_view_doubles(&inputs[0]);
  if (!x) return hl_op_no_memory(node, error);
  for (int64_t i = 0; i < planes; i++)
    hl_view_put(&outputs[0], i, pool_plane(node, x + i * count, count));
  return HL_OK;
}
