#include "workloads/layer-costs.h"

#include "graph/operator.h"
#include "workloads/shapes.h"
#include <stdlib.h>
#include <string.h>

struct hl_layer_costs {
  hl_graph *graph; /* owns the names */
  hl_layer_cost *items;
  size_t count;
  uint64_t round;
};

void hl_layer_costs_free(hl_layer_costs *costs) {
  if (!costs) return;
  hl_graph_free(costs->graph);
  free(costs->items);
  free(costs);
}

static double bytes_of(const hl_value *value) {
  uint64_t bytes = 0;
  return value && hl_shape_bytes(&value->shape, value->dtype, &bytes) ? (double)bytes : 0;
}

static hl_layer_cost cost_of(const hl_graph *graph, const hl_node *node) {
  hl_layer_cost cost = {.layer = hl_node_layer(graph, node)};
  if (node->row && node->row->flops) cost.flops = node->row->flops(graph, node);
  for (size_t i = 0; i < node->input_count; i++)
    cost.bytes += bytes_of(hl_node_input(graph, node, i));
  for (size_t i = 0; i < node->output_count; i++)
    cost.bytes += bytes_of(hl_node_output(graph, node, i));
  return cost;
}

static int by_layer(const void *a, const void *b) {
  return strcmp(((const hl_layer_cost *)a)->layer, ((const hl_layer_cost *)b)->layer);
}

/* Nodes of one name are one layer. */
static void join(hl_layer_costs *costs) {
  size_t kept = 0;
  if (costs->count) qsort(costs->items, costs->count, sizeof *costs->items, by_layer);
  for (size_t i = 0; i < costs->count; i++) {
    if (kept && by_layer(&costs->items[kept - 1], &costs->items[i]) == 0) {
      costs->items[kept - 1].flops += costs->items[i].flops;
      costs->items[kept - 1].bytes += costs->items[i].bytes;
    } else {
      costs->items[kept++] = costs->items[i];
    }
  }
  costs->count = kept;
}

hl_status hl_layer_costs_new(const hl_model_file *file, const hl_configuration *configuration,
                             int64_t images, hl_layer_costs **ret_costs, hl_error *error) {
  if (file->foreign || file->unread)
    return hl_error_set(error, HL_UNIMPLEMENTED, "the operators of %.200s are not known",
                        configuration->model);
  hl_layer_costs *costs = calloc(1, sizeof *costs);
  if (!costs) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for layers");
  hl_status status = hl_model_file_graph(file, configuration, &costs->graph, error);
  if (status == HL_OK && !file->fixed_batch && file->input_axes)
    hl_shapes_bind_batch(costs->graph, file->input_axes, images);
  else if (status == HL_OK && !file->fixed_batch)
    status = hl_graph_bind_batch(costs->graph, images, error);
  if (status == HL_OK) status = hl_graph_infer(costs->graph, error);
  if (status == HL_OK) costs->items = calloc(costs->graph->node_count + 1, sizeof *costs->items);
  if (status == HL_OK && !costs->items)
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for layers");
  if (status != HL_OK) {
    hl_layer_costs_free(costs);
    return status;
  }
  for (size_t i = 0; i < costs->graph->node_count; i++)
    costs->items[costs->count++] = cost_of(costs->graph, &costs->graph->nodes[i]);
  join(costs);
  costs->round = 1;
  *ret_costs = costs;
  return HL_OK;
}

static const hl_layer_cost *find(const hl_layer_costs *costs, const char *layer) {
  const hl_layer_cost key = {.layer = layer};
  return bsearch(&key, costs->items, costs->count, sizeof key, by_layer);
}

/* The node that makes the value of that name, or NULL. */
static const hl_node *maker_of(const hl_graph *graph, const char *value) {
  for (size_t i = 0; i < graph->value_count; i++)
    if (graph->values[i].producer >= 0 && strcmp(graph->values[i].name, value) == 0)
      return &graph->nodes[graph->values[i].producer];
  return NULL;
}

/* From `node` back along first inputs to one of that kind, or NULL; what is fused is short. */
static const hl_node *back_to(const hl_graph *graph, const hl_node *node, const char *kind) {
  enum { most_fused = 8 };
  for (int i = 0; node && i < most_fused; i++) {
    if (strcmp(node->op, kind) == 0) return node;
    const hl_value *input = node->input_count ? hl_node_input(graph, node, 0) : NULL;
    node = input && input->producer >= 0 ? &graph->nodes[input->producer] : NULL;
  }
  return NULL;
}

/* Cuts `end` off; false if it does not end so. */
static bool cut(char *text, const char *end) {
  size_t length = strlen(text), tail = strlen(end);
  if (length <= tail || strcmp(text + length - tail, end) != 0) return false;
  text[length - tail] = '\0';
  return true;
}

const char *hl_layer_costs_layer(const hl_layer_costs *costs, const char *name, const char *kind) {
  char plain[512];
  if (!costs || strlen(name) >= sizeof plain) return NULL;
  memcpy(plain, name, strlen(name) + 1);
  (void)(cut(plain, "/WithoutBiases") || cut(plain, "_nchwc"));
  const hl_layer_cost *cost = find(costs, plain);
  if (cost) return cost->layer;
  const hl_node *maker = maker_of(costs->graph, plain);
  const hl_node *fused = back_to(costs->graph, maker, kind);
  return fused   ? hl_node_layer(costs->graph, fused)
         : maker ? hl_node_layer(costs->graph, maker)
                 : NULL;
}

const hl_layer_cost *hl_layer_costs_take(hl_layer_costs *costs, const char *layer) {
  hl_layer_cost *found = costs ? (hl_layer_cost *)(uintptr_t)find(costs, layer) : NULL;
  if (!found || found->taken == costs->round) return NULL;
  found->taken = costs->round;
  return found;
}

void hl_layer_costs_again(hl_layer_costs *costs) {
  if (costs) costs->round++;
}
