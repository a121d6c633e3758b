/*
 * models/physics.h - what a ptychography network is trained by: the diffraction of its own answer.
 *
 *     hl_physics physics = {.probe = probe};
 *     if (hl_physics_fits(inputs, 1, outputs, 2, &physics.size, &physics.gridsize)) {
 *       status = hl_physics_append(graph, &physics, error);
 *       ... the graph's one output is now "intensity" ...
 *     }
 *
 * A network of ptychography has one input "diffraction" (batch, g^2, N, N) and the outputs
 * "amplitude" and "phase" of the same shape: patches of the object, A e^(i phi). To it is appended
 *
 *     for g = 1   nothing: the patch is the object where the probe stood
 *     for g > 1   the merge of the group's g^2 patches into one object, on a canvas of
 *                 N + 4 (g - 1) + 10 pixels, and the patches cut from it again: bilinear
 *                 translations by the input "positions" (batch, 1, 2, g^2), which are
 *                 -(coordinate - mean of the group), x first; the sum is divided by that of the
 *                 patches' central squares plus 0.001
 *     intensity = |FFT2(probe * patch)|^2 / N^2 + background, zero frequency at [N/2, N/2]
 *
 * as PtychoPINN computes it, in ONNX operators that every engine trains: a transform is a product
 * with a matrix, a complex number two arrays. All constants are made from integers, so that nobody
 * takes them for weights; the weights and their names are those of the network.
 */
#ifndef HL_MODELS_PHYSICS_H
#define HL_MODELS_PHYSICS_H

#include "graph/graph.h"
#include <complex.h>

typedef struct hl_physics {
  int64_t size, gridsize;     /* N and g, as hl_physics_fits finds them */
  const float complex *probe; /* (N, N), centred at [N/2, N/2]; borrowed for the call */
  double background;          /* added to the intensity of each pixel */
} hl_physics;

#define HL_PHYSICS_OUTPUT "intensity"
#define HL_PHYSICS_POSITIONS "positions"

/* True for a network of ptychography, by its inputs and outputs. */
bool hl_physics_fits(const hl_port *inputs, size_t input_count, const hl_port *outputs,
                     size_t output_count, int64_t *ret_size, int64_t *ret_gridsize);

/* Appends it. INVALID_ARGUMENT for an opset below 13, or a network with values that are called as
 * these are ("physics/..."); OUT_OF_MEMORY. After a failure the graph is of no further use. */
hl_status hl_physics_append(hl_graph *network, const hl_physics *physics, hl_error *error);

#endif
