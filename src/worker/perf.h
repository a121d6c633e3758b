/*
 * worker/perf.h - what the worker says of hardware counters, where the runner asked for them.
 *
 *     hl_worker_perf perf = {0};
 *     hl_worker_perf_open(&perf, NULL, reply, error);     // before engines start threads
 *     hl_worker_perf_begin(&perf);
 *     ... steps ...
 *     hl_worker_perf_end(&perf, reply);
 *
 * Without the first call begin does nothing, and end answers null.
 */
#ifndef HL_WORKER_PERF_H
#define HL_WORKER_PERF_H

#include "machine/perf-events.h"
#include <jansson.h>

typedef struct hl_worker_perf {
  bool is_open;
  hl_perf perf;
  hl_perf_reading before;
} hl_worker_perf;

/* Adds scope and reason. INVALID_ARGUMENT the second time. `root`: see machine/sysfs.h. */
hl_status hl_worker_perf_open(hl_worker_perf *perf, const char *root, json_t *reply,
                              hl_error *error);
/* Around a slice. Adds counters and counters_running. */
void hl_worker_perf_begin(hl_worker_perf *perf);
void hl_worker_perf_end(hl_worker_perf *perf, json_t *reply);

#endif
