#include "web/page.h"

#include "analyse/history.h"
#include "base/json-writer.h"
#include "report/history.h"
#include "report/html-chart.h"
#include "report/number.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { SERIES = 6, POINTS = 20, DRAWN = 60, TOLD = 50, ROWS = 1500 };

/* What is asked for, and what of the store answers it. */
typedef struct asked {
  const hl_metric *metric;
  hl_custom custom; /* of a metric of the user's own */
  hl_metric own;
  hl_store_filter filter;
  hl_history_rows rows;
  hl_change_checks checks;
  hl_history history;
} asked;

static bool can_be_followed(const hl_metric *metric) {
  return metric->better != HL_BETTER_NEITHER &&
         (metric->kind == HL_METRIC_REAL || metric->kind == HL_METRIC_INT);
}

static hl_status find_metric(asked *a, hl_store *store, const char *key, hl_error *error) {
  bool found = false;
  a->metric = hl_metric_find(key);
  if (!a->metric) {
    hl_status status = hl_store_custom_find(store, key, &found, &a->custom, error);
    if (status != HL_OK) return status;
    a->own = hl_custom_as_metric(&a->custom);
    if (found) a->metric = &a->own;
  }
  if (a->metric && can_be_followed(a->metric)) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "'%.100s' is no metric that is better when higher or lower; take a key of "
                      "docs/metrics.md, such as throughput_ips, latency_p50_ms or memory_mb",
                      key);
}

static hl_status load(asked *a, hl_store *store, const hl_web_target *target, hl_error *error) {
  const char *key = hl_web_parameter(target, "metric");
  a->filter = (hl_store_filter){.model = hl_web_parameter(target, "model"),
                                .machine = hl_web_parameter(target, "machine"),
                                .newest_rows = ROWS};
  hl_history_rows_init(&a->rows);
  hl_change_checks_init(&a->checks);
  hl_custom_init(&a->custom);
  hl_status status = find_metric(a, store, key ? key : "throughput_ips", error);
  if (status != HL_OK || !a->filter.model) return status;
  status = hl_store_history_load(store, a->metric, &a->filter, &a->rows, error);
  if (status == HL_OK)
    status = hl_store_change_checks_load(store, a->metric->key, &a->checks, error);
  const hl_history_input input = {.rows = &a->rows, .metric = a->metric, .checks = &a->checks};
  return status == HL_OK ? hl_history_make(&input, &a->history, error) : status;
}

static void release(asked *a) {
  hl_history_release(&a->history);
  hl_history_rows_release(&a->rows);
  hl_change_checks_release(&a->checks);
  hl_custom_release(&a->custom);
}

/* ---- the page ---- */

static void put_form(hl_html *html, const asked *a) {
  hl_html_open(html, "form", "class", "filter", "role", "search", NULL);
  hl__web_field(html, "Model", "model", a->filter.model, NULL);
  hl__web_field(html, "Machine", "machine", a->filter.machine, NULL);
  hl__web_field(html, "Metric", "metric", a->metric->key, "metrics");
  hl_html_open(html, "datalist", "id", "metrics", NULL);
  for (size_t i = 0; i < hl_metric_count; i++)
    if (can_be_followed(&hl_metrics[i]))
      hl_html_void(html, "option", "value", hl_metrics[i].key, NULL);
  hl_html_close(html);
  hl_html_element(html, "button", "Show", NULL);
  hl_html_close(html);
}

/* A commit's first twelve digits; without one when it was measured. */
static const char *name_of(const hl_history_point *p, char ret_text[32]) {
  if (p->commit)
    snprintf(ret_text, 32, "%.12s%s", p->commit, p->dirty ? "+" : "");
  else
    snprintf(ret_text, 32, "%.24s", p->time ? p->time : "time unknown");
  return ret_text;
}

static void put_point(hl_html *html, const asked *a, const hl_history_point *p) {
  char name[32];
  hl_html_open(html, "tr", NULL);
  hl_html_open(html, "td", NULL);
  hl_html_element(html, "code", p->commit ? name_of(p, name) : "-", "title", p->commit, NULL);
  hl_html_close(html);
  hl_html_element(html, "td", p->time, NULL);
  hl__web_number_cell(html, p->value);
  hl__web_number_cell(html, p->level);
  hl__web_int_cell(html, (int64_t)p->runs);
  hl__web_run_cell(html, a->rows.items[p->first_row].run_id);
  hl_html_close(html);
}

static void put_points(hl_html *html, const asked *a, const hl_history_series *s) {
  const hl__web_column columns[] = {{"Commit", false},        {"First measured", false},
                                    {a->metric->title, true}, {"Level", true},
                                    {"Runs", true},           {"First run", false}};
  size_t from = s->count > POINTS ? s->count - POINTS : 0;
  hl_html_open(html, "details", NULL);
  hl_html_open(html, "summary", NULL);
  if (from)
    hl_html_format(html, "The newest %d of %zu points", POINTS, s->count);
  else
    hl_html_format(html, "%zu point%s", s->count, s->count == 1 ? "" : "s");
  hl_html_close(html);
  hl__web_table_begin(html, NULL, NULL, columns, HL_COUNT(columns));
  for (size_t i = s->count; i > from; i--) put_point(html, a, &s->points[i - 1]);
  hl__web_table_end(html);
  hl_html_close(html);
}

/* Each level from its first point to its last, with a step half-way between two of them. */
static void put_levels(hl_chart *chart, const hl_history_series *s, size_t from) {
  hl_chart_series(chart, "level", HL_CHART_LINE | HL_CHART_BARE);
  for (size_t i = from; i < s->count; i++) {
    const double x = (double)i + 1, level = s->points[i].level;
    bool first = i == from, last = i + 1 == s->count;
    bool begins = first || s->points[i - 1].level != level;
    bool ends = last || s->points[i + 1].level != level;
    if (begins) hl_chart_point(chart, first ? x : x - 0.5, level, hl_chart_no_interval, NULL);
    if (ends && !(first && last))
      hl_chart_point(chart, last ? x : x + 0.5, level, hl_chart_no_interval, NULL);
  }
}

static void put_chart(hl_html *html, const asked *a, const hl_history_series *s, size_t number) {
  size_t from = s->count > DRAWN ? s->count - DRAWN : 0;
  HL_CLEANUP(hl_free_pointer) char *id = hl_format("series-%zu", number);
  HL_CLEANUP(hl_free_pointer)
  char *y = hl_format("%s%s%s", a->metric->title, a->metric->unit[0] ? ", " : "", a->metric->unit);
  if (!id || !y) {
    html->out->failed = true;
    return;
  }
  const hl_chart_spec spec = {
      .id = id,
      .title = from ? "The newest points" : "All points",
      .note = "A point is a commit, by the median of its runs; in the order of time.",
      .x = {"Point", HL_CHART_LINEAR},
      .y = {y, HL_CHART_LINEAR}};
  hl_chart chart;
  hl_chart_begin(&chart, html, &spec);
  hl_chart_series(&chart, "measured", HL_CHART_MARKS);
  for (size_t i = from; i < s->count; i++) {
    char name[32];
    hl_chart_point(&chart, (double)i + 1, s->points[i].value, s->points[i].interval,
                   name_of(&s->points[i], name));
  }
  put_levels(&chart, s, from);
  hl_chart_end(&chart);
}

static void put_change(hl_html *html, const hl_history_series *s, const hl_history_change *c) {
  char percent[HL_NUMBER_BYTES];
  char before[32], after[32];
  hl_html_open(html, "li", "class", c->worse ? "worse" : "better", NULL);
  hl_html_element(html, "strong", c->worse ? "Worse" : "Better", NULL);
  hl_html_format(html, " by %s at %s (after %s), %s",
                 hl_report_percent(fabs(hl_history_percent(c)), percent),
                 name_of(&s->points[c->at], after), name_of(&s->points[c->at - 1], before),
                 hl_change_state_name(c->state));
  hl_html_close(html);
}

static void put_series(hl_html *html, const asked *a, const hl_history_series *s, size_t number) {
  hl_html_open(html, "section", "class", "series", NULL);
  hl_html_element(html, "h2", s->name, NULL);
  hl_html_open(html, "p", NULL);
  hl_html_format(html, "Machine %s, %s; %zu run%s in %zu point%s.",
                 s->machine_id ? s->machine_id : "-", s->cpu ? s->cpu : "-", s->runs,
                 s->runs == 1 ? "" : "s", s->count, s->count == 1 ? "" : "s");
  if (s->unfitted)
    hl_html_format(html, " No change is looked for: %s.", s->unfitted);
  else if (!s->change_count)
    hl_html_text(html, " No change of level.");
  hl_html_close(html);
  hl_html_open(html, "ul", "class", "changes", NULL);
  for (size_t i = s->change_count; i > 0; i--) put_change(html, s, &s->changes[i - 1]);
  hl_html_close(html);
  if (s->count > 1) put_chart(html, a, s, number);
  put_points(html, a, s);
  hl_html_close(html);
}

static void put_history(hl_html *html, const asked *a) {
  if (!a->filter.model) {
    hl_html_element(html, "p", "Name a model, or a part of its name.", NULL);
    return;
  }
  hl_html_open(html, "p", NULL);
  hl_html_format(html, "%s: %s.", a->metric->title, a->metric->doc);
  if (a->rows.count == ROWS)
    hl_html_format(html,
                   " Of the newest %d rows; a longer part of the model's name, or a machine, "
                   "leaves fewer others.",
                   ROWS);
  hl_html_close(html);
  if (!a->history.count) hl_html_element(html, "p", "No such rows have this metric.", NULL);
  size_t shown = a->history.count < SERIES ? a->history.count : SERIES;
  if (shown < a->history.count) {
    hl_html_open(html, "p", NULL);
    hl_html_format(html, "%zu of %zu series; name the model or the machine more closely.", shown,
                   a->history.count);
    hl_html_close(html);
  }
  for (size_t i = 0; i < shown; i++) put_series(html, a, &a->history.items[i], i + 1);
}

hl_status hl__web_page_history(hl__web *web, const hl_web_target *target, hl__web_answer *answer,
                               hl_error *error) {
  hl_store *store;
  asked a = {0};
  hl_status status = hl__web_store(web, &store, error);
  if (status == HL_OK) status = load(&a, store, target, error);
  if (status == HL_OK) {
    const hl__web_frame frame = {
        .web = web, .title = "History", .here = "/history", .has_charts = true};
    hl_html html;
    hl__web_page_begin(&html, answer, &frame);
    hl_html_element(&html, "h1", "History", NULL);
    put_form(&html, &a);
    put_history(&html, &a);
    hl__web_page_end(&html, &frame);
  }
  release(&a);
  return status;
}

hl_status hl__web_api_history(hl__web *web, const hl_web_target *target, hl__web_answer *answer,
                              hl_error *error) {
  hl_store *store;
  asked a = {0};
  int64_t limit = 0;
  if (!hl_web_parameter(target, "model"))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "model=TEXT is missing: text in a model's name");
  hl_status status = hl__web_int(target, "limit", 1, ROWS, TOLD, &limit, error);
  if (status == HL_OK) status = hl__web_store(web, &store, error);
  if (status == HL_OK) status = load(&a, store, target, error);
  if (status == HL_OK) {
    const hl_report_history report = {.history = &a.history, .limit = limit};
    hl_json json;
    hl_json_init(&json, &answer->body, HL_JSON_COMPACT);
    hl_json_object(&json, NULL);
    hl_report_history_json(&report, &json);
    hl_json_end(&json);
    answer->type = "application/json";
  }
  release(&a);
  return status;
}
