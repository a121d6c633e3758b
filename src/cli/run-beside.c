#include "cli/run-beside.h"

#include "base/text.h"
#include "cli/cli.h"
#include "report/phase5.h"
#include <stdio.h>
#include <string.h>

static bool is_left(const char *only, const char *part) {
  return !only || strcmp(only, part) == 0;
}

static bool sums_up(const hl_plan_file *file, const char *only) {
  return file->report && is_left(only, "summary");
}

bool hl_cli_beside_is_due(const hl_plan_file *file, const char *only) {
  return sums_up(file, only);
}

static int worse(int a, int b) {
  if (a == HL_EXIT_INTERRUPTED || b == HL_EXIT_INTERRUPTED) return HL_EXIT_INTERRUPTED;
  return a == HL_EXIT_OK ? b : a;
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
  if (sums_up(file, only)) exit_status = worse(exit_status, sum_up(options));
  return exit_status;
}
