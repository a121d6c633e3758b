#include "port.h"

#include "fail.h"

/* Bytes of an element; 0 for types that no array of plain memory holds. */
static uint64_t element_bytes(hl_dtype dtype) {
  switch (dtype) {
  case HL_UINT8:
  case HL_INT8:
  case HL_BOOL:
    return 1;
  case HL_UINT16:
  case HL_INT16:
  case HL_FLOAT16:
  case HL_BFLOAT16:
    return 2;
  case HL_FLOAT32:
  case HL_INT32:
  case HL_UINT32:
    return 4;
  case HL_FLOAT64:
  case HL_INT64:
  case HL_UINT64:
  case HL_COMPLEX64:
    return 8;
  case HL_COMPLEX128:
    return 16;
  default:
    return 0;
  }
}

hl_status hl_engine_port_bytes(const char *engine, const hl_port *port, uint64_t *ret_bytes,
                               hl_error *error) {
  uint64_t bytes = element_bytes(port->dtype);
  if (bytes == 0)
    return hl_engine_fail(error, HL_UNIMPLEMENTED, "%s: '%s' has element type %d", engine,
                          port->name, (int)port->dtype);
  for (int32_t i = 0; i < port->rank; i++)
    if (port->dims[i] < 0 || __builtin_mul_overflow(bytes, (uint64_t)port->dims[i], &bytes) ||
        bytes > SIZE_MAX / 2)
      return hl_engine_fail(error, HL_LIMIT, "%s: dimension %d of '%s' is out of range", engine, i,
                            port->name);
  *ret_bytes = bytes;
  return HL_OK;
}
