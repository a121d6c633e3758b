#include "record/memory-map-json.h"

#include "base/json-writer.h"
#include <jansson.h>

static void write_piece(hl_json *json, const hl_allocation *a) {
  hl_json_array(json, NULL);
  hl_json_int(json, NULL, (int64_t)a->kind);
  hl_json_int(json, NULL, (int64_t)a->phase);
  hl_json_text(json, NULL, a->name);
  hl_json_text(json, NULL, a->layer);
  hl_json_int(json, NULL, a->first);
  hl_json_int(json, NULL, a->last);
  hl_json_int(json, NULL, (int64_t)a->offset);
  hl_json_int(json, NULL, (int64_t)a->bytes);
  hl_json_end(json);
}

void hl_memory_map_json(const hl_memory_map *map, hl_text *out) {
  hl_json json;
  hl_json_init(&json, out, HL_JSON_COMPACT);
  hl_json_object(&json, NULL);
  hl_json_array(&json, "steps");
  for (size_t i = 0; i < map->step_count; i++) {
    hl_json_array(&json, NULL);
    hl_json_int(&json, NULL, (int64_t)map->steps[i].phase);
    hl_json_text(&json, NULL, map->steps[i].layer);
    hl_json_end(&json);
  }
  hl_json_end(&json);
  hl_json_array(&json, "pieces");
  for (size_t i = 0; i < map->piece_count; i++) write_piece(&json, &map->pieces[i]);
  hl_json_end(&json);
  hl_json_end(&json);
}

/* Element `i` of a list, within limits; false otherwise. */
static bool number(const json_t *list, size_t i, int64_t low, int64_t high, int64_t *ret) {
  const json_t *value = json_array_get(list, i);
  if (!json_is_integer(value)) return false;
  *ret = json_integer_value(value);
  return *ret >= low && *ret <= high;
}

static bool read_step(const json_t *list, hl_memory_map *map) {
  int64_t phase;
  const char *layer = json_string_value(json_array_get(list, 1));
  if (!number(list, 0, 0, HL_PHASE_COUNT - 1, &phase) || !layer) return false;
  hl_memory_map_add(map, &(hl_allocation){.phase = (hl_phase)phase, .layer = layer});
  return true;
}

static bool read_piece(const json_t *list, hl_memory_map *map) {
  int64_t kind, phase, first, last, offset, bytes;
  const char *name = json_string_value(json_array_get(list, 2));
  const char *layer = json_string_value(json_array_get(list, 3));
  if (!name || !layer || !number(list, 0, 0, HL_MEMORY_KINDS - 1, &kind) ||
      !number(list, 1, 0, HL_PHASE_COUNT - 1, &phase) || !number(list, 4, -1, INT32_MAX, &first) ||
      !number(list, 5, -1, INT32_MAX, &last) || !number(list, 6, 0, INT64_MAX, &offset) ||
      !number(list, 7, 0, INT64_MAX, &bytes))
    return false;
  hl_memory_map_add(map, &(hl_allocation){.size = sizeof(hl_allocation),
                                          .kind = (hl_allocation_kind)kind,
                                          .name = name,
                                          .layer = layer,
                                          .phase = (hl_phase)phase,
                                          .first = (int32_t)first,
                                          .last = (int32_t)last,
                                          .offset = (uint64_t)offset,
                                          .bytes = (uint64_t)bytes});
  return true;
}

hl_status hl_memory_map_parse(const void *bytes, size_t count, hl_memory_map **ret_map,
                              hl_error *error) {
  hl_memory_map *map = NULL;
  json_t *object = json_loadb(bytes, count, JSON_REJECT_DUPLICATES, NULL);
  const json_t *steps = json_object_get(object, "steps"),
               *pieces = json_object_get(object, "pieces");
  bool good = json_is_array(steps) && json_is_array(pieces);
  hl_status status = hl_memory_map_new(&map, error);
  for (size_t i = 0; status == HL_OK && good && i < json_array_size(steps); i++)
    good = read_step(json_array_get(steps, i), map);
  for (size_t i = 0; status == HL_OK && good && i < json_array_size(pieces); i++)
    good = read_piece(json_array_get(pieces, i), map);
  json_decref(object);
  if (status == HL_OK && !good)
    status = hl_error_set(error, HL_BAD_DATA, "a map of memory is none");
  if (status == HL_OK) status = hl_memory_map_check(map, error);
  if (status == HL_OK)
    *ret_map = map;
  else
    hl_memory_map_free(map);
  return status;
}
