/*
 * worker/progressive.h - passes of progressive imaging, timed, and their pictures
 * (workloads/progressive.h).
 */
#ifndef HL_WORKER_PROGRESSIVE_H
#define HL_WORKER_PROGRESSIVE_H

#include "worker/timed-loop.h"
#include "workloads/progressive.h"
#include <jansson.h>

/* As hl_timed_run with a pass as the step and samples as its images: one stamp a pass, and those
 * between its stages. `ret_times` has the stages of all passes. `part`: a pass is its first sample
 * alone. */
hl_status hl_worker_progressive_run(hl_progressive *progressive,
                                    const hl_configuration *configuration,
                                    const hl_timed_request *request, bool part, uint64_t *ret_ns,
                                    uint64_t *ret_images, hl_timed_result *ret_result,
                                    hl_progressive_times *ret_times, hl_error *error);

/* Sets stage_ns and `progressive` of a slice: the stages, and what the last pass came to. */
void hl_worker_progressive_report(const hl_progressive *progressive,
                                  const hl_progressive_times *times, json_t *reply);

/* Sets what `configure` says of it: the sizes, the object, notes. */
void hl_worker_progressive_describe(const hl_progressive *progressive, json_t *reply);

/* The verb `image`: pictures of the last pass (docs/protocol.md), malloc'ed, and unless the
 * request's `check` is false how far its measurements are from the baseline's. */
hl_status hl_worker_progressive_image(hl_progressive *progressive, const json_t *request,
                                      json_t *reply, void **ret_bytes, size_t *ret_byte_count,
                                      hl_error *error);

#endif
