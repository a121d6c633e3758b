#include "monitor/log-reader.h"

#include "base/text.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_ROTATED = 1000, BUFFER = 2 * HL_LOG_LINE };

struct hl_log_reader {
  char *path;
  int fd; /* -1: none is open */
  struct stat file;
  uint64_t offset, line; /* of what is read next */
  uint32_t number;       /* that the open file had: 0 is PATH itself */
  size_t start, end;     /* unread bytes of the buffer */
  bool skipping;         /* within a line that is too long */
  hl_log_count count;
  char buffer[BUFFER];
};

static char *name_of(const hl_log_reader *r, uint32_t number) {
  return number ? hl_format("%s.%u", r->path, number) : hl_strdup(r->path);
}

static bool find_stat(const hl_log_reader *r, uint32_t number, struct stat *ret_file) {
  HL_CLEANUP(hl_free_pointer) char *name = name_of(r, number);
  return name && stat(name, ret_file) == 0 && S_ISREG(ret_file->st_mode);
}

/* Which of PATH.1 to PATH.1000 there are: present[k]. By the names of the folder, since on some
 * file systems to ask for what is not there takes long. */
static void list_numbers(const hl_log_reader *r, bool present[MOST_ROTATED + 1]) {
  memset(present, 0, (MOST_ROTATED + 1) * sizeof *present);
  const char *slash = strrchr(r->path, '/');
  const char *base = slash ? slash + 1 : r->path;
  size_t length = strlen(base);
  HL_CLEANUP(hl_free_pointer)
  char *folder = slash ? hl_format("%.*s", (int)(slash - r->path) + 1, r->path) : hl_strdup(".");
  DIR *directory = folder ? opendir(folder) : NULL;
  struct dirent *entry;
  while (directory && (entry = readdir(directory))) {
    int64_t number;
    if (strncmp(entry->d_name, base, length) == 0 && entry->d_name[length] == '.' &&
        entry->d_name[length + 1] != '0' &&
        hl_parse_int(entry->d_name + length + 1, 1, MOST_ROTATED, "", &number, NULL) == HL_OK)
      present[number] = true;
  }
  if (directory) closedir(directory);
}

static bool is_open(const hl_log_reader *r, const struct stat *file) {
  return r->fd >= 0 && file->st_ino == r->file.st_ino && file->st_dev == r->file.st_dev;
}

static bool open_number(hl_log_reader *r, uint32_t number) {
  HL_CLEANUP(hl_free_pointer) char *name = name_of(r, number);
  int fd = name ? open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
  struct stat file;
  if (fd < 0 || fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) {
    if (fd >= 0) close(fd);
    return false;
  }
  if (r->fd >= 0) close(r->fd);
  r->fd = fd;
  r->file = file;
  r->number = number;
  r->offset = r->line = 0;
  r->start = r->end = 0;
  r->skipping = false;
  return true;
}

hl_status hl_log_reader_open(const char *path, hl_log_reader **ret_reader, hl_error *error) {
  struct stat file;
  if (stat(path, &file) == 0 && !S_ISREG(file.st_mode))
    return hl_error_set(error, HL_IO, "'%s' is no regular file; expected a log, such as %s", path,
                        S_ISDIR(file.st_mode) ? "inference.jsonl in it" : "inference.jsonl");
  hl_log_reader *r = calloc(1, sizeof *r);
  if (r) r->path = hl_strdup(path);
  if (!r || !r->path) {
    free(r);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to read a log");
  }
  r->fd = -1;
  bool present[MOST_ROTATED + 1];
  list_numbers(r, present);
  uint32_t oldest = MOST_ROTATED;
  while (oldest > 0 && !(present[oldest] && find_stat(r, oldest, &file))) oldest--;
  if (!open_number(r, oldest)) {
    hl_status status = hl_error_errno(error, errno == ENOENT ? HL_NOT_FOUND : HL_IO,
                                      "cannot read the log '%s'", path);
    hl_log_reader_close(r);
    return status;
  }
  *ret_reader = r;
  return HL_OK;
}

void hl_log_reader_close(hl_log_reader *r) {
  if (!r) return;
  if (r->fd >= 0) close(r->fd);
  free(r->path);
  free(r);
}

const hl_log_count *hl_log_reader_count(const hl_log_reader *r) {
  return &r->count;
}

static void malformed(hl_log_reader *r, const char *reason) {
  if (!r->count.malformed++) {
    HL_CLEANUP(hl_free_pointer) char *name = name_of(r, r->number);
    snprintf(r->count.first_malformed, sizeof r->count.first_malformed, "%.300s:%llu: %.128s",
             name ? name : r->path, (unsigned long long)r->line, reason);
  }
}

/* Goes on to the next younger file where this one has been renamed and read to its end. */
static bool go_on(hl_log_reader *r) {
  struct stat file;
  if (find_stat(r, 0, &file) && is_open(r, &file)) {
    r->number = 0;
    if ((uint64_t)file.st_size >= r->offset) return false;
    return open_number(r, 0); /* cut short: it begins anew */
  }
  bool present[MOST_ROTATED + 1];
  list_numbers(r, present);
  uint32_t place = 1; /* where this file is now */
  while (place <= MOST_ROTATED &&
         !(present[place] && find_stat(r, place, &file) && is_open(r, &file)))
    place++;
  if (place > MOST_ROTATED) place = 1; /* it is gone, as is what was between */
  if (r->end > r->start || r->skipping) {
    r->line++;
    malformed(r, "the last line has no end");
    r->start = r->end = 0;
  }
  for (uint32_t next = place; next > 0; next--)
    if ((next == 1 || present[next - 1]) && open_number(r, next - 1)) return true;
  return false;
}

/* More of the file into the buffer; false at its end. */
static bool fill(hl_log_reader *r) {
  memmove(r->buffer, r->buffer + r->start, r->end - r->start);
  r->end -= r->start;
  r->start = 0;
  ssize_t n;
  do n = pread(r->fd, r->buffer + r->end, BUFFER - r->end, (off_t)r->offset);
  while (n < 0 && errno == EINTR);
  if (n <= 0) return false;
  r->end += (size_t)n;
  r->offset += (uint64_t)n;
  return true;
}

/* The next whole line of the buffer; a longer one than the buffer is passed over. */
static bool take_line(hl_log_reader *r, const char **ret_line, size_t *ret_length) {
  char *end = memchr(r->buffer + r->start, '\n', r->end - r->start);
  if (!end) {
    if (r->end - r->start > HL_LOG_LINE) {
      r->skipping = true;
      r->start = r->end;
    }
    return false;
  }
  *ret_line = r->buffer + r->start;
  *ret_length = (size_t)(end - *ret_line);
  r->start += *ret_length + 1;
  return true;
}

bool hl_log_reader_next(hl_log_reader *r, hl_log_entry *ret_entry) {
  for (;;) {
    const char *line;
    size_t length;
    if (!take_line(r, &line, &length)) {
      if (fill(r) || go_on(r)) continue;
      r->count.torn_bytes = r->end - r->start;
      return false;
    }
    r->line++;
    r->count.lines++;
    char reason[HL_LOG_REASON];
    if (r->skipping || length > HL_LOG_LINE) {
      r->skipping = false;
      malformed(r, "the line is too long");
    } else if (length == 0) {
      continue;
    } else if (hl_log_entry_parse(line, length, ret_entry, reason)) {
      return true;
    } else {
      malformed(r, reason);
    }
  }
}
