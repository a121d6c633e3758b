#include "method/warmup.h"

#include "method/budget.h"
#include "statistics/percentile.h"
#include "statistics/series.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A block of 100 ms and 10 steps; the cap should hold twice the 5 blocks of a check, so that a
 * first check that fails can be followed by a second. */
static const double block_ns = 100e6, block_steps_most = 10, block_steps_least = 2;
static const double blocks_wanted = 2 * HL_WARMUP_BLOCKS;
/* No block has more: steps that take no measurable time must end too. */
static const uint64_t steps_most = 1u << 20;

static const double slope_most = 0.01, spread_most = 1.05;
/* "About no" minor fault a step: the kernel's own housekeeping brings a few. */
static const double minor_faults_per_step_most = 0.5, minor_faults_allowed = 16;

void hl_warmup_init(hl_warmup *warmup, const hl_warmup_options *options) {
  *warmup = (hl_warmup){.options = *options, .cap_ns = hl_budget_warmup_ns(options->row_ns)};
  if (options->fixed_steps == 0) warmup->verdict = HL_WARMUP_FIXED;
}

static uint64_t left(uint64_t total, uint64_t spent) {
  return total > spent ? total - spent : 0;
}

/* Of a count that was asked for: as much is left for measuring. */
static uint64_t fixed_cap_ns(const hl_warmup *w) {
  return w->options.row_ns / 2;
}

/* Steps that are missing from the open block, by count and by time. */
static uint64_t missing_steps(const hl_warmup *w) {
  uint64_t by_count = left(w->block_steps, w->open.steps);
  double ns = w->block_ns - (double)w->open.elapsed_ns;
  double by_time = ns > 0 ? (w->step_ns > 0 ? ceil(ns / w->step_ns) : (double)steps_most) : 0;
  uint64_t steps = by_time < (double)steps_most ? (uint64_t)by_time : steps_most;
  if (steps < by_count) steps = by_count;
  return steps ? steps : 1;
}

bool hl_warmup_next(hl_warmup *w, hl_slice_request *ret_request) {
  if (w->verdict != HL_WARMUP_RUNNING) return false;
  if (w->options.fixed_steps > 0) {
    uint64_t most_ns =
        w->options.budget_binds_fixed ? left(fixed_cap_ns(w), w->elapsed_ns) : UINT64_MAX;
    *ret_request = (hl_slice_request){left((uint64_t)w->options.fixed_steps, w->steps), most_ns};
  } else if (w->steps < HL_WARMUP_DROP) {
    /* The first call alone: it may compile, and what it costs is reported apart. */
    uint64_t steps = w->steps == 0 ? 1 : HL_WARMUP_DROP - w->steps;
    *ret_request = (hl_slice_request){steps, left(w->options.row_ns / 2, w->elapsed_ns)};
  } else {
    *ret_request = (hl_slice_request){missing_steps(w), left(w->cap_ns, w->elapsed_ns)};
  }
  return true;
}

static double slice_step_ns(const hl_slice *slice) {
  return (double)slice->elapsed_ns / (double)slice->steps;
}

/* Still among the dropped steps: estimates a step by the fastest, as the first may be a
 * compilation, and sizes the blocks once the last is dropped. */
static void add_dropped(hl_warmup *w, const hl_slice *slice) {
  for (size_t i = 0; i < slice->sample_count; i++) {
    double ns = (double)slice->samples_ns[i] / slice->steps_per_sample;
    if (w->step_ns <= 0 || ns < w->step_ns) w->step_ns = ns;
  }
  if (w->step_ns <= 0) w->step_ns = slice_step_ns(slice);
  if (w->steps < HL_WARMUP_DROP) {
    /* Steps so long that dropping three would take half of the row. */
    if (w->elapsed_ns >= w->options.row_ns / 2) w->verdict = HL_WARMUP_UNCHECKED;
    return;
  }
  double cap_left = (double)left(w->cap_ns, w->elapsed_ns);
  if (HL_WARMUP_BLOCKS * block_steps_least * w->step_ns > cap_left) {
    w->verdict = HL_WARMUP_UNCHECKED;
    return;
  }
  double steps = block_steps_most;
  if (steps * blocks_wanted * w->step_ns > cap_left)
    steps = fmax(block_steps_least, floor(cap_left / (blocks_wanted * w->step_ns)));
  w->block_steps = (uint64_t)steps;
  w->block_ns = fmin(block_ns, cap_left / blocks_wanted);
}

static hl_status median_of(const hl_slice *slice, double *ret_median, hl_error *error) {
  double *values = malloc(slice->sample_count * sizeof *values);
  if (!values) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for warm-up samples");
  for (size_t i = 0; i < slice->sample_count; i++)
    values[i] = (double)slice->samples_ns[i] / slice->steps_per_sample;
  *ret_median = hl_median(values, slice->sample_count);
  free(values);
  return HL_OK;
}

static bool is_steady(const hl_warmup *w) {
  double medians[HL_WARMUP_BLOCKS], sorted[HL_WARMUP_BLOCKS];
  uint64_t steps = 0, minor = 0, major = 0;
  for (size_t i = 0; i < HL_WARMUP_BLOCKS; i++) {
    medians[i] = sorted[i] = w->last[i].median_ns;
    steps += w->last[i].steps;
    minor += w->last[i].minor_faults;
    major += w->last[i].major_faults;
  }
  double median = hl_median(sorted, HL_WARMUP_BLOCKS);
  /* Products, not quotients: a median of zero is steady too. */
  if (fabs(hl_slope(medians, HL_WARMUP_BLOCKS)) * HL_WARMUP_BLOCKS > slope_most * median)
    return false;
  if (sorted[HL_WARMUP_BLOCKS - 1] > spread_most * sorted[0]) return false;
  double allowed = fmax(minor_faults_allowed, minor_faults_per_step_most * (double)steps);
  return major == 0 && (double)minor <= allowed;
}

static void close_block(hl_warmup *w) {
  hl_warmup_block block = w->open;
  block.median_ns = block.full_steps ? block.median_ns / (double)block.full_steps
                                     : (double)block.elapsed_ns / (double)block.steps;
  memmove(w->last, w->last + 1, sizeof w->last - sizeof w->last[0]);
  w->last[HL_WARMUP_BLOCKS - 1] = block;
  w->block_count++;
  w->open = (hl_warmup_block){0};
  w->step_ns = (double)block.elapsed_ns / (double)block.steps;
  if (w->block_count >= HL_WARMUP_BLOCKS && is_steady(w)) w->verdict = HL_WARMUP_STEADY;
}

static hl_status add_to_block(hl_warmup *w, const hl_slice *slice, hl_error *error) {
  double median = 0;
  if (slice->sample_count) {
    hl_status status = median_of(slice, &median, error);
    if (status != HL_OK) return status;
  }
  uint64_t full_steps = slice->sample_count * slice->steps_per_sample;
  w->open.median_ns += median * (double)full_steps;
  w->open.full_steps += full_steps;
  w->open.steps += slice->steps;
  w->open.elapsed_ns += slice->elapsed_ns;
  w->open.minor_faults += slice->minor_faults;
  w->open.major_faults += slice->major_faults;
  if (w->step_ns <= 0) w->step_ns = slice_step_ns(slice);
  /* A block a little short of its time is a block: asking for one more step is not worth it. */
  bool long_enough = (double)w->open.elapsed_ns >= 0.9 * w->block_ns || w->open.steps >= steps_most;
  if (w->open.steps >= w->block_steps && long_enough) close_block(w);
  if (w->verdict == HL_WARMUP_RUNNING && w->elapsed_ns >= w->cap_ns)
    w->verdict =
        w->block_count >= HL_WARMUP_BLOCKS ? HL_WARMUP_NO_STEADY_STATE : HL_WARMUP_UNCHECKED;
  return HL_OK;
}

hl_status hl_warmup_add(hl_warmup *w, const hl_slice *slice, hl_error *error) {
  if (slice->steps == 0 || slice->steps_per_sample == 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "a slice of the warm-up has no steps");
  bool dropped = w->steps < HL_WARMUP_DROP;
  if (w->steps == 0)
    w->first_ns = slice->sample_count ? slice->samples_ns[0] : slice->elapsed_ns / slice->steps;
  w->steps += slice->steps;
  w->elapsed_ns += slice->elapsed_ns;
  if (w->options.fixed_steps >= 0) {
    w->step_ns = slice_step_ns(slice);
    bool spent = w->options.budget_binds_fixed && w->elapsed_ns >= fixed_cap_ns(w);
    if (w->steps >= (uint64_t)w->options.fixed_steps || spent) w->verdict = HL_WARMUP_FIXED;
    return HL_OK;
  }
  if (!dropped) return add_to_block(w, slice, error);
  add_dropped(w, slice);
  return HL_OK;
}

int8_t hl_warmup_steady(const hl_warmup *warmup) {
  switch (warmup->verdict) {
  case HL_WARMUP_STEADY:
    return 1;
  case HL_WARMUP_NO_STEADY_STATE:
    return 0;
  default:
    return -1;
  }
}

void hl_warmup_explain(const hl_warmup *w, char *ret_text, size_t size) {
  if (size) ret_text[0] = '\0';
  double seconds = (double)w->elapsed_ns / 1e9;
  if (w->verdict == HL_WARMUP_FIXED && w->options.fixed_steps > 0 &&
      w->steps < (uint64_t)w->options.fixed_steps)
    snprintf(ret_text, size,
             "warmup_cut: %" PRIu64 " of %" PRId64
             " warm-up steps took %.3g s, half of the row's %.3g s or more",
             w->steps, w->options.fixed_steps, seconds, (double)w->options.row_ns / 1e9);
  if (w->verdict == HL_WARMUP_NO_STEADY_STATE)
    snprintf(ret_text, size,
             "no_steady_state: step time or page faults still changed after %" PRIu64
             " warm-up steps in %.3g s",
             w->steps, seconds);
  else if (w->verdict == HL_WARMUP_UNCHECKED)
    snprintf(ret_text, size,
             "warmup_unchecked: %" PRIu64
             " steps of about %.3g s were dropped; five blocks to check "
             "for a steady state did not fit in %.3g s",
             w->steps, w->step_ns / 1e9, (double)w->cap_ns / 1e9);
}
