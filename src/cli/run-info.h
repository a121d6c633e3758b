/*
 * cli/run-info.h - what the rows of a run share: id, time, command, machine, method.
 */
#ifndef HL_CLI_RUN_INFO_H
#define HL_CLI_RUN_INFO_H

#include "machine/topology.h"
#include "plan/configuration.h"
#include "record/record.h"

/* Fills an initialised `info` for a run that begins now; the id is that of this second and process.
 * OUT_OF_MEMORY. */
hl_status hl_cli_run_info(int argc, char **argv, const hl_options *options,
                          const hl_machine *machine, const hl_method_options *method,
                          hl_run_info *info, hl_error *error);

#endif
