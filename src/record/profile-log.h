/*
 * record/profile-log.h - a profile on its way from the process that measures to the one that reads.
 *
 *     in the one:   hl_profile_log_create(bytes, &fd, error);   then tells "/proc/PID/fd/N"
 *     in the other: hl_profile_log_open(path, &log, error);
 *                   hl_profile_log_event(&log, &operator, step, thread, start_ns, end_ns);
 *     in the one:   hl_profile_log_read(fd, profile, error);
 *
 * Shared memory: whatever was written before the writer died is there for the reader, and to write
 * is to store, nothing else. Times are of CLOCK_MONOTONIC; in the profile they begin with the log.
 * The log grows up to its bytes, and what is beyond is counted.
 */
#ifndef HL_RECORD_PROFILE_LOG_H
#define HL_RECORD_PROFILE_LOG_H

#include "record/profile.h"
#include <stddef.h>

#define HL_PROFILE_LOG_BYTES ((size_t)256 << 20)

typedef struct hl_profile_log hl_profile_log;

/* An anonymous file of so many bytes that take no memory before they are written. */
hl_status hl_profile_log_create(size_t bytes, int *ret_fd, hl_error *error);

/* For the writer, which marks the beginning. IO; BAD_DATA if it is no fresh log. */
hl_status hl_profile_log_open(const char *path, hl_profile_log **ret_log, hl_error *error);
void hl_profile_log_free(hl_profile_log *log); /* NULL is allowed */

/* Notes one call of an operator, which is told apart by all its members. */
void hl_profile_log_event(hl_profile_log *log, const hl_profile_operator *operator, int32_t step,
                          int32_t thread, uint64_t start_ns, uint64_t duration_ns);
void hl_profile_log_step(hl_profile_log *log, uint64_t start_ns, uint64_t duration_ns);
void hl_profile_log_scalar(hl_profile_log *log, const char *name, int64_t step, double value);
void hl_profile_log_picture(hl_profile_log *log, const hl_profile_picture *picture);

/* All of it so far, in one piece, for a reader on another machine, which writes it to the beginning
 * of a log of its own (hl_profile_log_create). */
const void *hl_profile_log_whole(const hl_profile_log *log, size_t *ret_bytes);

/* Adds what the log holds. BAD_DATA where its writer spoilt it: what stands before that is in the
 * profile; IO, OUT_OF_MEMORY. A log that nobody opened holds nothing. */
hl_status hl_profile_log_read(int fd, hl_profile *profile, hl_error *error);

#endif
