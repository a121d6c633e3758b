#include "worker/memory.h"

#include "protocol/channel.h"
#include "record/memory-map-json.h"
#include <stdlib.h>

hl_status hl_worker_allocations(const hl_engine_ops *ops, hl_model *model,
                                const hl_program_spec *spec, json_t *reply, void **ret_bytes,
                                size_t *ret_byte_count, hl_error *error) {
  hl_memory_map *map = NULL;
  hl_text text = HL_TEXT_INIT;
  hl_json_set_bool(reply, "known", ops->allocations != NULL);
  if (!ops->allocations) return HL_OK;
  hl_status status = hl_memory_map_new(&map, error);
  if (status == HL_OK) status = ops->allocations(model, spec, hl_memory_map_add, map, error);
  if (status == HL_OK) status = hl_memory_map_check(map, error);
  if (status == HL_OK) hl_memory_map_json(map, &text);
  hl_memory_map_free(map);
  size_t count = text.length;
  char *bytes = hl_text_take(&text);
  if (status == HL_OK && !bytes)
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a map of memory");
  if (status != HL_OK) {
    free(bytes);
    return status;
  }
  *ret_bytes = bytes;
  *ret_byte_count = count;
  return HL_OK;
}

/* What each part has grown by; parts that shrank are below 0. */
static void set_growth(const hl_residency *before, json_t *reply) {
  hl_residency now;
  if (!before->resident_bytes || hl_residency_read(NULL, &now, NULL) != HL_OK) return;
  const struct {
    const char *name;
    uint64_t now, before;
  } parts[] = {{"library_growth_bytes", now.library_bytes, before->library_bytes},
               {"file_growth_bytes", now.file_bytes, before->file_bytes},
               {"code_growth_bytes", now.code_bytes, before->code_bytes},
               {"private_growth_bytes", now.private_bytes, before->private_bytes},
               {"heap_growth_bytes", now.heap_bytes, before->heap_bytes}};
  for (size_t i = 0; i < HL_COUNT(parts); i++)
    if (parts[i].now != UINT64_MAX && parts[i].before != UINT64_MAX)
      hl_json_set_real(reply, parts[i].name, (double)parts[i].now - (double)parts[i].before);
}

void hl_worker_baseline_read(hl_worker_baseline *ret_baseline) {
  *ret_baseline = (hl_worker_baseline){0};
  hl_memory_read_exact(NULL, &ret_baseline->memory, NULL);
  hl_residency_read(NULL, &ret_baseline->residency, NULL);
}

hl_status hl_worker_memory(const hl_engine_ops *ops, hl_engine *engine,
                           const hl_worker_baseline *baseline, json_t *reply, hl_error *error) {
  hl_memory memory;
  hl_status status = hl_memory_read_exact(NULL, &memory, error);
  if (status != HL_OK) return status;
  hl_engine_memory own = {.size = sizeof own};
  hl_error why = {0};
  bool told = engine && ops->memory && ops->memory(engine, &own, &why) == HL_OK;
  /* Of an engine on a device the account may be the device's alone. */
  bool on_device = own.device_allocated_bytes || own.device_peak_bytes;
  bool known = told && (own.peak_bytes || !on_device);
  hl_json_set_int(reply, "resident_bytes", memory.resident_bytes);
  hl_json_set_int(reply, "peak_bytes", memory.peak_bytes);
  hl_json_set_int(reply, "baseline_bytes", baseline->memory.resident_bytes);
  set_growth(&baseline->residency, reply);
  hl_json_set_bool(reply, "engine_known", known);
  if (!told && why.msg[0]) hl_json_set_text(reply, "engine_reason", why.msg);
  hl_json_set_int(reply, "engine_allocated_bytes", own.allocated_bytes);
  hl_json_set_int(reply, "engine_reserved_bytes", own.reserved_bytes);
  hl_json_set_int(reply, "engine_peak_bytes", own.peak_bytes);
  if (told && own.device_peak_bytes)
    hl_json_set_int(reply, "engine_device_peak_bytes", own.device_peak_bytes);
  if (told && own.device_reserved_bytes)
    hl_json_set_int(reply, "engine_device_reserved_bytes", own.device_reserved_bytes);
  return HL_OK;
}
