/* Inside hotlap data: what it makes. */
#ifndef HL_CLI_DATA_H
#define HL_CLI_DATA_H

#include "cli/cli.h"
#include "data/array.h"

/* `spec` is nuclei[:KEY=VALUE,...]. */
hl_status hl_cli_make_nuclei(const hl_options *options, const char *spec, const char *path,
                             hl_error *error);

#endif
