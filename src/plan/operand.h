/*
 * plan/operand.h - an operand of `hotlap compare`: a configuration in one word of the shell.
 *
 *     hl_operand operand;
 *     hl_status status = hl_operand_parse("resnet50 engine=native batch=8", &common, &operand,
 * error);
 *     ... operand.options as of `hotlap sweep resnet50 --engine=native --batch-sizes=8` ...
 *     hl_operand_release(&operand);
 *
 * The first word is the model, every other KEY=VALUE: the name or alias of an option that
 * options.def gives the letter 'c', or ENGINE.KEY=VALUE for an option of an engine. Words are
 * separated by spaces; "double quotes" keep spaces inside one.
 */
#ifndef HL_PLAN_OPERAND_H
#define HL_PLAN_OPERAND_H

#include "plan/options.h"

enum { HL_OPERAND_BYTES = 4096, HL_OPERAND_WORDS = 64 };

typedef struct hl_operand {
  char *model;
  hl_options options;
  char **words; /* what `options` points into */
  size_t word_count;
} hl_operand;

/* `common`: options of the command line, of which those with the letter 'c' hold for every operand
 * that does not say otherwise; borrowed while the operand lives. The batch is 1 where neither says.
 * INVALID_ARGUMENT names the word; LIMIT; OUT_OF_MEMORY. */
hl_status hl_operand_parse(const char *text, const hl_options *common, hl_operand *ret_operand,
                           hl_error *error);
void hl_operand_release(hl_operand *operand);

#endif
