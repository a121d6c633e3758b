/* Products of matrices, attention, sums. */
#include "cases.h"

#include <math.h>
#include <string.h>

static int64_t width(maker *m) {
  return MAKER_PICK(m, 1, 2, 3, 5, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 100, 129);
}

static int64_t rows(maker *m) {
  return MAKER_PICK(m, 1, 1, 2, 3, 5, 6, 7, 8, 13, 16, 17, 33);
}

static hl_value_id gemm(maker *m, int64_t n, int64_t k, int64_t to) {
  bool turn_a = maker_chance(m, 20), turn_b = maker_chance(m, 50);
  int64_t a[2] = {turn_a ? k : n, turn_a ? n : k}, b[2] = {turn_b ? to : k, turn_b ? k : to};
  hl_value_id inputs[3] = {maker_input(m, 2, a), maker_weight(m, 2, b, k)};
  int64_t bias = maker_below(m, 4);
  int64_t of_bias[2] = {bias == 3 ? n : 1, to};
  if (bias == 1) inputs[2] = maker_weight(m, 1, &to, 4);
  if (bias > 1) inputs[2] = maker_weight(m, 2, of_bias, 4);
  hl_node *node;
  hl_value_id y = maker_node(m, "Gemm", inputs, bias ? 3 : 2, &node);
  hl_node_set_int(m->graph, node, "transA", turn_a);
  hl_node_set_int(m->graph, node, "transB", turn_b);
  if (maker_chance(m, 15)) hl_node_set_real(m->graph, node, "alpha", 0.5f);
  if (maker_chance(m, 15)) hl_node_set_real(m->graph, node, "beta", 2.0f);
  return y;
}

hl_value_id case_product(maker *m) {
  int64_t n = rows(m), k = width(m), to = width(m);
  if (maker_chance(m, 40)) to = MAKER_PICK(m, 64, 64, 128, 192); /* whole panels of weights */
  if (maker_chance(m, 15)) k = MAKER_PICK(m, 256, 700, 769, 1000, 1537, 2304);
  if (k < 100 && maker_chance(m, 10)) n = MAKER_PICK(m, 100, 263, 270, 300);
  hl_text_format(&m->words, "[%lld by %lld by %lld] ", (long long)n, (long long)k, (long long)to);
  hl_value_id y, other = -1;
  if (maker_chance(m, 50)) {
    y = gemm(m, n, k, to);
  } else {
    int64_t dims[4] = {maker_between(m, 1, 3), 1, 1, 1};
    int32_t rank = (int32_t)maker_between(m, 2, 4);
    dims[rank - 2] = n;
    dims[rank - 1] = k;
    hl_value_id w = maker_weight(m, 2, (int64_t[]){k, to}, k);
    y = maker_apply(m, "MatMul", maker_input(m, rank, dims), w, -1);
  }
  hl_shape shape = maker_shape(m, y);
  if (shape.rank < 0) return -1;
  if (maker_chance(m, 30)) other = maker_input(m, shape.rank, shape.dims);
  y = case_posts(m, y, shape.rank - 1, other);
  if (y < 0 || maker_chance(m, 70)) return y;
  int64_t next = width(m);
  return maker_apply(m, "MatMul", y, maker_weight(m, 2, (int64_t[]){to, next}, to), -1);
}

/* The last two axes of a stack exchanged by a Transpose before the product. */
static hl_value_id turned(maker *m, int32_t rank, const int64_t *dims) {
  int64_t before[HL_MAX_RANK], order[HL_MAX_RANK];
  for (int32_t i = 0; i < rank; i++) {
    before[i] = dims[i];
    order[i] = i;
  }
  before[rank - 2] = dims[rank - 1];
  before[rank - 1] = dims[rank - 2];
  order[rank - 2] = rank - 1;
  order[rank - 1] = rank - 2;
  hl_value_id x = maker_input(m, rank, before);
  hl_node *node;
  hl_value_id y = maker_node(m, "Transpose", &x, 1, &node);
  hl_node_set_ints(m->graph, node, "perm", order, (size_t)rank);
  return y;
}

hl_value_id case_matmul(maker *m) {
  int32_t rank = (int32_t)maker_between(m, 2, 4);
  int64_t a[4] = {maker_between(m, 1, 3), maker_between(m, 1, 3)}, b[4] = {a[0], a[1]};
  bool narrow = rank > 2 && maker_chance(m, 20); /* one matrix of a stack for all of the other */
  if (narrow) b[0] = 1;
  int64_t k = width(m);
  a[rank - 2] = rows(m);
  a[rank - 1] = b[rank - 2] = k;
  b[rank - 1] = width(m);
  hl_text_format(&m->words, "[%lld by %lld by %lld] ", (long long)a[rank - 2], (long long)k,
                 (long long)b[rank - 1]);
  hl_value_id left = maker_chance(m, 30) ? turned(m, rank, a) : maker_input(m, rank, a);
  hl_value_id right = maker_chance(m, 30) ? turned(m, rank, b) : maker_input(m, rank, b);
  hl_value_id y = maker_apply(m, "MatMul", left, right, -1);
  return maker_apply(m, "Mul", y, maker_number(m, 1 / sqrtf((float)k)), -1);
}

/* (batch, tokens, heads * width) as (batch, heads, tokens, width), or its transpose. */
static hl_value_id heads(maker *m, hl_value_id x, int64_t n, int64_t tokens, int64_t count,
                         int64_t each, bool turn) {
  hl_node *node;
  hl_value_id shape = maker_ints(m, 4, (int64_t[]){n, tokens, count, each});
  hl_value_id y = maker_apply(m, "Reshape", x, shape, -1);
  y = maker_node(m, "Transpose", &y, 1, &node);
  hl_node_set_ints(m->graph, node, "perm", turn ? (int64_t[]){0, 2, 3, 1} : (int64_t[]){0, 2, 1, 3},
                   4);
  return y;
}

hl_value_id case_attention(maker *m) {
  int64_t n = maker_between(m, 1, 3), count = maker_between(m, 1, 3);
  int64_t each = MAKER_PICK(m, 1, 2, 4, 8, 15, 16, 17, 32, 40, 64);
  int64_t queries = MAKER_PICK(m, 1, 2, 3, 7, 8, 15, 16, 17, 33, 50), keys = queries;
  bool split = maker_chance(m, 40);
  if (!split && maker_chance(m, 40)) keys = MAKER_PICK(m, 1, 2, 5, 8, 16, 19, 33);
  hl_text_format(&m->words, "[n %lld, %lld queries, %lld keys, %lld heads of %lld%s] ",
                 (long long)n, (long long)queries, (long long)keys, (long long)count,
                 (long long)each, split ? ", split" : "");
  hl_value_id parts[3];
  hl_node *node;
  if (split) {
    hl_value_id all = maker_input(m, 3, (int64_t[]){n, queries, 3 * count * each});
    char name[32] = "split";
    node = hl_graph_node(m->graph, "Split", name, &all, 1, parts, 3);
    hl_node_set_int(m->graph, node, "axis", -1);
  } else {
    for (int i = 0; i < 3; i++)
      parts[i] = maker_input(m, 3, (int64_t[]){n, i ? keys : queries, count * each});
  }
  hl_value_id q = heads(m, parts[0], n, queries, count, each, false);
  hl_value_id k = heads(m, parts[1], n, keys, count, each, true);
  hl_value_id v = heads(m, parts[2], n, keys, count, each, false);
  hl_value_id s = maker_apply(m, "MatMul", q, k, -1);
  s = maker_apply(m, "Mul", s, maker_number(m, 1 / sqrtf((float)each)), -1);
  if (maker_chance(m, 30)) {
    int64_t dims[4] = {maker_chance(m, 50) ? n : 1, maker_chance(m, 50) ? count : 1,
                       maker_chance(m, 50) ? queries : 1, keys};
    s = maker_apply(m, "Add", s, maker_constant(m, 4, dims, -2, 2), -1);
  }
  s = maker_node(m, "Softmax", &s, 1, &node);
  hl_node_set_int(m->graph, node, "axis", -1);
  hl_value_id y = maker_apply(m, "MatMul", s, v, -1);
  y = maker_node(m, "Transpose", &y, 1, &node);
  hl_node_set_ints(m->graph, node, "perm", (int64_t[]){0, 2, 1, 3}, 4);
  return maker_apply(m, "Reshape", y, maker_ints(m, 3, (int64_t[]){n, queries, count * each}), -1);
}

hl_value_id case_reduce(maker *m) {
  static const char *const ops[] = {"ReduceMean", "ReduceSum", "ReduceMax",
                                    "ReduceL2",   "Softmax",   "LogSoftmax"};
  int64_t dims[4];
  int32_t rank = (int32_t)maker_between(m, 1, 4);
  for (int32_t i = 0; i < rank; i++) dims[i] = MAKER_PICK(m, 1, 2, 3, 8, 15, 16, 17, 40);
  const char *op = ops[maker_below(m, HL_COUNT(ops))];
  hl_value_id x = maker_input(m, rank, dims);
  hl_node *node;
  int64_t axis = maker_below(m, rank);
  if (op[0] != 'R') {
    hl_value_id y = maker_node(m, op, &x, 1, &node);
    hl_node_set_int(m->graph, node, "axis", maker_chance(m, 30) ? axis - rank : axis);
    return y;
  }
  int64_t axes[4];
  size_t count = 0;
  for (int32_t i = 0; i < rank; i++)
    if (i == axis || maker_chance(m, 40)) axes[count++] = i;
  bool by_input = strcmp(op, "ReduceSum") == 0; /* opset 17: the others have an attribute */
  hl_value_id y = maker_node(m, op, (hl_value_id[]){x, by_input ? maker_ints(m, count, axes) : -1},
                             by_input ? 2 : 1, &node);
  if (!by_input) hl_node_set_ints(m->graph, node, "axes", axes, count);
  hl_node_set_int(m->graph, node, "keepdims", maker_below(m, 2));
  return y;
}
