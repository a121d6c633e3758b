#include "cli/cli.h"
#include "cli/sweep.h"

static const char usage[] =
    "Usage: hotlap load MODEL... --qps LIST | --find-max-qps --p99-target MS [OPTION]...\n"
    "\n"
    "Serves queries in a scenario of MLPerf LoadGen and says what latency they meet. In the "
    "server\n"
    "scenario queries arrive as a Poisson process that never slows down with the server, and "
    "their\n"
    "latency counts from the intended start. --batch-sizes is the largest batch that queries are\n"
    "served in. A result is VALID if the run was long enough and early stopping is 99 % sure that\n"
    "the target holds, else INVALID with the reason; quick runs are QUICK and claim nothing.\n";

int hl_cli_load(int argc, char **argv) {
  return hl_sweep_command('L', usage, argc, argv);
}
