#include "cli/sweep.h"

#include "base/file.h"
#include "cli/cli.h"
#include "cli/elsewhere.h"
#include "cli/interrupt.h"
#include "cli/plan.h"
#include "cli/run-info.h"
#include "record/requirement.h"
#include "report/report.h"
#include "run/custom.h"
#include "run/git.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hl_sweep_release(hl_sweep *sweep) {
  hl_sweep *s = sweep;
  for (size_t i = 0; i < s->model_count; i++) free((char *)(uintptr_t)s->models[i].name);
  free(s->models);
  hl_store_free(s->store);
  hl_engines_release(&s->engines);
  hl_analysis_release(&s->analysis);
  hl_records_release(&s->records);
  hl_comparisons_release(&s->comparisons);
  hl_run_info_release(&s->info);
  hl_machine_release(&s->machine);
  hl_plan_release(&s->plan);
  for (size_t i = 0; i < s->part_count; i++) {
    hl_plan_release(&s->parts[i].plan);
    hl_options_release(&s->parts[i].options);
    hl_cli_settings_free(s->parts[i].settings);
  }
  free(s->parts);
  hl_options_release(&s->options);
  hl_cli_settings_free(s->settings);
  free(s->cache_directory);
  free(s->commit);
  free(s->unreachable);
}

static hl_status add_model(hl_sweep *s, const char *name, hl_error *error) {
  if (strcmp(name, "both") == 0) {
    hl_status status = add_model(s, "resnet50", error);
    return status == HL_OK ? add_model(s, "vit_b_16", error) : status;
  }
  hl_plan_model *models = realloc(s->models, (s->model_count + 1) * sizeof *models);
  if (!models) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for models");
  s->models = models;
  hl_plan_model model;
  hl_status status = hl_cli_model_of(&s->options, name, &model, error);
  if (status != HL_OK) return status;
  for (size_t i = 0; i < s->model_count; i++)
    if (strcmp(s->models[i].name, model.name) == 0) { /* named twice, measured once */
      free((char *)(uintptr_t)model.name);
      return HL_OK;
    }
  s->models[s->model_count++] = model;
  return HL_OK;
}

static hl_status read_models(hl_sweep *s, hl_error *error) {
  hl_status status = HL_OK;
  const char *name;
  for (size_t i = 0; i < s->options.positional_count && status == HL_OK; i++)
    status = add_model(s, s->options.positionals[i], error);
  for (size_t i = 0; status == HL_OK && (name = hl_options_at(&s->options, HL_OPTION_MODEL, i));
       i++)
    status = add_model(s, name, error);
  if (status == HL_OK && s->model_count == 0 && s->settings)
    status = add_model(s, s->settings->settings.model, error);
  if (status == HL_OK && s->model_count == 0)
    status = hl_error_set(error, HL_INVALID_ARGUMENT,
                          "%s needs a MODEL; 'hotlap models' lists the built-in networks",
                          s->options.command == 'T'   ? "train"
                          : s->options.command == 'L' ? "load"
                          : s->options.command == 'U' ? "tune"
                                                      : "sweep");
  return status;
}

static hl_status read_formats(hl_sweep *s, hl_error *error) {
  const hl_options *o = &s->options;
  const char *list = hl_options_get(o, HL_OPTION_EXPORT_FORMAT);
  /* A directory without formats: what the suites write. */
  if (!list && hl_options_given(o, HL_OPTION_OUTPUT_DIR) &&
      !hl_options_given(o, HL_OPTION_FRAMEWORK))
    list = o->command == 'Y' ? "json,csv,md,plot" : "json,csv,md";
  hl_status status = list ? hl_report_formats(list, &s->formats, error) : HL_OK;
  if (hl_options_given(o, HL_OPTION_FRAMEWORK)) s->formats |= HL_REPORT_CSV | HL_REPORT_CSV_SUITE;
  if (hl_options_on(o, HL_OPTION_PLOT_RESULTS)) {
    bool suite = hl_options_given(o, HL_OPTION_FRAMEWORK);
    s->formats |= HL_REPORT_PLOT | (suite ? HL_REPORT_ANALYSIS : 0u);
  }
  if (status == HL_OK && s->formats)
    status = hl_directory_make(hl_options_get(o, HL_OPTION_OUTPUT_DIR), error);
  return status;
}

/* The id of the interrupted run takes the place of the new one. */
static hl_status find_interrupted(hl_sweep *s, hl_error *error) {
  if (!hl_options_on(&s->options, HL_OPTION_RESUME)) return HL_OK;
  if (s->options.command == 'T') return HL_OK; /* its checkpoint is what it goes on from */
  if (!s->store)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "--resume needs the store; drop --store none");
  char hash[17], *id = NULL;
  hl_plan_hash(&s->plan, hash);
  hl_status status = hl_store_run_resumable(s->store, hash, s->info.machine_id, &id, error);
  if (status != HL_OK || !id) return status;
  free(s->info.id);
  s->info.id = id;
  s->resumed = true;
  return HL_OK;
}

static hl_status open_store(hl_sweep *s, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *path = NULL;
  hl_status status = hl_cli_store_path(&s->options, &path, error);
  if (status == HL_OK && path) status = hl_store_open(path, HL_STORE_WRITE, &s->store, error);
  if (status == HL_OK) return HL_OK;
  /* A full disk or missing rights are no mistake of the command line: what it asks for can be
   * measured. A store that is not one, a newer or a damaged one has to be named otherwise. */
  bool goes_on = (status == HL_IO || status == HL_UNAVAILABLE) &&
                 !hl_options_on(&s->options, HL_OPTION_RESUME);
  if (goes_on) {
    fprintf(stderr,
            "hotlap: nothing is kept: %s. Measuring goes on; the rows are in the other outputs "
            "only. --store FILE names another, --store none wants none\n",
            error->msg);
    s->no_store = true;
    return HL_OK;
  }
  char old[sizeof error->msg];
  memcpy(old, error->msg, sizeof old);
  return hl_error_set(error, status,
                      "%.400s (--store FILE names another, --store none keeps nothing)", old);
}

/* Whether there is a checkpoint is looked up here; over there nobody would, and a training run
 * would begin anew on top of it. */
static hl_status check_resume(const hl_options *o, hl_error *error) {
  bool looks = o->command == 'T' && hl_options_on(o, HL_OPTION_RESUME);
  if (!looks || !hl_cli_is_far(o)) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "--resume looks for the checkpoint on this machine, and --launcher leads to "
                      "another; --resume-from FILE names one that is there");
}

hl_status hl_sweep_prepare(hl_sweep *sweep, int argc, char **argv, hl_error *error) {
  hl_sweep *s = sweep;
  hl_status status = hl_cli_settings_apply(&s->options, &s->settings, error);
  if (status == HL_OK) status = check_resume(&s->options, error);
  if (status == HL_OK) status = read_models(s, error);
  if (status == HL_OK && s->machine.cores == 0) /* tune has asked for it */
    status = hl_cli_machine_read(&s->options, &s->machine, &s->unreachable, error);
  if (status == HL_OK) hl_cli_settings_tell(s->settings, s->machine.id);
  if (status == HL_OK)
    status = hl_cli_plan(&s->options, s->models, s->model_count, &s->machine, &s->plan, error);
  return status == HL_OK ? hl_sweep_begin(s, argc, argv, error) : status;
}

static bool has_name(const void *context, const char *name) {
  const hl_custom_names *names = context;
  for (size_t i = 0; i < names->count; i++)
    if (strcmp(names->names[i], name) == 0) return true;
  return false;
}

/* Plug-ins with metrics, and what is required of those. */
static hl_status check_customs(const hl_method_options *method, hl_error *error) {
  hl_custom_names names;
  hl_requirement requirement;
  hl_status status = hl_custom_check(method, hl_interrupt_catch(), &names, error);
  for (size_t i = 0; i < method->requirement_count && status == HL_OK; i++)
    status = hl_requirement_parse(method->requirements[i], has_name, &names, &requirement, error);
  return status;
}

hl_status hl_sweep_begin(hl_sweep *sweep, int argc, char **argv, hl_error *error) {
  hl_sweep *s = sweep;
  hl_status status = hl_cli_layers(&s->options, &s->layers, error);
  if (status == HL_OK)
    status =
        hl_cli_run_info(argc, argv, &s->options, &s->machine, &s->plan.method, &s->info, error);
  if (status != HL_OK) return status;
  if (hl_options_on(&s->options, HL_OPTION_DRY_RUN)) return HL_OK;
  const hl_method_options *checked = NULL; /* of plans each entry has its own */
  for (size_t i = 0; i < s->plan.count && status == HL_OK; i++) {
    const hl_method_options *method = hl_plan_method(&s->plan, &s->plan.items[i]);
    if (method != checked) status = check_customs(method, error);
    checked = method;
  }
  if (status != HL_OK) return status;
  const char *fail_if = hl_options_get(&s->options, HL_OPTION_FAIL_IF);
  if (fail_if && strcmp(fail_if, "unmet") != 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--fail-if: '%s' is not unmet: a row that does not meet --require",
                        fail_if);
  status = read_formats(s, error);
  if (status == HL_OK) status = open_store(s, error);
  if (status == HL_OK) status = find_interrupted(s, error);
  if (status != HL_OK) return status;
  hl_cli_cache_directory(&s->cache_directory, NULL); /* without one nothing is kept */
  s->commit = hl_git_commit();
  return HL_OK;
}

hl_run_environment hl_sweep_environment(const hl_sweep *s) {
  return (hl_run_environment){.program = "/proc/self/exe",
                              .search_path = getenv("PATH"),
                              .launch_s = s->plan.method.setup_s,
                              .unreachable = s->unreachable,
                              .cache_directory = s->cache_directory,
                              .verbose = hl_options_on(&s->options, HL_OPTION_VERBOSE),
                              .wake_fd = hl_interrupt_catch(),
                              .start_ns = s->start_ns,
                              .git_commit = s->commit,
                              .resume = s->resumed,
                              .without_limits = hl_cli_without_limits()};
}
