/* What load tests found, in words. */
#include "report/number.h"
#include "report/report.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

static void append_rate(const hl_record *r, hl_text *out) {
  char number[HL_NUMBER_BYTES];
  if (isfinite(r->max_qps))
    hl_text_format(out, ": the largest rate is %s queries/s",
                   hl_report_number(r->max_qps, "-", number));
  else if (isfinite(r->target_qps))
    hl_text_format(out, " at %s queries/s", hl_report_number(r->target_qps, "-", number));
}

/* "p99 12.3 ms (at most 13.0 ms with 99 % confidence; target 20 ms)" */
static void append_latency(const hl_record *r, hl_text *out) {
  char value[HL_NUMBER_BYTES], estimate[HL_NUMBER_BYTES];
  double percent = isfinite(r->target_percentile) ? r->target_percentile : 99;
  bool is_p90 = percent == 90, is_p99 = percent == 99;
  double latency = is_p90 ? r->latency_p90_ms : is_p99 ? r->latency_p99_ms : (double)NAN;
  hl_text_format(out, "p%g", percent);
  if (isfinite(latency)) hl_text_format(out, " %s ms", hl_report_number(latency, "-", value));
  if (isfinite(r->latency_estimate_ms))
    hl_text_format(out, " (with 99 %% confidence at most %s ms)",
                   hl_report_number(r->latency_estimate_ms, "-", estimate));
  if (isfinite(r->target_latency_ms))
    hl_text_format(out, ", target %s ms", hl_report_number(r->target_latency_ms, "-", value));
}

static void append_row(const hl_record *r, hl_text *out) {
  char a[HL_NUMBER_BYTES], b[HL_NUMBER_BYTES], c[HL_NUMBER_BYTES];
  bool offline = strcmp(r->scenario, "Offline") == 0;
  hl_text_format(out, "%s, %s, %s", r->model ? r->model : "?", r->engine ? r->engine : "?",
                 r->scenario);
  append_rate(r, out);
  hl_text_format(out, ": %s%s%s\n", r->validity ? r->validity : "not judged",
                 r->validity_reason ? ": " : "", r->validity_reason ? r->validity_reason : "");
  hl_text_format(out, "  %s samples/s", hl_report_number(r->throughput_ips, "-", a));
  if (!offline) {
    hl_text_append(out, "; ");
    append_latency(r, out);
  }
  hl_text_append(out, "\n");
  if (strcmp(r->scenario, "Server") != 0) return;
  hl_text_format(out, "  p99 of its parts: queue %s ms, batching %s ms, serving %s ms",
                 hl_report_number(r->queue_p99_ms, "-", a),
                 hl_report_number(r->batching_p99_ms, "-", b),
                 hl_report_number(r->serve_p99_ms, "-", c));
  hl_text_format(out, "; generator late by %s ms\n", hl_report_number(r->late_p99_ms, "-", a));
}

void hl_report_load(const hl_records *records, hl_text *out) {
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (r->scenario && hl_record_passed(r)) append_row(r, out);
  }
}
