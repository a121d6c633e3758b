/*
 * worker/profile.h - the verb `profile`: steps whose operators are timed, and steps without, by
 * turns (docs/protocol.md).
 *
 *     const hl_worker_profile what = {.inference = &inference};
 *     status = hl_worker_profile_run(&what, request, reply, &bytes, &n, error);
 */
#ifndef HL_WORKER_PROFILE_H
#define HL_WORKER_PROFILE_H

#include "workloads/inference.h"
#include "workloads/pipeline.h"
#include "workloads/progressive.h"
#include "workloads/training.h"
#include <jansson.h>

/* What is profiled: `training`, else a pass of `pipeline` or `progressive` with its inference, else
 * `inference`. */
typedef struct hl_worker_profile {
  hl_inference *inference;
  hl_pipeline *pipeline;
  hl_progressive *progressive;
  hl_training *training;
} hl_worker_profile;

/* Events go to the log that the request names, as they happen. Attaches the times of the profiled
 * steps and of the plain ones. A step's failure is that of the request; the log has what was
 * before. */
hl_status hl_worker_profile_run(const hl_worker_profile *what, const json_t *request, json_t *reply,
                                void **ret_bytes, size_t *ret_byte_count, hl_error *error);

#endif
