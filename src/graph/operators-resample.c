/* GridSample and its gradient. */
#include "graph/operator-kit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool grid_nearest(const hl_node *node) {
  return strcmp(hl_node_text(node, "mode", "linear"), "nearest") == 0;
}

hl_status hl_infer_grid_sample(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0), *grid = hl_node_input(graph, node, 1);
  const char *mode = hl_node_text(node, "mode", "linear");
  const char *padding = hl_node_text(node, "padding_mode", "zeros");
  int32_t spatial = x->shape.rank - 2;
  if (strcmp(mode, "linear") != 0 && strcmp(mode, "bilinear") != 0 && !grid_nearest(node))
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "mode '%.40s'; nearest and linear are", mode);
  if (strcmp(padding, "zeros") != 0 && strcmp(padding, "border") != 0 &&
      strcmp(padding, "reflection") != 0)
    return hl_op_fail(node, HL_BAD_DATA, error, "padding_mode '%.40s'", padding);
  if (spatial < 1 || spatial > 3 || grid->shape.rank != x->shape.rank)
    return hl_op_fail(node, HL_BAD_DATA, error, "an input of %d and a grid of %d dimensions",
                      x->shape.rank, grid->shape.rank);
  int64_t last = grid->shape.dims[spatial + 1], n = x->shape.dims[0], m = grid->shape.dims[0];
  if ((last >= 0 && last != spatial) || (n >= 0 && m >= 0 && n != m))
    return hl_op_fail(node, HL_BAD_DATA, error,
                      "the grid has %lld coordinates a point for %d axes, "
                      "or another batch",
                      (long long)last, spatial);
  int64_t dims[HL_MAX_RANK] = {n < 0 ? m : n, x->shape.dims[1]};
  for (int32_t i = 0; i < spatial; i++) {
    dims[i + 2] = grid->shape.dims[i + 1];
    if (x->shape.dims[i + 2] == 0)
      return hl_op_fail(node, HL_BAD_DATA, error, "spatial axis %d has no elements", i);
  }
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, x->shape.rank, dims);
  return HL_OK;
}

double hl_flops_grid_sample(const hl_graph *graph, const hl_node *node) {
  const hl_value *y = hl_node_output(graph, node, 0);
  if (grid_nearest(node)) return 0;
  return 2 * (double)hl_shape_elements(&y->shape) * (double)(1 << (y->shape.rank - 2));
}

/* Folds x into [low, high] by mirroring at both ends. */
static double reflect(double x, double low, double high) {
  double range = high - low;
  if (!(range > 0) || !isfinite(x)) return low;
  double d = fmod(fabs(x - low), 2 * range);
  return low + (d > range ? 2 * range - d : d);
}

static double unnormalise(const hl_node *node, double x, int64_t count) {
  bool corners = hl_node_int(node, "align_corners", 0) != 0;
  double n = (double)count, at = corners ? (x + 1) / 2 * (n - 1) : ((x + 1) * n - 1) / 2;
  switch (hl_node_text(node, "padding_mode", "zeros")[0]) {
  case 'b':
    return at < 0 ? 0 : at > n - 1 ? n - 1 : at;
  case 'r':
    at = corners ? reflect(at, 0, n - 1) : reflect(at, -0.5, n - 0.5);
    return at < 0 ? 0 : at > n - 1 ? n - 1 : at;
  default:
    return at;
  }
}

/* Sum over the corners around `at`; corners outside count as zero. */
static double sample(const hl_tensor_view *in, int64_t plane, const double *at, int32_t spatial,
                     bool nearest) {
  double sum = 0;
  for (int corner = 0; corner < (nearest ? 1 : 1 << spatial); corner++) {
    double weight = 1;
    int64_t offset = plane;
    for (int32_t d = 0; d < spatial; d++) {
      double low = nearest ? nearbyint(at[d]) : floor(at[d]);
      double place = low + (double)(corner >> d & 1), part = at[d] - low;
      if (!nearest) weight *= corner >> d & 1 ? part : 1 - part;
      if (!(place >= 0 && place < (double)in->dims[d + 2])) {
        weight = 0;
        break;
      }
      offset = offset * in->dims[d + 2] + (int64_t)place;
    }
    if (weight != 0) sum += weight * hl_view_get(in, offset);
  }
  return sum;
}

hl_status hl_evaluate_grid_sample(const hl_graph *graph, const hl_node *node,
                                  const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                  hl_error *error) {
  (void)graph, (void)error;
  const hl_tensor_view *in = &inputs[0];
  int32_t spatial = in->rank - 2;
  bool nearest = grid_nearest(node);
  int64_t channels = in->dims[1], points = hl_op_product(outputs[0].dims, 2, in->rank);
  for (int64_t n = 0; n < in->dims[0]; n++)
    for (int64_t p = 0; p < points; p++) {
      double at[3];
      for (int32_t d = 0; d < spatial; d++) /* the grid holds x first, the last axis */
        at[d] =
            unnormalise(node, hl_view_get(&inputs[1], (n * points + p) * spatial + spatial - 1 - d),
                        in->dims[d + 2]);
      for (int64_t c = 0; c < channels; c++)
        hl_view_put(&outputs[0], (n * channels + c) * points + p,
                    sample(in, n * channels + c, at, spatial, nearest));
    }
  return HL_OK;
}

/* Derivative of unnormalise at x. */
static double unnormalise_slope(const hl_node *node, double x, int64_t count) {
  bool corners = hl_node_int(node, "align_corners", 0) != 0;
  double n = (double)count, slope = corners ? (n - 1) / 2 : n / 2;
  double at = corners ? (x + 1) / 2 * (n - 1) : ((x + 1) * n - 1) / 2;
  switch (hl_node_text(node, "padding_mode", "zeros")[0]) {
  case 'b':
    return at <= 0 || at >= n - 1 ? 0 : slope;
  case 'r': {
    double low = corners ? 0 : -0.5, range = corners ? n - 1 : n;
    double place = unnormalise(node, x, count);
    if (!(range > 0) || place <= 0 || place >= n - 1) return 0;
    double turns = floor(fabs(at - low) / range); /* each turn is a reflection, as is the sign */
    return slope * (fmod(turns, 2) != 0 ? -1 : 1) * (at < low ? -1 : 1);
  }
  default:
    return slope;
  }
}

/* One point of one plane: adds to the gradient of the data and of the place. */
static void sample_gradient(const hl_tensor_view *in, int64_t plane, const double *at,
                            int32_t spatial, bool nearest, double dy, double *dx, double *ret_at) {
  for (int corner = 0; corner < (nearest ? 1 : 1 << spatial); corner++) {
    double weight[3], slope[3], whole = 1;
    int64_t offset = plane;
    bool inside = true;
    for (int32_t d = 0; d < spatial; d++) {
      double low = nearest ? nearbyint(at[d]) : floor(at[d]), part = at[d] - low;
      bool far = corner >> d & 1;
      double place = low + (double)far;
      weight[d] = nearest ? 1 : far ? part : 1 - part;
      slope[d] = nearest ? 0 : far ? 1 : -1;
      whole *= weight[d];
      inside = inside && place >= 0 && place < (double)in->dims[d + 2];
      offset = offset * in->dims[d + 2] + (inside ? (int64_t)place : 0);
    }
    if (!inside) continue;
    dx[offset] += whole * dy;
    for (int32_t d = 0; d < spatial; d++) {
      double rest = slope[d];
      for (int32_t k = 0; k < spatial; k++)
        if (k != d) rest *= weight[k];
      ret_at[d] += rest * dy * hl_view_get(in, offset);
    }
  }
}

/* Inputs: data, grid, the output's gradient; outputs: the gradients of data and grid. */
hl_status hl_evaluate_grid_sample_gradient(const hl_graph *graph, const hl_node *node,
                                           const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                           hl_error *error) {
  (void)graph;
  const hl_tensor_view *in = &inputs[0], *grid = &inputs[1], *dy = &inputs[2];
  int32_t spatial = in->rank - 2;
  int64_t channels = in->dims[1], points = hl_op_product(dy->dims, 2, in->rank);
  HL_CLEANUP(hl_free_pointer)
  double *dx = calloc((size_t)hl_view_elements(in) + 1, sizeof *dx);
  HL_CLEANUP(hl_free_pointer)
  double *dgrid = calloc((size_t)hl_view_elements(grid) + 1, sizeof *dgrid);
  if (!dx || !dgrid) return hl_op_no_memory(node, error);
  for (int64_t n = 0; n < in->dims[0]; n++)
    for (int64_t p = 0; p < points; p++) {
      double at[3], place[3], sum[3] = {0};
      int64_t first = (n * points + p) * spatial;
      for (int32_t d = 0; d < spatial; d++) {
        at[d] = hl_view_get(grid, first + spatial - 1 - d);
        place[d] = unnormalise(node, at[d], in->dims[d + 2]);
      }
      for (int64_t c = 0; c < channels; c++)
        sample_gradient(in, n * channels + c, place, spatial, grid_nearest(node),
                        hl_view_get(dy, (n * channels + c) * points + p), dx, sum);
      for (int32_t d = 0; d < spatial; d++)
        dgrid[first + spatial - 1 - d] += sum[d] * unnormalise_slope(node, at[d], in->dims[d + 2]);
    }
  if (outputs[0].data) hl_view_put_all(&outputs[0], dx);
  if (outputs[1].data) hl_view_put_all(&outputs[1], dgrid);
  return HL_OK;
}
