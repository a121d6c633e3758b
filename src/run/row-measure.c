#include "method/budget.h"
#include "method/summary.h"
#include "run/image.h"
#include "run/loader.h"
#include "run/row-internal.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steps shorter than this many clock reads, or ticks of a coarse clock, are timed in groups. */
enum { reads_per_step = 100 };

uint32_t hl__row_choose_group(double step_ns, double grain_ns) {
  double least = reads_per_step * grain_ns;
  if (!(step_ns > 0) || step_ns >= least) return 1;
  double group = ceil(least / step_ns);
  uint32_t whole = group > 100000 ? 100000 : (uint32_t)group;
  return whole ? whole : 1; /* ceil gives 1 at least, which the analyzer cannot know */
}

/* The full-batch durations of a slice, per step group, appended to `full`. */
size_t hl__row_full_samples(const hl_row *r, const hl_session_samples *s, uint64_t *ret_full) {
  uint64_t full_images = (uint64_t)r->session.step_images * r->group;
  size_t n = 0;
  for (size_t i = 0; i < s->count; i++)
    if (s->images[i] == full_images) ret_full[n++] = s->ns[i];
  return n;
}

hl_slice hl__row_slice(const hl_row *r, const hl_session_samples *s, const uint64_t *full,
                       size_t full_count) {
  const json_t *reply = s->message.object;
  return (hl_slice){.samples_ns = full,
                    .sample_count = full_count,
                    .steps_per_sample = r->group,
                    .steps = s->count * r->group,
                    .elapsed_ns = s->elapsed_ns,
                    .minor_faults = (uint64_t)hl_json_get_int(reply, "minor_faults", 0),
                    .major_faults = (uint64_t)hl_json_get_int(reply, "major_faults", 0)};
}

static hl_status reserve(hl_row *r, size_t more, hl_error *error) {
  if (r->count + more <= r->capacity) return HL_OK;
  size_t capacity = r->capacity ? r->capacity : 1024;
  while (capacity < r->count + more) capacity *= 2;
  uint64_t *samples = realloc(r->samples, capacity * sizeof *samples);
  if (samples) r->samples = samples;
  uint64_t *images = realloc(r->images, capacity * sizeof *images);
  if (images) r->images = images;
  uint64_t *full = realloc(r->full, capacity * sizeof *full);
  if (full) r->full = full;
  if (!samples || !images || !full)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for samples");
  r->capacity = capacity;
  return HL_OK;
}

static hl_status add_slice(hl_row *r, const hl_session_samples *s, hl_row_slice *ret_slice,
                           hl_error *error) {
  hl_status status = reserve(r, s->count, error);
  if (status != HL_OK) return status;
  uint64_t *fresh = r->full + r->full_count;
  memcpy(r->samples + r->count, s->ns, s->count * sizeof *s->ns);
  memcpy(r->images + r->count, s->images, s->count * sizeof *s->images);
  r->count += s->count;
  size_t full = hl__row_full_samples(r, s, fresh);
  hl_slice slice = hl__row_slice(r, s, fresh, full);
  r->full_count += full;
  r->steps += slice.steps;
  hl_row_noise_add(&r->noise, s->message.object);
  hl_retraces_add(&r->retraces, s->message.object);
  hl_device_totals_add(&r->device, s->message.object);
  hl_energy_totals_add(&r->energy, s->message.object);
  hl_counter_totals_add(&r->counters, s->message.object);
  hl_pipeline_totals_add(&r->pipeline, s->message.object, slice.steps);
  hl_progressive_totals_add(&r->progressive, s->message.object, slice.steps, s->elapsed_ns,
                            r->record);
  *ret_slice = (hl_row_slice){.samples_ns = fresh,
                              .sample_count = full,
                              .steps = slice.steps,
                              .elapsed_ns = s->elapsed_ns + s->discarded_ns,
                              /* what the machine does is not in a simulated time */
                              .noise = r->session.configuration->simulated
                                           ? (hl_turn_noise){0}
                                           : hl_row_noise_of_turn(s->message.object)};
  if (r->stopping.reason != HL_STOP_RUNNING) return HL_OK; /* enough for the row, not for a pair */
  return hl_stopping_add(&r->stopping, &slice, r->full, r->full_count, error);
}

hl_status hl_row_run(hl_row *r, const hl_slice_request *request, uint64_t discard_steps,
                     hl_row_slice *ret_slice, hl_error *error) {
  uint64_t group = r->group ? r->group : 1;        /* measuring_group gives 1 at least */
  bool fixed = r->context->method->iterations > 0; /* whole groups make up the number */
  uint64_t samples = fixed ? request->steps / group : (request->steps + group - 1) / group;
  const hl_session_request asked = {.max_samples = samples ? samples : 1,
                                    .max_ns = request->max_ns,
                                    .group = r->group,
                                    .restart = r->count == 0,
                                    .discard_steps = discard_steps};
  hl_session_samples s;
  hl_row_slice slice;
  hl_status status = hl_session_run(&r->session, &asked, &s, error);
  if (status != HL_OK) return status;
  status = add_slice(r, &s, &slice, error);
  hl_session_samples_release(&s);
  if (status == HL_OK && ret_slice) *ret_slice = slice;
  return status;
}

/* The next larger group of which a whole number makes `steps`, within reason. */
static uint32_t fitting_group(uint32_t group, uint64_t steps) {
  if (steps <= group) return (uint32_t)steps;
  for (uint32_t g = group; g <= 4 * group && g <= steps; g++)
    if (steps % g == 0) return g;
  return group;
}

static uint32_t measuring_group(hl_row *r, const hl_warmup *w) {
  const hl_method_options *m = r->context->method;
  if (m->num_runs) return 1; /* passes end with their last, perhaps partial, batch */
  uint32_t group = hl__row_choose_group(w->step_ns, r->session.clock_grain_ns);
  if (group == 1 || m->iterations == 0) return group;
  group = fitting_group(group, (uint64_t)m->iterations);
  if (m->iterations % group)
    hl_record_note(r->record, "the steps are rounded up to whole groups of %" PRIu32, group);
  return group;
}

hl_status hl__row_begin_measuring(hl_row *r, hl_error *error) {
  const hl_method_options *m = r->context->method;
  const hl_warmup *w = &r->warmup;
  uint64_t row_ns = hl_budget_ns(m->max_time_s);
  r->group = measuring_group(r, w);
  if (r->group == 0) return hl_error_set(error, HL_INTERNAL, "a group of no steps");
  hl_stopping_init(&r->stopping, &(hl_stopping_options){
                                     .fixed_steps = (uint64_t)m->iterations,
                                     .fixed_passes = (uint64_t)m->num_runs,
                                     .steps_per_pass = r->group > 1 ? 1 : hl__row_steps_per_pass(r),
                                     .max_ns = hl_budget_measure_ns(row_ns, w->elapsed_ns),
                                     .min_ns = hl_budget_ns(m->min_time_s),
                                     .budget_binds_fixed = m->max_time_given,
                                     .step_ns = w->step_ns,
                                     .steps_per_sample = r->group});
  return HL_OK;
}

hl_status hl_row_run_all(hl_row *r, hl_error *error) {
  hl_status status = HL_OK;
  hl_slice_request request;
  hl__row_phase(r->context, "measuring");
  while (status == HL_OK && hl_stopping_next(&r->stopping, &request))
    status = hl_row_run(r, &request, 0, NULL, error);
  return status;
}

/* All that needs no answer of the worker. */
static hl_status summarise(hl_row *r, hl_error *error) {
  hl_record *record = r->record;
  hl_record_set_text(&record->stop, hl_stopping_reason_name(r->stopping.reason));
  hl_row_noise_fill(&r->noise, (double)r->steps, r->session.configuration->simulated, record);
  hl_retraces_fill(&r->retraces, record);
  if (r->group > 1)
    hl_record_note(record,
                   "a step is too short for the clock: %" PRIu32 " steps a sample, full "
                   "batches only",
                   r->group);
  /* Of models whose inputs are one pattern each, patterns are not worth a number of their own. */
  int64_t patterns = r->session.patterns_per_image;
  bool converged = r->stopping.reason == HL_STOP_CONVERGED;
  const hl_row_samples samples = {.ns = r->samples,
                                  .images = r->images,
                                  .looks = converged ? r->stopping.looks : 0,
                                  .count = r->count,
                                  .batch_size = r->session.step_images,
                                  .steps_per_sample = r->group,
                                  .patterns_per_image = patterns > 1 ? (double)patterns : 0};
  hl_status status = hl_row_summarise(record, &samples, HL_PERCENTILE_LINEAR, error);
  if (status != HL_OK) return status;
  hl_device_fill(&r->device, record);
  hl_energy_fill(&r->energy, "--min-time 10", record);
  hl_counters_fill(&r->counters, (double)r->steps, record);
  hl_pipeline_fill(&r->pipeline, r->session.scan_mb, record);
  hl_progressive_fill(&r->progressive, record);
  return HL_OK;
}

hl_status hl_row_summary(hl_row *r, hl_error *error) {
  hl_record *record = r->record;
  hl_stopping_end(&r->stopping);
  hl_status status = hl_session_fill_peak(&r->session, record, error);
  if (status == HL_OK) status = summarise(r, error);
  if (status == HL_OK) status = hl_row_check_image(r, error);
  if (status == HL_OK) status = hl_row_check_pictures(r, error);
  if (status == HL_OK) status = hl_session_device_time(&r->session, record, error);
  if (status != HL_OK) return status;
  return hl_session_feed(&r->session, record, r->context->method->max_time_s, error);
}

hl_status hl_row_salvage(hl_row *r, hl_error *error) {
  enum { least = 6 }; /* of the order-statistic interval of a median */
  if (r->full_count < least)
    return hl_error_set(error, HL_INTERRUPTED, "interrupted after %zu samples", r->full_count);
  hl_stopping_interrupt(&r->stopping);
  hl_record_note(r->record, "memory unknown: the worker was stopped before it was asked");
  return summarise(r, error);
}
