/*
 * plan/operand.h - an operand of `hotlap compare`: one word of the shell that names a side.
 *
 *     hl_operand operand;
 *     hl_status status =
 *         hl_operand_parse("resnet50 engine=native batch=8", &common, &operand, error);
 *     ... operand.options as of `hotlap sweep resnet50 --engine=native --batch-sizes=8` ...
 *     hl_operand_release(&operand);
 *
 *     OPERAND    = [REFERENCE] [MODEL] KEY=VALUE...
 *     REFERENCE  = git:REF | run:ID | plan:FILE
 *
 * Without a reference the first word is the model. After one the model is optional: the next word,
 * unless it looks like KEY=VALUE (a key has letters, digits, '-', '_' and '.' only). A key is the
 * name or alias of an option that options.def gives the letter 'c', or ENGINE.KEY for an option of
 * an engine. Words are separated by spaces; "double quotes" keep spaces inside one.
 */
#ifndef HL_PLAN_OPERAND_H
#define HL_PLAN_OPERAND_H

#include "plan/options.h"

enum { HL_OPERAND_BYTES = 4096, HL_OPERAND_WORDS = 64 };

typedef enum hl_operand_kind {
  HL_OPERAND_CONFIGURATION, /* a model and its words: measured now */
  HL_OPERAND_GIT,           /* a commit: built and measured now */
  HL_OPERAND_RUN,           /* a run of the store */
  HL_OPERAND_PLAN           /* a file of configurations: plan/operand-file.h */
} hl_operand_kind;

typedef struct hl_operand {
  hl_operand_kind kind;
  char *reference; /* behind "git:", "run:" or "plan:", never empty; NULL of a configuration */
  char *model;     /* NULL where a reference has none */
  hl_options options;
  char **words;                 /* what `options` points into */
  size_t word_count, own_words; /* all, and where the operand's own begin */
} hl_operand;

/* `common`: options of the command line, borrowed while the operand lives. Those with the letter
 * 'c' hold for every operand that is measured now (configurations and git) and does not say
 * otherwise, and its batch is 1 where neither says; the options of a run or a plan are its own
 * words and nothing else. INVALID_ARGUMENT names the word; LIMIT; OUT_OF_MEMORY. */
hl_status hl_operand_parse(const char *text, const hl_options *common, hl_operand *ret_operand,
                           hl_error *error);

/* Relative paths among the operand's own words (plugin, python, test-data, and engine-library with
 * a '/') become paths in `directory`; the model is left to the caller, who knows which are built
 * in. */
hl_status hl_operand_rebase(hl_operand *operand, const char *directory, hl_error *error);
void hl_operand_release(hl_operand *operand);

/* "git:", "run:", "plan:"; "" of a configuration. */
const char *hl_operand_prefix(hl_operand_kind kind);

#endif
