/*
 * models/network.h - writing a network down, inside src/models only.
 *
 *     hl_value_id x = hl_net_input(n, "input", 4, (int64_t[]){-1, 3, 224, 224});
 *     x = hl_net_conv(n, "stem", x, &(hl_conv){.spatial = 2, .in = 3, .out = 64, .kernel = 7,
 *                                              .stride = 2, .gain = HL_GAIN_RELU});
 *     x = hl_net_op(n, "Relu", "stem_relu", (hl_value_id[]){x}, 1);
 *     hl_net_output(n, x, "logits");
 *
 * Weights are drawn uniformly, with numbers that depend on the seed and the weight's own name
 * only. Uniform, because that takes no libm: the bytes are the same wherever they are made.
 *
 * A weight has zero mean over its input channels (at each tap) when there are many of them. After
 * a ReLU all channels share a positive mean; with plain random weights that common part grows from
 * layer to layer until every input gives nearly the same output, and a wrong engine would pass for
 * a right one. On the other hand every such layer magnifies rounding by a fifth: a deep network may
 * keep a part of the mean (`kept_mean`), so that its bfloat16 outputs are as close as a trained
 * network's. Failures stay in the graph, see hl_graph_status.
 */
#ifndef HL_MODELS_NETWORK_H
#define HL_MODELS_NETWORK_H

#include "models/spec.h"

/* Deviation of a weight times sqrt(fan-in) that keeps the variance through the layer: 1 after a
 * linear layer; after a ReLU 1 / sqrt(1/2 - 1/(2 pi)), the deviation of a rectified normal that
 * the zero-mean weights see. GELU's is within 1 % of it. */
#define HL_GAIN_LINEAR 1.0
#define HL_GAIN_RELU 1.71

struct hl_network {
  hl_graph *graph;
  const hl_model_spec *spec;
  uint64_t seed;
  double kept_mean; /* the part of a weight's mean over its inputs that stays, 0 to 1 */
};

/* A formatted name, of at most 127 bytes, that lives as long as the graph. */
const char *hl_name(hl_network *n, const char *format, ...) HL_PRINTF(2, 3);

/* A float32 input whose first dimension is named "batch". */
hl_value_id hl_net_input(hl_network *n, const char *name, int32_t rank, const int64_t *dims);
/* Makes `value` an output of the model under `name`. Its shape is declared, as an ONNX file has to
 * have it; inference finds the same. */
void hl_net_output(hl_network *n, hl_value_id value, const char *name, int32_t rank,
                   const int64_t *dims);

/* Constants. hl_net_random: uniform, of the given mean and deviation. */
hl_value_id hl_net_random(hl_network *n, const char *name, int32_t rank, const int64_t *dims,
                          double mean, double deviation);
/* A weight matrix or kernel of (rows, columns, taps): fan-in `columns` if `by_row`, else `rows`,
 * times taps; deviation gain / sqrt(fan-in), zero mean (or `kept_mean` of the random one) over the
 * fan-in at each tap. */
hl_value_id hl_net_weight(hl_network *n, const char *name, int32_t rank, const int64_t *dims,
                          bool by_row, double gain);
hl_value_id hl_net_scalar(hl_network *n, const char *name, float value);
hl_value_id hl_net_ints(hl_network *n, const char *name, size_t count, const int64_t *values);

/* One node with one output; hl_net_node also gives the node, for its attributes. */
hl_value_id hl_net_op(hl_network *n, const char *op, const char *name, const hl_value_id *inputs,
                      size_t input_count);
hl_value_id hl_net_op1(hl_network *n, const char *op, const char *name, hl_value_id a);
hl_value_id hl_net_op2(hl_network *n, const char *op, const char *name, hl_value_id a,
                       hl_value_id b);
hl_node *hl_net_node(hl_network *n, const char *op, const char *name, const hl_value_id *inputs,
                     size_t input_count, hl_value_id *ret_output);

/* -- layers ----------------------------------------------------------------------------------- */

typedef struct hl_conv {
  int32_t spatial;        /* 2 or 3 */
  int64_t in, out;        /* channels */
  int64_t kernel, stride; /* of every axis. Odd kernels are padded by (kernel - 1) / 2 */
  int64_t trim;           /* pixels that the result lacks at each end of every axis */
  double gain;
  bool bias;
} hl_conv;

/* Names its weights "<name>.weight" and "<name>.bias". */
hl_value_id hl_net_conv(hl_network *n, const char *name, hl_value_id x, const hl_conv *conv);
/* The same as ConvTranspose: (size - 1) stride + kernel - 2 trim pixels. */
hl_value_id hl_net_conv_transpose(hl_network *n, const char *name, hl_value_id x,
                                  const hl_conv *conv);
/* y = x W' + b for x of rank 2 (Gemm; the weight is (out, in), as torch has it). */
hl_value_id hl_net_linear(hl_network *n, const char *name, hl_value_id x, int64_t in, int64_t out,
                          double gain);
/* The same for x of any rank, as MatMul and Add (the weight is (in, out)). */
hl_value_id hl_net_project(hl_network *n, const char *name, hl_value_id x, int64_t in, int64_t out,
                           double gain);
/* BatchNormalization in inference, gamma around `gamma`, statistics around those of a normal. */
hl_value_id hl_net_batch_norm(hl_network *n, const char *name, hl_value_id x, int64_t channels,
                              double gamma);
hl_value_id hl_net_instance_norm(hl_network *n, const char *name, hl_value_id x, int64_t channels);
/* LayerNormalization over the last axis. */
hl_value_id hl_net_layer_norm(hl_network *n, const char *name, hl_value_id x, int64_t width,
                              float epsilon);
/* x/2 (1 + erf(x / sqrt 2)), in the five nodes of torch's export. */
hl_value_id hl_net_gelu(hl_network *n, const char *name, hl_value_id x);

/* Multi-head self-attention of x (batch, tokens, width): one projection to queries, keys and
 * values, which is split; `gain` is that of the projection out. Queries and keys are drawn wide
 * enough that attention prefers a few tokens instead of averaging all. */
hl_value_id hl_net_attention(hl_network *n, const char *name, hl_value_id x, int64_t tokens,
                             int64_t width, int64_t heads, double gain);

/* -- networks: one row of models/table.c each -------------------------------------------------- */

void hl_build_ptychopinn(hl_network *n);
void hl_build_resnet50(hl_network *n);
void hl_build_vit_b_16(hl_network *n);
void hl_build_dynunet(hl_network *n);
hl_status hl_check_dynunet(hl_model_spec *spec, hl_error *error);
void hl_build_transformer_encoder(hl_network *n);
hl_status hl_check_transformer(hl_model_spec *spec, hl_error *error);
void hl_build_mlp(hl_network *n);
hl_status hl_check_mlp(hl_model_spec *spec, hl_error *error);
void hl_build_linear(hl_network *n);
hl_status hl_check_linear(hl_model_spec *spec, hl_error *error);
void hl_build_layer_norm(hl_network *n);
void hl_build_activation(hl_network *n);
void hl_build_transformer_encoder_layer(hl_network *n);
hl_status hl_check_transformer_layer(hl_model_spec *spec, hl_error *error);
void hl_build_multihead_attention(hl_network *n);
hl_status hl_check_attention(hl_model_spec *spec, hl_error *error);
void hl_build_weighted_sum(hl_network *n);
void hl_build_gaussian(hl_network *n);
void hl_build_soft_product(hl_network *n);
void hl_build_gru(hl_network *n);
hl_status hl_check_gru(hl_model_spec *spec, hl_error *error);
void hl_build_fft(hl_network *n);
void hl_build_prism_generator(hl_network *n);
hl_status hl_check_prism_generator(hl_model_spec *spec, hl_error *error);

#endif
