#include "base/json-writer.h"
#include "store/store.h"
#include <math.h>

void hl_store_run_json(const hl_store_run *run, hl_json *json) {
  hl_json_object(json, NULL);
  hl_json_text(json, "id", run->id);
  hl_json_text(json, "created", run->created);
  hl_json_text(json, "state", run->state);
  hl_json_text(json, "machine_id", run->machine_id);
  hl_json_text(json, "cpu", run->cpu);
  hl_json_text(json, "command", run->command);
  hl_json_lines(json, "models", run->models);
  hl_json_int(json, "rows", run->row_count);
  hl_json_int(json, "passed", run->passed_count);
  if (isfinite(run->best_throughput_ips)) {
    hl_json_object(json, "best");
    hl_json_text(json, "model", run->best_model);
    hl_json_text(json, "engine", run->best_engine);
    hl_record_json_int(json, "batch_size", run->best_batch_size);
    hl_json_real(json, "throughput_ips", run->best_throughput_ips);
    hl_json_end(json);
  } else {
    hl_json_null(json, "best");
  }
  hl_json_end(json);
}
