#include "machine/cuda.h"

#include "machine/symbols.h"
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

enum { SUCCESS = 0, OUT_OF_MEMORY = 2, MOST_DEVICES = 256 };

/* From NVIDIA's CUDA driver reference; a device is an int, all else is opaque. */
typedef struct functions {
  int (*init)(unsigned flags);
  int (*error_text)(int result, const char **text);
  int (*count)(int *count);
  int (*device)(int *device, int ordinal);
  int (*name)(char *text, int length, int device);
  int (*total)(size_t *bytes, int device);
  int (*bus_id)(char *text, int length, int device);
  int (*context_retain)(void **context, int device);
  int (*context_release)(int device);
  int (*context_set)(void *context);
  int (*memory)(size_t *free, size_t *total);
  int (*event_new)(void **event, unsigned flags);
  int (*event_record)(void *event, void *stream);
  int (*event_wait)(void *event);
  int (*event_elapsed)(float *milliseconds, void *begin, void *end);
  int (*event_free)(void *event);
} functions;

#define FUNCTION(member, ...)                                                                      \
  { {__VA_ARGS__}, offsetof(functions, member), true }

static const hl_symbol table[] = {
    FUNCTION(init, "cuInit"),
    {{"cuGetErrorString"}, offsetof(functions, error_text), false},
    FUNCTION(count, "cuDeviceGetCount"),
    FUNCTION(device, "cuDeviceGet"),
    FUNCTION(name, "cuDeviceGetName"),
    FUNCTION(total, "cuDeviceTotalMem_v2", "cuDeviceTotalMem"),
    {{"cuDeviceGetPCIBusId"}, offsetof(functions, bus_id), false},
    FUNCTION(context_retain, "cuDevicePrimaryCtxRetain"),
    FUNCTION(context_release, "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease"),
    FUNCTION(context_set, "cuCtxSetCurrent"),
    FUNCTION(memory, "cuMemGetInfo_v2", "cuMemGetInfo"),
    FUNCTION(event_new, "cuEventCreate"),
    FUNCTION(event_record, "cuEventRecord"),
    FUNCTION(event_wait, "cuEventSynchronize"),
    FUNCTION(event_elapsed, "cuEventElapsedTime"),
    FUNCTION(event_free, "cuEventDestroy_v2", "cuEventDestroy"),
};

struct hl_cuda {
  void *library;
  functions call;
  int count;
  void *contexts[MOST_DEVICES]; /* primary contexts that are held, by ordinal */
  int devices[MOST_DEVICES];    /* of those contexts */
};

static hl_status check(const hl_cuda *cuda, int result, const char *what, hl_error *error) {
  if (result == SUCCESS) return HL_OK;
  const char *text = NULL;
  if (cuda->call.error_text) cuda->call.error_text(result, &text);
  return hl_error_set(error, result == OUT_OF_MEMORY ? HL_OUT_OF_MEMORY : HL_UNAVAILABLE,
                      "CUDA: %s: %s (%d)", what, text ? text : "error", result);
}

static hl_status start(hl_cuda *cuda, hl_error *error) {
  const char *missing = hl_symbols_find(cuda->library, table, HL_COUNT(table), &cuda->call);
  if (missing)
    return hl_error_set(error, HL_UNAVAILABLE,
                        "CUDA's driver library lacks %s: it is too old or broken", missing);
  hl_status status = check(cuda, cuda->call.init(0), "it does not start", error);
  if (status == HL_OK)
    status = check(cuda, cuda->call.count(&cuda->count), "counting devices", error);
  if (status != HL_OK) return status;
  if (cuda->count > MOST_DEVICES) cuda->count = MOST_DEVICES;
  return HL_OK;
}

hl_status hl_cuda_open(const char *path, hl_cuda **ret_cuda, hl_error *error) {
  const char *name = path ? path : "libcuda.so.1";
  hl_cuda *cuda = calloc(1, sizeof *cuda);
  if (!cuda) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a library");
  cuda->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  hl_status status =
      cuda->library ? start(cuda, error)
                    : hl_error_set(error, HL_UNAVAILABLE,
                                   "there is no CUDA here: %s (part of NVIDIA's driver) cannot be "
                                   "opened",
                                   name);
  if (status != HL_OK) {
    if (cuda->library) dlclose(cuda->library);
    free(cuda);
    return status;
  }
  *ret_cuda = cuda;
  return HL_OK;
}

void hl_cuda_close(hl_cuda *cuda) {
  if (!cuda) return;
  for (int i = 0; i < cuda->count; i++)
    if (cuda->contexts[i]) cuda->call.context_release(cuda->devices[i]);
  dlclose(cuda->library);
  free(cuda);
}

static hl_status device_of(const hl_cuda *cuda, int ordinal, int *ret_device, hl_error *error) {
  if (ordinal >= 0 && ordinal < cuda->count)
    return check(cuda, cuda->call.device(ret_device, ordinal), "opening a device", error);
  if (cuda->count == 0)
    return hl_error_set(error, HL_UNAVAILABLE,
                        "cuda:%d: CUDA shows no device (see CUDA_VISIBLE_DEVICES)", ordinal);
  return hl_error_set(error, HL_UNAVAILABLE, "cuda:%d: the devices here are cuda:0 to cuda:%d",
                      ordinal, cuda->count - 1);
}

hl_status hl_cuda_describe(const hl_cuda *cuda, int ordinal, hl_cuda_device *ret_device,
                           hl_error *error) {
  int device;
  size_t bytes = 0;
  hl_cuda_device d = {0};
  hl_status status = device_of(cuda, ordinal, &device, error);
  if (status == HL_OK)
    status = check(cuda, cuda->call.name(d.name, sizeof d.name, device), "a device's name", error);
  if (status == HL_OK)
    status = check(cuda, cuda->call.total(&bytes, device), "a device's memory", error);
  if (status != HL_OK) return status;
  d.name[sizeof d.name - 1] = '\0';
  d.memory_bytes = bytes;
  if (cuda->call.bus_id && cuda->call.bus_id(d.bus_id, sizeof d.bus_id, device) != SUCCESS)
    d.bus_id[0] = '\0';
  *ret_device = d;
  return HL_OK;
}

static hl_status enter(hl_cuda *cuda, int ordinal, hl_error *error) {
  int device;
  hl_status status = device_of(cuda, ordinal, &device, error);
  if (status == HL_OK && !cuda->contexts[ordinal])
    status = check(cuda, cuda->call.context_retain(&cuda->contexts[ordinal], device),
                   "a device's context", error);
  if (status == HL_OK) cuda->devices[ordinal] = device;
  if (status == HL_OK)
    status =
        check(cuda, cuda->call.context_set(cuda->contexts[ordinal]), "a device's context", error);
  return status;
}

hl_status hl_cuda_used_bytes(hl_cuda *cuda, int ordinal, uint64_t *ret_bytes, hl_error *error) {
  size_t free_bytes = 0, total = 0;
  hl_status status = enter(cuda, ordinal, error);
  if (status == HL_OK)
    status = check(cuda, cuda->call.memory(&free_bytes, &total), "a device's memory", error);
  if (status == HL_OK) *ret_bytes = total > free_bytes ? total - free_bytes : 0;
  return status;
}

hl_status hl_cuda_timer_new(hl_cuda *cuda, int ordinal, hl_cuda_timer *ret_timer, hl_error *error) {
  hl_cuda_timer timer = {0};
  hl_status status = enter(cuda, ordinal, error);
  if (status == HL_OK)
    status = check(cuda, cuda->call.event_new(&timer.begin, 0), "an event", error);
  if (status == HL_OK) status = check(cuda, cuda->call.event_new(&timer.end, 0), "an event", error);
  if (status != HL_OK) {
    hl_cuda_timer_release(cuda, &timer);
    return status;
  }
  *ret_timer = timer;
  return HL_OK;
}

hl_status hl_cuda_timer_begin(hl_cuda *cuda, const hl_cuda_timer *timer, void *stream,
                              hl_error *error) {
  return check(cuda, cuda->call.event_record(timer->begin, stream), "recording an event", error);
}

hl_status hl_cuda_timer_end(hl_cuda *cuda, const hl_cuda_timer *timer, void *stream,
                            hl_error *error) {
  return check(cuda, cuda->call.event_record(timer->end, stream), "recording an event", error);
}

hl_status hl_cuda_timer_read(hl_cuda *cuda, const hl_cuda_timer *timer, double *ret_ms,
                             hl_error *error) {
  float ms = 0;
  hl_status status = check(cuda, cuda->call.event_wait(timer->end), "waiting for an event", error);
  if (status == HL_OK)
    status = check(cuda, cuda->call.event_elapsed(&ms, timer->begin, timer->end),
                   "the time between events", error);
  if (status == HL_OK) *ret_ms = (double)ms;
  return status;
}

void hl_cuda_timer_release(hl_cuda *cuda, hl_cuda_timer *timer) {
  if (timer->begin) cuda->call.event_free(timer->begin);
  if (timer->end) cuda->call.event_free(timer->end);
  *timer = (hl_cuda_timer){0};
}
