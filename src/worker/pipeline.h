/*
 * worker/pipeline.h - a pipeline's passes, timed, and its image (workloads/pipeline.h).
 */
#ifndef HL_WORKER_PIPELINE_H
#define HL_WORKER_PIPELINE_H

#include "worker/timed-loop.h"
#include "workloads/pipeline.h"
#include <jansson.h>

/* As hl_timed_run with a pass as the step: one stamp a sample, and few more within a pass, between
 * its stages. `ret_times` has the stages of all passes. */
hl_status hl_worker_pipeline_run(hl_pipeline *pipeline, const hl_configuration *configuration,
                                 const hl_timed_request *request, uint64_t *ret_ns,
                                 uint64_t *ret_images, hl_timed_result *ret_result,
                                 hl_pipeline_times *ret_times, hl_error *error);

/* Sets stage_ns of a slice: an object with the stages. */
void hl_worker_pipeline_report(const hl_pipeline_times *times, json_t *reply);

/* Sets stage_bytes: what the stages hold by themselves. */
void hl_worker_pipeline_describe(const hl_pipeline *pipeline, json_t *reply);

/* The verb `image`: that of the last pass (docs/protocol.md), malloc'ed. */
hl_status hl_worker_pipeline_image(const hl_pipeline *pipeline, json_t *reply, void **ret_bytes,
                                   size_t *ret_byte_count, hl_error *error);

#endif
