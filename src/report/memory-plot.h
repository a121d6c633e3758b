/*
 * report/memory-plot.h - pictures of where memory goes, by gnuplot (inside src/report only).
 *
 * memory_comparison: inference beside training, over the batch and at the largest one.
 * training_memory_breakdown: what a training step holds at its fullest step, and its phases' peaks.
 * memory_arena_*: the arena of one row, step by step, by kind and by layer.
 */
#ifndef HL_REPORT_MEMORY_PLOT_H
#define HL_REPORT_MEMORY_PLOT_H

#include "report/plot.h"

/* Each draws a picture, PNG at 300 DPI or SVG. UNAVAILABLE where there is nothing to draw or no
 * gnuplot (`program` NULL is "gnuplot"). */
hl_status hl_memory_plot_comparison(const hl_report_input *input, hl_plot_kind kind,
                                    const char *program, hl_text *ret_picture, hl_error *error);
hl_status hl_memory_plot_breakdown(const hl_report_input *input, hl_plot_kind kind,
                                   const char *program, hl_text *ret_picture, hl_error *error);
/* `record` has a map. */
hl_status hl_memory_plot_arena(const hl_record *record, hl_plot_kind kind, const char *program,
                               hl_text *ret_picture, hl_error *error);

/* "memory_arena_training_mlp_hidden_dim_256": without an ending; free() it. */
char *hl_memory_arena_name(const hl_record *record);

#endif
