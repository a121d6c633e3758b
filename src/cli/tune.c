#include "cli/tune.h"

#include "base/clock.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/elsewhere.h"
#include "cli/interrupt.h"
#include "report/report.h"
#include "search/settings-json.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Usage: hotlap tune MODEL [OPTION]...\n"
    "\n"
    "Finds the best setting of a network on this machine: batch, threads, and of those that are\n"
    "listed engine and precision. Settings are tried in turns against each other and fall out "
    "when\n"
    "they are surely worse; what wins is measured again. Each objective gives a preset of the\n"
    "settings file, which 'hotlap sweep --settings FILE', C and Python read back.\n";

/* A quarter of what measuring every setting of the ladder would take. */
static const double search_share = 0.25;

/* 1, 2, 4 ... and all cores; the most first, as the baseline has them. */
static void default_threads(hl_tune *t, int cores) {
  size_t length = (size_t)snprintf(t->threads, sizeof t->threads, "%d", cores);
  int power = 1;
  while (2 * power < cores) power *= 2;
  for (; power >= 1 && power < cores && length < sizeof t->threads; power /= 2)
    length += (size_t)snprintf(t->threads + length, sizeof t->threads - length, ",%d", power);
}

/* What is chosen from where nothing is asked for. */
static hl_status fill_defaults(hl_tune *t, hl_error *error) {
  hl_options *o = &t->sweep.options;
  int64_t most;
  hl_status status = hl_options_int(o, HL_OPTION_MAX_BATCH, 1, HL_BATCH_LIMIT, 128, &most, error);
  if (status != HL_OK) return status;
  t->search.refine = !hl_options_given(o, HL_OPTION_BATCH_SIZES);
  snprintf(t->sizes, sizeof t->sizes, "1-%" PRId64 "*2", most);
  if (t->search.refine) o->value[HL_OPTION_BATCH_SIZES] = t->sizes;
  if (hl_options_given(o, HL_OPTION_THREADS)) return HL_OK;
  status = hl_cli_machine_read(o, &t->sweep.machine, &t->sweep.unreachable, error);
  if (status != HL_OK) return status;
  default_threads(t, t->sweep.machine.cores);
  o->value[HL_OPTION_THREADS] = t->threads;
  return HL_OK;
}

static bool same_family(const hl_configuration *a, const hl_configuration *b) {
  return hl_text_same(a->engine, b->engine) && hl_text_same(a->dtype, b->dtype) &&
         hl_text_same(a->device, b->device) && a->threads == b->threads;
}

static int by_size(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* The rows of the plan as families, and the batches of one of them. */
static hl_status read_families(hl_tune *t, hl_error *error) {
  const hl_plan *plan = &t->sweep.plan;
  t->families = calloc(plan->count, sizeof *t->families);
  if (!t->families) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for settings");
  for (size_t i = 0; i < plan->count; i++) {
    const hl_configuration *c = &plan->items[i];
    bool seen = false;
    for (size_t k = 0; k < t->family_count && !seen; k++) seen = same_family(&t->families[k], c);
    if (!seen) t->families[t->family_count++] = *c;
    if (t->family_count != 1) continue;
    if (t->search.rungs == HL_TUNING_RUNGS)
      return hl_error_set(error, HL_LIMIT, "--batch-sizes: more than %d", HL_TUNING_RUNGS);
    t->ladder[t->search.rungs++] = c->batch_size;
  }
  qsort(t->ladder, t->search.rungs, sizeof *t->ladder, by_size);
  if (t->family_count * t->search.rungs > HL_TUNING_ARMS / 2)
    return hl_error_set(error, HL_LIMIT, "%zu settings are more than the %d that are searched",
                        t->family_count * t->search.rungs, HL_TUNING_ARMS / 2);
  return HL_OK;
}

static hl_status read_search(hl_tune *t, hl_error *error) {
  const hl_options *o = &t->sweep.options;
  hl_search_options *s = &t->search;
  int64_t processes = 5, pairs = 25;
  s->method = &t->sweep.plan.method;
  double budget = search_share * s->method->max_time_s * (double)(t->family_count * s->rungs);
  hl_status status = hl_tune_goals(o, t->goals, &s->goal_count, error);
  if (status == HL_OK)
    status = hl_options_real(o, HL_OPTION_SEARCH_TIME, 0.1, 1e6, budget, &s->budget_s, error);
  if (status == HL_OK)
    status = hl_options_real(o, HL_OPTION_MAX_LATENCY, 1e-6, 1e9, 0, &s->max_latency_ms, error);
  if (status == HL_OK)
    status = hl_options_real(o, HL_OPTION_VERIFY_SECONDS, 0, 86400, 60, &s->verify_s, error);
  if (status == HL_OK)
    status = hl_options_int(o, HL_OPTION_BASELINE_BATCH, 0, HL_BATCH_LIMIT, 32, &s->baseline_batch,
                            error);
  if (status == HL_OK)
    status = hl_options_int(o, HL_OPTION_PROCESSES, 1, 100, 5, &processes, error);
  if (status == HL_OK) status = hl_options_int(o, HL_OPTION_PAIRS, 1, 4000, 25, &pairs, error);
  if (status != HL_OK) return status;
  s->processes = (size_t)processes;
  s->pairs = (size_t)pairs;
  s->families = t->families;
  s->family_count = t->family_count;
  s->ladder = t->ladder;
  s->goals = t->goals;
  s->seed = (uint64_t)t->families[0].seed;
  s->boundary = hl_options_given(o, HL_OPTION_FIND_LIMIT) || s->method->memory_limit_mb > 0;
  if (t->families[0].pipeline) s->boundary = false; /* its memory is that of its batches */
  return HL_OK;
}

/* -- keeping ----------------------------------------------------------------------------------- */

/* Whether the setting is an earlier preset's, too: it is one row. */
static bool is_repeated(const hl_tune *t, size_t index) {
  HL_CLEANUP(hl_free_pointer)
  char *key = hl_configuration_key(&t->result.settings[index].configuration);
  bool repeated = false;
  for (size_t i = 0; key && i < index && !repeated; i++) {
    const hl_search_setting *s = &t->result.settings[i];
    HL_CLEANUP(hl_free_pointer)
    char *other = s->found ? hl_configuration_key(&s->configuration) : NULL;
    repeated = other && strcmp(key, other) == 0;
  }
  return repeated;
}

/* Moves the rows of the winners into the run's records, and into the store. */
static hl_status take_records(hl_tune *t, hl_error *error) {
  hl_sweep *s = &t->sweep;
  hl_status status = HL_OK;
  for (size_t i = 0; i < t->result.setting_count && status == HL_OK; i++) {
    hl_search_setting *setting = &t->result.settings[i];
    if (!setting->found || is_repeated(t, i)) continue;
    HL_CLEANUP(hl_free_pointer) char *key = hl_configuration_key(&setting->configuration);
    if (!key) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a row");
    if (s->store)
      status = hl_store_row_add(s->store, s->info.id, key, (int64_t)i, &setting->record, error);
    if (status == HL_OK) status = hl_records_take(&s->records, &setting->record, error);
  }
  return status;
}

static hl_status keep(hl_tune *t, hl_error *error) {
  hl_sweep *s = &t->sweep;
  char hash[17];
  hl_plan_hash(&s->plan, hash);
  hl_status status = s->store ? hl_store_run_begin(s->store, &s->info, hash, error) : HL_OK;
  if (status == HL_OK) status = take_records(t, error);
  if (status != HL_OK || !s->store) return status;
  return hl_store_run_end(s->store, &s->info, HL_RUN_FINISHED, error);
}

/* What --export-format asks for, of the winners' rows. */
static hl_status write_formats(hl_tune *t, hl_error *error) {
  hl_sweep *s = &t->sweep;
  const hl_report_input input = {.info = &s->info,
                                 .records = &s->records,
                                 .analysis = &s->analysis,
                                 .engines = &s->engines,
                                 .comparisons = &s->comparisons};
  if (!s->formats || !s->records.count) return HL_OK;
  HL_CLEANUP(hl_text_release) hl_text written = HL_TEXT_INIT;
  hl_status status = hl_analysis_make(&s->records, &s->info, &s->analysis, error);
  if (status == HL_OK)
    status = hl_engines_make(&s->analysis, &s->records, &s->comparisons, &s->engines, error);
  if (status == HL_OK)
    status = hl_report_write(&input, hl_options_get(&s->options, HL_OPTION_OUTPUT_DIR), s->formats,
                             &written, error);
  bool silent =
      hl_options_on(&s->options, HL_OPTION_QUIET) || hl_options_on(&s->options, HL_OPTION_JSON);
  if (!silent) fputs(written.data ? written.data : "", stdout);
  return status;
}

/* --output, or settings.json in --output-dir. */
static hl_status settings_path(const hl_options *o, char **ret_path, hl_error *error) {
  const char *path = hl_options_get(o, HL_OPTION_OUTPUT);
  const char *directory = hl_options_get(o, HL_OPTION_OUTPUT_DIR);
  hl_status status = path ? HL_OK : hl_directory_make(directory, error);
  *ret_path = path ? hl_strdup(path) : hl_format("%s/settings.json", directory);
  return *ret_path ? status : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a path");
}

/* Minutes of searching are not to end at a file that cannot be written. */
static hl_status check_output(const hl_tune *t, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *path = NULL;
  hl_new_file file;
  hl_error none = {0};
  hl_status status = settings_path(&t->sweep.options, &path, error);
  if (status == HL_OK) status = hl_file_begin(path, &file, error);
  if (status == HL_OK) hl_file_end(&file, HL_INTERRUPTED, &none); /* which leaves nothing */
  return status;
}

static hl_status write_settings(const hl_tune *t, char **ret_path, hl_error *error) {
  HL_CLEANUP(hl_text_release) hl_text text = HL_TEXT_INIT;
  hl_status status = settings_path(&t->sweep.options, ret_path, error);
  if (status != HL_OK) return status;
  hl_search_write_json(&t->search, &t->result, &t->sweep.info, false, &text);
  return hl_file_write(*ret_path, text.data, text.length, error);
}

static void show(const hl_tune *t, const char *path) {
  HL_CLEANUP(hl_text_release) hl_text text = HL_TEXT_INIT;
  if (hl_options_on(&t->sweep.options, HL_OPTION_JSON)) {
    hl_search_write_json(&t->search, &t->result, &t->sweep.info, true, &text);
  } else if (!hl_options_on(&t->sweep.options, HL_OPTION_QUIET)) {
    hl_tune_show_result(t, &text);
    if (path) hl_text_format(&text, "\nWritten: %s\n", path);
    const char *preset = NULL;
    for (size_t i = t->result.setting_count; i-- > 0;)
      if (t->result.settings[i].found) preset = t->result.settings[i].goal->preset;
    if (path && preset)
      hl_text_format(&text, "Use:     hotlap sweep --settings %s:%s\n", path, preset);
  }
  fputs(text.data ? text.data : "", stdout);
}

static int finish(hl_tune *t, hl_status searched, const hl_error *why) {
  hl_error error = {0};
  HL_CLEANUP(hl_free_pointer) char *path = NULL;
  size_t found = 0;
  for (size_t i = 0; i < t->result.setting_count; i++) found += t->result.settings[i].found;
  int exit_status = searched == HL_INTERRUPTED ? HL_EXIT_INTERRUPTED
                    : found == 0               ? HL_EXIT_NOTHING
                    : searched != HL_OK        ? HL_EXIT_ROW_FAILED
                                               : HL_EXIT_OK;
  if (searched == HL_INTERRUPTED)
    fprintf(stderr, "hotlap: interrupted; %zu preset%s found\n", found, found == 1 ? "" : "s");
  else if (searched != HL_OK)
    hl_cli_fail(why, 0);
  if (found == 0)
    return searched == HL_OK || searched == HL_INTERRUPTED || searched == HL_UNAVAILABLE
               ? exit_status
               : HL_EXIT_USAGE;
  hl_status status = write_settings(t, &path, &error);
  show(t, status == HL_OK ? path : NULL);
  if (status == HL_OK) status = keep(t, &error);
  if (status == HL_OK) status = write_formats(t, &error);
  if (status != HL_OK) hl_cli_fail(&error, 0);
  return status != HL_OK && exit_status == HL_EXIT_OK ? HL_EXIT_USAGE : exit_status;
}

static int run(hl_tune *t) {
  hl_error error = {0};
  hl_sweep *s = &t->sweep;
  bool quiet =
      hl_options_on(&s->options, HL_OPTION_QUIET) || hl_options_on(&s->options, HL_OPTION_JSON);
  const hl_search_view view = hl_tune_view(t, quiet);
  hl_run_environment environment = hl_sweep_environment(s);
  environment.without_limits = true; /* nothing of a search is set beside the machine's */
  hl_status status = hl_search_run(&t->search, &environment, &view, &s->info, &t->result, &error);
  int exit_status = finish(t, status, &error);
  hl_search_result_release(&t->result);
  return exit_status;
}

int hl_cli_tune(int argc, char **argv) {
  HL_CLEANUP(hl_free_pointer) hl_tune *t = calloc(1, sizeof *t);
  hl_error error = {0};
  if (!t) return HL_EXIT_USAGE;
  t->sweep.start_ns = hl_clock_ns();
  int exit_status = hl_cli_options('U', usage, argc, argv, &t->sweep.options);
  if (exit_status >= 0) return exit_status;
  hl_interrupt_catch();
  hl_run_info_init(&t->sweep.info);
  hl_status status = fill_defaults(t, &error);
  if (status == HL_OK) status = hl_sweep_prepare(&t->sweep, argc, argv, &error);
  if (status == HL_OK && t->sweep.model_count != 1)
    status = hl_error_set(&error, HL_INVALID_ARGUMENT, "tune takes one MODEL");
  if (status == HL_OK) status = read_families(t, &error);
  if (status == HL_OK) status = read_search(t, &error);
  if (status == HL_OK) status = check_output(t, &error);
  exit_status = status == HL_OK ? run(t) : hl_cli_fail(&error, HL_EXIT_USAGE);
  free(t->families);
  hl_sweep_release(&t->sweep);
  return exit_status;
}
