/* hotlap models import: a framework's model as an ONNX file. */
#include "base/json-writer.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/plan.h"
#include "plan/foreign.h"
#include "run/import-model.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double tolerance = 1e-4;

typedef struct command {
  hl_configuration configuration;
  hl_plan_model model;
  hl_option interpreter;
  const char *plugin; /* the engine's, or NULL */
  const char *path;
  double setup_s;
} command;

static hl_status read_engine(const hl_options *o, command *c, hl_error *error) {
  const char *engine = hl_options_get(o, HL_OPTION_ENGINE);
  const char *usual = hl_foreign_is_path(o->positionals[1]) ? "tensorflow" : "torch";
  c->configuration.engine = hl_options_given(o, HL_OPTION_ENGINE) ? engine : usual;
  if (!hl_options_get(o, HL_OPTION_PLUGIN))
    c->configuration.engine = hl_engine_called(c->configuration.engine);
  if (strpbrk(engine, ", ") || !engine[0])
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--engine: models import asks one engine, that of the model's framework, "
                        "not '%.60s'",
                        engine);
  c->interpreter = (hl_option){.key = "python", .value = hl_options_get(o, HL_OPTION_PYTHON)};
  if (c->interpreter.value) {
    c->configuration.engine_options = &c->interpreter;
    c->configuration.engine_option_count = 1;
  }
  c->plugin = hl_options_get(o, HL_OPTION_PLUGIN);
  c->configuration.plugins = &c->plugin;
  c->configuration.plugin_count = c->plugin != NULL;
  return HL_OK;
}

static hl_status read_command(const hl_options *o, command *c, hl_error *error) {
  if (o->positional_count != 2)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "models import needs one model, as package.module:function");
  c->path = hl_options_get(o, HL_OPTION_OUTPUT);
  size_t length = c->path ? strlen(c->path) : 0;
  if (length < 6 || strcmp(c->path + length - 5, ".onnx") != 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "models import needs a file to write: -o FILE.onnx");
  hl_status status = hl_cli_model(o->positionals[1], &c->model, error);
  if (status != HL_OK) return status;
  if (!c->model.is_foreign)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%.200s is %s already; models import is for models of a framework, as "
                        "package.module:function",
                        o->positionals[1], c->model.is_builtin ? "built in" : "a file");
  c->configuration.model = c->model.name;
  c->configuration.is_foreign = true;
  c->configuration.weights = hl_options_get(o, HL_OPTION_WEIGHTS);
  status = read_engine(o, c, error);
  if (status == HL_OK)
    status = hl_options_int(o, HL_OPTION_SEED, 0, INT64_MAX, 42, &c->configuration.seed, error);
  if (status == HL_OK)
    status = hl_options_real(o, HL_OPTION_SETUP_TIMEOUT, 0.001, 86400, 600, &c->setup_s, error);
  return status;
}

static void print_text(const command *c, const hl_import_result *r) {
  hl_text text = HL_TEXT_INIT;
  hl_text_format(&text, "Wrote %s: %s by %s", c->path, c->model.name, r->engine_version);
  if (r->parameters >= 0) hl_text_format(&text, ", %" PRId64 " parameters", r->parameters);
  if (r->unchecked[0])
    hl_text_format(&text, "\nNot compared with the framework's outputs: %s", r->unchecked);
  else
    hl_text_format(&text,
                   "\n%s: the file on the native engine differs from the framework by %.2g of the "
                   "largest value of an output",
                   r->error <= tolerance ? "Agrees" : "DOES NOT AGREE", r->error);
  if (r->notes[0]) hl_text_format(&text, "\n%s", r->notes);
  hl_text_format(&text, "\nMeasure it: hotlap sweep %s\n", c->path);
  hl_cli_show(&text, stdout);
  hl_text_release(&text);
}

static void print_json(const command *c, const hl_import_result *r) {
  hl_text text = HL_TEXT_INIT;
  hl_json json;
  hl_json_init(&json, &text, HL_JSON_PRETTY);
  hl_json_object(&json, NULL);
  hl_json_text(&json, "schema", "hotlap.import/1");
  hl_json_text(&json, "model", c->model.name);
  hl_json_text(&json, "file", c->path);
  hl_json_text(&json, "engine", c->configuration.engine);
  hl_json_text(&json, "engine_version", r->engine_version);
  if (r->parameters >= 0)
    hl_json_int(&json, "parameters", r->parameters);
  else
    hl_json_null(&json, "parameters");
  hl_json_real(&json, "error", r->error);
  hl_json_text(&json, "unchecked", r->unchecked[0] ? r->unchecked : NULL);
  hl_json_text(&json, "notes", r->notes);
  hl_json_end(&json);
  printf("%s\n", text.data);
  hl_text_release(&text);
}

int hl_cli_models_import(const hl_options *options) {
  command c = {
      .configuration = {.device = "cpu", .dtype = "float32", .batch_size = 1, .threads = 1}};
  hl_import_result result;
  hl_error error = {0};
  HL_CLEANUP(hl_free_pointer) char *cache = NULL;
  hl_status status = read_command(options, &c, &error);
  HL_CLEANUP(hl_free_pointer) char *name = (char *)(uintptr_t)c.model.name;
  (void)name; /* kept until here, for the configuration */
  if (status != HL_OK) return hl_cli_fail(&error, HL_EXIT_USAGE);
  hl_cli_cache_directory(&cache, NULL);
  const hl_run_environment environment = {.program = "/proc/self/exe",
                                          .cache_directory = cache,
                                          .verbose = hl_options_on(options, HL_OPTION_VERBOSE),
                                          .wake_fd = hl_interrupt_catch()};
  status = hl_import_model(&environment, &c.configuration, c.path, c.setup_s, &result, &error);
  error.msg[strcspn(error.msg, "\n")] = '\0'; /* a traceback follows */
  if (status != HL_OK)
    return hl_cli_fail(&error, status == HL_INTERRUPTED ? HL_EXIT_INTERRUPTED : HL_EXIT_USAGE);
  if (hl_options_on(options, HL_OPTION_JSON))
    print_json(&c, &result);
  else if (!hl_options_on(options, HL_OPTION_QUIET))
    print_text(&c, &result);
  return result.error > tolerance ? HL_EXIT_ROW_FAILED : HL_EXIT_OK;
}
