#include "run/train.h"

#include "base/clock.h"
#include "base/training-names.h"
#include "run/row-internal.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Requests to the worker: long enough that what is between them does not count, short enough to
 * show where it stands. */
static const double slice_s = 1;

void hl_train_describe(const json_t *reply, const hl_configuration *configuration,
                       hl_record *record) {
  const hl_train_spec *spec = configuration->train;
  int64_t left_out = hl_json_get_int(reply, "left_out", 0);
  int64_t rest = hl_json_get_int(reply, "rest", 0);
  hl_record_set_text(&record->trainer, spec->trainer);
  hl_record_set_text(&record->loss_function, hl_json_get_text(reply, "loss", NULL));
  hl_record_set_text(&record->optimizer, hl_optimizer_name(spec->optimizer));
  hl_record_set_text(&record->schedule, hl_schedule_name(spec->schedule));
  record->ranks = spec->ranks;
  record->joint_batch_size = spec->ranks * configuration->batch_size;
  hl_record_set_text(&record->transport, hl_json_get_text(reply, "transport", NULL));
  record->batches_per_epoch = hl_json_get_int(reply, "batches", HL_INT_NULL);
  record->data_setup_ms = hl_json_get_real(reply, "data_setup_ns", (double)NAN) / 1e6;
  record->loader_threads = spec->loader_threads;
  if (left_out)
    hl_record_note(record,
                   "batches are full: %" PRId64 " samples at the end of an epoch are left out, "
                   "others each time",
                   left_out);
  if (rest)
    hl_record_note(record,
                   "the last batch of an epoch has %" PRId64
                   " samples; latencies are those of full "
                   "ones",
                   rest);
  if (spec->resume_from) hl_record_note(record, "goes on from %s", spec->resume_from);
}

void hl_train_outcome_release(hl_train_outcome *outcome) {
  free(outcome->steps);
  *outcome = (hl_train_outcome){0};
}

/* -- a slice --------------------------------------------------------------------------------- */

/* All that is gathered while it trains. */
typedef struct run {
  hl_row *row;
  hl_train_outcome outcome;
  hl_row_noise noise;
  hl_energy_totals energy;
  hl_retraces retraces; /* without the first step's */
  bool done;
  char stop[32];
  json_t *rank_ns; /* what each rank's step took */
  int64_t threads_needed;
  char checkpoint_error[512]; /* of the last checkpoint, "" */
  char data_problems[512];    /* what was made good in reading, "" */
  int64_t checkpoint_step;
} run;

static hl_status keep_steps(run *r, const void *bytes, size_t count, hl_error *error) {
  hl_train_outcome *o = &r->outcome;
  if (o->count + count > o->capacity) {
    size_t capacity = o->capacity ? o->capacity : 1024;
    while (capacity < o->count + count) capacity *= 2;
    hl_train_step *steps = realloc(o->steps, capacity * sizeof *steps);
    if (!steps) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for steps");
    o->steps = steps;
    o->capacity = capacity;
  }
  memcpy(o->steps + o->count, bytes, count * sizeof *o->steps);
  o->count += count;
  return HL_OK;
}

static hl_status keep_epoch(run *r, const hl_train_epoch *e, hl_error *error) {
  hl_epoch epoch;
  hl_epoch_init(&epoch);
  epoch.epoch = e->epoch + 1;
  epoch.steps = e->steps;
  epoch.images = e->images;
  epoch.whole = e->is_whole != 0;
  epoch.loss = e->loss;
  epoch.learning_rate = e->learning_rate;
  epoch.elapsed_ms = (double)e->elapsed_ns / 1e6;
  epoch.data_wait_ms = (double)e->load_ns / 1e6;
  epoch.checkpoint_ms = (double)e->checkpoint_ns / 1e6;
  return hl_epochs_add(&r->row->record->epochs, &epoch, error);
}

static hl_status unpack(run *r, const hl_message *message, hl_error *error) {
  const json_t *reply = message->object;
  int64_t steps = hl_json_get_int(reply, "steps", -1),
          epochs = hl_json_get_int(reply, "epochs", -1);
  size_t words = message->byte_count / sizeof(uint64_t);
  size_t per_step = sizeof(hl_train_step) / sizeof(uint64_t),
         per_epoch = sizeof(hl_train_epoch) / sizeof(uint64_t);
  bool fits = steps >= 0 && epochs >= 0 && (uint64_t)steps <= words && (uint64_t)epochs <= words &&
              (uint64_t)steps * per_step + (uint64_t)epochs * per_epoch == words;
  if (!fits) return hl_error_set(error, HL_BAD_DATA, "the worker's steps do not add up");
  hl_status status = HL_OK;
  if (steps) status = keep_steps(r, message->bytes, (size_t)steps, error);
  const unsigned char *at = message->bytes + (size_t)steps * sizeof(hl_train_step);
  for (int64_t i = 0; i < epochs && status == HL_OK; i++, at += sizeof(hl_train_epoch)) {
    hl_train_epoch epoch;
    memcpy(&epoch, at, sizeof epoch);
    status = keep_epoch(r, &epoch, error);
  }
  return status;
}

static void take_reply(run *r, const json_t *reply) {
  hl_row_noise_add(&r->noise, reply);
  hl_energy_totals_add(&r->energy, reply);
  if (r->outcome.count > 1) hl_retraces_add(&r->retraces, reply);
  r->outcome.elapsed_ns += (uint64_t)hl_json_get_int(reply, "elapsed_ns", 0);
  r->done = hl_json_get_bool(reply, "done", false);
  r->threads_needed = hl_json_get_int(reply, "loader_threads_needed", HL_INT_NULL);
  r->checkpoint_step = hl_json_get_int(reply, "checkpoint_step", 0);
  if (r->row->configuration->train->checkpoint)
    r->row->record->checkpoint_ms = hl_json_get_real(reply, "checkpoint_ns", (double)NAN) / 1e6;
  json_t *rank_ns = json_object_get(reply, "rank_compute_ns");
  if (rank_ns) {
    json_decref(r->rank_ns);
    r->rank_ns = json_incref(rank_ns);
  }
  snprintf(r->stop, sizeof r->stop, "%s", hl_json_get_text(reply, "stop", ""));
  snprintf(r->checkpoint_error, sizeof r->checkpoint_error, "%s",
           hl_json_get_text(reply, "checkpoint_error", ""));
  snprintf(r->data_problems, sizeof r->data_problems, "%s",
           hl_json_get_text(reply, "data_problems", ""));
}

static void show(const run *r) {
  const hl_train_outcome *o = &r->outcome;
  char text[120];
  if (o->count == 0) return;
  const hl_train_step *last = &o->steps[o->count - 1];
  snprintf(text, sizeof text, "training, epoch %" PRId64 ", step %" PRId64 ", loss %.4g",
           last->epoch + 1, last->step, last->loss);
  hl__row_phase(r->row->context, text);
}

static hl_status take(run *r, hl_message *message, hl_error *error) {
  hl_status status = unpack(r, message, error);
  if (status == HL_OK) take_reply(r, message->object);
  hl_message_release(message);
  show(r);
  return status;
}

static hl_status call(run *r, json_t *members, hl_error *error) {
  hl_session *session = &r->row->session;
  hl_message message;
  hl_status status = hl_process_call(&session->process, "train", members,
                                     session->setup_s + slice_s, &message, error);
  return status == HL_OK ? take(r, &message, error) : status;
}

/* The epoch as far as it got, and the checkpoint. */
static hl_status end(run *r, const char *why, hl_error *error) {
  return call(r, json_pack("{s:s}", "end", why), error);
}

/* Of --max-time, what is left; infinite without. */
static double left_s(const run *r) {
  double limit = r->row->configuration->train->max_time_s;
  return limit > 0 ? limit - (double)r->outcome.elapsed_ns / 1e9 : HUGE_VAL;
}

static hl_status run_slice(run *r, bool first, hl_error *error) {
  double left = left_s(r);
  if (left <= 0) return end(r, "max_time", error);
  double seconds = left < slice_s ? left : slice_s;
  json_t *members = json_pack("{s:I}", "max_ns", (json_int_t)ceil(seconds * 1e9));
  if (members && first) json_object_set_new(members, "max_steps", json_integer(1));
  return call(r, members, error);
}

/* An interrupt while the worker trains: it ends its slice and writes the checkpoint. A second one
 * ends the program. */
static hl_status end_in_order(run *r, hl_error *error) {
  hl_message message;
  hl__row_phase(r->row->context, "interrupted: the present step and the checkpoint are finished");
  hl_status status = hl_process_call_on(&r->row->session.process, &message, error);
  if (status == HL_OK) status = take(r, &message, error);
  if (status == HL_OK && !r->done) status = end(r, "interrupted", error);
  return status;
}

/* -- the whole run --------------------------------------------------------------------------- */

static hl_status run_all(run *r, hl_error *error) {
  const hl_run_environment *environment = r->row->context->environment;
  hl_run_info *info = r->row->context->info;
  hl__row_phase(r->row->context, "training");
  hl_status status = run_slice(r, true, error);
  if (status == HL_OK && environment->start_ns && isnan(info->first_step_ms))
    info->first_step_ms = (double)(hl_clock_ns() - environment->start_ns) / 1e6;
  while (status == HL_OK && !r->done) status = run_slice(r, false, error);
  if (status != HL_INTERRUPTED) return status;
  hl_error ignored;
  return end_in_order(r, &ignored) == HL_OK ? HL_OK : status;
}

/* A network that could not be kept is no success, however well it was trained. */
static hl_status check_checkpoint(const run *r, hl_error *error) {
  const hl_train_spec *spec = r->row->configuration->train;
  hl_record *record = r->row->record;
  if (!spec->checkpoint) return HL_OK;
  if (r->checkpoint_step > 0) hl_record_set_text(&record->checkpoint, spec->checkpoint);
  if (!r->checkpoint_error[0]) return HL_OK;
  char kept[64] = "none was written";
  if (r->checkpoint_step > 0)
    snprintf(kept, sizeof kept, "that of step %" PRId64 " is kept", r->checkpoint_step);
  return hl_error_set(error, HL_IO, "the last checkpoint was not written, %s: %.380s", kept,
                      r->checkpoint_error);
}

static hl_status fill(run *r, hl_error *error) {
  hl_record *record = r->row->record;
  hl_record_set_text(&record->stop, r->stop);
  if (r->data_problems[0]) hl_record_note(record, "data: %s", r->data_problems);
  record->loader_threads_needed = r->threads_needed;
  record->model_initialization_ms = record->load_ms + record->prepare_ms;
  hl_row_noise_fill(&r->noise, (double)r->outcome.count, false, record);
  hl_retraces_fill(&r->retraces, record);
  hl_status status = hl_train_summarise(&r->outcome, record, error);
  if (status == HL_OK && r->rank_ns)
    hl_train_judge_ranks(r->rank_ns, r->row->session.process.ranks, record);
  if (status == HL_OK) hl_energy_fill(&r->energy, "more --epochs", record);
  return status;
}

/* What there was when the worker was stopped. */
static hl_status salvage(run *r, hl_status cause, hl_error *error) {
  hl_error ignored;
  if (r->outcome.count == 0) return cause;
  snprintf(r->stop, sizeof r->stop, "%s", "interrupted");
  (void)fill(r, &ignored);
  (void)check_checkpoint(r, &ignored);
  return hl_error_set(error, cause, "interrupted");
}

hl_status hl_row_train(hl_row *row, hl_error *error) {
  run r = {.row = row};
  uint64_t start = hl_clock_ns();
  hl_status status =
      hl_session_open(row->context, row->configuration, &row->session, row->record, error);
  row->bad_input = hl__row_is_bad_input(status);
  if (status == HL_OK) status = hl__row_load(row, error);
  if (status == HL_OK) status = run_all(&r, error);
  row->record->total_time_ms = (double)(hl_clock_ns() - start) / 1e6;
  if (status == HL_OK) status = hl_session_fill_peak(&row->session, row->record, error);
  if (status == HL_OK) status = fill(&r, error);
  bool interrupted = strcmp(r.stop, "interrupted") == 0;
  if (status == HL_OK) status = check_checkpoint(&r, error);
  if (interrupted && status == HL_IO) hl_record_note(row->record, "%s", error->msg);
  if (interrupted && (status == HL_OK || status == HL_IO))
    status = hl_error_set(error, HL_INTERRUPTED, "interrupted");
  else if (status == HL_INTERRUPTED)
    status = salvage(&r, status, error);
  json_decref(r.rank_ns);
  hl_train_outcome_release(&r.outcome);
  return status;
}
