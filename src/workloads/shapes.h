/*
 * workloads/shapes.h - where a model's batch is, and what its other open dimensions are.
 *
 *     int32_t axes[HL_INPUTS_MAX];
 *     hl_shapes_resolve(graph, "bert.onnx", shapes, count, axes, &fixed, error);
 *     hl_shapes_bind_batch(graph, axes, 8, error);
 *     hl_graph_infer(graph, error);
 *
 * The batch is, for each input,
 *   1. where its --input-shape has B;
 *   2. else the open dimension with the name of a batch: "batch", "batch_size", "bs", "N", "B", or
 *      a name that begins with "batch"; or with the symbol that rule 1 made the batch;
 *   3. else its first dimension, if that is open and no dimension is the batch by name.
 * A number in --input-shape fixes an open dimension; a 1 where rules 2 and 3 see the batch is the
 * batch. Dimensions of one name are one number everywhere. What is open then is an error, which
 * holds the option to add.
 *
 * Where no input has an open batch, the batch is fixed: the first dimension, if that is the same
 * number in all inputs that have dimensions and no --input-shape; else 1, and a step is one run of
 * the whole network. Inputs without a batch are fed the same data in each step.
 */
#ifndef HL_WORKLOADS_SHAPES_H
#define HL_WORKLOADS_SHAPES_H

#include "graph/graph.h"
#include "plan/configuration.h"

#define HL_INPUTS_MAX 64

/* Gives the graph's inputs every dimension but the batch, which becomes -1. `ret_axes`, with room
 * for HL_INPUTS_MAX, receives the axis of the batch in each input, -1 for none; `ret_fixed_batch`
 * is 0, or the batch that the model has fixed (then no dimension is left open). Errors begin with
 * `model` and hold the option to add. */
hl_status hl_shapes_resolve(hl_graph *graph, const char *model, const hl_input_shape *shapes,
                            size_t count, int32_t *ret_axes, int64_t *ret_fixed_batch,
                            hl_error *error);

/* Sets the batch of a resolved graph whose batch is not fixed; may be called again. */
void hl_shapes_bind_batch(hl_graph *graph, const int32_t *axes, int64_t batch);

#endif
