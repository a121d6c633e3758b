#include "lower/lower.h"
#include <string.h>

/* By operator; the rows of one operator are tried in order. */
static const struct {
  const char *op;
  hl_native_lowering lower;
  hl_native_switch of;
} table[] = {
    {"Conv", hl_native_lower_pixel_data, HL_NATIVE_PIXEL},
    {"Conv", hl_native_lower_taps, HL_NATIVE_TAPS},
    {"Conv", hl_native_lower_pointwise_int8, HL_NATIVE_PANELS},
    {"Conv", hl_native_lower_quantized_convolution, HL_NATIVE_ALWAYS},
    {"Gemm", hl_native_lower_gemm_int8, HL_NATIVE_PANELS},
    {"Gemm", hl_native_lower_quantized_product, HL_NATIVE_ALWAYS},
    {"MatMul", hl_native_lower_gemm_int8, HL_NATIVE_PANELS},
    {"MatMul", hl_native_lower_quantized_product, HL_NATIVE_ALWAYS},
    {"MaxPool", hl_native_lower_quantized_pooling, HL_NATIVE_ALWAYS},
    {"Resize", hl_native_lower_quantized_resize, HL_NATIVE_ALWAYS},
    {"Slice", hl_native_lower_quantized_slice, HL_NATIVE_ALWAYS},
    {"QuantizeLinear", hl_native_lower_quantize, HL_NATIVE_ALWAYS},
    {"DequantizeLinear", hl_native_lower_dequantize, HL_NATIVE_ALWAYS},
    {"Conv", hl_native_lower_narrow, HL_NATIVE_NARROW},
    {"Conv", hl_native_lower_winograd, HL_NATIVE_WINOGRAD},
    {"Conv", hl_native_lower_convolution, HL_NATIVE_ALWAYS},
    {"ConvTranspose", hl_native_lower_pixel, HL_NATIVE_PIXEL},
    {"ConvTranspose", hl_native_lower_taps_transposed, HL_NATIVE_TAPS},
    {"ConvTranspose", hl_native_lower_narrow_transposed, HL_NATIVE_NARROW},
    {"ConvTranspose", hl_native_lower_winograd_transposed, HL_NATIVE_WINOGRAD},
    {"ConvTranspose", hl_native_lower_deconvolution, HL_NATIVE_ALWAYS},
    {"Gemm", hl_native_lower_matvec, HL_NATIVE_MATVEC},
    {"Gemm", hl_native_lower_gemm, HL_NATIVE_PANELS},
    {"Gemm", hl_native_lower_gemm_bf16, HL_NATIVE_PANELS},
    {"Gemm", hl_native_lower_linear, HL_NATIVE_ALWAYS},
    {"MatMul", hl_native_lower_matvec, HL_NATIVE_MATVEC},
    {"MatMul", hl_native_lower_gemm, HL_NATIVE_PANELS},
    {"MatMul", hl_native_lower_gemm_bf16, HL_NATIVE_PANELS},
    {"MatMul", hl_native_lower_linear, HL_NATIVE_ALWAYS},
    {"MatMul", hl_native_lower_matmul, HL_NATIVE_ALWAYS},
    {"MaxPool", hl_native_lower_pooling, HL_NATIVE_ALWAYS},
    {"AveragePool", hl_native_lower_pooling, HL_NATIVE_ALWAYS},
    {"GlobalAveragePool", hl_native_lower_global_pooling, HL_NATIVE_ALWAYS},
    {"GlobalMaxPool", hl_native_lower_global_pooling, HL_NATIVE_ALWAYS},
    {"Resize", hl_native_lower_resize, HL_NATIVE_ALWAYS},
    {"Upsample", hl_native_lower_resize, HL_NATIVE_ALWAYS},
    {"Reshape", hl_native_lower_view, HL_NATIVE_ALWAYS},
    {"Flatten", hl_native_lower_view, HL_NATIVE_ALWAYS},
    {"Squeeze", hl_native_lower_view, HL_NATIVE_ALWAYS},
    {"Unsqueeze", hl_native_lower_view, HL_NATIVE_ALWAYS},
    {"Identity", hl_native_lower_view, HL_NATIVE_ALWAYS},
    {"Dropout", hl_native_lower_view, HL_NATIVE_ALWAYS},
    {"Transpose", hl_native_lower_transpose, HL_NATIVE_ALWAYS},
    {"Slice", hl_native_lower_channel_slice, HL_NATIVE_ALWAYS},
    {"Slice", hl_native_lower_slice, HL_NATIVE_ALWAYS},
    {"Split", hl_native_lower_split, HL_NATIVE_ALWAYS},
    {"Gather", hl_native_lower_gather, HL_NATIVE_ALWAYS},
    {"Gather", hl_native_lower_gather_rows, HL_NATIVE_ALWAYS},
    {"Expand", hl_native_lower_expand, HL_NATIVE_ALWAYS},
    {"Concat", hl_native_lower_concat_bf16, HL_NATIVE_ALWAYS},
    {"Concat", hl_native_lower_concat, HL_NATIVE_ALWAYS},
    {"Pad", hl_native_lower_channel_pad, HL_NATIVE_ALWAYS},
    {"Pad", hl_native_lower_pad, HL_NATIVE_ALWAYS},
    {"Softmax", hl_native_lower_softmax, HL_NATIVE_ALWAYS},
    {"LogSoftmax", hl_native_lower_softmax, HL_NATIVE_ALWAYS},
    {"Softmax", hl_native_lower_softmax_axis, HL_NATIVE_ALWAYS},
    {"LogSoftmax", hl_native_lower_softmax_axis, HL_NATIVE_ALWAYS},
    {"LayerNormalization", hl_native_lower_layer_norm_bf16, HL_NATIVE_ALWAYS},
    {"LayerNormalization", hl_native_lower_layer_norm, HL_NATIVE_ALWAYS},
    {"InstanceNormalization", hl_native_lower_instance_norm_bf16, HL_NATIVE_ALWAYS},
    {"InstanceNormalization", hl_native_lower_instance_norm, HL_NATIVE_ALWAYS},
    {"BatchNormalization", hl_native_lower_batch_norm_training, HL_NATIVE_ALWAYS},
    {"BatchNormalization", hl_native_lower_batch_norm, HL_NATIVE_ALWAYS},
    {"ReduceMean", hl_native_lower_sums, HL_NATIVE_SUMS},
    {"ReduceSum", hl_native_lower_sums, HL_NATIVE_SUMS},
    {"ReduceSumSquare", hl_native_lower_sums, HL_NATIVE_SUMS},
    {"ReduceMean", hl_native_lower_reduce, HL_NATIVE_ALWAYS},
    {"ReduceSum", hl_native_lower_reduce, HL_NATIVE_ALWAYS},
    {"ReduceMax", hl_native_lower_reduce, HL_NATIVE_ALWAYS},
    {"ReduceMin", hl_native_lower_reduce, HL_NATIVE_ALWAYS},
    {"ReduceSumSquare", hl_native_lower_reduce, HL_NATIVE_ALWAYS},
    {"ReduceL2", hl_native_lower_reduce, HL_NATIVE_ALWAYS},
    {"GRU", hl_native_lower_recurrent, HL_NATIVE_ALWAYS},
    {"LSTM", hl_native_lower_recurrent, HL_NATIVE_ALWAYS},
    {"RNN", hl_native_lower_recurrent, HL_NATIVE_ALWAYS},
    {"GRU", hl_native_lower_recurrent_training, HL_NATIVE_ALWAYS},
    {"LSTM", hl_native_lower_recurrent_training, HL_NATIVE_ALWAYS},
    {"RNN", hl_native_lower_recurrent_training, HL_NATIVE_ALWAYS},
    {"GRUGradient", hl_native_lower_recurrent_gradient, HL_NATIVE_ALWAYS},
    {"LSTMGradient", hl_native_lower_recurrent_gradient, HL_NATIVE_ALWAYS},
    {"RNNGradient", hl_native_lower_recurrent_gradient, HL_NATIVE_ALWAYS},
    {"Attention", hl_native_lower_attention_bf16, HL_NATIVE_ALWAYS},
    {"Attention", hl_native_lower_attention, HL_NATIVE_ALWAYS},
    {"Add", hl_native_lower_eltwise, HL_NATIVE_ALWAYS},
    {"Sub", hl_native_lower_eltwise, HL_NATIVE_ALWAYS},
    {"Mul", hl_native_lower_eltwise, HL_NATIVE_ALWAYS},
    {"Div", hl_native_lower_eltwise, HL_NATIVE_ALWAYS},
    {"Pow", hl_native_lower_eltwise, HL_NATIVE_ALWAYS},
    {"Add", hl_native_lower_binary, HL_NATIVE_ALWAYS},
    {"Sub", hl_native_lower_binary, HL_NATIVE_ALWAYS},
    {"Mul", hl_native_lower_binary, HL_NATIVE_ALWAYS},
    {"Div", hl_native_lower_binary, HL_NATIVE_ALWAYS},
    {"Pow", hl_native_lower_binary, HL_NATIVE_ALWAYS},
    {"Min", hl_native_lower_binary, HL_NATIVE_ALWAYS},
    {"Max", hl_native_lower_binary, HL_NATIVE_ALWAYS},
    {"Sin", hl_native_lower_function, HL_NATIVE_ALWAYS},
    {"Cos", hl_native_lower_function, HL_NATIVE_ALWAYS},
    {"Erf", hl_native_lower_function, HL_NATIVE_ALWAYS},
    {"Sign", hl_native_lower_function, HL_NATIVE_ALWAYS},
    {"Softplus", hl_native_lower_function, HL_NATIVE_ALWAYS},
    {"Relu", hl_native_lower_eltwise, HL_NATIVE_ALWAYS},
    {"LeakyRelu", hl_native_lower_eltwise, HL_NATIVE_ALWAYS},
    {"Elu", hl_native_lower_eltwise, HL_NATIVE_ALWAYS},
    {"Sigmoid", hl_native_lower_eltwise, HL_NATIVE_ALWAYS},
    {"HardSigmoid", hl_native_lower_eltwise, HL_NATIVE_ALWAYS},
    {"HardSwish", hl_native_lower_eltwise, HL_NATIVE_ALWAYS},
    {"Tanh", hl_native_lower_eltwise, HL_NATIVE_ALWAYS},
    {"Gelu", hl_native_lower_eltwise, HL_NATIVE_ALWAYS},
    {"GeluTanh", hl_native_lower_eltwise, HL_NATIVE_ALWAYS},
    {"Swish", hl_native_lower_eltwise, HL_NATIVE_ALWAYS},
    {"Exp", hl_native_lower_eltwise, HL_NATIVE_ALWAYS},
    {"Log", hl_native_lower_eltwise, HL_NATIVE_ALWAYS},
    {"Sqrt", hl_native_lower_eltwise, HL_NATIVE_ALWAYS},
    {"Abs", hl_native_lower_eltwise, HL_NATIVE_ALWAYS},
    {"Neg", hl_native_lower_eltwise, HL_NATIVE_ALWAYS},
    {"Reciprocal", hl_native_lower_eltwise, HL_NATIVE_ALWAYS},
    {"Clip", hl_native_lower_eltwise, HL_NATIVE_ALWAYS},
    {"AdamStep", hl_native_lower_adam, HL_NATIVE_ALWAYS},
    {"SgdStep", hl_native_lower_sgd, HL_NATIVE_ALWAYS},
    {"AccumulateGradient", hl_native_lower_accumulate, HL_NATIVE_ALWAYS},
    {"RandomDropout", hl_native_lower_dropout, HL_NATIVE_ALWAYS},
    {"BatchNormalizationGradient", hl_native_lower_norm_gradient, HL_NATIVE_ALWAYS},
    {"InstanceNormalizationGradient", hl_native_lower_norm_gradient, HL_NATIVE_ALWAYS},
    {"LayerNormalizationGradient", hl_native_lower_layer_norm_gradient, HL_NATIVE_ALWAYS},
    {"MaxPoolGradient", hl_native_lower_pool_gradient, HL_NATIVE_ALWAYS},
    {"AveragePoolGradient", hl_native_lower_pool_gradient, HL_NATIVE_ALWAYS},
    {"ResizeGradient", hl_native_lower_resize_gradient, HL_NATIVE_ALWAYS},
    {"UpsampleGradient", hl_native_lower_resize_gradient, HL_NATIVE_ALWAYS},
    {"GatherGradient", hl_native_lower_gather_gradient, HL_NATIVE_ALWAYS},
    {"SliceGradient", hl_native_lower_slice_gradient, HL_NATIVE_ALWAYS},
    {"PadGradient", hl_native_lower_pad_gradient, HL_NATIVE_ALWAYS},
    {"SoftmaxCrossEntropyLoss", hl_native_lower_class_loss, HL_NATIVE_ALWAYS},
    {"SoftmaxCrossEntropyLossGradient", hl_native_lower_class_loss_gradient, HL_NATIVE_ALWAYS},
    {"ConvWeightGradient", hl_native_lower_pixel_gradient, HL_NATIVE_PIXEL},
    {"ConvWeightGradient", hl_native_lower_taps_gradient, HL_NATIVE_TAPS},
    {"ConvWeightGradient", hl_native_lower_narrow_gradient, HL_NATIVE_NARROW},
    {"ConvWeightGradient", hl_native_lower_winograd_gradient, HL_NATIVE_WINOGRAD},
    {"ConvWeightGradient", hl_native_lower_weight_gradient, HL_NATIVE_ALWAYS},
    {"HostLoss", hl_native_lower_host_loss, HL_NATIVE_ALWAYS},
    {"GradientReady", hl_native_lower_gradient_ready, HL_NATIVE_ALWAYS},
    {"ReluGradient", hl_native_lower_norm_relu, HL_NATIVE_MASK},
    {"LeakyReluGradient", hl_native_lower_norm_relu, HL_NATIVE_MASK},
    {"ReluGradient", hl_native_lower_function_gradient, HL_NATIVE_ALWAYS},
    {"LeakyReluGradient", hl_native_lower_function_gradient, HL_NATIVE_ALWAYS},
    {"SigmoidGradient", hl_native_lower_function_gradient, HL_NATIVE_ALWAYS},
    {"TanhGradient", hl_native_lower_function_gradient, HL_NATIVE_ALWAYS},
    {"GeluGradient", hl_native_lower_function_gradient, HL_NATIVE_ALWAYS},
    {"SwishGradient", hl_native_lower_function_gradient, HL_NATIVE_ALWAYS},
};

void hl_native_lower(hl_native_builder *b, const hl_native_node *node) {
  if (b->failed != HL_OK) return;
  for (size_t i = 0; i < HL_COUNT(table); i++)
    if (strcmp(table[i].op, node->op) == 0 && hl_native_does(b->engine->off, table[i].of) &&
        (table[i].lower(b, node) || b->failed != HL_OK))
      return;
  if (node->op != node->source->op || node->post_count > 0) {
    hl_native_fail(b, HL_INTERNAL, "node '%s': cannot lower a fused %s", node->source->name,
                   node->op);
    return;
  }
  hl_native_lower_reference(b, node);
}

const hl_value *hl_native_in_value(const hl_native_builder *b, const hl_native_node *node,
                                   size_t i) {
  return hl_native_value(b->ir, hl_native_input(node, i));
}

const hl_value *hl_native_out_value(const hl_native_builder *b, const hl_native_node *node,
                                    size_t i) {
  return i < node->output_count ? hl_native_value(b->ir, node->outputs[i]) : NULL;
}

bool hl_native_wanted(const hl_native_builder *b, const hl_native_node *node, size_t output) {
  return output < node->output_count && node->outputs[output] >= 0 &&
         b->ir->uses[node->outputs[output]] > 0;
}

int32_t hl_native_over(hl_native_builder *b, hl_value_id value, int32_t from,
                       hl_native_layout layout) {
  if (from < 0) return -1;
  return hl_native_dying(b, from)
             ? hl_native_out_view(b, value, layout, from, 0)
             : hl_native_out_as(b, value, layout, hl_native_get(b, from)->dtype);
}

bool hl_native_float(const hl_native_builder *b, const hl_native_node *node) {
  for (size_t i = 0; i < node->input_count; i++) {
    const hl_value *value = hl_native_in_value(b, node, i);
    if (!value || value->dtype == HL_FLOAT32) continue;
    if (i == 0 || (value->dtype != HL_INT64 && value->dtype != HL_INT32)) return false;
  }
  return node->input_count > 0 && hl_native_in_value(b, node, 0) != NULL;
}

int hl_native_axis(const hl_native_node *node, int64_t otherwise, int rank) {
  int64_t axis = hl_node_int(node->source, "axis", otherwise);
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < rank ? (int)axis : -1;
}

bool hl_native_all_ones(const hl_node *node, const char *name) {
  int64_t values[HL_MAX_RANK];
  size_t count = hl_node_ints(node, name, values, HL_MAX_RANK);
  for (size_t i = 0; i < count; i++)
    if (values[i] != 1) return false;
  return true;
}
