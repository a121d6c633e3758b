#include "run/device.h"

#include "machine/nvml.h"
#include "protocol/channel.h"
#include "run/energy.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void hl_device_totals_init(hl_device_totals *totals) {
  *totals = (hl_device_totals){.temperature_c = (double)NAN};
}

void hl_device_totals_add(hl_device_totals *totals, const json_t *run_reply) {
  double seconds = hl_json_get_real(run_reply, "device_s", (double)NAN);
  if (!isfinite(seconds)) return; /* of the processor */
  double clock = hl_json_get_real(run_reply, "device_clock_mhz", (double)NAN);
  int64_t reasons = hl_json_get_int(run_reply, "device_reasons", -1);
  totals->seen = true;
  totals->seconds += seconds;
  totals->energy_j += hl_json_get_real(run_reply, "device_energy_j", (double)NAN);
  totals->temperature_c =
      fmax(totals->temperature_c, hl_json_get_real(run_reply, "device_temperature_c", (double)NAN));
  if (isfinite(clock)) {
    totals->clock_seconds += seconds;
    totals->clock_mhz_seconds += clock * seconds;
  }
  if (reasons >= 0) {
    totals->reasons |= (uint64_t)reasons;
    totals->reasons_known = true;
  }
}

static void fill_energy(const hl_device_totals *totals, hl_record *record) {
  if (!isfinite(totals->energy_j)) {
    hl_record_note(record, "no energy: the device's driver does not count it");
    return;
  }
  if (totals->seconds < HL_ENERGY_LEAST_S) {
    hl_record_note(record, "no energy: %.1f s were measured, it takes %.0f (--min-time %.0f)",
                   totals->seconds, HL_ENERGY_LEAST_S, HL_ENERGY_LEAST_S);
    return;
  }
  record->device_energy_j = totals->energy_j;
  double images = record->throughput_ips * record->measured_ms / 1e3;
  double above = totals->energy_j - record->device_idle_w * totals->seconds;
  if (images > 0 && above > 0) record->device_energy_per_image_j = above / images;
}

void hl_device_fill(const hl_device_totals *totals, hl_record *record) {
  if (!totals->seen) return;
  if (totals->clock_seconds > 0)
    record->device_clock_mhz = totals->clock_mhz_seconds / totals->clock_seconds;
  else
    hl_record_note(record,
                   "no clock, temperature and throttling of the device: NVIDIA's management "
                   "library does not tell them");
  record->device_temperature_c = totals->temperature_c;
  if (totals->reasons_known) {
    char text[128];
    hl_gpu_reasons_text(totals->reasons, text, sizeof text);
    hl_record_set_text(&record->device_throttle, text);
  }
  fill_energy(totals, record);
}

void hl_device_describe(const json_t *reply, hl_record *record) {
  const char *name = hl_json_get_text(reply, "device_name", NULL);
  double idle_w = hl_json_get_real(reply, "device_idle_w", (double)NAN);
  if (name) {
    /* The name alone would put rows of two equal GPUs into one group. */
    HL_CLEANUP(hl_free_pointer) char *full = hl_format("%s (%s)", name, record->device_id);
    hl_record_set_text(&record->device, full);
  }
  if (isfinite(idle_w)) record->device_idle_w = idle_w;
}

static double megabytes(const json_t *reply, const char *key) {
  return hl_json_get_real(reply, key, (double)NAN) / 1e6;
}

hl_device_memory hl_device_memory_read(const json_t *reply) {
  return (hl_device_memory){.now_mb = megabytes(reply, "device_bytes"),
                            .peak_mb = megabytes(reply, "device_peak_bytes"),
                            .engine_mb = megabytes(reply, "engine_device_peak_bytes"),
                            .reserved_mb = megabytes(reply, "engine_device_reserved_bytes"),
                            .of_process = hl_json_get_bool(reply, "device_of_process", true)};
}

void hl_device_memory_fill(const hl_device_memory *memory, hl_record *record) {
  record->device_memory_mb = memory->now_mb;
  record->device_memory_peak_mb = memory->peak_mb;
  record->engine_device_memory_mb = memory->engine_mb;
  record->engine_device_reserved_mb = memory->reserved_mb;
  if (isfinite(memory->now_mb) && !memory->of_process)
    hl_record_note(record, "memory of the device is that of all processes less what was in use "
                           "before: the driver does not know this one's own");
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void hl_device_time_fill(const json_t *reply, hl_record *record) {
  double ms[HL_DEVICE_TIME_STEPS];
  const json_t *list = json_object_get(reply, "device_ms");
  size_t count = json_array_size(list);
  if (count == 0 || count > HL_DEVICE_TIME_STEPS) return;
  for (size_t i = 0; i < count; i++) ms[i] = json_number_value(json_array_get(list, i));
  qsort(ms, count, sizeof *ms, by_value);
  record->device_time_p50_ms = (ms[(count - 1) / 2] + ms[count / 2]) / 2;
}
