#include "formats/markdown.h"

#include "report/details.h"
#include "report/load-plot.h"
#include "report/markdown.h"
#include "report/number.h"
#include "report/training-plot.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

static void line(hl_text *out, const char *title, const char *value) {
  hl_text_format(out, "- **%s**: ", title);
  hl_markdown_text(out, value);
  hl_text_char(out, '\n');
}

static void number_line(hl_text *out, const char *title, double value, const char *unit) {
  char text[HL_NUMBER_BYTES];
  if (!isfinite(value))
    line(out, title, NULL);
  else
    hl_text_format(out, "- **%s**: %s%s%s\n", title, hl_report_number(value, "", text),
                   unit[0] ? " " : "", unit);
}

static const hl_analysis_point *point_of(const hl_analysis_group *g, int64_t batch) {
  for (size_t i = 0; i < g->point_count; i++)
    if (g->points[i].batch_size == batch) return &g->points[i];
  return NULL;
}

double hl__markdown_speedup(const hl_analysis_group *g, int64_t batch) {
  const hl_analysis_point *base = point_of(g, batch);
  return base ? g->points[g->optimal_point].throughput_ips / base->throughput_ips : (double)NAN;
}

/* As everywhere of the optimal size, which ties with the fastest and is the one to run; the fastest
 * that was measured, which the document's `speedup_vs_batch_...` are of, is named beside it. */
static void speedup_line(const hl_analysis_group *g, int64_t batch, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  double speedup = hl__markdown_speedup(g, batch);
  const hl_analysis_point *best = &g->points[g->best_point];
  hl_text_format(out, "- **Speedup vs Batch=%" PRId64 "**: ", batch);
  if (isfinite(speedup)) {
    hl_text_format(out, "%s times", hl_report_number(speedup, "", text));
    if (g->best_point != g->optimal_point)
      hl_text_format(
          out, " at batch %" PRId64 "; %s at batch %" PRId64 ", the fastest measured",
          g->optimal_batch_size,
          hl_report_number(best->throughput_ips / point_of(g, batch)->throughput_ips, "", text),
          best->batch_size);
    hl_text_char(out, '\n');
  } else if (batch == 1 && isfinite(g->points[g->optimal_point].speedup)) {
    hl_text_format(
        out, "— (batch 1 has no row; %s times batch %" PRId64 ", the smallest that passed)\n",
        hl_report_number(g->points[g->optimal_point].speedup, "—", text), g->baseline_batch);
  } else {
    hl_text_append(out, "—\n");
  }
}

static void summary_of_group(const hl_analysis_group *g, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  if (g->optimal_point >= g->point_count) {
    line(out, "Optimal Batch Size", "none: no row passed (see Failed Rows)");
    return;
  }
  const hl_analysis_point *p = &g->points[g->optimal_point];
  line(out, "Optimal Batch Size", hl_report_int(g->optimal_batch_size, "—", text));
  if (g->point_count == 1) line(out, "Sizes Measured", "this one only");
  bool imaging = hl_workload_is_progressive(g->workload);
  const char *rate = imaging ? "samples/second" : "images/second";
  number_line(out, "Maximum Throughput", g->max_throughput_ips, rate);
  number_line(out, "Throughput at Optimal", p->throughput_ips, rate);
  number_line(out, "Memory at Optimal", p->memory_mb, "MB");
  number_line(out, "Latency at Optimal", p->latency_ms, "ms a step");
  speedup_line(g, 1, out);
  speedup_line(g, 32, out);
  if (g->max_batch_size != HL_INT_NULL)
    line(out, "Largest Batch That Runs", hl_report_int(g->max_batch_size, "—", text));
}

static void put_summary(const hl_report_input *input, hl_text *out) {
  hl_text_append(out, "## Executive Summary\n\n");
  for (size_t i = 0; i < input->analysis->group_count; i++) {
    const hl_analysis_group *g = &input->analysis->groups[i];
    if (i > 0) hl_text_char(out, '\n');
    if (input->analysis->group_count > 1) hl__markdown_heading(out, g->name);
    summary_of_group(g, out);
  }
  if (input->analysis->group_count == 0)
    hl_text_format(out, "No best batch size: %s.\n", hl__markdown_nothing(input->records));
  hl_text_append(out, "\n");
  hl__markdown_verdicts(input->engines, out);
  hl_report_summary(input->records, out);
  hl_text_append(out, "\n");
}

/* Whether an earlier row has the same text in this metric. */
static bool seen_before(const hl_records *records, size_t row, const hl_metric *metric,
                        const char *text) {
  hl_text other = HL_TEXT_INIT;
  bool seen = false;
  for (size_t i = 0; i < row && !seen; i++) {
    hl_text_clear(&other);
    hl_record_field_text(&records->items[i], metric, &other);
    seen = strcmp(other.data, text) == 0;
  }
  hl_text_release(&other);
  return seen;
}

/* The different values of a metric over all rows: "a, b", or the first few and their number. */
static void distinct_line(const hl_records *records, const char *key, const char *title,
                          hl_text *out) {
  enum { SHOWN = 4 };
  const hl_metric *metric = hl_metric_find(key);
  hl_text all = HL_TEXT_INIT, value = HL_TEXT_INIT;
  size_t different = 0;
  for (size_t i = 0; metric && i < records->count; i++) {
    hl_text_clear(&value);
    hl_record_field_text(&records->items[i], metric, &value);
    if (hl_record_is_null(&records->items[i], metric) ||
        seen_before(records, i, metric, value.data))
      continue;
    if (different++ < SHOWN) hl_text_format(&all, "%s%s", all.length ? ", " : "", value.data);
  }
  if (different > SHOWN) hl_text_format(&all, ", … (%zu in all)", different);
  line(out, title, all.length ? all.data : NULL);
  hl_text_release(&all);
  hl_text_release(&value);
}

static void put_configuration(const hl_report_input *input, hl_text *out) {
  const hl_records *records = input->records;
  hl_text_append(out, "## Configuration\n\n");
  distinct_line(records, "model", "Model", out);
  distinct_line(records, "parameters", "Parameters", out);
  distinct_line(records, "data", "Dataset", out);
  distinct_line(records, "n_images", "Images", out);
  distinct_line(records, "device", "Hardware", out);
  distinct_line(records, "engine", "Engine", out);
  distinct_line(records, "engine_version", "Engine version", out);
  distinct_line(records, "dtype", "Type", out);
  distinct_line(records, "threads", "Threads", out);
  distinct_line(records, "seed", "Seed", out);
  distinct_line(records, "git_commit", "Commit", out);
  hl_text_append(out, "- **Command**: ");
  hl_markdown_code(out, input->info->command);
  hl_text_append(out, "\n\n");
}

/* `steps`: rows repeat a step until it is known; training takes the steps as they come, and no
 * limit of the machine is measured beside it. */
static void put_machine(const hl_run_info *info, bool steps, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  hl_text_append(out, "## Machine and Versions\n\n");
  line(out, "CPU", info->cpu);
  line(out, "Cores", hl_report_int(info->cores, "—", text));
  number_line(out, "Memory",
              info->memory_bytes == HL_INT_NULL ? (double)NAN : (double)info->memory_bytes / 1e9,
              "GB");
  line(out, "Operating system", info->os);
  line(out, "Kernel", info->kernel);
  if (steps) {
    number_line(out, "Measured peak", info->peak_gflops, "GFLOP/s");
    number_line(out, "Measured peak, bfloat16", info->peak_bfloat16_gflops, "GFLOP/s");
    number_line(out, "Measured bandwidth", info->peak_bandwidth_gbs, "GB/s");
  }
  line(out, "hotlap", info->hotlap_version);
  line(out, "Machine id", info->machine_id);
  line(out, "Run", info->id);
  line(out, "Started", info->created);
  if (info->resumed) line(out, "Resumed", info->resumed);
  hl_text_char(out, '\n');
}

static void put_method(const hl_report_input *input, bool steps, hl_text *out) {
  const hl_run_info *info = input->info;
  char text[HL_NUMBER_BYTES];
  hl_text_append(out, "## Method\n\n");
  if (!steps)
    line(out, "Steady steps",
         "those after the first 3, or after the first 1 of a run of at most 10");
  else if (info->warmup && strcmp(info->warmup, "auto") == 0)
    line(out, "Warm-up", "auto: until the steady state, outside the measurement");
  else
    line(out, "Warm-up", info->warmup);
  if (input->order) line(out, "Order", input->order);
  line(out, "Percentiles", info->percentiles);
  if (steps) number_line(out, "Budget of a row", info->max_time_s, "s");
  number_line(out, "First step", info->first_step_ms, "ms after the command, all set-up included");
  if (steps) number_line(out, "Overhead of hotlap", info->overhead_ns, "ns a step (null engine)");
  number_line(out, "Clock", info->clock_read_ns, "ns a read (CLOCK_MONOTONIC)");
  number_line(out, "Clock resolution", info->clock_resolution_ns, "ns");
  if (info->memory_limit_mb != HL_INT_NULL)
    hl_text_format(out, "- **Memory limit of a worker**: %s MB\n",
                   hl_report_int(info->memory_limit_mb, "—", text));
  if (steps) number_line(out, "Safety margin", 100 * info->safety_margin, "% of memory");
  hl_text_append(out,
                 "- One fresh process per row; each row is saved as soon as it is measured.\n\n");
}

void hl__markdown_heading(hl_text *out, const char *name) {
  hl_text_append(out, "### ");
  hl_markdown_text(out, name);
  hl_text_append(out, "\n\n");
}

void hl__markdown_word(hl_text *out, const char *text) {
  hl_text_char(out, ' ');
  hl_markdown_text(out, text);
  hl_text_append(out, " |");
}

void hl__markdown_cell(hl_text *out, double value) {
  char text[HL_NUMBER_BYTES];
  hl_text_format(out, " %s |", hl_report_number(value, "—", text));
}

void hl__markdown_cells(hl_text *out, const double *values, size_t count) {
  for (size_t i = 0; i < count; i++) hl__markdown_cell(out, values[i]);
}

static void metrics_row(const hl_record *r, const hl_analysis_point *p, bool best, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  hl_text_format(out, best ? "| **%s** |" : "| %s |", hl_report_int(r->batch_size, "—", text));
  hl__markdown_cell(out, r->throughput_ips);
  hl_text_format(out, " %s |",
                 hl_report_half_width(r->throughput_ci_ips, r->throughput_ips, "—", text));
  hl__markdown_cell(out, r->memory_mb);
  hl__markdown_cell(out, r->latency_p50_ms);
  hl__markdown_cell(out, r->latency_p95_ms);
  hl__markdown_cell(out, r->latency_p99_ms);
  hl__markdown_cell(out, r->latency_per_image_ms);
  hl__markdown_cell(out, r->efficiency);
  hl__markdown_cell(out, p->speedup);
  hl_text_format(out, " %s | ", hl_report_int(r->measurement_iterations, "—", text));
  if (r->steady == 0) hl_text_append(out, "not steady");
  if (r->stop && strcmp(r->stop, "converged") != 0 && strcmp(r->stop, "fixed") != 0) {
    if (r->steady == 0) hl_text_append(out, "; ");
    for (const char *c = r->stop; *c; c++) hl_text_char(out, *c == '_' ? ' ' : *c);
  }
  hl_text_append(out, " |\n");
}

static void put_metrics(const hl_report_input *input, const char *plot, hl_text *out) {
  hl_text_append(out, "## Performance Metrics\n\n");
  if (plot) hl_text_format(out, "![Performance against batch size](%s)\n\n", plot);
  for (size_t i = 0; i < input->analysis->group_count; i++) {
    const hl_analysis_group *g = &input->analysis->groups[i];
    if (input->analysis->group_count > 1) hl__markdown_heading(out, g->name);
    if (g->point_count == 0) {
      hl_text_append(out, "No row passed.\n\n");
      continue;
    }
    hl_text_append(
        out, "| Batch Size | Throughput (img/s) | ± % | Memory (MB) | Latency (ms) | p95 "
             "(ms) | p99 (ms) | ms/image | Efficiency (img/s/MB) | Scaling | Steps | Remarks |\n"
             "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|\n");
    for (size_t p = 0; p < g->point_count; p++)
      metrics_row(&input->records->items[g->points[p].row], &g->points[p], p == g->optimal_point,
                  out);
    hl_text_append(out, "\nThe optimal batch size is bold");
    if (g->region_first != HL_INT_NULL)
      hl_text_format(
          out, "; optimal region, with at least 95 %% of the best: batch %" PRId64 " to %" PRId64,
          g->region_first, g->region_last);
    hl_text_append(out, ".\n\n");
  }
  hl__markdown_rows(input->records, out);
}

/* Rows of one entry that were SKIPPED for one reason are a line: hardware that is not here has as
 * many rows as there are batch sizes. */
static bool same_failure(const hl_record *a, const hl_record *b) {
  return a->outcome && strcmp(a->outcome, "SKIPPED") == 0 && hl_text_same(a->outcome, b->outcome) &&
         hl_text_same(a->entry, b->entry) && hl_text_same(a->model, b->model) &&
         hl_text_same(a->engine, b->engine) && hl_text_same(a->dtype, b->dtype) &&
         hl_text_same(a->device_id, b->device_id) && a->threads == b->threads &&
         hl_text_same(a->reason, b->reason);
}

static void put_failure(const hl_records *records, size_t first, size_t end, hl_text *out) {
  const hl_record *r = &records->items[first];
  char text[HL_NUMBER_BYTES];
  hl_text_char(out, '|');
  hl__markdown_word(out, r->model);
  hl__markdown_word(out, r->engine);
  for (size_t i = first; i < end; i++)
    hl_text_format(out, "%s%s", i > first ? ", " : " ",
                   hl_report_int(records->items[i].batch_size, "—", text));
  hl_text_append(out, " |");
  hl__markdown_word(out, r->outcome);
  hl__markdown_word(out, r->reason);
  hl_text_char(out, ' ');
  hl_markdown_code(out, r->reproduce);
  hl_text_append(out, " |\n");
}

static void put_failed(const hl_records *records, hl_text *out) {
  bool any = false;
  for (size_t i = 0, end; i < records->count; i = end) {
    end = i + 1;
    if (hl_record_passed(&records->items[i])) continue;
    while (end < records->count && same_failure(&records->items[i], &records->items[end])) end++;
    if (!any)
      hl_text_append(out, "## Failed Rows\n\n| Model | Engine | Batch Size | Outcome | Reason | "
                          "Repeat with |\n|---|---|---:|---|---|---|\n");
    any = true;
    put_failure(records, i, end, out);
  }
  if (any) hl_text_char(out, '\n');
}

static void put_notes(const hl_records *records, hl_text *out) {
  bool any = false;
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    char text[HL_NUMBER_BYTES];
    if (!r->notes || !r->notes[0]) continue;
    if (!any) hl_text_append(out, "## Notes\n\n");
    any = true;
    hl_text_append(out, "- ");
    hl_markdown_text(out, r->model);
    hl_text_format(out, ", batch %s: ", hl_report_int(r->batch_size, "—", text));
    hl_markdown_text(out, r->notes);
    hl_text_char(out, '\n');
  }
  if (any) hl_text_char(out, '\n');
}

static void put_advice(const hl_report_input *input, hl_text *out) {
  const hl_analysis *analysis = input->analysis;
  hl_text_append(out, "## Recommendations\n\n");
  for (size_t i = 0; i < analysis->group_count; i++) {
    const hl_analysis_group *g = &analysis->groups[i];
    if (analysis->group_count > 1) hl__markdown_heading(out, g->name);
    for (size_t r = 0; r < g->recommendation_count; r++) {
      hl_text_append(out, "- ");
      hl_markdown_text(out, g->recommendations[r].text);
      hl_text_char(out, '\n');
    }
    if (g->recommendation_count == 0) hl_text_append(out, "None.\n");
    hl_text_char(out, '\n');
    hl__markdown_presets(input, g, out);
  }
  if (analysis->group_count == 0)
    hl_text_format(out, "None: %s.\n\n", hl__markdown_nothing(input->records));
}

static void put_bottleneck(const hl_report_input *input, hl_text *out) {
  const hl_analysis *analysis = input->analysis;
  hl_text_append(out, "## Bottleneck Analysis\n\n");
  for (size_t i = 0; i < analysis->group_count; i++) {
    const hl_analysis_group *g = &analysis->groups[i];
    if (analysis->group_count > 1) hl__markdown_heading(out, g->name);
    hl_text_format(out, "**%s**: ", hl_bottleneck_name(g->bottleneck));
    hl_markdown_text(out, g->bottleneck_evidence);
    hl_text_append(out, "\n\n");
    for (size_t f = 0; f < g->finding_count; f++) {
      const hl_finding *found = &g->findings[f];
      hl_text_append(out, "- ");
      for (const char *c = found->name; *c; c++) hl_text_char(out, *c == '_' ? ' ' : *c);
      hl_text_format(out, ": %s; ", found->holds < 0 ? "unknown" : found->holds ? "yes" : "no");
      hl_markdown_text(out, found->evidence);
      hl_text_char(out, '\n');
    }
    hl_text fit = HL_TEXT_INIT;
    if (g->point_count) hl_analysis_describe_fit(g, &fit);
    for (const char *at = fit.data; *at;) {
      HL_CLEANUP(hl_free_pointer) char *sentence = strndup(at, strcspn(at, "\n"));
      if (!sentence) break;
      at += strlen(sentence) + (at[strlen(sentence)] == '\n');
      hl_text_append(out, "- ");
      hl_markdown_text(out, sentence);
      hl_text_char(out, '\n');
    }
    if (fit.length || g->finding_count) hl_text_char(out, '\n');
    hl_text_release(&fit);
  }
  if (analysis->group_count == 0)
    hl_text_format(out, "None: %s.\n\n", hl__markdown_nothing(input->records));
}

void hl__markdown_definitions(const char *const *keys, hl_text *out) {
  hl_text_append(out, "## What the Numbers Mean\n\n");
  for (; *keys; keys++) {
    const hl_metric *m = hl_metric_find(*keys);
    if (!m) continue;
    hl_text_format(out, "- **%s**", m->title);
    if (m->unit[0]) hl_text_format(out, " (%s)", m->unit);
    hl_text_append(out, ": ");
    hl_markdown_text(out, m->doc);
    hl_text_append(out, ".\n");
  }
  hl_text_append(out, "- **—**: not known.\n");
}

static void put_definitions(hl_text *out) {
  static const char *const keys[] = {"batch_size",
                                     "throughput_ips",
                                     "throughput_ci_ips",
                                     "latency_p50_ms",
                                     "latency_p95_ms",
                                     "latency_p99_ms",
                                     "latency_per_image_ms",
                                     "memory_mb",
                                     "efficiency",
                                     "measurement_iterations",
                                     NULL};
  hl__markdown_definitions(keys, out);
  hl_text_append(out,
                 "- **± %**: half the width of the 95 % interval of the throughput.\n"
                 "- **Optimal batch size**: the smallest whose throughput interval overlaps "
                 "that of the best.\n"
                 "- **Optimal region**: the neighbouring sizes around the best that have at "
                 "least 95 % of its throughput.\n"
                 "- **Scaling**: the scaling factor, throughput divided by that of batch 1, or "
                 "of the smallest size that passed.\n");
}

static void put_pictures(const hl_report_input *input, hl_text *out) {
  if (input->picture_count) hl_text_append(out, "## Plots\n\n");
  for (size_t i = 0; i < input->picture_count; i++) {
    const hl_report_picture *p = &input->pictures[i];
    hl_text_append(out, "![");
    hl_markdown_text(out, p->title ? p->title : p->name);
    hl_text_format(out, "](%s.png)\n\n", p->name);
  }
}

static void put_title(const hl_report_input *input, const char *kind, hl_text *out) {
  hl_text_append(out, "# ");
  if (input->title) {
    hl_markdown_text(out, input->title);
    hl_text_append(out, ": ");
  } else if (input->records->count) {
    hl_text title = HL_TEXT_INIT;
    hl_markdown_text(&title, input->records->items[0].model);
    bool one = true;
    for (size_t i = 1; i < input->records->count; i++)
      one = one && hl_text_same(input->records->items[i].model, input->records->items[0].model);
    if (one) hl_text_format(out, "%s ", title.data);
    hl_text_release(&title);
  }
  hl_text_format(out, "%s\n\n", kind);
  if (input->description) {
    hl_markdown_text(out, input->description);
    hl_text_append(out, "\n\n");
  }
}

void hl_report_markdown(const hl_report_input *input, const char *plot, hl_text *out) {
  bool load = hl_load_plot_fits(input->records);
  bool training = hl_training_plot_fits(input->records), steps = !load && !training;
  put_title(input,
            load       ? "Load Test Report"
            : training ? "Training Report"
                       : "Inference Throughput Benchmark Report",
            out);
  bool plan = hl__markdown_has_entries(input->records); /* has its rows by entry */
  if (steps && !plan) put_summary(input, out);
  if (steps) hl__markdown_matrix(input, plot != NULL, out);
  hl__markdown_requirements(input->records, out);
  put_pictures(input, out);
  if (plan) hl__markdown_entries(input->records, out);
  put_configuration(input, out);
  if (load)
    hl__markdown_load(input->records, plot, out);
  else if (steps && (!plan || plot))
    put_metrics(input, plot, out);
  hl__markdown_training(input->records, training ? plot : NULL, out);
  hl__markdown_custom(input->records, out);
  hl__markdown_details(input->records, out);
  if (steps) {
    hl__markdown_engines(input->engines, out);
    put_advice(input, out);
    put_bottleneck(input, out);
    hl__markdown_expected(input, out);
    hl__markdown_hardware(input, out);
  }
  put_failed(input->records, out);
  put_notes(input->records, out);
  put_machine(input->info, !training, out);
  put_method(input, !training, out);
  if (steps) put_definitions(out);
  if (training) hl__markdown_training_definitions(out);
}
