/*
 * peers/transport.h - what a message-passing library gives: a table of functions.
 *
 * A shared object of its own exports hl_transport_entry, so that hotlap runs where no such library
 * is (peers/mpi.c is the one for MPI). Processes are ranks 0 to count - 1. Functions marked
 * collective are called by every rank in the same order, all of them from one thread. Waiting gives
 * the processor away: there may be more ranks than processors.
 */
#ifndef HL_PEERS_TRANSPORT_H
#define HL_PEERS_TRANSPORT_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>

#define HL_TRANSPORT_ABI 1

typedef struct hl_transport_ops {
  uint32_t abi, size;

  /* Meets the others; once in a process. Collective. */
  hl_status (*join)(int64_t *ret_rank, int64_t *ret_count, hl_error *error);

  /* The library and its version, for people. */
  const char *(*version)(void);

  /* Bytes of rank 0, to all. Collective. */
  hl_status (*broadcast)(void *bytes, size_t count, hl_error *error);

  /* `bytes` of each rank, one behind the other, to all. Collective. */
  hl_status (*gather)(const void *mine, size_t bytes, void *ret_all, hl_error *error);

  /* Begins to sum up values over the ranks, in place; they stay where they are, untouched, until
   * sum_test says that all which were begun are done. Every rank gets the same bits, in each run
   * with as many ranks. Collective, but does not wait. */
  hl_status (*sum_begin)(float *values, size_t count, hl_error *error);
  hl_status (*sum_test)(bool *ret_done, hl_error *error);

  /* Tells the others, who may wait for sums, that this rank's will not come; and looks whether one
   * has told so. */
  hl_status (*warn)(hl_error *error);
  hl_status (*warned)(bool *ret_warned, hl_error *error);

  /* Memory that all ranks see, zeroed, from the beginning of a cache line on. UNAVAILABLE where
   * they are on several hosts. Collective. */
  hl_status (*share)(size_t bytes, void **ret_memory, hl_error *error);
} hl_transport_ops;

typedef const hl_transport_ops *(*hl_transport_entry_fn)(void);

#endif
