#include "worker/train.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/training-names.h"
#include "protocol/channel.h"
#include "worker/compilations.h"
#include <stdlib.h>
#include <string.h>

enum { most_steps = 8192, most_epochs = 1024 };

void hl_worker_train_configured(const hl_worker_train *train, json_t *reply) {
  const hl_training *t = &train->training;
  hl_json_set_text(reply, "loss", hl_training_loss_name(t));
  hl_json_set_int(reply, "batches", (uint64_t)t->data.batches);
  hl_json_set_int(reply, "rest", (uint64_t)t->data.rest);
  hl_json_set_int(reply, "left_out", (uint64_t)t->data.left_out);
  hl_json_set_int(reply, "data_setup_ns", t->data_setup_ns);
}

/* Steps until the slice is full, and the epochs that end in it. */
static hl_status run_slice(hl_worker_train *w, uint64_t max_steps, uint64_t max_ns,
                           hl_train_epoch *epochs, size_t *ret_steps, size_t *ret_epochs,
                           hl_error *error) {
  hl_training *t = &w->training;
  uint64_t start = hl_clock_ns();
  hl_status status = HL_OK;
  size_t steps = 0, ended = 0;
  if (__builtin_add_overflow(start, max_ns, &t->slice_end_ns)) t->slice_end_ns = UINT64_MAX;
  while (t->stop == HL_TRAINING_GOES_ON && steps < max_steps && ended < most_epochs) {
    status = hl_training_step(t, &w->steps[steps], error);
    if (status != HL_OK) break;
    steps++;
    if (t->epoch_ended) epochs[ended++] = t->last_epoch;
    if (t->slice_ended) break;
  }
  *ret_steps = steps;
  *ret_epochs = ended;
  return status;
}

/* The epoch that ends with it, if there is one. */
static void end_training(hl_training *t, hl_training_stop why, hl_train_epoch *epochs,
                         size_t *ret_epochs) {
  hl_training_end(t, why);
  if (t->epoch_ended) epochs[(*ret_epochs)++] = t->last_epoch;
}

static void report_state(const hl_training *t, json_t *reply) {
  hl_loader_statistics loader;
  hl_loader_get_statistics(t->data.loader, &loader);
  hl_json_set_bool(reply, "done", t->stop != HL_TRAINING_GOES_ON);
  hl_json_set_text(reply, "stop", hl_training_stop_name(t->stop));
  hl_json_set_int(reply, "first_step", (uint64_t)t->first_step);
  hl_json_set_int(reply, "late_batches", (uint64_t)loader.late_batches);
  hl_json_set_int(reply, "loader_bytes", loader.buffer_bytes);
  if (t->busy_ns > 0)
    hl_json_set_int(reply, "loader_threads_needed",
                    (uint64_t)hl_loader_threads_needed(t->work_ns, t->busy_ns));
  if (t->data.source->problems) {
    hl_text problems = HL_TEXT_INIT;
    t->data.source->problems(t->data.source->context, &problems);
    if (problems.length) hl_json_set_text(reply, "data_problems", problems.data);
    hl_text_release(&problems);
  }
  hl_json_set_int(reply, "checkpoint_step", (uint64_t)t->checkpoint_step);
  hl_json_set_int(reply, "checkpoint_ns", t->checkpoint_ns);
  bool failed = t->checkpoint_error.status != HL_OK;
  hl_json_set_text(reply, "checkpoint_error", failed ? t->checkpoint_error.msg : NULL);
}

static hl_status attach(const hl_worker_train *w, size_t steps, const hl_train_epoch *epochs,
                        size_t epoch_count, void **ret_bytes, size_t *ret_byte_count,
                        hl_error *error) {
  size_t first = steps * sizeof *w->steps, second = epoch_count * sizeof *epochs;
  if (first + second == 0) return HL_OK;
  char *bytes = malloc(first + second);
  if (!bytes) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for steps");
  memcpy(bytes, w->steps, first);
  memcpy(bytes + first, epochs, second);
  *ret_bytes = bytes;
  *ret_byte_count = first + second;
  return HL_OK;
}

/* No page faults while timing. */
static hl_status make_room(hl_worker_train *w, hl_error *error) {
  if (w->steps) return HL_OK;
  w->steps = malloc(most_steps * sizeof *w->steps);
  if (!w->steps) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for steps");
  memset(w->steps, 1, most_steps * sizeof *w->steps);
  return HL_OK;
}

hl_status hl_worker_train_run(hl_worker_train *train, hl_worker_noise *noise,
                              hl_worker_energy *energy, const json_t *request, json_t *reply,
                              void **ret_bytes, size_t *ret_byte_count, hl_error *error) {
  static hl_train_epoch epochs[most_epochs];
  int64_t max_steps = hl_json_get_int(request, "max_steps", most_steps);
  int64_t max_ns = hl_json_get_int(request, "max_ns", INT64_MAX);
  const char *end = hl_json_get_text(request, "end", "");
  hl_training_stop why = strcmp(end, "max_time") == 0      ? HL_TRAINING_OUT_OF_TIME
                         : strcmp(end, "interrupted") == 0 ? HL_TRAINING_INTERRUPTED
                                                           : HL_TRAINING_GOES_ON;
  size_t steps = 0, ended = 0;
  if (max_steps < 1 || max_ns < 1 || (*end && why == HL_TRAINING_GOES_ON))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "train: a number is out of range");
  if (train->failed != HL_OK) {
    if (error) *error = train->failure;
    return train->failed;
  }
  hl_status status = make_room(train, error);
  if (status != HL_OK) return status;
  if (max_steps > most_steps) max_steps = most_steps;
  hl_worker_noise_prepare(noise);
  const hl_worker_compilations before =
      hl_worker_compilations_begin(&train->training.ops, train->training.engine);
  hl_worker_energy_begin(energy);
  hl_worker_noise_begin(noise);
  uint64_t start = hl_clock_ns();
  if (*end)
    end_training(&train->training, why, epochs, &ended);
  else
    train->failed = run_slice(train, (uint64_t)max_steps, (uint64_t)max_ns, epochs, &steps, &ended,
                              &train->failure);
  uint64_t elapsed = hl_clock_ns() - start;
  hl_worker_noise_end(noise);
  hl_worker_energy_end(energy, reply);
  hl_worker_compilations_end(&before, reply);
  if (train->failed != HL_OK && steps == 0) {
    if (error) *error = train->failure;
    return train->failed;
  }
  status = hl_worker_noise_clock(noise, NULL, 0, reply, error);
  if (status != HL_OK) return status;
  hl_worker_noise_report(noise, elapsed, reply);
  hl_json_set_int(reply, "steps", steps);
  hl_json_set_int(reply, "epochs", ended);
  hl_json_set_int(reply, "elapsed_ns", elapsed);
  report_state(&train->training, reply);
  return attach(train, steps, epochs, ended, ret_bytes, ret_byte_count, error);
}
