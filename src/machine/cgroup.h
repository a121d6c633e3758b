/*
 * machine/cgroup.h - where the control groups of this process lie, versions 1 and 2.
 *
 *     hl_cgroup group;
 *     if (hl_cgroup_find(NULL, "memory", &group)) puts(group.path);
 *
 * Uses /proc/self/cgroup and /proc/self/mountinfo, so that it works in containers (whose view may
 * begin below the host's root) and on hybrid systems (some controllers on version 1, others on 2).
 * Does not allocate. `root`: see machine/sysfs.h.
 */
#ifndef HL_MACHINE_CGROUP_H
#define HL_MACHINE_CGROUP_H

#include "machine/sysfs.h"

enum { HL_CGROUP_PATH = 1024 };

typedef struct hl_cgroup {
  int version;                /* 1 or 2 */
  char mount[HL_CGROUP_PATH]; /* where the hierarchy is mounted, without `root` */
  char path[HL_CGROUP_PATH];  /* the group's directory, without `root`; begins with `mount` */
} hl_cgroup;

/* The group of this process for "memory", "cpu" or "cpuset"; false if no hierarchy has it. */
bool hl_cgroup_find(const char *root, const char *controller, hl_cgroup *ret_group);

/* Goes up one level; false at the mount point. */
bool hl_cgroup_parent(hl_cgroup *group);

/* The tightest CPU time quota from the group up to the mount point, in processors (2.0: two whole
 * ones); NaN where there is none. */
double hl_cgroup_cpu_quota(const char *root);

typedef struct hl_cgroup_memory {
  int version;          /* 0: no memory controller, all else unknown */
  uint64_t limit_bytes; /* tightest from the group upwards; UINT64_MAX: no limit */
  /* Least (limit - current + what the kernel would take back of files read) from the group upwards;
   * UINT64_MAX: no limit. */
  uint64_t headroom_bytes;
  uint64_t current_bytes;  /* of the group; UINT64_MAX: unknown */
  uint64_t peak_bytes;     /* of the group; UINT64_MAX: unknown */
  uint64_t oom_kill_count; /* of the group; UINT64_MAX: unknown */
} hl_cgroup_memory;

hl_cgroup_memory hl_cgroup_memory_read(const char *root);
/* The same for one known group, without its ancestors. */
hl_cgroup_memory hl_cgroup_memory_of(const char *root, int version, const char *path);

#endif
