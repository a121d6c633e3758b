/*
 * graph/onnx-writer.h - protobuf messages into a text buffer, and shapes of outputs as a model
 * declares them. Shared by the files of the ONNX writer.
 */
#ifndef HL_GRAPH_ONNX_WRITER_H
#define HL_GRAPH_ONNX_WRITER_H

#include "base/text.h"
#include "graph/graph.h"

size_t hl_put_varint_bytes(uint64_t value);
void hl_put_varint(hl_text *out, uint64_t value);
void hl_put_int(hl_text *out, uint32_t field, int64_t value);
void hl_put_real(hl_text *out, uint32_t field, float value);
void hl_put_bytes(hl_text *out, uint32_t field, const void *data, size_t bytes);
void hl_put_text(hl_text *out, uint32_t field, const char *text);
/* Field `field` holding the message built so far in `message`, which is then emptied. */
void hl_put_message(hl_text *out, uint32_t field, hl_text *message);

/* The fields of a TensorProto before its raw_data, `padding` bytes of doc_string among them, and
 * the key and length of raw_data. */
void hl_put_tensor_head(hl_text *out, const hl_value *value, size_t padding);

/* NodeProto; UNIMPLEMENTED for attributes that cannot be written. */
hl_status hl_put_node(hl_text *out, const hl_graph *graph, const hl_node *node, hl_error *error);

/* ValueInfoProto with `shape` and `symbols` (may be NULL). */
void hl_put_value(hl_text *out, const hl_value *value, const hl_shape *shape,
                  const char *const *symbols);

/* Shape of output number `output` with symbolic dimensions named as the inputs name them. */
typedef struct hl_onnx_shape {
  hl_dtype dtype;
  hl_shape shape; /* rank -1 if it could not be found out */
  const char *symbols[HL_MAX_RANK];
} hl_onnx_shape;

/* Shapes of all outputs, free() it. Found by inferring the graph with two different values of every
 * symbol: a dimension that follows a symbol in both is that symbol. */
hl_status hl_onnx_output_shapes(const hl_graph *graph, hl_onnx_shape **ret_shapes, hl_error *error);

/* Data of an initialiser, in place of its value's own: `initializer->bytes`, valid until the next
 * call. */
typedef hl_status (*hl_onnx_fetch)(void *context, const hl_value *initializer,
                                   const void **ret_data, hl_error *error);

/* As hl_onnx_write_fd, with the data that `fetch` gives. */
hl_status hl_onnx_write_fetched(const hl_graph *graph, int fd, hl_onnx_fetch fetch, void *context,
                                hl_error *error);

#endif
