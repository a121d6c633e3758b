#include "machine/residency.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, LINE_BYTES = PATH_BYTES + 128, BUFFER_BYTES = 16384 };

/* Mappings of one file follow each other; one of them with code makes it a library. */
typedef struct walk {
  hl_residency sums;
  char path[PATH_BYTES]; /* of the mappings that were read last; "" has none */
  uint64_t group_bytes;
  bool group_runs, mapping_runs;
} walk;

/* -- mappings ---------------------------------------------------------------------------------- */

static void end_group(walk *w) {
  if (w->path[0] == '/')
    *(w->group_runs ? &w->sums.library_bytes : &w->sums.file_bytes) += w->group_bytes;
  w->group_bytes = 0;
  w->group_runs = false;
}

/* "7f2c-7f2d r-xp 00000000 08:01 1234   /usr/lib/libc.so.6" */
static void begin_mapping(walk *w, const char *line) {
  char permissions[5] = "";
  int at = 0;
  sscanf(line, "%*[0-9a-f-] %4s %*s %*s %*s%n", permissions, &at);
  const char *path = line + at + strspn(line + at, " ");
  if (at == 0) path = "";
  w->mapping_runs = strchr(permissions, 'x') != NULL;
  if (strcmp(path, w->path) != 0) {
    end_group(w);
    snprintf(w->path, sizeof w->path, "%s", path);
  }
  w->group_runs = w->group_runs || w->mapping_runs;
}

static void add_bytes(walk *w, uint64_t bytes) {
  w->sums.resident_bytes += bytes;
  if (w->path[0] == '/')
    w->group_bytes += bytes;
  else if (strncmp(w->path, "[v", 2) == 0) /* [vdso], [vvar], [vsyscall] */
    w->sums.library_bytes += bytes;
  else
    *(w->mapping_runs ? &w->sums.code_bytes : &w->sums.private_bytes) += bytes;
}

static void take_line(walk *w, const char *line) {
  unsigned long long kib;
  bool is_header = (line[0] >= '0' && line[0] <= '9') || (line[0] >= 'a' && line[0] <= 'f');
  if (is_header)
    begin_mapping(w, line);
  else if (sscanf(line, "Rss: %llu kB", &kib) == 1)
    add_bytes(w, (uint64_t)kib * 1024);
}

/* -- the file ---------------------------------------------------------------------------------- */

/* Lines that are longer than any path lose their end. */
static bool read_lines(int fd, walk *w) {
  char buffer[BUFFER_BYTES], line[LINE_BYTES];
  size_t length = 0;
  ssize_t count;
  while ((count = read(fd, buffer, sizeof buffer)) > 0)
    for (ssize_t i = 0; i < count; i++) {
      if (buffer[i] != '\n') {
        if (length + 1 < sizeof line) line[length++] = buffer[i];
        continue;
      }
      line[length] = '\0';
      take_line(w, line);
      length = 0;
    }
  end_group(w);
  return count == 0;
}

static uint64_t heap_in_use(void) {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
  struct mallinfo2 info = mallinfo2();
  /* A sanitizer's allocator leaves it empty. */
  if (info.arena > 0) return info.uordblks + info.hblkhd;
#endif
  return UINT64_MAX;
}

hl_status hl_residency_read(const char *root, hl_residency *ret_residency, hl_error *error) {
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s/proc/self/smaps", root ? root : "");
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return hl_error_errno(error, HL_IO, "cannot read /proc/self/smaps");
  walk w = {0};
  bool whole = read_lines(fd, &w);
  close(fd);
  if (!whole) return hl_error_set(error, HL_IO, "cannot read all of /proc/self/smaps");
  w.sums.heap_bytes = root ? UINT64_MAX : heap_in_use();
  *ret_residency = w.sums;
  return HL_OK;
}
