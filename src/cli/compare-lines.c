#include "cli/compare-lines.h"

#include <stdlib.h>

static hl_status measure(hl_compare *c, const hl_compare_line *lines, size_t count,
                         const hl_machine *machine, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) hl_compare_options *groups = calloc(count, sizeof *groups);
  if (!groups) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a plan");
  for (size_t i = 0; i < count; i++) {
    groups[i] = c->how;
    groups[i].configurations = lines[i].configurations;
    groups[i].count = 2;
    groups[i].method = lines[i].method;
    groups[i].name = lines[i].name;
  }
  hl_run_info info;
  hl_run_info_init(&info);
  info.cpu = hl_strdup(machine->cpu);
  info.cores = machine->cores;
  hl_status status = hl_compare_measure(c, groups, count, &info, error);
  hl_run_info_release(&info);
  return status;
}

static hl_status show(hl_compare *c, const hl_compare_line *lines, size_t count,
                      const hl_report_left_out *left_out, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) hl_report_line *shown = calloc(count, sizeof *shown);
  if (!shown) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the result");
  for (size_t i = 0; i < count; i++) shown[i] = lines[i].shown;
  const hl_report_lines report = {.operands = {c->texts[0], c->texts[1]},
                                  .lines = shown,
                                  .comparisons = &c->comparisons,
                                  .left_out = *left_out,
                                  .seed = c->how.seed,
                                  .margin = c->how.margin,
                                  .alpha = c->how.alpha};
  hl_text text = HL_TEXT_INIT;
  if (hl_options_on(&c->options, HL_OPTION_JSON))
    hl_report_lines_json(&report, &text);
  else if (!hl_options_on(&c->options, HL_OPTION_QUIET))
    hl_report_lines_text(&report, &text);
  c->shown = hl_text_take(&text);
  return c->shown ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the result");
}

hl_status hl_compare_lines(hl_compare *compare, const hl_compare_line *lines, size_t count,
                           const hl_machine *machine, const hl_report_left_out *left_out,
                           hl_error *error) {
  hl_status status = measure(compare, lines, count, machine, error);
  return status == HL_OK ? show(compare, lines, count, left_out, error) : status;
}
