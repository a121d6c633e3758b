#include "run/git.h"

#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* First line of a command's standard output; false if it fails. */
static bool run(char *const argv[], char *ret_line, size_t size) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return false;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  pid_t pid;
  int failed = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(fds[1]);
  size_t used = 0;
  char part[256];
  for (ssize_t n; !failed && (n = read(fds[0], part, sizeof part)) > 0;)
    for (ssize_t i = 0; i < n; i++)
      if (used + 1 < size) ret_line[used++] = part[i];
  ret_line[used] = '\0';
  ret_line[strcspn(ret_line, "\n")] = '\0';
  close(fds[0]);
  if (failed) return false;
  int wait_status = 0;
  while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
}

char *hl_git_commit(void) {
  char *commit_argv[] = {"git", "rev-parse", "HEAD", NULL};
  char *dirty_argv[] = {"git", "status", "--porcelain", "--untracked-files=no", NULL};
  char commit[64], changes[64];
  if (!run(commit_argv, commit, sizeof commit) || strlen(commit) != 40) return NULL;
  bool dirty = run(dirty_argv, changes, sizeof changes) && changes[0];
  return hl_format("%s%s", commit, dirty ? "-dirty" : "");
}
