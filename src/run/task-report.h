/*
 * run/task-report.h - what a task measured of itself, as its JSON file says it.
 *
 *     hl_status status = hl_task_report_entry(path, &task, error);
 *
 * Files are hostile: at most HL_TASK_REPORT_BYTES. All set values of the task; a file that cannot
 * be read sets none.
 */
#ifndef HL_RUN_TASK_REPORT_H
#define HL_RUN_TASK_REPORT_H

#include "record/task.h"

enum { HL_TASK_REPORT_BYTES = 64 << 20 };

/* What a user's own entry wrote: numbers under the names of tasks.def, in objects as they are
 * shown or by their own name alone; {"results": {NAME: NUMBER}} is what it computed. Numbers that
 * are none, and names that nobody knows, are told in the task's notes. BAD_DATA for what is no JSON
 * object; NOT_FOUND where it wrote nothing. */
hl_status hl_task_report_entry(const char *path, hl_task *task, hl_error *error);

/* The one row of `hotlap run --json`; its outcome becomes the task's. BAD_DATA for another number
 * of rows. */
hl_status hl_task_report_row(const char *path, hl_task *task, hl_error *error);

/* `hotlap predict --json`. */
hl_status hl_task_report_prediction(const char *path, hl_task *task, hl_error *error);

/* What the Python processes of a task told of their modules, in the files of `folder`: how many are
 * the commit's, and the first that should be and is not (free() it; NULL: none). */
void hl_task_report_modules(const char *folder, int64_t *ret_own, char **ret_foreign);

#endif
