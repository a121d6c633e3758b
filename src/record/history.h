/*
 * record/history.h - one metric over many runs: what the store hands out, and what was found when a
 * change of it was measured again.
 *
 *     hl_history_rows rows;
 *     hl_history_rows_init(&rows);
 *     hl_store_history_load(store, metric, &filter, &rows, error);
 *     hl_history_rows_release(&rows);
 */
#ifndef HL_RECORD_HISTORY_H
#define HL_RECORD_HISTORY_H

#include "base/arena.h"
#include "record/record.h"

/* The metric of one row. Texts live in the list's arena; NULL: not known. */
typedef struct hl_history_row {
  const char *run_id, *machine_id, *cpu;
  const char *configuration; /* names what was measured, the same in each run */
  const char *workload, *model, *commit, *time;
  double value;     /* NaN: null */
  hl_pair interval; /* NaN where the row has none */
} hl_history_row;

typedef struct hl_history_rows {
  hl_history_row *items; /* in the order of measuring */
  size_t count, capacity;
  hl_arena arena;
} hl_history_rows;

void hl_history_rows_init(hl_history_rows *rows);
void hl_history_rows_release(hl_history_rows *rows);
/* Copies the row with its texts. OUT_OF_MEMORY, also beyond 512 MiB of texts. */
hl_status hl_history_rows_add(hl_history_rows *rows, const hl_history_row *row, hl_error *error);

/* The metric that is another's interval: A_ci_UNIT is that of A_UNIT; NULL where there is none. */
const hl_metric *hl_metric_interval(const hl_metric *metric);

/* What a paired rerun of two commits said of a change that a history shows. */
typedef struct hl_change_check {
  /* Which change; the configuration is that of the series. */
  const char *machine_id, *configuration, *metric, *before, *after;
  const char *checked; /* UTC */
  const char *verdict; /* of `after`: slower, faster, equivalent, inconclusive */
  double ratio;        /* time of before / time of after */
  hl_pair ci;
  int64_t pairs;
  const char *command; /* that made it */
} hl_change_check;

typedef struct hl_change_checks {
  hl_change_check *items;
  size_t count, capacity;
  hl_arena arena;
} hl_change_checks;

void hl_change_checks_init(hl_change_checks *checks);
void hl_change_checks_release(hl_change_checks *checks);
/* Copies the check with its texts. */
hl_status hl_change_checks_add(hl_change_checks *checks, const hl_change_check *check,
                               hl_error *error);
/* The newest check of the change that `wanted` names, or NULL. */
const hl_change_check *hl_change_checks_find(const hl_change_checks *checks,
                                             const hl_change_check *wanted);

#endif
