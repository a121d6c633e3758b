/* hotlap predict: whole volumes through a network that takes patches. */
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/plan.h"
#include "cli/predict-view.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Usage: hotlap predict MODEL --data PATH [OPTION]...\n"
    "\n"
    "Predicts volumes with a network that takes patches, such as dynunet or what it was trained\n"
    "to: windows over each volume, their predictions put together by weights, post-processing,\n"
    "a TIFF of bytes. Says how long each part took, the first batch apart, and, where there are\n"
    "targets, how well they are met. PATH: a folder of TIFF or .npy files, one of them, a CSV\n"
    "table that names them, an .npz, or nuclei[:KEY=VALUE,...], which are made up.\n";

typedef struct command {
  hl_options options;
  hl_machine machine;
  hl_plan plan;
  hl_plan_model model;
  char *cache;
  hl_predict_request request;
  hl_configuration configuration;
} command;

static const char *const tasks[] = {"segmentation", "labelfree"};

/* Also as the suite writes them: im2im/segmentation, label_free. */
static hl_status read_task(const hl_options *o, const char **ret_task, hl_error *error) {
  const char *given = hl_options_get(o, HL_OPTION_TASK);
  const char *name = strncmp(given, "im2im/", 6) == 0 ? given + 6 : given;
  if (strcmp(name, "label_free") == 0 || strcmp(name, "label-free") == 0) name = tasks[1];
  for (size_t i = 0; i < HL_COUNT(tasks); i++)
    if (strcmp(name, tasks[i]) == 0) {
      *ret_task = tasks[i];
      return HL_OK;
    }
  return hl_error_set(error, HL_INVALID_ARGUMENT, "--task %.60s: give segmentation or labelfree",
                      given);
}

static hl_status read_blend(const hl_options *o, bool *ret_gaussian, hl_error *error) {
  const char *blend = hl_options_get(o, HL_OPTION_BLEND);
  *ret_gaussian = strcmp(blend, "gaussian") == 0;
  if (*ret_gaussian || strcmp(blend, "constant") == 0) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT, "--blend %.60s: give gaussian or constant",
                      blend);
}

static hl_status read_model(command *c, hl_error *error) {
  const hl_options *o = &c->options;
  const char *named = hl_options_get(o, HL_OPTION_MODEL);
  size_t count = o->positional_count + (named != NULL);
  if (count != 1)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "predict needs one MODEL, not %zu", count);
  hl_status status = hl_cli_model(named ? named : o->positionals[0], &c->model, error);
  if (status == HL_OK) status = hl_machine_read(&c->machine, error);
  if (status != HL_OK) return status;
  status = hl_cli_plan(o, &c->model, 1, &c->machine, &c->plan, error);
  if (status != HL_OK) return status;
  if (c->plan.count != 1)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "predict runs one engine, type, device and batch size, not %zu of them",
                        c->plan.count);
  c->configuration = c->plan.items[0];
  c->configuration.test_data = NULL; /* windows are what the network is given */
  c->configuration.n_images = 1;     /* to be drawn: nobody looks at them */
  return HL_OK;
}

static hl_status read_options(command *c, hl_error *error) {
  const hl_options *o = &c->options;
  hl_predict_request *q = &c->request;
  *q = (hl_predict_request){.configuration = &c->configuration, .compare = true, .volume_s = 86400};
  q->data = hl_options_get(o, HL_OPTION_TEST_DATA);
  q->recipe = hl_options_get(o, HL_OPTION_TRANSFORM);
  if (!q->data || strcmp(q->data, "synthetic") == 0) q->data = "nuclei";
  if (hl_options_given(o, HL_OPTION_OUTPUT_DIR))
    q->folder = hl_options_get(o, HL_OPTION_OUTPUT_DIR);
  hl_status status = read_task(o, &q->task, error);
  if (status == HL_OK) status = read_blend(o, &q->gaussian, error);
  if (status == HL_OK)
    status = hl_options_real(o, HL_OPTION_OVERLAP, 0, 0.99, 0, &q->overlap, error);
  if (status == HL_OK)
    status = hl_options_int(o, HL_OPTION_N_IMAGES, 1, 1000000, 0, &q->n_images, error);
  if (status == HL_OK)
    status = hl_options_real(o, HL_OPTION_SETUP_TIMEOUT, 1, 86400, 300, &q->setup_s, error);
  return status;
}

static int predict(command *c) {
  hl_error error = {0};
  hl_status status = read_options(c, &error);
  if (status == HL_OK) status = read_model(c, &error);
  if (status != HL_OK) return hl_cli_fail(&error, HL_EXIT_USAGE);
  hl_cli_cache_directory(&c->cache, NULL);
  const hl_run_environment environment = {.program = "/proc/self/exe",
                                          .cache_directory = c->cache,
                                          .verbose = hl_options_on(&c->options, HL_OPTION_VERBOSE),
                                          .wake_fd = hl_interrupt_catch()};
  bool json = hl_options_on(&c->options, HL_OPTION_JSON);
  bool quiet = hl_options_on(&c->options, HL_OPTION_QUIET);
  const hl_predict_view view = {.volume = json || quiet ? NULL : hl_cli_predict_volume};
  hl_predict_result result;
  status = hl_predict_run(&environment, &c->request, &view, &result, &error);
  if (json)
    hl_cli_predict_json(&c->request, &result, status == HL_OK ? NULL : &error);
  else if (!quiet && result.count)
    hl_cli_predict_text(&c->request, &result);
  hl_predict_result_release(&result);
  return status == HL_OK ? HL_EXIT_OK : hl_cli_fail(&error, hl_cli_exit_of(status));
}

int hl_cli_predict(int argc, char **argv) {
  command c = {0};
  int exit_status = hl_cli_options('V', usage, argc, argv, &c.options);
  if (exit_status >= 0) return exit_status;
  exit_status = predict(&c);
  free((char *)(uintptr_t)c.model.name);
  free(c.cache);
  hl_plan_release(&c.plan);
  hl_machine_release(&c.machine);
  hl_options_release(&c.options);
  return exit_status;
}
