#include "worker/foreign.h"

#include "base/clock.h"
#include "protocol/channel.h"
#include "worker/host.h"
#include "workloads/foreign-model.h"

hl_status hl_worker_foreign_open(hl_worker_foreign *foreign, const hl_configuration *configuration,
                                 hl_model_file *ret_file, hl_error *error) {
  hl_status status = hl_foreign_model_open(configuration, hl_worker_host(), ret_file, error);
  if (status != HL_OK) return status;
  foreign->peak_was_reset = hl_memory_peak_reset(NULL) == HL_OK;
  hl_worker_baseline_read(&foreign->before);
  uint64_t start = hl_clock_ns();
  status = hl_foreign_model_load(configuration, ret_file, error);
  foreign->load_ns = hl_clock_ns() - start;
  hl_worker_baseline_read(&foreign->after);
  return status;
}

/* By as much as from `before` to `after`; UINT64_MAX is unknown. */
static uint64_t moved(uint64_t number, uint64_t before, uint64_t after) {
  if (number == UINT64_MAX || before == UINT64_MAX || after == UINT64_MAX) return number;
  if (after >= before) return number + (after - before);
  return before - after < number ? number - (before - after) : 0;
}

hl_worker_baseline hl_worker_foreign_baseline(const hl_worker_foreign *foreign) {
  hl_worker_baseline now, sum = foreign->before;
  hl_worker_baseline_read(&now);
  const hl_residency *from = &foreign->after.residency, *to = &now.residency;
  hl_residency *r = &sum.residency;
  sum.memory.resident_bytes = moved(sum.memory.resident_bytes, foreign->after.memory.resident_bytes,
                                    now.memory.resident_bytes);
  r->resident_bytes = moved(r->resident_bytes, from->resident_bytes, to->resident_bytes);
  r->library_bytes = moved(r->library_bytes, from->library_bytes, to->library_bytes);
  r->file_bytes = moved(r->file_bytes, from->file_bytes, to->file_bytes);
  r->code_bytes = moved(r->code_bytes, from->code_bytes, to->code_bytes);
  r->private_bytes = moved(r->private_bytes, from->private_bytes, to->private_bytes);
  r->heap_bytes = moved(r->heap_bytes, from->heap_bytes, to->heap_bytes);
  return sum;
}

hl_status hl_worker_export(const hl_model_file *file, const json_t *request, hl_error *error) {
  const char *path = hl_json_get_text(request, "path", NULL);
  if (!path || !path[0])
    return hl_error_set(error, HL_INVALID_ARGUMENT, "export: 'path' is missing");
  return hl_foreign_model_export(file, path, error);
}
