/*
 * report/tasks.h - tasks of a task file, as text and as JSON.
 *
 *     hl_text text = HL_TEXT_INIT;
 *     hl_report_task_row(&task, 0, 3, &text);      // as it ends
 *     hl_report_tasks_json(&tasks, &text);
 */
#ifndef HL_REPORT_TASKS_H
#define HL_REPORT_TASKS_H

#include "record/task.h"

/* Appends a few lines: what became of task `index` of `count`. */
void hl_report_task_row(const hl_task *task, size_t index, size_t count, hl_text *out);

/* Appends an array of all that are done. */
void hl_report_tasks_json(const hl_tasks *tasks, hl_text *out);

#endif
