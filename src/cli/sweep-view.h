/*
 * cli/sweep-view.h - what a sweep shows while it runs: a table, and on a terminal a line of
 * progress below it.
 */
#ifndef HL_CLI_SWEEP_VIEW_H
#define HL_CLI_SWEEP_VIEW_H

#include "cli/suite-view.h"
#include "report/table.h"
#include "run/run.h"

typedef struct hl_sweep_view {
  hl_report_table table;
  bool show_table; /* rows on standard output */
  bool as_suite;   /* boxes in the table's place (--framework) */
  hl_suite_view suite;
  bool show_progress; /* a changing line on standard error */
  bool verbose;
  bool header_shown;
  size_t index, count;
  char current[160]; /* the row that is measured now */
  uint64_t start_ns;
  double budget_s; /* of a row */
  size_t not_kept; /* writes that the store did not take */
} hl_sweep_view;

/* `quiet` and `json` leave standard output alone. */
void hl_sweep_view_init(hl_sweep_view *view, const hl_plan *plan, const hl_options *options);

/* The hooks, with `view` as their context. */
hl_run_view hl_sweep_view_hooks(hl_sweep_view *view);

/* Prints the line of a probe for the largest batch. */
void hl_probe_show(const hl_run_probe *probe);

/* Removes the line of progress. */
void hl_sweep_view_end(hl_sweep_view *view);
void hl_sweep_view_release(hl_sweep_view *view);

#endif
