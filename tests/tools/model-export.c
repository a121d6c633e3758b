/*
 * Writes a built-in network as an ONNX file and says what hotlap knows of it.
 *
 *     model-export SPEC SEED FILE.onnx
 *
 * prints {"parameters": n, "flops": x} with the FLOPs of one input.
 */
#include "graph/onnx.h"
#include "models/models.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
  if (count != 4) {
    fprintf(stderr, "usage: model-export SPEC SEED FILE.onnx\n");
    return 2;
  }
  hl_error error = {0};
  hl_graph *graph = NULL;
  hl_status status =
      hl_models_build(arguments[1], strtoull(arguments[2], NULL, 10), &graph, &error);
  if (status == HL_OK) status = hl_onnx_write(graph, arguments[3], &error);
  if (status == HL_OK) status = hl_graph_bind_batch(graph, 1, &error);
  if (status == HL_OK) status = hl_graph_infer(graph, &error);
  if (status == HL_OK)
    printf("{\"parameters\": %" PRId64 ", \"flops\": %.0f}\n", hl_graph_parameters(graph),
           hl_graph_flops(graph));
  else
    fprintf(stderr, "model-export: %s\n", error.msg);
  hl_graph_free(graph);
  return status != HL_OK;
}
