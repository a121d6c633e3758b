/* Functions, sums with broadcasting, and what follows other operators. */
#include "cases.h"

static hl_value_id function(maker *m, hl_value_id x) {
  static const char *const plain[] = {"Relu", "Relu", "Relu",      "Sigmoid",     "Tanh",
                                      "Abs",  "Neg",  "HardSwish", "HardSigmoid", "Softplus"};
  static const char *const with_alpha[] = {"LeakyRelu", "Elu"};
  hl_node *node;
  hl_value_id t;
  switch (maker_below(m, 6)) {
  case 0:
    t = maker_node(m, with_alpha[maker_below(m, 2)], &x, 1, &node);
    hl_node_set_real(m->graph, node, "alpha", 0.2f);
    return t;
  case 1: /* GELU as it is spelled out */
    t = maker_apply(m, "Div", x, maker_number(m, 1.41421356f), -1);
    t = maker_apply(m, "Add", maker_apply(m, "Erf", t, -1, -1), maker_number(m, 1), -1);
    return maker_apply(m, "Mul", maker_apply(m, "Mul", x, t, -1), maker_number(m, 0.5f), -1);
  case 2: /* Swish */
    return maker_apply(m, "Mul", x, maker_apply(m, "Sigmoid", x, -1, -1), -1);
  case 3:
    return maker_apply(m, "Mul", x, maker_number(m, 0.75f), -1);
  default:
    return maker_apply(m, plain[maker_below(m, HL_COUNT(plain))], x, -1, -1);
  }
}

/* One number for each channel. */
static hl_value_id per_channel(maker *m, const hl_shape *shape, int32_t axis) {
  int64_t dims[HL_MAX_RANK];
  for (int32_t i = 0; i < shape->rank; i++) dims[i] = i == axis ? shape->dims[i] : 1;
  return maker_weight(m, shape->rank - axis, dims + axis, 4);
}

static hl_value_id batch_norm(maker *m, hl_value_id y, int64_t channels) {
  hl_value_id inputs[5] = {
      y, maker_constant(m, 1, &channels, 0.5, 1.5), maker_constant(m, 1, &channels, -1, 1),
      maker_constant(m, 1, &channels, -0.5, 0.5), maker_constant(m, 1, &channels, 0.5, 2)};
  return maker_node(m, "BatchNormalization", inputs, 5, NULL);
}

hl_value_id case_posts(maker *m, hl_value_id y, int32_t axis, hl_value_id other) {
  int64_t count = MAKER_PICK(m, 0, 0, 1, 1, 2, 3);
  if (axis == 1 && maker_chance(m, 20)) {
    hl_shape shape = maker_shape(m, y);
    if (shape.rank < 0) return -1;
    if (shape.rank > 2) y = batch_norm(m, y, shape.dims[1]);
  }
  for (int64_t i = 0; i < count; i++) {
    hl_shape shape = maker_shape(m, y);
    if (shape.rank < 0) return -1;
    if (other >= 0 && maker_chance(m, 60)) {
      y = maker_chance(m, 50) ? maker_apply(m, "Add", y, other, -1)
                              : maker_apply(m, "Add", other, y, -1);
      other = -1;
    } else if (i == 0 && maker_chance(m, 20)) {
      y = maker_apply(m, "Add", y, per_channel(m, &shape, axis), -1);
    } else {
      y = function(m, y);
    }
  }
  return other >= 0 ? maker_apply(m, "Add", y, other, -1) : y;
}

/* A shape that broadcasts to `to`. */
static hl_value_id operand(maker *m, int32_t rank, const int64_t *to) {
  int64_t dims[HL_MAX_RANK];
  int32_t missing = maker_chance(m, 30) ? (int32_t)maker_below(m, rank) : 0;
  bool full = maker_chance(m, 40);
  for (int32_t i = 0; i < rank; i++) dims[i] = full || maker_chance(m, 50) ? to[i] : 1;
  return maker_input(m, rank - missing, dims + missing);
}

hl_value_id case_elements(maker *m) {
  int64_t dims[HL_MAX_RANK];
  int32_t rank = (int32_t)maker_between(m, 1, 4);
  for (int32_t i = 0; i < rank; i++) dims[i] = MAKER_PICK(m, 1, 2, 3, 7, 8, 15, 17, 32, 33);
  hl_value_id x = maker_input(m, rank, dims);
  static const char *const binary[] = {"Add", "Sub", "Mul", "Max", "Min"};
  for (int64_t i = maker_between(m, 1, 3); i > 0; i--) {
    hl_shape shape = maker_shape(m, x);
    if (shape.rank < 0) return -1;
    if (maker_chance(m, 50)) {
      x = function(m, x);
      continue;
    }
    const char *op = binary[maker_below(m, HL_COUNT(binary))];
    hl_value_id y = operand(m, shape.rank, shape.dims);
    x = maker_chance(m, 50) ? maker_apply(m, op, x, y, -1) : maker_apply(m, op, y, x, -1);
  }
  return x;
}
