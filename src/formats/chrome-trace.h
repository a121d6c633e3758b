/*
 * formats/chrome-trace.h - a profile as a timeline for chrome://tracing, Perfetto and TensorBoard's
 * profiler.
 *
 *     status = hl_chrome_trace_write(profile, fd, error);
 *
 * The JSON object format of "Trace Event Format" (Duffy and Sinclair, Google, 2016): complete
 * events (ph X) with ts and dur in microseconds and three decimals, counters (C) of the profile's
 * scalars, metadata (M) that names process and threads. Operators have the category cpu_op, spans
 * and steps user_annotation, and a step is called "ProfilerStep#5": what torch.profiler writes and
 * torch_tb_profiler 0.4 looks for. args hold kind, layer, phase, step, flops, bytes and
 * memory_bytes, without those that are not known; otherData holds what was measured, and whether
 * it was measured to its end. Any bytes in names give valid JSON (base/json-writer.h). Pure but for
 * the file; thread-safe.
 */
#ifndef HL_FORMATS_CHROME_TRACE_H
#define HL_FORMATS_CHROME_TRACE_H

#include "record/profile.h"

/* Writes piece by piece, so that a long profile takes no memory twice. IO, OUT_OF_MEMORY. */
hl_status hl_chrome_trace_write(const hl_profile *profile, int fd, hl_error *error);

#endif
