#include "base/clock.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/elsewhere.h"
#include "cli/hosts.h"
#include "cli/interrupt.h"
#include "cli/run-beside.h"
#include "cli/run-plan.h"
#include "cli/run-plots.h"
#include "cli/run-suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Usage: hotlap run PLAN [KEY=VALUE]... [OPTION]...\n"
    "       hotlap run FILE.csv [OPTION]...            (hotlap tasks --help)\n"
    "\n"
    "Measures all entries of a plan as one run. PLAN is a YAML file (docs/plans.md), or the name "
    "of\n"
    "one that comes with hotlap (neurallayers). KEY=VALUE takes the place of that key in every\n"
    "entry, ENTRY.KEY=VALUE in one: batch-sizes=1,8 throughput.iterations=20. --quick measures "
    "what\n"
    "the plan says suffices for a first look. A row that fails costs itself only.\n";

/* What the command line says of where to measure takes the place of all that the plan says of it.
 */
static bool is_of_place(const char *word) {
  return strncmp(word, "--hosts=", 8) == 0 || strncmp(word, "--launcher=", 11) == 0 ||
         strncmp(word, "--remote-program=", 17) == 0;
}

/* The plan's options of the run, then those of the command line, which are stronger. */
static int parse_again(hl_sweep *s, const hl_plan_file *file, int argc, char **argv) {
  HL_CLEANUP(hl_free_pointer)
  char **words = calloc((size_t)argc + file->word_count + 1, sizeof *words);
  hl_error error = {0};
  if (!words) return hl_cli_fail(&(hl_error){.msg = "no memory for options"}, HL_EXIT_USAGE);
  int count = 0;
  bool places = hl_options_given(&s->options, HL_OPTION_HOSTS) ||
                hl_options_given(&s->options, HL_OPTION_LAUNCHER);
  words[count++] = argv[0];
  for (size_t i = 0; i < file->word_count; i++)
    if (!places || !is_of_place(file->words[i]))
      words[count++] = (char *)(uintptr_t)file->words[i]; /* left alone */
  for (int i = 1; i < argc; i++) words[count++] = argv[i];
  hl_options_release(&s->options);
  if (hl_options_parse('P', count, words, &s->options, &error) != HL_OK)
    return hl_cli_fail(&error, HL_EXIT_USAGE);
  return -1;
}

/* The text of the plan, which the run keeps: `hotlap report` draws its pictures again. */
static hl_status read_text(const char *path, char **ret_text, hl_error *error) {
  hl_mapping mapping;
  hl_status status = hl_file_map(path, HL_YAML_BYTES, &mapping, error);
  if (status != HL_OK) return status;
  /* UTF-16 is read, but is no text of a store. */
  bool text = mapping.bytes && !memchr(mapping.data, '\0', mapping.bytes);
  if (text && !(*ret_text = strndup((const char *)mapping.data, mapping.bytes)))
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the plan");
  hl_file_unmap(&mapping);
  return status;
}

/* `arena` holds words of the command line and outlives the file. */
static hl_status read_plan(const hl_options *options, hl_arena *arena, hl_plan_file *ret_file,
                           char **ret_text, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *path = NULL;
  if (options->positional_count == 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "run needs a PLAN: a YAML file, or the name of one that comes with hotlap");
  const char *name = options->positionals[0], *suite = hl_cli_suite_plan(name);
  const char **words = options->positionals + 1;
  size_t count = options->positional_count - 1;
  hl_status status = suite ? hl_cli_suite_words(words, count, arena, error) : HL_OK;
  if (status == HL_OK) status = hl_cli_plan_find(suite ? suite : name, &path, error);
  bool quick = hl_options_on(options, HL_OPTION_QUICK);
  if (status == HL_OK) status = hl_plan_file_read(path, words, count, quick, ret_file, error);
  const char *only = hl_options_get(options, HL_OPTION_ONLY);
  if (status == HL_OK && only) status = hl_plan_file_only(ret_file, only, error);
  if (status == HL_OK && !ret_file->included_count) status = read_text(path, ret_text, error);
  if (status == HL_OK && ret_file->included_count && !(*ret_text = hl_plan_file_text(ret_file)))
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the plan");
  return status;
}

static hl_status prepare(hl_sweep *s, const hl_plan_file *file, int argc, char **argv,
                         hl_error *error) {
  hl_status status = hl_cli_machine_read(&s->options, &s->machine, &s->unreachable, error);
  if (status == HL_OK) status = hl_cli_plots_check(file, error);
  if (status == HL_OK) status = hl_cli_plan_from_file(s, file, error);
  if (status == HL_OK)
    status = hl_cli_shuffle(hl_options_get(&s->options, HL_OPTION_SHUFFLE), file, &s->plan, error);
  return status == HL_OK ? hl_sweep_begin(s, argc, argv, error) : status;
}

/* A part without rows. */
static int run_no_rows(const hl_sweep *s, const hl_plan_file *file) {
  if (!hl_options_on(&s->options, HL_OPTION_DRY_RUN))
    return hl_cli_beside(file, &s->options, HL_EXIT_OK);
  bool due = hl_cli_beside_is_due(file, hl_options_get(&s->options, HL_OPTION_ONLY));
  puts(due ? "0 rows: what is made beside them" : "0 rows");
  return HL_EXIT_OK;
}

static int run_rows(hl_sweep *s, const hl_plan_file *file, hl_arena *arena, int argc, char **argv) {
  hl_error error = {0};
  bool fans_out = false;
  if (hl_cli_host_choose(&s->options, arena, &fans_out, &error) != HL_OK)
    return hl_cli_fail(&error, HL_EXIT_USAGE);
  if (fans_out) return hl_cli_hosts_run(&s->options, argc, argv);
  if (prepare(s, file, argc, argv, &error) != HL_OK)
    return hl_cli_fail(&error, hl_sweep_unprepared(&error));
  if (hl_options_on(&s->options, HL_OPTION_DRY_RUN)) return hl_sweep_dry_run(s);
  return hl_cli_beside(file, &s->options, hl_sweep_run(s));
}

int hl_cli_run(int argc, char **argv) {
  if (hl_cli_is_tasks(argc, argv)) return hl_cli_tasks(argc, argv);
  hl_sweep s = {.start_ns = hl_clock_ns()};
  hl_plan_file file = {0};
  hl_error error = {0};
  hl_arena arena;
  int exit_status = hl_cli_options('P', usage, argc, argv, &s.options);
  if (exit_status >= 0) return exit_status;
  hl_interrupt_catch();
  hl_run_info_init(&s.info);
  hl_arena_init(&arena, 1u << 20);
  if (read_plan(&s.options, &arena, &file, &s.info.plan, &error) != HL_OK)
    exit_status = hl_cli_fail(&error, HL_EXIT_USAGE);
  else
    exit_status = parse_again(&s, &file, argc, argv);
  if (exit_status < 0)
    exit_status =
        file.step_count ? run_rows(&s, &file, &arena, argc, argv) : run_no_rows(&s, &file);
  hl_sweep_release(&s);
  hl_plan_file_release(&file);
  hl_arena_release(&arena);
  return exit_status;
}
