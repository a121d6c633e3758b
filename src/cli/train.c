#include "cli/sweep.h"

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/interrupt.h"

static const char usage[] =
    "Usage: hotlap train MODEL... [OPTION]...\n"
    "\n"
    "Trains a network and says where the time goes: loading, forward, loss, backward and update, "
    "of\n"
    "the first step and of the steady ones; how the loss falls, what memory it takes, and whether\n"
    "loading the data is the bottleneck. Without --test-data inputs and targets are random.\n"
    "--checkpoint keeps the trained network as an ONNX file, from which --resume goes on. Ctrl-C\n"
    "ends after the present step and keeps both; a second one ends at once.\n";

int hl_cli_train(int argc, char **argv) {
  hl_sweep s = {.start_ns = hl_clock_ns()};
  hl_error error = {0};
  int exit_status = hl_cli_options('T', usage, argc, argv, &s.options);
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
