/*
 * plan/task-file.h - a table of tasks in CSV: a branch, an experiment, and how it is run.
 *
 *     branch,experiment,trainer,max_epochs,batch_size,overrides
 *     main,im2im/segmentation,cpu,5,8,
 *     faster-loader,im2im/segmentation,cpu,5,8,"data.num_workers=4,seed=7"
 *
 *     hl_task_file file;
 *     hl_status status = hl_task_file_read("train_tasks.csv", &file, error);
 *     for (size_t i = 0; i < file.count; i++) ... file.rows[i].branch ...
 *     hl_task_file_release(&file);
 *
 * A table with the column checkpoint_path or data_path is of inference, another of training. A row
 * that says something impossible has a `fault`, and costs itself only.
 */
#ifndef HL_PLAN_TASK_FILE_H
#define HL_PLAN_TASK_FILE_H

#include "base/arena.h"
#include "base/error.h"
#include <stdbool.h>

enum { HL_TASK_ROWS = 200000, HL_TASK_COLUMNS = 64, HL_TASK_FILE_BYTES = 256 << 20 };

typedef struct hl_task_row {
  size_t line;              /* in the file, from 1 */
  const char *const *cells; /* as they stand, one for each column */
  const char *branch, *experiment;
  const char *trainer, *checkpoint_path, *data_path, *expected; /* NULL: not said */
  int64_t max_epochs, batch_size;                               /* -1: not said */
  const char *const *overrides;                                 /* KEY=VALUE each */
  size_t override_count;
  const char *fault; /* why it cannot be run; NULL: nothing */
} hl_task_row;

typedef struct hl_task_file {
  hl_arena arena; /* all strings */
  bool training;
  const char *const *columns;
  size_t column_count;
  const char *unknown; /* columns that mean nothing here, with commas; NULL: none */
  hl_task_row *rows;
  size_t count;
} hl_task_file;

/* BAD_DATA and LIMIT name file and line; NOT_FOUND, IO, OUT_OF_MEMORY. */
hl_status hl_task_file_read(const char *path, hl_task_file *ret_file, hl_error *error);
/* The same of bytes in memory. */
hl_status hl_task_file_parse(const char *bytes, size_t count, const char *name,
                             hl_task_file *ret_file, hl_error *error);
void hl_task_file_release(hl_task_file *file);

#endif
