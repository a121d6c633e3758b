/*
 * run/repository.h - commits of the repository of the current directory.
 *
 *     hl_repository repository;
 *     hl_status status = hl_repository_find(wake_fd, &repository, error);
 *     char *commit;
 *     if (status == HL_OK) status = hl_repository_commit("main", wake_fd, &commit, error);
 *     hl_repository_release(&repository);
 *
 * All through the git program and argument vectors; a reference never becomes an option. A byte on
 * `wake_fd` ends waiting (INTERRUPTED); -1: never.
 */
#ifndef HL_RUN_REPOSITORY_H
#define HL_RUN_REPOSITORY_H

#include "base/error.h"
#include "run/command.h"

typedef struct hl_repository {
  char *git_directory; /* absolute */
  char *prefix;        /* of the current directory in its working tree: "" or "sub/folder/" */
} hl_repository;

/* INVALID_ARGUMENT where the current directory is in no repository that git accepts; UNAVAILABLE
 * without git. */
hl_status hl_repository_find(int wake_fd, hl_repository *ret_repository, hl_error *error);
void hl_repository_release(hl_repository *repository);

/* The commit that a branch, a tag, HEAD~2, ... stands for, in hexadecimal: free() it.
 * INVALID_ARGUMENT where it stands for none. */
hl_status hl_repository_commit(const char *reference, int wake_fd, char **ret_commit,
                               hl_error *error);

/* Runs `git WORDS...` (ending with NULL) in the repository of `git_directory`, or of the current
 * directory where that is NULL. OK only if git ends with status 0; else UNAVAILABLE with the first
 * line of what it says. */
hl_status hl_git_run(const char *git_directory, const char *const *words, int wake_fd,
                     hl_execution *ret_execution, hl_error *error);

#endif
