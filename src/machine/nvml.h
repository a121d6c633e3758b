/*
 * machine/nvml.h - NVIDIA's management library, opened at run time: what GPUs there are, and what
 * one does now.
 *
 *     hl_nvml *nvml;
 *     if (hl_nvml_open(NULL, &nvml, error) == HL_OK) {
 *       hl_gpu gpu;
 *       for (unsigned i = 0; i < hl_nvml_count(nvml); i++)
 *         if (hl_nvml_describe(nvml, i, &gpu)) puts(gpu.name);
 *       hl_nvml_close(nvml);
 *     }
 *
 * Declarations are our own, by NVIDIA's NVML reference: the library is never needed to build. Of a
 * function that came in several versions the newest is taken that is there. NVML numbers GPUs by
 * their place on the bus, CUDA by its own order and CUDA_VISIBLE_DEVICES: hl_nvml_find goes by the
 * bus id that CUDA gives. A call may take milliseconds, and hang on a GPU that is lost.
 * Thread-safe once open, as NVML is.
 */
#ifndef HL_MACHINE_NVML_H
#define HL_MACHINE_NVML_H

#include "machine/gpu.h"
#include <sys/types.h>

typedef struct hl_nvml hl_nvml;

/* `path` NULL: libnvidia-ml.so.1 as the loader finds it. UNAVAILABLE: why there is none. */
hl_status hl_nvml_open(const char *path, hl_nvml **ret_nvml, hl_error *error);
void hl_nvml_close(hl_nvml *nvml); /* NULL is allowed */

unsigned hl_nvml_count(const hl_nvml *nvml);
const char *hl_nvml_driver(const hl_nvml *nvml); /* version of the driver, "" if unknown */

/* Fills what is known of a GPU; false if it cannot be asked. */
bool hl_nvml_describe(const hl_nvml *nvml, unsigned index, hl_gpu *ret_gpu);

/* The GPU with a bus id, as CUDA or NVML write it ("0000:1a:00.0" and "00000000:1A:00.0" are one).
 * NOT_FOUND. */
hl_status hl_nvml_find(const hl_nvml *nvml, const char *bus_id, unsigned *ret_index,
                       hl_error *error);

/* What a GPU does now. Unknown: UINT64_MAX, NaN; `reasons_known` false. */
typedef struct hl_gpu_sample {
  uint64_t process_bytes; /* device memory of one process; 0 where it has none there */
  uint64_t used_bytes;    /* device memory of all */
  uint64_t energy_mj;     /* since the driver was loaded */
  double power_w, sm_clock_mhz, memory_clock_mhz, temperature_c;
  uint64_t reasons; /* why clocks are held down: HL_GPU_REASONS */
  bool reasons_known, process_known;
} hl_gpu_sample;

/* `pid`: the process whose memory counts. NVML knows processes by their number in the outermost
 * namespace, so in a container `process_known` may be false. */
void hl_nvml_sample(const hl_nvml *nvml, unsigned index, pid_t pid, hl_gpu_sample *ret_sample);

/* "power cap, heat" for bits of `reasons` that take speed away; "none" where there are none. */
void hl_gpu_reasons_text(uint64_t reasons, char *ret_text, size_t size);

#endif
