#include "peers/board.h"

#include "base/clock.h"
#include "base/process.h"
#include <inttypes.h>
#include <stdatomic.h>

enum { most_named = 4 };

/* A cache line each. */
typedef struct mark {
  _Alignas(64) _Atomic(int64_t) step;
  _Atomic(int64_t) state;
  _Atomic(uint64_t) since_ns; /* of hl_clock_ns, which all processes of a host share */
} mark;

struct hl_board {
  mark marks[1]; /* one for each rank */
};

hl_status hl_peers_board(hl_peers *peers, hl_board **ret_board, hl_error *error) {
  void *memory = NULL;
  hl_status status =
      hl_peers_ops(peers)->share((size_t)hl_peers_count(peers) * sizeof(mark), &memory, error);
  *ret_board = memory;
  return status;
}

void hl_board_mark(hl_board *board, int64_t rank, int64_t step, hl_board_state state) {
  mark *m = &board->marks[rank];
  atomic_store_explicit(&m->step, step, memory_order_relaxed);
  atomic_store_explicit(&m->state, state, memory_order_relaxed);
  atomic_store_explicit(&m->since_ns, hl_clock_ns(), memory_order_relaxed);
}

static bool computes(const hl_board *board, int64_t rank) {
  return atomic_load_explicit(&board->marks[rank].state, memory_order_relaxed) == HL_BOARD_COMPUTES;
}

void hl_board_late(const hl_board *board, const hl_peers *peers, hl_text *out) {
  int64_t count = hl_peers_count(peers), busy = 0, named = 0;
  for (int64_t r = 0; r < count; r++) busy += computes(board, r);
  for (int64_t r = 0; r < count; r++) {
    const mark *m = &board->marks[r];
    uint64_t since = atomic_load_explicit(&m->since_ns, memory_order_relaxed);
    int64_t step = atomic_load_explicit(&m->step, memory_order_relaxed);
    const hl_peer *member = hl_peers_member(peers, r);
    uint64_t now = hl_clock_ns(); /* after `since` was read: a rank that lives writes it anew */
    bool stopped = hl_process_is_stopped(member->pid);
    bool awaited = computes(board, r) && busy < count;
    if ((!stopped && !awaited) || ++named > most_named) continue;
    hl_text_format(out, "%srank %" PRId64 " (process %" PRId64 " on %s) ", out->length ? "; " : "",
                   r, member->pid, member->host);
    if (stopped) hl_text_append(out, "is stopped by a signal");
    if (!awaited) continue;
    hl_text_append(out, stopped ? " and has computed " : "has computed ");
    if (step > 0) hl_text_format(out, "in step %" PRId64 " ", step);
    hl_text_format(out, "for %.3g s while others wait",
                   now > since ? (double)(now - since) / 1e9 : 0.0);
  }
  if (named > most_named) hl_text_format(out, "; and %" PRId64 " more", named - most_named);
}
