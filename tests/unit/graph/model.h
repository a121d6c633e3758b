/*
 * model.h - small ONNX files in memory, well-formed and hostile, for the tests of the reader.
 *
 *     hl_text text = HL_TEXT_INIT;
 *     model_begin(&text, 17);
 *     hl_put_message(&text, 7, &graph);
 */
#ifndef HL_TESTS_UNIT_GRAPH_MODEL_H
#define HL_TESTS_UNIT_GRAPH_MODEL_H

#include "graph/graph.h"
#include "graph/onnx-writer.h"
#include "graph/onnx.h"

/* IR version and opset import. */
static inline void model_begin(hl_text *out, int64_t opset) {
  hl_text import = HL_TEXT_INIT;
  hl_put_int(out, 1, 8);
  hl_put_int(&import, 2, opset);
  hl_put_message(out, 8, &import);
  hl_text_release(&import);
}

/* A NodeProto of one input and one output into a GraphProto. */
static inline void graph_node(hl_text *graph, const char *op, const char *input,
                              const char *output) {
  hl_text node = HL_TEXT_INIT;
  hl_put_text(&node, 1, input);
  hl_put_text(&node, 2, output);
  hl_put_text(&node, 4, op);
  hl_put_message(graph, 1, &node);
  hl_text_release(&node);
}

/* Input (field 11) or output (field 12) of type float32 and shape (2, 3). */
static inline void graph_value(hl_text *graph, uint32_t field, const char *name) {
  hl_text info = HL_TEXT_INIT;
  hl_value value = {.name = name, .dtype = HL_FLOAT32};
  hl_shape shape = {.rank = 2, .dims = {2, 3}};
  hl_put_value(&info, &value, &shape, NULL);
  hl_put_message(graph, field, &info);
  hl_text_release(&info);
}

/* A TensorProto without data into a text. */
static inline void tensor_head(hl_text *tensor, const char *name, hl_dtype dtype, int32_t rank,
                               const int64_t *dims) {
  for (int32_t d = 0; d < rank; d++) hl_put_int(tensor, 1, dims[d]);
  hl_put_int(tensor, 2, dtype);
  hl_put_text(tensor, 8, name);
}

#endif
