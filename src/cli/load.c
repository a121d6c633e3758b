#include "cli/sweep.h"

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/interrupt.h"

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
  hl_sweep s = {.start_ns = hl_clock_ns()};
  hl_error error = {0};
  int exit_status = hl_cli_options('L', usage, argc, argv, &s.options);
  if (exit_status >= 0) return exit_status;
  hl_interrupt_catch();
  hl_run_info_init(&s.info);
  if (hl_sweep_prepare(&s, argc, argv, &error) != HL_OK) {
    exit_status = hl_cli_fail(&error, HL_EXIT_USAGE);
  } else {
    hl_record_set_text(&s.info.percentiles, "loadgen");
    exit_status = hl_sweep_run(&s);
  }
  hl_sweep_release(&s);
  return exit_status;
}
