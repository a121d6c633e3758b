/* Runs a graph by the reference functions, one node after the other. */
#include "graph/operator-kit.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct machine {
  const hl_graph *graph;
  void **data;    /* of each value; owned where `owned` says so */
  uint32_t *uses; /* readers of each value that have not run yet; outputs have one more */
  bool *owned;
} machine;

static void machine_release(machine *m) {
  for (size_t i = 0; m->data && m->owned && i < m->graph->value_count; i++)
    if (m->owned[i]) free(m->data[i]);
  free(m->data);
  free(m->uses);
  free(m->owned);
}

static void count_uses(machine *m) {
  const hl_graph *graph = m->graph;
  for (size_t n = 0; n < graph->node_count; n++)
    for (size_t i = 0; i < graph->nodes[n].input_count; i++)
      if (graph->nodes[n].inputs[i] >= 0) m->uses[graph->nodes[n].inputs[i]]++;
  for (size_t i = 0; i < graph->output_count; i++) m->uses[graph->outputs[i]]++;
  for (size_t i = 0; i < graph->update_count; i++) m->uses[graph->updates[i].value]++;
}

static hl_status check_input(const hl_value *value, const hl_tensor_view *view, hl_error *error) {
  uint64_t bytes = 0;
  bool ok = value->shape.rank == view->rank && value->dtype == view->dtype && view->data;
  for (int32_t d = 0; ok && d < view->rank; d++) ok = value->shape.dims[d] == view->dims[d];
  ok = ok && hl_shape_bytes(&value->shape, value->dtype, &bytes) && view->bytes >= bytes;
  if (ok) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "input '%.90s': the tensor given differs in type, shape or size from what "
                      "the graph was bound to",
                      value->name);
}

static hl_status start(machine *m, const hl_tensor_view *inputs, hl_error *error) {
  const hl_graph *graph = m->graph;
  m->data = calloc(graph->value_count + 1, sizeof *m->data);
  m->uses = calloc(graph->value_count + 1, sizeof *m->uses);
  m->owned = calloc(graph->value_count + 1, sizeof *m->owned);
  if (!m->data || !m->uses || !m->owned)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to run the graph");
  for (size_t i = 0; i < graph->value_count; i++)
    m->data[i] = (void *)(uintptr_t)graph->values[i].data;
  for (size_t i = 0; i < graph->input_count; i++) {
    hl_status status = check_input(&graph->values[graph->inputs[i]], &inputs[i], error);
    if (status != HL_OK) return status;
    m->data[graph->inputs[i]] = inputs[i].data;
  }
  count_uses(m);
  return HL_OK;
}

static hl_tensor_view view_of(const machine *m, hl_value_id id) {
  if (id < 0) return (hl_tensor_view){0};
  hl_tensor_view view = hl_view_of(&m->graph->values[id]);
  view.data = m->data[id];
  hl_shape_bytes(&m->graph->values[id].shape, view.dtype, &view.bytes);
  return view;
}

static hl_status make_outputs(machine *m, const hl_node *node, hl_tensor_view *views,
                              hl_error *error) {
  for (size_t i = 0; i < node->output_count; i++) {
    hl_value_id id = node->outputs[i];
    if (id < 0) continue;
    const hl_value *value = &m->graph->values[id];
    uint64_t bytes;
    if (!hl_shape_bytes(&value->shape, value->dtype, &bytes) || bytes > SIZE_MAX - 64)
      return hl_op_fail(node, HL_INVALID_ARGUMENT, error,
                        "the shape of '%.90s' is not known; bind the inputs and infer first",
                        value->name);
    m->data[id] = calloc(1, (size_t)bytes + 1);
    if (!m->data[id]) return hl_op_no_memory(node, error);
    m->owned[id] = true;
    views[i] = view_of(m, id);
  }
  return HL_OK;
}

static bool is_folded(const machine *m, const hl_node *node) {
  for (size_t i = 0; i < node->output_count; i++)
    if (node->outputs[i] >= 0 && !m->graph->values[node->outputs[i]].data) return false;
  return true;
}

static void release_used(machine *m, const hl_node *node) {
  for (size_t i = 0; i < node->input_count; i++) {
    hl_value_id id = node->inputs[i];
    if (id < 0 || --m->uses[id] > 0 || !m->owned[id]) continue;
    free(m->data[id]);
    m->data[id] = NULL;
    m->owned[id] = false;
  }
}

static hl_status run_node(machine *m, const hl_node *node, hl_error *error) {
  if (!node->row || !node->row->evaluate)
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "it has no reference function");
  if (is_folded(m, node)) return HL_OK;
  /* A few more than the node has, so that an operator may look at its optional ones. */
  HL_CLEANUP(hl_free_pointer) hl_tensor_view *in = calloc(node->input_count + 8, sizeof *in);
  HL_CLEANUP(hl_free_pointer) hl_tensor_view *out = calloc(node->output_count + 8, sizeof *out);
  if (!in || !out) return hl_op_no_memory(node, error);
  for (size_t i = 0; i < node->input_count; i++) in[i] = view_of(m, node->inputs[i]);
  hl_status status = make_outputs(m, node, out, error);
  if (status == HL_OK) status = node->row->evaluate(m->graph, node, in, out, error);
  release_used(m, node);
  return status;
}

static hl_status collect(machine *m, hl_tensor_view *ret_outputs, hl_error *error) {
  const hl_graph *graph = m->graph;
  for (size_t i = 0; i < graph->output_count; i++) {
    hl_tensor_view view = view_of(m, graph->outputs[i]);
    void *copy = malloc((size_t)view.bytes + 1);
    if (!copy) {
      while (i-- > 0) {
        free(ret_outputs[i].data);
        ret_outputs[i].data = NULL;
      }
      return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the outputs");
    }
    if (view.bytes) memcpy(copy, view.data, (size_t)view.bytes);
    view.data = copy;
    ret_outputs[i] = view;
  }
  return HL_OK;
}

static hl_status run(machine *m, const hl_tensor_view *inputs, hl_tensor_view *ret_outputs,
                     hl_error *error) {
  hl_status status = start(m, inputs, error);
  for (size_t n = 0; status == HL_OK && n < m->graph->node_count; n++)
    status = run_node(m, &m->graph->nodes[n], error);
  return status == HL_OK ? collect(m, ret_outputs, error) : status;
}

hl_status hl_graph_evaluate(const hl_graph *graph, const hl_tensor_view *inputs,
                            hl_tensor_view *ret_outputs, hl_error *error) {
  machine m = {.graph = graph};
  hl_status status = run(&m, inputs, ret_outputs, error);
  machine_release(&m);
  return status;
}

hl_status hl_graph_step(hl_graph *graph, const hl_tensor_view *inputs, hl_tensor_view *ret_outputs,
                        hl_error *error) {
  for (size_t v = 0; v < graph->value_count; v++)
    if (graph->values[v].kind == HL_VALUE_STATE) hl_graph_state_data(graph, (hl_value_id)v);
  hl_status status = hl_graph_status(graph, error);
  if (status != HL_OK) return status;
  machine m = {.graph = graph};
  status = run(&m, inputs, ret_outputs, error);
  bool finite =
      status == HL_OK && graph->output_count > 0 && isfinite(hl_view_get(&ret_outputs[0], 0));
  for (size_t i = 0; finite && i < graph->update_count; i++) {
    hl_tensor_view from = view_of(&m, graph->updates[i].value);
    void *to = hl_graph_data(graph, graph->updates[i].state);
    if (from.bytes) memcpy(to, from.data, (size_t)from.bytes);
  }
  machine_release(&m);
  return status;
}
