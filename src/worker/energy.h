/*
 * worker/energy.h - what the worker says of the energy of the machine's processor.
 *
 *     hl_worker_energy energy = {0};
 *     hl_worker_energy_open(&energy, NULL, error);
 *     hl_worker_energy_idle(&energy, request, reply);              (verb load)
 *     hl_worker_energy_begin(&energy); ... steps ... hl_worker_energy_end(&energy, reply);
 */
#ifndef HL_WORKER_ENERGY_H
#define HL_WORKER_ENERGY_H

#include "machine/energy-watch.h"
#include <jansson.h>

typedef struct hl_worker_energy {
  hl_energy_watch *watch; /* NULL: not open */
} hl_worker_energy;

/* `root`: see machine/sysfs.h; it has to stay. */
hl_status hl_worker_energy_open(hl_worker_energy *energy, const char *root, hl_error *error);
/* Just before the model is loaded: waits for as long as `idle_ms` of the request asks, where energy
 * can be counted, and adds idle_w. INVALID_ARGUMENT beyond a minute. */
hl_status hl_worker_energy_idle(hl_worker_energy *energy, const json_t *request, json_t *reply,
                                hl_error *error);
/* Around a slice. Adds energy_s, energy_j, dram_energy_j and energy_reason. */
void hl_worker_energy_begin(hl_worker_energy *energy);
void hl_worker_energy_end(hl_worker_energy *energy, json_t *reply);

#endif
