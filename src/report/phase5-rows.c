/* From records and comparisons to what the files say. */
#include "report/number.h"
#include "report/phase5-internal.h"
#include "statistics/distribution.h"
#include "statistics/paired.h"
#include "statistics/percentile.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POOLED_MOST = 512 }; /* pairs of all repetitions */

const hl__phase5_optimization hl__phase5_optimizations[HL__PHASE5_OPTIMIZATIONS] = {
    {"grid-cache", "1.05-1.1x", "Grid caching"},
    {"fft-plan-cache", "1.0-1.2x", "FFT caching"},
    {"measurement-cache", "16x", "Measurement caching"},
    {"same-pass-metrics", "1.05-1.1x", "GPU metrics (here: in one pass)"},
    {"mixed-precision", "1.2-1.3x", "Mixed precision (AMP)"},
    {"kept-spectrum", NULL, "The truth's spectrum is kept"},
    {"matrix-dft", NULL, "Matrix DFT of the band"},
    {"real-input", NULL, "Half of the spectrum"},
    {"incremental-mask", NULL, "Cumulative mask grows"},
    {"one-forward", NULL, "One forward pass a sample"},
    {"fused-generator", NULL, "The engine's own convolutions"},
};

/* "standard" has "standard" and "standard-1", not "standard-deviation". */
static bool is_of(const char *entry, const char *name) {
  size_t length = strlen(name);
  if (!entry || strncmp(entry, name, length) != 0) return false;
  if (!entry[length]) return true;
  const char *digits = entry + length + 1;
  return entry[length] == '-' && *digits && strspn(digits, "0123456789") == strlen(digits);
}

void hl__phase5_select(const hl_records *records, const char *entry, const char *optimizations,
                       hl__phase5_side *ret_side) {
  *ret_side = (hl__phase5_side){0};
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (!is_of(r->entry, entry) || !r->optimizations ||
        strcmp(r->optimizations, optimizations) != 0)
      continue;
    if (!hl_record_passed(r))
      ret_side->failed = r;
    else if (ret_side->count < HL__PHASE5_ROWS)
      ret_side->rows[ret_side->count++] = r;
  }
}

double hl__phase5_value(const hl_record *record, const char *key) {
  const hl_metric *metric = hl_metric_find(key);
  if (!metric || hl_record_is_null(record, metric)) return (double)NAN;
  const void *field = (const char *)record + metric->offset;
  if (metric->kind == HL_METRIC_INT) return (double)*(const int64_t *)field;
  return metric->kind == HL_METRIC_REAL ? *(const double *)field : (double)NAN;
}

double hl__phase5_samples(const hl_record *r) {
  return hl__phase5_value(r, "apertures") * hl__phase5_value(r, "rounds");
}

double hl__phase5_median(const hl__phase5_side *side, const char *key) {
  double values[HL__PHASE5_ROWS];
  size_t count = 0;
  for (size_t i = 0; i < side->count; i++) {
    double value = hl__phase5_value(side->rows[i], key);
    if (!isnan(value)) values[count++] = value;
  }
  return count ? hl_median(values, count) : (double)NAN;
}

double hl__phase5_largest(const hl__phase5_side *side, const char *key) {
  double largest = (double)NAN;
  for (size_t i = 0; i < side->count; i++)
    largest = fmax(largest, hl__phase5_value(side->rows[i], key));
  return largest;
}

double hl__phase5_mean(const double *values, size_t n, double *ret_half) {
  double mean = 0, squares = 0;
  for (size_t i = 0; i < n; i++) mean += values[i] / (double)n;
  for (size_t i = 0; i < n; i++) squares += (values[i] - mean) * (values[i] - mean);
  *ret_half =
      hl_student_quantile(0.975, (double)(n - 1)) * sqrt(squares / (double)(n - 1) / (double)n);
  return mean;
}

/* The mean log-ratio of all passes in turns with Student's interval, where there are too few pairs
 * for one by ranks. Pairs that the machine disturbed are among them: they widen it. */
static void add_interval(const hl_record *a, const hl_record *b, hl__phase5_ratio *r) {
  size_t n = a->sample_count;
  if (n < 3 || n != b->sample_count || !a->samples_ns || !b->samples_ns) return;
  for (size_t i = 0; i < n; i++)
    if (!a->samples_ns[i] || !b->samples_ns[i]) return;
  HL_CLEANUP(hl_free_pointer) double *logs = malloc(n * sizeof *logs);
  if (!logs) return; /* no interval */
  for (size_t i = 0; i < n; i++) logs[i] = log((double)a->samples_ns[i] / (double)b->samples_ns[i]);
  double half, mean = hl__phase5_mean(logs, n, &half);
  r->value = exp(mean);
  r->pairs = (int64_t)n;
  r->low = exp(mean - half);
  r->high = exp(mean + half);
}

hl__phase5_ratio hl__phase5_compare(const hl_report_input *input, const hl_record *a,
                                    const hl_record *b) {
  bool swapped = false;
  const hl_comparison *c =
      input->comparisons ? hl_comparisons_find(input->comparisons, a, b, &swapped) : NULL;
  if (!c || isnan(c->ratio))
    return (hl__phase5_ratio){
        .value = a->latency_p50_ms / b->latency_p50_ms, .low = (double)NAN, .high = (double)NAN};
  hl__phase5_ratio r = {.value = c->ratio, .low = c->ci.low, .high = c->ci.high};
  if (swapped) r = (hl__phase5_ratio){.value = 1 / r.value, .low = 1 / r.high, .high = 1 / r.low};
  if (c->pairs != HL_INT_NULL) r.pairs = c->pairs;
  if (isnan(r.low) || isnan(r.high)) add_interval(a, b, &r);
  return r;
}

/* Appends the log-ratios of two rows' passes in turns; false where they have none. */
static bool add_ratios(const hl_record *a, const hl_record *b, double *logs, size_t *count) {
  size_t n = a->sample_count;
  if (n == 0 || n != b->sample_count || !a->samples_ns || !b->samples_ns) return false;
  if (*count + n > POOLED_MOST) return false;
  for (size_t i = 0; i < n; i++) {
    if (!a->samples_ns[i] || !b->samples_ns[i]) return false;
    logs[(*count)++] = log((double)a->samples_ns[i] / (double)b->samples_ns[i]);
  }
  return true;
}

/* All repetitions' pairs together, where they are enough for an interval by ranks. */
static bool pool(const double *logs, size_t count, hl__phase5_ratio *ret_whole) {
  hl_paired paired;
  if (count < HL_PAIRS_FOR_INTERVAL || hl_paired_estimate(logs, count, &paired, NULL) != HL_OK)
    return false;
  *ret_whole = (hl__phase5_ratio){.value = exp(paired.estimate),
                                  .low = exp(paired.low),
                                  .high = exp(paired.high),
                                  .pairs = (int64_t)count};
  return true;
}

hl__phase5_ratio hl__phase5_compare_sides(const hl_report_input *input, const hl__phase5_side *a,
                                          const hl__phase5_side *b, hl__phase5_ratio *ret_each,
                                          size_t *ret_count) {
  hl__phase5_ratio whole = {.value = (double)NAN, .low = (double)NAN, .high = (double)NAN};
  double values[HL__PHASE5_ROWS], logs[POOLED_MOST];
  size_t count = 0, log_count = 0;
  bool unknown = false, pooled = true;
  for (size_t i = 0; i < a->count; i++)
    for (size_t k = 0; k < b->count; k++) {
      if (strcmp(a->rows[i]->entry, b->rows[k]->entry) != 0 || count == HL__PHASE5_ROWS) continue;
      hl__phase5_ratio r = hl__phase5_compare(input, a->rows[i], b->rows[k]);
      if (isnan(r.value)) continue;
      unknown = unknown || isnan(r.low) || isnan(r.high);
      whole.low = fmin(whole.low, r.low);
      whole.high = fmax(whole.high, r.high);
      whole.pairs += r.pairs;
      pooled = pooled && add_ratios(a->rows[i], b->rows[k], logs, &log_count);
      values[count] = r.value;
      ret_each[count++] = r;
    }
  if (unknown) whole.low = whole.high = (double)NAN;
  if (count) whole.value = hl_median(values, count);
  *ret_count = count;
  if (count > 1 && pooled) (void)pool(logs, log_count, &whole);
  return whole;
}

void hl__phase5_json_ratio(hl_json *json, const char *key, const hl__phase5_ratio *ratio) {
  hl_json_object(json, key);
  hl_json_real(json, "value", ratio->value);
  hl_json_pair(json, "interval", (hl_pair){ratio->low, ratio->high});
  hl_json_int(json, "pairs", ratio->pairs);
  hl_json_end(json);
}

void hl__phase5_ratio_text(const hl__phase5_ratio *ratio, hl_text *out) {
  if (isnan(ratio->value))
    hl_text_append(out, "-");
  else if (isnan(ratio->low) || isnan(ratio->high))
    hl_text_format(out, "%.3gx (no interval)", ratio->value);
  else
    hl_text_format(out, "%.3gx [%.3g, %.3g]", ratio->value, ratio->low, ratio->high);
}

void hl__phase5_passes_text(const hl_record *r, hl_text *out) {
  char passes[HL_NUMBER_BYTES];
  hl_text_format(out, "%s passes of each row in turns, of %.0f samples: %lld aperture%s, ",
                 hl_report_int(r->measurement_iterations, "-", passes), hl__phase5_samples(r),
                 (long long)r->apertures, r->apertures == 1 ? "" : "s");
  hl_text_format(out, "each visited %lld time%s.\n\n", (long long)r->rounds,
                 r->rounds == 1 ? "" : "s");
}

/* -- heads ------------------------------------------------------------------------------------- */

void hl__phase5_json_head(const hl_report_input *input, const char *report, hl_json *json) {
  hl_json_object(json, NULL);
  hl_json_text(json, "schema", "hotlap.phase5/1");
  hl_json_text(json, "report", report);
  hl_json_text(json, "run", input->info->id);
  hl_json_text(json, "created", input->info->created);
  hl_json_text(json, "command", input->info->command);
  hl_json_text(json, "hotlap_version", input->info->hotlap_version);
  hl_json_text(json, "cpu", input->info->cpu);
  hl_record_json_int(json, "cores", input->info->cores);
}

void hl__phase5_text_head(const hl_report_input *input, const char *title, hl_text *out) {
  hl_text_line(out, "%s", title);
  for (const char *c = title; *c; c++) hl_text_char(out, '=');
  hl_text_char(out, '\n');
  hl_text_line(out, "%s, run %s, %s", input->info->created ? input->info->created : "-",
               input->info->id ? input->info->id : "-", input->info->cpu ? input->info->cpu : "-");
  hl_text_char(out, '\n');
}
