#include "report/gnuplot.h"

#include "base/clock.h"
#include "base/file.h"
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STREAMS = 3, MAX_PICTURE_BYTES = 64 << 20, MAX_COMPLAINT_BYTES = 64 << 10 };

/* Files in memory for the three streams: unlike pipes they cannot fill up and block a side. */
static hl_status open_streams(int fds[STREAMS], const hl_text *script, hl_error *error) {
  for (int i = 0; i < STREAMS; i++) fds[i] = -1;
  for (int i = 0; i < STREAMS; i++) {
    fds[i] = memfd_create("hotlap-plot", MFD_CLOEXEC);
    if (fds[i] < 0) return hl_error_errno(error, HL_IO, "no memory file for a plot");
  }
  hl_status status = hl_write_all(fds[0], script->data, script->length, "a plot's script", error);
  if (status == HL_OK && lseek(fds[0], 0, SEEK_SET) != 0)
    status = hl_error_errno(error, HL_IO, "cannot rewind a plot's script");
  return status;
}

static hl_status spawn(const char *program, const int fds[STREAMS], pid_t *ret_pid,
                       hl_error *error) {
  char *const argv[] = {(char *)(uintptr_t)program, (char *)(uintptr_t) "-d",
                        (char *)(uintptr_t) "-", NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int i = 0; i < STREAMS; i++) posix_spawn_file_actions_adddup2(&actions, fds[i], i);
  int code = posix_spawnp(ret_pid, program, &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (code == 0) return HL_OK;
  errno = code;
  return hl_error_errno(error, HL_UNAVAILABLE,
                        "no plots: cannot start '%s'. Install it (Debian: apt-get install "
                        "gnuplot-nox) and use `hotlap report RUN --plot-results`",
                        program);
}

static hl_status wait_for(pid_t pid, int timeout_ms, int *ret_exit, hl_error *error) {
  uint64_t end = hl_clock_ns() + (uint64_t)timeout_ms * 1000000u;
  int state = 0;
  for (;;) {
    pid_t done = waitpid(pid, &state, WNOHANG);
    if (done == pid) break;
    if (done < 0 && errno != EINTR) return hl_error_errno(error, HL_IO, "lost gnuplot");
    if (hl_clock_ns() > end) {
      kill(pid, SIGKILL);
      waitpid(pid, &state, 0);
      return hl_error_set(error, HL_TIMED_OUT, "no plot: gnuplot took more than %d s",
                          timeout_ms / 1000);
    }
    usleep(5000);
  }
  *ret_exit = WIFEXITED(state) ? WEXITSTATUS(state) : 128;
  return HL_OK;
}

static hl_status read_stream(int fd, size_t max_bytes, hl_text *out, hl_error *error) {
  char part[16384];
  if (lseek(fd, 0, SEEK_SET) != 0) return hl_error_errno(error, HL_IO, "cannot read a plot");
  for (size_t total = 0; total < max_bytes;) {
    ssize_t n = read(fd, part, sizeof part);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return hl_error_errno(error, HL_IO, "cannot read a plot");
    if (n == 0) break;
    hl_text_append_n(out, part, (size_t)n);
    total += (size_t)n;
  }
  return out->failed ? hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a plot") : HL_OK;
}

hl_status hl_gnuplot_run(const char *program, const hl_text *script, int timeout_ms,
                         hl_text *ret_picture, hl_error *error) {
  int fds[STREAMS], exit_status = 0;
  pid_t pid = 0;
  size_t before = ret_picture->length;
  hl_status status = open_streams(fds, script, error);
  if (status == HL_OK) status = spawn(program, fds, &pid, error);
  if (status == HL_OK) status = wait_for(pid, timeout_ms, &exit_status, error);
  if (status == HL_OK) status = read_stream(fds[1], MAX_PICTURE_BYTES, ret_picture, error);
  if (status == HL_OK && (exit_status != 0 || ret_picture->length == before)) {
    hl_text said = HL_TEXT_INIT;
    read_stream(fds[2], MAX_COMPLAINT_BYTES, &said, NULL);
    /* The line of the script comes first, the complaint last. */
    while (said.length && strchr(" \n\t", said.data[said.length - 1]))
      said.data[--said.length] = '\0';
    const char *last = strrchr(said.data, '\n');
    last = last ? last + 1 : said.data;
    last += strspn(last, " \t");
    status = exit_status == 127 && !said.length
                 ? hl_error_set(error, HL_UNAVAILABLE, "no plots: cannot start '%s'", program)
                 : hl_error_set(error, HL_BAD_DATA, "no plot: gnuplot failed (status %d): %.*s",
                                exit_status, 300, last);
    hl_text_release(&said);
  }
  for (int i = 0; i < STREAMS; i++)
    if (fds[i] >= 0) close(fds[i]);
  return status;
}

hl_status hl_gnuplot_picture(const char *program, const hl_text *script, bool png,
                             hl_text *ret_picture, hl_error *error) {
  enum { TIMEOUT_MS = 60000, DOTS_PER_INCH = 300 };
  if (script->failed) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a plot");
  hl_status status =
      hl_gnuplot_run(program ? program : "gnuplot", script, TIMEOUT_MS, ret_picture, error);
  if (status == HL_OK && png) hl_png_set_dpi(ret_picture, DOTS_PER_INCH);
  return status;
}
