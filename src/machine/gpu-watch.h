/*
 * machine/gpu-watch.h - what the GPUs of one row do while it is measured.
 *
 *     hl_gpu_watch *watch;
 *     if ((status = hl_gpu_watch_open((int[]){0}, 1, &watch, error))) return status;
 *     hl_gpu_watch_start(watch);
 *     ... load, prepare ...
 *     hl_gpu_watch_begin(watch);
 *     ... steps ...
 *     hl_gpu_slice slice;
 *     hl_gpu_watch_end(watch, &slice);
 *     hl_gpu_watch_close(watch);
 *
 * A thread asks each GPU every 100 ms, and begin, end and memory ask it once more; the calls take a
 * lock and belong outside of what is timed. So a peak of memory is the largest of these samples:
 * one that lasts shorter may be missed. Several GPUs: memory, energy and power are sums, clocks a
 * mean, the temperature that of the hottest.
 */
#ifndef HL_MACHINE_GPU_WATCH_H
#define HL_MACHINE_GPU_WATCH_H

#include "machine/cuda.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct hl_gpu_watch hl_gpu_watch;

/* Opens CUDA, and the management library where it is, for CUDA's devices of these numbers, 16 at
 * most. UNAVAILABLE says which is not there, or why there is no CUDA. */
hl_status hl_gpu_watch_open(const int *ordinals, size_t count, hl_gpu_watch **ret_watch,
                            hl_error *error);
void hl_gpu_watch_close(hl_gpu_watch *watch); /* NULL is allowed */

/* Names of the devices: "NVIDIA H100", or of several "2 x NVIDIA H100", "A + B". */
const char *hl_gpu_watch_name(const hl_gpu_watch *watch);
hl_cuda *hl_gpu_watch_cuda(hl_gpu_watch *watch);

/* Takes the memory in use now for the baseline, and starts the thread. */
void hl_gpu_watch_start(hl_gpu_watch *watch);

/* Power drawn just before start, watts; NaN: unknown. */
double hl_gpu_watch_idle_w(const hl_gpu_watch *watch);

typedef struct hl_gpu_slice {
  double seconds;
  double energy_j, clock_mhz, temperature_c; /* NaN: unknown */
  uint64_t reasons;                          /* all that were seen: see hl_gpu_reasons_text */
  bool reasons_known;
} hl_gpu_slice;
void hl_gpu_watch_begin(hl_gpu_watch *watch);
void hl_gpu_watch_end(hl_gpu_watch *watch, hl_gpu_slice *ret_slice);

typedef struct hl_gpu_memory {
  uint64_t bytes, peak_bytes; /* now and at most since start; UINT64_MAX: unknown */
  bool of_process; /* false: what the whole device has in use, less what it had before start */
} hl_gpu_memory;
void hl_gpu_watch_memory(hl_gpu_watch *watch, hl_gpu_memory *ret_memory);

#endif
