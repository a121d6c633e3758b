/*
 * worker/profile-document.h - what other profilers wrote down, for engines (hl_host.read_profile).
 */
#ifndef HL_WORKER_PROFILE_DOCUMENT_H
#define HL_WORKER_PROFILE_DOCUMENT_H

#include "base/error.h"

/* See include/hotlap/engine.h. Thread-safe. */
hl_status hl_worker_read_profile(const char *text, size_t bytes, const uint64_t *step_start_ns,
                                 size_t count, hl_span_visit visit, void *context, hl_error *error);

#endif
