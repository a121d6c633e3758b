/*
 * run/fit.h - the stages' batches with which a pipeline keeps to a limit of memory.
 *
 *     hl_fit fit;
 *     hl_fit_begin(&fit, context, configuration);
 *     status = hl_fit_plan(&fit, error);                 // by the engine's plan
 *     while (status == HL_OK && (status = run(fit.configuration)) == HL_OUT_OF_MEMORY)
 *       status = hl_fit_smaller(&fit, error);            // by what was seen
 *
 * A whole scan goes through under a limit by smaller batches, and gives the same image. What is
 * asked for is tried first; the batches of preprocess and reassemble are cut to predict's with it,
 * as they cost nothing in speed.
 */
#ifndef HL_RUN_FIT_H
#define HL_RUN_FIT_H

#include "run/row.h"

/* hl_row has one. */
struct hl_fit {
  const hl_row_context *context;
  const hl_configuration *asked;
  hl_configuration configuration; /* that is to be run; its batches are `spec` and its own */
  hl_pipeline_spec spec;
};

/* Whether a row's batches may be cut: a pipeline's under a limit, unless --no-predict is
 * given or its method keeps them. */
bool hl_fit_applies(const hl_row_context *context, const hl_configuration *configuration);

void hl_fit_begin(hl_fit *fit, const hl_row_context *context,
                  const hl_configuration *configuration);

/* The largest batch up to what is asked for that fits by the engine's plan; what is asked for where
 * there is no plan. Starts workers. */
hl_status hl_fit_plan(hl_fit *fit, hl_error *error);

/* The next smaller batch to try. OUT_OF_MEMORY below one input at a time, with the least limit that
 * was seen to work. */
hl_status hl_fit_smaller(hl_fit *fit, hl_error *error);

bool hl_fit_is_cut(const hl_fit *fit);

#endif
