/* Reductions along axes, CumSum, ArgMax and ArgMin. */
#include "graph/operator-kit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- Reduce... ------------------------------------------------------------------------------- */

/* Axes to reduce: none given means all, or nothing with noop_with_empty_axes. */
static hl_status reduced_axes(const hl_graph *graph, const hl_node *node, int32_t rank,
                              bool *ret_reduced, bool *ret_known, hl_error *error) {
  int64_t axes[HL_MAX_RANK];
  size_t count;
  hl_status status =
      hl_op_ints(graph, node, "axes", 1, axes, HL_MAX_RANK, &count, ret_known, error);
  if (status != HL_OK || !*ret_known) return status;
  for (int32_t i = 0; i < rank; i++)
    ret_reduced[i] = count == 0 && hl_node_int(node, "noop_with_empty_axes", 0) == 0;
  for (size_t i = 0; i < count; i++) {
    int32_t axis;
    status = hl_op_axis(node, axes[i], rank, &axis, error);
    if (status != HL_OK) return status;
    ret_reduced[axis] = true;
  }
  return HL_OK;
}

hl_status hl_infer_reduce(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  bool reduced[HL_MAX_RANK] = {false}, known, keep = hl_node_int(node, "keepdims", 1) != 0;
  hl_status status = reduced_axes(graph, node, x->shape.rank, reduced, &known, error);
  if (status != HL_OK || (!known && !keep)) return status;
  int64_t dims[HL_MAX_RANK];
  int32_t rank = 0;
  for (int32_t i = 0; i < x->shape.rank; i++) {
    if (!known)
      dims[rank++] = -1;
    else if (!reduced[i])
      dims[rank++] = x->shape.dims[i];
    else if (keep)
      dims[rank++] = 1;
  }
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, rank, dims);
  return HL_OK;
}

/* y = after(sum or extreme of before(x)). */
typedef enum gathering { GATHER_SUM, GATHER_MOST, GATHER_LEAST, GATHER_PRODUCT } gathering;
typedef enum before { BEFORE_NOTHING, BEFORE_ABS, BEFORE_SQUARE, BEFORE_EXP } before;
typedef enum after { AFTER_NOTHING, AFTER_MEAN, AFTER_ROOT, AFTER_LOG } after;

static const struct reduction {
  const char *op;
  before before;
  gathering gathering;
  after after;
} reductions[] = {
    {"ReduceSum", BEFORE_NOTHING, GATHER_SUM, AFTER_NOTHING},
    {"ReduceMean", BEFORE_NOTHING, GATHER_SUM, AFTER_MEAN},
    {"ReduceMax", BEFORE_NOTHING, GATHER_MOST, AFTER_NOTHING},
    {"ReduceMin", BEFORE_NOTHING, GATHER_LEAST, AFTER_NOTHING},
    {"ReduceProd", BEFORE_NOTHING, GATHER_PRODUCT, AFTER_NOTHING},
    {"ReduceL1", BEFORE_ABS, GATHER_SUM, AFTER_NOTHING},
    {"ReduceL2", BEFORE_SQUARE, GATHER_SUM, AFTER_ROOT},
    {"ReduceSumSquare", BEFORE_SQUARE, GATHER_SUM, AFTER_NOTHING},
    {"ReduceLogSum", BEFORE_NOTHING, GATHER_SUM, AFTER_LOG},
    {"ReduceLogSumExp", BEFORE_EXP, GATHER_SUM, AFTER_LOG},
};

static double prepare(before kind, double x, double largest) {
  switch (kind) {
  case BEFORE_ABS:
    return fabs(x);
  case BEFORE_SQUARE:
    return x * x;
  case BEFORE_EXP:
    return exp(x - largest);
  default:
    return x;
  }
}

static double finish(after kind, double y, double count, double largest) {
  switch (kind) {
  case AFTER_MEAN:
    return y / count;
  case AFTER_ROOT:
    return sqrt(y);
  case AFTER_LOG:
    return log(y) + largest;
  default:
    return y;
  }
}

/* Folds `in` into `y` along the axes with stride 0; `largest` is subtracted before exp. */
static void gather(const struct reduction *r, const hl_tensor_view *in, const int64_t *strides,
                   const double *largest, double *y) {
  int64_t index[HL_MAX_RANK] = {0}, offset = 0, count = hl_view_elements(in);
  for (int64_t i = 0; i < count; i++) {
    double x = prepare(r->before, hl_view_get(in, i), largest ? largest[offset] : 0);
    double *to = &y[offset];
    switch (r->gathering) {
    case GATHER_SUM:
      *to += x;
      break;
    case GATHER_MOST:
      *to = isnan(x) || x > *to ? x : *to;
      break;
    case GATHER_LEAST:
      *to = isnan(x) || x < *to ? x : *to;
      break;
    case GATHER_PRODUCT:
      *to *= x;
      break;
    }
    hl_index_next(in->rank, in->dims, index, strides, &offset);
  }
}

static double *gathered(const struct reduction *r, const hl_tensor_view *in, const int64_t *strides,
                        const double *largest, int64_t results) {
  static const double starts[] = {0, -HUGE_VAL, HUGE_VAL, 1};
  double *y = calloc((size_t)results + 1, sizeof *y);
  for (int64_t i = 0; y && i < results; i++) y[i] = starts[r->gathering];
  if (y) gather(r, in, strides, largest, y);
  return y;
}

/* Integers that a double cannot hold are summed and compared as what they are. */
static bool reduce_whole(const struct reduction *r, const hl_tensor_view *in,
                         const int64_t *strides, hl_tensor_view *out) {
  bool sum = r->gathering == GATHER_SUM && r->after == AFTER_NOTHING && r->before == BEFORE_NOTHING;
  if (in->dtype != HL_INT64 || !sum) return false;
  int64_t index[HL_MAX_RANK] = {0}, offset = 0, count = hl_view_elements(in);
  memset(out->data, 0, (size_t)out->bytes);
  for (int64_t i = 0; i < count; i++) {
    uint64_t x = (uint64_t)hl_view_get_int(in, i);
    hl_view_put_int(out, offset, (int64_t)((uint64_t)hl_view_get_int(out, offset) + x));
    hl_index_next(in->rank, in->dims, index, strides, &offset);
  }
  return true;
}

static hl_status reduce(const hl_node *node, const struct reduction *r, const hl_tensor_view *in,
                        const bool *reduced, hl_tensor_view *out, hl_error *error) {
  int64_t count = hl_view_elements(in), results = hl_view_elements(out), stride = 1;
  int64_t strides[HL_MAX_RANK] = {0};
  for (int32_t d = in->rank - 1; d >= 0; d--) {
    strides[d] = reduced[d] ? 0 : stride;
    if (!reduced[d]) stride *= in->dims[d];
  }
  if (reduce_whole(r, in, strides, out)) return HL_OK;
  HL_CLEANUP(hl_free_pointer) double *largest = NULL;
  if (r->before == BEFORE_EXP) {
    largest = gathered(&reductions[2], in, strides, NULL, results);
    if (!largest) return hl_op_no_memory(node, error);
    for (int64_t i = 0; i < results; i++)
      if (isinf(largest[i])) largest[i] = 0;
  }
  HL_CLEANUP(hl_free_pointer) double *y = gathered(r, in, strides, largest, results);
  if (!y) return hl_op_no_memory(node, error);
  double each = results ? (double)count / (double)results : 1;
  for (int64_t i = 0; i < results; i++)
    y[i] = finish(r->after, y[i], each, largest ? largest[i] : 0);
  hl_view_put_all(out, y);
  return HL_OK;
}

hl_status hl_evaluate_reduce(const hl_graph *graph, const hl_node *node,
                             const hl_tensor_view *inputs, hl_tensor_view *outputs,
                             hl_error *error) {
  size_t row = 0;
  while (row + 1 < HL_COUNT(reductions) && strcmp(reductions[row].op, node->op) != 0) row++;
  bool reduced[HL_MAX_RANK] = {false}, known;
  hl_status status = reduced_axes(graph, node, inputs[0].rank, reduced, &known, error);
  return status != HL_OK ? status
                         : reduce(node, &reductions[row], &inputs[0], reduced, &outputs[0], error);
}

/* -- CumSum ---------------------------------------------------------------------------------- */

static hl_status cumulated_axis(const hl_node *node, const hl_tensor_view *axis, int32_t rank,
                                int32_t *ret_axis, hl_error *error) {
  if (!hl_dtype_is_int(axis->dtype) || hl_view_elements(axis) != 1)
    return hl_op_fail(node, HL_BAD_DATA, error, "the axis must be one integer");
  return hl_op_axis(node, hl_view_get_int(axis, 0), rank, ret_axis, error);
}

hl_status hl_evaluate_cumsum(const hl_graph *graph, const hl_node *node,
                             const hl_tensor_view *inputs, hl_tensor_view *outputs,
                             hl_error *error) {
  (void)graph;
  int32_t axis = 0;
  hl_status status = cumulated_axis(node, &inputs[1], inputs[0].rank, &axis, error);
  if (status != HL_OK) return status;
  bool exclusive = hl_node_int(node, "exclusive", 0) != 0;
  bool reverse = hl_node_int(node, "reverse", 0) != 0;
  int64_t count = inputs[0].dims[axis];
  int64_t inner = hl_op_product(inputs[0].dims, axis + 1, inputs[0].rank);
  int64_t lines = hl_op_product(inputs[0].dims, 0, axis) * inner;
  for (int64_t line = 0; line < lines; line++) {
    double sum = 0;
    int64_t base = line / inner * count * inner + line % inner;
    for (int64_t i = 0; i < count; i++) {
      int64_t at = base + (reverse ? count - 1 - i : i) * inner;
      double before_it = sum;
      sum += hl_view_get(&inputs[0], at);
      hl_view_put(&outputs[0], at, exclusive ? before_it : sum);
    }
  }
  return HL_OK;
}

/* -- ArgMax and ArgMin ----------------------------------------------------------------------- */

hl_status hl_infer_argmax(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  int32_t axis, rank = 0;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", 0), x->shape.rank, &axis, error);
  if (status != HL_OK) return status;
  if (x->shape.dims[axis] == 0)
    return hl_op_fail(node, HL_BAD_DATA, error, "axis %d has no elements", axis);
  int64_t dims[HL_MAX_RANK];
  for (int32_t i = 0; i < x->shape.rank; i++) {
    if (i != axis)
      dims[rank++] = x->shape.dims[i];
    else if (hl_node_int(node, "keepdims", 1) != 0)
      dims[rank++] = 1;
  }
  hl_op_set(hl_node_output(graph, node, 0), HL_INT64, rank, dims);
  return HL_OK;
}

hl_status hl_evaluate_argmax(const hl_graph *graph, const hl_node *node,
                             const hl_tensor_view *inputs, hl_tensor_view *outputs,
                             hl_error *error) {
  (void)graph;
  int32_t axis;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", 0), inputs[0].rank, &axis, error);
  if (status != HL_OK) return status;
  bool last = hl_node_int(node, "select_last_index", 0) != 0,
       least = strcmp(node->op, "ArgMin") == 0;
  int64_t outer = hl_op_product(inputs[0].dims, 0, axis), count = inputs[0].dims[axis];
  int64_t inner = hl_op_product(inputs[0].dims, axis + 1, inputs[0].rank);
  for (int64_t o = 0; o < outer * inner; o++) {
    const int64_t base = o / inner * count * inner + o % inner;
    int64_t best = 0;
    double most = hl_view_get(&inputs[0], base);
    for (int64_t i = 1; i < count; i++) {
      double x = hl_view_get(&inputs[0], base + i * inner);
      if (least ? x < most || (last && x <= most) : x > most || (last && x >= most)) {
        best = i;
        most = x;
      }
    }
    hl_view_put_int(&outputs[0], o, best);
  }
  return HL_OK;
}
