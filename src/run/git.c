#include "run/git.h"

#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Starts a command whose standard output is to be read from `*ret_fd`. */
static bool start(char *const argv[], pid_t *ret_pid, int *ret_fd) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return false;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  int failed = posix_spawnp(ret_pid, argv[0], &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(fds[1]);
  if (failed) close(fds[0]);
  *ret_fd = fds[0];
  return !failed;
}

/* Closes the output, which ends a command that still writes, and says whether it ended well. */
static bool finish(pid_t pid, int fd) {
  close(fd);
  int wait_status = 0;
  while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
}

/* First line of a command's standard output; false if it fails. */
static bool run(char *const argv[], char *ret_line, size_t size) {
  pid_t pid;
  int fd;
  if (!start(argv, &pid, &fd)) return false;
  size_t used = 0;
  char part[256];
  for (ssize_t n; (n = read(fd, part, sizeof part)) > 0;)
    for (ssize_t i = 0; i < n; i++)
      if (used + 1 < size) ret_line[used++] = part[i];
  ret_line[used] = '\0';
  ret_line[strcspn(ret_line, "\n")] = '\0';
  return finish(pid, fd);
}

/* Without the repository's hooks and its monitor of files, and without writing its index: asking
 * is to have no effect. */
#define QUIETLY                                                                                    \
  "git", "--no-optional-locks", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor="

char *hl_git_commit(void) {
  char *commit_argv[] = {QUIETLY, "rev-parse", "HEAD", NULL};
  char *dirty_argv[] = {QUIETLY, "status", "--porcelain", "--untracked-files=no", NULL};
  char commit[64], changes[64];
  if (!run(commit_argv, commit, sizeof commit) || strlen(commit) != HL_GIT_DIGITS) return NULL;
  bool dirty = run(dirty_argv, changes, sizeof changes) && changes[0];
  return hl_format("%s%s", commit, dirty ? "-dirty" : "");
}

static int by_name(const void *key, const void *item) {
  return strcmp(key, *(const char *const *)item);
}

hl_status hl_git_behind(const char *const *commits, size_t count, int64_t *ret_behind,
                        hl_error *error) {
  char *argv[] = {QUIETLY, "rev-list", "--topo-order", "HEAD", NULL};
  for (size_t i = 0; i < count; i++) ret_behind[i] = -1;
  pid_t pid;
  int fd;
  if (!start(argv, &pid, &fd)) return hl_error_set(error, HL_UNAVAILABLE, "cannot start git");
  char line[HL_GIT_DIGITS + 1], part[4096];
  size_t used = 0, found = 0;
  int64_t behind = 0;
  for (ssize_t n; found < count && (n = read(fd, part, sizeof part)) > 0;)
    for (ssize_t i = 0; i < n; i++) {
      if (part[i] != '\n') {
        if (used < HL_GIT_DIGITS) line[used++] = part[i];
        continue;
      }
      line[used] = '\0';
      const char *const *at = bsearch(line, commits, count, sizeof *commits, by_name);
      if (at) ret_behind[at - commits] = behind;
      found += at != NULL;
      used = 0;
      behind++;
    }
  /* Stopped as soon as all are found: then it need not have ended well. */
  if (finish(pid, fd) || found == count) return HL_OK;
  return hl_error_set(error, HL_UNAVAILABLE,
                      "git cannot list the history of HEAD; is this a repository?");
}
