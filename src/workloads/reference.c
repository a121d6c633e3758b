#include "workloads/reference.h"

#include "base/hash.h"
#include "graph/onnx.h"
#include "graph/operator.h"
#include <stdlib.h>
#include <string.h>

enum { most_outputs = 64, most_inputs = 16 };

uint64_t hl_reference_key(const hl_inference *inference) {
  uint64_t key = inference->file->hash;
  for (size_t i = 0; i < inference->file->input_count; i++)
    key = hl_hash_bytes(key, inference->dataset->inputs[i].data, (size_t)inference->image_bytes[i]);
  return key;
}

static hl_status collect(const hl_tensor_view *outputs, size_t count, float **ret_values,
                         size_t *ret_counts, hl_error *error) {
  size_t total = 0;
  for (size_t i = 0; i < count; i++) {
    bool comparable =
        outputs[i].dtype == HL_FLOAT32 && outputs[i].rank > 0 && outputs[i].dims[0] == 1;
    ret_counts[i] = comparable ? (size_t)(outputs[i].bytes / sizeof(float)) : 0;
    total += ret_counts[i];
  }
  float *values = malloc((total + 1) * sizeof *values), *at = values;
  if (!values) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for reference outputs");
  for (size_t i = 0; i < count; i++) {
    memcpy(at, outputs[i].data, ret_counts[i] * sizeof *at);
    at += ret_counts[i];
  }
  *ret_values = values;
  return HL_OK;
}

static hl_status evaluate(hl_graph *graph, const hl_inference *in, float **ret_values,
                          size_t *ret_counts, hl_error *error) {
  hl_tensor_view inputs[most_inputs], outputs[most_outputs] = {0};
  for (size_t i = 0; i < in->file->input_count; i++) {
    inputs[i] = in->dataset->inputs[i];
    inputs[i].dims[0] = 1;
    inputs[i].bytes = in->image_bytes[i];
  }
  hl_status status = hl_graph_bind_batch(graph, 1, error);
  if (status == HL_OK) status = hl_graph_infer(graph, error);
  if (status == HL_OK) status = hl_graph_evaluate(graph, inputs, outputs, error);
  if (status != HL_OK) return status;
  status = collect(outputs, graph->output_count, ret_values, ret_counts, error);
  for (size_t i = 0; i < graph->output_count; i++) free(outputs[i].data);
  return status;
}

hl_status hl_reference_outputs(const hl_inference *inference, float **ret_values,
                               size_t *ret_counts, size_t output_capacity, size_t *ret_output_count,
                               hl_error *error) {
  hl_graph *graph = NULL;
  hl_status status = hl_onnx_read(inference->file->path, &graph, error);
  if (status != HL_OK) return status;
  if (graph->output_count > output_capacity || graph->output_count > most_outputs ||
      graph->input_count > most_inputs)
    status = hl_error_set(error, HL_LIMIT, "the model has more outputs than can be checked");
  if (status == HL_OK) status = evaluate(graph, inference, ret_values, ret_counts, error);
  if (status == HL_OK) *ret_output_count = graph->output_count;
  hl_graph_free(graph);
  return status;
}
