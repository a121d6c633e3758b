/*
 * cli/merge.h - `hotlap report --merge STORE...`: runs of other stores, taken into this one.
 */
#ifndef HL_CLI_MERGE_H
#define HL_CLI_MERGE_H

#include "plan/options.h"

/* All stores or none; releases the options. The exit status. */
int hl_cli_merge(hl_options *options);

#endif
