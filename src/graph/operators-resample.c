/* Resize, Upsample and GridSample. */
#include "graph/operator-kit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- sizes and scales ------------------------------------------------------------------------ */

typedef struct resampling {
  double scale[HL_MAX_RANK];
  int64_t out[HL_MAX_RANK];
  bool known;
} resampling;

/* The scales: attribute of Upsample 7, input 1 of Upsample 9 and Resize 10, input 2 since. */
static hl_status read_scales(const hl_graph *graph, const hl_node *node, double *ret,
                             size_t *ret_count, bool *ret_known, hl_error *error) {
  const hl_attribute *a = hl_node_attribute(node, "scales");
  bool old = graph->opset < 11 || strcmp(node->op, "Upsample") == 0;
  const hl_value *v = hl_node_input(graph, node, old ? 1 : 2);
  *ret_count = 0;
  *ret_known = true;
  if (a && a->kind == HL_ATTRIBUTE_REALS && a->count <= HL_MAX_RANK) {
    *ret_count = a->count;
    for (size_t i = 0; i < a->count; i++) ret[i] = (double)a->reals[i];
  } else if (v) {
    int64_t count = hl_shape_elements(&v->shape);
    if (count > HL_MAX_RANK || (count > 0 && v->dtype != HL_FLOAT32))
      return hl_op_fail(node, HL_BAD_DATA, error, "'%.60s' must be at most %d float32 scales",
                        v->name, HL_MAX_RANK);
    *ret_known = count == 0 || v->data;
    *ret_count = count < 0 ? 0 : (size_t)count;
    for (size_t i = 0; i < *ret_count && *ret_known; i++)
      ret[i] = (double)((const float *)v->data)[i];
  }
  return HL_OK;
}

static hl_status read_sizes(const hl_graph *graph, const hl_node *node, int64_t *ret,
                            size_t *ret_count, bool *ret_known, hl_error *error) {
  *ret_count = 0;
  *ret_known = true;
  if (graph->opset < 11) return HL_OK;
  return hl_op_ints(graph, node, "", 3, ret, HL_MAX_RANK, ret_count, ret_known, error);
}

static hl_status read_axes(const hl_node *node, int32_t rank, size_t count, int32_t *ret,
                           hl_error *error) {
  int64_t axes[HL_MAX_RANK];
  size_t given = hl_node_ints(node, "axes", axes, HL_MAX_RANK);
  if (count != (given ? given : (size_t)rank) || given > HL_MAX_RANK)
    return hl_op_fail(node, HL_BAD_DATA, error, "%zu sizes or scales for %d dimensions", count,
                      rank);
  for (size_t i = 0; i < count; i++) {
    ret[i] = (int32_t)i;
    if (!given) continue;
    hl_status status = hl_op_axis(node, axes[i], rank, &ret[i], error);
    if (status != HL_OK) return status;
  }
  return HL_OK;
}

static hl_status read_resampling(const hl_graph *graph, const hl_node *node, const int64_t *dims,
                                 int32_t rank, resampling *ret, hl_error *error) {
  double scales[HL_MAX_RANK] = {0};
  int64_t sizes[HL_MAX_RANK] = {0};
  size_t scale_count, size_count;
  bool scales_known, sizes_known;
  int32_t axes[HL_MAX_RANK] = {0};
  hl_status status = read_scales(graph, node, scales, &scale_count, &scales_known, error);
  if (status == HL_OK) status = read_sizes(graph, node, sizes, &size_count, &sizes_known, error);
  if (status != HL_OK) return status;
  *ret = (resampling){.known = scales_known && sizes_known};
  for (int32_t i = 0; i < rank; i++) {
    ret->scale[i] = 1;
    ret->out[i] = ret->known ? dims[i] : -1;
  }
  if (!ret->known) return HL_OK;
  size_t count = size_count ? size_count : scale_count;
  status = read_axes(node, rank, count, axes, error);
  for (size_t i = 0; status == HL_OK && i < count; i++) {
    int32_t axis = axes[i];
    int64_t in = dims[axis];
    if (size_count ? sizes[i] < 1 || sizes[i] > INT64_C(1) << 40
                   : !(scales[i] > 0 && scales[i] < 0x1p31))
      return hl_op_fail(node, HL_BAD_DATA, error, "size or scale number %zu is out of range", i);
    if (size_count) {
      ret->out[axis] = sizes[i];
      ret->scale[axis] = in > 0 ? (double)sizes[i] / (double)in : 1;
    } else {
      ret->scale[axis] = scales[i];
      double out = floor((double)in * scales[i]);
      if (in >= 0 && out >= 0x1p40)
        return hl_op_fail(node, HL_LIMIT, error, "dimension %d grows beyond any memory", axis);
      ret->out[axis] = in < 0 ? -1 : (int64_t)out;
    }
  }
  return status;
}

static bool is_linear(const hl_node *node) {
  const char *mode = hl_node_text(node, "mode", "nearest");
  return strcmp(mode, "linear") == 0 || strcmp(mode, "bilinear") == 0 ||
         strcmp(mode, "trilinear") == 0;
}

static hl_status check_resize(const hl_node *node, hl_error *error) {
  static const char *const known[] = {"half_pixel", "pytorch_half_pixel",   "align_corners",
                                      "asymmetric", "tf_half_pixel_for_nn", "half_pixel_symmetric"};
  const char *mode = hl_node_text(node, "mode", "nearest");
  if (strcmp(mode, "nearest") != 0 && !is_linear(node))
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "mode '%.40s'; nearest and linear are", mode);
  if (hl_node_int(node, "antialias", 0) != 0)
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "antialias");
  if (strcmp(hl_node_text(node, "keep_aspect_ratio_policy", "stretch"), "stretch") != 0)
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "keep_aspect_ratio_policy");
  const char *coordinates = hl_node_text(node, "coordinate_transformation_mode", "half_pixel");
  for (size_t i = 0; i < HL_COUNT(known); i++)
    if (strcmp(known[i], coordinates) == 0) return HL_OK;
  return hl_op_fail(node, HL_UNIMPLEMENTED, error, "coordinate_transformation_mode '%.40s'",
                    coordinates);
}

hl_status hl_infer_resize(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  resampling r;
  hl_status status = check_resize(node, error);
  if (status == HL_OK)
    status = read_resampling(graph, node, x->shape.dims, x->shape.rank, &r, error);
  if (status != HL_OK) return status;
  for (int32_t i = 0; i < x->shape.rank; i++)
    if (x->shape.dims[i] == 0 && r.out[i] > 0)
      return hl_op_fail(node, HL_BAD_DATA, error, "dimension %d has no elements to resize", i);
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, x->shape.rank, r.out);
  return HL_OK;
}

double hl_flops_resize(const hl_graph *graph, const hl_node *node) {
  const hl_value *x = hl_node_input(graph, node, 0), *y = hl_node_output(graph, node, 0);
  if (!is_linear(node)) return 0;
  double flops = 2 * (double)hl_shape_elements(&y->shape);
  for (int32_t i = 0; i < x->shape.rank; i++)
    if (x->shape.dims[i] != y->shape.dims[i]) flops *= 2;
  return flops;
}

/* -- Resize ---------------------------------------------------------------------------------- */

/* Taps of one output index along one axis: element `low` weighs 1 - part, `high` weighs part. */
typedef struct tap {
  int64_t low, high;
  double part;
} tap;

/* In float, as the scales are and as engines compute it: where a place falls exactly between two
 * elements, rounding differently would pick another neighbour. */
static float source(const hl_graph *graph, const hl_node *node, float i, float in, float out,
                    float scale) {
  const char *mode = hl_node_text(node, "coordinate_transformation_mode", "half_pixel");
  if (graph->opset < 11 || strcmp(node->op, "Upsample") == 0 || strcmp(mode, "asymmetric") == 0)
    return i / scale;
  if (strcmp(mode, "align_corners") == 0) return out > 1 ? i * (in - 1) / (out - 1) : 0;
  if (strcmp(mode, "pytorch_half_pixel") == 0) return out > 1 ? (i + 0.5f) / scale - 0.5f : 0;
  if (strcmp(mode, "tf_half_pixel_for_nn") == 0) return (i + 0.5f) / scale;
  if (strcmp(mode, "half_pixel_symmetric") == 0) {
    float adjusted = out / (scale * in), centre = in / 2;
    return centre * (1 - adjusted) + (i + 0.5f) / scale - 0.5f;
  }
  return (i + 0.5f) / scale - 0.5f;
}

static int64_t clamp(double x, int64_t count) {
  return x < 0 ? 0 : x > (double)(count - 1) ? count - 1 : (int64_t)x;
}

static double round_mode(const hl_graph *graph, const hl_node *node, double x) {
  const char *mode = hl_node_text(node, "nearest_mode", "round_prefer_floor");
  if (graph->opset < 11 || strcmp(node->op, "Upsample") == 0 || strcmp(mode, "floor") == 0)
    return floor(x);
  if (strcmp(mode, "ceil") == 0) return ceil(x);
  if (strcmp(mode, "round_prefer_ceil") == 0) return floor(x + 0.5);
  return ceil(x - 0.5);
}

static tap *make_taps(const hl_graph *graph, const hl_node *node, int64_t in, int64_t out,
                      double scale) {
  tap *taps = calloc((size_t)out + 1, sizeof *taps);
  bool linear = is_linear(node);
  for (int64_t i = 0; taps && i < out; i++) {
    double x = (double)source(graph, node, (float)i, (float)in, (float)out, (float)scale);
    if (in == out && scale == 1) {
      taps[i] = (tap){.low = i, .high = i};
    } else if (!linear) {
      taps[i].low = taps[i].high = clamp(round_mode(graph, node, x), in);
    } else {
      x = x < 0 ? 0 : x > (double)(in - 1) ? (double)(in - 1) : x;
      taps[i].low = clamp(floor(x), in);
      taps[i].high = clamp(floor(x) + 1, in);
      taps[i].part = x - floor(x);
    }
  }
  return taps;
}

/* The weighted sum over both taps of every axis. */
static double blend(const hl_tensor_view *in, tap *const *taps, const int64_t *index, int32_t axis,
                    int64_t offset) {
  if (axis == in->rank || !taps[axis]) return hl_view_get(in, offset);
  const tap *t = &taps[axis][index[axis]];
  int64_t base = offset * in->dims[axis];
  double low = blend(in, taps, index, axis + 1, base + t->low);
  if (t->part == 0) return low;
  return low * (1 - t->part) + blend(in, taps, index, axis + 1, base + t->high) * t->part;
}

hl_status hl_evaluate_resize(const hl_graph *graph, const hl_node *node,
                             const hl_tensor_view *inputs, hl_tensor_view *outputs,
                             hl_error *error) {
  const hl_tensor_view *in = &inputs[0];
  hl_tensor_view *out = &outputs[0];
  resampling r;
  hl_status status = read_resampling(graph, node, in->dims, in->rank, &r, error);
  if (status != HL_OK) return status;
  tap *taps[HL_MAX_RANK] = {0};
  bool ready = true;
  for (int32_t d = 0; d < in->rank && ready; d++) {
    taps[d] = make_taps(graph, node, in->dims[d], out->dims[d], r.scale[d]);
    ready = taps[d] != NULL;
  }
  int64_t index[HL_MAX_RANK] = {0}, unused[HL_MAX_RANK] = {0}, offset = 0;
  int64_t count = ready ? hl_view_elements(out) : 0;
  for (int64_t i = 0; i < count; i++) {
    hl_view_put(out, i, blend(in, taps, index, 0, 0));
    hl_index_next(out->rank, out->dims, index, unused, &offset);
  }
  for (int32_t d = 0; d < in->rank; d++) free(taps[d]);
  return ready ? HL_OK : hl_op_no_memory(node, error);
}

/* -- GridSample ------------------------------------------------------------------------------ */

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
