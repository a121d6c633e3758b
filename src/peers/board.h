/*
 * peers/board.h - what each rank does just now, in memory that all ranks of a host see.
 *
 *     hl_peers_board(peers, &board, error);                (collective)
 *     hl_board_mark(board, hl_peers_rank(peers), step, HL_BOARD_COMPUTES);
 *     hl_board_late(board, peers, &text);                  (from any thread, also while MPI waits)
 *
 * A rank that hangs cannot tell it, and MPI cannot be asked by a rank that waits in it.
 */
#ifndef HL_PEERS_BOARD_H
#define HL_PEERS_BOARD_H

#include "base/text.h"
#include "peers/peers.h"

typedef enum hl_board_state {
  HL_BOARD_COMPUTES,
  HL_BOARD_WAITS /* for other ranks, or for a request */
} hl_board_state;

typedef struct hl_board hl_board; /* as long-lived as the process */

/* UNAVAILABLE where ranks are on several hosts. */
hl_status hl_peers_board(hl_peers *peers, hl_board **ret_board, hl_error *error);

/* `step` is the step at work, 0 before the first. */
void hl_board_mark(hl_board *board, int64_t rank, int64_t step, hl_board_state state);

/* Appends which ranks the others wait for: "rank 1 (process 7 on HOST) has computed in step 3 for
 * 4.2 s while the others wait for it". And which are stopped by a signal, computing or not. The
 * first four by name. Nothing where neither is. */
void hl_board_late(const hl_board *board, const hl_peers *peers, hl_text *out);

#endif
