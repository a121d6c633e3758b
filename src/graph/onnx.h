/*
 * graph/onnx.h - ONNX files in and out.
 *
 * The reader walks the protobuf wire format over a memory map: tensors are not copied, nesting
 * depth, counts and sizes are bounded, and a malformed file gives BAD_DATA with the file's name,
 * the byte offset and the field. Files are hostile until read.
 */
#ifndef HL_GRAPH_ONNX_H
#define HL_GRAPH_ONNX_H

#include "graph/graph.h"

/* Reads a model. Constants point into the mapping, which the graph owns. The graph is sorted and
 * resolved: an operator that is not in the table gives UNIMPLEMENTED naming operator and node.
 * External data is looked for beside the file and nowhere else. */
hl_status hl_onnx_read(const char *path, hl_graph **ret_graph, hl_error *error);

/* The same from memory, which must outlive the graph; `name` appears in messages. */
hl_status hl_onnx_read_memory(const void *data, size_t bytes, const char *name,
                              hl_graph **ret_graph, hl_error *error);

/* A file beside the model that holds data of its tensors. */
typedef struct hl_onnx_external {
  const struct hl_onnx_external *next;
  const char *location; /* as the model writes it */
  const unsigned char *data;
  size_t bytes; /* of the file */
} hl_onnx_external;

/* What hl_onnx_describe finds besides the graph. Lists live as long as that. */
typedef struct hl_onnx_facts {
  char unread[400];   /* "": the graph is whole; else why nobody can run it here */
  bool hides_weights; /* some lie where they are not counted: subgraphs, functions, odd types */
  const hl_onnx_external *externals;
} hl_onnx_facts;

/* Reads what every model says, also one with operators, opsets, functions or constants that are not
 * implemented: `ret_facts->unread` then has the first of them. Inputs, outputs (as declared: -1 and
 * HL_DTYPE_NONE where the file is silent) and initialisers are as hl_onnx_read gives them; a graph
 * with something unread must not be inferred. Damaged files are errors as there. */
hl_status hl_onnx_describe(const char *path, hl_graph **ret_graph, hl_onnx_facts *ret_facts,
                           hl_error *error);

/* Writes a model atomically as ONNX IR 8 with the graph's opset (17 for built-in models). Models
 * beyond 2 GB are refused with LIMIT. */
hl_status hl_onnx_write(const hl_graph *graph, const char *path, hl_error *error);

/* The same into an open descriptor (a pipe, a memfd) at its present place; not synced. */
hl_status hl_onnx_write_fd(const hl_graph *graph, int fd, hl_error *error);

#endif
