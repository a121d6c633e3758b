/* `hotlap models FILE.onnx`: what a file holds, and how to measure it. */
#include "base/dtype.h"
#include "base/json-writer.h"
#include "base/text.h"
#include "cli/cli.h"
#include "graph/onnx.h"
#include "plan/configuration.h"
#include "workloads/shapes.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* "batch x 3 x 224 x 224"; an open dimension without a name is "?". */
static void append_shape(const hl_value *value, hl_text *out) {
  if (value->shape.rank < 0) hl_text_append(out, "no shape in the file");
  if (value->shape.rank == 0) hl_text_append(out, "scalar");
  for (int32_t d = 0; d < value->shape.rank; d++) {
    if (d) hl_text_append(out, " x ");
    if (value->shape.dims[d] >= 0)
      hl_text_format(out, "%" PRId64, value->shape.dims[d]);
    else
      hl_text_append(out, value->symbols[d] ? value->symbols[d] : "?");
  }
}

static void print_text(const char *path, const hl_graph *graph, int64_t parameters,
                       const char *missing) {
  hl_text out = HL_TEXT_INIT;
  hl_text_format(&out, "%s: opset %" PRId64 ", IR %" PRId64 ", %zu nodes, %" PRId64 " parameters\n",
                 path, graph->opset, graph->ir_version, graph->node_count, parameters);
  for (size_t i = 0; i < graph->input_count; i++) {
    const hl_value *value = &graph->values[graph->inputs[i]];
    hl_text_format(&out, "  input   %-20s %-8s ", value->name, hl_dtype_name(value->dtype));
    append_shape(value, &out);
    hl_text_char(&out, '\n');
  }
  for (size_t i = 0; i < graph->output_count; i++)
    hl_text_format(&out, "  output  %s\n", graph->values[graph->outputs[i]].name);
  hl_text_format(&out, "%s%s", missing ? missing : "Measure it: hotlap sweep ",
                 missing ? "" : path);
  puts(out.data);
  hl_text_release(&out);
}

static void print_json(const char *path, const hl_graph *graph, int64_t parameters,
                       const char *missing) {
  hl_text out = HL_TEXT_INIT;
  hl_json json;
  hl_json_init(&json, &out, HL_JSON_PRETTY);
  hl_json_object(&json, NULL);
  hl_json_text(&json, "model", path);
  hl_json_int(&json, "opset", graph->opset);
  hl_json_int(&json, "ir_version", graph->ir_version);
  hl_json_int(&json, "parameters", parameters);
  hl_json_array(&json, "inputs");
  for (size_t i = 0; i < graph->input_count; i++) {
    const hl_value *value = &graph->values[graph->inputs[i]];
    hl_text shape = HL_TEXT_INIT;
    append_shape(value, &shape);
    hl_json_object(&json, NULL);
    hl_json_text(&json, "name", value->name);
    hl_json_text(&json, "dtype", hl_dtype_name(value->dtype));
    hl_json_text(&json, "shape", shape.data);
    hl_json_end(&json);
    hl_text_release(&shape);
  }
  hl_json_end(&json);
  hl_json_text(&json, "missing", missing);
  hl_json_end(&json);
  puts(out.data);
  hl_text_release(&out);
}

int hl_cli_models_file(const char *path, bool as_json) {
  hl_error error = {0}, open = {0};
  hl_graph *graph = NULL, *resolved = NULL;
  int32_t axes[HL_INPUTS_MAX];
  int64_t fixed = 0;
  hl_status status = hl_onnx_read(path, &graph, &error);
  if (status == HL_OK) status = hl_graph_clone(graph, &resolved, &error);
  if (status == HL_OK) {
    bool is_open = hl_shapes_resolve(resolved, path, NULL, 0, axes, &fixed, &open) != HL_OK;
    int64_t parameters = hl_graph_parameters(graph);
    (as_json ? print_json : print_text)(path, graph, parameters, is_open ? open.msg : NULL);
  }
  hl_graph_free(resolved);
  hl_graph_free(graph);
  return status == HL_OK ? HL_EXIT_OK : hl_cli_fail(&error, HL_EXIT_USAGE);
}
