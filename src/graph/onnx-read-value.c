/* ValueInfoProto: name, element type and shape of an input or output. */
#include "graph/onnx-reader.h"

#include <inttypes.h>

enum {
  info_name = 1,
  info_type = 2,
  type_tensor = 1,
  type_denotation = 6,
  tensor_element = 1,
  tensor_shape = 2,
  shape_dim = 1,
  dim_value = 1,
  dim_param = 2
};

hl_status hl_onnx_value_name(hl_onnx_reader *reader, hl_wire message, const char *what,
                             const char **ret_name) {
  hl_wire_field field;
  const void *start = message.at;
  *ret_name = "";
  while (hl_wire_next(&message, &field)) {
    if (field.number != info_name) continue;
    hl_status status = hl_onnx_text(reader, &field, what, ret_name);
    if (status != HL_OK) return status;
  }
  if (message.bad) return hl_onnx_end(reader, &message, what);
  return (*ret_name)[0] ? HL_OK
                        : hl_onnx_fail(reader, HL_BAD_DATA, start, "a %s has no name", what);
}

/* An absent value, an empty name and a negative number all mean: unknown. */
static hl_status read_dim(hl_onnx_reader *reader, hl_wire message, hl_value *value, int32_t axis) {
  hl_wire_field field;
  value->shape.dims[axis] = -1;
  value->symbols[axis] = NULL;
  while (hl_wire_next(&message, &field)) {
    if (field.number == dim_value && field.type == HL_WIRE_VARINT) {
      int64_t dim = (int64_t)field.value;
      if (dim > HL_GRAPH_MAX_DIM)
        return hl_onnx_fail(reader, HL_LIMIT, field.start,
                            "'%.100s' has a dimension of %" PRId64 " elements", value->name, dim);
      value->shape.dims[axis] = dim < 0 ? -1 : dim;
    } else if (field.number == dim_param) {
      const char *symbol;
      hl_status status = hl_onnx_text(reader, &field, "name of a dimension", &symbol);
      if (status != HL_OK) return status;
      value->symbols[axis] = symbol[0] ? symbol : NULL;
    }
  }
  return hl_onnx_end(reader, &message, "dimension");
}

static hl_status read_shape(hl_onnx_reader *reader, hl_wire message, hl_value *value) {
  hl_wire_field field;
  value->shape.rank = 0;
  while (hl_wire_next(&message, &field)) {
    if (field.number != shape_dim || field.type != HL_WIRE_BYTES) continue;
    if (value->shape.rank == HL_MAX_RANK)
      return hl_onnx_fail(reader, HL_UNIMPLEMENTED, field.start,
                          "'%.100s' has more than %d dimensions", value->name, HL_MAX_RANK);
    hl_status status = read_dim(reader, field.body, value, value->shape.rank++);
    if (status != HL_OK) return status;
  }
  return hl_onnx_end(reader, &message, "shape");
}

static hl_status read_tensor_type(hl_onnx_reader *reader, hl_wire message, hl_value *value) {
  hl_wire_field field;
  const void *start = message.at;
  uint64_t type = 0;
  while (hl_wire_next(&message, &field)) {
    if (field.number == tensor_element && field.type == HL_WIRE_VARINT) {
      type = field.value;
      value->dtype = field.value <= HL_BFLOAT16 ? (hl_dtype)field.value : HL_DTYPE_NONE;
    } else if (field.number == tensor_shape && field.type == HL_WIRE_BYTES) {
      hl_status status = read_shape(reader, field.body, value);
      if (status != HL_OK) return status;
    }
  }
  if (message.bad) return hl_onnx_end(reader, &message, "tensor type");
  if (hl_dtype_bytes(value->dtype) > 0) return HL_OK;
  return hl_onnx_fail(reader, HL_UNIMPLEMENTED, start,
                      "'%.100s' has the element type %s, which is not implemented", value->name,
                      hl_onnx_type_name(type).text);
}

hl_status hl_onnx_value_type(hl_onnx_reader *reader, hl_wire message, hl_value_id value) {
  hl_wire_field field, inner;
  hl_value *v = &reader->graph->values[value];
  const void *start = message.at;
  bool typed = false;
  while (hl_wire_next(&message, &field)) {
    if (field.number != info_type || field.type != HL_WIRE_BYTES) continue;
    while (hl_wire_next(&field.body, &inner)) {
      if (inner.number == type_denotation) continue;
      if (inner.number != type_tensor || inner.type != HL_WIRE_BYTES)
        return hl_onnx_fail(reader, HL_UNIMPLEMENTED, inner.start,
                            "'%.100s' is a sequence, map or sparse tensor; only dense tensors are "
                            "implemented",
                            v->name);
      hl_status status = read_tensor_type(reader, inner.body, v);
      if (status != HL_OK) return status;
      typed = true;
    }
    if (field.body.bad) return hl_onnx_end(reader, &field.body, "type");
  }
  if (message.bad) return hl_onnx_end(reader, &message, "value");
  return typed ? HL_OK : hl_onnx_fail(reader, HL_BAD_DATA, start, "'%.100s' has no type", v->name);
}
