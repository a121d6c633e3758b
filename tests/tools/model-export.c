/*
 * Writes a built-in network as an ONNX file, reads it back and says what hotlap knows of it.
 *
 *     model-export SPEC SEED FILE.onnx
 *
 * prints {"parameters": n, "flops": x} with the FLOPs of one input. Fails if the file has other
 * parameters than the network.
 */
#include "base/error.h"
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
  const char *path = arguments[3];
  hl_error error = {0};
  hl_graph *graph = NULL, *read = NULL;
  hl_status status =
      hl_models_build(arguments[1], strtoull(arguments[2], NULL, 10), &graph, &error);
  if (status == HL_OK) status = hl_onnx_write(graph, path, &error);
  if (status == HL_OK) status = hl_onnx_read(path, &read, &error);
  if (status == HL_OK && hl_graph_parameters(read) != hl_graph_parameters(graph))
    status =
        hl_error_set(&error, HL_INTERNAL, "%s: %" PRId64 " parameters, but %" PRId64 " written",
                     path, hl_graph_parameters(read), hl_graph_parameters(graph));
  if (status == HL_OK) status = hl_graph_bind_batch(read, 1, &error);
  if (status == HL_OK) status = hl_graph_infer(read, &error);
  if (status == HL_OK)
    printf("{\"parameters\": %" PRId64 ", \"flops\": %.0f}\n", hl_graph_parameters(read),
           hl_graph_flops(read));
  else
    fprintf(stderr, "model-export: %s\n", error.msg);
  hl_graph_free(read);
  hl_graph_free(graph);
  return status != HL_OK;
}
