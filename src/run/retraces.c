#include "run/retraces.h"

#include "protocol/channel.h"
#include <inttypes.h>

void hl_retraces_add(hl_retraces *retraces, const json_t *run_reply) {
  int64_t count = hl_json_get_int(run_reply, "compilations", HL_INT_NULL);
  retraces->slices++;
  if (count == HL_INT_NULL) return;
  retraces->known++;
  retraces->count += count;
  retraces->ns += hl_json_get_real(run_reply, "compilations_ns", 0);
}

void hl_retraces_fill(const hl_retraces *retraces, hl_record *record) {
  if (retraces->slices == 0 || retraces->known < retraces->slices) return;
  record->retraces = retraces->count;
  record->retrace_ms = retraces->ns / 1e6;
  if (retraces->count)
    hl_record_note(record,
                   "retraced: the engine compiled %" PRId64 " time%s within the measured steps, "
                   "%.4g ms in all, which their times hold",
                   retraces->count, retraces->count == 1 ? "" : "s", record->retrace_ms);
}
