/* plan:FILE plan:FILE: files of operands, compared line by line. */
#include "cli/compare-lines.h"
#include "plan/operand-file.h"
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

static hl_status check_operands(const hl_compare *c, hl_error *error) {
  for (size_t i = 0; i < c->count; i++)
    if (c->operands[i].kind != HL_OPERAND_PLAN || c->count != 2)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "a plan is compared with one other plan: plan:A.txt plan:B.txt");
  return HL_OK;
}

static hl_status read_files(lines *l, hl_error *error) {
  const hl_compare *c = l->compare;
  for (size_t i = 0; i < c->count; i++) {
    const hl_operand *o = &c->operands[i];
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

static hl_status compare_lines(lines *l, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) hl_compare_line *pairs = calloc(l->count, sizeof *pairs);
  if (!pairs) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a plan");
  for (size_t i = 0; i < l->count; i++) {
    hl_compare_line *to = &pairs[i];
    to->method = &l->items[i].plans[0].method;
    to->name = l->items[i].name;
    for (size_t side = 0; side < 2; side++) {
      to->configurations[side] = l->items[i].configurations[side];
      to->shown.texts[side] = l->files[side].lines[i].text;
      to->shown.numbers[side] = l->files[side].lines[i].number;
    }
  }
  return hl_compare_lines(l->compare, pairs, l->count, &l->machine, &(hl_report_left_out){0},
                          error);
}

hl_status hl_compare_plan_operands(hl_compare *compare, hl_error *error) {
  lines l = {.compare = compare};
  hl_status status = check_operands(compare, error);
  if (status != HL_OK) return status;
  if (hl_compare_is_rows(&compare->operands[0]) || hl_compare_is_rows(&compare->operands[1]))
    return hl_compare_plan_rows(compare, error);
  status = read_files(&l, error);
  if (status == HL_OK) status = hl_compare_machine(&compare->options, &l.machine, error);
  if (status == HL_OK) status = read_lines(&l, error);
  if (status == HL_OK) status = compare_lines(&l, error);
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
