/*
 * cli/run-beside.h - what a plan makes beside its rows: a profile, and a summary of its files.
 *
 *     if (hl_cli_beside_is_due(&file, only)) exit_status = hl_cli_beside(&file, &options, status);
 */
#ifndef HL_CLI_RUN_BESIDE_H
#define HL_CLI_RUN_BESIDE_H

#include "plan/plan-file.h"

/* Whether --only (NULL: not given) leaves any of it. */
bool hl_cli_beside_is_due(const hl_plan_file *file, const char *only);

/* Makes it, behind the rows, and says what was written. `exit_status` is that of the rows; the
 * worse of both. */
int hl_cli_beside(const hl_plan_file *file, const hl_options *options, int exit_status);

#endif
