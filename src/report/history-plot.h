/*
 * report/history-plot.h - a metric over commits, by gnuplot.
 *
 * A panel for each configuration, of 6 at most, those with changes first; in it a line for each
 * machine, of 6 at most, with intervals as error bars, levels in grey, and a vertical line at each
 * change with its commit, size and what a rerun said. The heading says what is left out.
 */
#ifndef HL_REPORT_HISTORY_PLOT_H
#define HL_REPORT_HISTORY_PLOT_H

#include "report/history.h"

/* Appends the picture: PNG at 300 DPI, or SVG. UNAVAILABLE where there is no point or no such
 * program; `program` NULL is "gnuplot". */
hl_status hl_history_plot_draw(const hl_history *history, hl_plot_kind kind, const char *program,
                               hl_text *ret_picture, hl_error *error);

#endif
