/* ModelProto and GraphProto. */
#include "graph/onnx-reader.h"

#include "base/text.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t max_file_bytes = (UINT64_C(1) << 31) - 1; /* protobuf's own limit */
enum { oldest_opset = 1, newest_opset = 21, newest_ir = 13 };

hl_status hl_onnx_fail(hl_onnx_reader *reader, hl_status status, const void *at, const char *format,
                       ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (!at) return hl_error_set(reader->error, status, "%.200s: %s", reader->file, text);
  return hl_error_set(reader->error, status, "%.200s: byte %zu: %s", reader->file,
                      (size_t)((const unsigned char *)at - reader->start), text);
}

hl_status hl_onnx_lacks(hl_onnx_reader *reader, const void *at, const char *format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (!reader->facts) return hl_onnx_fail(reader, HL_UNIMPLEMENTED, at, "%s", text);
  if (!reader->facts->unread[0])
    snprintf(reader->facts->unread, sizeof reader->facts->unread,
             "the reference cannot read the model: %.350s", text);
  return HL_OK;
}

hl_status hl_onnx_end(hl_onnx_reader *reader, const hl_wire *message, const char *what) {
  if (!message->bad) return HL_OK;
  return hl_onnx_fail(reader, HL_BAD_DATA, message->at,
                      "%s: %s. The file is damaged or is not an ONNX model", what, message->bad);
}

/* Length of the UTF-8 sequence at `p`, 0 if it is malformed. */
static size_t utf8_length(const unsigned char *p, size_t left) {
  size_t n = p[0] < 0x80                   ? 1
             : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
             : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
             : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
                                           : 0;
  if (n == 0 || n > left) return 0;
  for (size_t i = 1; i < n; i++)
    if ((p[i] & 0xc0) != 0x80) return 0;
  if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
      (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
    return 0;
  return n;
}

hl_status hl_onnx_text(hl_onnx_reader *reader, const hl_wire_field *field, const char *what,
                       const char **ret_text) {
  if (field->type != HL_WIRE_BYTES)
    return hl_onnx_fail(reader, HL_BAD_DATA, field->start, "%s is not a string", what);
  size_t length = hl_wire_left(&field->body);
  for (size_t i = 0; i < length;) {
    size_t n = utf8_length(field->body.at + i, length - i);
    if (n == 0 || field->body.at[i] < 0x20 || field->body.at[i] == 0x7f)
      return hl_onnx_fail(reader, HL_BAD_DATA, field->body.at + i,
                          "%s holds a byte 0x%02x, which is no text", what, field->body.at[i]);
    i += n;
  }
  *ret_text = hl_arena_text_n(&reader->graph->arena, (const char *)field->body.at, length);
  if (*ret_text) return HL_OK;
  return hl_onnx_fail(reader, HL_LIMIT, field->start, "names need more than %d bytes",
                      HL_GRAPH_ARENA_BYTES);
}

hl_status hl_onnx_graph_failure(hl_onnx_reader *reader) {
  hl_error first;
  hl_status status = hl_graph_status(reader->graph, &first);
  if (status == HL_OK) return hl_onnx_fail(reader, HL_OUT_OF_MEMORY, NULL, "no memory");
  /* What a program would have done wrong, a file has wrong in it. */
  return hl_onnx_fail(reader, status == HL_INVALID_ARGUMENT ? HL_BAD_DATA : status, NULL, "%s",
                      first.msg);
}

/* -- GraphProto ------------------------------------------------------------------------------ */

enum {
  graph_node = 1,
  graph_name = 2,
  graph_initializer = 5,
  graph_input = 11,
  graph_output = 12,
  graph_sparse = 15
};

typedef hl_status (*visit_fn)(hl_onnx_reader *reader, const hl_wire_field *field, void *context);

/* Calls `visit` for every byte field `number` of the graph. */
static hl_status each(hl_onnx_reader *reader, hl_wire graph, uint32_t number, visit_fn visit,
                      void *context) {
  hl_wire_field field;
  while (hl_wire_next(&graph, &field)) {
    if (field.number != number) continue;
    if (field.type != HL_WIRE_BYTES)
      return hl_onnx_fail(reader, HL_BAD_DATA, field.start, "graph: field %u is not a message",
                          number);
    hl_status status = visit(reader, &field, context);
    if (status != HL_OK) return status;
  }
  return hl_onnx_end(reader, &graph, "graph");
}

static hl_status read_initializer(hl_onnx_reader *reader, const hl_wire_field *field,
                                  void *context) {
  (void)context;
  hl_value_id value;
  return hl_onnx_tensor(reader, field->body, NULL, &value);
}

static hl_status refuse_sparse(hl_onnx_reader *reader, const hl_wire_field *field, void *context) {
  (void)context;
  reader->has_sparse = true;
  if (reader->facts) reader->facts->hides_weights = true;
  return hl_onnx_lacks(reader, field->start,
                       "sparse initialisers are not implemented; export dense ones");
}

/* Old models list initialisers among the inputs as well; those are constants. */
static hl_status read_input(hl_onnx_reader *reader, const hl_wire_field *field, void *context) {
  (void)context;
  const char *name;
  hl_status status = hl_onnx_value_name(reader, field->body, "graph input", &name);
  if (status != HL_OK) return status;
  hl_graph *graph = reader->graph;
  hl_value_id known = hl_graph_find(graph, name);
  if (known >= 0 && graph->values[known].kind == HL_VALUE_CONSTANT) return HL_OK;
  hl_value_id value = hl_graph_value_new(graph, name, strlen(name), HL_VALUE_INPUT);
  if (value < 0 || !hl_graph_add_input(graph, value)) return hl_onnx_graph_failure(reader);
  return hl_onnx_value_type(reader, field->body, value);
}

/* Which node, if any, each NodeProto became; Constant nodes became none. */
typedef struct node_list {
  int32_t *index;
  size_t count, capacity;
} node_list;

static hl_status declare_node(hl_onnx_reader *reader, const hl_wire_field *field, void *context) {
  node_list *list = context;
  hl_node *node = NULL;
  hl_status status = hl_onnx_node(reader, field->body, &node);
  if (status != HL_OK) return status;
  if (list->count == list->capacity) {
    size_t capacity = list->capacity ? list->capacity * 2 : 256;
    int32_t *index = reallocarray(list->index, capacity, sizeof *index);
    if (!index) return hl_onnx_fail(reader, HL_OUT_OF_MEMORY, NULL, "no memory");
    list->index = index;
    list->capacity = capacity;
  }
  list->index[list->count++] = node ? (int32_t)(node - reader->graph->nodes) : -1;
  return HL_OK;
}

static hl_status connect_node(hl_onnx_reader *reader, const hl_wire_field *field, void *context) {
  node_list *list = context;
  int32_t index = list->index[list->count++];
  if (index < 0) return HL_OK;
  return hl_onnx_node_inputs(reader, field->body, &reader->graph->nodes[index]);
}

/* As declared, for who cannot infer it. What is wrong or missing there is not known. */
static void read_output_type(hl_onnx_reader *reader, const hl_wire_field *field, hl_value_id id) {
  hl_value *value = &reader->graph->values[id];
  if (value->kind != HL_VALUE_TEMPORARY) return;
  if (hl_onnx_value_type(reader, field->body, id) == HL_OK) return;
  value->dtype = HL_DTYPE_NONE;
  value->shape.rank = -1;
}

static hl_status read_output(hl_onnx_reader *reader, const hl_wire_field *field, void *context) {
  (void)context;
  const char *name;
  hl_status status = hl_onnx_value_name(reader, field->body, "graph output", &name);
  if (status != HL_OK) return status;
  hl_value_id value = hl_graph_find(reader->graph, name);
  if (value < 0)
    return hl_onnx_fail(reader, HL_BAD_DATA, field->start, "output '%.100s' is computed by no node",
                        name);
  if (reader->graph->values[value].is_output)
    return hl_onnx_fail(reader, HL_BAD_DATA, field->start, "output '%.100s' is listed twice", name);
  hl_graph_output(reader->graph, value);
  if (reader->facts) read_output_type(reader, field, value);
  return reader->graph->failed == HL_OK ? HL_OK : hl_onnx_graph_failure(reader);
}

static hl_status read_graph_name(hl_onnx_reader *reader, const hl_wire_field *field,
                                 void *context) {
  (void)context;
  return hl_onnx_text(reader, field, "graph name", &reader->graph->name);
}

static hl_status read_nodes(hl_onnx_reader *reader, hl_wire graph) {
  node_list list = {0};
  hl_status status = each(reader, graph, graph_node, declare_node, &list);
  list.count = 0;
  if (status == HL_OK) status = each(reader, graph, graph_node, connect_node, &list);
  free(list.index);
  return status;
}

static hl_status read_graph(hl_onnx_reader *reader, hl_wire graph) {
  hl_status status = each(reader, graph, graph_sparse, refuse_sparse, NULL);
  if (status == HL_OK) status = each(reader, graph, graph_name, read_graph_name, NULL);
  if (status == HL_OK) status = each(reader, graph, graph_initializer, read_initializer, NULL);
  if (status == HL_OK) status = each(reader, graph, graph_input, read_input, NULL);
  if (status == HL_OK) status = read_nodes(reader, graph);
  if (status == HL_OK) status = each(reader, graph, graph_output, read_output, NULL);
  if (status == HL_OK && reader->graph->output_count == 0)
    return hl_onnx_fail(reader, HL_BAD_DATA, graph.at, "the graph has no outputs");
  return status;
}

/* -- ModelProto ------------------------------------------------------------------------------ */

enum { model_ir_version = 1, model_graph = 7, model_opset = 8, model_functions = 25 };

static hl_status read_opset(hl_onnx_reader *reader, const hl_wire_field *import) {
  hl_wire message = import->body;
  hl_wire_field field;
  const char *domain = "";
  int64_t version = 0;
  while (hl_wire_next(&message, &field)) {
    if (field.number == 1) {
      hl_status status = hl_onnx_text(reader, &field, "opset domain", &domain);
      if (status != HL_OK) return status;
    } else if (field.number == 2 && field.type == HL_WIRE_VARINT) {
      version = (int64_t)field.value;
    }
  }
  if (message.bad) return hl_onnx_end(reader, &message, "opset import");
  if (domain[0] && strcmp(domain, "ai.onnx") != 0) {
    reader->has_other_domain = true; /* refused where it is used */
    return HL_OK;
  }
  reader->graph->opset = version;
  if (version > newest_opset)
    return hl_onnx_lacks(reader, import->start,
                         "opset %" PRId64 " is newer than %d, the newest this version reads. "
                         "Export with opset_version=%d",
                         version, newest_opset, newest_opset);
  if (version < oldest_opset)
    return hl_onnx_lacks(reader, import->start,
                         "opset %" PRId64 " is older than %d, the oldest this version reads. "
                         "Convert it with onnx.version_converter",
                         version, oldest_opset);
  return HL_OK;
}

static hl_status read_model(hl_onnx_reader *reader, hl_wire model) {
  hl_wire_field field, graph = {0};
  hl_status status = HL_OK;
  reader->graph->opset = 0;
  reader->graph->ir_version = 0;
  while (status == HL_OK && hl_wire_next(&model, &field)) {
    bool bytes = field.type == HL_WIRE_BYTES;
    if (field.number == model_ir_version && field.type == HL_WIRE_VARINT) {
      reader->graph->ir_version = (int64_t)field.value;
    } else if (field.number == model_opset && bytes) {
      status = read_opset(reader, &field);
    } else if (field.number == model_graph && bytes) {
      if (graph.start)
        return hl_onnx_fail(reader, HL_BAD_DATA, field.start, "the model has a second graph");
      graph = field;
    } else if (field.number == model_functions) {
      if (reader->facts) reader->facts->hides_weights = true;
      status = hl_onnx_lacks(reader, field.start,
                             "model-local functions are not implemented; inline them with "
                             "onnx.inliner");
    }
  }
  if (status != HL_OK) return status;
  if (model.bad) return hl_onnx_end(reader, &model, "model");
  if (!graph.start)
    return hl_onnx_fail(reader, HL_BAD_DATA, NULL,
                        "there is no graph in it; it is not an ONNX "
                        "model");
  if (reader->graph->ir_version < 3 || reader->graph->ir_version > newest_ir)
    status = hl_onnx_lacks(reader, NULL,
                           "IR version %" PRId64
                           "; 3 to %d are implemented. Set model.ir_version to 8 and "
                           "save it again, or export with an older onnx",
                           reader->graph->ir_version, newest_ir);
  if (status != HL_OK) return status;
  if (reader->graph->opset == 0 && reader->has_other_domain) reader->graph->opset = newest_opset;
  if (reader->graph->opset == 0)
    return hl_onnx_fail(reader, HL_BAD_DATA, NULL, "the model does not say its opset");
  return read_graph(reader, graph.body);
}

/* The first operator that has no row, as the reason that the model is not run. */
static void note_operator(const hl_graph *graph, hl_onnx_facts *facts) {
  for (size_t n = 0; n < graph->node_count && !facts->unread[0]; n++) {
    const hl_node *node = &graph->nodes[n];
    if (!node->row)
      snprintf(facts->unread, sizeof facts->unread,
               "the reference has no operator %.60s%s%.60s of opset %" PRId64 " (node '%.90s')",
               node->domain, node->domain[0] ? "." : "", node->op, graph->opset, node->name);
  }
}

static hl_status finish(hl_onnx_reader *reader) {
  hl_error inner;
  hl_status status = hl_graph_sort(reader->graph, &inner);
  if (status == HL_OK) status = hl_graph_resolve(reader->graph, &inner);
  if (status == HL_UNIMPLEMENTED && reader->facts) {
    note_operator(reader->graph, reader->facts);
    status = HL_OK;
  }
  if (reader->facts) reader->facts->externals = reader->externals;
  return status == HL_OK ? HL_OK : hl_onnx_fail(reader, status, NULL, "%s", inner.msg);
}

static hl_status read_bytes(hl_onnx_reader *reader, const void *data, size_t bytes) {
  reader->start = data;
  hl_status status = bytes ? read_model(reader, hl_wire_open(data, bytes))
                           : hl_onnx_fail(reader, HL_BAD_DATA, NULL, "the file is empty");
  return status == HL_OK ? finish(reader) : status;
}

hl_status hl_onnx_read_memory(const void *data, size_t bytes, const char *name,
                              hl_graph **ret_graph, hl_error *error) {
  hl_onnx_reader reader = {.file = name, .error = error};
  hl_status status = hl_graph_new("", &reader.graph, error);
  if (status != HL_OK) return status;
  status = read_bytes(&reader, data, bytes);
  if (status == HL_OK)
    *ret_graph = reader.graph;
  else
    hl_graph_free(reader.graph);
  return status;
}

static hl_status read_file(const char *path, hl_onnx_facts *facts, hl_graph **ret_graph,
                           hl_error *error) {
  hl_onnx_reader reader = {.file = path, .path = path, .facts = facts, .error = error};
  hl_mapping mapping;
  hl_status status = hl_file_map(path, max_file_bytes, &mapping, error);
  if (status != HL_OK) return status;
  status = hl_graph_new("", &reader.graph, error);
  if (status != HL_OK || !hl_graph_adopt(reader.graph, mapping)) {
    hl_file_unmap(&mapping);
    hl_graph_free(status == HL_OK ? reader.graph : NULL);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to read '%s'", path);
  }
  status = read_bytes(&reader, mapping.data, mapping.bytes);
  if (status == HL_OK)
    *ret_graph = reader.graph;
  else
    hl_graph_free(reader.graph);
  return status;
}

hl_status hl_onnx_read(const char *path, hl_graph **ret_graph, hl_error *error) {
  return read_file(path, NULL, ret_graph, error);
}

hl_status hl_onnx_describe(const char *path, hl_graph **ret_graph, hl_onnx_facts *ret_facts,
                           hl_error *error) {
  *ret_facts = (hl_onnx_facts){0};
  return read_file(path, ret_facts, ret_graph, error);
}
