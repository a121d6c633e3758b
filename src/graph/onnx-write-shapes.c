/* What shapes the outputs of an unbound graph have, in terms of its symbols. */
#include "graph/onnx-writer.h"

#include <stdlib.h>
#include <string.h>

enum { max_symbols = 32, probes = 2 };

typedef struct symbol_list {
  const char *names[max_symbols];
  size_t count;
} symbol_list;

/* Number of a symbol; unnamed dimensions each get their own. */
static size_t symbol_index(symbol_list *list, const char *name) {
  for (size_t i = 0; name && i < list->count; i++)
    if (list->names[i] && strcmp(list->names[i], name) == 0) return i;
  if (list->count < max_symbols) list->names[list->count++] = name;
  return list->count - 1;
}

/* Large multiples of a power of two: no constant of a network is likely to be one, and whatever a
 * network halves stays whole. No memory of this size is ever allocated. */
static int64_t probe_value(size_t symbol, int probe) {
  return INT64_C(1024) * (3 + 2 * (int64_t)symbol + 97 * probe);
}

static hl_status bind_probe(hl_graph *graph, symbol_list *list, int probe, hl_error *error) {
  list->count = 0;
  for (size_t i = 0; i < graph->input_count; i++) {
    hl_value *value = &graph->values[graph->inputs[i]];
    for (int32_t d = 0; d < value->shape.rank; d++)
      if (value->shape.dims[d] < 0)
        value->shape.dims[d] = probe_value(symbol_index(list, value->symbols[d]), probe);
  }
  hl_status status = hl_graph_resolve(graph, error);
  return status == HL_OK ? hl_graph_infer(graph, error) : status;
}

static void merge(hl_onnx_shape *out, const symbol_list *list, const hl_shape *a,
                  const hl_shape *b) {
  if (a->rank < 0 || a->rank != b->rank) return;
  out->shape.rank = a->rank;
  for (int32_t d = 0; d < a->rank; d++) {
    out->shape.dims[d] = a->dims[d] == b->dims[d] ? a->dims[d] : -1;
    out->symbols[d] = NULL;
    for (size_t s = 0; out->shape.dims[d] < 0 && s < list->count; s++)
      if (a->dims[d] == probe_value(s, 0) && b->dims[d] == probe_value(s, 1))
        out->symbols[d] = list->names[s];
  }
}

/* The graph's own copy of a symbol's name: that of a probe dies with it. */
static const char *own_name(const hl_graph *graph, const char *name) {
  for (size_t v = 0; name && v < graph->input_count; v++)
    for (int32_t k = 0; k < HL_MAX_RANK; k++) {
      const char *own = graph->values[graph->inputs[v]].symbols[k];
      if (own && strcmp(own, name) == 0) return own;
    }
  return NULL;
}

static hl_status probe_symbols(const hl_graph *graph, hl_onnx_shape *shapes, hl_error *error) {
  hl_graph *copies[probes] = {0};
  symbol_list list = {0};
  hl_status status = HL_OK;
  for (int i = 0; i < probes && status == HL_OK; i++) {
    status = hl_graph_clone(graph, &copies[i], error);
    if (status == HL_OK && copies[i]) status = bind_probe(copies[i], &list, i, error);
  }
  for (size_t i = 0; i < graph->output_count && status == HL_OK && copies[0] && copies[1]; i++) {
    const hl_value *first = &copies[0]->values[graph->outputs[i]];
    shapes[i] = (hl_onnx_shape){.dtype = first->dtype, .shape = {.rank = -1}};
    merge(&shapes[i], &list, &first->shape, &copies[1]->values[graph->outputs[i]].shape);
    for (int32_t d = 0; d < shapes[i].shape.rank; d++)
      shapes[i].symbols[d] = own_name(graph, shapes[i].symbols[d]);
  }
  for (int i = 0; i < probes; i++) hl_graph_free(copies[i]);
  return status;
}

/* Where no free choice of the symbols fits the graph (a channel count that weights fix, say):
 * unknown dimensions stay unknown and have no name. */
static hl_status leave_unknown(const hl_graph *graph, hl_onnx_shape *shapes, hl_error *error) {
  hl_graph *copy = NULL;
  hl_status status = hl_graph_clone(graph, &copy, error);
  if (status == HL_OK) status = hl_graph_resolve(copy, error);
  if (status == HL_OK) status = hl_graph_infer(copy, error);
  for (size_t i = 0; i < graph->output_count && status == HL_OK; i++) {
    const hl_value *out = &copy->values[graph->outputs[i]];
    shapes[i] = (hl_onnx_shape){.dtype = out->dtype, .shape = out->shape};
    if (out->shape.rank < 0)
      status = hl_error_set(error, HL_UNIMPLEMENTED,
                            "output '%.200s': its number of dimensions is not known, so that it "
                            "cannot be written",
                            out->name);
  }
  hl_graph_free(copy);
  return status;
}

hl_status hl_onnx_output_shapes(const hl_graph *graph, hl_onnx_shape **ret_shapes,
                                hl_error *error) {
  hl_onnx_shape *shapes = calloc(graph->output_count + 1, sizeof *shapes);
  if (!shapes) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the shapes of outputs");
  hl_status status = probe_symbols(graph, shapes, error);
  if (status == HL_BAD_DATA || status == HL_LIMIT) status = leave_unknown(graph, shapes, error);
  if (status == HL_OK)
    *ret_shapes = shapes;
  else
    free(shapes);
  return status;
}
