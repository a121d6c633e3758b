#include "machine/gpu.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

/* Signatures from NVIDIA's NVML reference; 0 is success. */
typedef int (*nvml_void_fn)(void);
typedef int (*nvml_count_fn)(unsigned int *count);
typedef int (*nvml_handle_fn)(unsigned int index, void **device);
typedef int (*nvml_name_fn)(void *device, char *name, unsigned int length);

/* ISO C has no cast from an object pointer to a function pointer; the bytes are the same. */
static bool find(void *library, const char *name, void *function, size_t size) {
  void *symbol = dlsym(library, name);
  if (symbol) memcpy(function, &symbol, size);
  return symbol != NULL;
}

void hl_gpu_list(hl_machine *machine) {
  nvml_void_fn init, shutdown;
  nvml_count_fn count;
  nvml_handle_fn handle;
  nvml_name_fn name;
  unsigned int total = 0;
  machine->gpu_count = 0;
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
  if (find(library, "nvmlInit_v2", &init, sizeof init) &&
      find(library, "nvmlShutdown", &shutdown, sizeof shutdown) &&
      find(library, "nvmlDeviceGetCount_v2", &count, sizeof count) &&
      find(library, "nvmlDeviceGetHandleByIndex_v2", &handle, sizeof handle) &&
      find(library, "nvmlDeviceGetName", &name, sizeof name) && init() == 0) {
    if (count(&total) != 0) total = 0;
    for (unsigned int i = 0; i < total && machine->gpu_count < HL_MACHINE_MAX_GPUS; i++) {
      void *device;
      char *text = machine->gpus[machine->gpu_count];
      if (handle(i, &device) == 0 && name(device, text, (unsigned)sizeof machine->gpus[0]) == 0)
        machine->gpu_count++;
    }
    shutdown();
  }
  dlclose(library);
}
