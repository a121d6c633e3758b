/*
 * run/compare-commands.h - a command against others, in random pairs of executions.
 *
 *     const hl_command_side sides[] = {{.command = "./old"}, {.command = "./new"}};
 *     const hl_compare_commands options = {.sides = sides, .count = 2, .pairs = 50,
 *                                          .warmup = -1, .max_time_s = 30, .alpha = 0.05,
 *                                          .margin = 0.01, .seed = seed, .wake_fd = -1};
 *     hl_status status = hl_compare_commands_run(&options, found, &comparisons, &said, error);
 *
 * After warming up each side is executed once a round, in random order; every execution is a fresh
 * process, so pairs are of fresh processes by nature. Judged as configurations are
 * (method/family.h).
 */
#ifndef HL_RUN_COMPARE_COMMANDS_H
#define HL_RUN_COMPARE_COMMANDS_H

#include "record/comparison.h"
#include "record/side.h"
#include "run/run.h"

typedef struct hl_command_side {
  const char *command;
  const char *prepare;   /* before each execution, not timed; or NULL */
  const char *directory; /* NULL: the present one */
} hl_command_side;

typedef struct hl_compare_commands {
  const hl_command_side *sides; /* the first is the baseline */
  size_t count;                 /* 2..HL_COMPARE_SIDES */
  size_t pairs;                 /* of each comparison, as far as the budget goes */
  int64_t warmup;               /* executions of each side before; -1: 3, or 1 of a long one */
  double max_time_s;            /* of a side, all its executions, with what prepares them */
  uint64_t seed;                /* of the coins */
  double alpha, margin;
  bool verbose; /* what the commands say goes to standard error */
  int wake_fd;
} hl_compare_commands;

/* Fills `sides` (`count`, initialised, `commit` the caller's) with commands and executions, and
 * appends a comparison of the first with each of the others. UNAVAILABLE where a command ends with
 * another status than 0 and TIMED_OUT where one takes more than twice the budget, both with what it
 * said last in `ret_said` (free() it; NULL: nothing); INTERRUPTED; INVALID_ARGUMENT. */
hl_status hl_compare_commands_run(const hl_compare_commands *options, const hl_run_view *view,
                                  hl_side *sides, hl_comparisons *comparisons, char **ret_said,
                                  hl_error *error);

#endif
