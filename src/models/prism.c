/*
 * PRISM's generator: a picture from nothing but weights, which are trained until it shows what was
 * measured.
 *
 * A learnable vector of `size` channels and one pixel, a transposed convolution to 4 x 4, further
 * ones that double the picture until it is as large as the object, convolutions down to one
 * channel, the last without padding. Channels halve from layer to layer. The picture, two pixels
 * smaller than the object, is padded with zeros to `size`.
 *
 * Upstream has no input and a batch of 1. Here "noise" (batch, size, 1, 1) is added to the
 * learnable vector, so that there is a batch to vary and an output that depends on it; zeros give
 * upstream's.
 */
#include "models/network.h"

#include <string.h>

#define SMALLEST 4 /* pixels across after the first layer */

static bool power_of_two(int64_t x) {
  return (x & (x - 1)) == 0;
}

hl_status hl_check_prism_generator(hl_model_spec *spec, hl_error *error) {
  int64_t size = hl_model_int(spec, "size"), object = hl_model_int(spec, "object");
  if (!power_of_two(size)) return hl_model_refuse(spec, "size", "a power of two", error);
  if (!power_of_two(object) || object > size)
    return hl_model_refuse(spec, "object", "a power of two that is not above size", error);
  return HL_OK;
}

static hl_value_id norm_relu(hl_network *n, const char *name, hl_value_id x, int64_t channels) {
  x = hl_net_batch_norm(n, hl_name(n, "%s.norm", name), x, channels, 1);
  return hl_net_op1(n, "Relu", hl_name(n, "%s.relu", name), x);
}

/* To twice the size, or from 1 x 1 to 4 x 4. A pixel sees a quarter of the 4 x 4 weights, or one.
 */
static hl_value_id enlarge(hl_network *n, const char *name, hl_value_id x, int64_t in, bool first) {
  hl_conv conv = {.spatial = 2,
                  .in = in,
                  .out = in / 2,
                  .kernel = 4,
                  .stride = first ? 1 : 2,
                  .trim = first ? 0 : 1,
                  .gain = first ? 4 * HL_GAIN_LINEAR : 2 * HL_GAIN_RELU};
  return norm_relu(n, name, hl_net_conv_transpose(n, name, x, &conv), conv.out);
}

/* Fewer channels; the last layer has a bias, no norm and no padding. */
static hl_value_id refine(hl_network *n, const char *name, hl_value_id x, int64_t in) {
  bool last = in == 2;
  hl_conv conv = {.spatial = 2,
                  .in = in,
                  .out = in / 2,
                  .kernel = 3,
                  .stride = 1,
                  .trim = last,
                  .gain = HL_GAIN_RELU,
                  .bias = last};
  x = hl_net_conv(n, name, x, &conv);
  return last ? x : norm_relu(n, name, x, conv.out);
}

static hl_value_id pad(hl_network *n, hl_value_id x, int64_t width) {
  hl_value_id pads =
      hl_net_ints(n, "pad.pads", 8, (int64_t[]){0, 0, width, width, 0, 0, width, width});
  return hl_net_op2(n, "Pad", "pad", x, pads);
}

void hl_build_prism_generator(hl_network *n) {
  int64_t size = hl_model_int(n->spec, "size"), object = hl_model_int(n->spec, "object");
  int64_t channels = size, dims[] = {1, size, 1, 1};
  hl_value_id learnt = hl_net_random(n, "input_vec", 4, dims, 0, 1);
  dims[0] = -1;
  hl_value_id x = hl_net_op2(n, "Add", "input", hl_net_input(n, "noise", 4, dims), learnt);
  int layer = 0;
  for (int64_t width = SMALLEST; width <= object; width *= 2, channels /= 2, layer++)
    x = enlarge(n, hl_name(n, "upsample%d", layer), x, channels, width == SMALLEST);
  for (layer = 0; channels > 1; channels /= 2, layer++)
    x = refine(n, hl_name(n, "refine%d", layer), x, channels);
  if (strcmp(hl_model_text(n->spec, "activation"), "sigmoid") == 0)
    x = hl_net_op1(n, "Sigmoid", "sigmoid", x);
  x = pad(n, x, (size - object) / 2 + 1);
  hl_net_output(n, x, "image", 4, (int64_t[]){-1, 1, size, size});
}
