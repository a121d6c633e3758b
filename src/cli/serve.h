/*
 * cli/serve.h - `hotlap report --serve`: the dashboard (web/web.h).
 */
#ifndef HL_CLI_SERVE_H
#define HL_CLI_SERVE_H

#include "plan/options.h"

/* Whether --serve is given, or an option that goes with it only. */
bool hl_cli_serves(const hl_options *options);

/* Serves until an interrupt, which is how it ends well; releases the options. The exit status. */
int hl_cli_serve(hl_options *options);

#endif
