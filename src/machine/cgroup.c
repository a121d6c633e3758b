#include "machine/cgroup.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* /proc files grow with the number of mounts; what lies beyond is not ours. */
enum { FILE_BYTES = 64 << 10 };
/* Version 1 writes "no limit" as the largest multiple of a page; nobody has 2^60 bytes. */
static const uint64_t no_limit_from = (uint64_t)1 << 60;

/* Is `word` one of the comma-separated words in list[0..length)? */
static bool list_has(const char *list, size_t length, const char *word) {
  size_t word_length = strlen(word);
  const char *end = list + length;
  for (const char *at = list; at < end;) {
    const char *comma = memchr(at, ',', (size_t)(end - at));
    size_t item = comma ? (size_t)(comma - at) : (size_t)(end - at);
    if (item == word_length && memcmp(at, word, item) == 0) return true;
    at += item + 1;
  }
  return false;
}

/* The group's name in /proc/self/cgroup; `controller` NULL is version 2 ("0::/name"). */
static bool group_name(const char *text, const char *controller, char name[HL_CGROUP_PATH]) {
  for (const char *line = text; line && *line;) {
    const char *next = strchr(line, '\n');
    size_t length = next ? (size_t)(next - line) : strlen(line);
    const char *first = memchr(line, ':', length);
    const char *second = first ? memchr(first + 1, ':', length - (size_t)(first + 1 - line)) : NULL;
    if (second) {
      size_t controllers = (size_t)(second - first - 1);
      bool found = controller ? list_has(first + 1, controllers, controller)
                              : controllers == 0 && line[0] == '0';
      size_t name_length = length - (size_t)(second + 1 - line);
      if (found && name_length < HL_CGROUP_PATH) {
        memcpy(name, second + 1, name_length);
        name[name_length] = 0;
        return true;
      }
    }
    line = next ? next + 1 : NULL;
  }
  return false;
}

/* The kernel writes blanks, line ends and backslashes of a path as \ooo, three octal digits. */
static void unescape(char *text) {
  char *to = text;
  for (const char *at = text; *at;) {
    bool octal = at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] >= '0' && at[2] <= '7' &&
                 at[3] >= '0' && at[3] <= '7';
    *to++ = octal ? (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0')) : *at;
    at += octal ? 4 : 1;
  }
  *to = 0;
}

/* Finds the mount of a hierarchy in mountinfo:
 *   36 35 98:0 /root /mount/point opts [optional...] - fstype source super,options  */
static bool mount_find(const char *text, const char *controller, char mount_root[HL_CGROUP_PATH],
                       char mount[HL_CGROUP_PATH]) {
  for (const char *line = text; line && *line;) {
    const char *next = strchr(line, '\n');
    int length = next ? (int)(next - line) : (int)strlen(line);
    char copy[4096], type[32], options[1024];
    if (length < (int)sizeof copy) {
      snprintf(copy, sizeof copy, "%.*s", length, line);
      const char *dash = strstr(copy, " - ");
      if (dash && sscanf(copy, "%*s %*s %*s %1023s %1023s", mount_root, mount) == 2 &&
          sscanf(dash, " - %31s %*s %1023s", type, options) == 2) {
        if (controller
                ? strcmp(type, "cgroup") == 0 && list_has(options, strlen(options), controller)
                : strcmp(type, "cgroup2") == 0) {
          unescape(mount_root);
          unescape(mount);
          return true;
        }
      }
    }
    line = next ? next + 1 : NULL;
  }
  return false;
}

/* Puts mount and name together; a name outside of the mount's view is the mount point itself. */
static bool locate(const char *root, int version, const char *name, const char *mount_root,
                   const char *mount, hl_cgroup *ret_group) {
  ret_group->version = version;
  snprintf(ret_group->mount, sizeof ret_group->mount, "%s", mount);
  size_t skip = strcmp(mount_root, "/") == 0 ? 0 : strlen(mount_root);
  const char *rest = name;
  if (skip && strncmp(name, mount_root, skip) == 0 && (name[skip] == '/' || !name[skip]))
    rest = name + skip;
  if (strcmp(rest, "/") == 0) rest = "";
  int n = snprintf(ret_group->path, sizeof ret_group->path, "%s%s", mount, rest);
  if (n < 0 || n >= (int)sizeof ret_group->path || !hl_sysfs_exists(root, "%s", ret_group->path))
    snprintf(ret_group->path, sizeof ret_group->path, "%s", mount);
  return hl_sysfs_exists(root, "%s", ret_group->path);
}

bool hl_cgroup_find(const char *root, const char *controller, hl_cgroup *ret_group) {
  char groups[8192], name[HL_CGROUP_PATH], mount_root[HL_CGROUP_PATH], mount[HL_CGROUP_PATH];
  char mounts[FILE_BYTES];
  if (!hl_sysfs_text(root, groups, sizeof groups, "/proc/self/cgroup") ||
      !hl_sysfs_text(root, mounts, sizeof mounts, "/proc/self/mountinfo"))
    return false;
  if (group_name(groups, controller, name) && mount_find(mounts, controller, mount_root, mount))
    return locate(root, 1, name, mount_root, mount, ret_group);
  if (!group_name(groups, NULL, name) || !mount_find(mounts, NULL, mount_root, mount) ||
      !locate(root, 2, name, mount_root, mount, ret_group))
    return false;
  /* On a hybrid system version 2 is mounted, too, with few or no controllers. */
  char controllers[512];
  if (!hl_sysfs_text(root, controllers, sizeof controllers, "%s/cgroup.controllers", mount))
    return false;
  for (char *at = controllers; *at; at++)
    if (*at == ' ') *at = ',';
  return list_has(controllers, strlen(controllers), controller);
}

bool hl_cgroup_parent(hl_cgroup *group) {
  if (strlen(group->path) <= strlen(group->mount)) return false;
  char *slash = strrchr(group->path, '/');
  if (!slash) return false;
  *slash = 0;
  return true;
}

static double quota_of(const char *root, const hl_cgroup *group) {
  if (group->version == 2) {
    char text[64];
    double quota, period;
    if (hl_sysfs_text(root, text, sizeof text, "%s/cpu.max", group->path) &&
        sscanf(text, "%lf %lf", &quota, &period) == 2 && period > 0)
      return quota / period;
    return NAN;
  }
  uint64_t quota, period; /* no quota is -1, which is not a uint64 */
  if (hl_sysfs_u64(root, &quota, "%s/cpu.cfs_quota_us", group->path) &&
      hl_sysfs_u64(root, &period, "%s/cpu.cfs_period_us", group->path) && period > 0)
    return (double)quota / (double)period;
  return NAN;
}

double hl_cgroup_cpu_quota(const char *root) {
  hl_cgroup group;
  double least = NAN;
  if (!hl_cgroup_find(root, "cpu", &group)) return NAN;
  do least = fmin(least, quota_of(root, &group)); /* fmin leaves NaN out */
  while (hl_cgroup_parent(&group));
  return least;
}

/* Pages of files that the kernel takes back when the group needs room: what was read and is mapped
 * by nobody, and caches of the file system. After Linux' own MemAvailable, which knows no groups.
 */
static uint64_t reclaimable(const char *root, bool two, const char *path) {
  char stat[8192];
  uint64_t inactive = 0, active = 0, mapped = 0, slab = 0;
  if (!hl_sysfs_text(root, stat, sizeof stat, "%s/memory.stat", path)) return 0;
  /* Those of version 1 without "total_" are without the groups below. */
  hl_sysfs_field(stat, two ? "inactive_file" : "total_inactive_file", &inactive);
  hl_sysfs_field(stat, two ? "active_file" : "total_active_file", &active);
  hl_sysfs_field(stat, two ? "file_mapped" : "total_mapped_file", &mapped);
  if (two) hl_sysfs_field(stat, "slab_reclaimable", &slab);
  if (active > UINT64_MAX - inactive) return 0;
  uint64_t cache = inactive + active;
  uint64_t unmapped = cache > mapped ? cache - mapped : 0;
  return slab > UINT64_MAX - unmapped ? unmapped : unmapped + slab;
}

static uint64_t headroom_of(const char *root, const hl_cgroup_memory *memory, const char *path) {
  uint64_t limit = memory->limit_bytes, current = memory->current_bytes;
  if (limit == UINT64_MAX || current == UINT64_MAX) return UINT64_MAX;
  uint64_t cache = reclaimable(root, memory->version == 2, path);
  uint64_t held = current > cache ? current - cache : 0;
  return limit > held ? limit - held : 0;
}

hl_cgroup_memory hl_cgroup_memory_of(const char *root, int version, const char *path) {
  hl_cgroup_memory memory = {.version = version,
                             .limit_bytes = UINT64_MAX,
                             .headroom_bytes = UINT64_MAX,
                             .current_bytes = UINT64_MAX,
                             .peak_bytes = UINT64_MAX,
                             .oom_kill_count = UINT64_MAX};
  bool two = version == 2;
  char events[512];
  hl_sysfs_u64(root, &memory.limit_bytes, "%s/%s", path,
               two ? "memory.max" : "memory.limit_in_bytes");
  hl_sysfs_u64(root, &memory.current_bytes, "%s/%s", path,
               two ? "memory.current" : "memory.usage_in_bytes");
  hl_sysfs_u64(root, &memory.peak_bytes, "%s/%s", path,
               two ? "memory.peak" : "memory.max_usage_in_bytes");
  if (hl_sysfs_text(root, events, sizeof events, "%s/%s", path,
                    two ? "memory.events" : "memory.oom_control"))
    hl_sysfs_field(events, "oom_kill", &memory.oom_kill_count);
  if (memory.limit_bytes >= no_limit_from) memory.limit_bytes = UINT64_MAX;
  memory.headroom_bytes = headroom_of(root, &memory, path);
  return memory;
}

hl_cgroup_memory hl_cgroup_memory_read(const char *root) {
  hl_cgroup group;
  if (!hl_cgroup_find(root, "memory", &group)) {
    hl_cgroup_memory none = hl_cgroup_memory_of(root, 0, "/nowhere");
    return none;
  }
  hl_cgroup_memory memory = hl_cgroup_memory_of(root, group.version, group.path);
  while (hl_cgroup_parent(&group)) {
    hl_cgroup_memory above = hl_cgroup_memory_of(root, group.version, group.path);
    if (above.limit_bytes < memory.limit_bytes) memory.limit_bytes = above.limit_bytes;
    if (above.headroom_bytes < memory.headroom_bytes) memory.headroom_bytes = above.headroom_bytes;
  }
  return memory;
}
