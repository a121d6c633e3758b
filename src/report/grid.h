/*
 * report/grid.h - frameworks, models and batch sizes side by side: tables and pictures.
 *
 *     hl_grid grid;
 *     if (hl_grid_make(...) == HL_OK) hl_report_grid(&grid, input, false, &text);
 *     hl_grid_plot_script(HL_GRID_PLOT_ROOFLINE, &grid, input, HL_PLOT_PNG, &script, &error);
 */
#ifndef HL_REPORT_GRID_H
#define HL_REPORT_GRID_H

#include "analyse/grid.h"
#include "report/plot.h"

/* Whether there is something to put side by side: two frameworks, types or models with rows. */
bool hl_report_grid_fits(const hl_analysis *analysis);

/* Latency, throughput, memory, compilation, roofline; in Markdown speed-ups, too, which a terminal
 * has elsewhere. Appended. */
void hl_report_grid(const hl_grid *grid, const hl_report_input *input, bool markdown, hl_text *out);

/* The title of ANALYSIS.md, with machine, date and command. */
void hl_report_grid_head(const hl_report_input *input, hl_text *out);

typedef enum hl_grid_plot {
  HL_GRID_PLOT_BATCH, /* latency, throughput and memory against the batch, a line of panels a model
                       */
  HL_GRID_PLOT_HEAT,  /* latency of an image and throughput, by framework, model and batch */
  HL_GRID_PLOT_SPEEDUP, /* each framework over each other */
  HL_GRID_PLOT_COMPILE, /* bars, and after how many images they pay off */
  HL_GRID_PLOT_ROOFLINE,
  HL_GRID_PLOTS
} hl_grid_plot;

/* "batch_analysis", ...: the file's name without its ending; and a title. */
const char *hl_grid_plot_name(hl_grid_plot plot);
const char *hl_grid_plot_title(hl_grid_plot plot);

/* Appends the script of a picture, for hl_gnuplot_picture. UNAVAILABLE where there is nothing of
 * that kind to draw, with the reason. */
hl_status hl_grid_plot_script(hl_grid_plot plot, const hl_grid *grid, const hl_report_input *input,
                              hl_plot_kind kind, hl_text *out, hl_error *error);

#endif
