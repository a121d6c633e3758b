/* From the steps of a training run to the numbers of its row. */
#include "base/text.h"
#include "method/summary.h"
#include "plan/train-spec.h"
#include "protocol/channel.h"
#include "run/loader.h"
#include "run/train.h"
#include "statistics/percentile.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_losses = 1 << 20 };
static const double slow_rank = 1.25; /* times as long as the others' median */

/* Caches, pages and the loader's head start are of the first steps; a short run keeps the more. */
static size_t warmup_of(size_t steps) {
  return steps > 10 ? 3 : steps > 1 ? 1 : 0;
}

static double mean_span(const hl_train_outcome *o, size_t from, size_t span) {
  double sum = 0;
  for (size_t i = from; i < o->count; i++) {
    if (o->steps[i].spans_ns[span] == UINT64_MAX) return (double)NAN;
    sum += (double)o->steps[i].spans_ns[span];
  }
  return sum / (double)(o->count - from) / 1e6;
}

static double first_span(const hl_train_outcome *o, size_t span) {
  uint64_t ns = o->steps[0].spans_ns[span];
  return ns == UINT64_MAX ? (double)NAN : (double)ns / 1e6;
}

static void fill_spans(const hl_train_outcome *o, size_t from, hl_record *r) {
  double *const firsts[HL_SPAN_COUNT] = {&r->data_load_first_ms, &r->transfer_first_ms,
                                         &r->forward_first_ms,   &r->loss_first_ms,
                                         &r->backward_first_ms,  &r->optimizer_first_ms};
  double *const means[HL_SPAN_COUNT] = {&r->data_load_ms, &r->transfer_ms, &r->forward_ms,
                                        &r->loss_ms,      &r->backward_ms, &r->optimizer_ms};
  for (size_t s = 0; s < HL_SPAN_COUNT; s++) {
    *firsts[s] = first_span(o, s);
    *means[s] = mean_span(o, from, s);
  }
  if (isnan(r->forward_ms))
    hl_record_note(r, "engine %s does not tell how long forward, loss, backward and update took",
                   r->engine ? r->engine : "?");
}

static void fill_loader(const hl_train_outcome *o, size_t from, hl_record *r) {
  double wait = 0, total = 0, work = 0;
  for (size_t i = from; i < o->count; i++) {
    wait += (double)o->steps[i].spans_ns[HL_SPAN_LOAD];
    work += (double)o->steps[i].load_work_ns;
    total += (double)o->steps[i].total_ns;
  }
  r->data_work_ms = work / (double)(o->count - from) / 1e6;
  r->data_throughput_ips = 1e3 * (double)r->batch_size / r->data_work_ms;
  r->data_wait_ms = wait / 1e6;
  if (total > 0) r->data_wait_percent = 100 * wait / total;
  hl_loader_judge(r);
}

/* Of several ranks; those of one are zeros. */
static void fill_reduction(const hl_train_outcome *o, size_t from, hl_record *r) {
  double reduce = 0, exposed = 0, agree = 0, count = (double)(o->count - from) * 1e6;
  for (size_t i = from; i < o->count; i++) {
    reduce += (double)o->steps[i].reduce_ns;
    exposed += (double)o->steps[i].exposed_ns;
    agree += (double)o->steps[i].agree_ns;
  }
  r->reduce_ms = reduce / count;
  r->reduce_exposed_ms = exposed / count;
  r->reduce_overlapped_ms = (reduce - exposed) / count;
  r->rank_wait_ms = agree / count;
}

/* Median of all but one. */
static double median_of_others(const double *ms, size_t count, size_t but) {
  double others[HL_TRAIN_RANKS_LIMIT];
  size_t n = 0;
  for (size_t i = 0; i < count; i++)
    if (i != but) others[n++] = ms[i];
  return hl_median(others, n);
}

void hl_train_judge_ranks(const json_t *rank_ns, const json_t *ranks, hl_record *record) {
  double ms[HL_TRAIN_RANKS_LIMIT];
  size_t count = json_array_size(rank_ns), slow = 0;
  hl_text text = HL_TEXT_INIT;
  if (count < 1 || count > HL_TRAIN_RANKS_LIMIT) return;
  for (size_t i = 0; i < count; i++) {
    ms[i] = json_number_value(json_array_get(rank_ns, i)) / 1e6;
    if (ms[i] > ms[slow]) slow = i;
    hl_text_format(&text, "%s%.4g", i ? ", " : "", ms[i]);
  }
  hl_record_set_text(&record->rank_compute_ms, text.data);
  hl_text_clear(&text);
  double others = count > 1 ? median_of_others(ms, count, slow) : ms[0];
  if (ms[slow] > slow_rank * others) {
    const json_t *member = json_array_get(ranks, slow);
    hl_text_format(&text,
                   "rank %zu (process %" PRId64 " on %s): its steps take %.4g ms without waiting, "
                   "%.2f times as long as the others' %.4g ms",
                   slow, hl_json_get_int(member, "pid", 0), hl_json_get_text(member, "host", "?"),
                   ms[slow], ms[slow] / others, others);
    hl_record_set_text(&record->slow_rank, text.data);
  }
  hl_text_release(&text);
}

static hl_status fill_losses(const hl_train_outcome *o, hl_record *r, hl_error *error) {
  size_t kept = o->count < most_losses ? o->count : most_losses;
  r->first_loss = o->steps[0].loss;
  r->learning_rate = o->steps[0].learning_rate;
  r->final_learning_rate = o->steps[o->count - 1].learning_rate;
  r->training_steps = (int64_t)o->count;
  r->epochs_trained = 0;
  for (size_t i = 0; i < r->epochs.count; i++) {
    const hl_epoch *e = &r->epochs.items[i];
    r->epochs_trained += e->whole == 1;
    r->final_loss = e->loss;
    if (isnan(r->best_loss) || e->loss < r->best_loss) r->best_loss = e->loss;
  }
  if (r->epochs.count) r->first_epoch_ms = r->epochs.items[0].elapsed_ms;
  free(r->step_losses);
  r->step_losses = malloc(kept * sizeof *r->step_losses);
  if (!r->step_losses) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for losses");
  for (size_t i = 0; i < kept; i++) r->step_losses[i] = (float)o->steps[i].loss;
  r->step_loss_count = kept;
  if (kept < o->count)
    hl_record_note(r, "of the steps' losses the first %zu are kept, all of the epochs'", kept);
  return HL_OK;
}

static hl_status fill_times(const hl_train_outcome *o, size_t from, hl_record *r, hl_error *error) {
  size_t count = o->count - from;
  uint64_t *ns = malloc(2 * count * sizeof *ns), *images = ns + count;
  if (!ns) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for steps");
  double warmup = 0;
  for (size_t i = 0; i < from; i++) warmup += (double)o->steps[i].total_ns;
  for (size_t i = 0; i < count; i++) {
    ns[i] = o->steps[from + i].total_ns;
    images[i] = (uint64_t)o->steps[from + i].images;
  }
  int64_t ranks = r->ranks > 0 ? r->ranks : 1; /* of whom all images of a step are */
  const hl_row_samples samples = {.ns = ns,
                                  .images = images,
                                  .count = count,
                                  .batch_size = r->batch_size * ranks,
                                  .steps_per_sample = 1};
  r->warmup_iterations = (int64_t)from;
  r->warmup_ms = warmup / 1e6;
  hl_status status = hl_row_summarise(r, &samples, HL_PERCENTILE_LINEAR, error);
  free(ns);
  return status;
}

hl_status hl_train_summarise(const hl_train_outcome *outcome, hl_record *record, hl_error *error) {
  const hl_train_outcome *o = outcome;
  if (o->count == 0) return hl_error_set(error, HL_INVALID_ARGUMENT, "no step was trained");
  size_t from = warmup_of(o->count);
  record->first_call_ms = (double)o->steps[0].total_ns / 1e6;
  record->training_ms = (double)o->elapsed_ns / 1e6;
  fill_spans(o, from, record);
  fill_loader(o, from, record);
  if (record->trainer && strcmp(record->trainer, "ddp") == 0) fill_reduction(o, from, record);
  hl_status status = fill_losses(o, record, error);
  return status == HL_OK ? fill_times(o, from, record, error) : status;
}
