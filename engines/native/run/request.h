/*
 * run/request.h - one step in flight: the arena, the bound inputs and the arguments of every step.
 */
#ifndef HL_NATIVE_RUN_REQUEST_H
#define HL_NATIVE_RUN_REQUEST_H

#include "compile/compile.h"

/* The hooks of the ABI with these names. */
hl_status hl_native_request_new(hl_program *program, hl_request **ret_request, hl_error *error);
hl_status hl_native_request_bind(hl_request *request, size_t input, const hl_tensor_view *view,
                                 hl_error *error);
hl_status hl_native_request_submit(hl_request *request, hl_error *error);
hl_status hl_native_request_wait(hl_request *request, hl_error *error);
hl_status hl_native_request_output(hl_request *request, size_t output, hl_tensor_view *ret_view,
                                   hl_error *error);
hl_status hl_native_request_profile(hl_request *request, hl_profile_visit visit, void *context,
                                    hl_error *error);
hl_status hl_native_request_spans(hl_request *request, hl_span_visit visit, void *context,
                                  hl_error *error);
hl_status hl_native_request_phases(hl_request *request, uint64_t ret_ns[HL_PHASE_COUNT],
                                   hl_error *error);
hl_status hl_native_request_trace(hl_request *request, hl_trace_visit visit, void *context,
                                  hl_error *error);
void hl_native_request_free(hl_request *request);

#endif
