/*
 * compile/passes.h - rewriting the network before it is lowered.
 *
 * Each pass is for inference. They run in the order of hl_native_passes; each leaves the nodes
 * sorted and the uses counted.
 */
#ifndef HL_NATIVE_COMPILE_PASSES_H
#define HL_NATIVE_COMPILE_PASSES_H

#include "compile/ir.h"
#include "compile/switches.h"

/* All but those that are left out (compile/switches.h); constants are always folded. */
hl_status hl_native_passes(hl_native_ir *ir, uint32_t off, hl_error *error);

/* Convolutions and products between DequantizeLinear nodes become 8-bit ones. Before folding, which
 * would make float32 weights of them. */
hl_status hl_native_pass_quantized(hl_native_ir *ir, hl_error *error);
/* QuantizeLinear into the 8-bit node before it, 8-bit residual sums, and moves of 8-bit values.
 * After everything else has been fused. */
hl_status hl_native_pass_rounding(hl_native_ir *ir, hl_error *error);
/* Computes what depends on constants only; drops Identity, Dropout and casts to the same type. */
hl_status hl_native_pass_fold(hl_native_ir *ir, hl_error *error);
/* erf and tanh composites to Gelu, x * sigmoid x to Swish. */
hl_status hl_native_pass_functions(hl_native_ir *ir, hl_error *error);
/* Mean, difference, square, mean, root, quotient to LayerNormalization. */
hl_status hl_native_pass_layer_norm(hl_native_ir *ir, hl_error *error);
/* MatMul, scale, mask, Softmax, MatMul between head transposes to Attention. */
hl_status hl_native_pass_attention(hl_native_ir *ir, hl_error *error);
/* BatchNormalization into the weights before it. */
hl_status hl_native_pass_batch_norm(hl_native_ir *ir, hl_error *error);
/* Pad of zeros and Slice of channels into the convolution behind them. */
hl_status hl_native_pass_convolution(hl_native_ir *ir, hl_error *error);
/* Bias, residual sums and element-wise functions into what comes before them. */
hl_status hl_native_pass_posts(hl_native_ir *ir, hl_error *error);
/* Transposes into the products behind them. */
hl_status hl_native_pass_transpose(hl_native_ir *ir, hl_error *error);

#endif
