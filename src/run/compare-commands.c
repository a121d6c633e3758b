#include "run/compare-commands.h"

#include "base/clock.h"
#include "base/text.h"
#include "machine/counters.h"
#include "method/pairing.h"
#include "run/candidate.h"
#include "run/command.h"
#include "run/compare.h"
#include "statistics/percentile.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Of a command that takes more than this share of the budget, one execution warms up. */
static const double long_share = 0.02;
/* A shell that takes a smaller share of a command's time is not worth a word. */
static const double shell_share = 0.01;
enum { warm_ups = 3, shell_runs = 11 };

typedef struct runner {
  const hl_compare_commands *options;
  const hl_run_view *view;
  hl_command commands[HL_COMPARE_SIDES], prepares[HL_COMPARE_SIDES];
  hl_side *sides;
  hl_pairing pairing;
  hl_counter_source counters;
  uint64_t spent_ns; /* on warming up */
  double shell_ms;   /* NaN: not measured */
  bool orphans[HL_COMPARE_SIDES];
  char **ret_said;
} runner;

static void show_phase(const runner *r, const char *format, ...) HL_PRINTF(2, 3);
static void show_phase(const runner *r, const char *format, ...) {
  char text[100];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (r->view->phase) r->view->phase(r->view->context, text);
}

static hl_status run_one(runner *r, hl_command *command, hl_command_place *place, hl_execution *e,
                         hl_error *error) {
  hl_error failure = {0};
  hl_status status = hl_command_execute(command, place, e, &failure);
  if (status == HL_OK) status = hl_execution_check(command, e, &failure);
  if (status == HL_OK || status == HL_INTERRUPTED) return status;
  if (e->said[0]) {
    free(*r->ret_said);
    *r->ret_said = hl_strdup(e->said);
  }
  const char *remedy = "";
  if (status == HL_TIMED_OUT) remedy = "; if it may take so long, raise --max-time";
  if (status == HL_NOT_FOUND && place->directory)
    remedy = "; it is to run in the checkout of a commit, where --build CMD makes what it needs";
  return hl_error_set(error, status, "%s%s", failure.msg, remedy);
}

/* One execution of a side, prepared. `ret_elapsed_ns` counts both. */
static hl_status execute(runner *r, size_t side, hl_execution *ret_execution,
                         uint64_t *ret_elapsed_ns, hl_error *error) {
  const hl_compare_commands *o = r->options;
  hl_command_place place = {.directory = o->sides[side].directory,
                            .timeout_s = 2 * o->max_time_s + 5,
                            .wake_fd = o->wake_fd,
                            .verbose = o->verbose,
                            .without_git = o->sides[side].directory != NULL};
  uint64_t start = hl_clock_ns();
  hl_status status = HL_OK;
  if (r->prepares[side].argv) {
    hl_command_place before = place;
    before.keep_orphans = true;
    before.output = HL_OUTPUT_SAID;
    status = run_one(r, &r->prepares[side], &before, ret_execution, error);
    if (status != HL_OK && status != HL_INTERRUPTED) hl_error_prefix(error, "--prepare");
  }
  if (status == HL_OK) status = run_one(r, &r->commands[side], &place, ret_execution, error);
  if (status == HL_OK) r->orphans[side] |= ret_execution->orphans;
  *ret_elapsed_ns = hl_clock_ns() - start;
  return status;
}

static hl_status warm_up(runner *r, size_t side, hl_error *error) {
  int64_t wanted = r->options->warmup < 0 ? warm_ups : r->options->warmup;
  double long_ns = long_share * r->options->max_time_s * 1e9;
  hl_status status = HL_OK;
  for (int64_t i = 0; i < wanted && status == HL_OK; i++) {
    hl_execution e;
    uint64_t elapsed = 0;
    show_phase(r, "warming up %c, %" PRId64 " of %" PRId64, (char)('A' + side), i + 1, wanted);
    status = execute(r, side, &e, &elapsed, error);
    r->spent_ns += elapsed;
    if (r->options->warmup < 0 && (double)elapsed > long_ns) break;
  }
  return status;
}

/* What /bin/sh takes to do nothing, which is in the time of every command that goes through it. */
static hl_status measure_shell(runner *r, hl_error *error) {
  bool used = false;
  for (size_t i = 0; i < r->options->count; i++) used |= r->commands[i].by_shell;
  if (!used) return HL_OK;
  hl_command nothing;
  double times[shell_runs];
  hl_status status = hl_command_init(&nothing, ":", error);
  if (status != HL_OK) return status;
  hl__command_by_shell(&nothing);
  const hl_command_place place = {.timeout_s = 60, .wake_fd = r->options->wake_fd};
  for (size_t i = 0; i < shell_runs && status == HL_OK; i++) {
    hl_execution e;
    status = hl_command_execute(&nothing, &place, &e, error);
    times[i] = (double)e.wall_ns / 1e6;
  }
  if (status == HL_OK) r->shell_ms = hl_median(times, shell_runs);
  hl_command_release(&nothing);
  return status;
}

static hl_status take_turn(runner *r, size_t side, hl_error *error) {
  hl_execution e;
  hl_counters before, after;
  uint64_t elapsed = 0;
  hl_counters_read(&r->counters, &before);
  hl_status status = execute(r, side, &e, &elapsed, error);
  if (status != HL_OK) return status;
  hl_counters_read(&r->counters, &after);
  const hl_side_execution execution = {(double)e.wall_ns / 1e6, (double)e.user_ns / 1e6,
                                       (double)e.system_ns / 1e6, (double)e.peak_bytes / 1e6};
  const hl_turn turn = {.member = side,
                        .samples_ns = &e.wall_ns,
                        .sample_count = 1,
                        .steps_per_sample = 1,
                        .steps = 1,
                        .elapsed_ns = elapsed,
                        .noise = hl__turn_noise(&before, &after)};
  status = hl_side_add(&r->sides[side], &execution, error);
  return status == HL_OK ? hl_pairing_add(&r->pairing, &turn, error) : status;
}

static hl_status take_turns(runner *r, hl_error *error) {
  const hl_compare_commands *o = r->options;
  double budget_ns = o->max_time_s * 1e9 * (double)o->count - (double)r->spent_ns;
  hl_pairing_init(&r->pairing,
                  &(hl_pairing_options){.members = o->count,
                                        .seed = o->seed,
                                        .budget_ns = budget_ns > 1 ? (uint64_t)budget_ns : 1,
                                        .rounds = o->pairs,
                                        .single = true});
  hl_turn_request request;
  hl_status status = HL_OK;
  while (status == HL_OK && hl_pairing_next(&r->pairing, false, &request)) {
    show_phase(r, "pair %zu of %zu", r->pairing.rounds, o->pairs);
    status = take_turn(r, request.member, error);
  }
  return status;
}

static void note_shell(const runner *r, size_t b, hl_comparison *to) {
  const size_t pair[2] = {0, b};
  hl_text shares = HL_TEXT_INIT;
  for (size_t i = 0; i < 2; i++) {
    double share = r->shell_ms / hl_side_summarise(&r->sides[pair[i]]).median_ms;
    if (r->commands[pair[i]].by_shell && share > shell_share)
      hl_text_format(&shares, "%s%.*f %% of the time of %c", shares.length ? ", " : "",
                     share < 0.1 ? 1 : 0, 100 * share, (char)('A' + pair[i]));
  }
  if (shares.length)
    hl_comparison_note(to, "the shell's own start, %.2g ms, is %s", r->shell_ms, shares.data);
  hl_text_release(&shares);
}

static void add_notes(const runner *r, size_t side, hl_comparison *to) {
  to->processes = (int64_t)r->pairing.rounds;
  hl__comparison_note_pairs(to,
                            hl__pairing_enough_s(&r->pairing, r->spent_ns, r->options->max_time_s));
  note_shell(r, side, to);
  if (r->orphans[0] || r->orphans[side])
    hl_comparison_note(to, "processes that a command left behind were killed");
}

static hl_status judge(runner *r, hl_comparisons *comparisons, hl_error *error) {
  const hl_compare_commands *o = r->options;
  hl__candidate candidates[HL_COMPARE_SIDES];
  hl_status status = HL_OK;
  for (size_t i = 1; i < o->count; i++) hl__candidate_init(&candidates[i - 1]);
  for (size_t i = 1; i < o->count && status == HL_OK; i++)
    status = hl__candidate_add_each(&candidates[i - 1], &r->pairing, i, 0, error);
  if (status == HL_OK)
    status = hl__candidates_judge(candidates, o->count - 1, o->alpha, o->margin, error);
  for (size_t i = 1; i < o->count && status == HL_OK; i++) {
    add_notes(r, i, &candidates[i - 1].comparison);
    status = hl_comparisons_take(comparisons, &candidates[i - 1].comparison, error);
  }
  for (size_t i = 1; i < o->count; i++) hl__candidate_release(&candidates[i - 1]);
  return status;
}

static hl_status init_sides(runner *r, hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < r->options->count && status == HL_OK; i++) {
    const hl_command_side *side = &r->options->sides[i];
    status = hl_command_init(&r->commands[i], side->command, error);
    if (status == HL_OK && side->prepare)
      status = hl_command_init(&r->prepares[i], side->prepare, error);
    hl_record_set_text(&r->sides[i].command, side->command);
    hl_record_set_text(&r->sides[i].prepare, side->prepare);
  }
  return status;
}

hl_status hl_compare_commands_run(const hl_compare_commands *options, const hl_run_view *view,
                                  hl_side *sides, hl_comparisons *comparisons, char **ret_said,
                                  hl_error *error) {
  if (options->count < 2 || options->count > HL_COMPARE_SIDES)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "2 to %d commands are compared",
                        HL_COMPARE_SIDES);
  runner r = {.options = options,
              .view = view,
              .sides = sides,
              .shell_ms = (double)NAN,
              .ret_said = ret_said};
  *ret_said = NULL;
  hl_counter_source_init(&r.counters, NULL);
  hl_status status = init_sides(&r, error);
  for (size_t i = 0; i < options->count && status == HL_OK; i++) status = warm_up(&r, i, error);
  if (status == HL_OK) status = take_turns(&r, error);
  for (size_t i = 0; i < options->count; i++) sides[i].by_shell = r.commands[i].by_shell;
  if (status == HL_OK) status = measure_shell(&r, error);
  if (status == HL_OK) status = judge(&r, comparisons, error);
  hl_pairing_release(&r.pairing);
  hl_counter_source_release(&r.counters);
  for (size_t i = 0; i < options->count; i++) {
    hl_command_release(&r.commands[i]);
    hl_command_release(&r.prepares[i]);
  }
  return status;
}
