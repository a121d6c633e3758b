#include "method/batch-search.h"

#include "statistics/line.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Two sizes give a line, but not a trustworthy one. */
enum { FIT_POINTS_LEAST = 3 };

void hl_batch_search_init(hl_batch_search *search, const hl_batch_search_options *options) {
  *search = (hl_batch_search){.options = *options, .smallest_failed = INT64_MAX, .step = 1};
  hl_batch_search_options *o = &search->options;
  if (o->max_batch < 1) o->max_batch = HL_SEARCH_MAX_BATCH;
  if (o->max_batch == INT64_MAX) o->max_batch--; /* INT64_MAX stands for "none" */
  if (o->start < 1) o->start = 1;
  if (o->start > o->max_batch) o->start = o->max_batch;
  if (o->guess < 0) o->guess = 0;
  if (o->guess > o->max_batch) o->guess = o->max_batch;
}

/* Least failure above the largest size that passed; those below it contradict it. */
static void find_failure(hl_batch_search *s) {
  s->smallest_failed = INT64_MAX;
  s->failure_predicted = false;
  s->violations = 0;
  for (size_t i = 0; i < s->failure_count; i++) {
    if (s->failures[i] <= s->largest_passed) {
      s->violations += !s->predicted[i];
    } else if (s->failures[i] < s->smallest_failed) {
      s->smallest_failed = s->failures[i];
      s->failure_predicted = s->predicted[i];
    }
  }
}

static void add_failure(hl_batch_search *s, int64_t batch, bool predicted) {
  size_t at = s->failure_count;
  for (size_t i = 0; i < s->failure_count; i++)
    if (s->failures[i] == batch) at = i;
  if (at == HL_SEARCH_POINTS) {
    /* Full: the largest failure says least. */
    at = 0;
    for (size_t i = 1; i < s->failure_count; i++)
      if (s->failures[i] > s->failures[at]) at = i;
    if (s->failures[at] < batch) return;
  } else if (at == s->failure_count) {
    s->failure_count++;
  }
  s->failures[at] = batch;
  s->predicted[at] = predicted;
}

static void add_passed(hl_batch_search *s, int64_t batch, double bytes) {
  if (batch > s->largest_passed) s->largest_passed = batch;
  if (isfinite(bytes) && bytes > 0 && s->point_count < HL_SEARCH_POINTS) {
    s->batches[s->point_count] = (double)batch;
    s->bytes[s->point_count++] = bytes;
  }
}

void hl_batch_search_known(hl_batch_search *s, int64_t batch, hl_probe_result result,
                           double bytes) {
  if (batch < 1 || batch == INT64_MAX || result == HL_PROBE_OTHER) return;
  if (result == HL_PROBE_PREDICTED && s->options.no_predict) return;
  if (result == HL_PROBE_PASSED)
    add_passed(s, batch, bytes);
  else
    add_failure(s, batch, result == HL_PROBE_PREDICTED);
  find_failure(s);
}

static double predicted_bytes(const hl_batch_search *s, int64_t batch) {
  hl_line line;
  if (s->point_count < FIT_POINTS_LEAST) return (double)NAN;
  if (!hl_line_fit(s->batches, s->bytes, NULL, s->point_count, &line)) return (double)NAN;
  return line.a1 > 0 ? line.a0 + line.a1 * (double)batch : (double)NAN;
}

/* The size at which the fit reaches the available memory; 0 without a fit or a limit. */
static int64_t fitted_boundary(const hl_batch_search *s) {
  hl_line line;
  if (!(s->options.available_bytes > 0) || s->point_count < FIT_POINTS_LEAST) return 0;
  if (!hl_line_fit(s->batches, s->bytes, NULL, s->point_count, &line) || !(line.a1 > 0)) return 0;
  double boundary = (s->options.available_bytes - line.a0) / line.a1;
  return boundary >= 1 && boundary < (double)s->options.max_batch ? (int64_t)boundary : 0;
}

/* Doubling, or halving the gap, but never past what the fit says by more than a few sizes: those
 * steps grow fourfold on each side of it, so that a good fit needs few probes and a bad one not
 * many more than halving. */
static int64_t next_size(hl_batch_search *s) {
  int64_t low = s->largest_passed, high = s->smallest_failed, max = s->options.max_batch;
  bool open = high == INT64_MAX;
  int64_t plain = open ? (low > max / 2 ? max : 2 * low) : low + (high - low) / 2;
  int64_t guess = s->options.guess, fit = fitted_boundary(s);
  if (guess > low && guess < high) return guess;
  if (low == 0 && open) return s->options.start;
  if (fit == 0) fit = guess;
  if (fit == 0 || (open && fit > plain)) return plain < max ? plain : max;
  int64_t guided = fit;
  if (fit <= low || fit >= high) {
    guided = fit <= low ? low + s->step : high - s->step;
    if (s->step < INT64_MAX / 4) s->step *= 4;
  }
  /* Never farther than the plain search would go. */
  if ((fit <= low && guided > plain) || (fit >= high && guided < plain)) guided = plain;
  if (guided <= low || guided >= high) guided = plain;
  return guided < max ? guided : max;
}

bool hl_batch_search_next(hl_batch_search *s, hl_batch_probe *ret_probe) {
  if (s->end != HL_SEARCH_RUNNING) return false;
  int64_t low = s->largest_passed, high = s->smallest_failed;
  if (high != INT64_MAX && high == low + 1)
    s->end = low ? HL_SEARCH_BOUNDARY : HL_SEARCH_NOTHING_FITS;
  else if (low >= s->options.max_batch)
    s->end = HL_SEARCH_ALL_FIT;
  if (s->end != HL_SEARCH_RUNNING) return false;
  hl_batch_probe probe = {.batch = next_size(s)};
  probe.predicted_bytes = predicted_bytes(s, probe.batch);
  /* Comparisons with NaN are false: without a fit or a limit nothing is predicted. */
  probe.predicted = !s->options.no_predict && s->options.available_bytes > 0 &&
                    probe.batch != s->options.guess && /* the plan knows better than a line */
                    probe.predicted_bytes > HL_SEARCH_HOPELESS * s->options.available_bytes;
  s->probes++;
  *ret_probe = probe;
  return true;
}

void hl_batch_search_result(hl_batch_search *s, const hl_batch_probe *probe, hl_probe_result result,
                            double bytes, const char *reason) {
  if (result == HL_PROBE_OTHER) {
    s->end = HL_SEARCH_OTHER_FAILURE;
    snprintf(s->reason, sizeof s->reason, "%s", reason ? reason : "unknown");
    return;
  }
  if (result == HL_PROBE_PASSED)
    add_passed(s, probe->batch, bytes);
  else
    add_failure(s, probe->batch, result == HL_PROBE_PREDICTED);
  find_failure(s);
}

bool hl_batch_search_observed(const hl_batch_search *search) {
  return search->end == HL_SEARCH_BOUNDARY && !search->failure_predicted;
}

void hl_batch_search_explain(const hl_batch_search *s, char *ret_text, size_t size) {
  int64_t b = s->largest_passed;
  const char *why = s->failure_predicted ? "predicted, not run" : "out of memory";
  switch (s->end) {
  case HL_SEARCH_BOUNDARY:
    snprintf(ret_text, size, "batch %" PRId64 " runs and %" PRId64 " does not (%s)", b, b + 1, why);
    break;
  case HL_SEARCH_ALL_FIT:
    snprintf(ret_text, size, "batch %" PRId64 " runs; the search goes no further (--max-batch)", b);
    break;
  case HL_SEARCH_NOTHING_FITS:
    snprintf(ret_text, size, "not even batch 1 fits (%s)", why);
    break;
  case HL_SEARCH_OTHER_FAILURE:
    snprintf(ret_text, size, "the search ended early (%s); the largest batch that ran is %" PRId64,
             s->reason, b);
    break;
  case HL_SEARCH_RUNNING:
    snprintf(ret_text, size, "batch %" PRId64 " runs; the search was not finished", b);
    break;
  }
}
