/*
 * workloads/layer-costs.h - what each node of a model computes and moves, by its definition.
 *
 *     hl_layer_costs *costs;
 *     hl_layer_costs_new(file, configuration, images, &costs, error);
 *     const hl_layer_cost *cost = hl_layer_costs_take(costs, "layer1.0.conv1");
 *     hl_layer_costs_free(costs);
 *
 * For engines that tell when an operator ran and not what it did.
 */
#ifndef HL_WORKLOADS_LAYER_COSTS_H
#define HL_WORKLOADS_LAYER_COSTS_H

#include "workloads/model-file.h"

typedef struct hl_layer_cost {
  const char *layer; /* as hl_node_layer calls it */
  double flops;      /* nominal, as hl_graph_flops counts them */
  double bytes;      /* of all that it reads and gives, by shapes */
  uint64_t taken;    /* in which round */
} hl_layer_cost;

typedef struct hl_layer_costs hl_layer_costs;

/* For a batch of so many images. UNIMPLEMENTED for a model whose graph is not known; what reading
 * a model gives. */
hl_status hl_layer_costs_new(const hl_model_file *file, const hl_configuration *configuration,
                             int64_t images, hl_layer_costs **ret_costs, hl_error *error);
void hl_layer_costs_free(hl_layer_costs *costs); /* NULL is allowed */

/* The layer that an engine's `name` for an operator of `kind` means, the costs' own text, or NULL:
 * a layer's name with or without OpenVINO's "/WithoutBiases" and ONNX Runtime's "_nchwc"; or, as
 * ONNX Runtime calls what it has fused, the name of a value, which means the nearest node of that
 * kind before it, else the node that makes it. `costs` NULL: none. */
const char *hl_layer_costs_layer(const hl_layer_costs *costs, const char *name, const char *kind);

/* NULL where there is no such layer, and where it was taken since the last `again`: what runs as
 * several operators, or one within another, is one layer's work. `costs` NULL: none. */
const hl_layer_cost *hl_layer_costs_take(hl_layer_costs *costs, const char *layer);
void hl_layer_costs_again(hl_layer_costs *costs);

#endif
