#include "lower/lower.h"
#include <string.h>

/* By operator; the rows of one operator are tried in order. */
static const struct {
  const char *op;
  hl_native_lowering lower;
} table[] = {
    {"Conv", hl_native_lower_pixel_data},
    {"Conv", hl_native_lower_taps},
    {"Conv", hl_native_lower_quantized_convolution},
    {"Gemm", hl_native_lower_quantized_product},
    {"MatMul", hl_native_lower_quantized_product},
    {"MaxPool", hl_native_lower_quantized_pooling},
    {"Resize", hl_native_lower_quantized_resize},
    {"Slice", hl_native_lower_quantized_slice},
    {"QuantizeLinear", hl_native_lower_quantize},
    {"DequantizeLinear", hl_native_lower_dequantize},
    {"Conv", hl_native_lower_narrow},
    {"Conv", hl_native_lower_winograd},
    {"Conv", hl_native_lower_convolution},
    {"ConvTranspose", hl_native_lower_pixel},
    {"ConvTranspose", hl_native_lower_taps_transposed},
    {"ConvTranspose", hl_native_lower_narrow_transposed},
    {"ConvTranspose", hl_native_lower_winograd_transposed},
    {"ConvTranspose", hl_native_lower_deconvolution},
    {"Gemm", hl_native_lower_matvec},
    {"Gemm", hl_native_lower_linear},
    {"MatMul", hl_native_lower_matvec},
    {"MatMul", hl_native_lower_linear},
    {"MatMul", hl_native_lower_matmul},
    {"MaxPool", hl_native_lower_pooling},
    {"AveragePool", hl_native_lower_pooling},
    {"GlobalAveragePool", hl_native_lower_global_pooling},
    {"GlobalMaxPool", hl_native_lower_global_pooling},
    {"Resize", hl_native_lower_resize},
    {"Upsample", hl_native_lower_resize},
    {"Reshape", hl_native_lower_view},
    {"Flatten", hl_native_lower_view},
    {"Squeeze", hl_native_lower_view},
    {"Unsqueeze", hl_native_lower_view},
    {"Identity", hl_native_lower_view},
    {"Dropout", hl_native_lower_view},
    {"Transpose", hl_native_lower_transpose},
    {"Slice", hl_native_lower_channel_slice},
    {"Slice", hl_native_lower_slice},
    {"Split", hl_native_lower_split},
    {"Gather", hl_native_lower_gather},
    {"Gather", hl_native_lower_gather_rows},
    {"Expand", hl_native_lower_expand},
    {"Concat", hl_native_lower_concat_bf16},
    {"Concat", hl_native_lower_concat},
    {"Pad", hl_native_lower_channel_pad},
    {"Pad", hl_native_lower_pad},
    {"Softmax", hl_native_lower_softmax},
    {"LogSoftmax", hl_native_lower_softmax},
    {"Softmax", hl_native_lower_softmax_axis},
    {"LogSoftmax", hl_native_lower_softmax_axis},
    {"LayerNormalization", hl_native_lower_layer_norm_bf16},
    {"LayerNormalization", hl_native_lower_layer_norm},
    {"InstanceNormalization", hl_native_lower_instance_norm_bf16},
    {"InstanceNormalization", hl_native_lower_instance_norm},
    {"BatchNormalization", hl_native_lower_batch_norm_training},
    {"BatchNormalization", hl_native_lower_batch_norm},
    {"ReduceMean", hl_native_lower_sums},
    {"ReduceSum", hl_native_lower_sums},
    {"ReduceSumSquare", hl_native_lower_sums},
    {"ReduceMean", hl_native_lower_reduce},
    {"ReduceSum", hl_native_lower_reduce},
    {"ReduceMax", hl_native_lower_reduce},
    {"ReduceMin", hl_native_lower_reduce},
    {"ReduceSumSquare", hl_native_lower_reduce},
    {"ReduceL2", hl_native_lower_reduce},
    {"GRU", hl_native_lower_recurrent},
    {"LSTM", hl_native_lower_recurrent},
    {"RNN", hl_native_lower_recurrent},
    {"GRU", hl_native_lower_recurrent_training},
    {"LSTM", hl_native_lower_recurrent_training},
    {"RNN", hl_native_lower_recurrent_training},
    {"GRUGradient", hl_native_lower_recurrent_gradient},
    {"LSTMGradient", hl_native_lower_recurrent_gradient},
    {"RNNGradient", hl_native_lower_recurrent_gradient},
    {"Attention", hl_native_lower_attention_bf16},
    {"Attention", hl_native_lower_attention},
    {"Add", hl_native_lower_eltwise},
    {"Sub", hl_native_lower_eltwise},
    {"Mul", hl_native_lower_eltwise},
    {"Div", hl_native_lower_eltwise},
    {"Pow", hl_native_lower_eltwise},
    {"Add", hl_native_lower_binary},
    {"Sub", hl_native_lower_binary},
    {"Mul", hl_native_lower_binary},
    {"Div", hl_native_lower_binary},
    {"Pow", hl_native_lower_binary},
    {"Min", hl_native_lower_binary},
    {"Max", hl_native_lower_binary},
    {"Sin", hl_native_lower_function},
    {"Cos", hl_native_lower_function},
    {"Erf", hl_native_lower_function},
    {"Sign", hl_native_lower_function},
    {"Softplus", hl_native_lower_function},
    {"Relu", hl_native_lower_eltwise},
    {"LeakyRelu", hl_native_lower_eltwise},
    {"Elu", hl_native_lower_eltwise},
    {"Sigmoid", hl_native_lower_eltwise},
    {"HardSigmoid", hl_native_lower_eltwise},
    {"HardSwish", hl_native_lower_eltwise},
    {"Tanh", hl_native_lower_eltwise},
    {"Gelu", hl_native_lower_eltwise},
    {"GeluTanh", hl_native_lower_eltwise},
    {"Swish", hl_native_lower_eltwise},
    {"Exp", hl_native_lower_eltwise},
    {"Log", hl_native_lower_eltwise},
    {"Sqrt", hl_native_lower_eltwise},
    {"Abs", hl_native_lower_eltwise},
    {"Neg", hl_native_lower_eltwise},
    {"Reciprocal", hl_native_lower_eltwise},
    {"Clip", hl_native_lower_eltwise},
    {"AdamStep", hl_native_lower_adam},
    {"SgdStep", hl_native_lower_sgd},
    {"AccumulateGradient", hl_native_lower_accumulate},
    {"RandomDropout", hl_native_lower_dropout},
    {"BatchNormalizationGradient", hl_native_lower_norm_gradient},
    {"InstanceNormalizationGradient", hl_native_lower_norm_gradient},
    {"LayerNormalizationGradient", hl_native_lower_layer_norm_gradient},
    {"MaxPoolGradient", hl_native_lower_pool_gradient},
    {"AveragePoolGradient", hl_native_lower_pool_gradient},
    {"ResizeGradient", hl_native_lower_resize_gradient},
    {"UpsampleGradient", hl_native_lower_resize_gradient},
    {"GatherGradient", hl_native_lower_gather_gradient},
    {"SliceGradient", hl_native_lower_slice_gradient},
    {"PadGradient", hl_native_lower_pad_gradient},
    {"SoftmaxCrossEntropyLoss", hl_native_lower_class_loss},
    {"SoftmaxCrossEntropyLossGradient", hl_native_lower_class_loss_gradient},
    {"ConvWeightGradient", hl_native_lower_pixel_gradient},
    {"ConvWeightGradient", hl_native_lower_taps_gradient},
    {"ConvWeightGradient", hl_native_lower_narrow_gradient},
    {"ConvWeightGradient", hl_native_lower_winograd_gradient},
    {"ConvWeightGradient", hl_native_lower_weight_gradient},
    {"HostLoss", hl_native_lower_host_loss},
    {"GradientReady", hl_native_lower_gradient_ready},
    {"ReluGradient", hl_native_lower_norm_relu},
    {"LeakyReluGradient", hl_native_lower_norm_relu},
    {"ReluGradient", hl_native_lower_function_gradient},
    {"LeakyReluGradient", hl_native_lower_function_gradient},
    {"SigmoidGradient", hl_native_lower_function_gradient},
    {"TanhGradient", hl_native_lower_function_gradient},
    {"GeluGradient", hl_native_lower_function_gradient},
    {"SwishGradient", hl_native_lower_function_gradient},
};

void hl_native_lower(hl_native_builder *b, const hl_native_node *node) {
  if (b->failed != HL_OK) return;
  for (size_t i = 0; i < HL_COUNT(table); i++)
    if (strcmp(table[i].op, node->op) == 0 && (table[i].lower(b, node) || b->failed != HL_OK))
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
