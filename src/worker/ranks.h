/*
 * worker/ranks.h - one of several workers that train together: what rank 0 is asked, all do.
 *
 *     hl_ranks ranks = {0};
 *     hl_ranks_join(path, &ranks, error);            (path NULL: alone, and all below does nothing)
 *     hl_ranks_next(&ranks, &control, &message, error);       (rank 0's request, to all)
 *     status = hl_ranks_agree(&ranks, status, reply, error);
 *     hl_training_open(..., hl_ranks_training(&ranks), ...);
 *
 * Only rank 0 speaks the protocol. Numbers of a reply that are of all ranks together, such as
 * memory, are summed up. Call from one thread.
 */
#ifndef HL_WORKER_RANKS_H
#define HL_WORKER_RANKS_H

#include "peers/board.h"
#include "peers/gradients.h"
#include "peers/peers.h"
#include "worker/control.h"
#include "workloads/training.h"

typedef struct hl_ranks {
  hl_peers *peers; /* NULL: alone */
  hl_peer_gradients *gradients;
  hl_board *board; /* NULL: on several hosts */
  int64_t step;
  hl_training_peers training;
} hl_ranks;

/* Opens the transport at `path` and meets the others. All lives as long as the process. Collective;
 * errors of hl_peers_join. */
hl_status hl_ranks_join(const char *path, hl_ranks *ranks, hl_error *error);

bool hl_ranks_speaks(const hl_ranks *ranks); /* alone, or rank 0 */

/* The runner's next request, or what rank 0 passes on of it: attached bytes are not. */
hl_status hl_ranks_next(hl_ranks *ranks, hl_control *control, hl_message *ret_message,
                        hl_error *error);

/* After a request: as hl_peers_agree; where all are fine, sums of rank 0's reply are filled in. */
hl_status hl_ranks_agree(hl_ranks *ranks, hl_status status, json_t *reply, hl_error *error);

/* Threads of a configuration are of all ranks together: this one's part, at least one. */
void hl_ranks_threads(const hl_ranks *ranks, hl_configuration *configuration);

/* What rank 0 has to say when its deadline is over: which rank the others wait for, to standard
 * error. From any thread. */
void hl_ranks_tell_late(void *ranks);

/* Who the ranks are, and what each one's step took, into a reply. */
void hl_ranks_describe(const hl_ranks *ranks, json_t *reply);
void hl_ranks_report(const hl_ranks *ranks, const hl_training *training, json_t *reply);

/* For hl_training_open; NULL: alone. */
const hl_training_peers *hl_ranks_training(const hl_ranks *ranks);

#endif
