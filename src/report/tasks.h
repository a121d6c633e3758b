/*
 * report/tasks.h - tasks of a task file, as text and as JSON.
 *
 *     hl_text text = HL_TEXT_INIT;
 *     hl_report_task_row(&task, 0, 3, &text);      // as it ends
 *     hl_report_tasks_json(&tasks, &comparisons, &text);
 */
#ifndef HL_REPORT_TASKS_H
#define HL_REPORT_TASKS_H

#include "record/task-comparison.h"

/* Appends a few lines: what became of task `index` of `count`. */
void hl_report_task_row(const hl_task *task, size_t index, size_t count, hl_text *out);

/* Appends what the comparisons say: for each task a line for each metric, and what was expected. */
void hl_report_tasks_compared(const hl_tasks *tasks, const hl_task_comparisons *list, hl_text *out);

/* Appends an array of all that were run, each with its comparisons. */
void hl_report_tasks_json(const hl_tasks *tasks, const hl_task_comparisons *list, hl_text *out);

#endif
