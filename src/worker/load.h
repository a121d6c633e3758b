/*
 * worker/load.h - the verb `load`: runs a load scenario and packs what it saw.
 *
 * The reply's bytes are the kept latencies (uint64), then the buckets of five histograms: latency,
 * queue, batch, serve, late, HL_HISTOGRAM_BUCKETS uint64 each. See docs/protocol.md.
 */
#ifndef HL_WORKER_LOAD_H
#define HL_WORKER_LOAD_H

#include "protocol/channel.h"
#include "worker/energy.h"
#include "worker/noise.h"
#include "workloads/load-inference.h"

/* The server of a worker; zeroed before its first load. Prepared anew where the request asks for
 * other instances or another largest batch. */
typedef struct hl_worker_load {
  hl_load_inference server;
  bool is_ready;
  uint32_t instances, max_batch;
} hl_worker_load;

/* Fills `reply`, what the machine did and used meanwhile (`noise`, `energy`) included, and
 * `ret_bytes` (malloc'ed). INVALID_ARGUMENT names a member out of range. */
hl_status hl_worker_load_run(hl_worker_load *load, const hl_inference *inference,
                             hl_worker_noise *noise, hl_worker_energy *energy,
                             const json_t *request, json_t *reply, void **ret_bytes,
                             size_t *ret_byte_count, hl_error *error);

#endif
