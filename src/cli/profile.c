/* hotlap profile: where the time of a step goes, by operator and by layer. */
#include "report/profile.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/elsewhere.h"
#include "cli/interrupt.h"
#include "cli/plan.h"
#include "formats/profile-read.h"
#include "report/profile-files.h"
#include "run/profile.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "Usage: hotlap profile MODEL [OPTION]...\n"
    "       hotlap profile --import FILE [OPTION]...\n"
    "\n"
    "Says where the time of a step goes: by operator, layer, kind or phase, with calls, FLOPs,\n"
    "bytes and the share of the machine's limits. A step is a batch, with --mode training a batch\n"
    "forward and back, with --pipeline a pass over a scan. Steps with and without the profiler\n"
    "take turns, so that what it costs is measured, too. Several engines stand side by side.\n"
    "--import FILE shows a profile of another program.\n";

typedef struct command {
  hl_options options;
  hl_machine machine;
  char *unreachable; /* why nothing runs there, or NULL */
  hl_plan plan;
  hl_plan_model model;
  char *cache;
  hl_profile_by by;
  int64_t top;
  hl_profile_request request;
  hl_profile **profiles;
  size_t count;
} command;

static hl_status read_by(const hl_options *o, hl_profile_by *ret_by, hl_error *error) {
  const char *given = hl_options_get(o, HL_OPTION_BY);
  for (int by = 0; by < HL_PROFILE_BYS; by++)
    if (strcmp(given, hl_profile_by_name((hl_profile_by)by)) == 0) {
      *ret_by = (hl_profile_by)by;
      return HL_OK;
    }
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "--by: '%.60s' is none of operator, layer, kind, phase", given);
}

static hl_status read_options(command *c, hl_error *error) {
  const hl_options *o = &c->options;
  hl_profile_request *q = &c->request;
  q->compares = !hl_options_on(o, HL_OPTION_NO_OVERHEAD);
  hl_status status = read_by(o, &c->by, error);
  if (status == HL_OK) status = hl_options_int(o, HL_OPTION_TOP, 0, 1000000, 30, &c->top, error);
  if (status == HL_OK)
    status = hl_options_int(o, HL_OPTION_STEPS, 1, 100000, 100, &q->max_steps, error);
  if (status == HL_OK)
    status = hl_options_real(o, HL_OPTION_MAX_TIME, 0.001, 86400, 5, &q->max_s, error);
  /* Steps that were asked for are not cut by the default. */
  if (hl_options_given(o, HL_OPTION_STEPS) && !hl_options_given(o, HL_OPTION_MAX_TIME))
    q->max_s = 86400;
  return status;
}

static const char *named_model(const command *c) {
  return hl_options_get(&c->options, HL_OPTION_MODEL);
}

static hl_status read_model(command *c, hl_error *error) {
  const hl_options *o = &c->options;
  const char *named = named_model(c);
  size_t count = o->positional_count + (named != NULL);
  if (count != 1)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "profile needs one MODEL, not %zu", count);
  hl_status status = hl_cli_model_of(o, named ? named : o->positionals[0], &c->model, error);
  if (status == HL_OK) status = hl_cli_machine_read(o, &c->machine, &c->unreachable, error);
  if (status == HL_OK) status = hl_cli_plan(o, &c->model, 1, &c->machine, &c->plan, error);
  if (status != HL_OK) return status;
  c->request.setup_s = c->request.step_s = c->plan.method.setup_s;
  int64_t warmup = c->plan.method.warmup_iterations;
  c->request.warmup = warmup >= 0                                                 ? warmup
                      : c->plan.items[0].pipeline || c->plan.items[0].progressive ? 1
                                                                                  : 3;
  return HL_OK;
}

/* --import: files in place of rows; those before one that cannot be read are shown. */
static hl_status import_all(command *c, hl_error *error) {
  size_t count = 0;
  while (hl_options_at(&c->options, HL_OPTION_IMPORT, count)) count++;
  c->profiles = calloc(count, sizeof *c->profiles);
  if (!c->profiles) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for profiles");
  hl_status status = HL_OK;
  for (size_t i = 0; i < count && status == HL_OK; i++) {
    status = hl_profile_read_file(hl_options_at(&c->options, HL_OPTION_IMPORT, i),
                                  &c->profiles[c->count], error);
    if (status == HL_OK) c->count++;
  }
  return status;
}

/* All rows; what fails is told, and the others are shown. */
static hl_status run_all(command *c, hl_error *error) {
  hl_cli_cache_directory(&c->cache, NULL);
  const hl_run_environment environment = {.program = "/proc/self/exe",
                                          .cache_directory = c->cache,
                                          .search_path = getenv("PATH"),
                                          .launch_s = c->request.setup_s,
                                          .unreachable = c->unreachable,
                                          .verbose = hl_options_on(&c->options, HL_OPTION_VERBOSE),
                                          .wake_fd = hl_interrupt_catch()};
  c->profiles = calloc(c->plan.count, sizeof *c->profiles);
  if (!c->profiles) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for profiles");
  hl_status worst = HL_OK;
  for (size_t i = 0; i < c->plan.count; i++) {
    hl_error failure = {0};
    c->request.configuration = &c->plan.items[i];
    hl_profile *profile = NULL;
    hl_status status = hl_profile_run(&environment, &c->request, &profile, &failure);
    if (profile) c->profiles[c->count++] = profile;
    if (profile && profile->step_count && !hl_cli_without_limits())
      hl_profile_measure_limits(&environment, c->plan.items[i].launcher, profile);
    if (status != HL_OK && worst == HL_OK) {
      worst = status;
      *error = failure;
    }
    if (status == HL_INTERRUPTED) break;
  }
  return worst;
}

/* Of a run of several each is told, whatever came of it; of one that recorded nothing the error
 * below says all. */
static bool tells(const command *c, const hl_profile *p) {
  return c->count > 1 || p->complete || p->step_count || p->event_count;
}

static hl_status show(const command *c, hl_error *error) {
  hl_text text = HL_TEXT_INIT;
  hl_status status = HL_OK;
  if (hl_options_on(&c->options, HL_OPTION_JSON)) {
    status = hl_report_profiles_json(c->profiles, c->count, &text, error);
    if (status == HL_OK) fputs(text.data, stdout);
  } else if (!hl_options_on(&c->options, HL_OPTION_QUIET)) {
    for (size_t i = 0; i < c->count && status == HL_OK; i++)
      if (tells(c, c->profiles[i]))
        status = hl_report_profile_text(c->profiles[i], c->by, (size_t)c->top, &text, error);
    if (status == HL_OK && c->count > 1)
      status = hl_report_profiles_text(c->profiles, c->count, c->by, (size_t)c->top, &text, error);
    if (status == HL_OK) hl_cli_show(&text, stdout);
  }
  hl_text_release(&text);
  return status;
}

/* The files of one profile; several have a folder each, by their place and engine. */
static hl_status write_files(const command *c, size_t i, hl_text *said, hl_error *error) {
  const hl_profile *p = c->profiles[i];
  const char *directory = hl_options_get(&c->options, HL_OPTION_OUTPUT_DIR);
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  HL_CLEANUP(hl_free_pointer)
  char *own =
      c->count > 1 ? hl_format("%s/%zu-%.60s", directory, i + 1, p->engine) : hl_strdup(directory);
  if (!own) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a path");
  const hl_profile_files files = {.directory = own, .host = host, .pid = (int64_t)getpid()};
  HL_CLEANUP(hl_text_release) hl_text written = HL_TEXT_INIT, notes = HL_TEXT_INIT;
  hl_status status = hl_directory_make(own, error);
  if (status == HL_OK) status = hl_profile_write_all(p, &files, &written, &notes, error);
  for (char *at = written.data, *line; (line = strsep(&at, "\n"));)
    if (line[0]) hl_text_line(said, "Written: %s", line);
  hl_text_append_n(said, notes.data, notes.length);
  return status;
}

static hl_status write_all(const command *c, hl_error *error) {
  if (!hl_options_given(&c->options, HL_OPTION_OUTPUT_DIR)) return HL_OK;
  HL_CLEANUP(hl_text_release) hl_text said = HL_TEXT_INIT;
  hl_status status = HL_OK;
  for (size_t i = 0; i < c->count; i++) {
    hl_error failure = {0};
    hl_status one = write_files(c, i, &said, &failure);
    if (one != HL_OK && status == HL_OK) {
      status = one;
      *error = failure;
    }
  }
  bool silent = hl_options_on(&c->options, HL_OPTION_JSON);
  if (!hl_options_on(&c->options, HL_OPTION_QUIET)) hl_cli_show(&said, silent ? stderr : stdout);
  return status;
}

static int profile(command *c) {
  hl_error error = {0};
  hl_status status = read_options(c, &error);
  bool imports = hl_options_given(&c->options, HL_OPTION_IMPORT);
  if (status == HL_OK && imports && (c->options.positional_count || named_model(c)))
    status = hl_error_set(&error, HL_INVALID_ARGUMENT,
                          "--import shows profiles that are there: give it, or MODEL");
  if (status == HL_OK && !imports) status = read_model(c, &error);
  if (status != HL_OK) return hl_cli_fail(&error, HL_EXIT_USAGE);
  hl_error failure = {0};
  status = imports ? import_all(c, &failure) : run_all(c, &failure);
  if (show(c, &error) != HL_OK) return hl_cli_fail(&error, HL_EXIT_ROW_FAILED);
  if (write_all(c, &error) != HL_OK) return hl_cli_fail(&error, HL_EXIT_USAGE);
  return status == HL_OK ? HL_EXIT_OK : hl_cli_fail(&failure, hl_cli_exit_of(status));
}

int hl_cli_profile(int argc, char **argv) {
  command c = {0};
  int exit_status = hl_cli_options('F', usage, argc, argv, &c.options);
  if (exit_status >= 0) return exit_status;
  exit_status = profile(&c);
  for (size_t i = 0; i < c.count; i++) hl_profile_free(c.profiles[i]);
  free(c.profiles);
  free((char *)(uintptr_t)c.model.name);
  free(c.cache);
  free(c.unreachable);
  hl_plan_release(&c.plan);
  hl_machine_release(&c.machine);
  hl_options_release(&c.options);
  return exit_status;
}
