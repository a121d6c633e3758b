/* hotlap doctor: what this machine is, and what would spoil a measurement on it. */
#include "cli/doctor.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "machine/memory.h"
#include "machine/perf-events.h"
#include "machine/topology.h"
#include "machine/twins.h"
#include "record/comparison.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const uint64_t probe_ns = 500000000, twins_ns = 3000000000;

static const char usage[] =
    "Usage: hotlap doctor [--json] [--root DIRECTORY]\n"
    "\n"
    "Prints what this machine is, measures what it can do (f32 arithmetic, memory bandwidth),\n"
    "lists what would spoil a measurement, with a remedy for each, and says whether a comparison\n"
    "within 1 % can be held here now, by timing two identical loops. Takes two to five seconds.\n"
    "With --root, settings are read from a copy of /proc and /sys, and nothing is measured.\n"
    "Exit status 0, also where there are warnings.\n";

bool hl_checkup_holds(const hl_checkup *checkup) {
  const hl_paired *twins = &checkup->twins;
  return twins->low >= log(1 - HL_EQUIVALENT_WITHIN) &&
         twins->high <= log(1 + HL_EQUIVALENT_WITHIN);
}

/* What a comparison would meet now. */
static hl_status compare_twins(hl_checkup *to, hl_error *error) {
  double ratios[HL_TWINS_PAIRS];
  size_t pairs = 0;
  int cores = to->machine.cores;
  to->twin_threads = cores < HL_TWINS_THREADS ? cores : HL_TWINS_THREADS;
  hl_status status =
      hl_twins_run(to->twin_threads, HL_TWINS_PAIRS, twins_ns, ratios, &pairs, error);
  return status == HL_OK ? hl_paired_estimate(ratios, pairs, &to->twins, error) : status;
}

static hl_status examine_copy(const char *root, hl_checkup *ret_checkup, hl_error *error) {
  hl_status status = hl_machine_read_at(root, &ret_checkup->machine, error);
  if (status) return status;
  ret_checkup->available_bytes = hl_memory_available(root);
  hl_rapl_open(root, &ret_checkup->energy);
  snprintf(ret_checkup->counters_reason, sizeof ret_checkup->counters_reason,
           "only the machine itself can tell");
  hl_noise_read(root, &ret_checkup->machine, NULL, &ret_checkup->noise);
  return HL_OK;
}

static void examine_counters(hl_checkup *found) {
  hl_perf perf;
  hl_perf_open(NULL, NULL, &perf);
  found->counters_scope = hl_perf_scope(&perf);
  hl_perf_explain(&perf, found->counters_reason, sizeof found->counters_reason);
  hl_perf_release(&perf);
}

static hl_status examine(hl_checkup *ret_checkup, hl_error *error) {
  hl_status status = hl_machine_read(&ret_checkup->machine, error);
  if (status) return status;
  ret_checkup->measured = true;
  ret_checkup->clock = hl_clock_calibrate();
  ret_checkup->available_bytes = hl_memory_available(NULL);
  hl_rapl_open(NULL, &ret_checkup->energy);
  examine_counters(ret_checkup);
  hl_noise_probe probe = hl_noise_probe_run(probe_ns);
  /* Before the roofline, whose own threads would count as load. */
  hl_noise_read(NULL, &ret_checkup->machine, &probe, &ret_checkup->noise);
  status = compare_twins(ret_checkup, error);
  if (status) return status;
  return hl_roofline_measure(ret_checkup->machine.cores, &ret_checkup->roofline, error);
}

static hl_status check_options(const hl_options *options, hl_error *error) {
  const char *root = hl_options_get(options, HL_OPTION_ROOT);
  if (root && (strlen(root) >= HL_SYSFS_PATH / 2 || access(root, R_OK | X_OK) != 0))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--root: '%.200s' is no directory that can be read; give one that holds "
                        "copies of proc and sys",
                        root);
  if (options->positional_count)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "doctor takes no '%s'. Try hotlap doctor --help", options->positionals[0]);
  return HL_OK;
}

static hl_status show(const hl_checkup *found, bool json, hl_error *error) {
  hl_text text = HL_TEXT_INIT;
  if (json)
    hl_checkup_write_json(found, &text);
  else
    hl_checkup_view(found, hl_cli_colour(STDOUT_FILENO), &text);
  bool failed = text.failed || fputs(text.data, stdout) == EOF || fflush(stdout) == EOF;
  hl_text_release(&text);
  return failed ? hl_error_set(error, HL_IO, "cannot write to standard output") : HL_OK;
}

int hl_cli_doctor(int argc, char **argv) {
  static hl_checkup found; /* too large for a small stack */
  hl_options options;
  hl_error error = {0};
  int exit_status = hl_cli_options('O', usage, argc, argv, &options);
  if (exit_status >= 0) return exit_status;
  const char *root = hl_options_get(&options, HL_OPTION_ROOT);
  bool usable = check_options(&options, &error) == HL_OK;
  hl_status status = error.status;
  if (usable) status = root ? examine_copy(root, &found, &error) : examine(&found, &error);
  if (status == HL_OK) status = show(&found, hl_options_on(&options, HL_OPTION_JSON), &error);
  hl_machine_release(&found.machine);
  hl_options_release(&options);
  if (status == HL_OK) return HL_EXIT_OK;
  return hl_cli_fail(&error, usable ? HL_EXIT_NOTHING : HL_EXIT_USAGE);
}
