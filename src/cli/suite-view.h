/*
 * cli/suite-view.h - what `hotlap sweep --framework` shows: boxes in the order of the plan.
 *
 * Rows that take turns end together, so a row waits until those before it in the plan are there.
 */
#ifndef HL_CLI_SUITE_VIEW_H
#define HL_CLI_SUITE_VIEW_H

#include "plan/configuration.h"
#include "record/record.h"

typedef struct hl_suite_view {
  const hl_plan *plan;
  char **texts; /* of each row of the plan: its lines; NULL: not there yet */
  char **boxes; /* its heading, should it be the first of a box */
  size_t next;  /* rows before it are shown */
  size_t last;  /* the one that was shown last; SIZE_MAX: none */
} hl_suite_view;

/* Without memory nothing is shown before the end. */
void hl_suite_view_init(hl_suite_view *view, const hl_plan *plan);
void hl_suite_view_release(hl_suite_view *view);

/* Takes a row, and appends to `out` what can be shown now. */
void hl_suite_view_row(hl_suite_view *view, const hl_record *record, hl_text *out);

/* Appends what was not shown, also rows that an earlier run measured. */
void hl_suite_view_end(hl_suite_view *view, const hl_records *records, hl_text *out);

#endif
