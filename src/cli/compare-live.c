#include "base/clock.h"
#include "cli/cli.h"
#include "cli/compare.h"
#include "cli/interrupt.h"
#include "cli/plan.h"
#include "run/git.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The sides as configurations, and the progress of measuring them. */
typedef struct live {
  hl_compare *compare;
  hl_machine machine;
  hl_plan plans[HL_COMPARE_SIDES]; /* of one row each */
  const hl_configuration *configurations[HL_COMPARE_SIDES];
  const char *directories[HL_COMPARE_SIDES];
  hl_method_options method;
  hl_run_info info;
  size_t process, processes;
  bool show_progress;
} live;

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

static hl_status read_side(live *l, size_t i, hl_error *error) {
  const char *text = l->compare->texts[i];
  const hl_operand *operand = &l->compare->operands[i];
  hl_error inner = {0};
  hl_plan_model model = {0};
  hl_status status = hl_compare_rebase(l->compare, i, &inner);
  if (status == HL_OK) status = hl_cli_model(operand->model, &model, &inner);
  if (status == HL_OK)
    status = hl_cli_plan(&operand->options, &model, 1, &l->machine, &l->plans[i], &inner);
  if (status == HL_OK && i == 0)
    status = hl_compare_method(l->compare, &model, &l->machine, &l->method, &inner);
  free((char *)(uintptr_t)model.name);
  if (status != HL_OK) return hl_error_set(error, status, "operand '%.300s': %s", text, inner.msg);
  if (l->plans[i].count != 1)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "operand '%.300s' means %zu configurations; an operand is one: name one "
                        "batch, engine, dtype, device and number of threads",
                        text, l->plans[i].count);
  l->configurations[i] = &l->plans[i].items[0];
  return HL_OK;
}

/* Before anything is checked out. */
static hl_status check_models(const hl_compare *c, hl_error *error) {
  for (size_t i = 0; i < c->count; i++)
    if (!c->operands[i].model)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "operand '%.300s' says what is built and not what is measured: a model "
                          "behind it ('git:main resnet50 plugin=build/engine.so'), or --command",
                          c->texts[i]);
  return HL_OK;
}

static void row_begin(void *context, const hl_configuration *c, size_t index, size_t count) {
  live *l = context;
  (void)c;
  l->process = index;
  l->processes = count;
}

static void phase(void *context, const char *text) {
  const live *l = context;
  if (l->show_progress)
    fprintf(stderr, "\r\033[Kprocess %zu of %zu: %s", l->process + 1, l->processes, text);
}

static hl_status measure(live *l, hl_error *error) {
  hl_compare *c = l->compare;
  HL_CLEANUP(hl_free_pointer) char *cache = NULL, *commit = hl_git_commit();
  hl_cli_cache_directory(&cache, NULL); /* without one nothing is kept */
  const hl_run_environment environment = {.program = "/proc/self/exe",
                                          .cache_directory = cache,
                                          .verbose = hl_options_on(&c->options, HL_OPTION_VERBOSE),
                                          .wake_fd = hl_interrupt_catch(),
                                          .start_ns = hl_clock_ns(),
                                          .git_commit = commit};
  const hl_run_view view = {.context = l, .row_begin = row_begin, .phase = phase};
  l->show_progress = !hl_options_on(&c->options, HL_OPTION_QUIET) && isatty(STDERR_FILENO);
  l->info.cpu = hl_strdup(l->machine.cpu);
  l->info.cores = l->machine.cores;
  for (size_t i = 0; i < c->count; i++) l->directories[i] = hl_compare_directory(c, i);
  c->how.directories = l->directories;
  c->how.configurations = l->configurations;
  c->how.count = c->count;
  c->how.method = &l->method;
  hl_status status =
      hl_compare_live(&c->how, &environment, &view, &l->info, &c->comparisons, error);
  if (l->show_progress) fputs("\r\033[K", stderr);
  return status;
}

hl_status hl_compare_live_operands(hl_compare *compare, hl_error *error) {
  live l = {.compare = compare};
  hl_run_info_init(&l.info);
  hl_status status = check_models(compare, error);
  if (status == HL_OK) status = hl_machine_read(&l.machine, error);
  if (status == HL_OK) status = hl_compare_checkout(compare, error);
  for (size_t i = 0; i < compare->count && status == HL_OK; i++) status = read_side(&l, i, error);
  if (status == HL_OK) status = measure(&l, error);
  for (size_t i = 0; i < compare->count; i++) hl_plan_release(&l.plans[i]);
  hl_run_info_release(&l.info);
  hl_machine_release(&l.machine);
  return status;
}
