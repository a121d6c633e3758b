/*
 * workloads/feed.h - steps of a network whose pictures are loaded while it runs.
 *
 * A row's own steps walk through pictures that lie in memory, so that they measure the network.
 * These measure what a user gets whose data do not: each batch is read, decoded and transformed by
 * a loader's threads while the batch before is computed.
 */
#ifndef HL_WORKLOADS_FEED_H
#define HL_WORKLOADS_FEED_H

#include "workloads/inference.h"

typedef struct hl_feed_spec {
  int threads;     /* of the loader; 0: batches are loaded between the steps */
  uint64_t max_ns; /* no step begins later than that, but for the first */
} hl_feed_spec;

typedef struct hl_feed_result {
  uint64_t steps, images; /* of full batches, behind a first one that is not counted */
  uint64_t elapsed_ns;
  uint64_t wait_ns; /* of that, without a batch */
  uint64_t work_ns; /* of the loader's threads, for these batches */
} hl_feed_result;

/* Whether the data of `inference` are pictures of a folder. */
bool hl_feed_is_possible(const hl_inference *inference);

/* Bytes that it needs besides what is there. */
uint64_t hl_feed_bytes(const hl_inference *inference);

/* After prepare; the next step of the row is the first of a pass. Errors of the loader and of the
 * engine; OUT_OF_MEMORY. */
hl_status hl_feed_run(hl_inference *inference, const hl_feed_spec *spec, hl_feed_result *ret_result,
                      hl_error *error);

#endif
