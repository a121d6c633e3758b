/* What comparisons of configurations share: reading one, and measuring groups of them in turns. */
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/compare.h"
#include "cli/elsewhere.h"
#include "cli/interrupt.h"
#include "cli/plan.h"
#include "run/git.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

hl_status hl_compare_machine(const hl_options *options, hl_machine *ret_machine, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *unreachable = NULL;
  hl_status status = hl_cli_machine_read(options, ret_machine, &unreachable, error);
  if (status != HL_OK || !unreachable) return status;
  return hl_error_set(error, HL_UNAVAILABLE, "%s", unreachable);
}

/* What takes turns does so on one machine: two of them are two runs. */
static hl_status check_launcher(const hl_compare *compare, const hl_plan *plan, hl_error *error) {
  const char *given = hl_options_get(&compare->options, HL_OPTION_LAUNCHER);
  const hl_launcher *l = plan->items[0].launcher;
  if (!l || !l->far || (given && strcmp(given, l->text) == 0)) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "--launcher '%.200s' leads to another machine, and what is compared takes "
                      "turns on one: give it outside the operands. Two machines are two runs: "
                      "'hotlap compare run:ID run:ID --force'",
                      l->text);
}

hl_status hl_compare_method(const hl_compare *compare, const hl_plan_model *model,
                            const hl_machine *machine, hl_method_options *ret_method,
                            hl_error *error) {
  hl_plan plan = {0};
  hl_status status =
      hl_plan_build(&compare->options, model, 1, machine->cores, NULL, NULL, &plan, error);
  if (status == HL_OK) *ret_method = plan.method;
  hl_plan_release(&plan);
  return status;
}

hl_status hl_compare_configuration(const hl_compare *compare, const char *text,
                                   const hl_operand *operand, const hl_machine *machine,
                                   hl_plan *ret_plan, hl_error *error) {
  hl_error inner = {0};
  hl_plan_model model = {0};
  hl_plan plan = {0};
  hl_status status = hl_cli_model_of(&operand->options, operand->model, &model, &inner);
  if (status == HL_OK) status = hl_cli_plan(&operand->options, &model, 1, machine, &plan, &inner);
  if (status == HL_OK) status = check_launcher(compare, &plan, &inner);
  if (status == HL_OK) status = hl_compare_method(compare, &model, machine, &plan.method, &inner);
  free((char *)(uintptr_t)model.name);
  if (status != HL_OK)
    hl_error_set(error, status, "operand '%.300s': %s", text, inner.msg);
  else if (plan.count != 1)
    status = hl_error_set(error, HL_INVALID_ARGUMENT,
                          "operand '%.300s' means %zu configurations; an operand is one: name one "
                          "batch, engine, dtype, device and number of threads",
                          text, plan.count);
  if (status == HL_OK)
    *ret_plan = plan;
  else
    hl_plan_release(&plan);
  return status;
}

hl_run_environment hl_compare_environment(const hl_compare *compare, char **ret_cache,
                                          char **ret_commit) {
  hl_cli_cache_directory(ret_cache, NULL); /* without one nothing is kept */
  *ret_commit = hl_git_commit();
  return (hl_run_environment){.program = "/proc/self/exe",
                              .cache_directory = *ret_cache,
                              .search_path = getenv("PATH"),
                              .verbose = hl_options_on(&compare->options, HL_OPTION_VERBOSE),
                              .wake_fd = hl_interrupt_catch(),
                              .start_ns = hl_clock_ns(),
                              .git_commit = *ret_commit,
                              .without_limits = hl_cli_without_limits()};
}

bool hl_compare_shows_progress(const hl_compare *compare) {
  return !hl_options_on(&compare->options, HL_OPTION_QUIET) && isatty(STDERR_FILENO);
}

typedef struct progress {
  size_t process, processes;
  bool is_shown;
} progress;

static void row_begin(void *context, const hl_configuration *c, size_t index, size_t count) {
  progress *p = context;
  (void)c;
  p->process = index;
  p->processes = count;
}

static void phase(void *context, const char *text) {
  const progress *p = context;
  if (p->is_shown)
    fprintf(stderr, "\r\033[Kprocess %zu of %zu: %s", p->process + 1, p->processes, text);
}

hl_status hl_compare_measure(hl_compare *compare, const hl_compare_options *groups,
                             size_t group_count, hl_run_info *info, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *cache = NULL, *commit = NULL;
  const hl_run_environment environment = hl_compare_environment(compare, &cache, &commit);
  progress shown = {.is_shown = hl_compare_shows_progress(compare)};
  const hl_run_view view = {.context = &shown, .row_begin = row_begin, .phase = phase};
  hl_status status =
      hl_compare_live(groups, group_count, &environment, &view, info, &compare->comparisons, error);
  if (shown.is_shown) fputs("\r\033[K", stderr);
  return status;
}
