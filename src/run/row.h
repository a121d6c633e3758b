/*
 * run/row.h - measures one configuration in a worker of its own.
 */
#ifndef HL_RUN_ROW_H
#define HL_RUN_ROW_H

#include "run/reference.h"
#include "run/run.h"

/* What the rows of a run share. */
typedef struct hl_row_context {
  const hl_run_environment *environment;
  const hl_run_view *view;
  const hl_method_options *method;
  hl_reference_cache *references;
  hl_run_info *info;   /* gains the clock's cost and hotlap's overhead */
  bool bad_input_ends; /* one model only: its bad file is the run's failure, not a row's */
} hl_row_context;

/* Measures; failures of the configuration are in the record (outcome, reason), not in the status.
 * `record` is initialised by the caller. INTERRUPTED after a wake: the record is incomplete. */
hl_status hl_row_measure(const hl_row_context *context, const hl_configuration *configuration,
                         hl_record *record, hl_error *error);

/* Loads, prepares and runs a few steps only: does this size run? `ret_peak_bytes` is the peak of
 * the whole worker, 0 if unknown. The status says how it ended: OUT_OF_MEMORY and so on. */
hl_status hl_row_probe(const hl_row_context *context, const hl_configuration *configuration,
                       uint64_t *ret_peak_bytes, hl_error *error);

#endif
