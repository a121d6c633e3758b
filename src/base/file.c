#include "base/file.h"

#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* O_NONBLOCK, so that a pipe without a writer does not hold us up. */
static hl_status open_for_reading(const char *path, int *ret_fd, hl_error *error) {
  *ret_fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (*ret_fd >= 0) return HL_OK;
  return hl_error_errno(error, errno == ENOENT ? HL_NOT_FOUND : HL_IO, "cannot open '%s'", path);
}

hl_status hl_file_map(const char *path, uint64_t max_bytes, hl_mapping *ret_mapping,
                      hl_error *error) {
  static const unsigned char empty[1];
  int fd;
  hl_status status = open_for_reading(path, &fd, error);
  if (status != HL_OK) return status;
  struct stat st;
  if (fstat(fd, &st) != 0)
    status = hl_error_errno(error, HL_IO, "cannot stat '%s'", path);
  else if (!S_ISREG(st.st_mode))
    status = hl_error_set(error, HL_BAD_DATA, "'%s' is not a regular file", path);
  else if ((uint64_t)st.st_size > max_bytes)
    status = hl_error_set(error, HL_LIMIT, "'%s' has %" PRIu64 " bytes; the limit is %" PRIu64,
                          path, (uint64_t)st.st_size, max_bytes);
  else if (st.st_size == 0)
    *ret_mapping = (hl_mapping){.data = empty};
  else {
    void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
      status = hl_error_errno(error, HL_IO, "cannot map '%s'", path);
    else
      *ret_mapping = (hl_mapping){.data = data, .bytes = (size_t)st.st_size};
  }
  close(fd);
  return status;
}

void hl_file_unmap(hl_mapping *mapping) {
  if (mapping->bytes) munmap((void *)(uintptr_t)mapping->data, mapping->bytes);
  *mapping = (hl_mapping){0};
}

hl_status hl_file_read(const char *path, size_t max_bytes, char **ret_data, size_t *ret_bytes,
                       hl_error *error) {
  int fd;
  hl_status status = open_for_reading(path, &fd, error);
  if (status != HL_OK) return status;
  hl_text text = HL_TEXT_INIT;
  text.cap_bytes = max_bytes < SIZE_MAX - 2 ? max_bytes + 2 : SIZE_MAX;
  char part[16384];
  for (;;) {
    ssize_t n = read(fd, part, sizeof part);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) status = hl_error_errno(error, HL_IO, "cannot read '%s'", path);
    if (n <= 0) break;
    hl_text_append_n(&text, part, (size_t)n);
    if (text.failed || text.length > max_bytes) {
      status = hl_error_set(error, HL_LIMIT, "'%s' is larger than the limit of %zu bytes", path,
                            max_bytes);
      break;
    }
  }
  close(fd);
  if (status == HL_OK) {
    size_t length = text.length;
    char *data = hl_text_take(&text);
    if (data) {
      *ret_data = data;
      if (ret_bytes) *ret_bytes = length;
      return HL_OK;
    }
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to read '%s'", path);
  }
  hl_text_release(&text);
  return status;
}

hl_status hl_write_all(int fd, const void *data, size_t bytes, const char *what, hl_error *error) {
  const char *p = data;
  while (bytes) {
    ssize_t n = write(fd, p, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return hl_error_errno(error, HL_IO, "cannot write %s", what);
    p += n;
    bytes -= (size_t)n;
  }
  return HL_OK;
}

bool hl_file_is_same(const char *a, const char *b) {
  struct stat first, second;
  return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

hl_status hl_file_can_replace(const char *path, hl_error *error) {
  struct stat st;
  if (!path[0]) return hl_error_set(error, HL_IO, "the name of the file to write is empty");
  if (stat(path, &st) != 0 || S_ISREG(st.st_mode)) return HL_OK;
  return hl_error_set(error, HL_IO, "'%s' is %s: it cannot be replaced by a file", path,
                      S_ISDIR(st.st_mode) ? "a directory" : "not a regular file");
}

/* Where a symbolic link leads, else the path itself; free() it. */
static hl_status find_target(const char *path, char **ret_target, hl_error *error) {
  struct stat st;
  hl_status status = hl_file_can_replace(path, error);
  if (status != HL_OK) return status;
  bool link = lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && access(path, F_OK) == 0;
  *ret_target = link ? realpath(path, NULL) : strdup(path);
  return *ret_target ? HL_OK : hl_error_errno(error, HL_IO, "cannot write '%s'", path);
}

enum { tries = 100 }; /* names may be left over from a dead process of the same id */

static char *name_beside(const char *target) {
  static atomic_uint serial;
  return hl_format("%s.%ld-%u.part", target, (long)getpid(), atomic_fetch_add(&serial, 1u));
}

static hl_status begin_beside(const char *path, char *target, hl_new_file *ret_file,
                              hl_error *error) {
  for (int i = 0; i < tries; i++) {
    char *name = name_beside(target);
    if (!name) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to write '%s'", path);
    /* Mode 0666 less umask: mkstemp and chmod would have to change umask, which is the whole
     * process's, in order to know it. */
    /* To be read, too: libtiff goes back to what it wrote. */
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
      *ret_file = (hl_new_file){.fd = fd, .path = path, .target = target, .temporary = name};
      return HL_OK;
    }
    int saved = errno;
    free(name);
    errno = saved;
    if (errno != EEXIST) break;
  }
  return hl_error_errno(error, HL_IO, "cannot create '%s'", path);
}

/* What a descriptor is called in /proc, by which a file without a name gets one. */
typedef struct fd_name {
  char text[32];
} fd_name;

static fd_name name_of_fd(int fd) {
  fd_name name;
  snprintf(name.text, sizeof name.text, "/proc/self/fd/%d", fd);
  return name;
}

/* In the target's directory; -1 where its file system has no files without names (NFS). */
static int open_nameless(const char *target) {
  const char *slash = strrchr(target, '/');
  HL_CLEANUP(hl_free_pointer)
  char *directory = slash ? hl_format("%.*s", (int)(slash - target) + 1, target) : hl_strdup(".");
  int fd = directory ? open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666) : -1;
  if (fd < 0 || access(name_of_fd(fd).text, F_OK) == 0) return fd;
  close(fd);
  return -1;
}

/* A name of its own, which can then take the place of another: link() replaces nothing. */
static hl_status give_name(hl_new_file *file, hl_error *error) {
  fd_name own = name_of_fd(file->fd);
  for (int i = 0; i < tries; i++) {
    file->temporary = name_beside(file->target);
    if (!file->temporary)
      return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to write '%s'", file->path);
    if (linkat(AT_FDCWD, own.text, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW) == 0) return HL_OK;
    int saved = errno;
    free(file->temporary);
    file->temporary = NULL;
    errno = saved;
    if (errno != EEXIST) break;
  }
  return hl_error_errno(error, HL_IO, "cannot replace '%s'", file->path);
}

static hl_status begin(const char *path, bool named, hl_new_file *ret_file, hl_error *error) {
  char *target = NULL;
  hl_status status = find_target(path, &target, error);
  if (status != HL_OK) return status;
  *ret_file = (hl_new_file){.fd = named ? -1 : open_nameless(target), .path = path};
  ret_file->target = target;
  if (ret_file->fd >= 0) return HL_OK;
  status = begin_beside(path, target, ret_file, error);
  if (status != HL_OK) free(target);
  return status;
}

hl_status hl_file_begin(const char *path, hl_new_file *ret_file, hl_error *error) {
  return begin(path, false, ret_file, error);
}

hl_status hl_file_begin_named(const char *path, hl_new_file *ret_file, hl_error *error) {
  return begin(path, true, ret_file, error);
}

hl_status hl_file_end(hl_new_file *file, hl_status status, hl_error *error) {
  const char *path = file->path;
  if (status == HL_OK && fsync(file->fd) != 0 && errno != EINVAL && errno != EROFS)
    status = hl_error_errno(error, HL_IO, "cannot write '%s'", path);
  if (status == HL_OK && !file->temporary) status = give_name(file, error);
  if (close(file->fd) != 0 && status == HL_OK)
    status = hl_error_errno(error, HL_IO, "cannot write '%s'", path);
  if (status == HL_OK && rename(file->temporary, file->target) != 0)
    status = hl_error_errno(error, HL_IO, "cannot replace '%s'", path);
  if (status != HL_OK && file->temporary) unlink(file->temporary);
  free(file->temporary);
  free(file->target);
  *file = (hl_new_file){.fd = -1};
  return status;
}

hl_status hl_file_write(const char *path, const void *data, size_t bytes, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *what = hl_format("'%s'", path);
  if (!what) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to write '%s'", path);
  hl_new_file file;
  hl_status status = hl_file_begin(path, &file, error);
  if (status != HL_OK) return status;
  status = hl_write_all(file.fd, data, bytes, what, error);
  return hl_file_end(&file, status, error);
}

static const char *set_program_directory;

void hl_program_directory_set(const char *directory) {
  set_program_directory = directory;
}

char *hl_program_directory(void) {
  if (set_program_directory) return hl_strdup(set_program_directory);
  char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  if (n <= 0) return NULL;
  path[n] = '\0';
  char *slash = strrchr(path, '/');
  if (!slash) return NULL;
  *slash = '\0';
  return strdup(path);
}

hl_status hl_directory_make(const char *path, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *copy = hl_strdup(path);
  if (!copy) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory");
  for (char *p = copy + (copy[0] != '\0');; p++) {
    if (*p != '/' && *p != '\0') continue;
    char end = *p;
    *p = '\0';
    if (mkdir(copy, 0777) != 0 && errno != EEXIST)
      return hl_error_errno(error, HL_IO, "cannot create directory '%s'", copy);
    *p = end;
    if (end == '\0') break;
  }
  struct stat st;
  if (stat(path, &st) != 0) return hl_error_errno(error, HL_IO, "cannot use '%s'", path);
  if (!S_ISDIR(st.st_mode))
    return hl_error_set(error, HL_IO, "'%s' exists and is not a directory", path);
  return HL_OK;
}
