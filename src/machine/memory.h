/*
 * machine/memory.h - the memory of this process and of the machine.
 *
 *     hl_memory_peak_reset();
 *     ... load and run a model ...
 *     hl_memory now;
 *     hl_memory_read(NULL, &now, NULL);
 *     printf("%llu bytes at the peak\n", (unsigned long long)now.peak_bytes);
 *
 * Does not allocate. `root`: see machine/sysfs.h; NULL is the real system. All sizes are bytes.
 */
#ifndef HL_MACHINE_MEMORY_H
#define HL_MACHINE_MEMORY_H

#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct hl_memory {
  uint64_t resident_bytes;  /* VmRSS */
  uint64_t peak_bytes;      /* VmHWM: largest resident size since start or the last reset */
  uint64_t anonymous_bytes; /* RssAnon: heap, stacks, private mappings */
  uint64_t file_bytes;      /* RssFile: mapped files, also model weights read by mmap */
  uint64_t shared_bytes;    /* RssShmem */
  uint64_t swap_bytes;      /* VmSwap */
} hl_memory;

/* From /proc/self/status. IO if it cannot be read. The kernel counts faults in batches per thread,
 * so that resident sizes may be off by up to 64 pages a thread; use hl_memory_read_exact for an
 * exact (and slower) count. */
hl_status hl_memory_read(const char *root, hl_memory *ret_memory, hl_error *error);

/* The same with resident and anonymous sizes from smaps_rollup, which walks the page tables. */
hl_status hl_memory_read_exact(const char *root, hl_memory *ret_memory, hl_error *error);

/* Makes VmHWM start anew from the present resident size (clear_refs 5). UNAVAILABLE where the
 * kernel does not permit it: the peak then counts from the start of the process. */
hl_status hl_memory_peak_reset(hl_error *error);

/* Memory that can be had before something is killed: the smaller of MemAvailable and the headroom
 * of the control groups; UINT64_MAX if neither is known. */
uint64_t hl_memory_available(const char *root);

#endif
