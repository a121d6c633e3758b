/*
 * run/task-execute.h - one execution of a task, at its commit.
 *
 *     hl_status status = hl_task_execute(&how, &row, place, &task, error);
 *
 * What is run: with `entry` the user's own command; else an experiment PACKAGE.MODULE:FUNCTION on
 * an engine in Python; else the experiment as a plan of `hotlap run`, of inference im2im/... as
 * `hotlap predict`. Every execution is a process of its own in the check-out.
 */
#ifndef HL_RUN_TASK_EXECUTE_H
#define HL_RUN_TASK_EXECUTE_H

#include "plan/task-file.h"
#include "record/task.h"
#include "run/task-places.h"

typedef struct hl_task_how {
  const char *entry;       /* NULL: experiments are hotlap's */
  const char *program;     /* hotlap */
  const char *observer;    /* folder whose sitecustomize.py tells what was imported; NULL: none */
  const char *python_path; /* $PYTHONPATH, or NULL */
  const char *python;      /* --python for engines in Python, or NULL */
  const char *here;        /* directory of relative paths that the commit does not have */
  const char *scratch;     /* for files of an execution; hl_task_places */
  double timeout_s;        /* 0: none */
  bool verbose;
  int wake_fd;
} hl_task_how;

/* Whether the row can be run at all, there: experiment, checkpoint and data are found. Sets the
 * task's command, or its outcome where it cannot. INVALID_ARGUMENT for an entry that no row could
 * have; OUT_OF_MEMORY. */
hl_status hl_task_check(const hl_task_how *how, const hl_task_row *row, const hl_task_place *place,
                        hl_task *task, hl_error *error);

/* Runs a task that was checked, and sets what it measured and its outcome. INTERRUPTED; other
 * failures are the task's. */
hl_status hl_task_execute(const hl_task_how *how, const hl_task_place *place, hl_task *task,
                          hl_error *error);

#endif
