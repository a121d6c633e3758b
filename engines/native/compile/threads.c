#include "compile/threads.h"
#include "compile/attention.h"
#include "graph/operator.h"
#include <math.h>
#include <string.h>

/*
 * Measured on an AMD EPYC (Zen 4, two cores, nothing else running) with GCC 12's libgomp: opening
 * and closing a region of two threads takes 1.1 us in the median and 1.5 us in the 90th percentile
 * when the last one was less than 100 us ago, 45 us when it was 10 ms ago, and milliseconds when
 * other programs want the cores. Steps on one and two threads break even at 2.0 to 2.5 us; the 90th
 * percentile leaves the last doubt to one thread, which is the steadier.
 */
#define REGION_NS 1500.0

#define STEP_NS 300.0 /* of any step, whatever it does */

/*
 * One core's pace, measured there at the sizes where the decision falls, which lie in the
 * second-level cache: a ReLU moves 93 bytes a nanosecond and a product of one row 78; products of
 * 4 to 16 rows do 57 to 86 FLOPs; layer norm 22 of its own; gelu and tanh take 0.5 ns a number.
 * Convolutions of few channels are no better than norms.
 */
#define BYTES_PER_NS 64.0
#define FLOPS_PER_NS 50.0
#define OTHER 2.5     /* times as slow as FLOPs of products */
#define ADAM 14.0     /* a root and a division in sixteen lanes, 0.27 ns a weight */
#define FUNCTION 25.0 /* FLOPs of products in the time of one exp, tanh, division, root */

double hl_native_work_ns(hl_native_work work) {
  return fmax(work.bytes / BYTES_PER_NS, work.flops / FLOPS_PER_NS);
}

int hl_native_threads_for(hl_native_work work, int allowed) {
  double saved = hl_native_work_ns(work) * (1 - 1 / (double)allowed);
  return saved > REGION_NS ? allowed : 1;
}

static double elements(const hl_native_ir *ir, hl_value_id id) {
  const hl_value *value = hl_native_value(ir, id);
  int64_t count = value ? hl_shape_elements(&value->shape) : 0;
  return count > 0 ? (double)count : 0;
}

static double bytes(const hl_native_ir *ir, hl_value_id id) {
  const hl_value *value = hl_native_value(ir, id);
  return value ? elements(ir, id) * (double)hl_dtype_bytes(value->dtype) : 0;
}

/* Of the largest input or result. */
static double largest(const hl_native_ir *ir, const hl_native_node *node) {
  double most = 0;
  for (size_t i = 0; i < node->input_count; i++) most = fmax(most, elements(ir, node->inputs[i]));
  for (size_t i = 0; i < node->output_count; i++) most = fmax(most, elements(ir, node->outputs[i]));
  return most;
}

/* Reads no more of its first input than it writes. */
static bool picks(const hl_native_node *node) {
  return strcmp(node->op, "Gather") == 0 || strcmp(node->op, "Slice") == 0;
}

static double bytes_of(const hl_native_ir *ir, const hl_native_node *node) {
  double sum = 0;
  for (size_t i = picks(node) ? 1 : 0; i < node->input_count; i++)
    sum += bytes(ir, node->inputs[i]);
  bool in_place = node->source->phase == HL_PHASE_OPTIMIZER;
  for (size_t i = 0; i < node->output_count && !in_place; i++)
    sum += bytes(ir, node->outputs[i]) * (picks(node) ? 2 : 1);
  for (int i = 0; i < node->post_count; i++)
    if (node->posts[i].kind != HL_POST_ELTWISE) sum += bytes(ir, node->posts[i].operand);
  return sum;
}

static bool is_one_of(const hl_native_node *node, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(node->op, names[i]) == 0) return true;
  return false;
}

/* At least one function for each number of the result. */
static bool is_function(const hl_native_node *node) {
  static const char *const names[] = {"Exp",
                                      "Log",
                                      "Sin",
                                      "Cos",
                                      "Erf",
                                      "Tanh",
                                      "Sigmoid",
                                      "Softplus",
                                      "Gelu",
                                      "GeluTanh",
                                      "Swish",
                                      "Elu",
                                      "Pow",
                                      "Div",
                                      "Sqrt",
                                      "Reciprocal",
                                      "Softmax",
                                      "LogSoftmax",
                                      "TanhGradient",
                                      "SigmoidGradient",
                                      "GeluGradient",
                                      "SwishGradient",
                                      "RandomDropout",
                                      "SoftmaxCrossEntropyLoss",
                                      "SoftmaxCrossEntropyLossGradient"};
  return is_one_of(node, names, HL_COUNT(names));
}

static bool is_product(const hl_native_node *node) {
  static const char *const names[] = {"MatMul", "Gemm", "Einsum"};
  return is_one_of(node, names, HL_COUNT(names));
}

static bool is_unknown(const hl_native_node *node) {
  static const char *const names[] = {"GRUGradient", "LSTMGradient", "RNNGradient"};
  return is_one_of(node, names, HL_COUNT(names));
}

static double attention_flops(const hl_native_attention *a) {
  double scores = (double)a->batch * (double)a->heads * (double)a->queries * (double)a->keys;
  return scores * (4 * (double)a->width + FUNCTION);
}

/* Each element of dy meets all weights of its channel. */
static double weight_gradient_flops(const hl_native_ir *ir, const hl_native_node *node) {
  const hl_value *weights = hl_native_value(ir, node->outputs[0]);
  double channels = weights && weights->shape.rank > 0 ? (double)weights->shape.dims[0] : 1;
  return 2 * elements(ir, node->inputs[1]) * elements(ir, node->outputs[0]) / fmax(channels, 1);
}

/* The numbers that come and go. */
static double numbers(const hl_native_ir *ir, const hl_native_node *node) {
  double sum = 0;
  for (size_t i = 0; i < node->input_count; i++) sum += elements(ir, node->inputs[i]);
  for (size_t i = 0; i < node->output_count; i++) sum += elements(ir, node->outputs[i]);
  return sum;
}

static double flops_of(const hl_native_ir *ir, const hl_native_node *node) {
  const hl_node *source = node->source;
  if (node->attention) return attention_flops(node->attention);
  if (is_unknown(node)) return INFINITY;
  if (strcmp(node->op, "AdamStep") == 0) return ADAM * largest(ir, node);
  if (is_function(node)) return FUNCTION * largest(ir, node);
  if (strcmp(node->op, "ConvWeightGradient") == 0) return OTHER * weight_gradient_flops(ir, node);
  if (picks(node)) return 0; /* bytes only */
  if (!source->row || !source->row->flops) return numbers(ir, node);
  double flops = source->row->flops(ir->graph, source);
  return is_product(node) ? flops : OTHER * flops;
}

static double post_flops(const hl_native_post *post) {
  return post->kind == HL_POST_ELTWISE && post->algorithm != dnnl_eltwise_relu ? FUNCTION : 1;
}

hl_native_work hl_native_work_of(const hl_native_ir *ir, const hl_native_node *node) {
  hl_native_work work = {bytes_of(ir, node), flops_of(ir, node)};
  for (int i = 0; i < node->post_count; i++)
    work.flops += post_flops(&node->posts[i]) * elements(ir, node->outputs[0]);
  return work;
}

/* Of gradients and updates, by their definitions in src/graph (docs/profile.md); NaN of others. */
static double training_flops(const hl_native_ir *ir, const hl_node *source) {
  static const struct {
    const char *name;
    double each; /* of an element of the largest input */
  } known[] = {
      {"AccumulateGradient", 1},
      {"AdamStep", 14},
      {"BatchNormalizationGradient", 9},
      {"GeluGradient", 2},
      {"GroupNormalizationGradient", 9},
      {"InstanceNormalizationGradient", 9},
      {"LayerNormalizationGradient", 9},
      {"LeakyReluGradient", 2},
      {"MaxPoolGradient", 1},
      {"RandomDropout", 1},
      {"ReluGradient", 2},
      {"SgdStep", 2},
      {"SigmoidGradient", 2},
      {"SoftmaxCrossEntropyLossGradient", 6},
      {"SwishGradient", 2},
      {"TanhGradient", 2},
  };
  for (size_t i = 0; i < HL_COUNT(known); i++) {
    if (strcmp(source->op, known[i].name) != 0) continue;
    double most = 0;
    for (size_t k = 0; k < source->input_count; k++)
      if (source->inputs[k] >= 0) most = fmax(most, elements(ir, source->inputs[k]));
    return known[i].each * most;
  }
  return (double)NAN;
}

double hl_native_nominal_flops(const hl_native_ir *ir, const hl_native_node *node) {
  const hl_node *source = node->source;
  double flops = 0;
  if (node->attention)
    flops = attention_flops(node->attention);
  else if (strcmp(node->op, "ConvWeightGradient") == 0)
    flops = weight_gradient_flops(ir, node);
  else if (node->op != source->op)
    flops = (double)NAN; /* the source is one of several */
  else if (strcmp(source->domain, HL_OWN_DOMAIN) == 0 && !(source->row && source->row->flops))
    flops = training_flops(ir, source); /* a gradient or an update, not only a move */
  else if (source->row && source->row->flops)
    flops = source->row->flops(ir->graph, source);
  if (node->post_count) flops += (double)node->post_count * elements(ir, node->outputs[0]);
  return flops;
}

int hl_native_threads_worth(const hl_native_ir *ir, int allowed) {
  double all = 0, shared = 0;
  for (size_t i = 0; i < ir->node_count; i++) {
    if (ir->nodes[i].dead) continue;
    hl_native_work work = hl_native_work_of(ir, &ir->nodes[i]);
    double ns = hl_native_work_ns(work);
    all += ns + STEP_NS;
    if (hl_native_threads_for(work, allowed) > 1) shared += ns;
  }
  double saved = shared * (1 - 1 / (double)allowed);
  return saved > 2 * REGION_NS || shared > all / 2 ? allowed : 1;
}
