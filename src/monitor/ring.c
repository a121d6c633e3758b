#include "monitor/ring.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 64, MOST_LANES = 64 };

/* `turn` is the place at which the cell may be written, or that place + 1 when it may be read. */
typedef struct cell {
  _Atomic uint64_t turn;
  hl_inference record;
} cell;

/* Producers and the consumer write to different cache lines. */
typedef struct lane {
  _Alignas(LINE) _Atomic uint64_t tail; /* next place to write */
  _Atomic uint64_t dropped;
  _Alignas(LINE) _Atomic uint64_t head; /* next place to read; written by the consumer */
  _Alignas(LINE) cell *cells;
} lane;

struct hl_ring {
  size_t lane_count, lane_cells; /* powers of two */
  size_t turn;                   /* lane that the next drain begins with */
  lane *lanes;
  cell *cells;
};

static size_t power_of_two(size_t n) {
  size_t p = 1;
  while (p < n) p *= 2;
  return p;
}

hl_status hl_ring_new(size_t capacity, hl_ring **ret_ring, hl_error *error) {
  if (capacity < HL_RING_LEAST || capacity > HL_RING_MOST)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "%zu records in the ring; expected %d to %d",
                        capacity, HL_RING_LEAST, HL_RING_MOST);
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  size_t lanes = power_of_two(processors > 0 ? (size_t)processors : 1);
  if (lanes > MOST_LANES) lanes = MOST_LANES;
  while (lanes > 1 && capacity / lanes < HL_RING_LEAST / 2) lanes /= 2;
  hl_ring *ring = calloc(1, sizeof *ring);
  if (ring) {
    ring->lane_count = lanes;
    ring->lane_cells = power_of_two((capacity + lanes - 1) / lanes);
    ring->lanes = aligned_alloc(LINE, lanes * sizeof *ring->lanes);
    ring->cells = calloc(lanes * ring->lane_cells, sizeof *ring->cells);
  }
  if (!ring || !ring->lanes || !ring->cells) {
    hl_ring_free(ring);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a ring of %zu records", capacity);
  }
  memset(ring->lanes, 0, lanes * sizeof *ring->lanes);
  for (size_t i = 0; i < lanes; i++) {
    ring->lanes[i].cells = ring->cells + i * ring->lane_cells;
    for (size_t k = 0; k < ring->lane_cells; k++) atomic_init(&ring->lanes[i].cells[k].turn, k);
  }
  *ret_ring = ring;
  return HL_OK;
}

void hl_ring_free(hl_ring *ring) {
  if (!ring) return;
  free(ring->lanes);
  free(ring->cells);
  free(ring);
}

/* Threads are numbered as they come. */
static size_t thread_number(void) {
  static _Atomic size_t next = 1;
  static _Thread_local size_t mine;
  if (!mine) mine = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
  return mine;
}

hl_ring_answer hl_ring_push(hl_ring *ring, const hl_inference *record) {
  lane *to = &ring->lanes[thread_number() & (ring->lane_count - 1)];
  uint64_t place = atomic_load_explicit(&to->tail, memory_order_relaxed);
  for (;;) {
    cell *at = &to->cells[place & (ring->lane_cells - 1)];
    uint64_t turn = atomic_load_explicit(&at->turn, memory_order_acquire);
    if (turn == place) {
      if (!atomic_compare_exchange_weak_explicit(&to->tail, &place, place + 1, memory_order_relaxed,
                                                 memory_order_relaxed))
        continue;
      at->record = *record;
      /* Said once for each half of the ring, not by each push beyond it. */
      bool half = ((place + 1) & (ring->lane_cells / 2 - 1)) == 0;
      atomic_store_explicit(&at->turn, place + 1, memory_order_release);
      return half ? HL_RING_HALF : HL_RING_PUSHED; /* the ring may be gone by now */
    }
    if (turn < place) { /* its record of one round ago has not been read */
      atomic_fetch_add_explicit(&to->dropped, 1, memory_order_relaxed);
      return HL_RING_FULL;
    }
    place = atomic_load_explicit(&to->tail, memory_order_relaxed);
  }
}

static size_t drain_lane(const hl_ring *ring, lane *from, hl_inference *ret_records, size_t most) {
  uint64_t place = atomic_load_explicit(&from->head, memory_order_relaxed);
  size_t n = 0;
  for (; n < most; n++, place++) {
    cell *at = &from->cells[place & (ring->lane_cells - 1)];
    if (atomic_load_explicit(&at->turn, memory_order_acquire) != place + 1) break;
    ret_records[n] = at->record;
    atomic_store_explicit(&at->turn, place + ring->lane_cells, memory_order_release);
  }
  atomic_store_explicit(&from->head, place, memory_order_relaxed);
  return n;
}

size_t hl_ring_drain(hl_ring *ring, hl_inference *ret_records, size_t most) {
  size_t n = 0;
  /* Another lane first each time, so that none starves where `most` is reached. */
  size_t first = ring->turn++;
  for (size_t i = 0; i < ring->lane_count && n < most; i++)
    n += drain_lane(ring, &ring->lanes[(first + i) & (ring->lane_count - 1)], ret_records + n,
                    most - n);
  return n;
}

uint64_t hl_ring_pushed(const hl_ring *ring) {
  uint64_t sum = 0;
  for (size_t i = 0; i < ring->lane_count; i++)
    sum += atomic_load_explicit(&ring->lanes[i].tail, memory_order_relaxed);
  return sum;
}

uint64_t hl_ring_dropped(const hl_ring *ring) {
  uint64_t sum = 0;
  for (size_t i = 0; i < ring->lane_count; i++)
    sum += atomic_load_explicit(&ring->lanes[i].dropped, memory_order_relaxed);
  return sum;
}
