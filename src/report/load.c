/* What load tests found, in words: where a query's time goes at each rate, and what may be
 * claimed. */
#include "report/load-rows.h"
#include "report/number.h"
#include "report/report.h"
#include <math.h>
#include <string.h>

static void append_cells(const double *values, size_t count, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  for (size_t i = 0; i < count; i++) {
    hl_text_char(out, ' ');
    hl_report_pad(out, hl_report_number(values[i], "-", text), -8);
  }
  hl_text_char(out, '\n');
}

/* The rate, or the scenario where it has none. */
static void append_parts(const hl_record *r, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  hl_report_pad(out, hl_report_number(r->target_qps, r->scenario, text), -12);
  const double cells[] = {r->queue_p50_ms, r->queue_p99_ms, r->batching_p50_ms, r->batching_p99_ms,
                          r->serve_p50_ms, r->serve_p99_ms, r->late_p99_ms};
  append_cells(cells, HL_COUNT(cells), out);
}

/* "p99 12.3 ms (≤ 13.0 ms, 99 % sure), target 20 ms" */
static void append_latency(const hl_record *r, hl_text *out) {
  char value[HL_NUMBER_BYTES], estimate[HL_NUMBER_BYTES];
  double percent = isfinite(r->target_percentile) ? r->target_percentile : 99;
  bool is_p90 = percent == 90, is_p99 = percent == 99;
  double latency = is_p90 ? r->latency_p90_ms : is_p99 ? r->latency_p99_ms : (double)NAN;
  hl_text_format(out, "p%g", percent);
  if (isfinite(latency)) hl_text_format(out, " %s ms", hl_report_number(latency, "-", value));
  if (isfinite(r->latency_estimate_ms))
    hl_text_format(out, " (≤ %s ms, 99 %% sure)",
                   hl_report_number(r->latency_estimate_ms, "-", estimate));
  if (isfinite(r->target_latency_ms))
    hl_text_format(out, ", target %s ms", hl_report_number(r->target_latency_ms, "-", value));
}

/* The reasons, one a line. */
static void append_reasons(const char *reasons, hl_text *out) {
  while (reasons && *reasons) {
    size_t length = strcspn(reasons, ";");
    hl_text_format(out, "    %.*s\n", (int)length, reasons);
    reasons += length;
    reasons += strspn(reasons, "; ");
  }
}

static void append_verdict(const hl_record *r, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  hl_text_format(out, "  %s", r->scenario);
  if (isfinite(r->max_qps))
    hl_text_format(out, ": the largest rate is %s queries/s",
                   hl_report_number(r->max_qps, "-", text));
  else if (isfinite(r->target_qps))
    hl_text_format(out, " at %s queries/s", hl_report_number(r->target_qps, "-", text));
  hl_text_format(out, ": %s\n    ", r->validity ? r->validity : "not judged");
  if (strcmp(r->scenario, "Offline") == 0)
    hl_text_format(out, "%s samples/s", hl_report_number(r->throughput_ips, "-", text));
  else
    append_latency(r, out);
  hl_text_char(out, '\n');
  append_reasons(r->validity_reason, out);
}

/* All rows of the server of row `first`, unless an earlier row has told of it. */
static void append_rows(const hl_records *records, size_t first, hl_text *out) {
  const hl_record *head = &records->items[first];
  for (size_t i = 0; i < first; i++)
    if (hl_load_is_told(&records->items[i]) && hl_load_same_server(&records->items[i], head))
      return;
  hl_text_char(out, '\n');
  hl_load_append_server(head, out);
  hl_text_append(out, "\n  parts in ms             queue          batching           serving  "
                      "   late\n"
                      "      rate/s      p50      p99      p50      p99      p50      p99  "
                      "    p99\n");
  for (size_t i = first; i < records->count; i++)
    if (hl_load_is_told(&records->items[i]) && hl_load_same_server(&records->items[i], head))
      append_parts(&records->items[i], out);
  for (size_t i = first; i < records->count; i++)
    if (hl_load_is_told(&records->items[i]) && hl_load_same_server(&records->items[i], head))
      append_verdict(&records->items[i], out);
}

void hl_report_load(const hl_records *records, hl_text *out) {
  for (size_t i = 0; i < records->count; i++)
    if (hl_load_is_told(&records->items[i])) append_rows(records, i, out);
}
