/*
 * monitor/ring.h - a bounded queue of records, from any number of threads to one.
 *
 *     hl_ring *ring;
 *     if ((status = hl_ring_new(65536, &ring, error))) return status;
 *     bool fits = hl_ring_push(ring, &record);       // any thread: no lock, no call of the kernel
 *     size_t n = hl_ring_drain(ring, records, most); // one thread
 *     hl_ring_free(ring);
 *
 * As many rings as processors, each a queue of cells with sequence numbers (D. Vyukov, Bounded MPMC
 * queue, 2010). A thread keeps to one of them by its number, so that threads on different
 * processors rarely meet; where there are more threads than rings they share, which is correct and
 * slower. A thread that is stopped within a push holds up what comes behind it in its ring and
 * nothing else. Records of one thread come out in their order; those of several are sorted by the
 * caller, by time.
 */
#ifndef HL_MONITOR_RING_H
#define HL_MONITOR_RING_H

#include "base/error.h"
#include <stdbool.h>

typedef struct hl_inference {
  uint64_t time_ns; /* CLOCK_REALTIME */
  double elapsed_s;
  double memory_mb; /* NaN: unknown */
  uint32_t batch_size;
} hl_inference;

typedef struct hl_ring hl_ring;

enum { HL_RING_LEAST = 64, HL_RING_MOST = 1 << 24 };

/* `capacity` records, rounded up to a power of two a ring. OUT_OF_MEMORY. */
hl_status hl_ring_new(size_t capacity, hl_ring **ret_ring, hl_error *error);
void hl_ring_free(hl_ring *ring);

typedef enum hl_ring_answer {
  HL_RING_FULL,   /* the record is dropped */
  HL_RING_PUSHED, /* it is in the ring */
  HL_RING_HALF    /* the same, and the ring is half full: time to drain */
} hl_ring_answer;
hl_ring_answer hl_ring_push(hl_ring *ring, const hl_inference *record);

/* Takes at most `most` records out; how many. */
size_t hl_ring_drain(hl_ring *ring, hl_inference *ret_records, size_t most);

/* How many records have been pushed and dropped. Exact once no thread is within a push. */
uint64_t hl_ring_pushed(const hl_ring *ring);
uint64_t hl_ring_dropped(const hl_ring *ring);

#endif
