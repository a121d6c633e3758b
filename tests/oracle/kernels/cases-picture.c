/* Pools, norms, moves, and chains of operators on one picture. */
#include "cases.h"

static hl_value_id some_picture(maker *m, int64_t channels) {
  int64_t dims[4] = {MAKER_PICK(m, 1, 1, 2, 3), channels, MAKER_PICK(m, 1, 2, 3, 6, 8, 9, 13, 16),
                     MAKER_PICK(m, 1, 2, 4, 5, 8, 11, 16)};
  hl_text_format(&m->words, "[%lld, %lld, %lld, %lld] ", (long long)dims[0], (long long)dims[1],
                 (long long)dims[2], (long long)dims[3]);
  return maker_input(m, 4, dims);
}

static hl_value_id pool(maker *m, hl_value_id x) {
  hl_shape shape = maker_shape(m, x);
  if (shape.rank < 3) return -1;
  size_t axes = (size_t)shape.rank - 2;
  bool average = maker_chance(m, 40), ceil = maker_chance(m, 20);
  int64_t kernel[3], strides[3], pads[6];
  for (size_t i = 0; i < axes; i++) {
    int64_t size = shape.dims[i + 2];
    kernel[i] = MAKER_PICK(m, 1, 2, 2, 3, 3);
    strides[i] = MAKER_PICK(m, 1, 2, 2, 3);
    pads[i] = maker_below(m, (kernel[i] + 1) / 2);
    pads[i + axes] = maker_below(m, (kernel[i] + 1) / 2);
    if (kernel[i] > size) kernel[i] = size;
    if (pads[i] >= kernel[i]) pads[i] = 0;
    if (pads[i + axes] >= kernel[i]) pads[i + axes] = 0;
  }
  hl_node *node;
  hl_value_id y = maker_node(m, average ? "AveragePool" : "MaxPool", &x, 1, &node);
  hl_node_set_ints(m->graph, node, "kernel_shape", kernel, axes);
  hl_node_set_ints(m->graph, node, "strides", strides, axes);
  hl_node_set_ints(m->graph, node, "pads", pads, 2 * axes);
  if (ceil) hl_node_set_int(m->graph, node, "ceil_mode", 1);
  if (average && maker_chance(m, 50)) hl_node_set_int(m->graph, node, "count_include_pad", 1);
  return y;
}

hl_value_id case_pool(maker *m) {
  hl_value_id x;
  if (maker_chance(m, 20)) {
    int64_t dims[5] = {maker_between(m, 1, 2), maker_channels(m), maker_between(m, 2, 6),
                       maker_between(m, 2, 6), maker_between(m, 2, 6)};
    x = maker_input(m, 5, dims);
  } else {
    x = some_picture(m, maker_channels(m));
  }
  if (maker_chance(m, 40)) x = case_same(m, x, maker_channels(m), 1);
  if (maker_chance(m, 20))
    return maker_apply(m, maker_chance(m, 70) ? "GlobalAveragePool" : "GlobalMaxPool", x, -1, -1);
  hl_value_id y = pool(m, x);
  return maker_chance(m, 30) ? maker_apply(m, "Relu", y, -1, -1) : y;
}

static hl_value_id instance_norm(maker *m, hl_value_id x) {
  hl_shape shape = maker_shape(m, x);
  if (shape.rank < 3) return -1;
  hl_value_id inputs[3] = {x, maker_weight(m, 1, &shape.dims[1], 1),
                           maker_weight(m, 1, &shape.dims[1], 1)};
  return maker_node(m, "InstanceNormalization", inputs, 3, NULL);
}

/* With enough to normalise over: of two numbers a norm leaves signs. */
hl_value_id case_norm(maker *m) {
  if (maker_chance(m, 50)) {
    int64_t dims[3] = {maker_between(m, 1, 3), MAKER_PICK(m, 1, 2, 5, 9, 17),
                       MAKER_PICK(m, 8, 15, 16, 17, 31, 40, 64, 100)};
    int32_t rank = (int32_t)maker_between(m, 2, 3);
    if (rank == 2) dims[1] = dims[2];
    hl_value_id inputs[3] = {maker_input(m, rank, dims), maker_weight(m, 1, &dims[rank - 1], 1),
                             maker_weight(m, 1, &dims[rank - 1], 1)};
    hl_node *node;
    hl_value_id y = maker_node(m, "LayerNormalization", inputs, 3, &node);
    hl_node_set_int(m->graph, node, "axis", -1);
    return maker_chance(m, 30) ? maker_apply(m, "Add", y, inputs[0], -1) : y;
  }
  int64_t dims[5] = {maker_between(m, 1, 3), maker_channels(m), maker_between(m, 3, 9),
                     maker_between(m, 3, 9), maker_between(m, 2, 4)};
  hl_value_id x = maker_input(m, (int32_t)maker_between(m, 4, 5), dims);
  if (maker_chance(m, 50)) x = case_same(m, x, maker_channels(m), 1);
  hl_value_id y = instance_norm(m, x);
  if (maker_chance(m, 30)) y = maker_apply(m, "Add", y, x, -1);
  return maker_chance(m, 60) ? maker_apply(m, "Relu", y, -1, -1) : y;
}

static hl_value_id enlarge(maker *m, hl_value_id x) {
  hl_shape shape = maker_shape(m, x);
  if (shape.rank < 3) return -1;
  float scales[HL_MAX_RANK] = {1, 1};
  for (int32_t i = 2; i < shape.rank; i++) scales[i] = (float)MAKER_PICK(m, 1, 2, 2, 2, 3);
  hl_value_id sizes = maker_floats(m, (size_t)shape.rank, scales);
  hl_node *node;
  hl_value_id y = maker_node(m, "Resize", (hl_value_id[]){x, -1, sizes}, 3, &node);
  hl_node_set_text(m->graph, node, "mode", "nearest");
  bool half = maker_chance(m, 50);
  hl_node_set_text(m->graph, node, "coordinate_transformation_mode",
                   half ? "half_pixel" : "asymmetric");
  hl_node_set_text(m->graph, node, "nearest_mode", half ? "round_prefer_floor" : "floor");
  return y;
}

static hl_value_id slice(maker *m, hl_value_id x, int32_t axis) {
  hl_shape shape = maker_shape(m, x);
  if (shape.rank <= axis) return -1;
  int64_t size = shape.dims[axis], from = maker_below(m, size);
  int64_t to = maker_between(m, from + 1, size), step = maker_chance(m, 20) ? 2 : 1;
  hl_value_id inputs[5] = {x, maker_ints(m, 1, &from), maker_ints(m, 1, &to),
                           maker_ints(m, 1, (int64_t[]){axis}), maker_ints(m, 1, &step)};
  return maker_node(m, "Slice", inputs, 5, NULL);
}

static hl_value_id pad(maker *m, hl_value_id x) {
  hl_shape shape = maker_shape(m, x);
  int64_t pads[2 * HL_MAX_RANK] = {0};
  if (shape.rank < 1) return -1;
  for (int32_t i = 0; i < shape.rank; i++)
    if (maker_chance(m, i < 2 ? 15 : 60)) {
      pads[i] = maker_below(m, 3);
      pads[i + shape.rank] = maker_below(m, 3);
    }
  return maker_apply(m, "Pad", x, maker_ints(m, 2 * (size_t)shape.rank, pads), -1);
}

static hl_value_id concat(maker *m, hl_value_id x, hl_value_id more, int32_t axis) {
  hl_shape shape = maker_shape(m, x);
  if (shape.rank <= axis) return -1;
  if (more < 0) {
    shape.dims[axis] = maker_channels(m);
    more = maker_input(m, shape.rank, shape.dims);
  }
  hl_value_id inputs[3] = {x, more, x};
  hl_node *node;
  hl_value_id y = maker_node(m, "Concat", inputs, maker_chance(m, 20) ? 3 : 2, &node);
  hl_node_set_int(m->graph, node, "axis", axis);
  return y;
}

static hl_value_id transpose(maker *m, hl_value_id x) {
  hl_shape shape = maker_shape(m, x);
  int64_t order[HL_MAX_RANK];
  if (shape.rank < 1) return -1;
  for (int32_t i = 0; i < shape.rank; i++) order[i] = i;
  for (int32_t i = shape.rank - 1; i > 0; i--) {
    int32_t k = (int32_t)maker_below(m, i + 1);
    int64_t t = order[i];
    order[i] = order[k];
    order[k] = t;
  }
  hl_node *node;
  hl_value_id y = maker_node(m, "Transpose", &x, 1, &node);
  hl_node_set_ints(m->graph, node, "perm", order, (size_t)shape.rank);
  return y;
}

hl_value_id case_move(maker *m) {
  hl_value_id x = some_picture(m, maker_channels(m));
  for (int64_t i = maker_between(m, 1, 3); i > 0 && x >= 0; i--) switch (maker_below(m, 6)) {
    case 0:
      x = transpose(m, x);
      break;
    case 1:
      x = slice(m, x, (int32_t)maker_below(m, 4));
      break;
    case 2:
      x = concat(m, x, -1, (int32_t)maker_below(m, 4));
      break;
    case 3:
      x = pad(m, x);
      break;
    case 4:
      x = enlarge(m, x);
      break;
    default:
      x = case_same(m, x, maker_channels(m), 1);
    }
  return x;
}

hl_value_id case_picture_chain(maker *m) {
  hl_value_id x = some_picture(m, MAKER_PICK(m, 1, 3, 16, 17, 32)), before = x;
  if (maker_chance(m, 70)) x = case_same(m, x, MAKER_PICK(m, 8, 16, 20, 32), 3);
  for (int64_t i = maker_between(m, 2, 5); i > 0 && x >= 0; i--) {
    hl_shape now = maker_shape(m, x), then = maker_shape(m, before);
    if (now.rank != 4) return -1;
    bool same_size =
        now.dims[0] == then.dims[0] && now.dims[2] == then.dims[2] && now.dims[3] == then.dims[3];
    bool same = same_size && now.dims[1] == then.dims[1] && before != x;
    bool large = now.dims[2] * now.dims[3] > 400;
    hl_value_id kept = x;
    switch (maker_below(m, 9)) {
    case 0:
    case 1:
      same = same_size && maker_chance(m, 40);
      x = case_same(m, x, same ? then.dims[1] : MAKER_PICK(m, 8, 16, 20, 32),
                    large ? 1 : MAKER_PICK(m, 1, 3));
      x = case_posts(m, x, 1, same ? before : -1);
      break;
    case 2:
      x = pool(m, x);
      break;
    case 3:
      if (!large) x = enlarge(m, x);
      break;
    case 4:
      x = concat(m, x, same_size ? before : -1, 1);
      break;
    case 5:
      x = slice(m, x, 1);
      break;
    case 6:
      x = same ? maker_apply(m, "Add", x, before, -1) : pad(m, x);
      break;
    case 7:
      x = now.dims[2] * now.dims[3] > 8 ? instance_norm(m, x) : x;
      break;
    default:
      x = maker_apply(m, "Relu", x, -1, -1);
    }
    if (maker_chance(m, 50)) before = kept;
  }
  if (maker_chance(m, 40)) x = case_same(m, x, MAKER_PICK(m, 1, 2, 16), 3);
  return x;
}
