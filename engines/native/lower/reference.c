/* Operators without a lowering: the reference evaluator, on plain tensors. */
#include "graph/operator.h"
#include "lower/lower.h"
#include <stdlib.h>

typedef struct reference_context {
  const hl_graph *graph;
  const hl_node *node;
  hl_tensor_view *inputs, *outputs; /* data is set at each run, on a copy */
  size_t input_count, output_count;
} reference_context;

static void context_free(void *opaque) {
  reference_context *context = opaque;
  free(context->inputs);
  free(context->outputs);
  free(context);
}

static hl_status run_reference(const void *opaque, void *const *pointers, hl_error *error) {
  const reference_context *context = opaque;
  size_t at = 0;
  for (size_t i = 0; i < context->input_count; i++)
    if (context->inputs[i].dtype != HL_DTYPE_NONE) context->inputs[i].data = pointers[at++];
  for (size_t i = 0; i < context->output_count; i++)
    if (context->outputs[i].dtype != HL_DTYPE_NONE) context->outputs[i].data = pointers[at++];
  return context->node->row->evaluate(context->graph, context->node, context->inputs,
                                      context->outputs, error);
}

static hl_tensor_view view_of(const hl_value *value) {
  hl_tensor_view view = {.name = ""};
  if (!value) return view;
  view.name = value->name;
  view.dtype = value->dtype;
  view.rank = value->shape.rank;
  for (int i = 0; i < value->shape.rank; i++) view.dims[i] = value->shape.dims[i];
  hl_shape_bytes(&value->shape, value->dtype, &view.bytes);
  return view;
}

static reference_context *new_context(hl_native_builder *b, const hl_native_node *node) {
  reference_context *context = calloc(1, sizeof(*context));
  if (!context) return NULL;
  context->graph = b->ir->graph;
  context->node = node->source;
  context->input_count = node->input_count;
  context->output_count = node->output_count;
  /* A few more than the node has, so that an operator may look at its optional ones. */
  context->inputs = calloc(node->input_count + 8, sizeof(*context->inputs));
  context->outputs = calloc(node->output_count + 8, sizeof(*context->outputs));
  if (!context->inputs || !context->outputs) {
    context_free(context);
    return NULL;
  }
  for (size_t i = 0; i < node->input_count; i++)
    context->inputs[i] = view_of(hl_native_in_value(b, node, i));
  for (size_t i = 0; i < node->output_count; i++)
    context->outputs[i] = view_of(hl_native_out_value(b, node, i));
  return context;
}

void hl_native_lower_reference(hl_native_builder *b, const hl_native_node *node) {
  if (b->failed != HL_OK) return;
  if (!node->source->row || !node->source->row->evaluate) {
    hl_native_fail(b, HL_UNIMPLEMENTED,
                   "the native engine does not implement operator %s (node '%s'). Remedy: run this "
                   "model with another engine",
                   node->op, node->source->name);
    return;
  }
  reference_context *context = new_context(b, node);
  if (!context) {
    hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
    return;
  }
  for (size_t i = 0; i < node->input_count; i++)
    if (node->inputs[i] >= 0) hl_native_in(b, node->inputs[i], HL_LAYOUT_PLAIN);
  hl_native_log(b->engine, "operator %s (node '%s') runs on the slow reference evaluator", node->op,
                node->source->name);
  b->list->fallback_count++;
  hl_native_step *step = hl_native_call(b, "Reference", run_reference, context, context_free);
  for (size_t i = 0; i < node->input_count; i++)
    if (node->inputs[i] >= 0)
      hl_native_arg_add(b, step, hl_native_in(b, node->inputs[i], HL_LAYOUT_PLAIN), 0, NULL);
  for (size_t i = 0; i < node->output_count; i++)
    if (node->outputs[i] >= 0)
      hl_native_arg_add(b, step, hl_native_out(b, node->outputs[i], HL_LAYOUT_PLAIN), 0, NULL);
}
