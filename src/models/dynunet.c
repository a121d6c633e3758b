/*
 * MONAI's DynUNet as CytoDL's experiments configure it: filters 16/32/64, strides 1/2/2, kernel 3,
 * residual blocks going down, plain ones going up, affine instance normalisation.
 */
#include "models/network.h"

#include <string.h>

static const int64_t filters[] = {16, 32, 64};

static size_t patch_sizes(const hl_model_spec *spec, int64_t ret_sizes[HL_MODEL_SIZE_COUNT]) {
  bool volume = hl_model_int(spec, "dims") == 3;
  size_t count = hl_model_sizes(spec, "patch", ret_sizes);
  if (count) return count;
  ret_sizes[0] = volume ? 16 : 64;
  ret_sizes[1] = ret_sizes[2] = volume ? 32 : 64;
  return volume ? 3 : 2;
}

hl_status hl_check_dynunet(hl_model_spec *spec, hl_error *error) {
  bool volume = hl_model_int(spec, "dims") == 3;
  const char *usual = volume ? "16x32x32" : "64x64";
  if (strcmp(hl_model_text(spec, "patch"), usual) == 0) hl_model_set(spec, "patch", "auto");
  int64_t sizes[HL_MODEL_SIZE_COUNT];
  size_t count = patch_sizes(spec, sizes);
  bool right = count == (volume ? 3 : 2);
  for (size_t i = 0; right && i < count; i++) right = sizes[i] % 4 == 0;
  if (right) return HL_OK;
  return hl_model_refuse(spec, "patch",
                         volume ? "DxHxW of multiples of 4 (dims is 3), as 16x32x32"
                                : "HxW of multiples of 4 (dims is 2), as 64x64",
                         error);
}

static hl_value_id leaky_relu(hl_network *n, const char *name, hl_value_id x) {
  hl_value_id output;
  hl_node *node = hl_net_node(n, "LeakyRelu", name, &x, 1, &output);
  hl_node_set_real(n->graph, node, "alpha", 0.01f);
  return output;
}

/* Convolution without bias, then instance normalisation. */
static hl_value_id conv_norm(hl_network *n, const char *name, int number, hl_value_id x,
                             const hl_conv *conv) {
  x = hl_net_conv(n, hl_name(n, "%s.conv%d", name, number), x, conv);
  return hl_net_instance_norm(n, hl_name(n, "%s.norm%d", name, number), x, conv->out);
}

/* Two convolutions; `shortcut` adds the input, through a 1x1 convolution where its shape changes.
 */
static hl_value_id block(hl_network *n, const char *name, hl_value_id x, const hl_conv *first,
                         bool shortcut) {
  hl_conv second = *first, project = *first;
  second.in = first->out;
  second.stride = 1;
  project.kernel = 1;
  hl_value_id y = conv_norm(n, name, 1, x, first);
  y = leaky_relu(n, hl_name(n, "%s.lrelu1", name), y);
  y = conv_norm(n, name, 2, y, &second);
  if (shortcut) {
    bool changes = first->in != first->out || first->stride != 1;
    hl_value_id z = changes ? conv_norm(n, name, 3, x, &project) : x;
    y = hl_net_op2(n, "Add", hl_name(n, "%s.add", name), y, z);
  }
  return leaky_relu(n, hl_name(n, "%s.lrelu2", name), y);
}

/* Twice the size, joined with `skip`, then two convolutions. */
static hl_value_id up_block(hl_network *n, const char *name, hl_value_id x, hl_value_id skip,
                            const hl_conv *window) {
  hl_conv transposed = *window, first = *window;
  transposed.kernel = transposed.stride = 2;
  /* Each output pixel of a transposed convolution with stride = kernel sees one tap, not 2^axes. */
  transposed.gain = HL_GAIN_RELU * (window->spatial == 3 ? 2.83 : 2);
  first.in = 2 * window->out;
  x = hl_net_conv_transpose(n, hl_name(n, "%s.transp_conv", name), x, &transposed);
  hl_node *node =
      hl_net_node(n, "Concat", hl_name(n, "%s.concat", name), (hl_value_id[]){x, skip}, 2, &x);
  hl_node_set_int(n->graph, node, "axis", 1);
  return block(n, hl_name(n, "%s.conv_block", name), x, &first, false);
}

void hl_build_dynunet(hl_network *n) {
  int64_t dims[2 + HL_MODEL_SIZE_COUNT] = {-1, 1};
  int32_t spatial = (int32_t)patch_sizes(n->spec, dims + 2);
  hl_conv window = {.spatial = spatial, .in = 1, .kernel = 3, .gain = HL_GAIN_RELU};
  hl_value_id x = hl_net_input(n, "input", 2 + spatial, dims), skips[HL_COUNT(filters)];
  for (size_t i = 0; i < HL_COUNT(filters); i++) {
    window.out = filters[i];
    window.stride = i ? 2 : 1;
    const char *name = i == 0   ? "input_block"
                       : i == 2 ? "bottleneck"
                                : hl_name(n, "downsamples.%zu", i - 1);
    x = skips[i] = block(n, name, x, &window, true);
    window.in = filters[i];
  }
  window.stride = 1;
  for (size_t i = HL_COUNT(filters) - 1; i-- > 0;) {
    window.in = filters[i + 1];
    window.out = filters[i];
    x = up_block(n, hl_name(n, "upsamples.%zu", HL_COUNT(filters) - 2 - i), x, skips[i], &window);
  }
  hl_conv last = {.spatial = spatial,
                  .in = filters[0],
                  .out = 1,
                  .kernel = 1,
                  .stride = 1,
                  .gain = HL_GAIN_RELU,
                  .bias = true};
  x = hl_net_conv(n, "output_block.conv", x, &last);
  hl_net_output(n, x, "logits", 2 + spatial, dims);
}
