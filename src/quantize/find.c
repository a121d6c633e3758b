/* Which nodes are quantised and which values get 8 bits. */
#include "base/text.h"
#include "quantize/internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_one_of(const char *op, const char *const *ops, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(op, ops[i]) == 0) return true;
  return false;
}

bool hl_graph_is_quantized(const hl_graph *graph) {
  static const char *const ops[] = {"QuantizeLinear", "DequantizeLinear", "QLinearConv",
                                    "QLinearMatMul",  "ConvInteger",      "MatMulInteger"};
  for (size_t n = 0; n < graph->node_count; n++)
    if (is_one_of(graph->nodes[n].op, ops, HL_COUNT(ops))) return true;
  return false;
}

static bool is_product_or_convolution(const hl_node *node) {
  static const char *const ops[] = {"Conv", "MatMul", "Gemm"};
  return is_one_of(node->op, ops, HL_COUNT(ops)) && node->domain[0] == '\0';
}

/* Does the node only move what it reads? */
static bool is_move(const hl_node *node) {
  static const char *const ops[] = {"MaxPool",   "Concat",  "Reshape",   "Flatten",
                                    "Transpose", "Squeeze", "Unsqueeze", "Slice"};
  if (node->domain[0] || node->output_count != 1) return false;
  if (strcmp(node->op, "Resize") == 0)
    return strcmp(hl_node_text(node, "mode", "nearest"), "nearest") == 0;
  return is_one_of(node->op, ops, HL_COUNT(ops));
}

/* Tensors that a moving node reads: all of a Concat, else the first. */
static size_t moved_inputs(const hl_node *node) {
  return strcmp(node->op, "Concat") == 0 ? node->input_count : 1;
}

static bool is_weighted(const hl_graph *graph, const hl_node *node) {
  if (!is_product_or_convolution(node) || node->input_count < 2 || node->inputs[0] < 0)
    return false;
  const hl_value *w = hl__constant(graph, node->inputs[1]);
  if (!w || hl__constant(graph, node->inputs[0]) || hl_shape_elements(&w->shape) < 1) return false;
  if (strcmp(node->op, "Conv") == 0 ? w->shape.rank < 3 : w->shape.rank != 2) return false;
  if (node->input_count > 2 && node->inputs[2] >= 0) {
    const hl_value *bias = hl__constant(graph, node->inputs[2]);
    int axis = hl__weight_axis(node);
    if (!bias || bias->shape.rank != 1 || bias->shape.dims[0] != w->shape.dims[axis]) return false;
  }
  return strcmp(node->op, "Gemm") != 0 ||
         (hl_node_int(node, "transA", 0) == 0 && hl_node_real(node, "alpha", 1) == 1 &&
          hl_node_real(node, "beta", 1) == 1);
}

hl_value_id hl__set_of(hl_quantizer *q, hl_value_id value) {
  while (q->set[value] != value) value = q->set[value] = q->set[q->set[value]];
  return value;
}

static void unite(hl_quantizer *q, hl_value_id a, hl_value_id b) {
  q->set[hl__set_of(q, a)] = hl__set_of(q, b);
}

/* What the search knows of each value. */
typedef struct search {
  hl_quantizer *q;
  int *uses;
  size_t *reader; /* the last node that reads it */
  bool *wanted;   /* something reads it, perhaps through moves and sums, that wants 8 bits */
} search;

static void count_uses(search *s) {
  const hl_graph *graph = s->q->graph;
  for (size_t n = 0; n < graph->node_count; n++)
    for (size_t i = 0; i < graph->nodes[n].input_count; i++)
      if (graph->nodes[n].inputs[i] >= 0) {
        s->uses[graph->nodes[n].inputs[i]]++;
        s->reader[graph->nodes[n].inputs[i]] = n;
      }
  for (size_t i = 0; i < graph->output_count; i++) s->uses[graph->outputs[i]]++;
}

static bool is_variable_sum(const hl_graph *graph, const hl_node *node) {
  return strcmp(node->op, "Add") == 0 && node->input_count == 2 && node->inputs[0] >= 0 &&
         node->inputs[1] >= 0 && graph->values[node->inputs[0]].kind != HL_VALUE_CONSTANT &&
         graph->values[node->inputs[1]].kind != HL_VALUE_CONSTANT;
}

/* From the last node to the first. */
static void find_wanted(search *s) {
  const hl_graph *graph = s->q->graph;
  for (size_t n = graph->node_count; n-- > 0;) {
    const hl_node *node = &graph->nodes[n];
    if (s->q->role[n] == HL_ROLE_WEIGHTED) {
      s->wanted[node->inputs[0]] = true;
      continue;
    }
    if (node->output_count != 1 || node->outputs[0] < 0 || !s->wanted[node->outputs[0]]) continue;
    if (is_move(node))
      for (size_t i = 0; i < moved_inputs(node); i++)
        if (node->inputs[i] >= 0) s->wanted[node->inputs[i]] = true;
    if (is_variable_sum(graph, node))
      s->wanted[node->inputs[0]] = s->wanted[node->inputs[1]] = true;
    if (strcmp(node->op, "Relu") == 0) s->wanted[node->inputs[0]] = true;
  }
}

/* The ReLU that alone reads the node's result becomes part of it. */
static hl_value_id result_of(const search *s, const hl_node *node) {
  hl_value_id out = node->outputs[0];
  if (s->uses[out] != 1 || s->q->graph->values[out].is_output) return out;
  const hl_node *reader = &s->q->graph->nodes[s->reader[out]];
  return strcmp(reader->op, "Relu") == 0 ? reader->outputs[0] : out;
}

static void take_result(search *s, size_t n) {
  hl_value_id result = result_of(s, &s->q->graph->nodes[n]);
  s->q->result[n] = result;
  s->q->quantized[result] = s->q->internal[result] = true;
}

static void visit(search *s, size_t n) {
  hl_quantizer *q = s->q;
  const hl_node *node = &q->graph->nodes[n];
  if (q->role[n] == HL_ROLE_WEIGHTED) {
    q->quantized[node->inputs[0]] = true;
    hl_value_id result = result_of(s, node);
    if (strcmp(node->op, "Conv") == 0 || s->wanted[result]) take_result(s, n);
    return;
  }
  if (node->output_count != 1 || node->outputs[0] < 0) return;
  if (is_variable_sum(q->graph, node) && q->internal[node->inputs[0]] &&
      q->internal[node->inputs[1]] && node->inputs[0] != node->inputs[1]) {
    q->role[n] = HL_ROLE_SUM;
    take_result(s, n);
  } else if (is_move(node) && s->wanted[node->outputs[0]]) {
    for (size_t i = 0; i < moved_inputs(node); i++)
      if (node->inputs[i] < 0 || !q->internal[node->inputs[i]]) return;
    q->role[n] = HL_ROLE_MOVE;
    q->result[n] = node->outputs[0];
    q->quantized[node->outputs[0]] = q->internal[node->outputs[0]] = true;
    for (size_t i = 0; i < moved_inputs(node); i++) unite(q, node->inputs[i], node->outputs[0]);
  }
}

static hl_status list_places(hl_quantizer *q, hl_error *error) {
  q->places = calloc(q->graph->value_count + 1, sizeof *q->places);
  q->ports = calloc(q->graph->value_count + 1, sizeof *q->ports);
  if (!q->places || !q->ports)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to quantise the model");
  for (size_t i = 0; i < q->graph->value_count; i++)
    if (q->quantized[i]) q->places[q->place_count++] = (hl_value_id)i;
  return HL_OK;
}

static hl_status find(hl_quantizer *q, hl_error *error) {
  const hl_graph *graph = q->graph;
  size_t values = graph->value_count + 1, nodes = graph->node_count + 1;
  q->role = calloc(nodes, sizeof *q->role);
  q->result = calloc(nodes, sizeof *q->result);
  q->quantized = calloc(values, sizeof *q->quantized);
  q->internal = calloc(values, sizeof *q->internal);
  q->set = calloc(values, sizeof *q->set);
  search s = {.q = q,
              .uses = calloc(values, sizeof *s.uses),
              .reader = calloc(values, sizeof *s.reader),
              .wanted = calloc(values, sizeof *s.wanted)};
  hl_status status = HL_OK;
  if (!q->role || !q->result || !q->quantized || !q->internal || !q->set || !s.uses || !s.reader ||
      !s.wanted)
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to quantise the model");
  for (size_t i = 0; status == HL_OK && i < values; i++) q->set[i] = (hl_value_id)i;
  size_t found = 0;
  for (size_t n = 0; status == HL_OK && n < graph->node_count; n++)
    if (is_weighted(graph, &graph->nodes[n])) {
      q->role[n] = HL_ROLE_WEIGHTED;
      found++;
    }
  if (status == HL_OK && found == 0)
    status =
        hl_error_set(error, HL_UNIMPLEMENTED,
                     "nothing to quantise: the model has no Conv, MatMul or Gemm with constant "
                     "float32 weights");
  if (status == HL_OK) {
    count_uses(&s);
    find_wanted(&s);
    for (size_t n = 0; n < graph->node_count; n++) visit(&s, n);
    status = list_places(q, error);
  }
  free(s.uses);
  free(s.reader);
  free(s.wanted);
  return status;
}

hl_status hl_quantizer_new(const hl_graph *model, hl_quantizer **ret_quantizer, hl_error *error) {
  if (hl_graph_is_quantized(model))
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "the model is quantised already: it holds quantised operators");
  if (model->opset < 13)
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "the model has opset %lld; a scale for each channel needs 13. Convert it "
                        "first, for example with onnx.version_converter",
                        (long long)model->opset);
  hl_quantizer *q = calloc(1, sizeof *q);
  if (!q) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to quantise the model");
  hl_status status = hl_graph_clone(model, &q->graph, error);
  if (status == HL_OK) status = hl__fold_batch_norm(q->graph, &q->folded, error);
  if (status == HL_OK) status = find(q, error);
  if (status != HL_OK) {
    hl_quantizer_free(q);
    return status;
  }
  *ret_quantizer = q;
  return HL_OK;
}

void hl_quantizer_free(hl_quantizer *quantizer) {
  hl_quantizer *q = quantizer;
  if (!q) return;
  hl_graph_free(q->graph);
  free(q->role);
  free(q->result);
  free(q->quantized);
  free(q->internal);
  free(q->set);
  free(q->places);
  free(q->ports);
  free(q);
}

size_t hl_quantizer_places(const hl_quantizer *quantizer) {
  return quantizer->place_count;
}

const char *hl_quantizer_place(const hl_quantizer *quantizer, size_t i) {
  return quantizer->graph->values[quantizer->places[i]].name;
}

static bool find_port(const hl_value_id *list, size_t count, hl_value_id value, size_t *ret_port) {
  for (size_t i = 0; i < count; i++)
    if (list[i] == value) {
      *ret_port = i;
      return true;
    }
  return false;
}

hl_status hl_quantizer_calibration(hl_quantizer *quantizer, hl_graph **ret_graph, hl_error *error) {
  hl_quantizer *q = quantizer;
  hl_graph *graph = NULL;
  hl_status status = hl_graph_clone(q->graph, &graph, error);
  if (status != HL_OK) return status;
  for (size_t i = 0; i < q->place_count; i++) {
    if (find_port(graph->inputs, graph->input_count, q->places[i], &q->ports[i])) continue;
    if (find_port(graph->outputs, graph->output_count, q->places[i], &q->ports[i])) continue;
    q->ports[i] = graph->output_count;
    hl_graph_output(graph, q->places[i]);
  }
  status = hl_graph_status(graph, error);
  if (status != HL_OK) {
    hl_graph_free(graph);
    return status;
  }
  *ret_graph = graph;
  return HL_OK;
}

size_t hl_quantizer_port(const hl_quantizer *quantizer, size_t i, bool *ret_input) {
  size_t port;
  const hl_graph *graph = quantizer->graph;
  *ret_input = find_port(graph->inputs, graph->input_count, quantizer->places[i], &port);
  return quantizer->ports[i];
}
