/*
 * cli/compare-lines.h - two plans, a line of one with a line of the other.
 *
 *     compare-plan.c   plan:A.txt plan:B.txt: files of operands, whose lines are in order
 *     compare-rows.c   plan:A.yaml plan:B.yaml: rows that are the same work, wherever they stand
 *     compare-lines.c  measures and shows either
 */
#ifndef HL_CLI_COMPARE_LINES_H
#define HL_CLI_COMPARE_LINES_H

#include "cli/compare.h"
#include "report/lines.h"

typedef struct hl_compare_line {
  hl_report_line shown;
  const hl_configuration *configurations[2];
  const hl_method_options *method;
  const char *name; /* what errors call the line */
} hl_compare_line;

/* Measures all lines in turns and leaves what is shown in `compare->shown`. */
hl_status hl_compare_lines(hl_compare *compare, const hl_compare_line *lines, size_t count,
                           const hl_machine *machine, const hl_report_left_out *left_out,
                           hl_error *error);

/* Whether the operand names a plan of `hotlap run`: FILE.yaml, FILE.yml, or one that comes with
 * hotlap. */
bool hl_compare_is_rows(const hl_operand *operand);

/* Compares such plans. INVALID_ARGUMENT where a row might be set against several. */
hl_status hl_compare_plan_rows(hl_compare *compare, hl_error *error);

#endif
