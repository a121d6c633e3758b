/* Resize and Upsample. */
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

/* With an aspect ratio policy, sizes are bounds for one scale that all axes share; else 0. */
static double shared_scale(const hl_node *node, const int64_t *dims, const int32_t *axes,
                           const int64_t *sizes, size_t count) {
  const char *policy = hl_node_text(node, "keep_aspect_ratio_policy", "stretch");
  bool larger = strcmp(policy, "not_smaller") == 0;
  double scale = 0;
  if (!larger && strcmp(policy, "not_larger") != 0) return 0;
  for (size_t i = 0; i < count; i++) {
    if (dims[axes[i]] < 1) return 0;
    double own = (double)sizes[i] / (double)dims[axes[i]];
    scale = i == 0 || (larger ? own > scale : own < scale) ? own : scale;
  }
  return scale;
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
  double shared = status == HL_OK && size_count ? shared_scale(node, dims, axes, sizes, count) : 0;
  for (size_t i = 0; status == HL_OK && i < count; i++) {
    int32_t axis = axes[i];
    int64_t in = dims[axis];
    if (size_count ? sizes[i] < 1 || sizes[i] > INT64_C(1) << 40
                   : !(scales[i] > 0 && scales[i] < 0x1p31))
      return hl_op_fail(node, HL_BAD_DATA, error, "size or scale number %zu is out of range", i);
    if (size_count && shared > 0) {
      double out = floor(shared * (double)in + 0.5);
      if (out >= 0x1p40)
        return hl_op_fail(node, HL_LIMIT, error, "dimension %d grows beyond any memory", axis);
      ret->scale[axis] = shared;
      ret->out[axis] = (int64_t)out;
    } else if (size_count) {
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

static bool is_cubic(const hl_node *node) {
  return strcmp(hl_node_text(node, "mode", "nearest"), "cubic") == 0;
}

static bool crops(const hl_node *node) {
  return strcmp(hl_node_text(node, "coordinate_transformation_mode", "half_pixel"),
                "tf_crop_and_resize") == 0;
}

static bool is_one_of(const char *text, const char *const *known, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(known[i], text) == 0) return true;
  return false;
}

static hl_status check_resize(const hl_node *node, hl_error *error) {
  static const char *const known[] = {
      "half_pixel",           "pytorch_half_pixel",   "align_corners",     "asymmetric",
      "tf_half_pixel_for_nn", "half_pixel_symmetric", "tf_crop_and_resize"};
  static const char *const policies[] = {"stretch", "not_larger", "not_smaller"};
  const char *mode = hl_node_text(node, "mode", "nearest");
  const char *policy = hl_node_text(node, "keep_aspect_ratio_policy", "stretch");
  const char *coordinates = hl_node_text(node, "coordinate_transformation_mode", "half_pixel");
  if (strcmp(mode, "nearest") != 0 && !is_linear(node) && !is_cubic(node))
    return hl_op_fail(node, HL_BAD_DATA, error, "mode '%.40s'", mode);
  if (!is_one_of(policy, policies, HL_COUNT(policies)))
    return hl_op_fail(node, HL_BAD_DATA, error, "keep_aspect_ratio_policy '%.40s'", policy);
  if (!is_one_of(coordinates, known, HL_COUNT(known)))
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "coordinate_transformation_mode '%.40s'",
                      coordinates);
  return HL_OK;
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
  if (!is_linear(node) && !is_cubic(node)) return 0;
  double flops = 2 * (double)hl_shape_elements(&y->shape);
  for (int32_t i = 0; i < x->shape.rank; i++)
    if (x->shape.dims[i] != y->shape.dims[i]) flops *= is_cubic(node) ? 4 : 2;
  return flops;
}

/* -- Resize ---------------------------------------------------------------------------------- */

/* What the output elements along one axis are made of: `count` elements each, with their weights.
 */
typedef struct taps {
  int64_t count;
  int64_t *at;
  double *weight;
  bool *outside; /* beyond the region that is cropped */
} taps;

/* The part of an axis that tf_crop_and_resize takes, from 0 to 1. */
typedef struct region {
  double start, end;
} region;

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

static double crop_source(region r, int64_t i, int64_t in, int64_t out) {
  double last = (double)(in - 1);
  if (out <= 1) return (r.start + r.end) / 2 * last;
  return r.start * last + (double)i * (r.end - r.start) * last / (double)(out - 1);
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

/* Keys' cubic kernel with coefficient `a`. */
static double cubic(double x, double a) {
  x = fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((x - 5) * x + 8) * x * a - 4 * a : 0;
}

static double triangle(double x) {
  x = fabs(x);
  return x < 1 ? 1 - x : 0;
}

/* Weights of the elements around place x. With `stretch` below 1 the kernel covers as many inputs
 * as fall to one output (antialias). */
static void weigh(const hl_node *node, double x, int64_t in, double stretch, int64_t count,
                  int64_t *at, double *weight) {
  bool wide = is_cubic(node), excludes = hl_node_int(node, "exclude_outside", 0) != 0;
  double a = (double)hl_node_real(node, "cubic_coeff_a", -0.75f), sum = 0;
  int64_t first = (int64_t)floor(x) - (count / 2 - 1);
  for (int64_t k = 0; k < count; k++) {
    double distance = ((double)(first + k) - x) * stretch;
    weight[k] = wide ? cubic(distance, a) : triangle(distance);
    if (excludes && (first + k < 0 || first + k >= in)) weight[k] = 0;
    at[k] = clamp((double)(first + k), in);
    sum += weight[k];
  }
  for (int64_t k = 0; k < count && sum != 0; k++) weight[k] /= sum;
}

static bool make_taps(const hl_graph *graph, const hl_node *node, int64_t in, int64_t out,
                      double scale, region r, taps *ret) {
  bool smooth = is_linear(node) || is_cubic(node), crop = crops(node);
  bool keeps = in == out && scale == 1 && !crop;
  bool antialias = smooth && !keeps && scale < 1 && hl_node_int(node, "antialias", 0) != 0;
  double reach = is_cubic(node) ? 2 : 1, stretch = antialias ? scale : 1;
  ret->count = keeps || !smooth ? 1 : 2 * (int64_t)ceil(reach / stretch);
  size_t total = (size_t)out * (size_t)ret->count + 1;
  ret->at = calloc(total, sizeof *ret->at);
  ret->weight = calloc(total, sizeof *ret->weight);
  ret->outside = calloc((size_t)out + 1, sizeof *ret->outside);
  if (!ret->at || !ret->weight || !ret->outside) return false;
  for (int64_t i = 0; i < out; i++) {
    int64_t *at = ret->at + i * ret->count;
    double *weight = ret->weight + i * ret->count;
    double x = crop ? crop_source(r, i, in, out)
                    : (double)source(graph, node, (float)i, (float)in, (float)out, (float)scale);
    ret->outside[i] = crop && !(x >= 0 && x <= (double)(in - 1));
    weight[0] = 1;
    if (keeps)
      at[0] = i;
    else if (!smooth)
      at[0] = clamp(round_mode(graph, node, x), in);
    else if (fabs(x) < 0x1p52) /* a place beyond that is none */
      weigh(node, x, in, stretch, ret->count, at, weight);
  }
  return true;
}

static void taps_release(taps *t) {
  free(t->at);
  free(t->weight);
  free(t->outside);
}

/* The weighted sum over the taps of every axis. */
static double blend(const hl_tensor_view *in, const taps *t, const int64_t *index, int32_t axis,
                    int64_t offset) {
  if (axis == in->rank) return hl_view_get(in, offset);
  const int64_t *at = t[axis].at + index[axis] * t[axis].count;
  const double *weight = t[axis].weight + index[axis] * t[axis].count;
  double sum = 0;
  for (int64_t k = 0; k < t[axis].count; k++)
    if (weight[k] != 0)
      sum += weight[k] * blend(in, t, index, axis + 1, offset * in->dims[axis] + at[k]);
  return sum;
}

/* The regions of all axes: the starts, then the ends, of the axes that are resized. */
static hl_status read_regions(const hl_node *node, const hl_tensor_view *inputs, int32_t rank,
                              region *ret, hl_error *error) {
  int64_t given[HL_MAX_RANK];
  size_t count = hl_node_ints(node, "axes", given, HL_MAX_RANK);
  int32_t axes[HL_MAX_RANK] = {0};
  for (int32_t d = 0; d < rank; d++) ret[d] = (region){0, 1};
  if (!crops(node)) return HL_OK;
  if (!count) count = (size_t)rank;
  hl_status status = read_axes(node, rank, count, axes, error);
  if (status != HL_OK) return status;
  const hl_tensor_view *roi = node->input_count > 1 ? &inputs[1] : NULL;
  if (!roi || !roi->data || hl_view_elements(roi) != 2 * (int64_t)count)
    return hl_op_fail(node, HL_BAD_DATA, error, "roi must hold a start and an end for each axis");
  for (size_t i = 0; i < count; i++)
    ret[axes[i]] = (region){hl_view_get(roi, (int64_t)i), hl_view_get(roi, (int64_t)(i + count))};
  return HL_OK;
}

/* The adjoint of blend: `dy` of one output element to what it was made of. */
static void spread(double *dx, const hl_tensor_view *in, const taps *t, const int64_t *index,
                   int32_t axis, int64_t offset, double dy) {
  if (axis == in->rank) {
    dx[offset] += dy;
    return;
  }
  const int64_t *at = t[axis].at + index[axis] * t[axis].count;
  const double *weight = t[axis].weight + index[axis] * t[axis].count;
  for (int64_t k = 0; k < t[axis].count; k++)
    if (weight[k] != 0)
      spread(dx, in, t, index, axis + 1, offset * in->dims[axis] + at[k], weight[k] * dy);
}

/* The taps of every axis; release all `in->rank` of them whatever the status. */
static hl_status prepare(const hl_graph *graph, const hl_node *node, const hl_tensor_view *inputs,
                         const hl_tensor_view *in, const hl_tensor_view *out, taps *ret_taps,
                         hl_error *error) {
  resampling r;
  region regions[HL_MAX_RANK];
  hl_status status = read_resampling(graph, node, in->dims, in->rank, &r, error);
  if (status == HL_OK) status = read_regions(node, inputs, in->rank, regions, error);
  for (int32_t d = 0; d < in->rank && status == HL_OK; d++)
    if (!make_taps(graph, node, in->dims[d], out->dims[d], r.scale[d], regions[d], &ret_taps[d]))
      status = hl_op_no_memory(node, error);
  return status;
}

static bool is_outside(const taps *t, const int64_t *index, int32_t rank) {
  bool outside = false;
  for (int32_t d = 0; d < rank; d++) outside = outside || t[d].outside[index[d]];
  return outside;
}

hl_status hl_evaluate_resize(const hl_graph *graph, const hl_node *node,
                             const hl_tensor_view *inputs, hl_tensor_view *outputs,
                             hl_error *error) {
  const hl_tensor_view *in = &inputs[0];
  hl_tensor_view *out = &outputs[0];
  int64_t count = hl_view_elements(out);
  if (count == 0) return HL_OK;
  taps t[HL_MAX_RANK] = {{0}};
  hl_status status = prepare(graph, node, inputs, in, out, t, error);
  double beyond = (double)hl_node_real(node, "extrapolation_value", 0);
  int64_t index[HL_MAX_RANK] = {0}, unused[HL_MAX_RANK] = {0}, offset = 0;
  for (int64_t i = 0; i < count && status == HL_OK; i++) {
    hl_view_put(out, i, is_outside(t, index, in->rank) ? beyond : blend(in, t, index, 0, 0));
    hl_index_next(out->rank, out->dims, index, unused, &offset);
  }
  for (int32_t d = 0; d < in->rank; d++) taps_release(&t[d]);
  return status;
}

/* Inputs: the output's gradient, then what the operator took beside its data. */
hl_status hl_evaluate_resize_gradient(const hl_graph *graph, const hl_node *node,
                                      const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                      hl_error *error) {
  hl_node forward = *node;
  forward.op = node->op[0] == 'R' ? "Resize" : "Upsample";
  const hl_tensor_view *dy = &inputs[0], *in = &outputs[0];
  int64_t count = hl_view_elements(dy);
  HL_CLEANUP(hl_free_pointer)
  double *dx = calloc((size_t)hl_view_elements(in) + 1, sizeof *dx);
  if (!dx) return hl_op_no_memory(node, error);
  taps t[HL_MAX_RANK] = {{0}};
  hl_status status = prepare(graph, &forward, inputs, in, dy, t, error);
  int64_t index[HL_MAX_RANK] = {0}, unused[HL_MAX_RANK] = {0}, offset = 0;
  for (int64_t i = 0; i < count && status == HL_OK; i++) {
    if (!is_outside(t, index, in->rank)) spread(dx, in, t, index, 0, 0, hl_view_get(dy, i));
    hl_index_next(dy->rank, dy->dims, index, unused, &offset);
  }
  for (int32_t d = 0; d < in->rank; d++) taps_release(&t[d]);
  if (status == HL_OK) hl_view_put_all(&outputs[0], dx);
  return status;
}
