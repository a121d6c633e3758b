/*
 * Trains a network by the reference functions.
 *
 *     graph-train MODEL.onnx DIR STEPS RATE KEY=VALUE...
 *
 * Each step reads the same DIR/input-0.bin ... (raw, row-major; dimensions in DIR/shapes.txt, a
 * line for each input) and DIR/target-0.bin ..., and prints the loss (and the norm of the
 * gradients, where they are clipped). At the end weights are written to DIR/state-0.bin ..., whose
 * names are printed after the losses. Keys: see training-spec.h.
 */
#include "base/file.h"
#include "base/text.h"
#include "graph/onnx.h"
#include "graph/operator.h"
#include "training-spec.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INPUTS = 16 };

static hl_status bind_inputs(hl_graph *graph, const char *folder, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/shapes.txt", folder);
  HL_CLEANUP(hl_free_pointer) char *text = NULL;
  hl_status status = hl_file_read(path, 1 << 16, &text, NULL, error);
  char *line = text;
  for (size_t i = 0; status == HL_OK && i < graph->input_count; i++) {
    int64_t dims[HL_MAX_RANK] = {0};
    int32_t rank = 0;
    while (line && *line && *line != '\n' && rank < HL_MAX_RANK)
      dims[rank++] = strtoll(line, &line, 10);
    if (line && *line == '\n') line++;
    status = hl_graph_bind(graph, i, rank, dims, error);
  }
  return status == HL_OK ? hl_graph_infer(graph, error) : status;
}

/* A view of an input of the step, with the bytes of the file. */
static hl_status read_view(const hl_graph *step, size_t input, const char *folder, const char *what,
                           size_t number, hl_tensor_view *view, hl_error *error) {
  const hl_value *value = &step->values[step->inputs[input]];
  HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/%s-%zu.bin", folder, what, number);
  char *data = NULL;
  size_t bytes = 0;
  hl_status status = hl_file_read(path, (size_t)1 << 30, &data, &bytes, error);
  *view = (hl_tensor_view){
      .dtype = value->dtype, .rank = value->shape.rank, .data = data, .bytes = bytes};
  memcpy(view->dims, value->shape.dims, sizeof view->dims);
  return status;
}

static hl_status train(hl_graph *step, size_t network_inputs, const char *folder, int64_t steps,
                       float rate, hl_error *error) {
  hl_tensor_view views[MAX_INPUTS] = {{0}}, outputs[2] = {{0}};
  size_t count = step->input_count - 2;
  hl_status status = HL_OK;
  for (size_t i = 0; i < count && status == HL_OK; i++) {
    bool target = i >= network_inputs;
    status = read_view(step, i, folder, target ? "target" : "input",
                       target ? i - network_inputs : i, &views[i], error);
  }
  int64_t number = 0;
  views[count] = (hl_tensor_view){.dtype = HL_FLOAT32, .data = &rate, .bytes = sizeof rate};
  views[count + 1] = (hl_tensor_view){.dtype = HL_INT64, .data = &number, .bytes = sizeof number};
  while (status == HL_OK && number++ < steps) {
    status = hl_graph_step(step, views, outputs, error);
    for (size_t i = 0; i < step->output_count && status == HL_OK; i++) {
      printf("%.9g%c", (double)*(float *)outputs[i].data, i + 1 < step->output_count ? ' ' : '\n');
      free(outputs[i].data);
    }
  }
  for (size_t i = 0; i < count; i++) free(views[i].data);
  return status;
}

static hl_status write_states(hl_graph *step, const char *folder, hl_error *error) {
  size_t written = 0;
  hl_status status = HL_OK;
  for (size_t v = 0; v < step->value_count && status == HL_OK; v++) {
    const hl_value *value = &step->values[v];
    uint64_t bytes = 0;
    if (value->kind != HL_VALUE_STATE || !hl_shape_bytes(&value->shape, value->dtype, &bytes))
      continue;
    HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/state-%zu.bin", folder, written++);
    status = hl_file_write(path, value->data, (size_t)bytes, error);
    printf("%s\n", value->name);
  }
  return status;
}

int main(int count, char **arguments) {
  hl_training_spec spec = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
  bool ok = count >= 5;
  for (int i = 5; i < count && ok; i++) ok = training_spec_set(&spec, arguments[i]);
  if (!ok) {
    fprintf(stderr, "usage: graph-train MODEL DIR STEPS RATE KEY=VALUE...\n");
    return 2;
  }
  hl_error error = {0};
  hl_graph *network = NULL, *step = NULL;
  hl_status status = hl_onnx_read(arguments[1], &network, &error);
  if (status == HL_OK) status = bind_inputs(network, arguments[2], &error);
  if (status == HL_OK) status = hl_graph_training(network, &spec, &step, &error);
  if (status == HL_OK && step->input_count > MAX_INPUTS)
    status = hl_error_set(&error, HL_LIMIT, "more than %d inputs", MAX_INPUTS);
  if (status == HL_OK)
    status = train(step, network->input_count, arguments[2], strtoll(arguments[3], NULL, 10),
                   strtof(arguments[4], NULL), &error);
  if (status == HL_OK) status = write_states(step, arguments[2], &error);
  hl_graph_free(step);
  hl_graph_free(network);
  if (status == HL_OK) return 0;
  fprintf(stderr, "graph-train: %s: %s\n", hl_status_name(status), error.msg);
  return 1;
}
