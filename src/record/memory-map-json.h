/*
 * record/memory-map-json.h - a map of memory as a JSON document: in a reply, in the store.
 *
 *     {"steps": [[phase, layer], ...],
 *      "pieces": [[kind, phase, name, layer, first, last, offset, bytes], ...]}
 */
#ifndef HL_RECORD_MEMORY_MAP_JSON_H
#define HL_RECORD_MEMORY_MAP_JSON_H

#include "base/text.h"
#include "record/memory-map.h"

void hl_memory_map_json(const hl_memory_map *map, hl_text *out);

/* BAD_DATA for what is none, whoever wrote it; the map is checked. */
hl_status hl_memory_map_parse(const void *bytes, size_t count, hl_memory_map **ret_map,
                              hl_error *error);

#endif
