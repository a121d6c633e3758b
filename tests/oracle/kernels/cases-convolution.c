/* Convolutions of all kinds, small enough for the reference functions. */
#include "cases.h"

enum { MOST_PRODUCTS = 1500000 };

typedef struct shape {
  int32_t axes;
  int64_t n, from, to, groups;
  int64_t size[3], kernel[3], stride[3], dilation[3], pads[6];
} shape;

static int64_t product(const int64_t *values, int32_t count) {
  int64_t result = 1;
  for (int32_t i = 0; i < count; i++) result *= values[i];
  return result;
}

/* Makes the picture smaller, then the batch, until the products are few. */
static void bound(shape *s) {
  while (s->n * s->from * s->to / s->groups * product(s->size, s->axes) *
             product(s->kernel, s->axes) >
         MOST_PRODUCTS) {
    int32_t largest = 0;
    for (int32_t i = 1; i < s->axes; i++)
      if (s->size[i] > s->size[largest]) largest = i;
    if (s->size[largest] > 8)
      s->size[largest] -= 3;
    else if (s->n > 1)
      s->n--;
    else
      return;
  }
}

static void channels(maker *m, shape *s) {
  s->from = maker_channels(m);
  s->to = maker_channels(m);
  s->groups = 1;
  if (!maker_chance(m, 25)) return;
  s->groups = maker_pick(m, 4, (int64_t[]){2, 3, 4, s->from});
  if (s->groups == s->from) { /* depthwise */
    s->to = s->from * MAKER_PICK(m, 1, 1, 2);
    return;
  }
  s->from = s->groups * MAKER_PICK(m, 1, 2, 4, 8, 16);
  s->to = s->groups * MAKER_PICK(m, 1, 3, 4, 8, 16);
}

static void describe(maker *m, const char *what, const shape *s) {
  hl_text_format(&m->words, "%s[n %lld, %lld to %lld, groups %lld,", what, (long long)s->n,
                 (long long)s->from, (long long)s->to, (long long)s->groups);
  for (int32_t i = 0; i < s->axes; i++)
    hl_text_format(&m->words, " %lld by %lld/%lld*%lld+%lld+%lld", (long long)s->size[i],
                   (long long)s->kernel[i], (long long)s->stride[i], (long long)s->dilation[i],
                   (long long)s->pads[i], (long long)s->pads[i + s->axes]);
  hl_text_append(&m->words, "] ");
}

static void attributes(maker *m, hl_node *node, const shape *s) {
  size_t axes = (size_t)s->axes;
  hl_node_set_ints(m->graph, node, "kernel_shape", s->kernel, axes);
  hl_node_set_ints(m->graph, node, "strides", s->stride, axes);
  hl_node_set_ints(m->graph, node, "dilations", s->dilation, axes);
  hl_node_set_ints(m->graph, node, "pads", s->pads, 2 * axes);
  hl_node_set_int(m->graph, node, "group", s->groups);
}

static void windows(maker *m, shape *s) {
  s->axes = (int32_t)MAKER_PICK(m, 1, 2, 2, 2, 2, 3);
  s->n = MAKER_PICK(m, 1, 1, 2, 3);
  bool square = maker_chance(m, 70);
  for (int32_t i = 0; i < s->axes; i++) {
    bool as_before = square && i > 0;
    s->kernel[i] = as_before ? s->kernel[0] : MAKER_PICK(m, 1, 1, 2, 3, 3, 3, 5, 7);
    s->stride[i] = as_before ? s->stride[0] : MAKER_PICK(m, 1, 1, 1, 2, 2, 3);
    s->dilation[i] = as_before ? s->dilation[0] : MAKER_PICK(m, 1, 1, 1, 1, 2, 3);
    int64_t reach = (s->kernel[i] - 1) * s->dilation[i];
    s->size[i] = MAKER_PICK(m, 1, 2, 3, 5, 8, 9, 13, 16, 21);
    bool same = maker_chance(m, 60);
    s->pads[i] = same ? reach / 2 : maker_between(m, 0, reach);
    s->pads[i + s->axes] = same ? reach / 2 : maker_between(m, 0, reach);
    if (s->size[i] + s->pads[i] + s->pads[i + s->axes] < reach + 1) s->size[i] = reach + 1;
  }
}

static hl_value_id picture(maker *m, const shape *s) {
  int64_t dims[5] = {s->n, s->from, s->size[0], s->size[1], s->size[2]};
  return maker_input(m, s->axes + 2, dims);
}

static hl_value_id convolve(maker *m, const shape *s, hl_value_id x) {
  int64_t dims[5] = {s->to, s->from / s->groups, s->kernel[0], s->kernel[1], s->kernel[2]};
  int64_t fan = dims[1] * product(s->kernel, s->axes);
  hl_value_id inputs[3] = {x, maker_weight(m, s->axes + 2, dims, fan)};
  bool bias = maker_chance(m, 50);
  if (bias) inputs[2] = maker_weight(m, 1, dims, 4);
  hl_node *node;
  hl_value_id y = maker_node(m, "Conv", inputs, bias ? 3 : 2, &node);
  attributes(m, node, s);
  return y;
}

/* Something of the result's shape to add: the input itself, or another picture. */
static hl_value_id other(maker *m, hl_value_id x, hl_value_id y) {
  if (!maker_chance(m, 40)) return -1;
  hl_shape from = maker_shape(m, x), to = maker_shape(m, y);
  bool same = from.rank == to.rank;
  for (int32_t i = 0; same && i < to.rank; i++) same = from.dims[i] == to.dims[i];
  return same && maker_chance(m, 50) ? x : maker_input(m, to.rank, to.dims);
}

hl_value_id case_convolution(maker *m) {
  shape s = {0};
  windows(m, &s);
  channels(m, &s);
  bound(&s);
  describe(m, "", &s);
  hl_value_id x = picture(m, &s), y = convolve(m, &s, x);
  return case_posts(m, y, 1, other(m, x, y));
}

static hl_value_id winograd(maker *m) {
  shape s = {.axes = maker_chance(m, 25) ? 3 : 2, .n = MAKER_PICK(m, 1, 1, 2, 3), .groups = 1};
  s.from = MAKER_PICK(m, 16, 32, 32, 48, 64, 64);
  s.to = MAKER_PICK(m, 16, 32, 64, 64, 64, 80, 128);
  for (int32_t i = 0; i < s.axes; i++) {
    s.kernel[i] = 3;
    s.stride[i] = s.dilation[i] = 1;
    s.size[i] = s.axes == 3 ? maker_between(m, 3, 9) : maker_between(m, 3, 23);
    for (int32_t k = i; k < 2 * s.axes; k += s.axes)
      s.pads[k] = maker_chance(m, 70) ? 1 : maker_between(m, 0, 2);
  }
  bound(&s);
  describe(m, "", &s);
  hl_value_id x = picture(m, &s), y = convolve(m, &s, x), add = other(m, x, y);
  if (maker_chance(m, 30)) return case_posts(m, y, 1, add);
  if (add >= 0) y = maker_apply(m, "Add", y, add, -1); /* what its last step does */
  if (maker_chance(m, 60)) y = maker_apply(m, "Relu", y, -1, -1);
  if (maker_chance(m, 30)) return case_same(m, y, 32, 3);
  if (s.axes != 2 || !maker_chance(m, 40)) return y;
  hl_shape full = maker_shape(m, y);
  if (full.rank != 4 || full.dims[2] < 2 || full.dims[3] < 2) return y;
  hl_node *node; /* halved, and sometimes read in full, too */
  hl_value_id half = maker_node(m, "MaxPool", &y, 1, &node);
  hl_node_set_ints(m->graph, node, "kernel_shape", (int64_t[]){2, 2}, 2);
  hl_node_set_ints(m->graph, node, "strides", (int64_t[]){2, 2}, 2);
  if (!maker_chance(m, 30)) return half;
  hl_value_id z = maker_apply(m, "GlobalAveragePool", y, -1, -1);
  return maker_apply(m, "Add", half, z, -1);
}

/* Mostly with a convolution behind it: a result of the network would be float32 whatever its type.
 */
hl_value_id case_winograd(maker *m) {
  hl_value_id y = winograd(m);
  return y >= 0 && maker_chance(m, 70) ? case_same(m, y, 16, 1) : y;
}

hl_value_id case_transposed(maker *m) {
  shape s = {0};
  windows(m, &s);
  channels(m, &s);
  for (int32_t i = 0; i < s.axes; i++) {
    int64_t reach = (s.kernel[i] - 1) * s.dilation[i] + 1;
    if (s.size[i] > 9) s.size[i] = 9;
    while ((s.size[i] - 1) * s.stride[i] + reach - s.pads[i] - s.pads[i + s.axes] < 1) s.size[i]++;
  }
  bound(&s);
  describe(m, "", &s);
  int64_t dims[5] = {s.from, s.to / s.groups, s.kernel[0], s.kernel[1], s.kernel[2]};
  int64_t fan = s.from / s.groups * product(s.kernel, s.axes);
  hl_value_id inputs[3] = {picture(m, &s), maker_weight(m, s.axes + 2, dims, fan)};
  bool bias = maker_chance(m, 50);
  if (bias) inputs[2] = maker_weight(m, 1, &s.to, 4);
  hl_node *node;
  hl_value_id y = maker_node(m, "ConvTranspose", inputs, bias ? 3 : 2, &node);
  attributes(m, node, &s);
  int64_t over[3];
  for (int32_t i = 0; i < s.axes; i++) over[i] = maker_below(m, s.stride[i]);
  if (maker_chance(m, 50)) hl_node_set_ints(m->graph, node, "output_padding", over, (size_t)s.axes);
  return case_posts(m, y, 1, other(m, inputs[0], y));
}

hl_value_id case_head(maker *m) {
  shape s = {.axes = 2, .n = MAKER_PICK(m, 1, 1, 2, 3), .groups = 1};
  bool from_few = maker_chance(m, 30);
  s.from = from_few ? maker_between(m, 1, 8) : MAKER_PICK(m, 16, 17, 32, 60, 64);
  s.to = from_few ? maker_channels(m) : maker_between(m, 1, 8);
  int64_t kernel = MAKER_PICK(m, 1, 2, 3, 3, 3, 4, 5), stride = MAKER_PICK(m, 1, 1, 1, 2);
  for (int32_t i = 0; i < s.axes; i++) {
    s.kernel[i] = kernel;
    s.stride[i] = stride;
    s.dilation[i] = 1;
    s.size[i] = maker_between(m, kernel, 24);
    s.pads[i] = s.pads[i + 2] = maker_chance(m, 70) ? (kernel - 1) / 2 : 0;
  }
  if (maker_chance(m, 15)) { /* all of a picture to one pixel */
    s.size[0] = s.size[1] = kernel;
    for (int i = 0; i < 4; i++) s.pads[i] = 0;
  }
  bound(&s);
  describe(m, "", &s);
  hl_value_id x = picture(m, &s), y = convolve(m, &s, x);
  return case_posts(m, y, 1, -1);
}

static hl_value_id doubled(maker *m, hl_value_id x, int64_t to, int64_t kernel, int64_t stride) {
  hl_shape from = maker_shape(m, x);
  if (from.rank != 4) return -1;
  int64_t dims[4] = {from.dims[1], to, kernel, kernel};
  int64_t fan = from.dims[1] * kernel * kernel / (stride * stride), pad = (kernel - stride) / 2;
  hl_value_id w = maker_weight(m, 4, dims, fan);
  hl_node *node;
  hl_value_id y = maker_node(m, "ConvTranspose", (hl_value_id[]){x, w}, 2, &node);
  hl_node_set_ints(m->graph, node, "strides", (int64_t[]){stride, stride}, 2);
  hl_node_set_ints(m->graph, node, "pads", (int64_t[]){pad, pad, pad, pad}, 4);
  return y;
}

hl_value_id case_generator(maker *m) {
  int64_t c = MAKER_PICK(m, 1, 3, 8, 17, 32), n = MAKER_PICK(m, 1, 1, 1, 2);
  hl_value_id x = maker_input(m, 4, (int64_t[]){n, c, 1, 1});
  if (maker_chance(m, 50)) { /* first down to the pixel */
    int64_t kernel = MAKER_PICK(m, 2, 3, 4);
    x = maker_input(m, 4, (int64_t[]){n, c, kernel, kernel});
    shape s = {.axes = 2, .n = n, .from = c, .to = MAKER_PICK(m, 1, 8, 20), .groups = 1};
    for (int i = 0; i < 2; i++) {
      s.kernel[i] = s.size[i] = kernel;
      s.stride[i] = s.dilation[i] = 1;
    }
    x = maker_apply(m, "Tanh", convolve(m, &s, x), -1, -1);
  }
  hl_shape at = maker_shape(m, x);
  if (at.rank != 4) return -1;
  int64_t kernel = MAKER_PICK(m, 2, 3, 4, 5), to = MAKER_PICK(m, 1, 4, 8, 17);
  int64_t dims[4] = {at.dims[1], to, kernel, kernel};
  hl_value_id w = maker_weight(m, 4, dims, at.dims[1]);
  x = maker_apply(m, "ConvTranspose", x, w, -1);
  for (int64_t i = maker_between(m, 1, 3); i > 0; i--) {
    if (maker_chance(m, 60))
      x = maker_apply(m, maker_chance(m, 50) ? "Relu" : "Sigmoid", x, -1, -1);
    x = doubled(m, x, MAKER_PICK(m, 1, 2, 4, 8, 16), MAKER_PICK(m, 2, 4, 4), 2);
    if (maker_chance(m, 50)) x = case_same(m, x, MAKER_PICK(m, 1, 2, 3, 8), MAKER_PICK(m, 1, 3, 5));
  }
  return x;
}

hl_value_id case_same(maker *m, hl_value_id x, int64_t to, int64_t kernel) {
  hl_shape from = maker_shape(m, x);
  if (from.rank < 3) return -1;
  shape s = {.axes = from.rank - 2, .n = from.dims[0], .from = from.dims[1], .to = to, .groups = 1};
  for (int32_t i = 0; i < s.axes; i++) {
    s.kernel[i] = kernel;
    s.stride[i] = s.dilation[i] = 1;
    s.size[i] = from.dims[i + 2];
    s.pads[i] = s.pads[i + s.axes] = kernel / 2;
  }
  return convolve(m, &s, x);
}
