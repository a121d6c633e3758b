/* Softmax and the normalisations. */
#include "graph/operator-kit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double elements(const hl_graph *graph, const hl_node *node) {
  const hl_value *out = hl_node_output(graph, node, 0);
  return out ? (double)hl_shape_elements(&out->shape) : 0;
}

double hl_flops_softmax(const hl_graph *graph, const hl_node *node) {
  return 5 * elements(graph, node);
}

double hl_flops_norm(const hl_graph *graph, const hl_node *node) {
  return 7 * elements(graph, node);
}

double hl_flops_batch_norm(const hl_graph *graph, const hl_node *node) {
  return 2 * elements(graph, node);
}

/* -- Softmax: one axis since opset 13, everything from `axis` on before ---------------------- */

static hl_status softmax_axis(const hl_graph *graph, const hl_node *node, int32_t rank,
                              int32_t *ret_axis, hl_error *error) {
  int64_t axis = hl_node_int(node, "axis", graph->opset < 13 ? 1 : -1);
  if (rank == 0) {
    *ret_axis = 0;
    return HL_OK;
  }
  if (graph->opset < 13 && axis == rank) {
    *ret_axis = rank;
    return HL_OK;
  }
  return hl_op_axis(node, axis, rank, ret_axis, error);
}

hl_status hl_infer_softmax(hl_graph *graph, hl_node *node, hl_error *error) {
  int32_t axis;
  hl_status status =
      softmax_axis(graph, node, hl_node_input(graph, node, 0)->shape.rank, &axis, error);
  return status == HL_OK ? hl_op_infer_same(graph, node, error) : status;
}

/* In place: each element is read for the last time just before it is written. */
static void softmax_line(double *x, int64_t count, int64_t stride, bool logarithm) {
  double most = -HUGE_VAL, sum = 0;
  for (int64_t i = 0; i < count; i++)
    if (x[i * stride] > most) most = x[i * stride];
  for (int64_t i = 0; i < count; i++) sum += exp(x[i * stride] - most);
  for (int64_t i = 0; i < count; i++) {
    double shifted = x[i * stride] - most;
    x[i * stride] = logarithm ? shifted - log(sum) : exp(shifted) / sum;
  }
}

/* 1 at the first of the largest, else 0. */
static void hardmax_line(double *x, int64_t count, int64_t stride) {
  int64_t best = 0;
  for (int64_t i = 1; i < count; i++)
    if (x[i * stride] > x[best * stride]) best = i;
  for (int64_t i = 0; i < count; i++) x[i * stride] = i == best;
}

hl_status hl_evaluate_softmax(const hl_graph *graph, const hl_node *node,
                              const hl_tensor_view *inputs, hl_tensor_view *outputs,
                              hl_error *error) {
  int32_t axis, rank = inputs[0].rank;
  hl_status status = softmax_axis(graph, node, rank, &axis, error);
  if (status != HL_OK) return status;
  bool flat = graph->opset < 13 || rank == 0, logarithm = node->op[0] == 'L';
  int64_t outer = hl_op_product(inputs[0].dims, 0, axis);
  int64_t count = hl_op_product(inputs[0].dims, axis, flat ? rank : axis + 1);
  int64_t inner = flat ? 1 : hl_op_product(inputs[0].dims, axis + 1, rank);
  HL_CLEANUP(hl_free_pointer) double *x = hl_view_doubles(&inputs[0]);
  if (!x) return hl_op_no_memory(node, error);
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < inner; i++)
      if (node->op[0] == 'H')
        hardmax_line(x + o * count * inner + i, count, inner);
      else
        softmax_line(x + o * count * inner + i, count, inner, logarithm);
  hl_view_put_all(&outputs[0], x);
  return HL_OK;
}

/* -- mean and variance of a run of elements -------------------------------------------------- */

static void moments(const double *x, int64_t count, double *ret_mean, double *ret_variance) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < count; i++) sum += x[i];
  double mean = count ? sum / (double)count : 0;
  for (int64_t i = 0; i < count; i++) squares += (x[i] - mean) * (x[i] - mean);
  *ret_mean = mean;
  *ret_variance = count ? squares / (double)count : 0;
}

hl_status hl_infer_layer_norm(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  hl_shape shape = x->shape, stats = x->shape;
  int32_t axis;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", -1), shape.rank, &axis, error);
  if (status != HL_OK) return status;
  for (size_t i = 1; i < 3; i++) {
    const hl_value *scale = hl_node_input(graph, node, i);
    if (scale && !hl_op_broadcasts_to(&scale->shape, &shape))
      return hl_op_fail(node, HL_BAD_DATA, error, "'%.60s' does not broadcast to the input",
                        scale->name);
  }
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, shape.rank, shape.dims);
  for (int32_t d = axis; d < stats.rank; d++) stats.dims[d] = 1;
  hl_op_set(hl_node_output(graph, node, 1), HL_FLOAT32, stats.rank, stats.dims);
  hl_op_set(hl_node_output(graph, node, 2), HL_FLOAT32, stats.rank, stats.dims);
  return HL_OK;
}

hl_status hl_evaluate_layer_norm(const hl_graph *graph, const hl_node *node,
                                 const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                 hl_error *error) {
  (void)graph;
  int32_t axis, rank = inputs[0].rank;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", -1), rank, &axis, error);
  if (status != HL_OK) return status;
  double epsilon = (double)hl_node_real(node, "epsilon", 1e-5f);
  int64_t rows = hl_op_product(inputs[0].dims, 0, axis);
  int64_t count = hl_op_product(inputs[0].dims, axis, rank);
  bool biased = node->input_count > 2 && inputs[2].data;
  HL_CLEANUP(hl_free_pointer) double *x = hl_view_doubles(&inputs[0]);
  if (!x) return hl_op_no_memory(node, error);
  int64_t ss[HL_MAX_RANK] = {0}, bs[HL_MAX_RANK] = {0}, is[HL_MAX_RANK] = {0};
  int64_t ib[HL_MAX_RANK] = {0}, os = 0, ob = 0;
  hl_view_broadcast_strides(&inputs[1], rank, ss);
  if (biased) hl_view_broadcast_strides(&inputs[2], rank, bs);
  for (int64_t r = 0; r < rows; r++) {
    double mean, variance;
    moments(x + r * count, count, &mean, &variance);
    double inverse = 1 / sqrt(variance + epsilon);
    if (node->output_count > 1 && outputs[1].data) hl_view_put(&outputs[1], r, mean);
    if (node->output_count > 2 && outputs[2].data) hl_view_put(&outputs[2], r, inverse);
    for (int64_t i = 0; i < count; i++) {
      double y = (x[r * count + i] - mean) * inverse * hl_view_get(&inputs[1], os);
      hl_view_put(&outputs[0], r * count + i, y + (biased ? hl_view_get(&inputs[2], ob) : 0));
      hl_index_next(rank, inputs[0].dims, is, ss, &os);
      hl_index_next(rank, inputs[0].dims, ib, bs, &ob);
    }
  }
  return HL_OK;
}

/* InstanceNormalization is GroupNormalization with one channel a group. Scale and bias are per
 * channel, but per group in GroupNormalization before opset 21. */
static int64_t group_count(const hl_node *node, int64_t channels) {
  return node->op[0] == 'I' ? channels : hl_node_int(node, "num_groups", 0);
}

static bool per_group(const hl_graph *graph, const hl_node *node) {
  return node->op[0] == 'G' && graph->opset < 21;
}

hl_status hl_infer_norm(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  if (x->shape.rank < 2)
    return hl_op_fail(node, HL_BAD_DATA, error, "the input has %d dimensions; expected 2 or more",
                      x->shape.rank);
  int64_t channels = x->shape.dims[1], groups = group_count(node, channels);
  if (channels >= 0 && groups != channels && (groups < 1 || channels % groups != 0))
    return hl_op_fail(node, HL_BAD_DATA, error, "%lld channels do not divide into %lld groups",
                      (long long)channels, (long long)groups);
  int64_t expected = per_group(graph, node) ? groups : channels;
  for (size_t i = 1; i < 3; i++) {
    const hl_value *v = hl_node_input(graph, node, i);
    if (v->shape.rank != 1 ||
        (expected >= 0 && v->shape.dims[0] >= 0 && v->shape.dims[0] != expected))
      return hl_op_fail(node, HL_BAD_DATA, error, "'%.60s' must have %lld elements", v->name,
                        (long long)expected);
  }
  return hl_op_infer_same(graph, node, error);
}

hl_status hl_evaluate_group_norm(const hl_graph *graph, const hl_node *node,
                                 const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                 hl_error *error) {
  double epsilon = (double)hl_node_real(node, "epsilon", 1e-5f);
  int64_t channels = inputs[0].dims[1], groups = group_count(node, channels);
  int64_t plane = hl_op_product(inputs[0].dims, 2, inputs[0].rank);
  HL_CLEANUP(hl_free_pointer) double *x = hl_view_doubles(&inputs[0]);
  if (!x) return hl_op_no_memory(node, error);
  int64_t size = groups ? channels / groups : 0;
  for (int64_t g = 0; g < inputs[0].dims[0] * groups; g++) {
    double mean, variance;
    moments(x + g * size * plane, size * plane, &mean, &variance);
    double inverse = 1 / sqrt(variance + epsilon);
    for (int64_t i = 0; i < size * plane; i++) {
      int64_t group = g % groups;
      int64_t c = per_group(graph, node) ? group : group * size + i / plane;
      double y = (x[g * size * plane + i] - mean) * inverse;
      hl_view_put(&outputs[0], g * size * plane + i,
                  y * hl_view_get(&inputs[1], c) + hl_view_get(&inputs[2], c));
    }
  }
  return HL_OK;
}

/* -- BatchNormalization and Dropout ---------------------------------------------------------- */

/* Outputs 1 and 2 are the running statistics, of training only. */
static hl_status check_batch_norm(const hl_graph *graph, const hl_node *node, bool training,
                                  hl_error *error) {
  bool old = graph->opset < 7 && hl_node_int(node, "is_test", 0) == 0;
  if (old || (training && graph->opset < 14) || hl_node_int(node, "spatial", 1) != 1)
    return hl_op_fail(node, HL_UNIMPLEMENTED, error,
                      "training mode before opset 14 and per-element statistics. Export the model "
                      "for inference, in torch after model.eval()");
  for (size_t i = training ? 3 : 1; i < node->output_count; i++)
    if (hl_node_output(graph, node, i))
      return hl_op_fail(
          node, HL_UNIMPLEMENTED, error,
          "it was exported in training mode (output %zu is a statistic): export the model "
          "for inference, in torch after model.eval(); hotlap train trains that one",
          i);
  return HL_OK;
}

hl_status hl_infer_batch_norm(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  bool training = hl_node_int(node, "training_mode", 0) != 0;
  hl_status status = check_batch_norm(graph, node, training, error);
  if (status != HL_OK) return status;
  if (x->shape.rank < 1) return hl_op_fail(node, HL_BAD_DATA, error, "the input is a scalar");
  int64_t channels = x->shape.rank > 1 ? x->shape.dims[1] : 1;
  for (size_t i = 1; i < 5; i++) {
    const hl_value *v = hl_node_input(graph, node, i);
    if (v->shape.rank != 1 ||
        (channels >= 0 && v->shape.dims[0] >= 0 && v->shape.dims[0] != channels))
      return hl_op_fail(node, HL_BAD_DATA, error, "'%.60s' must have %lld elements", v->name,
                        (long long)channels);
  }
  for (size_t i = 1; i < 3; i++) {
    const hl_value *from = hl_node_input(graph, node, i + 2);
    hl_op_set(hl_node_output(graph, node, i), from->dtype, 1, from->shape.dims);
  }
  return hl_op_infer_same(graph, node, error);
}

/* Mean and variance of each channel over the batch. */
static void batch_moments(const hl_tensor_view *x, int64_t channels, int64_t plane,
                          double *ret_mean, double *ret_variance) {
  int64_t count = hl_view_elements(x);
  if (count == 0 || channels == 0) return;
  double size = (double)(count / channels);
  for (int64_t i = 0; i < count; i++) ret_mean[i / plane % channels] += hl_view_get(x, i) / size;
  for (int64_t i = 0; i < count; i++) {
    double d = hl_view_get(x, i) - ret_mean[i / plane % channels];
    ret_variance[i / plane % channels] += d * d / size;
  }
}

/* Training normalises by the batch and moves the running statistics towards it. */
hl_status hl_evaluate_batch_norm(const hl_graph *graph, const hl_node *node,
                                 const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                 hl_error *error) {
  (void)graph;
  double epsilon = (double)hl_node_real(node, "epsilon", 1e-5f);
  double momentum = (double)hl_node_real(node, "momentum", 0.9f);
  bool training = hl_node_int(node, "training_mode", 0) != 0;
  int64_t channels = inputs[0].rank > 1 ? inputs[0].dims[1] : 1,
          count = hl_view_elements(&inputs[0]);
  int64_t plane =
      hl_op_product(inputs[0].dims, 2 < inputs[0].rank ? 2 : inputs[0].rank, inputs[0].rank);
  HL_CLEANUP(hl_free_pointer) double *mean = calloc((size_t)channels + 1, sizeof *mean);
  HL_CLEANUP(hl_free_pointer) double *variance = calloc((size_t)channels + 1, sizeof *variance);
  if (!mean || !variance) return hl_op_no_memory(node, error);
  if (training) batch_moments(&inputs[0], channels, plane, mean, variance);
  for (int64_t c = 0; c < channels; c++) {
    double given_mean = hl_view_get(&inputs[3], c), given_variance = hl_view_get(&inputs[4], c);
    if (!training) mean[c] = given_mean, variance[c] = given_variance;
    if (node->output_count > 1 && outputs[1].data)
      hl_view_put(&outputs[1], c, given_mean * momentum + mean[c] * (1 - momentum));
    if (node->output_count > 2 && outputs[2].data)
      hl_view_put(&outputs[2], c, given_variance * momentum + variance[c] * (1 - momentum));
  }
  for (int64_t i = 0; i < count; i++) {
    int64_t c = i / plane % channels;
    double y = (hl_view_get(&inputs[0], i) - mean[c]) / sqrt(variance[c] + epsilon);
    hl_view_put(&outputs[0], i, y * hl_view_get(&inputs[1], c) + hl_view_get(&inputs[2], c));
  }
  return HL_OK;
}

hl_status hl_infer_dropout(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0), *training = hl_node_input(graph, node, 2);
  if (training && (!training->data || hl_shape_elements(&training->shape) != 1 ||
                   *(const unsigned char *)training->data))
    return hl_op_fail(
        node, HL_UNIMPLEMENTED, error,
        "it was exported in training mode: export the model for inference, in torch after "
        "model.eval(); hotlap train drops all the same");
  hl_op_set(hl_node_output(graph, node, 1), HL_BOOL, x->shape.rank, x->shape.dims);
  return hl_op_infer_same(graph, node, error);
}

hl_status hl_evaluate_dropout(const hl_graph *graph, const hl_node *node,
                              const hl_tensor_view *inputs, hl_tensor_view *outputs,
                              hl_error *error) {
  if (node->output_count > 1 && outputs[1].data)
    memset(outputs[1].data, 1, (size_t)outputs[1].bytes);
  return hl_evaluate_copy(graph, node, inputs, outputs, error);
}
