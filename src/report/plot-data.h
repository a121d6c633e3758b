/*
 * report/plot-data.h - the numbers of a plot as gnuplot's data blocks (inside src/report only).
 *
 * Per group g: $s<g> with the columns below, $box<g> (x, low whisker, first quartile, median, third
 * quartile, high whisker) and $out<g> (x, ms) for samples beyond the whiskers. x is log2 of the
 * batch size. Unknown numbers are NaN, which gnuplot leaves out.
 */
#ifndef HL_REPORT_PLOT_DATA_H
#define HL_REPORT_PLOT_DATA_H

#include "report/plot.h"

enum plot_column { /* of $s<g> */
                   PLOT_X = 1,
                   PLOT_THROUGHPUT,
                   PLOT_THROUGHPUT_LOW,
                   PLOT_THROUGHPUT_HIGH,
                   PLOT_MEMORY,
                   PLOT_PLANNED,
                   PLOT_EFFICIENCY,
                   PLOT_SPEEDUP,
                   PLOT_LATENCY
};

/* What of a group's numbers is known, and the limits of the axes that are logarithmic. */
typedef struct hl_plot_range {
  double low, high; /* NaN where nothing is known */
} hl_plot_range;

typedef struct hl_plot_facts {
  size_t series;   /* groups that are drawn */
  size_t first[8]; /* their indices in the analysis */
  bool has_planned, has_boxes, has_intervals;
  /* x: log2 of the batch size, failed ones too */
  hl_plot_range x, throughput, memory, latency, efficiency, speedup;
  double min_gap; /* least distance of two sizes in x */
  size_t failed;  /* sizes that did not pass */
} hl_plot_facts;

/* Writes the blocks of up to `max_series` groups that have points. */
void hl_plot_data(const hl_report_input *input, size_t max_series, hl_plot_facts *ret_facts,
                  hl_text *out);

/* Okabe and Ito's palette, told apart with any colour vision: its green and red come last, as lines
 * beside marks in these colours mean neither. */
enum { HL_PLOT_LINES = 6 };
extern const char *const hl_plot_line_colours[HL_PLOT_LINES];

/* What is drawn on, in inches: SVG in 1/72 inch, PNG with 300/72 dots for each of them. */
void hl_plot_terminal(hl_text *out, hl_plot_kind kind, double width, double height);

/* The heading of a picture: `title`, and below it the processor, `remark` (NULL: none), the day and
 * the version. */
void hl_plot_heading(hl_text *out, const char *title, const char *remark, const hl_run_info *info);

/* The x axis from `low` to `high` in log2 of the batch size, with labels at these sizes, `most` of
 * them at most. */
void hl_plot_size_tics(hl_text *out, const int64_t *sizes, size_t count, double low, double high,
                       int most);

/* Logarithmic `axis` ('x' or 'y') with labels at 1, 2 and 5 of each decade (1 alone over many
 * decades). Both ends above 0. */
void hl_plot_log_axis(hl_text *out, char axis, double low, double high);

/* "text" for gnuplot, which obeys nothing in it; on one line, at most about `columns` columns. */
void hl_plot_quote(hl_text *out, const char *text, size_t columns);

#endif
