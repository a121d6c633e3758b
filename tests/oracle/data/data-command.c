/* `hotlap data` alone, so that its tests need nothing else of hotlap. */
#include "cli/cli.h"

int main(int argc, char **argv) {
  return hl_cli_data(argc, argv);
}
