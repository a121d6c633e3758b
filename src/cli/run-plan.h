/*
 * cli/run-plan.h - from a plan file to the rows that a run measures.
 */
#ifndef HL_CLI_RUN_PLAN_H
#define HL_CLI_RUN_PLAN_H

#include "cli/sweep.h"

/* Builds `sweep->plan` and its parts from `file`, which has to stay; the machine is read already.
 * Errors name FILE:LINE:COLUMN of the entry. */
hl_status hl_cli_plan_from_file(hl_sweep *sweep, const hl_plan_file *file, hl_error *error);

/* How rows are ordered if not as they are listed, a sentence; else NULL. free() it. */
char *hl_cli_order_text(const hl_plan *plan);
/* The same of a run that is over, of that plan and by that command. */
char *hl_cli_order_of_run(const hl_plan_file *file, const char *command);

/* What --shuffle says (NULL: not given) of a plan's order. INVALID_ARGUMENT. */
hl_status hl_cli_shuffle(const char *text, const hl_plan_file *file, hl_plan *plan,
                         hl_error *error);

/* Where a plan that was named lies: the file itself, or one of the plans that come with hotlap by
 * its name, "plans/NAME.yaml" or NAME; free() it. NOT_FOUND lists those that there are. */
hl_status hl_cli_plan_find(const char *name, char **ret_path, hl_error *error);
/* The same of a table of tasks, NAME.csv. */
hl_status hl_cli_tasks_find(const char *name, char **ret_path, hl_error *error);

#endif
