/* phase5_comparison.json and phase5_comparison_report.txt. */
#include "report/number.h"
#include "report/phase5-internal.h"
#include <math.h>
#include <string.h>

static const char *const scenarios[] = {"standard", "progressive"};

static const struct {
  const char *metric, *title;
} stages[] = {{"stage_measure_ms", "measurement"},
              {"stage_forward_ms", "generator, forward"},
              {"stage_loss_ms", "losses, gradient"},
              {"stage_backward_ms", "generator, backward"},
              {"stage_optimizer_ms", "Adam"},
              {"stage_metrics_ms", "metrics"},
              {"stage_other_ms", "other"}};

typedef struct compared {
  hl__phase5_side baseline, optimised;
  hl__phase5_ratio whole, each[HL__PHASE5_ROWS];
  size_t count;
} compared;

static bool compare(const hl_report_input *input, const char *scenario, compared *c) {
  hl__phase5_select(input->records, scenario, "none", &c->baseline);
  hl__phase5_select(input->records, scenario, "all", &c->optimised);
  c->whole = hl__phase5_compare_sides(input, &c->baseline, &c->optimised, c->each, &c->count);
  return c->count > 0;
}

static void scenario_json(const char *name, const compared *c, hl_json *json) {
  hl_json_object(json, name);
  hl_json_real(json, "baseline_time_s", hl__phase5_median(&c->baseline, "latency_p50_ms") / 1e3);
  hl_json_real(json, "optimized_time_s", hl__phase5_median(&c->optimised, "latency_p50_ms") / 1e3);
  hl_json_real(json, "baseline_samples_per_s", hl__phase5_median(&c->baseline, "throughput_ips"));
  hl_json_real(json, "optimized_samples_per_s", hl__phase5_median(&c->optimised, "throughput_ips"));
  hl__phase5_json_ratio(json, "speedup", &c->whole);
  hl_json_array(json, "repetitions");
  for (size_t i = 0; i < c->count; i++) hl__phase5_json_ratio(json, NULL, &c->each[i]);
  hl_json_end(json);
  hl_json_object(json, "stages");
  for (size_t i = 0; i < HL_COUNT(stages); i++) {
    double a = hl__phase5_median(&c->baseline, stages[i].metric);
    double b = hl__phase5_median(&c->optimised, stages[i].metric);
    hl_json_object(json, stages[i].metric);
    hl_json_real(json, "baseline", a);
    hl_json_real(json, "optimized", b);
    hl_json_real(json, "ratio", a / b);
    hl_json_end(json);
  }
  hl_json_end(json);
  hl_json_real(json, "psnr_difference_db",
               hl__phase5_median(&c->optimised, "psnr_db") -
                   hl__phase5_median(&c->baseline, "psnr_db"));
  hl_json_real(json, "cache_hit_rate_percent",
               hl__phase5_median(&c->optimised, "cache_hit_percent"));
  hl_json_end(json);
}

void hl__phase5_comparison_json(const hl_report_input *input, hl_text *out) {
  hl_json json;
  hl_json_init(&json, out, HL_JSON_PRETTY);
  hl__phase5_json_head(input, "comparison", &json);
  hl_json_object(&json, "scenarios");
  for (size_t i = 0; i < HL_COUNT(scenarios); i++) {
    compared c;
    if (compare(input, scenarios[i], &c)) scenario_json(scenarios[i], &c, &json);
  }
  hl_json_end(&json);
  hl_json_end(&json);
  hl_text_char(out, '\n');
}

static void row(hl_text *out, const char *title, double a, double b, double total_a) {
  char number[HL_NUMBER_BYTES];
  hl_text_append(out, "  ");
  hl_report_pad(out, title, 26);
  hl_report_pad(out, hl_report_number(a, "-", number), -12);
  hl_report_pad(out, hl_report_number(100 * a / total_a, "-", number), -10);
  hl_report_pad(out, hl_report_number(b, "-", number), -12);
  hl_report_pad(out, hl_report_number(a / b, "-", number), -10);
  hl_text_char(out, '\n');
}

static void scenario_text(const char *name, const compared *c, hl_text *out) {
  double a = hl__phase5_median(&c->baseline, "latency_p50_ms");
  double b = hl__phase5_median(&c->optimised, "latency_p50_ms");
  double samples = hl__phase5_samples(c->baseline.rows[0]);
  hl_text_format(out, "%s (%.0f samples)\n\n  Speed-up ", name, samples);
  hl__phase5_ratio_text(&c->whole, out);
  hl_text_format(out, ", %lld interleaved pairs\n  Repetitions: ", (long long)c->whole.pairs);
  for (size_t i = 0; i < c->count; i++) {
    hl_text_append(out, i ? ", " : "");
    hl__phase5_ratio_text(&c->each[i], out);
  }
  hl_text_append(out, "\n\n  ms per sample             ");
  static const char *const heads[] = {"baseline", "% of it", "optimised", "ratio"};
  static const int widths[] = {-12, -10, -12, -10};
  for (size_t i = 0; i < HL_COUNT(heads); i++) hl_report_pad(out, heads[i], widths[i]);
  hl_text_char(out, '\n');
  row(out, "whole", a / samples, b / samples, a / samples);
  for (size_t i = 0; i < HL_COUNT(stages); i++)
    row(out, stages[i].title, hl__phase5_median(&c->baseline, stages[i].metric) / samples,
        hl__phase5_median(&c->optimised, stages[i].metric) / samples, a / samples);
  hl_text_char(out, '\n');
}

/* What the document expects, beside what was found. */
static void expected_text(const compared *c, hl_text *out) {
  char a[HL_NUMBER_BYTES], b[HL_NUMBER_BYTES];
  double samples = hl__phase5_samples(c->baseline.rows[0]);
  hl_text_append(out, "The document expects of standard, on a processor of its own\n\n");
  hl_text_append(out, "                            expected         found\n");
  hl_text_format(
      out, "  baseline, ms per sample   50-100           %s\n",
      hl_report_number(hl__phase5_median(&c->baseline, "latency_p50_ms") / samples, "-", a));
  hl_text_format(
      out, "  optimised, ms per sample  5-10             %s\n",
      hl_report_number(hl__phase5_median(&c->optimised, "latency_p50_ms") / samples, "-", b));
  hl_text_append(out, "  combined speed-up         3-5x, above 5x   ");
  hl__phase5_ratio_text(&c->whole, out);
  hl_text_append(out, "\n\n");
}

void hl__phase5_comparison_text(const hl_report_input *input, hl_text *out) {
  hl__phase5_text_head(input, "PRISM phase 5: baseline against optimised", out);
  compared c[HL_COUNT(scenarios)];
  for (size_t i = 0; i < HL_COUNT(scenarios); i++)
    if (compare(input, scenarios[i], &c[i])) scenario_text(scenarios[i], &c[i], out);
  if (c[0].count) expected_text(&c[0], out);
  hl_text_append(
      out,
      "Speed-up: time of a pass without any optimisation over that with all exact ones, the\n"
      "Hodges-Lehmann estimate over passes in turns, with its interval at 95 %: by ranks, of\n"
      "fewer than 6 pairs the mean log-ratio with Student's. Pairs of several repetitions are\n"
      "taken together. phase5_checklist.txt has the acceptance.\n");
}
