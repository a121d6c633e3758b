/*
 * report/image-plot.h - the image of a pipeline: amplitude and phase, beside the true object where
 * it is known (inside src/report only).
 */
#ifndef HL_REPORT_IMAGE_PLOT_H
#define HL_REPORT_IMAGE_PLOT_H

#include "report/report.h"

/* Whether the row is the first with an image of its model, engine and type: one picture each. */
bool hl__image_is_shown(const hl_records *records, size_t row);

/* A PNG of that row's image. As hl_gnuplot_picture. */
hl_status hl__image_plot(const hl_report_input *input, size_t row, hl_text *ret_picture,
                         hl_error *error);

#endif
