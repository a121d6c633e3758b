/* The gradient of a convolution's weights, on oneDNN. */
#include "lower/lower.h"

/* The window of a ConvWeightGradient, whose attributes are all there
 * (graph/gradients-convolution.c); x and dy are its inputs, the weights' gradient its result. */
static bool read_window(const hl_native_builder *b, const hl_native_node *node,
                        hl_native_window *w) {
  const hl_value *x = hl_native_in_value(b, node, 0), *dy = hl_native_in_value(b, node, 1);
  const hl_value *k = hl_native_out_value(b, node, 0);
  *w = (hl_native_window){.spatial = x->shape.rank - 2,
                          .groups = hl_node_int(node->source, "group", 1)};
  if (w->spatial < 1 || w->spatial > 3 || k->shape.rank != x->shape.rank || w->groups < 1)
    return false;
  int64_t strides[HL_MAX_RANK] = {0}, dilations[HL_MAX_RANK] = {0}, pads[2 * HL_MAX_RANK] = {0};
  hl_node_ints(node->source, "strides", strides, HL_MAX_RANK);
  hl_node_ints(node->source, "dilations", dilations, HL_MAX_RANK);
  hl_node_ints(node->source, "pads", pads, HL_COUNT(pads));
  for (int i = 0; i < w->spatial; i++) {
    w->strides[i] = strides[i];
    w->dilations[i] = dilations[i] - 1;
    w->before[i] = pads[i];
    int64_t extent = (k->shape.dims[2 + i] - 1) * dilations[i] + 1;
    w->after[i] =
        (dy->shape.dims[2 + i] - 1) * strides[i] + extent - x->shape.dims[2 + i] - pads[i];
    if (w->before[i] < 0) return false;
  }
  return true;
}

typedef struct descs {
  dnnl_memory_desc_t x, k, y;
} descs;

/* oneDNN wants to see the forward primitive, too. */
static dnnl_primitive_desc_t describe(hl_native_builder *b, const descs *d,
                                      const hl_native_window *w) {
  dnnl_primitive_desc_t forward = NULL, pd = NULL;
  dnnl_primitive_attr_t attr = hl_native_attr(b);
  if (!attr || !d->x || !d->k || !d->y) return NULL;
  dnnl_status_t status = dnnl_convolution_forward_primitive_desc_create(
      &forward, b->engine->dnnl, dnnl_forward_training, dnnl_convolution_direct, d->x, d->k, NULL,
      d->y, w->strides, w->dilations, w->before, w->after, attr);
  if (status == dnnl_success)
    status = dnnl_convolution_backward_weights_primitive_desc_create(
        &pd, b->engine->dnnl, dnnl_convolution_direct, d->x, d->k, NULL, d->y, w->strides,
        w->dilations, w->before, w->after, forward, attr);
  if (forward) dnnl_primitive_desc_destroy(forward);
  dnnl_primitive_attr_destroy(attr);
  return status == dnnl_success ? pd : NULL;
}

/*
 * The gradient from OIhw16i16o, which AVX-512 makes, to the order of the weights. On one core of a
 * Zen 4 the million numbers of a 1x1 convolution take 1.9 ms in oneDNN 3.2's reorder, which writes
 * columns, and 0.3 ms in tiles of 16 x 16. False for other layouts.
 */
static bool unpack(hl_native_builder *b, const hl_value *k, int32_t from,
                   const_dnnl_memory_desc_t from_desc, int32_t to) {
  static const dnnl_format_tag_t tags[] = {dnnl_OIw16i16o, dnnl_OIhw16i16o, dnnl_OIdhw16i16o};
  int rank = k->shape.rank;
  dnnl_dims_t dims = {0};
  dnnl_memory_desc_t blocks = NULL;
  if (rank < 3 || rank > 5) return false;
  for (int i = 0; i < rank; i++) dims[i] = k->shape.dims[i];
  if (!from_desc || dims[0] % 16 != 0 || dims[1] % 16 != 0 ||
      dnnl_memory_desc_create_with_tag(&blocks, rank, dims, dnnl_f32, tags[rank - 3]) !=
          dnnl_success)
    return false;
  bool known = dnnl_memory_desc_equal(blocks, from_desc) != 0;
  dnnl_memory_desc_destroy(blocks);
  if (!known) return false;
  ptrdiff_t inputs = (ptrdiff_t)dims[1], taps = 1;
  for (int i = 2; i < rank; i++) taps *= (ptrdiff_t)dims[i];
  const hl_copy_args args = {
      .rank = taps > 1 ? 5 : 4,
      .extent = {(size_t)dims[0] / 16, 16, (size_t)dims[1] / 16, 16, (size_t)taps},
      .x_stride = {16 * inputs * taps, 1, 256 * taps, 16, 256},
      .y_stride = {16 * inputs * taps, inputs * taps, 16 * taps, taps, 1}};
  return hl_native_copy_strided(b, "Weights", &args, from, to);
}

/* `dtype` of x and dy; the weights' gradient is float32. */
static bool emit(hl_native_builder *b, const hl_native_node *node, hl_native_layout source,
                 hl_native_layout result, hl_dtype dtype, bool accept_reference) {
  const hl_value *x = hl_native_in_value(b, node, 0), *dy = hl_native_in_value(b, node, 1);
  const hl_value *k = hl_native_out_value(b, node, 0);
  hl_native_window w;
  if (!read_window(b, node, &w)) return false;
  int64_t dims[HL_MAX_RANK + 1], strides[HL_MAX_RANK + 1];
  int rank = hl_native_weight_view(k, &w, false, 0, dims, strides);
  descs d = {.x = hl_native_md_as(b, x->shape.rank, x->shape.dims, source, dtype),
             .k = hl_native_md_any_as(b, rank, dims, HL_FLOAT32),
             .y = hl_native_md_as(b, dy->shape.rank, dy->shape.dims, result, dtype)};
  dnnl_primitive_desc_t pd = describe(b, &d, &w);
  if (pd && !accept_reference && hl_native_is_reference(pd)) {
    dnnl_primitive_desc_destroy(pd);
    return false;
  }
  if (!pd) return false;
  dnnl_memory_desc_t plain = hl_native_md_strides(b, rank, dims, strides);
  dnnl_memory_desc_t k_desc = hl_native_md_query(b, pd, dnnl_query_diff_weights_md);
  int32_t from = hl_native_in_as(b, node->inputs[0], source, dtype);
  int32_t back = hl_native_in_as(b, node->inputs[1], result, dtype);
  int32_t to = hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN);
  bool same = plain && k_desc && dnnl_memory_desc_equal(plain, k_desc);
  int32_t made = same || !k_desc ? to : hl_native_scratch(b, dnnl_memory_desc_get_size(k_desc));
  hl_native_step *step = hl_native_primitive(b, node->op, pd);
  hl_native_arg_add(b, step, from, DNNL_ARG_SRC, d.x);
  hl_native_arg_add(b, step, back, DNNL_ARG_DIFF_DST, d.y);
  hl_native_arg_add(b, step, made, DNNL_ARG_DIFF_WEIGHTS, k_desc);
  if (!same && (rank != k->shape.rank || !unpack(b, k, made, k_desc, to)))
    hl_native_reorder(b, "Weights", made, k_desc, to, plain);
  return true;
}

bool hl_native_lower_weight_gradient(hl_native_builder *b, const hl_native_node *node) {
  if (!hl_native_float(b, node)) return false;
  int32_t x = b->tensor_of[node->inputs[0]];
  bool picture = b->type == HL_FLOAT32 && x >= 0 &&
                 hl_native_get(b, x)->layout == HL_LAYOUT_PLAIN &&
                 hl_native_in_value(b, node, 0)->shape.dims[1] <= HL_NATIVE_PLAIN_CHANNELS;
  const hl_native_layout plain = HL_LAYOUT_PLAIN, blocked = HL_LAYOUT_BLOCKED;
  return (picture && emit(b, node, plain, blocked, HL_FLOAT32, false)) ||
         emit(b, node, b->picture, b->picture, b->type, false) ||
         emit(b, node, blocked, blocked, HL_FLOAT32, false) ||
         emit(b, node, plain, plain, HL_FLOAT32, true);
}
