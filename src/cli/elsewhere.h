/*
 * cli/elsewhere.h - the machine that a command measures: this one, or where --launcher leads.
 *
 *     hl_machine machine;
 *     char *unreachable;
 *     hl_status status = hl_cli_machine_read(&options, &machine, &unreachable, error);
 */
#ifndef HL_CLI_ELSEWHERE_H
#define HL_CLI_ELSEWHERE_H

#include "machine/topology.h"
#include "plan/configuration.h"

/* Asks a worker behind the launcher, if there is one. Where none can be had, nothing is known of
 * the machine but that it has a core, and `ret_unreachable` says why, in the launcher's words, for
 * its rows (free() it); else it is NULL. INVALID_ARGUMENT of the options; INTERRUPTED. */
hl_status hl_cli_machine_read(const hl_options *options, hl_machine *ret_machine,
                              char **ret_unreachable, hl_error *error);

/* Whether files, engines and GPUs are those of another machine. */
bool hl_cli_is_far(const hl_options *options);

#endif
