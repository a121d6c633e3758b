/*
 * graph/onnx-reader.h - what the files of the ONNX reader share.
 *
 * Messages read "FILE: byte N: PLACE: what is wrong. Remedy".
 */
#ifndef HL_GRAPH_ONNX_READER_H
#define HL_GRAPH_ONNX_READER_H

#include "graph/graph-internal.h"
#include "graph/onnx-wire.h"
#include "graph/onnx.h"

typedef struct hl_onnx_reader {
  const char *file;           /* for messages */
  const char *path;           /* NULL when reading from memory */
  const unsigned char *start; /* of the model, for byte offsets */
  hl_graph *graph;
  bool has_other_domain;             /* the model imports operators of others than ai.onnx */
  bool has_sparse;                   /* there are initialisers without a value */
  hl_onnx_facts *facts;              /* NULL: what is not implemented is an error */
  const hl_onnx_external *externals; /* each file is mapped once for all tensors in it */
  hl_error *error;
} hl_onnx_reader;

/* Fills the error with file, offset of `at` (NULL: none) and the formatted sentence. */
hl_status hl_onnx_fail(hl_onnx_reader *reader, hl_status status, const void *at, const char *format,
                       ...) HL_PRINTF(4, 5);

/* Something that is not implemented: HL_OK where the model is only described, which notes the
 * first; else UNIMPLEMENTED. */
hl_status hl_onnx_lacks(hl_onnx_reader *reader, const void *at, const char *format, ...)
    HL_PRINTF(3, 4);

/* A constant of which only the name is known, for a model that is only described. */
hl_status hl_onnx_unread_constant(hl_onnx_reader *reader, const char *name, hl_value_id *ret_value);

/* "float8e4m3fn (17)" */
typedef struct hl_onnx_type_text {
  char text[40];
} hl_onnx_type_text;
hl_onnx_type_text hl_onnx_type_name(uint64_t type);

/* HL_OK at the end of a well-formed message `what`, else the failure. */
hl_status hl_onnx_end(hl_onnx_reader *reader, const hl_wire *message, const char *what);

/* A name: UTF-8 without control characters, copied into the graph's arena. */
hl_status hl_onnx_text(hl_onnx_reader *reader, const hl_wire_field *field, const char *what,
                       const char **ret_text);

/* Passes the failure of a building function on, with the file's name. */
hl_status hl_onnx_graph_failure(hl_onnx_reader *reader);

/* Reads a TensorProto into a constant. `name` is NULL for the tensor's own name. */
hl_status hl_onnx_tensor(hl_onnx_reader *reader, hl_wire message, const char *name,
                         hl_value_id *ret_value);

/* Reads a NodeProto: a node whose outputs are declared, or a constant for a Constant node. The
 * inputs are resolved later by hl_onnx_node_inputs, for nodes may come in any order. */
hl_status hl_onnx_node(hl_onnx_reader *reader, hl_wire message, hl_node **ret_node);
hl_status hl_onnx_node_inputs(hl_onnx_reader *reader, hl_wire message, hl_node *to);

/* Reads a ValueInfoProto: the name, or (with `value` >= 0) type and shape into that value. */
hl_status hl_onnx_value_name(hl_onnx_reader *reader, hl_wire message, const char *what,
                             const char **ret_name);
hl_status hl_onnx_value_type(hl_onnx_reader *reader, hl_wire message, hl_value_id value);

#endif
