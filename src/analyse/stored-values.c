/* The values of a row that are compared, and the estimate from those of two rows. */
#include "analyse/stored-internal.h"

#include "statistics/distribution.h"
#include <math.h>
#include <stdlib.h>

enum { BATCHES_LEAST = 6 };

/* One-sided 5 % point of the normal distribution, as in method/interval.c; half a 95 % interval in
 * deviations; 80 % power. */
static const double normal_95 = 1.645, normal_975 = 1.96, power_quantile = 0.84;
static const double autocorrelation_most = 0.9;

bool hl__stored_order_is_lost(const hl_record *r) {
  const uint64_t *ns = r->samples_ns;
  size_t n = ns ? r->sample_count : 0;
  if (n < HL_SAMPLES_LEAST || ns[0] >= ns[n - 1]) return false;
  for (size_t i = 1; i < n; i++)
    if (ns[i] < ns[i - 1]) return false;
  return true;
}

/* Joins batches until their medians are independent as far as so few can tell. */
static void cut(const double *logs, size_t n, double *scratch, hl__stored_values *v) {
  v->count = n < HL_BATCHES ? n : HL_BATCHES;
  for (;;) {
    hl_batch_medians(logs, n, v->count, v->logs, scratch);
    v->autocorrelation = v->count > 1 ? hl_autocorrelation(v->logs, v->count) : 0;
    v->dependent = !(v->autocorrelation < normal_95 / sqrt((double)v->count));
    if (!v->dependent || v->count / 2 < BATCHES_LEAST) return;
    v->count /= 2;
    v->joined = true;
  }
}

static void take_interval(const hl_record *r, hl__stored_values *v) {
  hl_pair ci = r->latency_p50_ci_ms;
  if (r->latency_p50_ms > 0) v->estimate_log = log(r->latency_p50_ms * 1e6);
  if (ci.low > 0 && ci.high >= ci.low && isfinite(ci.high))
    v->deviation_log = log(ci.high / ci.low) / (2 * normal_975);
}

hl_status hl__stored_values_make(const hl_record *record, hl__stored_values *ret_values,
                                 hl_error *error) {
  hl__stored_values v = {.estimate_log = (double)NAN, .deviation_log = (double)NAN};
  take_interval(record, &v);
  size_t n = record->samples_ns ? record->sample_count : 0;
  double group = record->steps_per_sample > 0 ? (double)record->steps_per_sample : 1;
  HL_CLEANUP(hl_free_pointer) double *logs = malloc((n + 1) * sizeof *logs);
  HL_CLEANUP(hl_free_pointer) double *scratch = malloc((n + 1) * sizeof *scratch);
  if (!logs || !scratch) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %zu steps", n);
  bool usable = n > 0;
  for (size_t i = 0; i < n && usable; i++) {
    usable = record->samples_ns[i] > 0; /* a time of nothing has no ratio */
    logs[i] = usable ? log((double)record->samples_ns[i] / group) : 0;
  }
  if (usable && !hl__stored_order_is_lost(record)) cut(logs, n, scratch, &v);
  *ret_values = v;
  return HL_OK;
}

/* P(|Z| > z). */
static double two_sided(double z) {
  return erfc(z / sqrt(2));
}

/* Without steps: the normal distribution that the rows' own intervals belong to. */
static void estimate_normally(const hl__stored_values *a, const hl__stored_values *b, double shift,
                              double level, hl_unpaired *out) {
  out->estimate = a->estimate_log + shift - b->estimate_log;
  double deviation = hypot(a->deviation_log, b->deviation_log);
  if (isnan(out->estimate) || isnan(deviation)) return;
  double quantile = hl_normal_quantile(1 - level / 2);
  out->low = out->estimate - quantile * deviation;
  out->high = out->estimate + quantile * deviation;
  out->detectable = (quantile + power_quantile) * deviation;
  double z = deviation > 0 ? fabs(out->estimate) / deviation : out->estimate != 0 ? INFINITY : 0;
  out->p = two_sided(z);
}

/* n values whose lag-1 autocorrelation is r are worth n (1 - r) / (1 + r) independent ones. */
static double widening_of(const hl__stored_values *a, const hl__stored_values *b) {
  double r = (a->autocorrelation + b->autocorrelation) / 2;
  r = r > 0 ? fmin(r, autocorrelation_most) : 0;
  return sqrt((1 + r) / (1 - r));
}

static hl_status estimate_from_values(const hl__stored_values *a, const hl__stored_values *b,
                                      double shift, double level, hl_unpaired *out,
                                      hl_error *error) {
  double shifted[HL_BATCHES], factor = widening_of(a, b);
  for (size_t i = 0; i < a->count; i++) shifted[i] = a->logs[i] + shift;
  double quantile = hl_normal_quantile(1 - level / 2), wide = two_sided(factor * quantile);
  hl_status status =
      hl_unpaired_estimate_at(shifted, a->count, b->logs, b->count, wide, out, error);
  if (status != HL_OK) return status;
  if (out->p > 0) out->p = two_sided(-hl_normal_quantile(out->p / 2) / factor);
  /* That of a test at `level`, of fewer values. */
  out->detectable *= factor * (quantile + power_quantile) / (factor * quantile + power_quantile);
  return HL_OK;
}

hl_status hl__stored_estimate(const hl__stored_values *a, const hl__stored_values *b, double shift,
                              double level, hl_unpaired *ret_estimate, hl_error *error) {
  double nan = (double)NAN;
  hl_unpaired out = {a->count, b->count, nan, nan, nan, nan, nan, nan};
  if (a->count && b->count) {
    hl_status status = estimate_from_values(a, b, shift, level, &out, error);
    if (status != HL_OK) return status;
  } else {
    out.n_a = out.n_b = 0;
    estimate_normally(a, b, shift, level, &out);
  }
  *ret_estimate = out;
  return HL_OK;
}
