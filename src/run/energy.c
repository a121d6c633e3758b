#include "run/energy.h"

#include "protocol/channel.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { idle_ms = 1000 };

/* Every mode of a load test is long enough. */
int64_t hl_energy_idle_ms(const hl_method_options *method, const hl_load_spec *load) {
  double seconds = method->min_time_s;
  if (load) seconds = load->duration_s > 0 ? load->duration_s : HL_ENERGY_LEAST_S;
  return seconds >= HL_ENERGY_LEAST_S ? idle_ms : 0;
}

void hl_energy_idle_fill(const json_t *load_reply, hl_record *record) {
  record->idle_w = hl_json_get_real(load_reply, "idle_w", (double)NAN);
}

void hl_energy_totals_add(hl_energy_totals *totals, const json_t *run_reply) {
  totals->seconds += hl_json_get_real(run_reply, "energy_s", (double)NAN);
  totals->package_j += hl_json_get_real(run_reply, "energy_j", (double)NAN);
  totals->dram_j += hl_json_get_real(run_reply, "dram_energy_j", (double)NAN);
  const char *reason = hl_json_get_text(run_reply, "energy_reason", "");
  if (!totals->reason[0]) snprintf(totals->reason, sizeof totals->reason, "%s", reason);
}

static void explain(hl_record *record, const char *reason) {
  hl_record_set_text(&record->energy_reason, reason);
}

void hl_energy_fill(const hl_energy_totals *totals, const char *longer, hl_record *record) {
  if (totals->reason[0] || !isfinite(totals->package_j)) {
    explain(record, totals->reason[0] ? totals->reason : "the worker did not say");
    return;
  }
  if (totals->seconds < HL_ENERGY_LEAST_S) {
    HL_CLEANUP(hl_free_pointer)
    char *text = hl_format("%.1f s were measured, energy takes %.0f: %s", totals->seconds,
                           HL_ENERGY_LEAST_S, longer);
    explain(record, text);
    return;
  }
  double images = record->throughput_ips * record->measured_ms / 1e3;
  record->energy_j = totals->package_j;
  record->dram_energy_j = totals->dram_j;
  record->power_w = totals->package_j / totals->seconds;
  if (images > 0 && totals->package_j > 0) record->images_per_joule = images / totals->package_j;
  if (!isfinite(record->idle_w)) {
    HL_CLEANUP(hl_free_pointer)
    char *text = hl_format("no energy per image: the idle machine was not measured before; it is "
                           "with %s",
                           longer);
    explain(record, text);
    return;
  }
  double above = totals->package_j - record->idle_w * totals->seconds;
  if (images > 0 && above > 0) record->energy_per_image_j = above / images;
  if (above <= 0)
    explain(record, "no energy per image: the machine drew as much before the model was loaded");
}
