#include "cli/interrupt.h"

#include "base/clock.h"
#include "cli/cli.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static int wake[2] = {-1, -1};
static volatile sig_atomic_t caught;
static uint64_t caught_ns;

/* A second signal ends the program at once, unless it is the first one twice: timeout(1) signals
 * its child and then its child's group. */
static const uint64_t same_signal_ns = 500000000;

static void on_signal(int number) {
  (void)number;
  int saved = errno;
  if (caught) {
    if (hl_clock_ns() - caught_ns > same_signal_ns) _exit(HL_EXIT_INTERRUPTED);
    return;
  }
  caught_ns = hl_clock_ns();
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
  /* A terminal that goes away ends a sweep in the same way, except under nohup. */
  struct sigaction old;
  if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
    sigaction(SIGHUP, &action, NULL);
  return wake[0];
}

bool hl_interrupt_caught(void) {
  return caught;
}
