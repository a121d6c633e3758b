/*
 * worker/device.h - what the worker says of the GPUs that its row runs on.
 *
 *     hl_worker_device device = {0};
 *     hl_worker_device_open(&device, "cuda:0", reply, error);
 *     hl_worker_device_begin(&device); ... steps ... hl_worker_device_end(&device, reply);
 *
 * On another device than CUDA's everything here does nothing and adds nothing to a reply.
 */
#ifndef HL_WORKER_DEVICE_H
#define HL_WORKER_DEVICE_H

#include "machine/gpu-watch.h"
#include "workloads/inference.h"
#include <jansson.h>

typedef struct hl_worker_device {
  hl_gpu_watch *watch; /* NULL: not a device of CUDA's */
  int first;           /* CUDA's number of the first device */
} hl_worker_device;

/* Adds device_name. UNAVAILABLE where the device is not here. */
hl_status hl_worker_device_open(hl_worker_device *device, const char *name, json_t *reply,
                                hl_error *error);
/* Just before the model is loaded. Adds device_idle_w. */
void hl_worker_device_start(hl_worker_device *device, json_t *reply);
/* Around a slice. Adds device_s, device_energy_j, device_clock_mhz, device_temperature_c and
 * device_reasons. */
void hl_worker_device_begin(hl_worker_device *device);
void hl_worker_device_end(hl_worker_device *device, json_t *reply);
/* Adds device_bytes, device_peak_bytes and device_of_process. */
void hl_worker_device_memory(hl_worker_device *device, json_t *reply);
/* Runs the request's `steps` full steps between two events each. Adds device_ms, a list; none where
 * the engine shows no stream. INVALID_ARGUMENT. */
hl_status hl_worker_device_time(hl_worker_device *device, hl_inference *inference,
                                const json_t *request, json_t *reply, hl_error *error);

#endif
