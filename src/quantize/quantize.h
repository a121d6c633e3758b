/*
 * quantize/quantize.h - an 8-bit copy of a network, as QuantizeLinear and DequantizeLinear nodes.
 *
 *     hl_quantizer *q;
 *     hl_quantizer_new(model, &q, error);                 the places, batch normalisation folded
 *     hl_quantizer_calibration(q, &graph, error);         the float32 network, each place an output
 *     ... run it, find a range for each of hl_quantizer_places(q) ...
 *     hl_quantizer_finish(q, ranges, &quantised, &summary, error);
 *
 * What is quantised, as ONNX Runtime and OpenVINO recognise it and fuse it into 8-bit kernels:
 *   - Conv, and MatMul and Gemm with constant weights: weights int8, symmetric, a scale for each
 *     output channel; the input uint8 with a zero point; a constant bias int32 with scale
 *     s_x * s_w. A convolution's result is uint8, after a ReLU that follows it (which disappears
 *     where the zero point 0 does its work); a product's where what reads it wants it so.
 *   - Add of two such results (residual branches).
 *   - MaxPool, Resize (nearest), Concat, Reshape, Flatten, Transpose, Squeeze, Unsqueeze and Slice
 *     between them, with one scale on both sides, so that bytes are moved and nothing is rounded.
 * Everything else stays float32. The model must outlive the quantizer, this the graphs it gives.
 * Not thread-safe.
 */
#ifndef HL_QUANTIZE_QUANTIZE_H
#define HL_QUANTIZE_QUANTIZE_H

#include "graph/graph.h"
#include "quantize/ranges.h"

typedef struct hl_quantizer hl_quantizer;

/* Finds what can be quantised. UNIMPLEMENTED with the reason: quantised already; no Conv, MatMul or
 * Gemm with constant float32 weights; an opset below 13 (a scale for each channel needs it). */
hl_status hl_quantizer_new(const hl_graph *model, hl_quantizer **ret_quantizer, hl_error *error);
void hl_quantizer_free(hl_quantizer *quantizer);

/* How many tensors need a range, and the name of one. */
size_t hl_quantizer_places(const hl_quantizer *quantizer);
const char *hl_quantizer_place(const hl_quantizer *quantizer, size_t i);

/* The float32 network whose outputs are the model's own and then the places (a place that is an
 * output or an input of the model is not listed twice: hl_quantizer_port says where it is). */
hl_status hl_quantizer_calibration(hl_quantizer *quantizer, hl_graph **ret_graph, hl_error *error);
/* Place `i` among the outputs of that graph; or, if `*ret_input`, among its inputs. */
size_t hl_quantizer_port(const hl_quantizer *quantizer, size_t i, bool *ret_input);

typedef struct hl_quantize_summary {
  size_t convolutions, products, sums;   /* quantised nodes */
  size_t left;                           /* Conv, MatMul and Gemm nodes left in float32 */
  size_t folded;                         /* batch normalisations folded into convolutions */
  uint64_t float_bytes, quantized_bytes; /* of the weights that were quantised, before and after */
} hl_quantize_summary;

/* The quantised network; `ranges` by place. BAD_DATA names a weight that is not finite. */
hl_status hl_quantizer_finish(hl_quantizer *quantizer, const hl_range *ranges, hl_graph **ret_graph,
                              hl_quantize_summary *ret_summary, hl_error *error);

/* Does the network hold QuantizeLinear or DequantizeLinear nodes? */
bool hl_graph_is_quantized(const hl_graph *graph);

#endif
