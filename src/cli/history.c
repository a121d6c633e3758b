#include "cli/history.h"

#include "base/json-writer.h"
#include "report/number.h"
#include "store/store.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
    "Usage: hotlap history [--model TEXT] [--machine TEXT] [--limit N] [--json]\n"
    "       hotlap history MODEL [--metric KEY] [--since COMMIT] [--confirm] [OPTION]...\n"
    "       hotlap history --import FILE... [--import-format NAME] [--machine TEXT] [--json]\n"
    "\n"
    "Lists the runs that the store holds, the newest first; --model and --machine keep those that\n"
    "have the text in a model's name, or as machine id or in the CPU's name. `hotlap report RUN`\n"
    "shows one again.\n"
    "\n"
    "With MODEL, text in a model's name, it shows a metric over commits: a series for each\n"
    "configuration on each machine, in git's order, and where its level changed. --confirm\n"
    "measures changes to the worse again, commit against commit (`hotlap compare`).\n";

void hl__history_write_runs(const hl_store_runs *runs, hl_json *json) {
  hl_json_array(json, "runs");
  for (size_t i = 0; i < runs->count; i++) hl_store_run_json(&runs->items[i], json);
  hl_json_end(json);
}

static void print_json(const hl_store_runs *runs) {
  hl_text text = HL_TEXT_INIT;
  hl_json json;
  hl_json_init(&json, &text, HL_JSON_PRETTY);
  hl_json_object(&json, NULL);
  hl__history_write_runs(runs, &json);
  hl_json_end(&json);
  printf("%s\n", text.data);
  hl_text_release(&text);
}

/* "resnet50, vit_b_16", on one line. */
static void put_models(hl_text *out, const char *models) {
  for (const char *c = models ? models : "-"; *c; c++) {
    if (*c == '\n')
      hl_text_append(out, "; ");
    else
      hl_text_char(out, *c);
  }
}

static void put_line(hl_text *out, const hl_store_run *run) {
  char number[HL_NUMBER_BYTES], rows[48], best[96] = "-";
  snprintf(rows, sizeof rows, "%lld/%lld", (long long)run->passed_count, (long long)run->row_count);
  if (isfinite(run->best_throughput_ips))
    snprintf(best, sizeof best, "%s at batch %lld",
             hl_report_number(run->best_throughput_ips, "-", number),
             (long long)run->best_batch_size);
  hl_report_pad(out, run->id ? run->id : "-", 23);
  hl_report_pad(out, run->state ? run->state : "-", 13);
  hl_report_pad(out, rows, 9);
  hl_report_pad(out, best, 24);
  hl_report_pad(out, run->machine_id ? run->machine_id : "-", 18);
  put_models(out, run->models);
  hl_text_char(out, '\n');
}

static void print_table(const hl_store_runs *runs) {
  static const struct {
    const char *title;
    int width;
  } columns[] = {{"Run", 23},      {"State", 13},   {"Passed", 9},
                 {"Images/s", 24}, {"Machine", 18}, {"Models", 0}};
  hl_text text = HL_TEXT_INIT;
  for (size_t i = 0; i < HL_COUNT(columns); i++)
    hl_report_pad(&text, columns[i].title, columns[i].width);
  hl_text_char(&text, '\n');
  for (size_t i = 0; i < runs->count; i++) put_line(&text, &runs->items[i]);
  hl_cli_show(&text, stdout);
  hl_text_release(&text);
}

hl_status hl__history_open(const hl_options *options, hl_store_mode mode, hl_store **ret_store,
                           hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *path = NULL;
  *ret_store = NULL;
  hl_status status = hl_cli_store_path(options, &path, error);
  if (status != HL_OK || !path) return status;
  status = hl_store_open(path, mode, ret_store, error);
  bool none = status == HL_NOT_FOUND && !hl_options_given(options, HL_OPTION_STORE);
  return none ? HL_OK : status;
}

hl_status hl__history_filter(const hl_options *options, hl_store_filter *ret_filter,
                             hl_error *error) {
  *ret_filter = (hl_store_filter){.machine = hl_options_get(options, HL_OPTION_MACHINE),
                                  .model = hl_options_get(options, HL_OPTION_MODEL)};
  if (options->positional_count) ret_filter->model = options->positionals[0];
  if (options->positional_count > 1)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "one MODEL at most, not also '%s'",
                        options->positionals[1]);
  return hl_options_int(options, HL_OPTION_LIMIT, 1, INT32_MAX, 0, &ret_filter->limit, error);
}

static hl_status list_runs(const hl_options *options, hl_store_runs *ret_runs, hl_error *error) {
  hl_store_filter filter;
  hl_store *store = NULL;
  hl_status status = hl__history_filter(options, &filter, error);
  if (status == HL_OK) status = hl__history_open(options, HL_STORE_READ, &store, error);
  if (store) status = hl_store_runs_list(store, &filter, ret_runs, error);
  if (store && status == HL_BAD_DATA) { /* `error` stays: what is shown is not all */
    size_t lost = 0;
    if (hl_store_runs_salvage(store, &filter, ret_runs, &lost, NULL) == HL_OK)
      hl_cli_damage(error, ret_runs->count, lost, "run");
  }
  hl_store_free(store);
  return status;
}

/* Options of the series mean nothing for the list and for files. */
static hl_status check_no_series(const hl_options *options, hl_error *error) {
  static const hl_option_id of_series[] = {
      HL_OPTION_METRIC,       HL_OPTION_SINCE,         HL_OPTION_CONFIRM,    HL_OPTION_FAIL_IF,
      HL_OPTION_PLOT_RESULTS, HL_OPTION_EXPORT_FORMAT, HL_OPTION_OUTPUT_DIR, HL_OPTION_BUILD,
      HL_OPTION_COMMAND,      HL_OPTION_PREPARE,       HL_OPTION_PROCESSES,  HL_OPTION_PAIRS,
      HL_OPTION_MARGIN,       HL_OPTION_ALPHA,         HL_OPTION_MAX_TIME,   HL_OPTION_NO_CHECK,
      HL_OPTION_FORCE,        HL_OPTION_BUILD_TIMEOUT};

  for (size_t i = 0; i < HL_COUNT(of_series); i++)
    if (hl_options_given(options, of_series[i]))
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--%s is for the history of a model: hotlap history MODEL --%s ...",
                          hl_option_name(of_series[i]), hl_option_name(of_series[i]));
  return HL_OK;
}

static int show_list(const hl_options *options) {
  hl_error error = {0};
  hl_store_runs runs = {0};
  int exit_status = HL_EXIT_OK;
  hl_status status = list_runs(options, &runs, &error);
  if (status != HL_OK) exit_status = hl_cli_fail(&error, HL_EXIT_USAGE);
  if (hl_options_on(options, HL_OPTION_JSON) && (status == HL_OK || runs.count))
    print_json(&runs);
  else if (runs.count)
    print_table(&runs);
  else if (status == HL_OK && !hl_options_on(options, HL_OPTION_QUIET))
    puts("No such runs. `hotlap sweep MODEL` makes one.");
  hl_store_runs_release(&runs);
  return exit_status;
}

static hl_status check_options(const hl_options *options, hl_error *error) {
  bool imports = hl_options_given(options, HL_OPTION_IMPORT);
  if (!imports && hl_options_given(options, HL_OPTION_IMPORT_FORMAT))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--import-format is for --import FILE, which is not given");
  return imports || !options->positional_count ? check_no_series(options, error) : HL_OK;
}

int hl_cli_history(int argc, char **argv) {
  hl_options options;
  hl_error error = {0};
  int exit_status = hl_cli_options('H', usage, argc, argv, &options);
  if (exit_status >= 0) return exit_status;
  if (check_options(&options, &error) != HL_OK)
    exit_status = hl_cli_fail(&error, HL_EXIT_USAGE);
  else if (hl_options_given(&options, HL_OPTION_IMPORT))
    exit_status = hl_cli_import(&options);
  else
    exit_status = options.positional_count ? hl_cli_history_series(&options) : show_list(&options);
  hl_options_release(&options);
  return exit_status;
}
