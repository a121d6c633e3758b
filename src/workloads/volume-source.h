/*
 * workloads/volume-source.h - patches of volumes, for a loader.
 *
 *     hl_source *source;
 *     hl_source_of_volumes(set, &input, &target, &source, error);         (takes the set)
 *     const hl_loader_spec spec = {.source = source,
 *                                  .transform = hl_volume_source_cut,
 *                                  .transform_context = source->context,
 *                                  .ports = hl_volume_source_ports(source), ...};
 *
 * A sample is one patch of one volume: a volume has as many samples as its recipe has patches. The
 * source lends the volume as it is prepared, whole; the loader's transform cuts a patch at a random
 * place and changes it at random, by the seed of the sample in the epoch. A volume is read and
 * prepared when it is first wanted and kept, as CytoDL's cache does it: 8 GiB of them at most.
 */
#ifndef HL_WORKLOADS_VOLUME_SOURCE_H
#define HL_WORKLOADS_VOLUME_SOURCE_H

#include "data/source.h"
#include "workloads/volume-set.h"

/* Whether a network of these two ports can be trained with patches: each float32 with one channel,
 * (batch, 1, z, y, x) or (batch, 1, y, x), equal in shape. */
bool hl_volume_ports_fit(const hl_port *input, const hl_port *target);

/* The patch that an input takes, which must fit as above. */
hl_volume_shape hl_volume_port_patch(const hl_port *input);

/* Owns `set` from now on, also on failure. `input` and `target` have a batch dimension first; their
 * names are copied. OUT_OF_MEMORY. */
hl_status hl_source_of_volumes(hl_volume_set *set, const hl_port *input, const hl_port *target,
                               hl_source **ret_source, hl_error *error);

/* An hl_loader_transform, whose context is that of the source. INVALID_ARGUMENT where the patch
 * does not fit into the volume. */
hl_status hl_volume_source_cut(void *context, uint64_t seed, const hl_tensor_view *sample,
                               const hl_tensor_view *values, hl_error *error);

/* What that makes: two ports, as long as the source. */
const hl_source_port *hl_volume_source_ports(const hl_source *source);

#endif
