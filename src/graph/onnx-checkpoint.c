#include "graph/onnx-checkpoint.h"

#include "base/file.h"
#include "graph/onnx-reader.h"
#include "graph/onnx-writer.h"
#include <inttypes.h>
#include <string.h>

enum { model_training_info = 20, training_algorithm = 2 };
enum { graph_name = 2, graph_initializer = 5, graph_doc = 10 };
static const char checkpoint_name[] = "hotlap.checkpoint/1";
static const uint64_t max_file_bytes = (UINT64_C(1) << 31) - 1;

typedef struct writer {
  const hl_graph *network;
  const hl_checkpoint *checkpoint;
  int fd;
} writer;

/* -- writing --------------------------------------------------------------------------------- */

static bool is_weight(const hl_graph *network, const char *name) {
  hl_value_id id = hl_graph_find(network, name);
  return id >= 0 && network->values[id].kind == HL_VALUE_CONSTANT;
}

static const hl_port *find_port(const hl_checkpoint *c, const char *name) {
  for (size_t i = 0; i < c->count; i++)
    if (strcmp(c->ports[i].name, name) == 0) return &c->ports[i];
  return NULL;
}

static hl_status read_state(const hl_checkpoint *c, const char *name, uint64_t bytes,
                            const void **ret_data, hl_error *error) {
  hl_tensor_view view = {0};
  hl_status status = c->read(c->context, name, &view, error);
  if (status != HL_OK) return status;
  if (view.dtype != HL_FLOAT32 || view.bytes != bytes || !view.data)
    return hl_error_set(error, HL_INTERNAL,
                        "the state '%.90s' has %" PRIu64 " bytes where %" PRIu64 " are expected",
                        name, view.bytes, bytes);
  *ret_data = view.data;
  return HL_OK;
}

static hl_status fetch(void *context, const hl_value *initializer, const void **ret_data,
                       hl_error *error) {
  const hl_checkpoint *c = ((const writer *)context)->checkpoint;
  *ret_data = initializer->data;
  if (!find_port(c, initializer->name)) return HL_OK;
  return read_state(c, initializer->name, initializer->bytes, ret_data, error);
}

static hl_status value_of(const hl_port *port, hl_value *ret_value, hl_error *error) {
  hl_value value = {.name = port->name, .dtype = HL_FLOAT32, .shape = {.rank = port->rank}};
  memcpy(value.shape.dims, port->dims, sizeof value.shape.dims);
  if (!hl_shape_bytes(&value.shape, HL_FLOAT32, &value.bytes))
    return hl_error_set(error, HL_INTERNAL, "the state '%.90s' has no size", port->name);
  *ret_value = value;
  return HL_OK;
}

/* Key, length and fields of a TensorProto up to its data. */
static void put_head(hl_text *out, const hl_value *value) {
  hl_text head = HL_TEXT_INIT;
  hl_put_tensor_head(&head, value, 0);
  hl_put_varint(out, graph_initializer << 3 | 2);
  hl_put_varint(out, head.length + value->bytes);
  hl_text_append_n(out, head.data, head.length);
  if (head.failed) out->failed = true;
  hl_text_release(&head);
}

/* Bytes of the states in the file, heads and data. */
static hl_status measure(const writer *w, uint64_t *ret_bytes, hl_error *error) {
  hl_text head = HL_TEXT_INIT;
  hl_status status = HL_OK;
  *ret_bytes = 0;
  for (size_t i = 0; i < w->checkpoint->count && status == HL_OK; i++) {
    hl_value value;
    if (is_weight(w->network, w->checkpoint->ports[i].name)) continue;
    status = value_of(&w->checkpoint->ports[i], &value, error);
    hl_text_clear(&head);
    if (status == HL_OK) put_head(&head, &value);
    if (status == HL_OK) *ret_bytes += head.length + value.bytes;
  }
  hl_text_release(&head);
  return status;
}

static hl_status write_states(const writer *w, hl_error *error) {
  hl_text head = HL_TEXT_INIT;
  hl_status status = HL_OK;
  for (size_t i = 0; i < w->checkpoint->count && status == HL_OK; i++) {
    const hl_port *port = &w->checkpoint->ports[i];
    const void *data = NULL;
    hl_value value;
    if (is_weight(w->network, port->name)) continue;
    status = value_of(port, &value, error);
    hl_text_clear(&head);
    if (status == HL_OK) put_head(&head, &value);
    if (status == HL_OK)
      status = hl_write_all(w->fd, head.data, head.length, "the checkpoint", error);
    if (status == HL_OK) status = read_state(w->checkpoint, port->name, value.bytes, &data, error);
    if (status == HL_OK) status = hl_write_all(w->fd, data, value.bytes, "the checkpoint", error);
  }
  hl_text_release(&head);
  return status;
}

static hl_status write_training_info(const writer *w, hl_error *error) {
  hl_text graph = HL_TEXT_INIT, out = HL_TEXT_INIT;
  uint64_t states = 0;
  hl_status status = measure(w, &states, error);
  hl_put_text(&graph, graph_name, checkpoint_name);
  hl_put_text(&graph, graph_doc, w->checkpoint->facts);
  uint64_t algorithm = graph.length + states;
  hl_put_varint(&out, model_training_info << 3 | 2);
  hl_put_varint(&out, 1 + hl_put_varint_bytes(algorithm) + algorithm);
  hl_put_varint(&out, training_algorithm << 3 | 2);
  hl_put_varint(&out, algorithm);
  hl_text_append_n(&out, graph.data, graph.length);
  if (status == HL_OK && (out.failed || graph.failed))
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to write a checkpoint");
  if (status == HL_OK) status = hl_write_all(w->fd, out.data, out.length, "the checkpoint", error);
  hl_text_release(&graph);
  hl_text_release(&out);
  return status == HL_OK ? write_states(w, error) : status;
}

static hl_status check_size(const hl_graph *network, const hl_checkpoint *c, const char *path,
                            hl_error *error) {
  uint64_t bytes = 0;
  for (size_t v = 0; v < network->value_count; v++)
    if (network->values[v].kind == HL_VALUE_CONSTANT) bytes += network->values[v].bytes;
  for (size_t i = 0; i < c->count; i++) {
    hl_value value = {0};
    hl_status status = value_of(&c->ports[i], &value, error);
    if (status != HL_OK) return status;
    if (!is_weight(network, c->ports[i].name)) bytes += value.bytes;
  }
  if (bytes < max_file_bytes) return HL_OK;
  return hl_error_set(error, HL_LIMIT,
                      "the checkpoint '%s' would have %" PRIu64 " bytes of weights and optimiser's "
                      "state; an ONNX file has at most %" PRIu64,
                      path, bytes, max_file_bytes);
}

hl_status hl_checkpoint_write(const hl_graph *network, const hl_checkpoint *checkpoint,
                              const char *path, hl_error *error) {
  hl_new_file file;
  hl_status status = check_size(network, checkpoint, path, error);
  if (status == HL_OK) status = hl_file_begin(path, &file, error);
  if (status != HL_OK) return status;
  writer w = {.network = network, .checkpoint = checkpoint, .fd = file.fd};
  status = hl_onnx_write_fetched(network, file.fd, fetch, &w, error);
  if (status == HL_OK) status = write_training_info(&w, error);
  return hl_file_end(&file, status, error);
}

/* -- reading --------------------------------------------------------------------------------- */

static hl_status cut_short(const char *path, const char *why, hl_error *error) {
  return hl_error_set(error, HL_BAD_DATA, "checkpoint '%s': %s", path, why);
}

/* The last byte field `number` of a message; false where there is none. */
static bool find_field(hl_wire message, uint32_t number, hl_wire *ret_body) {
  hl_wire_field field;
  bool found = false;
  while (hl_wire_next(&message, &field))
    if (field.number == number && field.type == HL_WIRE_BYTES) {
      *ret_body = field.body;
      found = true;
    }
  return found && !message.bad;
}

static hl_status read_states(hl_onnx_reader *reader, hl_wire algorithm, const char **ret_facts) {
  hl_wire_field field;
  hl_status status = HL_OK;
  while (status == HL_OK && hl_wire_next(&algorithm, &field)) {
    hl_value_id ignored;
    if (field.number == graph_name) {
      status = hl_onnx_text(reader, &field, "the checkpoint's name", &reader->graph->name);
    } else if (field.number == graph_doc && field.type == HL_WIRE_BYTES) {
      *ret_facts = hl_arena_text_n(&reader->graph->arena, (const char *)field.body.at,
                                   hl_wire_left(&field.body));
    } else if (field.number == graph_initializer && field.type == HL_WIRE_BYTES) {
      status = hl_onnx_tensor(reader, field.body, NULL, &ignored);
    }
  }
  if (status != HL_OK) return status;
  if (algorithm.bad) return hl_onnx_end(reader, &algorithm, "the optimiser's state");
  if (!*ret_facts || strcmp(reader->graph->name, checkpoint_name) != 0)
    return cut_short(reader->file, "its optimiser's state is not hotlap's", reader->error);
  return HL_OK;
}

static hl_status read_training_info(const char *path, hl_graph *states, const char **ret_facts,
                                    hl_error *error) {
  hl_mapping mapping;
  hl_wire info, algorithm;
  hl_status status = hl_file_map(path, UINT64_C(1) << 32, &mapping, error);
  if (status != HL_OK) return status;
  if (!hl_graph_adopt(states, mapping)) {
    hl_file_unmap(&mapping);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to read '%s'", path);
  }
  if (!find_field(hl_wire_open(mapping.data, mapping.bytes), model_training_info, &info) ||
      !find_field(info, training_algorithm, &algorithm))
    return cut_short(path,
                     "it holds a network and no optimiser's state: it was cut short, or is no "
                     "checkpoint of hotlap train",
                     error);
  hl_onnx_reader reader = {
      .file = path, .path = path, .start = mapping.data, .graph = states, .error = error};
  return read_states(&reader, algorithm, ret_facts);
}

hl_status hl_checkpoint_read(const char *path, hl_graph **ret_network, hl_graph **ret_states,
                             const char **ret_facts, hl_error *error) {
  hl_graph *network = NULL, *states = NULL;
  const char *facts = NULL;
  hl_status status = hl_onnx_read(path, &network, error);
  if (status == HL_OK) status = hl_graph_new("", &states, error);
  if (status == HL_OK) status = read_training_info(path, states, &facts, error);
  if (status != HL_OK) {
    hl_graph_free(states);
    hl_graph_free(network);
    return status;
  }
  *ret_network = network;
  *ret_states = states;
  *ret_facts = facts;
  return HL_OK;
}
