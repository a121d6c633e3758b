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

/* What is printed. */
typedef struct description {
  const char *path;
  const hl_graph *graph;    /* as declared */
  const hl_graph *inferred; /* NULL where that is not possible */
  hl_onnx_facts facts;
  int64_t parameters;  /* -1: not known */
  const char *missing; /* NULL, or which options are needed */
} description;

/* As declared, or as inferred where the file is silent. */
static const hl_value *output_at(const description *d, size_t i) {
  const hl_value *value = &d->graph->values[d->graph->outputs[i]];
  if (value->shape.rank >= 0 || !d->inferred) return value;
  return &d->inferred->values[d->inferred->outputs[i]];
}

static void text_port(const char *kind, const hl_value *value, hl_text *out) {
  hl_text_format(out, "  %-7s %-20s %-8s ", kind, value->name,
                 hl_dtype_bytes(value->dtype) ? hl_dtype_name(value->dtype) : "?");
  append_shape(value, out);
  hl_text_char(out, '\n');
}

static void print_text(const description *d) {
  const hl_graph *graph = d->graph;
  hl_text out = HL_TEXT_INIT;
  hl_text_format(&out, "%s: opset %" PRId64 ", IR %" PRId64 ", %zu nodes, ", d->path, graph->opset,
                 graph->ir_version, graph->node_count);
  if (d->parameters >= 0)
    hl_text_format(&out, "%" PRId64 " parameters\n", d->parameters);
  else
    hl_text_append(&out, "parameters not known\n");
  for (size_t i = 0; i < graph->input_count; i++)
    text_port("input", &graph->values[graph->inputs[i]], &out);
  for (size_t i = 0; i < graph->output_count; i++) text_port("output", output_at(d, i), &out);
  for (const hl_onnx_external *e = d->facts.externals; e; e = e->next)
    hl_text_format(&out, "  data    %-20s %zu bytes\n", e->location, e->bytes);
  if (d->facts.unread[0])
    hl_text_format(&out, "Only for other engines than native, outputs unchecked: %s\n",
                   d->facts.unread);
  hl_text_format(&out, "%s%s", d->missing ? d->missing : "Measure it: hotlap sweep ",
                 d->missing ? "" : d->path);
  if (!d->missing && d->facts.unread[0]) hl_text_append(&out, " --engine onnxruntime,openvino");
  puts(out.data);
  hl_text_release(&out);
}

static void json_port(hl_json *json, const hl_value *value) {
  hl_text shape = HL_TEXT_INIT;
  append_shape(value, &shape);
  hl_json_object(json, NULL);
  hl_json_text(json, "name", value->name);
  hl_json_text(json, "dtype", hl_dtype_bytes(value->dtype) ? hl_dtype_name(value->dtype) : NULL);
  hl_json_text(json, "shape", value->shape.rank < 0 ? NULL : shape.data);
  hl_json_end(json);
  hl_text_release(&shape);
}

static void print_json(const description *d) {
  const hl_graph *graph = d->graph;
  hl_text out = HL_TEXT_INIT;
  hl_json json;
  hl_json_init(&json, &out, HL_JSON_PRETTY);
  hl_json_object(&json, NULL);
  hl_json_text(&json, "model", d->path);
  hl_json_int(&json, "opset", graph->opset);
  hl_json_int(&json, "ir_version", graph->ir_version);
  if (d->parameters >= 0)
    hl_json_int(&json, "parameters", d->parameters);
  else
    hl_json_null(&json, "parameters");
  hl_json_array(&json, "inputs");
  for (size_t i = 0; i < graph->input_count; i++)
    json_port(&json, &graph->values[graph->inputs[i]]);
  hl_json_end(&json);
  hl_json_array(&json, "outputs");
  for (size_t i = 0; i < graph->output_count; i++) json_port(&json, output_at(d, i));
  hl_json_end(&json);
  hl_json_array(&json, "external_data");
  for (const hl_onnx_external *e = d->facts.externals; e; e = e->next) {
    hl_json_object(&json, NULL);
    hl_json_text(&json, "file", e->location);
    hl_json_int(&json, "bytes", (int64_t)e->bytes);
    hl_json_end(&json);
  }
  hl_json_end(&json);
  hl_json_text(&json, "unread", d->facts.unread[0] ? d->facts.unread : NULL);
  hl_json_text(&json, "missing", d->missing);
  hl_json_end(&json);
  puts(out.data);
  hl_text_release(&out);
}

static void print(description *d, hl_graph *resolved, hl_graph *inferred, bool as_json) {
  hl_error open = {0};
  int32_t axes[HL_INPUTS_MAX];
  int64_t fixed = 0;
  if (hl_shapes_resolve(resolved, d->path, NULL, 0, axes, &fixed, &open) != HL_OK)
    d->missing = open.msg;
  if (!d->facts.unread[0] && hl_graph_infer_declared(inferred, NULL) == HL_OK)
    d->inferred = inferred;
  d->parameters = d->facts.hides_weights ? -1 : hl_graph_parameters(d->graph);
  (as_json ? print_json : print_text)(d);
  d->missing = NULL; /* it lay in `open` */
}

int hl_cli_models_file(const char *path, bool as_json) {
  hl_error error = {0};
  hl_graph *graph = NULL, *resolved = NULL, *inferred = NULL;
  description d = {.path = path};
  hl_status status = hl_onnx_describe(path, &graph, &d.facts, &error);
  d.graph = graph;
  if (status == HL_OK) status = hl_graph_clone(graph, &resolved, &error);
  if (status == HL_OK) status = hl_graph_clone(graph, &inferred, &error);
  if (status == HL_OK) print(&d, resolved, inferred, as_json);
  hl_graph_free(inferred);
  hl_graph_free(resolved);
  hl_graph_free(graph);
  return status == HL_OK ? HL_EXIT_OK : hl_cli_fail(&error, HL_EXIT_USAGE);
}
