#include "report/html-internal.h"
#include "report/number.h"
#include <string.h>

enum { COLUMNS_MOST = 48 };

/* What a row is. Of these a column is shown where rows differ in it, or always. */
enum show { DIFFERING, ALWAYS, SHARED }; /* SHARED: in no column, as its text is long */
static const struct {
  const char *key;
  enum show show;
} identities[] = {{"outcome", ALWAYS},
                  {"entry", DIFFERING},
                  {"workload", DIFFERING},
                  {"model", ALWAYS},
                  {"engine", ALWAYS},
                  {"dtype", DIFFERING},
                  {"device_id", DIFFERING},
                  {"threads", DIFFERING},
                  {"trainer", DIFFERING},
                  {"ranks", DIFFERING},
                  {"instances", DIFFERING},
                  {"mode", DIFFERING},
                  {"scenario", DIFFERING},
                  {"target_qps", DIFFERING},
                  {"imaging_scenario", DIFFERING},
                  {"optimizations", DIFFERING},
                  {"data", SHARED},
                  {"batch_size", ALWAYS},
                  {"requirements_met", DIFFERING}};

/* What a row measures, of all workloads in the order of columns; shown where a row knows it. */
static const char *const measures[] = {"throughput_ips",
                                       "patterns_per_second",
                                       "served_qps",
                                       "max_qps",
                                       "latency_p50_ms",
                                       "latency_p90_ms",
                                       "latency_p95_ms",
                                       "latency_p99_ms",
                                       "latency_p999_ms",
                                       "latency_per_image_ms",
                                       "memory_mb",
                                       "planned_memory_mb",
                                       "plan_peak_mb",
                                       "resident_mb",
                                       "efficiency",
                                       "validity",
                                       "psnr_db",
                                       "ssim",
                                       "correlation",
                                       "first_loss",
                                       "final_loss",
                                       "best_loss",
                                       "training_ms",
                                       "data_wait_percent",
                                       "compilation_time_ms",
                                       "energy_per_image_j",
                                       "device_memory_mb",
                                       "output_error",
                                       "measurement_iterations"};

typedef struct columns {
  const hl_metric *items[COLUMNS_MOST];
  size_t count;
} columns;

static void add(columns *c, const hl_metric *metric) {
  if (metric && c->count < COLUMNS_MOST) c->items[c->count++] = metric;
}

static bool is_known(const hl_records *records, const hl_metric *metric) {
  for (size_t i = 0; metric && i < records->count; i++)
    if (!hl_record_is_null(&records->items[i], metric)) return true;
  return false;
}

/* Whether rows that know the metric differ in it; `nulls`: rows that do not, differ from them. */
static bool differs(const hl_records *records, const hl_metric *metric, bool nulls) {
  hl_text first = HL_TEXT_INIT, other = HL_TEXT_INIT;
  bool found = false, begun = false;
  for (size_t i = 0; metric && i < records->count && !found; i++) {
    if (!nulls && hl_record_is_null(&records->items[i], metric)) continue;
    hl_text_clear(&other);
    hl_record_field_text(&records->items[i], metric, begun ? &other : &first);
    found = begun && strcmp(first.data, other.data) != 0;
    begun = true;
  }
  hl_text_release(&first);
  hl_text_release(&other);
  return found;
}

static bool is_number(const hl_metric *metric) {
  return metric->kind == HL_METRIC_INT || metric->kind == HL_METRIC_REAL;
}

static void put_head(hl_html *html, const columns *c) {
  hl_html_open(html, "thead", NULL);
  hl_html_open(html, "tr", NULL);
  for (size_t i = 0; i < c->count; i++) {
    const hl_metric *m = c->items[i];
    hl_html_open(html, "th", "scope", "col", "class", is_number(m) ? "number" : NULL, "data-key",
                 m->key, NULL);
    hl_html_text(html, m->title);
    if (m->unit[0]) hl_html_format(html, " (%s)", m->unit);
    hl_html_close(html);
  }
  hl_html_close_to(html, html->depth - 2);
}

static void put_cell(hl_html *html, const hl_record *r, const hl_metric *m) {
  char text[HL_NUMBER_BYTES];
  hl_text exact = HL_TEXT_INIT;
  hl_record_field_text(r, m, &exact);
  const char *shown = exact.data;
  const void *field = (const char *)r + m->offset;
  if (hl_record_is_null(r, m))
    shown = "—";
  else if (m->kind == HL_METRIC_REAL)
    shown = hl_report_number(*(const double *)field, "—", text);
  else if (m->kind == HL_METRIC_BOOL)
    shown = *(const int8_t *)field ? "yes" : "no";
  bool outcome = strcmp(m->key, "outcome") == 0;
  hl_html_element(html, "td", shown, "class",
                  is_number(m)                     ? "number"
                  : outcome && hl_record_passed(r) ? "passed"
                  : outcome                        ? "failed"
                                                   : NULL,
                  "data-value", is_number(m) && exact.length ? exact.data : NULL, NULL);
  html->out->failed = html->out->failed || exact.failed;
  hl_text_release(&exact);
}

/* What all rows share, which is in no column. */
static void put_shared(hl_html *html, const hl_records *records, const columns *c) {
  hl_text shared = HL_TEXT_INIT;
  for (size_t i = 0; i < HL_COUNT(identities); i++) {
    const hl_metric *m = hl_metric_find(identities[i].key);
    bool shown = false;
    for (size_t k = 0; k < c->count; k++) shown |= c->items[k] == m;
    if (shown || !m || hl_record_is_null(&records->items[0], m) || differs(records, m, true))
      continue;
    hl_text_format(&shared, "%s%s: ", shared.length ? "; " : "", m->title);
    if (m->kind == HL_METRIC_BOOL)
      hl_text_append(&shared, *((const int8_t *)&records->items[0] + m->offset) ? "yes" : "no");
    else
      hl_record_field_text(&records->items[0], m, &shared);
  }
  if (shared.length) {
    hl_html_open(html, "p", "class", "note", NULL);
    hl_html_format(html, "Of all rows: %s.", shared.data);
    hl_html_close(html);
  }
  hl_text_release(&shared);
}

/* The command of each row that repeats it alone. */
static void put_commands(hl_html *html, const hl_records *records) {
  static const char *const titles[] = {"Model", "Engine", "Batch", "Outcome", "Repeat with"};
  bool any = false;
  for (size_t i = 0; i < records->count; i++) any |= records->items[i].reproduce != NULL;
  if (!any) return;
  hl_html_open(html, "details", NULL);
  hl_html_element(html, "summary", "Commands that repeat a row", NULL);
  hl_html_open(html, "div", "class", "scroll", NULL);
  hl_html_open(html, "table", "class", "sortable", "id", "commands", NULL);
  hl_html_open(html, "thead", NULL);
  hl_html_open(html, "tr", NULL);
  for (size_t i = 0; i < HL_COUNT(titles); i++)
    hl_html_element(html, "th", titles[i], "scope", "col", "class", i == 2 ? "number" : NULL, NULL);
  hl_html_close_to(html, html->depth - 2);
  hl_html_open(html, "tbody", NULL);
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    char text[HL_NUMBER_BYTES];
    if (!r->reproduce) continue;
    hl_html_open(html, "tr", NULL);
    hl_html_element(html, "td", r->model, NULL);
    hl_html_element(html, "td", r->engine, NULL);
    hl_html_element(html, "td", hl_report_int(r->batch_size, "—", text), "class", "number", NULL);
    hl_html_element(html, "td", r->outcome, NULL);
    hl_html_open(html, "td", NULL);
    hl_html_element(html, "code", r->reproduce, NULL);
    hl_html_close_to(html, html->depth - 2);
  }
  hl_html_close_to(html, html->depth - 4);
}

void hl__html_rows(hl_html *html, const hl_records *records) {
  columns c = {.count = 0};
  if (records->count == 0) return;
  for (size_t i = 0; i < HL_COUNT(identities); i++) {
    const hl_metric *m = hl_metric_find(identities[i].key);
    if (identities[i].show == ALWAYS ||
        (identities[i].show == DIFFERING && differs(records, m, false)))
      add(&c, m);
  }
  for (size_t i = 0; i < HL_COUNT(measures); i++) {
    const hl_metric *m = hl_metric_find(measures[i]);
    if (is_known(records, m)) add(&c, m);
  }
  hl_html_open(html, "section", "id", "rows", NULL);
  hl_html_element(html, "h2", "All Rows", NULL);
  put_shared(html, records, &c);
  hl_html_open(html, "div", "class", "scroll", NULL);
  hl_html_open(html, "table", "class", "sortable filter", "id", "rows-table", NULL);
  put_head(html, &c);
  hl_html_open(html, "tbody", NULL);
  for (size_t i = 0; i < records->count; i++) {
    hl_html_open(html, "tr", NULL);
    for (size_t k = 0; k < c.count; k++) put_cell(html, &records->items[i], c.items[k]);
    hl_html_close(html);
  }
  hl_html_close_to(html, html->depth - 3);
  put_commands(html, records);
  hl_html_close(html);
}
