/*
 * monitor/pressure.h - how short memory is, 0 to 1, from the system's own files.
 *
 *     double pressure;
 *     if (hl_pressure_cgroup(NULL, &pressure)) ...
 *
 * Each is false where the system does not tell. `root`: see machine/sysfs.h. The definitions stand
 * in hotlap/hotlap.h, at hl_pressure_read. Does not allocate.
 */
#ifndef HL_MONITOR_PRESSURE_H
#define HL_MONITOR_PRESSURE_H

#include <stdbool.h>

bool hl_pressure_cgroup(const char *root, double *ret_pressure);
bool hl_pressure_system(const char *root, double *ret_pressure);
bool hl_pressure_stall(const char *root, double *ret_pressure);

#endif
