/* Reading a model and describing it. */
#include "compile/weights.h"
#include "graph/onnx.h"
#include "native.h"
#include <stdlib.h>

static hl_port *ports_of(const hl_graph *graph, const hl_value_id *ids, size_t count) {
  hl_port *ports = calloc(count + 1, sizeof(*ports));
  if (!ports) return NULL;
  for (size_t i = 0; i < count; i++) {
    const hl_value *value = &graph->values[ids[i]];
    ports[i] = (hl_port){.name = value->name, .dtype = value->dtype, .rank = value->shape.rank};
    for (int k = 0; k < value->shape.rank; k++) ports[i].dims[k] = value->shape.dims[k];
  }
  return ports;
}

void hl_native_model_free(hl_model *model) {
  if (!model) return;
  hl_native_weights_free(model->weights, &model->engine->account);
  hl_graph_free(model->graph);
  free(model->inputs);
  free(model->outputs);
  free(model);
}

hl_status hl_native_model_load(hl_engine *engine, const hl_model_source *source,
                               hl_model **ret_model, hl_error *error) {
  hl_model *model = calloc(1, sizeof(*model));
  if (!model) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a model");
  model->engine = engine;
  hl_status status = hl_native_weights_new(&model->weights, error);
  if (status == HL_OK) status = hl_onnx_read(source->path, &model->graph, error);
  /* Shapes with the batch unknown, for `describe`. */
  if (status == HL_OK) status = hl_graph_infer_declared(model->graph, error);
  if (status == HL_OK) {
    model->inputs = ports_of(model->graph, model->graph->inputs, model->graph->input_count);
    model->outputs = ports_of(model->graph, model->graph->outputs, model->graph->output_count);
    if (!model->inputs || !model->outputs)
      status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a model");
  }
  if (status != HL_OK) {
    hl_native_model_free(model);
    return status;
  }
  *ret_model = model;
  return HL_OK;
}

hl_status hl_native_model_describe(hl_model *model, hl_model_info *ret_info, hl_error *error) {
  (void)error;
  ret_info->inputs = model->inputs;
  ret_info->input_count = model->graph->input_count;
  ret_info->outputs = model->outputs;
  ret_info->output_count = model->graph->output_count;
  return HL_OK;
}

void hl_native_model_forget(hl_model *model) {
  hl_graph_drop_pages(model->graph);
  model->read_bytes = 0;
}

void hl_native_model_reads(hl_model *model, uint64_t bytes) {
  if (model->read_bytes > 0 && model->read_bytes + bytes > HL_NATIVE_FORGET_BYTES)
    hl_native_model_forget(model);
  model->read_bytes += bytes;
}
