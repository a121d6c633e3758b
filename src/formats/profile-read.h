/*
 * formats/profile-read.h - other profilers' files as profiles.
 *
 *     hl_profile *profile;
 *     status = hl_profile_read_file("onnxruntime_profile.json", &profile, error);
 *     hl_profile_free(profile);
 *
 * Read are, told apart by their content: the JSON of ONNX Runtime's profiler, the Chrome trace of
 * torch.profiler (export_chrome_trace, also within TensorBoard's *.pt.trace.json), and the
 * trace.json of hotlap itself. docs/profile.md says what becomes what; what a file does not tell is
 * not known: NaN or "".
 *
 * Files are hostile: at most 256 MiB, 2^24 values, 64 levels. Faults are BAD_DATA with the file,
 * the place (line, or traceEvents[3].dur) and the remedy. Nothing of a file that fails is kept.
 * Thread-safe: there is no state.
 */
#ifndef HL_FORMATS_PROFILE_READ_H
#define HL_FORMATS_PROFILE_READ_H

#include "record/profile.h"

/* NOT_FOUND, IO, LIMIT, BAD_DATA, OUT_OF_MEMORY. */
hl_status hl_profile_read_file(const char *path, hl_profile **ret_profile, hl_error *error);

/* The same of a document in memory; `name` is for messages. */
hl_status hl_profile_read_memory(const char *name, const char *data, size_t bytes,
                                 hl_profile **ret_profile, hl_error *error);

#endif
