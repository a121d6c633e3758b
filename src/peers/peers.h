/*
 * peers/peers.h - the processes that train one network together.
 *
 *     hl_peers *peers;
 *     hl_peers_join("/usr/lib/hotlap/hotlap-peers-mpi.so", &peers, error);
 *     hl_peers_rank(peers), hl_peers_count(peers)
 *     ...
 *     status = hl_peers_agree(peers, status, error);     (one's failure is everybody's)
 *
 * Every rank calls the functions marked collective in the same order. Gradients are in
 * peers/gradients.h. Call from one thread.
 */
#ifndef HL_PEERS_PEERS_H
#define HL_PEERS_PEERS_H

#include "peers/transport.h"

/* A process, as it names itself. */
typedef struct hl_peer {
  int64_t pid;
  char host[64];
} hl_peer;

typedef struct hl_peers hl_peers;

/* Opens the object, which is never closed, and meets the others. UNAVAILABLE says why it cannot be
 * opened. Collective. */
hl_status hl_peers_join(const char *path, hl_peers **ret_peers, hl_error *error);
/* The same with a table that is there already. */
hl_status hl_peers_join_by(const hl_transport_ops *ops, hl_peers **ret_peers, hl_error *error);
void hl_peers_free(hl_peers *peers); /* NULL is fine; nobody is told */

int64_t hl_peers_rank(const hl_peers *peers);
int64_t hl_peers_count(const hl_peers *peers);
const hl_peer *hl_peers_member(const hl_peers *peers, int64_t rank);
const hl_transport_ops *hl_peers_ops(const hl_peers *peers);

/* Rank 0's text to all: `text` of rank 0 is sent, the others' is set; free() it. Collective. */
hl_status hl_peers_tell(hl_peers *peers, char **text, hl_error *error);

/* `bytes` of each, one behind the other. Collective. */
hl_status hl_peers_gather(hl_peers *peers, const void *mine, size_t bytes, void *ret_all,
                          hl_error *error);

/* OK where all are. Else all get the failure of the first rank that has one of its own, which is
 * named: INTERRUPTED is none, and what all say in the same words needs no name. Collective. */
hl_status hl_peers_agree(hl_peers *peers, hl_status status, hl_error *error);

#endif
