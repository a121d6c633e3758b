/* Around convolutions: normalisation behind them, padding and slicing of channels before them. */
#include "compile/passes.h"
#include <math.h>
#include <string.h>

static bool is_convolution(const hl_native_node *node) {
  return strcmp(node->op, "Conv") == 0 || strcmp(node->op, "ConvTranspose") == 0;
}

/* gamma / sqrt(variance + epsilon) and beta - mean * that, for BatchNormalization. */
static bool read_norm(const hl_native_ir *ir, const hl_native_node *norm, int64_t channels,
                      const hl_value *parts[4]) {
  if (hl_node_int(norm->source, "training_mode", 0) != 0 || norm->input_count != 5) return false;
  for (size_t i = 0; i < 4; i++) {
    parts[i] = hl_native_value(ir, norm->inputs[i + 1]);
    if (!parts[i] || !parts[i]->data || parts[i]->dtype != HL_FLOAT32 ||
        hl_shape_elements(&parts[i]->shape) != channels)
      return false;
  }
  return true;
}

static bool fold_norm(hl_native_ir *ir, hl_native_node *node, hl_native_node *norm) {
  const hl_value *y = hl_native_value(ir, node->outputs[0]);
  int64_t channels = y->shape.dims[1];
  const hl_value *parts[4] = {NULL};
  if (!read_norm(ir, norm, channels, parts)) return false;
  if (!hl_native_known(ir, hl_native_input(node, 1)) || node->post_count > 0 || node->scale >= 0)
    return false;
  if (strcmp(node->op, "ConvTranspose") == 0 && hl_node_int(node->source, "group", 1) != 1)
    return false;
  hl_value_id old = hl_native_input(node, 2);
  if (old >= 0 && !hl_native_known(ir, old)) return false;
  float epsilon = hl_node_real(norm->source, "epsilon", 1e-5f), *factor, *shift;
  hl_value_id scale = hl_native_constant(ir, norm->source->name, 1, &channels, &factor);
  hl_value_id bias = hl_native_constant(ir, norm->source->name, 1, &channels, &shift);
  if (scale < 0 || bias < 0) return false;
  if (!read_norm(ir, norm, channels, parts)) return false; /* values may have moved */
  const hl_value *before = hl_native_value(ir, old);
  for (int64_t i = 0; i < channels; i++) {
    double root = sqrt((double)hl_native_element(parts[3], i) + (double)epsilon);
    double f = (double)hl_native_element(parts[0], i) / root;
    double b = before ? (double)hl_native_element(before, i) : 0.0;
    factor[i] = (float)f;
    shift[i] = (float)((b - (double)hl_native_element(parts[2], i)) * f +
                       (double)hl_native_element(parts[1], i));
  }
  node->scale = scale;
  hl_native_set_bias(node, bias);
  hl_native_set_result(ir, node, norm->outputs[0]);
  norm->dead = true;
  return true;
}

hl_status hl_native_pass_batch_norm(hl_native_ir *ir, hl_error *error) {
  for (size_t i = 0; i < ir->node_count; i++) {
    hl_native_node *node = &ir->nodes[i];
    if (node->dead || !is_convolution(node)) continue;
    hl_native_node *norm = hl_native_ir_reader(ir, node->outputs[0]);
    if (norm && strcmp(norm->op, "BatchNormalization") == 0 && norm->output_count == 1 &&
        norm->inputs[0] == node->outputs[0])
      fold_norm(ir, node, norm);
  }
  return hl_graph_status(ir->graph, error);
}

/* -- padding -------------------------------------------------------------------------------- */

static bool fold_pad(hl_native_ir *ir, hl_native_node *node, const hl_native_node *pad) {
  const hl_value *x = hl_native_value(ir, pad->inputs[0]);
  int rank = x->shape.rank, spatial = rank - 2;
  int64_t more[2 * HL_MAX_RANK], own[2 * HL_MAX_RANK] = {0};
  float value = 0.0f;
  if (strcmp(hl_node_text(pad->source, "mode", "constant"), "constant") != 0) return false;
  if (hl_native_integers(ir, hl_native_input(pad, 1), more, 2 * HL_MAX_RANK) != 2 * rank ||
      hl_native_input(pad, 3) >= 0)
    return false;
  if (hl_native_input(pad, 2) >= 0 && !hl_native_scalar(ir, pad->inputs[2], &value)) return false;
  if (value != 0.0f || more[0] != 0 || more[1] != 0 || more[rank] != 0 || more[rank + 1] != 0)
    return false;
  if (strcmp(hl_node_text(node->source, "auto_pad", "NOTSET"), "NOTSET") != 0) return false;
  hl_node_ints(node->source, "pads", own, 2 * HL_MAX_RANK);
  for (int i = 0; i < spatial; i++) {
    node->pads[i] = own[i] + more[2 + i];
    node->pads[spatial + i] = own[spatial + i] + more[rank + 2 + i];
    if (more[2 + i] < 0 || more[rank + 2 + i] < 0) return false;
  }
  node->has_pads = true;
  node->inputs[0] = pad->inputs[0];
  return true;
}

/* -- slices of channels --------------------------------------------------------------------- */

/* First channel and count of a Slice of axis 1 only. */
static bool read_channels(const hl_native_ir *ir, const hl_native_node *slice, int64_t *begin,
                          int64_t *count) {
  const hl_value *x = hl_native_value(ir, slice->inputs[0]);
  const hl_value *y = hl_native_value(ir, slice->outputs[0]);
  int64_t start, axis, step = 1;
  if (x->shape.rank < 3 || hl_native_integers(ir, hl_native_input(slice, 1), &start, 1) != 1 ||
      hl_native_integers(ir, hl_native_input(slice, 3), &axis, 1) != 1)
    return false;
  if (hl_native_input(slice, 4) >= 0 && hl_native_integers(ir, slice->inputs[4], &step, 1) != 1)
    return false;
  if (axis < 0) axis += x->shape.rank;
  if (start < 0) start += x->shape.dims[1];
  *begin = start;
  *count = y->shape.dims[1];
  return axis == 1 && step == 1 && start >= 0 && start + *count <= x->shape.dims[1];
}

/* Reads all channels with zeros for the weights of those that the slice drops. */
static bool fold_slice(hl_native_ir *ir, hl_native_node *node, const hl_native_node *slice) {
  int64_t begin, count;
  if (strcmp(node->op, "Conv") != 0 || hl_node_int(node->source, "group", 1) != 1) return false;
  if (!hl_native_known(ir, hl_native_input(node, 1)) || node->channel_slice) return false;
  if (!read_channels(ir, slice, &begin, &count)) return false;
  int64_t total = hl_native_value(ir, slice->inputs[0])->shape.dims[1];
  if (2 * count < total) return false; /* the zeros would cost more than a copy */
  node->channel_slice = true;
  node->channel_begin = begin;
  node->inputs[0] = slice->inputs[0];
  return true;
}

hl_status hl_native_pass_convolution(hl_native_ir *ir, hl_error *error) {
  for (size_t i = 0; i < ir->node_count; i++) {
    hl_native_node *node = &ir->nodes[i];
    if (node->dead || strcmp(node->op, "Conv") != 0 || node->quantized) continue;
    const hl_native_node *before = hl_native_ir_writer(ir, node->inputs[0]);
    if (before && strcmp(before->op, "Pad") == 0 && !node->has_pads && fold_pad(ir, node, before))
      before = hl_native_ir_writer(ir, node->inputs[0]);
    if (before && strcmp(before->op, "Slice") == 0) fold_slice(ir, node, before);
  }
  return hl_graph_status(ir->graph, error);
}
