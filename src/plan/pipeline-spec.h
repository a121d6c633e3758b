/*
 * plan/pipeline-spec.h - what the pipeline of a ptychography scan is asked for: the batch of each
 * stage but predict's, which is the row's own.
 */
#ifndef HL_PLAN_PIPELINE_SPEC_H
#define HL_PLAN_PIPELINE_SPEC_H

#include "base/arena.h"
#include "plan/options.h"

#define HL_PIPELINE_PREPROCESS_BATCH 128
#define HL_PIPELINE_PREDICT_BATCH_TEXT "32"
#define HL_PIPELINE_REASSEMBLE_BATCH 64

typedef struct hl_pipeline_spec {
  int64_t preprocess_batch; /* inputs made ready at a time */
  int64_t reassemble_batch; /* patches put into the image at a time */
  bool on_disk; /* patterns wait in a file: no option, but what a limit of memory asks */
} hl_pipeline_spec;

/* The stages of a pass, in their order; `merge` is the end of predict: the patches of an input made
 * one, as PtychoPINN's model does. */
typedef enum hl_pipeline_stage {
  HL_PIPELINE_PREPROCESS,
  HL_PIPELINE_PREDICT,
  HL_PIPELINE_MERGE,
  HL_PIPELINE_REASSEMBLE,
  HL_PIPELINE_STAGES
} hl_pipeline_stage;

const char *hl_pipeline_stage_name(hl_pipeline_stage stage); /* "preprocess", ... */

/* *ret_spec is NULL without --pipeline, else in the arena. INVALID_ARGUMENT for a number out of
 * range, and for a batch of a stage without --pipeline. */
hl_status hl_pipeline_spec_read(const hl_options *options, hl_arena *arena,
                                const hl_pipeline_spec **ret_spec, hl_error *error);

/* Appends the options that ask for it again, each after a space. */
void hl_pipeline_spec_options(const hl_pipeline_spec *spec, hl_text *out);

#endif
