/*
 * graph/onnx-wire.h - walking the protobuf wire format.
 *
 *     hl_wire_field field;
 *     while (hl_wire_next(&message, &field))
 *       if (field.number == 7 && field.type == HL_WIRE_BYTES) read_graph(field.body);
 *     if (message.bad) ...
 *
 * A message is a range of bytes inside the file; nothing is copied and nothing is read outside the
 * range. Nesting is not followed: a caller descends into `body` itself, to a depth it knows.
 */
#ifndef HL_GRAPH_ONNX_WIRE_H
#define HL_GRAPH_ONNX_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum hl_wire_type {
  HL_WIRE_VARINT = 0,
  HL_WIRE_FIXED64 = 1,
  HL_WIRE_BYTES = 2,
  HL_WIRE_FIXED32 = 5
} hl_wire_type;

typedef struct hl_wire {
  const unsigned char *at, *end;
  const char *bad; /* why the message is malformed, or NULL */
} hl_wire;

typedef struct hl_wire_field {
  uint32_t number;
  hl_wire_type type;
  uint64_t value;             /* of varint and fixed fields */
  hl_wire body;               /* of byte fields */
  const unsigned char *start; /* of the field, for messages */
} hl_wire_field;

hl_wire hl_wire_open(const void *data, size_t bytes);

/* The next field; false at the end and when `wire->bad` is set. */
bool hl_wire_next(hl_wire *wire, hl_wire_field *ret_field);

/* One varint of a packed field; false at the end and when `wire->bad` is set. */
bool hl_wire_varint(hl_wire *wire, uint64_t *ret_value);

static inline size_t hl_wire_left(const hl_wire *wire) {
  return (size_t)(wire->end - wire->at);
}

#endif
