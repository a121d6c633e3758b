#include "cli/run-beside.h"

#include "base/text.h"
#include "cli/cli.h"
#include "report/phase5.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_left(const char *only, const char *part) {
  return !only || strcmp(only, part) == 0;
}

static bool sums_up(const hl_plan_file *file, const char *only) {
  return file->report && is_left(only, "summary");
}

static bool profiles(const hl_plan_file *file, const char *only) {
  return file->profile_count && is_left(only, "profile");
}

bool hl_cli_beside_is_due(const hl_plan_file *file, const char *only) {
  return sums_up(file, only) || profiles(file, only);
}

static int worse(int a, int b) {
  if (a == HL_EXIT_INTERRUPTED || b == HL_EXIT_INTERRUPTED) return HL_EXIT_INTERRUPTED;
  return a == HL_EXIT_OK ? b : a;
}

/* `hotlap profile` with the plan's words, into profiling/ below the run's directory. */
static int profile(const hl_plan_file *file, const hl_options *options) {
  HL_CLEANUP(hl_free_pointer)
  char *directory =
      hl_format("--output-dir=%s/profiling", hl_options_get(options, HL_OPTION_OUTPUT_DIR));
  HL_CLEANUP(hl_free_pointer) char **words = calloc(file->profile_count + 5, sizeof *words);
  if (!directory || !words)
    return hl_cli_fail(&(hl_error){.msg = "no memory for a profile"}, HL_EXIT_USAGE);
  int count = 0;
  words[count++] = (char *)(uintptr_t) "profile";
  for (size_t i = 0; i < file->profile_count; i++)
    words[count++] = (char *)(uintptr_t)file->profile[i]; /* left alone */
  words[count++] = directory;
  /* Its JSON is another document than that of the rows. */
  bool silent = hl_options_on(options, HL_OPTION_QUIET) || hl_options_on(options, HL_OPTION_JSON);
  if (silent) words[count++] = (char *)(uintptr_t) "--quiet";
  if (hl_options_on(options, HL_OPTION_VERBOSE)) words[count++] = (char *)(uintptr_t) "--verbose";
  return hl_cli_profile(count, words);
}

static int sum_up(const hl_options *options) {
  hl_text written = HL_TEXT_INIT;
  hl_error error = {0};
  hl_status status =
      hl_report_phase5_summary(hl_options_get(options, HL_OPTION_OUTPUT_DIR), &written, &error);
  bool silent = hl_options_on(options, HL_OPTION_QUIET) || hl_options_on(options, HL_OPTION_JSON);
  if (!silent && written.length) hl_cli_show(&written, stdout);
  hl_text_release(&written);
  if (status == HL_OK) return HL_EXIT_OK;
  return hl_cli_fail(&error, status == HL_NOT_FOUND ? HL_EXIT_NOTHING : HL_EXIT_USAGE);
}

int hl_cli_beside(const hl_plan_file *file, const hl_options *options, int exit_status) {
  const char *only = hl_options_get(options, HL_OPTION_ONLY);
  if (exit_status == HL_EXIT_INTERRUPTED) return exit_status;
  if (profiles(file, only)) exit_status = worse(exit_status, profile(file, options));
  if (exit_status == HL_EXIT_INTERRUPTED) return exit_status;
  if (sums_up(file, only)) exit_status = worse(exit_status, sum_up(options));
  return exit_status;
}
