#include "base/clock.h"
#include "cli/cli.h"
#include "cli/compare-operands.h"
#include "cli/interrupt.h"
#include "report/comparison.h"
#include "run/git.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "Usage: hotlap compare A B... [OPTION]...\n"
    "\n"
    "Says whether B is faster or slower than A, the baseline, or equivalent, or that this cannot\n"
    "be told. An operand is a configuration in quotes: a model, then words KEY=VALUE named as the\n"
    "options of sweep: 'resnet50 engine=native batch=8'. Options given outside hold for all\n"
    "operands. Both sides run in turns, in random order, in several fresh processes; outputs are\n"
    "compared first. Further operands are compared with A as well.\n";

/* Everything of one comparison, released in one place. */
typedef struct compare {
  hl_options options;
  hl_machine machine;
  hl_compare_operands operands;
  hl_compare_options how;
  hl_comparisons comparisons;
  hl_run_info info;
  size_t process, processes;
  bool show_progress;
} compare;

static void row_begin(void *context, const hl_configuration *c, size_t index, size_t count) {
  compare *s = context;
  (void)c;
  s->process = index;
  s->processes = count;
}

static void phase(void *context, const char *text) {
  const compare *s = context;
  if (s->show_progress)
    fprintf(stderr, "\r\033[Kprocess %zu of %zu: %s", s->process + 1, s->processes, text);
}

static hl_status read_how(compare *s, hl_error *error) {
  const hl_options *o = &s->options;
  int64_t processes = 0, pairs = 0;
  double margin = 0;
  const char *fail_if = hl_options_get(o, HL_OPTION_FAIL_IF);
  if (fail_if && strcmp(fail_if, "slower") != 0 && strcmp(fail_if, "faster") != 0 &&
      strcmp(fail_if, "different") != 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--fail-if: '%.100s' is none of slower, faster, different", fail_if);
  hl_status status =
      hl_options_int(o, HL_OPTION_PROCESSES, 1, HL_COMPARE_PROCESSES, 5, &processes, error);
  if (status == HL_OK)
    status = hl_options_int(o, HL_OPTION_PAIRS, 1, HL_COMPARE_PAIRS, 50, &pairs, error);
  if (status == HL_OK) status = hl_options_real(o, HL_OPTION_MARGIN, 0, 99, 1, &margin, error);
  if (status == HL_OK)
    status = hl_options_real(o, HL_OPTION_ALPHA, 1e-6, 0.5, 0.05, &s->how.alpha, error);
  s->how.processes = (size_t)processes;
  s->how.pairs = (size_t)pairs;
  s->how.margin = margin / 100;
  s->how.force = hl_options_on(o, HL_OPTION_FORCE);
  return status;
}

static hl_status measure(compare *s, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *cache = NULL, *commit = hl_git_commit();
  hl_cli_cache_directory(&cache, NULL); /* without one nothing is kept */
  const hl_run_environment environment = {.program = "/proc/self/exe",
                                          .cache_directory = cache,
                                          .verbose = hl_options_on(&s->options, HL_OPTION_VERBOSE),
                                          .wake_fd = hl_interrupt_catch(),
                                          .start_ns = hl_clock_ns(),
                                          .git_commit = commit};
  const hl_run_view view = {.context = s, .row_begin = row_begin, .phase = phase};
  s->show_progress = !hl_options_on(&s->options, HL_OPTION_QUIET) && isatty(STDERR_FILENO);
  s->info.cpu = hl_strdup(s->machine.cpu);
  s->info.cores = s->machine.cores;
  s->how.configurations = s->operands.configurations;
  s->how.count = s->operands.count;
  s->how.method = &s->operands.method;
  s->how.seed = (uint64_t)s->operands.configurations[0]->seed;
  hl_status status =
      hl_compare_live(&s->how, &environment, &view, &s->info, &s->comparisons, error);
  if (s->show_progress) fputs("\r\033[K", stderr);
  return status;
}

static void show(const compare *s) {
  const hl_report_compared found = {.operands = s->operands.texts,
                                    .comparisons = &s->comparisons,
                                    .margin = s->how.margin,
                                    .alpha = s->how.alpha};
  hl_text text = HL_TEXT_INIT;
  if (hl_options_on(&s->options, HL_OPTION_JSON))
    hl_report_compared_json(&found, &text);
  else if (!hl_options_on(&s->options, HL_OPTION_QUIET))
    hl_report_compared_text(&found, &text);
  fputs(text.data, stdout);
  hl_text_release(&text);
}

static bool gate_holds(const compare *s) {
  const char *fail_if = hl_options_get(&s->options, HL_OPTION_FAIL_IF);
  for (size_t i = 0; fail_if && i < s->comparisons.count; i++) {
    const char *verdict = s->comparisons.items[i].verdict;
    bool different = verdict && (!strcmp(verdict, "slower") || !strcmp(verdict, "faster"));
    if (different && (!strcmp(fail_if, "different") || !strcmp(fail_if, verdict))) return true;
  }
  return false;
}

static int exit_status_of(hl_status status, const compare *s, const hl_error *error) {
  switch (status) {
  case HL_OK:
    return gate_holds(s) ? HL_EXIT_GATE : HL_EXIT_OK;
  case HL_INTERRUPTED:
    fputs("hotlap: interrupted before there was a verdict\n", stderr);
    return HL_EXIT_INTERRUPTED;
  case HL_UNAVAILABLE:
    return hl_cli_fail(error, HL_EXIT_NOTHING);
  default:
    return hl_cli_fail(error, HL_EXIT_USAGE);
  }
}

int hl_cli_compare(int argc, char **argv) {
  compare s = {0};
  hl_error error = {0};
  int exit_status = hl_cli_options('C', usage, argc, argv, &s.options);
  if (exit_status >= 0) return exit_status;
  hl_run_info_init(&s.info);
  hl_status status = read_how(&s, &error);
  if (status == HL_OK) status = hl_machine_read(&s.machine, &error);
  if (status == HL_OK)
    status = hl_compare_operands_read(&s.options, &s.machine, &s.operands, &error);
  if (status == HL_OK) status = measure(&s, &error);
  if (status == HL_OK) show(&s);
  exit_status = exit_status_of(status, &s, &error);
  hl_compare_operands_release(&s.operands);
  hl_comparisons_release(&s.comparisons);
  hl_run_info_release(&s.info);
  hl_machine_release(&s.machine);
  hl_options_release(&s.options);
  return exit_status;
}
