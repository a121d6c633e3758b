/*
 * machine/limit.h - a memory limit for a child process, with a control group where one can be made.
 *
 *     hl_memory_limit limit;
 *     if ((status = hl_memory_limit_prepare(512 << 20, &limit, error))) return status;
 *     pid_t pid = fork();
 *     if (pid == 0) {
 *       if (hl_memory_limit_enter(&limit)) _exit(127);
 *       execv(...);
 *     }
 *     waitpid(pid, &wait_status, 0);
 *     bool killed_for_memory = hl_memory_limit_oom_kills(&limit) > 0;
 *     hl_memory_limit_release(&limit);
 *
 * With a group (version 1 or 2) the limit is on resident memory, page cache included, and beyond
 * it the child is killed (SIGKILL, and an `oom_kill` count tells why). Where no group can be made
 * (that takes root or a delegated group) it is RLIMIT_DATA, which limits private writable memory as
 * mapped, touched or not: beyond it an allocation fails with ENOMEM. RLIMIT_AS is never used:
 * address space that is only reserved, as GPU libraries and sanitizers do, costs nothing.
 * Groups are named after this process; those that dead processes left behind are removed.
 */
#ifndef HL_MACHINE_LIMIT_H
#define HL_MACHINE_LIMIT_H

#include "machine/cgroup.h"
#include <sys/types.h>

typedef enum hl_limit_kind {
  HL_LIMIT_NONE,
  HL_LIMIT_CGROUP_1,
  HL_LIMIT_CGROUP_2,
  HL_LIMIT_DATA
} hl_limit_kind;

typedef struct hl_memory_limit {
  hl_limit_kind kind; /* HL_LIMIT_NONE after release */
  uint64_t bytes;
  char path[HL_CGROUP_PATH]; /* of the group */
  int procs_fd;              /* its cgroup.procs, or -1 */
} hl_memory_limit;

/* In the parent: makes a group with the limit, or falls back. INVALID_ARGUMENT below 1 MiB. */
hl_status hl_memory_limit_prepare(uint64_t limit_bytes, hl_memory_limit *ret_limit,
                                  hl_error *error);

/* The same without trying control groups. */
hl_status hl_memory_limit_prepare_data(uint64_t limit_bytes, hl_memory_limit *ret_limit,
                                       hl_error *error);

/* In the child, between fork and exec: puts the calling process under the limit. 0 or an errno.
 * Async-signal-safe. */
int hl_memory_limit_enter(const hl_memory_limit *limit);

/* "cgroup v1", "cgroup v2", "RLIMIT_DATA" or "none": which one holds, for the record. */
const char *hl_memory_limit_name(const hl_memory_limit *limit);

/* How many processes the kernel killed for this limit; UINT64_MAX: unknown (RLIMIT_DATA). */
uint64_t hl_memory_limit_oom_kills(const hl_memory_limit *limit);

/* Removes the group; its processes must have ended. Waits up to 0.2 s for the kernel to let go. */
void hl_memory_limit_release(hl_memory_limit *limit);

#endif
