/*
 * report/gnuplot.h - runs gnuplot on a script (inside src/report only).
 *
 * No shell takes part: the program is started by an argument vector, the script is its standard
 * input, and the picture is what it writes on standard output. ~/.gnuplot is not read.
 */
#ifndef HL_REPORT_GNUPLOT_H
#define HL_REPORT_GNUPLOT_H

#include "base/text.h"

/* Appends the output to `ret_picture`. UNAVAILABLE where there is no such program, TIMED_OUT after
 * `timeout_ms` (it is killed), BAD_DATA with its first complaint where it fails. */
hl_status hl_gnuplot_run(const char *program, const hl_text *script, int timeout_ms,
                         hl_text *ret_picture, hl_error *error);

/* The same of a whole picture, within a minute; a PNG has its resolution, 300 DPI. `program` NULL
 * is "gnuplot". OUT_OF_MEMORY for a script that could not be written. */
hl_status hl_gnuplot_picture(const char *program, const hl_text *script, bool png,
                             hl_text *ret_picture, hl_error *error);

/* Puts the resolution into a PNG, which gnuplot leaves out: the picture then prints at its size.
 * Bytes that are no PNG stay as they are. */
void hl_png_set_dpi(hl_text *png, double dots_per_inch);

#endif
