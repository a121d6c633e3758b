#include "search/field.h"

#include "base/clock.h"
#include "machine/memory.h"
#include "run/outputs.h"
#include "statistics/percentile.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A worker of each setting takes memory and, with a GPU's driver in it, time to start. */
enum { workers_most = 12, look_least = 3, steps_for_tail = 100 };
static const double look_ns = 200e6, scout_share = 0.1, scout_least_s = 1;

void hl__field_init(hl__field *f, const hl_row_context *context, const hl_configuration *families) {
  memset(f, 0, sizeof *f);
  f->context = *context;
  f->families = families;
  if (families[0].pipeline) f->stages = *families[0].pipeline;
  f->method = *context->method;
  f->method.max_time_s = fmax(scout_least_s, scout_share * f->method.max_time_s);
  f->method.min_time_s = 0;
  f->method.iterations = f->method.num_runs = f->method.warmup_runs = 0;
  f->method.warmup_iterations = -1;
  f->context.method = &f->method;
}

hl_configuration hl__field_configuration(const hl__field *f, const hl_arm *arm,
                                         hl_pipeline_spec *ret_stages) {
  const hl_configuration *family = &f->families[arm->family];
  int64_t batch = f->axis == HL__AXIS_PREDICT ? arm->batch : family->batch_size;
  hl_configuration c = hl_configuration_with_batch(family, batch);
  if (!c.pipeline) return c;
  *ret_stages = f->stages;
  if (f->axis == HL__AXIS_PREPROCESS) ret_stages->preprocess_batch = arm->batch;
  if (f->axis == HL__AXIS_REASSEMBLE) ret_stages->reassemble_batch = arm->batch;
  c.pipeline = ret_stages;
  return c;
}

static hl_status end_place(hl__field *f, size_t index, hl_status status, hl_error *failure) {
  hl__place *place = f->places[index];
  hl_error ignored = {0};
  if (!place) return status;
  f->places[index] = NULL;
  f->open--;
  hl_status closed = hl_row_close(&place->row, status, failure, &ignored);
  if (status != HL_OK && closed == HL_OK && place->record.reason)
    snprintf(failure->msg, sizeof failure->msg, "%s", place->record.reason);
  hl_outcome outcome = HL_FAILED;
  hl_outcome_from_name(place->record.outcome, &outcome);
  if (status != HL_OK && outcome == HL_NO_MEMORY) status = HL_OUT_OF_MEMORY;
  hl_record_release(&place->record);
  free(place);
  return status;
}

void hl__field_close(hl__field *f, size_t index) {
  hl_error ignored = {0};
  end_place(f, index, HL_OK, &ignored);
}

void hl__field_release(hl__field *f) {
  for (size_t i = 0; i < HL_TUNING_ARMS; i++) hl__field_close(f, i);
}

/* Makes room for one more worker: the one that is largest goes, as it is started again if need be.
 */
static void make_room(hl__field *f) {
  for (;;) {
    uint64_t available = hl_memory_available(NULL);
    bool tight = available != UINT64_MAX && (double)available < 1.5 * f->largest_bytes;
    if (f->open == 0 || (f->open < workers_most && !tight)) return;
    size_t largest = HL_TUNING_ARMS;
    for (size_t i = 0; i < HL_TUNING_ARMS; i++)
      if (f->places[i] &&
          (largest == HL_TUNING_ARMS ||
           f->places[i]->configuration.batch_size > f->places[largest]->configuration.batch_size))
        largest = i;
    if (largest == HL_TUNING_ARMS) return;
    hl__field_close(f, largest);
  }
}

static hl_status open_place(hl__field *f, const hl_arm *arm, size_t index, hl_error *error) {
  make_room(f);
  hl__place *place = calloc(1, sizeof *place);
  if (!place) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a worker");
  place->configuration = hl__field_configuration(f, arm, &place->stages);
  hl_record_init(&place->record);
  hl_row_init(&place->row, &f->context, &place->configuration, &place->record);
  f->places[index] = place;
  f->open++;
  hl_status status = hl_row_open(&place->row, error);
  if (status != HL_OK) return status;
  /* A row of a pipeline goes on with a smaller batch, which is another setting. */
  if (place->row.configuration->batch_size != place->configuration.batch_size)
    return hl_error_set(error, HL_OUT_OF_MEMORY,
                        "a batch of %" PRId64 " is too large for the limit of memory; %" PRId64
                        " fits",
                        place->configuration.batch_size, place->row.configuration->batch_size);
  hl_row_judge_outputs(&place->row);
  if (place->record.outcome)
    return hl_error_set(error, HL_UNAVAILABLE, "%s: %s", place->record.outcome,
                        place->record.reason ? place->record.reason : "its outputs are wrong");
  return hl_row_warm_up(&place->row, error);
}

/* The median of a few steps, and the tail over it where they are enough to have one. */
static hl_status look(hl_row *row, double *ret_step_ns, double *ret_tail, hl_error *error) {
  double step = row->warmup.step_ns, values[256];
  size_t n = 0;
  hl_status status = HL_OK;
  uint64_t steps =
      step > 0 && look_ns / step > look_least ? (uint64_t)(look_ns / step) : look_least;
  while (n < look_least && status == HL_OK) {
    const hl_slice_request request = {steps, (uint64_t)fmax(2 * look_ns, 4 * step)};
    hl_row_slice got;
    size_t before = n;
    status = hl_row_run(row, &request, 0, &got, error);
    for (size_t i = 0; status == HL_OK && i < got.sample_count && n < HL_COUNT(values); i++)
      values[n++] = (double)got.samples_ns[i] / row->group;
    if (n == before) break; /* partial batches alone */
  }
  if (status == HL_OK && n == 0)
    return hl_error_set(error, HL_UNAVAILABLE, "the data has no full batch of this size");
  *ret_step_ns = hl_median(values, n);
  if (n >= steps_for_tail)
    *ret_tail = hl_percentile(values, n, 99, HL_PERCENTILE_LINEAR) / *ret_step_ns;
  return status;
}

static hl_status peak(hl__field *f, hl_row *row, double *ret_bytes, hl_error *error) {
  hl_session_memory memory;
  hl_status status = hl_session_peak(&row->session, &memory, error);
  if (status != HL_OK) return status;
  *ret_bytes = memory.peak_bytes ? (double)memory.peak_bytes : (double)NAN;
  if (*ret_bytes > f->largest_bytes) f->largest_bytes = *ret_bytes;
  return HL_OK;
}

static double watts_of(const hl_energy_totals *energy) {
  return energy->seconds > 0 ? energy->package_j / energy->seconds : (double)NAN;
}

hl_status hl__field_scout(hl__field *f, const hl_arm *arm, size_t index, hl_tuning_scout *ret_found,
                          char ret_why[HL__FIELD_WHY], hl_error *error) {
  uint64_t start = hl_clock_ns();
  hl_error failure = {0};
  hl_tuning_scout found = {.tail = 1, .memory_bytes = (double)NAN, .watts = (double)NAN};
  hl_status status = open_place(f, arm, index, &failure);
  hl_row *row = f->places[index] ? &f->places[index]->row : NULL;
  if (status == HL_OK) status = look(row, &found.step_ns, &found.tail, &failure);
  if (status == HL_OK) status = peak(f, row, &found.memory_bytes, &failure);
  bool bad_input = row && row->bad_input;
  ret_why[0] = '\0';
  if (status == HL_OK) {
    found.ran = true;
    found.watts = watts_of(&row->energy);
    hl_process_pause(&row->session.process);
  } else {
    status = end_place(f, index, status, &failure);
    snprintf(ret_why, HL__FIELD_WHY, "%s", failure.msg);
    found.no_memory = status == HL_OUT_OF_MEMORY;
  }
  found.elapsed_ns = hl_clock_ns() - start;
  *ret_found = found;
  if (status == HL_INTERRUPTED) return hl_error_set(error, status, "interrupted");
  if (bad_input && status != HL_OK) return hl_error_set(error, status, "%s", failure.msg);
  return HL_OK;
}

hl_status hl__field_turn(hl__field *f, const hl_arm *arm, size_t index,
                         const hl_turn_request *request, hl_turn *ret_turn,
                         uint64_t *ret_overhead_ns, hl_error *error) {
  uint64_t start = hl_clock_ns();
  hl_error failure = {0};
  hl_status status = HL_OK;
  *ret_overhead_ns = 0;
  if (f->places[index])
    hl_process_resume(&f->places[index]->row.session.process);
  else {
    status = open_place(f, arm, index, &failure);
    *ret_overhead_ns = hl_clock_ns() - start;
  }
  const hl_slice_request slice = {request->steps, request->max_ns};
  hl_row_slice got;
  hl_row *row = f->places[index] ? &f->places[index]->row : NULL;
  if (row && status == HL_OK)
    status = hl_row_run(row, &slice, request->discard_steps, &got, &failure);
  if (!row || status != HL_OK) {
    status = end_place(f, index, status, &failure);
    return hl_error_set(error, status, "%s", failure.msg);
  }
  hl_process_pause(&row->session.process);
  *ret_turn = (hl_turn){.member = request->member,
                        .samples_ns = got.samples_ns,
                        .sample_count = got.sample_count,
                        .steps_per_sample = row->group,
                        .steps = got.steps,
                        .elapsed_ns = got.elapsed_ns,
                        .noise = got.noise};
  return HL_OK;
}
