/*
 * run/worktree.h - commits checked out beside the user's working tree, for the time of a
 * comparison.
 *
 *     hl_worktrees w;
 *     hl_status status = hl_worktrees_open(&w, cache_directory, wake_fd, error);
 *     size_t index;
 *     if (status == HL_OK) status = hl_worktrees_add(&w, "main", &index, error);
 *     if (status == HL_OK) status = hl_worktrees_build(&w, index, "make", false, &said, error);
 *     ... run things in w.items[index].directory ...
 *     hl_worktrees_close(&w);
 *
 * They are git worktrees in a directory of their own below the cache, locked while this process
 * lives; those that killed processes left behind are removed by the next hl_worktrees_open. The
 * user's working tree, index and branches stay as they are.
 */
#ifndef HL_RUN_WORKTREE_H
#define HL_RUN_WORKTREE_H

#include "run/repository.h"

enum { HL_WORKTREES = 64 };

/* The working tree as it is: "git:.". A reference of that name cannot exist. */
#define HL_WORKTREE_HERE "."

typedef struct hl_worktree {
  char *commit;    /* hexadecimal, "-dirty" behind where tracked files of the working tree differ */
  char *root;      /* of the check-out; NULL: the user's own working tree */
  char *directory; /* in it what the current directory is in the user's; NULL: that itself */
  bool built;
  bool gone; /* hl_worktrees_drop: its place is free */
} hl_worktree;

typedef struct hl_worktrees {
  hl_repository repository;
  char *head;  /* of the working tree, as hl_git_commit */
  char *all;   /* directory for all processes */
  char *place; /* in it, of this one */
  int lock_fd; /* held while they live */
  int wake_fd;
  double build_timeout_s; /* may be set; 0: none */
  hl_worktree items[HL_WORKTREES];
  size_t count;
} hl_worktrees;

/* Errors as hl_repository_find; INVALID_ARGUMENT without a cache directory; IO where it cannot be
 * written. After a failure there is nothing to close. */
hl_status hl_worktrees_open(hl_worktrees *worktrees, const char *cache_directory, int wake_fd,
                            hl_error *error);

/* Checks a reference out; one commit is checked out once. INVALID_ARGUMENT for a reference that
 * stands for no commit, or whose commit lacks the current directory; UNAVAILABLE with what git
 * says; LIMIT. */
hl_status hl_worktrees_add(hl_worktrees *worktrees, const char *reference, size_t *ret_index,
                           hl_error *error);

/* Runs a shell command, `text`, there, once for each worktree. UNAVAILABLE where it fails and
 * TIMED_OUT where it takes longer than `build_timeout_s` of the worktrees, the end of its output in
 * `ret_said` (free() it); INTERRUPTED. `verbose`: its output to standard error. */
hl_status hl_worktrees_build(hl_worktrees *worktrees, size_t index, const char *text, bool verbose,
                             char **ret_said, hl_error *error);

/* What a reader of a comparison of two has to know: the same commit, changes that are in none,
 * submodules; "" if nothing. free() it; NULL without memory. */
char *hl_worktrees_remark(const hl_worktrees *worktrees, size_t a, size_t b);

/* Removes a directory with all that is in it, whatever its permissions, or a file; what cannot be
 * removed stays. */
void hl_worktree_remove_tree(const char *path);

/* Removes one that nobody needs any more, which is not interrupted; what is left of it goes with
 * the others. */
void hl_worktrees_drop(hl_worktrees *worktrees, size_t index);

/* Removes them, which is not interrupted; nothing where zero or not opened. IO names what could not
 * be removed. */
hl_status hl_worktrees_close(hl_worktrees *worktrees, hl_error *error);

#endif
