/* Rows that no curve over batch sizes has: load tests, and what other tools measured. */
#include "report/markdown.h"

#include "formats/markdown.h"
#include "report/number.h"

static bool has_place(const hl_record *r) {
  return hl_record_passed(r) &&
         (hl_workload_is_load(r->workload) || hl_workload_is_imported(r->workload));
}

const char *hl__markdown_nothing(const hl_records *records) {
  for (size_t i = 0; i < records->count; i++)
    if (has_place(&records->items[i])) return "no row is a point of a curve over batch sizes";
  return "nothing was measured";
}

void hl__markdown_rows(const hl_records *records, hl_text *out) {
  bool begun = false;
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (!has_place(r)) continue;
    if (!begun)
      hl_text_append(out, "| Model | Engine | Batch Size | Latency (ms) | Mean (ms) | p95 (ms) | "
                          "p99 (ms) | Samples |\n|---|---|---:|---:|---:|---:|---:|---:|\n");
    begun = true;
    hl_text_append(out, "| ");
    hl_markdown_text(out, r->model);
    hl_text_append(out, " | ");
    hl_markdown_text(out, r->engine);
    char text[HL_NUMBER_BYTES];
    hl_text_format(out, " | %s |", hl_report_int(r->batch_size, "—", text));
    const double numbers[] = {r->latency_p50_ms, r->latency_mean_ms, r->latency_p95_ms,
                              r->latency_p99_ms};
    for (size_t n = 0; n < HL_COUNT(numbers); n++)
      hl_text_format(out, " %s |", hl_report_number(numbers[n], "—", text));
    hl_text_format(out, " %zu |\n", r->sample_count);
  }
  if (begun) hl_text_char(out, '\n');
}
