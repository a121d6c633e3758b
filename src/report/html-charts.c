/* Charts of rows over batch sizes. */
#include "report/html-internal.h"
#include "report/number.h"
#include "statistics/percentile.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SUBJECTS_MOST = 8, SERIES_MOST = 12, CURVES_MOST = 8 };

/* Groups of one network, with one entry and workload: what one chart shows. */
typedef struct subject {
  const hl_report_input *input;
  const hl_analysis_group *groups[SERIES_MOST];
  char *names[SERIES_MOST]; /* what tells a group from the others */
  size_t count, left_out;
  const char *note; /* of the workload, or NULL */
} subject;

static const hl_record *row_of(const subject *s, const hl_analysis_point *p) {
  return &s->input->records->items[p->row];
}

static bool belongs(const hl_analysis_group *a, const hl_analysis_group *b) {
  return hl_text_same(a->entry, b->entry) && hl_text_same(a->model, b->model) &&
         hl_text_same(a->workload, b->workload);
}

static char *name_of(const hl_analysis_group *g, bool types, bool threads, bool devices) {
  hl_text name = HL_TEXT_INIT;
  hl_text_append(&name, g->engine ? g->engine : "?");
  if (types && g->dtype) hl_text_format(&name, ", %s", g->dtype);
  if (threads && g->threads != HL_INT_NULL)
    hl_text_format(&name, ", %" PRId64 " thread%s", g->threads, g->threads == 1 ? "" : "s");
  if (devices && g->device) hl_text_format(&name, ", %s", g->device);
  return hl_text_take(&name);
}

static void name_groups(subject *s) {
  const hl_analysis_group *first = s->groups[0];
  bool types = false, threads = false, devices = false;
  for (size_t i = 1; i < s->count; i++) {
    types |= !hl_text_same(s->groups[i]->dtype, first->dtype);
    threads |= s->groups[i]->threads != first->threads;
    devices |= !hl_text_same(s->groups[i]->device, first->device);
  }
  for (size_t i = 0; i < s->count; i++)
    s->names[i] = name_of(s->groups[i], types, threads, devices);
}

/* The subject of the group at `first`, unless an earlier group has it. */
static bool find_subject(const hl_report_input *input, size_t first, subject *ret_subject) {
  const hl_analysis *a = input->analysis;
  subject s = {.input = input};
  for (size_t i = 0; i < a->group_count; i++) {
    if (a->groups[i].point_count == 0 || !belongs(&a->groups[i], &a->groups[first])) continue;
    if (i < first) return false;
    if (s.count < SERIES_MOST)
      s.groups[s.count++] = &a->groups[i];
    else
      s.left_out++;
  }
  if (s.count == 0) return false;
  name_groups(&s);
  *ret_subject = s;
  return true;
}

static void subject_release(subject *s) {
  for (size_t i = 0; i < s->count; i++) free(s->names[i]);
}

/* ---- over batch sizes ---- */

typedef struct over_batch {
  const char *what, *title, *unit;
  const char *key, *interval; /* metrics of the row; no interval: NULL */
} over_batch;

static const over_batch throughput = {"throughput", "Throughput", "images/s", "throughput_ips",
                                      "throughput_ci_ips"};
static const over_batch memory = {"memory", "Peak memory", "MB", "memory_mb", NULL};

static const hl_chart_axis by_size = {"Batch size", HL_CHART_LOG2},
                           by_setting = {"Setting", HL_CHART_CATEGORIES};

static double real_of(const hl_record *r, const char *key) {
  const hl_metric *m = hl_metric_find(key);
  return m ? *(const double *)(const void *)((const char *)r + m->offset) : (double)NAN;
}

static hl_pair pair_of(const hl_record *r, const char *key) {
  const hl_metric *m = key ? hl_metric_find(key) : NULL;
  return m ? *(const hl_pair *)(const void *)((const char *)r + m->offset) : hl_chart_no_interval;
}

static void put_series(hl_chart *chart, const subject *s, size_t i, const char *suffix,
                       const char *key, const char *interval, unsigned style) {
  HL_CLEANUP(hl_free_pointer)
  char *name = suffix ? hl_format("%s, %s", s->names[i], suffix) : hl_strdup(s->names[i]);
  hl_chart_series(chart, name, style);
  for (size_t p = 0; p < s->groups[i]->point_count; p++) {
    const hl_record *r = row_of(s, &s->groups[i]->points[p]);
    hl_chart_point(chart, (double)r->batch_size, real_of(r, key), pair_of(r, interval), NULL);
  }
}

/* Whether no setting has two sizes: bars beside each other say more than a point each. */
static bool is_single(const subject *s) {
  for (size_t i = 0; i < s->count; i++)
    if (s->groups[i]->point_count > 1) return false;
  return true;
}

static void put_bars(hl_chart *chart, const subject *s, const char *name, const char *key,
                     const char *interval) {
  hl_chart_series(chart, name, HL_CHART_BARS);
  for (size_t i = 0; i < s->count; i++) {
    const hl_record *r = row_of(s, &s->groups[i]->points[0]);
    HL_CLEANUP(hl_free_pointer)
    char *label = hl_format("%s, batch %" PRId64, s->names[i], r->batch_size);
    hl_chart_point(chart, 0, real_of(r, key), pair_of(r, interval), label);
  }
}

static void put_over_batch(hl_html *html, const subject *s, size_t number, const over_batch *o) {
  bool single = is_single(s);
  HL_CLEANUP(hl_free_pointer) char *id = hl_format("%s-%zu", o->what, number);
  HL_CLEANUP(hl_free_pointer) char *axis = hl_format("%s (%s)", o->title, o->unit);
  HL_CLEANUP(hl_free_pointer) char *title = hl_format("%s by batch size", o->title);
  const hl_chart_spec spec = {.id = id,
                              .title = single ? o->title : title,
                              .note = s->note,
                              .x = single ? by_setting : by_size,
                              .y = {axis, single ? HL_CHART_LINEAR : HL_CHART_LOG}};
  hl_chart chart;
  hl_chart_begin(&chart, html, &spec);
  if (single) put_bars(&chart, s, o->title, o->key, o->interval);
  for (size_t i = 0; i < s->count && !single; i++)
    put_series(&chart, s, i, NULL, o->key, o->interval, HL_CHART_LINE);
  hl_chart_end(&chart);
}

static void put_latency(hl_html *html, const subject *s, size_t number) {
  static const struct {
    const char *name, *key, *interval;
  } all[] = {{"p50", "latency_p50_ms", "latency_p50_ci_ms"},
             {"p95", "latency_p95_ms", "latency_p95_ci_ms"},
             {"p99", "latency_p99_ms", "latency_p99_ci_ms"}};
  bool single = is_single(s);
  HL_CLEANUP(hl_free_pointer) char *id = hl_format("latency-%zu", number);
  const hl_chart_spec spec = {
      .id = id,
      .title = single ? "Latency of a step" : "Latency of a step by batch size",
      .note = single ? NULL : "Median, and the percentiles above it, dashed.",
      .x = single ? by_setting : by_size,
      .y = {"Latency (ms)", single ? HL_CHART_LINEAR : HL_CHART_LOG}};
  hl_chart chart;
  hl_chart_begin(&chart, html, &spec);
  for (size_t k = 0; k < HL_COUNT(all) && single; k++)
    put_bars(&chart, s, all[k].name, all[k].key, all[k].interval);
  for (size_t i = 0; i < s->count && !single; i++)
    for (size_t k = 0; k < HL_COUNT(all); k++)
      if (k != 1 || s->count == 1) /* of many the ends are enough */
        put_series(&chart, s, i, all[k].name, all[k].key, all[k].interval,
                   HL_CHART_LINE | (k ? HL_CHART_DASHED | HL_CHART_SAME : 0u));
  hl_chart_end(&chart);
}

/* ---- all steps of a row ---- */

static void put_curve(hl_chart *chart, const hl_record *r, const char *name) {
  static const double percents[] = {0,  1,  5,  10, 20, 25, 30, 40, 50,   60,
                                    70, 75, 80, 90, 95, 97, 98, 99, 99.9, 100};
  double *sorted = malloc(r->sample_count * sizeof *sorted);
  if (!sorted) return;
  for (size_t i = 0; i < r->sample_count; i++) sorted[i] = (double)r->samples_ns[i] / 1e6;
  hl_sort(sorted, r->sample_count);
  hl_chart_series(chart, name, HL_CHART_LINE);
  for (size_t i = 0; i < HL_COUNT(percents); i++)
    if (percents[i] != 99.9 || r->sample_count >= 1000)
      hl_chart_point(chart, percents[i],
                     hl_percentile(sorted, r->sample_count, percents[i], HL_PERCENTILE_LINEAR),
                     hl_chart_no_interval, NULL);
  free(sorted);
}

/* Of several groups their best rows; of one the sizes, evenly picked where they are many. */
static void put_distribution(hl_html *html, const subject *s, size_t number) {
  HL_CLEANUP(hl_free_pointer) char *id = hl_format("distribution-%zu", number);
  const hl_chart_spec spec = {.id = id,
                              .title = "Latency by percentile",
                              .note = "Of all measured full steps of a row: how many percent took "
                                      "at most so long. The steeper the end, the longer the tail.",
                              .x = {"Percent of steps", HL_CHART_LINEAR},
                              .y = {"Latency (ms)", HL_CHART_LOG}};
  hl_chart chart;
  hl_chart_begin(&chart, html, &spec);
  for (size_t i = 0; i < s->count && i < CURVES_MOST; i++) {
    const hl_analysis_group *g = s->groups[i];
    size_t step = s->count > 1 ? 1 : (g->point_count + CURVES_MOST - 1) / CURVES_MOST;
    for (size_t p = 0; p < g->point_count; p += step) {
      if (s->count > 1 && p != g->optimal_point) continue;
      const hl_record *r = row_of(s, &g->points[p]);
      HL_CLEANUP(hl_free_pointer)
      char *name = s->count > 1 ? hl_format("%s, batch %" PRId64, s->names[i], r->batch_size)
                                : hl_format("batch %" PRId64, r->batch_size);
      if (r->sample_count >= 2) put_curve(&chart, r, name);
    }
  }
  hl_chart_end(&chart);
}

/* ---- latency against throughput ---- */

static const hl_engine_model *model_of(const subject *s) {
  for (size_t i = 0; s->input->engines && i < s->input->engines->count; i++)
    for (size_t k = 0; k < s->input->engines->models[i].member_count; k++)
      if (s->input->engines->models[i].members[k].group == s->groups[0])
        return &s->input->engines->models[i];
  return NULL;
}

/* Points that no other beats in both; of several engines as analyse/engines.h has it, with regard
 * to the intervals. Rising latency. */
static void put_front(hl_chart *chart, const subject *s) {
  const hl_engine_model *model = model_of(s);
  hl_chart_series(chart, "Front: none is better in both",
                  HL_CHART_LINE | HL_CHART_BARE | HL_CHART_DASHED);
  if (model) {
    for (size_t i = 0; i < model->point_count; i++)
      if (model->points[i].on_front)
        hl_chart_point(chart, model->points[i].latency_ms, model->points[i].throughput_ips,
                       hl_chart_no_interval, NULL);
    return;
  }
  const hl_analysis_group *g = s->groups[0];
  for (size_t p = 0; p < g->point_count; p++) {
    bool beaten = false;
    for (size_t q = 0; q < g->point_count; q++)
      beaten |= g->points[q].latency_ms < g->points[p].latency_ms &&
                g->points[q].throughput_ips > g->points[p].throughput_ips;
    if (!beaten)
      hl_chart_point(chart, g->points[p].latency_ms, g->points[p].throughput_ips,
                     hl_chart_no_interval, NULL);
  }
}

static void put_pareto(hl_html *html, const subject *s, size_t number) {
  HL_CLEANUP(hl_free_pointer) char *id = hl_format("pareto-%zu", number);
  const hl_chart_spec spec = {.id = id,
                              .title = "Throughput against latency",
                              .note = "Up and to the left is better.",
                              .x = {"Latency of a step (ms)", HL_CHART_LOG},
                              .y = {"Throughput (images/s)", HL_CHART_LOG}};
  hl_chart chart;
  hl_chart_begin(&chart, html, &spec);
  for (size_t i = 0; i < s->count; i++) {
    hl_chart_series(&chart, s->names[i], HL_CHART_MARKS);
    for (size_t p = 0; p < s->groups[i]->point_count; p++) {
      const hl_analysis_point *point = &s->groups[i]->points[p];
      HL_CLEANUP(hl_free_pointer) char *label = hl_format("batch %" PRId64, point->batch_size);
      hl_chart_point(&chart, point->latency_ms, point->throughput_ips, point->throughput_ci_ips,
                     label);
    }
  }
  put_front(&chart, s);
  hl_chart_end(&chart);
}

/* ---- roofline ---- */

static void put_roof(hl_chart *chart, const char *name, double peak_gflops, double bandwidth_gbs,
                     hl_pair range) {
  double ridge = peak_gflops / bandwidth_gbs;
  const double at[] = {fmin(range.low, ridge) / 2, ridge, fmax(range.high, ridge) * 2};
  hl_chart_series(chart, name, HL_CHART_LINE | HL_CHART_BARE | HL_CHART_DASHED);
  for (size_t i = 0; i < HL_COUNT(at); i++)
    hl_chart_point(chart, at[i], fmin(peak_gflops, at[i] * bandwidth_gbs), hl_chart_no_interval,
                   NULL);
}

static bool is_placed(const hl_analysis_roofline *p) {
  return p->gflops > 0 && p->intensity.low > 0 && p->intensity.high > 0;
}

static void put_roofline(hl_html *html, const hl_report_input *input) {
  const hl_run_info *info = input->info;
  const hl_chart_spec spec = {
      .id = "roofline",
      .title = "Roofline",
      .note = "What each row computes in a second, over the FLOPs that it does for each byte of "
              "memory traffic (docs/measurement.md), below the limits measured on this machine. "
              "Where an engine tells no plan, the place is the middle of the range that the model "
              "allows.",
      .x = {"FLOP a byte", HL_CHART_LOG},
      .y = {"GFLOP/s", HL_CHART_LOG}};
  hl_pair range = hl_chart_no_interval;
  hl_chart chart;
  if (!(info->peak_gflops > 0) || !(info->peak_bandwidth_gbs > 0)) return;
  hl_chart_begin(&chart, html, &spec);
  for (size_t i = 0; i < input->analysis->group_count && i < SERIES_MOST; i++) {
    const hl_analysis_group *g = &input->analysis->groups[i];
    hl_chart_series(&chart, g->name, HL_CHART_MARKS);
    for (size_t p = 0; p < g->point_count; p++) {
      const hl_analysis_roofline *at = &g->points[p].roofline;
      if (!is_placed(at)) continue;
      HL_CLEANUP(hl_free_pointer)
      char *label = hl_format("batch %" PRId64, g->points[p].batch_size);
      double middle = sqrt(at->intensity.low * at->intensity.high);
      range = (hl_pair){fmin(range.low, middle), fmax(range.high, middle)};
      hl_chart_point(&chart, middle, at->gflops, hl_chart_no_interval, label);
    }
  }
  if (isfinite(range.low)) {
    put_roof(&chart, "Limit, float32", info->peak_gflops, info->peak_bandwidth_gbs, range);
    if (info->peak_bfloat16_gflops > 0)
      put_roof(&chart, "Limit, bfloat16", info->peak_bfloat16_gflops, info->peak_bandwidth_gbs,
               range);
  }
  hl_chart_end(&chart);
}

/* ---- all ---- */

static void put_subject(hl_html *html, const subject *s, size_t number, bool named) {
  const hl_analysis_group *g = s->groups[0];
  if (named) {
    hl_html_open(html, "h3", NULL);
    hl_html_format(html, "%s%s%s", g->entry ? g->entry : "", g->entry ? ": " : "",
                   g->model ? g->model : "?");
    if (g->workload && strcmp(g->workload, HL_WORKLOAD_INFERENCE) != 0)
      hl_html_format(html, ", %s", g->workload);
    hl_html_close(html);
  }
  if (s->left_out) {
    hl_html_open(html, "p", "class", "note", NULL);
    hl_html_format(html, "The charts have the first %d of %zu settings; the tables have all.",
                   SERIES_MOST, s->count + s->left_out);
    hl_html_close(html);
  }
  hl_html_open(html, "div", "class", "charts", NULL);
  put_over_batch(html, s, number, &throughput);
  put_latency(html, s, number);
  put_distribution(html, s, number);
  put_over_batch(html, s, number, &memory);
  put_pareto(html, s, number);
  hl_html_close(html);
}

void hl__html_charts(hl_html *html, const hl_report_input *input) {
  size_t subjects = 0, shown = 0;
  subject s;
  for (size_t i = 0; i < input->analysis->group_count; i++)
    if (find_subject(input, i, &s)) {
      subjects++;
      subject_release(&s);
    }
  for (size_t i = 0; i < input->analysis->group_count && shown < SUBJECTS_MOST; i++) {
    if (!find_subject(input, i, &s)) continue;
    put_subject(html, &s, ++shown, subjects > 1);
    subject_release(&s);
  }
  if (subjects > SUBJECTS_MOST) {
    hl_html_open(html, "p", "class", "note", NULL);
    hl_html_format(html, "Charts of the first %d of %zu networks; the tables have all.",
                   SUBJECTS_MOST, subjects);
    hl_html_close(html);
  }
  hl_html_open(html, "div", "class", "charts", NULL);
  put_roofline(html, input);
  hl_html_close(html);
}
