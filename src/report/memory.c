#include "report/details.h"

#include <inttypes.h>
#include <math.h>

static void cell(hl_text *out, double value) {
  if (isfinite(value))
    hl_text_format(out, " %9.1f", value);
  else
    hl_text_format(out, " %9s", "-");
}

void hl_report_memory(const hl_records *records, hl_text *out) {
  bool mixed = hl__rows_are_mixed(records);
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
    if (mixed) {
      hl_text_append(out, "  ");
      hl__row_name(r, out);
    }
    hl_text_char(out, '\n');
  }
}
