/* Binding of dimensions, inference of types and shapes, folding of small known values. */
#include "graph/graph-internal.h"
#include "graph/operator-kit.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A node whose inputs are known and together no larger than this is computed during inference, so
 * that shapes which depend on Shape, Gather, Concat ... become known. */
enum { fold_elements = 4096, fold_output_elements = 1024 };

hl_status hl_graph_resolve(hl_graph *graph, hl_error *error) {
  if (graph->failed != HL_OK) return hl_graph_status(graph, error);
  for (size_t n = 0; n < graph->node_count; n++) {
    hl_node *node = &graph->nodes[n];
    node->row = hl_operator_find(node->domain, node->op, graph->opset);
    if (node->row) continue;
    return hl_error_set(
        error, HL_UNIMPLEMENTED,
        "node '%.90s': operator %.60s%s%.60s at opset %" PRId64 " is not implemented. %s",
        node->name, node->domain, node->domain[0] ? "." : "", node->op, graph->opset,
        graph->opset < 7 ? "Convert the model with onnx.version_converter"
                         : "docs/operators.md lists what is");
  }
  return HL_OK;
}

/* -- binding -------------------------------------------------------------------------------- */

/* A symbol has one value in the whole graph. */
static hl_status bind_symbol(hl_graph *graph, const char *symbol, int64_t dim, hl_error *error) {
  for (size_t i = 0; i < graph->input_count; i++) {
    hl_value *value = &graph->values[graph->inputs[i]];
    for (int32_t d = 0; d < value->shape.rank; d++) {
      if (!value->symbols[d] || strcmp(value->symbols[d], symbol) != 0) continue;
      if (value->shape.dims[d] >= 0 && value->shape.dims[d] != dim)
        return hl_error_set(error, HL_INVALID_ARGUMENT,
                            "input '%.90s': dimension %d ('%.60s') is already %" PRId64
                            "; it cannot be %" PRId64 " as well",
                            value->name, d, symbol, value->shape.dims[d], dim);
      value->shape.dims[d] = dim;
    }
  }
  return HL_OK;
}

static hl_status bind_dim(hl_graph *graph, hl_value *value, int32_t d, int64_t dim,
                          hl_error *error) {
  value->shape.dims[d] = dim;
  return value->symbols[d] ? bind_symbol(graph, value->symbols[d], dim, error) : HL_OK;
}

hl_status hl_graph_bind(hl_graph *graph, size_t input, int32_t rank, const int64_t *dims,
                        hl_error *error) {
  if (input >= graph->input_count)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "the model has %zu inputs; there is no #%zu",
                        graph->input_count, input);
  hl_value *value = &graph->values[graph->inputs[input]];
  if (rank < 0 || rank > HL_MAX_RANK || (value->shape.rank >= 0 && value->shape.rank != rank))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "input '%.90s' has %d dimensions; %d were given", value->name,
                        value->shape.rank, rank);
  for (int32_t d = 0; d < rank; d++) {
    if (dims[d] > HL_GRAPH_MAX_DIM)
      return hl_error_set(error, HL_LIMIT, "input '%.90s': a dimension of %" PRId64 " elements",
                          value->name, dims[d]);
    int64_t declared = value->shape.rank < 0 ? -1 : value->shape.dims[d];
    if (dims[d] < 0 || (declared >= 0 && declared != dims[d]))
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "input '%.90s': dimension %d is %" PRId64 " in the model; %" PRId64
                          " was given",
                          value->name, d, declared, dims[d]);
  }
  value->shape.rank = rank;
  for (int32_t d = 0; d < rank; d++) {
    hl_status status = bind_dim(graph, value, d, dims[d], error);
    if (status != HL_OK) return status;
  }
  return HL_OK;
}

static bool is_leading_symbol(const hl_graph *graph, const char *symbol) {
  for (size_t i = 0; symbol && i < graph->input_count; i++) {
    const hl_value *value = &graph->values[graph->inputs[i]];
    if (value->shape.rank > 0 && value->symbols[0] && strcmp(value->symbols[0], symbol) == 0)
      return true;
  }
  return false;
}

hl_status hl_graph_bind_batch(hl_graph *graph, int64_t batch, hl_error *error) {
  if (batch < 1 || batch > HL_GRAPH_MAX_DIM)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "batch size %" PRId64 "; it must be 1 to %" PRId64, batch,
                        HL_GRAPH_MAX_DIM);
  for (size_t i = 0; i < graph->input_count; i++) {
    const hl_value *value = &graph->values[graph->inputs[i]];
    bool ok = value->shape.rank >= 0;
    for (int32_t d = 1; ok && d < value->shape.rank; d++)
      ok = value->shape.dims[d] >= 0 || is_leading_symbol(graph, value->symbols[d]);
    if (!ok)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "input '%.90s' has an unknown dimension besides the batch; give its "
                          "whole shape",
                          value->name);
  }
  for (size_t i = 0; i < graph->input_count; i++) {
    hl_value *value = &graph->values[graph->inputs[i]];
    if (value->shape.rank < 1 || value->shape.dims[0] >= 0) continue;
    hl_status status = bind_dim(graph, value, 0, batch, error);
    if (status != HL_OK) return status;
  }
  return HL_OK;
}

/* -- inference ------------------------------------------------------------------------------ */

static bool is_known(const hl_shape *shape) {
  for (int32_t d = 0; d < shape->rank; d++)
    if (shape->dims[d] < 0) return false;
  return shape->rank >= 0;
}

static bool is_bound(const hl_graph *graph) {
  for (size_t i = 0; i < graph->input_count; i++)
    if (!is_known(&graph->values[graph->inputs[i]].shape)) return false;
  return true;
}

static void forget(hl_graph *graph) {
  for (size_t i = 0; i < graph->value_count; i++) {
    hl_value *value = &graph->values[i];
    if (value->kind != HL_VALUE_TEMPORARY) continue;
    value->dtype = HL_DTYPE_NONE;
    value->shape.rank = -1;
    value->data = NULL;
    value->bytes = 0;
  }
}

static hl_status check_counts(const hl_graph *graph, const hl_node *node, hl_error *error) {
  const hl_operator *row = node->row;
  for (size_t i = 0; i < row->min_inputs; i++)
    if (!hl_node_input(graph, node, i))
      return hl_op_fail(node, HL_BAD_DATA, error, "input number %zu is missing", i + 1);
  if (node->input_count > row->max_inputs && row->max_inputs != UINT8_MAX)
    return hl_op_fail(node, HL_BAD_DATA, error, "%zu inputs; at most %d are defined",
                      node->input_count, row->max_inputs);
  if (node->output_count < 1 ||
      (node->output_count > row->max_outputs && row->max_outputs != UINT8_MAX))
    return hl_op_fail(node, HL_BAD_DATA, error, "%zu outputs; 1 to %d are defined",
                      node->output_count, row->max_outputs);
  return HL_OK;
}

static bool ranks_known(const hl_graph *graph, const hl_node *node) {
  for (size_t i = 0; i < node->input_count; i++) {
    const hl_value *value = hl_node_input(graph, node, i);
    if (value && value->shape.rank < 0) return false;
  }
  return true;
}

/* Refuses shapes that no memory can hold before anyone multiplies their dimensions. */
static hl_status check_outputs(const hl_graph *graph, const hl_node *node, bool bound,
                               hl_error *error) {
  for (size_t i = 0; i < node->output_count; i++) {
    hl_value *out = hl_node_output(graph, node, i);
    if (!out) continue;
    bool known = is_known(&out->shape);
    if (bound && !known)
      return hl_op_fail(node, HL_UNIMPLEMENTED, error,
                        "the shape of '%.90s' depends on data that is only known at run time",
                        out->name);
    for (int32_t d = 0; d < out->shape.rank; d++)
      if (out->shape.dims[d] > HL_GRAPH_MAX_DIM)
        return hl_op_fail(node, HL_LIMIT, error, "dimension %d of '%.90s' has %" PRId64 " elements",
                          d, out->name, out->shape.dims[d]);
    if (known && hl_dtype_bytes(out->dtype) == 0)
      return hl_op_fail(node, HL_UNIMPLEMENTED, error, "'%.90s' has no numeric type", out->name);
    if (known && !hl_shape_bytes(&out->shape, out->dtype, &out->bytes))
      return hl_op_fail(node, HL_LIMIT, error, "the shape of '%.90s' is larger than any memory",
                        out->name);
  }
  return HL_OK;
}

/* Shapes are computed by element-wise, moving and reducing operators. The others can do unbounded
 * work on few elements: a window may be huge. */
static bool is_cheap(const hl_operator *row) {
  return row->group == HL_OPERATORS_ELEMENTWISE || row->group == HL_OPERATORS_SHAPE ||
         strncmp(row->name, "Reduce", 6) == 0;
}

static bool can_fold(const hl_graph *graph, const hl_node *node) {
  if (!node->row->evaluate || !is_cheap(node->row) || node->input_count > 64 ||
      node->output_count > 64)
    return false;
  int64_t elements = 0;
  for (size_t i = 0; i < node->input_count; i++) {
    const hl_value *in = hl_node_input(graph, node, i);
    if (!in) continue;
    int64_t count = hl_shape_elements(&in->shape);
    if (!in->data || in->kind == HL_VALUE_STATE || count < 0 || count > fold_elements) return false;
    elements += count;
  }
  for (size_t i = 0; i < node->output_count; i++) {
    const hl_value *out = hl_node_output(graph, node, i);
    if (!out) continue;
    int64_t count = hl_shape_elements(&out->shape);
    if (out->data || count < 0 || count > fold_output_elements) return false;
  }
  return elements <= fold_elements;
}

static hl_status fold(hl_graph *graph, const hl_node *node, hl_error *error) {
  hl_tensor_view inputs[64] = {0}, outputs[64] = {0};
  for (size_t i = 0; i < node->input_count; i++) {
    const hl_value *in = hl_node_input(graph, node, i);
    if (in) inputs[i] = hl_view_of(in);
  }
  for (size_t i = 0; i < node->output_count; i++) {
    hl_value *out = hl_node_output(graph, node, i);
    if (!out) continue;
    outputs[i] = hl_view_of(out);
    outputs[i].data = hl_arena_alloc(&graph->arena, (size_t)out->bytes);
    if (!outputs[i].data) return hl_op_no_memory(node, error);
  }
  hl_status status = node->row->evaluate(graph, node, inputs, outputs, error);
  for (size_t i = 0; status == HL_OK && i < node->output_count; i++) {
    hl_value *out = hl_node_output(graph, node, i);
    if (out) out->data = outputs[i].data;
  }
  return status;
}

static hl_status infer_node(hl_graph *graph, hl_node *node, bool bound, hl_error *error) {
  hl_status status = check_counts(graph, node, error);
  if (status != HL_OK) return status;
  if (ranks_known(graph, node)) {
    status = node->row->infer(graph, node, error);
    if (status != HL_OK) return status;
  }
  status = check_outputs(graph, node, bound, error);
  if (status != HL_OK || !ranks_known(graph, node) || !can_fold(graph, node)) return status;
  return fold(graph, node, error);
}

static hl_status infer_all(hl_graph *graph, bool bound, hl_error *error) {
  if (graph->failed != HL_OK) return hl_graph_status(graph, error);
  forget(graph);
  for (size_t n = 0; n < graph->node_count; n++) {
    hl_node *node = &graph->nodes[n];
    if (!node->row)
      return hl_op_fail(node, HL_INVALID_ARGUMENT, error, "the graph has not been resolved");
    hl_status status = infer_node(graph, node, bound, error);
    if (status != HL_OK) return status;
  }
  return HL_OK;
}

hl_status hl_graph_infer(hl_graph *graph, hl_error *error) {
  return infer_all(graph, is_bound(graph), error);
}

hl_status hl_graph_infer_declared(hl_graph *graph, hl_error *error) {
  return infer_all(graph, false, error);
}

/* -- sums over the graph -------------------------------------------------------------------- */

/* True if input `i` of `node` is something that training would change. Not: running statistics,
 * which are counted by no framework; what says how to move data; single numbers in arithmetic,
 * which are constants of a formula. */
static bool takes_weight(const hl_graph *graph, const hl_node *node, size_t i) {
  static const char *const movers[] = {"Pad", "Resize", "Upsample", "Clip", "Range", "OneHot"};
  if (strcmp(node->op, "BatchNormalization") == 0) return i < 3;
  for (size_t m = 0; m < HL_COUNT(movers); m++)
    if (strcmp(node->op, movers[m]) == 0) return false;
  bool arithmetic = node->row && node->row->elementwise;
  return !arithmetic || hl_node_input(graph, node, i)->shape.rank != 0;
}

static bool is_parameter(const hl_value *value) {
  return (value->kind == HL_VALUE_CONSTANT || value->kind == HL_VALUE_STATE) &&
         hl_dtype_is_float(value->dtype) && hl_shape_elements(&value->shape) > 0;
}

bool *hl_graph_weights(const hl_graph *graph) {
  bool *seen = calloc(graph->value_count ? graph->value_count : 1, sizeof *seen);
  if (!seen) return NULL;
  for (size_t n = 0; n < graph->node_count; n++) {
    const hl_node *node = &graph->nodes[n];
    for (size_t i = 0; i < node->input_count; i++) {
      const hl_value *value = hl_node_input(graph, node, i);
      if (!value || seen[node->inputs[i]] || !is_parameter(value)) continue;
      seen[node->inputs[i]] = takes_weight(graph, node, i);
    }
  }
  return seen;
}

int64_t hl_graph_parameters(const hl_graph *graph) {
  bool *weights = hl_graph_weights(graph);
  if (!weights) return -1;
  int64_t count = 0;
  for (size_t v = 0; v < graph->value_count; v++)
    if (weights[v]) count += hl_shape_elements(&graph->values[v].shape);
  free(weights);
  return count;
}

double hl_graph_flops(const hl_graph *graph) {
  double flops = 0;
  for (size_t n = 0; n < graph->node_count; n++) {
    const hl_node *node = &graph->nodes[n];
    if (!node->row) continue;
    if (node->row->flops) {
      flops += node->row->flops(graph, node);
    } else if (node->row->elementwise) {
      const hl_value *out = hl_node_output(graph, node, 0);
      int64_t elements = out ? hl_shape_elements(&out->shape) : 0;
      if (elements > 0) flops += (double)elements;
    }
  }
  return flops;
}
