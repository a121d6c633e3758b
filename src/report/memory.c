#include "report/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void cell(hl_text *out, double value) {
  if (isfinite(value))
    hl_text_format(out, " %9.1f", value);
  else
    hl_text_format(out, " %9s", "-");
}

static bool same(const char *a, const char *b) {
  return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Whether the rows are of several models, engines or types, so that the batch alone names none. */
static bool are_mixed(const hl_records *records) {
  bool mixed = false;
  for (size_t i = 1; i < records->count; i++) {
    const hl_record *a = &records->items[0], *b = &records->items[i];
    mixed |= !same(a->model, b->model) || !same(a->engine, b->engine) || !same(a->dtype, b->dtype);
  }
  return mixed;
}

void hl_report_memory(const hl_records *records, hl_text *out) {
  bool mixed = are_mixed(records);
  hl_text_append(out, "Memory by phase, MB: peak up to the end of each, less the baseline\n"
                      "  Batch  Baseline      Load   Prepare       Run   Planned  Engine's\n");
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    hl_text_format(out, "%7" PRId64, r->batch_size);
    cell(out, r->baseline_memory_mb);
    cell(out, r->memory_load_mb);
    cell(out, r->memory_prepare_mb);
    cell(out, r->memory_mb);
    cell(out, r->planned_memory_mb);
    cell(out, r->engine_memory_mb);
    if (mixed)
      hl_text_format(out, "  %s, %s, %s", r->model ? r->model : "?", r->engine ? r->engine : "?",
                     r->dtype ? r->dtype : "?");
    hl_text_char(out, '\n');
  }
}
