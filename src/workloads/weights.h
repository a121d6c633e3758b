/*
 * workloads/weights.h - a look at all weights of a model: whether they are finite, and a checksum.
 */
#ifndef HL_WORKLOADS_WEIGHTS_H
#define HL_WORKLOADS_WEIGHTS_H

#include "graph/graph.h"

/* Adds the weights, also those of external files, to `*hash`. `ret_nan` and `ret_infinite` (free()
 * them) are NULL, or sentences that name the first initialiser with NaN, and the first with +Inf
 * that has dimensions: a single +Inf is a limit of Clip, and -Inf is what masks are made of. Reads
 * every weight once. OUT_OF_MEMORY. */
hl_status hl_weights_examine(const hl_graph *graph, uint64_t *hash, char **ret_nan,
                             char **ret_infinite, hl_error *error);

#endif
