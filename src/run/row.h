/*
 * run/row.h - measures one configuration in a worker of its own, step by step.
 *
 *     hl_row row;
 *     hl_row_init(&row, &context, configuration, &record);
 *     hl_status status = hl_row_open(&row, &failure);       // to the first call and its outputs
 *     if (status == HL_OK) status = hl_row_warm_up(&row, &failure);
 *     while (status == HL_OK && hl_stopping_next(&row.stopping, &request))
 *       status = hl_row_run(&row, &request, 0, &failure);
 *     if (status == HL_OK) status = hl_row_summary(&row, &failure);
 *     status = hl_row_close(&row, status, &failure, error);
 *
 * Several rows may be open at a time, if the workers of all but one are paused.
 */
#ifndef HL_RUN_ROW_H
#define HL_RUN_ROW_H

#include "method/stopping.h"
#include "method/voiding.h"
#include "method/warmup.h"
#include "run/counters.h"
#include "run/device.h"
#include "run/energy.h"
#include "run/pipeline.h"
#include "run/progressive.h"
#include "run/reference.h"
#include "run/retraces.h"
#include "run/row-noise.h"
#include "run/run.h"
#include "run/session.h"

/* What the rows of a run share. */
struct hl_row_context {
  const hl_run_environment *environment;
  const hl_run_view *view;
  const hl_method_options *method;
  hl_reference_cache *references;
  hl_run_info *info;   /* gains the clock's cost and hotlap's overhead */
  bool bad_input_ends; /* one model only: its bad file is the run's failure, not a row's */
};

/* Everything that one row collects. Read-only for callers. */
typedef struct hl_fit hl_fit; /* run/fit.h */

typedef struct hl_row {
  const hl_row_context *context;
  const hl_configuration *configuration;
  hl_session session;
  hl_record *record; /* borrowed */
  hl_reference outputs;
  int nan_output;        /* output of the reference that holds NaN, -1: none is known to */
  int nan_output_own;    /* of the engine, where the reference has none; -1 */
  const char *no_cosine; /* NULL, or why an output and the reference have no cosine */
  hl_warmup warmup;
  hl_stopping stopping;
  bool bad_input;    /* it did not open for what the user gave */
  uint64_t *samples; /* all measured samples, partial batches included */
  uint64_t *images;  /* of each sample */
  uint64_t *full;    /* those of full batches */
  size_t count, capacity, full_count;
  uint32_t group;
  uint64_t steps;
  hl_row_noise noise;
  hl_retraces retraces;
  hl_device_totals device;
  hl_energy_totals energy;
  hl_counter_totals counters;
  hl_pipeline_totals pipeline;
  hl_progressive_totals progressive;
  hl_fit *fit; /* of a pipeline under a limit of memory, else NULL; owned */
} hl_row;

/* `record` is initialised by the caller and has to stay. */
void hl_row_init(hl_row *row, const hl_row_context *context, const hl_configuration *configuration,
                 hl_record *record);

/* Starts the worker, loads, prepares, makes the first call and checks its outputs. */
hl_status hl_row_open(hl_row *row, hl_error *error);

/* Warms up and sets up `stopping`. */
hl_status hl_row_warm_up(hl_row *row, hl_error *error);

/* What hl_row_run brought. */
typedef struct hl_row_slice {
  const uint64_t *samples_ns; /* of full batches; valid until the next run */
  size_t sample_count;
  uint64_t steps, elapsed_ns; /* the discarded steps' time included */
  hl_turn_noise noise;
} hl_row_slice;

/* Measures a slice and adds it to the row; `discard_steps` steps before it do not count and leave
 * the place in the data as it was. `ret_slice` may be NULL. */
hl_status hl_row_run(hl_row *row, const hl_slice_request *request, uint64_t discard_steps,
                     hl_row_slice *ret_slice, hl_error *error);

/* Measures until it is enough: all that hl_stopping_next asks for. */
hl_status hl_row_run_all(hl_row *row, hl_error *error);

/* From samples to the numbers of the record. */
hl_status hl_row_summary(hl_row *row, hl_error *error);

/* The same of what there was when the run was interrupted, without asking the worker, which may
 * hang over a step: no memory, and `stop` is "interrupted". INTERRUPTED for too few samples. */
hl_status hl_row_salvage(hl_row *row, hl_error *error);

/* Ends the worker, releases the row and writes outcome and reason into the record; `status` is that
 * of the last call, `failure` its error. INTERRUPTED after a wake (the record is incomplete), a bad
 * input's status where that ends the run, else OK. */
hl_status hl_row_close(hl_row *row, hl_status status, hl_error *failure, hl_error *error);

/* All of the above for one configuration; failures of the configuration are in the record
 * (outcome, reason), not in the status. */
hl_status hl_row_measure(const hl_row_context *context, const hl_configuration *configuration,
                         hl_record *record, hl_error *error);

/* What a worker with this configuration would need by its engine's plan, its own baseline included,
 * without running a step; 0 where the engine has no plan. */
hl_status hl_row_plan(const hl_row_context *context, const hl_configuration *configuration,
                      double *ret_bytes, hl_error *error);

/* Loads, prepares and runs a few steps only: does this size run? `ret_peak_bytes` is the peak of
 * the whole worker, 0 if unknown. The status says how it ended: OUT_OF_MEMORY and so on. */
hl_status hl_row_probe(const hl_row_context *context, const hl_configuration *configuration,
                       uint64_t *ret_peak_bytes, hl_error *error);

#endif
