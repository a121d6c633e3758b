#include "graph/graph.h"

#include "base/text.h"
#include "graph/graph-internal.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static hl_graph_storage *storage_of(const hl_graph *graph) {
  return graph->storage;
}

hl_status hl_graph_new(const char *name, hl_graph **ret_graph, hl_error *error) {
  hl_graph *graph = calloc(1, sizeof *graph);
  hl_graph_storage *storage = calloc(1, sizeof *storage);
  if (!graph || !storage) {
    free(graph);
    free(storage);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a graph");
  }
  hl_arena_init(&graph->arena, HL_GRAPH_ARENA_BYTES);
  graph->storage = storage;
  graph->opset = 17;
  graph->ir_version = 8;
  graph->name = hl_arena_text(&graph->arena, name ? name : "");
  if (!graph->name) {
    hl_graph_free(graph);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a graph");
  }
  *ret_graph = graph;
  return HL_OK;
}

void hl_graph_free(hl_graph *graph) {
  if (!graph) return;
  hl_graph_storage *storage = storage_of(graph);
  for (hl_graph_block *block = storage->blocks; block;) {
    hl_graph_block *next = block->next;
    free(block->heap);
    hl_file_unmap(&block->mapping);
    free(block);
    block = next;
  }
  free(storage->slots);
  free(storage);
  free(graph->updates);
  free(graph->values);
  free(graph->nodes);
  free(graph->inputs);
  free(graph->outputs);
  free(graph->remarks);
  hl_arena_release(&graph->arena);
  free(graph);
}

hl_status hl_graph_status(const hl_graph *graph, hl_error *error) {
  if (graph->failed != HL_OK && error) *error = storage_of(graph)->first;
  return graph->failed;
}

hl_status hl_graph_fail(hl_graph *graph, hl_status status, const char *format, ...) {
  if (graph->failed != HL_OK) return status;
  hl_error *first = &storage_of(graph)->first;
  va_list args;
  va_start(args, format);
  vsnprintf(first->msg, sizeof first->msg, format, args);
  va_end(args);
  first->status = graph->failed = status;
  return status;
}

/* -- memory behind constants ---------------------------------------------------------------- */

static bool add_block(hl_graph *graph, void *heap, hl_mapping mapping) {
  hl_graph_block *block = malloc(sizeof *block);
  if (!block) return false;
  hl_graph_storage *storage = storage_of(graph);
  *block = (hl_graph_block){.next = storage->blocks, .heap = heap, .mapping = mapping};
  storage->blocks = block;
  return true;
}

void *hl_graph_block_new(hl_graph *graph, uint64_t bytes) {
  if (bytes > SIZE_MAX / 2) return NULL;
  size_t size = ((size_t)bytes + 63) & ~(size_t)63;
  if (size == 0) size = 64;
  void *heap = aligned_alloc(64, size);
  if (!heap) return NULL;
  memset(heap, 0, size);
  if (!add_block(graph, heap, (hl_mapping){0})) {
    free(heap);
    return NULL;
  }
  return heap;
}

bool hl_graph_adopt(hl_graph *graph, hl_mapping mapping) {
  return add_block(graph, NULL, mapping);
}

void hl_graph_drop_pages(const hl_graph *graph) {
  for (const hl_graph_block *block = storage_of(graph)->blocks; block; block = block->next)
    if (block->mapping.bytes > 0)
      (void)madvise((void *)(uintptr_t)block->mapping.data, block->mapping.bytes, MADV_DONTNEED);
}

/* -- names ---------------------------------------------------------------------------------- */

static size_t hash_name(const char *name, size_t length) {
  uint64_t hash = 14695981039346656037u; /* FNV-1a */
  for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)name[i]) * 1099511628211u;
  return (size_t)(hash ^ (hash >> 32));
}

static void index_value(hl_graph *graph, int32_t id) {
  hl_graph_storage *storage = storage_of(graph);
  const char *name = graph->values[id].name;
  size_t mask = storage->slot_count - 1;
  size_t slot = hash_name(name, strlen(name)) & mask;
  while (storage->slots[slot]) slot = (slot + 1) & mask;
  storage->slots[slot] = id + 1;
}

static bool index_all(hl_graph *graph, size_t slot_count) {
  hl_graph_storage *storage = storage_of(graph);
  int32_t *slots = calloc(slot_count, sizeof *slots);
  if (!slots) return false;
  free(storage->slots);
  storage->slots = slots;
  storage->slot_count = slot_count;
  for (size_t i = 0; i < graph->value_count; i++) index_value(graph, (int32_t)i);
  return true;
}

hl_value_id hl_graph_find_n(const hl_graph *graph, const char *name, size_t length) {
  const hl_graph_storage *storage = storage_of(graph);
  if (!storage->slot_count) return -1;
  size_t mask = storage->slot_count - 1;
  for (size_t slot = hash_name(name, length) & mask; storage->slots[slot];
       slot = (slot + 1) & mask) {
    const char *other = graph->values[storage->slots[slot] - 1].name;
    if (strlen(other) == length && memcmp(other, name, length) == 0)
      return storage->slots[slot] - 1;
  }
  return -1;
}

hl_value_id hl_graph_find(const hl_graph *graph, const char *name) {
  return hl_graph_find_n(graph, name, strlen(name));
}

/* -- growing arrays ------------------------------------------------------------------------- */

static void *grow(hl_graph *graph, void *array, size_t *capacity, size_t count, size_t item_bytes) {
  if (count < *capacity) return array;
  size_t larger = *capacity ? *capacity * 2 : 64;
  void *moved = reallocarray(array, larger, item_bytes);
  if (!moved) {
    hl_graph_fail(graph, HL_OUT_OF_MEMORY, "no memory for a graph of %zu items", larger);
    return NULL;
  }
  *capacity = larger;
  return moved;
}

hl_value_id hl_graph_value_new(hl_graph *graph, const char *name, size_t length,
                               hl_value_kind kind) {
  if (graph->failed != HL_OK) return -1;
  if (length == 0) {
    hl_graph_fail(graph, HL_INVALID_ARGUMENT, "a value of the graph needs a name");
    return -1;
  }
  if (hl_graph_find_n(graph, name, length) >= 0) {
    hl_graph_fail(graph, HL_INVALID_ARGUMENT, "two values of the graph are called '%.*s'",
                  (int)(length < 200 ? length : 200), name);
    return -1;
  }
  if (graph->value_count >= HL_GRAPH_MAX_VALUES) {
    hl_graph_fail(graph, HL_LIMIT, "more than %d values in one graph", HL_GRAPH_MAX_VALUES);
    return -1;
  }
  hl_value *values =
      grow(graph, graph->values, &graph->value_capacity, graph->value_count, sizeof *values);
  if (!values) return -1;
  graph->values = values;
  hl_graph_storage *storage = storage_of(graph);
  if (graph->value_count * 2 >= storage->slot_count &&
      !index_all(graph, storage->slot_count ? storage->slot_count * 2 : 256)) {
    hl_graph_fail(graph, HL_OUT_OF_MEMORY, "no memory for the names of the graph");
    return -1;
  }
  const char *copy = hl_arena_text_n(&graph->arena, name, length);
  if (!copy) {
    hl_graph_fail(graph, HL_LIMIT, "names and lists of the graph need more than %d bytes",
                  HL_GRAPH_ARENA_BYTES);
    return -1;
  }
  hl_value_id id = (hl_value_id)graph->value_count++;
  graph->values[id] =
      (hl_value){.name = copy, .kind = kind, .producer = -1, .original = -1, .shape = {.rank = -1}};
  index_value(graph, id);
  return id;
}

hl_node *hl_graph_node_new(hl_graph *graph, const char *op, const char *name, const char *domain) {
  if (graph->failed != HL_OK) return NULL;
  if (graph->node_count >= HL_GRAPH_MAX_NODES) {
    hl_graph_fail(graph, HL_LIMIT, "more than %d nodes in one graph", HL_GRAPH_MAX_NODES);
    return NULL;
  }
  hl_node *nodes =
      grow(graph, graph->nodes, &graph->node_capacity, graph->node_count, sizeof *nodes);
  if (!nodes) return NULL;
  graph->nodes = nodes;
  hl_node node = {.op = hl_arena_text(&graph->arena, op),
                  .name = hl_arena_text(&graph->arena, name ? name : ""),
                  .domain = hl_arena_text(&graph->arena, domain ? domain : ""),
                  .phase = graph->pen_phase,
                  .layer = graph->pen_layer,
                  .is_gradient = graph->pen_gradient};
  if (!node.op || !node.name || !node.domain) {
    hl_graph_fail(graph, HL_OUT_OF_MEMORY, "no memory for node '%s'", name ? name : op);
    return NULL;
  }
  graph->nodes[graph->node_count] = node;
  return &graph->nodes[graph->node_count++];
}

static bool valid_value(hl_graph *graph, hl_value_id value, const char *what) {
  if (graph->failed != HL_OK) return false;
  if (value >= 0 && (size_t)value < graph->value_count) return true;
  hl_graph_fail(graph, HL_INVALID_ARGUMENT, "%s: the graph has no value number %d", what, value);
  return false;
}

/* -- building ------------------------------------------------------------------------------- */

static bool set_shape(hl_graph *graph, hl_value *value, int32_t rank, const int64_t *dims) {
  if (rank < 0 || rank > HL_MAX_RANK) {
    hl_graph_fail(graph, HL_INVALID_ARGUMENT, "'%s' has rank %d; possible are 0 to %d", value->name,
                  rank, HL_MAX_RANK);
    return false;
  }
  for (int32_t i = 0; i < rank; i++) {
    if (dims[i] < -1 || dims[i] > HL_GRAPH_MAX_DIM) {
      hl_graph_fail(graph, HL_INVALID_ARGUMENT, "'%s' has a dimension of %" PRId64, value->name,
                    dims[i]);
      return false;
    }
    value->shape.dims[i] = dims[i];
  }
  value->shape.rank = rank;
  return true;
}

bool hl_graph_add_input(hl_graph *graph, hl_value_id value) {
  hl_value_id *inputs =
      grow(graph, graph->inputs, &graph->input_capacity, graph->input_count, sizeof *inputs);
  if (!inputs) return false;
  graph->inputs = inputs;
  graph->inputs[graph->input_count++] = value;
  return true;
}

hl_value_id hl_graph_input(hl_graph *graph, const char *name, hl_dtype dtype, int32_t rank,
                           const int64_t *dims) {
  hl_value_id id = hl_graph_value_new(graph, name, strlen(name), HL_VALUE_INPUT);
  if (id < 0) return -1;
  graph->values[id].dtype = dtype;
  if (!set_shape(graph, &graph->values[id], rank, dims) || !hl_graph_add_input(graph, id))
    return -1;
  return id;
}

void hl_graph_symbol(hl_graph *graph, hl_value_id value, int32_t axis, const char *symbol) {
  if (!valid_value(graph, value, "symbol")) return;
  hl_value *v = &graph->values[value];
  if (axis < 0 || axis >= v->shape.rank) {
    hl_graph_fail(graph, HL_INVALID_ARGUMENT, "'%s' has no axis %d to call '%s'", v->name, axis,
                  symbol);
    return;
  }
  v->symbols[axis] = hl_arena_text(&graph->arena, symbol);
  if (!v->symbols[axis]) hl_graph_fail(graph, HL_OUT_OF_MEMORY, "no memory for '%s'", symbol);
}

static hl_value_id new_constant(hl_graph *graph, const char *name, hl_dtype dtype, int32_t rank,
                                const int64_t *dims) {
  hl_value_id id = hl_graph_value_new(graph, name, strlen(name), HL_VALUE_CONSTANT);
  if (id < 0) return -1;
  hl_value *value = &graph->values[id];
  value->dtype = dtype;
  if (!set_shape(graph, value, rank, dims)) return -1;
  if (!hl_shape_bytes(&value->shape, dtype, &value->bytes)) {
    hl_graph_fail(graph, HL_INVALID_ARGUMENT,
                  "constant '%s' needs a known shape and a numeric type", name);
    return -1;
  }
  return id;
}

hl_value_id hl_graph_constant(hl_graph *graph, const char *name, hl_dtype dtype, int32_t rank,
                              const int64_t *dims, const void *data) {
  hl_value_id id = new_constant(graph, name, dtype, rank, dims);
  if (id < 0) return -1;
  hl_value *value = &graph->values[id];
  void *copy = hl_graph_block_new(graph, value->bytes);
  if (!copy) {
    hl_graph_fail(graph, HL_OUT_OF_MEMORY, "no memory for the %" PRIu64 " bytes of '%s'",
                  value->bytes, name);
    return -1;
  }
  if (data && value->bytes) memcpy(copy, data, (size_t)value->bytes);
  value->data = copy;
  return id;
}

hl_value_id hl_graph_constant_borrowed(hl_graph *graph, const char *name, hl_dtype dtype,
                                       int32_t rank, const int64_t *dims, const void *data) {
  hl_value_id id = new_constant(graph, name, dtype, rank, dims);
  if (id >= 0) graph->values[id].data = data;
  return id;
}

void *hl_graph_data(hl_graph *graph, hl_value_id value) {
  if (graph->failed != HL_OK || value < 0 || (size_t)value >= graph->value_count) return NULL;
  const void *data = graph->values[value].data;
  for (hl_graph_block *block = storage_of(graph)->blocks; block && data; block = block->next)
    if (block->heap == data) return block->heap;
  return NULL;
}

static bool add_outputs(hl_graph *graph, hl_node *node, size_t output_count) {
  size_t index = (size_t)(node - graph->nodes);
  char base[256], name[300];
  if (node->name[0])
    snprintf(base, sizeof base, "%s", node->name);
  else
    snprintf(base, sizeof base, "%s_%zu", node->op, index);
  for (size_t i = 0; i < output_count; i++) {
    if (i == 0)
      snprintf(name, sizeof name, "%s_out", base);
    else
      snprintf(name, sizeof name, "%s_out%zu", base, i);
    hl_value_id id = hl_graph_value_new(graph, name, strlen(name), HL_VALUE_TEMPORARY);
    if (id < 0) return false;
    graph->values[id].producer = (int32_t)index;
    node->outputs[i] = id;
  }
  return true;
}

/* A node with its inputs; NULL with the graph failed. */
static hl_node *connected_node(hl_graph *graph, const char *op, const char *name,
                               const hl_value_id *inputs, size_t input_count, size_t output_count) {
  for (size_t i = 0; i < input_count; i++)
    if (inputs[i] != -1 && !valid_value(graph, inputs[i], name ? name : op)) return NULL;
  hl_node *node = hl_graph_node_new(graph, op, name, "");
  if (!node) return NULL;
  node->inputs = hl_arena_copy(&graph->arena, inputs, input_count * sizeof *inputs);
  node->outputs = hl_arena_array(&graph->arena, output_count, sizeof *node->outputs);
  node->input_count = input_count;
  node->output_count = output_count;
  bool ok = node->inputs && node->outputs;
  if (!ok) hl_graph_fail(graph, HL_OUT_OF_MEMORY, "no memory for node '%s'", node->name);
  if (ok && add_outputs(graph, node, output_count)) return node;
  graph->node_count--;
  return NULL;
}

hl_node *hl_graph_node(hl_graph *graph, const char *op, const char *name, const hl_value_id *inputs,
                       size_t input_count, hl_value_id *ret_outputs, size_t output_count) {
  hl_node *node = connected_node(graph, op, name, inputs, input_count, output_count);
  /* Written last: `ret_outputs` may be `inputs`, as in a chain of nodes. */
  for (size_t i = 0; i < output_count; i++) ret_outputs[i] = node ? node->outputs[i] : -1;
  return node;
}

hl_value_id hl_graph_node_output_add(hl_graph *graph, size_t index, const char *name) {
  hl_value_id id = hl_graph_value_new(graph, name, strlen(name), HL_VALUE_TEMPORARY);
  if (id < 0) return id;
  hl_node *node = &graph->nodes[index];
  hl_value_id *outputs =
      hl_arena_array(&graph->arena, node->output_count + 1, sizeof *node->outputs);
  if (!outputs) {
    hl_graph_fail(graph, HL_OUT_OF_MEMORY, "no memory for node '%s'", node->name);
    return -1;
  }
  memcpy(outputs, node->outputs, node->output_count * sizeof *outputs);
  outputs[node->output_count++] = id;
  node->outputs = outputs;
  graph->values[id].producer = (int32_t)index;
  return id;
}

bool hl_graph_make_state(hl_graph *graph, hl_value_id constant) {
  if (!valid_value(graph, constant, "state")) return false;
  hl_value *value = &graph->values[constant];
  if (value->kind != HL_VALUE_CONSTANT) {
    hl_graph_fail(graph, HL_INTERNAL, "'%s' cannot be a state", value->name);
    return false;
  }
  value->kind = HL_VALUE_STATE;
  return true;
}

hl_value_id hl_graph_state(hl_graph *graph, const char *name, hl_dtype dtype, int32_t rank,
                           const int64_t *dims) {
  hl_value_id id = new_constant(graph, name, dtype, rank, dims);
  if (id >= 0) graph->values[id].kind = HL_VALUE_STATE;
  return id;
}

void *hl_graph_state_data(hl_graph *graph, hl_value_id state) {
  void *own = hl_graph_data(graph, state);
  if (own || !valid_value(graph, state, "state")) return own;
  hl_value *value = &graph->values[state];
  own = hl_graph_block_new(graph, value->bytes);
  if (!own) {
    hl_graph_fail(graph, HL_OUT_OF_MEMORY, "no memory for the state '%s'", value->name);
    return NULL;
  }
  if (value->data && value->bytes) memcpy(own, value->data, (size_t)value->bytes);
  value->data = own;
  return own;
}

void hl_graph_update_add(hl_graph *graph, hl_value_id state, hl_value_id value) {
  if (!valid_value(graph, state, "update") || !valid_value(graph, value, "update")) return;
  hl_graph_update *updates =
      grow(graph, graph->updates, &graph->update_capacity, graph->update_count, sizeof *updates);
  if (!updates) return;
  graph->updates = updates;
  graph->updates[graph->update_count++] = (hl_graph_update){state, value};
}

void hl_graph_output(hl_graph *graph, hl_value_id value) {
  if (!valid_value(graph, value, "output")) return;
  hl_value_id *outputs =
      grow(graph, graph->outputs, &graph->output_capacity, graph->output_count, sizeof *outputs);
  if (!outputs) return;
  graph->outputs = outputs;
  graph->outputs[graph->output_count++] = value;
  graph->values[value].is_output = true;
}

void hl_graph_rename(hl_graph *graph, hl_value_id value, const char *name) {
  if (!valid_value(graph, value, "rename")) return;
  if (strcmp(graph->values[value].name, name) == 0) return;
  if (!name[0] || hl_graph_find(graph, name) >= 0) {
    hl_graph_fail(graph, HL_INVALID_ARGUMENT, "cannot rename '%s' to '%s': %s",
                  graph->values[value].name, name, name[0] ? "that name is taken" : "empty name");
    return;
  }
  const char *copy = hl_arena_text(&graph->arena, name);
  if (copy) graph->values[value].name = copy;
  if (!copy || !index_all(graph, storage_of(graph)->slot_count))
    hl_graph_fail(graph, HL_OUT_OF_MEMORY, "no memory for '%s'", name);
}

const char *hl_graph_free_name(hl_graph *graph, const char *wished) {
  HL_CLEANUP(hl_free_pointer) char *name = hl_strdup(wished);
  for (size_t i = 2; name && hl_graph_find(graph, name) >= 0; i++) {
    free(name);
    name = hl_format("%s~%zu", wished, i);
  }
  const char *copy = name ? hl_arena_text(&graph->arena, name) : NULL;
  if (!copy) hl_graph_fail(graph, HL_OUT_OF_MEMORY, "no memory for '%.200s'", wished);
  return copy ? copy : "";
}

void hl_graph_remark_add(hl_graph *graph, const char *key, const char *text) {
  hl_graph_remark *remarks =
      grow(graph, graph->remarks, &graph->remark_capacity, graph->remark_count, sizeof *remarks);
  if (!remarks) return;
  graph->remarks = remarks;
  hl_graph_remark remark = {hl_arena_text(&graph->arena, key), hl_arena_text(&graph->arena, text)};
  if (!remark.key || !remark.text)
    hl_graph_fail(graph, HL_OUT_OF_MEMORY, "no memory for a remark");
  else
    graph->remarks[graph->remark_count++] = remark;
}
