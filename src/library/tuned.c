#include <hotlap/hotlap.h>

#include "record/settings.h"
#include <stdio.h>
#include <string.h>

static hl_status put(const char *text, const char *key, char *ret_text, size_t size,
                     hl_error *error) {
  int length = snprintf(ret_text, size, "%s", text ? text : "");
  if (length >= 0 && (size_t)length < size) return HL_OK;
  return hl_error_set(error, HL_LIMIT, "the %s of the settings is longer than %zu bytes", key,
                      size - 1);
}

static hl_status fill(const hl_settings *s, const hl_preset *p, hl_tuned *t, hl_error *error) {
  *t = (hl_tuned){.size = sizeof *t,
                  .batch_size = p->batch_size,
                  .threads = p->threads,
                  .preprocess_batch = p->preprocess_batch == HL_INT_NULL ? 0 : p->preprocess_batch,
                  .reassemble_batch = p->reassemble_batch == HL_INT_NULL ? 0 : p->reassemble_batch,
                  .throughput_ips = p->throughput_ips,
                  .throughput_low = p->throughput_ci.low,
                  .throughput_high = p->throughput_ci.high,
                  .latency_p50_ms = p->latency_p50_ms,
                  .latency_p99_ms = p->latency_p99_ms,
                  .memory_mb = p->memory_mb};
  hl_status status = put(p->name, "preset", t->preset, sizeof t->preset, error);
  if (status == HL_OK) status = put(p->engine, "engine", t->engine, sizeof t->engine, error);
  if (status == HL_OK) status = put(p->dtype, "dtype", t->dtype, sizeof t->dtype, error);
  if (status == HL_OK)
    status = put(p->device ? p->device : "cpu", "device", t->device, sizeof t->device, error);
  if (status == HL_OK)
    status = put(s->machine_id, "machine", t->machine_id, sizeof t->machine_id, error);
  return status == HL_OK ? put(s->model, "model", t->model, sizeof t->model, error) : status;
}

hl_status hl_tuned_read(const char *path, const char *preset, hl_tuned *ret_tuned,
                        hl_error *error) {
  if (!path || !ret_tuned || ret_tuned->size < sizeof ret_tuned->size)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "a path and a struct with its size are needed");
  hl_settings settings;
  const hl_preset *found;
  hl_tuned tuned;
  hl_status status = hl_settings_read(path, &settings, error);
  if (status != HL_OK) return status;
  status = hl_settings_find(&settings, preset, &found, error);
  if (status == HL_OK) status = fill(&settings, found, &tuned, error);
  hl_settings_release(&settings);
  if (status != HL_OK) return status;
  /* A caller of an older header has a shorter struct. */
  uint32_t size = ret_tuned->size < sizeof tuned ? ret_tuned->size : (uint32_t)sizeof tuned;
  tuned.size = size;
  memcpy(ret_tuned, &tuned, size);
  return HL_OK;
}
