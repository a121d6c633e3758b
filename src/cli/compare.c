#include "cli/compare.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "report/comparison.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { said_lines = 20 };

static const char usage[] =
    "Usage: hotlap compare A B... [OPTION]...\n"
    "       hotlap compare --command 'CMD A' --command 'CMD B'... [OPTION]...\n"
    "       hotlap compare git:A git:B... --command CMD [--build CMD] [OPTION]...\n"
    "\n"
    "Says whether B is faster or slower than A, the baseline, or equivalent, or that this cannot\n"
    "be told. An operand is a configuration in quotes: a model, then words KEY=VALUE named as the\n"
    "options of sweep: 'resnet50 engine=native batch=8'. Options given outside hold for all\n"
    "operands. Both sides run in turns, in random order, in several fresh processes; outputs are\n"
    "compared first. Further operands are compared with A as well.\n"
    "plan:FILE is a file of configurations, compared line by line with another; plan:FILE.yaml a\n"
    "plan of 'hotlap run', whose rows are compared with the same ones of another.\n"
    "run:ID is a run of the store, with words that select rows of it: 'run:latest batch=8'. It is\n"
    "compared with another, or with a configuration, which is then measured; without turns.\n"
    "Commands are executed in turns, in random order, and timed from start to end. git:REF is a\n"
    "commit, checked out and built beside the working tree, which is git:. itself.\n";

static hl_status read_how(hl_compare *c, hl_error *error) {
  const hl_options *o = &c->options;
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
    status = hl_options_real(o, HL_OPTION_ALPHA, 1e-6, 0.5, 0.05, &c->how.alpha, error);
  if (status == HL_OK) status = hl_cli_order_seed(o, &c->how.seed, error);
  c->how.processes = (size_t)processes;
  c->how.pairs = (size_t)pairs;
  c->how.margin = margin / 100;
  c->how.force = hl_options_on(o, HL_OPTION_FORCE);
  return status;
}

/* Options that only commands and commits have. */
static hl_status check_options(const hl_compare *c, hl_error *error) {
  if (hl_options_given(&c->options, HL_OPTION_PREPARE) &&
      !hl_options_given(&c->options, HL_OPTION_COMMAND))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "--prepare is for --command");
  return hl_compare_check_build(c, error);
}

hl_status hl_compare_read_operands(hl_compare *c, hl_error *error) {
  c->count = c->options.positional_count;
  if (c->count > HL_COMPARE_SIDES)
    return hl_error_set(error, HL_LIMIT, "%zu operands; at most %d are compared", c->count,
                        HL_COMPARE_SIDES);
  if (c->count < 2)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "compare needs two operands, the baseline first: hotlap compare 'resnet50 "
                        "engine=native' 'resnet50 engine=onnxruntime'");
  hl_status status = HL_OK;
  for (size_t i = 0; i < c->count && status == HL_OK; i++) {
    c->texts[i] = c->options.positionals[i];
    status = hl_operand_parse(c->texts[i], &c->options, &c->operands[i], error);
  }
  return status;
}

static hl_status check_store(const hl_compare *c, hl_error *error) {
  for (size_t i = 0; i < c->count; i++)
    if (c->operands[i].kind == HL_OPERAND_RUN) return HL_OK;
  if (!hl_options_given(&c->options, HL_OPTION_STORE)) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "--store is for stored runs, and no operand is run:ID; what takes turns is "
                      "not kept");
}

static hl_status compare_sides(hl_compare *c, hl_error *error) {
  if (hl_options_given(&c->options, HL_OPTION_COMMAND)) {
    hl_status status = check_store(c, error);
    return status == HL_OK ? hl_compare_command_sides(c, error) : status;
  }
  hl_status status = hl_compare_read_operands(c, error);
  if (status == HL_OK) status = check_store(c, error);
  if (status == HL_OK) status = check_options(c, error);
  if (status != HL_OK) return status;
  for (size_t i = 0; i < c->count; i++)
    if (c->operands[i].kind == HL_OPERAND_PLAN) return hl_compare_plan_operands(c, error);
  for (size_t i = 0; i < c->count; i++)
    if (c->operands[i].kind == HL_OPERAND_RUN) return hl_compare_stored_operands(c, error);
  return hl_compare_live_operands(c, error);
}

static void show(const hl_compare *c) {
  bool json = hl_options_on(&c->options, HL_OPTION_JSON);
  if (c->shown) {
    if (!json) hl_text_blank(c->shown, "\n");
    fputs(c->shown, stdout);
    return;
  }
  const hl_report_compared found = {.operands = c->texts,
                                    .sides = c->sides,
                                    .comparisons = &c->comparisons,
                                    .seed = c->how.seed,
                                    .margin = c->how.margin,
                                    .alpha = c->how.alpha};
  hl_text text = HL_TEXT_INIT;
  if (json)
    hl_report_compared_json(&found, &text);
  else if (!hl_options_on(&c->options, HL_OPTION_QUIET))
    hl_report_compared_text(&found, &text);
  if (json)
    fputs(text.data, stdout);
  else
    hl_cli_show(&text, stdout);
  hl_text_release(&text);
}

/* The last lines, indented, without what a terminal would obey. */
static void show_said(char *said) {
  hl_text_blank(said, "\n\t");
  const char *at = said + strlen(said);
  int lines = 0;
  while (at > said && (at[-1] != '\n' || at[0] == '\0' || ++lines < said_lines)) at--;
  bool begin = true;
  for (; *at; at++) {
    if (begin) fputs("  | ", stderr);
    begin = *at == '\n';
    fputc(*at, stderr);
  }
  if (!begin) fputc('\n', stderr);
}

static bool gate_holds(const hl_compare *c) {
  const char *fail_if = hl_options_get(&c->options, HL_OPTION_FAIL_IF);
  for (size_t i = 0; fail_if && i < c->comparisons.count; i++) {
    const char *verdict = c->comparisons.items[i].verdict;
    bool different = verdict && (!strcmp(verdict, "slower") || !strcmp(verdict, "faster"));
    if (different && (!strcmp(fail_if, "different") || !strcmp(fail_if, verdict))) return true;
  }
  return false;
}

static int exit_status_of(hl_status status, const hl_compare *c, const hl_error *error) {
  switch (status) {
  case HL_OK:
    return gate_holds(c) ? HL_EXIT_GATE : HL_EXIT_OK;
  case HL_INTERRUPTED:
    fputs("hotlap: interrupted before there was a verdict\n", stderr);
    return HL_EXIT_INTERRUPTED;
  case HL_UNAVAILABLE:
  case HL_TIMED_OUT:
    return hl_cli_fail(error, HL_EXIT_NOTHING);
  default:
    return hl_cli_fail(error, HL_EXIT_USAGE);
  }
}

int hl_cli_compare(int argc, char **argv) {
  hl_compare c = {.argc = argc, .argv = argv};
  hl_error error = {0};
  int exit_status = hl_cli_options('C', usage, argc, argv, &c.options);
  if (exit_status >= 0) return exit_status;
  hl_interrupt_catch();
  hl_status status = read_how(&c, &error);
  if (status == HL_OK) status = compare_sides(&c, &error);
  if (status == HL_OK) hl_compare_remark(&c);
  if (status == HL_OK) show(&c);
  exit_status = exit_status_of(status, &c, &error);
  if (status != HL_OK && c.said) show_said(c.said);
  hl_error left = {0};
  if (hl_worktrees_close(&c.worktrees, &left) != HL_OK) hl_cli_fail(&left, 0);
  for (size_t i = 0; i < HL_COMPARE_SIDES; i++) {
    hl_operand_release(&c.operands[i]);
    hl_side_release(&c.sides[i]);
  }
  free(c.said);
  hl_comparisons_release(&c.comparisons);
  free(c.shown);
  hl_options_release(&c.options);
  return exit_status;
}
