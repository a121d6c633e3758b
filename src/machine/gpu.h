/*
 * machine/gpu.h - which NVIDIA GPUs there are, for lists and for --device gpu:all.
 *
 *     hl_gpu_set gpus;
 *     hl_gpu_list(NULL, 5, &gpus);
 *     printf("%d GPUs; %s\n", gpus.count, gpus.reason);
 *
 * Asked in a process of its own, since a driver may hang or crash: then there are none, and the
 * reason says so.
 */
#ifndef HL_MACHINE_GPU_H
#define HL_MACHINE_GPU_H

#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

enum { HL_GPU_MOST = 16 };

typedef struct hl_gpu {
  char name[96], uuid[96];
  uint64_t memory_bytes;   /* 0: unknown */
  int ecc, persistence;    /* 1 on, 0 off, -1 unknown */
  double power_limit_w;    /* NaN: unknown */
  double max_sm_clock_mhz; /* NaN: unknown */
  double clock_mhz;        /* of the SMs now; NaN: unknown */
  uint64_t used_bytes;     /* memory in use now, by anybody; UINT64_MAX: unknown */
  int processes;           /* that compute on it now; -1: unknown */
} hl_gpu;

typedef struct hl_gpu_set {
  hl_gpu items[HL_GPU_MOST];
  int count;
  char driver[80];  /* version of NVIDIA's driver; "" if unknown */
  char reason[256]; /* why there is none; "" where there is one */
} hl_gpu_set;

/* `path`: of the management library; NULL: as the loader finds it. Waits `timeout_s` at most.
 * Call from a process with one thread. */
void hl_gpu_list(const char *path, double timeout_s, hl_gpu_set *ret_gpus);

/* How many of them CUDA shows under a value of CUDA_VISIBLE_DEVICES (NULL: unset): numbers or
 * beginnings of UUIDs, with commas; what is behind an invalid one is not shown. */
int hl_gpu_visible(const hl_gpu_set *gpus, const char *visible);

#endif
