/*
 * worker/train.h - the verb `train`: steps of training, sent as they are.
 *
 *     hl_worker_train train = {0};
 *     hl_worker_train_configured(&train, reply);
 *     status = hl_worker_train_run(&train, &noise, &energy, request, reply, &bytes, &n, error);
 */
#ifndef HL_WORKER_TRAIN_H
#define HL_WORKER_TRAIN_H

#include "worker/energy.h"
#include "worker/noise.h"
#include "workloads/training.h"

typedef struct hl_worker_train {
  hl_training training;
  hl_train_step *steps; /* of a slice */
  hl_status failed;     /* of a step after those that were sent: the next request's answer */
  hl_error failure;
} hl_worker_train;

/* What the reply to configure says besides. */
void hl_worker_train_configured(const hl_worker_train *train, json_t *reply);

/* Runs a slice: the members of docs/protocol.md. */
hl_status hl_worker_train_run(hl_worker_train *train, hl_worker_noise *noise,
                              hl_worker_energy *energy, const json_t *request, json_t *reply,
                              void **ret_bytes, size_t *ret_byte_count, hl_error *error);

/* hotlap's own time per step in nanoseconds, as of hl_timed_overhead: the whole step with the null
 * engine, a loader with nothing to read and targets of zeros, which are checked. Without what other
 * ranks add. About 4 ms. For a training that is loaded and not yet prepared. */
hl_status hl_worker_train_overhead(const hl_training *training, double *ret_ns, hl_error *error);

#endif
