/* Charts of rows that are no curve over batch sizes: load tests, training, memory, comparisons. */
#include "report/html-internal.h"
#include "report/load-rows.h"
#include "report/memory-report.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { RUNS_MOST = 12, STEPS_MOST = 500 };

/* ---- load ---- */

static bool has_rates(const hl_record *r) {
  return r->rates.count || (hl_load_is_told(r) && isfinite(r->target_qps));
}

/* The curves of one server: rates that were tried, and rows at a rate. */
static void put_server(hl_chart *chart, const hl_records *records, const hl_record *server,
                       bool alone) {
  static const char *const names[] = {"p50", "p90", "p99"};
  hl_text name = HL_TEXT_INIT;
  hl_load_append_server(server, &name);
  for (size_t k = 0; k < HL_COUNT(names); k++) {
    HL_CLEANUP(hl_free_pointer)
    char *series = alone ? hl_strdup(names[k]) : hl_format("%s, %s", name.data, names[k]);
    /* Of several servers a colour is a server, of one a percentile. */
    hl_chart_series(chart, series,
                    HL_CHART_LINE | (k && !alone ? HL_CHART_SAME : 0u) |
                        (k == 2 ? HL_CHART_DASHED : 0u));
    for (size_t i = 0; i < records->count; i++) {
      const hl_record *r = &records->items[i];
      if (!has_rates(r) || !hl_load_same_server(server, r)) continue;
      for (size_t n = 0; n < r->rates.count; n++) {
        const hl_rate *rate = &r->rates.items[n];
        const double values[] = {rate->latency_p50_ms, rate->latency_p90_ms, rate->latency_p99_ms};
        hl_chart_point(chart, rate->qps, values[k], hl_chart_no_interval,
                       rate->held == 1   ? "tried, target held"
                       : rate->held == 0 ? "tried, target not held"
                                         : "tried");
      }
      const double values[] = {r->latency_p50_ms, r->latency_p90_ms, r->latency_p99_ms};
      if (hl_load_is_told(r))
        hl_chart_point(chart, r->target_qps, values[k], hl_chart_no_interval, r->validity);
    }
  }
  hl_text_release(&name);
}

static bool is_first_of_server(const hl_records *records, size_t row) {
  if (!has_rates(&records->items[row])) return false;
  for (size_t k = 0; k < row; k++)
    if (has_rates(&records->items[k]) &&
        hl_load_same_server(&records->items[k], &records->items[row]))
      return false;
  return true;
}

void hl__html_charts_load(hl_html *html, const hl_records *records) {
  const hl_chart_spec spec = {.id = "load",
                              .title = "Latency of a query by the rate of arrivals",
                              .note = "From the intended start of a query.",
                              .x = {"Rate (queries/s)", HL_CHART_LOG},
                              .y = {"Latency (ms)", HL_CHART_LOG}};
  hl_chart chart;
  size_t servers = 0, shown = 0;
  for (size_t i = 0; i < records->count; i++) servers += is_first_of_server(records, i);
  hl_chart_begin(&chart, html, &spec);
  for (size_t i = 0; i < records->count && shown < RUNS_MOST; i++) {
    if (!is_first_of_server(records, i)) continue;
    put_server(&chart, records, &records->items[i], servers == 1);
    shown++;
  }
  hl_chart_end(&chart);
}

/* ---- training ---- */

static void run_name(const hl_record *r, hl_text *out) {
  hl_text_format(out, "%s, %s, batch %" PRId64, r->model ? r->model : "?",
                 r->engine ? r->engine : "?", r->batch_size);
  if (r->dtype && strcmp(r->dtype, "float32") != 0) hl_text_format(out, ", %s", r->dtype);
  if (r->ranks > 1) hl_text_format(out, ", %" PRId64 " ranks", r->ranks);
}

/* Of many steps the mean of each of STEPS_MOST stretches. */
static void put_losses(hl_chart *chart, const hl_record *r) {
  size_t stretch = (r->step_loss_count + STEPS_MOST - 1) / STEPS_MOST;
  for (size_t i = 0; i < r->step_loss_count; i += stretch) {
    size_t end = i + stretch < r->step_loss_count ? i + stretch : r->step_loss_count;
    double sum = 0;
    for (size_t k = i; k < end; k++) sum += (double)r->step_losses[k];
    hl_chart_point(chart, (double)(i + end + 1) / 2, sum / (double)(end - i), hl_chart_no_interval,
                   NULL);
  }
}

static void put_loss_chart(hl_html *html, const hl_records *records) {
  const hl_chart_spec spec = {.id = "loss",
                              .title = "Training loss by step",
                              .note = "Of more than 500 steps the mean of each stretch of them.",
                              .x = {"Step", HL_CHART_LINEAR},
                              .y = {"Loss", HL_CHART_LINEAR}};
  hl_chart chart;
  size_t runs = 0;
  hl_chart_begin(&chart, html, &spec);
  for (size_t i = 0; i < records->count && runs < RUNS_MOST; i++) {
    const hl_record *r = &records->items[i];
    if (!r->step_loss_count) continue;
    hl_text name = HL_TEXT_INIT;
    run_name(r, &name);
    hl_chart_series(&chart, name.data, HL_CHART_LINE | HL_CHART_BARE);
    put_losses(&chart, r);
    hl_text_release(&name);
    runs++;
  }
  hl_chart_end(&chart);
}

static bool knows(const hl_record *r, const char *key) {
  const hl_metric *m = hl_metric_find(key);
  return m && !hl_record_is_null(r, m);
}

static double real_of(const hl_record *r, const char *key) {
  return *(const double *)(const void *)((const char *)r + hl_metric_find(key)->offset);
}

/* A bar for each row that `chosen` picks, of the metrics of `keys`, named by their titles. */
static void put_stacked(hl_html *html, const hl_records *records, const hl_chart_spec *spec,
                        const char *const *keys, size_t key_count,
                        bool (*chosen)(const hl_record *),
                        void (*name_of)(const hl_record *, hl_text *)) {
  hl_chart chart;
  hl_chart_begin(&chart, html, spec);
  for (size_t k = 0; k < key_count; k++) {
    size_t bars = 0;
    bool any = false;
    for (size_t i = 0; i < records->count; i++)
      any |= chosen(&records->items[i]) && knows(&records->items[i], keys[k]) &&
             real_of(&records->items[i], keys[k]) > 0;
    if (!any) continue;
    hl_chart_series(&chart, hl_metric_find(keys[k])->title, HL_CHART_BARS);
    for (size_t i = 0; i < records->count && bars < 2 * RUNS_MOST; i++) {
      if (!chosen(&records->items[i])) continue;
      hl_text name = HL_TEXT_INIT;
      name_of(&records->items[i], &name);
      hl_chart_point(&chart, 0, real_of(&records->items[i], keys[k]), hl_chart_no_interval,
                     name.data);
      hl_text_release(&name);
      bars++;
    }
  }
  hl_chart_end(&chart);
}

static bool is_trained(const hl_record *r) {
  return hl_workload_is_training(r->workload) && hl_record_passed(r);
}

void hl__html_charts_training(hl_html *html, const hl_records *records) {
  static const char *const parts[] = {"data_load_ms", "transfer_ms", "forward_ms",
                                      "loss_ms",      "backward_ms", "optimizer_ms"};
  const hl_chart_spec spec = {.id = "step",
                              .title = "Where the time of a training step goes",
                              .note = "Means of the steady steps.",
                              .x = {"Run", HL_CHART_CATEGORIES},
                              .y = {"Time (ms)", HL_CHART_LINEAR},
                              .stacked = true};
  put_loss_chart(html, records);
  put_stacked(html, records, &spec, parts, HL_COUNT(parts), is_trained, run_name);
}

/* ---- memory ---- */

static bool is_mapped(const hl_record *r) {
  return hl_workload_is_memory(r->workload) && hl_record_passed(r) && isfinite(r->plan_peak_mb);
}

void hl__html_charts_memory(hl_html *html, const hl_records *records) {
  static const char *const parts[] = {
      "weights_mb",   "optimizer_state_mb",      "activations_mb", "saved_mb",
      "gradients_mb", "activation_gradients_mb", "workspace_mb",   "outputs_mb"};
  const hl_chart_spec spec = {.id = "memory-parts",
                              .title = "What memory is for at the fullest step",
                              .note = "By the engine's plan; the parts add up to its peak.",
                              .x = {"Row", HL_CHART_CATEGORIES},
                              .y = {"Memory (MB)", HL_CHART_LINEAR},
                              .stacked = true};
  put_stacked(html, records, &spec, parts, HL_COUNT(parts), is_mapped, hl__memory_name);
}

/* ---- comparisons ---- */

static bool is_one_model(const hl_comparisons *all) {
  for (size_t i = 1; all && i < all->count; i++)
    if (!hl_text_same(all->items[i].model, all->items[0].model) ||
        !hl_text_same(all->items[i].entry, all->items[0].entry))
      return false;
  return true;
}

/* "openvino against native, batch 8" */
static void pair_name(const hl_comparison *c, bool with_model, hl_text *out) {
  bool types = !hl_text_same(c->a_dtype, c->b_dtype);
  hl_text_format(out, "%s%s%s against %s%s%s", c->b_engine ? c->b_engine : "?", types ? " " : "",
                 types && c->b_dtype ? c->b_dtype : "", c->a_engine ? c->a_engine : "?",
                 types ? " " : "", types && c->a_dtype ? c->a_dtype : "");
  if (!hl_text_same(c->a_optimizations, c->b_optimizations))
    hl_text_format(out, ", %s against %s", c->b_optimizations ? c->b_optimizations : "?",
                   c->a_optimizations ? c->a_optimizations : "?");
  if (c->batch_size != HL_INT_NULL) hl_text_format(out, ", batch %" PRId64, c->batch_size);
  if (with_model)
    hl_text_format(out, ", %s%s%s", c->entry ? c->entry : "", c->entry ? ": " : "",
                   c->model ? c->model : "?");
}

void hl__html_charts_comparisons(hl_html *html, const hl_comparisons *comparisons) {
  const hl_chart_spec spec = {.id = "comparisons",
                              .title = "Ratios of time, with their intervals",
                              .note = "Time of the first divided by time of the second: right of 1 "
                                      "the second is faster.",
                              .x = {"Time of A / time of B", HL_CHART_LINEAR},
                              .y = {"Pair", HL_CHART_CATEGORIES},
                              .horizontal = true,
                              .has_reference = true,
                              .reference = 1};
  hl_chart chart;
  hl_chart_begin(&chart, html, &spec);
  hl_chart_series(&chart, "Ratio and interval", HL_CHART_MARKS);
  bool one = is_one_model(comparisons);
  for (size_t i = 0; comparisons && i < comparisons->count && i < 2 * RUNS_MOST; i++) {
    const hl_comparison *c = &comparisons->items[i];
    hl_text name = HL_TEXT_INIT;
    pair_name(c, !one, &name);
    hl_chart_point(&chart, c->ratio, 0, c->ci, name.data);
    hl_text_release(&name);
  }
  hl_chart_end(&chart);
}
