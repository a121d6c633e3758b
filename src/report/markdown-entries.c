/* Of a plan: each entry with a table of its rows. */
#include "formats/markdown.h"
#include "report/markdown.h"
#include "report/number.h"
#include <math.h>
#include <string.h>

static bool is_of(const hl_record *r, const char *entry) {
  return r->entry && strcmp(r->entry, entry) == 0;
}

static bool is_first(const hl_records *records, size_t row) {
  for (size_t i = 0; i < row; i++)
    if (is_of(&records->items[i], records->items[row].entry)) return false;
  return true;
}

static void put_remark(const hl_record *r, hl_text *out) {
  hl_text line = HL_TEXT_INIT;
  if (!hl_record_passed(r))
    hl_text_format(&line, "%s: %s", r->outcome ? r->outcome : "unknown outcome",
                   r->reason ? r->reason : "");
  else if (r->steady == 0)
    hl_text_append(&line, "not steady");
  if (hl_record_passed(r) && r->requirements)
    hl_text_format(&line, "%srequirements %s", line.length ? "; " : "",
                   r->requirements_met == 1   ? "met"
                   : r->requirements_met == 0 ? "not met"
                                              : "unknown");
  hl_markdown_text(out, line.data);
  hl_text_release(&line);
}

/* Model, engine and type. */
static void begin_row(const hl_record *r, hl_text *out) {
  hl_text_char(out, '|');
  hl__markdown_word(out, r->model);
  hl__markdown_word(out, r->engine);
  hl__markdown_word(out, r->dtype);
}

static void put_row(const hl_record *r, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  begin_row(r, out);
  hl_text_format(out, " %s |", hl_report_int(r->batch_size, "—", text));
  hl__markdown_cell(out, r->throughput_ips);
  hl_text_format(out, " %s |",
                 hl_report_half_width(r->throughput_ci_ips, r->throughput_ips, "—", text));
  hl__markdown_cell(out, r->latency_per_image_ms);
  hl__markdown_cell(out, r->latency_p50_ms);
  hl__markdown_cell(out, r->latency_p99_ms);
  hl__markdown_cell(out, r->memory_mb);
  hl_text_append(out, " ");
  put_remark(r, out);
  hl_text_append(out, " |\n");
}

/* -- training beside inference ----------------------------------------------------------------- */

/* The same network, arithmetic and place at the same batch, wherever the rows stand. */
static bool same_configuration(const hl_record *a, const hl_record *b) {
  return hl_text_same(a->model, b->model) && hl_text_same(a->engine, b->engine) &&
         hl_text_same(a->dtype, b->dtype) && hl_text_same(a->device_id, b->device_id) &&
         a->batch_size == b->batch_size && a->threads == b->threads;
}

static const hl_record *find_inference(const hl_records *records, const hl_record *training) {
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    bool inference = r->workload && strcmp(r->workload, HL_WORKLOAD_INFERENCE) == 0;
    if (inference && hl_record_passed(r) && same_configuration(r, training)) return r;
  }
  return NULL;
}

static void put_pair(const hl_record *training, const hl_record *inference, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  double unknown = (double)NAN;
  double ms = inference ? inference->latency_p50_ms : unknown;
  double mb = inference ? inference->memory_mb : unknown;
  begin_row(training, out);
  hl_text_format(out, " %s |", hl_report_int(training->batch_size, "—", text));
  hl__markdown_cell(out, ms);
  hl__markdown_cell(out, training->latency_p50_ms);
  hl__markdown_cell(out, ms > 0 ? training->latency_p50_ms / ms : unknown);
  hl__markdown_cell(out, mb);
  hl__markdown_cell(out, training->memory_mb);
  hl__markdown_cell(out, mb > 0 ? training->memory_mb / mb : unknown);
  hl_text_char(out, '\n');
}

static void put_training(const hl_records *records, hl_text *out) {
  bool any = false;
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (!hl_workload_is_training(r->workload) || !hl_record_passed(r)) continue;
    if (!any)
      hl_text_append(out,
                     "### Training against inference\n\nA row of inference is that of the same "
                     "model, engine, type, batch size, threads and device; — where there is "
                     "none.\n\n| Model | Engine | Type | Batch Size | Inference (ms/step) | "
                     "Training (ms/step) | Ratio | Inference (MB) | Training (MB) | Ratio |\n"
                     "|---|---|---|---:|---:|---:|---:|---:|---:|---:|\n");
    any = true;
    put_pair(r, find_inference(records, r), out);
  }
  if (any) hl_text_char(out, '\n');
}

bool hl__markdown_has_entries(const hl_records *records) {
  for (size_t i = 0; i < records->count; i++)
    if (records->items[i].entry) return true;
  return false;
}

/* Of an entry whose rows were all SKIPPED: why, in a line for them all. */
static bool put_skipped(const hl_records *records, const char *entry, hl_text *out) {
  size_t count = 0;
  const hl_record *first = NULL;
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (!is_of(r, entry)) continue;
    if (!r->outcome || strcmp(r->outcome, "SKIPPED") != 0) return false;
    if (first && !hl_text_same(first->reason, r->reason)) return false;
    if (!first) first = r;
    count++;
  }
  if (!first) return false;
  hl_text_format(out, "\n\n%zu row%s SKIPPED: ", count, count == 1 ? "" : "s");
  hl_markdown_text(out, first->reason);
  hl_text_append(out, "\n\n");
  return true;
}

void hl__markdown_entries(const hl_records *records, hl_text *out) {
  hl_text_append(out, "## Results\n\n");
  hl_report_summary(records, out);
  hl_text_char(out, '\n');
  for (size_t i = 0; i < records->count; i++) {
    const char *entry = records->items[i].entry;
    if (!entry || !is_first(records, i)) continue;
    hl_text_append(out, "### ");
    hl_markdown_text(out, entry);
    if (put_skipped(records, entry, out)) continue;
    hl_text_append(out,
                   "\n\n| Model | Engine | Type | Batch Size | Throughput (samples/sec) | ± % | "
                   "Latency (ms/sample) | p50 (ms) | p99 (ms) | Memory (MB) | Remarks |\n"
                   "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---|\n");
    for (size_t k = i; k < records->count; k++)
      if (is_of(&records->items[k], entry)) put_row(&records->items[k], out);
    hl_text_char(out, '\n');
  }
  put_training(records, out);
}
