/* The operator table. docs/operators.md is printed from it. */
#include "graph/gradient-kit.h"

#include <string.h>

enum { MANY = UINT8_MAX, NEWEST = 21 };

/* infer, flops, evaluate, elementwise, least inputs, most inputs, most outputs and, where there is
 * one, the gradient's rule */
#define ROW(op, first, until, i, f, e, each, low, high, ...)                                       \
  {                                                                                                \
    .name = op, .since = first, .last = until, .infer = i, .flops = f, .evaluate = e,              \
    .elementwise = each, .min_inputs = low, .max_inputs = high, .max_outputs = __VA_ARGS__,        \
    .group = GROUP                                                                                 \
  }
#define RULE(name) .gradient = hl_gradient_##name
#define UNARY(op, first)                                                                           \
  ROW(op, first, NEWEST, hl_op_infer_same, NULL, hl_evaluate_unary, true, 1, 1, 1, RULE(unary))
#define STEP(op, first)                                                                            \
  ROW(op, first, NEWEST, hl_op_infer_same, NULL, hl_evaluate_unary, true, 1, 1, 1, RULE(none))
#define NARY(op, low, high)                                                                        \
  ROW(op, 6, NEWEST, hl_infer_binary, NULL, hl_evaluate_nary, true, low, high, 1, RULE(nary))
#define COMPARISON(op, first)                                                                      \
  ROW(op, first, NEWEST, hl_infer_comparison, NULL, hl_evaluate_comparison, true, 2, 2, 1)
#define INTEGER(op, first)                                                                         \
  ROW(op, first, NEWEST, hl_infer_integer, NULL, hl_evaluate_integer, true, 2, 2, 1)
#define REDUCE(op)                                                                                 \
  ROW(op, 1, NEWEST, hl_infer_reduce, hl_flops_input, hl_evaluate_reduce, false, 1, 2, 1,          \
      RULE(reduce))

static const hl_operator table[] = {
#define GROUP HL_OPERATORS_CONVOLUTION
    ROW("Col2Im", 18, NEWEST, hl_infer_col2im, hl_flops_input, hl_evaluate_col2im, false, 3, 3, 1,
        RULE(move)),
    ROW("Conv", 1, NEWEST, hl_infer_conv, hl_flops_conv, hl_evaluate_conv, false, 2, 3, 1,
        RULE(conv)),
    ROW("ConvTranspose", 1, NEWEST, hl_infer_conv_transpose, hl_flops_conv_transpose,
        hl_evaluate_conv_transpose, false, 2, 3, 1, RULE(conv_transpose)),
#undef GROUP
#define GROUP HL_OPERATORS_MATRIX
    ROW("Det", 11, NEWEST, hl_infer_det, NULL, hl_evaluate_det, false, 1, 1, 1, RULE(again)),
    ROW("Einsum", 12, NEWEST, hl_infer_einsum, hl_flops_einsum, hl_evaluate_einsum, false, 1, MANY,
        1, RULE(einsum)),
    ROW("GRU", 7, NEWEST, hl_infer_recurrent, hl_flops_recurrent, hl_evaluate_recurrent, false, 3,
        6, 2, RULE(recurrent)),
    ROW("Gemm", 6, NEWEST, hl_infer_gemm, hl_flops_gemm, hl_evaluate_gemm, false, 2, 3, 1,
        RULE(gemm)),
    ROW("LSTM", 7, NEWEST, hl_infer_recurrent, hl_flops_recurrent, hl_evaluate_recurrent, false, 3,
        8, 3, RULE(recurrent)),
    ROW("MatMul", 1, NEWEST, hl_infer_matmul, hl_flops_matmul, hl_evaluate_matmul, false, 2, 2, 1,
        RULE(matmul)),
    ROW("RNN", 7, NEWEST, hl_infer_recurrent, hl_flops_recurrent, hl_evaluate_recurrent, false, 3,
        6, 2, RULE(recurrent)),
#undef GROUP
#define GROUP HL_OPERATORS_ELEMENTWISE
    UNARY("Abs", 6),
    UNARY("Acos", 7),
    UNARY("Acosh", 9),
    NARY("Add", 2, 2),
    COMPARISON("And", 7),
    UNARY("Asin", 7),
    UNARY("Asinh", 9),
    UNARY("Atan", 7),
    UNARY("Atanh", 9),
    INTEGER("BitShift", 11),
    INTEGER("BitwiseAnd", 18),
    ROW("BitwiseNot", 18, NEWEST, hl_op_infer_same, NULL, hl_evaluate_bitwise_not, true, 1, 1, 1),
    INTEGER("BitwiseOr", 18),
    INTEGER("BitwiseXor", 18),
    ROW("Cast", 6, NEWEST, hl_infer_cast, NULL, hl_evaluate_cast, false, 1, 1, 1, RULE(cast)),
    ROW("CastLike", 15, NEWEST, hl_infer_cast_like, NULL, hl_evaluate_cast, false, 2, 2, 1,
        RULE(cast)),
    STEP("Ceil", 6),
    UNARY("Celu", 12),
    ROW("Clip", 6, NEWEST, hl_infer_clip, NULL, hl_evaluate_clip, true, 1, 3, 1, RULE(clip)),
    UNARY("Cos", 7),
    UNARY("Cosh", 9),
    NARY("Div", 2, 2),
    UNARY("Elu", 6),
    COMPARISON("Equal", 7),
    UNARY("Erf", 9),
    UNARY("Exp", 6),
    STEP("Floor", 6),
    UNARY("Gelu", 20),
    COMPARISON("Greater", 7),
    COMPARISON("GreaterOrEqual", 12),
    UNARY("HardSigmoid", 6),
    UNARY("HardSwish", 14),
    ROW("Identity", 1, NEWEST, hl_op_infer_same, NULL, hl_evaluate_copy, false, 1, 1, 1,
        RULE(reshape_rule)),
    ROW("IsInf", 10, NEWEST, hl_infer_float_test, NULL, hl_evaluate_float_test, true, 1, 1, 1),
    ROW("IsNaN", 9, NEWEST, hl_infer_float_test, NULL, hl_evaluate_float_test, true, 1, 1, 1),
    UNARY("LeakyRelu", 6),
    COMPARISON("Less", 7),
    COMPARISON("LessOrEqual", 12),
    UNARY("Log", 6),
    NARY("Max", 1, MANY),
    ROW("Mean", 6, NEWEST, hl_infer_binary, NULL, hl_evaluate_nary, true, 1, MANY, 1, RULE(nary)),
    NARY("Min", 1, MANY),
    UNARY("Mish", 18),
    ROW("Mod", 10, NEWEST, hl_infer_integer, NULL, hl_evaluate_integer, true, 2, 2, 1, RULE(nary)),
    NARY("Mul", 2, 2),
    UNARY("Neg", 6),
    ROW("Not", 1, NEWEST, hl_op_infer_same, NULL, hl_evaluate_not, true, 1, 1, 1),
    COMPARISON("Or", 7),
    ROW("PRelu", 6, NEWEST, hl_infer_prelu, NULL, hl_evaluate_nary, true, 2, 2, 1, RULE(nary)),
    NARY("Pow", 2, 2),
    UNARY("Reciprocal", 6),
    UNARY("Relu", 6),
    STEP("Round", 11),
    UNARY("Selu", 6),
    UNARY("Shrink", 9),
    UNARY("Sigmoid", 6),
    STEP("Sign", 9),
    UNARY("Sin", 7),
    UNARY("Sinh", 9),
    UNARY("Softplus", 1),
    UNARY("Softsign", 1),
    UNARY("Sqrt", 6),
    NARY("Sub", 2, 2),
    ROW("Sum", 6, NEWEST, hl_infer_binary, NULL, hl_evaluate_nary, true, 1, MANY, 1, RULE(nary)),
    UNARY("Tan", 7),
    UNARY("Tanh", 6),
    UNARY("ThresholdedRelu", 10),
    ROW("Where", 9, NEWEST, hl_infer_where, NULL, hl_evaluate_where, true, 3, 3, 1, RULE(where)),
    COMPARISON("Xor", 7),
#undef GROUP
#define GROUP HL_OPERATORS_NORMALISE
    ROW("BatchNormalization", 6, NEWEST, hl_infer_batch_norm, hl_flops_batch_norm,
        hl_evaluate_batch_norm, false, 5, 5, 5, RULE(batch_norm)),
    ROW("Dropout", 7, NEWEST, hl_infer_dropout, NULL, hl_evaluate_dropout, false, 1, 3, 2,
        RULE(reshape_rule)),
    ROW("GroupNormalization", 18, NEWEST, hl_infer_norm, hl_flops_norm, hl_evaluate_group_norm,
        false, 3, 3, 1, RULE(group_norm)),
    ROW("Hardmax", 1, NEWEST, hl_infer_softmax, hl_flops_input, hl_evaluate_softmax, false, 1, 1, 1,
        RULE(none)),
    ROW("InstanceNormalization", 6, NEWEST, hl_infer_norm, hl_flops_norm, hl_evaluate_group_norm,
        false, 3, 3, 1, RULE(group_norm)),
    ROW("LRN", 7, NEWEST, hl_infer_lrn, hl_flops_norm, hl_evaluate_lrn, false, 1, 1, 1,
        RULE(again)),
    ROW("LayerNormalization", 17, NEWEST, hl_infer_layer_norm, hl_flops_norm,
        hl_evaluate_layer_norm, false, 2, 3, 3, RULE(layer_norm)),
    ROW("LogSoftmax", 1, NEWEST, hl_infer_softmax, hl_flops_softmax, hl_evaluate_softmax, false, 1,
        1, 1, RULE(softmax)),
    ROW("LpNormalization", 7, NEWEST, hl_infer_lp_norm, hl_flops_norm, hl_evaluate_lp_norm, false,
        1, 1, 1, RULE(lp_norm)),
    ROW("MeanVarianceNormalization", 9, NEWEST, hl_infer_mvn, hl_flops_norm, hl_evaluate_mvn, false,
        1, 1, 1, RULE(mean_variance)),
    ROW("NegativeLogLikelihoodLoss", 12, NEWEST, hl_infer_class_loss, hl_flops_class_loss,
        hl_evaluate_class_loss, false, 2, 3, 1, RULE(class_loss)),
    ROW("Softmax", 1, NEWEST, hl_infer_softmax, hl_flops_softmax, hl_evaluate_softmax, false, 1, 1,
        1, RULE(softmax)),
    ROW("SoftmaxCrossEntropyLoss", 12, NEWEST, hl_infer_class_loss, hl_flops_class_loss,
        hl_evaluate_class_loss, false, 2, 3, 2, RULE(class_loss)),
#undef GROUP
#define GROUP HL_OPERATORS_POOL
    ROW("ArgMax", 1, NEWEST, hl_infer_argmax, hl_flops_input, hl_evaluate_argmax, false, 1, 1, 1),
    ROW("ArgMin", 1, NEWEST, hl_infer_argmax, hl_flops_input, hl_evaluate_argmax, false, 1, 1, 1),
    ROW("AveragePool", 1, NEWEST, hl_infer_pool, hl_flops_pool, hl_evaluate_pool, false, 1, 1, 1,
        RULE(pool)),
    ROW("CumSum", 11, NEWEST, hl_op_infer_same, hl_flops_input, hl_evaluate_cumsum, false, 2, 2, 1,
        RULE(cumsum)),
    ROW("GlobalAveragePool", 1, NEWEST, hl_infer_global_pool, hl_flops_input,
        hl_evaluate_global_pool, false, 1, 1, 1, RULE(global_pool)),
    ROW("GlobalLpPool", 2, NEWEST, hl_infer_global_pool, hl_flops_input, hl_evaluate_global_pool,
        false, 1, 1, 1, RULE(global_pool)),
    ROW("GlobalMaxPool", 1, NEWEST, hl_infer_global_pool, hl_flops_input, hl_evaluate_global_pool,
        false, 1, 1, 1, RULE(global_pool)),
    ROW("LpPool", 2, NEWEST, hl_infer_pool, hl_flops_pool, hl_evaluate_pool, false, 1, 1, 1,
        RULE(pool)),
    ROW("MaxPool", 1, NEWEST, hl_infer_pool, hl_flops_pool, hl_evaluate_pool, false, 1, 1, 2,
        RULE(pool)),
    REDUCE("ReduceL1"),
    REDUCE("ReduceL2"),
    REDUCE("ReduceLogSum"),
    REDUCE("ReduceLogSumExp"),
    REDUCE("ReduceMax"),
    REDUCE("ReduceMean"),
    REDUCE("ReduceMin"),
    REDUCE("ReduceProd"),
    REDUCE("ReduceSum"),
    REDUCE("ReduceSumSquare"),
#undef GROUP
#define GROUP HL_OPERATORS_QUANTIZE
    ROW("ConvInteger", 10, NEWEST, hl_infer_quantized, hl_flops_quantized, hl_evaluate_quantized,
        false, 2, 4, 1),
    ROW("DequantizeLinear", 10, NEWEST, hl_infer_dequantize, hl_flops_quantize,
        hl_evaluate_dequantize, false, 2, 3, 1),
    ROW("DynamicQuantizeLinear", 11, NEWEST, hl_infer_dynamic_quantize, hl_flops_quantize,
        hl_evaluate_dynamic_quantize, false, 1, 1, 3),
    ROW("MatMulInteger", 10, NEWEST, hl_infer_quantized, hl_flops_quantized, hl_evaluate_quantized,
        false, 2, 4, 1),
    ROW("QLinearConv", 10, NEWEST, hl_infer_quantized, hl_flops_quantized, hl_evaluate_quantized,
        false, 8, 9, 1),
    ROW("QLinearMatMul", 10, NEWEST, hl_infer_quantized, hl_flops_quantized, hl_evaluate_quantized,
        false, 8, 8, 1),
    ROW("QuantizeLinear", 10, NEWEST, hl_infer_quantize, hl_flops_quantize, hl_evaluate_quantize,
        false, 2, 3, 1),
#undef GROUP
#define GROUP HL_OPERATORS_RESAMPLE
    ROW("AffineGrid", 20, NEWEST, hl_infer_affine_grid, NULL, hl_evaluate_affine_grid, false, 2, 2,
        1, RULE(move)),
    ROW("BlackmanWindow", 17, NEWEST, hl_infer_window, NULL, hl_evaluate_window, false, 1, 1, 1),
    ROW("DFT", 17, NEWEST, hl_infer_dft, NULL, hl_evaluate_dft, false, 1, 3, 1, RULE(move)),
    ROW("GridSample", 16, NEWEST, hl_infer_grid_sample, hl_flops_grid_sample,
        hl_evaluate_grid_sample, false, 2, 2, 1, RULE(grid_sample)),
    ROW("HammingWindow", 17, NEWEST, hl_infer_window, NULL, hl_evaluate_window, false, 1, 1, 1),
    ROW("HannWindow", 17, NEWEST, hl_infer_window, NULL, hl_evaluate_window, false, 1, 1, 1),
    ROW("Resize", 10, NEWEST, hl_infer_resize, hl_flops_resize, hl_evaluate_resize, false, 1, 4, 1,
        RULE(move)),
    ROW("Upsample", 7, 9, hl_infer_resize, hl_flops_resize, hl_evaluate_resize, false, 1, 2, 1,
        RULE(move)),
#undef GROUP
#define GROUP HL_OPERATORS_SHAPE
    ROW("CenterCropPad", 18, NEWEST, hl_infer_center_crop_pad, NULL, hl_evaluate_center_crop_pad,
        false, 2, 2, 1, RULE(move)),
    ROW("Compress", 9, NEWEST, hl_infer_compress, NULL, hl_evaluate_compress, false, 2, 2, 1,
        RULE(move)),
    ROW("Concat", 4, NEWEST, hl_infer_concat, NULL, hl_evaluate_concat, false, 1, MANY, 1,
        RULE(concat)),
    ROW("Constant", 1, NEWEST, hl_infer_constant, NULL, hl_evaluate_constant, false, 0, 0, 1),
    ROW("ConstantOfShape", 9, NEWEST, hl_infer_constant_of_shape, NULL,
        hl_evaluate_constant_of_shape, false, 1, 1, 1),
    ROW("DepthToSpace", 1, NEWEST, hl_infer_depth_to_space, NULL, hl_evaluate_space_depth, false, 1,
        1, 1, RULE(move)),
    ROW("Expand", 8, NEWEST, hl_infer_expand, NULL, hl_evaluate_expand, false, 2, 2, 1,
        RULE(expand)),
    ROW("EyeLike", 9, NEWEST, hl_infer_eye_like, NULL, hl_evaluate_eye_like, false, 1, 1, 1),
    ROW("Flatten", 1, NEWEST, hl_infer_flatten, NULL, hl_evaluate_copy, false, 1, 1, 1,
        RULE(reshape_rule)),
    ROW("Gather", 1, NEWEST, hl_infer_gather, NULL, hl_evaluate_gather, false, 2, 2, 1, RULE(move)),
    ROW("GatherElements", 11, NEWEST, hl_infer_gather_elements, NULL, hl_evaluate_gather_elements,
        false, 2, 2, 1, RULE(move)),
    ROW("GatherND", 11, NEWEST, hl_infer_gather_nd, NULL, hl_evaluate_gather_nd, false, 2, 2, 1,
        RULE(move)),
    ROW("NonMaxSuppression", 10, NEWEST, hl_infer_nms, NULL, hl_evaluate_nms, false, 2, 5, 1),
    ROW("NonZero", 9, NEWEST, hl_infer_non_zero, NULL, hl_evaluate_non_zero, false, 1, 1, 1),
    ROW("OneHot", 9, NEWEST, hl_infer_one_hot, NULL, hl_evaluate_one_hot, false, 3, 3, 1),
    ROW("Pad", 2, NEWEST, hl_infer_pad, NULL, hl_evaluate_pad, false, 1, 4, 1, RULE(cut)),
    ROW("Range", 11, NEWEST, hl_infer_range, NULL, hl_evaluate_range, false, 3, 3, 1),
    ROW("Reshape", 5, NEWEST, hl_infer_reshape, NULL, hl_evaluate_copy, false, 2, 2, 1,
        RULE(reshape_rule)),
    ROW("ReverseSequence", 10, NEWEST, hl_infer_reverse_sequence, NULL,
        hl_evaluate_reverse_sequence, false, 2, 2, 1, RULE(move)),
    ROW("Scatter", 9, 10, hl_infer_scatter_elements, NULL, hl_evaluate_scatter_elements, false, 3,
        3, 1),
    ROW("ScatterElements", 11, NEWEST, hl_infer_scatter_elements, NULL,
        hl_evaluate_scatter_elements, false, 3, 3, 1, RULE(scatter)),
    ROW("ScatterND", 11, NEWEST, hl_infer_scatter_nd, NULL, hl_evaluate_scatter_nd, false, 3, 3, 1,
        RULE(scatter)),
    ROW("Shape", 1, NEWEST, hl_infer_shape, NULL, hl_evaluate_shape, false, 1, 1, 1),
    ROW("Size", 1, NEWEST, hl_infer_size, NULL, hl_evaluate_size, false, 1, 1, 1),
    ROW("Slice", 1, NEWEST, hl_infer_slice, NULL, hl_evaluate_slice, false, 1, 5, 1, RULE(cut)),
    ROW("SpaceToDepth", 1, NEWEST, hl_infer_space_to_depth, NULL, hl_evaluate_space_depth, false, 1,
        1, 1, RULE(move)),
    ROW("Split", 2, NEWEST, hl_infer_split, NULL, hl_evaluate_split, false, 1, 2, MANY,
        RULE(split)),
    ROW("Squeeze", 1, NEWEST, hl_infer_squeeze, NULL, hl_evaluate_copy, false, 1, 2, 1,
        RULE(reshape_rule)),
    ROW("Tile", 6, NEWEST, hl_infer_tile, NULL, hl_evaluate_tile, false, 2, 2, 1, RULE(move)),
    ROW("TopK", 7, NEWEST, hl_infer_top_k, NULL, hl_evaluate_top_k, false, 1, 2, 2, RULE(top_k)),
    ROW("Transpose", 1, NEWEST, hl_infer_transpose, NULL, hl_evaluate_transpose, false, 1, 1, 1,
        RULE(transpose_rule)),
    ROW("Trilu", 14, NEWEST, hl_infer_trilu, NULL, hl_evaluate_trilu, false, 1, 2, 1, RULE(trilu)),
    ROW("Unique", 11, NEWEST, hl_infer_unique, NULL, hl_evaluate_unique, false, 1, 1, 4),
    ROW("Unsqueeze", 1, NEWEST, hl_infer_unsqueeze, NULL, hl_evaluate_copy, false, 1, 2, 1,
        RULE(reshape_rule)),
#undef GROUP
};

const hl_operator *hl_operator_find(const char *domain, const char *name, int64_t opset) {
  if (strcmp(domain, HL_OWN_DOMAIN) == 0) {
    const hl_operator *row = hl_gradient_operator_find(name);
    return row ? row : hl_training_operator_find(name);
  }
  if (domain[0] && strcmp(domain, "ai.onnx") != 0) return NULL;
  for (size_t i = 0; i < HL_COUNT(table); i++)
    if (strcmp(table[i].name, name) == 0 && opset >= table[i].since && opset <= table[i].last)
      return &table[i];
  return NULL;
}

const hl_operator *hl_operator_at(size_t index) {
  return index < HL_COUNT(table) ? &table[index] : NULL;
}

/* What an operator's row leaves out. */
static const struct {
  const char *name, *note;
} notes[] = {
    {"AffineGrid", "the size must be computable before the run"},
    {"BatchNormalization", "not spatial=0, and training_mode=1 only from opset 14 on"},
    {"BlackmanWindow", "the size must be computable before the run"},
    {"Cast", "not to or from strings and complex numbers"},
    {"CenterCropPad", "the sizes must be computable before the run"},
    {"Col2Im", "image_shape and block_shape must be computable before the run"},
    {"Compress", "the condition must be known before the run"},
    {"Constant", "not strings and sparse tensors"},
    {"Conv", "1 to 3 spatial dimensions"},
    {"ConvInteger", "zero points of the tensor, of the weights also by channel"},
    {"ConvTranspose", "1 to 3 spatial dimensions"},
    {"DFT", "by its definition, in time length squared; its length and axis must be computable "
            "before the run"},
    {"DequantizeLinear", "integers of 8 to 32 bits; not int4 and float8"},
    {"Dropout", "inference only: the identity"},
    {"Einsum", "at most 16 inputs"},
    {"Expand", "the shape must be computable before the run"},
    {"GRU", "activations Sigmoid, Tanh and Relu"},
    {"GridSample", "linear and nearest, 1 to 3 spatial dimensions; not cubic"},
    {"HammingWindow", "the size must be computable before the run"},
    {"HannWindow", "the size must be computable before the run"},
    {"LSTM", "activations Sigmoid, Tanh and Relu"},
    {"MatMulInteger", "zero points of the tensor, of the second factor also by column"},
    {"NonMaxSuppression", "all inputs must be known before the run"},
    {"NonZero", "the input must be known before the run"},
    {"OneHot", "the depth must be computable before the run"},
    {"Pad", "constant, reflect and edge; not wrap"},
    {"QLinearConv", "scales and zero points of the tensor, of the weights also by channel"},
    {"QLinearMatMul", "scales and zero points of the tensor, of the second factor also by column"},
    {"QuantizeLinear", "to integers of 8 and 16 bits; not int4 and float8"},
    {"RNN", "activations Sigmoid, Tanh and Relu"},
    {"Range", "its length must be computable before the run"},
    {"Reshape", "the shape must be computable before the run"},
    {"Resize", "sizes and scales must be computable before the run"},
    {"Slice", "starts and ends must be computable before the run"},
    {"TopK", "k must be computable before the run; of equals, the first"},
    {"Unique", "the input must be known before the run"},
};

const char *hl_operator_note(const hl_operator *row) {
  for (size_t i = 0; i < HL_COUNT(notes); i++)
    if (strcmp(notes[i].name, row->name) == 0) return notes[i].note;
  return "";
}
