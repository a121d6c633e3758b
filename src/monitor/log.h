/*
 * monitor/log.h - a file of lines that is appended to and rotated.
 *
 *     hl_log log;
 *     if ((status = hl_log_open(path, 64 << 20, 8, header, &log, error))) return status;
 *     hl_log_append(&log, "{...}\n", length, error);   // whole lines
 *     hl_log_close(&log);
 *
 * Lines are appended by single writes, so that whoever is killed leaves whole lines. A last line
 * that was torn all the same (by a full disk, or a host that went down) is ended by the next one
 * who opens the file. At `rotate_bytes` PATH becomes PATH.1, PATH.1 becomes PATH.2, and so on, the
 * oldest first, by renames: a process killed between two of them leaves a gap and loses nothing.
 * One writer: the file is locked (flock) while it is open. One thread.
 */
#ifndef HL_MONITOR_LOG_H
#define HL_MONITOR_LOG_H

#include "base/text.h"

typedef struct hl_log {
  int fd; /* -1: closed */
  char *path;
  uint64_t bytes; /* of the file now */
  uint64_t rotate_bytes;
  uint32_t keep;
  char *header; /* lines that every file begins with */
  bool torn;    /* the last line has no end */
} hl_log;

/* `header` may be "". IO; UNAVAILABLE: another process has it open for writing. */
hl_status hl_log_open(const char *path, uint64_t rotate_bytes, uint32_t keep, const char *header,
                      hl_log *ret_log, hl_error *error);
/* A child of fork that has the file open keeps it locked otherwise. */
void hl_log_unlock(const hl_log *log);
void hl_log_close(hl_log *log); /* of a zeroed one with fd -1: nothing */

/* Appends whole lines, with rotations where they would make the file too large. IO: what did not
 * go out is lost. */
hl_status hl_log_append(hl_log *log, const char *lines, size_t bytes, hl_error *error);

#endif
