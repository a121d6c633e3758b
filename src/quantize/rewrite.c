/* The quantised graph. */
#include "base/text.h"
#include "quantize/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct rewrite {
  hl_quantizer *q;
  hl_graph *graph;       /* being rewritten: values up to q's count are the same as there */
  size_t values, nodes;  /* of the quantizer's graph */
  hl_affine *affine;     /* by value */
  hl_value_id *readable; /* by value: what its readers read instead, or itself */
  bool *dead;            /* by node of the quantizer's graph */
} rewrite;

/* Values that share a scale share the widest range. */
static hl_status find_affine(rewrite *r, const hl_range *ranges, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) hl_range *wide = calloc(r->values + 1, sizeof *wide);
  if (!wide) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to quantise the model");
  for (size_t i = 0; i < r->q->place_count; i++) {
    hl_range *set = &wide[hl__set_of(r->q, r->q->places[i])];
    if (ranges[i].low < set->low) set->low = ranges[i].low;
    if (ranges[i].high > set->high) set->high = ranges[i].high;
  }
  for (size_t i = 0; i < r->q->place_count; i++) {
    hl_value_id value = r->q->places[i];
    r->affine[value] = hl_affine_from_range(wide[hl__set_of(r->q, value)]);
  }
  return HL_OK;
}

static hl_value_id named_constant(hl_graph *graph, const char *of, const char *suffix,
                                  hl_dtype dtype, const void *data) {
  HL_CLEANUP(hl_free_pointer) char *name = hl_format("%s_%s", of, suffix);
  return hl_graph_constant(graph, name ? name : "", dtype, 0, NULL, data);
}

/* value -> QuantizeLinear -> DequantizeLinear; `source` is what is quantised: the value itself, or
 * what the ReLU that made it read. */
static hl_value_id add_pair(hl_graph *graph, hl_value_id value, hl_value_id source,
                            hl_affine affine) {
  const char *of = graph->values[value].name;
  hl_value_id scale = named_constant(graph, of, "scale", HL_FLOAT32, &affine.scale);
  hl_value_id zero = named_constant(graph, of, "zero_point", HL_UINT8, &affine.zero_point);
  HL_CLEANUP(hl_free_pointer) char *quantize = hl_format("%s_quantize", of);
  HL_CLEANUP(hl_free_pointer) char *dequantize = hl_format("%s_dequantize", of);
  if (scale < 0 || zero < 0 || !quantize || !dequantize) return -1;
  hl_value_id inputs[] = {source, scale, zero}, out = -1;
  hl_graph_node(graph, "QuantizeLinear", quantize, inputs, 3, &out, 1);
  if (out < 0) return -1;
  inputs[0] = out;
  hl_graph_node(graph, "DequantizeLinear", dequantize, inputs, 3, &out, 1);
  return out;
}

static hl_status add_pairs(rewrite *r, hl_error *error) {
  const hl_graph *old = r->q->graph;
  for (size_t i = 0; i < r->q->place_count; i++) {
    hl_value_id value = r->q->places[i], source = value;
    int32_t producer = old->values[value].producer;
    /* Rounding cuts off what is below the zero point 0: no ReLU is needed. */
    if (producer >= 0 && r->q->internal[value] && strcmp(old->nodes[producer].op, "Relu") == 0 &&
        r->affine[value].zero_point == 0) {
      source = old->nodes[producer].inputs[0];
      r->dead[producer] = true;
    }
    r->readable[value] = add_pair(r->graph, value, source, r->affine[value]);
    if (r->readable[value] < 0) return hl_graph_status(r->graph, error);
  }
  return HL_OK;
}

/* Which of the old nodes reads the rounded value? Where it was computed in 8 bits nothing else is
 * left; of other values only what computes in 8 bits. */
static bool reads_rounded(const rewrite *r, size_t node, size_t input, hl_value_id value) {
  if (r->q->internal[value]) return true;
  return r->q->role[node] == HL_ROLE_WEIGHTED && input == 0;
}

static void redirect(rewrite *r) {
  for (size_t n = 0; n < r->nodes; n++) {
    hl_node *node = &r->graph->nodes[n];
    if (r->dead[n]) continue;
    for (size_t i = 0; i < node->input_count; i++) {
      hl_value_id value = node->inputs[i];
      if (value < 0 || (size_t)value >= r->values || !r->q->quantized[value]) continue;
      if (reads_rounded(r, n, i, value)) node->inputs[i] = r->readable[value];
    }
  }
}

/* An output that was computed in 8 bits: its name goes to what is left of it. */
static void rename_outputs(rewrite *r) {
  for (size_t i = 0; i < r->graph->output_count; i++) {
    hl_value_id value = r->graph->outputs[i];
    if (!r->q->quantized[value] || !r->q->internal[value]) continue;
    HL_CLEANUP(hl_free_pointer) char *name = hl_strdup(r->graph->values[value].name);
    HL_CLEANUP(hl_free_pointer) char *raw = name ? hl_format("%s_float", name) : NULL;
    if (!raw) return;
    hl_graph_rename(r->graph, value, raw);
    hl_graph_rename(r->graph, r->readable[value], name);
    hl_value *from = &r->graph->values[value], *to = &r->graph->values[r->readable[value]];
    to->dtype = from->dtype;
    to->shape = from->shape;
    memcpy(to->symbols, from->symbols, sizeof to->symbols);
    to->is_output = true;
    from->is_output = false;
    r->graph->outputs[i] = r->readable[value];
  }
}

static hl_status rewrite_weights(rewrite *r, hl_quantize_summary *summary, hl_error *error) {
  for (size_t n = 0; n < r->nodes; n++) {
    const hl_node *old = &r->q->graph->nodes[n];
    bool weighted = strcmp(old->op, "Conv") == 0 || strcmp(old->op, "MatMul") == 0 ||
                    strcmp(old->op, "Gemm") == 0;
    if (r->q->role[n] == HL_ROLE_SUM) summary->sums++;
    if (r->q->role[n] != HL_ROLE_WEIGHTED) {
      summary->left += weighted;
      continue;
    }
    hl_value_id weights = -1, bias = -1;
    float x_scale = r->affine[old->inputs[0]].scale;
    hl_status status = hl__quantize_weights(r->graph, n, x_scale, &weights, &bias, summary, error);
    if (status != HL_OK) return status;
    r->graph->nodes[n].inputs[1] = weights;
    if (bias >= 0) r->graph->nodes[n].inputs[2] = bias;
    if (strcmp(old->op, "Conv") == 0)
      summary->convolutions++;
    else
      summary->products++;
  }
  return HL_OK;
}

/* Nodes and constants that nobody reads any more: they would be written into the file. */
static hl_status sweep(hl_graph *graph, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) bool *read = calloc(graph->value_count + 1, sizeof *read);
  HL_CLEANUP(hl_free_pointer) bool *dead = calloc(graph->node_count + 1, sizeof *dead);
  if (!read || !dead)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to quantise the model");
  for (size_t i = 0; i < graph->output_count; i++) read[graph->outputs[i]] = true;
  for (size_t n = graph->node_count; n-- > 0;) {
    const hl_node *node = &graph->nodes[n];
    dead[n] = true;
    for (size_t i = 0; i < node->output_count; i++)
      if (node->outputs[i] >= 0 && read[node->outputs[i]]) dead[n] = false;
    for (size_t i = 0; !dead[n] && i < node->input_count; i++)
      if (node->inputs[i] >= 0) read[node->inputs[i]] = true;
    for (size_t i = 0; !dead[n] && i < node->attribute_count; i++)
      if (node->attributes[i].kind == HL_ATTRIBUTE_TENSOR) read[node->attributes[i].tensor] = true;
  }
  hl__drop_nodes(graph, dead);
  for (size_t i = 0; i < graph->value_count; i++)
    if (graph->values[i].kind == HL_VALUE_CONSTANT && !read[i]) graph->values[i].data = NULL;
  return HL_OK;
}

static hl_status build(rewrite *r, const hl_range *ranges, hl_quantize_summary *summary,
                       hl_error *error) {
  hl_status status = find_affine(r, ranges, error);
  if (status == HL_OK) status = add_pairs(r, error);
  if (status == HL_OK) status = rewrite_weights(r, summary, error);
  if (status != HL_OK) return status;
  redirect(r);
  rename_outputs(r);
  status = hl_graph_status(r->graph, error);
  HL_CLEANUP(hl_free_pointer) bool *dead = calloc(r->graph->node_count + 1, sizeof *dead);
  if (!dead) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to quantise the model");
  memcpy(dead, r->dead, r->nodes * sizeof *dead);
  hl__drop_nodes(r->graph, dead);
  if (status == HL_OK) status = hl_graph_sort(r->graph, error);
  if (status == HL_OK) status = sweep(r->graph, error);
  return status == HL_OK ? hl_graph_resolve(r->graph, error) : status;
}

hl_status hl_quantizer_finish(hl_quantizer *quantizer, const hl_range *ranges, hl_graph **ret_graph,
                              hl_quantize_summary *ret_summary, hl_error *error) {
  rewrite r = {.q = quantizer,
               .values = quantizer->graph->value_count,
               .nodes = quantizer->graph->node_count};
  hl_quantize_summary summary = {.folded = quantizer->folded};
  hl_status status = hl_graph_clone(quantizer->graph, &r.graph, error);
  r.affine = calloc(r.values + 1, sizeof *r.affine);
  r.readable = calloc(r.values + 1, sizeof *r.readable);
  r.dead = calloc(r.nodes + 1, sizeof *r.dead);
  if (status == HL_OK && (!r.affine || !r.readable || !r.dead))
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to quantise the model");
  if (status == HL_OK) status = build(&r, ranges, &summary, error);
  free(r.affine);
  free(r.readable);
  free(r.dead);
  if (status != HL_OK) {
    hl_graph_free(r.graph);
    return status;
  }
  *ret_graph = r.graph;
  *ret_summary = summary;
  return HL_OK;
}
