#include "cli/interrupt.h"

#include "cli/cli.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static int wake[2] = {-1, -1};
static volatile sig_atomic_t caught;

static void on_signal(int number) {
  (void)number;
  int saved = errno;
  if (caught) _exit(HL_EXIT_INTERRUPTED);
  caught = 1;
  ssize_t ignored = write(wake[1], "", 1);
  (void)ignored;
  errno = saved;
}

int hl_interrupt_catch(void) {
  if (wake[0] < 0 && pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  return wake[0];
}
