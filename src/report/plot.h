/*
 * report/plot.h - performance_analysis: six panels about batch sizes, by gnuplot.
 *
 * Throughput with intervals, memory, latency distribution, efficiency, scaling against the ideal,
 * and the optimal operating region; of several groups a curve each, with their median latencies
 * instead of the distribution and latency against throughput instead of the region. The x-axis is
 * log2 of the batch size, with labels at sizes that were measured; sizes that failed are crosses on
 * the axis. Of load tests there is one panel, latency against the rate (load-plot.h).
 */
#ifndef HL_REPORT_PLOT_H
#define HL_REPORT_PLOT_H

#include "report/report.h"

typedef enum hl_plot_kind { HL_PLOT_PNG, HL_PLOT_SVG } hl_plot_kind;

enum { HL_PLOT_MAX_SERIES = 6 }; /* groups drawn; more would not be told apart */

/* Appends gnuplot's script of the panels about batch sizes. */
void hl_plot_script(const hl_report_input *input, hl_plot_kind kind, hl_text *out);

/* Draws the picture: PNG of 4500 x 3000 dots at 300 DPI (15 x 10 inches) or SVG. UNAVAILABLE when
 * no row passed or there is no such program; `program` NULL is "gnuplot". */
hl_status hl_plot_draw(const hl_report_input *input, hl_plot_kind kind, const char *program,
                       hl_text *ret_picture, hl_error *error);

#endif
