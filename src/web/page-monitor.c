#include "base/clock.h"
#include "report/html-chart.h"
#include "report/number.h"
#include "statistics/percentile.h"
#include "web/monitor-view.h"
#include "web/page.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { COURSE = 60 };

hl_web_monitor hl__web_monitor_view(hl__web *web) {
  return (hl_web_monitor){.path = web->config->monitor,
                          .summary = web->summary,
                          .count = hl_log_reader_count(web->log),
                          .now_ns = hl_clock_wall_ns()};
}

static hl_status no_log(hl_error *error) {
  return hl_error_set(error, HL_NOT_FOUND, "There is no log: --monitor LOG names it.");
}

static void put_fact(hl_html *html, const char *title, uint64_t value) {
  hl_html_open(html, "div", NULL);
  hl_html_element(html, "dt", title, NULL);
  hl_html_open(html, "dd", NULL);
  hl_html_format(html, "%" PRIu64, value);
  hl_html_close(html);
  hl_html_close(html);
}

static void put_totals(hl_html *html, const hl__web *web, const hl_web_monitor *v) {
  const hl_summary_totals *t = hl_summary_total(v->summary);
  char first[32], last[32];
  hl_html_open(html, "dl", "class", "facts", NULL);
  put_fact(html, "Inferences", t->inferences);
  put_fact(html, "Images", t->images);
  put_fact(html, "Slow", t->slow);
  put_fact(html, "Degradations", t->degradations);
  put_fact(html, "Changes of level", t->changes);
  put_fact(html, "Records dropped", t->dropped);
  put_fact(html, "Alerts that failed", t->failed_alerts);
  hl_html_close(html);
  hl_html_open(html, "p", NULL);
  if (t->last_ns) {
    hl_log_time_format(t->first_ns, first);
    hl_log_time_format(t->last_ns, last);
    hl_html_format(html, "%s to %s UTC. ", first, last);
  }
  if (web->log_behind) hl_html_text(html, "The log is still being read. ");
  if (v->count->malformed)
    hl_html_format(html, "%" PRIu64 " malformed line%s passed over, the first: %s. ",
                   v->count->malformed, v->count->malformed == 1 ? "" : "s",
                   v->count->first_malformed);
  if (v->count->torn_bytes)
    hl_html_format(html, "The last line has no end (%zu bytes): it is being written, or was torn.",
                   v->count->torn_bytes);
  hl_html_close(html);
}

static void put_size(hl_html *html, const hl_summary_recent *r) {
  hl_html_open(html, "tr", NULL);
  hl__web_int_cell(html, r->batch_size);
  hl__web_int_cell(html, (int64_t)r->count);
  const double values[] = {r->throughput_ips, r->p50_ms, r->p90_ms,
                           r->p99_ms,         r->max_ms, r->memory_mb};
  for (size_t i = 0; i < HL_COUNT(values); i++) hl__web_number_cell(html, values[i]);
  bool few = r->count < hl_percentile_least_n(99);
  hl_html_open(html, "td", "class", r->degraded ? "failed" : NULL, NULL);
  hl_html_text(html, r->degraded ? "slower than usual" : "");
  if (few)
    hl_html_format(html, "%sp99 of fewer than %zu", r->degraded ? "; " : "",
                   hl_percentile_least_n(99));
  hl_html_close(html);
  hl_html_close(html);
}

static void put_sizes(hl_html *html, const hl_summary_recent *recent, size_t n) {
  static const hl__web_column columns[] = {
      {"Batch", true},  {"Recent", true}, {"Images/s", true},  {"p50 ms", true}, {"p90 ms", true},
      {"p99 ms", true}, {"max ms", true}, {"Memory MB", true}, {"Remark", false}};
  hl__web_table_begin(html, "sizes", "The recent inferences by batch size", columns,
                      HL_COUNT(columns));
  for (size_t i = 0; i < n; i++) put_size(html, &recent[i]);
  hl__web_table_end(html);
}

/* Median throughput in equal parts of the recent inferences, the newest last. */
static void put_course(hl_html *html, const hl_web_monitor *v, const hl_summary_recent *recent,
                       size_t n) {
  double values[COURSE];
  hl_chart chart;
  hl_chart_begin(&chart, html,
                 &(hl_chart_spec){.id = "course",
                                  .title = "Course of the recent inferences",
                                  .note = "Each point is the median of an equal part of a batch "
                                          "size's recent inferences, in their order.",
                                  .x = {"Part, the newest last", HL_CHART_LINEAR},
                                  .y = {"images/s", HL_CHART_LINEAR}});
  for (size_t i = 0; i < n; i++) {
    char name[48];
    snprintf(name, sizeof name, "batch %" PRIu32, recent[i].batch_size);
    hl_chart_series(&chart, name, HL_CHART_LINE);
    size_t parts = hl_summary_course(v->summary, recent[i].batch_size, values, COURSE);
    for (size_t k = 0; k < parts; k++)
      hl_chart_point(&chart, (double)k + 1, values[k], hl_chart_no_interval, NULL);
  }
  hl_chart_end(&chart);
}

static void put_events(hl_html *html, const hl_web_monitor *v) {
  static const hl__web_column columns[] = {
      {"Time (UTC)", false}, {"Event", false}, {"Batch", true}, {"What", false}};
  hl_html_element(html, "h2", "Anomalies", NULL);
  if (!hl_summary_event(v->summary, 0)) {
    hl_html_element(html, "p", "None.", NULL);
    return;
  }
  hl__web_table_begin(html, "events", "The last events", columns, HL_COUNT(columns));
  for (size_t back = 0; back < HL_SUMMARY_EVENTS; back++) {
    const hl_log_entry *e = hl_summary_event(v->summary, back);
    char time[32], number[HL_NUMBER_BYTES];
    if (!e) break;
    hl_log_time_format(e->time_ns, time);
    hl_html_open(html, "tr", NULL);
    hl_html_element(html, "td", time, NULL);
    hl_html_element(html, "td", e->event, NULL);
    hl_html_element(html, "td", e->batch_size ? hl_report_int(e->batch_size, "-", number) : "-",
                    "class", "number", NULL);
    hl_html_open(html, "td", NULL);
    if (e->count) hl_html_format(html, "%" PRIu64 " records ", e->count);
    hl_html_text(html, e->message);
    hl_html_close(html);
    hl_html_close(html);
  }
  hl__web_table_end(html);
}

hl_status hl__web_page_monitor(hl__web *web, const hl_web_target *target, hl__web_answer *answer,
                               hl_error *error) {
  (void)target;
  if (!web->log) return no_log(error);
  hl__web_monitor_read(web);
  const hl_web_monitor view = hl__web_monitor_view(web);
  const hl__web_frame frame = {.web = web,
                               .title = "Monitor",
                               .here = "/monitor",
                               .events = "/monitor/events",
                               .follow = "swap",
                               .has_charts = true};
  hl_summary_recent recent[HL_SUMMARY_SIZES];
  hl_html html;
  size_t n = hl_summary_by_size(view.summary, recent);
  hl__web_page_begin(&html, answer, &frame);
  hl_html_element(&html, "h1", "Monitor", NULL);
  hl_html_element(&html, "p", view.path, NULL);
  hl_html_open(&html, "div", "id", "swapped", NULL);
  put_totals(&html, web, &view);
  if (n) put_sizes(&html, recent, n);
  if (n) put_course(&html, &view, recent, n);
  put_events(&html, &view);
  hl__web_page_end(&html, &frame);
  return HL_OK;
}

hl_status hl__web_api_monitor(hl__web *web, const hl_web_target *target, hl__web_answer *answer,
                              hl_error *error) {
  (void)target;
  if (!web->log) return no_log(error);
  hl__web_monitor_read(web);
  const hl_web_monitor view = hl__web_monitor_view(web);
  hl_web_monitor_json(&view, &answer->body);
  answer->type = "application/json";
  return HL_OK;
}
