/*
 * run/tasks.h - the tasks of a task file, row after row or branches in turns.
 *
 *     hl_tasks_found found = {0};
 *     hl_status status = hl_tasks_run(&file, &options, &view, &found, error);
 *     ... found.tasks.items[i], found.comparisons ...
 *     hl_tasks_found_release(&found);
 */
#ifndef HL_RUN_TASKS_H
#define HL_RUN_TASKS_H

#include "plan/task-file.h"
#include "record/task-comparison.h"
#include "run/task-execute.h"

typedef struct hl_tasks_options {
  hl_task_how how; /* all but `scratch` */
  const char *build, *cache_directory;
  double build_timeout_s;
  bool skip_failed;
  bool compare;         /* rows of the same work take turns, against the baseline's */
  const char *baseline; /* its branch; NULL: that of the first row */
  size_t pairs;         /* of each comparison, as far as the budget goes */
  double max_time_s;    /* of a row, all its executions; 0: no limit */
  uint64_t seed;        /* of the coins */
  double alpha, margin;
  double tolerance; /* results that differ by a larger share are not the same */
} hl_tasks_options;

typedef struct hl_tasks_view {
  void *context;
  /* May be NULL. `index` of the tasks, `pair` from 1 and 0 of one that warms up or is alone. */
  void (*begin)(void *context, const hl_task *task, size_t index, size_t count, size_t pair);
  void (*end)(void *context, const hl_task *task, size_t index);
} hl_tasks_view;

typedef struct hl_tasks_found {
  hl_tasks
      tasks; /* of the rows in order; those that were run have an outcome. The file has to stay */
  hl_task_comparisons comparisons;
  bool stopped; /* at the first that failed */
} hl_tasks_found;

/* INTERRUPTED (what was measured is there), INVALID_ARGUMENT, errors of hl_task_places_open. A row
 * that cannot be run, or fails, is a task with that outcome; without `skip_failed` it is the last.
 */
hl_status hl_tasks_run(const hl_task_file *file, const hl_tasks_options *options,
                       const hl_tasks_view *view, hl_tasks_found *found, hl_error *error);
void hl_tasks_found_release(hl_tasks_found *found);

#endif
