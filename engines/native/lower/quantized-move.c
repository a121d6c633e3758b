/* Moves of 8-bit pictures, channels-last: pooling, enlarging, slices of channels. */
#include "lower/lower.h"
#include <string.h>

/* An 8-bit picture? */
static bool is_picture(const hl_value *x) {
  return (x->dtype == HL_UINT8 || x->dtype == HL_INT8) && x->shape.rank >= 3 && x->shape.rank <= 5;
}

static dnnl_memory_desc_t describe(hl_native_builder *b, const hl_value *value) {
  return hl_native_md_as(b, value->shape.rank, value->shape.dims, HL_LAYOUT_CHANNELS_LAST,
                         value->dtype);
}

static bool emit(hl_native_builder *b, const hl_native_node *node, dnnl_primitive_desc_t pd,
                 dnnl_memory_desc_t xd, dnnl_memory_desc_t yd) {
  int32_t from = hl_native_in(b, node->inputs[0], HL_LAYOUT_CHANNELS_LAST);
  int32_t to = hl_native_out(b, node->outputs[0], HL_LAYOUT_CHANNELS_LAST);
  hl_native_step *step = hl_native_primitive(b, node->op, pd);
  hl_native_arg_add(b, step, from, DNNL_ARG_SRC, xd);
  hl_native_arg_add(b, step, to, DNNL_ARG_DST, yd);
  return true;
}

bool hl_native_lower_quantized_pooling(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0), *y = hl_native_out_value(b, node, 0);
  hl_native_pool p;
  if (!is_picture(x) || !hl_native_read_pool(b, node, &p)) return false;
  dnnl_memory_desc_t xd = describe(b, x), yd = describe(b, y);
  dnnl_primitive_attr_t attr = hl_native_attr(b);
  dnnl_primitive_desc_t pd = NULL;
  if (!xd || !yd || !attr) return false;
  dnnl_status_t status = dnnl_pooling_forward_primitive_desc_create(
      &pd, b->engine->dnnl, dnnl_forward_inference, dnnl_pooling_max, xd, yd, p.strides, p.kernel,
      p.dilations, p.before, p.after, attr);
  dnnl_primitive_attr_destroy(attr);
  return status == dnnl_success && emit(b, node, pd, xd, yd);
}

bool hl_native_lower_quantized_resize(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0), *y = hl_native_out_value(b, node, 0);
  if (!is_picture(x) || !hl_native_whole_resize(b, node)) return false;
  dnnl_memory_desc_t xd = describe(b, x), yd = describe(b, y);
  dnnl_primitive_attr_t attr = hl_native_attr(b);
  dnnl_primitive_desc_t pd = NULL;
  if (!xd || !yd || !attr) return false;
  dnnl_status_t status = dnnl_resampling_forward_primitive_desc_create(
      &pd, b->engine->dnnl, dnnl_forward_inference, dnnl_resampling_nearest, NULL, xd, yd, attr);
  dnnl_primitive_attr_destroy(attr);
  return status == dnnl_success && emit(b, node, pd, xd, yd);
}

/* A slice of channels is a copy of a part of every pixel. */
bool hl_native_lower_quantized_slice(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0), *y = hl_native_out_value(b, node, 0);
  int64_t start, axis, step = 1, channels = x->shape.rank > 1 ? x->shape.dims[1] : 0;
  if (!is_picture(x) || hl_native_integers(b->ir, hl_native_input(node, 1), &start, 1) != 1 ||
      hl_native_integers(b->ir, hl_native_input(node, 3), &axis, 1) != 1)
    return false;
  if (hl_native_input(node, 4) >= 0 && hl_native_integers(b->ir, node->inputs[4], &step, 1) != 1)
    return false;
  if (axis < 0) axis += x->shape.rank;
  if (start < 0) start += channels;
  if (axis != 1 || step != 1 || start < 0 || start + y->shape.dims[1] > channels) return false;
  int64_t strides[HL_MAX_RANK];
  int64_t pixel = channels;
  strides[1] = 1;
  for (int i = x->shape.rank - 1; i > 1; i--) {
    strides[i] = pixel;
    pixel *= x->shape.dims[i];
  }
  strides[0] = pixel;
  dnnl_memory_desc_t xd =
      hl_native_md_strides_as(b, y->shape.rank, y->shape.dims, strides, x->dtype);
  int32_t from = hl_native_in(b, node->inputs[0], HL_LAYOUT_CHANNELS_LAST);
  int32_t part = hl_native_view(b, from, (uint64_t)start);
  int32_t to = hl_native_out(b, node->outputs[0], HL_LAYOUT_CHANNELS_LAST);
  hl_native_reorder(b, node->op, part, xd, to, describe(b, y));
  return true;
}
