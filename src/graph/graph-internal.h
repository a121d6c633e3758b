/*
 * graph/graph-internal.h - what the files of src/graph share and nobody else needs.
 *
 * `hl_graph.storage` points to an hl_graph_storage: the memory behind constants and the table that
 * finds a value by its name.
 */
#ifndef HL_GRAPH_GRAPH_INTERNAL_H
#define HL_GRAPH_GRAPH_INTERNAL_H

#include "base/file.h"
#include "graph/graph.h"

/* Limits on what a graph may hold, whether read or built. */
enum {
  HL_GRAPH_MAX_NODES = 1 << 18,
  HL_GRAPH_MAX_VALUES = 1 << 20,
  HL_GRAPH_MAX_ATTRIBUTES = 256, /* of one node */
  HL_GRAPH_ARENA_BYTES = 256 << 20
};

/* Largest dimension: sums of many stay exact, products are checked. */
#define HL_GRAPH_MAX_DIM (INT64_C(1) << 48)

/* One heap block or one mapping that constants point into. */
typedef struct hl_graph_block {
  struct hl_graph_block *next;
  void *heap;
  hl_mapping mapping;
} hl_graph_block;

typedef struct hl_graph_storage {
  hl_graph_block *blocks;
  int32_t *slots; /* open addressing by name: value index + 1, 0 for a free slot */
  size_t slot_count;
  hl_error first; /* message that belongs to hl_graph.failed */
} hl_graph_storage;

/* `bytes` zeroed bytes aligned to 64 that live as long as the graph, or NULL. */
void *hl_graph_block_new(hl_graph *graph, uint64_t bytes);

/* Gives a mapping to the graph; false (mapping untouched) without memory. */
bool hl_graph_adopt(hl_graph *graph, hl_mapping mapping);

/* Remembers the first failure of a building function; returns `status`. */
hl_status hl_graph_fail(hl_graph *graph, hl_status status, const char *format, ...) HL_PRINTF(3, 4);

/* A new value with a unique name of `length` bytes, or -1 with the graph failed. */
hl_value_id hl_graph_value_new(hl_graph *graph, const char *name, size_t length,
                               hl_value_kind kind);

/* The value called `name`, or -1. */
hl_value_id hl_graph_find_n(const hl_graph *graph, const char *name, size_t length);

/* `wished`, or where a value has that name the first of "wished~2", "wished~3", ... that none has;
 * it lives in the graph. "" with the graph failed. */
const char *hl_graph_free_name(hl_graph *graph, const char *wished);

/* A new node without inputs and outputs, or NULL with the graph failed. */
hl_node *hl_graph_node_new(hl_graph *graph, const char *op, const char *name, const char *domain);

/* A node with the operator, the attributes and, in lists of its own, the inputs and outputs of node
 * `index`; named after it, marked by the pen. NULL with the graph failed. */
hl_node *hl_graph_node_like(hl_graph *graph, size_t index);

/* Puts the nodes in another order: order[i] is the present place of the one that will be i-th. */
hl_status hl_graph_reorder(hl_graph *graph, const size_t *order, hl_error *error);

/* Appends to graph->inputs. */
bool hl_graph_add_input(hl_graph *graph, hl_value_id value);

/* A new attribute slot of `node`, or NULL with the graph failed. */
hl_attribute *hl_node_attribute_new(hl_graph *graph, hl_node *node, const char *name);

#endif
