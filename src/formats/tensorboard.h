/*
 * formats/tensorboard.h - a profile's scalars and pictures as an event file of TensorBoard.
 *
 *     hl_tensorboard_event_name(profile, host, pid, &name);   //
 * "events.out.tfevents.179...host.7.0" status = hl_tensorboard_write(profile, fd, error);
 *
 * TFRecord framing (lengths and masked CRC-32C) of tensorflow.Event messages: first the version,
 * "brain.Event:2"; then the time of each step, "time/step_ms"; then the profile's scalars and
 * pictures by their own names, as simple_value (float32) and image (8-bit grey PNG). Times are
 * those of the steps' ends, since 1970 where the profile knows when it began, else since its start.
 * Names are made valid UTF-8, which protobuf asks for; an empty one is "unnamed". Pure but for the
 * file; thread-safe.
 */
#ifndef HL_FORMATS_TENSORBOARD_H
#define HL_FORMATS_TENSORBOARD_H

#include "base/text.h"
#include "record/profile.h"

/* IO, OUT_OF_MEMORY. */
hl_status hl_tensorboard_write(const hl_profile *profile, int fd, hl_error *error);

/* Append the names of files that TensorBoard and torch_tb_profiler look for: "tfevents" in the one,
 * HOST_PID.MILLISECONDS.pt.trace.json the other. What is neither letter, digit, '-' nor '_' in
 * `host` becomes '_'; NULL or "" is "localhost". */
void hl_tensorboard_event_name(const hl_profile *profile, const char *host, int64_t pid,
                               hl_text *out);
void hl_tensorboard_trace_name(const hl_profile *profile, const char *host, int64_t pid,
                               hl_text *out);

/* CRC-32C (Castagnoli; RFC 3720, B.4) of `count` bytes. */
uint32_t hl_crc32c(const void *data, size_t count);

#endif
