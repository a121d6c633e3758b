/*
 * machine/residency.h - what the resident memory of this process consists of.
 *
 *     hl_residency now;
 *     hl_status status = hl_residency_read(NULL, &now, error);
 *     printf("%llu bytes of libraries\n", (unsigned long long)now.library_bytes);
 *
 * Does not allocate. `root`: see machine/sysfs.h. All sizes are bytes. The first four parts add up
 * to `resident_bytes` exactly: each mapping of /proc/self/smaps is in one of them.
 */
#ifndef HL_MACHINE_RESIDENCY_H
#define HL_MACHINE_RESIDENCY_H

#include "base/error.h"
#include <stdint.h>

typedef struct hl_residency {
  uint64_t resident_bytes;
  uint64_t library_bytes; /* the program's and libraries' code and data: files that have code */
  uint64_t file_bytes;    /* other mapped files, memory shared between processes */
  uint64_t code_bytes;    /* code that belongs to no file: compiled while the process runs */
  uint64_t private_bytes; /* all else: heap, stacks, mappings */
  /* In use by malloc's own account, resident or not; UINT64_MAX where it keeps none. Not read for a
   * `root`. */
  uint64_t heap_bytes;
} hl_residency;

/* Walks the page tables, as hl_memory_read_exact. IO if /proc/self/smaps cannot be read. */
hl_status hl_residency_read(const char *root, hl_residency *ret_residency, hl_error *error);

#endif
