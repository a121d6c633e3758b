/*
 * report/training-plot.h - how the loss fell, and where a step's time went (inside src/report
 * only).
 *
 * Left: the loss of each step, thin, and the mean of each epoch, for up to six runs; logarithmic
 * where it falls far. Right: the mean times of a steady step's parts, one upon the other.
 */
#ifndef HL_REPORT_TRAINING_PLOT_H
#define HL_REPORT_TRAINING_PLOT_H

#include "report/report.h"

/* Whether the records are training runs, all of them. */
bool hl_training_plot_fits(const hl_records *records);

/* Appends gnuplot's script after that of its terminal. UNAVAILABLE where no row has a loss. */
hl_status hl_training_plot_script(const hl_report_input *input, hl_text *out, hl_error *error);

#endif
