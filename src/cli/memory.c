#include "cli/sweep.h"

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/interrupt.h"

static const char usage[] =
    "Usage: hotlap memory MODEL... [OPTION]...\n"
    "\n"
    "Says where the memory of a network goes, in inference and in training: weights, optimiser's\n"
    "state, activations kept for the backward pass, gradients, workspace; by layer and by phase; "
    "as\n"
    "planned and as measured. How it grows with the batch and with the size of the model, and "
    "with\n"
    "--memory-limit the largest batch. Each row runs in a process of its own.\n";

int hl_cli_memory(int argc, char **argv) {
  hl_sweep s = {.start_ns = hl_clock_ns()};
  hl_error error = {0};
  int exit_status = hl_cli_options('Y', usage, argc, argv, &s.options);
  if (exit_status >= 0) return exit_status;
  hl_interrupt_catch();
  hl_run_info_init(&s.info);
  if (hl_sweep_prepare(&s, argc, argv, &error) != HL_OK)
    exit_status = hl_cli_fail(&error, HL_EXIT_USAGE);
  else if (hl_options_on(&s.options, HL_OPTION_DRY_RUN))
    exit_status = hl_sweep_dry_run(&s);
  else
    exit_status = hl_sweep_run(&s);
  hl_sweep_release(&s);
  return exit_status;
}
