/*
 * base/file.h - whole files, safely.
 *
 * Writing is atomic: a new file in the same directory, fsync, rename; a reader sees the old
 * file or the new one, never a part. Thread-safe.
 */
#ifndef HL_BASE_FILE_H
#define HL_BASE_FILE_H

#include "base/error.h"
#include <stdbool.h>

/* A read-only mapping of a whole file. */
typedef struct hl_mapping {
  const unsigned char *data; /* valid pointer also for an empty file */
  size_t bytes;
} hl_mapping;

/* Maps a regular file of at most `max_bytes`; NOT_FOUND, IO, LIMIT or BAD_DATA (not a file). */
hl_status hl_file_map(const char *path, uint64_t max_bytes, hl_mapping *ret_mapping,
                      hl_error *error);
void hl_file_unmap(hl_mapping *mapping);

/* Reads a file (also from /proc and /sys) of at most `max_bytes`; free() the terminated result. */
hl_status hl_file_read(const char *path, size_t max_bytes, char **ret_data, size_t *ret_bytes,
                       hl_error *error);

/* IO where `path` is empty, or is there and is no regular file: a device must not be replaced by a
 * file. */
hl_status hl_file_can_replace(const char *path, hl_error *error);

/* Whether both paths lead to one file that is there, however they are written and linked. */
bool hl_file_is_same(const char *a, const char *b);

/* A file that is written piece by piece to `fd`, which can be read, too, and takes the place of
 * `path` at its end. */
typedef struct hl_new_file {
  int fd;
  const char *path; /* borrowed */
  char *target;     /* what is replaced: `path`, or where it leads as a symbolic link; owned */
  char *temporary;  /* beside the target; NULL where it has no name yet; owned */
} hl_new_file;
/* Without a name until its end, so that a process that is killed leaves nothing behind; a temporary
 * name on a file system that has no such files. */
hl_status hl_file_begin(const char *path, hl_new_file *ret_file, hl_error *error);
/* With a name from the start, for a library that opens `temporary` itself. */
hl_status hl_file_begin_named(const char *path, hl_new_file *ret_file, hl_error *error);
/* Closes it; with `status` HL_OK it replaces `path`, else it is removed and `status` returned. */
hl_status hl_file_end(hl_new_file *file, hl_status status, hl_error *error);

/* Replaces `path` atomically. */
hl_status hl_file_write(const char *path, const void *data, size_t bytes, hl_error *error);

/* Directory of the hotlap program: of the running one, or what was set in an interpreter that runs
 * in its place; free() it. NULL where /proc does not say it. */
char *hl_program_directory(void);
void hl_program_directory_set(const char *directory); /* borrowed; before any other thread runs */

/* mkdir -p with mode 0777 less umask; an existing directory is success. */
hl_status hl_directory_make(const char *path, hl_error *error);

/* write() until everything is out; EINTR is retried. */
hl_status hl_write_all(int fd, const void *data, size_t bytes, const char *what, hl_error *error);

#endif
