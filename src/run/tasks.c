#include "run/tasks.h"

#include "base/hash.h"
#include "run/tasks-internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for tasks");
}

void hl__task_begin(const hl__tasks *t, hl_task *task) {
  char text[32];
  struct tm utc;
  time_t now = time(NULL);
  if (task->timestamp || !gmtime_r(&now, &utc)) return;
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  hl_record_set_text(&task->timestamp, text);
  hl_record_set_text(&task->build, t->options->build);
}

static void set_place(const hl_task_place *place, hl_task *task) {
  hl_record_set_text(&task->reference, place->reference);
  hl_record_set_text(&task->commit, place->commit);
  hl_record_set_text(&task->commit_date, place->date);
  hl_record_set_text(&task->commit_time, place->time);
  task->build_seconds = place->build_seconds;
  if (place->remark) hl_task_note(task, "%s", place->remark);
}

hl_status hl__task_prepare(hl__tasks *t, size_t index, const hl_task_place **ret_place,
                           hl_error *error) {
  const hl_task_row *row = &t->file->rows[index];
  hl_task *task = &t->found->tasks.items[index];
  *ret_place = NULL;
  hl__task_begin(t, task);
  if (row->fault) {
    hl_task_fail(task, HL_FAILED, "%s", row->fault);
    return HL_OK;
  }
  const hl_task_place *place = NULL;
  hl_status status = hl_task_places_get(&t->places, row->branch, &place, error);
  if (status != HL_OK) return status;
  set_place(place, task);
  if (place->fault) {
    hl_task_fail(task, HL_FAILED, "%s", place->fault);
    hl_record_set_text(&task->said, place->said);
    return HL_OK;
  }
  status = hl_task_check(&t->how, row, place, task, error);
  *ret_place = place;
  return status;
}

/* -- one after the other ---------------------------------------------------------------------- */

static hl_status keep_seconds(hl_task *task, hl_error *error) {
  task->seconds = malloc(sizeof *task->seconds);
  if (!task->seconds) return no_memory(error);
  task->seconds[0] = task->values[hl_task_total(task->training)];
  task->executions = 1;
  return HL_OK;
}

static hl_status run_row(hl__tasks *t, size_t index, hl_error *error) {
  hl_task *task = &t->found->tasks.items[index];
  const hl_task_place *place = NULL;
  if (t->view->begin) t->view->begin(t->view->context, task, index, t->file->count, 0);
  hl_status status = hl__task_prepare(t, index, &place, error);
  if (status != HL_OK) return status;
  if (!task->outcome) {
    status = hl_task_execute(&t->how, place, task, error);
    if (status == HL_OK) status = keep_seconds(task, error);
    if (status != HL_OK) return status;
  }
  t->found->tasks.count = index + 1;
  if (t->view->end) t->view->end(t->view->context, task, index);
  return HL_OK;
}

typedef struct named_row {
  uint64_t hash;
  size_t index;
} named_row;

static int by_hash(const void *a, const void *b) {
  const named_row *x = a, *y = b;
  if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

/* Marks the last row of each branch, after which its check-out can go. */
static hl_status find_last(const hl_task_file *file, bool **ret_last, hl_error *error) {
  named_row *rows = malloc((file->count + 1) * sizeof *rows);
  bool *last = calloc(file->count + 1, sizeof *last);
  if (!rows || !last) {
    free(rows);
    free(last);
    return no_memory(error);
  }
  for (size_t i = 0; i < file->count; i++)
    rows[i] = (named_row){hl_hash_text(HL_HASH_START, file->rows[i].branch), i};
  qsort(rows, file->count, sizeof *rows, by_hash);
  for (size_t i = 0; i < file->count; i++)
    last[rows[i].index] = i + 1 == file->count || rows[i + 1].hash != rows[i].hash;
  free(rows);
  *ret_last = last;
  return HL_OK;
}

static hl_status run_sequence(hl__tasks *t, hl_error *error) {
  bool *last = NULL;
  hl_tasks *tasks = &t->found->tasks;
  hl_status status = find_last(t->file, &last, error);
  for (size_t i = 0; i < t->file->count && status == HL_OK; i++) {
    status = run_row(t, i, error);
    if (status != HL_OK) break;
    if (last[i]) hl_task_places_done(&t->places, t->file->rows[i].branch);
    if (hl_task_passed(&tasks->items[i]) || t->options->skip_failed) continue;
    t->found->stopped = i + 1 < t->file->count;
    break;
  }
  free(last);
  return status;
}

/* -- all of it -------------------------------------------------------------------------------- */

void hl__task_init(const hl_task_file *file, size_t index, hl_task *task) {
  const hl_task_row *row = &file->rows[index];
  hl_task_init(task, file->training);
  task->line = row->line;
  task->branch = row->branch;
  task->experiment = row->experiment;
  task->columns = file->columns;
  task->cells = row->cells;
  task->column_count = file->column_count;
}

hl_status hl_tasks_run(const hl_task_file *file, const hl_tasks_options *options,
                       const hl_tasks_view *view, hl_tasks_found *found, hl_error *error) {
  hl__tasks t = {
      .file = file, .options = options, .view = view, .found = found, .how = options->how};
  found->tasks.items = calloc(file->count + 1, sizeof *found->tasks.items);
  if (!found->tasks.items) return no_memory(error);
  for (size_t i = 0; i < file->count; i++) hl__task_init(file, i, &found->tasks.items[i]);
  found->tasks.allocated = file->count;
  hl_status status = hl_task_places_open(&t.places, options->cache_directory, options->build,
                                         options->how.verbose, options->how.wake_fd, error);
  if (status != HL_OK) return status;
  t.places.worktrees.build_timeout_s = options->build_timeout_s;
  t.how.scratch = t.places.scratch;
  status = options->compare ? hl__tasks_compare(&t, error) : run_sequence(&t, error);
  hl_error left = {0};
  hl_status closed = hl_task_places_close(&t.places, &left);
  if (closed == HL_OK || status != HL_OK) return status;
  return hl_error_set(error, closed, "%s", left.msg);
}

void hl_tasks_found_release(hl_tasks_found *found) {
  hl_tasks_release(&found->tasks);
  hl_task_comparisons_release(&found->comparisons);
  *found = (hl_tasks_found){0};
}
