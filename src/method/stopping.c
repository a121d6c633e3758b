#include "method/stopping.h"

#include <math.h>
#include <stdlib.h>

static const double half_width_most = 0.01, growth = 1.5;

const char *hl_stopping_reason_name(hl_stopping_reason reason) {
  switch (reason) {
  case HL_STOP_RUNNING:
    return "running";
  case HL_STOP_CONVERGED:
    return "converged";
  case HL_STOP_BUDGET:
    return "budget_exhausted";
  case HL_STOP_FIXED:
    return "fixed";
  case HL_STOP_INTERRUPTED:
    return "interrupted";
  }
  return "running";
}

void hl_stopping_init(hl_stopping *s, const hl_stopping_options *options) {
  *s = (hl_stopping){.options = *options, .target = HL_SAMPLES_LEAST};
  if (s->options.steps_per_sample == 0) s->options.steps_per_sample = 1;
  if (s->options.samples_most == 0) s->options.samples_most = HL_STOPPING_SAMPLES_MOST;
  if (s->options.steps_per_pass == 0) s->options.steps_per_pass = 1;
  if (!(s->options.step_ns > 0)) s->options.step_ns = 0;
}

static uint64_t left(uint64_t total, uint64_t spent) {
  return total > spent ? total - spent : 0;
}

static uint64_t add(uint64_t a, uint64_t b) {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t multiply(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* The number of steps the user fixed; 0 for none. */
static uint64_t fixed_steps(const hl_stopping *s) {
  if (s->options.fixed_steps) return s->options.fixed_steps;
  return multiply(s->options.fixed_passes, s->options.steps_per_pass);
}

static uint64_t steps_most(const hl_stopping *s) {
  return multiply(s->options.samples_most, s->options.steps_per_sample);
}

/* Steps to the next check, by samples and by least time; partial batches give no sample, hence the
 * ratio seen so far. */
static uint64_t steps_to_check(const hl_stopping *s) {
  double per_sample =
      s->samples ? (double)s->steps / (double)s->samples : (double)s->options.steps_per_sample;
  double steps = ceil((double)left(s->target, s->samples) * per_sample);
  double step_ns = s->steps ? (double)s->elapsed_ns / (double)s->steps : s->options.step_ns;
  double short_ns = (double)left(s->options.min_ns, s->elapsed_ns);
  if (short_ns > 0 && step_ns > 0) steps = fmax(steps, ceil(short_ns / step_ns));
  double most = (double)left(steps_most(s), s->steps);
  steps = fmax(1, fmin(steps, most));
  return (uint64_t)steps;
}

static uint64_t whole_passes(const hl_stopping *s, uint64_t steps) {
  uint64_t pass = s->options.steps_per_pass, over = (s->steps + steps) % pass;
  return over ? steps + (pass - over) : steps;
}

bool hl_stopping_next(hl_stopping *s, hl_slice_request *ret_request) {
  if (s->reason != HL_STOP_RUNNING) return false;
  uint64_t fixed = fixed_steps(s), budget = left(s->options.max_ns, s->elapsed_ns);
  if (fixed)
    *ret_request = (hl_slice_request){left(fixed, s->steps),
                                      s->options.budget_binds_fixed ? budget : UINT64_MAX};
  else
    *ret_request = (hl_slice_request){whole_passes(s, steps_to_check(s)), budget};
  return true;
}

static bool converged(const hl_stopping *s) {
  const hl_median_interval *i = &s->interval;
  return s->elapsed_ns >= s->options.min_ns && i->by_batches && i->independent &&
         i->half_width <= half_width_most;
}

/* Whether it has converged is told by the usual interval; what is kept takes back that the moment
 * was chosen. */
static hl_status check(hl_stopping *s, const hl_slice *slice, const uint64_t *all_ns, size_t count,
                       bool may_end, bool *ret_converged, hl_error *error) {
  double *values = malloc((count ? count : 1) * sizeof *values);
  if (!values) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %zu samples", count);
  for (size_t i = 0; i < count; i++) values[i] = (double)all_ns[i] / slice->steps_per_sample;
  hl_status status = hl_median_interval_make(values, count, 0, &s->interval, error);
  *ret_converged = may_end && status == HL_OK && converged(s);
  if (may_end) s->looks++;
  if (*ret_converged)
    status = hl_median_interval_make(values, count, s->looks, &s->interval, error);
  free(values);
  return status;
}

hl_status hl_stopping_add(hl_stopping *s, const hl_slice *slice, const uint64_t *all_ns,
                          size_t all_count, hl_error *error) {
  if (slice->steps == 0 || slice->steps_per_sample == 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "a slice of the measurement has no steps");
  s->steps = add(s->steps, slice->steps);
  s->elapsed_ns = add(s->elapsed_ns, slice->elapsed_ns);
  s->samples = all_count;
  s->options.steps_per_sample = slice->steps_per_sample;
  uint64_t fixed = fixed_steps(s);
  bool done = fixed && s->steps >= fixed;
  bool spent = s->elapsed_ns >= s->options.max_ns && (!fixed || s->options.budget_binds_fixed);
  bool full = !fixed && (s->samples >= s->options.samples_most || s->steps >= steps_most(s));
  /* A slice may be less than what was asked for; the next request ends with a pass. */
  bool whole = s->steps % s->options.steps_per_pass == 0;
  bool due = !fixed && whole && s->samples >= s->target && s->elapsed_ns >= s->options.min_ns;
  if (!done && !spent && !full && !due) return HL_OK;

  bool narrow = false;
  hl_status status = check(s, slice, all_ns, all_count, !fixed, &narrow, error);
  if (status != HL_OK) return status;
  if (done)
    s->reason = HL_STOP_FIXED;
  else if (narrow)
    s->reason = HL_STOP_CONVERGED;
  else if (spent || full)
    s->reason = HL_STOP_BUDGET;
  while (s->target <= s->samples) s->target = (size_t)ceil(growth * (double)s->target);
  return HL_OK;
}

void hl_stopping_end(hl_stopping *stopping) {
  if (stopping->reason == HL_STOP_RUNNING) stopping->reason = HL_STOP_BUDGET;
}

void hl_stopping_interrupt(hl_stopping *stopping) {
  stopping->reason = HL_STOP_INTERRUPTED;
}
