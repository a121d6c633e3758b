#include "cli/compare.h"
#include "cli/cli.h"
#include "report/comparison.h"
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "Usage: hotlap compare A B... [OPTION]...\n"
    "\n"
    "Says whether B is faster or slower than A, the baseline, or equivalent, or that this cannot\n"
    "be told. An operand is a configuration in quotes: a model, then words KEY=VALUE named as the\n"
    "options of sweep: 'resnet50 engine=native batch=8'. Options given outside hold for all\n"
    "operands. Both sides run in turns, in random order, in several fresh processes; outputs are\n"
    "compared first. Further operands are compared with A as well.\n";

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
  c->how.processes = (size_t)processes;
  c->how.pairs = (size_t)pairs;
  c->how.margin = margin / 100;
  c->how.force = hl_options_on(o, HL_OPTION_FORCE);
  return status;
}

static hl_status read_operands(hl_compare *c, hl_error *error) {
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

static hl_status compare_operands(hl_compare *c, hl_error *error) {
  for (size_t i = 0; i < c->count; i++)
    if (hl_operand_is_stored(&c->operands[i])) return hl_compare_stored_operands(c, error);
  return hl_compare_live_operands(c, error);
}

static void show(const hl_compare *c) {
  const hl_report_compared found = {.operands = c->texts,
                                    .comparisons = &c->comparisons,
                                    .margin = c->how.margin,
                                    .alpha = c->how.alpha};
  hl_text text = HL_TEXT_INIT;
  if (hl_options_on(&c->options, HL_OPTION_JSON))
    hl_report_compared_json(&found, &text);
  else if (!hl_options_on(&c->options, HL_OPTION_QUIET))
    hl_report_compared_text(&found, &text);
  fputs(text.data, stdout);
  hl_text_release(&text);
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
    return hl_cli_fail(error, HL_EXIT_NOTHING);
  default:
    return hl_cli_fail(error, HL_EXIT_USAGE);
  }
}

int hl_cli_compare(int argc, char **argv) {
  hl_compare c = {0};
  hl_error error = {0};
  int exit_status = hl_cli_options('C', usage, argc, argv, &c.options);
  if (exit_status >= 0) return exit_status;
  hl_status status = read_how(&c, &error);
  if (status == HL_OK) status = read_operands(&c, &error);
  if (status == HL_OK) status = compare_operands(&c, &error);
  if (status == HL_OK) show(&c);
  exit_status = exit_status_of(status, &c, &error);
  for (size_t i = 0; i < HL_COUNT(c.operands); i++) hl_operand_release(&c.operands[i]);
  hl_comparisons_release(&c.comparisons);
  hl_options_release(&c.options);
  return exit_status;
}
