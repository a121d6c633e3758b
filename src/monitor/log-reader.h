/*
 * monitor/log-reader.h - reads a monitor's log, from its oldest rotated file on, while it grows.
 *
 *     hl_log_reader *reader;
 *     if ((status = hl_log_reader_open(path, &reader, error))) return status;
 *     hl_log_entry entry;
 *     while (hl_log_reader_next(reader, &entry)) ...   // again later: what was added since
 *     hl_log_reader_close(reader);
 *
 * Follows the file through rotations: where it has been renamed, the rest of it is read, then the
 * files between it and the newest. A last line without an end is kept until its end comes. What is
 * malformed, or longer than HL_LOG_LINE, is passed over and counted. One thread.
 */
#ifndef HL_MONITOR_LOG_READER_H
#define HL_MONITOR_LOG_READER_H

#include "monitor/log-entry.h"

typedef struct hl_log_reader hl_log_reader;

/* What was read. */
typedef struct hl_log_count {
  uint64_t lines, malformed;
  size_t torn_bytes;         /* of a last line that has no end yet */
  char first_malformed[512]; /* "log.jsonl.1:17: batch_size is missing"; "": none */
} hl_log_count;

/* NOT_FOUND; IO: a directory or a device. */
hl_status hl_log_reader_open(const char *path, hl_log_reader **ret_reader, hl_error *error);
void hl_log_reader_close(hl_log_reader *reader); /* NULL is allowed */

/* The next inference or event; false: there is none for now. */
bool hl_log_reader_next(hl_log_reader *reader, hl_log_entry *ret_entry);

const hl_log_count *hl_log_reader_count(const hl_log_reader *reader);

#endif
