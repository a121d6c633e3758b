/* The messages of the ONNX writer. */
#include "graph/onnx-writer.h"

#include <string.h>

size_t hl_put_varint_bytes(uint64_t value) {
  size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) bytes++;
  return bytes;
}

void hl_put_varint(hl_text *out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) hl_text_char(out, (char)(unsigned char)(value | 0x80));
  hl_text_char(out, (char)(unsigned char)value);
}

static void put_key(hl_text *out, uint32_t field, unsigned type) {
  hl_put_varint(out, (uint64_t)field << 3 | type);
}

void hl_put_int(hl_text *out, uint32_t field, int64_t value) {
  put_key(out, field, 0);
  hl_put_varint(out, (uint64_t)value);
}

void hl_put_real(hl_text *out, uint32_t field, float value) {
  uint32_t bits;
  char bytes[4];
  memcpy(&bits, &value, sizeof bits);
  for (int i = 0; i < 4; i++) bytes[i] = (char)(unsigned char)(bits >> (8 * i));
  put_key(out, field, 5);
  hl_text_append_n(out, bytes, sizeof bytes);
}

void hl_put_bytes(hl_text *out, uint32_t field, const void *data, size_t bytes) {
  put_key(out, field, 2);
  hl_put_varint(out, bytes);
  hl_text_append_n(out, data, bytes);
}

void hl_put_text(hl_text *out, uint32_t field, const char *text) {
  hl_put_bytes(out, field, text, strlen(text));
}

void hl_put_message(hl_text *out, uint32_t field, hl_text *message) {
  hl_put_bytes(out, field, message->data, message->length);
  if (message->failed) out->failed = true;
  hl_text_clear(message);
}

void hl_put_tensor_head(hl_text *out, const hl_value *value, size_t padding) {
  for (int32_t d = 0; d < value->shape.rank; d++) hl_put_int(out, 1, value->shape.dims[d]);
  hl_put_int(out, 2, value->dtype);
  hl_put_text(out, 8, value->name);
  if (padding) { /* the writer asks for 2 to 127 bytes: key, length and spaces */
    put_key(out, 12, 2);
    hl_put_varint(out, padding - 2);
    for (size_t i = 2; i < padding; i++) hl_text_char(out, ' ');
  }
  put_key(out, 9, 2);
  hl_put_varint(out, value->bytes);
}

/* -- attributes and nodes -------------------------------------------------------------------- */

static hl_status put_attribute(hl_text *out, const hl_graph *graph, const hl_node *node,
                               const hl_attribute *a, hl_error *error) {
  enum { f = 2, i = 3, s = 4, t = 5, floats = 7, ints = 8, strings = 9, type = 20 };
  hl_text tensor = HL_TEXT_INIT;
  hl_put_text(out, 1, a->name);
  switch (a->kind) {
  case HL_ATTRIBUTE_REAL:
    hl_put_real(out, f, a->f);
    hl_put_int(out, type, 1);
    return HL_OK;
  case HL_ATTRIBUTE_INT:
    hl_put_int(out, i, a->i);
    hl_put_int(out, type, 2);
    return HL_OK;
  case HL_ATTRIBUTE_TEXT:
    hl_put_bytes(out, s, a->text, a->count);
    hl_put_int(out, type, 3);
    return HL_OK;
  case HL_ATTRIBUTE_TENSOR:
    if (a->tensor < 0 || !graph->values[a->tensor].data) break;
    hl_put_tensor_head(&tensor, &graph->values[a->tensor], 0);
    hl_text_append_n(&tensor, graph->values[a->tensor].data, graph->values[a->tensor].bytes);
    hl_put_message(out, t, &tensor);
    hl_text_release(&tensor);
    hl_put_int(out, type, 4);
    return HL_OK;
  case HL_ATTRIBUTE_REALS:
    for (size_t k = 0; k < a->count; k++) hl_put_real(out, floats, a->reals[k]);
    hl_put_int(out, type, 6);
    return HL_OK;
  case HL_ATTRIBUTE_INTS:
    for (size_t k = 0; k < a->count; k++) hl_put_int(out, ints, a->ints[k]);
    hl_put_int(out, type, 7);
    return HL_OK;
  case HL_ATTRIBUTE_TEXTS:
    for (size_t k = 0; k < a->count; k++) hl_put_text(out, strings, a->texts[k]);
    hl_put_int(out, type, 8);
    return HL_OK;
  case HL_ATTRIBUTE_OTHER:
    break;
  }
  return hl_error_set(error, HL_UNIMPLEMENTED,
                      "node '%.90s' (%.40s): attribute '%.60s' is of a kind that cannot be written",
                      node->name, node->op, a->name);
}

hl_status hl_put_node(hl_text *out, const hl_graph *graph, const hl_node *node, hl_error *error) {
  hl_text attribute = HL_TEXT_INIT;
  hl_status status = HL_OK;
  for (size_t i = 0; i < node->input_count; i++)
    hl_put_text(out, 1, node->inputs[i] < 0 ? "" : graph->values[node->inputs[i]].name);
  for (size_t i = 0; i < node->output_count; i++)
    hl_put_text(out, 2, node->outputs[i] < 0 ? "" : graph->values[node->outputs[i]].name);
  if (node->name[0]) hl_put_text(out, 3, node->name);
  hl_put_text(out, 4, node->op);
  if (node->domain[0]) hl_put_text(out, 7, node->domain);
  for (size_t i = 0; i < node->attribute_count && status == HL_OK; i++) {
    status = put_attribute(&attribute, graph, node, &node->attributes[i], error);
    hl_put_message(out, 5, &attribute);
  }
  hl_text_release(&attribute);
  return status;
}

void hl_put_value(hl_text *out, const hl_value *value, const hl_shape *shape,
                  const char *const *symbols) {
  hl_text dim = HL_TEXT_INIT, dims = HL_TEXT_INIT, tensor = HL_TEXT_INIT, type = HL_TEXT_INIT;
  for (int32_t d = 0; d < shape->rank; d++) {
    if (shape->dims[d] >= 0)
      hl_put_int(&dim, 1, shape->dims[d]);
    else if (symbols && symbols[d])
      hl_put_text(&dim, 2, symbols[d]);
    hl_put_message(&dims, 1, &dim);
  }
  hl_put_int(&tensor, 1, value->dtype);
  if (shape->rank >= 0) hl_put_message(&tensor, 2, &dims);
  hl_put_message(&type, 1, &tensor);
  hl_put_text(out, 1, value->name);
  hl_put_message(out, 2, &type);
  hl_text_release(&dim);
  hl_text_release(&dims);
  hl_text_release(&tensor);
  hl_text_release(&type);
}
