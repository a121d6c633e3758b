/* NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: one class for each place. */
#include "graph/operator-kit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum reduction { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM } reduction;

static hl_status read_reduction(const hl_node *node, reduction *ret, hl_error *error) {
  static const char *const names[] = {"none", "mean", "sum"};
  const char *name = hl_node_text(node, "reduction", "mean");
  for (int i = 0; i < 3; i++)
    if (strcmp(names[i], name) == 0) return *ret = (reduction)i, HL_OK;
  return hl_op_fail(node, HL_BAD_DATA, error, "reduction '%.40s'", name);
}

/* Scores are (N, C, d1, ...), classes (N, d1, ...), weights (C). */
hl_status hl_infer_class_loss(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0), *t = hl_node_input(graph, node, 1);
  const hl_value *weight = hl_node_input(graph, node, 2);
  reduction kind = REDUCE_NONE;
  hl_status status = read_reduction(node, &kind, error);
  if (status != HL_OK) return status;
  bool fits = x->shape.rank >= 2 && t->shape.rank == x->shape.rank - 1;
  for (int32_t d = 0; fits && d < t->shape.rank; d++) {
    int64_t a = t->shape.dims[d], b = x->shape.dims[d ? d + 1 : 0];
    fits = a < 0 || b < 0 || a == b;
  }
  if (!fits)
    return hl_op_fail(node, HL_BAD_DATA, error,
                      "the classes must have the scores' shape without its second dimension");
  if (t->dtype != HL_INT64 && t->dtype != HL_INT32 && t->dtype != HL_DTYPE_NONE)
    return hl_op_fail(node, HL_BAD_DATA, error, "classes of type %s", hl_dtype_name(t->dtype));
  int64_t weights = weight ? hl_shape_elements(&weight->shape) : -1;
  if (weights >= 0 && x->shape.dims[1] >= 0 && weights != x->shape.dims[1])
    return hl_op_fail(node, HL_BAD_DATA, error, "%lld weights for %lld classes", (long long)weights,
                      (long long)x->shape.dims[1]);
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, kind == REDUCE_NONE ? t->shape.rank : 0,
            t->shape.dims);
  if (strcmp(node->op, "SoftmaxCrossEntropyLoss") == 0)
    hl_op_set(hl_node_output(graph, node, 1), x->dtype, x->shape.rank, x->shape.dims);
  return HL_OK;
}

double hl_flops_class_loss(const hl_graph *graph, const hl_node *node) {
  bool softmax = strcmp(node->op, "SoftmaxCrossEntropyLoss") == 0;
  return softmax ? 5 * hl_flops_input(graph, node) : 0;
}

/* Logarithms of the softmax over dimension 1 of (outer, classes, inner), in place. */
static void log_softmax(double *x, int64_t outer, int64_t classes, int64_t inner) {
  for (int64_t i = 0; i < outer * inner; i++) {
    double *line = x + i / inner * classes * inner + i % inner, most = -HUGE_VAL, sum = 0;
    for (int64_t c = 0; c < classes; c++)
      if (line[c * inner] > most) most = line[c * inner];
    for (int64_t c = 0; c < classes; c++) sum += exp(line[c * inner] - most);
    for (int64_t c = 0; c < classes; c++) line[c * inner] -= most + log(sum);
  }
}

typedef struct losses {
  const double *x; /* log probabilities */
  int64_t outer, classes, inner;
  const hl_tensor_view *targets, *weights; /* NULL: all are 1 */
  bool ignores;
  int64_t ignored;
} losses;

static hl_status sum_losses(const hl_node *node, const losses *l, reduction kind,
                            hl_tensor_view *out, hl_error *error) {
  double sum = 0, total = 0;
  for (int64_t i = 0; i < l->outer * l->inner; i++) {
    int64_t target = hl_view_get_int(l->targets, i);
    double weight = 0, loss = 0;
    if (!l->ignores || target != l->ignored) {
      if (target < 0 || target >= l->classes)
        return hl_op_fail(node, HL_BAD_DATA, error, "class %lld of %lld", (long long)target,
                          (long long)l->classes);
      weight = l->weights ? hl_view_get(l->weights, target) : 1;
      loss = -weight * l->x[(i / l->inner * l->classes + target) * l->inner + i % l->inner];
    }
    if (kind == REDUCE_NONE) hl_view_put(out, i, loss);
    sum += loss;
    total += weight;
  }
  if (kind != REDUCE_NONE) hl_view_put(out, 0, kind == REDUCE_MEAN ? sum / total : sum);
  return HL_OK;
}

hl_status hl_evaluate_class_loss(const hl_graph *graph, const hl_node *node,
                                 const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                 hl_error *error) {
  (void)graph;
  reduction kind = REDUCE_NONE;
  hl_status status = read_reduction(node, &kind, error);
  if (status != HL_OK) return status;
  HL_CLEANUP(hl_free_pointer) double *x = hl_view_doubles(&inputs[0]);
  if (!x) return hl_op_no_memory(node, error);
  losses l = {.x = x,
              .outer = inputs[0].dims[0],
              .classes = inputs[0].dims[1],
              .inner = hl_op_product(inputs[0].dims, 2, inputs[0].rank),
              .targets = &inputs[1],
              .weights = node->input_count > 2 && inputs[2].data ? &inputs[2] : NULL,
              .ignores = hl_node_attribute(node, "ignore_index") != NULL,
              .ignored = hl_node_int(node, "ignore_index", 0)};
  if (strcmp(node->op, "SoftmaxCrossEntropyLoss") == 0) {
    log_softmax(x, l.outer, l.classes, l.inner);
    if (node->output_count > 1 && outputs[1].data) hl_view_put_all(&outputs[1], x);
  }
  return outputs[0].data ? sum_losses(node, &l, kind, &outputs[0], error) : HL_OK;
}

/* Total weight of the classes that count; BAD_DATA for a class that is not there. */
static hl_status sum_weights(const hl_node *node, const losses *l, double *ret_total,
                             hl_error *error) {
  *ret_total = 0;
  for (int64_t i = 0; i < l->outer * l->inner; i++) {
    int64_t target = hl_view_get_int(l->targets, i);
    if (l->ignores && target == l->ignored) continue;
    if (target < 0 || target >= l->classes)
      return hl_op_fail(node, HL_BAD_DATA, error, "class %lld of %lld", (long long)target,
                        (long long)l->classes);
    *ret_total += l->weights ? hl_view_get(l->weights, target) : 1;
  }
  return HL_OK;
}

/* Inputs: the loss's gradient, scores, classes, weights. Of a place with class t and weight w: -w
 * at t for the likelihood; w (softmax - 1 at t) for the cross-entropy. */
hl_status hl_evaluate_class_loss_gradient(const hl_graph *graph, const hl_node *node,
                                          const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                          hl_error *error) {
  (void)graph;
  reduction kind = REDUCE_NONE;
  double total = 0;
  hl_status status = read_reduction(node, &kind, error);
  if (status != HL_OK) return status;
  bool softmax = node->op[0] == 'S';
  HL_CLEANUP(hl_free_pointer) double *x = hl_view_doubles(&inputs[1]);
  if (!x) return hl_op_no_memory(node, error);
  losses l = {.x = x,
              .outer = inputs[1].dims[0],
              .classes = inputs[1].dims[1],
              .inner = hl_op_product(inputs[1].dims, 2, inputs[1].rank),
              .targets = &inputs[2],
              .weights = node->input_count > 3 && inputs[3].data ? &inputs[3] : NULL,
              .ignores = hl_node_attribute(node, "ignore_index") != NULL,
              .ignored = hl_node_int(node, "ignore_index", 0)};
  status = sum_weights(node, &l, &total, error);
  if (status != HL_OK) return status;
  if (softmax) log_softmax(x, l.outer, l.classes, l.inner);
  for (int64_t i = 0; i < l.outer * l.inner; i++) {
    int64_t target = hl_view_get_int(l.targets, i);
    bool counts = !l.ignores || target != l.ignored;
    double dy = hl_view_get(&inputs[0], kind == REDUCE_NONE ? i : 0);
    if (kind == REDUCE_MEAN) dy /= total;
    if (counts && l.weights) dy *= hl_view_get(l.weights, target);
    double *line = x + i / l.inner * l.classes * l.inner + i % l.inner;
    for (int64_t c = 0; c < l.classes; c++) {
      double slope = softmax ? exp(line[c * l.inner]) : 0;
      line[c * l.inner] = counts ? dy * (slope - (c == target)) : 0;
    }
  }
  hl_view_put_all(&outputs[0], x);
  return HL_OK;
}
