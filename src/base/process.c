#include "base/process.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The state is the word behind the name, which may hold anything, in brackets: proc(5). */
bool hl_process_is_stopped(int64_t pid) {
  char path[64], text[512] = "";
  snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  const char *name_end = n > 0 ? strrchr(text, ')') : NULL;
  return name_end && strlen(name_end) > 2 && (name_end[2] == 'T' || name_end[2] == 't');
}
