#include "cli/cli.h"
#include "cli/sweep.h"

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
  return hl_sweep_command('Y', usage, argc, argv);
}
