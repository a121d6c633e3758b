/*
 * PtychoPINN's autoencoder: diffraction amplitudes to the amplitude and phase of the object.
 *
 * Input "diffraction" (batch, gridsize^2, N, N), outputs "amplitude" and "phase" of the same net.
 * The merging of patches, the positions and the physics are no part of the network.
 *
 * Upstream normalises diffraction to X * intensity_scale, with a mean of sum(X^2) over the images
 * of (N/2)^2, and divides by the scale first. So does this network: its first node multiplies by
 * 1 / intensity_scale, where intensity_scale = sqrt(1e9 photons) / (N/2), and what follows sees a
 * root mean square of 1/2.
 */
#include "models/network.h"

#include <math.h>
#include <string.h>

#define PHOTONS 1e9
#define HEAD_1_CHANNELS 60 /* of 64; head 2, where there is one, has the last 4 */
#define HEAD_2_CHANNELS 4
#define PI 3.14159265358979f

/* A 3x3 convolution with bias that keeps the size. */
static hl_value_id conv(hl_network *n, const char *name, hl_value_id x, int64_t in, int64_t out,
                        double gain) {
  return hl_net_conv(n, name, x,
                     &(hl_conv){.spatial = 2,
                                .in = in,
                                .out = out,
                                .kernel = 3,
                                .stride = 1,
                                .gain = gain,
                                .bias = true});
}

/* conv, ReLU, conv, ReLU */
static hl_value_id two_convs(hl_network *n, const char *name, hl_value_id x, int64_t in,
                             int64_t out, double gain) {
  x = conv(n, hl_name(n, "%s.conv1", name), x, in, out, gain);
  x = hl_net_op1(n, "Relu", hl_name(n, "%s.relu1", name), x);
  x = conv(n, hl_name(n, "%s.conv2", name), x, out, out, HL_GAIN_RELU);
  return hl_net_op1(n, "Relu", hl_name(n, "%s.relu2", name), x);
}

static hl_value_id max_pool(hl_network *n, const char *name, hl_value_id x) {
  hl_value_id output;
  hl_node *node = hl_net_node(n, "MaxPool", name, &x, 1, &output);
  hl_node_set_ints(n->graph, node, "kernel_shape", (int64_t[]){2, 2}, 2);
  hl_node_set_ints(n->graph, node, "strides", (int64_t[]){2, 2}, 2);
  return output;
}

/* Nearest neighbour: each pixel becomes 2 x 2. */
static hl_value_id upsample(hl_network *n, const char *name, hl_value_id x) {
  hl_value_id output;
  hl_value_id scales = hl_graph_constant(n->graph, hl_name(n, "%s.scales", name), HL_FLOAT32, 1,
                                         (int64_t[]){4}, (float[]){1, 1, 2, 2});
  hl_node *node = hl_net_node(n, "Resize", name, (hl_value_id[]){x, -1, scales}, 3, &output);
  hl_node_set_text(n->graph, node, "mode", "nearest");
  hl_node_set_text(n->graph, node, "coordinate_transformation_mode", "asymmetric");
  hl_node_set_text(n->graph, node, "nearest_mode", "floor");
  return output;
}

static hl_value_id channels(hl_network *n, const char *name, hl_value_id x, int64_t from,
                            int64_t to) {
  hl_value_id inputs[] = {x, hl_net_ints(n, hl_name(n, "%s.starts", name), 1, &from),
                          hl_net_ints(n, hl_name(n, "%s.ends", name), 1, &to),
                          hl_net_ints(n, hl_name(n, "%s.axes", name), 1, (int64_t[]){1})};
  return hl_net_op(n, "Slice", name, inputs, 4);
}

/* Puts `value` around the two last axes of x, `width` pixels on each side. */
static hl_value_id pad(hl_network *n, const char *name, hl_value_id x, int64_t width, float value) {
  hl_value_id pads = hl_net_ints(n, hl_name(n, "%s.pads", name), 8,
                                 (int64_t[]){0, 0, width, width, 0, 0, width, width});
  hl_value_id fill = hl_net_scalar(n, hl_name(n, "%s.value", name), value);
  return hl_net_op(n, "Pad", name, (hl_value_id[]){x, pads, fill}, 3);
}

/* Sigmoid for the amplitude, pi tanh for the phase. */
static hl_value_id finish(hl_network *n, const char *name, hl_value_id x, bool phase) {
  if (!phase) return hl_net_op1(n, "Sigmoid", hl_name(n, "%s.sigmoid", name), x);
  hl_value_id y = hl_net_op1(n, "Tanh", hl_name(n, "%s.tanh", name), x);
  return hl_net_op2(n, "Mul", hl_name(n, "%s.mul", name), y,
                    hl_net_scalar(n, hl_name(n, "%s.pi", name), PI));
}

/* The last 4 channels, upsampled: swish outside the central square, 0 in it. */
static hl_value_id border_head(hl_network *n, const char *name, hl_value_id x, int64_t width,
                               int64_t patterns, hl_value_id border) {
  x = channels(n, hl_name(n, "%s.slice", name), x, HEAD_1_CHANNELS,
               HEAD_1_CHANNELS + HEAD_2_CHANNELS);
  x = two_convs(n, name, x, HEAD_2_CHANNELS, width, HL_GAIN_RELU);
  x = upsample(n, hl_name(n, "%s.upsample", name), x);
  x = conv(n, hl_name(n, "%s.conv3", name), x, width, patterns, HL_GAIN_RELU);
  hl_value_id gate = hl_net_op1(n, "Sigmoid", hl_name(n, "%s.sigmoid", name), x);
  x = hl_net_op2(n, "Mul", hl_name(n, "%s.swish", name), x, gate);
  return hl_net_op2(n, "Mul", hl_name(n, "%s.masked", name), x, border);
}

/* Channels of the blocks; they depend on N alone. */
typedef struct layout {
  int64_t size; /* N */
  int encoders, decoders;
  int64_t encoder[4], decoder[3];
} layout;

static const layout layouts[] = {
    {64, 3, 2, {64, 128, 256}, {128, 64}},
    {128, 4, 3, {32, 64, 128, 256}, {256, 128, 64}},
};

/* One decoder and its heads; `border` is -1 without head 2. */
static void decoder(hl_network *n, const char *name, hl_value_id x, const layout *net,
                    int64_t patterns, hl_value_id border) {
  bool phase = strcmp(name, "phase") == 0;
  int64_t in = net->encoder[net->encoders - 1];
  for (int i = 0; i < net->decoders; i++) {
    x = two_convs(n, hl_name(n, "%s.decoder%d", name, i + 1), x, in, net->decoder[i], HL_GAIN_RELU);
    x = upsample(n, hl_name(n, "%s.decoder%d.upsample", name, i + 1), x);
    in = net->decoder[i];
  }
  hl_value_id y = channels(n, hl_name(n, "%s.head1.slice", name), x, 0, HEAD_1_CHANNELS);
  y = conv(n, hl_name(n, "%s.head1", name), y, HEAD_1_CHANNELS, patterns, HL_GAIN_RELU);
  y = finish(n, hl_name(n, "%s.head1", name), y, phase);
  y = pad(n, hl_name(n, "%s.head1.pad", name), y, net->size / 4, 0);
  if (border >= 0) {
    hl_value_id z =
        border_head(n, hl_name(n, "%s.head2", name), x, net->encoder[0], patterns, border);
    y = hl_net_op2(n, "Add", hl_name(n, "%s.add", name), y, z);
  }
  hl_net_output(n, y, name, 4, (int64_t[]){-1, patterns, net->size, net->size});
}

void hl_build_ptychopinn(hl_network *n) {
  int64_t size = hl_model_int(n->spec, "N"), grid = hl_model_int(n->spec, "gridsize");
  int64_t patterns = grid * grid;
  const layout *net = &layouts[size == layouts[1].size];

  hl_value_id x = hl_net_input(n, "diffraction", 4, (int64_t[]){-1, patterns, size, size});
  n->kept_mean = 0.5;
  double intensity_scale = sqrt(PHOTONS) / ((double)size / 2);
  hl_value_id scale = hl_net_scalar(n, "normalise.scale", (float)(1 / intensity_scale));
  x = hl_net_op2(n, "Mul", "normalise", x, scale);

  int64_t in = patterns;
  for (int i = 0; i < net->encoders; i++) {
    double gain = i ? HL_GAIN_RELU : 2 * HL_GAIN_LINEAR; /* the input is 1/2, see above */
    x = two_convs(n, hl_name(n, "encoder%d", i + 1), x, in, net->encoder[i], gain);
    x = max_pool(n, hl_name(n, "encoder%d.pool", i + 1), x);
    in = net->encoder[i];
  }

  hl_value_id border = -1;
  if (hl_model_switch(n->spec, "probe_big")) {
    hl_value_id square = hl_graph_constant(n->graph, "border.square", HL_FLOAT32, 4,
                                           (int64_t[]){1, 1, size / 2, size / 2}, NULL);
    border = pad(n, "border", square, size / 4, 1);
  }
  decoder(n, "amplitude", x, net, patterns, border);
  decoder(n, "phase", x, net, patterns, border);
}
