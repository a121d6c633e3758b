/*
 * report/html-chart.h - a chart of a page: its numbers as a table, which page.js draws.
 *
 *     hl_chart chart;
 *     hl_chart_begin(&chart, &html, &(hl_chart_spec){.id = "throughput", .title = "Throughput",
 *                    .x = {"Batch size", HL_CHART_LOG2}, .y = {"images/s", HL_CHART_LOG}});
 *     hl_chart_series(&chart, "native", HL_CHART_LINE);
 *     hl_chart_point(&chart, 8, 512, (hl_pair){500, 520}, NULL);
 *     hl_chart_end(&chart);
 *
 * Writes <figure data-chart="ID"> with the title, a canvas that page.js fills, a sentence for those
 * who do not see it, a table of all points, and the points as JSON. Without a script the table is
 * there and nothing else is missed. Names may be anybody's.
 */
#ifndef HL_REPORT_HTML_CHART_H
#define HL_REPORT_HTML_CHART_H

#include "record/fields.h"
#include "report/html-writer.h"

typedef enum hl_chart_scale {
  HL_CHART_LINEAR,
  HL_CHART_LOG,       /* values above 0 only: others are left out */
  HL_CHART_LOG2,      /* the same, with labels at the values that points have */
  HL_CHART_CATEGORIES /* names: a point's `label`; x is not used */
} hl_chart_scale;

enum hl_chart_style {
  HL_CHART_MARKS = 0,     /* points alone */
  HL_CHART_LINE = 1 << 0, /* joined */
  HL_CHART_DASHED = 1 << 1,
  HL_CHART_BARE = 1 << 2, /* a line without marks */
  HL_CHART_BARS = 1 << 3, /* of categories */
  HL_CHART_SAME = 1 << 4  /* in the colour of the series before */
};

typedef struct hl_chart_axis {
  const char *title; /* with the unit */
  hl_chart_scale scale;
} hl_chart_axis;

/* All borrowed until hl_chart_end. */
typedef struct hl_chart_spec {
  const char *id;           /* of the figure, "chart-ID"; a name of the program's own */
  const char *title, *note; /* note: what to know to read it, a sentence; NULL: none */
  hl_chart_axis x, y;
  bool stacked;    /* bars one upon another */
  bool horizontal; /* categories from top to bottom, intervals along x; marks in place of bars */
  bool has_reference;
  double reference; /* a line at this value, as 1 of ratios */
} hl_chart_spec;

typedef struct hl_chart {
  hl_html *html;
  const hl_chart_spec *spec;
  hl_text data_text, rows_text; /* the points as JSON and as rows of the table */
  hl_json data;
  hl_html rows;
  char *series; /* name of the one that is open, or NULL */
  size_t series_count, point_count;
  bool has_intervals, has_labels;
  hl_pair x, y; /* from where to where the points go */
} hl_chart;

/* Nothing is written to `html` before hl_chart_end, which alone it is to be used with until then.
 */
void hl_chart_begin(hl_chart *chart, hl_html *html, const hl_chart_spec *spec);
void hl_chart_series(hl_chart *chart, const char *name, unsigned style);
/* Left out where x (unless of categories) or y is NaN, or a logarithmic scale has no place for it.
 * `interval` is of y (of x where horizontal), NaN: none. `label` may be NULL. */
void hl_chart_point(hl_chart *chart, double x, double y, hl_pair interval, const char *label);
/* Writes the figure; nothing where no point was given. True if it was written. */
bool hl_chart_end(hl_chart *chart);

extern const hl_pair hl_chart_no_interval;

#endif
