/*
 * CUDA's driver library for tests, in the place of NVIDIA's. FAKE_GPUS=N devices (2), in an order
 * that is the reverse of the management library's; CUDA_VISIBLE_DEVICES=N,N picks of them, "" none.
 * FAKE_CUDA=init-fails | hang | context-fails. Events tell the wall time between two records.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int cuInit(unsigned flags);
EXPORT int cuGetErrorString(int result, const char **text);
EXPORT int cuDeviceGetCount(int *count);
EXPORT int cuDeviceGet(int *device, int ordinal);
EXPORT int cuDeviceGetName(char *text, int length, int device);
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device);
EXPORT int cuDeviceGetPCIBusId(char *text, int length, int device);
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device);
EXPORT int cuDevicePrimaryCtxRelease(int device);
EXPORT int cuCtxSetCurrent(void *context);
EXPORT int cuMemGetInfo_v2(size_t *free_bytes, size_t *total);
EXPORT int cuEventCreate(void **event, unsigned flags);
EXPORT int cuEventRecord(void *event, void *stream);
EXPORT int cuEventSynchronize(void *event);
EXPORT int cuEventElapsedTime(float *ms, void *begin, void *end);
EXPORT int cuEventDestroy_v2(void *event);

static char contexts[16];
static int started;

static int is(const char *behaviour) {
  const char *text = getenv("FAKE_CUDA");
  return text && strcmp(text, behaviour) == 0;
}

static int total(void) {
  const char *text = getenv("FAKE_GPUS");
  return text ? atoi(text) : 2;
}

/* The physical device of an ordinal, -1 beyond the last. */
static int physical(int ordinal) {
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  if (!visible) return ordinal < total() ? ordinal : -1;
  for (int i = 0; *visible; i++) {
    int device = atoi(visible);
    if (device >= total()) return -1;
    if (i == ordinal) return device;
    visible += strcspn(visible, ",");
    visible += *visible == ',';
  }
  return -1;
}

int cuInit(unsigned flags) {
  if (is("hang"))
    for (;;) pause();
  if (flags || is("init-fails")) return 100;
  started = 1;
  return 0;
}

int cuGetErrorString(int result, const char **text) {
  *text = result == 100 ? "no CUDA-capable device is detected" : "some error";
  return 0;
}

int cuDeviceGetCount(int *count) {
  if (!started) return 3;
  *count = 0;
  while (physical(*count) >= 0) ++*count;
  return 0;
}

int cuDeviceGet(int *device, int ordinal) {
  *device = physical(ordinal);
  return *device < 0 ? 101 : 0;
}

int cuDeviceGetName(char *text, int length, int device) {
  snprintf(text, (size_t)length, "Fake GPU %c", 'A' + total() - 1 - device);
  return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  (void)device;
  *bytes = (size_t)80 << 30;
  return 0;
}

int cuDeviceGetPCIBusId(char *text, int length, int device) {
  snprintf(text, (size_t)length, "0000:%02x:00.0", (unsigned)(total() - 1 - device));
  return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
  *context = &contexts[device];
  return is("context-fails") ? 2 : 0;
}

int cuDevicePrimaryCtxRelease(int device) {
  return device >= 0 ? 0 : 101;
}

int cuCtxSetCurrent(void *context) {
  return context ? 0 : 201;
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes) {
  *total_bytes = (size_t)80 << 30;
  *free_bytes = *total_bytes - ((size_t)500 << 20);
  return 0;
}

int cuEventCreate(void **event, unsigned flags) {
  *event = calloc(1, sizeof(struct timespec));
  return *event && flags == 0 ? 0 : 2;
}

int cuEventRecord(void *event, void *stream) {
  return stream ? clock_gettime(CLOCK_MONOTONIC, event) : 400;
}

int cuEventSynchronize(void *event) {
  return event ? 0 : 400;
}

int cuEventElapsedTime(float *ms, void *begin, void *end) {
  const struct timespec *a = begin, *b = end;
  *ms = (float)((double)(b->tv_sec - a->tv_sec) * 1e3 + (double)(b->tv_nsec - a->tv_nsec) / 1e6);
  return 0;
}

int cuEventDestroy_v2(void *event) {
  free(event);
  return 0;
}
