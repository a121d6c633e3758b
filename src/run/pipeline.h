/*
 * run/pipeline.h - what the worker says of a pipeline's stages, gathered into the row. Of the
 * image: run/image.h.
 *
 *     hl_pipeline_identify(configuration, record);
 *     hl_pipeline_prepared(reply_to_prepare, record, &before_mb);
 *     hl_pipeline_totals_add(&totals, run_reply, passes);     (once for each measured slice)
 *     hl_pipeline_fill(&totals, before_mb, record);           (when memory_mb is known)
 *
 * All of it does nothing for a row of another workload.
 */
#ifndef HL_RUN_PIPELINE_H
#define HL_RUN_PIPELINE_H

#include "plan/configuration.h"
#include "record/record.h"
#include <jansson.h>

typedef struct hl_pipeline_totals {
  double ns[HL_PIPELINE_STAGES];
  uint64_t passes;
} hl_pipeline_totals;

/* Sets the batches of the stages. */
void hl_pipeline_identify(const hl_configuration *configuration, hl_record *record);

/* Sets stage_preprocess_mb and stage_reassemble_mb; of these, `ret_before_mb` was there before the
 * model was loaded. */
void hl_pipeline_prepared(const json_t *reply, hl_record *record, double *ret_before_mb);

void hl_pipeline_totals_add(hl_pipeline_totals *totals, const json_t *reply, uint64_t passes);

/* Sets the stages' times and predict's memory. */
void hl_pipeline_fill(const hl_pipeline_totals *totals, double before_mb, hl_record *record);

#endif
