/* BatchNormalization into the weights and the bias of the convolution before it. */
#include "base/text.h"
#include "quantize/internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const hl_value *hl__constant(const hl_graph *graph, hl_value_id id) {
  if (id < 0) return NULL;
  const hl_value *value = &graph->values[id];
  if (value->kind == HL_VALUE_TEMPORARY && value->producer >= 0) {
    const hl_node *node = &graph->nodes[value->producer];
    const hl_attribute *tensor = hl_node_attribute(node, "value");
    if (strcmp(node->op, "Constant") != 0 || !tensor || tensor->kind != HL_ATTRIBUTE_TENSOR)
      return NULL;
    value = &graph->values[tensor->tensor];
  }
  return value->kind == HL_VALUE_CONSTANT && value->data && value->dtype == HL_FLOAT32 ? value
                                                                                       : NULL;
}

float hl__element(const hl_value *value, int64_t i) {
  float x;
  memcpy(&x, (const char *)value->data + (size_t)i * sizeof x, sizeof x);
  return x;
}

void hl__drop_nodes(hl_graph *graph, const bool *dead) {
  size_t kept = 0;
  for (size_t n = 0; n < graph->node_count; n++) {
    if (dead[n]) {
      for (size_t i = 0; i < graph->nodes[n].output_count; i++)
        if (graph->nodes[n].outputs[i] >= 0 &&
            graph->values[graph->nodes[n].outputs[i]].producer == (int32_t)n)
          graph->values[graph->nodes[n].outputs[i]].producer = -1;
      continue;
    }
    graph->nodes[kept] = graph->nodes[n];
    for (size_t i = 0; i < graph->nodes[kept].output_count; i++)
      if (graph->nodes[kept].outputs[i] >= 0)
        graph->values[graph->nodes[kept].outputs[i]].producer = (int32_t)kept;
    kept++;
  }
  graph->node_count = kept;
}

/* A vector of `count` float32 constants. */
static const hl_value *vector(const hl_graph *graph, const hl_node *node, size_t input,
                              int64_t count) {
  const hl_value *v = input < node->input_count ? hl__constant(graph, node->inputs[input]) : NULL;
  return v && v->shape.rank == 1 && v->shape.dims[0] == count ? v : NULL;
}

static hl_value_id fresh(hl_graph *graph, const char *of, const hl_shape *shape, float **ret_data) {
  HL_CLEANUP(hl_free_pointer) char *name = hl_format("%s_folded", of);
  hl_value_id id =
      hl_graph_constant(graph, name ? name : "", HL_FLOAT32, shape->rank, shape->dims, NULL);
  *ret_data = id < 0 ? NULL : hl_graph_data(graph, id);
  return *ret_data ? id : -1;
}

/* w' = w * s, b' = beta + (b - mean) * s, with s = gamma / sqrt(variance + epsilon). */
static bool fold(hl_graph *graph, size_t conv_index, size_t norm_index) {
  hl_node *conv = &graph->nodes[conv_index];
  const hl_node *norm = &graph->nodes[norm_index];
  const hl_value *w = hl__constant(graph, conv->inputs[1]);
  if (!w || w->shape.rank < 3) return false;
  int64_t channels = w->shape.dims[0],
          inner = hl_shape_elements(&w->shape) / (channels ? channels : 1);
  const hl_value *old =
      conv->input_count > 2 && conv->inputs[2] >= 0 ? vector(graph, conv, 2, channels) : NULL;
  if (conv->input_count > 2 && conv->inputs[2] >= 0 && !old) return false;
  const hl_value *part[4];
  for (size_t i = 0; i < 4; i++)
    if (!(part[i] = vector(graph, norm, i + 1, channels))) return false;
  if (norm->output_count > 1 || hl_node_int(norm, "training_mode", 0) != 0) return false;
  double epsilon = (double)hl_node_real(norm, "epsilon", 1e-5f);
  hl_value w_copy = *w, old_copy = old ? *old : *w, parts[4];
  for (size_t i = 0; i < 4; i++) parts[i] = *part[i];
  hl_shape flat = {.rank = 1, .dims = {channels}};
  float *weights, *bias;
  hl_value_id w_id = fresh(graph, w_copy.name, &w_copy.shape, &weights);
  hl_value_id b_id = fresh(graph, parts[1].name, &flat, &bias);
  if (w_id < 0 || b_id < 0) return false;
  for (int64_t c = 0; c < channels; c++) {
    double s =
        (double)hl__element(&parts[0], c) / sqrt((double)hl__element(&parts[3], c) + epsilon);
    double b = old ? (double)hl__element(&old_copy, c) : 0;
    bias[c] =
        (float)((double)hl__element(&parts[1], c) + (b - (double)hl__element(&parts[2], c)) * s);
    for (int64_t i = c * inner; i < (c + 1) * inner; i++)
      weights[i] = (float)((double)hl__element(&w_copy, i) * s);
  }
  hl_value_id inputs[3] = {conv->inputs[0], w_id, b_id};
  hl_value_id *list = hl_arena_copy(&graph->arena, inputs, sizeof inputs);
  if (!list) return false;
  conv = &graph->nodes[conv_index];
  conv->inputs = list;
  conv->input_count = 3;
  conv->outputs[0] = graph->nodes[norm_index].outputs[0];
  return true;
}

hl_status hl__fold_batch_norm(hl_graph *graph, size_t *ret_folded, hl_error *error) {
  int *uses = calloc(graph->value_count + 1, sizeof *uses);
  bool *dead = calloc(graph->node_count + 1, sizeof *dead);
  *ret_folded = 0;
  for (size_t n = 0; uses && n < graph->node_count; n++)
    for (size_t i = 0; i < graph->nodes[n].input_count; i++)
      if (graph->nodes[n].inputs[i] >= 0) uses[graph->nodes[n].inputs[i]]++;
  for (size_t n = 0; uses && dead && n < graph->node_count; n++) {
    const hl_node *norm = &graph->nodes[n];
    if (strcmp(norm->op, "BatchNormalization") != 0 || norm->input_count < 5) continue;
    const hl_value *x = &graph->values[norm->inputs[0]];
    if (x->is_output || uses[norm->inputs[0]] != 1 || x->producer < 0) continue;
    if (strcmp(graph->nodes[x->producer].op, "Conv") != 0) continue;
    if (!fold(graph, (size_t)x->producer, n)) continue;
    dead[n] = true;
    ++*ret_folded;
  }
  bool ok = uses && dead;
  if (ok) hl__drop_nodes(graph, dead);
  free(uses);
  free(dead);
  return ok ? hl_graph_status(graph, error)
            : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to quantise the model");
}
