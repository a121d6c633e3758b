/*
 * machine/sysfs.h - small files of /proc and /sys, without allocating.
 *
 *     char text[64];
 *     if (hl_sysfs_text(root, text, sizeof text, "/sys/devices/system/cpu/cpu%d/topology/core_id",
 * 0))
 *       ...
 *
 * `root` is a directory that stands for "/" (tests use a fake tree); NULL is the real one. Paths
 * are absolute. A file that is not there is an ordinary answer, so these return false, not a
 * status.
 */
#ifndef HL_MACHINE_SYSFS_H
#define HL_MACHINE_SYSFS_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HL_SYSFS_PATH = 4096, HL_SYSFS_MAX_CPUS = 4096 };

/* The first size - 1 bytes of a file, terminated, trailing white space cut; false if it cannot be
 * read. An empty file gives "". */
bool hl_sysfs_text(const char *root, char *ret_text, size_t size, const char *path_format, ...)
    HL_PRINTF(4, 5);

/* A file that holds one decimal number; "max" gives UINT64_MAX. */
bool hl_sysfs_u64(const char *root, uint64_t *ret_value, const char *path_format, ...)
    HL_PRINTF(3, 4);

bool hl_sysfs_exists(const char *root, const char *path_format, ...) HL_PRINTF(2, 3);

/* The names in a directory that begin with `prefix`, in the order of strcmp; how many, at most
 * `most`. Longer names than fit are left out, as are "." and "..". */
enum { HL_SYSFS_NAME = 64 };
size_t hl_sysfs_list(const char *root, const char *directory, const char *prefix,
                     char (*ret_names)[HL_SYSFS_NAME], size_t most);

/* The number after `key` at the start of a line ("VmHWM:" in /proc/self/status, "oom_kill" in
 * memory.events); false if there is no such line. */
bool hl_sysfs_field(const char *text, const char *key, uint64_t *ret_value);

/* The text after `key` and a colon at the start of a line, white space and quotes stripped;
 * "model name" in /proc/cpuinfo. `separator` is ':' or '='. */
bool hl_sysfs_field_text(const char *text, const char *key, char separator, char *ret_value,
                         size_t size);

/* A set of processors. */
typedef struct hl_cpu_set {
  uint64_t words[HL_SYSFS_MAX_CPUS / 64];
} hl_cpu_set;

/* Parses "0-3,8"; false (and an unusable set) for malformed text. Processors beyond the limit are
 * left out. */
bool hl_cpu_set_parse(const char *list, hl_cpu_set *ret_set);
bool hl_cpu_set_has(const hl_cpu_set *set, int cpu);
int hl_cpu_set_count(const hl_cpu_set *set);

#endif
