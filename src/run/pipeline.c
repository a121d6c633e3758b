#include "run/pipeline.h"

#include "protocol/channel.h"
#include <math.h>

void hl_pipeline_identify(const hl_configuration *configuration, hl_record *record) {
  if (!configuration->pipeline) return;
  record->preprocess_batch_size = configuration->pipeline->preprocess_batch;
  record->reassemble_batch_size = configuration->pipeline->reassemble_batch;
}

void hl_pipeline_prepared(const json_t *reply, hl_record *record, double *ret_before_mb) {
  const json_t *stages = json_object_get(reply, "stage_bytes");
  double nan = (double)NAN;
  if (!stages) return;
  *ret_before_mb = hl_json_get_real(reply, "scan_bytes", 0) / 1e6;
  if (!record) return;
  record->stage_preprocess_mb = hl_json_get_real(stages, "preprocess", nan) / 1e6;
  record->stage_reassemble_mb = hl_json_get_real(stages, "reassemble", nan) / 1e6;
}

void hl_pipeline_totals_add(hl_pipeline_totals *totals, const json_t *reply, uint64_t passes) {
  const json_t *stages = json_object_get(reply, "stage_ns");
  if (!stages) return;
  for (int i = 0; i < HL_PIPELINE_STAGES; i++)
    totals->ns[i] +=
        hl_json_get_real(stages, hl_pipeline_stage_name((hl_pipeline_stage)i), (double)NAN);
  totals->passes += passes;
}

void hl_pipeline_fill(const hl_pipeline_totals *totals, double before_mb, hl_record *record) {
  if (!hl_workload_is_pipeline(record->workload) || totals->passes == 0) return;
  double pass = 1e6 * (double)totals->passes;
  double merge = totals->ns[HL_PIPELINE_MERGE] / pass;
  record->stage_preprocess_ms = totals->ns[HL_PIPELINE_PREPROCESS] / pass;
  record->stage_predict_ms = totals->ns[HL_PIPELINE_PREDICT] / pass;
  record->stage_reassemble_ms = totals->ns[HL_PIPELINE_REASSEMBLE] / pass;
  if (merge > 0) record->stage_merge_ms = merge;
  if (record->stage_predict_ms > 0)
    record->stage_beside_predict_percent =
        100 * (record->stage_preprocess_ms + record->stage_reassemble_ms) /
        record->stage_predict_ms;
  double own = record->stage_preprocess_mb - before_mb + record->stage_reassemble_mb;
  record->stage_predict_mb = fmax(record->memory_mb - own, 0);
  if (isnan(record->memory_mb - own)) record->stage_predict_mb = (double)NAN;
}
