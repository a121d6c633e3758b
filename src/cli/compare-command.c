#include "cli/cli.h"
#include "cli/compare.h"
#include "cli/interrupt.h"
#include "run/compare-commands.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static size_t count_of(const hl_options *o, hl_option_id id) {
  size_t count = 0;
  while (hl_options_at(o, id, count)) count++;
  return count;
}

static hl_status check_prepares(const hl_compare *c, size_t count, hl_error *error) {
  if (count <= 1 || count == c->count) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "--prepare is given %zu times for %zu sides: give it once, or once for each",
                      count, c->count);
}

/* What says how a network is run says nothing to a command. */
static hl_status check_options(const hl_compare *c, hl_error *error) {
  for (size_t i = 0; i < c->options.item_count; i++) {
    hl_option_id id = c->options.item_ids[i];
    if (hl_option_taken(id, 'c') || id == HL_OPTION_PROCESSES || id == HL_OPTION_MEMORY_LIMIT ||
        id == HL_OPTION_NO_CHECK || id == HL_OPTION_FORCE)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--%s is for networks; what --command shall do is said in the command",
                          hl_option_name(id));
  }
  return HL_OK;
}

/* The one command in each commit. */
static hl_status read_commits(hl_compare *c, hl_error *error) {
  if (count_of(&c->options, HL_OPTION_COMMAND) > 1)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "commits are compared with one --command; it is given more than once");
  hl_status status = hl_compare_read_operands(c, error);
  for (size_t i = 0; i < c->count && status == HL_OK; i++) {
    const hl_operand *o = &c->operands[i];
    if (o->kind != HL_OPERAND_GIT || o->model || o->word_count != o->own_words)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "operand '%.200s': with --command an operand is git:REF alone, or there "
                          "is none and --command is given for each side",
                          c->texts[i]);
  }
  return status == HL_OK ? hl_compare_checkout(c, error) : status;
}

static hl_status read_sides(hl_compare *c, hl_error *error) {
  const hl_options *o = &c->options;
  if (o->positional_count) return read_commits(c, error);
  c->count = count_of(o, HL_OPTION_COMMAND);
  if (c->count < 2)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "one --command alone; give the baseline first, then what is judged: hotlap "
                        "compare --command './old' --command './new'");
  if (c->count > HL_COMPARE_SIDES)
    return hl_error_set(error, HL_LIMIT, "%zu commands; at most %d are compared", c->count,
                        HL_COMPARE_SIDES);
  for (size_t i = 0; i < c->count; i++) c->texts[i] = hl_options_at(o, HL_OPTION_COMMAND, i);
  return hl_compare_check_build(c, error);
}

static void phase(void *context, const char *text) {
  (void)context;
  fprintf(stderr, "\r\033[K%s", text);
}

hl_status hl_compare_command_sides(hl_compare *c, hl_error *error) {
  const hl_options *o = &c->options;
  hl_command_side sides[HL_COMPARE_SIDES] = {{0}};
  hl_compare_commands commands = {.sides = sides,
                                  .pairs = c->how.pairs,
                                  .seed = c->how.seed,
                                  .alpha = c->how.alpha,
                                  .margin = c->how.margin,
                                  .warmup = -1,
                                  .verbose = hl_options_on(o, HL_OPTION_VERBOSE)};
  size_t prepares = count_of(o, HL_OPTION_PREPARE);
  hl_status status = check_options(c, error);
  if (status == HL_OK)
    status = hl_options_real(o, HL_OPTION_MAX_TIME, 0.001, 86400, 30, &commands.max_time_s, error);
  if (status == HL_OK && strcmp(hl_options_get(o, HL_OPTION_WARMUP_ITERATIONS), "auto") != 0)
    status = hl_options_int(o, HL_OPTION_WARMUP_ITERATIONS, 0, 100000, -1, &commands.warmup, error);
  if (status == HL_OK) status = read_sides(c, error);
  if (status == HL_OK) status = check_prepares(c, prepares, error);
  if (status != HL_OK) return status;
  for (size_t i = 0; i < c->count; i++) {
    sides[i].command = hl_options_at(o, HL_OPTION_COMMAND, o->positional_count ? 0 : i);
    sides[i].directory = hl_compare_directory(c, i);
    sides[i].prepare = hl_options_at(o, HL_OPTION_PREPARE, prepares > 1 ? i : 0);
  }
  commands.count = c->count;
  commands.wake_fd = hl_interrupt_catch();
  bool progress = hl_compare_shows_progress(c);
  const hl_run_view view = {.phase = progress ? phase : NULL};
  status = hl_compare_commands_run(&commands, &view, c->sides, &c->comparisons, &c->said, error);
  if (progress) fputs("\r\033[K", stderr);
  return status;
}
