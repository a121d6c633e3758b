#include "run/repository.h"

#include "base/text.h"
#include <stdlib.h>
#include <string.h>

enum { words_most = 16 };

/* A worktree's check-out must not run what the user's hooks do, nor the monitor of files. */
static char no_hooks[] = "core.hooksPath=/dev/null", no_monitor[] = "core.fsmonitor=";

hl_status hl_git_run(const char *git_directory, const char *const *words, int wake_fd,
                     hl_execution *ret_execution, hl_error *error) {
  static char program[] = "git", option[] = "-c", directory[] = "--git-dir";
  char *argv[words_most + 8] = {program, option, no_hooks, option, no_monitor};
  size_t count = 5;
  if (git_directory) {
    argv[count++] = directory;
    argv[count++] = (char *)(uintptr_t)git_directory;
  }
  for (size_t i = 0; words[i] && i < words_most; i++) argv[count++] = (char *)(uintptr_t)words[i];
  /* A repository that is named is meant, whatever a hook's environment says. */
  bool named = git_directory || strcmp(words[0], "-C") == 0;
  const hl_command_place place = {
      .wake_fd = wake_fd, .output = HL_OUTPUT_KEEP, .without_git = named};
  hl_error failure = {0};
  hl_status status = hl_command_execute_words(argv, &place, ret_execution, &failure);
  if (status != HL_OK) ret_execution->exit_status = -1;
  if (status == HL_NOT_FOUND)
    return hl_error_set(error, HL_UNAVAILABLE, "the git program is needed: %s", failure.msg);
  if (status != HL_OK) return hl_error_set(error, status, "%s", failure.msg);
  if (ret_execution->exit_status == 0) return HL_OK;
  char *said = ret_execution->said;
  return hl_error_set(error, HL_UNAVAILABLE, "git %s: %.*s", words[0], (int)strcspn(said, "\n"),
                      said);
}

/* What git printed without the line's end; free() it. NULL if it does not fit or is no memory. */
static char *line_of(const hl_execution *e) {
  size_t length = strlen(e->output);
  if (length == 0 || length == HL_COMMAND_SAID - 1 || e->output[length - 1] != '\n') return NULL;
  char *line = hl_strdup(e->output);
  if (line) line[length - 1] = '\0';
  return line;
}

static bool is_commit(const char *text) {
  size_t length = strlen(text);
  return (length == 40 || length == 64) && text[strspn(text, "0123456789abcdef")] == '\0';
}

static hl_status ask_line(const char *const *words, int wake_fd, char **ret_line, hl_error *error) {
  hl_execution e;
  hl_status status = hl_git_run(NULL, words, wake_fd, &e, error);
  if (status != HL_OK) return status;
  *ret_line = line_of(&e);
  if (*ret_line) return HL_OK;
  return hl_error_set(error, HL_LIMIT, "git %s %s: the answer is empty or longer than %d bytes",
                      words[0], words[1], HL_COMMAND_SAID - 2);
}

hl_status hl_repository_find(int wake_fd, hl_repository *ret_repository, hl_error *error) {
  static const char *const directory[] = {"rev-parse", "--absolute-git-dir", NULL};
  static const char *const prefix[] = {"rev-parse", "--show-prefix", NULL};
  hl_repository r = {0};
  hl_execution e;
  hl_error failure = {0};
  hl_status status = hl_git_run(NULL, directory, wake_fd, &e, &failure);
  if (status == HL_UNAVAILABLE && e.exit_status > 0)
    return hl_error_set(
        error, HL_INVALID_ARGUMENT,
        "no commits here: the current directory is in no repository that git accepts: %s",
        failure.msg);
  if (status != HL_OK) return hl_error_set(error, status, "%s", failure.msg);
  r.git_directory = line_of(&e);
  status = ask_line(prefix, wake_fd, &r.prefix, error);
  if (status == HL_OK && !r.git_directory)
    status = hl_error_set(error, HL_LIMIT, "the path of the repository is too long");
  if (status != HL_OK)
    hl_repository_release(&r);
  else
    *ret_repository = r;
  return status;
}

void hl_repository_release(hl_repository *repository) {
  free(repository->git_directory);
  free(repository->prefix);
  *repository = (hl_repository){0};
}

hl_status hl_repository_commit(const char *reference, int wake_fd, char **ret_commit,
                               hl_error *error) {
  if (reference[0] == '-')
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "git:%.200s: no branch, tag or commit begins with '-'", reference);
  HL_CLEANUP(hl_free_pointer) char *peeled = hl_format("%s^{commit}", reference);
  if (!peeled) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a reference");
  const char *const words[] = {"rev-parse",        "--verify", "--quiet",
                               "--end-of-options", peeled,     NULL};
  hl_error failure = {0};
  char *line = NULL;
  hl_status status = ask_line(words, wake_fd, &line, &failure);
  if (status == HL_OK && is_commit(line)) {
    *ret_commit = line;
    return HL_OK;
  }
  free(line);
  if (status == HL_INTERRUPTED) return hl_error_set(error, status, "%s", failure.msg);
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "git:%.200s: this repository has no such commit; 'git branch -a' and 'git "
                      "tag' list names",
                      reference);
}
