/*
 * engines/common/profile.h - what engines share whose profiler belongs to a session of its own: the
 * same inputs in another request, and the clock of spans.
 */
#ifndef HOTLAP_ENGINE_PROFILE_H
#define HOTLAP_ENGINE_PROFILE_H

#include <hotlap/engine.h>

/* CLOCK_MONOTONIC, as hl_span's start_ns is. */
uint64_t hl_engine_now_ns(void);

/* Binds `count` inputs to `to`: those that are bound (not NULL), of so many bytes. */
hl_status hl_engine_bind_again(hl_request *to, const void *const *bound, const uint64_t *bytes,
                               size_t count,
                               hl_status (*bind)(hl_request *request, size_t input,
                                                 const hl_tensor_view *view, hl_error *error),
                               hl_error *error);

#endif
