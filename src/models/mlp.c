/* A multi-layer perceptron: linear layers with a ReLU between them. */
#include "models/network.h"

static size_t layer_sizes(const hl_model_spec *spec, int64_t ret_sizes[HL_MODEL_SIZE_COUNT]) {
  if (hl_model_given(spec, "dims")) return hl_model_sizes(spec, "dims", ret_sizes);
  ret_sizes[0] = ret_sizes[3] = hl_model_int(spec, "input_dim");
  ret_sizes[1] = ret_sizes[2] = hl_model_int(spec, "hidden_dim");
  return 4;
}

hl_status hl_check_mlp(hl_model_spec *spec, hl_error *error) {
  if (hl_model_given(spec, "dims") &&
      (hl_model_given(spec, "input_dim") || hl_model_given(spec, "hidden_dim")))
    return hl_model_refuse(spec, "dims",
                           "dims alone, or input_dim and hidden_dim, which say the same", error);
  int64_t sizes[HL_MODEL_SIZE_COUNT];
  size_t count = layer_sizes(spec, sizes);
  double weights = 0;
  for (size_t i = 1; i < count; i++) weights += (double)(sizes[i - 1] + 1) * (double)sizes[i];
  return hl_model_limit(spec, weights, error);
}

void hl_build_mlp(hl_network *n) {
  int64_t sizes[HL_MODEL_SIZE_COUNT];
  size_t count = layer_sizes(n->spec, sizes);
  hl_value_id x = hl_net_input(n, "input", 2, (int64_t[]){-1, sizes[0]});
  for (size_t i = 1; i < count; i++) {
    double gain = i == 1 ? HL_GAIN_LINEAR : HL_GAIN_RELU;
    x = hl_net_linear(n, hl_name(n, "fc%zu", i), x, sizes[i - 1], sizes[i], gain);
    if (i + 1 < count) x = hl_net_op1(n, "Relu", hl_name(n, "relu%zu", i), x);
  }
  hl_net_output(n, x, "output", 2, (int64_t[]){-1, sizes[count - 1]});
}
