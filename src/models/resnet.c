/* ResNet-50 v1.5, as torchvision has it: the stride of a bottleneck is in its 3x3 convolution. */
#include "models/network.h"

/* Scale of the last normalisation of a residual branch, so that 16 of them do not drown the stream.
 * With random weights every branch magnifies rounding: at 0.4 the input's rounding to bfloat16
 * alone moved the logits by 4 % of the largest, at 0.2 by 0.6 %, as in a trained network. */
#define BRANCH_GAMMA 0.2
#define EXPANSION 4

/* Convolution without bias, then batch normalisation. */
static hl_value_id conv_norm(hl_network *n, const char *conv_name, const char *norm_name,
                             hl_value_id x, const hl_conv *conv, double gamma) {
  x = hl_net_conv(n, conv_name, x, conv);
  return hl_net_batch_norm(n, norm_name, x, conv->out, gamma);
}

static hl_conv window(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  return (hl_conv){
      .spatial = 2, .in = in, .out = out, .kernel = kernel, .stride = stride, .gain = HL_GAIN_RELU};
}

static hl_value_id bottleneck(hl_network *n, const char *name, hl_value_id x, int64_t in,
                              int64_t width, int64_t stride) {
  int64_t out = EXPANSION * width;
  hl_conv reduce = window(in, width, 1, 1), spatial = window(width, width, 3, stride);
  hl_conv expand = window(width, out, 1, 1), shortcut = window(in, out, 1, stride);
  hl_value_id y =
      conv_norm(n, hl_name(n, "%s.conv1", name), hl_name(n, "%s.bn1", name), x, &reduce, 1);
  y = hl_net_op1(n, "Relu", hl_name(n, "%s.relu1", name), y);
  y = conv_norm(n, hl_name(n, "%s.conv2", name), hl_name(n, "%s.bn2", name), y, &spatial, 1);
  y = hl_net_op1(n, "Relu", hl_name(n, "%s.relu2", name), y);
  y = conv_norm(n, hl_name(n, "%s.conv3", name), hl_name(n, "%s.bn3", name), y, &expand,
                BRANCH_GAMMA);
  if (in != out)
    x = conv_norm(n, hl_name(n, "%s.downsample.0", name), hl_name(n, "%s.downsample.1", name), x,
                  &shortcut, 1);
  y = hl_net_op2(n, "Add", hl_name(n, "%s.add", name), y, x);
  return hl_net_op1(n, "Relu", hl_name(n, "%s.relu3", name), y);
}

static hl_value_id stem(hl_network *n, hl_value_id x) {
  hl_conv first = window(3, 64, 7, 2);
  first.gain = HL_GAIN_LINEAR;
  x = conv_norm(n, "conv1", "bn1", x, &first, 1);
  x = hl_net_op1(n, "Relu", "relu", x);
  hl_node *node = hl_net_node(n, "MaxPool", "maxpool", (hl_value_id[]){x}, 1, &x);
  hl_node_set_ints(n->graph, node, "kernel_shape", (int64_t[]){3, 3}, 2);
  hl_node_set_ints(n->graph, node, "strides", (int64_t[]){2, 2}, 2);
  hl_node_set_ints(n->graph, node, "pads", (int64_t[]){1, 1, 1, 1}, 4);
  return x;
}

void hl_build_resnet50(hl_network *n) {
  static const int blocks[] = {3, 4, 6, 3};
  n->kept_mean = 0.5;
  hl_value_id x = stem(n, hl_net_input(n, "input", 4, (int64_t[]){-1, 3, 224, 224}));
  int64_t in = 64;
  for (int stage = 0; stage < 4; stage++) {
    int64_t width = (int64_t)64 << stage;
    for (int i = 0; i < blocks[stage]; i++) {
      int64_t stride = stage && !i ? 2 : 1;
      x = bottleneck(n, hl_name(n, "layer%d.%d", stage + 1, i), x, in, width, stride);
      in = EXPANSION * width;
    }
  }
  x = hl_net_op1(n, "GlobalAveragePool", "avgpool", x);
  x = hl_net_op1(n, "Flatten", "flatten", x);
  x = hl_net_linear(n, "fc", x, in, 1000, 2 * HL_GAIN_RELU);
  hl_net_output(n, x, "logits", 2, (int64_t[]){-1, 1000});
}
