/*
 * report/imaging-plot.h - the pictures of progressive imaging: the object, what was seen of it, the
 * cumulative mask, the reconstruction (inside src/report only).
 */
#ifndef HL_REPORT_IMAGING_PLOT_H
#define HL_REPORT_IMAGING_PLOT_H

#include "report/report.h"

/* Whether the row has pictures, and none before it has the same name: one file for each model,
 * engine, type and list of optimisations. */
bool hl__imaging_is_shown(const hl_records *records, size_t row);

/* A PNG of that row's pictures. As hl_gnuplot_picture. */
hl_status hl__imaging_plot(const hl_report_input *input, size_t row, hl_text *ret_picture,
                           hl_error *error);

#endif
