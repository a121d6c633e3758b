#include "machine/sysfs.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool path_make(char path[HL_SYSFS_PATH], const char *root, const char *format, va_list args)
    HL_PRINTF(3, 0);

static bool path_make(char path[HL_SYSFS_PATH], const char *root, const char *format,
                      va_list args) {
  int prefix = snprintf(path, HL_SYSFS_PATH, "%s", root ? root : "");
  if (prefix < 0 || prefix >= HL_SYSFS_PATH) return false;
  size_t left = (size_t)(HL_SYSFS_PATH - prefix);
  int rest = vsnprintf(path + prefix, left, format, args);
  return rest >= 0 && (size_t)rest < left;
}

/* The kernel's files are regular ones; a copy of a tree may hold a pipe, which nobody feeds. */
static bool read_path(const char *path, char *ret_text, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return false;
  struct stat st;
  size_t used = 0;
  bool good = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
  while (good && used + 1 < size) {
    ssize_t n = read(fd, ret_text + used, size - 1 - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) good = false;
    if (n <= 0) break;
    used += (size_t)n;
  }
  close(fd);
  while (used > 0 && isspace((unsigned char)ret_text[used - 1])) used--;
  ret_text[used] = 0;
  return good;
}

bool hl_sysfs_text(const char *root, char *ret_text, size_t size, const char *path_format, ...) {
  char path[HL_SYSFS_PATH];
  va_list args;
  va_start(args, path_format);
  bool good = path_make(path, root, path_format, args);
  va_end(args);
  ret_text[0] = 0;
  return good && read_path(path, ret_text, size);
}

static bool parse_u64(const char *text, uint64_t *ret_value) {
  if (strncmp(text, "max", 3) == 0) {
    *ret_value = UINT64_MAX;
    return true;
  }
  if (!isdigit((unsigned char)*text)) return false;
  errno = 0;
  char *end;
  unsigned long long value = strtoull(text, &end, 10);
  if (errno) return false;
  *ret_value = value;
  return true;
}

bool hl_sysfs_u64(const char *root, uint64_t *ret_value, const char *path_format, ...) {
  char path[HL_SYSFS_PATH], text[64];
  va_list args;
  va_start(args, path_format);
  bool good = path_make(path, root, path_format, args);
  va_end(args);
  return good && read_path(path, text, sizeof text) && parse_u64(text, ret_value);
}

bool hl_sysfs_exists(const char *root, const char *path_format, ...) {
  char path[HL_SYSFS_PATH];
  va_list args;
  va_start(args, path_format);
  bool good = path_make(path, root, path_format, args);
  va_end(args);
  return good && access(path, F_OK) == 0;
}

static int by_name(const void *a, const void *b) {
  return strcmp(a, b);
}

size_t hl_sysfs_list(const char *root, const char *directory, const char *prefix,
                     char (*ret_names)[HL_SYSFS_NAME], size_t most) {
  char path[HL_SYSFS_PATH];
  size_t count = 0;
  int n = snprintf(path, sizeof path, "%s%s", root ? root : "", directory);
  DIR *open = n > 0 && n < (int)sizeof path ? opendir(path) : NULL;
  if (!open) return 0;
  const struct dirent *entry;
  while (count < most && (entry = readdir(open)) != NULL) {
    if (entry->d_name[0] == '.' || strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
        strlen(entry->d_name) >= HL_SYSFS_NAME)
      continue;
    snprintf(ret_names[count++], HL_SYSFS_NAME, "%s", entry->d_name);
  }
  closedir(open);
  qsort(ret_names, count, sizeof *ret_names, by_name);
  return count;
}

/* Start of what follows `key` on a line that begins with it, or NULL. */
static const char *line_after(const char *text, const char *key) {
  size_t length = strlen(key);
  for (const char *line = text; line && *line;) {
    if (strncmp(line, key, length) == 0 && !isalnum((unsigned char)line[length]) &&
        line[length] != '_')
      return line + length;
    line = strchr(line, '\n');
    if (line) line++;
  }
  return NULL;
}

bool hl_sysfs_field(const char *text, const char *key, uint64_t *ret_value) {
  const char *at = line_after(text, key);
  if (!at) return false;
  while (*at == ' ' || *at == '\t' || *at == ':') at++;
  return parse_u64(at, ret_value);
}

bool hl_sysfs_field_text(const char *text, const char *key, char separator, char *ret_value,
                         size_t size) {
  const char *at = line_after(text, key);
  if (!at) return false;
  while (*at == ' ' || *at == '\t') at++;
  if (*at != separator) return false;
  at++;
  while (*at == ' ' || *at == '\t' || *at == '"') at++;
  size_t length = strcspn(at, "\n");
  while (length > 0 && (isspace((unsigned char)at[length - 1]) || at[length - 1] == '"')) length--;
  if (length >= size) length = size - 1;
  memcpy(ret_value, at, length);
  ret_value[length] = 0;
  return true;
}

bool hl_cpu_set_parse(const char *list, hl_cpu_set *ret_set) {
  memset(ret_set, 0, sizeof *ret_set);
  const char *at = list;
  while (*at && !isspace((unsigned char)*at)) {
    if (!isdigit((unsigned char)*at)) return false;
    char *end;
    unsigned long first = strtoul(at, &end, 10), last = first;
    if (*end == '-') {
      if (!isdigit((unsigned char)end[1])) return false;
      last = strtoul(end + 1, &end, 10);
    }
    if (last < first) return false;
    for (unsigned long cpu = first; cpu <= last && cpu < HL_SYSFS_MAX_CPUS; cpu++)
      ret_set->words[cpu / 64] |= (uint64_t)1 << (cpu % 64);
    if (*end == ',') end++;
    at = end;
  }
  return true;
}

bool hl_cpu_set_has(const hl_cpu_set *set, int cpu) {
  return cpu >= 0 && cpu < HL_SYSFS_MAX_CPUS && (set->words[cpu / 64] >> (cpu % 64) & 1);
}

int hl_cpu_set_count(const hl_cpu_set *set) {
  int count = 0;
  for (size_t i = 0; i < HL_COUNT(set->words); i++) count += __builtin_popcountll(set->words[i]);
  return count;
}
