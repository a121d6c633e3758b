/* run/tasks-internal.h - what the parts of run/tasks.h share. */
#ifndef HL_RUN_TASKS_INTERNAL_H
#define HL_RUN_TASKS_INTERNAL_H

#include "run/tasks.h"

typedef struct hl__tasks {
  const hl_task_file *file;
  const hl_tasks_options *options;
  const hl_tasks_view *view;
  hl_tasks_found *found;
  hl_task_how how;
  hl_task_places places;
} hl__tasks;

/* A task of row `index`, of which nothing is known yet; it borrows from the file. */
void hl__task_init(const hl_task_file *file, size_t index, hl_task *ret_task);

/* Marks when the task began. */
void hl__task_begin(const hl__tasks *tasks, hl_task *task);

/* Checks out, builds, and sets the task's command, or its outcome where it cannot be run. */
hl_status hl__task_prepare(hl__tasks *tasks, size_t index, const hl_task_place **ret_place,
                           hl_error *error);

enum { HL__TASKS_COMPARED = 10000 };

/* Runs all rows, those of the same work in random turns, and fills the comparisons. */
hl_status hl__tasks_compare(hl__tasks *tasks, hl_error *error);

#endif
