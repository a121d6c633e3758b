/*
 * cli/run-estimate.h - what --dry-run knows of the time a plan takes, beyond its budgets.
 *
 *     hl_cli_estimate estimate;
 *     hl_cli_estimate_make(&sweep, &estimate);
 *     if (estimate.known) printf("about %.0f s\n", estimate.seconds);
 *
 * By the newest runs of this machine in the store (analyse/duration.h). A store that is not there,
 * or cannot be read, leaves all rows unknown.
 */
#ifndef HL_CLI_RUN_ESTIMATE_H
#define HL_CLI_RUN_ESTIMATE_H

#include "cli/sweep.h"

typedef struct hl_cli_estimate {
  double seconds; /* of the known rows together */
  size_t known;   /* rows of the plan that stored ones tell of */
  size_t absent;  /* rows whose GPUs are not here: they will be SKIPPED */
  size_t stored;  /* rows that were looked at */
} hl_cli_estimate;

void hl_cli_estimate_make(const hl_sweep *sweep, hl_cli_estimate *ret_estimate);

#endif
