/* phase5_baseline_performance and phase5_optimized_performance. */
#include "report/number.h"
#include "report/phase5-internal.h"
#include <math.h>
#include <string.h>

typedef struct figure {
  const char *key;    /* in JSON */
  const char *metric; /* of records; NULL: computed below */
  const char *title, *unit;
} figure;

/* The stages are of a sample here, of a pass in records. */
static const figure figures[] = {
    {"total_time_s", NULL, "Total time of a pass", "s"},
    {"time_per_sample_ms", NULL, "Average time per sample", "ms"},
    {"throughput_samples_per_s", "throughput_ips", "Throughput", "samples/s"},
    {"peak_memory_mb", "memory_mb", "Peak memory", "MB"},
    {"measurement_cache_hit_rate_percent", "cache_hit_percent", "Measurement cache hit rate", "%"},
    {"measurement_cache_hits", "cache_hits", "  hits", ""},
    {"measurement_cache_misses", "cache_misses", "  misses", ""},
    {"measurement_cache_evictions", "cache_evictions", "  evictions", ""},
    {"measurement_cache_mb", "cache_mb", "  size", "MB"},
    {"fft_cache_hit_rate_percent", NULL, "FFT plan cache hit rate", "%"},
    {"fft_cache_hits", "plan_cache_hits", "  hits", ""},
    {"fft_cache_misses", "plan_cache_misses", "  tables made", ""},
    {"fft_cache_mb", "plan_cache_mb", "  size", "MB"},
    {"psnr_db", "psnr_db", "PSNR", "dB"},
    {"mse", "mse", "MSE", ""},
    {"ssim", "ssim", "SSIM", ""},
    {"correlation", "correlation", "Correlation", ""},
    {"measurement_error", "measurement_error", "Largest difference from the baseline", ""},
    {"stage_measure_ms", "stage_measure_ms", "Of a sample: measurement", "ms"},
    {"stage_forward_ms", "stage_forward_ms", "  generator, forward", "ms"},
    {"stage_loss_ms", "stage_loss_ms", "  losses and their gradient", "ms"},
    {"stage_backward_ms", "stage_backward_ms", "  generator, backward", "ms"},
    {"stage_optimizer_ms", "stage_optimizer_ms", "  Adam", "ms"},
    {"stage_metrics_ms", "stage_metrics_ms", "  metrics", "ms"},
    {"stage_other_ms", "stage_other_ms", "  other", "ms"},
};

static double samples_of(const hl__phase5_side *side) {
  return side->count ? hl__phase5_samples(side->rows[0]) : (double)NAN;
}

/* Tables that were there, of all that were asked for. The tables are made once in a worker's life,
 * hits are of each pass, so this is of the first one. */
static double plan_hit_rate(const hl__phase5_side *side) {
  double hits = hl__phase5_median(side, "plan_cache_hits");
  double misses = hl__phase5_median(side, "plan_cache_misses");
  return 100 * hits / (hits + misses);
}

static double figure_of(const hl__phase5_side *side, const figure *f) {
  if (strcmp(f->key, "total_time_s") == 0) return hl__phase5_median(side, "latency_p50_ms") / 1e3;
  if (strcmp(f->key, "time_per_sample_ms") == 0)
    return hl__phase5_median(side, "latency_p50_ms") / samples_of(side);
  if (strcmp(f->key, "fft_cache_hit_rate_percent") == 0) return plan_hit_rate(side);
  if (strcmp(f->key, "peak_memory_mb") == 0) return hl__phase5_largest(side, f->metric);
  double value = hl__phase5_median(side, f->metric);
  return strncmp(f->key, "stage_", 6) == 0 ? value / samples_of(side) : value;
}

static void repetitions_json(const hl__phase5_side *side, hl_json *json) {
  hl_json_array(json, "repetitions");
  for (size_t i = 0; i < side->count; i++) {
    const hl_record *r = side->rows[i];
    hl_json_object(json, NULL);
    hl_json_text(json, "entry", r->entry);
    hl_json_real(json, "total_time_s", r->latency_p50_ms / 1e3);
    hl_json_pair(json, "total_time_ci_s",
                 (hl_pair){r->latency_p50_ci_ms.low / 1e3, r->latency_p50_ci_ms.high / 1e3});
    hl_record_json_int(json, "passes", r->measurement_iterations);
    hl_json_end(json);
  }
  hl_json_end(json);
}

static void workload_json(const hl_record *r, hl_json *json) {
  hl_json_text(json, "model", r->model);
  hl_json_text(json, "engine", r->engine);
  hl_json_text(json, "dtype", r->dtype);
  hl_record_json_int(json, "threads", r->threads);
  hl_record_json_int(json, "apertures", r->apertures);
  hl_record_json_int(json, "rounds", r->rounds);
  hl_record_json_int(json, "updates_per_sample", r->updates_per_sample);
  hl_record_json_int(json, "image_size", r->image_size);
  hl_record_json_int(json, "object_size", r->object_size);
  hl_json_real(json, "aperture_radius", r->aperture_radius);
  hl_json_text(json, "aperture_pattern", r->aperture_pattern);
}

static const char *const scenarios[] = {"standard", "progressive"};

static const char *name_of(const char *optimizations) {
  return strcmp(optimizations, "none") == 0 ? "baseline" : "optimized";
}

void hl__phase5_performance_json(const hl_report_input *input, const char *optimizations,
                                 hl_text *out) {
  hl_json json;
  hl_json_init(&json, out, HL_JSON_PRETTY);
  hl__phase5_json_head(input, name_of(optimizations), &json);
  hl_json_text(&json, "optimizations", optimizations);
  hl_json_object(&json, "scenarios");
  for (size_t i = 0; i < HL_COUNT(scenarios); i++) {
    hl__phase5_side side;
    hl__phase5_select(input->records, scenarios[i], optimizations, &side);
    if (!side.count) continue;
    hl_json_object(&json, scenarios[i]);
    workload_json(side.rows[0], &json);
    for (size_t k = 0; k < HL_COUNT(figures); k++)
      hl_json_real(&json, figures[k].key, figure_of(&side, &figures[k]));
    repetitions_json(&side, &json);
    hl_json_end(&json);
  }
  hl_json_end(&json);
  hl_json_end(&json);
  hl_text_char(out, '\n');
}

static void workload_text(const hl_record *r, hl_text *out) {
  hl_text_line(out,
               "%s: %.0f samples (%lld apertures, %lld round%s), object %lld, image %lld, "
               "radius %g, %s, %lld update%s a sample at most; %s, %s, %lld threads",
               r->imaging_scenario ? r->imaging_scenario : "-", hl__phase5_samples(r),
               (long long)r->apertures, (long long)r->rounds, r->rounds == 1 ? "" : "s",
               (long long)r->object_size, (long long)r->image_size, r->aperture_radius,
               r->aperture_pattern ? r->aperture_pattern : "-", (long long)r->updates_per_sample,
               r->updates_per_sample == 1 ? "" : "s", r->engine, r->dtype, (long long)r->threads);
}

void hl__phase5_performance_text(const hl_report_input *input, const char *optimizations,
                                 hl_text *out) {
  bool baseline = strcmp(optimizations, "none") == 0;
  hl__phase5_side sides[HL_COUNT(scenarios)];
  hl__phase5_text_head(input,
                       baseline ? "PRISM phase 5: baseline performance (no optimisation)"
                                : "PRISM phase 5: optimised performance (all exact optimisations)",
                       out);
  for (size_t i = 0; i < HL_COUNT(scenarios); i++) {
    hl__phase5_select(input->records, scenarios[i], optimizations, &sides[i]);
    if (sides[i].count) workload_text(sides[i].rows[0], out);
    if (sides[i].failed)
      hl_text_line(out, "A row of %s did not pass: %s: %s", scenarios[i], sides[i].failed->outcome,
                   sides[i].failed->reason ? sides[i].failed->reason : "");
  }
  hl_text_append(out, "\nMedians over repetitions; the largest of memory.\n\n");
  hl_report_pad(out, "", 38);
  for (size_t i = 0; i < HL_COUNT(scenarios); i++) hl_report_pad(out, scenarios[i], -14);
  hl_text_char(out, '\n');
  for (size_t k = 0; k < HL_COUNT(figures); k++) {
    HL_CLEANUP(hl_free_pointer)
    char *title =
        hl_format("%s%s%s", figures[k].title, figures[k].unit[0] ? ", " : "", figures[k].unit);
    hl_report_pad(out, title ? title : "", 38);
    for (size_t i = 0; i < HL_COUNT(scenarios); i++) {
      char number[HL_NUMBER_BYTES];
      double value = figure_of(&sides[i], &figures[k]);
      hl_report_pad(out, hl_report_number(value, "-", number), -14);
    }
    hl_text_char(out, '\n');
  }
  hl_text_append(out, "\nA dash: not known, or the optimisation that it is of is off.\n");
}
