#include "data/hdf5.h"

#include "base/dtype.h"
#include "base/file.h"
#include "base/program.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { list_cap = 4 << 20, said_cap = 300 };

bool hl_hdf5_is(const void *data, size_t bytes) {
  return bytes >= 8 && memcmp(data, "\x89HDF\r\n\x1a\n", 8) == 0;
}

/* The process that reads, its standard output and error. */
typedef struct reader {
  pid_t pid;
  int out, err;
} reader;

static char *find_reader(hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *directory = hl_program_directory();
  const char *const tails[] = {"src/worker/hotlap-hdf5", HL_ENGINE_DIRECTORY "/hotlap-hdf5"};
  for (size_t i = 0; directory && i < HL_COUNT(tails); i++) {
    char *path = hl_format("%s/%s", directory, tails[i]);
    if (path && hl_program_is(path)) return path;
    free(path);
  }
  hl_error_set(error, HL_UNAVAILABLE,
               "HDF5 files need hotlap-hdf5, which is built where libhdf5 is (libhdf5-dev): there "
               "is no %s/%s. Install it and build again, or save the arrays with numpy.savez",
               directory ? directory : "", HL_ENGINE_DIRECTORY "/hotlap-hdf5");
  return NULL;
}

static hl_status start(const char *const argv[], reader *ret, hl_error *error) {
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0) return hl_error_errno(error, HL_IO, "no pipe to read HDF5");
  if (pipe2(err, O_CLOEXEC) != 0) {
    hl_error_errno(error, HL_IO, "no pipe to read HDF5");
    close(out[0]);
    close(out[1]);
    return HL_IO;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
  int failed = posix_spawn(&ret->pid, argv[0], &actions, NULL, (char **)(uintptr_t)argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  close(err[1]);
  ret->out = out[0];
  ret->err = err[0];
  if (!failed) return HL_OK;
  close(out[0]);
  close(err[0]);
  errno = failed;
  return hl_error_errno(error, HL_UNAVAILABLE, "cannot start %s", argv[0]);
}

/* Both streams to their ends: to `take` what is read, and the first line of what it says. False if
 * `take` wants no more. */
static bool drain(reader *r, bool (*take)(void *context, const char *bytes, size_t count),
                  void *context, char said[said_cap]) {
  static const size_t part = 1 << 16;
  char *bytes = malloc(part);
  struct pollfd fds[] = {{.fd = r->out, .events = POLLIN}, {.fd = r->err, .events = POLLIN}};
  size_t length = 0;
  bool wanted = bytes != NULL;
  while (wanted && (fds[0].fd >= 0 || fds[1].fd >= 0)) {
    if (poll(fds, 2, -1) < 0 && errno != EINTR) break;
    for (int i = 0; i < 2 && wanted; i++) {
      if (fds[i].fd < 0 || !fds[i].revents) continue;
      ssize_t n = read(fds[i].fd, bytes, part);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0)
        fds[i].fd = -1;
      else if (i == 0)
        wanted = take(context, bytes, (size_t)n);
      else
        for (ssize_t b = 0; b < n && length + 1 < said_cap; b++) said[length++] = bytes[b];
    }
  }
  free(bytes);
  said[length] = '\0';
  said[strcspn(said, "\n")] = '\0';
  hl_text_blank(said, "");
  return wanted;
}

static hl_status judge(int state, const char *what, const char *said, hl_error *error) {
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return HL_OK;
  if (WIFEXITED(state) && said[0]) return hl_error_set(error, HL_BAD_DATA, "%s: %s", what, said);
  if (WIFEXITED(state))
    return hl_error_set(error, HL_BAD_DATA, "%s: reading it ended with status %d", what,
                        WEXITSTATUS(state));
  if (WTERMSIG(state) == SIGXCPU || WTERMSIG(state) == SIGKILL)
    return hl_error_set(error, HL_LIMIT, "%s: reading it takes too long. Is the file whole?", what);
  return hl_error_set(error, HL_BAD_DATA,
                      "%s: the HDF5 library ended on signal %d: the file is damaged", what,
                      WTERMSIG(state));
}

/* Runs the reader; *ret_full is whether `take` wanted all of it. */
static hl_status run(const char *const arguments[3], const char *what,
                     bool (*take)(void *context, const char *bytes, size_t count), void *context,
                     bool *ret_full, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *program = find_reader(error);
  if (!program) return HL_UNAVAILABLE;
  const char *const argv[] = {program, arguments[0], arguments[1], arguments[2], NULL};
  reader r;
  char said[said_cap];
  hl_status status = start(argv, &r, error);
  if (status != HL_OK) return status;
  *ret_full = drain(&r, take, context, said);
  close(r.out);
  close(r.err);
  int state = 0;
  while (waitpid(r.pid, &state, 0) < 0 && errno == EINTR) continue;
  return *ret_full ? judge(state, what, said, error) : HL_OK;
}

/* --- list -------------------------------------------------------------------------------- */

static bool take_lines(void *context, const char *bytes, size_t count) {
  hl_text *lines = context;
  if (lines->length + count > list_cap) return false;
  hl_text_append_n(lines, bytes, count);
  return true;
}

hl_status hl_hdf5_list(const char *path, const char *name, hl_text *ret_lines, hl_error *error) {
  bool full = false;
  hl_status status =
      run((const char *[]){"list", path, NULL}, name, take_lines, ret_lines, &full, error);
  if (status == HL_OK && !full)
    status = hl_error_set(error, HL_LIMIT, "%s: the list of its arrays is beyond 4 MiB", name);
  return status;
}

/* The next word of *text, which it moves behind it; NULL if there is none. */
static char *word(char **text) {
  char *start = *text, *end = start + strcspn(start, " ");
  if (end == start) return NULL;
  *text = *end ? end + 1 : end;
  *end = '\0';
  return start;
}

static bool number(char **text, int64_t max, int64_t *ret) {
  char *digits = word(text);
  return digits && hl_parse_int(digits, 0, max, "number", ret, NULL) == HL_OK;
}

static hl_dtype type_of(const char *text) {
  static const struct {
    const char *text;
    hl_dtype dtype;
  } types[] = {{"i1", HL_INT8},    {"i2", HL_INT16},     {"i4", HL_INT32},
               {"i8", HL_INT64},   {"u1", HL_UINT8},     {"u2", HL_UINT16},
               {"u4", HL_UINT32},  {"u8", HL_UINT64},    {"f4", HL_FLOAT32},
               {"f8", HL_FLOAT64}, {"c8", HL_COMPLEX64}, {"c16", HL_COMPLEX128}};
  for (size_t i = 0; i < HL_COUNT(types); i++)
    if (text[0] && strcmp(text + 1, types[i].text) == 0) return types[i].dtype;
  return HL_DTYPE_NONE;
}

static bool parse_set(char *text, hl_npy_header *h, uint64_t *ret_stored, const char **ret_name) {
  int64_t rank = 0, stored = 0;
  const char *type = word(&text);
  if (!type || !number(&text, HL_MAX_RANK, &rank)) return false;
  snprintf(h->type, sizeof h->type, "%s", type);
  h->dtype = type_of(type);
  h->rank = (int32_t)rank;
  h->count = 1;
  for (int64_t i = 0; i < rank; i++)
    if (!number(&text, INT64_MAX, &h->dims[i]) ||
        __builtin_mul_overflow(h->count, h->dims[i], &h->count))
      return false;
  if (!number(&text, INT64_MAX, &stored) || h->dtype == HL_DTYPE_NONE ||
      __builtin_mul_overflow((uint64_t)h->count, hl_dtype_bytes(h->dtype), &h->data_bytes))
    return false;
  *ret_stored = (uint64_t)stored;
  *ret_name = text;
  return *text != '\0';
}

hl_status hl_hdf5_parse(char *line, hl_npy_header *ret_header, uint64_t *ret_stored,
                        const char **ret_name, const char **ret_problem, hl_error *error) {
  *ret_header = (hl_npy_header){0};
  *ret_problem = NULL;
  *ret_stored = 0;
  char *tab = strchr(line, '\t');
  if (strncmp(line, "P ", 2) == 0 && tab && tab[1]) {
    *tab = '\0';
    *ret_name = line + 2;
    *ret_problem = tab + 1;
    return HL_OK;
  }
  if (strncmp(line, "D ", 2) == 0 && !tab && parse_set(line + 2, ret_header, ret_stored, ret_name))
    return HL_OK;
  return hl_error_set(error, HL_BAD_DATA, "the list of its arrays is broken");
}

/* --- read -------------------------------------------------------------------------------- */

typedef struct target {
  char *at;
  uint64_t left;
} target;

static bool take_elements(void *context, const char *bytes, size_t count) {
  target *t = context;
  if (count > t->left) return false;
  memcpy(t->at, bytes, count);
  t->at += count;
  t->left -= count;
  return true;
}

hl_status hl_hdf5_read(const char *path, const char *name, const char *what, uint64_t bytes,
                       void *ret, hl_error *error) {
  target t = {ret, bytes};
  bool full = false;
  hl_status status =
      run((const char *[]){"read", path, name}, what, take_elements, &t, &full, error);
  if (status == HL_OK && (!full || t.left > 0))
    status = hl_error_set(error, HL_BAD_DATA, "%s has %s elements than its shape says", what,
                          full ? "fewer" : "more");
  return status;
}
