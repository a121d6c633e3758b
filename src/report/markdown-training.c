/* Training runs in BENCHMARK_REPORT.md. */
#include "formats/markdown.h"
#include "report/markdown.h"
#include "report/number.h"
#include <math.h>

static bool is_told(const hl_record *r) {
  return hl_workload_is_training(r->workload) && hl_record_passed(r);
}

static void put_name(const hl_record *r, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  hl_text name = HL_TEXT_INIT;
  hl_text_format(&name, "%s, %s, %s", r->model ? r->model : "?", r->engine ? r->engine : "?",
                 r->dtype ? r->dtype : "?");
  hl_text_append(out, "| ");
  hl_markdown_text(out, name.data);
  hl_text_format(out, " | %s |", hl_report_int(r->batch_size, "—", text));
  hl_text_release(&name);
}

static void put_runs(const hl_records *records, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  hl_text_append(out,
                 "| Run | Batch Size | Samples/s | p50 (ms) | p95 (ms) | Memory (MB) | Steps | "
                 "First loss | Final loss | Waiting for data (%) |\n"
                 "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (!is_told(r)) continue;
    put_name(r, out);
    hl__markdown_cell(out, r->throughput_ips);
    hl__markdown_cell(out, r->latency_p50_ms);
    hl__markdown_cell(out, r->latency_p95_ms);
    hl__markdown_cell(out, r->memory_mb);
    hl_text_format(out, " %s |", hl_report_int(r->training_steps, "—", text));
    hl__markdown_cell(out, r->first_loss);
    hl__markdown_cell(out, r->final_loss);
    hl__markdown_cell(out, r->data_wait_percent);
    hl_text_char(out, '\n');
  }
}

static void put_spans(const hl_records *records, hl_text *out) {
  hl_text_append(out, "\n### Where a Step's Time Goes (ms)\n\n| Run | Batch Size | Step | Load | "
                      "Transfer | Forward | Loss | Backward | Optimizer | Whole |\n"
                      "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|\n");
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (!is_told(r)) continue;
    const double first[] = {r->data_load_first_ms, r->transfer_first_ms, r->forward_first_ms,
                            r->loss_first_ms,      r->backward_first_ms, r->optimizer_first_ms,
                            r->first_call_ms};
    const double mean[] = {r->data_load_ms, r->transfer_ms,  r->forward_ms,     r->loss_ms,
                           r->backward_ms,  r->optimizer_ms, r->latency_mean_ms};
    for (int steady = 0; steady < 2; steady++) {
      put_name(r, out);
      hl_text_append(out, steady ? " steady, mean |" : " first |");
      for (size_t k = 0; k < HL_COUNT(mean); k++)
        hl__markdown_cell(out, steady ? mean[k] : first[k]);
      hl_text_char(out, '\n');
    }
  }
}

static void put_times(const hl_records *records, hl_text *out) {
  hl_text_append(out, "\n### Times of the Run (ms)\n\n| Run | Batch Size | Total | Data set-up | "
                      "Model initialisation | First epoch | Full training | Checkpoints |\n"
                      "|---|---:|---:|---:|---:|---:|---:|---:|\n");
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (!is_told(r)) continue;
    const double times[] = {r->total_time_ms,  r->data_setup_ms, r->model_initialization_ms,
                            r->first_epoch_ms, r->training_ms,   r->checkpoint_ms};
    put_name(r, out);
    hl__markdown_cells(out, times, HL_COUNT(times));
    hl_text_char(out, '\n');
  }
}

static void put_epochs(const hl_record *r, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  if (!is_told(r) || !r->epochs.count) return;
  hl_text_append(out, "\n### Epochs: ");
  hl_markdown_text(out, r->model);
  hl_text_format(out, ", batch size %s\n\n", hl_report_int(r->batch_size, "—", text));
  hl_text_append(out, "| Epoch | Steps | Loss | Learning rate | Time (ms) | Waiting (ms) |\n"
                      "|---:|---:|---:|---:|---:|---:|\n");
  for (size_t i = 0; i < r->epochs.count; i++) {
    const hl_epoch *e = &r->epochs.items[i];
    hl_text_format(out, "| %s |", hl_report_int(e->epoch, "—", text));
    hl_text_format(out, " %s |", hl_report_int(e->steps, "—", text));
    const double cells[] = {e->loss, e->learning_rate, e->elapsed_ms, e->data_wait_ms};
    hl__markdown_cells(out, cells, HL_COUNT(cells));
    hl_text_char(out, '\n');
  }
  if (r->data_verdict) {
    hl_text_append(out, "\nThe loader is ");
    hl_markdown_text(out, r->data_verdict);
    hl_text_append(out, ".\n");
  }
}

void hl__markdown_training_definitions(hl_text *out) {
  static const char *const keys[] = {"throughput_ips",
                                     "latency_p50_ms",
                                     "latency_p95_ms",
                                     "memory_mb",
                                     "training_steps",
                                     "first_loss",
                                     "final_loss",
                                     "data_wait_percent",
                                     "data_load_first_ms",
                                     "data_load_ms",
                                     "transfer_first_ms",
                                     "forward_first_ms",
                                     "loss_first_ms",
                                     "backward_first_ms",
                                     "optimizer_first_ms",
                                     "first_call_ms",
                                     "total_time_ms",
                                     "data_setup_ms",
                                     "model_initialization_ms",
                                     "first_epoch_ms",
                                     "training_ms",
                                     "checkpoint_ms",
                                     NULL};
  hl__markdown_definitions(keys, out);
}

void hl__markdown_training(const hl_records *records, const char *plot, hl_text *out) {
  size_t told = 0;
  for (size_t i = 0; i < records->count; i++) told += is_told(&records->items[i]);
  if (!told) return;
  hl_text_append(out, "## Training\n\n");
  if (plot) hl_text_format(out, "![Loss, and parts of a step](%s)\n\n", plot);
  put_runs(records, out);
  put_spans(records, out);
  put_times(records, out);
  for (size_t i = 0; i < records->count; i++) put_epochs(&records->items[i], out);
  hl_text_char(out, '\n');
}
