/* What training runs showed, in words: where a step's time goes, how the loss fell, whether the
 * loader keeps up. */
#include "report/number.h"
#include "report/report.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { most_epochs = 20 }; /* lines of a table for people; all are in JSON */

static void put(hl_text *out, double value, int width) {
  char text[HL_NUMBER_BYTES];
  hl_report_pad(out, hl_report_number(value, "-", text), -width);
}

/* "mlp, native, float32, batch 8: cross-entropy, adam" */
static void append_head(const hl_record *r, hl_text *out) {
  hl_text_format(out, "\n%s, %s, %s, batch %" PRId64 ": %s, %s", r->model ? r->model : "?",
                 r->engine ? r->engine : "?", r->dtype ? r->dtype : "?", r->batch_size,
                 r->loss_function ? r->loss_function : "?", r->optimizer ? r->optimizer : "?");
  if (r->learning_rate == r->final_learning_rate)
    hl_text_format(out, ", rate %g\n", r->learning_rate);
  else
    hl_text_format(out, ", rate %.3g to %.3g (%s)\n", r->learning_rate, r->final_learning_rate,
                   r->schedule ? r->schedule : "?");
}

static void append_spans(const hl_record *r, hl_text *out) {
  static const char *const names[] = {"load",     "transfer",  "forward", "loss",
                                      "backward", "optimizer", "step"};
  const double firsts[] = {r->data_load_first_ms, r->transfer_first_ms, r->forward_first_ms,
                           r->loss_first_ms,      r->backward_first_ms, r->optimizer_first_ms,
                           r->first_call_ms};
  const double means[] = {r->data_load_ms, r->transfer_ms,  r->forward_ms,     r->loss_ms,
                          r->backward_ms,  r->optimizer_ms, r->latency_mean_ms};
  hl_text_append(out, "  ms          ");
  for (size_t i = 0; i < HL_COUNT(names); i++) hl_report_pad(out, names[i], -10);
  hl_text_append(out, "\n  first step  ");
  for (size_t i = 0; i < HL_COUNT(firsts); i++) put(out, firsts[i], 10);
  hl_text_append(out, "\n  steady      ");
  for (size_t i = 0; i < HL_COUNT(means); i++) put(out, means[i], 10);
  hl_text_char(out, '\n');
}

static void append_epoch(const hl_epoch *e, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  hl_text_append(out, "  ");
  hl_report_pad(out, hl_report_int(e->epoch, "-", text), -5);
  hl_report_pad(out, hl_report_int(e->steps, "-", text), -8);
  put(out, e->loss, 12);
  put(out, e->learning_rate, 12);
  put(out, e->elapsed_ms / 1e3, 10);
  put(out, e->data_wait_ms, 12);
  hl_text_append(out, e->whole ? "\n" : "  not whole\n");
}

static void append_epochs(const hl_record *r, hl_text *out) {
  size_t count = r->epochs.count, from = count > most_epochs ? count - most_epochs : 0;
  if (count == 0) return;
  hl_text_append(out, "  epoch   steps        loss        rate    time s  waiting ms\n");
  if (from) hl_text_format(out, "  (%zu before these)\n", from);
  for (size_t i = from; i < count; i++) append_epoch(&r->epochs.items[i], out);
}

/* A time with the unit that suits it. */
static void append_time(hl_text *out, const char *name, double ms, bool *first) {
  char text[HL_NUMBER_BYTES];
  if (isnan(ms)) return;
  bool seconds = ms >= 1000;
  hl_text_format(out, "%s%s %s %s", *first ? "  " : ", ", name,
                 hl_report_number(seconds ? ms / 1e3 : ms, "-", text), seconds ? "s" : "ms");
  *first = false;
}

static void append_times(const hl_record *r, hl_text *out) {
  bool first = true;
  append_time(out, "total", r->total_time_ms, &first);
  append_time(out, "data set-up", r->data_setup_ms, &first);
  append_time(out, "model", r->model_initialization_ms, &first);
  append_time(out, "training", r->training_ms, &first);
  append_time(out, "checkpoints", r->checkpoint ? r->checkpoint_ms : (double)NAN, &first);
  if (!first) hl_text_char(out, '\n');
}

/* Of several ranks. */
static void append_ranks(const hl_record *r, hl_text *out) {
  char reduce[HL_NUMBER_BYTES], exposed[HL_NUMBER_BYTES], wait[HL_NUMBER_BYTES];
  if (r->joint_batch_size == HL_INT_NULL || isnan(r->reduce_ms)) return;
  hl_text_format(out, "  ranks: %" PRId64 ", batch %" PRId64 " each, %" PRId64 " together",
                 r->ranks, r->batch_size, r->joint_batch_size);
  hl_text_format(out, "; gradients %s ms, %s ms exposed; wait %s ms\n",
                 hl_report_number(r->reduce_ms, "-", reduce),
                 hl_report_number(r->reduce_exposed_ms, "-", exposed),
                 hl_report_number(r->rank_wait_ms, "-", wait));
  if (!r->slow_rank) return;
  hl_text_append(out, "  slow: ");
  hl_text_wrap(out, r->slow_rank, 8, 8, 90);
  hl_text_char(out, '\n');
}

static void append_run(const hl_record *r, hl_text *out) {
  append_head(r, out);
  append_spans(r, out);
  append_epochs(r, out);
  append_times(r, out);
  append_ranks(r, out);
  if (r->data) {
    hl_text_append(out, "  data: ");
    hl_text_wrap(out, r->data, 8, 8, 90);
    hl_text_char(out, '\n');
  }
  if (r->data_verdict) {
    hl_text_append(out, "  loader: ");
    hl_text_wrap(out, r->data_verdict, 10, 10, 90);
    hl_text_char(out, '\n');
  }
  if (r->checkpoint) hl_text_line(out, "  checkpoint: %s", r->checkpoint);
}

void hl_report_training(const hl_records *records, hl_text *out) {
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (hl_workload_is_training(r->workload) && hl_record_passed(r)) append_run(r, out);
  }
}
