/*
 * Runs an ONNX file by the reference functions, and rewrites one.
 *
 *     graph-eval MODEL.onnx DIR      reads DIR/input-0.bin ... (raw, row-major), writes
 *                                    DIR/output-0.bin ... and prints a line for each output:
 *                                    name, type, dimensions
 *     graph-eval --flops MODEL.onnx BATCH
 *     graph-eval --rewrite MODEL.onnx OUT.onnx
 *
 * Each input's dimensions are in DIR/shapes.txt, a line of numbers for each input.
 */
#include "base/file.h"
#include "base/text.h"
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
    fprintf(stderr, "usage: graph-eval MODEL DIR | --flops MODEL BATCH | --rewrite MODEL OUT\n");
    return 2;
  }
  hl_error error = {0};
  hl_graph *graph = NULL;
  hl_status status = hl_onnx_read(arguments[option ? 2 : 1], &graph, &error);
  if (status == HL_OK) {
    if (!option)
      status = evaluate(graph, arguments[2], &error);
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
