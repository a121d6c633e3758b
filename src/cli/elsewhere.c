#include "cli/elsewhere.h"

#include "cli/interrupt.h"
#include "run/elsewhere.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { arena_bytes = 1 << 20 };

/* srun may wait in a queue for as long as setting up may take. */
static hl_status launch_s(const hl_options *o, double *ret_s, hl_error *error) {
  bool has = hl_option_taken(HL_OPTION_SETUP_TIMEOUT, o->command);
  *ret_s = 0;
  return has ? hl_options_real(o, HL_OPTION_SETUP_TIMEOUT, 0.001, 86400, 0, ret_s, error) : HL_OK;
}

static hl_status ask(const hl_options *o, const hl_launcher *launcher, hl_machine *ret_machine,
                     char **ret_unreachable, hl_error *error) {
  hl_error failure = {0};
  hl_run_environment environment = {.program = "/proc/self/exe",
                                    .search_path = getenv("PATH"),
                                    .verbose = hl_options_on(o, HL_OPTION_VERBOSE),
                                    .wake_fd = hl_interrupt_catch()};
  hl_status status = launch_s(o, &environment.launch_s, error);
  if (status != HL_OK) return status;
  status = hl_elsewhere_machine(&environment, launcher, ret_machine, &failure);
  if (status == HL_OK) return status;
  if (status != HL_UNAVAILABLE) return hl_error_set(error, status, "%s", failure.msg);
  *ret_unreachable = hl_strdup(failure.msg);
  *ret_machine = (hl_machine){.cores = 1, .memory_limit_bytes = UINT64_MAX};
  return *ret_unreachable ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory");
}

hl_status hl_cli_machine_read(const hl_options *options, hl_machine *ret_machine,
                              char **ret_unreachable, hl_error *error) {
  hl_arena arena;
  const hl_launcher *launcher = NULL;
  *ret_unreachable = NULL;
  hl_arena_init(&arena, arena_bytes);
  hl_status status = hl_launcher_read(options, &arena, &launcher, error);
  /* Behind taskset it is the same machine, with fewer cores. */
  if (status == HL_OK && launcher)
    status = ask(options, launcher, ret_machine, ret_unreachable, error);
  else if (status == HL_OK)
    status = hl_machine_read(ret_machine, error);
  hl_arena_release(&arena);
  return status;
}

bool hl_cli_is_far(const hl_options *options) {
  hl_arena arena;
  const hl_launcher *launcher = NULL;
  if (!hl_options_given(options, HL_OPTION_LAUNCHER)) return false;
  hl_arena_init(&arena, arena_bytes);
  bool far = hl_launcher_read(options, &arena, &launcher, NULL) == HL_OK && launcher->far;
  hl_arena_release(&arena);
  return far;
}
