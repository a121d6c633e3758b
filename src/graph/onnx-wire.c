#include "graph/onnx-wire.h"

#include <string.h>

hl_wire hl_wire_open(const void *data, size_t bytes) {
  const unsigned char *start = data;
  return (hl_wire){.at = start, .end = start + bytes};
}

static bool malformed(hl_wire *wire, const char *why) {
  wire->bad = why;
  return false;
}

bool hl_wire_varint(hl_wire *wire, uint64_t *ret_value) {
  uint64_t value = 0;
  if (wire->bad || wire->at == wire->end) return false;
  for (int shift = 0; shift < 70; shift += 7) {
    if (wire->at == wire->end) return malformed(wire, "a number is cut off");
    unsigned char byte = *wire->at++;
    if (shift == 63 && byte > 1) return malformed(wire, "a number has more than 64 bits");
    value |= (uint64_t)(byte & 0x7f) << (shift < 64 ? shift : 63);
    if (byte < 0x80) {
      *ret_value = value;
      return true;
    }
  }
  return malformed(wire, "a number has more than 64 bits");
}

static bool fixed(hl_wire *wire, size_t bytes, uint64_t *ret_value) {
  if (hl_wire_left(wire) < bytes) return malformed(wire, "a number is cut off");
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; i++) value |= (uint64_t)wire->at[i] << (8 * i);
  wire->at += bytes;
  *ret_value = value;
  return true;
}

bool hl_wire_next(hl_wire *wire, hl_wire_field *ret_field) {
  if (wire->bad || wire->at == wire->end) return false;
  hl_wire_field field = {.start = wire->at};
  uint64_t key, length;
  if (!hl_wire_varint(wire, &key)) return false;
  field.number = (uint32_t)(key >> 3);
  field.type = (hl_wire_type)(key & 7);
  if (key > UINT32_MAX || field.number == 0) return malformed(wire, "a field has no number");
  switch (field.type) {
  case HL_WIRE_VARINT:
    if (!hl_wire_varint(wire, &field.value))
      return wire->bad ? false : malformed(wire, "a number is cut off");
    break;
  case HL_WIRE_FIXED64:
    if (!fixed(wire, 8, &field.value)) return false;
    break;
  case HL_WIRE_FIXED32:
    if (!fixed(wire, 4, &field.value)) return false;
    break;
  case HL_WIRE_BYTES:
    if (!hl_wire_varint(wire, &length))
      return wire->bad ? false : malformed(wire, "a length is cut off");
    if (length > hl_wire_left(wire)) return malformed(wire, "a field is longer than its message");
    field.body = hl_wire_open(wire->at, (size_t)length);
    wire->at += length;
    break;
  default:
    return malformed(wire, "it uses a wire type that ONNX has not");
  }
  *ret_field = field;
  return true;
}
