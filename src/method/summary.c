#include "method/summary.h"

#include "method/interval.h"
#include "statistics/descriptive.h"
#include "statistics/series.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* MSER-5 drops a few values of any series; only a drop that matters is told. */
static const double hidden_share = 0.05, hidden_change = 0.01;
static const double overhead_share = 0.01;
enum { FEW_FIXED_STEPS = 50 };

static bool is_full(const hl_row_samples *samples, size_t index) {
  return samples->images[index] == (uint64_t)samples->batch_size * samples->steps_per_sample;
}

/* All there is while a row is summarised. */
typedef struct summary {
  hl_record *record;
  const hl_row_samples *samples;
  hl_percentile_rule percentiles;
  const double *ms; /* full steps in order */
  const double *sorted;
  size_t n;
} summary;

static void totals(hl_record *record, const hl_row_samples *samples) {
  double images = 0, ns = 0, patterns = samples->patterns_per_image;
  for (size_t i = 0; i < samples->count; i++) {
    images += (double)samples->images[i];
    ns += (double)samples->ns[i];
  }
  record->measurement_iterations = (int64_t)samples->count * samples->steps_per_sample;
  record->steps_per_sample = samples->steps_per_sample;
  record->measured_ms = ns / 1e6;
  record->throughput_ips = ns > 0 ? images / ns * 1e9 : (double)NAN;
  record->patterns_per_second = patterns > 0 ? record->throughput_ips * patterns : (double)NAN;
}

static void note_too_small(const summary *s, double percent, size_t worth) {
  size_t least = hl_percentile_least_n(percent);
  if (worth < s->n)
    hl_record_note(s->record, "n too small for p%g (%zu autocorrelated steps, worth %zu < %zu)",
                   percent, s->n, worth, least);
  else
    hl_record_note(s->record, "n too small for p%g (%zu < %zu)", percent, s->n, least);
}

static void percentile(const summary *s, double percent, double rho, double *ret_value,
                       hl_pair *ret_interval) {
  *ret_value = hl_percentile(s->sorted, s->n, percent, s->percentiles);
  double low, high;
  if (hl_percentile_interval(s->sorted, s->n, percent, rho, &low, &high)) {
    *ret_interval = (hl_pair){low, high};
    return;
  }
  note_too_small(s, percent, hl_effective_count(s->n, rho));
}

static void latencies(const summary *s) {
  hl_record *r = s->record;
  hl_description d = hl_describe(s->ms, s->n);
  r->latency_mean_ms = d.mean;
  r->latency_per_image_ms = d.mean / (double)s->samples->batch_size;
  r->latency_p50_ms = hl_percentile(s->sorted, s->n, 50, s->percentiles);
  if (s->samples->steps_per_sample > 1) {
    hl_record_note(r,
                   "steps are timed in groups of %" PRIu32 ": p50 is the median of group means, "
                   "other percentiles, deviation, least and most do not exist",
                   s->samples->steps_per_sample);
    return;
  }
  r->latency_std_ms = d.std;
  r->latency_min_ms = d.min;
  r->latency_max_ms = d.max;
  double rho = hl_autocorrelation(s->ms, s->n);
  percentile(s, 95, rho, &r->latency_p95_ms, &r->latency_p95_ci_ms);
  percentile(s, 99, rho, &r->latency_p99_ms, &r->latency_p99_ci_ms);
}

static void median_interval(const summary *s, const hl_median_interval *interval) {
  hl_record *r = s->record;
  r->lag1_autocorrelation = interval->autocorrelation;
  if (!isfinite(interval->low)) {
    note_too_small(s, 50, interval->worth);
    return;
  }
  r->latency_p50_ci_ms = (hl_pair){interval->low, interval->high};
  if (interval->by_batches && !interval->independent)
    hl_record_note(r,
                   "autocorrelated: slow stretches last longer than a batch (lag-1 %.2g), so that "
                   "the median's interval is too narrow",
                   interval->autocorrelation);
  if (r->stop && strcmp(r->stop, "budget_exhausted") == 0)
    hl_record_note(r, "budget_exhausted: the median is known to +-%.2g %%",
                   100 * interval->half_width);
  if (r->stop && strcmp(r->stop, "interrupted") == 0)
    hl_record_note(r, "interrupted: the median is known to +-%.2g %%", 100 * interval->half_width);
  if (r->stop && strcmp(r->stop, "fixed") == 0 && s->n < FEW_FIXED_STEPS)
    hl_record_note(r, "only %zu fixed steps: the median is known to +-%.2g %%", s->n,
                   100 * interval->half_width);
}

static void throughput_interval(const summary *s) {
  double low, high;
  hl_mean_interval_make(s->ms, s->n, &low, &high);
  if (!(low > 0)) return;
  /* Batch over an end of the mean's interval, moved by throughput over (batch over mean), which
   * differs from 1 by the partial batches only. */
  double scaled = s->record->throughput_ips * s->record->latency_mean_ms;
  s->record->throughput_ci_ips = (hl_pair){scaled / high, scaled / low};
}

static void hidden_warmup(const summary *s) {
  size_t drop = hl_mser5(s->ms, s->n);
  if ((double)drop < hidden_share * (double)s->n) return;
  double all = hl_describe(s->ms, s->n).mean, rest = hl_describe(s->ms + drop, s->n - drop).mean;
  if (fabs(all - rest) <= hidden_change * rest) return;
  hl_record_note(s->record,
                 "warm-up may hide in the samples: without the first %zu of %zu steps (MSER-5) the "
                 "mean changes by %+.2g %%",
                 drop, s->n, 100 * (rest - all) / all);
}

static void overhead(const summary *s) {
  double median_ns = s->record->latency_p50_ms * 1e6, own = s->record->overhead_ns;
  if (isfinite(own) && own > overhead_share * median_ns)
    hl_record_note(s->record, "hotlap's own overhead of %.3g ns is %.2g %% of a step", own,
                   100 * own / median_ns);
}

void hl_row_set_efficiency(hl_record *record) {
  bool known = isfinite(record->throughput_ips) && record->memory_mb > 0;
  record->efficiency = known ? record->throughput_ips / record->memory_mb : (double)NAN;
}

static hl_status full_steps(const summary *s, hl_error *error) {
  hl_median_interval interval;
  hl_status status = hl_median_interval_make(s->ms, s->n, s->samples->looks, &interval, error);
  if (status != HL_OK) return status;
  latencies(s);
  median_interval(s, &interval);
  throughput_interval(s);
  hidden_warmup(s);
  overhead(s);
  return HL_OK;
}

hl_status hl_row_summarise(hl_record *record, const hl_row_samples *samples,
                           hl_percentile_rule percentiles, hl_error *error) {
  size_t count = samples->count, n = 0;
  if (count == 0) return hl_error_set(error, HL_INVALID_ARGUMENT, "no step was measured");
  if (samples->batch_size < 1 || samples->steps_per_sample < 1)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "samples of no steps, or of no images");
  HL_CLEANUP(hl_free_pointer) uint64_t *full = malloc(count * sizeof *full);
  HL_CLEANUP(hl_free_pointer) double *ms = malloc(2 * count * sizeof *ms);
  if (!full || !ms)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %zu samples", count);
  double *sorted = ms + count;
  for (size_t i = 0; i < count; i++)
    if (is_full(samples, i)) full[n++] = samples->ns[i];
  for (size_t i = 0; i < n; i++)
    ms[i] = sorted[i] = (double)full[i] / samples->steps_per_sample / 1e6;
  hl_sort(sorted, n);

  if (record->batch_size == HL_INT_NULL) record->batch_size = samples->batch_size;
  record->full_batch_iterations = (int64_t)n * samples->steps_per_sample;
  totals(record, samples);
  summary s = {record, samples, percentiles, ms, sorted, n};
  if (n) {
    hl_status status = full_steps(&s, error);
    if (status != HL_OK) return status;
  } else {
    hl_record_note(record, "no step of a full batch was measured: latencies are unknown");
  }
  hl_row_set_efficiency(record);
  free(record->samples_ns);
  record->samples_ns = n ? full : NULL;
  record->sample_count = n;
  if (n) full = NULL;
  return HL_OK;
}
