#include "monitor/pressure.h"

#include <hotlap/hotlap.h>

#include "machine/cgroup.h"
#include "machine/nvml.h"
#include "machine/sysfs.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A tenth of the time without memory is as bad as 90 % of it in use. */
static const double per_stall = 9;

bool hl_pressure_cgroup(const char *root, double *ret_pressure) {
  hl_cgroup_memory memory = hl_cgroup_memory_read(root);
  if (!memory.version || memory.limit_bytes == UINT64_MAX || memory.limit_bytes == 0 ||
      memory.headroom_bytes == UINT64_MAX)
    return false;
  double share = (double)memory.headroom_bytes / (double)memory.limit_bytes;
  *ret_pressure = fmax(0, 1 - share);
  return true;
}

bool hl_pressure_system(const char *root, double *ret_pressure) {
  char text[4096];
  uint64_t total, available;
  if (!hl_sysfs_text(root, text, sizeof text, "/proc/meminfo") ||
      !hl_sysfs_field(text, "MemTotal:", &total) ||
      !hl_sysfs_field(text, "MemAvailable:", &available) || total == 0)
    return false;
  *ret_pressure = fmax(0, 1 - (double)available / (double)total);
  return true;
}

/* "some avg10=1.25 avg60=..." */
static bool read_stall(const char *text, double *ret_pressure) {
  const char *at = strstr(text, "some avg10=");
  double percent;
  if (!at || sscanf(at + 11, "%lf", &percent) != 1 || !(percent >= 0)) return false;
  *ret_pressure = fmin(1, per_stall * percent / 100);
  return true;
}

/* Of the control group where it tells, else of the whole machine. */
bool hl_pressure_stall(const char *root, double *ret_pressure) {
  char text[512];
  hl_cgroup group;
  if (hl_cgroup_find(root, "memory", &group) && group.version == 2 &&
      hl_sysfs_text(root, text, sizeof text, "%s/memory.pressure", group.path) &&
      read_stall(text, ret_pressure))
    return true;
  return hl_sysfs_text(root, text, sizeof text, "/proc/pressure/memory") &&
         read_stall(text, ret_pressure);
}

static hl_status read_device(int device, double *ret_pressure, hl_error *error) {
  hl_nvml *nvml;
  hl_status status = hl_nvml_open(NULL, &nvml, error);
  if (status) return status;
  hl_gpu gpu = {.used_bytes = UINT64_MAX};
  bool known = device >= 0 && (unsigned)device < hl_nvml_count(nvml) &&
               hl_nvml_describe(nvml, (unsigned)device, &gpu) && gpu.memory_bytes > 0 &&
               gpu.used_bytes != UINT64_MAX;
  hl_nvml_close(nvml);
  if (!known) return hl_error_set(error, HL_UNAVAILABLE, "GPU %d does not tell its memory", device);
  *ret_pressure = fmin(1, (double)gpu.used_bytes / (double)gpu.memory_bytes);
  return HL_OK;
}

hl_status hl_pressure_read(hl_pressure_source source, int device, double *ret_pressure,
                           hl_error *error) {
  static bool (*const readers[])(const char *root, double *ret_pressure) = {
      hl_pressure_cgroup, hl_pressure_system, hl_pressure_stall};
  static const char *const why_not[] = {"no control group limits the memory of this process",
                                        "/proc/meminfo does not tell",
                                        "the kernel does not tell memory stalls (PSI)"};
  if (source == HL_PRESSURE_DEVICE) return read_device(device, ret_pressure, error);
  if (source > HL_PRESSURE_AUTO && source <= HL_PRESSURE_STALL) {
    size_t i = (size_t)source - HL_PRESSURE_CGROUP;
    return readers[i](NULL, ret_pressure) ? HL_OK
                                          : hl_error_set(error, HL_UNAVAILABLE, "%s", why_not[i]);
  }
  if (source != HL_PRESSURE_AUTO)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "no source of pressure %d", (int)source);
  double most = -1;
  for (size_t i = 0; i < HL_COUNT(readers); i++) {
    double pressure;
    if (readers[i](NULL, &pressure)) most = fmax(most, pressure);
  }
  if (most < 0) return hl_error_set(error, HL_UNAVAILABLE, "the system tells nothing of memory");
  *ret_pressure = most;
  return HL_OK;
}
