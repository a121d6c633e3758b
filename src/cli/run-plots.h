/*
 * cli/run-plots.h - the pictures that a plan describes.
 */
#ifndef HL_CLI_RUN_PLOTS_H
#define HL_CLI_RUN_PLOTS_H

#include "plan/plan-file.h"
#include "report/report.h"

/* INVALID_ARGUMENT names FILE:LINE:COLUMN of a plot that cannot be drawn whatever is measured. */
hl_status hl_cli_plots_check(const hl_plan_file *file, hl_error *error);

/* Draws PNG and SVG of each plot into `directory`; their paths are appended to `written`, one a
 * line. `ret_pictures` has room for HL_PLAN_PLOTS. Like hl_report_write, UNAVAILABLE where only
 * pictures are missing, and the others are there. */
hl_status hl_cli_plots_draw(const hl_plan_file *file, const hl_report_input *input,
                            const char *directory, hl_text *written,
                            hl_report_picture *ret_pictures, size_t *ret_count, hl_error *error);

#endif
