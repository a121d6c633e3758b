#include "worker/energy.h"

#include "protocol/channel.h"
#include <math.h>

enum { most_idle_ms = 60000 };

hl_status hl_worker_energy_open(hl_worker_energy *energy, const char *root, hl_error *error) {
  hl_energy_watch_close(energy->watch); /* of an attempt that failed */
  energy->watch = NULL;
  return hl_energy_watch_open(root, &energy->watch, error);
}

hl_status hl_worker_energy_idle(hl_worker_energy *energy, const json_t *request, json_t *reply,
                                hl_error *error) {
  int64_t idle_ms = hl_json_get_int(request, "idle_ms", 0);
  if (idle_ms < 0 || idle_ms > most_idle_ms)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "load: 'idle_ms' is not 0 to %d", most_idle_ms);
  double idle_w = (double)NAN;
  if (idle_ms) idle_w = hl_energy_watch_idle(energy->watch, (uint64_t)idle_ms * 1000000u);
  hl_json_set_real(reply, "idle_w", idle_w);
  return HL_OK;
}

void hl_worker_energy_begin(hl_worker_energy *energy) {
  hl_energy_watch_begin(energy->watch);
}

void hl_worker_energy_end(hl_worker_energy *energy, json_t *reply) {
  hl_rapl_energy slice;
  hl_energy_watch_end(energy->watch, &slice);
  hl_json_set_real(reply, "energy_s", slice.seconds);
  hl_json_set_real(reply, "energy_j", slice.package_j);
  hl_json_set_real(reply, "dram_energy_j", slice.memory_j);
  hl_json_set_text(reply, "energy_reason", slice.problem);
}
