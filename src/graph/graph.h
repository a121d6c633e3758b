/*
 * graph/graph.h - a neural network as a graph of ONNX operators.
 *
 *     hl_graph *graph;
 *     hl_graph_new("mlp", &graph, error);
 *     hl_value_id x = hl_graph_input(graph, "input", HL_FLOAT32, 2, (int64_t[]){-1, 1024});
 *     hl_value_id w = hl_graph_constant(graph, "w", HL_FLOAT32, 2, (int64_t[]){4096, 1024}, data);
 *     hl_node *node = hl_graph_node(graph, "Gemm", "fc1", (hl_value_id[]){x, w}, 2, &y, 1);
 *     hl_node_set_int(graph, node, "transB", 1);
 *     hl_graph_output(graph, y);
 *
 * A graph owns its strings and lists in one arena; the bytes of constants are owned by the graph
 * or borrowed (see hl_graph_constant_borrowed) and live at least as long as it. Values and nodes
 * are named by index. Nodes are kept in an order in which every producer precedes its consumers
 * (hl_graph_sort restores it). Building functions that cannot get memory set `graph->failed` and
 * return -1 or NULL, which further calls accept; check once with hl_graph_status. Not thread-safe;
 * a finished graph may be read from many threads.
 *
 * A dimension is -1 where unknown. The batch dimension of a model is bound by hl_graph_bind before
 * shapes are inferred, so that a prepared program has no unknown left.
 */
#ifndef HL_GRAPH_GRAPH_H
#define HL_GRAPH_GRAPH_H

#include "base/arena.h"
#include "base/dtype.h"
#include "base/error.h"
#include <stdbool.h>

typedef int32_t hl_value_id; /* -1: an omitted optional input */

typedef struct hl_shape {
  int32_t rank; /* -1 while unknown */
  int64_t dims[HL_MAX_RANK];
} hl_shape;

typedef enum hl_value_kind {
  HL_VALUE_TEMPORARY, /* computed by a node */
  HL_VALUE_INPUT,     /* given by the caller */
  HL_VALUE_CONSTANT,  /* weights and other known data */
  HL_VALUE_STATE      /* mutable, kept between steps (training) */
} hl_value_kind;

typedef struct hl_value {
  const char *name; /* unique and not empty */
  hl_value_kind kind;
  hl_dtype dtype;
  hl_shape shape;
  const char *symbols[HL_MAX_RANK]; /* name of a symbolic dimension ("batch"), or NULL */
  bool is_output;
  bool is_apart;    /* no pass merges the node that computes it with one that reads it */
  int32_t producer; /* node index, -1 for none */
  int32_t original; /* the value that this one is computed again from, bit for bit; -1 for none */
  const void *data; /* constants, and small values that inference could compute; else NULL */
  uint64_t bytes;   /* of data; of a temporary, once its shape is inferred */
} hl_value;

typedef enum hl_attribute_kind {
  HL_ATTRIBUTE_INT = 1,
  HL_ATTRIBUTE_REAL,
  HL_ATTRIBUTE_TEXT,
  HL_ATTRIBUTE_TENSOR,
  HL_ATTRIBUTE_INTS,
  HL_ATTRIBUTE_REALS,
  HL_ATTRIBUTE_TEXTS,
  HL_ATTRIBUTE_OTHER /* subgraphs, sequences: kept by name only */
} hl_attribute_kind;

typedef struct hl_attribute {
  const char *name;
  hl_attribute_kind kind;
  int64_t i;
  float f;
  const char *text;
  size_t count; /* of ints, reals or texts; length of text */
  const int64_t *ints;
  const float *reals;
  const char *const *texts;
  hl_value_id tensor; /* a constant of the graph */
} hl_attribute;

struct hl_operator; /* graph/operator.h: the row of the operator table */

typedef struct hl_node {
  const char *name;              /* may be "" */
  const char *op;                /* "Conv" */
  const char *domain;            /* "" is ai.onnx */
  const struct hl_operator *row; /* set by hl_graph_resolve; NULL: no such operator here */
  hl_value_id *inputs;
  size_t input_count;
  hl_value_id *outputs;
  size_t output_count;
  hl_attribute *attributes;
  size_t attribute_count;
  hl_phase phase;    /* of a training step; forward elsewhere */
  const char *layer; /* name of the node of the network that it serves; NULL: itself */
  bool is_gradient;  /* what it computes is a derivative */
} hl_node;

/* A remark in the file that no engine reads: where a network comes from. */
typedef struct hl_graph_remark {
  const char *key, *text;
} hl_graph_remark;

/* After a step the state holds what the value was. */
typedef struct hl_graph_update {
  hl_value_id state, value;
} hl_graph_update;

typedef struct hl_graph {
  hl_arena arena;
  const char *name;
  int64_t opset;      /* of ai.onnx */
  int64_t ir_version; /* as read; the writer uses 8 */
  hl_value *values;
  size_t value_count, value_capacity;
  hl_node *nodes;
  size_t node_count, node_capacity;
  hl_value_id *inputs, *outputs; /* in the model's order; inputs exclude initialisers */
  size_t input_count, input_capacity, output_count, output_capacity;
  hl_graph_remark *remarks; /* written into the file's metadata; neither read nor cloned */
  size_t remark_count, remark_capacity;
  hl_graph_update *updates; /* not cloned, not written */
  size_t update_count, update_capacity;
  hl_phase pen_phase;    /* what new nodes are marked with */
  const char *pen_layer; /* owned by the graph */
  bool pen_gradient;
  hl_status failed; /* first failure of a building function */
  void *storage;    /* mappings and heap blocks behind constants; freed with the graph */
} hl_graph;

hl_status hl_graph_new(const char *name, hl_graph **ret_graph, hl_error *error);
void hl_graph_free(hl_graph *graph);

/* HL_OK, or the first failure of a building function. */
hl_status hl_graph_status(const hl_graph *graph, hl_error *error);

/* -- building ------------------------------------------------------------------------------- */

hl_value_id hl_graph_input(hl_graph *graph, const char *name, hl_dtype dtype, int32_t rank,
                           const int64_t *dims);
/* Names dimension `axis` of `value` ("batch"). */
void hl_graph_symbol(hl_graph *graph, hl_value_id value, int32_t axis, const char *symbol);
/* Copies `data` (hl_shape_bytes of it; NULL gives zeros that hl_graph_data lets you fill). */
hl_value_id hl_graph_constant(hl_graph *graph, const char *name, hl_dtype dtype, int32_t rank,
                              const int64_t *dims, const void *data);
/* The same without copying: `data` outlives the graph. */
hl_value_id hl_graph_constant_borrowed(hl_graph *graph, const char *name, hl_dtype dtype,
                                       int32_t rank, const int64_t *dims, const void *data);
/* Makes a constant a state, which steps change; its data is what it begins with. */
bool hl_graph_make_state(hl_graph *graph, hl_value_id constant);
/* A state that begins with zeros, for which it has no memory yet. */
hl_value_id hl_graph_state(hl_graph *graph, const char *name, hl_dtype dtype, int32_t rank,
                           const int64_t *dims);
/* The memory of a state, the graph's own from now on, with what it began with; or NULL. */
void *hl_graph_state_data(hl_graph *graph, hl_value_id state);
/* After each step `state` is to hold `value`, of its type and shape. */
void hl_graph_update_add(hl_graph *graph, hl_value_id state, hl_value_id value);
/* Writable data of a constant or state that this graph owns, else NULL. */
void *hl_graph_data(hl_graph *graph, hl_value_id value);
/* A new node; `ret_outputs` receives fresh temporaries named "<name>_out", "<name>_out1", ... and
 * may be `inputs` itself. The pointer is good until the next node is added. */
hl_node *hl_graph_node(hl_graph *graph, const char *op, const char *name, const hl_value_id *inputs,
                       size_t input_count, hl_value_id *ret_outputs, size_t output_count);
/* One more output of node number `index`. */
hl_value_id hl_graph_node_output_add(hl_graph *graph, size_t index, const char *name);
void hl_graph_output(hl_graph *graph, hl_value_id value);
/* The value called `name`, or -1. */
hl_value_id hl_graph_find(const hl_graph *graph, const char *name);
/* Renames a value (outputs get their public names by it). */
void hl_graph_rename(hl_graph *graph, hl_value_id value, const char *name);

/* Adds a remark; both strings are copied. */
void hl_graph_remark_add(hl_graph *graph, const char *key, const char *text);

/* Attributes; `node` may be NULL after a failure. Arrays are copied. */
void hl_node_set_int(hl_graph *graph, hl_node *node, const char *name, int64_t value);
void hl_node_set_real(hl_graph *graph, hl_node *node, const char *name, float value);
void hl_node_set_text(hl_graph *graph, hl_node *node, const char *name, const char *value);
void hl_node_set_ints(hl_graph *graph, hl_node *node, const char *name, const int64_t *values,
                      size_t count);
void hl_node_set_texts(hl_graph *graph, hl_node *node, const char *name, const char *const *values,
                       size_t count);

/* -- reading -------------------------------------------------------------------------------- */

const hl_attribute *hl_node_attribute(const hl_node *node, const char *name); /* or NULL */
int64_t hl_node_int(const hl_node *node, const char *name, int64_t otherwise);
float hl_node_real(const hl_node *node, const char *name, float otherwise);
const char *hl_node_text(const hl_node *node, const char *name, const char *otherwise);
/* Copies up to `capacity` ints; returns how many the attribute has (0 if absent). */
size_t hl_node_ints(const hl_node *node, const char *name, int64_t *ret_values, size_t capacity);

/* Input or output number `i` as a value; NULL if omitted or out of range. */
hl_value *hl_node_input(const hl_graph *graph, const hl_node *node, size_t i);
hl_value *hl_node_output(const hl_graph *graph, const hl_node *node, size_t i);

/* What the node of the network is called that `node` serves: a node without a name is called by its
 * result. Never NULL; lives as long as the graph. */
const char *hl_node_layer(const hl_graph *graph, const hl_node *node);

/* Elements of a fully known shape; -1 if a dimension is unknown or the product overflows. */
int64_t hl_shape_elements(const hl_shape *shape);
/* Bytes of a fully known shape; false if unknown or overflowing. */
bool hl_shape_bytes(const hl_shape *shape, hl_dtype dtype, uint64_t *ret_bytes);

/* -- whole graph ---------------------------------------------------------------------------- */

/* Orders nodes so that producers come first; BAD_DATA names a node on a cycle. */
hl_status hl_graph_sort(hl_graph *graph, hl_error *error);

/* Sets `row` of every node from the operator table; UNIMPLEMENTED names the first operator and
 * node without one. */
hl_status hl_graph_resolve(hl_graph *graph, hl_error *error);

/* Gives an input its dimensions; every one must be known and agree with the declared ones. The
 * value of a symbol holds for all inputs that use it. */
hl_status hl_graph_bind(hl_graph *graph, size_t input, int32_t rank, const int64_t *dims,
                        hl_error *error);
/* Binds every unknown leading dimension of the inputs to `batch`. INVALID_ARGUMENT if a dimension
 * other than the first is unknown, naming the input. */
hl_status hl_graph_bind_batch(hl_graph *graph, int64_t batch, hl_error *error);

/* Infers dtype and shape of every value and folds small integer values (Shape, Gather, Concat ...)
 * that shapes depend on. After binding, every shape is known or an error names the node. */
hl_status hl_graph_infer(hl_graph *graph, hl_error *error);

/* The same for a model as its file declares it: what depends on the values of inputs stays unknown,
 * even where every input has all its dimensions. */
hl_status hl_graph_infer_declared(hl_graph *graph, hl_error *error);

/* The model's parameters as frameworks count them: elements of the floating-point initialisers that
 * a node uses as weights. Running statistics of a BatchNormalization, the scales and fill values of
 * Resize, Pad and Clip, and single numbers (rank 0) in arithmetic do not count. -1 without memory.
 */
int64_t hl_graph_parameters(const hl_graph *graph);

/* Which values these parameters are: an element for each value, free() it. NULL without memory. */
bool *hl_graph_weights(const hl_graph *graph);

/* Nominal FLOPs of one run of an inferred graph: a multiply and an add count 2; padding taps
 * count, as the usual counters do. 0 for data movement. */
double hl_graph_flops(const hl_graph *graph);

/* Bytes of an inferred graph's step. Views (Reshape, ...) move nothing, nor does what inference
 * computes. */
typedef struct hl_graph_traffic {
  double weight_bytes;   /* constants that operators read, each once */
  double port_bytes;     /* inputs and outputs of the graph */
  double operator_bytes; /* all else that each operator reads and writes, taken by itself */
} hl_graph_traffic;
void hl_graph_traffic_of(const hl_graph *graph, hl_graph_traffic *ret_traffic);

/* Rows of the smallest table that Gather looks up by `value`, an integer input, directly or through
 * operators that only move it; of an inferred graph. -1 where it looks up nothing. */
int64_t hl_graph_index_limit(const hl_graph *graph, hl_value_id value);

/* A deep copy whose constants borrow from `graph`, which must outlive it. */
hl_status hl_graph_clone(const hl_graph *graph, hl_graph **ret_copy, hl_error *error);

/* Gives back the memory behind constants that lie in a mapped file; what is touched again is read
 * from the file again. For engines that have made their own copy of the weights. */
void hl_graph_drop_pages(const hl_graph *graph);

#endif
