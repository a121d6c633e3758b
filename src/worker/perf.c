#include "worker/perf.h"

#include "protocol/channel.h"
#include <math.h>

hl_status hl_worker_perf_open(hl_worker_perf *perf, const char *root, json_t *reply,
                              hl_error *error) {
  char reason[1024];
  if (perf->is_open)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "counters: they are open already");
  perf->is_open = true;
  hl_perf_open(NULL, root, &perf->perf);
  hl_perf_explain(&perf->perf, reason, sizeof reason);
  hl_json_set_text(reply, "scope", hl_perf_scope(&perf->perf));
  hl_json_set_text(reply, "reason", reason[0] ? reason : NULL);
  return HL_OK;
}

void hl_worker_perf_begin(hl_worker_perf *perf) {
  if (perf->is_open) hl_perf_read(&perf->perf, &perf->before);
}

void hl_worker_perf_end(hl_worker_perf *perf, json_t *reply) {
  hl_perf_reading after;
  hl_perf_counts counts = {.running = (double)NAN};
  json_t *values = perf->is_open ? json_object() : json_null();
  if (perf->is_open) {
    hl_perf_read(&perf->perf, &after);
    hl_perf_difference(&perf->perf, &perf->before, &after, &counts);
    for (int e = 0; e < HL_PERF_EVENTS; e++)
      hl_json_set_real(values, hl_perf_event_name((hl_perf_event)e), counts.values[e]);
  }
  json_object_set_new(reply, "counters", values);
  hl_json_set_real(reply, "counters_running", counts.running);
}
