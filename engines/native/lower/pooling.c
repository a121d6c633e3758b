/* Pooling and enlarging of pictures. */
#include "lower/lower.h"
#include <string.h>

static bool emit(hl_native_builder *b, const hl_native_node *node, dnnl_alg_kind_t algorithm,
                 const dnnl_dims_t strides, const dnnl_dims_t kernel, const dnnl_dims_t dilation,
                 const dnnl_dims_t before, const dnnl_dims_t after) {
  const hl_value *x = hl_native_in_value(b, node, 0), *y = hl_native_out_value(b, node, 0);
  dnnl_memory_desc_t xd = hl_native_md_as(b, x->shape.rank, x->shape.dims, b->picture, b->type);
  dnnl_memory_desc_t yd = hl_native_md_as(b, y->shape.rank, y->shape.dims, b->picture, b->type);
  dnnl_primitive_attr_t attr = hl_native_attr(b);
  if (!xd || !yd || !attr) return false;
  dnnl_primitive_desc_t pd = NULL;
  dnnl_status_t status = dnnl_pooling_forward_primitive_desc_create(
      &pd, b->engine->dnnl, dnnl_forward_inference, algorithm, xd, yd, strides, kernel, dilation,
      before, after, attr);
  dnnl_primitive_attr_destroy(attr);
  if (status != dnnl_success) return false;
  int32_t from = hl_native_in_as(b, node->inputs[0], b->picture, b->type);
  int32_t to = hl_native_out_as(b, node->outputs[0], b->picture, b->type);
  hl_native_step *step = hl_native_primitive(b, node->op, pd);
  hl_native_arg_add(b, step, from, DNNL_ARG_SRC, xd);
  hl_native_arg_add(b, step, to, DNNL_ARG_DST, yd);
  return true;
}

bool hl_native_read_pool(const hl_native_builder *b, const hl_native_node *node,
                         hl_native_pool *ret_pool) {
  const hl_value *x = hl_native_in_value(b, node, 0), *y = hl_native_out_value(b, node, 0);
  hl_native_pool p = {0};
  int spatial = x->shape.rank - 2;
  int64_t pads[2 * HL_MAX_RANK];
  if (node->output_count > 1 && node->outputs[1] >= 0) return false;
  if (hl_node_ints(node->source, "kernel_shape", p.kernel, HL_MAX_RANK) != (size_t)spatial)
    return false;
  bool has_strides = hl_node_ints(node->source, "strides", p.strides, HL_MAX_RANK) > 0;
  bool has_dilations = hl_node_ints(node->source, "dilations", p.dilations, HL_MAX_RANK) > 0;
  if (!hl_native_pads_read(node->source, pads)) return false;
  for (int i = 0; i < spatial; i++) {
    if (!has_strides) p.strides[i] = 1;
    p.dilations[i] = (has_dilations ? p.dilations[i] : 1) - 1;
    p.before[i] = pads[i];
    int64_t extent = (p.kernel[i] - 1) * (p.dilations[i] + 1) + 1;
    p.after[i] =
        (y->shape.dims[2 + i] - 1) * p.strides[i] + extent - x->shape.dims[2 + i] - p.before[i];
    /* ceil_mode reads beyond the declared padding */
    p.beyond = p.beyond || p.after[i] > pads[spatial + i];
  }
  *ret_pool = p;
  return true;
}

bool hl_native_lower_pooling(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0);
  hl_native_pool p;
  if (!hl_native_float(b, node) || x->shape.rank < 3 || x->shape.rank > 5) return false;
  if (!hl_native_read_pool(b, node, &p)) return false;
  bool include = hl_node_int(node->source, "count_include_pad", 0) != 0;
  if (include && p.beyond) return false; /* how that counts in a mean is intricate */
  dnnl_alg_kind_t algorithm = strcmp(node->op, "MaxPool") == 0 ? dnnl_pooling_max
                              : include                        ? dnnl_pooling_avg_include_padding
                                                               : dnnl_pooling_avg_exclude_padding;
  return emit(b, node, algorithm, p.strides, p.kernel, p.dilations, p.before, p.after);
}

bool hl_native_lower_global_pooling(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0);
  if (!hl_native_float(b, node) || x->shape.rank < 3 || x->shape.rank > 5) return false;
  dnnl_dims_t kernel = {0}, strides = {0}, zero = {0};
  for (int i = 0; i + 2 < x->shape.rank; i++) kernel[i] = strides[i] = x->shape.dims[2 + i];
  dnnl_alg_kind_t algorithm =
      strcmp(node->op, "GlobalMaxPool") == 0 ? dnnl_pooling_max : dnnl_pooling_avg_exclude_padding;
  return emit(b, node, algorithm, strides, kernel, zero, zero, zero);
}

/* Nearest enlargement by whole factors, where output cell i reads input cell i / factor. */
bool hl_native_whole_factors(const hl_node *node, bool resize, const hl_shape *x,
                             const hl_shape *y) {
  if (x->rank < 3 || x->rank > 5) return false;
  if (strcmp(hl_node_text(node, "mode", "nearest"), "nearest") != 0) return false;
  if (resize) {
    const char *at = hl_node_text(node, "coordinate_transformation_mode", "half_pixel");
    const char *rounding = hl_node_text(node, "nearest_mode", "round_prefer_floor");
    bool floor = strcmp(at, "asymmetric") == 0 && strcmp(rounding, "floor") == 0;
    bool half = strcmp(at, "half_pixel") == 0 && strncmp(rounding, "round_prefer", 12) == 0;
    const char *policy = hl_node_text(node, "keep_aspect_ratio_policy", "stretch");
    if ((!floor && !half) || strcmp(policy, "stretch") != 0) return false;
  }
  for (int i = 0; i < x->rank; i++) {
    int64_t in = x->dims[i], out = y->dims[i];
    if (in <= 0 || out % in != 0 || (i < 2 && in != out)) return false;
  }
  return true;
}

bool hl_native_whole_resize(const hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0), *y = hl_native_out_value(b, node, 0);
  return hl_native_whole_factors(node->source, strcmp(node->op, "Resize") == 0, &x->shape,
                                 &y->shape);
}

bool hl_native_lower_resize(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0), *y = hl_native_out_value(b, node, 0);
  if (!hl_native_float(b, node) || !hl_native_whole_resize(b, node)) return false;
  dnnl_memory_desc_t xd = hl_native_md_as(b, x->shape.rank, x->shape.dims, b->picture, b->type);
  dnnl_memory_desc_t yd = hl_native_md_as(b, y->shape.rank, y->shape.dims, b->picture, b->type);
  dnnl_primitive_attr_t attr = hl_native_attr(b);
  if (!xd || !yd || !attr) return false;
  dnnl_primitive_desc_t pd = NULL;
  dnnl_status_t status = dnnl_resampling_forward_primitive_desc_create(
      &pd, b->engine->dnnl, dnnl_forward_inference, dnnl_resampling_nearest, NULL, xd, yd, attr);
  dnnl_primitive_attr_destroy(attr);
  if (status != dnnl_success) return false;
  int32_t from = hl_native_in_as(b, node->inputs[0], b->picture, b->type);
  int32_t to = hl_native_out_as(b, node->outputs[0], b->picture, b->type);
  hl_native_step *step = hl_native_primitive(b, node->op, pd);
  hl_native_arg_add(b, step, from, DNNL_ARG_SRC, xd);
  hl_native_arg_add(b, step, to, DNNL_ARG_DST, yd);
  return true;
}
