#include "plan/pipeline-spec.h"

#include "plan/configuration.h"
#include <inttypes.h>

const char *hl_pipeline_stage_name(hl_pipeline_stage stage) {
  static const char *const names[HL_PIPELINE_STAGES] = {"preprocess", "predict", "merge",
                                                        "reassemble"};
  return names[stage];
}

hl_status hl_pipeline_spec_read(const hl_options *options, hl_arena *arena,
                                const hl_pipeline_spec **ret_spec, hl_error *error) {
  *ret_spec = NULL;
  if (!hl_options_on(options, HL_OPTION_PIPELINE)) {
    static const hl_option_id of_pipeline[] = {HL_OPTION_PREPROCESS_BATCH,
                                               HL_OPTION_REASSEMBLE_BATCH};
    for (size_t i = 0; i < HL_COUNT(of_pipeline); i++)
      if (hl_options_given(options, of_pipeline[i]))
        return hl_error_set(error, HL_INVALID_ARGUMENT,
                            "--%s is of a stage of --pipeline: give that, too",
                            hl_option_name(of_pipeline[i]));
    return HL_OK;
  }
  if (hl_options_on(options, HL_OPTION_ADAPTIVE_SIZING))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--adaptive-sizing is for a network alone: a pipeline cuts its batches to "
                        "--memory-limit by itself, and no batch is larger than its scan");
  hl_pipeline_spec *spec = hl_arena_array(arena, 1, sizeof *spec);
  if (!spec) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the plan");
  hl_status status = hl_options_int(options, HL_OPTION_PREPROCESS_BATCH, 1, HL_BATCH_LIMIT,
                                    HL_PIPELINE_PREPROCESS_BATCH, &spec->preprocess_batch, error);
  if (status == HL_OK)
    status = hl_options_int(options, HL_OPTION_REASSEMBLE_BATCH, 1, HL_BATCH_LIMIT,
                            HL_PIPELINE_REASSEMBLE_BATCH, &spec->reassemble_batch, error);
  if (status == HL_OK) *ret_spec = spec;
  return status;
}

void hl_pipeline_spec_options(const hl_pipeline_spec *spec, hl_text *out) {
  hl_text_append(out, " --pipeline");
  if (spec->preprocess_batch != HL_PIPELINE_PREPROCESS_BATCH)
    hl_text_format(out, " --preprocess-batch %" PRId64, spec->preprocess_batch);
  if (spec->reassemble_batch != HL_PIPELINE_REASSEMBLE_BATCH)
    hl_text_format(out, " --reassemble-batch %" PRId64, spec->reassemble_batch);
}
