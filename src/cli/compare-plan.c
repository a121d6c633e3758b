/* plan:FILE plan:FILE: files of operands, compared line by line. */
#include "cli/cli.h"
#include "cli/compare.h"
#include "cli/run-info.h"
#include "plan/operand-file.h"
#include "report/lines.h"
#include <stdlib.h>
#include <string.h>

/* A line of A and that of B. */
typedef struct line {
  hl_operand operands[2];
  hl_plan plans[2]; /* of one row each */
  const hl_configuration *configurations[2];
  char *name; /* "A.txt:3 and B.txt:4" */
} line;

typedef struct lines {
  hl_compare *compare;
  hl_machine machine;
  hl_operand_file files[2];
  line *items;
  size_t count;
} lines;

static hl_status read_files(lines *l, hl_error *error) {
  const hl_compare *c = l->compare;
  for (size_t i = 0; i < c->count; i++) {
    const hl_operand *o = &c->operands[i];
    if (o->kind != HL_OPERAND_PLAN || c->count != 2)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "a plan is compared with one other plan: plan:A.txt plan:B.txt");
    if (o->model || o->options.item_count)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "operand '%.300s': nothing may follow the file; options outside hold for "
                          "all its lines: --batch-sizes 8",
                          c->texts[i]);
  }
  hl_status status = HL_OK;
  for (size_t i = 0; i < 2 && status == HL_OK; i++)
    status = hl_operand_file_read(c->operands[i].reference, &l->files[i], error);
  if (status == HL_OK && l->files[0].count != l->files[1].count)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%s has %zu operands and %s has %zu; they are compared line by line",
                        c->operands[0].reference, l->files[0].count, c->operands[1].reference,
                        l->files[1].count);
  l->count = l->files[0].count;
  return status;
}

static hl_status read_side(lines *l, size_t i, size_t side, hl_error *error) {
  const hl_operand_line *text = &l->files[side].lines[i];
  line *to = &l->items[i];
  hl_operand *operand = &to->operands[side];
  hl_error inner = {0};
  hl_status status = hl_operand_parse(text->text, &l->compare->options, operand, &inner);
  if (status == HL_OK && operand->kind != HL_OPERAND_CONFIGURATION)
    status = hl_error_set(&inner, HL_INVALID_ARGUMENT,
                          "a line is a configuration, not %s...; it begins with a model",
                          hl_operand_prefix(operand->kind));
  if (status == HL_OK)
    status = hl_compare_configuration(l->compare, text->text, operand, &l->machine,
                                      &to->plans[side], &inner);
  if (status != HL_OK)
    return hl_error_set(error, status, "%s:%zu: %s", l->compare->operands[side].reference,
                        text->number, inner.msg);
  to->configurations[side] = &to->plans[side].items[0];
  return HL_OK;
}

static hl_status read_lines(lines *l, hl_error *error) {
  const hl_operand *o = l->compare->operands;
  l->items = calloc(l->count, sizeof *l->items);
  if (!l->items) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a plan");
  hl_status status = HL_OK;
  for (size_t i = 0; i < l->count && status == HL_OK; i++) {
    for (size_t side = 0; side < 2 && status == HL_OK; side++)
      status = read_side(l, i, side, error);
    l->items[i].name = hl_format("%s:%zu and %s:%zu", o[0].reference, l->files[0].lines[i].number,
                                 o[1].reference, l->files[1].lines[i].number);
  }
  return status;
}

static hl_status measure(lines *l, hl_error *error) {
  hl_compare *c = l->compare;
  HL_CLEANUP(hl_free_pointer) hl_compare_options *groups = calloc(l->count, sizeof *groups);
  if (!groups) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a plan");
  for (size_t i = 0; i < l->count; i++) {
    groups[i] = c->how;
    groups[i].configurations = l->items[i].configurations;
    groups[i].count = 2;
    groups[i].method = &l->items[i].plans[0].method;
    groups[i].name = l->items[i].name;
  }
  hl_run_info info;
  hl_run_info_init(&info);
  info.cpu = hl_strdup(l->machine.cpu);
  info.cores = l->machine.cores;
  hl_status status = hl_compare_measure(c, groups, l->count, &info, error);
  hl_run_info_release(&info);
  return status;
}

static hl_status show(lines *l, hl_error *error) {
  hl_compare *c = l->compare;
  HL_CLEANUP(hl_free_pointer) hl_report_line *shown = calloc(l->count, sizeof *shown);
  if (!shown) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the result");
  for (size_t i = 0; i < l->count; i++)
    for (size_t side = 0; side < 2; side++) {
      shown[i].texts[side] = l->files[side].lines[i].text;
      shown[i].numbers[side] = l->files[side].lines[i].number;
    }
  const hl_report_lines report = {.operands = {c->texts[0], c->texts[1]},
                                  .lines = shown,
                                  .comparisons = &c->comparisons,
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

hl_status hl_compare_plan_operands(hl_compare *compare, hl_error *error) {
  lines l = {.compare = compare};
  hl_status status = read_files(&l, error);
  if (status == HL_OK) status = hl_machine_read(&l.machine, error);
  if (status == HL_OK) status = read_lines(&l, error);
  if (status == HL_OK) status = measure(&l, error);
  if (status == HL_OK) status = show(&l, error);
  for (size_t i = 0; l.items && i < l.count; i++) {
    for (size_t side = 0; side < 2; side++) {
      hl_plan_release(&l.items[i].plans[side]);
      hl_operand_release(&l.items[i].operands[side]);
    }
    free(l.items[i].name);
  }
  free(l.items);
  for (size_t side = 0; side < 2; side++) hl_operand_file_release(&l.files[side]);
  hl_machine_release(&l.machine);
  return status;
}
