/* Gradients of reductions, CumSum and the pools over whole planes. */
#include "graph/gradient-kit.h"

#include <math.h>
#include <string.h>

/* A value of the output, with the reduced axes back as 1, so that it broadcasts to the input. */
static hl_value_id kept(hl_gradient *g, hl_value_id value, const hl_shape *shape) {
  return hl_gradient_reshape(g, value, shape);
}

/* The output's shape with keepdims=1. */
static hl_status kept_shape(hl_gradient *g, const hl_node *node, hl_shape *ret_shape,
                            hl_error *error) {
  int64_t axes[HL_MAX_RANK];
  size_t count = 0;
  bool known = true;
  *ret_shape = hl_gradient_shape(g, node->inputs[0]);
  hl_status status =
      hl_op_ints(g->graph, node, "axes", 1, axes, HL_MAX_RANK, &count, &known, error);
  if (status != HL_OK) return status;
  if (!known) return hl_op_fail(node, HL_UNIMPLEMENTED, error, "its gradient with unknown axes");
  bool all = count == 0 && hl_node_int(node, "noop_with_empty_axes", 0) == 0;
  for (int32_t d = 0; all && d < ret_shape->rank; d++) ret_shape->dims[d] = 1;
  for (size_t i = 0; i < count; i++) {
    int32_t axis = 0;
    status = hl_op_axis(node, axes[i], ret_shape->rank, &axis, error);
    if (status != HL_OK) return status;
    ret_shape->dims[axis] = 1;
  }
  return HL_OK;
}

static hl_value_id expand(hl_gradient *g, hl_value_id value, const hl_shape *shape) {
  return G2("Expand", value, hl_gradient_list(g, shape->dims, (size_t)shape->rank));
}

static double share(const hl_shape *from, const hl_shape *to) {
  return (double)hl_shape_elements(to) / (double)hl_shape_elements(from);
}

/* All elements that equal the largest (least) have an equal share. */
static hl_value_id extreme(hl_gradient *g, const hl_node *node, hl_value_id x, hl_value_id y,
                           hl_value_id dy, const hl_shape *from, const hl_shape *to) {
  hl_value_id is = G2("Equal", x, y);
  hl_value_id ones = G3("Where", is, NUMBER(1), NUMBER(0));
  hl_value_id count = hl_gradient_sum_to(g, ones, from, to);
  return G3("Where", is, G2("Div", dy, count), NUMBER(0));
}

/* The product of the other elements, also where some are 0. */
static hl_value_id product(hl_gradient *g, const hl_node *node, hl_value_id x, hl_value_id dy,
                           const hl_shape *from, const hl_shape *to) {
  hl_value_id zero = G2("Equal", x, NUMBER(0)), whole = -1;
  hl_value_id ones = G3("Where", zero, NUMBER(1), NUMBER(0));
  hl_value_id safe = G3("Where", zero, NUMBER(1), x), count = hl_gradient_sum_to(g, ones, from, to);
  hl_node *again = NULL;
  hl_value_id inputs[2] = {safe, node->input_count > 1 ? node->inputs[1] : -1};
  whole = hl_gradient_node(g, node->op, inputs, node->input_count, &again);
  hl_gradient_keep_all(g, again, node);
  hl_node_set_int(g->graph, again, "keepdims", 1);
  hl_value_id only = G2("And", zero, G2("Equal", count, NUMBER(1)));
  hl_value_id others = G3("Where", G2("Equal", count, NUMBER(0)), G2("Div", whole, safe),
                          G3("Where", only, whole, NUMBER(0)));
  return G2("Mul", dy, others);
}

/* Of (sum |x|^p)^(1/p): sign(x) (|x| / y)^(p - 1), 0 where y is. */
static hl_value_id norm(hl_gradient *g, const hl_node *node, hl_value_id x, hl_value_id y,
                        hl_value_id dy) {
  double p = (double)hl_node_int(node, "p", 2);
  hl_value_id share = G2("Pow", G2("Div", G1("Abs", x), y), NUMBER(p - 1));
  hl_value_id slope = G2("Mul", G1("Sign", x), share);
  return G2("Mul", dy, G3("Where", G2("Greater", y, NUMBER(0)), slope, NUMBER(0)));
}

static hl_value_id reduce(hl_gradient *g, const hl_node *node, const hl_shape *from,
                          const hl_shape *to) {
  const char *op = node->op;
  hl_value_id x = node->inputs[0], y = kept(g, node->outputs[0], to), dy = kept(g, DY(0), to);
  if (strcmp(op, "ReduceSum") == 0) return expand(g, dy, from);
  if (strcmp(op, "ReduceMean") == 0 || strcmp(op, "GlobalAveragePool") == 0)
    return expand(g, G2("Mul", dy, NUMBER(share(from, to))), from);
  if (strcmp(op, "ReduceSumSquare") == 0) return G2("Mul", G2("Mul", dy, NUMBER(2)), x);
  if (strcmp(op, "ReduceL1") == 0) return G2("Mul", dy, G1("Sign", x));
  if (strcmp(op, "ReduceL2") == 0) {
    hl_value_id factor = G3("Where", G2("Greater", y, NUMBER(0)), G2("Div", dy, y), NUMBER(0));
    return G2("Mul", factor, x);
  }
  if (strcmp(op, "ReduceLogSum") == 0)
    return expand(g, G2("Mul", dy, G1("Exp", G1("Neg", y))), from);
  if (strcmp(op, "ReduceLogSumExp") == 0) return G2("Mul", dy, G1("Exp", G2("Sub", x, y)));
  if (strcmp(op, "ReduceProd") == 0) return product(g, node, x, dy, from, to);
  if (strcmp(op, "GlobalLpPool") == 0) return norm(g, node, x, y, dy);
  return extreme(g, node, x, y, dy, from, to);
}

hl_status hl_gradient_reduce(hl_gradient *g, const hl_node *node, hl_error *error) {
  hl_shape from = hl_gradient_shape(g, node->inputs[0]), to;
  hl_status status = kept_shape(g, node, &to, error);
  if (status == HL_OK) hl_gradient_give(g, node, 0, reduce(g, node, &from, &to));
  return status;
}

hl_status hl_gradient_global_pool(hl_gradient *g, const hl_node *node, hl_error *error) {
  (void)error;
  hl_shape from = hl_gradient_shape(g, node->inputs[0]);
  hl_shape to = hl_gradient_shape(g, node->outputs[0]);
  hl_gradient_give(g, node, 0, reduce(g, node, &from, &to));
  return HL_OK;
}

/* Each element is in all sums from its place on, so the gradient is summed from the other end. */
hl_status hl_gradient_cumsum(hl_gradient *g, const hl_node *node, hl_error *error) {
  (void)error;
  hl_node *back = NULL;
  hl_value_id out =
      hl_gradient_node(g, "CumSum", (hl_value_id[]){DY(0), node->inputs[1]}, 2, &back);
  hl_node_set_int(g->graph, back, "reverse", hl_node_int(node, "reverse", 0) == 0);
  hl_gradient_keep(g, back, node, "exclusive");
  hl_gradient_give(g, node, 0, out);
  return HL_OK;
}
