/*
 * report/series-plot.h - a picture that somebody describes: metrics of rows against another metric
 * or against a parameter of the model.
 *
 *     hl_series_plot plot = {.title = "Model size", .x = "hidden_dim", .y = y, .y_count = 2,
 *                            .parameter = parameter_of};
 *     hl_status status = hl_series_plot_check(&plot, error);
 *     if (status == HL_OK)
 *       status = hl_series_plot_draw(&input, &plot, HL_PLOT_PNG, NULL, &picture, error);
 *
 * A panel for each of y. Rows that differ in nothing but x are a curve; what did not pass is left
 * out and counted. An axis is logarithmic where its numbers span much.
 */
#ifndef HL_REPORT_SERIES_PLOT_H
#define HL_REPORT_SERIES_PLOT_H

#include "report/plot.h"

enum { HL_SERIES_PANELS = 6, HL_SERIES_MOST = 24 };

typedef struct hl_series_plot {
  const char *title;
  const char *const *entries; /* of which the rows are; none: all */
  size_t entry_count;
  const char *x; /* a metric of one number, or a parameter of the model */
  const char *const *y;
  size_t y_count; /* 1..HL_SERIES_PANELS */
  /* The value of a parameter of a built-in model, also where it is the default; NaN: it has none.
   */
  double (*parameter)(const char *model, const char *key);
} hl_series_plot;

/* INVALID_ARGUMENT names the metric that is none, or no single number. */
hl_status hl_series_plot_check(const hl_series_plot *plot, hl_error *error);

/* PNG at 300 DPI (15 inches wide, of one panel 10) or SVG. UNAVAILABLE where no row can be drawn or
 * there is no gnuplot; `program` NULL is "gnuplot". */
hl_status hl_series_plot_draw(const hl_report_input *input, const hl_series_plot *plot,
                              hl_plot_kind kind, const char *program, hl_text *ret_picture,
                              hl_error *error);

/* The script alone. */
hl_status hl_series_plot_script(const hl_report_input *input, const hl_series_plot *plot,
                                hl_plot_kind kind, hl_text *out, hl_error *error);

#endif
