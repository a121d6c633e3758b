#include "workloads/reference.h"

#include "base/hash.h"
#include "graph/graph.h"
#include "graph/operator.h"
#include "workloads/outputs.h"
#include "workloads/shapes.h"
#include <stdlib.h>
#include <string.h>

enum { most_outputs = 64 };

uint64_t hl_reference_key(const hl_inference *inference) {
  const hl_inference *in = inference;
  uint64_t key = in->file->hash;
  for (size_t i = 0; i < in->file->input_count; i++) {
    const hl_port *port = &in->file->inputs[i];
    hl_tensor_view view = hl_inference_first_image(in, i);
    key = hl_hash_bytes(key, port->dims, (size_t)port->rank * sizeof port->dims[0]);
    key = hl_hash_bytes(key, view.data, (size_t)view.bytes);
  }
  return key;
}

static hl_status evaluate(hl_graph *graph, const hl_inference *in, float **ret_values,
                          size_t *ret_counts, hl_error *error) {
  const hl_model_file *file = in->file;
  hl_tensor_view inputs[HL_INPUTS_MAX], outputs[most_outputs] = {0};
  int64_t together = file->fixed_batch ? file->fixed_batch : 1;
  for (size_t i = 0; i < file->input_count; i++) inputs[i] = hl_inference_first_image(in, i);
  if (!file->fixed_batch) hl_shapes_bind_batch(graph, file->input_axes, 1);
  hl_status status = hl_graph_infer(graph, error);
  if (status == HL_OK) status = hl_graph_evaluate(graph, inputs, outputs, error);
  if (status != HL_OK) return status;
  float *values = NULL;
  size_t used = 0;
  for (size_t i = 0; i < graph->output_count && status == HL_OK; i++)
    status =
        hl_output_append(file, i, &outputs[i], together, &values, &used, &ret_counts[i], error);
  for (size_t i = 0; i < graph->output_count; i++) free(outputs[i].data);
  if (status == HL_OK)
    *ret_values = values;
  else
    free(values);
  return status;
}

hl_status hl_reference_outputs(const hl_inference *inference, float **ret_values,
                               size_t *ret_counts, size_t output_capacity, size_t *ret_output_count,
                               hl_error *error) {
  hl_graph *graph = NULL;
  hl_status status = hl_model_file_graph(inference->file, inference->configuration, &graph, error);
  if (status != HL_OK) return status;
  if (graph->output_count > output_capacity || graph->output_count > most_outputs ||
      graph->input_count > HL_INPUTS_MAX)
    status = hl_error_set(error, HL_LIMIT, "the model has more outputs than can be checked");
  if (status == HL_OK) status = evaluate(graph, inference, ret_values, ret_counts, error);
  if (status == HL_OK) *ret_output_count = graph->output_count;
  hl_graph_free(graph);
  return status;
}
