/*
 * cli/compare.h - what a comparison holds, and the kinds there are.
 *
 *     compare.c          options, operands, which kind, what was found, exit status
 *     compare-live.c     configurations, measured now
 *     compare-plan.c     plans, line by line or row by row (cli/compare-lines.h)
 *     compare-measure.c  how either is measured
 *     compare-command.c  commands, measured now
 *     compare-git.c      commits, for either
 *     compare-stored.c   sides that were measured before
 */
#ifndef HL_CLI_COMPARE_H
#define HL_CLI_COMPARE_H

#include "machine/topology.h"
#include "plan/operand.h"
#include "record/comparison.h"
#include "record/side.h"
#include "run/compare.h"
#include "run/worktree.h"

/* Everything of one comparison, released in one place by compare.c. */
typedef struct hl_compare {
  int argc;
  char **argv; /* the command line */
  hl_options options;
  const char *texts[HL_COMPARE_SIDES]; /* the operands as given, the baseline first */
  hl_operand operands[HL_COMPARE_SIDES];
  size_t count;                    /* 2..HL_COMPARE_SIDES */
  hl_compare_options how;          /* thresholds and counts; the sides are the kind's to fill in */
  hl_side sides[HL_COMPARE_SIDES]; /* what is known of each */
  hl_comparisons comparisons;      /* what was found, one for each side but the first */
  hl_worktrees worktrees;          /* of the operands that are commits */
  size_t tree_of[HL_COMPARE_SIDES];
  char *said;  /* after a failure, the last that a command said; or NULL */
  char *shown; /* what a kind shows instead of these, text or JSON; NULL: as they are */
} hl_compare;

/* A kind of comparison: reads what the operands name and appends to `comparisons`. Statuses as
 * hl_compare_live: INTERRUPTED and UNAVAILABLE have exit statuses of their own. */
hl_status hl_compare_live_operands(hl_compare *compare, hl_error *error);
hl_status hl_compare_command_sides(hl_compare *compare, hl_error *error);
hl_status hl_compare_stored_operands(hl_compare *compare, hl_error *error);
hl_status hl_compare_plan_operands(hl_compare *compare, hl_error *error);

/* What all sides that are measured now share: budget and limits of the command line. */
hl_status hl_compare_method(const hl_compare *compare, const hl_plan_model *model,
                            const hl_machine *machine, hl_method_options *ret_method,
                            hl_error *error);

/* The machine that the operand's launcher leads to, this one without. UNAVAILABLE, in its words,
 * where nothing can be started there. */
hl_status hl_compare_machine(const hl_options *options, hl_machine *ret_machine, hl_error *error);

/* Reads the positional arguments into texts and operands. */
hl_status hl_compare_read_operands(hl_compare *compare, hl_error *error);

/* The one configuration of an operand, with that method: release the plan. INVALID_ARGUMENT for one
 * that means several. */
hl_status hl_compare_configuration(const hl_compare *compare, const char *text,
                                   const hl_operand *operand, const hl_machine *machine,
                                   hl_plan *ret_plan, hl_error *error);

/* What measuring now takes; free() both texts behind the last use. */
hl_run_environment hl_compare_environment(const hl_compare *compare, char **ret_cache,
                                          char **ret_commit);

/* Whether a line of progress goes to standard error. */
bool hl_compare_shows_progress(const hl_compare *compare);

/* Measures groups of sides as the command line says, and appends to `comparisons`. */
hl_status hl_compare_measure(hl_compare *compare, const hl_compare_options *groups,
                             size_t group_count, hl_run_info *info, hl_error *error);

/* INVALID_ARGUMENT for --build where no operand is a commit. */
hl_status hl_compare_check_build(const hl_compare *compare, hl_error *error);

/* Checks out and builds the commits that operands name; nothing where none does. */
hl_status hl_compare_checkout(hl_compare *compare, hl_error *error);

/* Where a side is to run; NULL: here. */
const char *hl_compare_directory(const hl_compare *compare, size_t side);

/* Relative paths of a commit's operand become paths in its directory. */
hl_status hl_compare_rebase(hl_compare *compare, size_t side, hl_error *error);

/* Notes on the commits that were compared. */
void hl_compare_remark(hl_compare *compare);

#endif
