/*
 * protocol/memory-message.h - a map of memory as the bytes of a reply: a JSON document.
 *
 *     {"steps": [[phase, layer], ...],
 *      "pieces": [[kind, phase, name, layer, first, last, offset, bytes], ...]}
 */
#ifndef HL_PROTOCOL_MEMORY_MESSAGE_H
#define HL_PROTOCOL_MEMORY_MESSAGE_H

#include "base/text.h"
#include "record/memory-map.h"

void hl_memory_message(const hl_memory_map *map, hl_text *out);

/* BAD_DATA for what is none; the map is checked. */
hl_status hl_memory_message_read(const void *bytes, size_t count, hl_memory_map **ret_map,
                                 hl_error *error);

#endif
