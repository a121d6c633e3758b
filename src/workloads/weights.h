/*
 * workloads/weights.h - a look at all weights of a model: whether they are numbers, and a checksum.
 */
#ifndef HL_WORKLOADS_WEIGHTS_H
#define HL_WORKLOADS_WEIGHTS_H

#include "graph/graph.h"

/* Adds the weights, also those of external files, to `*hash`; `ret_problem` (free() it) is NULL, or
 * names the first initialiser that holds NaN. Infinities are left alone: masks are made of them.
 * Reads every weight once. OUT_OF_MEMORY. */
hl_status hl_weights_examine(const hl_graph *graph, uint64_t *hash, char **ret_problem,
                             hl_error *error);

#endif
