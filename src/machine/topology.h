/*
 * machine/topology.h - what this machine is, and how much of it this process may use.
 *
 *     hl_machine machine;
 *     if (hl_machine_read(&machine, &error)) ...
 *     printf("%s, %d cores\n", machine.cpu, machine.cores);
 *     hl_machine_release(&machine);
 *
 * Everything comes from /proc, /sys and /etc; nothing names the user or the host.
 */
#ifndef HL_MACHINE_TOPOLOGY_H
#define HL_MACHINE_TOPOLOGY_H

#include "base/error.h"
#include "machine/gpu.h"
#include <stdint.h>

enum { HL_MACHINE_MAX_CACHES = 8 };

typedef struct hl_cache {
  int level;
  char kind;      /* 'd' data, 'i' instructions, 'u' unified */
  uint64_t bytes; /* of one instance */
  int shared_by;  /* logical CPUs that share one instance */
} hl_cache;

typedef struct hl_machine {
  char cpu[128];     /* model name; "unknown" if the system does not say */
  int cores;         /* default thread count: min(allowed_cores, ⌊cpu_quota⌋), at least 1 */
  int allowed_cores; /* physical cores of which this process may use a logical CPU */
  int allowed_cpus;  /* logical CPUs in its affinity mask and cpuset */
  int total_cores;   /* physical cores of the machine that are online */
  int total_cpus;    /* logical CPUs of the machine that are online */
  double cpu_quota;  /* CPU time limit of the control group, in CPUs; NaN: none */
  int numa_nodes;
  hl_cache caches[HL_MACHINE_MAX_CACHES]; /* those of the first allowed CPU */
  int cache_count;
  uint64_t memory_bytes;       /* MemTotal */
  uint64_t memory_limit_bytes; /* control group's limit; UINT64_MAX: none */
  char isa[160];               /* instruction sets that matter to kernels, "avx2 fma avx512f ..." */
  char os[96];                 /* "Debian GNU/Linux 12 (bookworm)" */
  char kernel[96];             /* "Linux 6.1.0" */
  char container[24];  /* "docker", "podman", "kubernetes", "lxc", "systemd-nspawn"; "" if none seen
                        */
  char hypervisor[24]; /* "KVM", "VMware", ...; "" on bare metal */
  char id[17];         /* 16 hex digits: a hash of CPU, cores, memory in GiB and /etc/machine-id */
  hl_gpu_set gpus;     /* by NVIDIA's management library, if it is here */
} hl_machine;

/* Reads all of it. IO only if /proc cannot be read at all; what is unknown is "", 0 or NaN. */
hl_status hl_machine_read(hl_machine *ret_machine, hl_error *error);

/* The same from a tree that stands for "/" (see machine/sysfs.h); no GPUs then. */
hl_status hl_machine_read_at(const char *root, hl_machine *ret_machine, hl_error *error);

void hl_machine_release(hl_machine *machine);

/* Size of the last-level data cache as one instance, 0 if unknown. */
uint64_t hl_machine_last_cache_bytes(const hl_machine *machine);

#endif
