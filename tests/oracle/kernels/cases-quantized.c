/* Convolutions and products between QuantizeLinear and DequantizeLinear, as quantisers write them.
 */
#include "cases.h"

static hl_value_id of_type(maker *m, hl_dtype dtype, int64_t zero) {
  uint8_t byte = (uint8_t)zero;
  return maker_raw(m, dtype, 0, NULL, &byte);
}

/* x as 8 bits and back: scale and zero point for numbers of deviation 1, or positive ones. */
static hl_value_id rounded(maker *m, hl_value_id x, bool positive) {
  hl_dtype dtype = maker_chance(m, 70) ? HL_UINT8 : HL_INT8;
  int64_t zero =
      dtype == HL_UINT8 ? (positive ? 0 : MAKER_PICK(m, 117, 128)) : MAKER_PICK(m, 0, 0, -11);
  hl_value_id scale = maker_number(m, positive && dtype == HL_UINT8 ? 0.016f : 0.031f);
  hl_value_id at = of_type(m, dtype, zero);
  hl_value_id q = maker_apply(m, "QuantizeLinear", x, scale, at);
  return maker_apply(m, "DequantizeLinear", q, scale, at);
}

/* int8 weights of rank `rank`, a scale for each along `axis` or one for all. */
static hl_value_id weights(maker *m, int32_t rank, const int64_t *dims, int32_t axis, int64_t fan) {
  size_t count = 1;
  for (int32_t i = 0; i < rank; i++) count *= (size_t)dims[i];
  hl_value_id q = maker_raw(m, HL_INT8, rank, dims, NULL);
  int8_t *data = q >= 0 ? hl_graph_data(m->graph, q) : NULL;
  int64_t most = MAKER_PICK(m, 64, 127); /* of 7 bits, as for processors without VNNI, or all */
  for (size_t i = 0; data && i < count; i++)
    data[i] = (int8_t)((int64_t)hl_random_below(&m->data, (uint64_t)(2 * most + 1)) - most);
  bool each = maker_chance(m, 60);
  float scales[256];
  int64_t n = each ? dims[axis] : 1;
  for (int64_t i = 0; i < n; i++)
    scales[i] = (float)((0.5 + hl_random_uniform(&m->data)) / (0.58 * (double)most) /
                        __builtin_sqrt((double)fan));
  int8_t zeros[256] = {0};
  hl_value_id inputs[3] = {q, maker_raw(m, HL_FLOAT32, each ? 1 : 0, &n, scales),
                           maker_raw(m, HL_INT8, each ? 1 : 0, &n, zeros)};
  hl_node *node;
  hl_value_id w = maker_node(m, "DequantizeLinear", inputs, 3, &node);
  hl_node_set_int(m->graph, node, "axis", each ? axis : 1);
  return w;
}

static hl_value_id bias(maker *m, int64_t count) {
  return maker_constant(m, 1, &count, -1, 1);
}

static hl_value_id convolution(maker *m) {
  int64_t groups = MAKER_PICK(m, 1, 1, 1, 2, 4), kernel = MAKER_PICK(m, 1, 1, 2, 3, 3, 5);
  int64_t from = groups * MAKER_PICK(m, 1, 3, 4, 8, 16, 17),
          to = groups * MAKER_PICK(m, 1, 4, 8, 16, 20);
  int64_t stride = MAKER_PICK(m, 1, 1, 2);
  int64_t dims[4] = {maker_between(m, 1, 3), from, maker_between(m, kernel, 13),
                     maker_between(m, kernel, 13)};
  hl_text_format(&m->words, "[n %lld, %lld to %lld, groups %lld, %lld %lld by %lld/%lld] ",
                 (long long)dims[0], (long long)from, (long long)to, (long long)groups,
                 (long long)dims[2], (long long)dims[3], (long long)kernel, (long long)stride);
  int64_t of_w[4] = {to, from / groups, kernel, kernel};
  hl_value_id inputs[3] = {rounded(m, maker_input(m, 4, dims), false),
                           weights(m, 4, of_w, 0, of_w[1] * kernel * kernel)};
  bool with_bias = maker_chance(m, 60);
  if (with_bias) inputs[2] = bias(m, to);
  hl_node *node;
  hl_value_id y = maker_node(m, "Conv", inputs, with_bias ? 3 : 2, &node);
  int64_t pads[4], strides[2] = {stride, stride};
  for (int i = 0; i < 4; i++) pads[i] = maker_chance(m, 70) ? kernel / 2 : 0;
  hl_node_set_ints(m->graph, node, "pads", pads, 4);
  hl_node_set_ints(m->graph, node, "strides", strides, 2);
  hl_node_set_int(m->graph, node, "group", groups);
  return y;
}

static hl_value_id product(maker *m) {
  int64_t k = MAKER_PICK(m, 1, 3, 4, 16, 17, 33, 64, 130, 1000),
          to = MAKER_PICK(m, 1, 4, 15, 16, 33, 64, 128);
  int64_t dims[3] = {maker_between(m, 1, 3), MAKER_PICK(m, 1, 2, 7, 16), k};
  int32_t rank = (int32_t)maker_between(m, 2, 3);
  if (rank == 2) dims[1] = k;
  hl_text_format(&m->words, "[%lld by %lld] ", (long long)k, (long long)to);
  hl_value_id x = rounded(m, maker_input(m, rank, dims), false);
  hl_value_id w = weights(m, 2, (int64_t[]){k, to}, 1, k);
  if (rank == 2 && maker_chance(m, 50))
    return maker_apply(m, "Gemm", x, w, maker_chance(m, 50) ? bias(m, to) : -1);
  hl_value_id y = maker_apply(m, "MatMul", x, w, -1);
  return maker_chance(m, 50) ? maker_apply(m, "Add", y, bias(m, to), -1) : y;
}

hl_value_id case_quantized(maker *m) {
  bool convolves = maker_chance(m, 60), relu = maker_chance(m, 50);
  hl_value_id y = convolves ? convolution(m) : product(m);
  hl_shape shape = maker_shape(m, y);
  if (shape.rank < 0) return -1;
  if (maker_chance(m, 30))
    y = maker_apply(m, "Add", y, rounded(m, maker_input(m, shape.rank, shape.dims), false), -1);
  if (relu) y = maker_apply(m, "Relu", y, -1, -1);
  if (maker_chance(m, 70)) y = rounded(m, y, relu);
  if (convolves && maker_chance(m, 30) && shape.dims[2] > 1 && shape.dims[3] > 1) {
    hl_node *node;
    y = maker_node(m, "MaxPool", &y, 1, &node);
    hl_node_set_ints(m->graph, node, "kernel_shape", (int64_t[]){2, 2}, 2);
    hl_node_set_ints(m->graph, node, "strides", (int64_t[]){2, 2}, 2);
  }
  return y;
}
