/*
 * Runs an ONNX file by the reference functions, and rewrites one.
 *
 *     graph-eval MODEL.onnx DIR      reads DIR/input-0.bin ... (raw, row-major), writes
 *                                    DIR/output-0.bin ... and prints a line for each output:
 *                                    name, type, dimensions
 *     graph-eval --gradient MODEL.onnx DIR   the same, then the gradients of
 *                                    sum(output k * DIR/weight-k.bin) with respect to the inputs
 *                                    and the weights: DIR/gradient-0.bin ..., and a line for each
 *     graph-eval --flops MODEL.onnx BATCH
 *     graph-eval --rewrite MODEL.onnx OUT.onnx
 *
 * Each input's dimensions are in DIR/shapes.txt, a line of numbers for each input.
 */
#include "base/file.h"
#include "base/text.h"
#include "graph/gradient.h"
#include "graph/onnx.h"
#include "graph/operator.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { max_values = 16 };

static hl_status read_inputs(hl_graph *graph, const char *folder, hl_tensor_view *ret_views,
                             hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/shapes.txt", folder);
  HL_CLEANUP(hl_free_pointer) char *text = NULL;
  hl_status status = hl_file_read(path, 1 << 16, &text, NULL, error);
  char *line = text;
  for (size_t i = 0; status == HL_OK && i < graph->input_count; i++) {
    hl_tensor_view *view = &ret_views[i];
    while (line && *line && *line != '\n') view->dims[view->rank++] = strtoll(line, &line, 10);
    if (line && *line == '\n') line++;
    status = hl_graph_bind(graph, i, view->rank, view->dims, error);
    if (status != HL_OK) break;
    view->dtype = graph->values[graph->inputs[i]].dtype;
    HL_CLEANUP(hl_free_pointer) char *file = hl_format("%s/input-%zu.bin", folder, i);
    char *data = NULL;
    size_t bytes = 0;
    status = hl_file_read(file, (size_t)1 << 30, &data, &bytes, error);
    view->data = data;
    view->bytes = bytes;
  }
  return status;
}

static hl_status write_outputs(const hl_graph *graph, const char *folder,
                               const hl_tensor_view *views, hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; status == HL_OK && i < graph->output_count; i++) {
    HL_CLEANUP(hl_free_pointer) char *file = hl_format("%s/output-%zu.bin", folder, i);
    status = hl_file_write(file, views[i].data, (size_t)views[i].bytes, error);
    printf("%s %s", views[i].name, hl_dtype_name(views[i].dtype));
    for (int32_t d = 0; d < views[i].rank; d++) printf(" %" PRId64, views[i].dims[d]);
    printf("\n");
  }
  return status;
}

static hl_status evaluate(hl_graph *graph, const char *folder, hl_error *error) {
  hl_tensor_view inputs[max_values] = {0}, outputs[max_values] = {0};
  if (graph->input_count > max_values || graph->output_count > max_values)
    return hl_error_set(error, HL_LIMIT, "more than %d inputs or outputs", max_values);
  hl_status status = read_inputs(graph, folder, inputs, error);
  if (status == HL_OK) status = hl_graph_infer(graph, error);
  if (status == HL_OK) status = hl_graph_evaluate(graph, inputs, outputs, error);
  if (status == HL_OK) status = write_outputs(graph, folder, outputs, error);
  for (size_t i = 0; i < max_values; i++) {
    free(inputs[i].data);
    free(outputs[i].data);
  }
  return status;
}

/* Numbers that a network learns: real, no scalar, and no running statistics. */
static bool is_weight(const hl_graph *graph, hl_value_id id) {
  const hl_value *value = &graph->values[id];
  if (value->kind != HL_VALUE_CONSTANT || !hl_dtype_is_float(value->dtype) ||
      value->shape.rank == 0 || strncmp(value->name, "loss_", 5) == 0)
    return false;
  for (size_t n = 0; n < graph->node_count; n++) {
    const hl_node *node = &graph->nodes[n];
    if (strcmp(node->op, "BatchNormalization") == 0 &&
        (node->inputs[3] == id || node->inputs[4] == id))
      return false;
  }
  return true;
}

static hl_value_id weighted_sum(hl_graph *graph, const char *folder, size_t output,
                                hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/weight-%zu.bin", folder, output);
  HL_CLEANUP(hl_free_pointer) char *data = NULL;
  size_t bytes = 0;
  uint64_t expected = 0;
  hl_value value = graph->values[graph->outputs[output]];
  if (hl_file_read(path, (size_t)1 << 30, &data, &bytes, error) != HL_OK) return -1;
  if (!hl_shape_bytes(&value.shape, value.dtype, &expected) || bytes != expected) {
    hl_error_set(error, HL_BAD_DATA, "%s: %zu bytes", path, bytes);
    return -1;
  }
  char name[48];
  snprintf(name, sizeof name, "loss_weight_%zu", output);
  hl_value_id both[2] = {
      graph->outputs[output],
      hl_graph_constant(graph, name, value.dtype, value.shape.rank, value.shape.dims, data)};
  snprintf(name, sizeof name, "loss_product_%zu", output);
  hl_graph_node(graph, "Mul", name, both, 2, both, 1);
  snprintf(name, sizeof name, "loss_sum_%zu", output);
  hl_node_set_int(graph, hl_graph_node(graph, "ReduceSum", name, both, 1, both, 1), "keepdims", 0);
  return both[0];
}

/* Replaces the graph's outputs by the gradients. */
static hl_status differentiate(hl_graph *graph, const char *folder, hl_error *error) {
  hl_value_id loss = -1;
  for (size_t i = 0; i < graph->output_count; i++) {
    hl_value_id term = weighted_sum(graph, folder, i, error);
    if (term < 0) return error->status;
    char name[48];
    snprintf(name, sizeof name, "loss_total_%zu", i);
    if (loss >= 0) hl_graph_node(graph, "Add", name, (hl_value_id[]){loss, term}, 2, &term, 1);
    loss = term;
  }
  HL_CLEANUP(hl_free_pointer) hl_value_id *of = calloc(graph->value_count, sizeof *of);
  HL_CLEANUP(hl_free_pointer) hl_value_id *to = calloc(graph->value_count, sizeof *to);
  size_t count = 0;
  if (!of || !to) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory");
  for (size_t v = 0; v < graph->value_count; v++)
    if ((graph->values[v].kind == HL_VALUE_INPUT && hl_dtype_is_float(graph->values[v].dtype)) ||
        is_weight(graph, (hl_value_id)v))
      of[count++] = (hl_value_id)v;
  hl_status status = hl_graph_resolve(graph, error);
  if (status == HL_OK) status = hl_graph_infer(graph, error);
  if (status == HL_OK) status = hl_graph_differentiate(graph, loss, of, count, to, error);
  graph->output_count = 0;
  for (size_t i = 0; i < count && status == HL_OK; i++) {
    if (to[i] < 0) continue;
    printf("%s\n", graph->values[of[i]].name);
    hl_graph_output(graph, to[i]);
  }
  return status == HL_OK ? hl_graph_status(graph, error) : status;
}

static hl_status gradient(hl_graph *graph, const char *folder, hl_error *error) {
  hl_tensor_view inputs[max_values] = {0};
  if (graph->input_count > max_values)
    return hl_error_set(error, HL_LIMIT, "more than %d inputs", max_values);
  hl_status status = read_inputs(graph, folder, inputs, error);
  if (status == HL_OK) status = hl_graph_infer(graph, error);
  if (status == HL_OK) status = differentiate(graph, folder, error);
  HL_CLEANUP(hl_free_pointer)
  hl_tensor_view *outputs = calloc(graph->output_count + 1, sizeof *outputs);
  if (!outputs) status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory");
  if (status == HL_OK) status = hl_graph_evaluate(graph, inputs, outputs, error);
  for (size_t i = 0; status == HL_OK && i < graph->output_count; i++) {
    HL_CLEANUP(hl_free_pointer) char *file = hl_format("%s/gradient-%zu.bin", folder, i);
    status = hl_file_write(file, outputs[i].data, (size_t)outputs[i].bytes, error);
  }
  for (size_t i = 0; outputs && i < graph->output_count; i++) free(outputs[i].data);
  for (size_t i = 0; i < max_values; i++) free(inputs[i].data);
  return status;
}

static hl_status count_flops(hl_graph *graph, const char *batch, hl_error *error) {
  hl_status status = hl_graph_bind_batch(graph, strtoll(batch, NULL, 10), error);
  if (status == HL_OK) status = hl_graph_infer(graph, error);
  if (status == HL_OK)
    printf("%.0f %" PRId64 "\n", hl_graph_flops(graph), hl_graph_parameters(graph));
  return status;
}

int main(int count, char **arguments) {
  bool option = count == 4 && arguments[1][0] == '-';
  if (count != 3 && !option) {
    fprintf(
        stderr,
        "usage: graph-eval [--gradient] MODEL DIR | --flops MODEL BATCH | --rewrite MODEL OUT\n");
    return 2;
  }
  hl_error error = {0};
  hl_graph *graph = NULL;
  hl_status status = hl_onnx_read(arguments[option ? 2 : 1], &graph, &error);
  if (status == HL_OK) {
    if (!option)
      status = evaluate(graph, arguments[2], &error);
    else if (strcmp(arguments[1], "--gradient") == 0)
      status = gradient(graph, arguments[3], &error);
    else if (strcmp(arguments[1], "--flops") == 0)
      status = count_flops(graph, arguments[3], &error);
    else
      status = hl_onnx_write(graph, arguments[3], &error);
  }
  hl_graph_free(graph);
  if (status == HL_OK) return 0;
  fprintf(stderr, "graph-eval: %s: %s\n", hl_status_name(status), error.msg);
  return 1;
}
