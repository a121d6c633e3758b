/*
 * machine/cuda.h - CUDA's driver interface, opened at run time: devices in CUDA's own order, and
 * events on a stream.
 *
 *     hl_cuda *cuda;
 *     hl_cuda_device device;
 *     if (hl_cuda_open(NULL, &cuda, error) == HL_OK &&
 *         hl_cuda_describe(cuda, 0, &device, error) == HL_OK)
 *       puts(device.name);
 *     hl_cuda_close(cuda);
 *
 * Declarations are our own, by NVIDIA's reference. CUDA itself reads CUDA_VISIBLE_DEVICES and
 * CUDA_DEVICE_ORDER. Not to be used in a process that forks afterwards. Not thread-safe.
 */
#ifndef HL_MACHINE_CUDA_H
#define HL_MACHINE_CUDA_H

#include "base/error.h"
#include <stdint.h>

typedef struct hl_cuda hl_cuda;

typedef struct hl_cuda_device {
  char name[96];
  char bus_id[32]; /* "0000:1a:00.0"; "" if unknown */
  uint64_t memory_bytes;
} hl_cuda_device;

/* `path` NULL: libcuda.so.1 as the loader finds it. UNAVAILABLE: why it cannot be used. */
hl_status hl_cuda_open(const char *path, hl_cuda **ret_cuda, hl_error *error);
void hl_cuda_close(hl_cuda *cuda); /* NULL is allowed */

/* UNAVAILABLE, with how many there are, for a number beyond them. */
hl_status hl_cuda_describe(const hl_cuda *cuda, int ordinal, hl_cuda_device *ret_device,
                           hl_error *error);

/* Memory of a device in use by anybody. Makes the device's primary context, the one that the CUDA
 * runtime uses, which takes some hundred megabytes of its memory where it is not there yet. */
hl_status hl_cuda_used_bytes(hl_cuda *cuda, int ordinal, uint64_t *ret_bytes, hl_error *error);

/* A pair of events that bounds what is submitted to a stream in between. */
typedef struct hl_cuda_timer {
  void *begin, *end;
} hl_cuda_timer;

/* In the primary context of a device, which becomes the calling thread's. */
hl_status hl_cuda_timer_new(hl_cuda *cuda, int ordinal, hl_cuda_timer *ret_timer, hl_error *error);
/* Puts the first or the second event into `stream`, a CUstream. */
hl_status hl_cuda_timer_begin(hl_cuda *cuda, const hl_cuda_timer *timer, void *stream,
                              hl_error *error);
hl_status hl_cuda_timer_end(hl_cuda *cuda, const hl_cuda_timer *timer, void *stream,
                            hl_error *error);
/* Waits for the second event; milliseconds between the two, resolution about half a microsecond. */
hl_status hl_cuda_timer_read(hl_cuda *cuda, const hl_cuda_timer *timer, double *ret_ms,
                             hl_error *error);
void hl_cuda_timer_release(hl_cuda *cuda, hl_cuda_timer *timer);

#endif
