#include "cli/cli.h"
#include "cli/sweep.h"

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
  return hl_sweep_command('T', usage, argc, argv);
}
