/* Load tests in BENCHMARK_REPORT.md. */
#include "formats/markdown.h"
#include "report/load-rows.h"
#include "report/markdown.h"
#include "report/number.h"
#include <inttypes.h>
#include <math.h>

static const char table_head[] =
    "| Server | Scenario | Rate (queries/s) | Served (queries/s) | Queries | Queries a batch | p50 "
    "(ms) | p90 (ms) | p99 (ms) | Result |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---|\n";

static void put_row(const hl_record *r, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  hl_text server = HL_TEXT_INIT;
  hl_load_append_server(r, &server);
  hl_text_append(out, "| ");
  hl_markdown_text(out, server.data);
  hl_text_release(&server);
  hl_text_format(out, " | %s |", r->scenario);
  hl__markdown_cell(out, r->target_qps);
  hl__markdown_cell(out, r->served_qps);
  hl_text_format(out, " %s |", hl_report_int(r->queries, "—", text));
  const double cells[] = {r->queries_per_batch, r->latency_p50_ms, r->latency_p90_ms,
                          r->latency_p99_ms};
  hl__markdown_cells(out, cells, HL_COUNT(cells));
  hl_text_format(out, " **%s**", r->validity ? r->validity : "—");
  if (r->validity_reason) {
    hl_text_append(out, ": ");
    hl_markdown_text(out, r->validity_reason);
  }
  hl_text_append(out, " |\n");
}

static void put_parts(const hl_records *records, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  hl_text_append(out,
                 "\n### Where a Query's Time Goes\n\n| Scenario | Rate (queries/s) | Queue p50 "
                 "(ms) | p99 | Batching p50 | p99 | Serving p50 | p99 | Generator late, p99 "
                 "|\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (!hl_load_is_told(r)) continue;
    hl_text_format(out, "| %s | %s |", r->scenario, hl_report_number(r->target_qps, "—", text));
    const double cells[] = {r->queue_p50_ms,    r->queue_p99_ms, r->batching_p50_ms,
                            r->batching_p99_ms, r->serve_p50_ms, r->serve_p99_ms,
                            r->late_p99_ms};
    hl__markdown_cells(out, cells, HL_COUNT(cells));
    hl_text_char(out, '\n');
  }
}

/* The rates that a search tried. */
static void put_rates(const hl_record *r, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  if (!r->rates.count) return;
  hl_text_append(out, "\n### Rates Tried\n\n");
  if (isfinite(r->max_qps))
    hl_text_format(out, "The largest rate is %s queries/s.\n\n",
                   hl_report_number(r->max_qps, "—", text));
  hl_text_append(out,
                 "| Run | Rate (queries/s) | Seed | Served (queries/s) | Unserved | p50 (ms) | "
                 "p90 (ms) | p99 (ms) | Target |\n"
                 "|---|---:|---:|---:|---:|---:|---:|---:|---|\n");
  for (size_t i = 0; i < r->rates.count; i++) {
    const hl_rate *rate = &r->rates.items[i];
    hl_text_format(out, "| %s |", rate->purpose ? rate->purpose : "—");
    hl__markdown_cell(out, rate->qps);
    hl_text_format(out, " %" PRId64 " |", rate->seed);
    hl__markdown_cell(out, rate->served_qps);
    hl_text_format(out, " %s |", hl_report_int(rate->unserved_queries, "—", text));
    const double cells[] = {rate->latency_p50_ms, rate->latency_p90_ms, rate->latency_p99_ms};
    hl__markdown_cells(out, cells, HL_COUNT(cells));
    hl_text_append(out, rate->held == 1 ? " held |\n" : " not held |\n");
  }
}

void hl__markdown_load(const hl_records *records, const char *plot, hl_text *out) {
  size_t told = 0;
  hl_text_append(out, "## Results\n\n");
  if (plot) hl_text_format(out, "![Latency against the rate of arrivals](%s)\n\n", plot);
  for (size_t i = 0; i < records->count; i++) {
    if (!hl_load_is_told(&records->items[i])) continue;
    if (!told++) hl_text_append(out, table_head);
    put_row(&records->items[i], out);
  }
  if (told) put_parts(records, out);
  for (size_t i = 0; i < records->count; i++) put_rates(&records->items[i], out);
  hl_text_append(out, told ? "\nLatency counts from the time at which a query was to arrive, "
                             "however late it was taken. Percentiles are LoadGen's: element ⌊np⌋ "
                             "of the ascending latencies, of the queries that were served.\n\n"
                           : "No row passed.\n\n");
}
