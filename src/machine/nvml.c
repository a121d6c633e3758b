#include "machine/nvml.h"

#include "machine/symbols.h"
#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From NVIDIA's NVML reference; 0 is success. */
enum { SUCCESS = 0, INSUFFICIENT_SIZE = 7, CLOCK_SM = 1, CLOCK_MEMORY = 2, MOST_PROCESSES = 256 };

typedef struct memory_info {
  unsigned long long total, free, used;
} memory_info;

typedef struct process_1 {
  unsigned int pid;
  unsigned long long used_bytes;
} process_1;

typedef struct process_2 { /* also of version 3 */
  unsigned int pid;
  unsigned long long used_bytes;
  unsigned int gpu_instance, compute_instance;
} process_2;

typedef struct functions {
  int (*init)(void);
  int (*shutdown)(void);
  const char *(*error_text)(int result);
  int (*driver)(char *text, unsigned length);
  int (*count)(unsigned *count);
  int (*by_index)(unsigned index, void **device);
  int (*by_bus)(const char *bus_id, void **device);
  int (*index_of)(void *device, unsigned *index);
  int (*name)(void *device, char *text, unsigned length);
  int (*uuid)(void *device, char *text, unsigned length);
  int (*memory)(void *device, memory_info *memory);
  int (*processes_1)(void *device, unsigned *count, process_1 *processes);
  int (*processes_2)(void *device, unsigned *count, process_2 *processes);
  int (*energy)(void *device, unsigned long long *millijoules);
  int (*power)(void *device, unsigned *milliwatts);
  int (*power_limit)(void *device, unsigned *milliwatts);
  int (*clock)(void *device, int type, unsigned *megahertz);
  int (*max_clock)(void *device, int type, unsigned *megahertz);
  int (*reasons)(void *device, unsigned long long *bits);
  int (*temperature)(void *device, int sensor, unsigned *celsius);
  int (*ecc)(void *device, unsigned *current, unsigned *pending);
  int (*persistence)(void *device, unsigned *mode);
} functions;

#define FUNCTION(member, required, ...)                                                            \
  { {__VA_ARGS__}, offsetof(functions, member), required }

static const hl_symbol table[] = {
    FUNCTION(init, true, "nvmlInit_v2", "nvmlInit"),
    FUNCTION(shutdown, true, "nvmlShutdown"),
    FUNCTION(error_text, false, "nvmlErrorString"),
    FUNCTION(driver, false, "nvmlSystemGetDriverVersion"),
    FUNCTION(count, true, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"),
    FUNCTION(by_index, true, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"),
    FUNCTION(by_bus, false, "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetHandleByPciBusId"),
    FUNCTION(index_of, false, "nvmlDeviceGetIndex"),
    FUNCTION(name, true, "nvmlDeviceGetName"),
    FUNCTION(uuid, false, "nvmlDeviceGetUUID"),
    FUNCTION(memory, false, "nvmlDeviceGetMemoryInfo"),
    FUNCTION(processes_1, false, "nvmlDeviceGetComputeRunningProcesses"),
    FUNCTION(processes_2, false, "nvmlDeviceGetComputeRunningProcesses_v3",
             "nvmlDeviceGetComputeRunningProcesses_v2"),
    FUNCTION(energy, false, "nvmlDeviceGetTotalEnergyConsumption"),
    FUNCTION(power, false, "nvmlDeviceGetPowerUsage"),
    FUNCTION(power_limit, false, "nvmlDeviceGetEnforcedPowerLimit",
             "nvmlDeviceGetPowerManagementLimit"),
    FUNCTION(clock, false, "nvmlDeviceGetClockInfo"),
    FUNCTION(max_clock, false, "nvmlDeviceGetMaxClockInfo"),
    FUNCTION(reasons, false, "nvmlDeviceGetCurrentClocksEventReasons",
             "nvmlDeviceGetCurrentClocksThrottleReasons"),
    FUNCTION(temperature, false, "nvmlDeviceGetTemperature"),
    FUNCTION(ecc, false, "nvmlDeviceGetEccMode"),
    FUNCTION(persistence, false, "nvmlDeviceGetPersistenceMode"),
};

struct hl_nvml {
  void *library;
  functions call;
  void *devices[HL_GPU_MOST];
  unsigned count;
  char driver[80];
};

static hl_status fail(const hl_nvml *nvml, const char *what, int result, hl_error *error) {
  const char *text = nvml->call.error_text ? nvml->call.error_text(result) : NULL;
  return hl_error_set(error, HL_UNAVAILABLE, "NVIDIA's management library: %s: %s (%d)", what,
                      text ? text : "error", result);
}

static hl_status start(hl_nvml *nvml, hl_error *error) {
  const char *missing = hl_symbols_find(nvml->library, table, HL_COUNT(table), &nvml->call);
  if (missing)
    return hl_error_set(error, HL_UNAVAILABLE,
                        "NVIDIA's management library lacks %s: it is too old or broken", missing);
  int result = nvml->call.init();
  if (result != SUCCESS) return fail(nvml, "it does not start", result, error);
  unsigned total = 0;
  result = nvml->call.count(&total);
  if (result != SUCCESS) {
    nvml->call.shutdown();
    return fail(nvml, "counting GPUs", result, error);
  }
  for (unsigned i = 0; i < total && nvml->count < HL_GPU_MOST; i++)
    if (nvml->call.by_index(i, &nvml->devices[nvml->count]) == SUCCESS) nvml->count++;
  if (nvml->call.driver && nvml->call.driver(nvml->driver, sizeof nvml->driver) != SUCCESS)
    nvml->driver[0] = '\0';
  return HL_OK;
}

hl_status hl_nvml_open(const char *path, hl_nvml **ret_nvml, hl_error *error) {
  const char *name = path ? path : "libnvidia-ml.so.1";
  hl_nvml *nvml = calloc(1, sizeof *nvml);
  if (!nvml) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a library");
  nvml->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  hl_status status = nvml->library
                         ? start(nvml, error)
                         : hl_error_set(error, HL_UNAVAILABLE,
                                        "no NVIDIA GPU was found: %s (the driver's management "
                                        "library) cannot be opened",
                                        name);
  if (status != HL_OK) {
    if (nvml->library) dlclose(nvml->library);
    free(nvml);
    return status;
  }
  *ret_nvml = nvml;
  return HL_OK;
}

void hl_nvml_close(hl_nvml *nvml) {
  if (!nvml) return;
  nvml->call.shutdown();
  dlclose(nvml->library);
  free(nvml);
}

unsigned hl_nvml_count(const hl_nvml *nvml) {
  return nvml->count;
}

const char *hl_nvml_driver(const hl_nvml *nvml) {
  return nvml->driver;
}

static double clock_of(int (*ask)(void *, int, unsigned *), void *device, int type) {
  unsigned value = 0;
  return ask && ask(device, type, &value) == SUCCESS ? (double)value : (double)NAN;
}

static double milli(int (*ask)(void *, unsigned *), void *device) {
  unsigned value = 0;
  return ask && ask(device, &value) == SUCCESS ? (double)value / 1000 : (double)NAN;
}

static uint64_t used_bytes(const functions *call, void *device, uint64_t *ret_total) {
  memory_info memory = {0};
  if (!call->memory || call->memory(device, &memory) != SUCCESS) return UINT64_MAX;
  if (ret_total) *ret_total = memory.total;
  return memory.used;
}

/* The processes that compute on a device, in the newest form that the library has; -1: unknown. */
static int processes(const functions *call, void *device, process_2 *ret_list) {
  unsigned count = MOST_PROCESSES;
  if (call->processes_2) {
    int result = call->processes_2(device, &count, ret_list);
    return result == SUCCESS && count <= MOST_PROCESSES ? (int)count : -1;
  }
  process_1 old[MOST_PROCESSES];
  if (!call->processes_1 || call->processes_1(device, &count, old) != SUCCESS ||
      count > MOST_PROCESSES)
    return -1;
  for (unsigned i = 0; i < count; i++)
    ret_list[i] = (process_2){.pid = old[i].pid, .used_bytes = old[i].used_bytes};
  return (int)count;
}

bool hl_nvml_describe(const hl_nvml *nvml, unsigned index, hl_gpu *ret_gpu) {
  const functions *call = &nvml->call;
  if (index >= nvml->count) return false;
  void *device = nvml->devices[index];
  process_2 list[MOST_PROCESSES];
  unsigned ecc = 0, pending = 0, persistence = 0;
  hl_gpu gpu = {.ecc = -1, .persistence = -1};
  if (call->name(device, gpu.name, sizeof gpu.name) != SUCCESS) return false;
  gpu.name[sizeof gpu.name - 1] = '\0';
  if (!call->uuid || call->uuid(device, gpu.uuid, sizeof gpu.uuid) != SUCCESS) gpu.uuid[0] = '\0';
  gpu.used_bytes = used_bytes(call, device, &gpu.memory_bytes);
  if (call->ecc && call->ecc(device, &ecc, &pending) == SUCCESS) gpu.ecc = ecc != 0;
  if (call->persistence && call->persistence(device, &persistence) == SUCCESS)
    gpu.persistence = persistence != 0;
  gpu.power_limit_w = milli(call->power_limit, device);
  gpu.max_sm_clock_mhz = clock_of(call->max_clock, device, CLOCK_SM);
  gpu.clock_mhz = clock_of(call->clock, device, CLOCK_SM);
  gpu.processes = processes(call, device, list);
  *ret_gpu = gpu;
  return true;
}

hl_status hl_nvml_find(const hl_nvml *nvml, const char *bus_id, unsigned *ret_index,
                       hl_error *error) {
  void *device = NULL;
  if (!nvml->call.by_bus)
    return hl_error_set(error, HL_UNAVAILABLE,
                        "NVIDIA's management library finds no GPU by its place on the bus");
  int result = nvml->call.by_bus(bus_id, &device);
  if (result != SUCCESS) return fail(nvml, bus_id, result, error);
  for (unsigned i = 0; i < nvml->count; i++)
    if (nvml->devices[i] == device) {
      *ret_index = i;
      return HL_OK;
    }
  return hl_error_set(error, HL_NOT_FOUND, "NVIDIA's management library does not list %s", bus_id);
}

static void sample_memory(const functions *call, void *device, pid_t pid, hl_gpu_sample *sample) {
  process_2 list[MOST_PROCESSES];
  int count = processes(call, device, list);
  sample->process_bytes = UINT64_MAX;
  for (int i = 0; i < count; i++)
    if (list[i].pid == (unsigned)pid && list[i].used_bytes != ~0ULL) {
      sample->process_bytes = list[i].used_bytes;
      sample->process_known = true;
    }
}

void hl_nvml_sample(const hl_nvml *nvml, unsigned index, pid_t pid, hl_gpu_sample *ret_sample) {
  const functions *call = &nvml->call;
  hl_gpu_sample s = {.process_bytes = UINT64_MAX, .used_bytes = UINT64_MAX};
  s.energy_mj = UINT64_MAX;
  s.power_w = s.sm_clock_mhz = s.memory_clock_mhz = s.temperature_c = (double)NAN;
  if (index < nvml->count) {
    void *device = nvml->devices[index];
    unsigned long long energy = 0, reasons = 0;
    unsigned celsius = 0;
    sample_memory(call, device, pid, &s);
    s.used_bytes = used_bytes(call, device, NULL);
    if (call->energy && call->energy(device, &energy) == SUCCESS) s.energy_mj = energy;
    s.power_w = milli(call->power, device);
    s.sm_clock_mhz = clock_of(call->clock, device, CLOCK_SM);
    s.memory_clock_mhz = clock_of(call->clock, device, CLOCK_MEMORY);
    if (call->temperature && call->temperature(device, 0, &celsius) == SUCCESS)
      s.temperature_c = (double)celsius;
    s.reasons_known = call->reasons && call->reasons(device, &reasons) == SUCCESS;
    s.reasons = reasons;
  }
  *ret_sample = s;
}

void hl_gpu_reasons_text(uint64_t reasons, char *ret_text, size_t size) {
  /* Bits of nvmlClocksEventReasons; that a GPU is idle is no reason that counts. */
  static const struct {
    uint64_t bit;
    const char *text;
  } names[] = {{0x2, "clocks set by the user"},
               {0x4, "power cap"},
               {0x8, "hardware slowdown"},
               {0x10, "sync boost"},
               {0x20, "heat"},
               {0x40, "heat (hardware)"},
               {0x80, "power brake"},
               {0x100, "display clock"}};
  size_t used = 0;
  snprintf(ret_text, size, "none");
  for (size_t i = 0; i < HL_COUNT(names); i++)
    if ((reasons & names[i].bit) && used < size)
      used +=
          (size_t)snprintf(ret_text + used, size - used, "%s%s", used ? ", " : "", names[i].text);
}
