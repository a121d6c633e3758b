/*
 * worker/ranks.h - one of several workers that train together: what rank 0 is asked, all do.
 *
 *     hl_ranks ranks = {0};
 *     hl_ranks_join(path, &ranks, error);            (path NULL: alone, and all below does nothing)
 *     hl_ranks_share(&ranks, &message, error);       (rank 0's request, to all)
 *     status = hl_ranks_agree(&ranks, status, reply, error);
 *     hl_training_open(..., hl_ranks_training(&ranks), ...);
 *
 * Only rank 0 speaks the protocol. Numbers of a reply that are of all ranks together, such as
 * memory, are summed up. Call from one thread.
 */
#ifndef HL_WORKER_RANKS_H
#define HL_WORKER_RANKS_H

#include "peers/gradients.h"
#include "peers/peers.h"
#include "protocol/channel.h"
#include "workloads/training.h"

typedef struct hl_ranks {
  hl_peers *peers; /* NULL: alone */
  hl_peer_gradients *gradients;
  hl_training_peers training;
} hl_ranks;

hl_status hl_ranks_join(const char *path, hl_ranks *ranks, hl_error *error);

bool hl_ranks_speaks(const hl_ranks *ranks); /* alone, or rank 0 */

/* Rank 0 gives its message; the others get it. Attached bytes are not sent. */
hl_status hl_ranks_share(hl_ranks *ranks, hl_message *message, hl_error *error);

/* After a request: as hl_peers_agree; where all are fine, sums of rank 0's reply are filled in. */
hl_status hl_ranks_agree(hl_ranks *ranks, hl_status status, json_t *reply, hl_error *error);

/* Threads of a configuration are of all ranks together: this one's part, at least one. */
void hl_ranks_threads(const hl_ranks *ranks, hl_configuration *configuration);

/* For hl_training_open; NULL: alone. */
const hl_training_peers *hl_ranks_training(const hl_ranks *ranks);

#endif
