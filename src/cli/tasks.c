#include "report/tasks.h"
#include "base/clock.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/run-plan.h"
#include "engine/python.h"
#include "method/pairing.h"
#include "run/tasks.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "Usage: hotlap run FILE.csv [OPTION]...\n"
    "       hotlap tasks --config FILE.csv [OPTION]...\n"
    "\n"
    "Runs tasks of training or inference at branches of the repository of the current directory. "
    "A\n"
    "row of the table is a branch, an experiment and how it is run (docs/tasks.md). Each branch's\n"
    "commit is checked out beside the working tree, which stays as it is, built once, and run. An\n"
    "experiment is a plan of 'hotlap run', or what --entry makes of it: the branch's own "
    "program.\n";

typedef struct tasks {
  hl_options options;
  hl_task_file file;
  hl_tasks_options how;
  hl_tasks_found found;
  char *cache, *observer, *here, *program;
  uint64_t written_ns, writing_ns; /* when the results were last written, and how long that took */
  bool shows, progress;
} tasks;

/* -- results ---------------------------------------------------------------------------------- */

/* The folder of the file, where it is not there yet. */
static hl_status make_folder(const char *path, hl_error *error) {
  const char *slash = strrchr(path, '/');
  if (!slash || slash == path) return HL_OK;
  HL_CLEANUP(hl_free_pointer) char *folder = strndup(path, (size_t)(slash - path));
  if (!folder) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a path");
  return hl_directory_make(folder, error);
}

static hl_status write_results(const tasks *t, bool json, hl_error *error) {
  const char *path = hl_options_get(&t->options, HL_OPTION_OUTPUT);
  if (!path && !json) return HL_OK;
  hl_text text = HL_TEXT_INIT;
  text.cap_bytes = (size_t)4 << 30;
  hl_report_tasks_json(&t->found.tasks, &t->found.comparisons, &text);
  hl_status status = HL_OK;
  if (text.failed) status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the results");
  if (status == HL_OK && json) fputs(text.data, stdout);
  if (status == HL_OK && path) status = hl_file_write(path, text.data, text.length, error);
  hl_text_release(&text);
  return status;
}

/* What is there already outlives a run that is killed: every few seconds, and a twentieth of the
 * time at most. A failure is told at the end. */
static void keep_results(tasks *t) {
  uint64_t now = hl_clock_ns();
  if (now - t->written_ns < 5000000000u || (now - t->written_ns) / 20 < t->writing_ns) return;
  write_results(t, false, NULL);
  t->written_ns = hl_clock_ns();
  t->writing_ns = t->written_ns - now;
}

/* -- view ------------------------------------------------------------------------------------- */

static void begin(void *context, const hl_task *task, size_t index, size_t count, size_t pair) {
  const tasks *t = context;
  if (!t->progress) return;
  hl_text line = HL_TEXT_INIT;
  hl_text_format(&line, "[%zu/%zu] %s: %s", index + 1, count, task->branch, task->experiment);
  if (pair) hl_text_format(&line, ", pair %zu of %zu", pair, t->how.pairs);
  fputs("\r\033[K", stderr);
  hl_cli_show(&line, stderr);
  hl_text_release(&line);
}

static void end(void *context, const hl_task *task, size_t index) {
  tasks *t = context;
  if (t->progress) fputs("\r\033[K", stderr);
  keep_results(t);
  if (!t->shows) return;
  hl_text text = HL_TEXT_INIT;
  hl_report_task_row(task, index, t->file.count, &text);
  hl_cli_show(&text, stdout);
  fflush(stdout);
  hl_text_release(&text);
}

/* -- options ---------------------------------------------------------------------------------- */

static hl_status read_path(const hl_options *o, const char **ret_path, hl_error *error) {
  const char *config = hl_options_get(o, HL_OPTION_CONFIG);
  size_t count = o->positional_count + (config != NULL);
  if (count != 1)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        count ? "one table of tasks at a time: FILE.csv, or --config FILE.csv"
                              : "there is no table of tasks: give FILE.csv, or --config FILE.csv");
  *ret_path = config ? config : o->positionals[0];
  return HL_OK;
}

/* What only --compare has. */
static hl_status check_options(const hl_options *o, hl_error *error) {
  static const hl_option_id of_compare[] = {
      HL_OPTION_BASELINE, HL_OPTION_PAIRS,  HL_OPTION_MAX_TIME,  HL_OPTION_TOLERANCE,
      HL_OPTION_ALPHA,    HL_OPTION_MARGIN, HL_OPTION_ORDER_SEED};
  for (size_t i = 0; i < HL_COUNT(of_compare) && !hl_options_on(o, HL_OPTION_COMPARE); i++)
    if (hl_options_given(o, of_compare[i]))
      return hl_error_set(error, HL_INVALID_ARGUMENT, "--%s is for --compare",
                          hl_option_name(of_compare[i]));
  return HL_OK;
}

static hl_status read_compare(tasks *t, hl_error *error) {
  const hl_options *o = &t->options;
  hl_tasks_options *how = &t->how;
  int64_t pairs = 0;
  double margin = 0, tolerance = 0;
  how->compare = hl_options_on(o, HL_OPTION_COMPARE);
  how->baseline = hl_options_get(o, HL_OPTION_BASELINE);
  hl_status status = check_options(o, error);
  if (status == HL_OK)
    status = hl_options_int(o, HL_OPTION_PAIRS, 1, HL_ROUNDS_MOST, 20, &pairs, error);
  if (status == HL_OK)
    status = hl_options_real(o, HL_OPTION_MAX_TIME, 0.001, 8640000, 0, &how->max_time_s, error);
  if (status == HL_OK) status = hl_options_real(o, HL_OPTION_MARGIN, 0, 99, 1, &margin, error);
  if (status == HL_OK)
    status = hl_options_real(o, HL_OPTION_TOLERANCE, 0, 1e6, 1, &tolerance, error);
  if (status == HL_OK)
    status = hl_options_real(o, HL_OPTION_ALPHA, 1e-6, 0.5, 0.05, &how->alpha, error);
  if (status == HL_OK) status = hl_cli_order_seed(o, &how->seed, error);
  how->pairs = (size_t)pairs;
  how->margin = margin / 100;
  how->tolerance = tolerance / 100;
  return status;
}

static hl_status read_how(tasks *t, hl_error *error) {
  const hl_options *o = &t->options;
  t->here = getcwd(NULL, 0);
  t->observer = hl_python_observer();
  t->program = realpath("/proc/self/exe", NULL);
  if (!t->here || !t->program)
    return hl_error_errno(error, HL_IO, "cannot tell the current directory or program");
  t->how = (hl_tasks_options){.build = hl_options_get(o, HL_OPTION_BUILD),
                              .cache_directory = t->cache,
                              .skip_failed = hl_options_on(o, HL_OPTION_SKIP_FAILED)};
  t->how.how = (hl_task_how){.entry = hl_options_get(o, HL_OPTION_ENTRY),
                             .program = t->program,
                             .observer = t->observer,
                             .python_path = getenv("PYTHONPATH"),
                             .python = hl_options_get(o, HL_OPTION_PYTHON),
                             .here = t->here,
                             .verbose = hl_options_on(o, HL_OPTION_VERBOSE),
                             .wake_fd = hl_interrupt_catch()};
  if (hl_options_given(o, HL_OPTION_ENTRY) && !t->how.how.entry[strspn(t->how.how.entry, " \t\n")])
    return hl_error_set(error, HL_INVALID_ARGUMENT, "--entry is empty: it names no command");
  hl_status status =
      hl_options_real(o, HL_OPTION_TIMEOUT, 0.001, 8640000, 0, &t->how.how.timeout_s, error);
  if (status == HL_OK)
    status = hl_options_real(o, HL_OPTION_BUILD_TIMEOUT, 0.001, 8640000, 0, &t->how.build_timeout_s,
                             error);
  return status == HL_OK ? read_compare(t, error) : status;
}

static hl_status read_all(tasks *t, hl_error *error) {
  const char *path = NULL, *output = hl_options_get(&t->options, HL_OPTION_OUTPUT);
  hl_status status = read_path(&t->options, &path, error);
  if (status == HL_OK && output) status = make_folder(output, error);
  if (status == HL_OK && output) status = hl_file_can_replace(output, error);
  HL_CLEANUP(hl_free_pointer) char *found = NULL;
  if (status == HL_OK) status = hl_cli_tasks_find(path, &found, error);
  if (status == HL_OK) status = hl_task_file_read(found, &t->file, error);
  if (status == HL_OK) hl_cli_cache_directory(&t->cache, NULL);
  if (status == HL_OK) status = read_how(t, error);
  bool json = hl_options_on(&t->options, HL_OPTION_JSON);
  bool quiet = hl_options_on(&t->options, HL_OPTION_QUIET);
  t->shows = !json && !quiet;
  t->progress = !quiet && !t->how.how.verbose && isatty(STDERR_FILENO);
  if (status == HL_OK && t->file.unknown && t->shows)
    fprintf(stderr, "hotlap: columns that mean nothing here are kept in the result only: %s\n",
            t->file.unknown);
  return status;
}

/* -- end ------------------------------------------------------------------------------------- */

/* Those that passed, and those that were run. */
static size_t count_passed(const tasks *t, size_t *ret_run) {
  const hl_tasks *all = &t->found.tasks;
  size_t passed = 0, run = 0;
  for (size_t i = 0; i < all->count; i++) {
    passed += hl_task_passed(&all->items[i]);
    run += all->items[i].outcome != NULL;
  }
  if (ret_run) *ret_run = run;
  return passed;
}

static void show_compared(const tasks *t) {
  hl_text text = HL_TEXT_INIT;
  hl_report_tasks_compared(&t->found.tasks, &t->found.comparisons, &text);
  if (t->how.compare)
    hl_text_format(&text, "Seed of the order: %llu\n", (unsigned long long)t->how.seed);
  hl_cli_show(&text, stdout);
  hl_text_release(&text);
}

static void show_end(const tasks *t, bool interrupted) {
  const char *path = hl_options_get(&t->options, HL_OPTION_OUTPUT);
  size_t run = 0, passed = count_passed(t, &run);
  if (t->shows) {
    show_compared(t);
    printf("%zu of %zu tasks passed", passed, t->file.count);
    if (run < t->file.count) printf(", %zu did not run", t->file.count - run);
    puts("");
    if (path) printf("Results: %s\n", path);
  }
  if (t->found.stopped)
    fputs("hotlap: stopped at the first task that failed; --skip-failed goes on\n", stderr);
  if (interrupted) fputs("hotlap: interrupted; what was measured is kept\n", stderr);
}

static int exit_status_of(const tasks *t) {
  size_t passed = count_passed(t, NULL);
  if (passed == t->file.count) return HL_EXIT_OK;
  if (!passed) return HL_EXIT_NOTHING;
  return hl_options_on(&t->options, HL_OPTION_SKIP_FAILED) ? HL_EXIT_OK : HL_EXIT_ROW_FAILED;
}

int hl_cli_tasks(int argc, char **argv) {
  tasks t = {0};
  hl_error error = {0};
  int exit_status = hl_cli_options('K', usage, argc, argv, &t.options);
  if (exit_status >= 0) return exit_status;
  t.written_ns = hl_clock_ns();
  const hl_tasks_view view = {.context = &t, .begin = begin, .end = end};
  hl_interrupt_catch();
  hl_status status = read_all(&t, &error);
  bool began = status == HL_OK;
  if (began) status = hl_tasks_run(&t.file, &t.how, &view, &t.found, &error);
  bool interrupted = status == HL_INTERRUPTED;
  exit_status = interrupted ? HL_EXIT_INTERRUPTED : exit_status_of(&t);
  size_t run = 0;
  count_passed(&t, &run);
  /* Also where it ended badly what was measured is kept. */
  if (began && (run || status == HL_OK || interrupted)) {
    hl_error lost = {0};
    if (write_results(&t, hl_options_on(&t.options, HL_OPTION_JSON), &lost) != HL_OK)
      exit_status = hl_cli_fail(&lost, HL_EXIT_USAGE);
    show_end(&t, interrupted);
  }
  if (status != HL_OK && !interrupted) exit_status = hl_cli_fail(&error, HL_EXIT_USAGE);
  hl_tasks_found_release(&t.found);
  hl_task_file_release(&t.file);
  hl_options_release(&t.options);
  free(t.cache);
  free(t.observer);
  free(t.here);
  free(t.program);
  return exit_status;
}

bool hl_cli_is_tasks(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    bool option = argv[i][0] == '-', value = i > 1 && argv[i - 1][0] == '-';
    if (!option && !value && !strchr(argv[i], '=') && hl_text_ends(argv[i], ".csv")) return true;
  }
  return false;
}
