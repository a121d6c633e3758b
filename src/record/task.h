/*
 * record/task.h - what became of a task: a row of a task file, run at one commit.
 *
 *     hl_task task;
 *     hl_task_init(&task, true);
 *     hl_task_set(&task, HL_TASK_FIRST_EPOCH, 25.3);
 *     hl_task_explain(&task, HL_TASK_TRAINING_DATA, "the entry did not report it");
 *     hl_json_object(&json, NULL);
 *     hl_task_write_json(&task, &json);
 *     hl_json_end(&json);
 *     hl_task_release(&task);
 *
 * tasks.def is the one table of what is measured.
 */
#ifndef HL_RECORD_TASK_H
#define HL_RECORD_TASK_H

#include "record/record.h"

typedef enum hl_task_id {
#define X(id, kinds, group, name, leaf, unit, better, title, doc) HL_TASK_##id,
#include "record/tasks.def"
#undef X
  HL_TASK_METRICS
} hl_task_id;

typedef struct hl_task_metric {
  const char *kinds, *group, *name, *leaf, *unit;
  hl_metric_better better;
  const char *title, *doc;
} hl_task_metric;
extern const hl_task_metric hl_task_metrics[HL_TASK_METRICS];

/* Whether a task of that kind has it. */
bool hl_task_has(bool training, hl_task_id id);
/* "epoch_breakdown.first_epoch.elapsed_seconds"; free() it, NULL without memory. */
char *hl_task_path(hl_task_id id);
/* The metric of that path, or of a part of it that only one has, such as "first_epoch". */
bool hl_task_find(bool training, const char *path, hl_task_id *ret_id);

/* A number that a task computed, such as its last loss. */
typedef struct hl_task_result {
  char *name;
  double value;
} hl_task_result;

enum { HL_TASK_RESULTS = 64 };

typedef struct hl_task {
  bool training;
  size_t line;                               /* of the task file */
  const char *branch, *experiment;           /* borrowed, as the next */
  const char *const *columns, *const *cells; /* of the task file */
  size_t column_count;
  char *timestamp;                          /* UTC when it began; NULL: it did not */
  char *outcome, *reason;                   /* hl_outcome_name; reason NULL if PASSED */
  char *said;                               /* the last its program said, if it failed */
  char *notes;                              /* sentences, separated by "; " */
  char *reference;                          /* what the branch was found as: origin/x */
  char *commit, *commit_date, *commit_time; /* of it: hash, YYYY-MM-DD, ISO 8601 */
  char *command;                            /* that ran, without what is the same for all */
  char *proof;                              /* how it is known that this commit ran; or NULL */
  bool proved;                              /* modules or program were seen to be the commit's */
  int64_t modules;                          /* Python modules of the commit that were imported */
  char *build;                              /* --build, or NULL */
  double build_seconds;
  double values[HL_TASK_METRICS]; /* NaN: not known */
  char *reasons[HL_TASK_METRICS]; /* why not */
  hl_task_result *results;        /* owned */
  size_t result_count;
  int64_t executions; /* values are medians over so many */
  double *seconds;    /* total time of each, in order; owned */
} hl_task;

void hl_task_init(hl_task *task, bool training); /* nothing known */
void hl_task_release(hl_task *task);
void hl_task_set(hl_task *task, hl_task_id id, double value);
/* Why it is not known; the first reason stays. */
void hl_task_explain(hl_task *task, hl_task_id id, const char *reason);
void hl_task_note(hl_task *task, const char *format, ...) HL_PRINTF(2, 3);
/* Total time: of training or of inference. */
hl_task_id hl_task_total(bool training);
/* An outcome with its reason; replaces an earlier one. */
void hl_task_fail(hl_task *task, hl_outcome outcome, const char *format, ...) HL_PRINTF(3, 4);
bool hl_task_passed(const hl_task *task);
/* Writes its members into the object that is open. */
void hl_task_write_json(const hl_task *task, hl_json *json);

typedef struct hl_tasks {
  hl_task *items;   /* owned */
  size_t count;     /* that may be done: those have an outcome */
  size_t allocated; /* that are initialised */
} hl_tasks;
void hl_tasks_release(hl_tasks *tasks);

/* Adds a number that it computed, or replaces the one of that name; LIMIT beyond HL_TASK_RESULTS.
 */
hl_status hl_task_add_result(hl_task *task, const char *name, double value, hl_error *error);

#endif
