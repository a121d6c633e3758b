/*
 * peers/gradients.h - the mean of the ranks' gradients, summed up while backward goes on.
 *
 *     hl_peer_gradients *gradients;
 *     hl_peer_gradients_new(hl_peers_ops(peers), count, HL_PEER_BUCKET_BYTES, &gradients, error);
 *     hl_peer_gradients_ready(gradients, view, error);       (as each is complete)
 *     hl_peer_gradients_wait(gradients, error);              (before the first is used)
 *     hl_peer_gradients_times(gradients, &times);            (of this step, and starts the next)
 *
 * Small gradients are copied into buckets, and a bucket's sum begins when it is full, as torch's
 * DistributedDataParallel does it (Li et al., VLDB 2020); large ones are summed up where they lie.
 * MPI goes on with a sum only while it is called: that is at each gradient that is ready, and in
 * the wait. Every rank gives the same gradients in the same order. Not thread-safe.
 */
#ifndef HL_PEERS_GRADIENTS_H
#define HL_PEERS_GRADIENTS_H

#include "peers/transport.h"

#define HL_PEER_BUCKET_BYTES ((size_t)1 << 20)

typedef struct hl_peer_gradients hl_peer_gradients;

/* What a step's reduction took. */
typedef struct hl_peer_times {
  uint64_t reduce_ns;  /* from the first sum's begin until all are done */
  uint64_t exposed_ns; /* of that, in hl_peer_gradients_wait: nothing else was done */
  uint64_t ready_ns;   /* in hl_peer_gradients_ready: copying, beginning and moving sums on */
  uint64_t bytes;      /* of gradients */
  uint64_t sums;       /* begun */
  uint64_t checksum;   /* of the sums' bits: equal on all ranks that got the same */
} hl_peer_times;

hl_status hl_peer_gradients_new(const hl_transport_ops *ops, int64_t count, size_t bucket_bytes,
                                hl_peer_gradients **ret_gradients, hl_error *error);
void hl_peer_gradients_free(hl_peer_gradients *gradients); /* NULL is fine */

/* UNIMPLEMENTED for a gradient that is not float32. */
hl_status hl_peer_gradients_ready(hl_peer_gradients *gradients, const hl_tensor_view *gradient,
                                  hl_error *error);

/* INTERRUPTED where another rank has said that it fails. */
hl_status hl_peer_gradients_wait(hl_peer_gradients *gradients, hl_error *error);

/* From here on both do nothing: this rank has failed, and the others do not wait for it. */
void hl_peer_gradients_silence(hl_peer_gradients *gradients);

void hl_peer_gradients_times(hl_peer_gradients *gradients, hl_peer_times *ret_times);

#endif
