/*
 * A management library for tests, in the place of NVIDIA's: GPUs as the environment scripts them.
 *
 * FAKE_GPUS=N how many (2); FAKE_NVML=init-fails | count-fails | hang | crash | no-process |
 * no-energy; FAKE_REASONS=N bits of the clocks' reasons. Energy is 250 W (times 1 + index) of
 * CLOCK_MONOTONIC; memory 300 MiB (and 100 for each index) for this process, 400 for all. Built
 * with FAKE_OLD it is a library of an old driver.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* The declarations of a library that has no header here. */
EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT const char *nvmlErrorString(int result);
EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned length);
EXPORT int nvmlDeviceGetCount_v2(unsigned *count);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
EXPORT int nvmlDeviceGetName(void *device, char *text, unsigned length);
EXPORT int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *info);
#ifndef FAKE_OLD
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **device);
EXPORT int nvmlDeviceGetUUID(void *device, char *text, unsigned length);
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, void *list);
EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj);
EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *mw);
EXPORT int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *mw);
EXPORT int nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz);
EXPORT int nvmlDeviceGetMaxClockInfo(void *device, int type, unsigned *mhz);
EXPORT int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *bits);
EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius);
EXPORT int nvmlDeviceGetEccMode(void *device, unsigned *current, unsigned *pending);
EXPORT int nvmlDeviceGetPersistenceMode(void *device, unsigned *mode);
#else
EXPORT int nvmlDeviceGetHandleByPciBusId(const char *bus_id, void **device);
EXPORT int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count, void *list);
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *bits);
#endif

static char places[16]; /* their addresses are the handles */

static long number(const char *name, long otherwise) {
  const char *text = getenv(name);
  return text && text[0] ? atol(text) : otherwise;
}

static int is(const char *behaviour) {
  const char *text = getenv("FAKE_NVML");
  return text && strcmp(text, behaviour) == 0;
}

static int index_of(const void *device) {
  return (int)((const char *)device - places);
}

int nvmlInit_v2(void) {
  if (is("hang"))
    for (;;) pause();
  if (is("crash")) raise(SIGSEGV);
  return is("init-fails") ? 9 : 0;
}

int nvmlShutdown(void) {
  return 0;
}

const char *nvmlErrorString(int result) {
  return result == 9 ? "Driver Not Loaded" : "Some Error";
}

int nvmlSystemGetDriverVersion(char *text, unsigned length) {
  snprintf(text, length, "550.54.15");
  return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
  *count = (unsigned)number("FAKE_GPUS", 2);
  return is("count-fails") ? 15 : 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
  *device = &places[index];
  return 0;
}

int nvmlDeviceGetName(void *device, char *text, unsigned length) {
  snprintf(text, length, "Fake GPU %c", 'A' + index_of(device));
  return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *info) {
  (void)device;
  info[0] = 80ULL << 30;
  info[2] = 400ULL << 20;
  info[1] = info[0] - info[2];
  return 0;
}

/* CUDA's order is the reverse of the bus here: CUDA's device 0 is NVML's last. */
static int by_bus(const char *bus_id, void **device) {
  unsigned domain, bus;
  if (sscanf(bus_id, "%x:%x", &domain, &bus) != 2 || bus >= 16) return 6;
  *device = &places[bus];
  return 0;
}

#ifndef FAKE_OLD

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **device) {
  return by_bus(bus_id, device);
}

int nvmlDeviceGetUUID(void *device, char *text, unsigned length) {
  snprintf(text, length, "GPU-%d0000000-1111-2222-3333-444444444444", index_of(device));
  return 0;
}

typedef struct process {
  unsigned pid;
  unsigned long long used;
  unsigned instance, compute;
} process;

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, void *list) {
  process *processes = list;
  if (*count < 2) return 7;
  *count = is("no-process") ? 1 : 2;
  processes[0] = (process){.pid = 1, .used = 100ULL << 20};
  processes[1] = (process){.pid = (unsigned)getpid(),
                           .used = (unsigned long long)(300 + 100 * index_of(device)) << 20};
  return 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj) {
  struct timespec now;
  if (is("no-energy")) return 3;
  clock_gettime(CLOCK_MONOTONIC, &now);
  double seconds = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
  *mj = (unsigned long long)(seconds * 250000 * (1 + index_of(device)));
  return 0;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *mw) {
  (void)device;
  *mw = 50000;
  return 0;
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *mw) {
  (void)device;
  *mw = 700000;
  return 0;
}

int nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz) {
  (void)device;
  *mhz = type == 1 ? 1410 : 2619;
  return 0;
}

int nvmlDeviceGetMaxClockInfo(void *device, int type, unsigned *mhz) {
  (void)device;
  *mhz = type == 1 ? 1980 : 2619;
  return 0;
}

int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *bits) {
  (void)device;
  *bits = (unsigned long long)number("FAKE_REASONS", 0);
  return 0;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius) {
  *celsius = (unsigned)(61 + index_of(device) + sensor);
  return 0;
}

int nvmlDeviceGetEccMode(void *device, unsigned *current, unsigned *pending) {
  (void)device;
  *current = *pending = 1;
  return 0;
}

int nvmlDeviceGetPersistenceMode(void *device, unsigned *mode) {
  (void)device;
  *mode = 0;
  return 0;
}

#else /* a driver of ten years ago: fewer functions, the first form of the list of processes */

typedef struct process {
  unsigned pid;
  unsigned long long used;
} process;

int nvmlDeviceGetHandleByPciBusId(const char *bus_id, void **device) {
  return by_bus(bus_id, device);
}

int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count, void *list) {
  process *processes = list;
  (void)device;
  if (*count < 2) return 7;
  *count = 2;
  processes[0] = (process){1, 100ULL << 20};
  processes[1] = (process){(unsigned)getpid(), 200ULL << 20};
  return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *bits) {
  (void)device;
  *bits = (unsigned long long)number("FAKE_REASONS", 0);
  return 0;
}

#endif
