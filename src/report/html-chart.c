#include "report/html-chart.h"

#include "report/number.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const hl_pair hl_chart_no_interval = {(double)NAN, (double)NAN};

static const char *const scales[] = {[HL_CHART_LINEAR] = "linear",
                                     [HL_CHART_LOG] = "log",
                                     [HL_CHART_LOG2] = "log2",
                                     [HL_CHART_CATEGORIES] = "categories"};

static void put_axis(hl_json *json, const char *key, const hl_chart_axis *axis) {
  hl_json_object(json, key);
  hl_json_text(json, "title", axis->title);
  hl_json_text(json, "scale", scales[axis->scale]);
  hl_json_end(json);
}

void hl_chart_begin(hl_chart *chart, hl_html *html, const hl_chart_spec *spec) {
  *chart = (hl_chart){.html = html,
                      .spec = spec,
                      .data_text = HL_TEXT_INIT,
                      .rows_text = HL_TEXT_INIT,
                      .x = hl_chart_no_interval,
                      .y = hl_chart_no_interval};
  hl_json_init(&chart->data, &chart->data_text, HL_JSON_COMPACT);
  hl_html_init(&chart->rows, &chart->rows_text);
  hl_json_object(&chart->data, NULL);
  put_axis(&chart->data, "x", &spec->x);
  put_axis(&chart->data, "y", &spec->y);
  hl_json_bool(&chart->data, "stacked", spec->stacked);
  hl_json_bool(&chart->data, "horizontal", spec->horizontal);
  hl_json_real(&chart->data, "reference", spec->has_reference ? spec->reference : (double)NAN);
  hl_json_array(&chart->data, "series");
}

static void end_series(hl_chart *chart) {
  if (!chart->series) return;
  hl_json_end(&chart->data);
  hl_json_end(&chart->data);
  free(chart->series);
  chart->series = NULL;
}

void hl_chart_series(hl_chart *chart, const char *name, unsigned style) {
  end_series(chart);
  chart->series = hl_strdup(name ? name : "");
  if (!chart->series) chart->data_text.failed = true;
  chart->series_count++;
  hl_json_object(&chart->data, NULL);
  hl_json_text(&chart->data, "name", name);
  hl_json_bool(&chart->data, "line", style & HL_CHART_LINE);
  hl_json_bool(&chart->data, "dashed", style & HL_CHART_DASHED);
  hl_json_bool(&chart->data, "bare", style & HL_CHART_BARE);
  hl_json_bool(&chart->data, "bars", style & HL_CHART_BARS);
  hl_json_bool(&chart->data, "same", style & HL_CHART_SAME);
  hl_json_array(&chart->data, "points");
}

static bool has_place(hl_chart_scale scale, double value) {
  if (scale == HL_CHART_CATEGORIES) return true;
  return isfinite(value) && (scale == HL_CHART_LINEAR || value > 0);
}

static void number_cell(hl_html *rows, double value) {
  char text[HL_NUMBER_BYTES], exact[32];
  hl_json_format_real(value, exact);
  hl_html_element(rows, "td", hl_report_number(value, "", text), "class", "number", "data-value",
                  isfinite(value) ? exact : NULL, NULL);
}

static void include(hl_pair *range, double value) {
  range->low = fmin(range->low, value);
  range->high = fmax(range->high, value);
}

void hl_chart_point(hl_chart *chart, double x, double y, hl_pair interval, const char *label) {
  const hl_chart_spec *spec = chart->spec;
  if (!chart->series || !has_place(spec->x.scale, x) || !has_place(spec->y.scale, y)) return;
  bool known = isfinite(interval.low) && isfinite(interval.high);
  bool named_x = spec->x.scale == HL_CHART_CATEGORIES,
       named_y = spec->y.scale == HL_CHART_CATEGORIES;
  hl_json_object(&chart->data, NULL);
  if (!named_x) hl_json_real(&chart->data, "x", x);
  if (!named_y) hl_json_real(&chart->data, "y", y);
  if (known) hl_json_real(&chart->data, "low", interval.low);
  if (known) hl_json_real(&chart->data, "high", interval.high);
  if (label) hl_json_text(&chart->data, "label", label);
  hl_json_end(&chart->data);
  hl_html_open(&chart->rows, "tr", NULL);
  hl_html_element(&chart->rows, "td", chart->series, NULL);
  hl_html_element(&chart->rows, "td", label, NULL);
  if (!named_x) number_cell(&chart->rows, x);
  if (!named_y) number_cell(&chart->rows, y);
  number_cell(&chart->rows, known ? interval.low : (double)NAN);
  number_cell(&chart->rows, known ? interval.high : (double)NAN);
  hl_html_close(&chart->rows);
  chart->point_count++;
  chart->has_intervals |= known;
  chart->has_labels |= label != NULL;
  if (!named_x) include(&chart->x, x);
  if (!named_y) include(&chart->y, y);
}

static void put_range(const hl_chart_axis *axis, hl_pair range, hl_text *out) {
  char low[HL_NUMBER_BYTES], high[HL_NUMBER_BYTES];
  if (!isfinite(range.low)) return;
  hl_text_format(out, " %s: %s to %s.", axis->title, hl_report_number(range.low, "", low),
                 hl_report_number(range.high, "", high));
}

/* What is said in the picture's place. */
static void put_alternative(const hl_chart *chart, hl_text *out) {
  hl_text_format(out, "Chart: %s. %zu series, %zu point%s.", chart->spec->title,
                 chart->series_count, chart->point_count, chart->point_count == 1 ? "" : "s");
  put_range(&chart->spec->x, chart->x, out);
  put_range(&chart->spec->y, chart->y, out);
  hl_text_append(out, " The numbers are in the table below it.");
}

static void put_head(const hl_chart *chart) {
  const hl_chart_spec *spec = chart->spec;
  const char *const titles[] = {"Series",
                                "Point",
                                spec->x.scale == HL_CHART_CATEGORIES ? NULL : spec->x.title,
                                spec->y.scale == HL_CHART_CATEGORIES ? NULL : spec->y.title,
                                "Interval, low",
                                "Interval, high"};
  hl_html_open(chart->html, "thead", NULL);
  hl_html_open(chart->html, "tr", NULL);
  for (size_t i = 0; i < HL_COUNT(titles); i++)
    if (titles[i])
      hl_html_element(chart->html, "th", titles[i], "scope", "col", "class",
                      i >= 2 ? "number" : NULL, NULL);
  hl_html_close_to(chart->html, chart->html->depth - 2);
}

static void put_figure(const hl_chart *chart) {
  const hl_chart_spec *spec = chart->spec;
  hl_html *html = chart->html;
  hl_text words = HL_TEXT_INIT;
  HL_CLEANUP(hl_free_pointer) char *id = hl_format("chart-%s", spec->id);
  put_alternative(chart, &words);
  hl_html_open(html, "figure", "id", id, "class", spec->horizontal ? "wide" : NULL, "data-chart",
               spec->id, NULL);
  hl_html_element(html, "figcaption", spec->title, NULL);
  if (spec->note) hl_html_element(html, "p", spec->note, "class", "note", NULL);
  hl_html_open(html, "div", "class", "canvas", "hidden", "", NULL);
  hl_html_element(html, "canvas", NULL, "role", "img", "aria-label", words.data, NULL);
  hl_html_close(html);
  hl_html_open(html, "details", NULL);
  hl_html_element(html, "summary", "Numbers of this chart", NULL);
  hl_html_open(html, "div", "class", "scroll", NULL);
  HL_CLEANUP(hl_free_pointer)
  char *classes = hl_format("sortable points%s%s", chart->has_labels ? "" : " unlabelled",
                            chart->has_intervals ? "" : " pointwise");
  hl_html_open(html, "table", "class", classes, NULL);
  put_head(chart);
  hl_html_open(html, "tbody", NULL);
  hl_text_append_n(html->out, chart->rows_text.data, chart->rows_text.length);
  hl_html_close_to(html, html->depth - 4);
  hl_html_json(html, NULL, chart->data_text.data);
  hl_html_close(html);
  hl_text_release(&words);
}

bool hl_chart_end(hl_chart *chart) {
  end_series(chart);
  hl_json_end(&chart->data);
  hl_json_end(&chart->data);
  bool failed = chart->data_text.failed || chart->rows_text.failed;
  bool written = chart->point_count > 0 && !failed;
  if (failed) chart->html->out->failed = true;
  if (written) put_figure(chart);
  hl_text_release(&chart->data_text);
  hl_text_release(&chart->rows_text);
  return written;
}
