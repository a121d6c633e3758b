#include "cli/history.h"

#include "cli/interrupt.h"

#include "machine/topology.h"
#include "report/history.h"
#include "run/git.h"
#include "run/repository.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_POINTS = 20 };

/* Everything of one history, released in one place. */
typedef struct series {
  const hl_options *options;
  const hl_metric *metric;
  hl_custom custom;     /* of a metric of the user's own */
  hl_metric own_metric; /* made of it */
  hl_store_filter filter;
  hl_store_runs runs;
  hl_history_rows rows;
  hl_change_checks checks;
  hl_history_commit *commits;
  size_t commit_count;
  int64_t since_behind;
  bool since;
  hl_history history;
  hl_machine machine;
  unsigned formats; /* of files */
  char *arguments;  /* of a confirming command */
  hl_store *store;  /* with --confirm */
  size_t failed;    /* reruns that could not be made */
  bool damaged;     /* the store; some of its rows are missing */
} series;

/* ---- what is asked for ---- */

static bool can_be_followed(const hl_metric *metric) {
  return metric->better != HL_BETTER_NEITHER &&
         (metric->kind == HL_METRIC_REAL || metric->kind == HL_METRIC_INT);
}

static hl_status unknown_metric(const char *key, hl_error *error) {
  const hl_metric *nearest = NULL;
  size_t best = 8; /* farther than this is no help */
  for (size_t i = 0; i < hl_metric_count; i++) {
    size_t distance = hl_edit_distance(key, strlen(key), hl_metrics[i].key);
    if (!can_be_followed(&hl_metrics[i]) || distance >= best) continue;
    best = distance;
    nearest = &hl_metrics[i];
  }
  if (nearest)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "unknown metric '%.100s'; did you mean %s?",
                        key, nearest->key);
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "unknown metric '%.100s'; take a key of docs/metrics.md, such as "
                      "throughput_ips, latency_p50_ms or memory_mb",
                      key);
}

static hl_status check_metric(const series *s, hl_error *error) {
  const char *key = hl_options_get(s->options, HL_OPTION_METRIC);
  if (can_be_followed(s->metric)) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "'%s' is neither better when higher nor when lower, so no change of it is "
                      "good or bad; take another, such as throughput_ips",
                      key);
}

/* A metric of hotlap; one of the user's own is looked for in the store. */
static hl_status find_metric(series *s, hl_error *error) {
  s->metric = hl_metric_find(hl_options_get(s->options, HL_OPTION_METRIC));
  return s->metric ? check_metric(s, error) : HL_OK;
}

static hl_status find_custom(series *s, hl_store *store, hl_error *error) {
  const char *key = hl_options_get(s->options, HL_OPTION_METRIC);
  bool found = false;
  hl_status status = hl_store_custom_find(store, key, &found, &s->custom, error);
  if (status != HL_OK) return status;
  if (!found) return unknown_metric(key, error);
  s->own_metric = hl_custom_as_metric(&s->custom);
  s->metric = &s->own_metric;
  return check_metric(s, error);
}

/* ---- where commits stand ---- */

static hl_status place_commits(series *s, hl_error *error) {
  hl_status status = hl_history_commits(&s->rows, &s->commits, &s->commit_count, error);
  if (status != HL_OK) return status;
  const char **ids = calloc(s->commit_count + 1, sizeof *ids);
  int64_t *behind = calloc(s->commit_count + 1, sizeof *behind);
  for (size_t i = 0; ids && i < s->commit_count; i++) ids[i] = s->commits[i].id;
  if (!ids || !behind)
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for commits");
  else if (s->commit_count)
    hl_git_behind(ids, s->commit_count, behind, NULL); /* without a repository none is known */
  for (size_t i = 0; status == HL_OK && i < s->commit_count; i++) s->commits[i].behind = behind[i];
  free(ids);
  free(behind);
  return status;
}

static hl_status find_since(series *s, hl_error *error) {
  const char *name = hl_options_get(s->options, HL_OPTION_SINCE);
  if (!name) return HL_OK;
  HL_CLEANUP(hl_free_pointer) char *commit = NULL;
  hl_error inner = {0};
  hl_repository repository = {0};
  hl_status status = hl_repository_find(-1, &repository, &inner);
  if (status == HL_OK) status = hl_repository_commit(name, -1, &commit, &inner);
  hl_repository_release(&repository);
  if (status != HL_OK) return hl_error_set(error, status, "--since: %s", inner.msg);
  const char *const ids[] = {commit};
  hl_git_behind(ids, 1, &s->since_behind, NULL);
  if (s->since_behind < 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--since: commit '%.100s' is not in the history of HEAD", name);
  s->since = true;
  return HL_OK;
}

/* ---- loading ---- */

static hl_status load(series *s, hl_error *error) {
  hl_store *store = NULL;
  bool confirm = hl_options_on(s->options, HL_OPTION_CONFIRM);
  hl_status status =
      hl__history_open(s->options, confirm ? HL_STORE_WRITE : HL_STORE_READ, &store, error);
  if (!store && status == HL_OK && !s->metric)
    return unknown_metric(hl_options_get(s->options, HL_OPTION_METRIC), error);
  if (!store) return status;
  if (!s->metric) status = find_custom(s, store, error);
  if (status != HL_OK) {
    hl_store_free(store);
    return status;
  }
  status = hl_store_history_load(store, s->metric, &s->filter, &s->rows, error);
  if (status == HL_OK)
    status = hl_store_change_checks_load(store, s->metric->key, &s->checks, error);
  if (status == HL_OK && hl_options_on(s->options, HL_OPTION_JSON))
    status = hl_store_runs_list(store, &s->filter, &s->runs, error);
  if (status == HL_BAD_DATA && s->rows.count && !confirm) {
    s->damaged = true;
    hl_cli_damage(error, s->rows.count, 0, "row");
    hl_cli_fail(error, HL_EXIT_USAGE);
    status = HL_OK;
  }
  if (confirm && status == HL_OK)
    s->store = store; /* for the verdicts */
  else
    hl_store_free(store);
  return status;
}

static hl_status make(series *s, hl_error *error) {
  const hl_history_input input = {.rows = &s->rows,
                                  .metric = s->metric,
                                  .commits = s->commits,
                                  .commit_count = s->commit_count,
                                  .checks = &s->checks,
                                  .since = s->since,
                                  .since_behind = s->since_behind,
                                  .by_command = hl_options_given(s->options, HL_OPTION_COMMAND)};
  hl_history_release(&s->history);
  return hl_history_make(&input, &s->history, error);
}

/* ---- showing ---- */

static void print_json(const series *s, const hl_report_history *report) {
  hl_text text = HL_TEXT_INIT;
  hl_json json;
  hl_json_init(&json, &text, HL_JSON_PRETTY);
  hl_json_object(&json, NULL);
  hl__history_write_runs(&s->runs, &json);
  hl_report_history_json(report, &json);
  hl_json_end(&json);
  printf("%s\n", text.data);
  hl_text_release(&text);
}

static hl_report_history report_of(const series *s) {
  return (hl_report_history){.history = &s->history,
                             .machine_id = s->machine.id,
                             .arguments = s->arguments,
                             .by_command = hl_options_given(s->options, HL_OPTION_COMMAND),
                             .limit = s->filter.limit};
}

/* ---- confirming ---- */

/* Reruns, then the history with what they said. */
static hl_status confirm(series *s, hl_error *error) {
  if (!hl_options_on(s->options, HL_OPTION_CONFIRM) || !s->store) return HL_OK;
  const hl_report_history report = report_of(s);
  hl_status status = hl__history_confirm(s->options, &report, s->store, &s->failed, error);
  if (status != HL_OK) return status;
  hl_change_checks_release(&s->checks);
  status = hl_store_change_checks_load(s->store, s->metric->key, &s->checks, error);
  return status == HL_OK ? make(s, error) : status;
}

/* Whether a series ends at a level that a confirmed regression led to. */
static bool has_regressed(const hl_history_series *s) {
  for (size_t i = s->change_count; i > 0; i--) {
    const hl_history_change *change = &s->changes[i - 1];
    if (change->worse && change->state == HL_CHANGE_CONFIRMED) return true;
    if (!change->worse && change->state != HL_CHANGE_REFUTED) return false;
  }
  return false;
}

static bool gate_holds(const series *s) {
  bool asked = hl_options_given(s->options, HL_OPTION_FAIL_IF), held = false;
  for (size_t i = 0; i < s->history.count; i++) held = held || has_regressed(&s->history.items[i]);
  return asked && held;
}

static hl_status check_options(const series *s, hl_error *error) {
  const char *fail_if = hl_options_get(s->options, HL_OPTION_FAIL_IF);
  if (fail_if && strcmp(fail_if, "slower") != 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--fail-if: of a history only 'slower' can be asked, not '%.100s'",
                        fail_if);
  return HL_OK;
}

static void show(const series *s) {
  hl_report_history report = report_of(s);
  if (hl_options_on(s->options, HL_OPTION_JSON)) {
    print_json(s, &report);
    return;
  }
  if (hl_options_on(s->options, HL_OPTION_QUIET)) return;
  if (!report.limit) report.limit = TABLE_POINTS;
  hl_text text = HL_TEXT_INIT;
  if (s->rows.count)
    hl_report_history_text(&report, &text);
  else
    hl_text_append(&text, "No such rows. `hotlap sweep MODEL` makes some.\n");
  hl_cli_show(&text, stdout);
  hl_text_release(&text);
}

/* Writes the files and says where they are; a plot that cannot be drawn is a warning. */
static int write_files(const series *s) {
  if (!s->formats) return HL_EXIT_OK;
  const hl_report_history report = report_of(s);
  hl_text written = HL_TEXT_INIT;
  hl_error error = {0};
  hl_status status = hl_report_history_write(
      &report, hl_options_get(s->options, HL_OPTION_OUTPUT_DIR), s->formats, &written, &error);
  bool silent =
      hl_options_on(s->options, HL_OPTION_QUIET) || hl_options_on(s->options, HL_OPTION_JSON);
  if (written.length && !silent) printf("\nWritten:\n%s", written.data);
  hl_text_release(&written);
  if (status == HL_OK) return HL_EXIT_OK;
  return hl_cli_fail(&error, status == HL_UNAVAILABLE ? HL_EXIT_OK : HL_EXIT_USAGE);
}

/* Which files; none where the command line asks for none. */
static hl_status find_formats(series *s, hl_error *error) {
  const char *list = hl_options_get(s->options, HL_OPTION_EXPORT_FORMAT);
  hl_status status = list ? hl_report_formats(list, &s->formats, error) : HL_OK;
  if (status == HL_OK &&
      (s->formats & (HL_REPORT_CSV | HL_REPORT_GOOGLE_BENCHMARK | HL_REPORT_OPENMETRICS)))
    status =
        hl_error_set(error, HL_INVALID_ARGUMENT,
                     "--export-format: a history is written as json or md, not as '%.60s'", list);
  if (hl_options_on(s->options, HL_OPTION_PLOT_RESULTS)) s->formats |= HL_REPORT_PLOT;
  if (!s->formats && hl_options_given(s->options, HL_OPTION_OUTPUT_DIR))
    s->formats = HL_REPORT_JSON | HL_REPORT_MARKDOWN | HL_REPORT_PLOT;
  return status;
}

/* Rows there are, but none has the metric. */
static hl_status check_data(const series *s, hl_error *error) {
  if (!s->rows.count || s->history.count) return HL_OK;
  bool imported = false;
  for (size_t i = 0; i < s->rows.count; i++)
    imported |= hl_workload_is_imported(s->rows.items[i].workload);
  return hl_error_set(error, HL_UNAVAILABLE, "none of the %zu rows of '%.100s' has %s (%s)%s",
                      s->rows.count, s->filter.model, s->metric->key, s->metric->doc,
                      imported ? "; what other tools measured mostly has --metric latency_p50_ms"
                               : "");
}

static hl_status run(series *s, hl_error *error) {
  hl_status status = find_metric(s, error);
  if (status == HL_OK) status = check_options(s, error);
  if (status == HL_OK) status = find_formats(s, error);
  if (status == HL_OK) status = hl__history_filter(s->options, &s->filter, error);
  if (status == HL_OK) status = find_since(s, error);
  if (status == HL_OK) status = load(s, error);
  if (status == HL_OK) status = place_commits(s, error);
  if (status == HL_OK) status = make(s, error);
  if (status == HL_OK) status = check_data(s, error);
  if (status == HL_OK) status = hl_machine_read(&s->machine, error);
  if (status == HL_OK) status = confirm(s, error);
  return status;
}

static int exit_status_of(hl_status status) {
  return status == HL_INTERRUPTED   ? HL_EXIT_INTERRUPTED
         : status == HL_UNAVAILABLE ? HL_EXIT_NOTHING
                                    : HL_EXIT_USAGE;
}

int hl_cli_history_series(const hl_options *options) {
  series s = {.options = options};
  hl_error error = {0};
  int exit_status = HL_EXIT_OK;
  if (hl_options_on(options, HL_OPTION_CONFIRM)) hl_interrupt_catch();
  hl_history_rows_init(&s.rows);
  hl_custom_init(&s.custom);
  s.arguments = hl__history_compare_arguments(options);
  hl_change_checks_init(&s.checks);
  hl_status status = run(&s, &error);
  if (status == HL_OK) {
    show(&s);
    /* A file would not say that rows are missing. */
    exit_status = s.damaged ? HL_EXIT_USAGE : write_files(&s);
    if (exit_status == HL_EXIT_OK && s.failed) exit_status = HL_EXIT_NOTHING;
    if (exit_status != HL_EXIT_USAGE && gate_holds(&s)) exit_status = HL_EXIT_GATE;
  } else {
    exit_status = hl_cli_fail(&error, exit_status_of(status));
  }
  hl_history_release(&s.history);
  hl_history_rows_release(&s.rows);
  hl_custom_release(&s.custom);
  hl_change_checks_release(&s.checks);
  hl_store_runs_release(&s.runs);
  hl_machine_release(&s.machine);
  hl_store_free(s.store);
  free(s.arguments);
  free(s.commits);
  return exit_status;
}
