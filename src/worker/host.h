/*
 * worker/host.h - the services that a worker gives to its engine (hl_host), and what the engine
 * said through them. Main thread only, but for the log.
 */
#ifndef HL_WORKER_HOST_H
#define HL_WORKER_HOST_H

#include "protocol/channel.h"

/* As long as the process lives; its `prefixes` are for the worker to set. */
hl_host *hl_worker_host(void);

/* Puts the notes since the last reply into `reply`, and with `failure` (else NULL) its status and
 * message: whole where the hook gave more than an error holds. */
void hl_worker_host_reply(json_t *reply, const hl_error *failure);

#endif
