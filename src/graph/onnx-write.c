/*
 * ModelProto, streamed: sizes are computed first, then weights go from where they lie to the file.
 *
 * Large tensors carry a doc_string of spaces just before raw_data, so that the data of each starts
 * at a multiple of 64 bytes and a reader can use it where it is mapped.
 */
#include "base/file.h"
#include "graph/onnx-writer.h"
#include "graph/onnx.h"
#include <stdlib.h>
#include <string.h>

enum { written_ir = 8, alignment = 64, aligned_from_bytes = 4096 };
static const uint64_t max_model_bytes = (UINT64_C(1) << 31) - 1;

/* What a file consists of: prefix, key and length of the graph, tensors, rest of the graph. */
typedef struct model {
  const hl_graph *graph;
  bool *skip;     /* constants that only live in attributes */
  hl_text prefix; /* model fields before the graph */
  hl_text rest;   /* nodes, name, inputs, outputs */
  uint64_t graph_bytes;
  bool aligned;
  hl_onnx_fetch fetch; /* NULL: the data of an initialiser is its value's own */
  void *context;
} model;

static void model_release(model *m) {
  hl_text_release(&m->prefix);
  hl_text_release(&m->rest);
  free(m->skip);
}

static bool is_initializer(const model *m, size_t i) {
  const hl_value *value = &m->graph->values[i];
  bool kind = value->kind == HL_VALUE_CONSTANT || value->kind == HL_VALUE_STATE;
  return kind && value->data && !m->skip[i];
}

/* Key, length and head of initialiser `value` at byte `offset` of the file. */
static void put_initializer_head(const model *m, const hl_value *value, uint64_t offset,
                                 hl_text *out) {
  hl_text head = HL_TEXT_INIT;
  for (size_t padding = 0; padding < alignment + 4; padding++) {
    if (padding == 1) continue; /* key and length need two */
    hl_text_clear(&head);
    hl_put_tensor_head(&head, value, padding);
    uint64_t length = head.length + value->bytes;
    uint64_t data = offset + 1 + hl_put_varint_bytes(length) + head.length;
    if (!m->aligned || value->bytes < aligned_from_bytes || data % alignment == 0) break;
  }
  hl_put_varint(out, 5 << 3 | 2);
  hl_put_varint(out, head.length + value->bytes);
  hl_text_append_n(out, head.data, head.length);
  if (head.failed) out->failed = true;
  hl_text_release(&head);
}

/* Bytes of the graph message if its length is written in `length_bytes` bytes. */
static uint64_t measure(const model *m, size_t length_bytes) {
  uint64_t start = m->prefix.length + 1 + length_bytes, offset = start;
  hl_text head = HL_TEXT_INIT;
  for (size_t i = 0; i < m->graph->value_count; i++) {
    if (!is_initializer(m, i)) continue;
    hl_text_clear(&head);
    put_initializer_head(m, &m->graph->values[i], offset, &head);
    offset += head.length + m->graph->values[i].bytes;
  }
  hl_text_release(&head);
  return offset - start + m->rest.length;
}

/* The length's own size shifts the tensors, whose padding shifts the length: try each size. */
static void layout(model *m) {
  m->aligned = true;
  for (size_t bytes = 1; bytes <= 5; bytes++) {
    m->graph_bytes = measure(m, bytes);
    if (hl_put_varint_bytes(m->graph_bytes) == bytes) return;
  }
  m->aligned = false;
  m->graph_bytes = measure(m, 1); /* without padding it does not depend on the size */
}

static hl_status mark_attributes(model *m, hl_error *error) {
  const hl_graph *graph = m->graph;
  m->skip = calloc(graph->value_count + 1, sizeof *m->skip);
  if (!m->skip) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to write the model");
  for (size_t n = 0; n < graph->node_count; n++)
    for (size_t a = 0; a < graph->nodes[n].attribute_count; a++)
      if (graph->nodes[n].attributes[a].kind == HL_ATTRIBUTE_TENSOR &&
          graph->nodes[n].attributes[a].tensor >= 0)
        m->skip[graph->nodes[n].attributes[a].tensor] = true;
  for (size_t n = 0; n < graph->node_count; n++)
    for (size_t i = 0; i < graph->nodes[n].input_count; i++)
      if (graph->nodes[n].inputs[i] >= 0) m->skip[graph->nodes[n].inputs[i]] = false;
  for (size_t i = 0; i < graph->output_count; i++) m->skip[graph->outputs[i]] = false;
  return HL_OK;
}

static void put_prefix(model *m) {
  hl_text opset = HL_TEXT_INIT;
  hl_put_int(&m->prefix, 1, written_ir);
  hl_put_text(&m->prefix, 2, "hotlap");
  hl_put_text(&m->prefix, 3, HL_VERSION);
  hl_put_text(&opset, 1, "");
  hl_put_int(&opset, 2, m->graph->opset);
  hl_put_message(&m->prefix, 8, &opset);
  for (size_t i = 0; i < m->graph->remark_count; i++) {
    hl_put_text(&opset, 1, m->graph->remarks[i].key);
    hl_put_text(&opset, 2, m->graph->remarks[i].text);
    hl_put_message(&m->prefix, 14, &opset);
  }
  hl_text_release(&opset);
}

static hl_status put_rest(model *m, hl_error *error) {
  const hl_graph *graph = m->graph;
  hl_text part = HL_TEXT_INIT;
  hl_status status = HL_OK;
  for (size_t n = 0; n < graph->node_count && status == HL_OK; n++) {
    status = hl_put_node(&part, graph, &graph->nodes[n], error);
    hl_put_message(&m->rest, 1, &part);
  }
  hl_put_text(&m->rest, 2, graph->name[0] ? graph->name : "model");
  for (size_t i = 0; i < graph->input_count; i++) {
    const hl_value *value = &graph->values[graph->inputs[i]];
    hl_put_value(&part, value, &value->shape, value->symbols);
    hl_put_message(&m->rest, 11, &part);
  }
  hl_onnx_shape *shapes = NULL;
  if (status == HL_OK) status = hl_onnx_output_shapes(graph, &shapes, error);
  for (size_t i = 0; i < graph->output_count && status == HL_OK; i++) {
    hl_value value = graph->values[graph->outputs[i]];
    value.dtype = shapes[i].dtype;
    hl_put_value(&part, &value, &shapes[i].shape, shapes[i].symbols);
    hl_put_message(&m->rest, 12, &part);
  }
  free(shapes);
  hl_text_release(&part);
  return status;
}

static hl_status prepare(model *m, const char *path, hl_error *error) {
  hl_status status = mark_attributes(m, error);
  if (status != HL_OK) return status;
  put_prefix(m);
  status = put_rest(m, error);
  if (status != HL_OK) return status;
  layout(m);
  uint64_t total = m->prefix.length + 1 + hl_put_varint_bytes(m->graph_bytes) + m->graph_bytes;
  if (m->prefix.failed || m->rest.failed || total > max_model_bytes)
    return hl_error_set(error, HL_LIMIT,
                        "'%s' would have %llu bytes; an ONNX file has at most %llu. Use a smaller "
                        "model",
                        path, (unsigned long long)total, (unsigned long long)max_model_bytes);
  return HL_OK;
}

static hl_status stream(const model *m, int fd, const char *what, hl_error *error) {
  hl_text text = HL_TEXT_INIT;
  hl_put_varint(&text, 7 << 3 | 2);
  hl_put_varint(&text, m->graph_bytes);
  uint64_t offset = m->prefix.length + text.length;
  hl_status status = hl_write_all(fd, m->prefix.data, m->prefix.length, what, error);
  if (status == HL_OK) status = hl_write_all(fd, text.data, text.length, what, error);
  for (size_t i = 0; i < m->graph->value_count && status == HL_OK; i++) {
    const hl_value *value = &m->graph->values[i];
    if (!is_initializer(m, i)) continue;
    hl_text_clear(&text);
    put_initializer_head(m, value, offset, &text);
    status = hl_write_all(fd, text.data, text.length, what, error);
    const void *data = value->data;
    if (status == HL_OK && m->fetch) status = m->fetch(m->context, value, &data, error);
    if (status == HL_OK) status = hl_write_all(fd, data, value->bytes, what, error);
    offset += text.length + value->bytes;
  }
  bool failed = text.failed;
  hl_text_release(&text);
  if (status == HL_OK && failed)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to write %s", what);
  return status == HL_OK ? hl_write_all(fd, m->rest.data, m->rest.length, what, error) : status;
}

static hl_status write_file(const model *m, const char *path, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *what = hl_format("'%s'", path);
  if (!what) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to write '%s'", path);
  hl_new_file file;
  hl_status status = hl_file_begin(path, &file, error);
  if (status != HL_OK) return status;
  return hl_file_end(&file, stream(m, file.fd, what, error), error);
}

typedef hl_status (*deliver_fn)(const model *m, const void *to, hl_error *error);

static hl_status to_path(const model *m, const void *to, hl_error *error) {
  return write_file(m, to, error);
}

static hl_status to_descriptor(const model *m, const void *to, hl_error *error) {
  return stream(m, *(const int *)to, "the model", error);
}

static hl_status deliver(const hl_graph *graph, const char *name, deliver_fn fn, const void *to,
                         hl_error *error) {
  if (graph->failed != HL_OK) return hl_graph_status(graph, error);
  model m = {.graph = graph, .prefix = HL_TEXT_INIT, .rest = HL_TEXT_INIT};
  hl_status status = prepare(&m, name, error);
  if (status == HL_OK) status = fn(&m, to, error);
  model_release(&m);
  return status;
}

hl_status hl_onnx_write_fetched(const hl_graph *graph, int fd, hl_onnx_fetch fetch, void *context,
                                hl_error *error) {
  if (graph->failed != HL_OK) return hl_graph_status(graph, error);
  model m = {.graph = graph,
             .prefix = HL_TEXT_INIT,
             .rest = HL_TEXT_INIT,
             .fetch = fetch,
             .context = context};
  hl_status status = prepare(&m, "the checkpoint", error);
  if (status == HL_OK) status = stream(&m, fd, "the checkpoint", error);
  model_release(&m);
  return status;
}

hl_status hl_onnx_write(const hl_graph *graph, const char *path, hl_error *error) {
  return deliver(graph, path, to_path, path, error);
}

hl_status hl_onnx_write_fd(const hl_graph *graph, int fd, hl_error *error) {
  return deliver(graph, "the model", to_descriptor, &fd, error);
}
