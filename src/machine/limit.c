#include "machine/limit.h"
#include "base/clock.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define GROUP_PREFIX "hotlap-"
enum { REMOVE_TRIES = 100, REMOVE_PAUSE_NS = 2000000 };
static const uint64_t least_limit_bytes = 1000000;

/* Removes groups "hotlap-PID-START-N" whose process is gone; one in use cannot be removed. */
static void remove_stale(const char *directory) {
  DIR *entries = opendir(directory);
  if (!entries) return;
  for (struct dirent *entry; (entry = readdir(entries));) {
    long pid;
    unsigned long long start;
    if (sscanf(entry->d_name, GROUP_PREFIX "%ld-%llu-", &pid, &start) != 2 || pid <= 0) continue;
    if (hl_clock_process_start(pid) != start) unlinkat(dirfd(entries), entry->d_name, AT_REMOVEDIR);
  }
  closedir(entries);
}

static bool write_file(const char *directory, const char *name, const char *text) {
  char path[HL_CGROUP_PATH + 64];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t n = write(fd, text, strlen(text));
  close(fd);
  return n == (ssize_t)strlen(text);
}

static bool set_limits(hl_memory_limit *limit) {
  char bytes[32];
  snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)limit->bytes);
  if (limit->kind == HL_LIMIT_CGROUP_2) {
    if (!write_file(limit->path, "memory.max", bytes)) return false;
    write_file(limit->path, "memory.swap.max", "0");
    return true;
  }
  if (!write_file(limit->path, "memory.limit_in_bytes", bytes)) return false;
  /* Swap counts, too; kernels without swap accounting are told not to swap this group. */
  if (!write_file(limit->path, "memory.memsw.limit_in_bytes", bytes))
    write_file(limit->path, "memory.swappiness", "0");
  return true;
}

/* Makes a group below `directory` and opens its door; false (and nothing left) if not permitted. */
static bool group_make(const char *directory, hl_memory_limit *limit) {
  static atomic_uint next;
  char procs[HL_CGROUP_PATH + 64];
  remove_stale(directory);
  int n = snprintf(limit->path, sizeof limit->path, "%s/" GROUP_PREFIX "%ld-%llu-%u", directory,
                   (long)getpid(), (unsigned long long)hl_clock_process_start(getpid()),
                   atomic_fetch_add(&next, 1u));
  if (n < 0 || n >= (int)sizeof limit->path || mkdir(limit->path, 0755) != 0) return false;
  snprintf(procs, sizeof procs, "%s/cgroup.procs", limit->path);
  if (set_limits(limit)) limit->procs_fd = open(procs, O_WRONLY | O_CLOEXEC);
  if (limit->procs_fd >= 0) return true;
  rmdir(limit->path);
  return false;
}

/* Version 2 gives a group a memory controller only if its parent hands it down, and a parent that
 * has processes of its own cannot: so we look upwards for one that does already. */
static bool hands_down_memory(const char *path) {
  char text[512];
  return hl_sysfs_text(NULL, text, sizeof text, "%s/cgroup.subtree_control", path) &&
         strstr(text, "memory");
}

static bool group_make_below(hl_cgroup group, hl_memory_limit *limit) {
  limit->kind = group.version == 1 ? HL_LIMIT_CGROUP_1 : HL_LIMIT_CGROUP_2;
  if (group.version == 1) return group_make(group.path, limit);
  /* A sibling does not inherit our own group's limit: it must not allow more. */
  uint64_t own = hl_cgroup_memory_read(NULL).limit_bytes;
  uint64_t wanted = limit->bytes;
  if (own < wanted) limit->bytes = own;
  do {
    if (!hands_down_memory(group.path)) write_file(group.path, "cgroup.subtree_control", "+memory");
    if (hands_down_memory(group.path) && group_make(group.path, limit)) return true;
  } while (hl_cgroup_parent(&group));
  limit->bytes = wanted;
  return false;
}

hl_status hl_memory_limit_prepare_data(uint64_t limit_bytes, hl_memory_limit *ret_limit,
                                       hl_error *error) {
  if (limit_bytes < least_limit_bytes)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "a memory limit of %llu bytes is too small for any process. Give 1 MB or "
                        "more",
                        (unsigned long long)limit_bytes);
  *ret_limit = (hl_memory_limit){.kind = HL_LIMIT_DATA, .bytes = limit_bytes, .procs_fd = -1};
  return HL_OK;
}

hl_status hl_memory_limit_prepare(uint64_t limit_bytes, hl_memory_limit *ret_limit,
                                  hl_error *error) {
  hl_status status = hl_memory_limit_prepare_data(limit_bytes, ret_limit, error);
  hl_cgroup group;
  if (status || !hl_cgroup_find(NULL, "memory", &group)) return status;
  if (!group_make_below(group, ret_limit)) {
    ret_limit->kind = HL_LIMIT_DATA;
    ret_limit->path[0] = 0;
  }
  return HL_OK;
}

int hl_memory_limit_enter(const hl_memory_limit *limit) {
  if (limit->kind == HL_LIMIT_NONE) return 0;
  if (limit->kind != HL_LIMIT_DATA) /* 0 is whoever writes */
    return write(limit->procs_fd, "0", 1) == 1 ? 0 : errno;
  const struct rlimit bound = {.rlim_cur = limit->bytes, .rlim_max = limit->bytes};
  return setrlimit(RLIMIT_DATA, &bound) == 0 ? 0 : errno;
}

const char *hl_memory_limit_name(const hl_memory_limit *limit) {
  switch (limit->kind) {
  case HL_LIMIT_CGROUP_1:
    return "cgroup v1";
  case HL_LIMIT_CGROUP_2:
    return "cgroup v2";
  case HL_LIMIT_DATA:
    return "RLIMIT_DATA";
  case HL_LIMIT_NONE:
    break;
  }
  return "none";
}

static hl_cgroup_memory group_memory(const hl_memory_limit *limit) {
  bool group = limit->kind == HL_LIMIT_CGROUP_1 || limit->kind == HL_LIMIT_CGROUP_2;
  return hl_cgroup_memory_of(NULL, limit->kind == HL_LIMIT_CGROUP_1 ? 1 : 2,
                             group ? limit->path : "/nowhere");
}

uint64_t hl_memory_limit_oom_kills(const hl_memory_limit *limit) {
  return group_memory(limit).oom_kill_count;
}

void hl_memory_limit_release(hl_memory_limit *limit) {
  if (limit->kind == HL_LIMIT_NONE) return;
  if (limit->procs_fd >= 0) close(limit->procs_fd);
  /* EBUSY until the last process has been taken apart. */
  const struct timespec pause = {.tv_nsec = REMOVE_PAUSE_NS};
  for (int i = 0; limit->path[0] && i < REMOVE_TRIES && rmdir(limit->path) != 0 && errno == EBUSY;
       i++)
    nanosleep(&pause, NULL);
  *limit = (hl_memory_limit){.kind = HL_LIMIT_NONE, .procs_fd = -1};
}
