#include "models/models.h"
#include "base/json-writer.h"
#include "cli/cli.h"
#include "graph/onnx.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "Usage: hotlap models [MODEL]...\n"
    "       hotlap models FILE.onnx\n"
    "       hotlap models export MODEL FILE.onnx [--seed N]\n"
    "       hotlap models import PACKAGE.MODULE:FUNCTION -o FILE.onnx [--engine torch]\n"
    "       hotlap models quantize MODEL -o FILE.onnx [--calibration DATA]\n"
    "\n"
    "Lists the built-in networks: parameters, FLOPs per image (a multiply and an add count 2),\n"
    "input shapes and options; or writes one as a standard ONNX file with seeded weights; or a\n"
    "framework's model as such a file, see docs/engines.md; or an 8-bit copy of a model (built-in\n"
    "or ONNX file) for int8 kernels, see docs/precision.md.\n";

typedef struct facts {
  int64_t parameters;
  double flops;
  char shapes[256];
} facts;

static hl_status examine(const char *spec, uint64_t seed, facts *ret_facts, hl_error *error) {
  hl_graph *graph = NULL;
  hl_status status = hl_models_build(spec, seed, &graph, error);
  if (status != HL_OK) return status;
  hl_text shapes = HL_TEXT_INIT;
  status = hl_graph_bind_batch(graph, 1, error);
  if (status == HL_OK) status = hl_graph_infer(graph, error);
  for (size_t i = 0; status == HL_OK && i < graph->input_count; i++) {
    const hl_shape *shape = &graph->values[graph->inputs[i]].shape;
    hl_text_append(&shapes, i ? ", " : "");
    for (int32_t axis = 1; axis < shape->rank; axis++)
      hl_text_format(&shapes, "%s%" PRId64, axis > 1 ? "x" : "", shape->dims[axis]);
  }
  ret_facts->parameters = hl_graph_parameters(graph);
  ret_facts->flops = hl_graph_flops(graph);
  snprintf(ret_facts->shapes, sizeof ret_facts->shapes, "%s", shapes.data);
  hl_text_release(&shapes);
  hl_graph_free(graph);
  return status;
}

static void write_json(hl_json *json, const char *spec, const facts *f,
                       const hl_builtin_model *model) {
  hl_json_object(json, NULL);
  hl_json_text(json, "model", spec);
  hl_json_text(json, "doc", model ? model->doc : NULL);
  hl_json_int(json, "parameters", f->parameters);
  hl_json_real(json, "flops_per_image", f->flops);
  hl_json_text(json, "input_shapes", f->shapes);
  hl_json_array(json, "options");
  for (const hl_model_parameter *p = model ? model->parameters : NULL; p && p->key; p++) {
    hl_json_object(json, NULL);
    hl_json_text(json, "key", p->key);
    hl_json_text(json, "default", p->value);
    hl_json_text(json, "doc", p->doc);
    hl_json_end(json);
  }
  hl_json_end(json);
  hl_json_end(json);
}

static void print_row(const char *spec, const facts *f, const hl_builtin_model *model) {
  printf("%-22s %12" PRId64 " %11.4g  %-18s %s\n", spec, f->parameters, f->flops / 1e9, f->shapes,
         model ? model->doc : "");
  for (const hl_model_parameter *p = model ? model->parameters : NULL; p && p->key; p++)
    printf("    %s=%s: %s\n", p->key, p->value, p->doc);
}

/* Specification `index` of those to list: every built-in, or those named; NULL past the end. */
static const char *spec_at(const hl_options *options, size_t index) {
  if (options->positional_count)
    return index < options->positional_count ? options->positionals[index] : NULL;
  const hl_builtin_model *model = hl_models_at(index);
  return model ? model->name : NULL;
}

static int list(const hl_options *options, uint64_t seed) {
  hl_error error = {0};
  hl_text text = HL_TEXT_INIT;
  hl_json json;
  hl_json_init(&json, &text, HL_JSON_PRETTY);
  bool as_json = hl_options_on(options, HL_OPTION_JSON);
  if (as_json)
    hl_json_array(&json, NULL);
  else
    printf("%-22s %12s %11s  %s\n", "model", "parameters", "GFLOP/image", "input");
  hl_status status = HL_OK;
  const char *spec;
  for (size_t i = 0; status == HL_OK && (spec = spec_at(options, i)); i++) {
    facts f = {0};
    status = examine(spec, seed, &f, &error);
    if (status != HL_OK) break;
    if (as_json)
      write_json(&json, spec, &f, hl_models_find(spec));
    else
      print_row(spec, &f, hl_models_find(spec));
  }
  if (as_json && status == HL_OK) {
    hl_json_end(&json);
    printf("%s\n", text.data);
  }
  hl_text_release(&text);
  return status == HL_OK ? HL_EXIT_OK : hl_cli_fail(&error, HL_EXIT_USAGE);
}

static int export_model(const hl_options *options, uint64_t seed) {
  hl_error error = {0};
  if (options->positional_count != 3) {
    fprintf(stderr, "hotlap: models export needs MODEL and FILE.onnx\n");
    return HL_EXIT_USAGE;
  }
  hl_graph *graph = NULL;
  hl_status status = hl_models_build(options->positionals[1], seed, &graph, &error);
  if (status == HL_OK) status = hl_onnx_write(graph, options->positionals[2], &error);
  hl_graph_free(graph);
  if (status != HL_OK) return hl_cli_fail(&error, HL_EXIT_USAGE);
  if (!hl_options_on(options, HL_OPTION_QUIET))
    printf("Wrote %s: %s, seed %" PRIu64 "\n", options->positionals[2], options->positionals[1],
           seed);
  return HL_EXIT_OK;
}

static bool is_file(const char *name) {
  size_t length = strlen(name);
  return length > 5 && strcmp(name + length - 5, ".onnx") == 0;
}

static int hint_export(const hl_options *options) {
  const char *const *given = options->positionals;
  hl_error error = {0};
  hl_error_set(&error, HL_INVALID_ARGUMENT,
               "models shows one file at a time; to write one: hotlap models export %s %s",
               given[0], given[1]);
  return hl_cli_fail(&error, HL_EXIT_USAGE);
}

int hl_cli_models(int argc, char **argv) {
  hl_options options;
  hl_error error = {0};
  int exit_status = hl_cli_options('M', usage, argc, argv, &options);
  if (exit_status >= 0) return exit_status;
  int64_t seed = 42;
  if (hl_options_int(&options, HL_OPTION_SEED, 0, INT64_MAX, 42, &seed, &error) != HL_OK)
    exit_status = hl_cli_fail(&error, HL_EXIT_USAGE);
  else if (options.positional_count && strcmp(options.positionals[0], "export") == 0)
    exit_status = export_model(&options, (uint64_t)seed);
  else if (options.positional_count && strcmp(options.positionals[0], "import") == 0)
    exit_status = hl_cli_models_import(&options);
  else if (options.positional_count && strcmp(options.positionals[0], "quantize") == 0)
    exit_status = hl_cli_quantize(&options);
  else if (options.positional_count == 1 && is_file(options.positionals[0]))
    exit_status =
        hl_cli_models_file(options.positionals[0], hl_options_on(&options, HL_OPTION_JSON));
  else if (options.positional_count == 2 && is_file(options.positionals[1]))
    exit_status = hint_export(&options);
  else
    exit_status = list(&options, (uint64_t)seed);
  hl_options_release(&options);
  return exit_status;
}
