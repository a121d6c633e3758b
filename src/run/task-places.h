/*
 * run/task-places.h - where the tasks of a branch run: its commit, checked out and built.
 *
 *     hl_task_places places;
 *     hl_status status = hl_task_places_open(&places, cache_directory, "make", false, -1, error);
 *     const hl_task_place *place;
 *     if (status == HL_OK) status = hl_task_places_get(&places, "main", &place, error);
 *     if (!place->fault) ... run things in place->directory ...
 *     hl_task_places_close(&places, error);
 *
 * Each commit is checked out and built once, also where several branches point to it. A branch that
 * cannot be used is a place with a fault, which is found once.
 */
#ifndef HL_RUN_TASK_PLACES_H
#define HL_RUN_TASK_PLACES_H

#include "run/worktree.h"

typedef struct hl_task_place {
  char *branch;
  char *reference;              /* what it was found as: "origin/x"; NULL: not found */
  char *commit, *date, *time;   /* of its commit: hash, YYYY-MM-DD, ISO 8601 */
  const char *root, *directory; /* of the check-out; borrowed */
  char *fault;                  /* why nothing can run there; NULL: all is well */
  char *said;                   /* the last that --build said where it failed */
  char *remark;                 /* submodules, LFS; NULL: nothing */
  double build_seconds;         /* NaN: nothing was built */
  size_t tree;                  /* of the worktrees; SIZE_MAX: none */
} hl_task_place;

typedef struct hl_task_places {
  hl_worktrees worktrees;
  char *scratch; /* a directory for files of the tasks, which goes with the worktrees */
  const char *build;
  bool verbose;
  hl_task_place **items;
  size_t count, capacity;
} hl_task_places;

/* Errors as hl_worktrees_open. After a failure there is nothing to close. `build` NULL: nothing is
 * built; borrowed. */
hl_status hl_task_places_open(hl_task_places *places, const char *cache_directory,
                              const char *build, bool verbose, int wake_fd, hl_error *error);

/* The place of a branch; a branch of a remote is found by its own name, too. INTERRUPTED and
 * OUT_OF_MEMORY; whatever else goes wrong is the place's fault. */
hl_status hl_task_places_get(hl_task_places *places, const char *branch,
                             const hl_task_place **ret_place, hl_error *error);

/* A branch that is needed no more: its check-out goes, unless another branch has the same. */
void hl_task_places_done(hl_task_places *places, const char *branch);

/* What is wrong with the commit there, after it has run: another commit than it was, tracked files
 * that differ. free() both; NULL: nothing. */
void hl_task_place_look(const hl_task_place *place, char **ret_wrong, char **ret_changed);

/* As hl_worktrees_close. */
hl_status hl_task_places_close(hl_task_places *places, hl_error *error);

#endif
