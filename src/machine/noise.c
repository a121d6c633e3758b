#include "machine/noise.h"

#include "base/clock.h"
#include "machine/canary.h"
#include "machine/noise-internal.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

hl_noise_finding *hl__noise_add(hl__look *look, hl_noise_severity severity,
                                const hl__remedy *remedy, const char *format, ...) {
  if (look->noise->count == HL_NOISE_MAX) return NULL;
  hl_noise_finding *finding = &look->noise->items[look->noise->count++];
  bool good = severity == HL_NOISE_GOOD;
  *finding = (hl_noise_finding){.severity = severity,
                                .what = remedy->what,
                                .effect = good ? "" : remedy->effect,
                                .advice = good ? "" : remedy->advice};
  if (!good && remedy->command)
    snprintf(finding->command, sizeof finding->command, "%s", remedy->command);
  va_list args;
  va_start(args, format);
  vsnprintf(finding->found, sizeof finding->found, format, args);
  va_end(args);
  return good ? NULL : finding;
}

void hl_noise_read(const char *root, const hl_machine *machine, const hl_noise_probe *probe,
                   hl_noise *ret_noise) {
  hl__look look = {root, machine, probe, ret_noise};
  ret_noise->count = 0;
  hl__noise_clock_rate(&look);
  hl__noise_processor(&look);
  hl__noise_limits(&look);
  hl__noise_load(&look);
  hl__noise_kernel(&look);
  hl__noise_gpus(&look);
}

hl_noise_probe hl_noise_probe_run(uint64_t duration_ns) {
  hl_noise_probe probe = {.lost_fraction = NAN};
  hl_counter_source source;
  hl_counters before, after;
  hl_counter_source_init(&source, NULL);
  hl_counters_read(&source, &before);
  uint64_t start = hl_clock_ns(), stamp = start, least = UINT64_MAX, most = 0, pieces = 0;
  while (stamp - start < duration_ns) {
    hl_canary_piece();
    uint64_t now = hl_clock_ns(), taken = now - stamp;
    stamp = now;
    pieces++;
    if (taken < least) least = taken;
    if (taken > most) most = taken;
  }
  hl_counters_read(&source, &after);
  hl_counters_difference(&before, &after, &probe.interval);
  hl_counter_source_release(&source);
  if (pieces == 0) return probe;
  double total = (double)(stamp - start);
  probe.lost_fraction = 1 - (double)least * (double)pieces / total;
  probe.longest_gap_ns = (double)(most - least);
  return probe;
}

size_t hl_noise_count(const hl_noise *noise, hl_noise_severity severity) {
  size_t count = 0;
  for (size_t i = 0; i < noise->count; i++) count += noise->items[i].severity == severity;
  return count;
}

const char *hl_noise_severity_name(hl_noise_severity severity) {
  static const char *const names[] = {"good", "note", "warning"};
  return names[severity];
}
