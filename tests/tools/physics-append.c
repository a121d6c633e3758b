/*
 * Appends the physics of diffraction (models/physics.h) to a network of ptychography.
 *
 *     physics-append NETWORK.onnx N GRIDSIZE BACKGROUND PROBE.bin OUT.onnx
 *
 * PROBE.bin holds N x N complex64, raw.
 */
#include "base/file.h"
#include "graph/onnx.h"
#include "models/physics.h"
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
  if (count != 7) {
    fprintf(stderr,
            "usage: physics-append NETWORK.onnx N GRIDSIZE BACKGROUND PROBE.bin OUT.onnx\n");
    return 2;
  }
  hl_error error = {0};
  hl_graph *graph = NULL;
  char *probe = NULL;
  size_t bytes = 0;
  hl_physics physics = {.size = strtoll(arguments[2], NULL, 10),
                        .gridsize = strtoll(arguments[3], NULL, 10),
                        .background = strtod(arguments[4], NULL)};
  hl_status status = hl_onnx_read(arguments[1], &graph, &error);
  if (status == HL_OK) status = hl_file_read(arguments[5], 1 << 24, &probe, &bytes, &error);
  if (status == HL_OK && bytes != (size_t)(physics.size * physics.size) * sizeof *physics.probe)
    status = hl_error_set(&error, HL_BAD_DATA, "the probe has %zu bytes", bytes);
  physics.probe = (const float complex *)(const void *)probe;
  if (status == HL_OK) status = hl_physics_append(graph, &physics, &error);
  if (status == HL_OK) status = hl_graph_sort(graph, &error);
  if (status == HL_OK) status = hl_graph_resolve(graph, &error);
  if (status == HL_OK) status = hl_onnx_write(graph, arguments[6], &error);
  if (status != HL_OK) fprintf(stderr, "physics-append: %s\n", error.msg);
  free(probe);
  hl_graph_free(graph);
  return status != HL_OK;
}
