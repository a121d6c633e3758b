/*
 * engines/common/port.h - how much memory a tensor of a port takes.
 */
#ifndef HOTLAP_ENGINE_PORT_H
#define HOTLAP_ENGINE_PORT_H

#include <hotlap/engine.h>

/* Bytes of a tensor of that type and shape, every dimension known. UNIMPLEMENTED for types that no
 * array of plain memory holds, LIMIT if a dimension is unknown or the bytes overflow; `engine`
 * begins the message. */
hl_status hl_engine_port_bytes(const char *engine, const hl_port *port, uint64_t *ret_bytes,
                               hl_error *error);

#endif
