#include "models/network.h"

#include "numeric/random.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* Fewer input channels than this keep their plain random weights: a mean over a few numbers is
 * most of what they say. */
#define CENTRED_CHANNELS 16
#define NAME_BYTES 128

const char *hl_name(hl_network *n, const char *format, ...) {
  char name[NAME_BYTES];
  va_list args;
  va_start(args, format);
  vsnprintf(name, sizeof name, format, args);
  va_end(args);
  const char *kept = hl_arena_text(&n->graph->arena, name);
  return kept ? kept : "";
}

hl_value_id hl_net_input(hl_network *n, const char *name, int32_t rank, const int64_t *dims) {
  hl_value_id value = hl_graph_input(n->graph, name, HL_FLOAT32, rank, dims);
  hl_graph_symbol(n->graph, value, 0, "batch");
  return value;
}

void hl_net_output(hl_network *n, hl_value_id value, const char *name, int32_t rank,
                   const int64_t *dims) {
  if (value < 0) return; /* failed before, see hl_graph_status */
  hl_shape *shape = &n->graph->values[value].shape;
  shape->rank = rank;
  for (int32_t i = 0; i < rank; i++) shape->dims[i] = dims[i];
  n->graph->values[value].dtype = HL_FLOAT32;
  hl_graph_symbol(n->graph, value, 0, "batch");
  hl_graph_rename(n->graph, value, name);
  hl_graph_output(n->graph, value);
}

/* -- constants -------------------------------------------------------------------------------- */

static int64_t product(const int64_t *dims, int32_t rank) {
  int64_t count = 1;
  for (int32_t i = 0; i < rank; i++) count *= dims[i];
  return count;
}

hl_value_id hl_net_random(hl_network *n, const char *name, int32_t rank, const int64_t *dims,
                          double mean, double deviation) {
  hl_value_id value = hl_graph_constant(n->graph, name, HL_FLOAT32, rank, dims, NULL);
  float *data = hl_graph_data(n->graph, value);
  double half = deviation * sqrt(3); /* a uniform of half-width h has deviation h / sqrt 3 */
  if (data)
    hl_random_fill_uniform(data, (size_t)product(dims, rank), mean - half, mean + half, n->seed,
                           hl_random_stream(name));
  return value;
}

/* Takes `part` of the mean over the second axis out of data (outer, axis, inner). */
static void centre(float *data, int64_t outer, int64_t axis, int64_t inner, double part) {
  double means[512];
  for (int64_t o = 0; o < outer; o++) {
    float *block = data + o * axis * inner;
    for (int64_t from = 0; from < inner; from += (int64_t)HL_COUNT(means)) {
      int64_t width =
          inner - from < (int64_t)HL_COUNT(means) ? inner - from : (int64_t)HL_COUNT(means);
      for (int64_t i = 0; i < width; i++) means[i] = 0;
      for (int64_t a = 0; a < axis; a++)
        for (int64_t i = 0; i < width; i++) means[i] += (double)block[a * inner + from + i];
      for (int64_t i = 0; i < width; i++) means[i] = means[i] / (double)axis * part;
      for (int64_t a = 0; a < axis; a++)
        for (int64_t i = 0; i < width; i++) block[a * inner + from + i] -= (float)means[i];
    }
  }
}

hl_value_id hl_net_weight(hl_network *n, const char *name, int32_t rank, const int64_t *dims,
                          bool by_row, double gain) {
  int64_t taps = product(dims + 2, rank - 2), in = by_row ? dims[1] : dims[0];
  double deviation = gain / sqrt((double)(in * taps));
  hl_value_id value = hl_net_random(n, name, rank, dims, 0, deviation);
  float *data = hl_graph_data(n->graph, value);
  if (!data || in < CENTRED_CHANNELS) return value;
  if (by_row)
    centre(data, dims[0], in, taps, 1 - n->kept_mean);
  else
    centre(data, 1, in, dims[1] * taps, 1 - n->kept_mean);
  return value;
}

hl_value_id hl_net_scalar(hl_network *n, const char *name, float value) {
  return hl_graph_constant(n->graph, name, HL_FLOAT32, 0, NULL, &value);
}

hl_value_id hl_net_ints(hl_network *n, const char *name, size_t count, const int64_t *values) {
  return hl_graph_constant(n->graph, name, HL_INT64, 1, (int64_t[]){(int64_t)count}, values);
}

/* A small random vector: biases, and the offsets of normalisations. */
static hl_value_id vector(hl_network *n, const char *name, int64_t size, double mean,
                          double deviation) {
  return hl_net_random(n, name, 1, &size, mean, deviation);
}

/* -- nodes ------------------------------------------------------------------------------------ */

hl_node *hl_net_node(hl_network *n, const char *op, const char *name, const hl_value_id *inputs,
                     size_t input_count, hl_value_id *ret_output) {
  hl_value_id output = -1; /* `ret_output` may be one of `inputs` */
  hl_node *node = hl_graph_node(n->graph, op, name, inputs, input_count, &output, 1);
  *ret_output = output;
  return node;
}

hl_value_id hl_net_op(hl_network *n, const char *op, const char *name, const hl_value_id *inputs,
                      size_t input_count) {
  hl_value_id output;
  hl_net_node(n, op, name, inputs, input_count, &output);
  return output;
}

hl_value_id hl_net_op1(hl_network *n, const char *op, const char *name, hl_value_id a) {
  return hl_net_op(n, op, name, &a, 1);
}

hl_value_id hl_net_op2(hl_network *n, const char *op, const char *name, hl_value_id a,
                       hl_value_id b) {
  return hl_net_op(n, op, name, (hl_value_id[]){a, b}, 2);
}

/* -- layers ----------------------------------------------------------------------------------- */

static void set_window(hl_network *n, hl_node *node, const hl_conv *conv, int64_t pad) {
  int64_t kernel[3], strides[3], pads[6];
  size_t axes = (size_t)conv->spatial;
  for (size_t i = 0; i < axes; i++) {
    kernel[i] = conv->kernel;
    strides[i] = conv->stride;
    pads[i] = pads[i + axes] = pad;
  }
  hl_node_set_ints(n->graph, node, "kernel_shape", kernel, axes);
  hl_node_set_ints(n->graph, node, "strides", strides, axes);
  hl_node_set_ints(n->graph, node, "pads", pads, 2 * axes);
}

static hl_value_id convolve(hl_network *n, const char *op, const char *name, hl_value_id x,
                            const hl_conv *conv, bool forward) {
  int64_t k = conv->kernel, dims[] = {conv->out, conv->in, k, k, k};
  if (!forward) {
    dims[0] = conv->in;
    dims[1] = conv->out;
  }
  hl_value_id inputs[3] = {x};
  size_t count = 2;
  inputs[1] =
      hl_net_weight(n, hl_name(n, "%s.weight", name), 2 + conv->spatial, dims, forward, conv->gain);
  if (conv->bias) inputs[count++] = vector(n, hl_name(n, "%s.bias", name), conv->out, 0, 0.05);
  hl_value_id output;
  hl_node *node = hl_net_node(n, op, name, inputs, count, &output);
  int64_t pad = k % 2 ? (k - 1) / 2 : 0;
  set_window(n, node, conv, forward ? pad - conv->trim : conv->trim);
  return output;
}

hl_value_id hl_net_conv(hl_network *n, const char *name, hl_value_id x, const hl_conv *conv) {
  return convolve(n, "Conv", name, x, conv, true);
}

hl_value_id hl_net_conv_transpose(hl_network *n, const char *name, hl_value_id x,
                                  const hl_conv *conv) {
  return convolve(n, "ConvTranspose", name, x, conv, false);
}

hl_value_id hl_net_linear(hl_network *n, const char *name, hl_value_id x, int64_t in, int64_t out,
                          double gain) {
  hl_value_id weight =
      hl_net_weight(n, hl_name(n, "%s.weight", name), 2, (int64_t[]){out, in}, true, gain);
  hl_value_id bias = vector(n, hl_name(n, "%s.bias", name), out, 0, 0.05), output;
  hl_node *node = hl_net_node(n, "Gemm", name, (hl_value_id[]){x, weight, bias}, 3, &output);
  hl_node_set_int(n->graph, node, "transB", 1);
  return output;
}

hl_value_id hl_net_project(hl_network *n, const char *name, hl_value_id x, int64_t in, int64_t out,
                           double gain) {
  hl_value_id weight =
      hl_net_weight(n, hl_name(n, "%s.weight", name), 2, (int64_t[]){in, out}, false, gain);
  hl_value_id bias = vector(n, hl_name(n, "%s.bias", name), out, 0, 0.05);
  hl_value_id y = hl_net_op2(n, "MatMul", hl_name(n, "%s.matmul", name), x, weight);
  return hl_net_op2(n, "Add", hl_name(n, "%s.add", name), y, bias);
}

hl_value_id hl_net_batch_norm(hl_network *n, const char *name, hl_value_id x, int64_t channels,
                              double gamma) {
  hl_value_id output, inputs[] = {
                          x,
                          vector(n, hl_name(n, "%s.weight", name), channels, gamma, 0.1 * gamma),
                          vector(n, hl_name(n, "%s.bias", name), channels, 0, 0.1 * gamma),
                          vector(n, hl_name(n, "%s.running_mean", name), channels, 0, 0.1),
                          vector(n, hl_name(n, "%s.running_var", name), channels, 1, 0.1),
                      };
  hl_node *node = hl_net_node(n, "BatchNormalization", name, inputs, 5, &output);
  hl_node_set_real(n->graph, node, "epsilon", 1e-5f);
  return output;
}

hl_value_id hl_net_instance_norm(hl_network *n, const char *name, hl_value_id x, int64_t channels) {
  hl_value_id output, scale = vector(n, hl_name(n, "%s.weight", name), channels, 1, 0.1);
  hl_value_id bias = vector(n, hl_name(n, "%s.bias", name), channels, 0, 0.1);
  hl_node *node =
      hl_net_node(n, "InstanceNormalization", name, (hl_value_id[]){x, scale, bias}, 3, &output);
  hl_node_set_real(n->graph, node, "epsilon", 1e-5f);
  return output;
}

hl_value_id hl_net_layer_norm(hl_network *n, const char *name, hl_value_id x, int64_t width,
                              float epsilon) {
  hl_value_id output, scale = vector(n, hl_name(n, "%s.weight", name), width, 1, 0.1);
  hl_value_id bias = vector(n, hl_name(n, "%s.bias", name), width, 0, 0.1);
  hl_node *node =
      hl_net_node(n, "LayerNormalization", name, (hl_value_id[]){x, scale, bias}, 3, &output);
  hl_node_set_int(n->graph, node, "axis", -1);
  hl_node_set_real(n->graph, node, "epsilon", epsilon);
  return output;
}

hl_value_id hl_net_gelu(hl_network *n, const char *name, hl_value_id x) {
  hl_value_id root = hl_net_scalar(n, hl_name(n, "%s.sqrt_2", name), 1.41421356f);
  hl_value_id one = hl_net_scalar(n, hl_name(n, "%s.one", name), 1);
  hl_value_id half = hl_net_scalar(n, hl_name(n, "%s.half", name), 0.5f);
  hl_value_id y = hl_net_op2(n, "Div", hl_name(n, "%s.div", name), x, root);
  y = hl_net_op1(n, "Erf", hl_name(n, "%s.erf", name), y);
  y = hl_net_op2(n, "Add", hl_name(n, "%s.add", name), y, one);
  y = hl_net_op2(n, "Mul", hl_name(n, "%s.mul", name), x, y);
  return hl_net_op2(n, "Mul", hl_name(n, "%s.scale", name), y, half);
}
