/* Networks with QuantizeLinear and DequantizeLinear nodes: which nodes compute in 8 bits. */
#include "compile/passes.h"
#include <math.h>
#include <string.h>

static bool is_op(const hl_native_node *node, const char *op) {
  return node && strcmp(node->op, op) == 0;
}

static bool is_byte(const hl_value *value) {
  return value && (value->dtype == HL_UINT8 || value->dtype == HL_INT8);
}

static int32_t byte_at(const hl_value *value, int64_t i) {
  const unsigned char *at = (const unsigned char *)value->data + i;
  return value->dtype == HL_INT8 ? (int32_t)(int8_t)*at : (int32_t)*at;
}

bool hl_native_affine(const hl_native_ir *ir, const hl_native_node *node, float *ret_scale,
                      int32_t *ret_zero) {
  bool back = strcmp(node->op, "DequantizeLinear") == 0;
  const hl_value *q = hl_native_value(ir, back ? node->inputs[0] : node->outputs[0]);
  const hl_value *x = hl_native_value(ir, back ? node->outputs[0] : node->inputs[0]);
  float scale;
  if (!is_byte(q) || x->dtype != HL_FLOAT32 ||
      !hl_native_scalar(ir, hl_native_input(node, 1), &scale))
    return false;
  if (!(scale > 0) || !isfinite(scale)) return false;
  *ret_scale = scale;
  *ret_zero = 0;
  hl_value_id zero = hl_native_input(node, 2);
  if (zero < 0) return true;
  const hl_value *z = hl_native_value(ir, zero);
  if (!hl_native_known(ir, zero) || z->dtype != q->dtype || hl_shape_elements(&z->shape) != 1)
    return false;
  *ret_zero = byte_at(z, 0);
  return true;
}

/* -- weights ---------------------------------------------------------------------------------- */

/* int8 weights with zero points of 0: the constant and its scales, a vector over `axis` or one. */
static bool read_weights(hl_native_ir *ir, hl_value_id value, int axis, hl_value_id *ret_weights,
                         hl_value_id *ret_scales) {
  const hl_native_node *node = hl_native_ir_writer(ir, value);
  if (!is_op(node, "DequantizeLinear") || hl_node_int(node->source, "block_size", 0) != 0)
    return false;
  const hl_value *w = hl_native_value(ir, node->inputs[0]);
  const hl_value *scales = hl_native_value(ir, hl_native_input(node, 1));
  if (!w || !w->data || w->dtype != HL_INT8 || !scales || !scales->data ||
      scales->dtype != HL_FLOAT32 || axis >= w->shape.rank)
    return false;
  int64_t count = hl_shape_elements(&scales->shape), at = hl_node_int(node->source, "axis", 1);
  if (at < 0) at += w->shape.rank;
  if (count != 1 && (at != axis || count != w->shape.dims[axis])) return false;
  for (int64_t i = 0; i < count; i++)
    if (!(hl_native_element(scales, i) > 0) || !isfinite(hl_native_element(scales, i)))
      return false;
  const hl_value *zero = hl_native_value(ir, hl_native_input(node, 2));
  if (zero && (!zero->data || zero->dtype != HL_INT8)) return false;
  for (int64_t i = 0; zero && i < hl_shape_elements(&zero->shape); i++)
    if (byte_at(zero, i) != 0) return false;
  *ret_weights = node->inputs[0];
  *ret_scales = node->inputs[1];
  return true;
}

/* The bias as a float32 constant of `count` elements: it is one, or int32 with scales. */
static bool read_bias(hl_native_ir *ir, hl_value_id value, int64_t count, hl_value_id *ret_bias) {
  *ret_bias = value;
  if (value < 0) return true;
  const hl_value *bias = hl_native_value(ir, value);
  if (hl_native_known(ir, value))
    return bias->dtype == HL_FLOAT32 && bias->shape.rank == 1 && bias->shape.dims[0] == count;
  const hl_native_node *node = hl_native_ir_writer(ir, value);
  if (!is_op(node, "DequantizeLinear")) return false;
  hl_value q = *hl_native_value(ir, node->inputs[0]);
  const hl_value *scale = hl_native_value(ir, hl_native_input(node, 1));
  const hl_value *zero = hl_native_value(ir, hl_native_input(node, 2));
  if (!q.data || q.dtype != HL_INT32 || q.shape.rank != 1 || q.shape.dims[0] != count || !scale ||
      !scale->data || scale->dtype != HL_FLOAT32)
    return false;
  int64_t scales = hl_shape_elements(&scale->shape);
  if (scales != 1 && scales != count) return false;
  for (uint64_t i = 0; zero && i < zero->bytes; i++)
    if (!zero->data || ((const char *)zero->data)[i] != 0) return false;
  hl_value factors = *scale;
  float *data;
  hl_value_id id = hl_native_constant(ir, q.name, 1, &count, &data);
  if (id < 0) return false;
  for (int64_t i = 0; i < count; i++) {
    int32_t x;
    memcpy(&x, (const char *)q.data + (size_t)i * sizeof(x), sizeof(x));
    data[i] = (float)((double)x * (double)hl_native_element(&factors, scales == 1 ? 0 : i));
  }
  *ret_bias = id;
  return true;
}

/* The axis of the weights' output channels; -1 for a node that is not computed in 8 bits. */
static int channel_axis(const hl_native_ir *ir, const hl_native_node *node) {
  if (node->input_count < 2 || node->inputs[0] < 0 || node->inputs[1] < 0) return -1;
  const hl_value *x = hl_native_value(ir, node->inputs[0]);
  const hl_value *w = hl_native_value(ir, node->inputs[1]);
  if (is_op(node, "Conv"))
    return x->shape.rank >= 3 && x->shape.rank <= 5 && w->shape.rank == x->shape.rank ? 0 : -1;
  if (w->shape.rank != 2 || x->shape.rank < 2) return -1;
  if (is_op(node, "MatMul")) return 1;
  if (!is_op(node, "Gemm") || hl_node_int(node->source, "transA", 0) != 0 ||
      hl_node_real(node->source, "alpha", 1.0f) != 1.0f ||
      hl_node_real(node->source, "beta", 1.0f) != 1.0f)
    return -1;
  return hl_node_int(node->source, "transB", 0) != 0 ? 0 : 1;
}

/* Without VNNI two products are added up in 16 bits, which saturate: 2 * 255 * 127 is twice what
 * they hold. Signed inputs would have their weights halved against it, and rounded. */
static bool is_exact(hl_native_ir *ir, hl_value_id x, hl_value_id weights) {
  enum { MOST = 64 }; /* 2 * 255 * 64 < 2^15 */
  const hl_value *w = hl_native_value(ir, weights);
  if (!ir->saturates) return true;
  bool exact = hl_native_value(ir, x)->dtype == HL_UINT8;
  for (int64_t i = 0; exact && i < hl_shape_elements(&w->shape); i++)
    exact = byte_at(w, i) <= MOST && byte_at(w, i) >= -MOST;
  ir->saturable += !exact;
  return exact;
}

static void match(hl_native_ir *ir, hl_native_node *node) {
  int axis = channel_axis(ir, node);
  const hl_native_node *before = axis < 0 ? NULL : hl_native_ir_writer(ir, node->inputs[0]);
  hl_native_quantized q = {0};
  hl_value_id weights, bias;
  if (!is_op(before, "DequantizeLinear") || hl_native_known(ir, before->inputs[0]) ||
      !hl_native_affine(ir, before, &q.x_scale, &q.x_zero))
    return;
  const hl_value *y = hl_native_value(ir, node->outputs[0]);
  for (int i = 0; i < y->shape.rank; i++)
    if (y->shape.dims[i] == 0) return;
  if (!read_weights(ir, node->inputs[1], axis, &weights, &q.w_scales)) return;
  int64_t channels = hl_native_value(ir, weights)->shape.dims[axis];
  if (!read_bias(ir, hl_native_input(node, 2), channels, &bias) ||
      !is_exact(ir, before->inputs[0], weights))
    return;
  hl_native_quantized *kept = hl_arena_array(&ir->arena, 1, sizeof(*kept));
  if (!kept) return;
  *kept = q;
  node->quantized = kept;
  node->inputs[0] = before->inputs[0];
  node->inputs[1] = weights;
  if (bias >= 0) node->inputs[2] = bias;
}

/* Is what `back` gives added to the rounded result of a later node, which will do the sum and read
 * bytes faster than floats? */
static bool is_added_later(hl_native_ir *ir, const hl_native_node *node, const hl_native_node *back,
                           const hl_native_node *add) {
  size_t own = add->inputs[0] == back->outputs[0] ? 0 : 1;
  const hl_native_node *other = hl_native_ir_writer(ir, add->inputs[1 - own]);
  if (!is_op(other, "DequantizeLinear")) return false;
  const hl_native_node *round = hl_native_ir_writer(ir, other->inputs[0]);
  if (!is_op(round, "QuantizeLinear")) return false;
  const hl_native_node *later = hl_native_ir_writer(ir, round->inputs[0]);
  return later && later->quantized && later > node;
}

/* A result that is rounded only to be added to an earlier one is not rounded: the sum is, once. It
 * is still cut off where the 8 bits end. */
static void skip_rounding(hl_native_ir *ir, hl_native_node *node) {
  hl_native_node *round = hl_native_ir_reader(ir, node->outputs[0]);
  float scale;
  int32_t zero;
  if (node->post_count > 0 || !is_op(round, "QuantizeLinear") ||
      round->inputs[0] != node->outputs[0] || !hl_native_affine(ir, round, &scale, &zero))
    return;
  const hl_native_node *back = hl_native_ir_reader(ir, round->outputs[0]);
  if (!is_op(back, "DequantizeLinear") || back->inputs[0] != round->outputs[0]) return;
  const hl_native_node *add = hl_native_ir_reader(ir, back->outputs[0]);
  if (!is_op(add, "Add") || is_added_later(ir, node, back, add)) return;
  bool is_signed = hl_native_value(ir, round->outputs[0])->dtype == HL_INT8;
  float low = scale * (float)((is_signed ? -128 : 0) - zero);
  float high = scale * (float)((is_signed ? 127 : 255) - zero);
  node->posts[node->post_count++] = (hl_native_post){.kind = HL_POST_ELTWISE,
                                                     .algorithm = dnnl_eltwise_clip_v2,
                                                     .alpha = low,
                                                     .beta = high,
                                                     .operand = -1};
  hl_native_ir_redirect(ir, back->outputs[0], node->outputs[0]);
}

hl_status hl_native_pass_quantized(hl_native_ir *ir, hl_error *error) {
  bool any = false;
  for (size_t i = 0; i < ir->node_count; i++)
    if (!ir->nodes[i].dead) {
      match(ir, &ir->nodes[i]);
      any = any || ir->nodes[i].quantized;
    }
  if (!any) return hl_graph_status(ir->graph, error);
  hl_status status = hl_native_ir_sweep(ir, error);
  for (size_t i = 0; status == HL_OK && i < ir->node_count; i++)
    if (!ir->nodes[i].dead && ir->nodes[i].quantized) skip_rounding(ir, &ir->nodes[i]);
  return status == HL_OK ? hl_graph_status(ir->graph, error) : status;
}

/* -- after everything else has been fused ----------------------------------------------------- */

/* Residual operands are read as they lie. */
static void read_raw_operands(hl_native_ir *ir, hl_native_node *node) {
  for (int i = 0; i < node->post_count; i++) {
    hl_native_post *post = &node->posts[i];
    if (post->kind != HL_POST_ADD) continue;
    const hl_native_node *back = hl_native_ir_writer(ir, post->operand);
    if (!is_op(back, "DequantizeLinear") || !hl_native_affine(ir, back, &post->scale, &post->zero))
      continue;
    post->raw = true;
    post->operand = back->inputs[0];
  }
}

static void take_rounding(hl_native_ir *ir, hl_native_node *node) {
  hl_native_node *round = hl_native_ir_reader(ir, node->outputs[0]);
  if (!is_op(round, "QuantizeLinear") || round->inputs[0] != node->outputs[0] ||
      !hl_native_affine(ir, round, &node->quantized->y_scale, &node->quantized->y_zero))
    return;
  node->quantized->rounds = true;
  ir->uses[node->outputs[0]] = 0;
  hl_native_set_result(ir, node, round->outputs[0]);
  round->dead = true;
}

/* DequantizeLinear, a move, QuantizeLinear with the same scale: the bytes are moved. */
static void move_bytes(hl_native_ir *ir, hl_native_node *node) {
  static const char *const ops[] = {"MaxPool", "Resize",  "Slice",    "Reshape",
                                    "Flatten", "Squeeze", "Unsqueeze"};
  bool moves = false;
  for (size_t i = 0; i < HL_COUNT(ops); i++) moves = moves || strcmp(node->op, ops[i]) == 0;
  if (!moves || node->op != node->source->op || node->output_count != 1 || node->post_count) return;
  if (is_op(node, "Resize") &&
      strcmp(hl_node_text(node->source, "mode", "nearest"), "nearest") != 0)
    return;
  const hl_native_node *back = hl_native_ir_writer(ir, node->inputs[0]);
  hl_native_node *round = hl_native_ir_reader(ir, node->outputs[0]);
  float scale[2];
  int32_t zero[2];
  if (!is_op(back, "DequantizeLinear") || !is_op(round, "QuantizeLinear") ||
      round->inputs[0] != node->outputs[0] || !hl_native_affine(ir, back, &scale[0], &zero[0]) ||
      !hl_native_affine(ir, round, &scale[1], &zero[1]))
    return;
  const hl_value *q = hl_native_value(ir, back->inputs[0]);
  if (scale[0] != scale[1] || zero[0] != zero[1] ||
      q->dtype != hl_native_value(ir, round->outputs[0])->dtype || q->data)
    return;
  ir->uses[node->outputs[0]] = 0;
  node->inputs[0] = back->inputs[0];
  hl_native_set_result(ir, node, round->outputs[0]);
  round->dead = true;
}

hl_status hl_native_pass_rounding(hl_native_ir *ir, hl_error *error) {
  for (size_t i = 0; i < ir->node_count; i++) {
    hl_native_node *node = &ir->nodes[i];
    if (node->dead) continue;
    if (node->quantized) {
      read_raw_operands(ir, node);
      take_rounding(ir, node);
    } else {
      move_bytes(ir, node);
    }
  }
  return hl_graph_status(ir->graph, error);
}
