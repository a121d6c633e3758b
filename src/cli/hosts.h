/*
 * cli/hosts.h - the same command on several machines: a process of it for each.
 *
 *     bool fans_out;
 *     status = hl_cli_host_choose(&options, &arena, &fans_out, error);
 *     if (fans_out) return hl_cli_hosts_run(&options, argc, argv);
 *
 * Each has a run of its own in the one store, since a run is of one machine: rows of two are never
 * taken for rows of one.
 */
#ifndef HL_CLI_HOSTS_H
#define HL_CLI_HOSTS_H

#include "base/arena.h"
#include "plan/options.h"

/* With --host: sets the launcher of that one. Without, `ret_fans_out` says whether there are
 * --hosts. INVALID_ARGUMENT for a --host that is none of them, or a launcher beside them. */
hl_status hl_cli_host_choose(hl_options *options, hl_arena *arena, bool *ret_fans_out,
                             hl_error *error);

/* Runs the command on all of them side by side, and shows their lines with their names in front, or
 * with --json one document. Returns the exit status of all: 130, 2 or 4 if one has it, 3 if all
 * have, else 1 if one failed; with --skip-failed a machine that cannot be reached counts for
 * nothing. */
int hl_cli_hosts_run(const hl_options *options, int argc, char **argv);

#endif
