/* Weights as int8 with a scale for each output channel, biases as int32. */
#include "base/text.h"
#include "quantize/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int hl__weight_axis(const hl_node *node) {
  if (strcmp(node->op, "MatMul") == 0) return 1;
  if (strcmp(node->op, "Gemm") == 0) return hl_node_int(node, "transB", 0) != 0 ? 0 : 1;
  return 0;
}

/* A constant named after another. */
static hl_value_id constant(hl_graph *graph, const char *of, const char *suffix, hl_dtype dtype,
                            int32_t rank, const int64_t *dims) {
  HL_CLEANUP(hl_free_pointer) char *name = hl_format("%s_%s", of, suffix);
  if (name && hl_graph_find(graph, name) >= 0) { /* shared weights: of each use its own */
    free(name);
    name = hl_format("%s_%s_%zu", of, suffix, graph->value_count);
  }
  return hl_graph_constant(graph, name ? name : "", dtype, rank, dims, NULL);
}

static hl_value_id dequantize(hl_graph *graph, const char *of, hl_value_id data, hl_value_id scale,
                              hl_value_id zero, int axis) {
  hl_value_id out = -1, inputs[] = {data, scale, zero};
  HL_CLEANUP(hl_free_pointer) char *name = hl_format("%s_dequantize_%zu", of, graph->node_count);
  hl_node *node = hl_graph_node(graph, "DequantizeLinear", name ? name : "", inputs, 3, &out, 1);
  hl_node_set_int(graph, node, "axis", axis);
  return out;
}

/* Walks over the elements of one channel: outer blocks of `inner` neighbours. */
typedef struct channels {
  int64_t outer, count, inner;
} channels;

static channels channels_of(const hl_shape *shape, int axis) {
  channels c = {1, shape->dims[axis], 1};
  for (int i = 0; i < axis; i++) c.outer *= shape->dims[i];
  for (int i = axis + 1; i < shape->rank; i++) c.inner *= shape->dims[i];
  return c;
}

/* Largest magnitude of each channel / 127; false if one is not finite. */
static bool find_scales(const hl_value *w, channels c, float *scales) {
  for (int64_t k = 0; k < c.count; k++) scales[k] = 0;
  for (int64_t o = 0; o < c.outer; o++)
    for (int64_t k = 0; k < c.count; k++)
      for (int64_t i = 0; i < c.inner; i++) {
        float x = fabsf(hl__element(w, (o * c.count + k) * c.inner + i));
        if (!(x <= 3.402823466e38f)) return false;
        if (x > scales[k]) scales[k] = x;
      }
  for (int64_t k = 0; k < c.count; k++) scales[k] = scales[k] >= 1e-30f ? scales[k] / 127 : 1;
  return true;
}

/* A bias beyond int32 in the scale of the product takes a coarser scale of its channel. */
static void fit_bias(const hl_value *bias, channels c, float x_scale, float *scales) {
  for (int64_t k = 0; k < c.count; k++) {
    double least = fabs((double)hl__element(bias, k)) / ((double)x_scale * 2e9);
    if ((double)scales[k] < least) scales[k] = (float)least;
  }
}

static void round_weights(const hl_value *w, channels c, const float *scales, int8_t *to) {
  for (int64_t o = 0; o < c.outer; o++)
    for (int64_t k = 0; k < c.count; k++)
      for (int64_t i = 0; i < c.inner; i++) {
        int64_t at = (o * c.count + k) * c.inner + i;
        float x = nearbyintf(hl__element(w, at) / scales[k]);
        to[at] = (int8_t)(x < -127 ? -127 : x > 127 ? 127 : x);
      }
}

static hl_value_id quantize_bias(hl_graph *graph, hl_value bias, const float *scales,
                                 float x_scale) {
  int64_t count = bias.shape.dims[0];
  hl_value_id data = constant(graph, bias.name, "quantized", HL_INT32, 1, &count);
  hl_value_id scale = constant(graph, bias.name, "scale", HL_FLOAT32, 1, &count);
  hl_value_id zero = constant(graph, bias.name, "zero_point", HL_INT32, 1, &count);
  int32_t *to = data < 0 ? NULL : hl_graph_data(graph, data);
  float *factors = scale < 0 ? NULL : hl_graph_data(graph, scale);
  if (!to || !factors || zero < 0) return -1;
  for (int64_t k = 0; k < count; k++) {
    factors[k] = scales[k] * x_scale;
    double x = nearbyint((double)hl__element(&bias, k) / (double)factors[k]);
    to[k] = (int32_t)(x < -2147483647.0 ? -2147483647.0 : x > 2147483647.0 ? 2147483647.0 : x);
  }
  return dequantize(graph, bias.name, data, scale, zero, 0);
}

hl_status hl__quantize_weights(hl_graph *graph, size_t node, float x_scale,
                               hl_value_id *ret_weights, hl_value_id *ret_bias,
                               hl_quantize_summary *summary, hl_error *error) {
  const hl_node *at = &graph->nodes[node];
  const hl_value *bias = at->input_count > 2 ? hl__constant(graph, at->inputs[2]) : NULL;
  hl_value w = *hl__constant(graph, at->inputs[1]), b = bias ? *bias : w;
  bool gemm_bias = bias && bias->shape.rank == 1;
  int axis = hl__weight_axis(at);
  channels c = channels_of(&w.shape, axis);
  hl_value_id data = constant(graph, w.name, "quantized", HL_INT8, w.shape.rank, w.shape.dims);
  hl_value_id scale = constant(graph, w.name, "scale", HL_FLOAT32, 1, &c.count);
  hl_value_id zero = constant(graph, w.name, "zero_point", HL_INT8, 1, &c.count);
  if (data < 0 || scale < 0 || zero < 0) return hl_graph_status(graph, error);
  float *scales = hl_graph_data(graph, scale);
  bool finite = find_scales(&w, c, scales);
  for (int64_t k = 0; gemm_bias && finite && k < c.count; k++)
    finite = fabsf(hl__element(&b, k)) <= 3.402823466e38f;
  if (!finite)
    return hl_error_set(error, HL_BAD_DATA,
                        "weight '%.200s' holds numbers that are not finite; no scale fits them",
                        w.name);
  if (gemm_bias) fit_bias(&b, c, x_scale, scales);
  round_weights(&w, c, scales, hl_graph_data(graph, data));
  *ret_weights = dequantize(graph, w.name, data, scale, zero, axis);
  *ret_bias = gemm_bias ? quantize_bias(graph, b, scales, x_scale) : -1;
  summary->float_bytes += w.bytes;
  summary->quantized_bytes += w.bytes / sizeof(float) + (uint64_t)c.count * sizeof(float);
  return hl_graph_status(graph, error);
}
