#include "monitor/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* What went out stays out, so a line may be left without its end. */
static hl_status write_lines(hl_log *log, const char *lines, size_t bytes, hl_error *error) {
  if (log->torn) {
    if (write(log->fd, "\n", 1) != 1)
      return hl_error_errno(error, HL_IO, "cannot write to '%s'", log->path);
    log->torn = false;
    log->bytes++;
  }
  while (bytes > 0) {
    ssize_t n = write(log->fd, lines, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return hl_error_errno(error, HL_IO, "cannot write to '%s'", log->path);
    log->bytes += (uint64_t)n;
    log->torn = lines[n - 1] != '\n';
    lines += n;
    bytes -= (size_t)n;
  }
  return HL_OK;
}

static hl_status refuse(const char *path, int fd, hl_error *error) {
  int number = errno;
  close(fd);
  errno = number;
  return number == EWOULDBLOCK
             ? hl_error_set(error, HL_UNAVAILABLE,
                            "'%s' is written by another monitor. Remedy: a log for each", path)
             : hl_error_errno(error, HL_IO, "cannot lock '%s'", path);
}

/* Opens and locks what is at the path now: between the two another writer may have moved it. */
static hl_status open_locked(const char *path, int *ret_fd, struct stat *ret_file,
                             hl_error *error) {
  for (int attempt = 0; attempt < 100; attempt++) {
    /* Readable, to see how it ends; not blocking, so that a FIFO is no trap. */
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    if (fd < 0) return hl_error_errno(error, HL_IO, "cannot open the log '%s'", path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) return refuse(path, fd, error);
    struct stat there;
    bool same = fstat(fd, ret_file) == 0 && stat(path, &there) == 0 &&
                there.st_ino == ret_file->st_ino && there.st_dev == ret_file->st_dev;
    if (same && S_ISREG(ret_file->st_mode)) {
      *ret_fd = fd;
      return HL_OK;
    }
    close(fd);
    if (same) return hl_error_set(error, HL_IO, "the log '%s' is no regular file", path);
  }
  return hl_error_set(error, HL_IO, "the log '%s' is moved by others all the time", path);
}

static hl_status begin_file(hl_log *log, hl_error *error) {
  struct stat file;
  hl_status status = open_locked(log->path, &log->fd, &file, error);
  if (status) return status;
  log->bytes = (uint64_t)file.st_size;
  char last = '\n';
  if (file.st_size > 0 && pread(log->fd, &last, 1, file.st_size - 1) != 1) last = '\n';
  log->torn = last != '\n';
  return write_lines(log, log->header, strlen(log->header), error);
}

hl_status hl_log_open(const char *path, uint64_t rotate_bytes, uint32_t keep, const char *header,
                      hl_log *ret_log, hl_error *error) {
  hl_log log = {.fd = -1, .rotate_bytes = rotate_bytes, .keep = keep};
  log.path = hl_strdup(path);
  log.header = hl_strdup(header);
  hl_status status = log.path && log.header
                         ? begin_file(&log, error)
                         : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a log");
  if (status)
    hl_log_close(&log);
  else
    *ret_log = log;
  return status;
}

void hl_log_unlock(const hl_log *log) {
  if (log->fd >= 0) flock(log->fd, LOCK_UN);
}

void hl_log_close(hl_log *log) {
  if (log->fd >= 0) close(log->fd);
  free(log->path);
  free(log->header);
  *log = (hl_log){.fd = -1};
}

static char *numbered(const hl_log *log, uint32_t number) {
  return number ? hl_format("%s.%u", log->path, number) : hl_strdup(log->path);
}

/* PATH.k to PATH.(k+1) up to the first that is free, from there downwards. */
static hl_status shift(const hl_log *log, hl_error *error) {
  uint32_t free_number = 1;
  for (; free_number < log->keep; free_number++) {
    HL_CLEANUP(hl_free_pointer) char *name = numbered(log, free_number);
    struct stat file;
    if (name && lstat(name, &file) != 0 && errno == ENOENT) break;
  }
  for (uint32_t k = free_number; k > 0; k--) {
    HL_CLEANUP(hl_free_pointer) char *from = numbered(log, k - 1);
    HL_CLEANUP(hl_free_pointer) char *to = numbered(log, k);
    if (!from || !to) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to rotate a log");
    if (rename(from, to) != 0 && !(k == 1 && errno == ENOENT)) /* moved before, or by hand */
      return hl_error_errno(error, HL_IO, "cannot rename '%s' to '%s'", from, to);
  }
  return HL_OK;
}

/* Where renaming fails, the file grows on: records are worth more than its size. */
static hl_status rotate(hl_log *log, hl_error *error) {
  hl_status status = shift(log, error);
  if (status) return status;
  int old = log->fd;
  status = begin_file(log, error);
  if (status && log->fd == old) return status; /* goes on in what is PATH.1 now */
  close(old);
  return status;
}

/* Bytes of the whole lines that still fit into the file; one line where it is new. */
static size_t fitting(const hl_log *log, const char *lines, size_t bytes) {
  uint64_t room = log->rotate_bytes > log->bytes ? log->rotate_bytes - log->bytes : 0;
  if (bytes <= room) return bytes;
  const char *end = memrchr(lines, '\n', (size_t)room);
  bool is_new = log->bytes <= strlen(log->header);
  if (!end && is_new) end = memchr(lines, '\n', bytes);
  return end ? (size_t)(end - lines) + 1 : is_new ? bytes : 0;
}

/* Where others removed or renamed the file, a new one begins at the path; where it cannot, the old
 * one goes on. */
static hl_status follow_path(hl_log *log, hl_error *error) {
  struct stat mine, there;
  if (fstat(log->fd, &mine) != 0) return HL_OK;
  if (stat(log->path, &there) == 0 && there.st_ino == mine.st_ino && there.st_dev == mine.st_dev)
    return HL_OK;
  int old = log->fd;
  hl_status status = begin_file(log, error);
  if (log->fd != old) close(old);
  return status;
}

hl_status hl_log_append(hl_log *log, const char *lines, size_t bytes, hl_error *error) {
  hl_status rotated = follow_path(log, error);
  while (bytes > 0) {
    size_t part = rotated ? bytes : fitting(log, lines, bytes);
    if (part == 0) {
      rotated = rotate(log, error);
      if (log->bytes <= strlen(log->header)) continue;
      part = bytes;
    }
    hl_status status = write_lines(log, lines, part, error);
    if (status) return status;
    lines += part;
    bytes -= part;
  }
  return rotated;
}
