#include "cli/sweep.h"

#include "base/clock.h"
#include "base/json-writer.h"
#include "cli/cli.h"
#include "cli/hosts.h"
#include "cli/interrupt.h"
#include "cli/pipeline-files.h"
#include "cli/run-estimate.h"
#include "cli/run-plan.h"
#include "cli/run-plots.h"
#include "cli/sweep-view.h"
#include "report/grid.h"
#include "report/phase5.h"
#include "report/report.h"
#include "report/suite.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "Usage: hotlap sweep MODEL... [OPTION]...\n"
    "\n"
    "Measures a network over batch sizes and says which size to use. MODEL is a built-in network\n"
    "with parameters (ptychopinn:N=128,gridsize=1; see 'hotlap models') or an .onnx file. Each\n"
    "row runs in a process of its own: warmed up until steady, measured until the interval of the\n"
    "median is within 1 %. Rows are kept in the store as they are measured.\n";

/* What a row may take; NaN: training without --max-time, which has no limit. */
static double row_limit_s(const hl_plan *plan, size_t i) {
  const hl_train_spec *train = plan->items[i].memory ? NULL : plan->items[i].train;
  if (train) return train->max_time_s > 0 ? train->max_time_s : (double)NAN;
  return hl_plan_method(plan, &plan->items[i])->max_time_s;
}

/* What all rows may take together. */
static double longest_s(const hl_plan *plan) {
  double seconds = 0;
  for (size_t i = 0; i < plan->count; i++) seconds += row_limit_s(plan, i);
  return seconds;
}

static bool searches(const hl_plan *plan) {
  for (size_t i = 0; i < plan->count; i++)
    if (hl_plan_method(plan, &plan->items[i])->adaptive) return true;
  return false;
}

static char *row_text(const hl_plan *plan, size_t index) {
  const hl_configuration *c = &plan->items[index];
  return hl_configuration_reproduce(c, hl_plan_method(plan, c));
}

static int dry_run_json(const hl_sweep *sweep) {
  const hl_plan *plan = &sweep->plan;
  hl_cli_estimate estimate;
  hl_cli_estimate_make(sweep, &estimate);
  hl_text text = HL_TEXT_INIT;
  hl_json json;
  hl_json_init(&json, &text, HL_JSON_PRETTY);
  hl_json_object(&json, NULL);
  hl_json_array(&json, "rows");
  for (size_t i = 0; i < plan->count; i++) {
    HL_CLEANUP(hl_free_pointer) char *row = row_text(plan, i);
    hl_json_text(&json, NULL, row);
  }
  hl_json_end(&json);
  hl_json_real(&json, "max_time_s", longest_s(plan));
  hl_json_real(&json, "estimated_time_s", estimate.known ? estimate.seconds : (double)NAN);
  hl_json_int(&json, "estimated_rows", (int64_t)estimate.known);
  hl_json_int(&json, "absent_rows", (int64_t)estimate.absent);
  if (plan->shuffled)
    hl_json_int(&json, "shuffle_seed", (int64_t)plan->shuffle_seed);
  else
    hl_json_null(&json, "shuffle_seed");
  hl_json_end(&json);
  printf("%s\n", text.data);
  hl_text_release(&text);
  return HL_EXIT_OK;
}

/* What rows that were measured before, and a look at the hardware, tell of the time. */
static void show_estimate(const hl_sweep *sweep) {
  hl_cli_estimate e;
  hl_cli_estimate_make(sweep, &e);
  size_t rest = sweep->plan.count - e.absent - e.known;
  if (e.absent)
    printf("%zu row%s a GPU that is not here: SKIPPED, with the reason\n", e.absent,
           e.absent == 1 ? " needs" : "s need");
  HL_CLEANUP(hl_free_pointer)
  char *of = rest ? hl_format(" for %zu rows", e.known) : hl_strdup("");
  if (e.known && of)
    printf("About %.0f s%s with loading and first calls, by the fit of rows in the store",
           ceil(e.seconds), of);
  if (e.known && rest) printf("; of the other %zu nothing was measured before", rest);
  if (e.known) putchar('\n');
}

int hl_sweep_dry_run(const hl_sweep *sweep) {
  const hl_plan *plan = &sweep->plan;
  if (hl_options_on(&sweep->options, HL_OPTION_JSON)) return dry_run_json(sweep);
  const char *entry = NULL;
  for (size_t i = 0; i < plan->count; i++) {
    const hl_configuration *c = &plan->items[i];
    if (c->entry && (!entry || strcmp(entry, c->entry) != 0)) printf("# %s\n", c->entry);
    entry = c->entry;
    HL_CLEANUP(hl_free_pointer) char *row = row_text(plan, i);
    printf("%s\n", row ? row : "");
  }
  HL_CLEANUP(hl_free_pointer) char *order = hl_cli_order_text(plan);
  if (order) printf("%s\n", order);
  bool same = true;
  double limit = row_limit_s(plan, 0), longest = longest_s(plan);
  for (size_t i = 0; i < plan->count; i++) same = same && row_limit_s(plan, i) == limit;
  printf("%zu row%s, ", plan->count, plan->count == 1 ? "" : "s");
  if (isnan(longest)) {
    puts("without a limit: training ends by itself, or with --max-time");
    show_estimate(sweep);
    return HL_EXIT_OK;
  }
  printf("at most about %.0f s (", longest);
  if (same) printf("%g s a row, ", limit);
  printf("loading and checking not counted)%s\n",
         searches(plan) ? ", then the search for the largest batch" : "");
  show_estimate(sweep);
  return HL_EXIT_OK;
}

/* Of an entry of a plan that says so. */
static bool is_optional(const hl_sweep *s, const hl_record *r) {
  for (size_t i = 0; s->file && r->entry && i < s->file->step_count; i++)
    if (strcmp(s->file->steps[i].entry, r->entry) == 0) return s->file->steps[i].optional;
  return false;
}

static int exit_status_of(const hl_sweep *s) {
  size_t passed = 0, failed = 0, unmet = 0;
  for (size_t i = 0; i < s->records.count; i++) {
    const hl_record *r = &s->records.items[i];
    hl_outcome outcome;
    if (!hl_outcome_from_name(r->outcome, &outcome)) continue;
    passed += outcome == HL_PASSED;
    unmet += r->requirements && r->requirements_met != 1;
    failed += outcome != HL_PASSED && outcome != HL_SKIPPED && !is_optional(s, r);
  }
  if (passed == 0) return HL_EXIT_NOTHING;
  if (hl_options_given(&s->options, HL_OPTION_FAIL_IF) && unmet) return HL_EXIT_GATE;
  return failed && !hl_options_on(&s->options, HL_OPTION_SKIP_FAILED) ? HL_EXIT_ROW_FAILED
                                                                      : HL_EXIT_OK;
}

/* What hotlap itself costs, as this run measured it. */
static void append_own_cost(const hl_run_info *info, hl_text *out) {
  bool known = isfinite(info->overhead_ns);
  if (known) hl_text_format(out, "hotlap itself: %.0f ns a step (null engine)", info->overhead_ns);
  if (known && isfinite(info->clock_read_ns))
    hl_text_format(out, "; clock %.0f ns a read, resolution %.0f ns", info->clock_read_ns,
                   info->clock_resolution_ns);
  if (known) hl_text_char(out, '\n');
  if (isfinite(info->first_step_ms))
    hl_text_format(out, "First step %.0f ms after the command\n", info->first_step_ms);
}

/* --quiet: errors only. */
static void tell_failures(const hl_records *records) {
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    hl_outcome outcome;
    if (hl_record_passed(r) || !hl_outcome_from_name(r->outcome, &outcome)) continue;
    if (outcome == HL_SKIPPED) continue;
    hl_text line = HL_TEXT_INIT;
    hl_text_format(&line, "hotlap: %s, %s, batch %lld: %s: ", r->model, r->engine,
                   (long long)r->batch_size, r->outcome);
    for (const char *c = r->reason ? r->reason : ""; *c; c++)
      hl_text_char(&line, *c == '\n' ? ' ' : *c);
    hl_text_char(&line, '\n');
    hl_cli_show(&line, stderr);
    hl_text_release(&line);
  }
}

/* The plan's pictures first: the report shows them. */
static hl_status write_files(const hl_sweep *s, hl_report_input *input, hl_report_picture *pictures,
                             hl_text *written, hl_error *error) {
  const char *directory = hl_options_get(&s->options, HL_OPTION_OUTPUT_DIR);
  hl_error drawing = {0};
  hl_status drawn = HL_OK;
  if (s->file)
    drawn = hl_cli_plots_draw(s->file, input, directory, written, pictures, &input->picture_count,
                              &drawing);
  unsigned formats = s->formats;
  bool named = hl_options_given(&s->options, HL_OPTION_EXPORT_FORMAT);
  if (!named && !hl_report_grid_fits(input->analysis)) formats &= ~(unsigned)HL_REPORT_ANALYSIS;
  hl_status status = hl_report_write(input, directory, formats, written, error);
  if (drawn == HL_OK || (status != HL_OK && status != HL_UNAVAILABLE)) return status;
  *error = drawing;
  return drawn;
}

/* The first file of these lines whose name ends so; free() it. NULL: none. */
static char *written_file(const char *lines, const char *ending) {
  for (const char *at = lines; *at;) {
    size_t length = strcspn(at, "\n"), tail = strlen(ending);
    if (length >= tail && strncmp(at + length - tail, ending, tail) == 0)
      return strndup(at, length);
    at += length + (at[length] == '\n');
  }
  return NULL;
}

/* What 594Project's runner says at its end, and where its analysis is. */
static void show_suite_end(const hl_sweep *s, const char *written) {
  HL_CLEANUP(hl_free_pointer) char *file = written_file(written, ".csv");
  hl_text text = HL_TEXT_INIT;
  hl_report_suite_end(&s->records, file, &text);
  if (s->store && s->records.count)
    hl_text_format(&text, "Analysis: hotlap report %s --output-dir DIR\n", s->info.id);
  fputs(text.data, stdout);
  hl_text_release(&text);
}

/* For people: what stands below the table of rows. */
static void append_results(const hl_sweep *s, hl_text *out) {
  hl_text_char(out, '\n');
  hl_report_summary(&s->records, out);
  if (hl_options_on(&s->options, HL_OPTION_PROFILE_MEMORY)) hl_report_memory(&s->records, out);
  hl_report_custom(&s->records, out);
  hl_report_requirements(&s->records, out);
  hl_report_details(&s->records, out);
  hl_report_advice(&s->analysis, hl_cli_colour(STDOUT_FILENO), out);
  hl_report_engines(&s->engines, hl_cli_colour(STDOUT_FILENO), out);
  hl_report_load(&s->records, out);
  hl_report_memory_map(&s->records, s->layers, out);
  hl_report_training(&s->records, out);
  hl_report_scaling(&s->records, out);
  append_own_cost(&s->info, out);
}

static hl_status show_results(hl_sweep *s, hl_sweep_view *view, hl_error *error) {
  hl_report_picture pictures[HL_PLAN_PLOTS];
  HL_CLEANUP(hl_free_pointer) char *order = hl_cli_order_text(&s->plan);
  hl_report_input input = {.info = &s->info,
                           .records = &s->records,
                           .analysis = &s->analysis,
                           .engines = &s->engines,
                           .comparisons = &s->comparisons,
                           .title = s->file ? s->file->name : NULL,
                           .description = s->file ? s->file->description : NULL,
                           .order = order,
                           .pictures = pictures,
                           .memory_layers = s->layers};
  bool quiet = hl_options_on(&s->options, HL_OPTION_QUIET);
  hl_status status = hl_analysis_make(&s->records, &s->info, &s->analysis, error);
  if (status == HL_OK)
    status = hl_engines_make(&s->analysis, &s->records, &s->comparisons, &s->engines, error);
  if (status != HL_OK) return status;
  hl_text text = HL_TEXT_INIT, written = HL_TEXT_INIT;
  bool as_suite = view->as_suite && view->show_table;
  if (hl_options_on(&s->options, HL_OPTION_JSON)) {
    hl_report_json(&input, &text);
  } else if (as_suite) {
    hl_suite_view_end(&view->suite, &s->records, &text);
  } else if (!quiet) {
    append_results(s, &text);
  }
  fputs(text.data, stdout);
  if (quiet) tell_failures(&s->records);
  if (s->formats || hl_options_given(&s->options, HL_OPTION_OUTPUT_DIR))
    status = hl_cli_write_image(&s->records, hl_options_get(&s->options, HL_OPTION_OUTPUT_DIR),
                                &written, error);
  if (s->formats && status == HL_OK) status = write_files(s, &input, pictures, &written, error);
  if (s->file && s->file->report && (status == HL_OK || status == HL_UNAVAILABLE)) {
    hl_status beside = hl_report_phase5(&input, hl_options_get(&s->options, HL_OPTION_OUTPUT_DIR),
                                        &written, error);
    if (beside != HL_OK) status = beside;
  }
  if (as_suite)
    show_suite_end(s, written.data);
  else if (!quiet && !hl_options_on(&s->options, HL_OPTION_JSON) && written.length)
    printf("\nWritten:\n%s", written.data);
  hl_text_release(&text);
  hl_text_release(&written);
  return status;
}

static void warn_of_threads(const hl_sweep *s) {
  int64_t most = 0;
  for (size_t i = 0; i < s->plan.count; i++)
    if (s->plan.items[i].threads > most) most = s->plan.items[i].threads;
  if (most > s->machine.cores)
    fprintf(stderr,
            "hotlap: warning: %lld threads are more than the %d core%s that may be used; they take "
            "turns\n",
            (long long)most, s->machine.cores, s->machine.cores == 1 ? "" : "s");
}

/* A signal after the last row stops a script that goes on with the results. */
static int ended(int exit_status) {
  if (!hl_interrupt_caught() || exit_status == HL_EXIT_INTERRUPTED) return exit_status;
  fputs("hotlap: interrupted after the last row\n", stderr);
  return HL_EXIT_INTERRUPTED;
}

/* What --resume would do after an interrupt; `kept`: the rows are in the store. */
static const char *goes_on(const hl_sweep *s, bool kept) {
  if (s->options.command != 'T') return kept ? ", --resume goes on with the rest" : "";
  for (size_t i = 0; i < s->records.count; i++)
    if (s->records.items[i].checkpoint) return ", --resume goes on from the checkpoint";
  return "";
}

static int run(hl_sweep *s, hl_sweep_view *view) {
  hl_error error = {0};
  const hl_run_view hooks = hl_sweep_view_hooks(view);
  const hl_run_environment environment = hl_sweep_environment(s);
  hl_status status = hl_run_execute(&s->plan, &environment, &hooks, s->store, &s->info, &s->records,
                                    &s->comparisons, &error);
  hl_sweep_view_end(view);
  int exit_status = exit_status_of(s);
  if (view->not_kept || s->no_store) exit_status = HL_EXIT_USAGE;
  if (status == HL_INTERRUPTED) {
    if (s->records.count == 0)
      fputs("hotlap: interrupted before the first row\n", stderr);
    else
      fprintf(stderr, "hotlap: interrupted; %zu row%s kept%s\n", s->records.count,
              s->records.count == 1 ? " is" : "s are", goes_on(s, s->store && !view->not_kept));
    exit_status = HL_EXIT_INTERRUPTED;
  } else if (status != HL_OK) {
    exit_status = hl_cli_fail(&error, s->records.count ? HL_EXIT_ROW_FAILED : HL_EXIT_USAGE);
  }
  bool json = hl_options_on(&s->options, HL_OPTION_JSON);
  if (s->records.count == 0 && !(json && status == HL_INTERRUPTED)) return exit_status;
  status = show_results(s, view, &error);
  if (status == HL_OK) return ended(exit_status);
  hl_cli_fail(&error, 0);
  if (status == HL_UNAVAILABLE) return ended(exit_status); /* only the plots are missing */
  if (s->store && !view->not_kept)
    fprintf(stderr, "hotlap: the rows are in the store; 'hotlap report %s' writes them again\n",
            s->info.id);
  return exit_status == HL_EXIT_OK ? HL_EXIT_USAGE : exit_status;
}

int hl_sweep_run(hl_sweep *sweep) {
  if (!hl_options_on(&sweep->options, HL_OPTION_QUIET)) warn_of_threads(sweep);
  HL_CLEANUP(hl_free_pointer) char *order = hl_cli_order_text(&sweep->plan);
  bool silent = hl_options_on(&sweep->options, HL_OPTION_QUIET) ||
                hl_options_on(&sweep->options, HL_OPTION_JSON);
  if (order && !silent) printf("%s\n", order);
  hl_sweep_view view;
  hl_sweep_view_init(&view, &sweep->plan, &sweep->options);
  int exit_status = run(sweep, &view);
  hl_sweep_view_release(&view);
  return exit_status;
}

int hl_sweep_unprepared(const hl_error *error) {
  return error->status == HL_INTERRUPTED ? HL_EXIT_INTERRUPTED : HL_EXIT_USAGE;
}

int hl_sweep_command(char command, const char *help, int argc, char **argv) {
  hl_sweep s = {.start_ns = hl_clock_ns()};
  hl_error error = {0};
  hl_arena arena;
  bool fans_out = false;
  int exit_status = hl_cli_options(command, help, argc, argv, &s.options);
  if (exit_status >= 0) return exit_status;
  hl_interrupt_catch(); /* preparing is part of it: one status, one message */
  hl_run_info_init(&s.info);
  hl_arena_init(&arena, 1 << 20);
  if (hl_cli_host_choose(&s.options, &arena, &fans_out, &error) != HL_OK)
    exit_status = hl_cli_fail(&error, HL_EXIT_USAGE);
  else if (fans_out)
    exit_status = hl_cli_hosts_run(&s.options, argc, argv);
  else if (hl_sweep_prepare(&s, argc, argv, &error) != HL_OK)
    exit_status = hl_cli_fail(&error, hl_sweep_unprepared(&error));
  else if (hl_options_on(&s.options, HL_OPTION_DRY_RUN))
    exit_status = hl_sweep_dry_run(&s);
  else
    exit_status = hl_sweep_run(&s);
  hl_sweep_release(&s);
  hl_arena_release(&arena);
  return exit_status;
}

int hl_cli_sweep(int argc, char **argv) {
  return hl_sweep_command('S', usage, argc, argv);
}
