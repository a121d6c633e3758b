#include "record/side.h"

#include "statistics/descriptive.h"
#include "statistics/percentile.h"
#include <math.h>
#include <stdlib.h>

void hl_side_init(hl_side *side) {
  *side = (hl_side){0};
}

void hl_side_release(hl_side *side) {
  free(side->command);
  free(side->prepare);
  free(side->commit);
  free(side->executions);
  hl_side_init(side);
}

hl_status hl_side_add(hl_side *side, const hl_side_execution *execution, hl_error *error) {
  if (side->count == side->capacity) {
    size_t capacity = side->capacity ? 2 * side->capacity : 64;
    hl_side_execution *more = realloc(side->executions, capacity * sizeof *more);
    if (!more) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for an execution");
    side->executions = more;
    side->capacity = capacity;
  }
  side->executions[side->count++] = *execution;
  return HL_OK;
}

hl_side_summary hl_side_summarise(const hl_side *side) {
  const double unknown = (double)NAN;
  hl_side_summary s = {unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown};
  double *walls = side->count ? calloc(side->count, sizeof *walls) : NULL;
  if (!walls) return s;
  s.user_ms = s.system_ms = s.peak_mb = 0;
  for (size_t i = 0; i < side->count; i++) {
    const hl_side_execution *e = &side->executions[i];
    walls[i] = e->wall_ms;
    s.user_ms += e->user_ms / (double)side->count;
    s.system_ms += e->system_ms / (double)side->count;
    s.peak_mb = fmax(s.peak_mb, e->peak_mb);
  }
  hl_description d = hl_describe(walls, side->count);
  s.mean_ms = d.mean;
  s.std_ms = d.std;
  s.min_ms = d.min;
  s.max_ms = d.max;
  s.median_ms = hl_median(walls, side->count);
  free(walls);
  return s;
}

void hl_side_write_json(const hl_side *side, hl_json *json) {
  hl_json_text(json, "commit", side->commit);
  if (!side->command) return;
  hl_side_summary s = hl_side_summarise(side);
  hl_json_text(json, "command", side->command);
  hl_json_text(json, "prepare", side->prepare);
  hl_json_bool(json, "shell", side->by_shell);
  hl_json_real(json, "wall_p50_ms", s.median_ms);
  hl_json_real(json, "wall_mean_ms", s.mean_ms);
  hl_json_real(json, "wall_std_ms", s.std_ms);
  hl_json_real(json, "wall_min_ms", s.min_ms);
  hl_json_real(json, "wall_max_ms", s.max_ms);
  hl_json_real(json, "user_mean_ms", s.user_ms);
  hl_json_real(json, "system_mean_ms", s.system_ms);
  hl_json_real(json, "peak_memory_mb", s.peak_mb);
  hl_json_array(json, "times_ms");
  for (size_t i = 0; i < side->count; i++) hl_json_real(json, NULL, side->executions[i].wall_ms);
  hl_json_end(json);
}
